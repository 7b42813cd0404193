//! A lock that is biased to one thread, until another thread wants it.
#![expect(unsafe_code, reason = "a lock lends its value by a raw pointer")]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitives::{
    AtomicBool, AtomicU64, assign_thread_number, barrier, constructor, pause, thread_number,
};

/// A biased mutex, for what only one thread uses as a rule: a stream's submit state.
///
/// It belongs to the first thread that takes it, its *owner*, which from then on locks and unlocks it by
/// plain loads and stores. An atomic exchange would cost as much as the rest of an operation's bookkeeping.
/// The first other thread that wants the lock revokes the ownership for good. Afterwards every thread locks
/// it by one exchange and unlocks it by a plain store.
///
/// # Why only one thread is inside
/// The owner stores that it is inside, *then* loads whether it still owns the lock. A thread that revokes the
/// ownership stores that it does, *then* loads whether the owner is inside. If all processors saw each store
/// before the load that follows it, one of the two threads would see the other. The revoking thread pays for
/// both: the system makes every processor that runs a thread of this process pass a full barrier
/// (`barrier::heavy`), so the owner only has to prevent reordering by the compiler (`barrier::light`). If the
/// system has no such call, a lock has no owner.
///
/// # Why no thread waits for ever
/// No thread sleeps in a queue, which an unlock would have to look at. A thread that finds the lock taken
/// looks again, ever more seldom, and threads that lock it again at once could go in before it for ever. So
/// it soon stores in the owner's place that it is next. Threads that come later find that where they look
/// anyway, and stay out until it has been inside. It only looks until then, so it keeps nobody out for long.
#[derive(Debug)]
#[repr(C)]
pub struct Lock<T> {
    /// The number of the owner, or one of the constants below.
    owner: AtomicU64,
    /// Whether the owner is inside. Only the owner sets this.
    inside: AtomicBool,
    /// Whether any thread is inside, once there is no owner.
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

/// No thread has had the lock yet. This and the next three are no thread's numbers.
const UNOWNED: u64 = 0;
/// A thread is revoking the ownership.
const REVOKING: u64 = u64::MAX;
/// The lock has no owner any more.
const SHARED: u64 = u64::MAX - 1;
/// As `SHARED`, but one of the waiting threads is next.
const PROMISED: u64 = u64::MAX - 2;
/// How often a thread looks before it asks to be next: while it still spins.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 48 };

// SAFETY: the value is only reached through a guard, and only one guard exists at a time, as stated above.
// All that the owner did inside happens before it leaves. The revoking thread has seen that before it stores
// `SHARED`, which all other threads have seen before they go in. From then on `taken` carries the value from
// one thread to the next, which may therefore be any thread.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    constructor! {
        /// Creates a lock around `value`.
        pub fn new(value: T) -> Self {
            Self {
                owner: AtomicU64::new(UNOWNED),
                inside: AtomicBool::new(false),
                taken: AtomicBool::new(false),
                value: UnsafeCell::new(value),
            }
        }
    }

    /// Waits for the lock and takes it. The thread must not hold it already.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        let me = thread_number();
        if self.owner.load(Relaxed) == me && self.enter(me) {
            return LockGuard { lock: self, not_send: PhantomData };
        }
        self.lock_with_others()
    }

    /// Takes the lock if that needs no other thread: nobody is inside, and no other thread owns the lock.
    #[inline]
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        let taken = match self.owner.load(Acquire) {
            SHARED => self.taken.compare_exchange(false, true, Acquire, Relaxed).is_ok(),
            owner => owner == thread_number() && !self.inside.load(Relaxed) && self.enter(owner),
        };
        taken.then(|| LockGuard { lock: self, not_send: PhantomData })
    }

    /// Tries to go in as the owner.
    #[inline]
    fn enter(&self, me: u64) -> bool {
        if self.inside.load(Relaxed) {
            // Only this thread can have set it. With an exchange it would now wait for itself for ever.
            nested();
        }
        self.inside.store(true, Relaxed);
        // Pairs with the barrier of the thread that revokes the ownership.
        barrier::light();
        if self.owner.load(Relaxed) == me {
            return true;
        }
        self.inside.store(false, Release);
        false
    }

    #[cold]
    fn lock_with_others(&self) -> LockGuard<'_, T> {
        let mut attempt = 0;
        loop {
            match self.owner.load(Acquire) {
                SHARED => break,
                REVOKING | PROMISED => {
                    pause(attempt);
                    attempt = attempt.saturating_add(1);
                }
                UNOWNED => {
                    let next = if barrier::is_available() { assign_thread_number() } else { SHARED };
                    let _ = self.owner.compare_exchange(UNOWNED, next, Relaxed, Relaxed);
                }
                owner if owner == thread_number() => {
                    if self.enter(owner) {
                        return LockGuard { lock: self, not_send: PhantomData };
                    }
                }
                owner => {
                    if self.owner.compare_exchange(owner, REVOKING, Relaxed, Relaxed).is_ok() {
                        barrier::heavy();
                        while self.inside.load(Acquire) {
                            pause(attempt);
                            attempt = attempt.saturating_add(1);
                        }
                        self.owner.store(SHARED, Release);
                    }
                }
            }
        }
        attempt = 0;
        let mut is_next = false;
        while self.taken.load(Relaxed) || self.taken.compare_exchange(false, true, Acquire, Relaxed).is_err()
        {
            pause(attempt);
            attempt = attempt.saturating_add(1);
            if attempt >= PATIENCE && !is_next {
                is_next = self.owner.compare_exchange(SHARED, PROMISED, Relaxed, Relaxed).is_ok();
            }
        }
        if is_next {
            // This thread has seen `SHARED` before, so whoever sees it now has seen all that went before.
            self.owner.store(SHARED, Release);
        }
        LockGuard { lock: self, not_send: PhantomData }
    }
}

/// Aborts: a thread wants a lock that it holds. That is a mistake of this crate, and would give two exclusive
/// borrows of one value.
#[cold]
fn nested() -> ! {
    eprintln!(
        "cuda-hazard: a stream is used within an operation of its own; this should not be possible, \
         please report it"
    );
    std::process::abort();
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
        // A thread unlocks both ways, whichever way it came in. The other way does not matter to it. While
        // there is an owner, no thread has `taken` the lock, nor looks at `taken` before the owner has left,
        // which is why `inside` is stored last. Once there is no owner, no thread looks at `inside` again.
        self.lock.taken.store(false, Release);
        self.lock.inside.store(false, Release);
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

    #[test]
    fn a_lock_can_be_taken_from_its_owner_at_any_moment() {
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
            // The owner.
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
