//! Many copies by one kernel, within a device or between a device and pinned memory.
//!
//! The runtime takes about 4 µs to submit each copy within a device, alone or in a batch. One kernel that
//! performs all of them costs one launch. It is also faster for small copies from and to pinned memory:
//! on an H200, 64 copies of 4 KiB take 15 µs by the kernel, and 30 to 90 µs by one call of the runtime
//! (`CopyBatch` of `cuda-safe`). From about 64 KiB each, both take equally long. The copy engines perform
//! the copies of a batch and leave the multiprocessors to other work.
//!
//! [`copy_many`] copies once. A [`CopyManyPlan`] is for repeated copies between the same memory: it
//! checks the pairs once, and each enqueue only compares them.
//!
//! The kernel gets the list of copies by value, so the list needs no device memory. A launch takes up to
//! 128 ranges, or 1024 if the driver takes larger parameters (CUDA 12.1). Blocks copy 16 bytes at a time
//! if source and destination have the same alignment to 16 bytes, else 8, 4, 2, or single bytes.
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

mod table;

use std::sync::OnceLock;

use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::copy::find_overlap;
use cuda_safe::device::{Version, driver_version};
use cuda_safe::error::{Detail, ErrorKind};
use cuda_safe::hazard::{Access, Mode};
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::stream::{AsStream, StreamRef};
use cuda_safe::{Error, Result};

use self::table::{API, LARGE, Range, SMALL, Table};
use crate::check;

/// Copies each source to its destination, all of them by one kernel.
///
/// There may be any number of pairs, each of any length and alignment. Either side is memory that a
/// kernel can access: device memory, pinned memory, or a part of these. Pairs without elements are
/// skipped. The copies are not ordered among themselves. The pairs are borrowed for the call only.
///
/// # Ordering
/// Ordered after earlier work on the stream, and after conflicting work that was submitted to other
/// streams before. Returns when the launch is queued.
///
/// # Errors
/// - The lengths of a pair differ, memory is on another device than the stream's, or a destination shares
///   a byte with another destination or with any source. Nothing is launched then.
/// - The launch fails. With more than 1024 pairs, earlier launches may have been made.
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
    let stream = stream.as_stream();
    let (pairs, ranges) = with_elements(pairs, Some(stream))?;
    for (pairs, table) in launches(&pairs, &tables(&ranges)?) {
        // SAFETY: the table lists these pairs. `tables` has checked that no destination overlaps another
        // destination or a source, and `with_elements` that the stream's device can access the memory.
        unsafe { table.launch(&accesses(pairs), stream) }?;
    }
    Ok(())
}

/// Repeated copies between the same memory: [`copy_many`](copy_many()), checked once.
///
/// A plan stores addresses and lengths. It neither borrows nor owns the memory: each
/// [`enqueue`](Self::enqueue) borrows the pairs again and compares them with those of the plan.
///
/// # Examples
/// ```
/// use cuda_kernels::CopyManyPlan;
/// use cuda_safe::{DeviceBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let rows = DeviceBuffer::from_slice(&[1_u16, 2, 3, 4, 5, 6])?;
/// let mut column = DeviceBuffer::<u16>::alloc(3)?;
/// let plan =
///     CopyManyPlan::new(column.slice_mut(..)?.chunks_mut(1)?.zip(rows.slice(..)?.chunks(1)?.step_by(2)))?;
/// for _ in 0..3 {
///     let pairs = column.slice_mut(..)?.chunks_mut(1)?.zip(rows.slice(..)?.chunks(1)?.step_by(2));
///     plan.enqueue(pairs, &stream)?;
/// }
/// assert_eq!(column.to_vec()?, [1, 3, 5]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CopyManyPlan {
    tables: Vec<Table>,
}

impl CopyManyPlan {
    /// Makes a plan for pairs as [`copy_many`](copy_many()) takes them. Launches nothing.
    ///
    /// # Errors
    /// The lengths of a pair differ, or a destination shares a byte with another destination or with any
    /// source.
    #[track_caller]
    pub fn new<T, D, S>(pairs: impl IntoIterator<Item = (D, S)>) -> Result<Self>
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        let (_, ranges) = with_elements(pairs, None)?;
        Ok(Self { tables: tables(&ranges)? })
    }

    /// Copies each source to its destination, all of them by one kernel. The pairs are those that the
    /// plan was made for; pairs without elements count in neither.
    ///
    /// # Ordering
    /// As [`copy_many`](copy_many()).
    ///
    /// # Errors
    /// - The pairs are not those of the plan, or memory is on another device than the stream's. Nothing
    ///   is launched then.
    /// - As `copy_many` otherwise.
    #[track_caller]
    pub fn enqueue<T, D, S>(
        &self,
        pairs: impl IntoIterator<Item = (D, S)>,
        stream: &impl AsStream,
    ) -> Result<()>
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        let stream = stream.as_stream();
        let pairs = self.planned(pairs, Some(stream))?;
        for (pairs, table) in launches(&pairs, &self.tables) {
            // SAFETY: the pairs are those of the table (`planned`). `tables` has checked them when the plan
            // was made. The stream's device can access the memory.
            unsafe { table.launch(&accesses(pairs), stream) }?;
        }
        Ok(())
    }

    /// Returns the pairs with elements, one for each range of the tables, or refuses other ones.
    #[inline]
    #[track_caller]
    fn planned<T: 'static, D: KernelOutput<T>, S: KernelInput<T>>(
        &self,
        pairs: impl IntoIterator<Item = (D, S)>,
        stream: Option<StreamRef<'_>>,
    ) -> Result<Vec<(D, S)>> {
        ensure_sized::<T>()?;
        let mut planned = self.tables.iter().flat_map(|table| &table.ranges);
        let pairs = pairs.into_iter();
        let (mut kept, mut differs) = (Vec::with_capacity(pairs.size_hint().0), None);
        for pair in pairs {
            let Some(range) = range(&pair, stream)? else { continue };
            if differs.is_none() && planned.next().is_some_and(|planned| *planned != range) {
                differs = Some(kept.len());
            }
            kept.push(pair);
        }
        let count = self.tables.iter().map(|table| table.ranges.len()).sum();
        if kept.len() != count {
            let detail = Detail::wrong_length("the list of pairs with elements", count, kept.len());
            return Err(Error::refused(API, detail));
        }
        match differs {
            None => Ok(kept),
            Some(index) => Err(not_planned(index)),
        }
    }
}

/// Refuses elements without bytes.
#[inline]
#[track_caller]
fn ensure_sized<T>() -> Result<()> {
    if size_of::<T>() != 0 {
        return Ok(());
    }
    Err(Error::refused(API, Detail::zero_sized(std::any::type_name::<T>())))
}

/// Pairs, and the bytes that each copies.
type Checked<D, S> = (Vec<(D, S)>, Vec<Range>);

/// Returns the pairs that have elements, and the bytes that each copies, after the checks of all. If there is
/// a `stream`, its device must be able to access the memory.
#[inline]
#[track_caller]
fn with_elements<T: 'static, D: KernelOutput<T>, S: KernelInput<T>>(
    pairs: impl IntoIterator<Item = (D, S)>,
    stream: Option<StreamRef<'_>>,
) -> Result<Checked<D, S>> {
    ensure_sized::<T>()?;
    let pairs = pairs.into_iter();
    let least = pairs.size_hint().0;
    let (mut kept, mut ranges) = (Vec::with_capacity(least), Vec::with_capacity(least));
    for pair in pairs {
        if let Some(range) = range(&pair, stream)? {
            kept.push(pair);
            ranges.push(range);
        }
    }
    Ok((kept, ranges))
}

/// Returns the tables of the launches that copy these ranges.
#[track_caller]
fn tables(ranges: &[Range]) -> Result<Vec<Table>> {
    refuse_overlaps(ranges)?;
    ranges.chunks(most(ranges.len())).map(Table::new).collect()
}

/// Returns the pairs of each launch: as many as its table has ranges.
#[inline]
fn launches<'a, P>(mut pairs: &'a [P], tables: &'a [Table]) -> impl Iterator<Item = (&'a [P], &'a Table)> {
    tables.iter().map(move |table| {
        let (these, rest) = pairs.split_at_checked(table.ranges.len()).unwrap_or((pairs, &[]));
        pairs = rest;
        (these, table)
    })
}

/// Returns the bytes that a pair copies. Returns `None` if the pair has no elements.
#[inline]
#[track_caller]
fn range<T: 'static, D: KernelOutput<T>, S: KernelInput<T>>(
    pair: &(D, S),
    stream: Option<StreamRef<'_>>,
) -> Result<Option<Range>> {
    let (destination, source) = pair;
    let (elements, element) = (destination.elements(), size_of::<T>());
    if source.elements() != elements {
        let detail = Detail::length_mismatch(elements, source.elements());
        return Err(Error::refused(API, detail));
    }
    if let Some(stream) = stream {
        check::device(API, "the destination", destination.device(), &stream)?;
        check::device(API, "the source", source.device(), &stream)?;
    }
    if elements == 0 {
        return Ok(None);
    }
    let Some(bytes) = elements.checked_mul(element) else {
        let detail = Detail::overflow("the size in bytes", elements, element);
        return Err(Error::refused(API, detail));
    };
    Ok(Some(Range { to: destination.value()?.addr(), from: source.value()?.addr(), bytes }))
}

/// Returns the accesses of the pairs, with adjacent ones merged. All writes come first, or all reads,
/// whichever is first in the tracker's order.
#[inline]
fn accesses<T: 'static, D: KernelOutput<T>, S: KernelInput<T>>(pairs: &[(D, S)]) -> Vec<Access<'_>> {
    let (writes, reads) =
        (pairs.iter().map(|pair| pair.0.access()), pairs.iter().map(|pair| pair.1.access()));
    let mut accesses = Vec::<Access<'_>>::with_capacity(2 * pairs.len());
    for access in writes.chain(reads).flatten().filter(|access| !access.is_empty()) {
        if !accesses.last_mut().is_some_and(|last| last.take_in(&access)) {
            accesses.push(access);
        }
    }
    let first_read = accesses.partition_point(|access| access.mode() == Mode::Write);
    if let (Some(write), Some(read)) = (accesses.first(), accesses.get(first_read))
        && read.is_before(write)
    {
        accesses.rotate_left(first_read);
    }
    accesses
}

/// Returns the maximum number of pairs of one launch.
fn most(pairs: usize) -> usize {
    /// Whether the driver takes parameters of 32 KiB.
    static TAKES_LARGE: OnceLock<bool> = OnceLock::new();
    let takes_large = || driver_version().is_ok_and(|found| found >= Version { major: 12, minor: 1 });
    if pairs > SMALL && *TAKES_LARGE.get_or_init(takes_large) { LARGE } else { SMALL }
}

/// Refuses copies if one writes bytes that another one reads or writes. Borrows rule that out within one
/// owner, but two owners may stand for the same memory.
#[track_caller]
fn refuse_overlaps(ranges: &[Range]) -> Result<()> {
    let side = |start: usize, bytes: usize| start..start.saturating_add(bytes);
    let pairs = ranges.iter().map(|range| (side(range.to, range.bytes), side(range.from, range.bytes)));
    // A closure would hide the caller's location.
    match find_overlap(pairs) {
        None => Ok(()),
        Some(overlap) => Err(Error::refused(API, overlap)),
    }
}

/// Returns the refusal of memory that differs from that which a plan was made for. Pairs without elements do
/// not count.
#[track_caller]
fn not_planned(index: usize) -> Error {
    let text = format!("the plan was made for other memory than that of operand {index}");
    Error::refused(API, Detail::new(ErrorKind::Argument, text))
}

#[cfg(test)]
mod tests {
    use cuda_safe::Device;
    use cuda_safe::hazard::AccessHistory;
    use cuda_safe::launch::{CheckedArg, KernelArg};

    use super::*;

    /// Bytes of memory that nobody accesses: the address of its first byte, its access history, and the part.
    #[derive(Clone)]
    struct Part<'a>(usize, &'a AccessHistory, std::ops::Range<usize>);

    macro_rules! part {
        ($pointer:ty, $mode:ident, $trait:ident) => {
            // SAFETY: nothing is launched with it.
            unsafe impl KernelArg<$pointer> for Part<'_> {
                fn value(&self) -> Result<$pointer> {
                    Ok(std::ptr::without_provenance_mut(self.0 + self.2.start))
                }
                fn access(&self) -> Option<Access<'_>> {
                    Some(Access::new(self.1, self.2.clone(), Mode::$mode))
                }
            }

            // SAFETY: nothing is launched with it.
            unsafe impl CheckedArg<$pointer> for Part<'_> {}

            // SAFETY: nothing is launched with it.
            unsafe impl $trait<u8> for Part<'_> {
                fn elements(&self) -> usize {
                    self.2.len()
                }
                fn device(&self) -> Option<Device> {
                    None
                }
            }
        };
    }

    part!(*const u8, Read, KernelInput);
    part!(*mut u8, Write, KernelOutput);

    /// Random numbers (splitmix64) below a limit.
    fn below(state: &mut u64, limit: usize) -> usize {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = *state;
        it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((it ^ it >> 31) >> 1).unwrap() % limit
    }

    /// Adds pairs without elements at random places.
    fn with_empty<'a>(random: &mut u64, pairs: &[(Part<'a>, Part<'a>)]) -> Vec<(Part<'a>, Part<'a>)> {
        let mut all = pairs.to_vec();
        for _ in 0..below(random, 4) {
            let (Part(to, written, _), Part(from, read, _)) = pairs[0].clone();
            let (at, start) = (below(random, all.len() + 1), below(random, 99));
            all.insert(at, (Part(to, written, start..start), Part(from, read, start..start)));
        }
        all
    }

    #[test]
    fn the_accesses_of_each_launch_cover_what_its_table_copies() {
        let (written, read) = (AccessHistory::new(1 << 20), AccessHistory::new(1 << 20));
        let (to, from, mut random) = (1 << 30, 1 << 40, 7);
        for _ in 0..200 {
            let count = match below(&mut random, 3) {
                0 => 1 + below(&mut random, 3),
                1 => SMALL - 1 + below(&mut random, 3),
                _ => LARGE - 1 + below(&mut random, 3),
            };
            let part = |at: usize, bytes: usize| 64 * at..64 * at + bytes;
            let each = (0..count).map(|at| (at, 1 + below(&mut random, 64), below(&mut random, count)));
            let each: Vec<_> = each
                .map(|(at, bytes, other)| {
                    (Part(to, &written, part(at, bytes)), Part(from, &read, part(other, bytes)))
                })
                .collect();
            let plan = CopyManyPlan::new::<u8, _, _>(with_empty(&mut random, &each)).unwrap();
            let pairs = plan.planned::<u8, _, _>(with_empty(&mut random, &each), None).unwrap();
            let mut copied = 0;
            for (pairs, table) in launches(&pairs, &plan.tables) {
                let accesses = accesses::<u8, _, _>(pairs);
                let covers = |history: &AccessHistory, mode, start: usize, bytes: usize| {
                    accesses.iter().any(|access| {
                        let std::ops::Range { start: first, end } = access.range();
                        std::ptr::eq(access.history(), history)
                            && access.mode() == mode
                            && first <= start
                            && start + bytes <= end
                    })
                };
                for range in &table.ranges {
                    assert!(covers(&written, Mode::Write, range.to - to, range.bytes), "{range:?}");
                    assert!(covers(&read, Mode::Read, range.from - from, range.bytes), "{range:?}");
                }
                copied += table.ranges.len();
            }
            assert_eq!(copied, count);
        }
    }

    #[test]
    fn what_is_written_twice_or_read_as_well_is_refused() {
        let refused = |copies: &[(usize, usize, usize)]| {
            let ranges: Vec<_> = copies.iter().map(|&(to, from, bytes)| Range { to, from, bytes }).collect();
            refuse_overlaps(&ranges).err().map(|error| error.detail().clone())
        };
        let overlapping = |destination, source, bytes| Some(Detail::overlapping(destination, source, bytes));
        assert_eq!(refused(&[]), None);
        let touching = [(100, 0, 10), (110, 0, 10), (90, 5, 10)];
        assert_eq!(refused(&touching), None, "they touch, and share sources");
        assert_eq!(refused(&[(100, 0, 10), (50, 20, 10), (109, 40, 2)]), overlapping(109, 100, 1));
        assert_eq!(refused(&[(100, 0, 10), (200, 10, 10), (300, 195, 10)]), overlapping(200, 195, 5));
        assert_eq!(refused(&[(0, 1000, 900), (2000, 899, 1)]), overlapping(0, 899, 1));
        assert_eq!(refused(&[(10, 5, 10)]), overlapping(10, 5, 5));
    }
}
