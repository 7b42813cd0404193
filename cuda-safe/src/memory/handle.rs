//! Owners of handles of the runtime: [`ImportedHandle`] is given up by one call when it is dropped, and a
//! [`UsedHandle`] waits for the work that uses it before that.
#![expect(unsafe_code, reason = "calls a function of the runtime by its address")]

use std::sync::Arc;

use super::retain::{retainable, retained};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory, Mode};
use crate::stream::relax;
use crate::{process, stream, sys};

/// A function of the runtime that gives a handle up, with its name.
pub(super) type GiveUp<H> = (&'static str, unsafe extern "C" fn(*mut H) -> sys::cudaError_t);

/// A handle or an address that one call gives up when this is dropped. Inside a host function, that happens
/// later.
#[derive(Debug)]
pub(super) struct ImportedHandle<H: 'static> {
    pub(super) raw: *mut H,
    pub(super) device: Device,
    process: u32,
    give_up: GiveUp<H>,
}

// SAFETY: the handle is a name that the runtime accepts on any thread.
unsafe impl<H> Send for ImportedHandle<H> {}
// SAFETY: the handle is a name that the runtime accepts on any thread. A shared borrow changes nothing.
unsafe impl<H> Sync for ImportedHandle<H> {}

impl<H> ImportedHandle<H> {
    /// Takes a handle over.
    ///
    /// # Safety
    /// The function gives this handle up. Nobody else does, and no work uses it when this is dropped.
    pub(super) unsafe fn new(raw: *mut H, device: Device, give_up: GiveUp<H>) -> Self {
        Self { raw, device, process: process::number(), give_up }
    }
}

impl<H> Drop for ImportedHandle<H> {
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

/// A handle that can be destroyed once no work uses it. Dropping the value leaks the handle.
pub(crate) trait Destroy: Send + Sync + 'static {
    /// Returns the verb that destroys the handle, for errors.
    fn api(&self) -> &'static str;

    /// Destroys the handle, which no work uses.
    #[track_caller]
    fn destroy(self) -> Result<()>;
}

/// A handle that work of devices uses. It is destroyed when its last owner is dropped; graphs are owners,
/// too.
pub(crate) struct UsedHandle<D: Destroy> {
    /// `None` after destruction, and after the handle moves to a deferred destruction.
    handle: Option<D>,
    /// The process that made the handle. A forked child that inherits the handle does not touch it.
    process: u32,
    /// The access history of the handle: each launch reads its one byte.
    history: AccessHistory,
}

retainable!(UsedHandle<D>, history, [D: Destroy]);

impl<D: Destroy> UsedHandle<D> {
    /// Makes the first owner of a handle that was just made.
    pub(crate) fn new(handle: D) -> Arc<Self> {
        retained(Self { handle: Some(handle), process: process::number(), history: AccessHistory::new(1) })
    }

    /// Returns the handle, unless it is destroyed.
    #[cfg(cudart_12_8)]
    pub(crate) fn get(&self) -> Option<&D> {
        self.handle.as_ref()
    }

    /// Returns the access of work that uses the handle.
    pub(crate) fn alive(&self) -> Access<'_> {
        Access::read(&self.history, 0..1)
    }

    /// Waits for all work that uses the handle.
    #[track_caller]
    pub(crate) fn wait(&self) -> Result<()> {
        stream::wait_host(&self.history, 0..1, Mode::Write)
    }

    /// Waits for the work that uses the handle, then destroys it. Does nothing if there are other owners:
    /// the last of them destroys it. If this thread must not wait, the destruction is deferred.
    #[track_caller]
    pub(crate) fn destroy_owned(mut owner: Arc<Self>) -> Result<()> {
        // No closure here: it would hide the caller's location.
        if let Some(this) = Arc::get_mut(&mut owner) { this.destroy() } else { Ok(()) }
    }

    #[track_caller]
    fn destroy(&mut self) -> Result<()> {
        let Some(handle) = self.handle.take() else { return Ok(()) };
        if stream::in_callback() {
            let api = handle.api();
            self.defer(handle);
            return Err(Error::refused(api, Detail::IN_CALLBACK));
        }
        if let Err(error) = self.wait() {
            // After another error, work may still use the handle, so it is leaked.
            if error.is_refused() {
                self.defer(handle);
            }
            return Err(error);
        }
        handle.destroy()
    }

    /// Leaves the handle to the next thread that may destroy it.
    fn defer(&mut self, handle: D) {
        let mut history = std::mem::replace(&mut self.history, AccessHistory::new(1));
        // The owners no longer exist.
        history.clear_retain_fn();
        let later = Self { handle: Some(handle), process: self.process, history };
        stream::defer(Box::new(move || drop(later)));
    }
}

impl<D: Destroy> Drop for UsedHandle<D> {
    fn drop(&mut self) {
        // In a forked child the runtime is not usable, and the handle belongs to the parent.
        if process::is(self.process) {
            // A drop cannot return the error. Callers that need it use the verb that destroys.
            let _ = self.destroy();
        }
    }
}
