//! The log of added waits: how many there were, and the last ones with their reasons.
#![expect(unsafe_code, reason = "stores call sites in atomics")]

use std::fmt;
use std::panic::Location;
use std::ptr::null_mut;
// No thread waits for what these hold, so a loom test need not look at them.
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64, fence};

use crate::clock::{Epoch, TimelineId};

/// A call site in the source of the program.
pub type CallSite = &'static Location<'static>;

/// How many waits are remembered with their reasons, for each stream and in total.
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

/// An added wait and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The operation that had to wait.
    pub(crate) at: CallSite,
    /// The call site of the earlier one, if that was recorded.
    pub(crate) after: Option<CallSite>,
    /// The earlier one.
    pub(crate) epoch: Epoch,
    /// Whether the host had to wait.
    pub(crate) by_host: bool,
}

/// Numbers waits in the order in which they were added, whatever stream they were added to. If threads add
/// waits at the same time, any of them may come first, and two may have the same number.
#[derive(Debug)]
pub(crate) struct WaitCounter(AtomicU64);

impl WaitCounter {
    /// Creates a counter at 0.
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns the number of the next wait of a stream, whose last one was `last`.
    #[inline]
    fn next(&self, last: u64) -> u64 {
        // An atomic exchange would cost as much as all the rest. If another thread, which read the number
        // before, overwrites it, this stream's number comes back by its `last`.
        let next = self.0.load(Relaxed).max(last) + 1;
        self.0.store(next, Relaxed);
        next
    }
}

/// The waits of one stream. The holder of its submit state adds to them, and any thread may look.
#[derive(Debug)]
pub(crate) struct WaitLog {
    count: AtomicU64,
    last: AtomicU64,
    /// The last waits, each at the position that its count gives it.
    notes: OnceLock<Box<[Note]>>,
}

impl WaitLog {
    /// No waits.
    pub(crate) const fn new() -> Self {
        Self { count: AtomicU64::new(0), last: AtomicU64::new(0), notes: OnceLock::new() }
    }

    /// Notes one more wait. The caller holds the submit state.
    #[expect(clippy::inline_always, reason = "measured: otherwise the note goes through memory")]
    #[inline(always)]
    pub(crate) fn note(&self, order: &WaitCounter, wait: &Wait) {
        let (count, number) = (self.count.load(Relaxed), order.next(self.last.load(Relaxed)));
        self.last.store(number, Relaxed);
        self.count.store(count + 1, Relaxed);
        let notes = match self.notes.get() {
            Some(notes) => notes,
            None => self.begin(),
        };
        let position = usize::try_from(count % REMEMBERED as u64).unwrap_or(0);
        if let Some(note) = notes.get(position) {
            note.write(number, wait);
        }
    }

    #[cold]
    #[inline(never)]
    fn begin(&self) -> &[Note] {
        self.notes.get_or_init(|| (0..REMEMBERED).map(|_| Note::new()).collect())
    }

    /// Returns how many there were.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Returns those that are remembered, with their numbers, in any order. One that is being written may be
    /// missing.
    pub(crate) fn remembered(&self) -> impl Iterator<Item = (u64, Wait)> {
        self.notes.get().into_iter().flatten().filter_map(Note::read)
    }
}

/// Returns the last of numbered items, in the order of their numbers.
pub(crate) fn last<T>(mut all: Vec<(u64, T)>) -> impl Iterator<Item = T> {
    all.sort_by_key(|(number, _)| *number);
    let forgotten = all.len().saturating_sub(REMEMBERED);
    all.into_iter().skip(forgotten).map(|(_, it)| it)
}

/// A wait that is remembered, in one cache line. Its number is 0 while it is being written.
#[derive(Debug)]
#[repr(align(64))]
struct Note {
    number: AtomicU64,
    at: AtomicPtr<Location<'static>>,
    after: AtomicPtr<Location<'static>>,
    sequence: AtomicU64,
    /// Twice the other stream's number, plus one if the host had to wait.
    other: AtomicU64,
}

impl Note {
    fn new() -> Self {
        Self {
            number: AtomicU64::new(0),
            at: AtomicPtr::new(null_mut()),
            after: AtomicPtr::new(null_mut()),
            sequence: AtomicU64::new(0),
            other: AtomicU64::new(0),
        }
    }

    /// Writes a wait. Only one thread at a time writes.
    #[inline]
    fn write(&self, number: u64, wait: &Wait) {
        let Wait { at, after, epoch, by_host } = *wait;
        let pointer = |call_site: CallSite| std::ptr::from_ref(call_site).cast_mut();
        self.number.store(0, Relaxed);
        // A thread that reads any of the following values finds afterwards that the number is 0 or has
        // changed.
        fence(Release);
        self.at.store(pointer(at), Relaxed);
        self.after.store(after.map_or(null_mut(), pointer), Relaxed);
        self.sequence.store(epoch.sequence, Relaxed);
        self.other.store((u64::from(epoch.timeline.0) << 1) | u64::from(by_host), Relaxed);
        self.number.store(number, Release);
    }

    /// Returns the wait with its number, if there is one and no other one is being written.
    fn read(&self) -> Option<(u64, Wait)> {
        let number = self.number.load(Acquire);
        let [at, after] = [&self.at, &self.after].map(|pointer| pointer.load(Relaxed));
        let (sequence, other) = (self.sequence.load(Relaxed), self.other.load(Relaxed));
        fence(Acquire);
        if number == 0 || self.number.load(Relaxed) != number {
            return None;
        }
        // SAFETY: only call sites, which live for ever, are stored there.
        let [at, after]: [Option<CallSite>; 2] =
            [at, after].map(|pointer| unsafe { pointer.cast_const().as_ref() });
        let timeline = TimelineId(u32::try_from(other >> 1).ok()?);
        Some((number, Wait { at: at?, after, epoch: Epoch { timeline, sequence }, by_host: other & 1 == 1 }))
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
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    use super::{CallSite, Epoch, REMEMBERED, TimelineId, Wait, WaitCounter, WaitLog, last};

    fn wait(sequence: u64) -> Wait {
        let (at, timeline): (CallSite, _) = (Location::caller(), TimelineId(3));
        let (after, by_host) = (sequence.is_multiple_of(2).then_some(at), sequence.is_multiple_of(3));
        Wait { at, after, epoch: Epoch { timeline, sequence }, by_host }
    }

    #[test]
    fn the_last_ones_of_all_streams_are_remembered_oldest_first() {
        let (order, streams) = (WaitCounter::new(), [WaitLog::new(), WaitLog::new()]);
        let mut added = Vec::new();
        for sequence in 1..=700 {
            // The first one waits rarely at first, and then alone.
            let stream = usize::from(sequence < 400 && sequence % 7 != 0);
            added.push(wait(sequence));
            streams[stream].note(&order, &wait(sequence));
            let remembered: Vec<Wait> =
                last(streams.iter().flat_map(WaitLog::remembered).collect()).collect();
            assert_eq!(remembered, added[added.len().saturating_sub(REMEMBERED)..]);
        }
        assert_eq!(streams.map(|waits| waits.count()), [358, 342]);
    }

    #[test]
    fn what_is_read_while_another_is_written_is_one_of_them() {
        let (order, waits, over) = (WaitCounter::new(), WaitLog::new(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (1..=if cfg!(miri) { 2000 } else { 200_000 })
                    .for_each(|sequence| waits.note(&order, &wait(sequence)));
                over.store(true, Relaxed);
            });
            while !over.load(Relaxed) {
                for (number, read) in waits.remembered() {
                    assert_eq!(read, wait(number));
                }
            }
        });
        assert_eq!(waits.remembered().count(), REMEMBERED);
    }
}
