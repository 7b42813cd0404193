//! [`MemoryPoolBuilder`]: the device of a new pool, its greatest size, and whether other processes may
//! import it.
#![expect(unsafe_code, reason = "calls cudaMemPoolCreate")]

use super::owned::{MemoryPool, enter};
use crate::device::Device;
use crate::error::Result;
use crate::{check, sys};

/// The properties of a new pool. Made by [`MemoryPool::builder`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct MemoryPoolBuilder {
    device: Option<Device>,
    max_bytes: usize,
    shareable: bool,
}

impl MemoryPool {
    /// Makes a pool of the current device's memory.
    ///
    /// Stands for [`cudaMemPoolCreate`](sys::cudaMemPoolCreate).
    ///
    /// # Errors
    /// Those of [`MemoryPoolBuilder::build`].
    #[doc(alias = "cudaMemPoolCreate")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Starts the description of a pool.
    #[doc(alias = "cudaMemPoolProps")]
    pub fn builder() -> MemoryPoolBuilder {
        MemoryPoolBuilder { device: None, max_bytes: 0, shareable: false }
    }
}

impl MemoryPoolBuilder {
    /// Sets the device whose memory the pool uses. The default is the current device.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Sets the greatest size of the pool in bytes, which the device may round up. The default is 0, which
    /// is no limit.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Lets other processes import the pool: see [`MemoryPool::export`].
    pub fn shareable(mut self) -> Self {
        self.shareable = true;
        self
    }

    /// Makes the pool.
    ///
    /// Stands for [`cudaMemPoolCreate`](sys::cudaMemPoolCreate).
    ///
    /// # Errors
    /// Returns `cudaErrorNotSupported` if the device has no pools or cannot share them. Refused inside a
    /// host function.
    #[doc(alias = "cudaMemPoolCreate")]
    #[track_caller]
    pub fn build(self) -> Result<MemoryPool> {
        enter("MemoryPoolBuilder::build")?;
        let device = match self.device {
            Some(device) => device,
            None => Device::current()?,
        };
        let mut wanted = sys::cudaMemPoolProps {
            allocType: sys::cudaMemAllocationTypePinned,
            location: super::super::MemoryLocation::Device(device).to_raw(),
            maxSize: self.max_bytes,
            ..Default::default()
        };
        if self.shareable {
            wanted.handleTypes = sys::cudaMemHandleTypePosixFileDescriptor;
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: both pointers are to live local variables. The call fills the first one.
        unsafe { check!(cudaMemPoolCreate(&raw mut raw, &raw const wanted)) }?;
        Ok(MemoryPool::own(raw, device))
    }
}
