//! Many copies by one kernel, within a device or between it and pinned memory.
//!
//! The runtime takes some 4 µs to submit each copy between two places of a device, one by one or in a batch. A kernel that
//! moves all of them costs one launch. Small copies from and to pinned memory are faster by a kernel, too: on an H200 64 copies of
//! 4 KiB take 15 µs, and 30 to 90 by one call of the runtime (`CopyBatch` of `cuda-safe`). From some 64 KiB each on there is no
//! difference, but that those of a batch are done by the copy engines, and leave the multiprocessors to other work.
//!
//! What to copy goes to the kernel by value, as its parameter: nothing is allocated on the device, nothing is copied
//! there first, and nothing has to live until the kernel has run. A launch takes up to 128 ranges, or 1024 where the
//! driver takes larger parameters (CUDA 12.1); more ranges are more launches.
//!
//! Blocks copy 16 bytes at a time where source and destination lie alike to 16 bytes, else 8, 4, 2, or single bytes.
#![expect(unsafe_code, reason = "launches kernels after checking what they rely on")]

mod table;

use std::mem::{self, MaybeUninit};
use std::ops::Range;
use std::slice;
use std::sync::OnceLock;

use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::device::{Device, Version, driver_version};
use cuda_safe::error::Detail;
use cuda_safe::hazard::Access;
use cuda_safe::launch::{ByValue, Kernel, KernelInput, KernelOutput};
use cuda_safe::stream::{AsStream, StreamRef};
use cuda_safe::{Error, Result};

use self::table::Table;
use crate::check;
use crate::kernels;

const API: &str = "copy_many";

/// Ranges of either table.
const SMALL: usize = kernels::COPY_MANY_SMALL as usize;
const LARGE: usize = kernels::COPY_MANY_LARGE as usize;

/// Copies each source to its destination, all of them by one kernel.
///
/// The pairs are of any number, each of any length and alignment; either side is what a kernel can reach: device memory,
/// pinned memory, or a part of these. Pairs without elements are left out; without any other, nothing is launched. The
/// copies are not ordered among themselves. What the pairs borrow, they borrow only for the call.
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
    // What the books are told borrows the pairs.
    let pairs: Vec<(D, S)> = pairs.into_iter().collect();
    let stream = stream.as_stream();
    let mut usual = Usual::new();
    if usual.take(&pairs, stream.device()) { usual.launch(stream) } else { any(&pairs, stream) }
}

/// What most calls are, made ready in few steps and without memory of the heap: pairs in the order of their destinations, none of
/// which is among the sources, and no more than a small table has room for.
struct Usual<'a> {
    table: Table<SMALL>,
    accesses: [MaybeUninit<Access<'a>>; 2 * SMALL],
    noted: usize,
}

impl<'a> Usual<'a> {
    /// Nothing yet.
    #[inline]
    fn new() -> Self {
        Self { table: Table::new(), accesses: [const { MaybeUninit::uninit() }; 2 * SMALL], noted: 0 }
    }

    /// Takes all pairs. Says no where they are anything else, wrong for one: [`any`] then tells what it is.
    #[inline]
    fn take<T, D, S>(&mut self, pairs: &'a [(D, S)], device: Device) -> bool
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        if pairs.len() > SMALL || size_of::<T>() == 0 {
            return false;
        }
        let is_here = |found: Option<Device>| found.is_none_or(|found| found == device);
        // Where the first destination begins and the last one ends, and the same of the sources, whatever their order.
        let nothing = Range { start: usize::MAX, end: 0 };
        let (mut written, mut read) = (nothing.clone(), nothing);
        let mut rows = self.table.rows();
        for (destination, source) in pairs {
            let elements = destination.elements();
            if source.elements() != elements || !is_here(destination.device()) || !is_here(source.device()) {
                return false;
            }
            if elements == 0 {
                continue;
            }
            let (Ok(to), Ok(from)) = (destination.value(), source.value()) else { return false };
            let Some(bytes) = elements.checked_mul(size_of::<T>()) else { return false };
            let (writes, reads) = (range(to.addr(), bytes), range(from.addr(), bytes));
            if writes.start < written.end || !rows.push(to.cast(), from.cast(), bytes) {
                return false;
            }
            written = written.start.min(writes.start)..writes.end;
            read = read.start.min(reads.start)..read.end.max(reads.end);
        }
        rows.end();
        if read.start < written.end && written.start < read.end {
            return false;
        }
        // One kind after the other: what the books take first comes first.
        let (writes, reads) =
            (pairs.iter().map(|pair| pair.0.access()), pairs.iter().map(|pair| pair.1.access()));
        if reads_first(writes.clone().next().flatten().as_ref(), reads.clone().next().flatten().as_ref()) {
            self.note(reads);
            self.note(writes);
        } else {
            self.note(writes);
            self.note(reads);
        }
        true
    }

    /// Adds accesses, those that touch as one. There is room for one of either kind of each pair.
    #[inline]
    fn note(&mut self, accesses: impl Iterator<Item = Option<Access<'a>>>) {
        let mut accesses = accesses.flatten().filter(|access| !access.is_empty());
        let Some(mut last) = accesses.next() else { return };
        let (mut room, mut noted) = (self.accesses.get_mut(self.noted..).unwrap_or_default().iter_mut(), 0);
        let mut put = |access: Access<'a>| {
            if let Some(place) = room.next() {
                place.write(access);
                noted += 1;
            }
        };
        for access in accesses {
            if !last.take_in(&access) {
                put(mem::replace(&mut last, access));
            }
        }
        put(last);
        self.noted += noted;
    }

    #[track_caller]
    fn launch(&mut self, stream: StreamRef<'_>) -> Result<()> {
        if self.table.is_empty() {
            return Ok(());
        }
        // SAFETY: so many accesses were written, one place after the other.
        let accesses =
            unsafe { slice::from_raw_parts(self.accesses.as_ptr().cast::<Access<'a>>(), self.noted) };
        // SAFETY: `take` has found that the destinations, being in order, do not overlap, and that no source does with them;
        // that the device reaches all of them; and it has noted the access of each.
        unsafe { self.table.launch(&kernels::copy_many_small, accesses, stream) }
    }
}

/// Copies pairs of any number and in any order, or says what is wrong with them.
#[cold]
#[inline(never)]
#[track_caller]
fn any<T, D, S>(pairs: &[(D, S)], stream: StreamRef<'_>) -> Result<()>
where
    T: AnyBitPattern + NoUninit,
    D: KernelOutput<T>,
    S: KernelInput<T>,
{
    let element = size_of::<T>();
    if element == 0 {
        let detail = Detail::ZeroSized { type_name: std::any::type_name::<T>() };
        return Err(Error::refused(API, detail));
    }
    let mut copies = Vec::with_capacity(pairs.len());
    for (destination, source) in pairs {
        let elements = destination.elements();
        if source.elements() != elements {
            let detail = Detail::LengthMismatch { destination: elements, source: source.elements() };
            return Err(Error::refused(API, detail));
        }
        check::output(API, "the destination", destination, elements, &stream)?;
        check::input(API, "the source", source, elements, &stream)?;
        if elements == 0 {
            continue;
        }
        let Some(bytes) = elements.checked_mul(element) else {
            let detail = Detail::Overflow { what: "the size in bytes", left: elements, right: element };
            return Err(Error::refused(API, detail));
        };
        copies.push(Copy {
            to: destination.value()?.cast(),
            from: source.value()?.cast(),
            bytes,
            write: destination.access(),
            read: source.access(),
        });
    }
    launch_all(&mut copies, stream)
}

/// Launches as many kernels as copies of any number take, if they are apart from each other.
#[track_caller]
fn launch_all(copies: &mut [Copy<'_>], stream: StreamRef<'_>) -> Result<()> {
    refuse_overlaps(copies)?;
    let most = if copies.len() > SMALL && takes_large() { LARGE } else { SMALL };
    for copies in copies.chunks(most) {
        if copies.len() > SMALL {
            // SAFETY: no destination overlaps another one or a source, and `any` has checked that the device reaches all of them.
            unsafe { launch::<LARGE, _>(&kernels::copy_many_large, copies, stream) }?;
        } else {
            // SAFETY: as above.
            unsafe { launch::<SMALL, _>(&kernels::copy_many_small, copies, stream) }?;
        }
    }
    Ok(())
}

/// Launches a kernel for copies that its table has room for.
///
/// # Safety
/// The device of the stream reaches the memory of all copies, of which no destination overlaps another one or a source.
#[inline(never)]
#[track_caller]
unsafe fn launch<const N: usize, P: ByValue>(
    kernel: &Kernel<(P, u32)>,
    copies: &[Copy<'_>],
    stream: StreamRef<'_>,
) -> Result<()> {
    let mut table = Table::<N>::new();
    let mut rows = table.rows();
    for copy in copies {
        if !rows.push(copy.to, copy.from, copy.bytes) {
            let asked = u64::try_from(copy.bytes).unwrap_or(u64::MAX);
            let limit = u64::from(u32::MAX) * u64::from(kernels::COPY_MANY_CHUNK);
            let detail = Detail::Limit { what: "the number of bytes of one launch", asked, limit };
            return Err(Error::refused(API, detail));
        }
    }
    rows.end();
    // SAFETY: the caller vouches for the memory; the accesses are those of all copies.
    unsafe { table.launch(kernel, &accesses(copies), stream) }
}

/// One copy, checked.
#[derive(Debug)]
struct Copy<'a> {
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    write: Option<Access<'a>>,
    read: Option<Access<'a>>,
}

impl Copy<'_> {
    fn destination(&self) -> Range<usize> {
        range(self.to.addr(), self.bytes)
    }

    fn source(&self) -> Range<usize> {
        range(self.from.addr(), self.bytes)
    }
}

/// So many addresses from one on.
#[inline]
fn range(start: usize, bytes: usize) -> Range<usize> {
    start..start.saturating_add(bytes)
}

/// Refuses copies of which one writes what another one reads or writes: borrowed memory cannot, but two owners may stand for
/// the same memory. Sorts the copies by destination.
#[track_caller]
fn refuse_overlaps(copies: &mut [Copy<'_>]) -> Result<()> {
    copies.sort_unstable_by_key(|copy| copy.to);
    let clash = |destination: &Range<usize>, other: &Range<usize>| {
        let bytes = destination.end.min(other.end).saturating_sub(destination.start.max(other.start));
        let (destination, source) = (destination.start, other.start);
        Error::refused(API, Detail::Overlapping { destination, source, bytes })
    };
    for pair in copies.windows(2) {
        if let [one, next] = pair
            && one.destination().end > next.destination().start
        {
            return Err(clash(&next.destination(), &one.destination()));
        }
    }
    let (Some(first), Some(last)) = (copies.first(), copies.last()) else { return Ok(()) };
    let written = first.destination().start..last.destination().end;
    let is_apart = |source: Range<usize>| source.end <= written.start || written.end <= source.start;
    if copies.iter().all(|copy| is_apart(copy.source())) {
        return Ok(());
    }
    let mut sources: Vec<Range<usize>> = copies.iter().map(Copy::source).collect();
    sources.sort_unstable_by_key(|source| source.start);
    // Destinations do not overlap and are in order, so their ends are in order too, and each source has to be compared only
    // with those from the first one that ends behind its start.
    let mut first = 0;
    for source in &sources {
        while copies.get(first).is_some_and(|copy| copy.destination().end <= source.start) {
            first += 1;
        }
        if let Some(copy) = copies.get(first)
            && copy.destination().start < source.end
        {
            return Err(clash(&copy.destination(), source));
        }
    }
    Ok(())
}

/// Whether the driver takes parameters of 32 KiB.
fn takes_large() -> bool {
    static TAKES: OnceLock<bool> = OnceLock::new();
    *TAKES.get_or_init(|| driver_version().is_ok_and(|found| found >= Version { major: 12, minor: 1 }))
}

/// The accesses of copies, for the books: what is written, which is in order, and what is read, of which that comes first which the
/// books take first. Ranges that touch are one.
fn accesses<'a>(copies: &[Copy<'a>]) -> Vec<Access<'a>> {
    let mut accesses = Vec::with_capacity(2 * copies.len());
    let writes = copies.iter().filter_map(|copy| copy.write.as_ref());
    let reads = copies.iter().filter_map(|copy| copy.read.as_ref());
    if copies.first().is_some_and(|copy| reads_first(copy.write.as_ref(), copy.read.as_ref())) {
        append(&mut accesses, reads);
        append(&mut accesses, writes);
    } else {
        append(&mut accesses, writes);
        append(&mut accesses, reads);
    }
    accesses
}

/// Whether what the first copy reads comes before what it writes, in the order of the books.
#[inline]
fn reads_first(write: Option<&Access<'_>>, read: Option<&Access<'_>>) -> bool {
    matches!((write, read), (Some(write), Some(read)) if read.is_before(write))
}

/// Adds accesses to a list, those that touch as one.
fn append<'c, 'a: 'c>(accesses: &mut Vec<Access<'a>>, more: impl Iterator<Item = &'c Access<'a>>) {
    for access in more {
        if !accesses.last_mut().is_some_and(|last| last.take_in(access)) {
            accesses.push(*access);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(to: usize, from: usize, bytes: usize) -> Copy<'static> {
        let (to, from) = (std::ptr::without_provenance_mut(to), std::ptr::without_provenance(from));
        Copy { to, from, bytes, write: None, read: None }
    }

    #[test]
    fn what_is_written_twice_or_read_as_well_is_refused() {
        let refused = |copies: &[(usize, usize, usize)]| {
            let mut copies: Vec<_> =
                copies.iter().map(|(to, from, bytes)| copy(*to, *from, *bytes)).collect();
            refuse_overlaps(&mut copies).err().map(|error| error.detail())
        };
        assert_eq!(refused(&[]), None);
        assert_eq!(
            refused(&[(100, 0, 10), (110, 0, 10), (90, 5, 10)]),
            None,
            "they touch, and share sources"
        );
        assert_eq!(
            refused(&[(100, 0, 10), (50, 20, 10), (109, 40, 2)]),
            Some(Detail::Overlapping { destination: 109, source: 100, bytes: 1 })
        );
        assert_eq!(
            refused(&[(100, 0, 10), (200, 10, 10), (300, 195, 10)]),
            Some(Detail::Overlapping { destination: 200, source: 195, bytes: 5 })
        );
        assert_eq!(
            refused(&[(0, 1000, 900), (2000, 899, 1)]),
            Some(Detail::Overlapping { destination: 0, source: 899, bytes: 1 })
        );
        assert_eq!(
            refused(&[(10, 5, 10)]),
            Some(Detail::Overlapping { destination: 10, source: 5, bytes: 5 })
        );
    }
}
