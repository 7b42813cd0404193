//! [`Pipeline`]: streams a host array of any size through a device in chunks, with copies and kernels
//! overlapped.
//!
//! The copies to the device (H2D), the program's work, and the copies back (D2H) each have streams of
//! their own. For each chunk, in order, the input is copied to the device, the program's closure
//! enqueues the work, and the output is copied back. On the device a chunk uses a *bounce buffer*, which
//! holds its input and its output. The buffers are used in rotation: while one chunk is copied to the
//! device, another is computed, and a third is copied back.
//!
//! [`Pipeline::run`] blocks until everything is complete. Pinned and registered memory is copied
//! asynchronously. Copies of pageable memory are staged ([`staged`](super::staged)) and block, so each
//! direction that is pageable gets a thread, and the calling thread enqueues the work meanwhile.
//!
//! | file | what it owns |
//! |---|---|
//! | `array` | the host arrays |
//! | `run` | streams, bounce buffers, worker threads, and the loop that moves chunks through them |
//!
//! # Why it is sound
//! - Events order the three steps of a chunk, and successive chunks in the same bounce buffer. Soundness does
//!   not depend on these events, nor on the streams that the closure uses: the tracker records every copy and
//!   all work that the closure enqueues, so no chunk is written while it is still read.
//! - The tracker also prevents that pinned memory is reached or freed while a copy is pending.
//! - Only blocking copies touch pageable memory. They run on the calling thread and on scoped threads,
//!   and all of them have returned before `run` returns or unwinds.
//! - After an error or a panic nothing further is started, and `run` waits for everything that the
//!   streams have received.

mod array;
mod run;

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

pub use self::array::{PipelineInput, PipelineOutput};
use self::run::{BounceBuffer, CopyH2d, Directions, Streams, run_chunks};
#[cfg(doc)]
use crate::DeviceBuffer;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::memory::{DeviceSlice, DeviceSliceMut, size};
use crate::stream::{Stream, StreamRef, ensure_idle};

/// Streams host arrays through a device in chunks: copies to the device, the program's work, and copies back
/// overlap.
///
/// A pipeline can be used any number of times. On the device, it owns memory for a chunk of input and a chunk
/// of output per bounce buffer.
///
/// # Examples
/// ```
/// use cuda_safe::copy::Pipeline;
/// use cuda_safe::memcpy_async;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let input: Vec<u32> = (0..10_000).collect();
/// let mut output = vec![0; 10_000];
/// let mut pipeline = Pipeline::<u32, u32>::new(1024)?;
/// pipeline.run(&mut output, &input, |stream, input, mut output, _range| {
///     // Usually a kernel.
///     memcpy_async(&mut output, &input, &stream)
/// })?;
/// assert_eq!(output, input);
/// # Ok(())
/// # }
/// ```
pub struct Pipeline<I, O> {
    device: Device,
    streams: Streams,
    /// Elements per chunk. `None` if the pipeline chooses for each array.
    chunk: Option<usize>,
    /// Elements that each bounce buffer can hold.
    capacity: usize,
    /// The number of bounce buffers that the program has set.
    count: Option<usize>,
    /// The bounce buffers that have been needed so far. Some are missing after a panic or a failed
    /// allocation.
    buffers: VecDeque<BounceBuffer<I, O>>,
}

impl<I, O> Pipeline<I, O>
where
    I: AnyBitPattern + NoUninit + Send + Sync,
    O: AnyBitPattern + Send,
{
    /// Makes a pipeline on the current device with chunks of `chunk` elements. It has four bounce
    /// buffers, and six if an array is pageable.
    ///
    /// A pipeline made by [`builder`](Self::builder) without a chunk size chooses one for each array: usually
    /// 16 MiB, or 14 MiB for pageable memory.
    ///
    /// # Errors
    /// Fails as [`DeviceBuffer::alloc`]. Refused if `chunk` is 0.
    #[track_caller]
    pub fn new(chunk: usize) -> Result<Self> {
        Self::builder().chunk(chunk).build()
    }

    /// Returns a builder that sets chunk size, bounce buffers and streams.
    pub fn builder() -> PipelineBuilder<I, O> {
        PipelineBuilder::new()
    }

    /// Allocates the missing bounce buffers, for `count` of them with at least `chunk` elements each.
    #[track_caller]
    fn provide(&mut self, chunk: usize, count: usize) -> Result<()> {
        if self.capacity < chunk {
            self.buffers.clear();
            self.capacity = chunk;
        }
        while self.buffers.len() < count {
            self.buffers.push_back(BounceBuffer::new(self.device, self.capacity)?);
        }
        Ok(())
    }

    /// Streams `input` through the device to `output`, which has the same length. Blocks until everything is
    /// complete.
    ///
    /// For each chunk, `work` receives the stream to use, the chunk's input and the memory for its
    /// output on the device, and the range of the arrays' elements. It enqueues the work and returns.
    /// Output that it does not write is unspecified. Host arrays are slices, vectors, pinned and
    /// registered memory.
    ///
    /// # Ordering
    /// `work` is called on this thread, for one chunk after the other, in order. When it is called, the
    /// chunk may still be in flight to the device, and earlier chunks may still be computed. Work that
    /// it enqueues on the stream runs after the chunk's copy to the device and before its copy back.
    /// Copies of some chunks overlap with the work of others.
    ///
    /// # Errors
    /// Refused if the lengths differ, and inside a host function. Otherwise returns the failure of
    /// `work`, of a copy, or of the device's work, from the earliest chunk for which one is known. After
    /// a failure no further chunk is started, work in flight is waited for, and the output is partly
    /// written.
    #[track_caller]
    pub fn run<'a>(
        &mut self,
        output: impl Into<PipelineOutput<'a, O>>,
        input: impl Into<PipelineInput<'a, I>>,
        mut work: impl FnMut(StreamRef<'_>, DeviceSlice<'_, I>, DeviceSliceMut<'_, O>, Range<usize>) -> Result<()>,
    ) -> Result<()>
    where
        I: 'a,
        O: 'a,
    {
        let (output, input) = (output.into(), input.into());
        size::same_length("Pipeline::run", output.len(), input.len())?;
        let pageable = Directions { h2d: input.is_pageable(), d2h: output.is_pageable() };
        let copy_h2d =
            |streams: &Streams,
             buffer: &mut BounceBuffer<I, O>,
             range: Range<usize>,
             _: &PipelineOutput<'_, O>| { buffer.copy_h2d(streams, input.part(range)?) };
        self.stream(output, pageable, &copy_h2d, |stream, buffer, range| {
            buffer.work(stream, range, &mut work)
        })
    }

    /// Moves chunk after chunk to the device by `copy_h2d`, which also receives the chunk's output on
    /// the host, has its work enqueued by `work`, and copies it back.
    #[track_caller]
    fn stream(
        &mut self,
        output: PipelineOutput<'_, O>,
        pageable: Directions,
        copy_h2d: &CopyH2d<'_, I, O>,
        mut work: impl FnMut(&Stream, &mut BounceBuffer<I, O>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        // Checked here because worker threads would not notice that this thread is busy.
        ensure_idle("Pipeline::run")?;
        let len = output.len();
        let larger = size_of::<I>().max(size_of::<O>());
        let any_pageable = pageable.h2d || pageable.d2h;
        let chunk = self.chunk.unwrap_or_else(|| default_chunk(len, larger, any_pageable));
        let count = self.count.unwrap_or_else(|| default_buffers(any_pageable));
        // No more buffers than chunks.
        self.provide(chunk, count.min(len.div_ceil(chunk)))?;
        let mut ranges = (0..len).step_by(chunk).map(|start| start..len.min(start.saturating_add(chunk)));
        let mut rest = Some(output);
        let chunks = std::iter::from_fn(|| {
            let (range, output) = (ranges.next()?, rest.take()?);
            Some(output.split(range.len()).map(|(part, behind)| {
                rest = Some(behind);
                (range, part)
            }))
        });
        // A single chunk has nothing to overlap with.
        let blocking = if len > chunk { pageable } else { Directions { h2d: false, d2h: false } };
        let Self { streams, buffers, .. } = self;
        streams.traffic = blocking.traffic();
        let streams = &*streams;
        let mut work_streams = streams.work.iter().cycle();
        let work = |buffer: &mut BounceBuffer<I, O>, range: Range<usize>| match work_streams.next() {
            Some(stream) => work(stream, buffer, range),
            None => Ok(()),
        };
        // If this unwinds, buffers that are with other threads are dropped, which waits for the work
        // that uses them.
        let drained = Drained(Some(streams));
        let worked = run_chunks(streams, buffers, chunks, blocking, copy_h2d, work);
        worked.and(drained.wait())
    }
}

impl<T> Pipeline<T, T>
where
    T: AnyBitPattern + NoUninit + Send + Sync,
{
    /// Streams an array through the device and back to the same memory. Blocks until everything is complete.
    ///
    /// For each chunk, `work` receives the stream to use, the chunk on the device, and the range of the
    /// array's elements. It enqueues work that changes the chunk, and returns. Otherwise as
    /// [`run`](Self::run).
    ///
    /// # Errors
    /// As [`run`](Self::run), except for lengths. After a failure the array is partly changed.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::copy::Pipeline;
    /// use cuda_safe::memset_async;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut array = vec![1_u8; 1000];
    /// let mut pipeline = Pipeline::<u8, u8>::new(100)?;
    /// pipeline.run_in_place(&mut array, |stream, mut chunk, _range| {
    ///     memset_async(&mut chunk.slice_mut(..10)?, 7, &stream)
    /// })?;
    /// assert_eq!(array[300..311], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn run_in_place<'a>(
        &mut self,
        array: impl Into<PipelineOutput<'a, T>>,
        mut work: impl FnMut(StreamRef<'_>, DeviceSliceMut<'_, T>, Range<usize>) -> Result<()>,
    ) -> Result<()>
    where
        T: 'a,
    {
        let array = array.into();
        let pageable = Directions { h2d: array.is_pageable(), d2h: array.is_pageable() };
        let copy_h2d =
            |streams: &Streams,
             buffer: &mut BounceBuffer<T, T>,
             _: Range<usize>,
             part: &PipelineOutput<'_, T>| { buffer.copy_h2d_in_place(streams, part.as_input()) };
        self.stream(array, pageable, &copy_h2d, |stream, buffer, range| {
            buffer.work_in_place(stream, range, &mut work)
        })
    }
}

/// Waits for the streams of a pipeline when it is dropped.
struct Drained<'a>(Option<&'a Streams>);

impl Drained<'_> {
    #[track_caller]
    fn wait(mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Streams::synchronize)
    }
}

impl Drop for Drained<'_> {
    fn drop(&mut self) {
        if let Some(streams) = self.0 {
            // The caller receives the panic, so an error is ignored.
            let _ = streams.synchronize();
        }
    }
}

impl<I, O> fmt::Debug for Pipeline<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("device", &self.device.ordinal())
            .field("chunk", &self.chunk)
            .field("buffers", &self.count)
            .field("work_streams", &self.streams.work.len())
            .finish_non_exhaustive()
    }
}

/// Sets chunk size, bounce buffers and streams of a pipeline. Made by [`Pipeline::builder`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct PipelineBuilder<I, O> {
    chunk: Option<usize>,
    buffers: Option<usize>,
    work_streams: usize,
    elements: PhantomData<fn(I) -> O>,
}

/// With one stream, chunks are complete one after the other, which keeps the copies back busy.
const WORK_STREAMS: usize = 1;

impl<I, O> PipelineBuilder<I, O>
where
    I: AnyBitPattern + NoUninit + Send + Sync,
    O: AnyBitPattern + Send,
{
    fn new() -> Self {
        Self { chunk: None, buffers: None, work_streams: WORK_STREAMS, elements: PhantomData }
    }

    /// Sets the number of elements per chunk. The last chunk of an array may have fewer.
    ///
    /// By default the pipeline chooses the chunk size, and with it the memory of its bounce buffers, for each
    /// array: about 16 MiB, 14 MiB if an array is pageable, and less for small arrays.
    pub fn chunk(mut self, elements: usize) -> Self {
        self.chunk = Some(elements);
        self
    }

    /// Sets the number of bounce buffers, each with memory for one chunk on the device.
    ///
    /// The default is four, and six if an array is pageable. Copies in both directions and work all overlap
    /// with at least three; with one, nothing overlaps. Those beyond four are allocated for the first array
    /// that has as many chunks.
    pub fn buffers(mut self, buffers: usize) -> Self {
        self.buffers = Some(buffers);
        self
    }

    /// Sets the number of streams that receive the work of chunks in rotation. The default is one.
    ///
    /// With several streams, the work of several chunks overlaps, which helps kernels that do not fill the
    /// device alone. Each stream needs a bounce buffer.
    pub fn work_streams(mut self, streams: usize) -> Self {
        self.work_streams = streams;
        self
    }

    /// Makes the pipeline on the current device.
    ///
    /// # Errors
    /// Fails as [`DeviceBuffer::alloc`](crate::DeviceBuffer::alloc) and
    /// [`StreamBuilder::build`](crate::stream::StreamBuilder::build). Refused if a number is 0.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::copy::Pipeline;
    /// use cuda_safe::memcpy_async;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// // The chunk size fits each array; the device has memory for six chunks.
    /// let mut pipeline = Pipeline::<f32, f32>::builder().buffers(6).build()?;
    /// let mut output = vec![0.0; 3];
    /// pipeline.run(&mut output, &vec![1.0, 2.0, 3.0], |stream, input, mut output, _range| {
    ///     memcpy_async(&mut output, &input, &stream)
    /// })?;
    /// assert_eq!(output, [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn build(self) -> Result<Pipeline<I, O>> {
        for (what, number) in [
            ("the chunk size", self.chunk.unwrap_or(1)),
            ("the number of buffers", self.buffers.unwrap_or(1)),
            ("the number of work streams", self.work_streams),
        ] {
            if number == 0 {
                return Err(Error::refused("PipelineBuilder::build", Detail::zero(what)));
            }
        }
        let device = Device::current()?;
        let (chunk, count) = (self.chunk, self.buffers);
        let streams = Streams::new(device, self.work_streams)?;
        let mut pipeline = Pipeline { device, streams, chunk, capacity: 0, count, buffers: VecDeque::new() };
        if let Some(chunk) = chunk {
            let usual = default_buffers(false);
            pipeline.provide(chunk, count.unwrap_or(usual).min(usual))?;
        }
        Ok(pipeline)
    }
}

const MIB: usize = 1 << 20;

/// Bounds for the chunks of a pipeline: the sizes of the smallest and largest chunk in bytes, the number of
/// chunks to reach before chunks grow beyond the smallest, and the number of bounce buffers.
struct Bounds {
    least: usize,
    most: usize,
    chunks: usize,
    buffers: usize,
}

/// Each copy of pinned memory costs some microseconds, and copies of 16 MiB reach about the full rate.
/// One chunk is copied to the device, one is computed, one is copied back, and one buffer is spare.
const PINNED: Bounds = Bounds { least: MIB, most: 16 * MIB, chunks: 16, buffers: 4 };

/// Each copy of pageable memory wakes threads, and small ones are not staged at all. The time per copy
/// varies, which more spare buffers compensate. (Measured with heavy work: 12 MiB is 2 % slower, 16 MiB
/// 4 %, 8 MiB 17 %, and four buffers 2 %. More than six buffers gain nothing, nor do smaller chunks at
/// begin and end.)
const PAGEABLE: Bounds = Bounds { least: 8 * MIB, most: 14 * MIB, chunks: 8, buffers: 6 };

/// Chunks begin at multiples of this many elements, so that copies begin at page and cache line boundaries.
const STEP: usize = 1024;

fn bounds(pageable: bool) -> Bounds {
    if pageable { PAGEABLE } else { PINNED }
}

/// Returns the default number of bounce buffers.
fn default_buffers(pageable: bool) -> usize {
    bounds(pageable).buffers
}

/// Returns the default number of elements per chunk for an array of `len` elements. `element` is the size in
/// bytes of an input or output element, whichever is larger.
fn default_chunk(len: usize, element: usize, pageable: bool) -> usize {
    let bounds = bounds(pageable);
    let elements = |bytes: usize| (bytes / element.max(1)).max(1);
    let share = len.div_ceil(bounds.chunks).div_ceil(STEP).saturating_mul(STEP);
    share.max(elements(bounds.least)).min(elements(bounds.most)).min(len.max(1))
}

#[cfg(test)]
mod tests {
    use super::{MIB, default_chunk};

    #[test]
    fn chunks_are_neither_too_few_nor_too_small_nor_too_large() {
        for (bytes, pageable, expected) in [
            (1 << 30, false, 16 * MIB),
            (1 << 30, true, 14 * MIB),
            (64 * MIB, false, 4 * MIB),
            (64 * MIB, true, 8 * MIB),
            (128 * MIB, true, 14 * MIB),
            (8 * MIB, false, MIB),
            (MIB / 2, false, MIB / 2),
            (8 * MIB, true, 8 * MIB),
        ] {
            assert_eq!(
                default_chunk(bytes / 4, 4, pageable) * 4,
                expected,
                "{bytes} bytes, pageable: {pageable}"
            );
        }
    }

    #[test]
    fn odd_lengths_and_sizes_make_chunks_too() {
        assert_eq!(default_chunk(0, 4, false), 1);
        assert_eq!(default_chunk(1, 4, true), 1);
        assert_eq!(default_chunk(3, 1 << 30, false), 1);
        assert_eq!(default_chunk(usize::MAX, 1, true), 14 * MIB);
        assert_eq!(default_chunk(100 * MIB + 1, 1, false) % 1024, 0);
    }
}
