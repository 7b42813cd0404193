//! The lock that belongs to a thread, under loom, which runs every interleaving of a few steps.
//!
//! Loom knows no barrier that one thread has all others pass. What that amounts to is a full fence on either side: the thread that is
//! made to pass it has one between saying that it is inside and looking whether the lock is its own, wherever it was interrupted.
#![allow(
    unsafe_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "the lock is compiled by itself, without the crate"
)]

#[path = "../src/hint.rs"]
mod hint;
#[path = "../src/hazard/sync/lock.rs"]
mod lock;

use loom::cell::Cell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64};

use hint::rare;
use lock::Lock;

macro_rules! constructor {
    ($(#[$meta:meta])* $visibility:vis fn $($rest:tt)*) => { $(#[$meta])* $visibility fn $($rest)* };
}
use constructor;

loom::thread_local! {
    static NUMBER: std::cell::Cell<u64> = std::cell::Cell::new(u64::MAX / 2);
}

fn me() -> u64 {
    NUMBER.with(std::cell::Cell::get)
}

/// The threads of a model number themselves.
fn number() -> u64 {
    me()
}

fn pause(_turn: u32) {
    loom::thread::yield_now();
}

mod barrier {
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Whether the thread that takes the lock away leaves its barrier out.
    pub(super) static SABOTAGE: AtomicBool = AtomicBool::new(false);

    pub(super) fn can() -> bool {
        true
    }

    pub(super) fn stand_for() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    pub(super) fn pass() {
        if !SABOTAGE.load(Ordering::Relaxed) {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
    }
}

/// The tests take turns: sabotage is everybody's.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// So many threads go in so many times each; the first is the lock's favourite. Loom sees to it that no two are at the cell at once,
/// and that whoever is at it comes after who was before.
fn all_get_in(others: u64, times: u64) {
    let mut model = loom::model::Builder::new();
    // More threads have more orders, most of them of the same steps.
    model.preemption_bound = Some(if others > 1 { 2 } else { 3 });
    model.max_branches = 20_000;
    model.check(move || {
        let lock = Arc::new(Lock::new(Cell::new(0_u64)));
        let enter = |lock: &Lock<Cell<u64>>| {
            let count = lock.lock();
            count.set(count.get() + 1);
        };
        NUMBER.with(|number| number.set(1));
        enter(&lock);
        let threads: Vec<_> = (0..others)
            .map(|other| {
                let lock = Arc::clone(&lock);
                loom::thread::spawn(move || {
                    NUMBER.with(|number| number.set(2 + other));
                    enter(&lock);
                })
            })
            .collect();
        for _ in 0..times {
            enter(&lock);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(lock.lock().get(), 1 + times + others);
    });
}

#[test]
fn a_thread_that_takes_the_lock_from_its_favourite_never_meets_it_inside() {
    let _turn = TURN.lock();
    all_get_in(1, 2);
}

#[test]
fn of_two_threads_that_take_the_lock_from_its_favourite_at_once_one_does() {
    let _turn = TURN.lock();
    all_get_in(2, 0);
}

#[test]
fn loom_catches_a_lock_without_its_barrier() {
    let _turn = TURN.lock();
    barrier::SABOTAGE.store(true, std::sync::atomic::Ordering::Relaxed);
    let caught = std::panic::catch_unwind(|| all_get_in(1, 2));
    barrier::SABOTAGE.store(false, std::sync::atomic::Ordering::Relaxed);
    assert!(caught.is_err());
}
