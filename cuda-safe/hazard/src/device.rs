//! The legacy rule: for each device, what its legacy stream and its blocking streams are ordered after.
//!
//! An operation of the legacy stream waits for everything that the device's blocking streams have been given,
//! and whatever they are given later waits for it. So the legacy stream, before it acts, reads what each of
//! them has submitted. Each of them, before it acts, joins the clock that the legacy stream had at its last
//! action. A flag and a count make both cheap: if nothing has changed, nothing is read.

use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};

use crate::clock::{Epoch, SequenceNumber, TimelineId, VectorClock};
use crate::primitives::{AtomicBool, AtomicU64, Mutex, OnceLock};

/// The relation of a stream to its device's legacy stream, and whether other threads can reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Ordered with the legacy stream, both ways.
    Blocking,
    /// Ordered only by what it waits for.
    NonBlocking,
    /// The legacy stream itself.
    Legacy,
    /// A thread's own default stream: ordered with the legacy stream. Its handle means a different stream to
    /// every other thread.
    PerThread,
}

impl Kind {
    /// Returns whether the legacy rule orders it with the legacy stream.
    pub fn blocking(self) -> bool {
        matches!(self, Self::Blocking | Self::PerThread)
    }
}

/// The tracker's records of one device.
#[derive(Debug)]
pub(crate) struct DeviceTimelines {
    pub(crate) ordinal: i32,
    /// The legacy stream's timeline, once there is one.
    legacy: OnceLock<TimelineId>,
    /// How many actions the legacy stream has done.
    actions: AtomicU64,
    /// Whether a blocking stream has done anything since the legacy stream last looked.
    changed: AtomicBool,
    /// The blocking streams.
    blocking: Mutex<Vec<TimelineId>>,
    /// Whether there are any.
    has_blocking: AtomicBool,
    /// The legacy stream's last operation that was an action.
    last_action: AtomicU64,
    /// The order of the legacy stream's last action.
    clock: Mutex<VectorClock>,
}

impl DeviceTimelines {
    /// Creates the record of device `ordinal`.
    pub(crate) fn new(ordinal: i32) -> Self {
        Self {
            ordinal,
            legacy: OnceLock::new(),
            actions: AtomicU64::new(0),
            changed: AtomicBool::new(false),
            blocking: Mutex::new(Vec::new()),
            has_blocking: AtomicBool::new(false),
            last_action: AtomicU64::new(0),
            clock: Mutex::new(VectorClock::new()),
        }
    }

    /// Returns the legacy stream's timeline, if there is one.
    #[inline]
    pub(crate) fn legacy(&self) -> Option<TimelineId> {
        self.legacy.get().copied()
    }

    /// Returns the legacy stream's timeline; if there is none, `timeline` becomes it.
    pub(crate) fn legacy_or(&self, timeline: TimelineId) -> TimelineId {
        *self.legacy.get_or_init(|| timeline)
    }

    /// Adds a stream to those that the legacy stream waits for, if its kind is blocking.
    pub(crate) fn add_blocking(&self, timeline: TimelineId, kind: Kind) {
        if kind.blocking() {
            self.blocking.lock().push(timeline);
            self.has_blocking.store(true, Release);
        }
    }

    /// Notes that a blocking or per-thread stream has done something that the legacy stream will be ordered
    /// after.
    #[inline]
    pub(crate) fn note_change(&self) {
        if !self.changed.load(SeqCst) {
            self.changed.store(true, SeqCst);
        }
    }

    /// Returns whether a blocking stream has changed since the legacy stream last looked.
    #[inline]
    pub(crate) fn has_changes(&self) -> bool {
        self.changed.load(SeqCst)
    }

    /// [`has_changes`](Self::has_changes), and clears the flag.
    #[inline]
    pub(crate) fn take_changes(&self) -> bool {
        self.has_changes() && self.changed.swap(false, SeqCst)
    }

    /// Returns whether there ever was a blocking stream.
    #[inline]
    pub(crate) fn has_blocking(&self) -> bool {
        self.has_blocking.load(Acquire)
    }

    /// Calls `visit` with each blocking stream.
    #[inline]
    pub(crate) fn each_blocking(&self, visit: impl FnMut(TimelineId)) {
        if !self.has_blocking() {
            return;
        }
        self.blocking.lock().iter().copied().for_each(visit);
    }

    /// Returns how many actions the legacy stream has done.
    #[inline]
    pub(crate) fn actions(&self) -> u64 {
        self.actions.load(Acquire)
    }

    /// Notes an action of the legacy stream that was ordered after `clock` and `epoch`, besides what was
    /// noted before.
    pub(crate) fn join_action(&self, epoch: Epoch, clock: &VectorClock) {
        let mut legacy_clock = self.clock.lock();
        legacy_clock.join(clock);
        legacy_clock.add(epoch);
        self.actions.fetch_add(1, SeqCst);
    }

    /// Notes that the legacy stream has acted by its operation `sequence`, or after it. `clock` is what the
    /// action was ordered after, besides what was noted before. The caller holds the legacy stream's submit
    /// state, so that sequence numbers never fall.
    #[inline]
    pub(crate) fn record_action(&self, sequence: SequenceNumber, clock: Option<&VectorClock>) {
        if let Some(clock) = clock {
            self.join_clock(clock);
        }
        self.last_action.store(sequence, Release);
        self.actions.fetch_add(1, SeqCst);
    }

    #[cold]
    #[inline(never)]
    fn join_clock(&self, clock: &VectorClock) {
        self.clock.lock().join(clock);
    }

    /// Joins `clock` with what a blocking stream's next operation is ordered after by the legacy rule.
    /// Returns the count of actions that this covers, at least.
    pub(crate) fn join_legacy_clock_into(&self, clock: &mut VectorClock) -> u64 {
        // Read first: what the count covers was there before the count.
        let actions = self.actions();
        clock.join(&self.clock.lock());
        if let Some(timeline) = self.legacy() {
            clock.add(Epoch { timeline, sequence: self.last_action.load(Acquire) });
        }
        actions
    }

    /// Drops what has completed from the clock of the legacy stream, if it is long.
    pub(crate) fn prune(&self, completed: impl FnMut(Epoch) -> bool) {
        let mut legacy_clock = self.clock.lock();
        if legacy_clock.len() > 32 {
            legacy_clock.prune(completed);
        }
    }
}
