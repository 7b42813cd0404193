//! Many copies by one kernel, within a device or between it and pinned memory.
//!
//! The runtime takes some 4 µs to submit each copy within a device, alone or in a batch. One kernel that moves all of them
//! costs one launch. It is also faster for small copies from and to pinned memory: on an H200, 64 copies of 4 KiB take
//! 15 µs, and 30 to 90 µs by one call of the runtime (`CopyBatch` of `cuda-safe`). From some 64 KiB each on, both take as
//! long; the copies of a batch are done by the copy engines and leave the multiprocessors to other work.
//!
//! [`copy_many`] copies once. A [`CopyManyPlan`] is for copies between the same memory again and again: it checks the pairs
//! once, and each enqueue only compares them.
//!
//! The kernel gets the list of copies by value, as its parameter: the device needs no memory for it. A launch takes up to
//! 128 ranges, or 1024 where the driver takes larger parameters (CUDA 12.1); more ranges are more launches.
//!
//! Blocks copy 16 bytes at a time if source and destination have the same alignment to 16 bytes, else 8, 4, 2, or single
//! bytes.
#![expect(unsafe_code, reason = "launches kernels after checking what they rely on")]

mod plan;
mod table;

use std::ops::Range;
use std::sync::OnceLock;

use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::device::{Version, driver_version};
use cuda_safe::error::Detail;
use cuda_safe::hazard::Access;
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::stream::{AsStream, StreamRef};
use cuda_safe::{Error, Result};

pub use self::plan::CopyManyPlan;
use self::table::Table;
use crate::check;
use crate::kernels::{self, CopyManyRange};

const API: &str = "copy_many";

/// Ranges of either table.
const SMALL: usize = kernels::COPY_MANY_SMALL as usize;
const LARGE: usize = kernels::COPY_MANY_LARGE as usize;

/// Copies each source to its destination, all of them by one kernel.
///
/// There may be any number of pairs, each of any length and alignment. Either side is memory that a kernel can reach:
/// device memory, pinned memory, or a part of these. Pairs without elements are left out; without any other, nothing is
/// launched. The copies are not ordered among themselves. The pairs are borrowed for the call only.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before. Returns when the launch is
/// queued.
///
/// # Errors
/// A pair whose lengths differ, memory of another device than the stream's, a destination that shares a byte with another
/// destination or with any source: nothing is launched then. Otherwise what a launch reports; with more than 1024 pairs,
/// earlier launches may have been made.
///
/// # Examples
/// ```
/// use cuda_kernels::copy_many;
/// use cuda_safe::{DeviceBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let rows = DeviceBuffer::from_slice(&[1_u16, 2, 3, 4, 5, 6])?;
/// let mut last = DeviceBuffer::<u16>::alloc(1)?;
/// let mut first = DeviceBuffer::<u16>::alloc(2)?;
/// copy_many([(last.slice_mut(..)?, rows.slice(5..)?), (first.slice_mut(..)?, rows.slice(..2)?)], &stream)?;
/// assert_eq!((last.to_vec()?, first.to_vec()?), (vec![6], vec![1, 2]));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn copy_many<T, D, S>(pairs: impl IntoIterator<Item = (D, S)>, stream: &impl AsStream) -> Result<()>
where
    T: AnyBitPattern + NoUninit,
    D: KernelOutput<T>,
    S: KernelInput<T>,
{
    let (pairs, stream) = (pairs.into_iter().collect::<Vec<_>>(), stream.as_stream());
    for (pairs, table) in pairs.chunks(most(pairs.len())).zip(tables(&pairs, Some(stream))?) {
        // SAFETY: the table is of these pairs, of which `tables` has checked that no destination overlaps another one or a
        // source, and that the stream's device reaches them.
        unsafe { table.launch(None, &accesses(pairs), stream) }?;
    }
    Ok(())
}

/// The tables of the launches that copy these pairs. A `stream` is one whose device has to reach the memory.
#[track_caller]
fn tables<T, D, S>(pairs: &[(D, S)], stream: Option<StreamRef<'_>>) -> Result<Vec<Table>>
where
    T: 'static,
    D: KernelOutput<T>,
    S: KernelInput<T>,
{
    if size_of::<T>() == 0 {
        return Err(Error::refused(API, Detail::ZeroSized { type_name: std::any::type_name::<T>() }));
    }
    let most = most(pairs.len());
    let (mut ranges, mut ends) = (Vec::with_capacity(pairs.len()), Vec::new());
    for pairs in pairs.chunks(most) {
        for pair in pairs {
            ranges.extend(range(pair, stream)?);
        }
        ends.push(ranges.len());
    }
    refuse_overlaps(&ranges)?;
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| Table::new(ranges.get(start..*end).unwrap_or_default())).collect()
}

/// What a pair copies: nothing if it has no elements.
#[inline]
#[track_caller]
fn range<T, D, S>(pair: &(D, S), stream: Option<StreamRef<'_>>) -> Result<Option<CopyManyRange>>
where
    T: 'static,
    D: KernelOutput<T>,
    S: KernelInput<T>,
{
    let (destination, source) = pair;
    let (elements, element) = (destination.elements(), size_of::<T>());
    if source.elements() != elements {
        let detail = Detail::LengthMismatch { destination: elements, source: source.elements() };
        return Err(Error::refused(API, detail));
    }
    if let Some(stream) = stream {
        check::device(API, "the destination", destination.device(), &stream)?;
        check::device(API, "the source", source.device(), &stream)?;
    }
    if elements == 0 {
        return Ok(None);
    }
    let bytes = elements.checked_mul(element).and_then(|bytes| u64::try_from(bytes).ok());
    let Some(bytes) = bytes else {
        let detail = Detail::Overflow { what: "the size in bytes", left: elements, right: element };
        return Err(Error::refused(API, detail));
    };
    Ok(Some(CopyManyRange { from: source.value()?.cast(), to: destination.value()?.cast(), bytes }))
}

/// The accesses of pairs, those that touch as one: what is written and what is read, that first which the tracker takes
/// first.
#[inline]
fn accesses<T, D, S>(pairs: &[(D, S)]) -> Vec<Access<'_>>
where
    T: 'static,
    D: KernelOutput<T>,
    S: KernelInput<T>,
{
    let (writes, reads) =
        (pairs.iter().map(|pair| pair.0.access()), pairs.iter().map(|pair| pair.1.access()));
    let mut accesses = Vec::with_capacity(2 * pairs.len());
    let first = (writes.clone().flatten().next(), reads.clone().flatten().next());
    if matches!(first, (Some(write), Some(read)) if read.is_before(&write)) {
        append(&mut accesses, reads);
        append(&mut accesses, writes);
    } else {
        append(&mut accesses, writes);
        append(&mut accesses, reads);
    }
    accesses
}

/// Adds accesses to a list, those that touch as one.
#[inline]
fn append<'a>(accesses: &mut Vec<Access<'a>>, more: impl Iterator<Item = Option<Access<'a>>>) {
    for access in more.flatten().filter(|access| !access.is_empty()) {
        if !accesses.last_mut().is_some_and(|last| last.take_in(&access)) {
            accesses.push(access);
        }
    }
}

/// How many of so many pairs go into one launch.
fn most(pairs: usize) -> usize {
    /// Whether the driver takes parameters of 32 KiB.
    static TAKES_LARGE: OnceLock<bool> = OnceLock::new();
    let takes_large = || driver_version().is_ok_and(|found| found >= Version { major: 12, minor: 1 });
    if pairs > SMALL && *TAKES_LARGE.get_or_init(takes_large) { LARGE } else { SMALL }
}

/// The bytes of one side of a copy.
struct Side {
    bytes: Range<usize>,
    is_written: bool,
}

/// Refuses copies of which one writes what another one reads or writes: borrowed memory cannot, but two owners may stand for
/// the same memory.
#[track_caller]
fn refuse_overlaps(ranges: &[CopyManyRange]) -> Result<()> {
    let side = |start: usize, bytes: u64, is_written| {
        let end = start.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
        Side { bytes: start..end, is_written }
    };
    let written = ranges.iter().map(|range| side(range.to.addr(), range.bytes, true));
    let read = ranges.iter().map(|range| side(range.from.addr(), range.bytes, false));
    // As a rule destinations are in order, and no source is among them.
    if written.clone().is_sorted_by(|one, next| one.bytes.end <= next.bytes.start) {
        let start = written.clone().next().map_or(0, |first| first.bytes.start);
        let end = written.clone().next_back().map_or(0, |last| last.bytes.end);
        if read.clone().all(|read| read.bytes.end <= start || end <= read.bytes.start) {
            return Ok(());
        }
    }
    let mut sides: Vec<Side> = written.chain(read).collect();
    // Stable, for this sort makes use of parts that are in order already.
    sides.sort_by_key(|side| side.bytes.start);
    // Of the sides so far, those that end last: among all of them, and among those that are written.
    let (mut last, mut last_written): (Option<&Side>, Option<&Side>) = (None, None);
    for side in &sides {
        let before = if side.is_written { last } else { last_written };
        if let Some(before) = before.filter(|before| before.bytes.end > side.bytes.start) {
            let (destination, source) = if side.is_written { (side, before) } else { (before, side) };
            let bytes = side.bytes.end.min(before.bytes.end) - side.bytes.start;
            let (destination, source) = (destination.bytes.start, source.bytes.start);
            return Err(Error::refused(API, Detail::Overlapping { destination, source, bytes }));
        }
        let later = |before: Option<&Side>| before.is_none_or(|before| before.bytes.end < side.bytes.end);
        if later(last) {
            last = Some(side);
        }
        if side.is_written && later(last_written) {
            last_written = Some(side);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_twice_or_read_as_well_is_refused() {
        let refused = |copies: &[(usize, usize, u64)]| {
            let range = |&(to, from, bytes): &(usize, usize, u64)| {
                let (to, from) = (std::ptr::without_provenance_mut(to), std::ptr::without_provenance(from));
                CopyManyRange { from, to, bytes }
            };
            let ranges: Vec<_> = copies.iter().map(range).collect();
            refuse_overlaps(&ranges).err().map(|error| error.detail())
        };
        let overlapping =
            |destination, source, bytes| Some(Detail::Overlapping { destination, source, bytes });
        assert_eq!(refused(&[]), None);
        let touching = [(100, 0, 10), (110, 0, 10), (90, 5, 10)];
        assert_eq!(refused(&touching), None, "they touch, and share sources");
        assert_eq!(refused(&[(100, 0, 10), (50, 20, 10), (109, 40, 2)]), overlapping(109, 100, 1));
        assert_eq!(refused(&[(100, 0, 10), (200, 10, 10), (300, 195, 10)]), overlapping(200, 195, 5));
        assert_eq!(refused(&[(0, 1000, 900), (2000, 899, 1)]), overlapping(0, 899, 1));
        assert_eq!(refused(&[(10, 5, 10)]), overlapping(10, 5, 5));
    }
}
