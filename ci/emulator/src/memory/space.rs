//! A device's address space: addresses that the host cannot touch, and the bytes behind them elsewhere.
//!
//! Device addresses come from a range that this process maps without access, so that a device pointer
//! dereferenced on the host faults as it does on hardware. The bytes lie in a second mapping of the same
//! length. Addresses are given out in ascending order, and reused only after the whole range has been used,
//! so that a dangling pointer rarely meets a newer allocation. Between two allocations there is always a gap.
#![expect(unsafe_code, reason = "reserves and releases address space")]

use core::ptr;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use crate::page::page;

/// The alignment of every allocation: textures can be made of memory that begins at such an address.
pub(crate) const ALIGNMENT: u64 = 512;
/// How many times more address space than memory a device has.
const SPREAD: u64 = 4;

/// Frees of this many bytes return their pages to the system at once.
const LARGE: u64 = 64 << 10;
/// The number of smaller frees after which their pages are returned to the system.
const SMALL_ONES: usize = 256;
const NOTHING_STALE: (u64, u64, usize) = (u64::MAX, 0, 0);

/// The address space of one device.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    /// The first device address.
    base: u64,
    /// Where the byte at `base` is for this process.
    bytes: *mut u8,
    length: u64,
    /// The offset at which the search for free addresses continues.
    cursor: u64,
    /// Offset and length (with the gap) of allocated ranges.
    taken: BTreeMap<u64, u64>,
    /// The range of small frees whose pages the system has not got back yet, and their number. Every
    /// allocation has a page of its own, and there are more such pages than memory.
    stale: (u64, u64, usize),
}

// SAFETY: the pointer is an address of a mapping that lives as long as the process; whoever uses it holds the
// machine.
unsafe impl Send for AddressSpace {}

impl AddressSpace {
    /// Reserves addresses for a device with `memory` bytes; `None` if the system refuses.
    pub(crate) fn reserve(memory: u64) -> Option<Self> {
        let length = memory.checked_mul(SPREAD)?.max(1 << 20);
        let addresses = map(length, libc::PROT_NONE)?;
        let bytes = map(length, libc::PROT_READ | libc::PROT_WRITE)?;
        let base = u64::try_from(addresses.addr()).ok()?;
        Some(Self { base, bytes, length, cursor: 0, taken: BTreeMap::new(), stale: NOTHING_STALE })
    }

    /// Allocates addresses for `size` bytes with a gap of at least `gap` behind them. Returns the first
    /// address, and the place of its bytes.
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

    /// Frees addresses. Their pages go back to the system; those of small allocations go back in bulk.
    pub(crate) fn give_back(&mut self, address: u64) {
        let offset = address.wrapping_sub(self.base);
        let Some(span) = self.taken.remove(&offset) else { return };
        if span >= LARGE {
            self.release(offset, offset + span);
            return;
        }
        let (first, last, count) = self.stale;
        self.stale = (first.min(offset), last.max(offset + span), count + 1);
        if count >= SMALL_ONES {
            self.release_stale();
        }
    }

    /// Releases all pages without an allocation in the range of small frees.
    fn release_stale(&mut self) {
        let (first, last, _) = std::mem::replace(&mut self.stale, NOTHING_STALE);
        let before = self.taken.range(..first).next_back().map_or(0, |(start, length)| start + length);
        let mut free = first.max(before);
        for (start, length) in self.taken.range(first..last) {
            self.release(free, *start);
            free = start + length;
        }
        self.release(free, last);
    }

    /// Releases the free pages between two offsets.
    fn release(&self, first: u64, last: u64) {
        let (first, last) = (first.next_multiple_of(page()), last / page() * page());
        if let (Ok(start), Ok(length)) = (usize::try_from(first), usize::try_from(last.saturating_sub(first)))
            && length > 0
        {
            // SAFETY: the pages lie inside this space's own mapping, and no allocation covers them any more.
            unsafe { libc::madvise(self.bytes.wrapping_add(start).cast(), length, libc::MADV_DONTNEED) };
        }
    }

    /// Where the bytes are for this process, and how many there are.
    pub(super) fn bytes(&self) -> (*mut u8, u64) {
        (self.bytes, self.length)
    }

    /// The address of a byte at a place of this process's, live or not.
    pub(super) fn address(&self, at: *mut u8) -> Option<u64> {
        let offset = u64::try_from(at.addr().checked_sub(self.bytes.addr())?).ok()?;
        (offset < self.length).then_some(self.base + offset)
    }

    /// Whether an address belongs to this device, live or not.
    pub(crate) fn owns(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|offset| offset < self.length)
    }
}

/// Maps private pages that take no memory before they are written; `None` if the system refuses.
pub(crate) fn map(length: u64, protection: i32) -> Option<*mut u8> {
    let length = usize::try_from(length).ok()?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping at an address of the system's choice touches nothing that exists.
    let address = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    (address != libc::MAP_FAILED).then_some(address.cast())
}

/// Maps the same pages at two addresses; `None` if the system refuses.
pub(crate) fn map_twice(length: u64) -> Option<(*mut u8, *mut u8)> {
    // SAFETY: the name ends in a zero byte.
    let file = unsafe { libc::memfd_create(c"cuda-host-memory".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: the call has just opened it, and nothing else knows it.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let file = File::from(file);
    file.set_len(length).ok()?;
    let length = usize::try_from(length).ok()?;
    let view = || {
        let (both, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a new mapping at an address of the system's choice touches nothing that exists.
        let address = unsafe { libc::mmap(ptr::null_mut(), length, both, flags, file.as_raw_fd(), 0) };
        (address != libc::MAP_FAILED).then_some(address.cast())
    };
    Some((view()?, view()?))
}

/// Undoes [`map`].
///
/// # Safety
/// The range must be a whole mapping made by [`map`] that nothing uses any more.
pub(crate) unsafe fn unmap(address: *mut u8, length: u64) {
    if let Ok(length) = usize::try_from(length) {
        // SAFETY: the caller promises that this is a mapping of ours without users.
        unsafe { libc::munmap(address.cast(), length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_aligned_apart_and_not_reused_at_once() {
        let mut space = AddressSpace::reserve(1 << 20).unwrap();
        let (a, _) = space.take(1, ALIGNMENT, page()).unwrap();
        let (b, _) = space.take(300, ALIGNMENT, page()).unwrap();
        assert_eq!((a % ALIGNMENT, b % ALIGNMENT), (0, 0));
        assert!(b - a >= 256 + page());
        space.give_back(b);
        let (c, _) = space.take(300, ALIGNMENT, page()).unwrap();
        assert!(c > b, "a freed address came back while others were left");
    }

    #[test]
    fn freed_addresses_serve_again_once_the_range_is_used_up() {
        let mut space = AddressSpace::reserve(1 << 20).unwrap();
        let mut taken = Vec::new();
        while let Some((address, _)) = space.take(100_000, ALIGNMENT, page()) {
            taken.push(address);
        }
        assert!(taken.len() > 30);
        space.give_back(taken[7]);
        assert_eq!(space.take(100_000, ALIGNMENT, page()).map(|pair| pair.0), Some(taken[7]));
        assert!(space.take(100_000, ALIGNMENT, page()).is_none());
    }

    #[test]
    fn the_bytes_are_elsewhere_and_start_as_zero_after_a_large_block_was_given_back() {
        let mut space = AddressSpace::reserve(1 << 20).unwrap();
        let (address, host) = space.take(1 << 19, ALIGNMENT, page()).unwrap();
        assert_ne!(usize::try_from(address).unwrap(), host.addr());
        // SAFETY: `host` is the first of 2^19 bytes of this space's own mapping.
        unsafe { host.write(7) };
        space.give_back(address);
        // SAFETY: `host` is the first of 2^19 bytes of this space's own mapping. The mapping outlives the
        // allocation.
        assert_eq!(unsafe { host.read() }, 0);
    }

    #[test]
    fn pages_of_small_allocations_come_back_and_neighbours_keep_their_bytes() {
        let mut space = AddressSpace::reserve(1 << 24).unwrap();
        let (kept, bytes) = space.take(16, ALIGNMENT, page()).unwrap();
        // SAFETY: the memory was just handed out.
        unsafe { bytes.write(7) };
        let mut freed = Vec::new();
        for _ in 0..=SMALL_ONES {
            let (address, byte) = space.take(16, ALIGNMENT, page()).unwrap();
            // SAFETY: the memory was just handed out.
            unsafe { byte.write(1) };
            space.give_back(address);
            freed.push(byte);
        }
        // SAFETY: this one is still handed out.
        assert_eq!(unsafe { bytes.read() }, 7);
        // SAFETY: within the mapping, whose fresh pages are zero. The first one may share its page with the
        // one that is kept.
        assert!(freed.iter().skip(1).all(|byte| unsafe { byte.read() } == 0));
        space.give_back(kept);
    }
}
