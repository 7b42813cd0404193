//! The accesses of a graph: the bytes that it uses, retained for as long as the graph may run.
//!
//! Nothing here is in an access history: a graph that is not launched uses nothing. A launch enters all of it
//! as one operation.
#![expect(unsafe_code, reason = "a list of accesses beside what retains their histories")]

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::Few;
use crate::history::{Access, RetainedResource};
use crate::mode::Mode;

/// An allocation of which parts are used.
#[derive(Clone)]
struct Retained {
    resource: Arc<dyn RetainedResource>,
    /// The address of the resource's access history.
    address: usize,
    /// Sorted. No two overlap, and neighbours of one mode are one part.
    parts: Few<RetainedPart>,
}

type RetainedPart = (Range<usize>, Mode);

/// The bytes that a graph or a node of one uses, and what retains them. The same bytes are always the same
/// list.
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
        let at = self.place(address);
        match self.list.get_mut(at).filter(|it| it.address == address) {
            Some(it) => add_part(&mut it.parts, part),
            None => {
                let Some(resource) = retain_fn() else { return false };
                self.list.insert(at, Retained { resource, address, parts: Few::from([part]) });
            }
        }
        true
    }

    /// Adds everything that another graph uses.
    pub fn add_all(&mut self, other: &Self) {
        if !other.list.is_empty() && !self.is_same_as(other) {
            *self = [&*self, other].into_iter().collect();
        }
    }

    /// Replaces the accesses to one allocation, by the address of its access history, by the union of all
    /// that `others` make.
    pub fn replace<'a>(&mut self, address: usize, others: impl IntoIterator<Item = &'a Self>) {
        let all: Vec<&Retained> = others.into_iter().filter_map(|other| other.get(address)).collect();
        let at = self.place(address);
        if self.list.get(at).is_some_and(|it| it.address == address) {
            self.list.remove(at);
        }
        if let Some(union) = union(&all) {
            self.list.insert(at, union);
        }
    }

    /// Returns the accesses by the addresses of their histories, as accesses without a borrow.
    pub fn accesses(&self) -> impl Iterator<Item = Access<'_>> {
        let all = self.list.iter().flat_map(|it| it.parts.iter().map(move |part| (it, part)));
        all.map(|(it, (range, mode))| Access::new(it.resource.history(), range.clone(), *mode).unborrowed())
    }

    /// Returns whether one of the two writes what the other uses.
    pub fn conflicts(&self, other: &Self) -> bool {
        let (few, many) = if self.list.len() < other.list.len() { (self, other) } else { (other, self) };
        few.list().any(|(address, range, mode)| {
            many.meeting(address, range).any(|part| mode == Mode::Write || part.1 == Mode::Write)
        })
    }

    /// Returns whether it has all bytes of the other, and writes those that the other writes.
    pub fn covers(&self, other: &Self) -> bool {
        other.list().all(|(address, range, mode)| {
            let met = self.meeting(address, range).filter(|part| part.1 == mode || part.1 == Mode::Write);
            let covered = met.fold(range.start, |at, part| if part.0.start <= at { part.0.end } else { at });
            covered >= range.end
        })
    }

    /// Returns whether both have the same bytes and do the same with them.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        let same =
            |(one, other): (&Retained, &Retained)| (one.address, &one.parts) == (other.address, &other.parts);
        self.list.len() == other.list.len() && self.list.iter().zip(&other.list).all(same)
    }

    /// Returns the used parts of allocations, each with the address of the allocation's access history.
    pub(crate) fn list(&self) -> impl Iterator<Item = (usize, &Range<usize>, Mode)> {
        self.list.iter().flat_map(|it| it.parts.iter().map(|part| (it.address, &part.0, part.1)))
    }

    /// Returns the parts of an allocation that have bytes of the range.
    fn meeting(&self, address: usize, range: &Range<usize>) -> impl Iterator<Item = &RetainedPart> {
        let parts = self.get(address).map_or(&[][..], |it| &it.parts);
        let rest = &parts[parts.partition_point(|part| part.0.end <= range.start)..];
        rest.iter().take_while(move |part| part.0.start < range.end)
    }

    /// Returns where the allocation is in the list, or would be.
    fn place(&self, address: usize) -> usize {
        self.list.partition_point(|it| it.address < address)
    }

    fn get(&self, address: usize) -> Option<&Retained> {
        self.list.get(self.place(address)).filter(|it| it.address == address)
    }
}

/// Returns what all of these use of one allocation together.
fn union(all: &[&Retained]) -> Option<Retained> {
    let first = *all.first()?;
    let mut parts = first.parts.clone();
    if all.len() > 1 {
        let mut every: Vec<&RetainedPart> = all.iter().flat_map(|it| &it.parts).collect();
        every.sort_by_key(|part| (part.0.start, part.0.end));
        parts.clear();
        every.into_iter().for_each(|part| add_part(&mut parts, part.clone()));
    }
    Some(Retained { parts, resource: Arc::clone(&first.resource), address: first.address })
}

/// Adds a part of an allocation to others, which are sorted and do not overlap. Bytes that are both read and
/// written are written.
fn add_part(parts: &mut Few<RetainedPart>, (range, mode): RetainedPart) {
    // Those that it meets or touches.
    let low = parts.partition_point(|part| part.0.end < range.start);
    let high = low + parts[low..].partition_point(|part| part.0.start <= range.end);
    match &mut parts[low..high] {
        [] => return parts.insert(low, (range, mode)),
        [(part, by)] if *by == mode => {
            *part = part.start.min(range.start)..part.end.max(range.end);
            return;
        }
        [(part, Mode::Write)] if part.start <= range.start && range.end <= part.end => return,
        [(part, by)] if mode == Mode::Write && range.start <= part.start && part.end <= range.end => {
            (*part, *by) = (range, mode);
            return;
        }
        [(part, _)] if part.end == range.start => return parts.insert(high, (range, mode)),
        [(part, _)] if part.start == range.end => return parts.insert(low, (range, mode)),
        _ => {}
    }
    let mut new: Few<RetainedPart> = Few::new();
    let mut push = |start: usize, end: usize, mode: Mode| match new.last_mut() {
        _ if start >= end => {}
        Some(last) if last.1 == mode => last.0.end = end,
        _ => new.push((start..end, mode)),
    };
    let mut at = range.start;
    for (part, by) in &parts[low..high] {
        let (start, end) = (part.start.max(range.start), part.end.min(range.end));
        push(part.start, part.end.min(range.start), *by);
        push(at, part.start.min(range.end), mode);
        push(start, end, if mode == Mode::Write { mode } else { *by });
        push(part.start.max(range.end), part.end, *by);
        at = at.max(end);
    }
    push(at, range.end, mode);
    parts.drain(low..high);
    parts.insert_many(low, new);
}

impl<'a> FromIterator<&'a RetainedAccesses> for RetainedAccesses {
    /// Returns the union of all accesses.
    fn from_iter<I: IntoIterator<Item = &'a Self>>(all: I) -> Self {
        let mut every: Vec<&Retained> = all.into_iter().flat_map(|one| &one.list).collect();
        every.sort_by_key(|it| it.address);
        let same = every.chunk_by(|one, next| one.address == next.address);
        Self { list: same.filter_map(union).collect() }
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
        assert_eq!(list(&uses), [(0..20, Mode::Write), (50..60, Mode::Write)]);
        add(&mut uses, &memory, 15..70, Mode::Read);
        let all = [(0..20, Mode::Write), (20..50, Mode::Read), (50..60, Mode::Write), (60..70, Mode::Read)];
        assert_eq!(list(&uses), all);
        add(&mut uses, &memory, 20..50, Mode::Write);
        assert_eq!(list(&uses), [(0..60, Mode::Write), (60..70, Mode::Read)]);
    }

    /// Random parts beside a table of what is done to each byte.
    #[test]
    fn parts_of_any_number_are_those_of_each_byte() {
        const BYTES: usize = 40;
        let mut state = 3_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let memory = memory(BYTES);
        let mut answers = [0; 4];
        for _ in 0..3_000 {
            let mut draw = || {
                let (mut uses, mut bytes) = (RetainedAccesses::default(), [None; BYTES]);
                let mut halves = [RetainedAccesses::default(), RetainedAccesses::default()];
                for at in 0..1 + random(12) {
                    let start = random(BYTES);
                    let range = start..(start + 1 + random(6)).min(BYTES);
                    let mode = if random(3) == 0 { Mode::Write } else { Mode::Read };
                    add(&mut uses, &memory, range.clone(), mode);
                    add(&mut halves[at % 2], &memory, range.clone(), mode);
                    for byte in &mut bytes[range] {
                        *byte = if *byte == Some(Mode::Write) { *byte } else { Some(mode) };
                    }
                }
                let mut replaced = uses.clone();
                replaced.replace(std::ptr::from_ref(&memory.0).addr(), &halves);
                let together: RetainedAccesses = halves.iter().collect();
                assert_eq!([list(&together), list(&replaced)], [list(&uses), list(&uses)]);
                let (mut there, mut last) = ([None; BYTES], (0, None));
                for (range, mode) in list(&uses) {
                    assert!(range.start > last.0 || range.start == last.0 && Some(mode) != last.1);
                    there[range.clone()].fill(Some(mode));
                    last = (range.end, Some(mode));
                }
                assert_eq!(there, bytes);
                (uses, bytes)
            };
            let ((one, bytes), (other, others)) = (draw(), draw());
            let pairs = || bytes.iter().zip(&others);
            let is_written = |pair: [&Option<Mode>; 2]| pair.contains(&&Some(Mode::Write));
            let conflicts = pairs().any(|(a, b)| a.is_some() && b.is_some() && is_written([a, b]));
            let covers = pairs().all(|(a, b)| b.is_none() || a == b || *a == Some(Mode::Write));
            assert_eq!((one.conflicts(&other), other.conflicts(&one)), (conflicts, conflicts));
            assert_eq!((one.covers(&other), one.covers(&one)), (covers, true));
            answers[usize::from(conflicts)] += 1;
            answers[2 + usize::from(covers)] += 1;
        }
        assert!(answers.iter().all(|count| *count > 20), "{answers:?}");
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
