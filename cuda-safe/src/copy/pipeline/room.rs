//! What a chunk passes through: the streams of the stages, and its room on the device.

use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

use super::array::{PipelineInput, PipelineOutput};
use crate::copy::operand::Operand;
use crate::copy::staged::Traffic;
use crate::copy::transfer::staged_on;
use crate::copy::verbs::memcpy_async;
use crate::device::Device;
use crate::error::Result;
use crate::memory::{DeviceBuffer, DeviceSlice, DeviceSliceMut, OnDevice};
use crate::stream::{AsStream, Event, EventFlags, Stream, StreamRef};

/// A stream for each stage, several for the work where that is wished. Chunks follow each other on each.
#[derive(Debug)]
pub(super) struct Stages {
    up: Stream,
    pub(super) work: Vec<Stream>,
    down: Stream,
    /// Whether chunks of pageable memory are copied both ways at once.
    pub(super) traffic: Traffic,
}

impl Stages {
    #[track_caller]
    pub(super) fn new(device: Device, work: usize) -> Result<Self> {
        let stream = || Stream::builder().device(device).non_blocking().build();
        let (up, down) = (stream()?, stream()?);
        // One by one: the number is the program's, and memory is not reserved for it.
        let mut streams = Vec::new();
        for _ in 0..work {
            streams.push(stream()?);
        }
        Ok(Self { up, work: streams, down, traffic: Traffic::OneWay })
    }

    /// Waits for all that the stages were given, whatever fails.
    ///
    /// # Errors
    /// The first failure.
    #[track_caller]
    pub(super) fn synchronize(&self) -> Result<()> {
        let mut over = self.up.synchronize();
        for stream in self.work.iter().chain([&self.down]) {
            let one = stream.synchronize();
            over = over.and(one);
        }
        over
    }
}

/// Copies to the first elements of a buffer. Pageable memory is done with on return.
#[track_caller]
fn copy_up<T>(stages: &Stages, buffer: &mut DeviceBuffer<T>, part: PipelineInput<'_, T>) -> Result<()>
where
    T: AnyBitPattern + NoUninit,
{
    let (stream, mut buffer) = (&stages.up, buffer.slice_mut(..part.len())?);
    match part {
        PipelineInput::Pinned(part) => memcpy_async(&mut buffer, &part, stream),
        PipelineInput::Pageable(part) => {
            let (to, from) = (Operand::of_span::<T, OnDevice>(buffer.span()), Operand::of_slice(part));
            match staged_on(stream.as_stream(), &to, &from, stages.traffic) {
                Some(staged) => staged,
                None => stream.scope(|scope| scope.memcpy_async(&mut buffer, part))?,
            }
        }
    }
}

/// Room for a chunk on the device, and how far the chunk that has it has come.
///
/// The events order whatever uses the room: a chunk goes up once the work of the one before it has read its input, and is worked on once it is
/// up and the output of the one before it is down. Where the work is in place, it goes up once the one before it is down.
pub(super) struct Room<I, O> {
    input: DeviceBuffer<I>,
    output: DeviceBuffer<O>,
    up: Event,
    worked: Event,
    down: Event,
}

impl<I: AnyBitPattern + NoUninit, O: AnyBitPattern> Room<I, O> {
    #[track_caller]
    pub(super) fn new(device: Device, chunk: usize) -> Result<Self> {
        let event = || Event::on(device, EventFlags::DISABLE_TIMING);
        Ok(Self {
            input: DeviceBuffer::alloc_on(device, chunk)?,
            output: DeviceBuffer::alloc_on(device, chunk)?,
            up: event()?,
            worked: event()?,
            down: event()?,
        })
    }

    /// Brings a chunk up. Pageable memory is done with on return.
    #[track_caller]
    pub(super) fn up(&mut self, stages: &Stages, part: PipelineInput<'_, I>) -> Result<()> {
        stages.up.wait(&self.worked)?;
        copy_up(stages, &mut self.input, part)?;
        self.up.record(&stages.up)
    }

    /// Has the work enqueued, behind the chunk's way up.
    #[track_caller]
    pub(super) fn work(
        &mut self,
        stream: &Stream,
        range: Range<usize>,
        work: impl FnOnce(StreamRef<'_>, DeviceSlice<'_, I>, DeviceSliceMut<'_, O>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        stream.wait(&self.up)?;
        stream.wait(&self.down)?;
        let len = range.len();
        work(stream.as_stream(), self.input.slice(..len)?, self.output.slice_mut(..len)?, range)?;
        self.worked.record(stream)
    }

    /// Brings a chunk down, behind its work. Pageable memory is filled on return.
    #[track_caller]
    pub(super) fn down(&mut self, stages: &Stages, part: PipelineOutput<'_, O>) -> Result<()> {
        let stream = &stages.down;
        stream.wait(&self.worked)?;
        let output = self.output.slice(..part.len())?;
        match part {
            PipelineOutput::Pinned(mut part) => memcpy_async(&mut part, &output, stream)?,
            PipelineOutput::Pageable(part) => {
                let from = Operand::of_span::<O, OnDevice>(output.span());
                match staged_on(stream.as_stream(), &Operand::of_slice_mut(part), &from, stages.traffic) {
                    Some(staged) => staged?,
                    None => stream.scope(|scope| scope.memcpy_async(part, &output))??,
                }
            }
        }
        self.down.record(stream)
    }
}

impl<T: AnyBitPattern + NoUninit> Room<T, T> {
    /// Brings a chunk up to where its work leaves the output. Pageable memory is done with on return.
    #[track_caller]
    pub(super) fn up_in_place(&mut self, stages: &Stages, part: PipelineInput<'_, T>) -> Result<()> {
        stages.up.wait(&self.down)?;
        copy_up(stages, &mut self.output, part)?;
        self.up.record(&stages.up)
    }

    /// Has the work enqueued that changes what was brought up there.
    #[track_caller]
    pub(super) fn work_in_place(
        &mut self,
        stream: &Stream,
        range: Range<usize>,
        work: impl FnOnce(StreamRef<'_>, DeviceSliceMut<'_, T>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        stream.wait(&self.up)?;
        work(stream.as_stream(), self.output.slice_mut(..range.len())?, range)?;
        self.worked.record(stream)
    }
}
