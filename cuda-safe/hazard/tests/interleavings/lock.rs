//! The lock of a stream under loom, which runs every interleaving of a few steps.

use cuda_hazard::lock::Lock;
use loom::cell::Cell;
use loom::sync::Arc;

/// Each of several threads goes in several times. Loom checks that no two are at the cell at once, and that
/// each comes after the one before.
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
        enter(&lock);
        let threads: Vec<_> = (0..others)
            .map(|_| {
                let lock = Arc::clone(&lock);
                loom::thread::spawn(move || {
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
fn two_threads_never_meet_inside() {
    all_get_in(1, 2);
}

#[test]
fn of_three_threads_that_want_the_lock_at_once_one_has_it() {
    all_get_in(2, 0);
}

#[test]
fn a_thread_that_only_tries_gets_in_alone_or_not_at_all() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let lock = Arc::new(Lock::new(Cell::new(0_u64)));
        lock.lock().set(1);
        let enter =
            |lock: &Lock<Cell<u64>>| lock.try_lock().map(|count| count.set(count.get() + 1)).is_some();
        let [taker, trier] = [true, false].map(|takes| {
            let lock = Arc::clone(&lock);
            loom::thread::spawn(move || {
                if takes {
                    let count = lock.lock();
                    count.set(count.get() + 1);
                    return true;
                }
                enter(&lock)
            })
        });
        let entered = [enter(&lock), taker.join().unwrap(), trier.join().unwrap()];
        let entered = entered.into_iter().filter(|entered| *entered).count();
        assert_eq!(usize::try_from(lock.lock().get()).unwrap(), 1 + entered);
    });
}
