//! What tests hold streams with, so that an order is proven and not timed.
#![allow(dead_code, clippy::unwrap_used, reason = "test support: each binary uses a part of it")]

#[cfg(unix)]
pub(crate) mod child;
pub(crate) mod everything;
pub(crate) mod schedules;
pub(crate) mod streamed;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_safe::stream::AsStream;

/// One test at a time in a process, for as long as the guard lives.
///
/// Freeing may wait for the whole device, and may keep other calls waiting meanwhile. A test that frees would so wait for the gate
/// of another one, which cannot get to opening it.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds a stream until it is opened or dropped, whichever way the test ends.
pub(crate) struct Gate {
    open: Sender<()>,
}

impl Gate {
    /// Puts a gate on a stream: nothing given to it later runs before the gate is open.
    pub(crate) fn on(stream: &impl AsStream) -> Self {
        let (open, opened) = channel::<()>();
        stream
            .as_stream()
            .launch_host_fn(move || {
                // An error means that the gate was dropped, which opens it too.
                let _ = opened.recv();
            })
            .unwrap();
        Self { open }
    }

    /// Opens the gate.
    pub(crate) fn open(self) {
        self.open.send(()).unwrap();
    }
}

/// An operation that touches nothing, for `enqueue`.
#[allow(unsafe_code, reason = "calls the runtime")]
pub(crate) fn put_nothing(raw: cuda_safe::sys::cudaStream_t) -> cuda_safe::Result<()> {
    extern "C" fn nothing(_: *mut std::ffi::c_void) {}
    // SAFETY: `enqueue` gives a live stream, and the function takes any pointer.
    unsafe { cuda_safe::check!(cudaLaunchHostFunc(raw, Some(nothing), std::ptr::null_mut())) }
}
