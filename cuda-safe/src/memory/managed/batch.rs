//! Prefetches and discards of many ranges in one call.
#![expect(unsafe_code, reason = "hands managed ranges to the runtime")]

use std::ffi::c_void;
use std::ops::Range;
use std::panic::Location;

use cuda_hazard::Operation;

use super::super::location::MemoryLocation;
use super::super::place::Managed;
use super::super::slice::{Slice, SliceMut};
use super::super::span::Span;
use crate::check;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::stream::{AsStream, StreamRef};
use crate::sys;

/// Many ranges of managed memory, to be brought to places, to be given up, or both, in one call for each of the three.
///
/// What is discarded holds no particular values any more, until it is written again: pages need not be moved for it. Only whole
/// blocks of 64 KiB within a range are discarded, so that nothing beside the range is lost; of a smaller range nothing is.
///
/// # Examples
/// ```
/// use cuda_safe::Device;
/// use cuda_safe::memory::managed::PrefetchBatch;
/// use cuda_safe::memory::{ManagedBuffer, MemoryLocation};
/// use cuda_safe::stream::Stream;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let device = MemoryLocation::Device(Device::current()?);
/// let input = ManagedBuffer::from_slice(&[1.0_f32; 1024])?;
/// let mut output = ManagedBuffer::<f32>::alloc(1024)?;
/// PrefetchBatch::new()
///     .prefetch(&input.as_slice(), device)
///     .discard_and_prefetch(&mut output.as_slice_mut(), device)
///     .enqueue(&stream)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use = "nothing happens before `enqueue`"]
pub struct PrefetchBatch<'a> {
    prefetches: Ranges<'a>,
    discards: Ranges<'a>,
    both: Ranges<'a>,
}

/// What discards are rounded to, inwards: no page that the host or a device has is larger where discards are by the page.
const BLOCK: usize = 1 << 16;

/// Ranges that one call is about.
#[derive(Debug, Default)]
struct Ranges<'a> {
    pointers: Vec<*mut c_void>,
    sizes: Vec<usize>,
    places: Vec<MemoryLocation>,
    accesses: Vec<Access<'a>>,
}

impl<'a> Ranges<'a> {
    /// Adds some of the bytes of a range, unless there are none.
    fn add<T>(&mut self, span: Span<'a, T>, part: Range<usize>, mode: Mode, place: Option<MemoryLocation>) {
        if part.is_empty() {
            return;
        }
        self.pointers.push(span.pointer().cast::<u8>().wrapping_add(part.start).cast());
        self.sizes.push(part.len());
        self.accesses.push(span.access(mode));
        self.places.extend(place);
    }

    /// One place for each range, as C wants them.
    fn raw_places(&self) -> (Vec<sys::cudaMemLocation>, Vec<usize>) {
        (self.places.iter().map(|place| place.to_raw()).collect(), (0..self.places.len()).collect())
    }
}

/// The whole blocks within so many bytes at an address, counted from there; empty where there are none.
fn blocks(address: usize, bytes: usize) -> Range<usize> {
    let Some(first) = address.checked_next_multiple_of(BLOCK) else { return 0..0 };
    let last = address.saturating_add(bytes) / BLOCK * BLOCK;
    if first < last { first - address..last - address } else { 0..0 }
}

impl<'a> PrefetchBatch<'a> {
    /// A batch of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a range to be brought to a place.
    pub fn prefetch<T>(mut self, range: &Slice<'a, T, Managed>, to: MemoryLocation) -> Self {
        let span = range.span();
        self.prefetches.add(span, 0..span.bytes(), Mode::Read, Some(to));
        self
    }

    /// Adds a range whose contents are given up.
    pub fn discard<T>(mut self, range: &'a mut SliceMut<'_, T, Managed>) -> Self {
        let span = range.span();
        self.discards.add(span, blocks(span.pointer().addr(), span.bytes()), Mode::Write, None);
        self
    }

    /// Adds a range whose contents are given up and whose pages are brought to a place.
    pub fn discard_and_prefetch<T>(
        mut self,
        range: &'a mut SliceMut<'_, T, Managed>,
        to: MemoryLocation,
    ) -> Self {
        let span = range.span();
        let inner = blocks(span.pointer().addr(), span.bytes());
        // What is not discarded is only brought there.
        let (head, tail) = if inner.is_empty() {
            (0..span.bytes(), 0..0)
        } else {
            (0..inner.start, inner.end..span.bytes())
        };
        self.prefetches.add(span, head, Mode::Read, Some(to));
        self.prefetches.add(span, tail, Mode::Read, Some(to));
        self.both.add(span, inner, Mode::Write, Some(to));
        self
    }

    /// Gives all of it to a stream: first the discards, then the prefetches. Nothing added, no call.
    ///
    /// Stands for [`cudaMemDiscardBatchAsync`](sys::cudaMemDiscardBatchAsync),
    /// [`cudaMemDiscardAndPrefetchBatchAsync`](sys::cudaMemDiscardAndPrefetchBatchAsync) and
    /// [`cudaMemPrefetchBatchAsync`](sys::cudaMemPrefetchBatchAsync).
    ///
    /// # Ordering
    /// In the order of the stream, and after conflicting work of other streams: a prefetch counts as a read, a discard as a
    /// write.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for the legacy stream, which takes no batches; `cudaErrorInvalidDevice` or
    /// `cudaErrorInvalidValue` for a place that is none. Of the three calls, those before the one that failed are on the stream.
    #[doc(alias = "cudaMemPrefetchBatchAsync")]
    #[doc(alias = "cudaMemDiscardBatchAsync")]
    #[doc(alias = "cudaMemDiscardAndPrefetchBatchAsync")]
    #[track_caller]
    pub fn enqueue(self, stream: &impl AsStream) -> Result<()> {
        let (stream, place) = (stream.as_stream(), Location::caller());
        // SAFETY of the three calls: lists of as many elements as the call is told, of managed memory whose owners wait for this
        // before they free; the places and their numbers are as many; the flags must be 0; the stream is live.
        // To discard is nothing for the device to do: an H200 does not put a blocking stream behind the legacy one for it.
        put(stream, self.discards, false, place, |ranges, raw| {
            let (pointers, sizes) = (ranges.pointers.as_mut_ptr(), ranges.sizes.as_mut_ptr());
            // SAFETY: as above.
            unsafe { check!(cudaMemDiscardBatchAsync(pointers, sizes, ranges.sizes.len(), 0, raw)) }
        })?;
        put(stream, self.both, true, place, |ranges, raw| {
            let (mut places, mut numbers) = ranges.raw_places();
            let (pointers, sizes) = (ranges.pointers.as_mut_ptr(), ranges.sizes.as_mut_ptr());
            let (count, to, which) = (ranges.sizes.len(), places.as_mut_ptr(), numbers.as_mut_ptr());
            // SAFETY: as above.
            unsafe {
                check!(cudaMemDiscardAndPrefetchBatchAsync(pointers, sizes, count, to, which, count, 0, raw))
            }
        })?;
        put(stream, self.prefetches, true, place, |ranges, raw| {
            let (mut places, mut numbers) = ranges.raw_places();
            let (pointers, sizes) = (ranges.pointers.as_mut_ptr(), ranges.sizes.as_mut_ptr());
            let (count, to, which) = (ranges.sizes.len(), places.as_mut_ptr(), numbers.as_mut_ptr());
            // SAFETY: as above.
            unsafe { check!(cudaMemPrefetchBatchAsync(pointers, sizes, count, to, which, count, 0, raw)) }
        })
    }
}

/// Enters the ranges in the books and makes the call. `acts` says whether that gives the device something to do.
fn put(
    stream: StreamRef<'_>,
    mut ranges: Ranges<'_>,
    acts: bool,
    place: &'static Location<'static>,
    call: impl FnOnce(&mut Ranges<'_>, sys::cudaStream_t) -> Result<()>,
) -> Result<()> {
    if ranges.sizes.is_empty() {
        return Ok(());
    }
    let accesses = std::mem::take(&mut ranges.accesses);
    let call = |raw| call(&mut ranges, raw).map_err(|error| error.at(place));
    let operation = if acts { Operation::new(&accesses) } else { Operation::mark(&accesses) };
    // SAFETY: the operation touches these ranges and nothing else, and is put on this stream.
    unsafe { stream.submit(operation, place, call) }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, blocks};

    #[test]
    fn only_whole_blocks_within_a_range_are_discarded() {
        assert_eq!(blocks(BLOCK, 2 * BLOCK), 0..2 * BLOCK);
        assert_eq!(blocks(BLOCK + 1, 2 * BLOCK), BLOCK - 1..2 * BLOCK - 1);
        assert!(blocks(BLOCK + 1, BLOCK).is_empty());
        assert!(blocks(BLOCK, BLOCK - 1).is_empty());
        assert!(blocks(usize::MAX - 5, 5).is_empty());
    }
}
