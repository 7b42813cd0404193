//! The few synchronisation primitives the books are written with, so that a test can put loom's in their
//! place.
#![expect(unsafe_code, reason = "a lock lends its value by a raw pointer")]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

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

/// A mutex for what is as a rule only one thread's affair: a stream's lane. Giving it back is a plain store and
/// not an exchange, since nobody sleeps in a queue that would have to be looked at; who finds it taken looks
/// again, ever more seldom.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached through a guard, of which there is one at a time: `taken` is set by whoever
// makes it, from not being set, and is cleared when it goes. The two orderings carry the value from one thread
// to the next, which may therefore be any.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A lock around `value`.
    pub(crate) const fn new(value: T) -> Self {
        Self { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock and takes it.
    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, T> {
        if self.taken.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            self.wait();
        }
        LockGuard { lock: self, here: PhantomData }
    }

    #[cold]
    fn wait(&self) {
        let mut turn = 0;
        while self.taken.load(Relaxed) || self.taken.compare_exchange(false, true, Acquire, Relaxed).is_err()
        {
            pause(turn);
            turn = turn.saturating_add(1);
        }
    }
}

/// The value of a [`Lock`], taken.
#[derive(Debug)]
pub(crate) struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
    /// Like other guards, this stays on its thread.
    here: PhantomData<*mut T>,
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this is the only guard, and it is borrowed.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this is the only guard, and it is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.taken.store(false, Release);
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

#[cfg(test)]
mod tests {
    use super::Lock;

    #[test]
    fn a_lock_keeps_threads_apart() {
        let lock = Lock::new((0_u64, 0_u64));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..20_000 {
                        let mut both = lock.lock();
                        both.0 += 1;
                        both.1 += 1;
                        assert_eq!(both.0, both.1);
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), (80_000, 80_000));
    }

    #[test]
    fn a_panic_gives_the_lock_back() {
        let lock = Lock::new(0);
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _taken = lock.lock();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(unwound.is_err());
        *lock.lock() += 1;
        assert_eq!(*lock.lock(), 1);
    }
}
