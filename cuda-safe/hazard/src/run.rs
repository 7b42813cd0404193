//! The short way of an operation with many accesses that is enqueued again and again, as a batch of copies is.
//!
//! What such an operation enters are the same entries each time, which only get a later tick. So the tick is kept once for all of
//! them, beside the list that has them: a *run*. It begins when a [`Sorted`] is entered and finds for each of its accesses to an allocation
//! just the entry that it would make, of the same stream; it goes on as long as that `Sorted` is entered by that stream again; and it ends,
//! by giving the tick to each entry, before anything else is done with the list. So a run says nothing that its entries would not, and
//! while it lasts they stay as they are: nothing has to be looked at again.
//!
//! Why nothing has to be ordered then, and what becomes of a tick that is given up, `fast` says.

use std::fmt;

use crate::access::Access;
use crate::clock::Stamp;
use crate::ledger::Ledger;
use crate::sorted::new_number;

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

/// The accesses of an operation to one allocation, which is made again and again with just these: what the tracker knows them by.
///
/// For operations with many accesses whose program sees by itself that they are the same as last time. Everything else takes
/// an ordinary [`Operation`](crate::Operation).
#[derive(Debug)]
pub struct Series(u64);

/// The accesses of a [`Series`], made once more.
#[derive(Clone, Copy)]
pub struct Repeat<'r, 'a> {
    pub(crate) number: u64,
    pub(crate) ledger: &'a Ledger,
    pub(crate) unborrowed: bool,
    pub(crate) accesses: &'r [Access<'a>],
}

impl Series {
    /// A series that nothing is known of yet.
    #[must_use]
    pub fn begin() -> Self {
        Self(new_number())
    }

    /// The accesses of the series once more, of which any one says what allocation they are of.
    #[must_use]
    #[inline]
    pub fn again<'a>(&self, one: &Access<'a>) -> Repeat<'_, 'a> {
        Repeat { number: self.0, ledger: one.ledger, unborrowed: one.unborrowed, accesses: &[] }
    }

    /// The accesses of the series once more, with all that the tracker may have to be told of them. None where there are none.
    #[must_use]
    pub fn told<'r, 'a>(&self, all: &'r [Access<'a>]) -> Option<Repeat<'r, 'a>> {
        let unborrowed = all.iter().any(|access| access.unborrowed);
        all.first().map(|first| Repeat { number: self.0, ledger: first.ledger, unborrowed, accesses: all })
    }
}

impl fmt::Debug for Repeat<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "series {} of {:p}, {} told", self.number, self.ledger, self.accesses.len())
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
