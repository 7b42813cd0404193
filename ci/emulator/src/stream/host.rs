//! Functions of the program's that a stream calls: host functions and stream callbacks.
//!
//! They run on a thread of their own, one a device, with the machine unlocked, and may not call CUDA.
#![expect(unsafe_code, reason = "calls the program's functions")]

use std::sync::mpsc::{Receiver, Sender, channel};

use super::names::OperationId;
use crate::error::{Answer, Code};
use crate::sys::{CUstream_st, cudaError_t, cudaStream_t, cudaSuccess};
use crate::thread;

pub(crate) type HostFunction = unsafe extern "C" fn(*mut core::ffi::c_void);
type Callback = unsafe extern "C" fn(cudaStream_t, cudaError_t, *mut core::ffi::c_void);

/// The function to call, and its arguments.
#[derive(Clone, Copy, Debug)]
enum HostTarget {
    Function(HostFunction),
    Callback(Callback, usize),
}

/// One call of a function of the program's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCall {
    target: HostTarget,
    data: usize,
}

impl HostCall {
    /// A host function: skipped after an error.
    pub(crate) fn function(function: HostFunction, data: *mut core::ffi::c_void) -> Self {
        Self { target: HostTarget::Function(function), data: data.expose_provenance() }
    }

    /// A stream callback: called with the error after one.
    pub(crate) fn callback(callback: Callback, stream: cudaStream_t, data: *mut core::ffi::c_void) -> Self {
        let target = HostTarget::Callback(callback, stream.expose_provenance());
        Self { target, data: data.expose_provenance() }
    }

    /// The function and its argument; `None` for a callback.
    pub(crate) fn parts(&self) -> Option<(HostFunction, *mut core::ffi::c_void)> {
        let HostTarget::Function(function) = self.target else { return None };
        Some((function, core::ptr::with_exposed_provenance_mut(self.data)))
    }

    /// Whether it is called even when the device has failed.
    pub(crate) fn survives_errors(&self) -> bool {
        matches!(self.target, HostTarget::Callback(..))
    }

    fn call(self, status: Code) {
        let data = core::ptr::with_exposed_provenance_mut(self.data);
        match self.target {
            // SAFETY: the program gave this function to be called with this argument, once its turn has come.
            HostTarget::Function(function) => unsafe { function(data) },
            HostTarget::Callback(callback, stream) => {
                let stream: *mut CUstream_st = core::ptr::with_exposed_provenance_mut(stream);
                // SAFETY: the program gave this function to be called with this argument, once its turn has
                // come.
                unsafe { callback(stream, status, data) };
            }
        }
    }
}

/// The thread of a device that calls the program's functions.
#[derive(Debug)]
pub(crate) struct Caller(Sender<(OperationId, HostCall, Code)>);

impl Caller {
    /// Starts the thread. It reports each call that has returned to `called`, and ends if that fails. Returns
    /// `None` if the system refuses.
    pub(super) fn start(called: fn(OperationId) -> Answer) -> Option<Self> {
        let (sender, receiver) = channel();
        let builder = std::thread::Builder::new().name("cuda-host-func".to_owned());
        builder.spawn(move || serve(&receiver, called)).ok()?;
        Some(Self(sender))
    }

    /// Has the thread call a function and then complete its operation.
    pub(super) fn call(&self, id: OperationId, call: HostCall, status: Option<Code>) {
        // The receiver lives as long as its thread, which never ends.
        let _ = self.0.send((id, call, status.unwrap_or(cudaSuccess)));
    }
}

fn serve(calls: &Receiver<(OperationId, HostCall, Code)>, called: fn(OperationId) -> Answer) {
    thread::becomes_callback_thread();
    for (id, call, status) in calls {
        thread::set_function(id);
        call.call(status);
        if called(id).is_err() {
            return;
        }
    }
}
