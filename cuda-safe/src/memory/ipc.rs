//! Device memory that several processes share: single buffers, and pools.
//!
//! Exporting is safe, because handles and pointers are only bytes. Opening what another process exported is
//! `unsafe`: the tracker of a process does not see the work of another process. Opened memory is a
//! [`DeviceBuffer`] like any other, and is closed when nothing uses it any more.
//!
//! A pool made with [`shareable`](super::MemoryPoolBuilder::shareable) is exported as a file descriptor,
//! which the program sends to the other process. Single buffers of it are then exported as
//! [`PoolPointer`]s.
//!
//! # Examples
//! ```no_run
//! use cuda_safe::memory::IpcMemHandle;
//! use cuda_safe::stream::{Event, EventFlags, IpcEventHandle};
//! use cuda_safe::{Device, DeviceBuffer, Stream, memset_async};
//! # fn send(_: &[u8]) {}
//! # fn receive() -> [u8; 64] { [0; 64] }
//!
//! # fn main() -> cuda_safe::Result<()> {
//! // One process
//! let (stream, mut buffer) = (Stream::new()?, DeviceBuffer::<u32>::alloc(1000)?);
//! let written = Event::with_flags(EventFlags::INTERPROCESS | EventFlags::DISABLE_TIMING)?;
//! memset_async(&mut buffer, 0, &stream)?;
//! written.record(&stream)?;
//! send(buffer.ipc_handle()?.as_bytes());
//! send(written.ipc_handle()?.as_bytes());
//!
//! // The other one
//! let (memory, event) = (IpcMemHandle::from_bytes(receive()), IpcEventHandle::from_bytes(receive()));
//! let device = Device::new(0)?;
//! // SAFETY: the buffer has 1000 elements, and the other process retains it until this one reports that it
//! // is done.
//! let shared = unsafe { memory.open::<u32>(device, 1000) }?;
//! // SAFETY: the other process retains the event as long.
//! stream.wait(&unsafe { event.open(device) }?)?;
//! # drop(shared);
//! # Ok(())
//! # }
//! ```
//!
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
#![expect(unsafe_code, reason = "opens memory of other processes")]

use std::ffi::c_char;

use bytemuck::AnyBitPattern;

use super::allocation::{Allocation, Allocator};
use super::device::DeviceBuffer;
use super::handle::{GiveUp, ImportedHandle};
use super::pool::{MemoryPool, enter};
use super::size;
use crate::device::Device;
use crate::error::{AtCaller as _, Detail, ErrorKind, Result, ensure, ensure_callable};
use crate::stream::relax;
use crate::system::{self, AsShared, OwnedShared, SHARED_POOL};
use crate::{check, sys};

/// Declares 64 bytes that are sent to another process.
macro_rules! sent_bytes {
    ($(#[$attribute:meta])* pub struct $name:ident;) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(transparent)]
        pub struct $name([u8; 64]);

        impl $name {
            /// Returns the bytes.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 64] {
                &self.0
            }

            /// Makes the value from its bytes.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 64]) -> Self {
                Self(bytes)
            }
        }
    };
}
pub(crate) use sent_bytes;

sent_bytes! {
    /// The bytes that another process needs to open memory of this one. Send them unchanged.
    #[doc(alias = "cudaIpcMemHandle_t")]
    pub struct IpcMemHandle;
}

impl<T> DeviceBuffer<T> {
    /// Returns the handle by which another process opens the buffer.
    ///
    /// Stands for [`cudaIpcGetMemHandle`](sys::cudaIpcGetMemHandle). The buffer must live as long as
    /// another process has it open.
    ///
    /// # Errors
    /// - `cudaErrorInvalidValue` for a buffer with length 0. Refused with it for a buffer from a pool, which
    ///   [`MemoryPool::export`] and [`export_pool_pointer`](Self::export_pool_pointer) share.
    /// - `cudaErrorNotSupported` if processes cannot share memory.
    /// - Refused inside a host function.
    #[doc(alias = "cudaIpcGetMemHandle")]
    #[track_caller]
    pub fn ipc_handle(&self) -> Result<IpcMemHandle> {
        let api = "DeviceBuffer::ipc_handle";
        ensure_callable(api)?;
        ensure(self.span().allocation().pool_device().is_none(), api, || {
            let text = "memory of a pool has no handle of its own: share the pool by MemoryPool::export, and \
                        then the buffer by export_pool_pointer";
            Detail::new(ErrorKind::Argument, text)
        })?;
        let _current = self.device().switch()?;
        let mut handle = sys::cudaIpcMemHandle_t::default();
        // SAFETY: the first pointer is to a live local structure, which the call fills. The memory lives as
        // long as the borrow.
        unsafe { check!(cudaIpcGetMemHandle(&raw mut handle, self.as_ptr().cast_mut().cast())) }?;
        Ok(IpcMemHandle(bytemuck::cast(handle.reserved)))
    }
}

impl IpcMemHandle {
    /// Opens memory of another process for work on `device`. Peer access to it is enabled if needed.
    ///
    /// Stands for [`cudaIpcOpenMemHandle`](sys::cudaIpcOpenMemHandle). Dropping the buffer waits for the
    /// work that uses it, and stands for [`cudaIpcCloseMemHandle`](sys::cudaIpcCloseMemHandle). If `len` is
    /// 0, nothing is opened.
    ///
    /// # Errors
    /// - `cudaErrorDeviceUninitialized` in the process that exported the memory.
    /// - Other errors of the runtime.
    /// - A refusal if the number of bytes overflows, if `T` is zero-sized, or if the address is not aligned
    ///   for `T`.
    /// - Refused inside a host function.
    ///
    /// # Safety
    /// - The handle is that of a buffer of `device` with at least `len` elements of `T`, in another
    ///   process, which does not free it before this buffer is dropped.
    /// - Conflicting work in different processes does not overlap: an event with a handle, or a message
    ///   between the processes, orders it.
    /// - This process opens the buffer only once at a time.
    #[doc(alias = "cudaIpcOpenMemHandle")]
    #[doc(alias = "cudaIpcCloseMemHandle")]
    #[track_caller]
    pub unsafe fn open<T: AnyBitPattern>(&self, device: Device, len: usize) -> Result<DeviceBuffer<T>> {
        let api = "IpcMemHandle::open";
        let bytes = size::bytes_of::<T>(api, len)?;
        ensure_callable(api)?;
        if bytes == 0 {
            return DeviceBuffer::from_shared(api, Allocation::device(device, 0)?, 0);
        }
        let _current = device.switch()?;
        relax()?;
        let handle = sys::cudaIpcMemHandle_t { reserved: bytemuck::cast::<_, [c_char; 64]>(self.0) };
        let mut pointer = std::ptr::null_mut();
        let flags = sys::cudaIpcMemLazyEnablePeerAccess;
        // SAFETY: the pointer is to a live local variable, which the call fills. The caller guarantees the
        // handle.
        unsafe { check!(cudaIpcOpenMemHandle(&raw mut pointer, handle, flags)) }?;
        let give_up: GiveUp<_> = ("cudaIpcCloseMemHandle", sys::cudaIpcCloseMemHandle);
        // SAFETY: the call has just opened the memory, and only this closes it. `Allocation` drops it when no
        // work uses the memory any more.
        let opened = unsafe { ImportedHandle::new(pointer, device, give_up) };
        // SAFETY: the memory stays valid until it is closed. The caller guarantees its size and that its
        // other users are ordered with this work.
        let allocation = unsafe { Allocation::foreign(device, pointer.cast(), bytes, opened) };
        DeviceBuffer::from_allocation(api, allocation, len)
    }
}

sent_bytes! {
    /// The bytes that another process needs to find a buffer in a pool that it has imported. Send them
    /// unchanged.
    #[doc(alias = "cudaMemPoolPtrExportData")]
    pub struct PoolPointer;
}

impl MemoryPool {
    /// Returns a file descriptor by which another process can import the pool. On Windows it is a handle.
    ///
    /// Stands for [`cudaMemPoolExportToShareableHandle`](sys::cudaMemPoolExportToShareableHandle).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the pool was not made
    /// [`shareable`](super::MemoryPoolBuilder::shareable). Refused inside a host function.
    #[doc(alias = "cudaMemPoolExportToShareableHandle")]
    #[track_caller]
    pub fn export(&self) -> Result<OwnedShared> {
        enter("MemoryPool::export")?;
        let call = |out| {
            // SAFETY: the pool lives as long as the borrow. The pointer is to what this type of handle is.
            unsafe { check!(cudaMemPoolExportToShareableHandle(out, self.as_raw(), SHARED_POOL, 0)) }
        };
        system::exported(call).at_caller()
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
    pub unsafe fn import(descriptor: impl AsShared, device: Device) -> Result<Self> {
        enter("ImportedPool::import")?;
        let mut raw = std::ptr::null_mut();
        let handle = system::shared_pool(&descriptor);
        // SAFETY: the first pointer is to a live local variable, which the call fills. The handle is of this
        // type, and open while it is borrowed.
        unsafe { check!(cudaMemPoolImportFromShareableHandle(&raw mut raw, handle, SHARED_POOL, 0)) }?;
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
        let allocation = unsafe { Allocation::from_raw(device, memory.cast(), bytes, Allocator::Pool) };
        DeviceBuffer::from_allocation(api, allocation, len)
    }
}
