//! Functions of the program that the runtime or the driver calls: how they are found, and what they leave to
//! be done later.
//!
//! C receives a number, not a pointer. The functions themselves are in a [`FunctionRegister`], so it does not
//! matter whether one is still being called while it is removed, which the runtime's documentation
//! leaves open: a late call finds nothing, and a call that is under way owns a reference count of its
//! function.
//!
//! A thread that runs such a function must not call CUDA ([`thread_state`](crate::thread_state)). A value
//! that is dropped inside a host function is therefore freed later, by the next thread that waits
//! ([`defer`]).
//!
//! Nothing here blocks or calls CUDA.

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::lock::lock;
use crate::thread_state::in_callback;

/// Values that host functions dropped and could not free.
static DEFERRED: Mutex<Vec<Box<dyn FnOnce() + Send>>> = Mutex::new(Vec::new());

/// Whether `DEFERRED` may have entries. Without it, every wait would lock.
static ANY_DEFERRED: AtomicBool = AtomicBool::new(false);

/// Has `free` run later, outside of host functions.
pub(crate) fn defer(free: Box<dyn FnOnce() + Send>) {
    lock(&DEFERRED).push(free);
    ANY_DEFERRED.store(true, Ordering::Release);
}

/// Frees what host functions dropped. The caller is allowed to wait.
#[inline]
pub(crate) fn run_deferred() {
    if ANY_DEFERRED.load(Ordering::Relaxed) && !in_callback() {
        run_all_deferred();
    }
}

#[cold]
fn run_all_deferred() {
    /// What is left if a program's own value panics when it is dropped: it stays deferred.
    struct Rest(std::vec::IntoIter<Box<dyn FnOnce() + Send>>);
    impl Drop for Rest {
        fn drop(&mut self) {
            self.0.by_ref().for_each(defer);
        }
    }
    ANY_DEFERRED.store(false, Ordering::Relaxed);
    let mut deferred = Rest(std::mem::take(&mut *lock(&DEFERRED)).into_iter());
    for free in deferred.0.by_ref() {
        free();
    }
}

/// Functions of one kind, by number.
pub(crate) struct FunctionRegister<F: ?Sized>(Mutex<Numbered<F>>);

struct Numbered<F: ?Sized> {
    next: usize,
    functions: BTreeMap<usize, Arc<F>>,
}

impl<F: ?Sized> FunctionRegister<F> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Numbered { next: 1, functions: BTreeMap::new() }))
    }

    fn lock(&self) -> MutexGuard<'_, Numbered<F>> {
        lock(&self.0)
    }

    /// Adds a function and returns its number.
    pub(crate) fn add(&self, function: Arc<F>) -> usize {
        let mut register = self.lock();
        let number = register.next;
        register.next += 1;
        register.functions.insert(number, function);
        number
    }

    /// Removes a function. It is dropped outside of the lock, because its drop may use this register.
    pub(crate) fn forget(&self, number: usize) {
        let function = self.lock().functions.remove(&number);
        drop(function);
    }

    /// Returns the function with this number, or `None` if it has been removed.
    pub(crate) fn find(&self, number: usize) -> Option<Arc<F>> {
        self.lock().functions.get(&number).cloned()
    }
}

/// Runs `f` and catches its panic, for functions that C calls and that must not unwind. The payload is
/// leaked, because it may itself panic when it is dropped.
pub(crate) fn contained(f: impl FnOnce()) {
    let _ = ManuallyDrop::new(catch_unwind(AssertUnwindSafe(f)));
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::{defer, run_deferred};

    #[test]
    fn a_deferred_drop_that_panics_keeps_no_other_one_from_running() {
        let (me, runs) = (thread::current().id(), Arc::new(AtomicUsize::new(0)));
        // Another thread of this program may run them.
        defer(Box::new(move || assert_ne!(thread::current().id(), me, "on purpose")));
        let count = Arc::clone(&runs);
        defer(Box::new(move || _ = count.fetch_add(1, Ordering::SeqCst)));
        drop(catch_unwind(AssertUnwindSafe(run_deferred)));
        run_deferred();
        while Arc::strong_count(&runs) > 1 {
            thread::yield_now();
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}
