//! The waits that the tracker added: how many, and the last ones with their reasons.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

use super::sync::{AtomicU64, Lock};

/// A place in the source of the program.
pub(crate) type Place = &'static Location<'static>;

/// How many waits are remembered with their reasons.
const REMEMBERED: u64 = 256;

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

/// One that is remembered, in a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Note(AddedWait);

/// The count, and the last few.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Waits {
    count: AtomicU64,
    /// As a rule one thread adds all of them, so the lock is one that belongs to a thread.
    last: Lock<Ring>,
}

impl Waits {
    super::sync::constructor! {
        /// No waits.
        pub(super) fn new() -> Self {
            Self { count: AtomicU64::new(0), last: Lock::new(Ring(Vec::new())) }
        }
    }

    /// Notes one more, which is made where it is kept.
    #[inline]
    pub(super) fn note(&self, wait: impl Fn() -> AddedWait) {
        let mut last = self.last.lock();
        // Only changed under the lock, so it need not be exchanged.
        let count = self.count.load(Relaxed);
        self.count.store(count + 1, Relaxed);
        last.note(count, wait);
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// The last ones, oldest first.
    pub(super) fn last(&self) -> Vec<AddedWait> {
        let last = self.last.lock();
        last.oldest_first(self.count.load(Relaxed))
    }
}

/// The last waits, each in the place that its number gives it.
#[derive(Debug)]
struct Ring(Vec<Note>);

impl Ring {
    /// Where the wait is before which there were `count`.
    #[inline]
    fn place(count: u64) -> usize {
        usize::try_from(count % REMEMBERED).unwrap_or(0)
    }

    /// Notes the wait before which there were `count`.
    #[inline]
    fn note(&mut self, count: u64, wait: impl Fn() -> AddedWait) {
        match self.0.get_mut(Self::place(count)) {
            Some(place) => place.0 = wait(),
            None => self.grow(wait()),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, wait: AddedWait) {
        self.0.push(Note(wait));
    }

    /// The last ones of `count`, oldest first.
    fn oldest_first(&self, count: u64) -> Vec<AddedWait> {
        // Where no place was used twice yet, the first one is the oldest.
        let (newer, older) = self.0.split_at(Self::place(count).min(self.0.len()));
        older.iter().chain(newer).map(|note| note.0).collect()
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

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::{AddedWait, Ring};

    #[test]
    fn the_last_ones_are_remembered_oldest_first_on() {
        let mut ring = Ring(Vec::new());
        assert_eq!(ring.oldest_first(0), []);
        for number in 1..=700 {
            let wait = AddedWait {
                at: Location::caller(),
                after: None,
                device: 0,
                other_device: 0,
                stream: 0,
                other_stream: 1,
                other_operation: number,
                by_host: false,
            };
            ring.note(number - 1, || wait);
            let told: Vec<u64> = ring.oldest_first(number).iter().map(|wait| wait.other_operation).collect();
            let first = number.saturating_sub(256) + 1;
            assert_eq!(told, (first..=number).collect::<Vec<_>>());
        }
    }
}
