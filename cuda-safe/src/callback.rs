//! Functions of the program that the driver calls at times of its own.
//!
//! The driver gets a number, not a pointer: the functions themselves are in a register of ours. So it does not matter whether one is still
//! being called while it is taken back, of which the runtime's documentation says nothing: a call that comes late finds nothing, and one
//! that is under way has its own count of the function.

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

    /// Takes a function in; its number.
    pub(crate) fn add(&self, function: Arc<F>) -> usize {
        let mut register = self.lock();
        let number = register.next;
        register.next += 1;
        register.functions.get_or_insert_default().insert(number, function);
        number
    }

    /// Takes a function out. It is dropped outside of the lock, as its drop may come here again.
    pub(crate) fn forget(&self, number: usize) {
        let function = self.lock().functions.as_mut().and_then(|functions| functions.remove(&number));
        drop(function);
    }

    /// The function with this number, if it has not been taken out.
    pub(crate) fn find(&self, number: usize) -> Option<Arc<F>> {
        self.lock().functions.as_ref()?.get(&number).cloned()
    }
}

/// Calls what must not unwind, for it is called by C. What is caught may itself panic when it is dropped, and is leaked.
pub(crate) fn contained(f: impl FnOnce()) {
    let _ = ManuallyDrop::new(catch_unwind(AssertUnwindSafe(f)));
}
