//! Pools that several processes share: exporting a pool, and opening memory of another process's pool.
//!
//! A pool made with [`shareable`](super::MemoryPoolBuilder::shareable) is exported as a file descriptor,
//! which the program sends to the other process. Single buffers are then exported as [`PoolPointer`]s,
//! which are plain bytes. Opening what another process exported is `unsafe`: the tracker of a process does
//! not see the work of another process.
//!
//! # Examples
//! ```no_run
//! use cuda_safe::memory::{ImportedPool, MemoryPool, PoolPointer};
//! use cuda_safe::{Device, DeviceBuffer, Stream};
//! # fn send(_: std::os::fd::OwnedFd, _: &[u8]) {}
//! # fn receive() -> (std::os::fd::OwnedFd, [u8; 64]) { unimplemented!() }
//!
//! # fn main() -> cuda_safe::Result<()> {
//! // One process
//! let (stream, pool) = (Stream::new()?, MemoryPool::builder().shareable().build()?);
//! let buffer = DeviceBuffer::<u32>::alloc_from(&pool, 1000, &stream)?;
//! send(pool.export()?, buffer.export_pool_pointer()?.as_bytes());
//!
//! // The other one
//! let (descriptor, pointer) = receive();
//! // SAFETY: the other process has exported a pool, which is of this device.
//! let pool = unsafe { ImportedPool::import(&descriptor, Device::new(0)?) }?;
//! // SAFETY: the buffer has 1000 elements, and the other process retains it until this one reports that it
//! // is done.
//! let shared = unsafe { pool.open::<u32>(&PoolPointer::from_bytes(pointer), 1000) }?;
//! # drop(shared);
//! # Ok(())
//! # }
//! ```
//!
//! C functions: `cudaMemPoolExportToShareableHandle`, `cudaMemPoolImportFromShareableHandle`,
//! `cudaMemPoolExportPointer`, `cudaMemPoolImportPointer`.
#![expect(unsafe_code, reason = "opens memory of other processes")]

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use bytemuck::{AnyBitPattern, Pod, Zeroable};

use super::super::allocation::{Allocation, Kind};
use super::super::device::DeviceBuffer;
use super::super::size;
use super::owned::{MemoryPool, enter};
use crate::device::Device;
use crate::error::Result;
use crate::{check, sys};

const DESCRIPTOR: sys::cudaMemAllocationHandleType = sys::cudaMemHandleTypePosixFileDescriptor;

/// The bytes that another process needs to find a buffer in a pool that it has imported. Send them
/// unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
#[doc(alias = "cudaMemPoolPtrExportData")]
pub struct PoolPointer([u8; 64]);

impl PoolPointer {
    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// Makes a pointer from its bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }
}

impl MemoryPool {
    /// Returns a file descriptor by which another process can import the pool.
    ///
    /// Stands for [`cudaMemPoolExportToShareableHandle`](sys::cudaMemPoolExportToShareableHandle).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the pool was not made
    /// [`shareable`](super::MemoryPoolBuilder::shareable). Refused inside a host function.
    #[doc(alias = "cudaMemPoolExportToShareableHandle")]
    #[track_caller]
    pub fn export(&self) -> Result<OwnedFd> {
        enter("MemoryPool::export")?;
        let mut descriptor: c_int = -1;
        let out = (&raw mut descriptor).cast();
        // SAFETY: the pool lives as long as the borrow. For this type of handle the pointer is to an `int`.
        unsafe { check!(cudaMemPoolExportToShareableHandle(out, self.as_raw(), DESCRIPTOR, 0)) }?;
        // SAFETY: the call has just made the descriptor, and nobody else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }
}

impl<T> DeviceBuffer<T> {
    /// Returns the bytes by which another process that has imported the buffer's pool can find the buffer.
    ///
    /// Stands for [`cudaMemPoolExportPointer`](sys::cudaMemPoolExportPointer). A buffer with length 0
    /// cannot be exported.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the buffer is not from a pool that was
    /// [exported](MemoryPool::export) before. Refused inside a host function.
    #[doc(alias = "cudaMemPoolExportPointer")]
    #[track_caller]
    pub fn export_pool_pointer(&self) -> Result<PoolPointer> {
        enter("DeviceBuffer::export_pool_pointer")?;
        let mut data = sys::cudaMemPoolPtrExportData::default();
        // SAFETY: the first pointer is to a live local variable, which the call fills. The buffer lives as
        // long as the borrow.
        unsafe { check!(cudaMemPoolExportPointer(&raw mut data, self.as_ptr().cast_mut().cast())) }?;
        Ok(PoolPointer(data.reserved))
    }
}

/// A pool of another process. Nothing can be allocated from it, but buffers of the other process can be
/// opened.
#[derive(Debug)]
pub struct ImportedPool {
    pool: MemoryPool,
}

impl ImportedPool {
    /// Imports a pool of `device` from the descriptor that another process has exported. The descriptor is
    /// only read.
    ///
    /// Stands for [`cudaMemPoolImportFromShareableHandle`](sys::cudaMemPoolImportFromShareableHandle).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the descriptor is not that of a pool. Refused inside a host
    /// function.
    ///
    /// # Safety
    /// [`MemoryPool::export`], or the C function that it stands for, made the descriptor for a pool of this
    /// device.
    #[doc(alias = "cudaMemPoolImportFromShareableHandle")]
    #[track_caller]
    pub unsafe fn import(descriptor: impl AsFd, device: Device) -> Result<Self> {
        enter("ImportedPool::import")?;
        let mut raw = std::ptr::null_mut();
        let number = usize::try_from(descriptor.as_fd().as_raw_fd()).unwrap_or(usize::MAX);
        let handle = std::ptr::without_provenance_mut(number);
        // SAFETY: the first pointer is to a live local variable, which the call fills. For this type the
        // handle is the number of the descriptor, which is open while it is borrowed.
        unsafe { check!(cudaMemPoolImportFromShareableHandle(&raw mut raw, handle, DESCRIPTOR, 0)) }?;
        Ok(Self { pool: MemoryPool::own(raw, device) })
    }

    /// Opens a buffer that the other process has exported.
    ///
    /// Stands for [`cudaMemPoolImportPointer`](sys::cudaMemPoolImportPointer). If `len` is 0, nothing is
    /// opened. Dropping the buffer closes it here and does not affect the buffer of the other process.
    ///
    /// # Errors
    /// - The runtime's error.
    /// - A refusal if the number of bytes overflows, if `T` is zero-sized, or if the address is not aligned
    ///   for `T`.
    /// - Refused inside a host function.
    ///
    /// # Safety
    /// - The other process's buffer is from this pool and has at least `len` elements of `T`. It is not
    ///   freed before this buffer has been dropped and its stream or device synchronised.
    /// - Its allocation is complete in the other process.
    /// - No work here uses the memory while conflicting work does in the other process: the tracker of a
    ///   process does not see the work of another process.
    #[doc(alias = "cudaMemPoolImportPointer")]
    #[track_caller]
    pub unsafe fn open<T: AnyBitPattern>(
        &self,
        pointer: &PoolPointer,
        len: usize,
    ) -> Result<DeviceBuffer<T>> {
        let api = "ImportedPool::open";
        let bytes = size::bytes_of::<T>(api, len)?;
        let device = self.pool.device()?;
        let mut memory = std::ptr::null_mut();
        if bytes > 0 {
            enter(api)?;
            let mut data = sys::cudaMemPoolPtrExportData { reserved: pointer.0 };
            // SAFETY: the pool lives as long as the borrow. The pointers are to live local variables.
            unsafe { check!(cudaMemPoolImportPointer(&raw mut memory, self.pool.as_raw(), &raw mut data)) }?;
        }
        // SAFETY: the call has just opened the memory for this process, as memory of a pool. The caller
        // guarantees its size.
        let allocation = unsafe { Allocation::from_raw(device, memory.cast(), bytes, Kind::Pool) };
        DeviceBuffer::of(api, allocation, len)
    }
}
