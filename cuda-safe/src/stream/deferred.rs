//! What a host function dropped and could not free, because it may not call CUDA: freed by the next thread
//! that waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What is left to do.
static QUEUE: Mutex<Vec<Box<dyn FnOnce() + Send>>> = Mutex::new(Vec::new());

/// Whether there is anything in the queue, so that looking is cheap.
static ANY: AtomicBool = AtomicBool::new(false);

/// Has `free` run later, outside any host function.
pub(crate) fn defer(free: Box<dyn FnOnce() + Send>) {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner).push(free);
    ANY.store(true, Ordering::Release);
}

/// Frees what host functions dropped. To be called where waiting is allowed.
#[inline]
pub(super) fn run() {
    if ANY.load(Ordering::Relaxed) && !super::in_callback() {
        run_all();
    }
}

#[cold]
fn run_all() {
    ANY.store(false, Ordering::Relaxed);
    let queue = std::mem::take(&mut *QUEUE.lock().unwrap_or_else(PoisonError::into_inner));
    for free in queue {
        free();
    }
}
