//! [`Notification`]: what a device's driver tells without being asked.
#![expect(unsafe_code, reason = "gives the runtime a function to call")]

use std::ffi::c_void;
use std::sync::Arc;

use super::Device;
use crate::callback::{Register, contained};
use crate::error::{Detail, Error, Result};
use crate::{check, process, stream, sys};

/// What a device's driver tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The process has more of the device's memory than its budget allows, by so many bytes.
    OverBudget {
        /// Bytes beyond the budget.
        bytes: u64,
    },
    /// Something newer than this crate: C's number for it.
    Other(u32),
}

type OnNotice = dyn Fn(Notice) + Send + Sync;

static FUNCTIONS: Register<OnNotice> = Register::new();

/// Has a function called when a device's driver has something to tell, until this is dropped.
#[derive(Debug)]
#[must_use = "what is dropped at once is never told anything"]
#[doc(alias = "cudaDeviceUnregisterAsyncNotification")]
pub struct Notification {
    device: Device,
    handle: sys::cudaAsyncCallbackHandle_t,
    number: usize,
    process: u32,
}

// SAFETY: the handle is a name that the runtime takes from any thread.
unsafe impl Send for Notification {}
// SAFETY: as above; nothing can be done with a shared one.
unsafe impl Sync for Notification {}

impl Device {
    /// Has a function called when the device's driver has something to tell: that the process has more memory than its
    /// budget, for now.
    ///
    /// Stands for [`cudaDeviceRegisterAsyncNotification`](sys::cudaDeviceRegisterAsyncNotification). The function runs on a
    /// thread of the driver's, any number of times and perhaps at once with itself; it should be quick. As a host function it may not
    /// call CUDA: this crate refuses with `InCallback`, and what it drops is freed later. A panic in it is caught and goes no further.
    ///
    /// # Errors
    /// `cudaErrorNotSupported` where the driver tells nothing; a refusal inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// match Device::current()?.on_notification(|notice| eprintln!("the driver says: {notice:?}")) {
    ///     Ok(notification) => notification.unregister()?,
    ///     Err(error) => eprintln!("this driver tells nothing: {error}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceRegisterAsyncNotification")]
    #[track_caller]
    pub fn on_notification(self, f: impl Fn(Notice) + Send + Sync + 'static) -> Result<Notification> {
        stream::ensure_idle("Device::on_notification")?;
        let number = FUNCTIONS.add(Arc::new(f));
        let mut handle = std::ptr::null_mut();
        let user = std::ptr::without_provenance_mut(number);
        let out = &raw mut handle;
        // SAFETY: the function takes any number, known or not, and any notice; the last pointer is to a live variable.
        let done =
            unsafe { check!(cudaDeviceRegisterAsyncNotification(self.ordinal(), Some(called), user, out)) };
        if let Err(error) = done {
            FUNCTIONS.forget(number);
            return Err(error);
        }
        Ok(Notification { device: self, handle, number, process: process::number() })
    }
}

impl Notification {
    /// The device whose driver tells.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Ends it: what a drop does, with the error.
    ///
    /// Stands for [`cudaDeviceUnregisterAsyncNotification`](sys::cudaDeviceUnregisterAsyncNotification). A call that is
    /// under way on another thread goes on.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function, or such a one, after which the runtime is told later. No call begins
    /// afterwards, all the same.
    #[doc(alias = "cudaDeviceUnregisterAsyncNotification")]
    #[track_caller]
    pub fn unregister(self) -> Result<()> {
        let this = std::mem::ManuallyDrop::new(self);
        this.end()
    }

    #[track_caller]
    fn end(&self) -> Result<()> {
        if !process::is(self.process) {
            return Ok(());
        }
        FUNCTIONS.forget(self.number);
        if stream::in_callback() {
            // The runtime does not permit it there: it goes on calling until then, and finds nothing.
            let later = Self { ..*self };
            stream::defer(Box::new(move || drop(later)));
            return Err(Error::refused("Notification::unregister", Detail::InCallback));
        }
        // SAFETY: the runtime has given the handle for this device, and it is taken back only here.
        unsafe { check!(cudaDeviceUnregisterAsyncNotification(self.device.ordinal(), self.handle)) }
    }
}

impl Drop for Notification {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// What the runtime calls.
unsafe extern "C" fn called(
    info: *mut sys::cudaAsyncNotificationInfo_t,
    user: *mut c_void,
    _: sys::cudaAsyncCallbackHandle_t,
) {
    if info.is_null() {
        return;
    }
    // SAFETY: the runtime gives a notice that lives while the call does.
    let info = unsafe { info.read() };
    let notice = if info.type_ == sys::cudaAsyncNotificationTypeOverBudget {
        // SAFETY: the type says which member of the union is set.
        Notice::OverBudget { bytes: unsafe { info.info.overBudget }.bytesOverBudget }
    } else {
        Notice::Other(info.type_.0)
    };
    let Some(function) = FUNCTIONS.find(user.addr()) else { return };
    let _entered = stream::enter_callback();
    contained(move || function(notice));
}
