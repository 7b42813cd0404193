//! Scopes and the end of the process: once the runtime is gone, no thread learns any more whether its work is over.
//!
//! One thread ends the process and runs the functions of the exit; the others go on until it is done. One of these that is in a
//! scope then must not come out of it, and need not: it has no future. Stands for no C function of the runtime.
#![expect(unsafe_code, reason = "asks the C library for a call at exit, and which thread makes it")]

use std::sync::{Once, OnceLock};

use crate::error::Error;
use crate::sys;

/// The thread that ends the process.
static ENDS: OnceLock<libc::pthread_t> = OnceLock::new();

/// Has it noted which thread ends the process. The runtime has been called before the first scope, so it goes after the note.
#[inline]
pub(super) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where there is no room for the function, every thread counts as another one.
        // SAFETY: the function may be called at any time, from any thread.
        let _ = unsafe { libc::atexit(note) };
    });
}

extern "C" fn note() {
    let _ = ENDS.set(this_thread());
}

fn this_thread() -> libc::pthread_t {
    // SAFETY: only asks, and cannot fail.
    unsafe { libc::pthread_self() }
}

fn is_it(error: &Error) -> bool {
    error.code() == sys::cudaErrorCudartUnloading
}

/// Whether the error is that the runtime is gone, and this is the thread that ends the process.
pub(super) fn is_of_this_thread(error: &Error) -> bool {
    is_it(error) && ENDS.get() == Some(&this_thread())
}

/// Does not return where the error is that the runtime is gone.
pub(super) fn stay_if_it_is(error: &Error) {
    while is_it(error) {
        std::thread::park();
    }
}
