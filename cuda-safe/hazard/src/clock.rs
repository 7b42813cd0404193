//! Epochs, and vector clocks: what a stream is ordered after.

use std::fmt;
// No thread waits for what these count, so a loom test need not look at them.
use std::sync::Arc;

/// The number of a timeline in the tracker. It outlives the stream's handle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimelineId(pub u32);

/// The number of an operation on its timeline, from 1.
pub type SequenceNumber = u64;

/// One operation: number `sequence` of `timeline`. FastTrack's `c@t`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch {
    /// The timeline.
    pub timeline: TimelineId,
    /// The operation's number on it.
    pub sequence: SequenceNumber,
}

impl fmt::Debug for TimelineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}@{}", self.timeline.0, self.sequence)
    }
}

/// A vector clock holds this many timelines without an allocation. Most programs use no more.
const FEW: usize = 3;

/// No timeline and no operation: an unused entry of a vector clock.
const NONE: Epoch = Epoch { timeline: TimelineId(u32::MAX), sequence: 0 };

/// A vector clock: for each timeline that something is ordered after, the last sequence number.
///
/// Sorted by timeline. Entries that have completed may be left out: completed operations happen before
/// everything. A clock of few timelines is copied as a few words. Copies of a longer one share its memory
/// until one of them changes.
#[derive(Debug, PartialEq, Eq)]
pub struct VectorClock {
    /// The entries, followed by `NONE`s.
    few: [Epoch; FEW],
    /// All entries, if there are more; `few` is then empty.
    many: Option<Arc<Vec<Epoch>>>,
}

impl Clone for VectorClock {
    #[inline]
    fn clone(&self) -> Self {
        Self { few: self.few, many: self.many.clone() }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        self.few = other.few;
        if self.many.is_some() || other.many.is_some() {
            self.many_from(other);
        }
    }
}

impl Default for VectorClock {
    fn default() -> Self {
        Self::new()
    }
}

impl VectorClock {
    /// Returns a clock without entries.
    #[inline]
    pub const fn new() -> Self {
        Self { few: [NONE; FEW], many: None }
    }

    #[cold]
    #[inline(never)]
    fn many_from(&mut self, other: &Self) {
        self.many.clone_from(&other.many);
    }

    /// Returns the entries.
    #[inline]
    fn entries(&self) -> &[Epoch] {
        match &self.many {
            None => &self.few[..self.used()],
            Some(many) => many,
        }
    }

    /// Returns how many entries of `few` are in use.
    #[inline]
    fn used(&self) -> usize {
        self.few.iter().take_while(|epoch| epoch.sequence != 0).count()
    }

    /// Returns whether the clock covers `epoch`: what has this clock is ordered after it.
    #[inline]
    pub fn covers(&self, epoch: Epoch) -> bool {
        let known = self.few.iter().find(|entry| entry.timeline == epoch.timeline);
        known.is_some_and(|entry| entry.sequence >= epoch.sequence)
            || self.many.is_some() && self.covers_in_many(epoch)
    }

    #[cold]
    #[inline(never)]
    fn covers_in_many(&self, epoch: Epoch) -> bool {
        let entries = self.entries();
        let at = entries.binary_search_by_key(&epoch.timeline, |entry| entry.timeline);
        at.ok().and_then(|at| entries.get(at)).is_some_and(|entry| entry.sequence >= epoch.sequence)
    }

    /// Adds an epoch, which stands for all before it on its timeline too. Returns whether the clock has
    /// changed.
    #[inline]
    pub fn add(&mut self, epoch: Epoch) -> bool {
        for entry in &mut self.few {
            if entry.timeline == epoch.timeline {
                let changed = entry.sequence < epoch.sequence;
                if changed {
                    entry.sequence = epoch.sequence;
                }
                return changed;
            }
        }
        epoch.sequence != 0 && self.add_elsewhere(epoch)
    }

    /// [`add`](Self::add) of a timeline that is not in `few`.
    #[cold]
    #[inline(never)]
    fn add_elsewhere(&mut self, epoch: Epoch) -> bool {
        let used = self.used();
        let Some(many) = &mut self.many else {
            let at = self.few[..used].partition_point(|entry| entry.timeline < epoch.timeline);
            if used < FEW {
                self.few[at..=used].rotate_right(1);
                self.few[at] = epoch;
            } else {
                let mut many = self.few.to_vec();
                many.insert(at, epoch);
                *self = Self { few: [NONE; FEW], many: Some(Arc::new(many)) };
            }
            return true;
        };
        match many.binary_search_by_key(&epoch.timeline, |entry| entry.timeline) {
            Ok(at) => {
                let changed = many[at].sequence < epoch.sequence;
                if changed {
                    Arc::make_mut(many)[at].sequence = epoch.sequence;
                }
                changed
            }
            Err(at) => {
                Arc::make_mut(many).insert(at, epoch);
                true
            }
        }
    }

    /// Joins with another clock: afterwards it covers all that either did. Returns whether it has changed.
    #[inline]
    pub fn join(&mut self, other: &Self) -> bool {
        // No timeline has this number.
        self.join_for(other, NONE.timeline)
    }

    /// [`join`](Self::join) for the clock of timeline `own`, which needs no entry of its own.
    #[inline]
    pub fn join_for(&mut self, other: &Self, own: TimelineId) -> bool {
        let mut changed = false;
        for epoch in &other.few {
            if epoch.sequence == 0 {
                break;
            }
            changed |= epoch.timeline != own && self.add(*epoch);
        }
        match &other.many {
            None => changed,
            Some(many) => self.join_many(many, own),
        }
    }

    #[cold]
    #[inline(never)]
    fn join_many(&mut self, many: &[Epoch], own: TimelineId) -> bool {
        let epochs = many.iter().filter(|epoch| epoch.timeline != own);
        epochs.fold(false, |changed, epoch| self.add(*epoch) | changed)
    }

    /// Drops the entries for which `completed` returns true.
    #[cold]
    pub fn prune(&mut self, mut completed: impl FnMut(Epoch) -> bool) {
        if !self.iter().any(&mut completed) {
            return;
        }
        let remaining: Vec<Epoch> = self.iter().filter(|epoch| !completed(*epoch)).collect();
        *self = Self::new();
        match self.few.get_mut(..remaining.len()) {
            Some(few) => few.copy_from_slice(&remaining),
            None => self.many = Some(Arc::new(remaining)),
        }
    }

    /// Drops all entries.
    #[inline]
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Returns how many timelines the clock has entries for.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Returns whether the clock has no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the clock is so long that it is worth looking for completed entries.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.many.as_ref().is_some_and(|many| many.len() > 8)
    }

    /// Returns the entries, by timeline.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Epoch> {
        self.entries().iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Epoch, TimelineId, VectorClock};

    fn epoch(timeline: u32, sequence: u64) -> Epoch {
        Epoch { timeline: TimelineId(timeline), sequence }
    }

    #[test]
    fn a_clock_covers_what_was_added_and_all_before_it() {
        let mut clock = VectorClock::new();
        assert!(clock.add(epoch(7, 5)));
        assert!(clock.add(epoch(2, 9)));
        assert!(!clock.add(epoch(7, 4)));
        assert!(clock.covers(epoch(7, 5)) && clock.covers(epoch(7, 1)) && clock.covers(epoch(2, 9)));
        assert!(!clock.covers(epoch(7, 6)) && !clock.covers(epoch(3, 1)));
    }

    #[test]
    fn long_clocks_find_like_short_ones() {
        let mut clock = VectorClock::new();
        for timeline in (0..100).rev() {
            clock.add(epoch(timeline * 2, u64::from(timeline) + 1));
        }
        for timeline in 0..100 {
            assert!(clock.covers(epoch(timeline * 2, u64::from(timeline) + 1)));
            assert!(!clock.covers(epoch(timeline * 2, u64::from(timeline) + 2)));
            assert!(!clock.covers(epoch(timeline * 2 + 1, 1)));
        }
    }

    #[test]
    fn clocks_of_any_length_agree_with_a_map() {
        let mut state = 5_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut lengths = [0; 9];
        for _ in 0..2_000 {
            let mut both = [(); 2].map(|()| (VectorClock::new(), BTreeMap::new()));
            for _ in 0..40 {
                let timeline = u32::try_from(random(8)).unwrap();
                let (sequence, own) = (random(20), TimelineId(u32::try_from(random(8)).unwrap()));
                let [(clock, map), (other, seen)] = &mut both;
                match random(12) {
                    0..7 => {
                        let changed = sequence > map.get(&timeline).copied().unwrap_or(0);
                        assert_eq!(clock.add(epoch(timeline, sequence)), changed);
                        if changed {
                            map.insert(timeline, sequence);
                        }
                    }
                    7 => {
                        let mut changed = false;
                        for (timeline, sequence) in seen.iter().filter(|(timeline, _)| **timeline != own.0) {
                            let entry = map.entry(*timeline).or_insert(0);
                            changed |= sequence > entry;
                            *entry = *sequence.max(entry);
                        }
                        assert_eq!(clock.join_for(other, own), changed);
                    }
                    8 => {
                        clock.prune(|epoch| epoch.sequence < sequence);
                        map.retain(|_, of| *of >= sequence);
                    }
                    9 if random(4) == 0 => {
                        clock.clear();
                        map.clear();
                    }
                    10 => (*other, *seen) = (clock.clone(), map.clone()),
                    _ => both.reverse(),
                }
                for (clock, map) in &both {
                    let entries: Vec<_> =
                        clock.iter().map(|epoch| (epoch.timeline.0, epoch.sequence)).collect();
                    assert_eq!(
                        entries,
                        map.iter().map(|(timeline, sequence)| (*timeline, *sequence)).collect::<Vec<_>>()
                    );
                    lengths[clock.len()] += 1;
                    for timeline in 0..8 {
                        let known = map.get(&timeline).copied().unwrap_or(0);
                        assert!(known == 0 || clock.covers(epoch(timeline, known)));
                        assert!(!clock.covers(epoch(timeline, known + 1)));
                    }
                }
            }
        }
        assert!(lengths.iter().all(|seen| *seen > 100), "{lengths:?}");
    }
}
