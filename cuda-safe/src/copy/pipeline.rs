//! [`Pipeline`]: a host array of any size through a device in chunks, with copies and kernels overlapped.
//!
//! A pipeline has three *stages*, each with a stream of its own: up, the program's work, and down. Chunk by chunk, in order, the input is copied up,
//! the program's closure enqueues the work, and the output is copied down. On the device each chunk has a *room*, for input and
//! output; rooms are taken in turn, so that one chunk is on its way up while another is computed and a third on its way down.
//!
//! [`Pipeline::run`] blocks until all is done. Pinned and registered memory is copied asynchronously. Pageable memory is staged
//! ([`staged`](super::staged)), which waits: for each way there is a thread more then, and the calling one enqueues the work meanwhile.
//!
//! | module | what it owns |
//! |---|---|
//! | `array` | the host arrays |
//! | `builder` | what the program chooses |
//! | `cut` | how large chunks are where it does not |
//! | `pass` | how chunks pass through the stages |
//! | `room` | the streams of the stages, the rooms, and one chunk's way through them |
//! | `stage` | a stage that a thread of its own does |
//!
//! # Why it is sound
//! Events order the stages of a chunk, and the chunks that have a room one after the other. Should they not be enough, whatever streams
//! the closure uses: every copy and whatever the closure enqueues is on the tracker's tracker, so no chunk is written while it is still read.
//! Pinned memory cannot be reached or freed while a copy is pending, by the same tracker. Pageable memory is only touched by blocking
//! copies on the calling thread and on scoped ones, all of which are over before `run` returns or unwinds. After an
//! error or a panic nothing new is begun, and `run` waits for all that the stages were given.
//!
//! C functions: `cudaMemcpyAsync`, `cudaEventRecord`, `cudaStreamWaitEvent`, `cudaStreamSynchronize`.

mod array;
mod builder;
mod cut;
mod pass;
mod room;
mod stage;

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

pub use self::array::{PipelineInput, PipelineOutput};
pub use self::builder::PipelineBuilder;
use self::pass::{Up, Ways, pass};
use self::room::{Room, Stages};
#[cfg(doc)]
use crate::DeviceBuffer;
use crate::device::Device;
use crate::error::Result;
use crate::memory::{DeviceSlice, DeviceSliceMut, size};
use crate::stream::{Stream, StreamRef, ensure_idle};

/// Streams host arrays through a device in chunks: up, the program's work, and down, overlapped.
///
/// One may be used any number of times. It holds, for each of its rooms, a chunk of input and a chunk of output on the device.
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
///     // Kernels, as a rule.
///     memcpy_async(&mut output, &input, &stream)
/// })?;
/// assert_eq!(output, input);
/// # Ok(())
/// # }
/// ```
pub struct Pipeline<I, O> {
    device: Device,
    stages: Stages,
    /// Elements of a chunk; none where each array has its own.
    chunk: Option<usize>,
    /// Elements that each room is for.
    room: usize,
    /// How many rooms the program wants.
    count: Option<usize>,
    /// Those that were needed so far; fewer after a panic, or where there was no memory.
    rooms: VecDeque<Room<I, O>>,
}

impl<I, O> Pipeline<I, O>
where
    I: AnyBitPattern + NoUninit + Send + Sync,
    O: AnyBitPattern + Send,
{
    /// Makes a pipeline with chunks of so many elements on the current device, and room for four of them; for six where an array is pageable.
    ///
    /// [`builder`](Self::builder) makes one that chooses for each array; it takes chunks of 16 MiB, and of 14 MiB of pageable memory, as a rule.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::alloc`]; a refusal where `chunk` is 0.
    #[track_caller]
    pub fn new(chunk: usize) -> Result<Self> {
        Self::builder().chunk(chunk).build()
    }

    /// Says what a pipeline is to be like: chunks, rooms, streams.
    pub fn builder() -> PipelineBuilder<I, O> {
        PipelineBuilder::new()
    }

    #[track_caller]
    fn made(device: Device, chunk: Option<usize>, count: Option<usize>, work_streams: usize) -> Result<Self> {
        let stages = Stages::new(device, work_streams)?;
        let mut pipeline = Self { device, stages, chunk, room: 0, count, rooms: VecDeque::new() };
        if let Some(chunk) = chunk {
            pipeline.provide(chunk, count.unwrap_or_else(|| cut::rooms(false)))?;
        }
        Ok(pipeline)
    }

    /// Sees to it that there are so many rooms, and that chunks of so many elements fit them.
    #[track_caller]
    fn provide(&mut self, chunk: usize, rooms: usize) -> Result<()> {
        if self.room < chunk {
            self.rooms.clear();
            self.room = chunk;
        }
        while self.rooms.len() < rooms {
            self.rooms.push_back(Room::new(self.device, self.room)?);
        }
        Ok(())
    }

    /// Streams `input` through the device to `output`, which has as many elements; blocks until all is done.
    ///
    /// For each chunk, `work` gets the stream to use, the chunk's input and the room for its output on the device, and which elements of the arrays
    /// they are. It enqueues the work and returns; what it does not write of the output is unspecified. Host arrays are slices, vectors, pinned
    /// and registered memory.
    ///
    /// # Ordering
    /// `work` is called on this thread, for one chunk after the other, in order; when it is called the chunk may still be on its way up, and those
    /// before it may still be computed. What it enqueues on the stream comes after the way up, and the way down after it. Copies of some chunks
    /// overlap with the work of others.
    ///
    /// # Errors
    /// A refusal where the lengths differ, or inside a host function. Else the failure of `work`, of a copy, or of the device's work: of the earliest
    /// chunk, as far as it is known which one it was. No further chunk is begun, what is in flight is waited for, and the output is partly written.
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
        let ways = Ways { up: input.is_pageable(), down: output.is_pageable() };
        let up = |stages: &Stages, room: &mut Room<I, O>, range: Range<usize>, _: &PipelineOutput<'_, O>| {
            room.up(stages, input.part(range)?)
        };
        self.stream(output, ways, &up, |stream, room, range| room.work(stream, range, &mut work))
    }

    /// Brings chunk after chunk up by `up`, which is given the part of the output too, has its work enqueued by `work`, and brings it down.
    #[track_caller]
    fn stream(
        &mut self,
        output: PipelineOutput<'_, O>,
        pageable: Ways,
        up: &Up<'_, I, O>,
        mut work: impl FnMut(&Stream, &mut Room<I, O>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        // Other threads would not know.
        ensure_idle("Pipeline::run")?;
        let len = output.len();
        let larger = size_of::<I>().max(size_of::<O>());
        let slow = pageable.up || pageable.down;
        let chunk = self.chunk.unwrap_or_else(|| cut::chunk(len, larger, slow));
        let rooms = self.count.unwrap_or_else(|| cut::rooms(slow));
        // No more than there are chunks.
        self.provide(chunk, rooms.min(len.div_ceil(chunk)))?;
        let mut ranges = (0..len).step_by(chunk).map(|start| start..len.min(start.saturating_add(chunk)));
        let mut rest = Some(output);
        let chunks = std::iter::from_fn(|| {
            let (range, output) = (ranges.next()?, rest.take()?);
            Some(output.split(range.len()).map(|(part, behind)| {
                rest = Some(behind);
                (range, part)
            }))
        });
        // Of a single chunk there is nothing to overlap.
        let waits = if len > chunk { pageable } else { Ways { up: false, down: false } };
        let Self { stages, rooms, .. } = self;
        stages.traffic = waits.traffic();
        let stages = &*stages;
        let mut streams = stages.work.iter().cycle();
        let work = |room: &mut Room<I, O>, range: Range<usize>| match streams.next() {
            Some(stream) => work(stream, room, range),
            None => Ok(()),
        };
        // Rooms that are with other threads are dropped where this unwinds, which waits for all that they are used by.
        let all = Drained(Some(stages));
        let worked = pass(stages, rooms, chunks, waits, up, work);
        worked.and(all.over())
    }
}

impl<T> Pipeline<T, T>
where
    T: AnyBitPattern + NoUninit + Send + Sync,
{
    /// Streams an array through the device and back to where it was; blocks until all is done.
    ///
    /// For each chunk, `work` gets the stream to use, the chunk on the device, and which elements of the array it is. It enqueues what changes the
    /// chunk, and returns. Otherwise as [`run`](Self::run).
    ///
    /// # Errors
    /// As [`run`](Self::run), but for lengths; the array is then changed in part.
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
        let ways = Ways { up: array.is_pageable(), down: array.is_pageable() };
        let up = |stages: &Stages, room: &mut Room<T, T>, _: Range<usize>, part: &PipelineOutput<'_, T>| {
            room.up_in_place(stages, part.as_input())
        };
        self.stream(array, ways, &up, |stream, room, range| room.work_in_place(stream, range, &mut work))
    }
}

/// Waits for the stages when it goes out of scope.
struct Drained<'a>(Option<&'a Stages>);

impl Drained<'_> {
    #[track_caller]
    fn over(mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Stages::synchronize)
    }
}

impl Drop for Drained<'_> {
    fn drop(&mut self) {
        if let Some(stages) = self.0 {
            // What failed is of no interest beside the panic.
            let _ = stages.synchronize();
        }
    }
}

impl<I, O> fmt::Debug for Pipeline<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("device", &self.device.ordinal())
            .field("chunk", &self.chunk)
            .field("rooms", &self.count)
            .field("work_streams", &self.stages.work.len())
            .finish_non_exhaustive()
    }
}
