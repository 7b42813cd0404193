//! The long form of an allocation's accesses: a list sorted by first byte.

mod again;
mod compact;
#[cfg(test)]
pub(super) mod tests;

use self::compact::tangled;
use super::access::{Mode, Want};
use super::clock::Stamp;
use super::enter::First;
use super::entry::{Conflict, Entry, View, outside, redundant};
use super::run::Run;
use super::waits::Place;
use super::word::Word;

/// Entries beyond which the list is compacted.
const COMPACT_AT: usize = 64;

/// The accesses of one allocation, sorted by first byte.
#[derive(Debug)]
pub(super) struct List {
    entries: Vec<Entry>,
    /// Whether some that overlap may be of different bytes. Otherwise last bytes are in order as first ones are.
    tangled: bool,
    /// No entry is longer than this, so that a search among tangled ones knows where to begin.
    longest: usize,
    /// Where the entry of the next access is expected: behind the last one's, as parts are mostly used in order. Any number does.
    next: usize,
    /// The length at which to compact next.
    limit: usize,
    /// Kept for its capacity.
    scratch: Vec<Entry>,
    /// The entries whose tick stands here and not with them: to be told them before anything but the run itself looks at entries.
    run: Option<Run>,
}

impl Default for List {
    /// A list of nothing.
    fn default() -> Self {
        let (entries, scratch) = (Vec::new(), Vec::new());
        Self { entries, tangled: false, longest: 0, next: 0, limit: COMPACT_AT, scratch, run: None }
    }
}

impl List {
    /// The list of an allocation of `bytes` bytes that an operation has made.
    #[cold]
    pub(super) fn written(bytes: usize, first: First) -> Self {
        let First { stamp, place } = first;
        let entry = Entry { start: 0, end: bytes, mode: Mode::Write, stamp, place };
        Self { entries: vec![entry], longest: bytes, ..Self::default() }
    }

    /// Takes over what the access word said of an allocation of `bytes` bytes. The list must be empty.
    pub(super) fn take_over(&mut self, word: Word, bytes: usize) {
        let entry = |mode, stamp| Entry { start: 0, end: bytes, mode, stamp, place: None };
        match word {
            Word::Empty | Word::Listed => return,
            Word::Write(stamp) => self.entries.push(entry(Mode::Write, stamp)),
            Word::Read(stamp) => self.entries.push(entry(Mode::Read, stamp)),
            Word::Both { write, read } => {
                self.entries.push(entry(Mode::Write, write));
                self.entries.push(entry(Mode::Read, Stamp { slot: write.slot, tick: read }));
            }
        }
        self.longest = bytes;
    }

    /// The word that says all that the list says, if there is one; the list is then emptied.
    pub(super) fn give_up(&mut self, bytes: usize) -> Option<u64> {
        let whole = |entry: &Entry| entry.is_of(0, bytes) && entry.place.is_none();
        let word = match self.entries.as_slice() {
            [] => Word::Empty,
            [one] if whole(one) && one.mode == Mode::Write => Word::Write(one.stamp),
            [one] if whole(one) => Word::Read(one.stamp),
            [a, b] if whole(a) && whole(b) && a.stamp.slot == b.stamp.slot && a.mode != b.mode => {
                let (write, read) = if a.mode == Mode::Write { (a, b) } else { (b, a) };
                Word::Both { write: write.stamp, read: read.stamp.tick }
            }
            _ => return None,
        };
        let bits = word.pack()?;
        self.entries.clear();
        (self.tangled, self.longest, self.limit) = (false, 0, COMPACT_AT);
        Some(bits)
    }

    /// The entries that may overlap the bytes, as positions.
    #[inline]
    fn window(&self, want: Want) -> (usize, usize) {
        let (entries, longest) = (&self.entries, self.longest);
        let low = if self.tangled {
            entries.partition_point(|entry| entry.start.saturating_add(longest) <= want.start)
        } else {
            entries.partition_point(|entry| entry.end <= want.start)
        };
        let high = entries.partition_point(|entry| entry.start < want.end);
        (low.min(high), high)
    }

    /// The same, looked for where an entry is expected first.
    #[inline]
    fn window_at(&self, at: usize, want: Want) -> (usize, usize) {
        let Some((before, behind)) = self.entries.split_at_checked(at) else { return self.window(want) };
        let here = !self.tangled
            && before.last().is_none_or(|before| before.end <= want.start)
            && behind.first().is_none_or(|first| first.end > want.start);
        if !here {
            return self.window(want);
        }
        let met = behind.iter().take_while(|entry| entry.start < want.end).count();
        (at, at + met)
    }

    /// Enters one access if it is known to be ordered after all that it conflicts with, and that is of the same bytes or one entry. Says
    /// no, and does nothing, where anything else is the case, and where the list has become so long that it is to be compacted.
    pub(super) fn stamp_behind<V: View>(&mut self, want: Want, view: &V) -> bool {
        // A cut leaves two pieces.
        if want.is_empty() || self.entries.len() + 2 > self.limit {
            return false;
        }
        let (low, high) = self.window_at(self.next, want);
        let mut same = true;
        for entry in &self.entries[low..high] {
            if entry.conflicts(want) && entry.end > want.start && !view.knows(entry.stamp) {
                return false;
            }
            same &= entry.is_of(want.start, want.end);
        }
        if !same && (self.tangled || high - low > 1) {
            return false;
        }
        self.put(low, high, same, want, view, None);
        true
    }

    /// Enters one access, collects what it conflicts with and drops what it makes redundant.
    pub(super) fn stamp<V: View>(
        &mut self,
        want: Want,
        view: &V,
        place: Option<Place>,
        out: &mut Vec<Conflict>,
    ) {
        if want.is_empty() {
            return;
        }
        let (low, high) = self.window_at(self.next, want);
        for entry in &self.entries[low..high] {
            if entry.end > want.start && entry.conflicts(want) && !view.knows(entry.stamp) {
                out.push(Conflict { stamp: entry.stamp, place: entry.place });
            }
        }
        let same = self.entries[low..high].iter().all(|entry| entry.is_of(want.start, want.end));
        self.put(low, high, same, want, view, place);
        if self.entries.len() > self.limit {
            self.compact(view);
        }
    }

    /// Enters one access where all conflicts were collected. Where all entries that it meets are of the `same` bytes, as where one stream writes
    /// them and another one reads them, nothing is cut.
    #[inline]
    fn put<V: View>(
        &mut self,
        low: usize,
        high: usize,
        same: bool,
        want: Want,
        view: &V,
        place: Option<Place>,
    ) {
        self.longest = self.longest.max(want.end - want.start);
        self.next = low + 1;
        if same {
            self.stamp_same(low, high, want, view, place);
        } else {
            self.stamp_cut(low, high, want, view, place);
        }
    }

    /// Enters one access in the place of those entries, all of the same bytes, that it makes redundant.
    #[inline]
    fn stamp_same<V: View>(&mut self, low: usize, high: usize, want: Want, view: &V, place: Option<Place>) {
        let new = Entry::new(want, view.me(), place);
        match &mut self.entries[low..high] {
            // What parts find that are used for the first time.
            [] => self.entries.insert(low, new),
            // The steady state of a chunked program: this stream did the same to these bytes before, and nobody else since.
            [only] if only.mode == want.mode && only.stamp.slot == new.stamp.slot => *only = new,
            several => {
                let mut kept = 0;
                for at in 0..several.len() {
                    if !redundant(&several[at], want, view) {
                        several.swap(kept, at);
                        kept += 1;
                    }
                }
                if let Some(first) = several.get_mut(kept) {
                    *first = new;
                    self.entries.drain(low + kept + 1..high);
                } else {
                    self.entries.insert(high, new);
                }
                self.next += kept;
            }
        }
    }

    /// The same where some are of other bytes, and are cut.
    #[inline(never)]
    fn stamp_cut<V: View>(&mut self, low: usize, high: usize, want: Want, view: &V, place: Option<Place>) {
        let new = Entry::new(want, view.me(), place);
        // What all parts of an allocation find, one after the other, of which the whole was filled before.
        if let [only] = &mut self.entries[low..high]
            && only.start == want.start
            && only.end > want.end
            && redundant(only, want, view)
        {
            only.start = want.end;
            return self.entries.insert(low, new);
        }
        let cut = |entry: &Entry, scratch: &mut Vec<Entry>| {
            if entry.end > want.start && redundant(entry, want, view) {
                scratch.extend(outside(entry, want));
            } else {
                scratch.push(*entry);
            }
        };
        self.change(low, high, cut, Some(new));
    }

    /// Puts in the place of some entries what `each` makes of them, and one more.
    fn change(
        &mut self,
        low: usize,
        high: usize,
        mut each: impl FnMut(&Entry, &mut Vec<Entry>),
        new: Option<Entry>,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        for entry in &self.entries[low..high] {
            each(entry, &mut scratch);
        }
        scratch.extend(new);
        scratch.sort_unstable_by_key(|entry| (entry.start, entry.end));
        // No others overlap these.
        self.tangled |= tangled(&scratch);
        self.entries.splice(low..high, scratch.drain(..));
        self.scratch = scratch;
    }

    /// Drops what `want`, entered before, has made redundant now that its waits are in place.
    pub(super) fn settle<V: View>(&mut self, want: Want, view: &V) {
        let me = view.me();
        let (low, high) = self.window(want);
        self.change(
            low,
            high,
            |entry, scratch| {
                if entry.end > want.start && entry.stamp.slot != me.slot && redundant(entry, want, view) {
                    scratch.extend(outside(entry, want));
                } else {
                    scratch.push(*entry);
                }
            },
            None,
        );
    }

    /// Collects what `want` conflicts with, as far as `ordered` does not already know, and changes nothing.
    pub(super) fn conflicts(&self, want: Want, ordered: impl Fn(Stamp) -> bool, out: &mut Vec<Conflict>) {
        let (low, high) = self.window(want);
        for entry in &self.entries[low..high] {
            if entry.end > want.start && entry.conflicts(want) && !ordered(entry.stamp) {
                out.push(Conflict { stamp: entry.stamp, place: entry.place });
            }
        }
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
