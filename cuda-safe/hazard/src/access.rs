//! Accesses: which bytes of which allocation an operation reads or writes.
#![expect(unsafe_code, reason = "declares an access that a borrow vouches for")]

use std::fmt;
use std::ops::Range;

use crate::ledger::Ledger;

/// Whether bytes are read or written. What is both is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Only read: any number of these may run at once.
    Read,
    /// Written, or read and written.
    Write,
}

/// Bytes of one allocation that an operation reads or writes.
///
/// What `stream.enqueue` takes: the tracker orders the operation after every conflicting one by these.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
    pub(crate) unborrowed: bool,
    pub(crate) exclusive: bool,
    pub(crate) at_call: bool,
    pub(crate) fill: bool,
}

impl<'a> Access<'a> {
    /// A read of the bytes `range` of the allocation that `ledger` is about.
    #[must_use]
    pub fn read(ledger: &'a Ledger, range: Range<usize>) -> Self {
        Self::new(ledger, range, Mode::Read)
    }

    /// A write of the bytes `range`, or a read and a write.
    #[must_use]
    pub fn write(ledger: &'a Ledger, range: Range<usize>) -> Self {
        Self::new(ledger, range, Mode::Write)
    }

    /// A read or a write of the bytes `range`. An empty range is no access.
    #[must_use]
    pub fn new(ledger: &'a Ledger, range: Range<usize>, mode: Mode) -> Self {
        Self {
            ledger,
            start: range.start,
            end: range.end,
            mode,
            unborrowed: false,
            exclusive: false,
            at_call: false,
            fill: false,
        }
    }

    /// The same access, made without a Rust borrow of the memory's owner: through a graph, a symbol, a mapped
    /// alias.
    ///
    /// Such an access is refused while a host guard lends conflicting bytes of the allocation out.
    #[must_use]
    pub fn unborrowed(mut self) -> Self {
        self.unborrowed = true;
        self
    }

    /// The same access, made through a borrow that is exclusive to every byte of the range, and entered by one thread at a time while
    /// that lasts: where the range is the whole allocation, nobody else can be entering an access of it.
    ///
    /// # Safety
    /// It is so until the operation is committed.
    #[must_use]
    #[inline]
    pub unsafe fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// The same read, made perhaps by the host during the call: what a stream copies from pinned memory to a device.
    ///
    /// The driver reads so where the stream has nothing to do, and looks at nothing but the stream itself: an event that the stream
    /// waits for keeps the read in order, what the legacy stream implies does not. So the tracker does not count on the latter.
    #[must_use]
    #[inline]
    pub fn at_call(mut self) -> Self {
        self.at_call = true;
        self
    }

    /// The same write, as one of `cudaMemset` to pinned memory: a batch must not follow such a fill directly.
    #[must_use]
    #[inline]
    pub fn fill(mut self) -> Self {
        self.fill = true;
        self
    }

    /// Whether it is such a fill.
    #[must_use]
    #[inline]
    pub fn is_fill(&self) -> bool {
        self.fill
    }

    /// The bytes, counted from the start of the allocation.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether they are read or written.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the access is of no byte at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Takes in an access of the same kind to the same allocation which begins within this one or where it ends: both are then one.
    /// Says no, and does nothing, where it is another one.
    ///
    /// For operations with many accesses: the fewer there are, the less they cost.
    #[must_use]
    #[inline]
    pub fn take_in(&mut self, next: &Self) -> bool {
        let touches = self.start <= next.start && next.start <= self.end;
        let joins = touches && self.is_like(next);
        if joins {
            self.end = self.end.max(next.end);
        }
        joins
    }

    /// Whether it is of the same allocation as the other and of the same kind: but for their bytes, they are one.
    #[must_use]
    #[inline]
    pub fn is_like(&self, other: &Self) -> bool {
        let kind = |of: &Self| (of.mode, of.unborrowed, of.exclusive, of.at_call, of.fill);
        std::ptr::eq(self.ledger, other.ledger) && kind(self) == kind(other)
    }

    /// Whether the two have a byte in common, whatever they do with it.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        std::ptr::eq(self.ledger, other.ledger) && self.start.max(other.start) < self.end.min(other.end)
    }

    /// Whether the tracker takes this one before the other: accesses that are listed in that order need not be sorted.
    #[must_use]
    #[inline]
    pub fn is_before(&self, other: &Self) -> bool {
        (self.address(), self.start) < (other.address(), other.start)
    }

    /// The ledger of the allocation.
    pub fn ledger(&self) -> &'a Ledger {
        self.ledger
    }

    /// Where the ledger is, which gives allocations the one order that all operations stamp them in.
    #[inline]
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self.ledger).addr()
    }

    /// Whether the access is of all bytes of its allocation, which has some.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        let bytes = self.ledger.bytes();
        self.start == 0 && self.end >= bytes && bytes != 0
    }

    /// What is left to be said of it where it is of a whole allocation; `alone` is whether its operation has no other access.
    #[inline]
    pub(crate) fn manner(&self, alone: bool) -> Manner {
        Manner { mode: self.mode, exclusive: self.exclusive, at_call: self.at_call, alone }
    }

    /// What the access wants of its allocation.
    #[inline]
    pub(crate) fn want(&self) -> Want {
        Want { start: self.start, end: self.end.min(self.ledger.bytes()), mode: self.mode }
    }
}

impl fmt::Debug for Access<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}..{} of {:#x}", self.mode, self.start, self.end, self.address())
    }
}

/// How an operation uses a whole allocation: a few bits, which need not be in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) mode: Mode,
    pub(crate) exclusive: bool,
    pub(crate) at_call: bool,
    /// Whether it uses no other memory.
    pub(crate) alone: bool,
}

/// An access whose allocation is understood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
}

impl Want {
    /// Whether there is nothing that it wants.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether the access is a write.
    #[inline]
    pub(crate) fn writes(self) -> bool {
        self.mode == Mode::Write
    }
}
