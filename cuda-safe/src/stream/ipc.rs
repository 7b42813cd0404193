//! [`IpcEventHandle`]: events that are shared between processes.
//!
//! Such an event proves nothing to this process's tracker, because any process may have recorded it
//! again. It can be waited for as it is. The tracker may add another wait for work that the event
//! already orders.
#![expect(unsafe_code, reason = "opens events of other processes")]

use std::ffi::c_char;

use super::event::{Event, EventFlags};
use crate::busy;
use crate::device::Device;
use crate::error::Result;
use crate::memory::sent_bytes;
use crate::{check, sys};

sent_bytes! {
    /// The bytes that another process needs to open an event of this one. They are sent unchanged.
    #[doc(alias = "cudaIpcEventHandle_t")]
    pub struct IpcEventHandle;
}

impl Event {
    /// Returns the handle by which another process opens the event. The event must have the flags
    /// [`INTERPROCESS`](EventFlags::INTERPROCESS) and [`DISABLE_TIMING`](EventFlags::DISABLE_TIMING).
    ///
    /// Stands for [`cudaIpcGetEventHandle`](sys::cudaIpcGetEventHandle). The event must live as long as
    /// another process has it open.
    ///
    /// # Errors
    /// Returns the runtime's error for an event without these flags, and if processes cannot share
    /// events. Refused inside a host function.
    #[doc(alias = "cudaIpcGetEventHandle")]
    #[track_caller]
    pub fn ipc_handle(&self) -> Result<IpcEventHandle> {
        busy::ensure_idle("Event::ipc_handle")?;
        let mut handle = sys::cudaIpcEventHandle_t::default();
        // SAFETY: the pointer is to a live local structure. The event lives as long as the borrow.
        unsafe { check!(cudaIpcGetEventHandle(&raw mut handle, self.as_raw())) }?;
        Ok(IpcEventHandle(bytemuck::cast(handle.reserved)))
    }
}

impl IpcEventHandle {
    /// Opens an event of another process. It belongs to `device`.
    ///
    /// Stands for [`cudaIpcOpenEventHandle`](sys::cudaIpcOpenEventHandle).
    ///
    /// # Errors
    /// - `cudaErrorDeviceUninitialized` in the process that has exported the event.
    /// - Another error of the runtime.
    /// - Refused inside a host function.
    ///
    /// # Safety
    /// The handle is that of an event of `device` in another process, and that process does not drop the
    /// event before this one is dropped.
    #[doc(alias = "cudaIpcOpenEventHandle")]
    #[track_caller]
    pub unsafe fn open(&self, device: Device) -> Result<Event> {
        busy::ensure_idle("IpcEventHandle::open")?;
        let _current = device.switch()?;
        let handle = sys::cudaIpcEventHandle_t { reserved: bytemuck::cast::<_, [c_char; 64]>(self.0) };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live local variable, which the call fills. The caller guarantees
        // that the handle is valid.
        unsafe { check!(cudaIpcOpenEventHandle(&raw mut raw, handle)) }?;
        let flags = EventFlags::INTERPROCESS | EventFlags::DISABLE_TIMING;
        // SAFETY: the event was opened above, and nobody else has it.
        Ok(unsafe { Event::from_raw(raw, device, flags) })
    }
}
