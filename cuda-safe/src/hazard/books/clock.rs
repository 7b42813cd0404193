//! Stamps, and clocks: what a stream is known to be ordered after.

use std::fmt;

/// A stream's number in the books; it outlives the stream's handle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotId(pub(crate) u32);

/// The number of an operation on its stream, from 1.
pub(crate) type Tick = u64;

/// One operation: the `tick`-th one of stream `slot`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    pub(crate) slot: SlotId,
    pub(crate) tick: Tick,
}

impl fmt::Debug for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}@{}", self.slot.0, self.tick)
    }
}

/// For each stream that something is ordered after, the last tick of it.
///
/// Sorted by slot. Entries that have completed may be left out: completion is known to everybody.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    entries: Vec<Stamp>,
}

impl Clone for Clock {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.entries.clone_from(&other.entries);
    }
}

impl Clock {
    /// A clock that knows of nothing.
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Whether the clock covers `stamp`.
    #[inline]
    pub(crate) fn covers(&self, stamp: Stamp) -> bool {
        match self.position(stamp.slot) {
            Ok(at) => self.entries[at].tick >= stamp.tick,
            Err(_) => false,
        }
    }

    /// Where the entry of `slot` is, or belongs.
    #[inline]
    fn position(&self, slot: SlotId) -> Result<usize, usize> {
        // Clocks are short, so walking beats halving.
        if self.entries.len() <= 16 {
            for (at, entry) in self.entries.iter().enumerate() {
                if entry.slot >= slot {
                    return if entry.slot == slot { Ok(at) } else { Err(at) };
                }
            }
            return Err(self.entries.len());
        }
        self.entries.binary_search_by_key(&slot, |entry| entry.slot)
    }

    /// Adds one stamp and all before it on its stream; says whether that was news.
    pub(crate) fn add(&mut self, stamp: Stamp) -> bool {
        if stamp.tick == 0 {
            return false;
        }
        match self.position(stamp.slot) {
            Ok(at) if self.entries[at].tick >= stamp.tick => false,
            Ok(at) => {
                self.entries[at].tick = stamp.tick;
                true
            }
            Err(at) => {
                self.entries.insert(at, stamp);
                true
            }
        }
    }

    /// Adds all that `other` covers; says whether any of it was news.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        self.add_all(other.iter())
    }

    /// [`merge`](Self::merge) for the clock of stream `own`, which needs to be told nothing about itself.
    pub(crate) fn learn(&mut self, other: &Self, own: SlotId) -> bool {
        self.add_all(other.iter().filter(|stamp| stamp.slot != own))
    }

    fn add_all(&mut self, stamps: impl Iterator<Item = Stamp>) -> bool {
        stamps.fold(false, |news, stamp| self.add(stamp) | news)
    }

    /// Drops the entries for which `completed` says that everybody knows.
    pub(crate) fn prune(&mut self, mut completed: impl FnMut(Stamp) -> bool) {
        self.entries.retain(|stamp| !completed(*stamp));
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// How many streams the clock knows of.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Stamp> {
        self.entries.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, SlotId, Stamp};

    fn stamp(slot: u32, tick: u64) -> Stamp {
        Stamp { slot: SlotId(slot), tick }
    }

    #[test]
    fn a_clock_covers_what_was_added_and_all_before_it() {
        let mut clock = Clock::new();
        assert!(clock.add(stamp(7, 5)));
        assert!(clock.add(stamp(2, 9)));
        assert!(!clock.add(stamp(7, 4)));
        assert!(clock.covers(stamp(7, 5)) && clock.covers(stamp(7, 1)) && clock.covers(stamp(2, 9)));
        assert!(!clock.covers(stamp(7, 6)) && !clock.covers(stamp(3, 1)));
    }

    #[test]
    fn long_clocks_find_like_short_ones() {
        let mut clock = Clock::new();
        for slot in (0..100).rev() {
            clock.add(stamp(slot * 2, u64::from(slot) + 1));
        }
        for slot in 0..100 {
            assert!(clock.covers(stamp(slot * 2, u64::from(slot) + 1)));
            assert!(!clock.covers(stamp(slot * 2, u64::from(slot) + 2)));
            assert!(!clock.covers(stamp(slot * 2 + 1, 1)));
        }
    }
}
