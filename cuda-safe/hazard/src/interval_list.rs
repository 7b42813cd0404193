//! The interval list: who accessed which bytes of one allocation.
//!
//! The bytes are cut into *segments*, which neither overlap nor leave gaps. A segment has the accesses to
//! its bytes that still matter, as a whole allocation has: as a rule its last write, and the reads since. An
//! access cuts at its first byte and behind its last one, and the cuts stay. So a program that uses the same
//! parts again finds their segments, and stores one epoch in each.
//!
//! Accesses to the whole allocation stand beside the segments. They are compared with the *joined clocks* of
//! everything that was entered in segments, and not with each segment. A write that is ordered after all of
//! it begins a new *generation*: the entries of earlier generations are redundant, and their segments count
//! as empty.
//!
//! # Which cuts are forgotten
//! An access that goes on over a cut looks at both sides of it. If no access has begun there since the last
//! one that went on over it, and both sides have the same entries, the two segments become one, and nothing
//! is lost. So for each time that a cut is used, it costs the accesses that go on over it twice at most.

use std::collections::BTreeSet;

use crate::clock::{Epoch, TimelineId, VectorClock};
use crate::entry::{AccessEntry, Conflict, Entries, FirstWrite, Interval, View};
use crate::hash::AddressMap;
use crate::last_access::LastAccess;
use crate::mode::Mode;
use crate::wait_log::CallSite;

/// With more segments than this, the list is compacted.
const COMPACT_AT: usize = 8_192;

/// With more segments than this that are in use, what was entered in them counts for the whole allocation:
/// the list then has 9 MiB.
const AT_MOST: usize = 65_536;

/// Neighbouring bytes with the same accesses.
#[derive(Debug)]
struct Segment {
    start: usize,
    end: usize,
    /// The position of the segment behind it; of the last one, that of the first.
    next: usize,
    /// The generation of the entries.
    generation: u64,
    /// Whether an access has begun here since the last one that went on over the first byte.
    is_used: bool,
    entries: Entries,
}

impl Segment {
    /// Drops the entries of an earlier generation.
    #[inline]
    fn begin(&mut self, generation: u64) {
        if self.generation != generation {
            self.generation = generation;
            self.entries.clear();
        }
    }
}

/// The accesses of one allocation.
#[derive(Debug)]
pub(crate) struct IntervalList {
    /// The bytes of the allocation.
    bytes: usize,
    /// The accesses to all of them.
    whole: Entries,
    /// In any order; the first one has the first byte.
    segments: Vec<Segment>,
    /// The first bytes of the segments.
    starts: BTreeSet<usize>,
    /// The positions of the segments, by their first bytes.
    positions: AddressMap<usize>,
    /// The positions that are not in use.
    free: Vec<usize>,
    generation: u64,
    /// The joined clocks of the reads and of the writes that were entered in segments of this generation.
    reads: VectorClock,
    writes: VectorClock,
    /// The number of segments at which to compact next.
    limit: usize,
}

impl IntervalList {
    /// Creates the empty list of an allocation of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut list = Self {
            bytes,
            whole: Entries::default(),
            segments: Vec::new(),
            starts: BTreeSet::new(),
            positions: AddressMap::default(),
            free: Vec::new(),
            generation: 0,
            reads: VectorClock::new(),
            writes: VectorClock::new(),
            limit: COMPACT_AT,
        };
        list.forget_segments();
        list
    }

    /// Creates the list of an allocation of `bytes` bytes that an operation has made.
    #[cold]
    pub(crate) fn written(bytes: usize, first: FirstWrite) -> Self {
        let mut list = Self::new(bytes);
        list.whole.join(AccessEntry::new(Mode::Write, first.epoch, first.call_site));
        list
    }

    /// Takes over the accesses of the last-access word, and the `reads` of several streams. The list must be
    /// empty.
    pub(crate) fn take_over(&mut self, last_access: LastAccess, reads: impl Iterator<Item = Epoch>) {
        self.whole = Entries::new(last_access, reads);
    }

    /// Returns the last-access word that holds everything in the list, and empties the list, if there is such
    /// a word. The cuts stay.
    pub(crate) fn give_up(&mut self) -> Option<u64> {
        if self.joined(Mode::Write).next().is_some() {
            return None;
        }
        let bits = self.whole.last_access()?.pack()?;
        self.whole = Entries::default();
        Some(bits)
    }

    /// Returns the timeline that made every access which has not completed. Returns `None` if there are
    /// several, or none.
    pub(crate) fn only_user(&self, completed: impl Fn(Epoch) -> bool) -> Option<TimelineId> {
        let parts = self.live(0, self.bytes).flat_map(|segment| segment.entries.iter());
        let epochs = self.whole.iter().chain(parts).map(|entry| entry.epoch());
        let mut users = epochs.filter(|epoch| !completed(*epoch)).map(|epoch| epoch.timeline);
        let first = users.next()?;
        users.all(|user| user == first).then_some(first)
    }

    /// Drops what has completed.
    pub(crate) fn prune(&mut self, completed: impl Fn(Epoch) -> bool) {
        self.whole.prune(&completed);
        if self.joined(Mode::Write).all(completed) {
            self.begin_generation();
        }
    }

    #[inline]
    fn is_whole(&self, interval: Interval) -> bool {
        interval.start == 0 && interval.end == self.bytes
    }

    /// Returns the joined clocks of what an access of mode `mode` to the whole conflicts with in segments.
    #[inline]
    fn joined(&self, mode: Mode) -> impl Iterator<Item = Epoch> {
        let reads = (mode == Mode::Write).then(|| self.reads.iter());
        self.writes.iter().chain(reads.into_iter().flatten())
    }

    /// Returns whether everything in segments that an access of mode `mode` to the whole conflicts with is
    /// ordered before it. What the operation itself has entered hides what stood there before.
    #[inline]
    fn are_before<V: View>(&self, mode: Mode, view: &V) -> bool {
        self.joined(mode).all(|epoch| view.is_after(epoch) && epoch != view.me())
    }

    /// Makes everything in segments redundant.
    fn begin_generation(&mut self) {
        self.generation += 1;
        self.reads.clear();
        self.writes.clear();
    }
}

/// The accesses.
impl IntervalList {
    /// Enters accesses as long as each is ordered after everything that it conflicts with. Returns how many
    /// are entered: none if the list is so long that it has to be compacted.
    pub(crate) fn enter_ordered<V: View>(
        &mut self,
        intervals: impl ExactSizeIterator<Item = Interval> + Clone,
        view: &V,
    ) -> usize {
        let mode = || if intervals.clone().any(Interval::writes) { Mode::Write } else { Mode::Read };
        let is_ordered = self.whole.are_own(view) || self.whole.are_before(mode(), view);
        if !is_ordered || self.len() + 2 * intervals.len() > self.limit {
            return 0;
        }
        let (me, by_own_order) = (view.me(), view.is_after_own());
        let (mut entered, mut read, mut written) = (0, false, false);
        for interval in intervals {
            if by_own_order && self.enter_again(interval, me) {
                written |= interval.writes();
                read |= !interval.writes();
            } else if !self.enter_one_ordered(interval, view) {
                break;
            }
            entered += 1;
        }
        if read {
            self.reads.add(me);
        }
        if written {
            self.writes.add(me);
        }
        entered
    }

    /// Enters an access to the bytes of one segment, which only the operation's own stream has accessed since
    /// the last access to the whole. Returns false, with nothing entered, for any other. The caller adds the
    /// operation to the joined clock.
    ///
    /// The steady state of most programs: one comparison and one store.
    #[expect(clippy::inline_always, reason = "measured: a call costs a third of it")]
    #[inline(always)]
    fn enter_again(&mut self, interval: Interval, me: Epoch) -> bool {
        let at = self.positions.get(&interval.start);
        let Some(segment) = at.and_then(|at| self.segments.get_mut(*at)) else { return false };
        if segment.end != interval.end {
            return false;
        }
        segment.begin(self.generation);
        let is_entered = segment.entries.enter_own(interval.mode, me);
        segment.is_used |= is_entered;
        is_entered
    }

    /// Enters an access to a part, or to the whole, if everything that it conflicts with in segments is
    /// ordered before it.
    #[inline(never)]
    fn enter_one_ordered<V: View>(&mut self, interval: Interval, view: &V) -> bool {
        let mode = interval.mode;
        let new = AccessEntry::new(mode, view.me(), None);
        if interval.is_empty() {
            return false;
        }
        if self.is_whole(interval) {
            let is_ordered = self.are_before(mode, view);
            if is_ordered {
                self.put_whole(new, view);
            }
            return is_ordered;
        }
        let first = self.cut_out(interval);
        let is_ordered = self.live(first, interval.end).all(|segment| segment.entries.are_before(mode, view));
        if is_ordered {
            self.put(first, interval.end, new, view);
        }
        is_ordered
    }

    /// Enters accesses, and collects what they conflict with.
    pub(crate) fn enter<V: View>(
        &mut self,
        intervals: impl Iterator<Item = Interval> + Clone,
        view: &V,
        call_site: Option<CallSite>,
        out: &mut Vec<Conflict>,
    ) {
        for interval in intervals.clone() {
            self.conflicts(interval, |epoch| view.is_after(epoch), out);
        }
        for interval in intervals.filter(|interval| !interval.is_empty()) {
            let new = AccessEntry::new(interval.mode, view.me(), call_site);
            if self.is_whole(interval) {
                self.put_whole(new, view);
            } else {
                let first = self.cut_out(interval);
                self.put(first, interval.end, new, view);
            }
        }
        if self.len() > self.limit {
            self.compact(|epoch| view.completed(epoch));
        }
    }

    /// Collects what `interval` conflicts with and `ordered` returns false for, and changes nothing.
    pub(crate) fn conflicts(
        &self,
        interval: Interval,
        ordered: impl Fn(Epoch) -> bool,
        out: &mut Vec<Conflict>,
    ) {
        let mode = interval.mode;
        if interval.is_empty() {
            return;
        }
        let mut add = |entries: &Entries| {
            let found = entries.iter().filter(|entry| entry.conflicts(mode) && !ordered(entry.epoch()));
            out.extend(found.map(|entry| entry.as_conflict()));
        };
        if !(self.is_whole(interval) && self.joined(mode).all(&ordered)) {
            let segments = self.live(self.position(interval.start), interval.end);
            segments.for_each(|segment| add(&segment.entries));
        }
        add(&self.whole);
    }

    /// Enters an access to the whole, and drops what it makes redundant.
    fn put_whole<V: View>(&mut self, new: AccessEntry, view: &V) {
        self.whole.enter(new, view);
        if new.mode == Mode::Write && self.are_before(Mode::Write, view) {
            self.begin_generation();
        }
    }

    /// Enters an access to the segments from `at` on that begin before `end`, and drops what it makes
    /// redundant.
    #[inline]
    fn put<V: View>(&mut self, mut at: usize, end: usize, new: AccessEntry, view: &V) {
        let clock = if new.mode == Mode::Write { &mut self.writes } else { &mut self.reads };
        clock.add(new.epoch());
        self.segments[at].is_used = true;
        let goes_on = self.segments[at].end < end;
        loop {
            self.absorb(at, end);
            let segment = &mut self.segments[at];
            segment.begin(self.generation);
            // What is left of different writes is then the same.
            if goes_on {
                segment.entries.prune(|epoch| view.completed(epoch));
            }
            segment.entries.enter(new, view);
            if segment.end >= end {
                break;
            }
            at = segment.next;
        }
    }

    /// Drops what `interval`, entered before, has made redundant now that its waits are in place.
    pub(crate) fn settle<V: View>(&mut self, interval: Interval, view: &V) {
        if self.is_whole(interval) {
            self.whole.settle(interval.mode, view);
            if interval.writes() && self.are_before(Mode::Write, view) {
                self.begin_generation();
            }
            return;
        }
        let mut at = self.cut_out(interval);
        loop {
            let segment = &mut self.segments[at];
            segment.entries.settle(interval.mode, view);
            if segment.end >= interval.end {
                return;
            }
            at = segment.next;
        }
    }
}

/// The segments.
impl IntervalList {
    /// Returns how many segments there are.
    #[inline]
    fn len(&self) -> usize {
        self.segments.len() - self.free.len()
    }

    /// Returns the position of the segment that has the byte.
    #[inline]
    fn position(&self, byte: usize) -> usize {
        let found = self.positions.get(&byte).or_else(|| {
            let start = self.starts.range(..byte).next_back()?;
            self.positions.get(start)
        });
        found.copied().unwrap_or(0)
    }

    /// Returns the segments from a position on that begin before `end` and have entries.
    #[inline]
    fn live(&self, first: usize, end: usize) -> impl Iterator<Item = &Segment> {
        let segment = |at: usize| self.segments.get(at);
        let all =
            std::iter::successors(
                segment(first),
                move |last| {
                    if last.end < end { segment(last.next) } else { None }
                },
            );
        all.filter(|segment| segment.generation == self.generation)
    }

    /// Makes segments begin at the first byte and behind the last one. Returns the position of the first.
    #[inline]
    fn cut_out(&mut self, interval: Interval) -> usize {
        let first = self.cut(interval.start);
        if self.segments[first].end != interval.end && interval.end < self.bytes {
            self.cut(interval.end);
        }
        first
    }

    /// Makes a segment begin at a byte, and returns its position.
    #[inline]
    fn cut(&mut self, byte: usize) -> usize {
        let at = self.position(byte);
        if self.segments[at].start == byte { at } else { self.split(at, byte) }
    }

    #[cold]
    fn split(&mut self, at: usize, byte: usize) -> usize {
        let position = self.free.pop().unwrap_or(self.segments.len());
        let old = &mut self.segments[at];
        let new = Segment { start: byte, is_used: false, entries: old.entries.clone(), ..*old };
        (old.end, old.next) = (byte, position);
        match self.segments.get_mut(position) {
            Some(free) => *free = new,
            None => self.segments.push(new),
        }
        self.starts.insert(byte);
        self.positions.insert(byte, position);
        position
    }

    /// Makes the segments behind `at` that begin before `end` one with it, up to the first cut that is not
    /// forgotten.
    fn absorb(&mut self, at: usize, end: usize) {
        while self.segments[at].end < end {
            let position = self.segments[at].next;
            let Ok([segment, next]) = self.segments.get_disjoint_mut([at, position]) else { return };
            let is_used = std::mem::take(&mut next.is_used);
            if is_used || (segment.generation, &segment.entries) != (next.generation, &next.entries) {
                return;
            }
            (segment.end, segment.next) = (next.end, next.next);
            self.starts.remove(&next.start);
            self.positions.remove(&next.start);
            self.free.push(position);
        }
    }

    /// Forgets the cuts between equal entries, apart from those that have completed. If that is not enough,
    /// what was entered in segments counts for the whole allocation, the last sequence number of each stream
    /// standing for all: this last step loses precision, and errs towards waiting.
    #[cold]
    fn compact(&mut self, completed: impl Fn(Epoch) -> bool) {
        let mut at = 0;
        loop {
            let segment = &mut self.segments[at];
            segment.begin(self.generation);
            (segment.is_used, at) = (false, segment.next);
            segment.entries.prune(&completed);
            if at == 0 {
                break;
            }
        }
        loop {
            self.absorb(at, self.bytes);
            at = self.segments[at].next;
            if at == 0 {
                break;
            }
        }
        if self.len() > AT_MOST {
            let entries: Vec<Entries> = self.live(0, self.bytes).map(|it| it.entries.clone()).collect();
            entries.iter().flat_map(Entries::iter).for_each(|entry| self.whole.join(entry));
            self.forget_segments();
            self.begin_generation();
        }
        self.limit = (self.len() * 2).clamp(COMPACT_AT, AT_MOST);
    }

    /// Makes all bytes one segment without entries.
    fn forget_segments(&mut self) {
        let (end, entries, generation) = (self.bytes, Entries::default(), self.generation);
        self.segments = vec![Segment { start: 0, end, next: 0, generation, is_used: false, entries }];
        self.free.clear();
        (self.starts, self.positions) = (BTreeSet::from([0]), AddressMap::from_iter([(0, 0)]));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::happens_before::{HappensBefore, SequenceNumber};
    use crate::primitives::in_a_test;

    /// The view of a stream that is ordered after no other stream.
    pub(crate) struct SingleStream(pub(crate) Epoch);

    impl View for SingleStream {
        fn me(&self) -> Epoch {
            self.0
        }
        fn completed(&self, _: Epoch) -> bool {
            false
        }
        fn is_after(&self, epoch: Epoch) -> bool {
            epoch.timeline == self.0.timeline
        }
        fn is_after_own(&self) -> bool {
            true
        }
    }

    fn by(timeline: u32, sequence: SequenceNumber) -> SingleStream {
        SingleStream(Epoch { timeline: TimelineId(timeline), sequence })
    }

    fn write(start: usize, end: usize) -> Interval {
        Interval { start, end, mode: Mode::Write }
    }

    fn read(start: usize, end: usize) -> Interval {
        Interval { start, end, mode: Mode::Read }
    }

    /// Enters an access, and returns what it conflicts with.
    fn enter(list: &mut IntervalList, interval: Interval, view: &impl View) -> Vec<Epoch> {
        let mut out = Vec::new();
        list.enter(std::iter::once(interval), view, None, &mut out);
        out.iter().map(|conflict| conflict.epoch).collect()
    }

    impl IntervalList {
        /// Returns the first bytes of the segments, which are checked.
        fn cuts(&self) -> Vec<usize> {
            let all = std::iter::successors(Some(&self.segments[0]), |last| {
                (last.next != 0).then(|| &self.segments[last.next])
            });
            let all: Vec<&Segment> = all.collect();
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].start < pair[0].end));
            assert_eq!((all[0].start, all[all.len() - 1].end, all.len()), (0, self.bytes, self.len()));
            let cuts: Vec<usize> = all.iter().map(|segment| segment.start).collect();
            assert!(self.starts.iter().eq(&cuts) && self.positions.len() == cuts.len());
            assert!(all.iter().all(|it| std::ptr::eq(*it, &self.segments[self.positions[&it.start]])));
            cuts
        }
    }

    /// The view of a timeline's next operation, by an order in which some operations have completed.
    struct InOrder<'a> {
        order: &'a HappensBefore,
        completed: &'a [Epoch],
        me: Epoch,
    }

    impl View for InOrder<'_> {
        fn me(&self) -> Epoch {
            self.me
        }
        fn completed(&self, epoch: Epoch) -> bool {
            self.completed.contains(&epoch)
        }
        fn is_after(&self, epoch: Epoch) -> bool {
            self.completed(epoch) || self.order.is_before_next(epoch, self.me.timeline)
        }
        fn is_after_own(&self) -> bool {
            true
        }
    }

    /// An operation of the model: its accesses, and what it comes after.
    struct Operation {
        epoch: Epoch,
        intervals: Vec<Interval>,
        before: VectorClock,
    }

    /// The epochs of conflicts, each once.
    fn epochs(conflicts: &[Conflict]) -> Vec<(TimelineId, SequenceNumber)> {
        let mut all: Vec<_> = conflicts.iter().map(|it| (it.epoch.timeline, it.epoch.sequence)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// An operation of the list beside all operations: what is found, is a conflict, and what is not found
    /// comes before what is.
    #[test]
    fn the_list_finds_the_conflicts_that_are_among_all_operations() {
        const BYTES: usize = 24;
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let (mut fast, mut found, mut generations, mut forgotten) = (0, 0, 0, 0);
        for _ in 0..2_000 {
            let mut order = HappensBefore::new();
            let streams = [(); 3].map(|()| order.timeline(0, crate::Kind::NonBlocking));
            let mut list = IntervalList::new(BYTES);
            let (mut all, mut completed): (Vec<Operation>, Vec<Epoch>) = (Vec::new(), Vec::new());
            for _ in 0..30 {
                let stream = streams[random(streams.len())];
                let mut interval = || {
                    let mode = if random(2) == 0 { Mode::Read } else { Mode::Write };
                    match random(4) {
                        0 => Interval { start: 0, end: BYTES, mode },
                        1 => Interval { start: 4 * random(4), end: 4 * (4 + random(2)), mode },
                        _ => {
                            let start = 4 * random(6);
                            Interval { start, end: start + 4, mode }
                        }
                    }
                };
                let intervals: Vec<Interval> = (0..[1, 1, 2][all.len() % 3]).map(|_| interval()).collect();
                let last = all.iter().rfind(|it| it.epoch.timeline == stream);
                let sequence = last.map_or(1, |it| it.epoch.sequence + 1);
                let me = Epoch { timeline: stream, sequence };
                let view = InOrder { order: &order, completed: &completed, me };
                let meets = |one: &Interval, other: &Interval| {
                    one.start < other.end && other.start < one.end && (one.writes() || other.writes())
                };
                let is_conflict = |it: &&Operation| {
                    it.intervals.iter().any(|one| intervals.iter().any(|other| meets(one, other)))
                        && !view.is_after(it.epoch)
                };
                let expected: Vec<&Operation> = all.iter().filter(is_conflict).collect();
                let mut asked = Vec::new();
                for interval in &intervals {
                    list.conflicts(*interval, |epoch| view.is_after(epoch), &mut asked);
                }
                let cuts = list.cuts().len();
                let generation = list.generation;
                let entered = list.enter_ordered(intervals.iter().copied(), &view);
                let mut conflicts = Vec::new();
                if entered < intervals.len() {
                    list.enter(intervals.iter().copied(), &view, None, &mut conflicts);
                } else {
                    fast += 1;
                }
                forgotten += usize::from(list.cuts().len() < cuts);
                let (asked, conflicts) = (epochs(&asked), epochs(&conflicts));
                assert_eq!(asked, conflicts);
                let is_found = |epoch: Epoch| conflicts.contains(&(epoch.timeline, epoch.sequence));
                for (timeline, sequence) in &conflicts {
                    let epoch = Epoch { timeline: *timeline, sequence: *sequence };
                    assert!(
                        expected.iter().any(|it| it.epoch == epoch),
                        "{me:?} does not conflict with {epoch:?}"
                    );
                }
                for missed in expected.iter().filter(|it| !is_found(it.epoch)) {
                    let comes_after = |it: &&&Operation| is_found(it.epoch) && it.before.covers(missed.epoch);
                    assert!(
                        expected.iter().any(|it| comes_after(&it)),
                        "{me:?} overlooks {:?}",
                        missed.epoch
                    );
                }
                found += conflicts.len();
                // Two of three operations are ordered after all that they conflict with.
                if all.len() % 3 != 0 {
                    for (timeline, _) in &conflicts {
                        order.join(stream, *timeline);
                    }
                    let view = InOrder { order: &order, completed: &completed, me };
                    intervals.iter().for_each(|interval| list.settle(*interval, &view));
                }
                generations += usize::from(list.generation > generation);
                let mut before = order.clock_of_next(stream);
                before.add(me);
                assert_eq!(order.operate(stream), me);
                all.push(Operation { epoch: me, intervals, before });
                // The host waits for an operation.
                if random(12) == 0 {
                    let done = &all[random(all.len())].before;
                    completed.extend(all.iter().map(|it| it.epoch).filter(|epoch| done.covers(*epoch)));
                    list.prune(|epoch| completed.contains(&epoch));
                }
            }
        }
        let counts = [fast, found, generations, forgotten];
        assert!(counts.iter().all(|count| *count > 2_000), "{counts:?}");
    }

    #[test]
    fn cuts_stay_while_they_are_used_and_are_forgotten_by_the_second_that_goes_over_them() {
        in_a_test(|| {
            let mut list = IntervalList::new(100);
            for start in [0, 10, 20] {
                enter(&mut list, write(start, start + 10), &by(1, 1));
            }
            assert_eq!(list.cuts(), [0, 10, 20, 30]);
            // All entries are the same, but the cuts were used.
            enter(&mut list, write(0, 30), &by(1, 2));
            assert_eq!(list.cuts(), [0, 10, 20, 30]);
            enter(&mut list, write(10, 20), &by(1, 3));
            enter(&mut list, write(0, 30), &by(1, 4));
            enter(&mut list, write(0, 30), &by(1, 5));
            assert_eq!(
                list.cuts(),
                [0, 30],
                "the first one looked at the cuts, and the second one forgot them"
            );
            // The whole goes over no cut.
            for sequence in 6..9 {
                enter(&mut list, write(0, 100), &by(1, sequence));
            }
            assert_eq!(list.cuts(), [0, 30]);
        });
    }

    #[test]
    fn parts_that_are_written_one_after_the_other_and_read_together_are_few_once_they_are_complete() {
        in_a_test(|| {
            let (mut order, mut list) = (HappensBefore::new(), IntervalList::new(4_000));
            let timeline = order.timeline(0, crate::Kind::NonBlocking);
            let mut completed = Vec::new();
            for token in 0..1_000 {
                for interval in [write(token * 4, token * 4 + 4), read(0, token * 4 + 4)] {
                    let last = completed.last().map_or(0, |epoch: &Epoch| epoch.sequence);
                    let me = Epoch { timeline, sequence: last + 1 };
                    let view = InOrder { order: &order, completed: &completed, me };
                    assert_eq!(list.enter_ordered(std::iter::once(interval), &view), 1);
                    completed.push(order.operate(timeline));
                }
            }
            assert!(list.cuts().len() < 5, "{:?}", list.cuts());
        });
    }

    #[test]
    fn a_write_of_the_whole_replaces_all_parts_without_a_look_at_them() {
        in_a_test(|| {
            let mut list = IntervalList::new(100);
            for start in 0..10 {
                assert!(enter(&mut list, write(start * 10, start * 10 + 5), &by(1, 1)).is_empty());
            }
            assert_eq!(list.give_up(), None);
            enter(&mut list, write(0, 100), &by(1, 2));
            let epoch = Epoch { timeline: TimelineId(1), sequence: 2 };
            assert_eq!(enter(&mut list, write(20, 22), &by(2, 1)), [epoch]);
            // A whole write that is ordered after nothing else replaces nothing.
            let found = enter(&mut list, write(0, 100), &by(3, 1));
            assert_eq!(found, [Epoch { timeline: TimelineId(2), sequence: 1 }, epoch]);
            assert_eq!(enter(&mut list, write(21, 22), &by(4, 1)).len(), 3);
            assert_eq!(enter(&mut list, write(50, 60), &by(5, 1)).len(), 2);
        });
    }

    /// The view of an operation that does not rely on its own stream's order.
    struct AtCall(Epoch);

    impl View for AtCall {
        fn me(&self) -> Epoch {
            self.0
        }
        fn completed(&self, _: Epoch) -> bool {
            false
        }
        fn is_after(&self, epoch: Epoch) -> bool {
            epoch == self.0
        }
        fn is_after_own(&self) -> bool {
            false
        }
    }

    #[test]
    fn what_an_operation_enters_hides_nothing_from_it_that_its_stream_did_before() {
        in_a_test(|| {
            let mut list = IntervalList::new(100);
            enter(&mut list, write(0, 4), &by(1, 1));
            let (view, whole) = (AtCall(by(1, 2).0), read(0, 100));
            assert_eq!(list.enter_ordered([write(8, 12), whole].into_iter(), &view), 1);
            // The operation gives its number up, and takes the slow path with the next one.
            let (view, mut out) = (AtCall(by(1, 3).0), Vec::new());
            list.enter([write(20, 24), whole].into_iter(), &view, None, &mut out);
            let found: Vec<u64> = out.iter().map(|conflict| conflict.epoch.sequence).collect();
            assert_eq!(found, [1, 2]);
        });
    }

    #[test]
    fn a_conflict_comes_with_its_call_site() {
        in_a_test(|| {
            let mut list = IntervalList::new(100);
            let (here, there) = (std::panic::Location::caller(), first_line());
            for (interval, view, call_site) in
                [(write(0, 100), by(1, 1), here), (write(10, 20), by(1, 2), there)]
            {
                list.enter(std::iter::once(interval), &view, Some(call_site), &mut Vec::new());
            }
            let of = |interval| {
                let mut out = Vec::new();
                list.conflicts(interval, |_| false, &mut out);
                out.first().and_then(|conflict| conflict.call_site)
            };
            assert_eq!([write(0, 1), write(15, 16), write(0, 100)].map(of), [here, there, there].map(Some));
        });
    }

    #[track_caller]
    fn first_line() -> CallSite {
        std::panic::Location::caller()
    }

    #[test]
    fn too_many_segments_count_for_the_whole() {
        in_a_test(|| {
            const PARTS: usize = if cfg!(loom) { 10 } else { AT_MOST + 10 };
            let parts = |width: usize| {
                let mut list = IntervalList::new(PARTS * 4);
                for (part, sequence) in (0..PARTS).zip(1..) {
                    let found = enter(&mut list, write(part * 4, part * 4 + width), &by(1, sequence));
                    assert!(found.is_empty(), "{found:?}");
                }
                list
            };
            let mut list = parts(4);
            assert_eq!(list.cuts().len() == PARTS, cfg!(loom));
            let all = enter(&mut list, write(0, 1), &by(2, 1));
            let last = if cfg!(loom) { 1 } else { u64::try_from(AT_MOST).unwrap() };
            assert_eq!(all, [by(1, last).0], "the last of them stands for all");
            // What has completed is dropped first, and the cuts beside it.
            let mut list = parts(2);
            list.compact(|_| true);
            assert_eq!((list.cuts(), list.limit), (vec![0], COMPACT_AT));
        });
    }

    #[test]
    fn an_empty_access_is_not_on_the_list() {
        in_a_test(|| {
            let mut list = IntervalList::new(8);
            for interval in [write(3, 3), write(9, 8)] {
                assert!(enter(&mut list, interval, &by(1, 1)).is_empty());
                assert_eq!(list.enter_ordered(std::iter::once(interval), &by(1, 1)), 0);
            }
            assert_eq!((list.cuts(), list.give_up()), (vec![0], Some(0)));
        });
    }
}
