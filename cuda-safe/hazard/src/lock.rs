//! The lock of a stream.
#![expect(unsafe_code, reason = "a lock lends its value by a raw pointer")]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitives::{AtomicBool, constructor, pause};

/// A spin lock, for what only one thread uses as a rule: a stream's submit state.
///
/// One exchange takes it and a plain store gives it back. A thread that wants a lock that it holds waits for
/// ever.
///
/// # Why no thread waits for ever
/// No thread sleeps in a queue, which an unlock would have to look at. A thread that finds the lock taken
/// looks again, ever more seldom, and threads that lock it again at once could go in before it for ever. So
/// it soon states that it is next. Threads that come later see that first, and stay out until it has been
/// inside. It only spins until then, so it keeps nobody out for long.
#[derive(Debug)]
#[repr(C)]
pub struct Lock<T> {
    taken: AtomicBool,
    /// Whether a waiting thread is next. Only a hint: `taken` alone keeps threads apart.
    promised: AtomicBool,
    value: UnsafeCell<T>,
}

/// How often a thread looks before it asks to be next: while it still spins.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 48 };

// SAFETY: the value is only reached through a guard, and only one guard exists at a time: `taken` carries the
// value from one thread to the next, which may therefore be any thread.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    constructor! {
        /// Creates a lock around `value`.
        pub fn new(value: T) -> Self {
            Self {
                taken: AtomicBool::new(false),
                promised: AtomicBool::new(false),
                value: UnsafeCell::new(value),
            }
        }
    }

    /// Waits for the lock and takes it. The thread must not hold it already.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        self.take(false).unwrap_or_else(|| self.lock_later())
    }

    /// Takes the lock if nobody has it and no other thread is next.
    #[inline]
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        self.take(false)
    }

    /// Takes the lock if nobody has it and no other thread is next. `is_next`: this thread is.
    #[inline]
    fn take(&self, is_next: bool) -> Option<LockGuard<'_, T>> {
        if !is_next && self.promised.load(Relaxed) {
            return None;
        }
        let is_taken = self.taken.compare_exchange(false, true, Acquire, Relaxed);
        is_taken.is_ok().then(|| LockGuard { lock: self, not_send: PhantomData })
    }

    #[cold]
    #[inline(never)]
    fn lock_later(&self) -> LockGuard<'_, T> {
        let (mut attempt, mut is_next) = (0, false);
        loop {
            pause(attempt);
            attempt = attempt.saturating_add(1);
            if attempt >= PATIENCE && !is_next {
                let promised = self.promised.compare_exchange(false, true, Relaxed, Relaxed);
                is_next = promised.is_ok();
                // It looks often again, so that it keeps the others out for a short time.
                attempt = if is_next { 0 } else { attempt };
            }
            // A load first: exchanges would take the cache line from the thread that has the lock.
            if !self.taken.load(Relaxed)
                && let Some(guard) = self.take(is_next)
            {
                if is_next {
                    self.promised.store(false, Relaxed);
                }
                return guard;
            }
        }
    }
}

/// A locked [`Lock`], with access to its value.
#[derive(Debug)]
pub struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
    /// Like other guards, this stays on its thread.
    not_send: PhantomData<*mut T>,
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

#[cfg(all(test, not(loom)))]
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

    /// Threads that lock, work and lock again at once leave the lock free for moments only.
    #[test]
    fn of_three_threads_that_lock_all_the_time_each_gets_in() {
        use std::time::{Duration, Instant};

        const MOST: u32 = 3_000;
        let turns = Lock::new([0_u32; 3]);
        std::thread::scope(|threads| {
            for thread in 0..3 {
                let turns = &turns;
                threads.spawn(move || {
                    loop {
                        let mut turns = turns.lock();
                        if turns.iter().any(|turns| *turns >= MOST) {
                            break;
                        }
                        turns[thread] += 1;
                        let start = Instant::now();
                        while start.elapsed() < Duration::from_micros(30) {
                            std::hint::spin_loop();
                        }
                    }
                });
            }
        });
        let turns = *turns.lock();
        assert!(turns.iter().all(|turns| *turns > MOST / 10), "{turns:?}");
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
