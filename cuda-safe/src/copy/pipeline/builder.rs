//! [`PipelineBuilder`]: how a pipeline is to be.

use std::marker::PhantomData;

use bytemuck::{AnyBitPattern, NoUninit};

use super::Pipeline;
use crate::device::Device;
use crate::error::{Detail, Error, Result};

/// What a pipeline is to be like. Made by [`Pipeline::builder`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct PipelineBuilder<I, O> {
    chunk: Option<usize>,
    rooms: Option<usize>,
    work_streams: usize,
    elements: PhantomData<fn(I) -> O>,
}

/// Chunks that are computed one after the other are done one after the other, which keeps the way down busy.
const WORK_STREAMS: usize = 1;

impl<I, O> PipelineBuilder<I, O>
where
    I: AnyBitPattern + NoUninit + Send + Sync,
    O: AnyBitPattern + Send,
{
    pub(super) fn new() -> Self {
        Self { chunk: None, rooms: None, work_streams: WORK_STREAMS, elements: PhantomData }
    }

    /// How many elements a chunk has; the last one of an array may have fewer.
    ///
    /// Without this the pipeline chooses for each array, as it chooses the memory of its rooms: some 16 MiB, 14 MiB where an array is
    /// pageable, and less for small arrays.
    pub fn chunk(mut self, elements: usize) -> Self {
        self.chunk = Some(elements);
        self
    }

    /// For how many chunks there is room on the device. Without this, for four, and for six where an array is pageable; three are the fewest
    /// that overlap everything, and one overlaps nothing.
    pub fn rooms(mut self, rooms: usize) -> Self {
        self.rooms = Some(rooms);
        self
    }

    /// How many streams the work of chunks is given to, in turn. Without this one.
    ///
    /// More than one let the work of chunks overlap, which is good for kernels that do not fill the device by themselves. They need a
    /// room each.
    pub fn work_streams(mut self, streams: usize) -> Self {
        self.work_streams = streams;
        self
    }

    /// Makes the pipeline, on the current device.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::alloc`](crate::DeviceBuffer::alloc) and of [`StreamBuilder::build`](crate::stream::StreamBuilder::build); a refusal
    /// where a number is 0.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::copy::Pipeline;
    /// use cuda_safe::memcpy_async;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// // Chunks as fit the array, and room for six.
    /// let mut pipeline = Pipeline::<f32, f32>::builder().rooms(6).build()?;
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
            ("the number of rooms", self.rooms.unwrap_or(1)),
            ("the number of work streams", self.work_streams),
        ] {
            if number == 0 {
                return Err(Error::refused("PipelineBuilder::build", Detail::Zero { what }));
            }
        }
        Pipeline::made(Device::current()?, self.chunk, self.rooms, self.work_streams)
    }
}
