//! The synchronisation primitives of the tracker.
//!
//! With `--cfg loom`, loom's primitives take their place, so that a test runs every interleaving of a few
//! steps.

#[cfg(not(loom))]
mod native {
    use std::sync::PoisonError;

    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
    pub(crate) use std::sync::{Arc, MutexGuard};

    /// A value that is made once, by any thread.
    pub(crate) type Once<T> = std::sync::OnceLock<T>;

    /// A mutex without poisoning: its value is consistent between any two statements that can panic.
    #[derive(Debug)]
    pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// Creates a mutex around `value`.
        pub(crate) const fn new(value: T) -> Self {
            Self(std::sync::Mutex::new(value))
        }

        /// Waits for the mutex and locks it.
        #[inline]
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// Pauses once while waiting for another thread; `attempt` counts the calls of one wait.
    pub(crate) fn pause(attempt: u32) {
        match attempt {
            0..64 => std::hint::spin_loop(),
            64..1024 => std::thread::yield_now(),
            _ => std::thread::sleep(std::time::Duration::from_micros(50)),
        }
    }

    /// A constructor, `const` except where loom's primitives cannot be made in a constant.
    macro_rules! constructor {
        ($(#[$meta:meta])* $visibility:vis fn $($rest:tt)*) => { $(#[$meta])* $visibility const fn $($rest)* };
    }
    pub(crate) use constructor;

    /// Runs a test that creates some of these primitives; loom's can be created only within a model.
    #[cfg(test)]
    pub(crate) fn in_a_test(test: impl Fn() + Send + Sync + 'static) {
        test();
    }
}

/// Loom's primitives.
#[cfg(loom)]
mod modelled {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
    pub(crate) use loom::sync::{Arc, MutexGuard};

    /// Loom's mutex.
    #[derive(Debug)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// Creates a mutex around `value`.
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        /// Waits for the mutex and locks it.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        /// Locks the mutex, unless somebody else has it.
        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    /// A value that is made once, by any thread, so that loom knows that it is made before it is used.
    #[derive(Debug)]
    pub(crate) struct Once<T> {
        value: std::sync::OnceLock<T>,
        is_made: Mutex<bool>,
    }

    impl<T> Once<T> {
        pub(crate) fn new() -> Self {
            Self { value: std::sync::OnceLock::new(), is_made: Mutex::new(false) }
        }

        pub(crate) fn get(&self) -> Option<&T> {
            if *self.is_made.lock() { self.value.get() } else { None }
        }

        pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
            let mut is_made = self.is_made.lock();
            *is_made = true;
            self.value.get_or_init(make)
        }
    }

    pub(crate) fn pause(_attempt: u32) {
        loom::thread::yield_now();
    }

    macro_rules! constructor {
        ($(#[$meta:meta])* $visibility:vis fn $($rest:tt)*) => { $(#[$meta])* $visibility fn $($rest)* };
    }
    pub(crate) use constructor;

    /// Loom's primitives cannot be made outside a model.
    #[cfg(test)]
    pub(crate) fn in_a_test(test: impl Fn() + Send + Sync + 'static) {
        loom::model(test);
    }
}

#[cfg(loom)]
pub use modelled::*;
#[cfg(not(loom))]
pub(crate) use native::*;
// Timelines are created while one thread runs, or under a lock.
pub(crate) use std::sync::OnceLock;
