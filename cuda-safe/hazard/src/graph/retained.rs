//! The accesses of a graph: the bytes that it uses, retained for as long as the graph may run.
//!
//! Nothing here is in an access history: a graph that is not launched uses nothing. A launch enters all of it
//! as one operation.
#![expect(unsafe_code, reason = "a list of accesses beside what retains their histories")]

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::Few;
use crate::entry::Mode;
use crate::history::{Access, RetainedResource};

/// If one allocation has more parts than this, everything between the first and the last of them counts as
/// used.
const PARTS: usize = 16;

/// A part of an allocation that is used.
#[derive(Clone)]
struct Retained {
    resource: Arc<dyn RetainedResource>,
    /// The address of the resource's access history.
    address: usize,
    part: RetainedPart,
}

type RetainedPart = (Range<usize>, Mode);

/// The bytes that a graph or a node of one uses, and what retains them.
#[derive(Clone, Default)]
pub struct RetainedAccesses {
    /// Sorted by the addresses of the access histories, the order in which an operation enters them.
    list: Few<Retained>,
}

impl RetainedAccesses {
    /// Adds an access, and retains its memory by `retain_fn`. Returns false if that returns `None`.
    #[must_use]
    pub fn add(
        &mut self,
        access: &Access<'_>,
        retain_fn: impl FnOnce() -> Option<Arc<dyn RetainedResource>>,
    ) -> bool {
        if access.is_empty() {
            return true;
        }
        let (address, part) = (access.address(), (access.range(), access.mode()));
        let at = self.range(address);
        if at.is_empty() {
            let Some(resource) = retain_fn() else { return false };
            let new = Retained { resource, address, part };
            if at.start == self.list.len() {
                self.list.push(new);
            } else {
                self.list.insert(at.start, new);
            }
        } else {
            let resource = &self.list[at.start].resource;
            let mut parts = self.list[at.clone()].iter().map(|it| it.part.clone()).collect();
            add_part(&mut parts, part);
            let with = |part| Retained { resource: Arc::clone(resource), address, part };
            let new: Vec<_> = parts.into_iter().map(with).collect();
            self.replace_range(at, new);
        }
        true
    }

    /// Adds everything that another graph uses.
    pub fn add_all(&mut self, other: &Self) {
        *self = [&*self, other].into_iter().collect();
    }

    /// Replaces the accesses to one allocation, by the address of its access history, by the union of all
    /// that `others` make.
    pub fn replace<'a>(&mut self, address: usize, others: impl IntoIterator<Item = &'a Self>) {
        let (mut parts, mut resource) = (Vec::new(), None);
        for other in others {
            for it in &other.list[other.range(address)] {
                resource = Some(&it.resource);
                add_part(&mut parts, it.part.clone());
            }
        }
        let with = |part| Some(Retained { resource: Arc::clone(resource?), address, part });
        let new: Vec<_> = parts.into_iter().filter_map(with).collect();
        self.replace_range(self.range(address), new);
    }

    fn replace_range(&mut self, at: Range<usize>, new: Vec<Retained>) {
        let start = at.start;
        self.list.drain(at);
        self.list.insert_many(start, new);
    }

    /// Returns the accesses by the addresses of their histories, as accesses without a borrow.
    pub fn accesses(&self) -> impl Iterator<Item = Access<'_>> {
        self.list.iter().map(|it| {
            let (range, mode) = it.part.clone();
            Access::new(it.resource.history(), range, mode).unborrowed()
        })
    }

    /// Returns whether one of the two writes what the other uses.
    pub fn conflicts(&self, other: &Self) -> bool {
        let (few, many) = if self.list.len() < other.list.len() { (self, other) } else { (other, self) };
        few.list.iter().any(|it| many.parts(it.address).any(|part| conflict(part, &it.part)))
    }

    /// Returns whether it has all accesses of the other, each as a part of one of its own.
    pub fn covers(&self, other: &Self) -> bool {
        let covered = |it: &Retained| self.parts(it.address).any(|part| covers(part, &it.part));
        other.list.iter().all(covered)
    }

    /// Returns the used parts of allocations, each with the address of the allocation's access history.
    pub(crate) fn list(&self) -> impl Iterator<Item = (usize, &Range<usize>, Mode)> {
        self.list.iter().map(|it| (it.address, &it.part.0, it.part.1))
    }

    /// Returns the parts of an allocation that are used, by the address of its access history.
    fn parts(&self, address: usize) -> impl Iterator<Item = &RetainedPart> {
        self.list[self.range(address)].iter().map(|it| &it.part)
    }

    fn range(&self, address: usize) -> Range<usize> {
        let start = self.list.partition_point(|it| it.address < address);
        let len = self.list[start..].iter().take_while(|it| it.address == address).count();
        start..start + len
    }
}

/// Adds a part of an allocation to others.
fn add_part(parts: &mut Vec<RetainedPart>, part: RetainedPart) {
    if parts.iter().any(|other| covers(other, &part)) {
        return;
    }
    parts.retain(|other| !covers(&part, other));
    parts.push(part);
    if parts.len() > PARTS {
        let start = parts.iter().map(|part| part.0.start).min().unwrap_or(0);
        let end = parts.iter().map(|part| part.0.end).max().unwrap_or(0);
        let written = parts.iter().any(|part| part.1 == Mode::Write);
        *parts = vec![(start..end, if written { Mode::Write } else { Mode::Read })];
    }
}

/// Returns whether the first part has all of the second.
fn covers((outer, by): &RetainedPart, (inner, mode): &RetainedPart) -> bool {
    outer.start <= inner.start && inner.end <= outer.end && (by == mode || *by == Mode::Write)
}

fn conflict((a, by): &RetainedPart, (b, with): &RetainedPart) -> bool {
    a.start < b.end && b.start < a.end && (*by == Mode::Write || *with == Mode::Write)
}

impl<'a> FromIterator<&'a RetainedAccesses> for RetainedAccesses {
    /// Returns the union of all accesses.
    fn from_iter<I: IntoIterator<Item = &'a Self>>(all: I) -> Self {
        let mut list = Vec::new();
        let mut every: Vec<&Retained> = all.into_iter().flat_map(|one| &one.list).collect();
        every.sort_by_key(|it| it.address);
        for same in every.chunk_by(|one, next| one.address == next.address) {
            let mut parts = Vec::new();
            same.iter().for_each(|it| add_part(&mut parts, it.part.clone()));
            let with = |part| same.first().map(|it| Retained { part, ..(*it).clone() });
            list.extend(parts.into_iter().filter_map(with));
        }
        Self { list: list.into() }
    }
}

impl fmt::Debug for RetainedAccesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.accesses()).finish()
    }
}

/// The accesses of a graph, as its launches enter them.
///
/// The list is made once. If each launch made it again, a launch would cost 10 ns more for one allocation and
/// 35 to 90 ns more for eight.
pub struct GraphAccesses {
    /// Empty after a change of `uses`, until it is asked for.
    ///
    /// Invariant: each access borrows an access history that `uses` retains. A retained resource does not
    /// move, `uses_mut` empties the list before it lends `uses`, and the list is dropped before `uses`,
    /// because it is declared first. `ci/test miri` checks it.
    list: OnceLock<Vec<Access<'static>>>,
    uses: RetainedAccesses,
}

impl GraphAccesses {
    /// Lists the accesses.
    pub fn new(uses: RetainedAccesses) -> Self {
        let listed = Self { list: OnceLock::new(), uses };
        listed.accesses();
        listed
    }

    /// Returns the accesses, in the order of the access histories' addresses, as accesses without a borrow.
    #[inline]
    pub fn accesses(&self) -> &[Access<'_>] {
        // SAFETY: the invariant of `list`. What is returned is shortened to the borrow of `self`, during
        // which `uses` is neither changed nor dropped.
        let extend = |access| unsafe { std::mem::transmute::<Access<'_>, Access<'static>>(access) };
        self.list.get_or_init(|| self.uses.accesses().map(extend).collect())
    }

    /// Returns the bytes that the graph uses.
    pub fn uses(&self) -> &RetainedAccesses {
        &self.uses
    }

    /// Returns the bytes that the graph uses, for a change.
    pub fn uses_mut(&mut self) -> &mut RetainedAccesses {
        self.list.take();
        &mut self.uses
    }
}

impl fmt::Debug for GraphAccesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uses.fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::AccessHistory;

    struct Memory(AccessHistory);

    // SAFETY: the access history is in the counted memory.
    unsafe impl RetainedResource for Memory {
        fn history(&self) -> &AccessHistory {
            &self.0
        }
    }

    fn memory(bytes: usize) -> Arc<Memory> {
        Arc::new(Memory(AccessHistory::new(bytes)))
    }

    fn add(uses: &mut RetainedAccesses, memory: &Arc<Memory>, range: Range<usize>, mode: Mode) {
        let resource: Arc<dyn RetainedResource> = Arc::<Memory>::clone(memory);
        assert!(uses.add(&Access::new(&memory.0, range, mode), || Some(resource)));
    }

    fn list(uses: &RetainedAccesses) -> Vec<(Range<usize>, Mode)> {
        let listed = GraphAccesses::new(uses.clone());
        listed.accesses().iter().map(|it| (it.range(), it.mode())).collect()
    }

    #[test]
    fn what_is_covered_is_listed_once_and_a_write_covers_a_read() {
        let memory = memory(100);
        let mut uses = RetainedAccesses::default();
        add(&mut uses, &memory, 0..10, Mode::Read);
        add(&mut uses, &memory, 2..8, Mode::Read);
        add(&mut uses, &memory, 50..60, Mode::Write);
        add(&mut uses, &memory, 52..58, Mode::Read);
        assert_eq!(list(&uses), [(0..10, Mode::Read), (50..60, Mode::Write)]);
        add(&mut uses, &memory, 0..20, Mode::Write);
        assert_eq!(list(&uses), [(50..60, Mode::Write), (0..20, Mode::Write)]);
    }

    #[test]
    fn many_parts_become_one_that_holds_all() {
        let memory = memory(1000);
        let mut uses = RetainedAccesses::default();
        for at in 0..=PARTS {
            add(&mut uses, &memory, at * 20..at * 20 + 10, Mode::Read);
        }
        assert_eq!(list(&uses), [(0..PARTS * 20 + 10, Mode::Read)]);
    }

    #[test]
    fn allocations_are_listed_in_the_order_in_which_they_are_entered_and_kept() {
        let all: Vec<_> = (0..20).map(|_| memory(8)).collect();
        let mut uses = RetainedAccesses::default();
        for memory in all.iter().rev() {
            add(&mut uses, memory, 0..8, Mode::Write);
        }
        let weak: Vec<_> = all.iter().map(Arc::downgrade).collect();
        drop(all);
        let listed = GraphAccesses::new(uses);
        let accesses = listed.accesses();
        assert_eq!(accesses.len(), 20);
        assert!(accesses.windows(2).all(|pair| pair[0].address() < pair[1].address()));
        assert!(weak.iter().all(|memory| memory.upgrade().is_some()));
        drop(listed);
        assert!(weak.iter().all(|memory| memory.upgrade().is_none()));
    }

    /// Under Miri (`ci/test miri`) this finds a list that outlives what it borrows.
    #[test]
    fn listed_accesses_borrow_histories_that_live_while_the_graph_moves_and_changes() {
        let (first, second) = (memory(8), memory(16));
        let mut uses = RetainedAccesses::default();
        add(&mut uses, &first, 0..8, Mode::Write);
        let weak = [Arc::downgrade(&first), Arc::downgrade(&second)];
        let listed = Box::new(GraphAccesses::new(uses));
        // From here on only the graph retains the memory.
        drop(first);
        let mut moved = *listed;
        assert!(moved.accesses().iter().all(|access| access.history.is_unused() && access.is_whole()));
        add(moved.uses_mut(), &second, 0..4, Mode::Read);
        drop(second);
        let shared = &moved;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || assert!(shared.accesses().iter().all(|it| it.history.is_unused())));
            }
        });
        assert_eq!(moved.accesses().len(), 2);
        *moved.uses_mut() = RetainedAccesses::default();
        assert!(weak.iter().all(|memory| memory.upgrade().is_none()));
        assert!(moved.accesses().is_empty());
    }

    #[test]
    fn memory_that_cannot_be_retained_is_refused() {
        let history = AccessHistory::new(8);
        assert!(!RetainedAccesses::default().add(&Access::read(&history, 0..8), || None));
    }

    #[test]
    fn only_a_write_conflicts_and_only_with_the_same_bytes() {
        let memory = memory(100);
        let one = |range, mode| {
            let mut uses = RetainedAccesses::default();
            add(&mut uses, &memory, range, mode);
            uses
        };
        let read = one(0..10, Mode::Read);
        assert!(!read.conflicts(&read));
        assert!(read.conflicts(&one(9..20, Mode::Write)));
        assert!(!read.conflicts(&one(10..20, Mode::Write)));
    }
}
