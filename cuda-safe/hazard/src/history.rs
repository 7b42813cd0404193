//! The access history of one allocation: who last read and wrote which bytes, and which host guards are
//! alive.
#![expect(unsafe_code, reason = "declares what retained resources vouch for")]

use std::fmt;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::clock::{Epoch, TimelineId};
use crate::entry::{Conflict, FirstWrite, Interval, View};
use crate::interval_list::IntervalList;
use crate::last_access::{LISTED, LastAccess};
#[cfg(not(loom))]
use crate::lock::Lock;
use crate::mode::Mode;
// Loom checks what the lock guards here.
#[cfg(loom)]
use crate::primitives::Mutex as Lock;
use crate::primitives::{AtomicBool, AtomicU64, Once, constructor, fence};
use crate::readers::Readers;
use crate::wait_log::CallSite;

/// The access history of one allocation. Every owner of memory that a stream can reach has one.
///
/// Its address is its identity while anything on a stream uses the memory: keep it where it does not move
/// during a call, as any field of a borrowed owner does.
///
/// The fields that every operation looks at come first.
#[repr(C)]
pub struct AccessHistory {
    /// The last-access word; see [`LastAccess`].
    last_access: AtomicU64,
    /// Bytes of the allocation, or `usize::MAX` if that is not known.
    bytes: usize,
    /// Whether a graph has ever asked to retain the allocation, which may then be used without a borrow of
    /// it.
    was_retained: AtomicBool,
    /// A number that the owner stores here; see [`AccessHistory::place`].
    place: u32,
    /// The way to retain the allocation, if its owners are counted.
    retain_fn: Option<RetainFn>,
    /// The number of live host guards that read, and of those that write times [`WRITER`].
    host_guards: AtomicU64,
    /// The readers, used while the word says so: made when two streams first read without an order.
    readers: Once<Box<Readers>>,
    /// The interval list, used while the word says so. Most allocations never need one, and owners that are
    /// moved about should be small.
    list: Lock<Option<Box<IntervalList>>>,
}

/// A resource that keeps an allocation alive, and with it the allocation's access history.
///
/// # Safety
/// - [`history`](Self::history) always returns the same access history.
/// - It lives as long as the resource does, and does not move while the resource is not moved.
pub unsafe trait RetainedResource: Send + Sync {
    /// Returns the access history of the retained allocation.
    fn history(&self) -> &AccessHistory;
}

/// A function that retains an allocation once more, and the number to call it with.
pub type RetainFn = (unsafe fn(usize) -> std::sync::Arc<dyn RetainedResource>, usize);

/// Bytes of one allocation that an operation reads or writes.
///
/// `stream.enqueue` takes a list of these: the tracker orders the operation after every conflicting one.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    pub(crate) history: &'a AccessHistory,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
    pub(crate) unborrowed: bool,
    pub(crate) exclusive: bool,
    pub(crate) at_call: bool,
}

impl<'a> Access<'a> {
    /// Returns a read of the bytes `range` of the allocation of `history`.
    #[must_use]
    pub fn read(history: &'a AccessHistory, range: Range<usize>) -> Self {
        Self::new(history, range, Mode::Read)
    }

    /// Returns a write of the bytes `range`, or a read and a write.
    #[must_use]
    pub fn write(history: &'a AccessHistory, range: Range<usize>) -> Self {
        Self::new(history, range, Mode::Write)
    }

    /// Returns a read or a write of the bytes `range`. An empty range is no access.
    #[must_use]
    pub fn new(history: &'a AccessHistory, range: Range<usize>, mode: Mode) -> Self {
        Self {
            history,
            start: range.start,
            end: range.end,
            mode,
            unborrowed: false,
            exclusive: false,
            at_call: false,
        }
    }

    /// Returns the same access, made without a Rust borrow of the memory's owner: through a graph, a symbol,
    /// a mapped alias.
    ///
    /// Such an access is refused while a host guard lends conflicting bytes of the allocation.
    #[must_use]
    pub fn unborrowed(mut self) -> Self {
        self.unborrowed = true;
        self
    }

    /// Returns the same access, made through a borrow that is exclusive to every byte of the range. It is
    /// entered by one thread at a time while the borrow lasts: if the range is the whole allocation, no other
    /// thread can be entering an access of it.
    ///
    /// # Safety
    /// This holds until the operation is committed.
    #[must_use]
    #[inline]
    pub unsafe fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// Returns the same read, which the host may make during the call: a stream's copy from pinned memory to
    /// a device.
    ///
    /// The driver reads so if the stream has nothing to do, and it looks at nothing but the stream itself. An
    /// event that the stream waits for orders the read, the legacy stream's implicit order does not. So the
    /// tracker does not count on the latter.
    #[must_use]
    #[inline]
    pub fn at_call(mut self) -> Self {
        self.at_call = true;
        self
    }

    /// Returns the bytes, counted from the start of the allocation.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns whether they are read or written.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns whether the access is made [without a borrow](Self::unborrowed).
    #[must_use]
    #[inline]
    pub fn is_unborrowed(&self) -> bool {
        self.unborrowed
    }

    /// Returns whether the access covers no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Returns the access to a part of these bytes, counted from the first one: a write if this is one and
    /// `mode` is. Bytes beyond the end are left out.
    #[must_use]
    #[inline]
    pub fn part(&self, bytes: Range<usize>, mode: Mode) -> Self {
        let at = |byte: usize| self.start.saturating_add(byte).min(self.end);
        Self { start: at(bytes.start), end: at(bytes.end), ..self.in_mode(mode) }
    }

    /// Returns the access to the same bytes: a write if this is one and `mode` is.
    #[must_use]
    #[inline]
    pub fn in_mode(&self, mode: Mode) -> Self {
        let mode = if self.mode == Mode::Write { mode } else { Mode::Read };
        Self { mode, ..*self }
    }

    /// Merges an access of the same kind to the same allocation which begins within this one or at its end.
    /// Returns false, and does nothing, for any other access.
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

    /// Returns whether the other access is of the same allocation and the same kind: the two differ only in
    /// their bytes.
    #[must_use]
    #[inline]
    pub fn is_like(&self, other: &Self) -> bool {
        let kind = |of: &Self| (of.mode, of.unborrowed, of.exclusive, of.at_call);
        std::ptr::eq(self.history, other.history) && kind(self) == kind(other)
    }

    /// Returns whether the two have a byte in common, whatever they do with it.
    #[must_use]
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        std::ptr::eq(self.history, other.history) && self.start.max(other.start) < self.end.min(other.end)
    }

    /// Returns whether both are accesses to parts of one allocation, which are entered in one step.
    #[inline]
    pub(crate) fn is_part_beside(&self, other: &Self) -> bool {
        std::ptr::eq(self.history, other.history) && !self.is_whole() && !other.is_whole()
    }

    /// Returns whether the tracker enters this access before the other: accesses that are listed in that
    /// order need not be sorted.
    #[must_use]
    #[inline]
    pub fn is_before(&self, other: &Self) -> bool {
        (self.address(), self.start) < (other.address(), other.start)
    }

    /// Returns the access history of the allocation.
    pub fn history(&self) -> &'a AccessHistory {
        self.history
    }

    /// Returns the address of the access history, by which all operations enter allocations in one order.
    #[inline]
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self.history).addr()
    }

    /// Returns whether the access covers all bytes of its allocation, and the allocation has some.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        let bytes = self.history.bytes;
        self.start == 0 && self.end >= bytes && bytes != 0
    }

    /// Returns the bytes within the allocation, and the mode.
    #[inline]
    pub(crate) fn interval(&self) -> Interval {
        Interval { start: self.start, end: self.end.min(self.history.bytes), mode: self.mode }
    }
}

impl fmt::Debug for Access<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}..{} of {:#x}", self.mode, self.start, self.end, self.address())
    }
}

/// The result of entering an access in the last-access word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is entered.
    Entered,
    /// The access is not entered: it is not ordered after this epoch.
    Behind(Epoch),
    /// The access is not entered for another reason.
    Unclear,
    /// The access may be found, but an access of another kind may have come first, or only some of several
    /// accesses are entered: the operation gives its sequence number up.
    Overtaken,
}

impl AccessHistory {
    constructor! {
        /// Creates an access history for an allocation of `bytes` bytes: an access to all of them then costs
        /// one atomic step.
        ///
        /// Pass `usize::MAX` if the length is not known.
        #[must_use]
        pub fn new(bytes: usize) -> Self {
            Self {
                last_access: AtomicU64::new(0),
                host_guards: AtomicU64::new(0),
                bytes,
                readers: Once::new(),
                list: Lock::new(None),
                retain_fn: None,
                was_retained: AtomicBool::new(false),
                place: 0,
            }
        }
    }

    /// Creates an access history for an allocation of `bytes` bytes that an operation on a stream has made.
    #[inline]
    pub fn written(bytes: usize, first: FirstWrite) -> Self {
        let (last_access, list) = match LastAccess::Write(first.epoch).pack() {
            Some(bits) if first.call_site.is_none() => (bits, None),
            _ => (LISTED, Some(Box::new(IntervalList::written(bytes, first)))),
        };
        Self { last_access: AtomicU64::new(last_access), list: Lock::new(list), ..Self::new(bytes) }
    }

    /// Sets the number that [`place`](Self::place) returns.
    #[inline]
    pub fn set_place(&mut self, place: u32) {
        self.place = place;
    }

    /// Returns a number that says where the allocation is, to whoever sets it. It is 0 at first, and next to
    /// what every operation reads.
    #[inline]
    pub fn place(&self) -> u32 {
        self.place
    }

    /// Sets the way to retain the allocation: without one, graphs cannot use it.
    ///
    /// # Safety
    /// - The function may be called with the number for as long as the allocation's owner is borrowed.
    /// - It returns a resource that retains the allocation of this access history.
    #[inline]
    pub unsafe fn set_retain_fn(&mut self, retain_fn: RetainFn) {
        self.retain_fn = Some(retain_fn);
    }

    /// Removes the way to retain the allocation.
    pub fn clear_retain_fn(&mut self) {
        self.retain_fn = None;
    }

    /// Returns the way to retain the allocation. The caller borrows the memory while it calls the function.
    pub fn retain_fn(&self) -> Option<RetainFn> {
        // A later borrow of the memory happens after this store.
        self.was_retained.store(true, Relaxed);
        self.retain_fn
    }

    /// Returns whether the history has no access: nothing conflicts with whatever is done to the memory.
    #[inline]
    pub fn is_unused(&self) -> bool {
        self.last_access.load(SeqCst) == 0
    }

    /// Returns the timeline that made every access which has not completed. Returns `None` if there are
    /// several, or none.
    #[inline]
    pub(crate) fn only_user(&self, completed: impl Fn(Epoch) -> bool) -> Option<TimelineId> {
        match LastAccess::unpack(self.bits()) {
            LastAccess::Shared { .. } => None,
            LastAccess::Listed => self.listed(&mut self.list.lock())?.only_user(completed),
            last_access => {
                let (write, read) = last_access.parts();
                Some(write.or(read)?.timeline)
            }
        }
    }

    /// Enters the accesses `group`, all of this access history, in one step, and collects the conflicts with
    /// earlier accesses.
    #[inline]
    pub(crate) fn enter<V: View>(
        &self,
        group: &[Access<'_>],
        view: &V,
        call_site: Option<CallSite>,
        out: &mut Vec<Conflict>,
    ) {
        if call_site.is_none()
            && let Some(mode) = mode_of_whole(group)
        {
            let alone = matches!(group, [access] if self.is_its_own(access.exclusive));
            let mut bits = self.last_access.load(Acquire);
            while let Some(next) = after(LastAccess::unpack(bits), mode, view).ok().and_then(LastAccess::pack)
            {
                if alone {
                    self.last_access.store(next, Release);
                    return;
                }
                match self.last_access.compare_exchange_weak(bits, next, SeqCst, Acquire) {
                    Ok(_) => return,
                    Err(found) => bits = found,
                }
            }
            if mode == Mode::Read && self.enter_read(view, out) {
                return;
            }
        }
        self.enter_together(std::iter::once((group, view, out)), call_site);
    }

    /// Enters a read of the whole allocation among the readers, and collects the conflict with the write
    /// before them. Returns false, with nothing entered, if the interval list has to take it.
    #[cold]
    #[inline(never)]
    fn enter_read<V: View>(&self, view: &V, out: &mut Vec<Conflict>) -> bool {
        let mut readers = self.readers.get_or_init(|| Box::new(Readers::new())).lock();
        loop {
            let bits = self.last_access.load(Acquire);
            let last_access = LastAccess::unpack(bits);
            let (write, earlier) = last_access.parts();
            match last_access {
                LastAccess::Empty | LastAccess::Listed => return false,
                LastAccess::Shared { .. } => {}
                _ => readers.begin(earlier),
            }
            let write = write.filter(|write| !view.completed(*write));
            let Some(shared) = (LastAccess::Shared { write }).pack() else { return false };
            if self.last_access.compare_exchange(bits, shared, SeqCst, Acquire).is_err() {
                continue;
            }
            let is_entered = readers.add(view.me(), |last| view.is_after(last));
            if is_entered {
                let conflict = write.filter(|write| !view.is_after(*write));
                out.extend(conflict.map(|epoch| Conflict { epoch, call_site: None }));
            }
            return is_entered;
        }
    }

    /// Enters an access to the whole allocation while the readers are in use: one more read of a stream that
    /// is among them, or an exclusive write that is ordered after all of them. Otherwise, and if the write
    /// before them is not ordered before it, the access is left to the slow path. `view` is that for the
    /// access.
    #[inline(never)]
    pub(crate) fn enter_beside_readers<V: View>(&self, access: &Access<'_>, view: &V) -> Next {
        let bits = self.last_access.load(Acquire);
        let (LastAccess::Shared { write }, Some(readers)) = (LastAccess::unpack(bits), self.readers.get())
        else {
            return Next::Unclear;
        };
        let is_after = |epoch| view.is_after(epoch);
        if !write.is_none_or(is_after) {
            return Next::Unclear;
        }
        if access.mode == Mode::Read {
            let is_current = || self.last_access.load(Acquire) == bits;
            return match readers.read_again(view.me(), is_after, is_current) {
                Some(true) => Next::Entered,
                Some(false) => Next::Overtaken,
                None => Next::Unclear,
            };
        }
        let readers = readers.lock();
        match LastAccess::Write(view.me()).pack() {
            Some(next) if self.is_its_own(access.exclusive) && readers.reads().all(is_after) => {
                self.last_access.store(next, Release);
                readers.end(|_| Next::Entered)
            }
            _ => Next::Unclear,
        }
    }

    /// Returns the bits of the last-access word.
    #[inline]
    pub(crate) fn bits(&self) -> u64 {
        self.last_access.load(Acquire)
    }

    /// Enters an access to the whole allocation by replacing the word `bits` with `next`. Returns false, and
    /// does nothing, if the word is no longer `bits`. `exclusive` is that of the access.
    #[inline]
    pub(crate) fn replace(&self, bits: u64, next: u64, exclusive: bool) -> bool {
        if !self.is_its_own(exclusive) {
            return self.last_access.compare_exchange(bits, next, SeqCst, Acquire).is_ok();
        }
        self.last_access.store(next, Release);
        true
    }

    /// Enters accesses, all of this access history, in the interval list if everything that they conflict
    /// with is ordered before them, by the `view` for the accesses. Waits for no operation.
    ///
    /// A program may use parts of an allocation and the whole of it in turn. So a part has the list take the
    /// last-access word over, if there was a list before.
    pub(crate) fn enter_parts<V: View>(&self, group: &[Access<'_>], view: &V) -> Next {
        let Some(mut list) = self.list.try_lock() else { return Next::Unclear };
        let Some(list) = list.as_deref_mut() else { return Next::Unclear };
        let bits = self.last_access.load(SeqCst);
        if bits != LISTED {
            // The first use of an allocation is left to the slow path.
            if bits == 0 {
                return Next::Unclear;
            }
            self.leave_word(list);
        }
        match list.enter_ordered(group.iter().map(Access::interval), view) {
            0 => Next::Unclear,
            entered if entered < group.len() => Next::Overtaken,
            _ => Next::Entered,
        }
    }

    /// Enters an access to the whole allocation as [`enter_parts`](Self::enter_parts) does, if the interval
    /// list is in use. Returns to the last-access word if that can hold everything.
    #[cold]
    pub(crate) fn enter_whole_listed<V: View>(&self, access: &Access<'_>, view: &V) -> bool {
        let Some(mut list) = self.list.try_lock() else { return false };
        let Some(list) = self.listed(&mut list) else { return false };
        let is_entered = list.enter_ordered(std::iter::once(access.interval()), view) == 1;
        self.shorten(list);
        is_entered
    }

    /// Enters an access to the whole allocation by the timeline that made the last one, if
    /// [`LastAccess::repeated`] covers it. Returns false, with nothing entered, if it does not.
    #[inline]
    pub(crate) fn enter_repeated(&self, access: &Access<'_>, me: Epoch) -> bool {
        let bits = self.last_access.load(Acquire);
        let next = LastAccess::repeated(bits, access.mode, me);
        next.is_some_and(|next| self.replace(bits, next, access.exclusive))
    }

    /// Enters one access to the whole allocation if everything in the last-access word is ordered before it,
    /// by the `view` for the access, and the word can hold the result. Otherwise does nothing.
    #[inline(never)]
    pub(crate) fn enter_next<V: View>(&self, access: &Access<'_>, view: &V) -> Next {
        if !access.is_whole() {
            return Next::Unclear;
        }
        let bits = self.last_access.load(Acquire);
        match after(LastAccess::unpack(bits), access.mode, view).map(LastAccess::pack) {
            Ok(Some(next)) if self.replace(bits, next, access.exclusive) => Next::Entered,
            Err(Some(epoch)) => Next::Behind(epoch),
            _ => Next::Unclear,
        }
    }

    /// Returns whether no other thread looks at the last-access word before the borrow ends by which an
    /// access is made; `exclusive` is that of the access. A later borrow of the memory sees what was stored.
    #[inline]
    fn is_its_own(&self, exclusive: bool) -> bool {
        exclusive && !self.was_retained.load(Relaxed)
    }

    /// Returns the operation that an access of mode `mode` comes after, and therefore after all others, if
    /// there is one. Returns `None` if the last-access word does not tell.
    #[inline]
    pub(crate) fn before(&self, mode: Mode) -> Option<Option<Epoch>> {
        let last_access = LastAccess::unpack(self.bits());
        let (write, read) = last_access.parts();
        match (last_access, mode) {
            (LastAccess::Listed, _) | (LastAccess::Shared { .. }, Mode::Write) => None,
            (_, Mode::Read) => Some(write),
            (_, Mode::Write) => Some(read.or(write)),
        }
    }

    /// Enters the accesses of several streams to this allocation in one step, in the interval list. Each
    /// comes with its view and the list that collects its conflicts with earlier accesses.
    #[cold]
    pub(crate) fn enter_together<'b, V: View + 'b>(
        &self,
        groups: impl Iterator<Item = (&'b [Access<'b>], &'b V, &'b mut Vec<Conflict>)>,
        call_site: Option<CallSite>,
    ) {
        let mut list = self.list.lock();
        let list = list.get_or_insert_with(|| Box::new(IntervalList::new(self.bytes)));
        self.leave_word(list);
        for (group, view, out) in groups {
            list.enter(group.iter().map(Access::interval), view, call_site, out);
        }
        self.shorten(list);
    }

    /// Has the list, whose lock is held, take over what the last-access word and the readers hold, unless the
    /// list is in use.
    #[cold]
    fn leave_word(&self, list: &mut IntervalList) {
        let mut bits = self.last_access.load(Acquire);
        // Only the holder of the list's lock leaves the list for the word. The word is left when this
        // exchange succeeds.
        while bits != LISTED {
            match self.last_access.compare_exchange_weak(bits, LISTED, SeqCst, Acquire) {
                Ok(_) => {
                    let last_access = LastAccess::unpack(bits);
                    match (last_access, self.readers.get()) {
                        (LastAccess::Shared { .. }, Some(readers)) => {
                            readers.lock().end(|readers| list.take_over(last_access, readers.reads()))
                        }
                        _ => list.take_over(last_access, std::iter::empty()),
                    }
                    break;
                }
                Err(found) => bits = found,
            }
        }
    }

    /// Returns to the last-access word if that can hold everything in the list.
    fn shorten(&self, list: &mut IntervalList) {
        if let Some(bits) = list.give_up() {
            self.last_access.store(bits, Release);
        }
    }

    /// Drops what `group`, entered before with conflicts, has made redundant now that its waits are in place.
    pub(crate) fn settle<V: View>(&self, group: &[Access<'_>], view: &V) {
        let mut list = self.list.lock();
        let Some(list) = self.listed(&mut list) else { return };
        for access in group {
            list.settle(access.interval(), view);
        }
        self.shorten(list);
    }

    /// Collects what `interval` conflicts with and `ordered` returns false for, and enters nothing.
    pub(crate) fn conflicts(
        &self,
        interval: Interval,
        ordered: impl Fn(Epoch) -> bool,
        out: &mut Vec<Conflict>,
    ) {
        let mut add = |mode: Mode, epoch: Epoch| {
            if (interval.writes() || mode == Mode::Write) && !ordered(epoch) {
                out.push(Conflict { epoch, call_site: None });
            }
        };
        let bits = self.last_access.load(SeqCst);
        let last_access = LastAccess::unpack(bits);
        let (write, read) = last_access.parts();
        match last_access {
            LastAccess::Listed => {
                if let Some(list) = self.listed(&mut self.list.lock()) {
                    return list.conflicts(interval, ordered, out);
                }
            }
            LastAccess::Shared { .. } => {
                if let Some(readers) = self.readers.get()
                    && let locked = readers.lock()
                    && self.last_access.load(SeqCst) == bits
                {
                    write.into_iter().for_each(|write| add(Mode::Write, write));
                    return locked.reads().for_each(|read| add(Mode::Read, read));
                }
            }
            _ => {
                write.into_iter().for_each(|write| add(Mode::Write, write));
                return read.into_iter().for_each(|read| add(Mode::Read, read));
            }
        }
        // The word has replaced the list, or another access has ended the period, in between.
        self.conflicts(interval, ordered, out);
    }

    /// Drops accesses that have completed, so that a quiet allocation returns to its last-access word.
    pub(crate) fn prune(&self, completed: impl Fn(Epoch) -> bool) {
        if self.last_access.load(Acquire) != LISTED {
            return;
        }
        let mut list = self.list.lock();
        if let Some(list) = self.listed(&mut list) {
            list.prune(completed);
            self.shorten(list);
        }
    }

    /// Returns the interval list, if it is in use.
    fn listed<'a>(&self, list: &'a mut Option<Box<IntervalList>>) -> Option<&'a mut IntervalList> {
        // The word says so only once there is a list, and changes only under the list's lock.
        if self.last_access.load(SeqCst) != LISTED {
            return None;
        }
        list.as_deref_mut()
    }

    /// Counts a host guard. Call it before looking for conflicts, so that either side sees the other. Returns
    /// false if there are so many that some must have been forgotten.
    #[must_use]
    pub fn add_host_guard(&self, mode: Mode) -> bool {
        let before = self.host_guards.fetch_add(weight(mode), SeqCst);
        // Pairs with the fence of the operation that enters an access: either the host then finds the epoch,
        // or the operation finds the guard.
        fence(SeqCst);
        let fits = before % WRITER < LIMIT && before / WRITER < LIMIT;
        if !fits {
            self.host_guards.fetch_sub(weight(mode), SeqCst);
        }
        fits
    }

    /// Removes a host guard from the count.
    ///
    /// # Safety
    /// The guard was counted, and lends no memory any more.
    pub unsafe fn remove_host_guard(&self, mode: Mode) {
        self.host_guards.fetch_sub(weight(mode), SeqCst);
    }

    /// Returns whether a live host guard conflicts with an access that no Rust borrow keeps away from it. If
    /// the access has been entered, ask after a fence: either the guard is then found, or a thread that takes
    /// a guard finds the access.
    #[inline]
    pub(crate) fn has_conflicting_guard(&self, mode: Mode) -> bool {
        let guards = self.host_guards.load(SeqCst);
        match mode {
            Mode::Read => guards >= WRITER,
            Mode::Write => guards != 0,
        }
    }

    /// Returns how many host guards are alive, for tests and messages.
    #[must_use]
    pub fn host_guards(&self) -> u64 {
        let guards = self.host_guards.load(Relaxed);
        guards / WRITER + guards % WRITER
    }
}

impl fmt::Debug for AccessHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessHistory")
            .field("accesses", &LastAccess::unpack(self.last_access.load(Relaxed)))
            .field("host_guards", &self.host_guards())
            .finish()
    }
}

/// Returns the mode of all accesses of a group together, if each of them covers the whole allocation.
#[inline]
fn mode_of_whole(group: &[Access<'_>]) -> Option<Mode> {
    if !group.iter().all(Access::is_whole) {
        return None;
    }
    let writes = group.iter().any(|access| access.mode == Mode::Write);
    Some(if writes { Mode::Write } else { Mode::Read })
}

/// Returns the last-access word after a whole access of mode `mode`. If the access is not ordered after an
/// epoch in the word that it conflicts with, returns that epoch as the error; if no word can hold the
/// result, returns no epoch.
#[inline]
fn after<V: View>(last_access: LastAccess, mode: Mode, view: &V) -> Result<LastAccess, Option<Epoch>> {
    if matches!(last_access, LastAccess::Listed | LastAccess::Shared { .. }) {
        return Err(None);
    }
    let (me, (write, read)) = (view.me(), last_access.parts());
    let ordered = |epoch: Option<Epoch>| match epoch {
        Some(epoch) if !view.is_after(epoch) => Err(Some(epoch)),
        _ => Ok(()),
    };
    if mode == Mode::Write {
        return ordered(read.or(write)).map(|()| LastAccess::Write(me));
    }
    // A completed write can be dropped from the word: what is left are reads, after which the next one costs
    // less.
    match write.filter(|write| !view.completed(*write)) {
        // Two reads have no conflict, but only the later one of an order stays in the word.
        None => ordered(read).map(|()| LastAccess::Read(me)).map_err(|_| None),
        Some(write) => {
            ordered(Some(write))?;
            let is_own = write.timeline == me.timeline;
            if is_own { Ok(LastAccess::Both { write, read: me.sequence }) } else { Err(None) }
        }
    }
}

/// A guard that writes adds this to the count; a reader adds one.
const WRITER: u64 = 1 << 32;

/// The most guards of one kind, so that forgotten ones can never make the count wrap.
const LIMIT: u64 = 1 << 31;

/// Returns what a guard adds to the count.
fn weight(mode: Mode) -> u64 {
    match mode {
        Mode::Read => 1,
        Mode::Write => WRITER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval_list::tests::SingleStream;
    use crate::primitives::in_a_test;

    #[test]
    fn a_part_and_the_whole_are_entered_in_turn_without_the_slow_path() {
        in_a_test(|| {
            let history = AccessHistory::new(200);
            let view = |sequence| SingleStream(Epoch { timeline: TimelineId(1), sequence });
            let (part, whole) = (Access::write(&history, 0..50), Access::write(&history, 0..200));
            assert_eq!(history.enter_parts(&[part], &view(1)), Next::Unclear, "there is no list yet");
            let mut conflicts = Vec::new();
            history.enter(&[part], &view(1), None, &mut conflicts);
            for sequence in [2, 4, 6] {
                assert!(history.enter_whole_listed(&whole, &view(sequence)));
                let word = LastAccess::unpack(history.bits());
                assert!(matches!(word, LastAccess::Write(epoch) if epoch.sequence == sequence));
                assert!(!history.enter_whole_listed(&whole, &view(sequence)), "the word is in use");
                assert_eq!(history.enter_parts(&[part], &view(sequence + 1)), Next::Entered);
                assert_eq!(history.bits(), LISTED);
            }
            history.conflicts(whole.interval(), |_| false, &mut conflicts);
            let sequences: Vec<_> = conflicts.iter().map(|conflict| conflict.epoch.sequence).collect();
            assert_eq!(sequences, [7, 6]);
            // What another stream did is in the way, and stays.
            let other = SingleStream(Epoch { timeline: TimelineId(2), sequence: 1 });
            assert_eq!(history.enter_parts(&[part], &other), Next::Unclear);
            assert!(!history.enter_whole_listed(&whole, &other));
        });
    }

    #[test]
    fn parts_are_entered_up_to_the_first_that_is_not_ordered() {
        in_a_test(|| {
            let history = AccessHistory::new(100);
            let by = |timeline, sequence| SingleStream(Epoch { timeline: TimelineId(timeline), sequence });
            let all = [(0, 10), (20, 30), (30, 40)].map(|(start, end)| Access::write(&history, start..end));
            let last = |byte| {
                let mut out = Vec::new();
                history.conflicts(Access::read(&history, byte..byte + 1).interval(), |_| false, &mut out);
                out.iter().map(|conflict| (conflict.epoch.timeline.0, conflict.epoch.sequence)).max()
            };
            history.enter(&all, &by(1, 1), None, &mut Vec::new());
            assert_eq!(history.enter_parts(&all, &by(1, 2)), Next::Entered);
            assert_eq!(history.enter_parts(&all, &by(2, 1)), Next::Unclear);
            assert_eq!([5, 15, 25, 35].map(last), [Some((1, 2)), None, Some((1, 2)), Some((1, 2))]);
            // Bytes of another stream are in the way of the second one.
            history.enter(&[Access::write(&history, 25..26)], &by(2, 2), None, &mut Vec::new());
            assert_eq!(history.enter_parts(&all, &by(1, 3)), Next::Overtaken);
            assert_eq!([5, 22, 25, 35].map(last), [Some((1, 3)), Some((1, 2)), Some((2, 2)), Some((1, 2))]);
            // Bytes of one segment, of two, and of a part of one.
            for part in [30..40, 15..24, 33..35] {
                assert_eq!(history.enter_parts(&[Access::write(&history, part)], &by(1, 4)), Next::Entered);
            }
            assert_eq!([22, 24, 33, 36].map(last), [4, 2, 4, 4].map(|sequence| Some((1, sequence))));
        });
    }
}
