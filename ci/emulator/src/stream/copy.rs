//! A copy: rows of bytes from one place to another, checked against the live allocations when it runs.
#![expect(unsafe_code, reason = "moves bytes")]

use crate::finding::Finding;
use crate::host_line::HostLine;
use crate::memory::{Allocation, Allocations, Kind};
use crate::sys::cudaMemcpyKind;

/// Where one side of a copy is.
#[derive(Clone, Debug)]
pub(crate) enum Memory {
    /// At an address that the machine knew when the copy was asked for.
    Known(u64),
    /// In the program's own memory.
    Pageable(usize),
    /// In this library's memory: the contents at the call, and the address at which the machine knows them.
    Staged(Vec<u8>, Option<u64>),
}

/// One side of a copy.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) memory: Memory,
    /// Bytes from one row to the next.
    pub(crate) pitch: u64,
    /// Bytes from one layer to the next.
    pub(crate) slice: u64,
}

impl End {
    /// Where the program has it.
    fn address(&self) -> Option<u64> {
        match self.memory {
            Memory::Known(at) => Some(at),
            Memory::Pageable(at) => u64::try_from(at).ok(),
            Memory::Staged(_, at) => at,
        }
    }
}

/// How many bytes a row, rows a layer, and layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

impl Volume {
    /// One row.
    pub(crate) fn row(bytes: u64) -> Self {
        Self { width: bytes, height: 1, depth: 1 }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// The bytes from the first to just past the last; `None` on overflow.
    pub(crate) fn span(self, pitch: u64, slice: u64) -> Option<u64> {
        if self.is_empty() {
            return Some(0);
        }
        let layers = slice.checked_mul(self.depth - 1)?;
        let rows = pitch.checked_mul(self.height - 1)?;
        layers.checked_add(rows)?.checked_add(self.width)
    }

    /// Calls `each` with the offset of every row, for two layouts at once.
    pub(crate) fn rows(self, a: (u64, u64), b: (u64, u64), mut each: impl FnMut(u64, u64, u64)) {
        let packed = |(pitch, slice): (u64, u64)| {
            (pitch == self.width || self.height == 1) && (slice == pitch * self.height || self.depth == 1)
        };
        if packed(a) && packed(b) {
            each(0, 0, self.width * self.height * self.depth);
            return;
        }
        for z in 0..self.depth {
            for y in 0..self.height {
                each(z * a.1 + y * a.0, z * b.1 + y * b.0, self.width);
            }
        }
    }
}

/// A copy that was checked when it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) to: End,
    pub(crate) from: End,
    pub(crate) volume: Volume,
    /// The direction as the program gave it.
    pub(crate) kind: cudaMemcpyKind,
}

fn offset(pointer: *mut u8, bytes: u64) -> *mut u8 {
    pointer.wrapping_add(usize::try_from(bytes).unwrap_or(usize::MAX))
}

impl Copy {
    /// Whether an executable graph takes another copy in this one's place: of the same direction, with memory
    /// of pools or without it on the same sides, and not of other devices. Only a single row may change.
    pub(crate) fn may_become(&self, other: &Self, allocations: &Allocations) -> bool {
        let alike = |old: &End, new: &End| {
            let of = |end: &End| match end.memory {
                Memory::Known(at) => allocations.at(at).filter(|it| !it.kind.on_host()),
                Memory::Pageable(_) | Memory::Staged(..) => None,
            };
            let (old, new) = (of(old), of(new));
            let pooled = |it: Option<&Allocation>| it.is_some_and(|it| it.kind == Kind::Pool);
            let elsewhere = old.zip(new).is_some_and(|(old, new)| old.device != new.device);
            pooled(old) == pooled(new) && !elsewhere
        };
        let flat = |it: &Self| it.volume.height == 1 && it.volume.depth == 1;
        let same = |a: &End, b: &End| (a.address(), a.pitch, a.slice) == (b.address(), b.pitch, b.slice);
        let changes =
            self.volume != other.volume || !same(&self.to, &other.to) || !same(&self.from, &other.from);
        self.kind == other.kind
            && alike(&self.to, &other.to)
            && alike(&self.from, &other.from)
            && (flat(self) && flat(other) || !changes)
    }

    /// Whether a side is pageable memory.
    pub(crate) fn is_pageable(&self) -> bool {
        [&self.to, &self.from].iter().any(|end| matches!(end.memory, Memory::Pageable(_)))
    }

    /// Bytes of pageable memory that this holds.
    pub(crate) fn staged(&self) -> usize {
        if let Memory::Staged(bytes, _) = &self.from.memory { bytes.len() } else { 0 }
    }

    /// Has the copy write to memory of this library.
    pub(super) fn discard_result(&mut self) {
        let bytes = self.volume.span(self.to.pitch, self.to.slice).and_then(|it| usize::try_from(it).ok());
        self.to.memory = Memory::Staged(vec![0; bytes.unwrap_or(0)], None);
    }

    /// Copies the bytes of the source now, so that the program may reuse it. Does nothing if the machine
    /// knows the source but it is gone: the copy itself reports that.
    ///
    /// # Safety
    /// The program must have given a source that can be read.
    pub(crate) unsafe fn stage(&mut self, allocations: &Allocations) {
        let Ok(source) = resolve(&mut self.from, self.volume, allocations, "reads") else { return };
        let Volume { width, height, depth } = self.volume;
        let mut staged = Vec::with_capacity(usize::try_from(width * height * depth).unwrap_or(0));
        self.volume.rows((self.from.pitch, self.from.slice), (width, width * height), |at, _, length| {
            let start = offset(source, at);
            // SAFETY: the caller promises that the program's source can be read; these are bytes of it.
            let row = unsafe { core::slice::from_raw_parts(start, usize::try_from(length).unwrap_or(0)) };
            staged.extend_from_slice(row);
        });
        let known = if let Memory::Known(address) = self.from.memory { Some(address) } else { None };
        self.from = End { memory: Memory::Staged(staged, known), pitch: width, slice: width * height };
    }

    /// Moves the bytes for a call. The error names the side that is gone.
    pub(super) fn run(
        &mut self,
        allocations: &Allocations,
        call: &str,
        line: HostLine,
    ) -> Result<(), String> {
        let to = resolve(&mut self.to, self.volume, allocations, "writes")?;
        let from = resolve(&mut self.from, self.volume, allocations, "reads")?;
        let layouts = ((self.to.pitch, self.to.slice), (self.from.pitch, self.from.slice));
        self.volume.rows(layouts.0, layouts.1, |at, source, length| {
            let length = usize::try_from(length).unwrap_or(0);
            // SAFETY: both sides are live for the whole span, as `resolve` has just found or as the program
            // promised for its own memory; the two may overlap.
            unsafe { core::ptr::copy(offset(from, source), offset(to, at), length) };
            if let Some(told) = allocations.copied(offset(to, at), offset(from, source), length, call) {
                let what = format!("{call} copies {length} bytes to the host: {told}");
                Finding::unwritten(what).part(call, line).report();
            }
        });
        Ok(())
    }
}

/// Where the bytes of one side are for this process.
fn resolve(end: &mut End, volume: Volume, allocations: &Allocations, verb: &str) -> Result<*mut u8, String> {
    match &mut end.memory {
        Memory::Pageable(address) => Ok(core::ptr::with_exposed_provenance_mut(*address)),
        Memory::Staged(bytes, _) => Ok(bytes.as_mut_ptr()),
        Memory::Known(address) => live(allocations, *address, volume.span(end.pitch, end.slice), verb),
    }
}

/// The place of `span` live bytes in this process, or the reason why there are none.
pub(super) fn live(
    allocations: &Allocations,
    address: u64,
    span: Option<u64>,
    verb: &str,
) -> Result<*mut u8, String> {
    let span = span.unwrap_or(u64::MAX);
    // Memory that is to be freed is still there.
    match allocations.at(address) {
        Some(it) if span <= it.end() - address => Ok(it.host_at(address)),
        Some(it) => Err(format!("{verb} {span} bytes at {address:#x}, past the end of {it}")),
        None => {
            let near = allocations.nearest(address).map_or_else(String::new, |near| format!(": {near}"));
            Err(format!("{verb} {span} bytes at {address:#x}, where no memory is live{near}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Kind;

    fn offsets(volume: Volume, a: (u64, u64), b: (u64, u64)) -> Vec<(u64, u64, u64)> {
        let mut rows = Vec::new();
        volume.rows(a, b, |x, y, n| rows.push((x, y, n)));
        rows
    }

    #[test]
    fn packed_layouts_are_one_piece_and_others_go_row_by_row() {
        let volume = Volume { width: 4, height: 2, depth: 2 };
        assert_eq!(offsets(volume, (4, 8), (4, 8)), [(0, 0, 16)]);
        assert_eq!(offsets(volume, (4, 8), (6, 20)), [(0, 0, 4), (4, 6, 4), (8, 20, 4), (12, 26, 4)]);
        assert_eq!(offsets(Volume::row(9), (0, 0), (0, 0)), [(0, 0, 9)]);
    }

    #[test]
    fn a_span_that_is_no_number_is_none() {
        assert_eq!(Volume { width: 3, height: 2, depth: 2 }.span(5, 20), Some(28));
        assert_eq!(Volume { width: 0, height: 9, depth: 9 }.span(u64::MAX, 9), Some(0));
        assert_eq!(Volume { width: 2, height: 3, depth: 1 }.span(u64::MAX / 2 + 1, 0), None);
    }

    #[test]
    fn a_staged_source_is_read_at_the_call_and_a_freed_destination_is_named() {
        let mut allocations = Allocations::new(1, 1 << 20).unwrap();
        let address = allocations.allocate(0, 8, Kind::Device, "cudaMalloc").unwrap();
        let mut source = [1_u8, 2, 3, 4, 5, 6, 7, 8];
        let memory = Memory::Pageable(source.as_mut_ptr().expose_provenance());
        let from = End { memory, pitch: 0, slice: 0 };
        let to = End { memory: Memory::Known(address), pitch: 0, slice: 0 };
        let mut copy = Copy { to, from, volume: Volume::row(8), kind: cudaMemcpyKind(4) };
        // SAFETY: `source` has eight bytes.
        unsafe { copy.stage(&allocations) };
        source.fill(9);
        copy.run(&allocations, "a test", HostLine::default()).unwrap();
        let host = allocations.at(address).unwrap().host;
        // SAFETY: the allocation has eight bytes and is live.
        assert_eq!(unsafe { core::slice::from_raw_parts(host, 8) }, [1, 2, 3, 4, 5, 6, 7, 8]);
        allocations.remove(address, "cudaFree");
        let error = copy.run(&allocations, "a test", HostLine::default()).unwrap_err();
        assert!(error.contains("writes 8 bytes") && error.contains("cudaFree has freed"), "{error}");
    }
}
