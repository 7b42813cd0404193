//! [`Meeting`]: carries the order of memory from the tracker to a stream, and back.
#![expect(unsafe_code, reason = "submits an operation that stands for the other side's work")]

use cuda_safe::bytemuck::Pod;
use cuda_safe::stream::AsStream;
use cuda_safe::{DeviceBuffer, check};

/// A byte that the operation of a meeting writes: waits alone are no work of the device.
#[derive(Debug)]
pub(crate) struct Meeting(DeviceBuffer<u8>);

impl Meeting {
    /// From the pool: neither the allocation nor the drop waits for other work of the device.
    #[track_caller]
    pub(crate) fn new(stream: &impl AsStream) -> cuda_safe::Result<Self> {
        Ok(Self(DeviceBuffer::alloc_async(1, stream)?))
    }

    /// Enters an operation of the stream that writes all of the memory. It comes after all work on the memory
    /// that the tracker knows, so whatever the other side submits to the stream behind it does, too; and the
    /// tracker's later work on the memory comes after it, and so after whatever the stream had before.
    #[track_caller]
    pub(crate) fn on<T: Pod>(
        &mut self,
        memory: &mut DeviceBuffer<T>,
        stream: &impl AsStream,
    ) -> cuda_safe::Result<()> {
        let write = |raw, (_, mark): (_, *mut u8)| {
            // SAFETY: the pointer is to the one byte, and the stream is the one of the call.
            unsafe { check!(cudaMemsetAsync(mark.cast(), 0, 1, raw)) }
        };
        // SAFETY: the call writes the byte on this stream, and nothing else that it declares.
        unsafe { stream.as_stream().call((memory, &mut self.0), write) }
    }
}
