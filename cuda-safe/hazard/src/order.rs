//! Ordering streams: what is done where nothing orders an operation after one that it conflicts with.
#![expect(unsafe_code, reason = "declares what a port vouches for")]

use crate::clock::{Brief, Clock, Stamp};
use crate::device::Kind;
use crate::entry::{Conflict, FullView, View};
use crate::knowledge::Known;
use crate::primitives::Arc;
use crate::slot::{Lane, Slot};
use crate::table::Books;
use crate::waits::{Place, Wait};

/// The way to the streams, for the waits that the books add.
///
/// # Safety
/// What the functions report has happened: nobody else looks whether the streams wait for each other.
pub unsafe trait Port {
    /// What a failed call gives.
    type Error;

    /// Makes `waiter`'s stream wait for all that `other`'s stream has been given so far, or waits for that
    /// itself. `kept` is a number that the port may keep with the waiting stream, 0 at first.
    ///
    /// Where both are the same, it is to wait for what the legacy rule gives its next operation: by an event
    /// of the legacy stream.
    ///
    /// Called with `waiter`'s lane locked and no other lock of the books held.
    ///
    /// # Errors
    /// The failure of a call.
    fn order(&self, waiter: &Slot, other: &Slot, kept: &mut usize) -> Result<Route, Self::Error>;
}

/// How a [`Port`] has ordered one stream after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// By an event recorded on the other stream just now.
    Stream,
    /// By an event recorded just now on the legacy stream of the other stream's device.
    Legacy,
    /// By the last event of a stream that is gone.
    Event,
    /// By holding the host until it was complete, the watermarks raised accordingly.
    Host,
}

impl Books {
    /// Orders the stream after every conflict that it is not yet ordered after. `rule` says whether it may be
    /// so by the legacy rule, which then has something for the operation or not.
    #[cold]
    pub(crate) fn order_all<P: Port>(
        &self,
        slot: &Slot,
        lane: &mut Lane,
        rule: Option<bool>,
        mut conflicts: Vec<Conflict>,
        port: &P,
        at: Place,
    ) -> Result<(), P::Error> {
        // One wait covers all of a stream, so only its last operation counts.
        conflicts
            .sort_unstable_by_key(|conflict| (conflict.stamp.slot, std::cmp::Reverse(conflict.stamp.tick)));
        conflicts.dedup_by_key(|conflict| conflict.stamp.slot);
        loop {
            let me = slot.next_by_owner();
            let view = match rule {
                Some(pending) => Known::new(self, slot, lane, pending, me),
                None => Known::new(self, slot, lane, false, me).at_call(),
            };
            conflicts.retain(|conflict| !view.knows(conflict.stamp));
            // A stream that is itself ordered after another conflict saves the wait for that one: it goes
            // first.
            let covered = |one: &Conflict| {
                let mut others = conflicts.iter().filter(|other| other.stamp.slot != one.stamp.slot);
                others.any(|other| {
                    self.slot(other.stamp.slot).is_some_and(|other| other.is_known_after(one.stamp))
                })
            };
            let Some(next) = conflicts.iter().find(|one| !covered(one)).or(conflicts.first()) else {
                return Ok(());
            };
            let next = *next;
            let Some(other) = self.slot(next.stamp.slot) else { return Ok(()) };
            self.order_after(slot, lane, other, next, port, at)?;
            conflicts.retain(|conflict| conflict.stamp.slot != other.id);
        }
    }

    /// Orders the stream after all that another has been given, because of `conflict`, and notes that.
    ///
    /// What that is worth is read *before* the call: more may be given to the other stream meanwhile, and the
    /// wait need not cover it.
    #[inline(never)]
    pub(crate) fn order_after<P: Port>(
        &self,
        slot: &Slot,
        lane: &mut Lane,
        other: &Slot,
        conflict: Conflict,
        port: &P,
        at: Place,
    ) -> Result<(), P::Error> {
        let known = other.brief();
        let stamp = Stamp { slot: other.id, tick: other.submitted() };
        let route = if known == Brief::Many || other.id == slot.id || !gives_no_more(slot, lane, other) {
            self.order_after_more(slot, lane, other, port)?
        } else {
            let route = port.order(slot, other, &mut lane.kept)?;
            // By the legacy stream no port goes here, and if one did, that would be worth nothing.
            if matches!(route, Route::Stream | Route::Event) {
                self.learn_brief(slot, lane, stamp, known);
            }
            route
        };
        self.note(slot, conflict, route, at);
        Ok(())
    }

    /// Notes a wait.
    #[inline]
    fn note(&self, slot: &Slot, conflict: Conflict, route: Route, at: Place) {
        let Conflict { stamp, place: after } = conflict;
        slot.waits().note(&self.waits, &Wait { at, after, stamp, by_host: route == Route::Host });
    }

    /// Has the port order the stream after another one of any kind, which may know of anything.
    #[cold]
    #[inline(never)]
    fn order_after_more<P: Port>(
        &self,
        slot: &Slot,
        lane: &mut Lane,
        other: &Slot,
        port: &P,
    ) -> Result<Route, P::Error> {
        let mut gained = other.known();
        gained.add(Stamp { slot: other.id, tick: other.submitted() });
        // What the legacy rule adds to that, and what the legacy stream would give instead.
        let (mut by_rule, mut by_legacy) = (Clock::new(), Clock::new());
        match other.kind {
            Kind::NonBlocking => {}
            Kind::Legacy => self.scan(other, &mut by_rule),
            Kind::Blocking | Kind::PerThread => {
                other.device.seen_into(&mut by_rule);
                if other.kind == Kind::PerThread || other.id == slot.id {
                    let legacy = other.device.legacy().and_then(|id| self.slot(id));
                    self.scan(legacy.unwrap_or(other), &mut by_legacy);
                }
            }
        }
        let route = port.order(slot, other, &mut lane.kept)?;
        match route {
            Route::Host => gained.clear(),
            Route::Event => {}
            Route::Stream => {
                gained.merge(&by_rule);
                if other.kind == Kind::Legacy {
                    // The record was an action of the legacy stream, whoever asked for it.
                    other.device.acted_after(Stamp { slot: other.id, tick: 0 }, &gained);
                }
            }
            Route::Legacy => {
                other.device.acted_after(Stamp { slot: other.id, tick: 0 }, &by_legacy);
                gained = by_legacy;
            }
        }
        if other.id == slot.id {
            slot.made_provable();
        }
        if lane.clock.learn(&gained, slot.id) {
            self.tidy(slot, lane);
        }
        Ok(route)
    }
}

/// Whether the legacy rule gives nothing to `slot`'s stream by its waiting for `other`'s, but what it has
/// already, nor to the legacy stream.
fn gives_no_more(slot: &Slot, lane: &Lane, other: &Slot) -> bool {
    match other.kind {
        Kind::NonBlocking => true,
        Kind::Blocking => {
            let epoch = other.device.epoch();
            // What the legacy stream had done until then is in the clock already.
            epoch == 0
                || slot.kind == Kind::Blocking
                    && epoch == lane.legacy_epoch
                    && Arc::ptr_eq(&slot.device, &other.device)
        }
        Kind::Legacy | Kind::PerThread => false,
    }
}
