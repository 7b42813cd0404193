//! Notifications that a program uses more of a device's memory than its budget.
//!
//! There is a budget only if `CUDA_EMULATOR_BUDGET` sets one. The functions are called on a thread of their
//! own, once for each allocation beyond the budget.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_void};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Out, api, ordinal};
use crate::machine::Guard;
use crate::sys::*;

/// A function that is called for a device.
#[derive(Clone, Copy)]
struct Notification {
    device: usize,
    number: usize,
    function: unsafe extern "C" fn(*mut cudaAsyncNotificationInfo_t, *mut c_void, cudaAsyncCallbackHandle_t),
    user: usize,
}

static REGISTERED: Mutex<Vec<Notification>> = Mutex::new(Vec::new());
static NEXT: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    static NOTIFYING: Cell<bool> = const { Cell::new(false) };
}

/// Handles start here, with gaps, so that small numbers are no handles.
const FIRST: usize = 0x00ca_0000_0000;
const STRIDE: usize = 0x40;

fn registered() -> MutexGuard<'static, Vec<Notification>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls the registered functions if a device's memory is beyond the budget.
pub(super) fn look(machine: &Guard, device: usize) {
    let taken = machine.allocations.taken(device);
    let over = match machine.config.budget {
        Some(budget) if taken > budget => taken - budget,
        _ => return,
    };
    let wanted: Vec<_> = registered().iter().filter(|it| it.device == device).copied().collect();
    if wanted.is_empty() {
        return;
    }
    let tell = move || {
        NOTIFYING.set(true);
        for it in wanted {
            // A function that was unregistered meanwhile is not called.
            if !registered().iter().any(|still| still.number == it.number) {
                continue;
            }
            let mut info = cudaAsyncNotificationInfo {
                type_: cudaAsyncNotificationTypeOverBudget,
                info: cudaAsyncNotificationInfo__bindgen_ty_1 {
                    overBudget: cudaAsyncNotificationInfo__bindgen_ty_1__bindgen_ty_1 {
                        bytesOverBudget: over,
                    },
                },
            };
            let user = core::ptr::with_exposed_provenance_mut(it.user);
            let handle = core::ptr::without_provenance_mut(it.number);
            // SAFETY: the program has registered the function for this, with this argument.
            unsafe { (it.function)(&raw mut info, user, handle) };
        }
    };
    if std::thread::Builder::new().name("cuda-notification".to_owned()).spawn(tell).is_err() {
        eprintln!("CUDA emulator: no thread for notifications");
    }
}

api! {
    /// Has a function called when something happens to a device.
    allowed fn cudaDeviceRegisterAsyncNotification(
        call, device: c_int, function: cudaAsyncCallback, user: *mut c_void, out: Out<'_, cudaAsyncCallbackHandle_t>,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let machine = call.machine()?;
        if NOTIFYING.get() {
            return Err(cudaErrorNotPermitted);
        }
        let device = ordinal(&machine, device)?;
        let function = function.ok_or(cudaErrorInvalidValue)?;
        let number = FIRST + NEXT.fetch_add(1, Ordering::Relaxed) * STRIDE;
        registered().push(Notification { device, number, function, user: user.expose_provenance() });
        out.write(core::ptr::without_provenance_mut(number));
        Ok(())
    }

    /// Unregisters a function. A call that is under way goes on.
    allowed fn cudaDeviceUnregisterAsyncNotification(call, device: c_int, handle: cudaAsyncCallbackHandle_t) {
        let machine = call.machine()?;
        if NOTIFYING.get() {
            return Err(cudaErrorNotPermitted);
        }
        let device = ordinal(&machine, device)?;
        let mut registered = registered();
        let at = registered.iter().position(|it| (it.device, it.number) == (device, handle.addr()));
        registered.remove(at.ok_or(cudaErrorInvalidValue)?);
        Ok(())
    }
}
