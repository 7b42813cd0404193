//! Where managed memory is, as far as it takes to say of an address that it is none.
//!
//! What a guard lends of managed memory is a slice like any other by its type. The runtime sees by the address what it is, and
//! promises less about copies of it than about pageable memory. Asking the runtime each time would be a call for every copy.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The lowest address that managed memory ever had, and one past the highest.
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// There is managed memory here from now on. To be called before anybody has a slice of it.
pub(crate) fn extend(address: usize, bytes: usize) {
    // Who has a slice of the memory has got it from who made it, so what was stored before is seen.
    LOWEST.fetch_min(address, Ordering::Relaxed);
    HIGHEST.fetch_max(address.saturating_add(bytes), Ordering::Relaxed);
}

/// Whether an address may be one of managed memory.
pub(crate) fn may_contain(address: usize) -> bool {
    LOWEST.load(Ordering::Relaxed) <= address && address < HIGHEST.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::{extend, may_contain};

    #[test]
    fn what_lies_between_managed_memory_may_be_managed_and_nothing_else() {
        // Other tests may have made managed memory, but none at the ends of the address space.
        let top = usize::MAX - 4096;
        assert!(!may_contain(top) && !may_contain(1 << 12));
        extend(top, 64);
        assert!(may_contain(top) && may_contain(top + 63) && !may_contain(top + 64));
        assert!(!may_contain(1 << 12));
    }
}
