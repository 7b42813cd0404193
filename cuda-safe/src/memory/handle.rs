//! [`Handle`]: what another interface or process lends, given up by one call.
#![expect(unsafe_code, reason = "calls a function of the runtime by its address")]

use super::relaxed::relax;
use crate::device::Device;
use crate::error::Error;
use crate::{process, stream, sys};

/// A function of the runtime that gives a handle up, with its name.
pub(super) type GiveUp<H> = (&'static str, unsafe extern "C" fn(*mut H) -> sys::cudaError_t);

/// A handle or an address that one call gives up when this is dropped. Inside a host function, that happens
/// later.
#[derive(Debug)]
pub(super) struct Handle<H: 'static> {
    pub(super) raw: *mut H,
    pub(super) device: Device,
    process: u32,
    give_up: GiveUp<H>,
}

// SAFETY: the handle is a name that the runtime accepts on any thread.
unsafe impl<H> Send for Handle<H> {}
// SAFETY: as above. A shared borrow changes nothing.
unsafe impl<H> Sync for Handle<H> {}

impl<H> Handle<H> {
    /// Takes a handle over.
    ///
    /// # Safety
    /// The function gives this handle up. Nobody else does, and no work uses it when this is dropped.
    pub(super) unsafe fn new(raw: *mut H, device: Device, give_up: GiveUp<H>) -> Self {
        Self { raw, device, process: process::number(), give_up }
    }
}

impl<H> Drop for Handle<H> {
    fn drop(&mut self) {
        // In the child of a fork the runtime is unusable, and the handle is the parent's.
        if !process::is(self.process) {
            return;
        }
        if stream::in_callback() {
            let later = Self { ..*self };
            stream::defer(Box::new(move || drop(later)));
            return;
        }
        let Ok(_current) = self.device.switch() else { return };
        let _ = relax();
        let (api, call) = self.give_up;
        // SAFETY: the caller of `new` guarantees that only this gives the handle up.
        let _ = Error::check(api, unsafe { call(self.raw) });
    }
}
