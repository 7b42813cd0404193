//! The accesses of a graph: the bytes that it uses, retained for as long as the graph may run.
//!
//! Nothing here is in an access history: a graph that is not launched uses nothing. A launch enters all of it
//! as one operation.
#![expect(unsafe_code, reason = "a list of accesses beside what retains their histories")]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::entry::Mode;
use crate::history::{Access, RetainedResource};

/// If one allocation has more parts than this, everything between the first and the last of them counts as
/// used.
const PARTS: usize = 16;

/// An allocation, and the parts of it that are used.
#[derive(Clone)]
struct RetainedAllocation {
    resource: Arc<dyn RetainedResource>,
    parts: Vec<(Range<usize>, Mode)>,
}

/// The bytes that a graph uses, and what retains them.
#[derive(Clone, Default)]
pub struct RetainedAccesses {
    /// By the addresses of the access histories, the order in which an operation enters them.
    held: BTreeMap<usize, RetainedAllocation>,
    /// Whether pinned memory is filled.
    fills: bool,
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
        self.fills |= access.is_fill();
        let (range, mode) = (access.range(), access.mode());
        match self.held.entry(access.address()) {
            Entry::Occupied(mut held) => held.get_mut().add(range, mode),
            Entry::Vacant(place) => {
                let Some(resource) = retain_fn() else { return false };
                place.insert(RetainedAllocation { resource, parts: vec![(range, mode)] });
            }
        }
        true
    }

    /// Adds everything that another graph uses.
    pub fn add_all(&mut self, other: &Self) {
        self.fills |= other.fills;
        for held in other.held.values() {
            for (range, mode) in &held.parts {
                let access = Access::new(held.resource.history(), range.clone(), *mode);
                // Never refused: the resource is retained already.
                let _ = self.add(&access, || Some(Arc::clone(&held.resource)));
            }
        }
    }

    /// Returns the accesses by the addresses of their histories, as accesses without a borrow.
    pub fn accesses(&self) -> impl Iterator<Item = Access<'_>> {
        self.held.values().flat_map(|held| {
            let history = held.resource.history();
            held.parts.iter().map(|(range, mode)| Access::new(history, range.clone(), *mode).unborrowed())
        })
    }

    /// Returns whether one of the two writes what the other uses.
    pub fn conflicts(&self, other: &Self) -> bool {
        let mut pairs = self.held.iter().filter_map(|(address, held)| Some((held, other.held.get(address)?)));
        pairs.any(|(held, it)| held.conflicts(it))
    }

    /// Returns whether it has all accesses of the other, each as a part of one of its own.
    pub fn covers(&self, other: &Self) -> bool {
        let has = |(address, held): (&usize, &RetainedAllocation)| {
            let own = self.held.get(address);
            own.is_some_and(|own| held.parts.iter().all(|(range, mode)| own.covers(range, *mode)))
        };
        self.fills >= other.fills && other.held.iter().all(has)
    }
}

impl RetainedAllocation {
    /// Returns whether one part has all of an access.
    fn covers(&self, range: &Range<usize>, mode: Mode) -> bool {
        self.parts.iter().any(|(outer, by)| {
            outer.start <= range.start && range.end <= outer.end && (*by == mode || *by == Mode::Write)
        })
    }

    fn add(&mut self, range: Range<usize>, mode: Mode) {
        let writes = |mode: Mode| mode == Mode::Write;
        if self.covers(&range, mode) {
            return;
        }
        self.parts.retain(|(inner, by)| {
            !(range.start <= inner.start && inner.end <= range.end && (*by == mode || writes(mode)))
        });
        self.parts.push((range, mode));
        if self.parts.len() > PARTS {
            let start = self.parts.iter().map(|part| part.0.start).min().unwrap_or(0);
            let end = self.parts.iter().map(|part| part.0.end).max().unwrap_or(0);
            let written = self.parts.iter().any(|part| writes(part.1));
            self.parts = vec![(start..end, if written { Mode::Write } else { Mode::Read })];
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        self.parts.iter().any(|(a, by)| {
            other.parts.iter().any(|(b, with)| {
                a.start < b.end && b.start < a.end && (*by == Mode::Write || *with == Mode::Write)
            })
        })
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
    /// Accesses of histories that `uses` retains: not to be returned for longer than this is borrowed.
    list: Vec<Access<'static>>,
    uses: RetainedAccesses,
}

impl GraphAccesses {
    /// Lists the accesses.
    pub fn new(uses: RetainedAccesses) -> Self {
        // SAFETY: `uses` retains the allocations that hold the access histories. It is stored beside the
        // list, is not changed, and is dropped with it. A retained resource does not move.
        let extend = |access| unsafe { std::mem::transmute::<Access<'_>, Access<'static>>(access) };
        Self { list: uses.accesses().map(extend).collect(), uses }
    }

    /// Returns the accesses, in the order of the access histories' addresses, as accesses without a borrow.
    #[inline]
    pub fn accesses(&self) -> &[Access<'_>] {
        &self.list
    }

    /// Returns whether pinned memory is filled, by `cudaMemset`.
    #[inline]
    pub fn fills(&self) -> bool {
        self.uses.fills
    }

    /// Returns the bytes that the graph uses.
    pub fn uses(&self) -> &RetainedAccesses {
        &self.uses
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
