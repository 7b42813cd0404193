//! The address range of managed memory, to exclude quickly that an address is managed.
//!
//! The type of a slice does not show whether a guard lent it from managed memory. The runtime recognises
//! managed memory by its address, and guarantees less for copies of it than for copies of pageable memory.
//! A query of the runtime would cost a call for every copy.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The lowest address that managed memory ever had, and one past the highest.
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// Adds an address range that is managed memory from now on. Must be called before anybody has a slice of
/// it.
pub(crate) fn extend(address: usize, bytes: usize) {
    // Relaxed is enough: a slice of the memory is received from the maker of the memory, so the stores
    // before it are visible.
    LOWEST.fetch_min(address, Ordering::Relaxed);
    HIGHEST.fetch_max(address.saturating_add(bytes), Ordering::Relaxed);
}

/// Returns whether an address may be in managed memory.
pub(crate) fn may_contain(address: usize) -> bool {
    LOWEST.load(Ordering::Relaxed) <= address && address < HIGHEST.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::{extend, may_contain};

    #[test]
    fn what_lies_between_managed_memory_may_be_managed_and_nothing_else() {
        // Other tests may have made managed memory, but not at the ends of the address space.
        let top = usize::MAX - 4096;
        assert!(!may_contain(top) && !may_contain(1 << 12));
        extend(top, 64);
        assert!(may_contain(top) && may_contain(top + 63) && !may_contain(top + 64));
        assert!(!may_contain(1 << 12));
    }
}
