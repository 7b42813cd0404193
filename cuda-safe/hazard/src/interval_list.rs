//! The interval list: the accesses of one allocation, sorted by first byte.

use crate::clock::{Epoch, SequenceNumber, TimelineId};
use crate::entry::{AccessEntry, Conflict, FirstWrite, Interval, Mode, View, outside, redundant};
use crate::last_access::LastAccess;
use crate::wait_log::CallSite;

/// With more entries than this, the list is compacted.
const COMPACT_AT: usize = 64;

/// With more entries than this, accesses of one stream are merged although their sequence numbers differ: the
/// list then has 2.5 MiB.
const AT_MOST: usize = 65_536;

/// The accesses of one allocation, sorted by first byte.
#[derive(Debug)]
pub(crate) struct IntervalList {
    entries: Vec<AccessEntry>,
    /// Whether some entries may overlap that are not of the same bytes. Otherwise the last bytes are in order
    /// as the first bytes are.
    overlapping: bool,
    /// No entry is longer than this: a search among overlapping entries begins that far before its bytes.
    longest: usize,
    /// The finger: where the entry of the next access is expected, behind the last one's, as parts are mostly
    /// used in order. Any number is correct.
    next: usize,
    /// The length at which to compact next.
    limit: usize,
    /// Reused for its capacity.
    scratch: Vec<AccessEntry>,
}

impl Default for IntervalList {
    /// Returns an empty list.
    fn default() -> Self {
        let (entries, scratch) = (Vec::new(), Vec::new());
        Self { entries, overlapping: false, longest: 0, next: 0, limit: COMPACT_AT, scratch }
    }
}

impl IntervalList {
    /// Returns the list of an allocation of `bytes` bytes that an operation has made.
    #[cold]
    pub(crate) fn written(bytes: usize, first: FirstWrite) -> Self {
        let FirstWrite { epoch, call_site } = first;
        let entry = AccessEntry { start: 0, end: bytes, mode: Mode::Write, epoch, call_site };
        Self { entries: vec![entry], longest: bytes, ..Self::default() }
    }

    /// Takes over the accesses of the last-access word of an allocation of `bytes` bytes, and the `reads` of
    /// several streams. The list must be empty.
    pub(crate) fn take_over(
        &mut self,
        last_access: LastAccess,
        reads: impl Iterator<Item = Epoch>,
        bytes: usize,
    ) {
        let entry = |mode, epoch| AccessEntry { start: 0, end: bytes, mode, epoch, call_site: None };
        let (write, read) = last_access.parts();
        self.entries.extend(write.map(|epoch| entry(Mode::Write, epoch)));
        self.entries.extend(read.into_iter().chain(reads).map(|epoch| entry(Mode::Read, epoch)));
        self.longest = bytes;
    }

    /// Returns the last-access word that holds everything in the list, and empties the list, if there is such
    /// a word.
    pub(crate) fn give_up(&mut self, bytes: usize) -> Option<u64> {
        let whole = |entry: &AccessEntry| entry.is_of(0, bytes) && entry.call_site.is_none();
        let last_access = match self.entries.as_slice() {
            [] => LastAccess::Empty,
            [one] if whole(one) && one.mode == Mode::Write => LastAccess::Write(one.epoch),
            [one] if whole(one) => LastAccess::Read(one.epoch),
            [a, b] if whole(a) && whole(b) && a.epoch.timeline == b.epoch.timeline && a.mode != b.mode => {
                let (write, read) = if a.mode == Mode::Write { (a, b) } else { (b, a) };
                LastAccess::Both { write: write.epoch, read: read.epoch.sequence }
            }
            _ => return None,
        };
        let bits = last_access.pack()?;
        self.entries.clear();
        (self.overlapping, self.longest, self.limit) = (false, 0, COMPACT_AT);
        Some(bits)
    }

    /// Returns the range of positions of the entries that may overlap the bytes.
    #[inline]
    fn window(&self, interval: Interval) -> (usize, usize) {
        let (entries, longest) = (&self.entries, self.longest);
        let low = if self.overlapping {
            entries.partition_point(|entry| entry.start.saturating_add(longest) <= interval.start)
        } else {
            entries.partition_point(|entry| entry.end <= interval.start)
        };
        let high = entries.partition_point(|entry| entry.start < interval.end);
        (low.min(high), high)
    }

    /// [`window`](Self::window), which looks at the position `at` first.
    #[inline]
    fn window_at(&self, at: usize, interval: Interval) -> (usize, usize) {
        let Some((before, behind)) = self.entries.split_at_checked(at) else { return self.window(interval) };
        let here = !self.overlapping
            && before.last().is_none_or(|before| before.end <= interval.start)
            && behind.first().is_none_or(|first| first.end > interval.start);
        if !here {
            return self.window(interval);
        }
        let met = behind.iter().take_while(|entry| entry.start < interval.end).count();
        (at, at + met)
    }

    /// Returns those of these entries that an access conflicts with.
    #[inline]
    fn conflicting(
        &self,
        (low, high): (usize, usize),
        interval: Interval,
    ) -> impl Iterator<Item = &AccessEntry> {
        let meets = move |entry: &&AccessEntry| entry.end > interval.start && entry.conflicts(interval);
        self.entries[low..high].iter().filter(meets)
    }

    /// Enters one access if it is ordered after everything that it conflicts with, and that is of the same
    /// bytes, one entry, or redundant. Otherwise returns false, and does nothing, also if the list is so long
    /// that it has to be compacted.
    pub(crate) fn enter_behind<V: View>(&mut self, interval: Interval, view: &V) -> bool {
        if interval.is_empty() {
            return false;
        }
        let window = self.window_at(self.next, interval);
        if self.conflicting(window, interval).any(|entry| !view.is_after(entry.epoch)) {
            return false;
        }
        let me = view.me();
        let met = &mut self.entries[window.0..window.1];
        let is_of_these = |entry: &AccessEntry| entry.is_of(interval.start, interval.end);
        // What `put` does to the entry that this repeats.
        if let [only] = met
            && is_of_these(only)
            && only.mode == interval.mode
            && only.epoch.timeline == me.timeline
        {
            (only.epoch, only.call_site) = (me, None);
            self.next = window.0 + 1;
            return true;
        }
        let same = met.iter().all(is_of_these);
        // A cut leaves two pieces.
        if self.entries.len() + 2 > self.limit {
            return false;
        }
        let met = &self.entries[window.0..window.1];
        if !same && (self.overlapping || met.len() > 1 && !are_replaced(met, interval, view)) {
            return false;
        }
        self.put(window, same, interval, view, None);
        true
    }

    /// Enters one access, collects what it conflicts with and drops what it makes redundant.
    pub(crate) fn enter<V: View>(
        &mut self,
        interval: Interval,
        view: &V,
        call_site: Option<CallSite>,
        out: &mut Vec<Conflict>,
    ) {
        if interval.is_empty() {
            return;
        }
        let window = self.window_at(self.next, interval);
        let unordered = self.conflicting(window, interval).filter(|entry| !view.is_after(entry.epoch));
        out.extend(unordered.map(AccessEntry::as_conflict));
        let met = &self.entries[window.0..window.1];
        let same = met.iter().all(|entry| entry.is_of(interval.start, interval.end));
        self.put(window, same, interval, view, call_site);
        if self.entries.len() > self.limit {
            self.compact(view);
        }
    }

    /// Enters one access whose conflicts were collected. If all entries that it meets are of the `same`
    /// bytes, as when one stream writes them and another one reads them, nothing is cut.
    #[inline]
    fn put<V: View>(
        &mut self,
        window: (usize, usize),
        same: bool,
        interval: Interval,
        view: &V,
        call_site: Option<CallSite>,
    ) {
        self.longest = self.longest.max(interval.end - interval.start);
        self.next = window.0 + 1;
        let new = AccessEntry::new(interval, view.me(), call_site);
        if same {
            self.replace_same(window, new, interval, view);
        } else {
            self.replace_others(window, new, interval, view);
        }
    }

    /// Enters one access over entries of other bytes.
    #[cold]
    fn replace_others<V: View>(
        &mut self,
        window: (usize, usize),
        new: AccessEntry,
        interval: Interval,
        view: &V,
    ) {
        if !self.overlapping && are_replaced(&self.entries[window.0..window.1], interval, view) {
            self.replace_redundant(window, new);
        } else {
            self.cut(window, interval, Some(new), |entry| redundant(entry, interval, view));
        }
    }

    /// Enters one access in the place of entries that it [replaces](are_replaced). What sticks out of it on
    /// either side stays.
    fn replace_redundant(&mut self, (mut low, mut high): (usize, usize), new: AccessEntry) {
        let met = &self.entries[low..high];
        let first = met.first().copied().filter(|first| first.start < new.start);
        let sticks_out = met.last().is_some_and(|last| last.end > new.end);
        if let Some(first) = first {
            if sticks_out && met.len() == 1 {
                self.entries.insert(high, first);
                high += 1;
            }
            self.entries[low].end = new.start;
            low += 1;
        }
        if sticks_out {
            high -= 1;
            self.entries[high].start = new.end;
        }
        match self.entries.get_mut(low..high) {
            Some([first, others @ ..]) => {
                *first = new;
                if !others.is_empty() {
                    self.entries.drain(low + 1..high);
                }
            }
            _ => self.entries.insert(low, new),
        }
        self.next = low + 1;
    }

    /// Enters one access in the place of those entries, all of the same bytes, that it makes redundant.
    #[inline]
    fn replace_same<V: View>(
        &mut self,
        (low, high): (usize, usize),
        new: AccessEntry,
        interval: Interval,
        view: &V,
    ) {
        match &mut self.entries[low..high] {
            // Parts that are used for the first time.
            [] => self.entries.insert(low, new),
            // The steady state of a chunked program: this stream did the same to these bytes before, and no
            // other stream since.
            [only] if only.mode == interval.mode && only.epoch.timeline == new.epoch.timeline => *only = new,
            several => {
                let mut remaining = 0;
                for at in 0..several.len() {
                    if !redundant(&several[at], interval, view) {
                        several.swap(remaining, at);
                        remaining += 1;
                    }
                }
                if let Some(first) = several.get_mut(remaining) {
                    *first = new;
                    self.entries.drain(low + remaining + 1..high);
                } else {
                    self.entries.insert(high, new);
                }
                self.next += remaining;
            }
        }
    }

    /// Drops from some entries what `interval` covers, if they are redundant, and adds another entry.
    #[inline(never)]
    fn cut(
        &mut self,
        (low, high): (usize, usize),
        interval: Interval,
        new: Option<AccessEntry>,
        is_redundant: impl Fn(&AccessEntry) -> bool,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        for entry in &self.entries[low..high] {
            if entry.end > interval.start && is_redundant(entry) {
                scratch.extend(outside(entry, interval));
            } else {
                scratch.push(*entry);
            }
        }
        scratch.extend(new);
        scratch.sort_unstable_by_key(|entry| (entry.start, entry.end));
        // No other entries overlap these.
        self.overlapping |= has_overlaps(&scratch);
        self.entries.splice(low..high, scratch.drain(..));
        self.scratch = scratch;
    }

    /// Drops what `interval`, entered before, has made redundant now that its waits are in place.
    pub(crate) fn settle<V: View>(&mut self, interval: Interval, view: &V) {
        let me = view.me();
        self.cut(self.window(interval), interval, None, |entry| {
            entry.epoch.timeline != me.timeline && redundant(entry, interval, view)
        });
    }

    /// Collects what `interval` conflicts with and `ordered` returns false for, and changes nothing.
    pub(crate) fn conflicts(
        &self,
        interval: Interval,
        ordered: impl Fn(Epoch) -> bool,
        out: &mut Vec<Conflict>,
    ) {
        let conflicting = self.conflicting(self.window(interval), interval);
        out.extend(conflicting.filter(|entry| !ordered(entry.epoch)).map(AccessEntry::as_conflict));
    }

    /// Returns the timeline that made every access which has not completed. Returns `None` if there are
    /// several, or none.
    pub(crate) fn only_user(&self, completed: impl Fn(Epoch) -> bool) -> Option<TimelineId> {
        let pending = self.entries.iter().filter(|entry| !completed(entry.epoch));
        let mut users = pending.map(|entry| entry.epoch.timeline);
        let first = users.next()?;
        users.all(|user| user == first).then_some(first)
    }

    /// Returns how many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Accesses that repeat what their stream did last to the same bytes: only a sequence number is entered.
impl IntervalList {
    /// Enters accesses from the first on as long as they [repeat](Self::count_repeated) their entries;
    /// returns how many. The steady state of a program that uses many parts again and again.
    pub(crate) fn enter_repeated(
        &mut self,
        intervals: impl ExactSizeIterator<Item = Interval> + Clone,
        me: Epoch,
    ) -> usize {
        let (low, done) = self.count_repeated(intervals, me.timeline);
        self.set_sequence(low, done, me.sequence);
        self.next = low + done;
        done
    }

    /// Returns the position of the first access's entry, and how many accesses from the first on repeat their
    /// entries: each is of the same bytes and mode as the entry at its position, which is of this stream and
    /// meets no other entry.
    #[inline]
    fn count_repeated(
        &self,
        intervals: impl Iterator<Item = Interval> + Clone,
        timeline: TimelineId,
    ) -> (usize, usize) {
        let Some(first) = intervals.clone().next() else { return (0, 0) };
        let low = self.entries.partition_point(|entry| entry.start < first.start);
        // If entries before it may reach into it, the answer is none.
        let longest = if self.overlapping { self.longest } else { 0 };
        let reaches =
            |before: &AccessEntry| before.end.max(before.start.saturating_add(longest)) > first.start;
        if low.checked_sub(1).and_then(|before| self.entries.get(before)).is_some_and(reaches) {
            return (0, 0);
        }
        let entries = self.entries.get(low..).unwrap_or_default();
        let (mut done, mut reach) = (0, 0);
        for (interval, entry) in intervals.zip(entries) {
            let same = entry.is_of(interval.start, interval.end)
                && entry.mode == interval.mode
                && entry.call_site.is_none();
            if !(same && entry.start >= reach && entry.epoch.timeline == timeline) {
                break;
            }
            reach = entry.end;
            done += 1;
        }
        // The last one may meet the entry behind it.
        if entries.get(done).is_some_and(|behind| behind.start < reach) {
            done -= 1;
        }
        (low, done)
    }

    /// Gives `count` entries a later sequence number of their stream. A loop of its own that stores only what
    /// changes: it takes as long as all the rest.
    #[inline]
    fn set_sequence(&mut self, low: usize, count: usize, sequence: SequenceNumber) {
        for entry in self.entries.get_mut(low..).unwrap_or_default().iter_mut().take(count) {
            entry.epoch.sequence = sequence;
        }
    }

    /// Enters accesses if all of them repeat their entries. Otherwise returns false, and does nothing.
    pub(crate) fn enter_all_repeated(
        &mut self,
        intervals: impl ExactSizeIterator<Item = Interval> + Clone,
        me: Epoch,
    ) -> bool {
        let many = intervals.len();
        let (low, done) = self.count_repeated(intervals, me.timeline);
        if done < many || many == 0 {
            return false;
        }
        self.set_sequence(low, done, me.sequence);
        self.next = low + done;
        true
    }
}

/// The ways in which a list gets shorter.
impl IntervalList {
    /// Drops what has completed.
    pub(crate) fn prune(&mut self, completed: impl Fn(Epoch) -> bool) {
        self.entries.retain(|entry| !completed(entry.epoch));
        self.measure();
    }

    /// Determines `longest` and `overlapping` from all entries.
    fn measure(&mut self) {
        self.longest = self.entries.iter().map(|entry| entry.end - entry.start).max().unwrap_or(0);
        self.overlapping = has_overlaps(&self.entries);
    }

    /// Makes the list shorter: drops what has completed, merges equal neighbours and, if that is not enough,
    /// merges the accesses of each stream, the last sequence number standing for all. Only this last step
    /// loses precision, and it errs towards waiting.
    pub(crate) fn compact<V: View>(&mut self, view: &V) {
        self.prune(|epoch| view.completed(epoch));
        self.join(|a, b| a.epoch == b.epoch && a.end >= b.start);
        if self.entries.len() > AT_MOST {
            self.entries
                .sort_unstable_by_key(|entry| (entry.epoch.timeline, entry.mode == Mode::Write, entry.start));
            self.join(|a, b| a.epoch.timeline == b.epoch.timeline);
            self.entries.sort_unstable_by_key(|entry| (entry.start, entry.end));
        }
        self.measure();
        self.limit = COMPACT_AT.max(self.entries.len() * 2);
    }

    /// Merges neighbours of the same mode for which `same` returns true.
    fn join(&mut self, same: impl Fn(&AccessEntry, &AccessEntry) -> bool) {
        self.entries.dedup_by(|next, last| {
            let join = last.mode == next.mode && same(last, next);
            if join {
                last.end = last.end.max(next.end);
                last.start = last.start.min(next.start);
                if next.epoch.sequence > last.epoch.sequence {
                    last.epoch = next.epoch;
                    last.call_site = next.call_site;
                }
            }
            join
        });
    }
}

/// Returns whether an access makes all of these entries redundant, and no two are of the same bytes.
#[cold]
fn are_replaced<V: View>(entries: &[AccessEntry], interval: Interval, view: &V) -> bool {
    entries.windows(2).all(|pair| matches!(pair, [a, b] if a.end <= b.start))
        && entries.iter().all(|entry| redundant(entry, interval, view))
}

/// Returns whether some of these sorted entries overlap though they are of different bytes.
pub(crate) fn has_overlaps(entries: &[AccessEntry]) -> bool {
    // If no two neighbours do, the ends are in order too.
    entries.windows(2).any(|pair| match pair {
        [a, b] => a.end > b.start && !a.is_of(b.start, b.end),
        _ => false,
    })
}

/// A list with a finger and fast paths, beside one without.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::history::{Access, AccessHistory};
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
    }

    #[test]
    fn the_finger_changes_nothing_about_what_is_found() {
        in_a_test(|| {
            let mut state = 7_u64;
            let mut random = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(state >> 33).unwrap() % below
            };
            let (mut hits, mut again, mut behind, mut exact) = (0, 0, 0, 0);
            // Long enough for all parts but the last ones of some sets.
            let history = AccessHistory::new(200);
            for _ in 0..300 {
                let lists = || {
                    (
                        IntervalList::default(),
                        IntervalList::default(),
                        IntervalList::default(),
                        IntervalList::default(),
                    )
                };
                let (mut hinted, mut searched, mut together, mut fast) = lists();
                // A few sets of parts, each used by several operations, as chunked programs do.
                let sets: Vec<Vec<(usize, usize)>> = (0..3)
                    .map(|_| {
                        let (stride, len) = (1 + random(12), 1 + random(14));
                        (0..1 + random(20))
                            .map(|i| (i * stride, i * stride + len))
                            .filter(|part| part.0 < 200)
                            .collect()
                    })
                    .collect();
                for sequence in 1..20 {
                    let me = SingleStream(Epoch {
                        timeline: TimelineId(u32::try_from(random(2)).unwrap()),
                        sequence,
                    });
                    let mode = if random(2) == 0 { Mode::Read } else { Mode::Write };
                    let (mut found, mut expected) = (Vec::new(), Vec::new());
                    let set = &sets[random(3)];
                    for &(start, end) in set {
                        let interval = Access::new(&history, start..end, mode).interval();
                        let at = hinted.next;
                        hits += usize::from(at > 0 && hinted.window_at(at, interval).0 == at);
                        hinted.enter(interval, &me, None, &mut found);
                        searched.next = usize::MAX;
                        searched.enter(interval, &me, None, &mut expected);
                        assert_eq!(format!("{:?}", hinted.entries), format!("{:?}", searched.entries));

                        // The same bytes, found by looking at all entries.
                        let meets = |entry: &&AccessEntry| entry.start < end && start < entry.end;
                        let low = searched.entries.iter().position(|entry| meets(&entry)).unwrap();
                        let met = searched.entries.iter().filter(meets).count();
                        let window = searched.window(interval);
                        assert!(window.0 <= low && window.1 >= low + met, "{window:?}, {low}, {met}");
                        if !searched.overlapping {
                            assert_eq!(window, (low, low + met));
                            exact += 1;
                        }

                        let mut conflicts = Vec::new();
                        fast.conflicts(interval, |epoch| me.is_after(epoch), &mut conflicts);
                        let before = format!("{:?}", fast.entries);
                        if fast.enter_behind(interval, &me) {
                            assert!(conflicts.is_empty());
                            behind += 1;
                        } else {
                            assert_eq!(format!("{:?}", fast.entries), before);
                            fast.enter(interval, &me, None, &mut Vec::new());
                        }
                        assert_eq!(format!("{:?}", fast.entries), format!("{:?}", searched.entries));
                    }
                    assert_eq!(format!("{found:?}"), format!("{expected:?}"));

                    let accesses: Vec<_> =
                        set.iter().map(|&(start, end)| Access::new(&history, start..end, mode)).collect();
                    let mut found = Vec::new();
                    let done = together.enter_repeated(accesses.iter().map(Access::interval), me.0);
                    for access in accesses.iter().skip(done) {
                        together.enter(access.interval(), &me, None, &mut found);
                    }
                    again += done;
                    assert_eq!(format!("{:?}", together.entries), format!("{:?}", searched.entries));
                    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
                }
            }
            assert!(hits > 500, "{hits} entries were where they were expected");
            assert!(again > 100, "{again} accesses were those of the last time");
            assert!(behind > 1000, "{behind} accesses went the fast way");
            assert!(exact > 1000, "{exact} windows were exact");
        });
    }

    #[test]
    fn a_part_of_a_part_and_more_than_it_are_entered_in_turn_behind_each_other() {
        in_a_test(|| {
            let (history, mut list) = (AccessHistory::new(200), IntervalList::default());
            for (sequence, bytes) in (1..).zip([20..100, 40..60, 20..100, 0..50, 30..70, 0..200, 60..90]) {
                let me = SingleStream(Epoch { timeline: TimelineId(1), sequence });
                assert!(list.enter_behind(Access::write(&history, bytes).interval(), &me), "{sequence}");
            }
            let entries = list.entries.iter().map(|it| (it.start, it.end, it.epoch.sequence));
            assert_eq!(entries.collect::<Vec<_>>(), [(0, 60, 6), (60, 90, 7), (90, 200, 6)]);
        });
    }

    #[test]
    fn an_empty_access_is_not_on_the_list() {
        in_a_test(|| {
            let history = AccessHistory::new(8);
            let me = SingleStream(Epoch { timeline: TimelineId(1), sequence: 1 });
            let (mut list, mut found) = (IntervalList::default(), Vec::new());
            for range in [3..3, 9..12] {
                let interval = Access::write(&history, range).interval();
                list.enter(interval, &me, None, &mut found);
                assert!(!list.enter_behind(interval, &me));
            }
            assert_eq!((list.len(), found.len()), (0, 0));
        });
    }
}
