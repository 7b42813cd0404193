//! Prefetches and discards of many ranges in one call.
#![expect(unsafe_code, reason = "hands managed ranges to the runtime")]

use std::ffi::c_void;
use std::ops::Range;
use std::panic::Location;

use cuda_hazard::Operation;

use super::super::allocation::Span;
use super::super::buffer::{Slice, SliceMut};
use super::super::location::MemoryLocation;
use super::super::memory_type::Managed;
use crate::check;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::stream::{AsStream, StreamRef};
use crate::sys;

/// Many ranges of managed memory to prefetch, to discard, or both, with one call for each of the three.
///
/// Discarded memory has unspecified contents until it is written again, so its pages need not be migrated.
/// Only whole blocks of 64 KiB within a range are discarded, so that nothing beside the range is lost.
/// Nothing is discarded of a range that contains no whole block.
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

/// Discards are rounded inwards to multiples of this. Where the runtime discards by pages, no page of the
/// host or a device is larger.
const BLOCK: usize = 1 << 16;

/// The ranges of one call.
#[derive(Debug, Default)]
struct Ranges<'a> {
    pointers: Vec<*mut c_void>,
    sizes: Vec<usize>,
    locations: Vec<MemoryLocation>,
    accesses: Vec<Access<'a>>,
}

impl<'a> Ranges<'a> {
    /// Adds some of the bytes of a range, unless there are none.
    fn add<T>(
        &mut self,
        span: Span<'a, T>,
        part: Range<usize>,
        mode: Mode,
        location: Option<MemoryLocation>,
    ) {
        if part.is_empty() {
            return;
        }
        self.pointers.push(span.pointer().cast::<u8>().wrapping_add(part.start).cast());
        self.sizes.push(part.len());
        self.accesses.push(span.access(mode));
        self.locations.extend(location);
    }
}

/// Returns the whole blocks within `bytes` bytes at an address, counted from there. If there are none, the
/// range is empty and at the end.
fn blocks(address: usize, bytes: usize) -> Range<usize> {
    let Some(first) = address.checked_next_multiple_of(BLOCK) else { return bytes..bytes };
    let last = address.saturating_add(bytes) / BLOCK * BLOCK;
    if first < last { first - address..last - address } else { bytes..bytes }
}

impl<'a> PrefetchBatch<'a> {
    /// Makes an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a range to prefetch to a location.
    pub fn prefetch<T>(mut self, range: &Slice<'a, T, Managed>, to: MemoryLocation) -> Self {
        let span = range.span();
        self.prefetches.add(span, 0..span.bytes(), Mode::Read, Some(to));
        self
    }

    /// Adds a range whose contents are discarded.
    pub fn discard<T>(mut self, range: &'a mut SliceMut<'_, T, Managed>) -> Self {
        let span = range.span();
        self.discards.add(span, blocks(span.pointer().addr(), span.bytes()), Mode::Write, None);
        self
    }

    /// Adds a range whose contents are discarded and whose pages are prefetched to a location.
    pub fn discard_and_prefetch<T>(
        mut self,
        range: &'a mut SliceMut<'_, T, Managed>,
        to: MemoryLocation,
    ) -> Self {
        let span = range.span();
        let inner = blocks(span.pointer().addr(), span.bytes());
        // The bytes that are not discarded are only prefetched.
        self.prefetches.add(span, 0..inner.start, Mode::Read, Some(to));
        self.prefetches.add(span, inner.end..span.bytes(), Mode::Read, Some(to));
        self.both.add(span, inner, Mode::Write, Some(to));
        self
    }

    /// Submits all of it to a stream: first the discards, then the prefetches. An empty batch does nothing.
    ///
    /// Stands for [`cudaMemDiscardBatchAsync`](sys::cudaMemDiscardBatchAsync),
    /// [`cudaMemDiscardAndPrefetchBatchAsync`](sys::cudaMemDiscardAndPrefetchBatchAsync) and
    /// [`cudaMemPrefetchBatchAsync`](sys::cudaMemPrefetchBatchAsync).
    ///
    /// # Ordering
    /// Stream-ordered, and after conflicting work of other streams. A prefetch counts as a read, a discard
    /// as a write.
    ///
    /// # Errors
    /// - `cudaErrorInvalidValue` for the legacy stream, which accepts no batches.
    /// - `cudaErrorInvalidDevice` or `cudaErrorInvalidValue` for a location that does not exist.
    ///
    /// If one of the three calls fails, those before it are on the stream.
    #[doc(alias = "cudaMemPrefetchBatchAsync")]
    #[doc(alias = "cudaMemDiscardBatchAsync")]
    #[doc(alias = "cudaMemDiscardAndPrefetchBatchAsync")]
    #[track_caller]
    pub fn enqueue(self, stream: &impl AsStream) -> Result<()> {
        let (stream, call_site) = (stream.as_stream(), Location::caller());
        // A discard gives the device nothing to do: on an H200, it does not make a blocking stream wait for
        // the legacy stream.
        put(stream, self.discards, false, call_site, |pointers, sizes, count, _, _, raw| {
            // SAFETY: the lists have `count` elements, of managed memory whose owners wait for this before
            // they free it. The flags must be 0. The stream is live.
            unsafe { check!(cudaMemDiscardBatchAsync(pointers, sizes, count, 0, raw)) }
        })?;
        put(stream, self.both, true, call_site, |pointers, sizes, count, to, which, raw| {
            // SAFETY: the four lists have `count` elements, of managed memory whose owners wait for this
            // before they free it. The flags must be 0. The stream is live.
            unsafe {
                check!(cudaMemDiscardAndPrefetchBatchAsync(pointers, sizes, count, to, which, count, 0, raw))
            }
        })?;
        put(stream, self.prefetches, true, call_site, |pointers, sizes, count, to, which, raw| {
            // SAFETY: the four lists have `count` elements, of managed memory whose owners wait for this
            // before they free it. The flags must be 0. The stream is live.
            unsafe { check!(cudaMemPrefetchBatchAsync(pointers, sizes, count, to, which, count, 0, raw)) }
        })
    }
}

/// Declares the ranges to the tracker and makes the call, with the lists that C needs: pointers, sizes, their
/// number, one location for each range, and the numbers of the ranges. `acts` is whether the call gives the
/// device something to do.
fn put(
    stream: StreamRef<'_>,
    Ranges { mut pointers, mut sizes, locations, accesses }: Ranges<'_>,
    acts: bool,
    call_site: &'static Location<'static>,
    call: impl FnOnce(
        *mut *mut c_void,
        *mut usize,
        usize,
        *mut sys::cudaMemLocation,
        *mut usize,
        sys::cudaStream_t,
    ) -> Result<()>,
) -> Result<()> {
    if sizes.is_empty() {
        return Ok(());
    }
    let mut to: Vec<_> = locations.iter().map(|location| location.to_raw()).collect();
    let (mut which, count): (Vec<_>, _) = ((0..sizes.len()).collect(), sizes.len());
    let (pointers, sizes, to, which) =
        (pointers.as_mut_ptr(), sizes.as_mut_ptr(), to.as_mut_ptr(), which.as_mut_ptr());
    let call = |raw| call(pointers, sizes, count, to, which, raw);
    let operation = if acts { Operation::new(&accesses) } else { Operation::mark(&accesses) };
    // SAFETY: the operation is put on this stream. It uses these ranges and nothing else.
    unsafe { stream.submit(operation, call_site, call) }
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
