//! [`Tensor`]: device memory of the other side, for the streams and kernels of `cuda-safe`.
#![expect(unsafe_code, reason = "adopts device memory of another library")]

use std::fmt;

use cuda_safe::stream::AsStream;
use cuda_safe::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut};

use crate::capsule::Capsule;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::meeting::Meeting;
use crate::raw::DLDevice;

/// Device memory of another library, with its shape. Dropping it waits for the work on it, and gives the
/// memory back.
pub struct Tensor<T> {
    buffer: DeviceBuffer<T>,
    shape: Vec<usize>,
    is_read_only: bool,
    /// Written by the work that the tensor begins with.
    _meeting: Meeting,
}

impl<T> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor").field("shape", &self.shape).field("device", &self.buffer.device()).finish()
    }
}

impl<T: Element> Tensor<T> {
    /// Takes a tensor in device memory. Does not block.
    ///
    /// # Ordering
    /// All work of `cuda-safe` on the tensor, on any stream, comes after what `stream` has got so far. This
    /// is the stream that the producer was given, in Python by `__dlpack__(stream=...)`: the producer has
    /// made it wait for its own work.
    ///
    /// # Errors
    /// - `Device` if the tensor is not in memory of the stream's device.
    /// - `Dtype`, `Strides`, `Shape` and `Address` for elements of another type, not in compact rows, or at
    ///   an impossible place.
    /// - `Cuda` with the runtime's error, or a refusal.
    ///
    /// The tensor is given back after an error.
    ///
    /// # Safety
    /// - The producer's work on the memory comes before what `stream` gets from now on.
    /// - Until the tensor is given back, others use the memory only in order with this crate's work on it.
    ///   If the producer has made the tensor read-only, others may read it meanwhile.
    #[track_caller]
    pub unsafe fn from_capsule(capsule: Capsule, stream: &impl AsStream) -> Result<Self> {
        let (found, device) = (capsule.device(), stream.as_stream().device());
        if found != (DLDevice { device_type: DLDevice::CUDA, device_id: device.as_raw() }) {
            return Err(Error::Device { found, expected: "memory of the stream's device" });
        }
        let (pointer, len) = capsule.elements()?;
        let shape = capsule.shape().iter().map(|&length| usize::try_from(length).unwrap_or(0)).collect();
        let (is_read_only, mut meeting) = (capsule.is_read_only(), Meeting::new(stream)?);
        // SAFETY: the memory has `len` elements on this device, and lives until the capsule is dropped. The
        // caller guarantees the order with the work of others.
        let mut buffer = unsafe { DeviceBuffer::adopt(device, pointer, len, capsule) }?;
        meeting.on(&mut buffer, stream)?;
        Ok(Self { buffer, shape, is_read_only, _meeting: meeting })
    }

    /// Returns the lengths of the dimensions, the slowest first. There may be none.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.buffer.device()
    }

    /// Returns a view of all elements, row by row.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.buffer.as_slice()
    }

    /// Returns a view for writing.
    ///
    /// # Errors
    /// `ReadOnly` if the producer does not permit it.
    pub fn as_slice_mut(&mut self) -> Result<DeviceSliceMut<'_, T>> {
        if self.is_read_only { Err(Error::ReadOnly) } else { Ok(self.buffer.as_slice_mut()) }
    }
}
