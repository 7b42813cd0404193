//! The entries of an access history, and the rule by which one becomes redundant.
//!
//! An entry is dropped, in part or whole, once a later access makes it redundant. A write makes redundant
//! whatever it covers and is ordered after. A read likewise makes redundant the reads that it covers. This
//! loses nothing: what is ordered after the later access is then ordered after the earlier one.

use crate::clock::{Epoch, SequenceNumber, TimelineId};
use crate::last_access::LastAccess;
use crate::mode::Mode;
use crate::wait_log::CallSite;

/// The bytes of its allocation that an access covers, and its mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
}

impl Interval {
    /// Returns whether it covers no byte.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Returns whether the access is a write.
    #[inline]
    pub(crate) fn writes(self) -> bool {
        self.mode == Mode::Write
    }
}

/// The operation that made an allocation: the first entry of its access history.
#[derive(Clone, Copy, Debug)]
pub struct FirstWrite {
    pub(crate) epoch: Epoch,
    pub(crate) call_site: Option<CallSite>,
}

/// The work that an operation being entered is ordered after.
pub(crate) trait View {
    /// Returns the operation itself.
    fn me(&self) -> Epoch;
    /// Returns whether `epoch` has completed, which holds for every timeline.
    fn completed(&self, epoch: Epoch) -> bool;
    /// Returns whether `epoch` is ordered before the operation, also if both are of the same stream.
    fn is_after(&self, epoch: Epoch) -> bool;
    /// Returns whether everything of the operation's own stream is ordered before it.
    fn is_after_own(&self) -> bool;
}

/// An access in an access history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessEntry {
    timeline: TimelineId,
    pub(crate) mode: Mode,
    sequence: SequenceNumber,
    pub(crate) call_site: Option<CallSite>,
}

impl AccessEntry {
    #[inline]
    pub(crate) fn new(mode: Mode, epoch: Epoch, call_site: Option<CallSite>) -> Self {
        Self { timeline: epoch.timeline, mode, sequence: epoch.sequence, call_site }
    }

    /// Returns the operation that made the access.
    #[inline]
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch { timeline: self.timeline, sequence: self.sequence }
    }

    /// Returns whether it and an access of mode `mode` to the same bytes must not run at once.
    #[inline]
    pub(crate) fn conflicts(&self, mode: Mode) -> bool {
        mode == Mode::Write || self.mode == Mode::Write
    }

    /// Returns the access as a conflict of another one.
    pub(crate) fn as_conflict(&self) -> Conflict {
        Conflict { epoch: self.epoch(), call_site: self.call_site }
    }

    /// Returns whether a later access of mode `mode` to the same bytes makes it redundant.
    #[inline]
    pub(crate) fn is_redundant<V: View>(&self, mode: Mode, view: &V) -> bool {
        if mode == Mode::Write || self.mode == Mode::Read {
            view.is_after(self.epoch())
        } else {
            view.completed(self.epoch())
        }
    }
}

/// A conflict: an earlier access that the new one is not ordered after.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    /// The earlier operation.
    pub epoch: Epoch,
    /// Its call site, if that was recorded.
    pub call_site: Option<CallSite>,
}

/// The accesses to some bytes that still matter.
///
/// As a rule they are the last write and the last read of one stream, as in a [`LastAccess`] word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entries {
    /// The last write and the last read of the stream `timeline`, without call sites; 0 for none.
    timeline: TimelineId,
    write: SequenceNumber,
    read: SequenceNumber,
    /// All others.
    others: Vec<AccessEntry>,
}

impl Default for Entries {
    #[inline]
    fn default() -> Self {
        Self { timeline: TimelineId(0), write: 0, read: 0, others: Vec::new() }
    }
}

impl Entries {
    /// Returns the accesses of a last-access word, and `reads` of several streams.
    pub(crate) fn new(last_access: LastAccess, reads: impl Iterator<Item = Epoch>) -> Self {
        let mut entries = Self::default();
        let (write, read) = last_access.parts();
        write.into_iter().for_each(|epoch| entries.join(AccessEntry::new(Mode::Write, epoch, None)));
        let reads = read.into_iter().chain(reads);
        reads.for_each(|epoch| entries.join(AccessEntry::new(Mode::Read, epoch, None)));
        entries
    }

    /// Returns the last-access word that holds all of them, if there is one.
    pub(crate) fn last_access(&self) -> Option<LastAccess> {
        let epoch = |sequence| Epoch { timeline: self.timeline, sequence };
        self.others.is_empty().then(|| match (self.write, self.read) {
            (0, 0) => LastAccess::Empty,
            (write, 0) => LastAccess::Write(epoch(write)),
            (0, read) => LastAccess::Read(epoch(read)),
            (write, read) => LastAccess::Both { write: epoch(write), read },
        })
    }

    /// Returns all of them.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = AccessEntry> {
        let own = [(Mode::Write, self.write), (Mode::Read, self.read)].into_iter();
        let own = own.filter(|(_, sequence)| *sequence != 0);
        let timeline = self.timeline;
        own.map(move |(mode, sequence)| AccessEntry { timeline, mode, sequence, call_site: None })
            .chain(self.others.iter().copied())
    }

    /// Returns whether they are ordered before an operation because its own stream has made all of them.
    #[inline]
    pub(crate) fn are_own<V: View>(&self, view: &V) -> bool {
        view.is_after_own() && self.are_of(view.me().timeline)
    }

    /// Returns whether no other stream has made any of them.
    #[inline]
    fn are_of(&self, timeline: TimelineId) -> bool {
        (self.timeline == timeline || self.write | self.read == 0) && self.others.is_empty()
    }

    /// Returns whether everything that an access of mode `mode` conflicts with is ordered before it.
    pub(crate) fn are_before<V: View>(&self, mode: Mode, view: &V) -> bool {
        let is_after = |sequence| sequence == 0 || view.is_after(Epoch { timeline: self.timeline, sequence });
        is_after(self.write)
            && (mode == Mode::Read || is_after(self.read))
            && self.others.iter().all(|entry| !entry.conflicts(mode) || view.is_after(entry.epoch()))
    }

    /// Enters an access of the stream that made all the others, whose own order is enough. Returns false,
    /// with nothing entered, if there are accesses of other streams.
    #[inline]
    pub(crate) fn enter_own(&mut self, mode: Mode, me: Epoch) -> bool {
        if !self.are_of(me.timeline) {
            return false;
        }
        self.timeline = me.timeline;
        match mode {
            Mode::Write => (self.write, self.read) = (me.sequence, 0),
            Mode::Read => self.read = me.sequence,
        }
        true
    }

    /// Enters an access in the place of those that it makes redundant.
    #[inline]
    pub(crate) fn enter<V: View>(&mut self, new: AccessEntry, view: &V) {
        if new.call_site.is_none() && self.enter_own(new.mode, new.epoch()) {
            return;
        }
        self.drop_if(|entry| entry.is_redundant(new.mode, view));
        self.join(new);
    }

    /// Adds an access, which stands for earlier ones of its stream and mode too.
    pub(crate) fn join(&mut self, new: AccessEntry) {
        let is_free = self.write | self.read == 0;
        if new.call_site.is_none() && (is_free || self.timeline == new.timeline) {
            let last = if new.mode == Mode::Write { &mut self.write } else { &mut self.read };
            (self.timeline, *last) = (new.timeline, new.sequence.max(*last));
            return;
        }
        match self.others.iter_mut().find(|it| (it.timeline, it.mode) == (new.timeline, new.mode)) {
            Some(entry) if entry.sequence >= new.sequence => {}
            Some(entry) => *entry = new,
            None => self.others.push(new),
        }
    }

    /// Drops what an access of mode `mode`, entered before, has made redundant now that its waits are in
    /// place.
    pub(crate) fn settle<V: View>(&mut self, mode: Mode, view: &V) {
        let me = view.me().timeline;
        self.drop_if(|entry| entry.timeline != me && entry.is_redundant(mode, view));
    }

    /// Drops all of them.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.timeline, self.write, self.read) = (TimelineId(0), 0, 0);
        self.others.clear();
    }

    /// Drops what has completed.
    pub(crate) fn prune(&mut self, completed: impl Fn(Epoch) -> bool) {
        self.drop_if(|entry| completed(entry.epoch()));
    }

    fn drop_if(&mut self, is_dropped: impl Fn(&AccessEntry) -> bool) {
        let own = |mode, sequence| AccessEntry { timeline: self.timeline, mode, sequence, call_site: None };
        let (write, read) = (own(Mode::Write, self.write), own(Mode::Read, self.read));
        if self.write != 0 && is_dropped(&write) {
            self.write = 0;
        }
        if self.read != 0 && is_dropped(&read) {
            self.read = 0;
        }
        if self.write | self.read == 0 {
            self.timeline = TimelineId(0);
        }
        self.others.retain(|entry| !is_dropped(entry));
    }
}
