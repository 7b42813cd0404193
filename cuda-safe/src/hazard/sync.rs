//! The few synchronisation primitives the books are written with, so that a test can put loom's in their
//! place.

use std::sync::PoisonError;

pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
pub(crate) use std::sync::{Arc, MutexGuard};

/// A mutex without poisoning: what it guards here is consistent between any two statements that can panic.
#[derive(Debug)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A mutex around `value`.
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the mutex and locks it.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the processor away once while waiting for another thread; `turn` counts the calls of one wait.
pub(crate) fn pause(turn: u32) {
    match turn {
        0..64 => std::hint::spin_loop(),
        64..1024 => std::thread::yield_now(),
        _ => std::thread::sleep(std::time::Duration::from_micros(50)),
    }
}

/// A constructor, `const` except where a test's primitives cannot be made in a constant.
macro_rules! constructor {
    ($(#[$meta:meta])* $visibility:vis fn $($rest:tt)*) => { $(#[$meta])* $visibility const fn $($rest)* };
}
pub(crate) use constructor;
