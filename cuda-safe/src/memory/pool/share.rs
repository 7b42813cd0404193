//! Pools that several processes have: handing one out, and taking memory of another process's pool.
//!
//! A pool made with [`shareable`](super::MemoryPoolBuilder::shareable) is exported as a file descriptor, which goes to the
//! other process by whatever way descriptors go; single buffers are then exported as [`PoolPointer`]s, plain bytes. What
//! comes from another process is `unsafe` to open: neither process's books know what the other one does.
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
//! // SAFETY: the buffer has so many elements, and the other process keeps it until it hears of this one.
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

/// What another process needs to find a buffer in a pool that it has imported: bytes, to be sent as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
#[doc(alias = "cudaMemPoolPtrExportData")]
pub struct PoolPointer([u8; 64]);

impl PoolPointer {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// From the bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }
}

impl MemoryPool {
    /// Makes a file descriptor by which another process can import the pool.
    ///
    /// Stands for [`cudaMemPoolExportToShareableHandle`](sys::cudaMemPoolExportToShareableHandle).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the pool was not made [`shareable`](super::MemoryPoolBuilder::shareable); a refusal
    /// inside a host function.
    #[doc(alias = "cudaMemPoolExportToShareableHandle")]
    #[track_caller]
    pub fn export(&self) -> Result<OwnedFd> {
        enter("MemoryPool::export")?;
        let mut descriptor: c_int = -1;
        let out = (&raw mut descriptor).cast();
        // SAFETY: the pool lives while the borrow does; for this type of handle the pointer is to an `int`.
        unsafe { check!(cudaMemPoolExportToShareableHandle(out, self.as_raw(), DESCRIPTOR, 0)) }?;
        // SAFETY: the call has just made the descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }
}

impl<T> DeviceBuffer<T> {
    /// Makes what another process that has imported the buffer's pool needs to find the buffer.
    ///
    /// Stands for [`cudaMemPoolExportPointer`](sys::cudaMemPoolExportPointer). A buffer without elements has nothing to
    /// find.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the buffer is not from a pool that was [exported](MemoryPool::export) before; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolExportPointer")]
    #[track_caller]
    pub fn export_pool_pointer(&self) -> Result<PoolPointer> {
        enter("DeviceBuffer::export_pool_pointer")?;
        let mut data = sys::cudaMemPoolPtrExportData::default();
        // SAFETY: the first pointer is to a live variable of ours, and the buffer lives while the borrow does.
        unsafe { check!(cudaMemPoolExportPointer(&raw mut data, self.as_ptr().cast_mut().cast())) }?;
        Ok(PoolPointer(data.reserved))
    }
}

/// A pool of another process. Nothing can be allocated from it; memory that the other process has, can be opened.
#[derive(Debug)]
pub struct ImportedPool {
    pool: MemoryPool,
}

impl ImportedPool {
    /// Imports a pool of `device` from the descriptor that another process has exported. The descriptor is only read.
    ///
    /// Stands for [`cudaMemPoolImportFromShareableHandle`](sys::cudaMemPoolImportFromShareableHandle).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the descriptor is no pool's; a refusal inside a host function.
    ///
    /// # Safety
    /// The descriptor was made by [`MemoryPool::export`], or by the C function of that, for a pool of this device.
    #[doc(alias = "cudaMemPoolImportFromShareableHandle")]
    #[track_caller]
    pub unsafe fn import(descriptor: impl AsFd, device: Device) -> Result<Self> {
        enter("ImportedPool::import")?;
        let mut raw = std::ptr::null_mut();
        let number = usize::try_from(descriptor.as_fd().as_raw_fd()).unwrap_or(usize::MAX);
        let handle = std::ptr::without_provenance_mut(number);
        // SAFETY: the first pointer is to a live variable of ours; for this type the handle is the descriptor's number,
        // which is open while it is borrowed.
        unsafe { check!(cudaMemPoolImportFromShareableHandle(&raw mut raw, handle, DESCRIPTOR, 0)) }?;
        Ok(Self { pool: MemoryPool::own(raw, device) })
    }

    /// Opens a buffer that the other process has exported.
    ///
    /// Stands for [`cudaMemPoolImportPointer`](sys::cudaMemPoolImportPointer). No elements, no call. Dropping the buffer closes it here and does
    /// nothing to the other process's.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal where the number of bytes overflows, `T` has no bytes, the address does not
    /// fit `T`, or inside a host function.
    ///
    /// # Safety
    /// - The other process's buffer is from this pool, has at least `len` elements of `T`, and is not freed before this
    ///   one has been dropped and its stream or device synchronised.
    /// - Its allocation is complete there, and no work here uses the memory while conflicting work does there: neither
    ///   process's books know of the other.
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
            // SAFETY: the pool lives while the borrow does; the pointers are to live variables of ours.
            unsafe { check!(cudaMemPoolImportPointer(&raw mut memory, self.pool.as_raw(), &raw mut data)) }?;
        }
        // SAFETY: the memory was just opened for us, as memory of a pool, and the caller says how much there is.
        let allocation = unsafe { Allocation::from_raw(device, memory.cast(), bytes, Kind::Pool) };
        DeviceBuffer::of(api, allocation, len)
    }
}
