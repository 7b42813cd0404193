//! [`IpcMemHandle`]: device memory of another process, or for another one.
//!
//! Exporting is safe: a handle is bytes. Opening is not: what each process does with the memory, the other one's books do
//! not know. Opened memory is a [`DeviceBuffer`] like any other, and is closed when nothing uses it any more.
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
//! let mut written = Event::with_flags(EventFlags::INTERPROCESS | EventFlags::DISABLE_TIMING)?;
//! memset_async(&mut buffer, 0, &stream)?;
//! written.record(&stream)?;
//! send(buffer.ipc_handle()?.as_bytes());
//! send(written.ipc_handle()?.as_bytes());
//!
//! // The other one
//! let (memory, event) = (IpcMemHandle::from_bytes(receive()), IpcEventHandle::from_bytes(receive()));
//! let device = Device::new(0)?;
//! // SAFETY: the buffer has so many elements, and the other process keeps it until it hears of this one.
//! let shared = unsafe { memory.open::<u32>(device, 1000) }?;
//! // SAFETY: it keeps the event for as long.
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
use crate::error::{Detail, Error, Result};
use crate::{check, process, stream, sys};

/// What another process needs to open memory of this one: bytes, to be sent as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
#[doc(alias = "cudaIpcMemHandle_t")]
pub struct IpcMemHandle([u8; 64]);

impl<T> DeviceBuffer<T> {
    /// Makes what another process needs to open the buffer.
    ///
    /// Stands for [`cudaIpcGetMemHandle`](sys::cudaIpcGetMemHandle). The buffer must live for as long as another process has
    /// it open.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a buffer without elements, or of a pool; `cudaErrorNotSupported` where processes do not
    /// share memory; a refusal inside a host function.
    #[doc(alias = "cudaIpcGetMemHandle")]
    #[track_caller]
    pub fn ipc_handle(&self) -> Result<IpcMemHandle> {
        refuse_in_callback("DeviceBuffer::ipc_handle")?;
        let _current = self.device().switch()?;
        let mut handle = sys::cudaIpcMemHandle_t::default();
        // SAFETY: the first pointer is to a live structure of ours; the memory lives while the borrow does.
        unsafe { check!(cudaIpcGetMemHandle(&raw mut handle, self.as_ptr().cast_mut().cast())) }?;
        Ok(IpcMemHandle(bytemuck::cast(handle.reserved)))
    }
}

impl IpcMemHandle {
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

    /// Opens memory of another process, for work of `device`, to which peer access is enabled where that is needed.
    ///
    /// Stands for [`cudaIpcOpenMemHandle`](sys::cudaIpcOpenMemHandle), and dropping the buffer, which waits for the work that
    /// uses it, for [`cudaIpcCloseMemHandle`](sys::cudaIpcCloseMemHandle). No elements, no call.
    ///
    /// # Errors
    /// `cudaErrorDeviceUninitialized` in the process that has exported it; what else the runtime fails with; a refusal where
    /// the number of bytes overflows, `T` has no bytes, the address does not fit `T`, or inside a host function.
    ///
    /// # Safety
    /// - The handle is that of a buffer of `device` with at least `len` elements of `T`, in another process, which does not
    ///   free it before this buffer is dropped.
    /// - No work here uses the memory while conflicting work does there, in whatever process: an event with a handle, or a
    ///   word between the processes, orders them.
    /// - This process opens the buffer once at a time.
    #[doc(alias = "cudaIpcOpenMemHandle")]
    #[doc(alias = "cudaIpcCloseMemHandle")]
    #[track_caller]
    pub unsafe fn open<T: AnyBitPattern>(&self, device: Device, len: usize) -> Result<DeviceBuffer<T>> {
        let api = "IpcMemHandle::open";
        let bytes = size::bytes_of::<T>(api, len)?;
        refuse_in_callback(api)?;
        if bytes == 0 {
            return DeviceBuffer::of_shared(api, Allocation::device(device, 0)?, 0);
        }
        let _current = device.switch()?;
        relax()?;
        let handle = sys::cudaIpcMemHandle_t { reserved: bytemuck::cast::<_, [c_char; 64]>(self.0) };
        let mut pointer = std::ptr::null_mut();
        let flags = sys::cudaIpcMemLazyEnablePeerAccess;
        // SAFETY: the pointer is to a live variable of ours, which the call fills; the caller vouches for the handle.
        unsafe { check!(cudaIpcOpenMemHandle(&raw mut pointer, handle, flags)) }?;
        let opened = Opened { pointer: pointer.expose_provenance(), device, process: process::number() };
        // SAFETY: the memory stays until it is closed, and the caller vouches for its size and for its other users.
        let allocation = unsafe { Allocation::foreign(device, pointer.cast(), bytes, opened) };
        DeviceBuffer::of(api, allocation, len)
    }
}

#[track_caller]
fn refuse_in_callback(api: &'static str) -> Result<()> {
    if stream::in_callback() { Err(Error::refused(api, Detail::InCallback)) } else { Ok(()) }
}

/// Another process's memory, open. Dropped where no work uses it and the runtime may be called: see `Allocation`.
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
        // SAFETY: the pointer is from cudaIpcOpenMemHandle and is closed here alone, when no work uses it any more.
        let _ = unsafe { sys::cudaIpcCloseMemHandle(std::ptr::with_exposed_provenance_mut(self.pointer)) };
    }
}
