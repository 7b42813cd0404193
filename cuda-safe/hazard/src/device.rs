//! The legacy rule: per device, what its legacy stream and its blocking streams know of each other.
//!
//! An operation of the legacy stream waits for all that the blocking streams of the device have been given,
//! and whatever they are given later waits for it. So the legacy stream, before it acts, reads what each of
//! them has submitted; and each of them, before it acts, reads what the legacy stream knew at its last
//! action. Two flags make both cheap: nothing is read when nothing is new.

use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};

use crate::clock::{Clock, SlotId, Stamp, Tick};
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
pub(crate) struct DeviceBook {
    pub(crate) ordinal: i32,
    /// The legacy stream's slot, once it has one.
    legacy: OnceLock<SlotId>,
    /// Actions of the legacy stream.
    epoch: AtomicU64,
    /// Whether a blocking stream has done anything since the legacy stream looked.
    news: AtomicBool,
    /// The blocking streams.
    blocking: Mutex<Vec<SlotId>>,
    /// Whether there are any.
    has_blocking: AtomicBool,
    /// The legacy stream's last operation.
    acted: AtomicU64,
    /// What the legacy stream's last action was ordered after.
    seen: Mutex<Clock>,
}

impl DeviceBook {
    /// The page of device `ordinal`.
    pub(crate) fn new(ordinal: i32) -> Self {
        Self {
            ordinal,
            legacy: OnceLock::new(),
            epoch: AtomicU64::new(0),
            news: AtomicBool::new(false),
            blocking: Mutex::new(Vec::new()),
            has_blocking: AtomicBool::new(false),
            acted: AtomicU64::new(0),
            seen: Mutex::new(Clock::new()),
        }
    }

    /// The legacy stream's slot, if it has one.
    #[inline]
    pub(crate) fn legacy(&self) -> Option<SlotId> {
        self.legacy.get().copied()
    }

    /// The legacy stream's slot: this one, unless it has one already.
    pub(crate) fn legacy_or(&self, slot: SlotId) -> SlotId {
        *self.legacy.get_or_init(|| slot)
    }

    /// Adds a stream to those that the legacy stream waits for.
    pub(crate) fn joins(&self, slot: SlotId, kind: Kind) {
        if kind.blocking() {
            self.blocking.lock().push(slot);
            self.has_blocking.store(true, Release);
        }
    }

    /// A stream of kind `kind` has done something that the legacy stream will be ordered after.
    #[inline]
    pub(crate) fn note_news(&self, kind: Kind) {
        if kind.blocking() && !self.news.load(SeqCst) {
            self.news.store(true, SeqCst);
        }
    }

    /// Whether there is news from the blocking streams.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.news.load(SeqCst)
    }

    /// Whether there is news from the blocking streams; asking takes it.
    #[inline]
    pub(crate) fn take_news(&self) -> bool {
        self.has_news() && self.news.swap(false, SeqCst)
    }

    /// Whether there ever was a blocking stream.
    #[inline]
    pub(crate) fn has_blocking(&self) -> bool {
        self.has_blocking.load(Acquire)
    }

    /// Calls `visit` with each blocking stream.
    #[inline]
    pub(crate) fn each_blocking(&self, visit: impl FnMut(SlotId)) {
        if !self.has_blocking() {
            return;
        }
        self.blocking.lock().iter().copied().for_each(visit);
    }

    /// Counts the actions of the legacy stream.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Acquire)
    }

    /// The legacy stream has acted, being ordered after `clock` and `stamp` besides what was told before.
    pub(crate) fn acted_after(&self, stamp: Stamp, clock: &Clock) {
        let mut seen = self.seen.lock();
        seen.merge(clock);
        seen.add(stamp);
        self.epoch.fetch_add(1, SeqCst);
    }

    /// The legacy stream has acted as its operation `tick`, or after that. To be called by who has its lane,
    /// so that ticks never fall. `clock` is what it was ordered after besides what was told before.
    #[inline]
    pub(crate) fn acted(&self, tick: Tick, clock: Option<&Clock>) {
        if let Some(clock) = clock {
            self.sees(clock);
        }
        self.acted.store(tick, Release);
        self.epoch.fetch_add(1, SeqCst);
    }

    #[cold]
    #[inline(never)]
    fn sees(&self, clock: &Clock) {
        self.seen.lock().merge(clock);
    }

    /// Adds what a blocking stream's next operation is ordered after; gives the epoch that this is about, at
    /// least.
    pub(crate) fn seen_into(&self, clock: &mut Clock) -> u64 {
        // Read first: what an epoch stands for was there before it.
        let epoch = self.epoch();
        clock.merge(&self.seen.lock());
        if let Some(slot) = self.legacy() {
            clock.add(Stamp { slot, tick: self.acted.load(Acquire) });
        }
        epoch
    }

    /// Drops from what the legacy stream has seen what everybody knows to be complete, if it has become long.
    pub(crate) fn prune(&self, completed: impl FnMut(Stamp) -> bool) {
        let mut seen = self.seen.lock();
        if seen.len() > 32 {
            seen.prune(completed);
        }
    }
}
