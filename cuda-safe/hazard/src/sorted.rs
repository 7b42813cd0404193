//! Accesses that are sorted once, for an operation that is enqueued repeatedly or has many of them.

use smallvec::SmallVec;

use crate::history::Access;

/// The accesses of an operation in the order in which the tracker enters them: by allocation, then by first
/// byte, none of them empty. Accesses of one kind that touch are merged.
#[derive(Debug)]
pub struct SortedAccesses<'a> {
    list: Vec<Access<'a>>,
    flags: AccessFlags,
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
        let list = sorted(list.into()).into_vec();
        Self { flags: AccessFlags::of(&list), list }
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
}

/// A list of accesses that has the memory for those of most operations in itself.
pub(crate) type InlineAccesses<'a> = SmallVec<[Access<'a>; 16]>;

/// Sorts the accesses; see [`SortedAccesses`].
pub(crate) fn sorted(mut list: InlineAccesses<'_>) -> InlineAccesses<'_> {
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
        let address = accesses.first()?.address();
        let (group, others) = accesses.split_at(accesses.partition_point(|it| it.address() == address));
        accesses = others;
        Some(group)
    })
}

#[cfg(test)]
mod tests {
    use super::{SortedAccesses, by_allocation, in_order};
    use crate::history::AccessHistory;
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
}
