//! The shortest way of an operation with many accesses that is made again and again: its accesses are not told again.
//!
//! What the tracker knows such accesses by is a number, as in [`run`](super::run), and here the program says that they are the same. So the
//! cost of entering them is the same however many there are. Why nothing has to be ordered then, `run` and `again` say.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use super::access::Access;
use super::clock::Tick;
use super::ledger::Ledger;
use super::slot::{Kind, Lane, Slot};
use super::sorted::new_number;
use super::sync::LockGuard;

/// The accesses of an operation to one allocation, which is made again and again with just these: what the tracker knows them by.
///
/// For operations with many accesses whose program sees by itself that they are the same as last time. Everything else takes
/// [`StreamRef::enqueue`](crate::stream::StreamRef::enqueue).
#[derive(Debug)]
pub(crate) struct Series(u64);

/// The accesses of a [`Series`], made once more.
#[derive(Clone, Copy)]
pub(crate) struct Repeat<'r, 'a> {
    number: u64,
    ledger: &'a Ledger,
    unborrowed: bool,
    accesses: &'r [Access<'a>],
}

impl Series {
    /// A series that nothing is known of yet.
    #[must_use]
    pub(crate) fn begin() -> Self {
        Self(new_number())
    }

    /// The accesses of the series once more, of which any one says what allocation they are of.
    #[must_use]
    #[inline]
    pub(crate) fn again<'a>(&self, one: &Access<'a>) -> Repeat<'_, 'a> {
        Repeat { number: self.0, ledger: one.ledger, unborrowed: one.unborrowed, accesses: &[] }
    }

    /// The accesses of the series once more, with all that the tracker may have to be told of them. None where there are none.
    #[must_use]
    pub(crate) fn told<'r, 'a>(&self, all: &'r [Access<'a>]) -> Option<Repeat<'r, 'a>> {
        let unborrowed = all.iter().any(|access| access.unborrowed);
        all.first().map(|first| Repeat { number: self.0, ledger: first.ledger, unborrowed, accesses: all })
    }
}

impl fmt::Debug for Repeat<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "series {} of {:p}, {} told", self.number, self.ledger, self.accesses.len())
    }
}

impl Slot {
    /// Enters an operation that does again what its stream did last, for [`Again::new`](super::again::Again::new). None, with nothing entered
    /// that would count, where the tracker needs more.
    #[inline]
    pub(crate) fn lock_repeated(
        &self,
        kind: Kind,
        repeats: &[Repeat<'_, '_>],
    ) -> Option<(LockGuard<'_, Lane>, Tick)> {
        // What no borrow stands for is to be held against guards; nothing at all is no operation that counts.
        if repeats.is_empty() || repeats.iter().any(|repeat| repeat.unborrowed) {
            return None;
        }
        let lane = self.lane.lock();
        if !self.orders.load(Relaxed) || !self.is_caught_up(kind, &lane) {
            return None;
        }
        let me = self.next_by_owner();
        for (at, repeat) in repeats.iter().enumerate() {
            if !repeat.ledger.stamp_run(repeat.number, repeat.accesses, me) {
                self.give_up(lane, at > 0);
                return None;
            }
        }
        Some((lane, me.tick))
    }
}
