//! The bytes of device memory that have been written: a note beside each byte, if `CUDA_EMULATOR_INITCHECK=1`
//! is set.
//!
//! A copy within device memory copies the notes as well. Reports are of reads by a kernel and of copies to
//! the host. Memory that the host reaches by itself has no notes, because nobody sees its writes.
#![expect(unsafe_code, reason = "keeps notes beside memory")]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use super::space::map;
use crate::page::page;

/// The note on a written byte.
const WRITTEN: u8 = 1;
/// From this many notes on, a reset gives their pages back.
const LARGE: usize = 64 << 10;
/// The number of reads that are reported in full.
const TOLD: usize = 100;

/// The notes on one device's memory.
#[derive(Debug)]
struct Notes {
    /// Its first byte for this process, and how many there are.
    bytes: *mut u8,
    length: usize,
    /// The note on the first byte.
    first: *mut u8,
}

// SAFETY: the pointers are addresses of mappings that live as long as the process; whoever uses them holds
// the machine.
unsafe impl Send for Notes {}

/// The notes on all devices' memory.
#[derive(Debug)]
pub(crate) struct Written {
    notes: Vec<Notes>,
    /// The allocations and readers that were reported already.
    told: RefCell<HashSet<(u64, String)>>,
    reads: Cell<u64>,
}

impl Written {
    /// Notes for spaces of so many bytes; `None` if the system has no addresses for them.
    pub(super) fn on(spaces: impl Iterator<Item = (*mut u8, u64)>) -> Option<Self> {
        let notes = spaces.map(|(bytes, length)| {
            let first = map(length, libc::PROT_READ | libc::PROT_WRITE)?;
            Some(Notes { bytes, length: usize::try_from(length).ok()?, first })
        });
        Some(Self { notes: notes.collect::<Option<_>>()?, told: RefCell::default(), reads: Cell::new(0) })
    }

    /// The note on a byte of device memory; `None` for other memory.
    fn note(&self, at: *mut u8) -> Option<*mut u8> {
        self.notes.iter().find_map(|it| {
            let offset = at.addr().checked_sub(it.bytes.addr()).filter(|offset| *offset < it.length)?;
            Some(it.first.wrapping_add(offset))
        })
    }

    /// Marks bytes of one allocation as written or as new.
    pub(super) fn set(&self, at: *mut u8, bytes: usize, written: bool) {
        let Some(note) = self.note(at) else { return };
        if written || bytes < LARGE {
            // SAFETY: there is a note on each byte of a space, and an allocation lies within one.
            unsafe { note.write_bytes(if written { WRITTEN } else { 0 }, bytes) };
            return;
        }
        let page = usize::try_from(page()).unwrap_or(LARGE);
        let before = note.addr().next_multiple_of(page) - note.addr();
        let whole = (bytes - before) / page * page;
        // SAFETY: there is a note on each byte of a space, and an allocation lies within one.
        unsafe { note.write_bytes(0, before) };
        // SAFETY: whole pages of the notes' own mapping, which are zero when they are touched again.
        unsafe { libc::madvise(note.wrapping_add(before).cast(), whole, libc::MADV_DONTNEED) };
        // SAFETY: whole pages of the notes' own mapping, which are zero when they are touched again.
        unsafe { note.wrapping_add(before + whole).write_bytes(0, bytes - before - whole) };
    }

    /// Follows a copy of bytes. Returns the first byte that nobody has written, if there is one and the copy
    /// is to the host.
    pub(super) fn copied(&self, to: *mut u8, from: *mut u8, bytes: usize) -> Option<usize> {
        match (self.note(to), self.note(from)) {
            // SAFETY: both are notes on so many bytes, each of one allocation; the two may overlap.
            (Some(to), Some(from)) => unsafe { core::ptr::copy(from, to, bytes) },
            (Some(_), None) => self.set(to, bytes, true),
            (None, _) => return self.missing(from, bytes),
        }
        None
    }

    /// The index of the first of some bytes that nobody has written.
    pub(super) fn missing(&self, at: *mut u8, bytes: usize) -> Option<usize> {
        let note = self.note(at)?;
        // SAFETY: there is a note on each byte of a space, and the bytes are of one allocation.
        let notes = unsafe { core::slice::from_raw_parts(note, bytes) };
        notes.iter().position(|note| *note != WRITTEN)
    }

    /// Counts a read. Returns whether to report it: each reader of an allocation is reported once.
    pub(super) fn is_news(&self, allocation: u64, reader: &str) -> bool {
        self.reads.set(self.reads.get() + 1);
        let mut told = self.told.borrow_mut();
        told.len() < TOLD && told.insert((allocation, reader.to_owned()))
    }

    /// The totals in one line, if there were any such reads.
    pub(crate) fn sum(&self) -> Option<String> {
        let (reads, told) = (self.reads.get(), self.told.borrow().len());
        let line = format!(
            "CUDA emulator: initcheck: {reads} reads of bytes that nobody has written, {told} of them told"
        );
        (reads > 0).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Allocations, Kind};

    /// Allocations that take notes, and the bytes of two allocations.
    fn two(bytes: u64) -> (Allocations, [*mut u8; 2]) {
        let mut allocations = Allocations::new(2, 1 << 24).unwrap();
        allocations.watch().unwrap();
        let places = [0, 1].map(|device| {
            let start = allocations.allocate(device, bytes, Kind::Device, "cudaMalloc").unwrap();
            allocations.at(start).unwrap().host
        });
        (allocations, places)
    }

    #[test]
    fn a_byte_is_missing_until_it_is_written_and_copies_take_along_what_is_known() {
        let (allocations, [a, b]) = two(100);
        let written = allocations.written.as_ref().unwrap();
        let mut host = [0_u8; 100];
        let host = host.as_mut_ptr();
        assert_eq!(written.missing(a, 100), Some(0));
        assert_eq!(written.copied(a, host, 60), None);
        assert_eq!((written.missing(a, 60), written.missing(a, 61)), (None, Some(60)));
        // A copy from device to device is not reported.
        assert_eq!(written.copied(b, a.wrapping_add(50), 50), None);
        assert_eq!((written.missing(b, 10), written.missing(b, 11)), (None, Some(10)));
        assert_eq!(written.copied(host, b, 10), None);
        assert_eq!(written.copied(host, b.wrapping_add(5), 20), Some(5));
        assert_eq!(written.missing(host, 100), None, "it is the host's");
    }

    #[test]
    fn what_is_allocated_where_something_was_freed_is_new() {
        for size in [100, 300_001] {
            let (mut allocations, _) = two(16);
            // The addresses are used up several times.
            for round in 0..2000 {
                let start = allocations.allocate(0, size, Kind::Device, "cudaMalloc").unwrap();
                let (host, bytes) = (allocations.at(start).unwrap().host, usize::try_from(size).unwrap());
                let written = allocations.written.as_ref().unwrap();
                // If the first and the last byte are new, every byte in between is, too.
                assert_eq!(written.missing(host, 1), Some(0), "{round}");
                assert_eq!(written.missing(host.wrapping_add(bytes - 1), 1), Some(0), "{round}");
                assert_eq!(written.missing(host.wrapping_add(bytes / 2), 1), Some(0), "{round}");
                written.set(host, bytes, true);
                assert_eq!(written.missing(host, bytes), None);
                allocations.remove(start, "cudaFree");
            }
        }
    }

    #[test]
    fn variables_of_modules_are_written_when_they_are_made() {
        let (mut allocations, _) = two(16);
        let start = allocations.allocate(0, 8, Kind::Symbol, "a variable of a module").unwrap();
        assert_eq!(allocations.unwritten(allocations.at(start).unwrap().host, 8, "a test"), None);
    }

    #[test]
    fn a_reader_is_told_once_of_an_allocation_and_counted_each_time() {
        let (allocations, [a, b]) = two(100);
        assert_eq!(allocations.written.as_ref().unwrap().sum(), None);
        let words = allocations.unwritten(a, 4, "a test").unwrap();
        assert!(
            words.contains("byte 0 of 100 bytes of device memory") && words.contains("cudaMalloc"),
            "{words}"
        );
        assert_eq!(allocations.unwritten(a, 4, "a test"), None);
        let words = allocations.unwritten(b.wrapping_add(7), 4, "a test").unwrap();
        assert!(words.contains("byte 7 of"), "{words}");
        assert!(allocations.unwritten(a, 4, "another").is_some());
        let sum = allocations.written.as_ref().unwrap().sum().unwrap();
        assert!(sum.ends_with("4 reads of bytes that nobody has written, 3 of them told"), "{sum}");
    }
}
