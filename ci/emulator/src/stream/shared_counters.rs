//! The moments of an event that several processes know: two counters in a file that all of them map. The
//! first one alone is a semaphore of another interface.
#![expect(unsafe_code, reason = "maps a file with two counters")]

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::File;
use std::os::fd::AsRawFd as _;

use crate::exec::env::{Env, Step, Task};

/// How much of the file is used.
const LENGTH: usize = 4096;

/// How often an event was recorded, by any process, and which of these records are done.
#[derive(Debug)]
pub(crate) struct SharedCounters {
    /// Keeps the file's number, by which others find it, ours.
    _file: File,
    counters: *mut AtomicU64,
}

// SAFETY: the counters are atomic and stay mapped while this value lives.
unsafe impl Send for SharedCounters {}
// SAFETY: the counters are atomic and stay mapped while this value lives.
unsafe impl Sync for SharedCounters {}

impl SharedCounters {
    /// Maps the counters of a file; `None` if that fails.
    pub(crate) fn map(file: File) -> Option<Self> {
        if file.metadata().ok()?.len() < u64::try_from(LENGTH).ok()? {
            return None;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the system's choice touches nothing that exists.
        let pages =
            unsafe { libc::mmap(ptr::null_mut(), LENGTH, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        (pages != libc::MAP_FAILED).then(|| Self { _file: file, counters: pages.cast() })
    }

    /// The first counter, as the value of a semaphore.
    pub(crate) fn value(&self) -> &AtomicU64 {
        self.recorded()
    }

    fn recorded(&self) -> &AtomicU64 {
        // SAFETY: the page is mapped while `self` lives, is aligned, and holds nothing but these atomics.
        unsafe { &*self.counters }
    }

    fn done(&self) -> &AtomicU64 {
        // SAFETY: the page is mapped while `self` lives, is aligned, and holds nothing but these atomics. The
        // page has room for more than two.
        unsafe { &*self.counters.wrapping_add(1) }
    }

    /// Counts one more record. Returns its number.
    pub(crate) fn record(&self) -> u64 {
        self.recorded().fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Notes that a record's moment has come.
    pub(crate) fn reach(&self, number: u64) {
        self.done().fetch_max(number, Ordering::SeqCst);
    }

    /// The number of the last record.
    pub(crate) fn last(&self) -> u64 {
        self.recorded().load(Ordering::SeqCst)
    }

    /// Whether a record's moment has come.
    pub(crate) fn reached(&self, number: u64) -> bool {
        self.done().load(Ordering::SeqCst) >= number
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        // SAFETY: the page was mapped by `map` and nothing else uses it.
        unsafe { libc::munmap(self.counters.cast(), LENGTH) };
    }
}

/// A stream's wait for a moment that another process may bring about.
#[derive(Debug)]
pub(crate) struct Await {
    pub(crate) moments: std::sync::Arc<SharedCounters>,
    pub(crate) number: u64,
}

impl Task for Await {
    fn step(&mut self, _env: &mut dyn Env, _budget: u64) -> Step {
        if self.moments.reached(self.number) { Step::Done } else { Step::Yield }
    }

    fn waits_outside(&self) -> bool {
        true
    }
}
