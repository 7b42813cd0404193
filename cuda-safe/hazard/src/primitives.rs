//! The synchronisation primitives of the tracker, and its one system call.
//!
//! With `--cfg loom`, loom's primitives take their place, so that a test runs every interleaving of a few
//! steps.
#![cfg_attr(not(loom), expect(unsafe_code, reason = "calls the system"))]

#[cfg(not(loom))]
mod native {
    use std::cell::Cell;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::{PoisonError, TryLockError};

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

        /// Locks the mutex. Returns `None` if it is locked.
        #[inline]
        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }
    }

    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(NOBODY) };
    }

    /// The number of a thread without one. Others count from 1.
    const NOBODY: u64 = u64::MAX / 2;

    /// Returns the number of the thread, which no other thread of the process has or will have, or a number
    /// of no thread until the thread has one.
    #[inline]
    pub(crate) fn thread_number() -> u64 {
        NUMBER.with(Cell::get)
    }

    /// Returns the number of the thread, and assigns one if it has none.
    pub(crate) fn assign_thread_number() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        NUMBER.with(|number| {
            if number.get() == NOBODY {
                number.set(LAST.fetch_add(1, Relaxed) + 1);
            }
            number.get()
        })
    }

    /// An asymmetric barrier: one thread pays for a full barrier of all threads of the process.
    pub(crate) mod barrier {
        /// Returns whether the system has it. Asks once.
        #[cfg(all(target_os = "linux", not(miri)))]
        pub(crate) fn is_available() -> bool {
            static CAN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
            *CAN.get_or_init(|| call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
        }

        /// The cheap side, in the place of a barrier that another thread imposes: keeps the compiler from
        /// reordering.
        #[inline]
        pub(crate) fn light() {
            std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        }

        /// The expensive side: returns after every other thread of the process has passed a full barrier, or
        /// was not running.
        #[cfg(all(target_os = "linux", not(miri)))]
        pub(crate) fn heavy() {
            // The kernel promises that a registered call works. Only a filter of system calls could
            // interfere, and to go on without the barrier would be unsound.
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
        pub(crate) fn is_available() -> bool {
            false
        }

        #[cfg(not(all(target_os = "linux", not(miri))))]
        pub(crate) fn heavy() {
            std::process::abort();
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

    loom::thread_local! {
        /// The number of a thread of the model. Threads number themselves.
        pub static NUMBER: std::cell::Cell<u64> = std::cell::Cell::new(u64::MAX / 2);
    }

    pub(crate) fn thread_number() -> u64 {
        NUMBER.with(std::cell::Cell::get)
    }

    pub(crate) fn assign_thread_number() -> u64 {
        thread_number()
    }

    /// Loom has no barrier that one thread imposes on all others. It amounts to a full fence on either side:
    /// the thread that it is imposed on has a fence between its store that it is inside and its load whether
    /// it owns the lock, wherever it was interrupted.
    pub mod barrier {
        use std::sync::atomic::{AtomicBool, Ordering};

        /// Whether the thread that revokes the ownership leaves its barrier out.
        pub static SABOTAGE: AtomicBool = AtomicBool::new(false);

        pub(crate) fn is_available() -> bool {
            true
        }

        pub(crate) fn light() {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }

        pub(crate) fn heavy() {
            if !SABOTAGE.load(Ordering::Relaxed) {
                loom::sync::atomic::fence(Ordering::SeqCst);
            }
        }
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
