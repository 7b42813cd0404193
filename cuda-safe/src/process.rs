//! Which process this is, as owners see it: a number that a fork changes in the child.
//!
//! In the child of a fork the runtime cannot be used, and what was inherited is the parent's. Owners keep the number of the
//! process that made them, and their drop does nothing where it is another one now. Asking the system every time would be a
//! call into the kernel for every event and every buffer, so the number is a count of ours, which the C library raises in
//! each child as it forks. A child that was made behind the C library's back, by a bare `clone`, is not noticed.
//!
//! Any thread may ask; nothing here blocks but the first question, for a moment. Stands for no C function of the runtime.
#![expect(unsafe_code, reason = "has the C library call a function in children")]

use std::ffi::c_int;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of this process: 0 until somebody has asked.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A process that the C library would not tell about its forks: it asks the system instead.
const ASKS: u32 = u32::MAX;

unsafe extern "C" {
    /// POSIX: has functions called around every `fork`: before it, then in the parent, and in the child.
    fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
}

/// The number of this process; another one in the child of a fork.
#[inline]
pub(crate) fn number() -> u32 {
    match NUMBER.load(Ordering::Relaxed) {
        0 | ASKS => first_time(),
        number => number,
    }
}

/// Whether this is the process of that number, and not a child of it.
#[inline]
pub(crate) fn is(number_then: u32) -> bool {
    number() == number_then
}

/// Has the number kept up to date, once.
#[cold]
fn first_time() -> u32 {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function only adds to an atomic, which is allowed in a child of a process with many threads.
        let code = unsafe { pthread_atfork(None, None, Some(forked)) };
        NUMBER.store(if code == 0 { 1 } else { ASKS }, Ordering::Relaxed);
    });
    match NUMBER.load(Ordering::Relaxed) {
        // The system's numbers are positive `i32`s.
        ASKS => std::process::id(),
        number => number,
    }
}

/// Runs in every child, before its only thread goes on.
unsafe extern "C" fn forked() {
    NUMBER.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::{is, number};

    #[test]
    fn the_number_stays_while_the_process_does() {
        let first = number();
        assert!(first != 0 && is(first));
        assert_eq!(std::thread::spawn(number).join().unwrap(), first, "all threads are of one process");
    }
}
