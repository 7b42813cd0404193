//! A device's address space: addresses that the host cannot touch, and the bytes behind them elsewhere.
//!
//! Device addresses come from a range that this process maps without access, so that a device pointer dereferenced on
//! the host faults as it does on hardware. The bytes lie in a second mapping of the same length. Addresses are handed
//! out in ascending order and come back only after the whole range has been used, so that a pointer used after its
//! memory was freed usually meets no newer allocation; between two allocations there is always a gap.
#![expect(unsafe_code, reason = "reserves and releases address space")]

use core::ptr;
use std::collections::BTreeMap;

/// What every allocation's address is a multiple of.
pub(crate) const ALIGNMENT: u64 = 256;
/// The unaddressable bytes after an allocation of the host's making, at the least.
pub(crate) const GAP: u64 = 4096;
/// How many times more address space than memory a device has.
const SPREAD: u64 = 4;

/// The address space of one device.
#[derive(Debug)]
pub(crate) struct Space {
    /// The first device address.
    base: u64,
    /// Where the byte at `base` is for this process.
    bytes: *mut u8,
    length: u64,
    /// Where the search for free addresses goes on: an offset.
    cursor: u64,
    /// Offset and length (with the gap) of what is handed out.
    taken: BTreeMap<u64, u64>,
}

// SAFETY: the pointer is an address of a mapping that lives as long as the process; whoever uses it holds the machine.
unsafe impl Send for Space {}

impl Space {
    /// Reserves addresses for a device with `memory` bytes; none where the system refuses.
    pub(crate) fn reserve(memory: u64) -> Option<Self> {
        let length = memory.checked_mul(SPREAD)?.max(1 << 20);
        let addresses = map(length, libc::PROT_NONE)?;
        let bytes = map(length, libc::PROT_READ | libc::PROT_WRITE)?;
        let base = u64::try_from(addresses.addr()).ok()?;
        Some(Self { base, bytes, length, cursor: 0, taken: BTreeMap::new() })
    }

    /// Hands out addresses for `size` bytes with at least `gap` unused ones after them: the first one, and where its
    /// bytes are.
    pub(crate) fn take(&mut self, size: u64, alignment: u64, gap: u64) -> Option<(u64, *mut u8)> {
        let span = size.checked_next_multiple_of(alignment)?.checked_add(gap)?;
        let offset = self.search(self.cursor, span, alignment).or_else(|| self.search(0, span, alignment))?;
        self.taken.insert(offset, span);
        self.cursor = offset + span;
        let host = self.bytes.wrapping_add(usize::try_from(offset).ok()?);
        Some((self.base + offset, host))
    }

    /// The first gap at or after `from` that holds `span` bytes.
    fn search(&self, from: u64, span: u64, alignment: u64) -> Option<u64> {
        let before = self.taken.range(..=from).next_back().map_or(0, |(start, length)| start + length);
        let mut offset = from.max(before).checked_next_multiple_of(alignment)?;
        for (start, length) in self.taken.range(offset..) {
            if start - offset >= span {
                break;
            }
            offset = (start + length).checked_next_multiple_of(alignment)?;
        }
        (offset.checked_add(span)? <= self.length).then_some(offset)
    }

    /// Takes addresses back; the pages behind them are given to the system again.
    pub(crate) fn give_back(&mut self, address: u64) {
        let offset = address.wrapping_sub(self.base);
        let Some(span) = self.taken.remove(&offset) else { return };
        const PAGE: u64 = 4096;
        let first = offset.next_multiple_of(PAGE);
        let last = (offset + span) / PAGE * PAGE;
        let worth_it = last > first && last - first >= 16 * PAGE;
        if let (true, Ok(start), Ok(length)) =
            (worth_it, usize::try_from(first), usize::try_from(last.saturating_sub(first)))
        {
            // SAFETY: the pages lie inside this space's own mapping, and no allocation covers them any more.
            unsafe { libc::madvise(self.bytes.wrapping_add(start).cast(), length, libc::MADV_DONTNEED) };
        }
    }

    /// Whether an address belongs to this device, live or not.
    pub(crate) fn owns(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|offset| offset < self.length)
    }
}

/// Maps private pages that take no memory before they are written; none where the system refuses.
pub(crate) fn map(length: u64, protection: i32) -> Option<*mut u8> {
    let length = usize::try_from(length).ok()?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping at an address of the system's choice touches nothing that exists.
    let address = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    (address != libc::MAP_FAILED).then_some(address.cast())
}

/// Undoes [`map`].
///
/// # Safety
/// The range must be a whole mapping made by [`map`] that nothing uses any more.
pub(crate) unsafe fn unmap(address: *mut u8, length: u64) {
    if let Ok(length) = usize::try_from(length) {
        // SAFETY: the caller says that this is a mapping of ours without users.
        unsafe { libc::munmap(address.cast(), length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_aligned_apart_and_not_reused_at_once() {
        let mut space = Space::reserve(1 << 20).unwrap();
        let (a, _) = space.take(1, ALIGNMENT, GAP).unwrap();
        let (b, _) = space.take(300, ALIGNMENT, GAP).unwrap();
        assert_eq!((a % 256, b % 256), (0, 0));
        assert!(b - a >= 256 + GAP);
        space.give_back(b);
        let (c, _) = space.take(300, ALIGNMENT, GAP).unwrap();
        assert!(c > b, "a freed address came back while others were left");
    }

    #[test]
    fn freed_addresses_serve_again_once_the_range_is_used_up() {
        let mut space = Space::reserve(1 << 20).unwrap();
        let mut taken = Vec::new();
        while let Some((address, _)) = space.take(100_000, ALIGNMENT, GAP) {
            taken.push(address);
        }
        assert!(taken.len() > 30);
        space.give_back(taken[7]);
        assert_eq!(space.take(100_000, ALIGNMENT, GAP).map(|pair| pair.0), Some(taken[7]));
        assert!(space.take(100_000, ALIGNMENT, GAP).is_none());
    }

    #[test]
    fn the_bytes_are_elsewhere_and_start_as_zero_after_a_large_block_was_given_back() {
        let mut space = Space::reserve(1 << 20).unwrap();
        let (address, host) = space.take(1 << 19, ALIGNMENT, GAP).unwrap();
        assert_ne!(usize::try_from(address).unwrap(), host.addr());
        // SAFETY: `host` is the first of 2^19 bytes of this space's own mapping.
        unsafe { host.write(7) };
        space.give_back(address);
        // SAFETY: as above; the mapping outlives the allocation.
        assert_eq!(unsafe { host.read() }, 0);
    }
}
