//! The short way of an operation with many accesses that is enqueued again and again, as a batch of copies is.
//!
//! What such an operation enters are the same entries each time, which only get a later tick. So the tick is kept once for all of
//! them, beside the list that has them: a *run*. It begins when a [`Sorted`] is entered and finds for each of its accesses to an allocation
//! just the entry that it would make, of the same stream; it goes on as long as that `Sorted` is entered by that stream again; and it ends,
//! by giving the tick to each entry, before anything else is done with the list. So a run says nothing that its entries would not, and
//! while it lasts they stay as they are: nothing has to be looked at again.
//!
//! Why nothing has to be ordered then, and what becomes of a tick that is given up, `again` says.

use std::sync::atomic::Ordering::Relaxed;

use crate::access::Manner;
use crate::again::Again;
use crate::clock::{Stamp, Tick};
use crate::ledger::Ledger;
use crate::order::Port;
use crate::primitives::LockGuard;
use crate::slot::{Kind, Lane, Slot};
use crate::sorted::Sorted;
use crate::table::Books;
use crate::waits::Place;

/// Entries of a list that have one tick, which is told them later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Whose accesses they are, by the number of a [`Sorted`] or a [`Series`](crate::Series): it has no others in the list.
    pub(crate) of: u64,
    /// The first of them.
    pub(crate) low: usize,
    /// How many there are.
    pub(crate) len: usize,
    /// Their stream, and the tick.
    pub(crate) stamp: Stamp,
}

impl Run {
    /// Makes the same accesses those of a later operation of their stream. Says no, and does nothing, if they are of another one.
    #[inline]
    pub(crate) fn goes_on(&mut self, of: u64, me: Stamp) -> bool {
        let same = self.of == of && self.stamp.slot == me.slot;
        if same {
            self.stamp.tick = me.tick;
        }
        same
    }
}

impl Books {
    /// Enters an operation by the short way. None, with nothing entered that would count, where it has to go the usual one.
    pub(crate) fn again_sorted<'a, P: Port>(
        &self,
        slot: &'a Slot,
        accesses: &Sorted<'_>,
        port: &P,
        at: Place,
    ) -> Option<Again<'a>> {
        let otherwise = |lane: &mut Lane, ledger: &Ledger, manner| {
            self.enter_otherwise(slot, lane, ledger, manner, port, at)
        };
        let (lane, tick) = slot.lock_sorted(slot.kind, accesses, otherwise)?;
        Some(Again::new(slot, lane, tick, true))
    }
}

impl Slot {
    /// [`Books::again_sorted`] in pieces, as [`lock_again`](Self::lock_again).
    #[inline]
    pub fn lock_sorted(
        &self,
        kind: Kind,
        accesses: &Sorted<'_>,
        otherwise: impl Fn(&mut Lane, &Ledger, Manner) -> bool,
    ) -> Option<(LockGuard<'_, Lane>, Tick)> {
        // What no borrow stands for is to be held against guards; nothing at all is no operation that counts.
        if accesses.kinds().unborrowed || accesses.ends().is_empty() {
            return None;
        }
        let mut lane = self.lane.lock();
        if !self.orders.load(Relaxed) || !self.is_caught_up(kind, &lane) {
            return None;
        }
        let me = self.next_by_owner();
        let (mut rest, mut start) = (accesses.as_slice(), 0);
        for end in accesses.ends() {
            let (group, behind) = rest.split_at_checked(end - start).unwrap_or_default();
            let entered = match group {
                [access] if access.is_whole() => {
                    let (ledger, manner) = (access.ledger, access.manner(start == 0 && behind.is_empty()));
                    ledger.stamp_plainly(manner, me, lane.clock.first())
                        || otherwise(&mut lane, ledger, manner)
                }
                [first, ..] => first.ledger.stamp_run(accesses.number(), group, me),
                [] => false,
            };
            if !entered {
                self.give_up(lane, start > 0);
                return None;
            }
            (rest, start) = (behind, *end);
        }
        Some((lane, me.tick))
    }
}

#[cfg(test)]
mod tests {
    use crate::clock::{SlotId, Stamp};
    use crate::ledger::Ledger;
    use crate::list::tests::Alone;
    use crate::primitives::in_a_test;
    use crate::{Access, Mode};

    #[test]
    fn who_looks_at_an_entry_of_a_run_finds_the_last_tick_and_the_run_begins_anew() {
        in_a_test(|| {
            let ledger = Ledger::new(100);
            let group = [(0, 10), (20, 30), (30, 40)].map(|(start, end)| Access::write(&ledger, start..end));
            let by = |slot, tick| Stamp { slot: SlotId(slot), tick };
            let met = |at: usize| {
                let mut out = Vec::new();
                ledger.conflicts(Access::read(&ledger, at..at + 1).want(), |_| false, &mut out);
                out.iter().map(|conflict| conflict.stamp).collect::<Vec<_>>()
            };
            let mut out = Vec::new();
            assert!(!ledger.stamp_run(7, &group, by(1, 1)), "nothing was there to be done again");
            ledger.stamp(&group, &Alone(by(1, 1)), None, &mut out);
            for tick in 2..5 {
                assert!(ledger.stamp_run(7, &group, by(1, tick)));
            }
            // Another stream, and parts that are not the entries.
            assert!(!ledger.stamp_run(7, &group, by(2, 1)));
            assert!(!ledger.stamp_run(8, &[Access::write(&ledger, 20..40)], by(1, 5)));
            assert!(!ledger.stamp_run(8, &[Access::new(&ledger, 20..30, Mode::Read)], by(1, 5)));
            assert_eq!([met(5), met(15), met(35)], [vec![by(1, 4)], vec![], vec![by(1, 4)]]);
            assert!(ledger.stamp_run(7, &group, by(1, 6)));
            // A part of it by another list, then the first again.
            assert!(ledger.stamp_run(8, &group[1..], by(1, 7)));
            assert_eq!([met(5), met(25)], [vec![by(1, 6)], vec![by(1, 7)]]);
            assert!(ledger.stamp_run(7, &group, by(1, 8)) && ledger.stamp_run(9, &group, by(1, 9)));
            // One that is no run, over an entry of it.
            ledger.stamp(&group[..1], &Alone(by(1, 10)), None, &mut out);
            assert_eq!([met(5), met(25)], [vec![by(1, 10)], vec![by(1, 9)]]);
            assert!(out.is_empty());
        });
    }
}
