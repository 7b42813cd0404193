//! The legacy rule: per device, what its legacy stream and its blocking streams know of each other.
//!
//! An operation of the legacy stream waits for all that the blocking streams of the device have been given,
//! and whatever they are given later waits for it. So the legacy stream, before it acts, reads what each of
//! them has submitted; and each of them, before it acts, reads what the legacy stream knew at its last
//! action. Two flags make both cheap: nothing is read when nothing is new.

use std::sync::atomic::Ordering::{Acquire, SeqCst};

use super::clock::{Clock, SlotId, Stamp};
use super::slot::Kind;
use super::sync::{AtomicBool, AtomicU64, Mutex, OnceLock};

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
    /// What the legacy stream's last action was ordered after, itself included.
    seen: Mutex<Clock>,
}

impl DeviceBook {
    /// The page of device `ordinal`.
    pub(super) fn new(ordinal: i32) -> Self {
        Self {
            ordinal,
            legacy: OnceLock::new(),
            epoch: AtomicU64::new(0),
            news: AtomicBool::new(false),
            blocking: Mutex::new(Vec::new()),
            seen: Mutex::new(Clock::new()),
        }
    }

    /// The legacy stream's slot, if it has one.
    #[inline]
    pub(super) fn legacy(&self) -> Option<SlotId> {
        self.legacy.get().copied()
    }

    /// The legacy stream's slot: this one, unless it has one already.
    pub(super) fn legacy_or(&self, slot: SlotId) -> SlotId {
        *self.legacy.get_or_init(|| slot)
    }

    /// Adds a stream to those that the legacy stream waits for.
    pub(super) fn joins(&self, slot: SlotId, kind: Kind) {
        if kind.blocking() {
            self.blocking.lock().push(slot);
        }
    }

    /// A stream of kind `kind` has done something that the legacy stream will be ordered after.
    #[inline]
    pub(super) fn note_news(&self, kind: Kind) {
        if kind.blocking() && !self.news.load(SeqCst) {
            self.news.store(true, SeqCst);
        }
    }

    /// Whether there is news from the blocking streams; asking takes it.
    #[inline]
    pub(super) fn take_news(&self) -> bool {
        self.news.load(SeqCst) && self.news.swap(false, SeqCst)
    }

    /// Calls `visit` with each blocking stream.
    pub(super) fn each_blocking(&self, visit: impl FnMut(SlotId)) {
        self.blocking.lock().iter().copied().for_each(visit);
    }

    /// Counts the actions of the legacy stream.
    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Acquire)
    }

    /// The legacy stream has acted as operation `stamp`, being ordered after `clock` besides what was told
    /// before.
    pub(super) fn acted(&self, stamp: Stamp, clock: Option<&Clock>) {
        let mut seen = self.seen.lock();
        if let Some(clock) = clock {
            seen.merge(clock);
        }
        seen.add(stamp);
        self.epoch.fetch_add(1, SeqCst);
    }

    /// Adds what a blocking stream's next operation is ordered after; gives the epoch that this is about.
    pub(super) fn seen_into(&self, clock: &mut Clock) -> u64 {
        let seen = self.seen.lock();
        clock.merge(&seen);
        self.epoch.load(Acquire)
    }

    /// Drops from what the legacy stream has seen what everybody knows to be complete, if it has become long.
    pub(super) fn prune(&self, completed: impl FnMut(Stamp) -> bool) {
        let mut seen = self.seen.lock();
        if seen.len() > 32 {
            seen.prune(completed);
        }
    }
}
