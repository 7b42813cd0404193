//! What becomes of a transfer when something fails in the middle of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::flow::{Driver, Flow, Way};
use super::ring::{self, SLOTS};
use super::test::{Point, arm};
use super::{Settings, configure, release, statistics};
use crate::error::Error;
use crate::{DeviceBuffer, memcpy, sys};

const CHUNK: usize = 4096;

/// One test at a time, with small chunks from the first byte on and no traps; all rings have come back at its end.
struct Alone(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

fn alone(threads: usize, pinned: usize) -> Alone {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    arm(None);
    release().unwrap();
    configure(Settings {
        threshold: Some(1),
        threads: Some(threads),
        chunk: Some(CHUNK),
        pinned,
        ..Settings::default()
    });
    Alone(guard)
}

impl Drop for Alone {
    fn drop(&mut self) {
        arm(None);
        if !std::thread::panicking() {
            assert_eq!(ring::in_use(), 0, "a ring has not come back");
        }
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}

fn injected(code: sys::cudaError_t) -> Error {
    Error::from_code("injected", code)
}

/// A helper of the crew, and not the thread that called.
fn is_helper() -> bool {
    std::thread::current().name() == Some("cuda-safe copy")
}

#[test]
fn a_block_that_fails_ends_the_copy_with_one_error_and_the_next_copy_works() {
    let _alone = alone(4, 1 << 20);
    let host = bytes(100 * CHUNK);
    let mut device = DeviceBuffer::<u8>::alloc(host.len()).unwrap();
    for fails_at in [0, 1, 2, 17, 60] {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        arm(Some(Arc::new(move |point| {
            if point == Point::Submit && counted.fetch_add(1, Ordering::Relaxed) >= fails_at {
                return Err(injected(sys::cudaErrorInvalidValue));
            }
            Ok(())
        })));
        let error = memcpy(&mut device, &host).unwrap_err();
        assert_eq!((error.api(), error.code()), ("injected", sys::cudaErrorInvalidValue));
        assert_eq!(error.place().file(), file!(), "the place is the caller's");
        assert_eq!(count.load(Ordering::Relaxed), fails_at + 1, "nothing is sent after the first failure");
        assert!(device.to_vec().is_err());
        arm(None);
        memcpy(&mut device, &host).unwrap();
        assert_eq!(device.to_vec().unwrap(), host);
    }
}

#[test]
fn without_pinned_memory_the_runtime_copies() {
    let _alone = alone(4, 1 << 20);
    let host = bytes(10 * CHUNK);
    arm(Some(Arc::new(|point| match point {
        Point::Allocate => Err(injected(sys::cudaErrorMemoryAllocation)),
        _ => Ok(()),
    })));
    let before = statistics();
    let device = DeviceBuffer::from_slice(&host).unwrap();
    assert_eq!(device.to_vec().unwrap(), host);
    let after = statistics();
    assert_eq!((after.copies, after.pinned), (before.copies, before.pinned));
}

#[test]
fn after_a_sticky_error_slots_are_leaked_and_never_returned() {
    let _alone = alone(1, 1 << 20);
    let host = bytes(10 * CHUNK);
    let mut device = DeviceBuffer::<u8>::alloc(host.len()).unwrap();
    arm(Some(Arc::new(|point| match point {
        Point::Allocate | Point::Move => Ok(()),
        Point::Submit => Err(injected(sys::cudaErrorInvalidValue)),
        Point::Drained => Err(injected(sys::cudaErrorIllegalAddress)),
    })));
    let before = statistics().pinned;
    let error = memcpy(&mut device, &host).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue, "the first one counts");
    arm(None);
    assert_eq!(statistics().pinned, before + SLOTS * CHUNK);
    release().unwrap();
    assert_eq!(statistics().pinned, before + SLOTS * CHUNK, "nobody gives it back");
    memcpy(&mut device, &host).unwrap();
    assert_eq!(device.to_vec().unwrap(), host);
    crate::error::forget_sticky();
}

#[test]
fn a_caller_that_panics_leaves_nothing_in_flight() {
    let _alone = alone(3, 1 << 20);
    let host = bytes(50 * CHUNK);
    let mut device = DeviceBuffer::<u8>::alloc(host.len()).unwrap();
    // Helpers wait until the caller has come to a piece of its own.
    let came = Arc::new((Mutex::new(false), Condvar::new()));
    arm(Some(Arc::new(move |point| {
        if point == Point::Move {
            let mut called = came.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_helper() {
                *called = true;
                came.1.notify_all();
                drop(called);
                std::panic::resume_unwind(Box::new("on purpose"));
            }
            drop(came.1.wait_while(called, |called| !*called));
        }
        Ok(())
    })));
    let panicked = catch_unwind(AssertUnwindSafe(|| memcpy(&mut device, &host)));
    assert!(panicked.is_err());
    assert_eq!(ring::in_use(), 0);
    arm(None);
    memcpy(&mut device, &host).unwrap();
    assert_eq!(device.to_vec().unwrap(), host);
}

#[test]
fn a_helper_that_panics_is_an_error_of_the_copy() {
    let _alone = alone(3, 1 << 20);
    let host = bytes(50 * CHUNK);
    let mut device = DeviceBuffer::<u8>::alloc(host.len()).unwrap();
    // Whoever is not a helper waits at its first piece until one has come to a piece of its own.
    let came = Arc::new((Mutex::new(false), Condvar::new()));
    arm(Some(Arc::new(move |point| {
        if point == Point::Move {
            let mut helped = came.0.lock().unwrap_or_else(PoisonError::into_inner);
            if is_helper() {
                *helped = true;
                came.1.notify_all();
                drop(helped);
                std::panic::resume_unwind(Box::new("on purpose"));
            }
            drop(came.1.wait_while(helped, |helped| !*helped));
        }
        Ok(())
    })));
    let error = memcpy(&mut device, &host).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorUnknown, "{error}");
    arm(None);
    memcpy(&mut device, &host).unwrap();
    assert_eq!(device.to_vec().unwrap(), host);
}

/// A device that does everything at once, until it panics.
struct Model {
    submitted: AtomicUsize,
    panics_at: usize,
}

impl Driver for Model {
    type Error = std::convert::Infallible;

    fn submit(&self, block: usize) -> Result<(), Self::Error> {
        assert_eq!(self.submitted.fetch_add(1, Ordering::Relaxed), block, "in order, one at a time");
        if block == self.panics_at {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        Ok(())
    }

    fn is_done(&self, _: usize) -> Result<bool, Self::Error> {
        Ok(true)
    }
}

/// Many threads work on a transfer of the model; how many pieces of which block were moved.
fn flow_of(way: Way, blocks: usize, slots: usize, panics_at: usize) -> (Flow, Vec<usize>) {
    let flow = Flow::new(way, slots, (0..blocks).map(|block| 1 + block % 3));
    let model = Model { submitted: AtomicUsize::new(0), panics_at };
    let of: Vec<usize> = (0..blocks).flat_map(|block| std::iter::repeat_n(block, 1 + block % 3)).collect();
    let moved: Vec<_> = (0..blocks).map(|_| AtomicUsize::new(0)).collect();
    let work = || {
        while let Some(piece) = flow.claim() {
            while !flow.may_move(of[piece]) {
                if flow.is_stopped() {
                    return;
                }
                if !flow.drive(&model).unwrap() {
                    std::thread::yield_now();
                }
            }
            moved[of[piece]].fetch_add(1, Ordering::Relaxed);
            if flow.moved(of[piece]) {
                flow.drive(&model).unwrap();
            }
        }
    };
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| catch_unwind(AssertUnwindSafe(work)));
        }
    });
    if panics_at >= blocks {
        flow.drive(&model).unwrap();
    }
    (flow, moved.into_iter().map(AtomicUsize::into_inner).collect())
}

#[test]
fn many_threads_move_every_piece_once_and_all_blocks_are_sent() {
    for way in [Way::Up, Way::Down] {
        for slots in [1, 2, 7, 1000] {
            let (flow, moved) = flow_of(way, 500, slots, usize::MAX);
            assert!(flow.is_completed() && !flow.is_stopped());
            assert!(moved.iter().enumerate().all(|(block, &times)| times == 1 + block % 3));
        }
    }
}

#[test]
fn whoever_panics_while_it_sends_stops_the_transfer_for_all() {
    for way in [Way::Up, Way::Down] {
        for panics_at in [0, 1, 100] {
            let (flow, _) = flow_of(way, 500, 4, panics_at);
            assert!(flow.is_stopped() && !flow.is_completed());
            assert_eq!(flow.claim(), None);
        }
    }
}

#[test]
fn pinned_memory_stays_within_its_bound_however_many_copy() {
    let bound = 3 * SLOTS * CHUNK;
    let _alone = alone(8, bound);
    let leaked = statistics().pinned;
    configure(Settings { pinned: leaked + bound, ..super::settings() });
    let host = bytes(64 * CHUNK);
    let peak = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..5 {
                    let device = DeviceBuffer::from_slice(&host).unwrap();
                    assert_eq!(device.to_vec().unwrap(), host);
                    peak.fetch_max(statistics().pinned, Ordering::Relaxed);
                }
            });
        }
    });
    let peak = peak.into_inner();
    assert!(peak > leaked && peak <= leaked + bound, "{peak}");
    // What nobody has used for a while goes back.
    ring::release_unused_for(std::time::Duration::from_secs(3600));
    assert!(statistics().pinned > leaked);
    ring::release_unused_for(std::time::Duration::ZERO);
    assert_eq!(statistics().pinned, leaked);
}
