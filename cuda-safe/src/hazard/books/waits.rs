//! The waits that the tracker added: how many, and the last ones with their reasons.

use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

use super::sync::{AtomicU64, Mutex};

/// A place in the source of the program.
pub(crate) type Place = &'static Location<'static>;

/// How many waits are remembered with their reasons.
const REMEMBERED: usize = 256;

/// A wait that the tracker added because the program had not ordered two conflicting operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedWait {
    /// The operation that had to wait.
    pub at: &'static Location<'static>,
    /// The earlier operation, where its place was kept (under `Policy::Error` only).
    pub after: Option<&'static Location<'static>>,
    /// The device of the stream that waits.
    pub device: i32,
    /// The device of the stream waited for.
    pub other_device: i32,
    /// The waiting stream's number in the books.
    pub stream: u32,
    /// The number of the stream waited for.
    pub other_stream: u32,
    /// Which operation of the other stream was in the way, counted from 1.
    pub other_operation: u64,
    /// Whether the host had to wait, because the other stream could not be reached from this thread.
    pub by_host: bool,
}

impl fmt::Display for AddedWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: stream {} of device {} {} operation {} of stream {} of device {}",
            self.at,
            self.stream,
            self.device,
            if self.by_host { "was held on the host until" } else { "waits for" },
            self.other_operation,
            self.other_stream,
            self.other_device
        )?;
        match self.after {
            Some(place) => write!(f, ", given at {place}"),
            None => Ok(()),
        }
    }
}

/// The count, and the last few.
#[derive(Debug)]
pub(super) struct Waits {
    count: AtomicU64,
    last: Mutex<VecDeque<AddedWait>>,
}

impl Waits {
    super::sync::constructor! {
        /// No waits.
        pub(super) fn new() -> Self {
            Self { count: AtomicU64::new(0), last: Mutex::new(VecDeque::new()) }
        }
    }

    /// Notes one more.
    pub(super) fn note(&self, wait: AddedWait) {
        let mut last = self.last.lock();
        // Only changed under the lock, so it need not be exchanged.
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
        if last.len() == REMEMBERED {
            last.pop_front();
        }
        last.push_back(wait);
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// The last ones, oldest first.
    pub(super) fn last(&self) -> Vec<AddedWait> {
        self.last.lock().iter().copied().collect()
    }
}

/// The order of two conflicting operations that `Policy::Error` found missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hazard {
    /// Where the earlier one was given, if that was kept.
    pub(crate) first: Option<Place>,
    /// Where the later one was.
    pub(crate) second: Place,
}
