//! Knowledge: what a stream is ordered after, how it learns that, and what of it an operation may rely on.
#![expect(unsafe_code, reason = "declares functions whose callers vouch for their calls")]

use crate::clock::{Brief, Clock, Stamp};
use crate::device::Kind;
use crate::entry::{Conflict, FullView, View};
use crate::ledger::Access;
use crate::slot::{Lane, Slot};
use crate::snapshot::Snapshot;
use crate::table::Books;

impl Books {
    /// All that an action of the legacy stream would be ordered after now, but for what is over. `legacy` is
    /// its slot, or any of its device if it has none.
    pub(crate) fn scan(&self, legacy: &Slot, clock: &mut Clock) {
        self.add_pending(Stamp { slot: legacy.id, tick: legacy.submitted() }, clock);
        self.pending_known(legacy, clock);
        legacy.device.each_blocking(|id| {
            if let Some(slot) = self.slot(id) {
                self.add_pending(Stamp { slot: id, tick: slot.submitted() }, clock);
                self.pending_known(slot, clock);
            }
        });
    }

    /// Adds a stamp, unless everybody knows that it is over.
    #[inline]
    pub(crate) fn add_pending(&self, stamp: Stamp, clock: &mut Clock) {
        if !self.completed(stamp) {
            clock.add(stamp);
        }
    }

    /// Adds what a stream is ordered after, but for what is over. Takes no lock and no memory where all of it
    /// was found to be over before.
    #[inline]
    pub(crate) fn pending_known(&self, slot: &Slot, clock: &mut Clock) {
        slot.pending_known_into(clock, |stamp| self.completed(stamp));
    }

    /// Whether all is known to be over that a stream was given, and all that it waits for: it may have been
    /// given nothing but a wait, and who comes after the stream then comes after that.
    pub fn is_over(&self, slot: &Slot) -> bool {
        let mut known = Clock::new();
        self.pending_known(slot, &mut known);
        slot.is_drained() && known.is_empty()
    }

    /// Works out what the legacy rule gives the stream's next operation, which is held back until the
    /// operation is really issued: says whether there is any.
    #[inline]
    pub(crate) fn catch_up(&self, slot: &Slot, lane: &mut Lane) -> bool {
        !slot.is_caught_up(lane) && self.catch_up_now(slot, lane)
    }

    #[cold]
    #[inline(never)]
    fn catch_up_now(&self, slot: &Slot, lane: &mut Lane) -> bool {
        match slot.kind {
            Kind::NonBlocking => false,
            Kind::Legacy => {
                if slot.device.take_news() {
                    self.catch_up_legacy(slot, lane);
                }
                lane.legacy_epoch != 0
            }
            Kind::Blocking | Kind::PerThread => {
                lane.pending.clear();
                lane.pending_epoch = slot.device.seen_into(&mut lane.pending);
                true
            }
        }
    }

    /// Works out what the blocking streams have done.
    #[cold]
    fn catch_up_legacy(&self, slot: &Slot, lane: &mut Lane) {
        if lane.legacy_epoch == 0 {
            lane.pending.clear();
            lane.legacy_epoch = 1;
        }
        self.scan(slot, &mut lane.pending);
        // It grows by what this brings, and nobody else makes it shorter.
        if lane.clock.is_long() {
            lane.clock.prune(|stamp| self.completed(stamp));
        }
        slot.device.prune(|stamp| self.completed(stamp));
    }

    /// The operation was issued: what the legacy rule gave it, the stream now has.
    #[cold]
    #[inline(never)]
    pub(crate) fn commit(slot: &Slot, lane: &mut Lane) {
        lane.legacy_epoch = lane.pending_epoch;
        if lane.clock.merge(&lane.pending) {
            slot.share(lane);
        }
    }

    /// Drops what has completed from a clock that has become long, and lets others see it.
    #[inline]
    pub(crate) fn tidy(&self, slot: &Slot, lane: &mut Lane) {
        if lane.clock.is_long() {
            lane.clock.prune(|stamp| self.completed(stamp));
        }
        slot.share(lane);
    }

    /// Puts the last event on a stream that goes: from now on it is reached by that event only, and what the
    /// event comes after, the stream does.
    ///
    /// # Errors
    /// What the call fails with.
    ///
    /// # Safety
    /// The call records an event on the stream of the slot, which is this tracker's, if it succeeds. From now
    /// on the stream is given nothing more, and is reached by that event only.
    pub unsafe fn record_last<E>(&self, slot: &Slot, call: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // SAFETY: the call records an event, as the caller says.
        let snapshot = unsafe { self.record(slot, call) }?;
        let mut lane = slot.lane.lock();
        if lane.clock.merge(&snapshot.clock) {
            slot.share(&mut lane);
        }
        slot.made_provable();
        Ok(())
    }

    /// Puts an event record on a stream, and gives what the event will stand for.
    ///
    /// # Errors
    /// What the call fails with.
    ///
    /// # Safety
    /// The call records an event on the stream of the slot, which is this tracker's, if it succeeds.
    pub unsafe fn record<E>(&self, slot: &Slot, call: impl FnOnce() -> Result<(), E>) -> Result<Snapshot, E> {
        let mut snapshot = Snapshot::new();
        // SAFETY: the caller vouches for the call; the snapshot is new.
        unsafe { self.record_into(slot, &mut snapshot, call) }?;
        Ok(snapshot)
    }

    /// [`record`](Self::record) that says in the place of what an event stood for what it will stand for.
    /// Where the call fails, that stays as it is.
    ///
    /// # Errors
    /// What the call fails with.
    ///
    /// # Safety
    /// As for [`record`](Self::record). The snapshot is of no other event.
    #[inline]
    pub unsafe fn record_into<E>(
        &self,
        slot: &Slot,
        snapshot: &mut Snapshot,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lane = slot.lane.lock();
        let lane = &mut *lane;
        if slot.kind == Kind::Legacy || !slot.is_caught_up(lane) || lane.clock.is_long() {
            return self.record_late(slot, lane, snapshot, call);
        }
        let stamp = Stamp { slot: slot.id, tick: slot.submitted() };
        call()?;
        slot.made_provable();
        snapshot.stamp = stamp;
        snapshot.clock.clone_from(&lane.clock);
        Ok(())
    }

    /// [`record_into`](Self::record_into) where the legacy rule counts, or the clock has become long.
    #[cold]
    #[inline(never)]
    fn record_late<E>(
        &self,
        slot: &Slot,
        lane: &mut Lane,
        snapshot: &mut Snapshot,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let pending = self.catch_up(slot, lane);
        let stamp = Stamp { slot: slot.id, tick: slot.submitted() };
        call()?;
        if pending {
            if slot.kind != Kind::Legacy {
                *snapshot = self.snapshot_after_legacy(lane, stamp);
                return Ok(());
            }
            Self::commit(slot, lane);
        }
        slot.made_provable();
        if slot.kind == Kind::Legacy {
            slot.device.acted(stamp.tick, lane.untold.then_some(&lane.clock));
            lane.untold = false;
        }
        if lane.clock.is_long() {
            lane.clock.prune(|stamp| self.completed(stamp));
        }
        snapshot.stamp = stamp;
        snapshot.clock.clone_from(&lane.clock);
        Ok(())
    }

    /// What an event stands for that was recorded on a stream for which the legacy rule had something.
    ///
    /// The event comes after the legacy stream's work. The stream itself does not until it has something to
    /// do: its end, which can be now, proves nothing about that work.
    #[cold]
    #[inline(never)]
    fn snapshot_after_legacy(&self, lane: &Lane, stamp: Stamp) -> Snapshot {
        let mut clock = lane.clock.clone();
        clock.merge(&lane.pending);
        clock.prune(|stamp| self.completed(stamp));
        Snapshot { stamp, clock }
    }

    /// Puts a wait for an event on a stream.
    ///
    /// # Errors
    /// What the call fails with.
    ///
    /// # Safety
    /// The call makes the stream of the slot, which is this tracker's, wait for the event that the snapshot
    /// is of, if it succeeds.
    #[inline]
    pub unsafe fn wait<E>(
        &self,
        slot: &Slot,
        snapshot: &Snapshot,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lane = slot.lane.lock();
        let lane = &mut *lane;
        call()?;
        // What most waits are: for an event of the one stream that the clock tells of, which itself waits for
        // this one at most.
        if slot.kind == Kind::Legacy
            || !snapshot.clock.is_no_news_to(slot.id)
            || !Self::learn_more(slot, lane, snapshot.stamp)
        {
            self.learn(slot, lane, snapshot);
        }
        Ok(())
    }

    /// The stream waits for this operation of the only other one that its clock tells of. Says no, with
    /// nothing learned, if it tells of others.
    #[inline]
    fn learn_more(slot: &Slot, lane: &mut Lane, stamp: Stamp) -> bool {
        match lane.clock.add_to_only(stamp) {
            Some(true) => slot.share_brief(lane, Brief::One(stamp)),
            Some(false) => {}
            None => return false,
        }
        true
    }

    /// The stream waits for all of another one up to this operation, and for what that one knew.
    #[inline]
    pub(crate) fn learn_brief(&self, slot: &Slot, lane: &mut Lane, stamp: Stamp, known: Brief) {
        let more = matches!(known, Brief::One(known) if known.slot != slot.id);
        if more || !Self::learn_more(slot, lane, stamp) {
            let nothing = Stamp { tick: 0, ..stamp };
            let known = match known {
                Brief::One(known) if more => known,
                // What more than one number tells is not told here.
                _ => nothing,
            };
            self.learn_two(slot, lane, stamp, known);
        }
    }

    #[cold]
    #[inline(never)]
    fn learn_two(&self, slot: &Slot, lane: &mut Lane, stamp: Stamp, known: Stamp) {
        if lane.clock.add(stamp) | lane.clock.add(known) {
            self.tidy(slot, lane);
        }
    }

    /// The stream waits for an event.
    #[cold]
    #[inline(never)]
    fn learn(&self, slot: &Slot, lane: &mut Lane, snapshot: &Snapshot) {
        if snapshot.stamp.slot == slot.id {
            // Of its own events a stream learns nothing, and what these come after by the legacy rule is not
            // what the end of the stream proves.
            return;
        }
        let news = lane.clock.learn(&snapshot.clock, slot.id) | lane.clock.add(snapshot.stamp);
        // Not all that the clock says: a wait for what is over need not be an action of the legacy stream.
        if slot.kind == Kind::Legacy {
            slot.device.acted_after(snapshot.stamp, &snapshot.clock);
        }
        if news {
            self.tidy(slot, lane);
        }
    }

    /// The accesses that the host has to wait for before it does this one. All of them are with CUDA.
    pub fn host_conflicts(&self, access: Access<'_>) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        if !access.is_empty() {
            access.ledger.conflicts(access.want(), |stamp| self.completed(stamp), &mut conflicts);
        }
        for conflict in &conflicts {
            self.await_published(conflict.stamp);
        }
        conflicts
    }

    /// Whether nothing stands against the host's doing this now, as far as is known.
    pub fn is_quiet(&self, access: Access<'_>) -> bool {
        let mut conflicts = Vec::new();
        if !access.is_empty() {
            access.ledger.conflicts(access.want(), |stamp| self.completed(stamp), &mut conflicts);
        }
        conflicts.is_empty()
    }

    /// Drops what has completed from an allocation's ledger.
    ///
    /// # Safety
    /// No other tracker knows the access history.
    pub unsafe fn prune(&self, access: Access<'_>) {
        access.ledger.prune(|stamp| self.completed(stamp));
    }
}

/// What the operation that is being entered knows.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    books: &'a Books,
    slot: &'a Slot,
    clock: &'a Clock,
    /// What the legacy rule adds, if there is any.
    pending: Option<&'a Clock>,
    /// Whether that rule counts at all.
    by_rule: bool,
    me: Stamp,
}

impl<'a> Known<'a> {
    /// `pending` says whether the legacy rule has anything for the operation.
    #[inline]
    pub(crate) fn new(books: &'a Books, slot: &'a Slot, lane: &'a Lane, pending: bool, me: Stamp) -> Self {
        let pending = pending.then_some(&lane.pending);
        Self { books, slot, clock: &lane.clock, pending, by_rule: true, me }
    }

    /// Whether another stream's operation is ordered before this one though the stream's own clock does not
    /// say so.
    #[inline(never)]
    fn knows_otherwise(&self, stamp: Stamp) -> bool {
        if self.pending.is_some_and(|clock| clock.covers(stamp)) {
            return true;
        }
        let Some(other) = self.books.slot(stamp.slot) else { return false };
        if other.completed() >= stamp.tick {
            return true;
        }
        self.by_rule
            && self.slot.kind == Kind::Legacy
            && other.kind.blocking()
            && other.device.ordinal == self.slot.device.ordinal
            && other.submitted() >= stamp.tick
    }
}

impl View for Known<'_> {
    #[inline]
    fn me(&self) -> Stamp {
        self.me
    }

    #[inline]
    fn completed(&self, stamp: Stamp) -> bool {
        self.books.completed(stamp)
    }

    #[inline]
    fn knows(&self, stamp: Stamp) -> bool {
        if stamp.slot == self.me.slot {
            // What CUDA refused is in the ledgers, where it may stand for what the rule alone would have
            // ordered before it.
            return self.by_rule || stamp.tick <= self.slot.provable() || stamp == self.me;
        }
        self.clock.covers(stamp) || self.knows_otherwise(stamp)
    }
}

impl FullView for Known<'_> {
    #[inline]
    fn at_call(&self) -> Self {
        Self { pending: None, by_rule: false, ..*self }
    }
}
