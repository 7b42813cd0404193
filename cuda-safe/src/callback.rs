//! Calls from C into the program: the functions that the driver calls at its own times, and whether the
//! calling thread runs one.
//!
//! The driver receives a number instead of a pointer, and a register has the functions by their numbers. The
//! runtime's documentation does not say whether a function may still be called while it is unregistered. A
//! call that comes late finds no function, and a call that is running has its own count of the function.

use std::cell::Cell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The activity of a thread that forbids other operations, because they could wait for the thread itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// None of this crate.
    None,
    /// The submission of an operation, with a locked stream.
    Entering,
    /// A host function that a stream runs.
    Callback,
}

thread_local! {
    static ACTIVITY: Cell<Activity> = const { Cell::new(Activity::None) };
}

/// Restores the thread's former activity when it is dropped.
pub(crate) struct Entered(Activity);

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        ACTIVITY.set(self.0);
    }
}

/// Returns the activity of the calling thread.
#[inline]
pub(crate) fn activity() -> Activity {
    ACTIVITY.get()
}

/// Sets the activity of the calling thread until the guard is dropped.
#[inline]
pub(crate) fn begin(activity: Activity) -> Entered {
    Entered(ACTIVITY.replace(activity))
}

/// Begins a host function on the calling thread.
#[inline]
pub(crate) fn enter_callback() -> Entered {
    begin(Activity::Callback)
}

/// Returns whether the calling thread runs a host function for a stream, and so may not call CUDA.
#[inline]
pub(crate) fn in_callback() -> bool {
    activity() == Activity::Callback
}

/// Functions of one kind, by number.
pub(crate) struct Register<F: ?Sized>(Mutex<Numbered<F>>);

struct Numbered<F: ?Sized> {
    next: usize,
    functions: Option<HashMap<usize, Arc<F>>>,
}

impl<F: ?Sized> Register<F> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Numbered { next: 1, functions: None }))
    }

    fn lock(&self) -> MutexGuard<'_, Numbered<F>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a function and returns its number.
    pub(crate) fn add(&self, function: Arc<F>) -> usize {
        let mut register = self.lock();
        let number = register.next;
        register.next += 1;
        register.functions.get_or_insert_default().insert(number, function);
        number
    }

    /// Removes a function. It is dropped outside of the lock, because its drop may come here again.
    pub(crate) fn forget(&self, number: usize) {
        let function = self.lock().functions.as_mut().and_then(|functions| functions.remove(&number));
        drop(function);
    }

    /// Returns the function with this number unless it was removed.
    pub(crate) fn find(&self, number: usize) -> Option<Arc<F>> {
        self.lock().functions.as_ref()?.get(&number).cloned()
    }
}

/// Calls a function for C, so that no panic unwinds into C. The payload of a caught panic may itself panic
/// when it is dropped, and is therefore leaked.
pub(crate) fn contained(f: impl FnOnce()) {
    let _ = ManuallyDrop::new(catch_unwind(AssertUnwindSafe(f)));
}
