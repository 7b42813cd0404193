//! [`Pipeline`]: a host array of any size through a device in chunks, with copies and kernels overlapped.
//!
//! A pipeline owns a few *lanes*, each a stream with room for one chunk of input and one of output on the device. Chunk by chunk, in order,
//! the input is copied up, the program's closure enqueues the work, and the output is copied down, all on the chunk's lane; lanes are taken in
//! turn, so that one chunk is on its way up while another is computed and a third on its way down.
//!
//! [`Pipeline::run`] blocks until all is done. Pinned and registered memory is copied asynchronously. Pageable memory is staged
//! ([`staged`](super::staged)): up by the calling thread and its helpers, down by one thread more.
//!
//! # Why it is sound
//! Every copy and whatever the closure enqueues is on the tracker's books, so no chunk is written while it is still read, whatever streams the
//! closure uses. Pinned memory cannot be reached or freed while a copy is pending, by the same books. Pageable memory is only touched by blocking
//! copies on the calling thread and on a scoped one, both of which are over before `run` returns or unwinds. After an
//! error or a panic nothing new is begun, and `run` waits for what is in flight: by synchronising the lanes, or, when it unwinds, by dropping
//! their buffers.
//!
//! C functions: `cudaMemcpyAsync`, `cudaStreamSynchronize`.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::mpsc::channel;
use std::thread;

use bytemuck::{AnyBitPattern, NoUninit};

use super::linear::memcpy_async;
use super::operand::Operand;
use super::transfer::staged_on;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::memory::{
    Buffer, DeviceBuffer, DeviceSlice, DeviceSliceMut, OnDevice, Pinned, PinnedSlice, PinnedSliceMut,
    Registered, Stable, StableMut, size,
};
use crate::stream::{AsStream, Stream, StreamRef};

/// The host array that a [`Pipeline`] reads.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PipelineInput<'a, T> {
    /// A slice or a vector.
    Pageable(&'a [T]),
    /// Pinned or registered memory, which is copied without a detour.
    Pinned(PinnedSlice<'a, T>),
}

/// The host array that a [`Pipeline`] writes.
#[derive(Debug)]
#[non_exhaustive]
pub enum PipelineOutput<'a, T> {
    /// A slice or a vector, which is filled to its length.
    Pageable(&'a mut [T]),
    /// Pinned or registered memory, which is copied without a detour.
    Pinned(PinnedSliceMut<'a, T>),
}

impl<'a, T> From<&'a [T]> for PipelineInput<'a, T> {
    fn from(slice: &'a [T]) -> Self {
        Self::Pageable(slice)
    }
}

impl<'a, T> From<&'a Vec<T>> for PipelineInput<'a, T> {
    fn from(vector: &'a Vec<T>) -> Self {
        Self::Pageable(vector)
    }
}

impl<'a, T> From<PinnedSlice<'a, T>> for PipelineInput<'a, T> {
    fn from(slice: PinnedSlice<'a, T>) -> Self {
        Self::Pinned(slice)
    }
}

impl<'a, T: AnyBitPattern> From<&'a Buffer<T, Pinned>> for PipelineInput<'a, T> {
    fn from(buffer: &'a Buffer<T, Pinned>) -> Self {
        Self::Pinned(buffer.as_slice())
    }
}

impl<'a, C: Stable> From<&'a Registered<C>> for PipelineInput<'a, C::Element> {
    fn from(registered: &'a Registered<C>) -> Self {
        Self::Pinned(registered.as_slice())
    }
}

impl<'a, T> From<&'a mut [T]> for PipelineOutput<'a, T> {
    fn from(slice: &'a mut [T]) -> Self {
        Self::Pageable(slice)
    }
}

impl<'a, T> From<&'a mut Vec<T>> for PipelineOutput<'a, T> {
    fn from(vector: &'a mut Vec<T>) -> Self {
        Self::Pageable(vector)
    }
}

impl<'a, T> From<PinnedSliceMut<'a, T>> for PipelineOutput<'a, T> {
    fn from(slice: PinnedSliceMut<'a, T>) -> Self {
        Self::Pinned(slice)
    }
}

impl<'a, T: AnyBitPattern> From<&'a mut Buffer<T, Pinned>> for PipelineOutput<'a, T> {
    fn from(buffer: &'a mut Buffer<T, Pinned>) -> Self {
        Self::Pinned(buffer.as_slice_mut())
    }
}

impl<'a, C: StableMut> From<&'a mut Registered<C>> for PipelineOutput<'a, C::Element> {
    fn from(registered: &'a mut Registered<C>) -> Self {
        Self::Pinned(registered.as_slice_mut())
    }
}

impl<T: AnyBitPattern> PipelineInput<'_, T> {
    fn len(&self) -> usize {
        match self {
            Self::Pageable(slice) => slice.len(),
            Self::Pinned(slice) => slice.len(),
        }
    }

    fn part(&self, range: Range<usize>) -> Result<PipelineInput<'_, T>> {
        match self {
            Self::Pageable(slice) => {
                let range = size::range_in("Pipeline::run", &range, slice.len())?;
                Ok(PipelineInput::Pageable(slice.get(range).unwrap_or(&[])))
            }
            Self::Pinned(slice) => Ok(PipelineInput::Pinned(slice.slice(range)?)),
        }
    }
}

/// A stream, and room for a chunk on the device.
struct Lane<I, O> {
    stream: Stream,
    input: DeviceBuffer<I>,
    output: DeviceBuffer<O>,
}

/// Streams host arrays through a device in chunks: up, the program's work, and down, overlapped.
///
/// One may be used any number of times. It holds, for each of its lanes, a chunk of input and a chunk of output on the device.
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
    chunk: usize,
    count: usize,
    /// Fewer than `count` only after a panic.
    lanes: VecDeque<Lane<I, O>>,
}

/// One chunk on its way up, one computed, one on its way down, and one to spare.
const LANES: usize = 4;

impl<I, O> Pipeline<I, O>
where
    I: AnyBitPattern + NoUninit + Send,
    O: AnyBitPattern + Send,
{
    /// Makes a pipeline with chunks of so many elements on the current device, and four lanes.
    ///
    /// Chunks of some tens of MiB are large enough to keep the link busy.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::alloc`]; a refusal where `chunk` is 0.
    #[track_caller]
    pub fn new(chunk: usize) -> Result<Self> {
        Self::with_lanes(chunk, LANES)
    }

    /// Makes a pipeline with so many lanes. One lane overlaps nothing; three are the fewest that overlap everything.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::alloc`]; a refusal where either number is 0.
    #[track_caller]
    pub fn with_lanes(chunk: usize, lanes: usize) -> Result<Self> {
        for (what, number) in [("the chunk size", chunk), ("the number of lanes", lanes)] {
            if number == 0 {
                return Err(Error::refused("Pipeline::new", Detail::Zero { what }));
            }
        }
        let mut pipeline = Self { device: Device::current()?, chunk, count: lanes, lanes: VecDeque::new() };
        pipeline.fill_up()?;
        Ok(pipeline)
    }

    #[track_caller]
    fn fill_up(&mut self) -> Result<()> {
        while self.lanes.len() < self.count {
            let stream = Stream::builder().device(self.device).non_blocking().build()?;
            let input = DeviceBuffer::alloc_on(self.device, self.chunk)?;
            let output = DeviceBuffer::alloc_on(self.device, self.chunk)?;
            self.lanes.push_back(Lane { stream, input, output });
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
    /// `work` is called on this thread, for one chunk after the other, in order; when it is called the chunk may still be on its way up. What it enqueues
    /// on the stream comes after that, and the way down after it. Chunks of different calls overlap. How far the pipeline
    /// has come, `work` sees by its calls: all but the last few chunks before it are done.
    ///
    /// # Errors
    /// A refusal where the lengths differ, or inside a host function. The first failure of `work`, of a copy, or of the device's work: no
    /// further chunk is begun, what is in flight is waited for, and the output is partly written.
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
        let len = match &output {
            PipelineOutput::Pageable(slice) => slice.len(),
            PipelineOutput::Pinned(slice) => slice.len(),
        };
        size::same_length("Pipeline::run", len, input.len())?;
        self.fill_up()?;
        let chunk = self.chunk;
        let ranges = (0..len).step_by(chunk).map(|start| start..len.min(start.saturating_add(chunk)));
        let mut begin = |lane: &mut Lane<I, O>, range: Range<usize>| -> Result<()> {
            let len = range.len();
            lane.up(input.part(range.clone())?)?;
            let Lane { stream, input, output } = lane;
            work(stream.as_stream(), input.slice(..len)?, output.slice_mut(..len)?, range)
        };
        // Dropped where this unwinds, which waits for all that they are used by.
        let mut idle = std::mem::take(&mut self.lanes);
        let worked = match output {
            PipelineOutput::Pinned(slice) => {
                let mut parts = slice.chunks_mut(chunk)?;
                ranges.zip(&mut parts).try_for_each(|(range, mut part)| {
                    idle.rotate_left(1);
                    let Some(lane) = idle.front_mut() else { return Ok(()) };
                    let from = ..range.len();
                    begin(lane, range)?;
                    memcpy_async(&mut part, &lane.output.slice(from)?, &lane.stream)
                })
            }
            PipelineOutput::Pageable(slice) => {
                let parts = slice.chunks_mut(chunk);
                with_a_thread_downwards(&mut idle, ranges.zip(parts), begin)
            }
        };
        let mut over = Ok(());
        for lane in &idle {
            let one = lane.stream.synchronize();
            over = over.and(one);
        }
        self.lanes = idle;
        worked.and(over)
    }
}

/// Begins chunk after chunk, while another thread brings down those that were begun before.
fn with_a_thread_downwards<'a, I, O>(
    idle: &mut VecDeque<Lane<I, O>>,
    chunks: impl Iterator<Item = (Range<usize>, &'a mut [O])>,
    mut begin: impl FnMut(&mut Lane<I, O>, Range<usize>) -> Result<()>,
) -> Result<()>
where
    I: AnyBitPattern + NoUninit + Send,
    O: AnyBitPattern + Send,
{
    thread::scope(|threads| {
        let (begun, to_come) = channel::<(Lane<I, O>, &mut [O])>();
        let (done, back) = channel();
        let down = move || {
            for (mut lane, part) in to_come {
                let brought = lane.down(part);
                // Nobody takes it where the calling thread unwinds; the rest is brought down all the same.
                let _ = done.send((lane, brought));
            }
        };
        let thread = thread::Builder::new().name("cuda-safe down".to_owned());
        let alone = thread.spawn_scoped(threads, down).is_err();
        let mut worked = Ok(());
        for (range, part) in chunks {
            let mut lane = match idle.pop_front() {
                Some(lane) => lane,
                None => match back.recv() {
                    Ok((lane, Ok(()))) => lane,
                    Ok((lane, Err(error))) => {
                        idle.push_back(lane);
                        worked = Err(error);
                        break;
                    }
                    // The other thread has panicked, which the scope passes on.
                    Err(_) => break,
                },
            };
            worked = begin(&mut lane, range);
            if worked.is_ok() && alone {
                worked = lane.down(part);
            } else if worked.is_ok() {
                if begun.send((lane, part)).is_err() {
                    break;
                }
                continue;
            }
            idle.push_back(lane);
            if worked.is_err() {
                break;
            }
        }
        // The other thread ends once it has brought down what there is.
        drop(begun);
        for (lane, brought) in back {
            idle.push_back(lane);
            worked = worked.and(brought);
        }
        worked
    })
}

impl<I: AnyBitPattern + NoUninit, O: AnyBitPattern> Lane<I, O> {
    /// Brings a chunk up; pageable memory is done with on return.
    fn up(&mut self, part: PipelineInput<'_, I>) -> Result<()> {
        match part {
            PipelineInput::Pinned(part) => {
                memcpy_async(&mut self.input.slice_mut(..part.len())?, &part, &self.stream)
            }
            PipelineInput::Pageable(part) => {
                let mut input = self.input.slice_mut(..part.len())?;
                let (to, from) = (Operand::of_span::<I, OnDevice>(input.span()), Operand::of_slice(part));
                match staged_on(self.stream.as_stream(), &to, &from) {
                    Some(staged) => staged,
                    None => self.stream.scope(|scope| scope.memcpy_async(&mut input, part))?,
                }
            }
        }
    }

    /// Brings a chunk down; it is there on return.
    fn down(&mut self, part: &mut [O]) -> Result<()> {
        let output = self.output.slice(..part.len())?;
        let from = Operand::of_span::<O, OnDevice>(output.span());
        match staged_on(self.stream.as_stream(), &Operand::of_slice_mut(part), &from) {
            Some(staged) => staged,
            None => self.stream.scope(|scope| scope.memcpy_async(part, &output))?,
        }
    }
}

impl<I, O> fmt::Debug for Pipeline<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("device", &self.device.ordinal())
            .field("chunk", &self.chunk)
            .field("lanes", &self.count)
            .finish_non_exhaustive()
    }
}
