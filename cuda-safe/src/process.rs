#![doc = include_str!("../docs/process.md")]
#![doc = include_str!("../docs/environment.md")]
#![expect(unsafe_code, reason = "has the C library call a function in children")]

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::system;

// Identifies the process by a number that a fork changes in the child.
//
// In the child of a fork the runtime cannot be used, and inherited owners belong to the parent. Owners
// store the number of the process that made them, and their drop does nothing in another process. Asking
// the system each time would be a kernel call for every event and every buffer. So the number is a
// counter of this crate, which the C library increments in each child as it forks. A child of a bare
// `clone`, which the C library does not see, is not noticed.
//
// Any thread may ask. Only the first query blocks, briefly.

/// The number of this process, or 0 before the first query.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The value of `NUMBER` if the C library does not report forks. The number then comes from the system.
const ASKS: u32 = u32::MAX;

/// Returns the number of this process. A child of a fork has another number.
#[inline]
pub(crate) fn number() -> u32 {
    match NUMBER.load(Ordering::Relaxed) {
        0 | ASKS => first_time(),
        number => number,
    }
}

/// Returns whether this is the process with that number, and not a child of it.
#[inline]
pub(crate) fn is(number_then: u32) -> bool {
    number() == number_then
}

/// Returns whether this is the child of a fork of a process that had used the crate: the runtime refuses
/// every call. Not every system tells.
pub(crate) fn is_child() -> bool {
    !matches!(number(), 1 | ASKS) && NUMBER.load(Ordering::Relaxed) != ASKS
}

/// Registers the function that updates the number in children, once.
#[cold]
fn first_time() -> u32 {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function only increments an atomic, which is allowed in the child of a process
        // with many threads.
        let is_told = unsafe { system::at_fork(forked) };
        NUMBER.store(if is_told { 1 } else { ASKS }, Ordering::Relaxed);
    });
    match NUMBER.load(Ordering::Relaxed) {
        // Process ids are positive `i32`s.
        ASKS => std::process::id(),
        number => number,
    }
}

/// Runs in every child before its only thread continues.
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
