//! Many copies within a device by one kernel.
//!
//! The runtime takes some 4 µs to submit each copy between two places of a device, one by one or in a batch. A kernel that
//! moves all of them costs one launch. For copies from and to the host, see `CopyBatch` of `cuda-safe`: there the copy
//! engines do the work.
//!
//! What to copy goes to the kernel by value, as its parameter: nothing is allocated on the device, nothing is copied
//! there first, and nothing has to live until the kernel has run. A launch takes up to 128 ranges, or 1024 where the
//! driver takes larger parameters (CUDA 12.1); more ranges are more launches.
//!
//! Blocks copy 16 bytes at a time where source and destination lie alike to 16 bytes, else 8, 4, 2, or single bytes.
#![expect(unsafe_code, reason = "launches kernels after checking what they rely on")]

use std::ffi::c_void;
use std::ops::Range;
use std::sync::OnceLock;

use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::device::{Version, driver_version};
use cuda_safe::error::Detail;
use cuda_safe::hazard::Access;
use cuda_safe::launch::{Kernel, KernelInput, KernelOutput, LaunchConfig};
use cuda_safe::stream::AsStream;
use cuda_safe::{Error, Result};

use crate::check;
use crate::kernels::{self, CopyManyLarge, CopyManyRange, CopyManySmall};

const API: &str = "copy_many";

/// Blocks beyond which the kernel's loop does the rest: enough to keep any device busy.
const BLOCKS: u32 = 4096;

/// Ranges of either table.
const SMALL: usize = kernels::COPY_MANY_SMALL as usize;
const LARGE: usize = kernels::COPY_MANY_LARGE as usize;

/// Bytes of a chunk, and where the destination is aligned from the first one on.
const CHUNK: usize = kernels::COPY_MANY_CHUNK as usize;
const ALIGN: usize = kernels::COPY_MANY_ALIGN as usize;

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
    let element = size_of::<T>();
    if element == 0 {
        let detail = Detail::ZeroSized { type_name: std::any::type_name::<T>() };
        return Err(Error::refused(API, detail));
    }
    let pairs: Vec<(D, S)> = pairs.into_iter().collect();
    let mut copies = Vec::with_capacity(pairs.len());
    for (destination, source) in &pairs {
        let elements = destination.elements();
        if source.elements() != elements {
            let detail = Detail::LengthMismatch { destination: elements, source: source.elements() };
            return Err(Error::refused(API, detail));
        }
        check::output(API, "the destination", destination, elements, stream)?;
        check::input(API, "the source", source, elements, stream)?;
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
    refuse_overlaps(&mut copies)?;
    let most = if copies.len() > SMALL && takes_large() { LARGE } else { SMALL };
    for copies in copies.chunks(most) {
        if copies.len() > SMALL {
            launch_large(copies, stream)?;
        } else {
            launch_small(copies, stream)?;
        }
    }
    Ok(())
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
        let start = self.to.addr();
        start..start.saturating_add(self.bytes)
    }

    fn source(&self) -> Range<usize> {
        let start = self.from.addr();
        start..start.saturating_add(self.bytes)
    }

    /// How many chunks the kernel makes of it: the bytes before the destination is aligned go with the first.
    fn chunks(&self) -> usize {
        let past = self.to.addr() % ALIGN;
        let head = if past == 0 { 0 } else { ALIGN - past };
        self.bytes.saturating_sub(head).div_ceil(CHUNK).max(1)
    }
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

/// Fills a table: its ranges and the ends of their chunks. Gives how many ranges and chunks there are.
#[track_caller]
fn fill(copies: &[Copy<'_>], ranges: &mut [CopyManyRange], ends: &mut [u32]) -> Result<(u32, u32)> {
    let (mut count, mut chunks) = (0, 0_u32);
    for ((copy, range), end) in copies.iter().zip(ranges).zip(ends) {
        let bytes = u64::try_from(copy.bytes).unwrap_or(u64::MAX);
        *range = CopyManyRange { from: copy.from, to: copy.to, bytes };
        let sum = u32::try_from(copy.chunks()).ok().and_then(|more| chunks.checked_add(more));
        let Some(sum) = sum else {
            let limit = u64::from(u32::MAX) * u64::from(kernels::COPY_MANY_CHUNK);
            let detail = Detail::Limit { what: "the number of bytes of one launch", asked: bytes, limit };
            return Err(Error::refused(API, detail));
        };
        chunks = sum;
        *end = chunks;
        count += 1;
    }
    Ok((count, chunks))
}

/// The accesses of copies, for the books: what is written, which is in order, and what is read, of which that comes first which the
/// books take first. Ranges that touch are one.
fn accesses<'a>(copies: &[Copy<'a>]) -> Vec<Access<'a>> {
    let mut accesses = Vec::with_capacity(2 * copies.len());
    let writes = copies.iter().filter_map(|copy| copy.write.as_ref());
    let reads = copies.iter().filter_map(|copy| copy.read.as_ref());
    let reads_first = match copies {
        [Copy { write: Some(write), read: Some(read), .. }, ..] => read.is_before(write),
        _ => false,
    };
    if reads_first {
        append(&mut accesses, reads);
        append(&mut accesses, writes);
    } else {
        append(&mut accesses, writes);
        append(&mut accesses, reads);
    }
    accesses
}

/// Adds accesses to a list, those that touch as one.
fn append<'c, 'a: 'c>(accesses: &mut Vec<Access<'a>>, more: impl Iterator<Item = &'c Access<'a>>) {
    for access in more {
        if !accesses.last_mut().is_some_and(|last| last.take_in(access)) {
            accesses.push(*access);
        }
    }
}

/// A grid with a block for each chunk, up to as many as keep a device busy.
fn grid(chunks: u32) -> LaunchConfig {
    LaunchConfig::new(chunks.min(BLOCKS), kernels::COPY_MANY_THREADS)
}

/// Launches with a table on the stack, whose type is that of the kernel's first parameter.
macro_rules! launch {
    ($($name:ident: $table:ty, $kernel:ident;)*) => {$(
        #[track_caller]
        fn $name(copies: &[Copy<'_>], stream: &impl AsStream) -> Result<()> {
            let mut table = <$table>::default();
            let (mut count, chunks) = fill(copies, &mut table.ranges, &mut table.ends)?;
            let mut values: [*mut c_void; 2] = [(&raw mut table).cast(), (&raw mut count).cast()];
            // SAFETY: a value for each of the kernel's two parameters, of its type, as the line below asserts.
            // The table's ranges are memory that the device of the stream reaches, do not overlap, and have their accesses
            // named; the chunks are counted as the kernel does.
            unsafe { kernels::$kernel.launch_with(grid(chunks), stream, &accesses(copies), &mut values) }
        }

        const _: &Kernel<($table, u32)> = &kernels::$kernel;
    )*};
}

launch! {
    launch_small: CopyManySmall, copy_many_small;
    launch_large: CopyManyLarge, copy_many_large;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(to: usize, from: usize, bytes: usize) -> Copy<'static> {
        let (to, from) = (std::ptr::without_provenance_mut(to), std::ptr::without_provenance(from));
        Copy { to, from, bytes, write: None, read: None }
    }

    #[test]
    fn chunks_are_counted_from_where_the_destination_is_aligned() {
        let chunks = |to, bytes| copy(to, 0, bytes).chunks();
        assert_eq!((chunks(0, 1), chunks(0, CHUNK), chunks(0, CHUNK + 1)), (1, 1, 2));
        assert_eq!((chunks(1, 1), chunks(1, 15), chunks(1, 16)), (1, 1, 1));
        assert_eq!((chunks(1, CHUNK + 15), chunks(1, CHUNK + 16)), (1, 2));
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
