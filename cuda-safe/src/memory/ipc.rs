//! [`IpcMemHandle`]: device memory shared between processes.
//!
//! Exporting is safe, because a handle is only bytes. Opening is `unsafe`: the tracker of a process does
//! not see the work of another process. Opened memory is a [`DeviceBuffer`] like any other, and is closed
//! when nothing uses it any more.
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
//! C functions: `cudaIpcGetMemHandle`, `cudaIpcOpenMemHandle`, `cudaIpcCloseMemHandle`.
#![expect(unsafe_code, reason = "opens memory of other processes")]

use std::ffi::c_char;

use bytemuck::{AnyBitPattern, Pod, Zeroable};

use super::allocation::Allocation;
use super::device::DeviceBuffer;
use super::relaxed::relax;
use super::size;
use crate::device::Device;
use crate::error::{Result, ensure_callable};
use crate::{check, process, sys};

/// The bytes that another process needs to open memory of this one. Send them unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
#[doc(alias = "cudaIpcMemHandle_t")]
pub struct IpcMemHandle([u8; 64]);

impl<T> DeviceBuffer<T> {
    /// Returns the handle by which another process opens the buffer.
    ///
    /// Stands for [`cudaIpcGetMemHandle`](sys::cudaIpcGetMemHandle). The buffer must live as long as
    /// another process has it open.
    ///
    /// # Errors
    /// - `cudaErrorInvalidValue` for a buffer with length 0, or from a pool.
    /// - `cudaErrorNotSupported` if processes cannot share memory.
    /// - Refused inside a host function.
    #[doc(alias = "cudaIpcGetMemHandle")]
    #[track_caller]
    pub fn ipc_handle(&self) -> Result<IpcMemHandle> {
        ensure_callable("DeviceBuffer::ipc_handle")?;
        let _current = self.device().switch()?;
        let mut handle = sys::cudaIpcMemHandle_t::default();
        // SAFETY: the first pointer is to a live local structure, which the call fills. The memory lives as
        // long as the borrow.
        unsafe { check!(cudaIpcGetMemHandle(&raw mut handle, self.as_ptr().cast_mut().cast())) }?;
        Ok(IpcMemHandle(bytemuck::cast(handle.reserved)))
    }
}

impl IpcMemHandle {
    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// Makes a handle from its bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

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
            return DeviceBuffer::of_shared(api, Allocation::device(device, 0)?, 0);
        }
        let _current = device.switch()?;
        relax()?;
        let handle = sys::cudaIpcMemHandle_t { reserved: bytemuck::cast::<_, [c_char; 64]>(self.0) };
        let mut pointer = std::ptr::null_mut();
        let flags = sys::cudaIpcMemLazyEnablePeerAccess;
        // SAFETY: the pointer is to a live local variable, which the call fills. The caller guarantees the
        // handle.
        unsafe { check!(cudaIpcOpenMemHandle(&raw mut pointer, handle, flags)) }?;
        let opened = Opened { pointer: pointer.expose_provenance(), device, process: process::number() };
        // SAFETY: the memory stays valid until it is closed. The caller guarantees its size and that its
        // other users are ordered with this work.
        let allocation = unsafe { Allocation::foreign(device, pointer.cast(), bytes, opened) };
        DeviceBuffer::of(api, allocation, len)
    }
}

/// Memory of another process, opened here. It is dropped when no work uses it and the runtime may be
/// called: see `Allocation`.
#[derive(Debug)]
struct Opened {
    pointer: usize,
    device: Device,
    process: u32,
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !process::is(self.process) {
            return;
        }
        let Ok(_current) = self.device.switch() else { return };
        let _ = relax();
        // SAFETY: the pointer is from `cudaIpcOpenMemHandle`. Only this closes it, when no work uses the
        // memory any more.
        let _ = unsafe { sys::cudaIpcCloseMemHandle(std::ptr::with_exposed_provenance_mut(self.pointer)) };
    }
}
