//! The legacy rule: per device, what its legacy stream and its blocking streams know of each other.
//!
//! An operation of the legacy stream waits for all that the blocking streams of the device have been given,
//! and whatever they are given later waits for it. So the legacy stream, before it acts, reads what each of
//! them has submitted; and each of them, before it acts, reads what the legacy stream knew at its last
//! action. Two flags make both cheap: nothing is read when nothing is new.

use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};

use crate::clock::{Epoch, SequenceNumber, TimelineId, VectorClock};
use crate::primitives::{AtomicBool, AtomicU64, Mutex, OnceLock};

/// How a stream relates to the legacy stream of its device, and how others can reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Ordered with the legacy stream, both ways.
    Blocking,
    /// Ordered with nothing but what it waits for.
    NonBlocking,
    /// The legacy stream itself.
    Legacy,
    /// One thread's own default stream: ordered with the legacy stream, and its handle means another stream
    /// to every other thread.
    PerThread,
}

impl Kind {
    /// Whether the legacy stream orders itself with it.
    pub fn blocking(self) -> bool {
        matches!(self, Self::Blocking | Self::PerThread)
    }
}

/// One device's page.
#[derive(Debug)]
pub(crate) struct DeviceTimelines {
    pub(crate) ordinal: i32,
    /// The legacy stream's timeline, once it has one.
    legacy: OnceLock<TimelineId>,
    /// Actions of the legacy stream.
    actions: AtomicU64,
    /// Whether a blocking stream has done anything since the legacy stream looked.
    changed: AtomicBool,
    /// The blocking streams.
    blocking: Mutex<Vec<TimelineId>>,
    /// Whether there are any.
    has_blocking: AtomicBool,
    /// The legacy stream's last operation.
    last_action: AtomicU64,
    /// What the legacy stream's last action was ordered after.
    clock: Mutex<VectorClock>,
}

impl DeviceTimelines {
    /// The page of device `ordinal`.
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

    /// The legacy stream's timeline, if it has one.
    #[inline]
    pub(crate) fn legacy(&self) -> Option<TimelineId> {
        self.legacy.get().copied()
    }

    /// The legacy stream's timeline: this one, unless it has one already.
    pub(crate) fn legacy_or(&self, timeline: TimelineId) -> TimelineId {
        *self.legacy.get_or_init(|| timeline)
    }

    /// Adds a stream to those that the legacy stream waits for.
    pub(crate) fn add_blocking(&self, timeline: TimelineId, kind: Kind) {
        if kind.blocking() {
            self.blocking.lock().push(timeline);
            self.has_blocking.store(true, Release);
        }
    }

    /// A stream of kind `kind` has done something that the legacy stream will be ordered after.
    #[inline]
    pub(crate) fn note_change(&self, kind: Kind) {
        if kind.blocking() && !self.changed.load(SeqCst) {
            self.changed.store(true, SeqCst);
        }
    }

    /// Whether there is news from the blocking streams.
    #[inline]
    pub(crate) fn has_changes(&self) -> bool {
        self.changed.load(SeqCst)
    }

    /// Whether there is news from the blocking streams; asking takes it.
    #[inline]
    pub(crate) fn take_changes(&self) -> bool {
        self.has_changes() && self.changed.swap(false, SeqCst)
    }

    /// Whether there ever was a blocking stream.
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

    /// Counts the actions of the legacy stream.
    #[inline]
    pub(crate) fn actions(&self) -> u64 {
        self.actions.load(Acquire)
    }

    /// The legacy stream has acted, being ordered after `clock` and `enter` besides what was told before.
    pub(crate) fn join_action(&self, epoch: Epoch, clock: &VectorClock) {
        let mut legacy_clock = self.clock.lock();
        legacy_clock.join(clock);
        legacy_clock.add(epoch);
        self.actions.fetch_add(1, SeqCst);
    }

    /// The legacy stream has acted as its operation `sequence`, or after that. To be called by who has its submit state,
    /// so that sequence numbers never fall. `clock` is what it was ordered after besides what was told before.
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

    /// Adds what a blocking stream's next operation is ordered after; gives the epoch that this is about, at
    /// least.
    pub(crate) fn join_legacy_clock_into(&self, clock: &mut VectorClock) -> u64 {
        // Read first: what an epoch stands for was there before it.
        let actions = self.actions();
        clock.join(&self.clock.lock());
        if let Some(timeline) = self.legacy() {
            clock.add(Epoch { timeline, sequence: self.last_action.load(Acquire) });
        }
        actions
    }

    /// Drops from what the legacy stream has legacy_clock what everybody knows to be complete, if it has become long.
    pub(crate) fn prune(&self, completed: impl FnMut(Epoch) -> bool) {
        let mut legacy_clock = self.clock.lock();
        if legacy_clock.len() > 32 {
            legacy_clock.prune(completed);
        }
    }
}
