//! Accesses that are sorted once, for an operation that is enqueued repeatedly or has many of them.
//!
//! # Shared epochs
//! Such an operation enters the same entries each time, only with a later sequence number. So one sequence
//! number is stored for all of them, beside the list that has them: a *shared epoch*. It begins when a
//! [`SortedAccesses`] is entered and finds, for each of its accesses to an allocation, exactly the entry that
//! it would make, of the same stream. It goes on as long as that stream enters that `SortedAccesses`. It
//! ends, by writing the sequence number to each entry, before anything else is done with the list. So a
//! shared epoch states nothing that its entries would not, and while it lasts they stay as they are: nothing
//! has to be looked at again.
//!
//! The module `submission` states why nothing has to be ordered then, and what becomes of a sequence number
//! that is given up.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::history::{Access, AccessHistory};

/// The accesses of an operation in the order in which the tracker enters them: by allocation, then by first
/// byte, none of them empty. Accesses of one kind that touch are merged.
#[derive(Debug)]
pub struct SortedAccesses<'a> {
    list: Vec<Access<'a>>,
    /// The end of each allocation's accesses.
    ends: Vec<usize>,
    flags: AccessFlags,
    number: u64,
}

/// The last number that a list or group was given. Not a primitive of the tracker: nothing is ordered by it.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Returns a number that no other list of accesses or group has or will have.
pub(crate) fn new_number() -> u64 {
    LAST.fetch_add(1, Relaxed) + 1
}

/// The properties of all accesses of an operation together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessFlags {
    /// Whether one of them is made without a borrow.
    pub(crate) unborrowed: bool,
    /// Whether one of them may be made during the call.
    pub(crate) at_call: bool,
}

impl AccessFlags {
    #[inline]
    pub(crate) fn of(accesses: &[Access<'_>]) -> Self {
        accesses.iter().fold(Self::default(), |all, access| Self {
            unborrowed: all.unborrowed | access.unborrowed,
            at_call: all.at_call | access.at_call,
        })
    }
}

impl<'a> SortedAccesses<'a> {
    /// Sorts accesses. They cover the same bytes afterwards.
    pub fn new(list: Vec<Access<'a>>) -> Self {
        let list = sorted(list);
        let mut ends = Vec::new();
        for group in by_allocation(&list) {
            ends.push(ends.last().unwrap_or(&0) + group.len());
        }
        let flags = AccessFlags::of(&list);
        Self { list, ends, flags, number: new_number() }
    }

    /// Returns the accesses.
    #[inline]
    pub fn as_slice(&self) -> &[Access<'a>] {
        &self.list
    }

    /// Returns what matters about all of them together.
    #[inline]
    pub(crate) fn flags(&self) -> AccessFlags {
        self.flags
    }

    /// Returns the number of this list, which no other list of the process has or will have.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the end of each allocation's accesses, one allocation after the other.
    #[inline]
    pub(crate) fn ends(&self) -> &[usize] {
        &self.ends
    }
}

/// Sorts the accesses; see [`SortedAccesses`].
pub(crate) fn sorted(mut list: Vec<Access<'_>>) -> Vec<Access<'_>> {
    if !in_order(&list) {
        list.retain(|access| !access.is_empty());
        // Stable: this sort makes use of parts that are in order already.
        list.sort_by_key(|access| (access.address(), access.start));
    }
    let touch =
        |one: &Access<'_>, next: &Access<'_>| next.start <= one.end && next.address() == one.address();
    if !list.is_sorted_by(|one, next| !touch(one, next)) {
        list.dedup_by(|next, last| last.take_in(next));
    }
    list
}

/// Returns whether the accesses are already in the order of their allocations and of their bytes, none of
/// them empty.
#[inline]
pub(crate) fn in_order(accesses: &[Access<'_>]) -> bool {
    let (mut last, mut start) = (0, 0);
    for access in accesses {
        let here = access.address();
        let behind = here > last || here == last && access.start >= start;
        if !behind || access.is_empty() {
            return false;
        }
        (last, start) = (here, access.start);
    }
    true
}

/// Splits sorted accesses by allocation.
#[inline]
pub(crate) fn by_allocation<'b, 'a>(
    mut accesses: &'b [Access<'a>],
) -> impl Iterator<Item = &'b [Access<'a>]> {
    std::iter::from_fn(move || {
        let (first, rest) = accesses.split_first()?;
        let same = |access: Option<&Access<'_>>| access.is_some_and(|it| it.address() == first.address());
        // As a rule an allocation has one access, or all that are left.
        let len = if !same(rest.first()) {
            1
        } else if same(rest.last()) {
            accesses.len()
        } else {
            accesses.partition_point(|access| access.address() <= first.address())
        };
        let (group, behind) = accesses.split_at(len);
        accesses = behind;
        Some(group)
    })
}

/// The identity of a group: the accesses of an operation to one allocation, which are repeated.
///
/// For operations with many accesses whose program sees by itself that they are the same as last time.
/// Everything else takes an ordinary [`Operation`](crate::Operation).
#[derive(Debug)]
pub struct GroupId(u64);

/// The accesses of a [`GroupId`], made once more.
#[derive(Clone, Copy)]
pub struct RepeatedGroup<'r, 'a> {
    pub(crate) number: u64,
    pub(crate) history: &'a AccessHistory,
    pub(crate) unborrowed: bool,
    pub(crate) accesses: &'r [Access<'a>],
}

impl GroupId {
    /// Creates the identity of a group that the tracker does not know yet.
    #[must_use]
    pub fn new() -> Self {
        Self(new_number())
    }

    /// Returns the group's accesses once more; any one of them names the allocation.
    #[must_use]
    #[inline]
    pub fn repeat<'a>(&self, one: &Access<'a>) -> RepeatedGroup<'_, 'a> {
        RepeatedGroup { number: self.0, history: one.history, unborrowed: one.unborrowed, accesses: &[] }
    }

    /// Returns the group's accesses once more, with the list of all of them, which the tracker may need.
    /// Returns `None` if the list is empty.
    #[must_use]
    pub fn repeat_with<'r, 'a>(&self, all: &'r [Access<'a>]) -> Option<RepeatedGroup<'r, 'a>> {
        let unborrowed = all.iter().any(|access| access.unborrowed);
        all.first().map(|first| RepeatedGroup {
            number: self.0,
            history: first.history,
            unborrowed,
            accesses: all,
        })
    }
}

impl Default for GroupId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RepeatedGroup<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {} of {:p}, {} accesses", self.number, self.history, self.accesses.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{SortedAccesses, by_allocation, in_order};
    use crate::clock::{Epoch, TimelineId};
    use crate::history::AccessHistory;
    use crate::interval_list::tests::SingleStream;
    use crate::primitives::in_a_test;
    use crate::{Access, Mode};

    fn of<'a>(history: &'a AccessHistory, parts: &[(usize, usize, Mode)]) -> Vec<Access<'a>> {
        parts.iter().map(|(start, end, mode)| Access::new(history, *start..*end, *mode)).collect()
    }

    fn parts_of(accesses: &[Access<'_>]) -> Vec<(usize, usize, Mode)> {
        accesses.iter().map(|it| (it.range().start, it.range().end, it.mode())).collect()
    }

    #[test]
    fn parts_that_touch_are_one_where_they_are_used_alike() {
        in_a_test(|| {
            use Mode::{Read, Write};
            let history = AccessHistory::new(100);
            let sorted = |parts: &[_]| parts_of(SortedAccesses::new(of(&history, parts)).as_slice());
            let parts = [(20, 30, Read), (0, 10, Read), (5, 5, Write), (10, 20, Read), (40, 50, Read)];
            assert_eq!(sorted(&parts), [(0, 30, Read), (40, 50, Read)]);
            assert_eq!(sorted(&[(0, 10, Write), (4, 6, Write), (10, 12, Write)]), [(0, 12, Write)]);
            // A read is not merged with a write, nor the other way round.
            assert_eq!(sorted(&[(0, 10, Write), (10, 20, Read)]), [(0, 10, Write), (10, 20, Read)]);
            assert_eq!(sorted(&[(0, 10, Write), (2, 8, Read)]), [(0, 10, Write), (2, 8, Read)]);
            assert_eq!(sorted(&[(3, 3, Write)]), []);
        });
    }

    #[test]
    fn an_access_without_a_borrow_is_not_merged_with_one_by_a_borrow() {
        in_a_test(|| {
            let history = AccessHistory::new(100);
            let [one, next] = [Access::read(&history, 0..10), Access::read(&history, 10..20)];
            let all = SortedAccesses::new(vec![one, next.unborrowed()]);
            assert!(all.flags().unborrowed && all.as_slice().len() == 2);
            let exclusive = |access| Access { exclusive: true, ..access };
            let alone = SortedAccesses::new(vec![exclusive(one), next]);
            assert!(!alone.flags().unborrowed && alone.as_slice().len() == 2);
            assert_eq!(SortedAccesses::new(vec![exclusive(one), exclusive(next)]).as_slice().len(), 1);
        });
    }

    #[test]
    fn allocations_come_in_the_order_of_their_histories_each_in_one_piece() {
        in_a_test(|| {
            let histories: Vec<AccessHistory> = (0..5).map(|_| AccessHistory::new(100)).collect();
            let counts = [1, 7, 3, 1, 2];
            let mut accesses = Vec::new();
            // From the last to the first, and the parts of an allocation not one after the other.
            for part in (0..7).rev() {
                for (history, count) in histories.iter().zip(counts).rev() {
                    if part < count {
                        accesses.push(Access::write(history, part * 10..part * 10 + 5));
                    }
                }
            }
            assert!(!in_order(&accesses));
            let sorted = SortedAccesses::new(accesses);
            assert!(in_order(sorted.as_slice()));
            let groups: Vec<_> = by_allocation(sorted.as_slice()).collect();
            assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), counts);
            for (group, history) in groups.iter().zip(&histories) {
                assert!(group.iter().all(|access| std::ptr::eq(access.history(), history)));
            }
            assert_eq!(by_allocation(&[]).count(), 0);
        });
    }

    #[test]
    fn an_empty_list_is_in_order_and_an_empty_access_is_not() {
        in_a_test(|| {
            let history = AccessHistory::new(10);
            assert!(in_order(&[]));
            assert!(in_order(&[Access::read(&history, 0..10), Access::write(&history, 0..5)]));
            assert!(!in_order(&[Access::read(&history, 3..3)]));
            assert!(!in_order(&[Access::read(&history, 1..10), Access::write(&history, 0..5)]));
        });
    }

    #[test]
    fn a_look_at_an_entry_of_a_group_finds_the_last_sequence_number_and_a_new_shared_epoch_begins() {
        in_a_test(|| {
            let history = AccessHistory::new(100);
            let group = [(0, 10), (20, 30), (30, 40)].map(|(start, end)| Access::write(&history, start..end));
            let by = |timeline, sequence| Epoch { timeline: TimelineId(timeline), sequence };
            let met = |at: usize| {
                let mut out = Vec::new();
                history.conflicts(Access::read(&history, at..at + 1).interval(), |_| false, &mut out);
                out.iter().map(|conflict| conflict.epoch).collect::<Vec<_>>()
            };
            let mut out = Vec::new();
            assert!(!history.enter_group(7, &group, by(1, 1)), "nothing was there to be done again");
            history.enter(&group, &SingleStream(by(1, 1)), None, &mut out);
            for sequence in 2..5 {
                assert!(history.enter_group(7, &group, by(1, sequence)));
            }
            // Another stream, and parts that are not the entries.
            assert!(!history.enter_group(7, &group, by(2, 1)));
            assert!(!history.enter_group(8, &[Access::write(&history, 20..40)], by(1, 5)));
            assert!(!history.enter_group(8, &[Access::new(&history, 20..30, Mode::Read)], by(1, 5)));
            assert_eq!([met(5), met(15), met(35)], [vec![by(1, 4)], vec![], vec![by(1, 4)]]);
            assert!(history.enter_group(7, &group, by(1, 6)));
            // A part of it by another list, then the first list again.
            assert!(history.enter_group(8, &group[1..], by(1, 7)));
            assert_eq!([met(5), met(25)], [vec![by(1, 6)], vec![by(1, 7)]]);
            assert!(history.enter_group(7, &group, by(1, 8)) && history.enter_group(9, &group, by(1, 9)));
            // An operation without a shared epoch, on an entry of the group.
            history.enter(&group[..1], &SingleStream(by(1, 10)), None, &mut out);
            assert_eq!([met(5), met(25)], [vec![by(1, 10)], vec![by(1, 9)]]);
            assert!(out.is_empty());
        });
    }
}
