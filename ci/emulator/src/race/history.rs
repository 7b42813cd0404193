//! The access histories of allocations: which operation has read or written which bytes.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::order::OrderedOperation;
use crate::exec::program::Scope;
use crate::exec::{CodeLine, Program};
use crate::fidelity::{self, Limit};

/// The most records of an allocation: beyond this, the older half is forgotten.
const LONGEST: usize = 1 << 14;

/// How bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessMode {
    Read,
    Write,
    /// By volatile, relaxed and acquiring loads of kernels.
    StrongRead(Scope),
    /// By atomic instructions, and volatile, relaxed and releasing stores.
    Strong(Scope),
    /// By the host's own instructions, which may be atomic.
    HostRead,
    HostWrite,
    Allocate,
    Free,
    /// An access that failed, because there was no memory.
    Use,
}

impl AccessMode {
    /// Whether it is a part of the life of memory, which conflicts with all accesses.
    fn is_life(self) -> bool {
        matches!(self, Self::Allocate | Self::Free | Self::Use)
    }

    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::StrongRead(_) | Self::HostRead)
    }

    /// Whom an access reaches so that the two do not race, if that one reaches it, too. The host reaches
    /// everybody, because its accesses may be atomic.
    fn scope(self) -> Option<Scope> {
        match self {
            Self::StrongRead(scope) | Self::Strong(scope) => Some(scope),
            Self::HostRead | Self::HostWrite => Some(Scope::System),
            _ => None,
        }
    }

    /// Whether accesses of two operations race if nothing orders them. The operations are of the same device,
    /// or not.
    fn conflicts(self, other: Self, same_device: bool) -> bool {
        let by_host = [self, other].map(|it| matches!(it, Self::HostRead | Self::HostWrite));
        let reaches = |it: Self| match it.scope() {
            Some(Scope::System) => true,
            Some(Scope::Device | Scope::Cluster) => same_device && by_host == [false; 2],
            Some(Scope::Block) | None => false,
        };
        self.is_life()
            || other.is_life()
            || (self.writes() || other.writes()) && !(reaches(self) && reaches(other))
    }

    /// Whether it conflicts with all that an access of an earlier operation conflicts with.
    fn covers(self, earlier: Self, same_device: bool) -> bool {
        self == Self::Write
            || self.is_life()
            || self == Self::Read && !earlier.writes()
            || self == earlier && same_device
    }

    /// The verb for an operation, a kernel or another, and whom a strong access reaches, if not all.
    pub(super) fn verb(self) -> String {
        let of = match self.scope() {
            Some(Scope::Block) => " for its block (.cta)",
            Some(Scope::Cluster | Scope::Device) => " for its device (.gpu)",
            Some(Scope::System) | None => "",
        };
        let verb = match self {
            Self::StrongRead(_) | Self::Read | Self::HostRead => "reads",
            Self::Strong(_) => "accesses atomically",
            Self::Write | Self::HostWrite => "writes",
            Self::Allocate => "allocates them",
            Self::Free => "frees them",
            Self::Use => "uses them",
        };
        format!("{verb}{of}")
    }

    /// Whether bytes of the access are worth to be named.
    pub(super) fn has_bytes(self) -> bool {
        !self.is_life()
    }

    /// Whether it is strong and does not reach the host.
    pub(super) fn misses_host(self) -> bool {
        self.scope().is_some_and(|scope| scope != Scope::System)
    }
}

/// An instruction of a kernel, whose library may be unloaded.
#[derive(Clone, Debug)]
pub(crate) struct CodePlace {
    pub(crate) program: Weak<Program>,
    pub(crate) pc: u32,
}

impl CodePlace {
    pub(super) fn place(&self) -> Option<CodeLine> {
        self.program.upgrade().map(|program| program.place(self.pc))
    }
}

/// Consecutive bytes, by their addresses, and the instruction that last accessed them.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) source: Option<CodePlace>,
}

impl Span {
    pub(crate) fn new(start: u64, bytes: u64) -> Self {
        Self { start, end: start.saturating_add(bytes), source: None }
    }
}

/// The accesses of one operation to one allocation in one mode.
#[derive(Debug)]
pub(super) struct AccessRecord {
    pub(super) operation: Arc<OrderedOperation>,
    pub(super) mode: AccessMode,
    /// In the order of their addresses.
    pub(super) spans: Vec<Span>,
}

impl AccessRecord {
    /// The first bytes that both access, of each.
    fn meets(&self, other: &Self) -> Option<(Span, Span)> {
        let (mut a, mut b) = (self.spans.iter().peekable(), other.spans.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            if x.start < y.end && y.start < x.end {
                return Some(((*x).clone(), (*y).clone()));
            }
            if x.end <= y.end {
                a.next()
            } else {
                b.next()
            };
        }
        None
    }

    /// Adds bytes, which may be there already.
    fn add(&mut self, new: Span) {
        let at = self.spans.partition_point(|it| it.end < new.start);
        match self.spans.get_mut(at) {
            Some(it) if it.start <= new.end => {
                (it.start, it.end) = (it.start.min(new.start), it.end.max(new.end));
                let end = it.end;
                while self.spans.get(at + 1).is_some_and(|next| next.start <= end) {
                    let next = self.spans.remove(at + 1);
                    self.spans[at].end = next.end.max(end);
                }
            }
            _ => self.spans.insert(at, new),
        }
    }

    /// Whether later operations that would race with `earlier` race with this one too, which comes after it.
    fn replaces(&self, earlier: &Self) -> bool {
        let ([span], Some(first), Some(last)) = (&*self.spans, earlier.spans.first(), earlier.spans.last())
        else {
            return false;
        };
        let same_device = self.operation.device == earlier.operation.device;
        self.mode.covers(earlier.mode, same_device)
            && span.start <= first.start
            && last.end <= span.end
            && self.operation.comes_after(&earlier.operation)
    }
}

/// The accesses that later ones may race with, by the serial number of the allocation.
#[derive(Debug, Default)]
pub(super) struct Histories(HashMap<u64, Vec<AccessRecord>>);

impl Histories {
    /// Enters a record, and returns the operations that it races with, with the bytes of both.
    pub(super) fn enter(
        &mut self,
        allocation: u64,
        record: AccessRecord,
    ) -> Vec<(AccessRecord, (Span, Span))> {
        let history = self.0.entry(allocation).or_default();
        let mut found = Vec::new();
        for earlier in &*history {
            let same_device = earlier.operation.device == record.operation.device;
            if earlier.mode.conflicts(record.mode, same_device)
                && !record.operation.comes_after(&earlier.operation)
                && let Some(bytes) = earlier.meets(&record)
            {
                let operation = Arc::clone(&earlier.operation);
                found.push((AccessRecord { operation, mode: earlier.mode, spans: Vec::new() }, bytes));
            }
        }
        let is_part = |last: &&mut AccessRecord| {
            Arc::ptr_eq(&last.operation, &record.operation) && last.mode == record.mode
        };
        if let Some(last) = history.last_mut().filter(is_part) {
            record.spans.into_iter().for_each(|span| last.add(span));
            return found;
        }
        history.retain(|earlier| !record.replaces(earlier));
        if history.len() >= LONGEST {
            fidelity::note(Limit::Histories);
            history.drain(..LONGEST / 2);
        }
        history.push(record);
        found
    }

    pub(super) fn forget(&mut self, allocation: u64) {
        self.0.remove(&allocation);
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&AccessRecord) -> bool) {
        self.0.retain(|_, history| {
            history.retain(&mut keep);
            !history.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::order::{OperationOrder, Origin};

    fn order() -> OperationOrder {
        let mut order = OperationOrder::new(1);
        order.add(1, 0, &[], Origin::default());
        order.add(2, 0, &[], Origin::default());
        order.add(3, 0, &[1], Origin::default());
        order
    }

    fn races(
        histories: &mut Histories,
        order: &OperationOrder,
        id: u64,
        mode: AccessMode,
        spans: &[(u64, u64)],
    ) -> usize {
        let spans = spans.iter().map(|(start, end)| Span::new(*start, end - start)).collect();
        let operation = Arc::clone(order.get(id).unwrap());
        histories.enter(7, AccessRecord { operation, mode, spans }).len()
    }

    #[test]
    fn only_unordered_operations_that_share_a_byte_which_one_writes_race() {
        let (order, mut it) = (order(), Histories::default());
        assert_eq!(races(&mut it, &order, 1, AccessMode::Write, &[(0, 4), (8, 12)]), 0);
        assert_eq!(races(&mut it, &order, 3, AccessMode::Write, &[(0, 12)]), 0, "it comes after the first");
        assert_eq!(races(&mut it, &order, 2, AccessMode::Read, &[(12, 16)]), 0);
        assert_eq!(races(&mut it, &order, 2, AccessMode::Read, &[(4, 8)]), 1, "the third one");
        let mut it = Histories::default();
        assert_eq!(races(&mut it, &order, 1, AccessMode::Write, &[(0, 4), (8, 12)]), 0);
        assert_eq!(races(&mut it, &order, 2, AccessMode::Write, &[(4, 8), (12, 16)]), 0);
        assert_eq!(races(&mut it, &order, 2, AccessMode::Read, &[(4, 9)]), 1);
        let (mut it, strong) = (Histories::default(), AccessMode::Strong(Scope::Device));
        assert_eq!(races(&mut it, &order, 1, strong, &[(0, 4)]), 0);
        assert_eq!(races(&mut it, &order, 2, strong, &[(0, 4)]), 0);
        assert_eq!(races(&mut it, &order, 3, AccessMode::Read, &[(0, 4)]), 1, "not with the first");
    }

    /// What covers an access conflicts with all that it conflicts with.
    #[test]
    fn covering_accesses_lose_no_conflict() {
        use AccessMode::{Allocate, Free, HostRead, HostWrite, Read, Strong, StrongRead, Use, Write};
        let scopes = [Scope::Block, Scope::Cluster, Scope::Device, Scope::System];
        let mut all = vec![Read, Write, HostRead, HostWrite, Allocate, Free, Use];
        all.extend(scopes.iter().flat_map(|scope| [StrongRead(*scope), Strong(*scope)]));
        for (a, b, c) in all.iter().flat_map(|a| all.iter().flat_map(|b| all.iter().map(|c| (*a, *b, *c)))) {
            // Which of their operations are of one device.
            for (ab, bc, ac) in
                [(true, true, true), (true, false, false), (false, true, false), (false, false, true)]
            {
                if a.covers(b, ab) && b.conflicts(c, bc) {
                    assert!(a.conflicts(c, ac), "{a:?} covers {b:?}, and not its conflict with {c:?}");
                }
            }
        }
    }

    #[test]
    fn an_access_replaces_earlier_ones_that_it_comes_after() {
        let (order, mut it) = (order(), Histories::default());
        races(&mut it, &order, 1, AccessMode::Read, &[(0, 4), (8, 12)]);
        races(&mut it, &order, 3, AccessMode::Read, &[(0, 12)]);
        assert_eq!(it.0[&7].len(), 1);
        races(&mut it, &order, 2, AccessMode::Read, &[(0, 12)]);
        assert_eq!(it.0[&7].len(), 2, "it comes after nothing");
    }
}
