//! [`IpcEventHandle`]: events that several processes have.
//!
//! Such an event proves nothing to this process's tracker, as any process may have recorded it again: it is waited for as it
//! is, and work that it orders may be ordered once more by a wait that the tracker adds.
//!
//! C functions: `cudaIpcGetEventHandle`, `cudaIpcOpenEventHandle`.
#![expect(unsafe_code, reason = "opens events of other processes")]

use std::ffi::c_char;

use bytemuck::{Pod, Zeroable};

use super::busy;
use super::event::{Event, EventFlags};
use crate::device::Device;
use crate::error::Result;
use crate::{check, sys};

/// What another process needs to open an event of this one: bytes, to be sent as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
#[doc(alias = "cudaIpcEventHandle_t")]
pub struct IpcEventHandle([u8; 64]);

impl Event {
    /// Makes what another process needs to open the event, which was made with
    /// [`INTERPROCESS`](EventFlags::INTERPROCESS) and [`DISABLE_TIMING`](EventFlags::DISABLE_TIMING).
    ///
    /// Stands for [`cudaIpcGetEventHandle`](sys::cudaIpcGetEventHandle). The event must live for as long as another process
    /// has it open.
    ///
    /// # Errors
    /// An error of the runtime for an event without these flags, or where processes do not share events; a refusal inside a
    /// host function.
    #[doc(alias = "cudaIpcGetEventHandle")]
    #[track_caller]
    pub fn ipc_handle(&self) -> Result<IpcEventHandle> {
        busy::ensure_idle("Event::ipc_handle")?;
        let mut handle = sys::cudaIpcEventHandle_t::default();
        // SAFETY: the pointer is to a live structure of ours; the event lives while the borrow does.
        unsafe { check!(cudaIpcGetEventHandle(&raw mut handle, self.as_raw())) }?;
        Ok(IpcEventHandle(bytemuck::cast(handle.reserved)))
    }
}

impl IpcEventHandle {
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

    /// Opens an event of another process, which is of `device`.
    ///
    /// Stands for [`cudaIpcOpenEventHandle`](sys::cudaIpcOpenEventHandle).
    ///
    /// # Errors
    /// `cudaErrorDeviceUninitialized` in the process that has exported it; what else the runtime fails with; a refusal
    /// inside a host function.
    ///
    /// # Safety
    /// The handle is that of an event of `device` in another process, which does not drop it before this one is dropped.
    #[doc(alias = "cudaIpcOpenEventHandle")]
    #[track_caller]
    pub unsafe fn open(&self, device: Device) -> Result<Event> {
        busy::ensure_idle("IpcEventHandle::open")?;
        let _current = device.switch()?;
        let handle = sys::cudaIpcEventHandle_t { reserved: bytemuck::cast::<_, [c_char; 64]>(self.0) };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable of ours, which the call fills; the caller vouches for the handle.
        unsafe { check!(cudaIpcOpenEventHandle(&raw mut raw, handle)) }?;
        let flags = EventFlags::INTERPROCESS | EventFlags::DISABLE_TIMING;
        // SAFETY: the event was just opened for us.
        Ok(unsafe { Event::from_raw(raw, device, flags) })
    }
}
