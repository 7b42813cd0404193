//! [`Notification`]: registers a function for messages from a device's driver.
#![expect(unsafe_code, reason = "gives the runtime a function to call")]

use std::ffi::c_void;
use std::sync::Arc;

use super::Device;
use crate::callback::{FunctionRegister, contained};
use crate::error::{Detail, Error, Result};
use crate::{check, process, stream, sys};

/// A message from a device's driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The process uses more of the device's memory than its budget allows.
    OverBudget {
        /// Bytes beyond the budget.
        bytes: u64,
    },
    /// A type that is newer than this crate, as C's number.
    Other(u32),
}

type OnNotice = dyn Fn(Notice) + Send + Sync;

static FUNCTIONS: FunctionRegister<OnNotice> = FunctionRegister::new();

/// A registered function, which receives the messages of a device's driver. Dropping it unregisters the
/// function.
#[derive(Debug)]
#[must_use = "what is dropped at once is never told anything"]
#[doc(alias = "cudaDeviceUnregisterAsyncNotification")]
pub struct Notification {
    device: Device,
    handle: sys::cudaAsyncCallbackHandle_t,
    number: usize,
    process: u32,
}

// SAFETY: the handle is a name that the runtime accepts on any thread.
unsafe impl Send for Notification {}
// SAFETY: the handle is a name that the runtime accepts on any thread. A shared reference allows no operation
// on the handle.
unsafe impl Sync for Notification {}

impl Device {
    /// Registers a function for messages of the device's driver. Currently the only message is that the
    /// process exceeds its memory budget.
    ///
    /// Stands for [`cudaDeviceRegisterAsyncNotification`](sys::cudaDeviceRegisterAsyncNotification). The
    /// function runs on a driver thread, any number of times and possibly concurrently with itself. It
    /// should be quick. Like a host function, it must not call CUDA: this crate refuses with `InCallback`,
    /// and resources that it drops are freed later. A panic inside it is caught and not propagated.
    ///
    /// # Errors
    /// Returns `cudaErrorNotSupported` if the driver sends no messages. Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// match Device::current()?.on_notification(|notice| eprintln!("the driver says: {notice:?}")) {
    ///     Ok(notification) => notification.unregister()?,
    ///     Err(error) => eprintln!("this driver sends no messages: {error}"),
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
        // SAFETY: `called` accepts any number, registered or not, and any message. The last pointer is to a
        // live variable.
        let done =
            unsafe { check!(cudaDeviceRegisterAsyncNotification(self.as_raw(), Some(called), user, out)) };
        if let Err(error) = done {
            FUNCTIONS.forget(number);
            return Err(error);
        }
        Ok(Notification { device: self, handle, number, process: process::number() })
    }
}

impl Notification {
    /// Unregisters the function. Dropping does the same but discards the error.
    ///
    /// Stands for [`cudaDeviceUnregisterAsyncNotification`](sys::cudaDeviceUnregisterAsyncNotification). A
    /// call that is running on another thread continues.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function or inside a registered function; the
    /// runtime is then informed later. Even after an error, no new call of the function begins.
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
            // The runtime does not permit unregistering here, so it is deferred. Until then `called` finds
            // no function.
            let later = Self { ..*self };
            stream::defer(Box::new(move || drop(later)));
            return Err(Error::refused("Notification::unregister", Detail::IN_CALLBACK));
        }
        // SAFETY: the runtime returned the handle for this device, and only this function unregisters it.
        unsafe { check!(cudaDeviceUnregisterAsyncNotification(self.device.as_raw(), self.handle)) }
    }
}

impl Drop for Notification {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The function that the runtime calls.
unsafe extern "C" fn called(
    info: *mut sys::cudaAsyncNotificationInfo_t,
    user: *mut c_void,
    _: sys::cudaAsyncCallbackHandle_t,
) {
    if info.is_null() {
        return;
    }
    // SAFETY: the runtime passes a message that is live during the call.
    let info = unsafe { info.read() };
    let notice = if info.type_ == sys::cudaAsyncNotificationTypeOverBudget {
        // SAFETY: the type selects the member of the union that is set.
        Notice::OverBudget { bytes: unsafe { info.info.overBudget }.bytesOverBudget }
    } else {
        Notice::Other(info.type_.0)
    };
    let Some(function) = FUNCTIONS.find(user.addr()) else { return };
    let _entered = stream::enter_callback();
    contained(move || function(notice));
}
