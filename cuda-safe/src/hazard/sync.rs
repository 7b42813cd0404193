//! The few synchronisation primitives the books are written with, so that a test can put loom's in their
//! place.
#![expect(unsafe_code, reason = "calls the system")]

#[path = "sync/lock.rs"]
mod lock;

use std::sync::{PoisonError, TryLockError};

pub(crate) use self::lock::{Lock, LockGuard};
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

    /// Locks the mutex, unless somebody else has it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

pub(crate) use crate::hint::rare;
pub(crate) use crate::thread::{number as me, number_of_its_own as number};

/// A barrier that one thread has all threads of the process pass.
mod barrier {
    /// Whether there is such a thing. Asks the system once.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(super) fn can() -> bool {
        static CAN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *CAN.get_or_init(|| call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
    }

    /// What a thread does in the place of a barrier that another one has it pass: keeps the compiler from changing the order.
    #[inline]
    pub(super) fn stand_for() {
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// Returns after every other thread of the process has been seen to pass a full barrier, or not to run.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(super) fn pass() {
        // The kernel promises that what was registered works. Only a filter of system calls could come in between, and to go on
        // without the barrier would be unsound.
        let again = || call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        let pass = || call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        if !(pass() || (again() && pass())) {
            std::process::abort();
        }
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn call(command: libc::c_int) -> bool {
        // SAFETY: the call takes two numbers and no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0) == 0 }
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub(super) fn can() -> bool {
        false
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub(super) fn pass() {
        std::process::abort();
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

/// Runs a test that makes some of these primitives, which those of another kind may want to know about.
#[cfg(test)]
pub(crate) fn in_a_test(test: impl Fn() + Send + Sync + 'static) {
    test();
}

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
    fn a_lock_can_be_taken_from_its_favourite_at_any_moment() {
        for round in 0..2_000_u32 {
            let lock = Lock::new((0_u64, 0_u64));
            let both = |times: u32| {
                for _ in 0..times {
                    let mut both = lock.lock();
                    both.0 += 1;
                    std::hint::black_box(&mut *both);
                    both.1 += 1;
                    assert_eq!(both.0, both.1);
                }
            };
            // The favourite.
            both(1);
            std::thread::scope(|threads| {
                threads.spawn(|| both(100));
                threads.spawn(|| {
                    for _ in 0..round % 300 {
                        std::hint::spin_loop();
                    }
                    both(100);
                });
                both(400);
            });
            assert_eq!(*lock.lock(), (601, 601));
        }
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
