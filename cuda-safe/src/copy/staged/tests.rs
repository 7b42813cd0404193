//! What becomes of a transfer when something fails in the middle of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::test::{Point, arm};
use super::{Settings, configure, kit, release, statistics};
use crate::error::Error;
use crate::{DeviceBuffer, memcpy, sys};

const CHUNK: usize = 4096;

/// One test at a time, with small chunks from the first byte on and no traps; all chunks have come back at its end.
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
            assert_eq!(kit::in_use(), 0, "a chunk has not come back");
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
fn a_piece_that_fails_ends_the_copy_with_one_error_and_the_next_copy_works() {
    let _alone = alone(4, 1 << 20);
    let host = bytes(100 * CHUNK);
    let mut device = DeviceBuffer::<u8>::alloc(host.len()).unwrap();
    for fails_at in [0, 1, 2, 17, 60] {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        arm(Some(Arc::new(move |point| {
            let turn = if point == Point::Piece { counted.fetch_add(1, Ordering::Relaxed) } else { 0 };
            if point == Point::Piece && turn >= fails_at {
                return Err(injected(sys::cudaErrorInvalidValue));
            }
            Ok(())
        })));
        let error = memcpy(&mut device, &host).unwrap_err();
        assert_eq!((error.api(), error.code()), ("injected", sys::cudaErrorInvalidValue));
        assert_eq!(error.place().file(), file!(), "the place is the caller's");
        assert!(count.load(Ordering::Relaxed) <= fails_at + 4, "each thread stops at its first failure");
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
fn helpers_without_pinned_memory_leave_the_work_to_the_others() {
    let _alone = alone(4, 1 << 20);
    let host = bytes(50 * CHUNK);
    arm(Some(Arc::new(|point| match point {
        Point::Allocate if is_helper() => Err(injected(sys::cudaErrorMemoryAllocation)),
        _ => Ok(()),
    })));
    let before = statistics().copies;
    let device = DeviceBuffer::from_slice(&host).unwrap();
    assert_eq!(device.to_vec().unwrap(), host);
    assert_eq!(statistics().copies, before + 2);
}

#[test]
fn after_a_sticky_error_chunks_are_leaked_and_never_returned() {
    let _alone = alone(1, 1 << 20);
    let host = bytes(10 * CHUNK);
    let mut device = DeviceBuffer::<u8>::alloc(host.len()).unwrap();
    arm(Some(Arc::new(|point| match point {
        Point::Allocate => Ok(()),
        Point::Piece => Err(injected(sys::cudaErrorInvalidValue)),
        Point::Drained => Err(injected(sys::cudaErrorIllegalAddress)),
    })));
    let before = statistics().pinned;
    let error = memcpy(&mut device, &host).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue, "the first one counts");
    arm(None);
    assert_eq!(statistics().pinned, before + 2 * CHUNK);
    release().unwrap();
    assert_eq!(statistics().pinned, before + 2 * CHUNK, "nobody gives it back");
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
        if point == Point::Piece {
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
    assert_eq!(kit::in_use(), 0);
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
        if point == Point::Piece {
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

#[test]
fn pinned_memory_stays_within_its_bound_however_many_copy() {
    let bound = 3 * 2 * CHUNK;
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
    kit::release_unused_for(std::time::Duration::from_secs(3600));
    assert!(statistics().pinned > leaked);
    kit::release_unused_for(std::time::Duration::ZERO);
    assert_eq!(statistics().pinned, leaked);
}
