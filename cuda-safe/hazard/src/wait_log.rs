//! The log of added waits: how many there were, and the last ones with their reasons.

use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
// A leaf lock whose value orders nothing, so a loom test need not look at it.
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call site in the source of the program.
pub type CallSite = &'static Location<'static>;

/// How many waits are remembered with their reasons.
const REMEMBERED: usize = 256;

/// A wait that the tracker added because the program had not ordered two conflicting operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedWait {
    /// The operation that had to wait.
    pub at: &'static Location<'static>,
    /// The earlier operation, if its call site was recorded (under `Policy::Error` only).
    pub after: Option<&'static Location<'static>>,
    /// The device of the stream that waits.
    pub device: i32,
    /// The device of the stream that is waited for.
    pub other_device: i32,
    /// The number of the waiting stream's timeline in the tracker.
    pub stream: u32,
    /// The number of the other stream's timeline.
    pub other_stream: u32,
    /// The operation of the other stream that it conflicted with, counted from 1.
    pub other_operation: u64,
    /// Whether the host had to wait, because this thread could not reach the other stream.
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
            Some(call_site) => write!(f, ", given at {call_site}"),
            None => Ok(()),
        }
    }
}

/// The waits that the tracker has added, in the order in which it added them.
#[derive(Debug)]
pub(crate) struct WaitLog(Mutex<Waits>);

#[derive(Debug)]
struct Waits {
    count: u64,
    last: VecDeque<AddedWait>,
}

impl WaitLog {
    /// Creates an empty log.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Waits { count: 0, last: VecDeque::new() }))
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a wait, and forgets the oldest if there are too many.
    pub(crate) fn note(&self, wait: AddedWait) {
        let mut waits = self.lock();
        waits.count += 1;
        if waits.last.len() == REMEMBERED {
            waits.last.pop_front();
        }
        waits.last.push_back(wait);
    }

    /// Returns how many waits there were.
    pub(crate) fn count(&self) -> u64 {
        self.lock().count
    }

    /// Returns the waits that are remembered, oldest first.
    pub(crate) fn remembered(&self) -> Vec<AddedWait> {
        self.lock().last.iter().copied().collect()
    }
}

/// Two conflicting operations that nothing orders, as found under `Policy::Error`.
#[derive(Clone, Copy, Debug)]
pub struct Hazard {
    /// The call site of the earlier one, if that was recorded.
    pub first: Option<CallSite>,
    /// The call site of the later one.
    pub second: CallSite,
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::{AddedWait, REMEMBERED, WaitLog};

    #[test]
    fn the_last_waits_are_remembered_oldest_first() {
        let log = WaitLog::new();
        let mut added = Vec::new();
        for other_operation in 1..=700_u64 {
            let (at, stream) = (Location::caller(), u32::from(other_operation.is_multiple_of(7)));
            let wait = AddedWait {
                at,
                after: other_operation.is_multiple_of(2).then_some(at),
                device: 0,
                other_device: 1,
                stream,
                other_stream: 3,
                other_operation,
                by_host: other_operation.is_multiple_of(3),
            };
            added.push(wait);
            log.note(wait);
            assert_eq!(log.remembered(), added[added.len().saturating_sub(REMEMBERED)..]);
        }
        assert_eq!(log.count(), 700);
    }
}
