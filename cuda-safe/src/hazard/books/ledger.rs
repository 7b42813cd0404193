//! The ledger of one allocation: who last read and wrote which bytes, and whether the host is looking.

use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use super::access::{Access, Manner, Mode, Want};
use super::clock::{Clock, Stamp};
use super::enter::First;
use super::entry::{Conflict, View};
use super::hosts::Hosts;
use super::knowledge::Known;
use super::list::List;
use super::sync::{AtomicBool, AtomicU64, Mutex, constructor};
use super::waits::Place;
use super::word::{LISTED, Word};

/// The accesses of one allocation. Every owner of memory that a stream can reach has one.
///
/// Its address is its identity while anything on a stream uses the memory: keep it where it does not move
/// during a call, as any field of a borrowed owner does.
///
/// What every operation looks at comes first.
#[repr(C)]
pub struct Ledger {
    /// What the last accesses were, in short form; see [`Word`].
    word: AtomicU64,
    /// Bytes of the allocation, or `usize::MAX` where it is not known.
    bytes: usize,
    /// Whether a graph has ever asked to hold on to the allocation, which may then be used without a borrow of it.
    kept: AtomicBool,
    /// How it can do that, where the allocation's owners are counted.
    keep: Option<Keep>,
    /// Host guards alive.
    hosts: Hosts,
    /// The long form, used while the word says so. Most allocations never need one, and owners that are moved
    /// about should be small.
    list: Mutex<Option<Box<List>>>,
}

/// What keeps an allocation alive, and with it this ledger of it.
pub(crate) trait Keeper: Send + Sync {
    /// The ledger of what it keeps.
    fn ledger(&self) -> &Ledger;
}

/// How another keeper of an allocation is made: a function of who counts the owners, and what it needs.
pub(crate) type Keep = (unsafe fn(usize) -> std::sync::Arc<dyn Keeper>, usize);

/// What an access of an allocation comes after, as far as its short form tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing.
    Nothing,
    /// This operation, and with it all others.
    Only(Stamp),
    /// The long form knows.
    Listed,
}

/// What became of an access that was to be entered in the short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It is entered.
    Entered,
    /// It is not, for it is not known to be ordered after this.
    Behind(Stamp),
    /// It is not, for another reason.
    Unclear,
}

impl Ledger {
    constructor! {
        /// A ledger for an allocation of `bytes` bytes: an access to all of them then costs one atomic step.
        ///
        /// Where the length is not known, `usize::MAX` serves.
        #[must_use]
        pub fn new(bytes: usize) -> Self {
            let (word, hosts) = (AtomicU64::new(0), Hosts::new());
            Self { word, hosts, bytes, list: Mutex::new(None), keep: None, kept: AtomicBool::new(false) }
        }
    }

    /// A ledger for an allocation of `bytes` bytes whose memory is made by an operation on a stream.
    #[inline]
    pub(crate) fn written(bytes: usize, first: First) -> Self {
        let (word, list) = match Word::Write(first.stamp).pack() {
            Some(bits) if first.place.is_none() => (bits, None),
            _ => (LISTED, Some(Box::new(List::written(bytes, first)))),
        };
        let (word, hosts) = (AtomicU64::new(word), Hosts::new());
        Self { word, hosts, bytes, list: Mutex::new(list), keep: None, kept: AtomicBool::new(false) }
    }

    /// Says how another keeper of the allocation is made: without that, graphs cannot use it.
    #[inline]
    pub(crate) fn kept_by(&mut self, keep: Option<Keep>) {
        self.keep = keep;
    }

    /// How another keeper of the allocation is made, to be asked for with a borrow of the memory.
    pub(crate) fn keep(&self) -> Option<Keep> {
        // Whoever borrows the memory later, borrows it after this.
        self.kept.store(true, Relaxed);
        self.keep
    }

    /// Bytes of the allocation, or `usize::MAX`.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether no access is on record: nothing stands against whatever is done to the memory.
    #[inline]
    pub(crate) fn is_unused(&self) -> bool {
        self.word.load(SeqCst) == 0
    }

    /// Enters the accesses `group`, all of this ledger, in one step, and collects the conflicts with accesses
    /// that were there before.
    #[inline]
    pub(super) fn stamp<V: View>(
        &self,
        group: &[Access<'_>],
        view: &V,
        place: Option<Place>,
        out: &mut Vec<Conflict>,
    ) {
        if place.is_none()
            && let Some(mode) = self.whole(group)
        {
            let alone = matches!(group, [access] if self.is_its_own(access.exclusive));
            let mut bits = self.word.load(Acquire);
            while let Some(next) = after(Word::unpack(bits), mode, view).and_then(Word::pack) {
                if alone {
                    self.word.store(next, Release);
                    return;
                }
                match self.word.compare_exchange_weak(bits, next, SeqCst, Acquire) {
                    Ok(_) => return,
                    Err(found) => bits = found,
                }
            }
        }
        self.stamp_list(group, view, place, out);
    }

    /// Enters an access to the whole allocation where the last one was of the same stream and alike, so that all that came before is
    /// ordered, or of the stream of `known`, and not after that, behind which this one is. Says no, and does nothing, where anything else
    /// is the case.
    #[inline]
    pub(super) fn stamp_plainly(&self, manner: Manner, me: Stamp, known: Stamp) -> bool {
        let bits = self.bits();
        let alike = Word::alike(bits, manner.mode, me);
        let next = alike.or_else(|| Word::taken_over(bits, manner.mode, me, known));
        next.is_some_and(|next| self.replace(bits, next, manner.exclusive))
    }

    /// What the last accesses were, in bits of a [`Word`].
    #[inline]
    pub(super) fn bits(&self) -> u64 {
        self.word.load(Acquire)
    }

    /// Enters accesses that are all of this ledger, and the list `of` has of it, where each of them does again what its stream did last.
    /// Says no, and does nothing, where anything else is the case.
    #[inline]
    pub(super) fn stamp_run(&self, of: u64, group: &[Access<'_>], me: Stamp) -> bool {
        let mut list = self.list.lock();
        // As in `listed`, but that the run goes on.
        self.bits() == LISTED && list.as_deref_mut().is_some_and(|list| list.stamp_run(of, group, me))
    }

    /// Enters an access to the whole allocation, after which the bits are `next`, if they are still `bits`. Says no, and does nothing, where
    /// they are not. `exclusive` is whether the access is so.
    #[inline]
    pub(super) fn replace(&self, bits: u64, next: u64, exclusive: bool) -> bool {
        if !exclusive {
            return self.word.compare_exchange(bits, next, SeqCst, Acquire).is_ok();
        }
        if !self.is_its_own(exclusive) {
            return self.exchange(bits, next);
        }
        self.word.store(next, Release);
        true
    }

    /// [`replace`](Self::replace) of a ledger that others may look at.
    #[cold]
    #[inline(never)]
    pub(super) fn exchange(&self, bits: u64, next: u64) -> bool {
        self.word.compare_exchange(bits, next, SeqCst, Acquire).is_ok()
    }

    /// Enters one access in the long form where all that it conflicts with is ordered before it: by the stream itself, or by what its `clock`
    /// covers. Waits for nobody. Says no, and does nothing, where anything else is the case, and where [`List::stamp_behind`] does.
    ///
    /// Of what may be read during the call the stream's own order is enough only where the stream is `solid`, as above.
    #[inline(never)]
    pub(super) fn stamp_part(&self, access: &Access<'_>, me: Stamp, clock: &Clock, solid: bool) -> bool {
        if access.at_call && !solid {
            return false;
        }
        let Some(mut list) = self.list.try_lock() else { return false };
        match self.listed(&mut list) {
            Some(list) => list.stamp_behind(access.want(), &Short { me, clock }),
            None => false,
        }
    }

    /// Enters one access to the whole allocation where all that the short form tells of is ordered before it and the short form can tell
    /// the rest. Does nothing where anything else is the case.
    #[inline(never)]
    pub(super) fn stamp_next(&self, access: &Access<'_>, view: &Known<'_>) -> Next {
        if !access.is_whole() {
            return Next::Unclear;
        }
        let bits = self.word.load(Acquire);
        let next = match Word::in_the_way(bits, access.mode) {
            Some(stamp) if view.puts_behind(access, stamp) => Word::only(access.mode, view.me()),
            Some(stamp) if access.mode == Mode::Write => return Next::Behind(stamp),
            // Reads may run at once, and both are to be told of.
            Some(_) => return Next::Unclear,
            None => after_more(bits, access, view),
        };
        let Some(next) = next else {
            return match self.before(access.mode) {
                Before::Only(stamp) if !view.puts_behind(access, stamp) => Next::Behind(stamp),
                _ => Next::Unclear,
            };
        };
        if self.replace(bits, next, access.exclusive) { Next::Entered } else { Next::Unclear }
    }

    /// Whether nobody else looks at the word of the whole allocation before the borrow ends that an access is made by, which is
    /// `exclusive` or not. Whoever borrows the memory then has seen what was stored.
    #[inline]
    fn is_its_own(&self, exclusive: bool) -> bool {
        exclusive && !self.kept.load(Relaxed)
    }

    /// What an access of mode `mode` comes after.
    #[inline]
    pub(super) fn before(&self, mode: Mode) -> Before {
        match (Word::unpack(self.word.load(Acquire)), mode) {
            (Word::Listed, _) => Before::Listed,
            (Word::Empty, _) | (Word::Read(_), Mode::Read) => Before::Nothing,
            (Word::Write(stamp), _) | (Word::Read(stamp), Mode::Write) => Before::Only(stamp),
            (Word::Both { write, .. }, Mode::Read) => Before::Only(write),
            (Word::Both { write, read }, Mode::Write) => Before::Only(Stamp { slot: write.slot, tick: read }),
        }
    }

    /// The mode of the whole group, if each access of it is of the whole allocation.
    #[inline]
    fn whole(&self, group: &[Access<'_>]) -> Option<Mode> {
        let mut mode = Mode::Read;
        for access in group {
            if access.start != 0 || access.end < self.bytes {
                return None;
            }
            if access.mode == Mode::Write {
                mode = Mode::Write;
            }
        }
        Some(mode)
    }

    /// [`stamp`](Self::stamp) in the long form.
    #[cold]
    fn stamp_list<V: View>(
        &self,
        group: &[Access<'_>],
        view: &V,
        place: Option<Place>,
        out: &mut Vec<Conflict>,
    ) {
        let mut list = self.list.lock();
        let list = list.get_or_insert_with(Box::default);
        list.end_run();
        let mut bits = self.word.load(Acquire);
        // Only the holder of the list's lock ends the long form, and the short form ends when this exchange
        // succeeds.
        while bits != LISTED {
            match self.word.compare_exchange_weak(bits, LISTED, SeqCst, Acquire) {
                Ok(_) => {
                    list.take_over(Word::unpack(bits), self.bytes);
                    break;
                }
                Err(found) => bits = found,
            }
        }
        // Under a policy that tells places, each access is looked at by itself.
        let done = if place.is_none() { list.stamp_again(group, view.me()) } else { 0 };
        for access in group.iter().skip(done) {
            list.stamp(access.want(), view, place, out);
        }
        self.shorten(list);
    }

    /// Goes back to the short form where it can say all that the list says.
    fn shorten(&self, list: &mut List) {
        if list.len() <= 2
            && let Some(bits) = list.give_up(self.bytes)
        {
            self.word.store(bits, Release);
        }
    }

    /// Drops what `group`, entered before with conflicts, has made redundant now that its waits are in place.
    pub(super) fn settle<V: View>(&self, group: &[Access<'_>], view: &V) {
        let mut list = self.list.lock();
        let Some(list) = self.listed(&mut list) else { return };
        for access in group {
            list.settle(access.want(), view);
        }
        self.shorten(list);
    }

    /// Collects what `want` conflicts with and `ordered` does not know of, and enters nothing.
    pub(super) fn conflicts(&self, want: Want, ordered: impl Fn(Stamp) -> bool, out: &mut Vec<Conflict>) {
        let mut tell = |mode: Mode, stamp: Stamp| {
            if (want.writes() || mode == Mode::Write) && !ordered(stamp) {
                out.push(Conflict { stamp, place: None });
            }
        };
        match Word::unpack(self.word.load(SeqCst)) {
            Word::Empty => return,
            Word::Write(stamp) => return tell(Mode::Write, stamp),
            Word::Read(stamp) => return tell(Mode::Read, stamp),
            Word::Both { write, read } => {
                tell(Mode::Write, write);
                return tell(Mode::Read, Stamp { slot: write.slot, tick: read });
            }
            Word::Listed => {}
        }
        let mut list = self.list.lock();
        match self.listed(&mut list) {
            Some(list) => list.conflicts(want, ordered, out),
            // It went back to the short form in between.
            None => {
                drop(list);
                self.conflicts(want, ordered, out);
            }
        }
    }

    /// Drops accesses that have completed, so that a quiet allocation is back to its short form.
    pub(super) fn prune(&self, completed: impl Fn(Stamp) -> bool) {
        if self.word.load(Acquire) != LISTED {
            return;
        }
        let mut list = self.list.lock();
        if let Some(list) = self.listed(&mut list) {
            list.prune(completed);
            self.shorten(list);
        }
    }

    /// The long form, if it is the one that counts.
    fn listed<'a>(&self, list: &'a mut Option<Box<List>>) -> Option<&'a mut List> {
        // The word says so only once there is a list, and changes only under the list's lock.
        if self.word.load(SeqCst) != LISTED {
            return None;
        }
        let list = list.as_deref_mut()?;
        list.end_run();
        Some(list)
    }

    /// Counts a host guard in; see [`Hosts::enter`].
    #[must_use]
    pub(crate) fn host_enters(&self, mode: Mode) -> bool {
        self.hosts.enter(mode)
    }

    /// Counts a host guard out.
    pub(crate) fn host_leaves(&self, mode: Mode) {
        self.hosts.leave(mode);
    }

    /// Whether a live host guard stands against an access that no Rust borrow keeps away from it; see [`Hosts::stand_against`].
    #[inline]
    pub(super) fn lent_against(&self, mode: Mode) -> bool {
        self.hosts.stand_against(mode)
    }

    /// Host guards alive, for tests and messages.
    #[must_use]
    pub fn host_guards(&self) -> u64 {
        self.hosts.count()
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("accesses", &Word::unpack(self.word.load(Relaxed)))
            .field("host_guards", &self.host_guards())
            .finish()
    }
}

/// What an operation on the short way knows.
struct Short<'a> {
    me: Stamp,
    /// The stream's own.
    clock: &'a Clock,
}

impl View for Short<'_> {
    fn me(&self) -> Stamp {
        self.me
    }

    /// Nobody asks: what has completed only saves an entry.
    fn completed(&self, _: Stamp) -> bool {
        false
    }

    #[inline]
    fn knows(&self, stamp: Stamp) -> bool {
        stamp.slot == self.me.slot || self.clock.covers(stamp)
    }
}

/// The bits after a whole access where that takes more than one look.
#[inline(never)]
fn after_more(bits: u64, access: &Access<'_>, view: &Known<'_>) -> Option<u64> {
    if (!access.at_call || view.puts_all_behind())
        && let Some(next) = Word::again(bits, access.mode, view.me())
    {
        return Some(next);
    }
    let late;
    let view = if access.at_call {
        late = view.at_call();
        &late
    } else {
        view
    };
    after(Word::unpack(bits), access.mode, view).and_then(Word::pack)
}

/// The word after a whole access of mode `mode`, if all it meets is ordered before it and a word can say it.
#[inline]
fn after<V: View>(word: Word, mode: Mode, view: &V) -> Option<Word> {
    let me = view.me();
    let next = match mode {
        Mode::Write => Word::Write(me),
        Mode::Read => Word::Read(me),
    };
    let passed = |stamp: Stamp| view.knows(stamp);
    match (word, mode) {
        (Word::Empty, _) => Some(next),
        (Word::Listed, _) => None,
        (Word::Write(stamp) | Word::Read(stamp), Mode::Write) => passed(stamp).then_some(next),
        (Word::Both { write, read }, Mode::Write) => {
            passed(Stamp { slot: write.slot, tick: read }).then_some(next)
        }
        (Word::Read(stamp), Mode::Read) => passed(stamp).then_some(next),
        // A write that is over need not be told of: what is left are reads, of which the next one costs less.
        (Word::Write(write) | Word::Both { write, .. }, Mode::Read)
            if write.slot == me.slot && passed(write) =>
        {
            Some(if view.completed(write) { next } else { Word::Both { write, read: me.tick } })
        }
        (Word::Write(write), Mode::Read) => view.completed(write).then_some(next),
        (Word::Both { write, read }, Mode::Read) => {
            let read = Stamp { slot: write.slot, tick: read };
            (view.completed(write) && passed(read)).then_some(next)
        }
    }
}
