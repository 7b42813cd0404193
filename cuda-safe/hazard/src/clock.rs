//! Stamps, and clocks: what a stream is known to be ordered after.

use std::fmt;
// Nothing waits for what these count, so a test that runs every interleaving need not look at them.
use std::sync::Arc;

/// A stream's number in the books; it outlives the stream's handle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub u32);

/// The number of an operation on its stream, from 1.
pub type Tick = u64;

/// One operation: the `tick`-th one of stream `slot`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The stream.
    pub slot: SlotId,
    /// Which of its operations.
    pub tick: Tick,
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

/// How many streams a clock knows of without asking for memory. Most programs use no more.
const FEW: usize = 3;

/// No stream and no operation: what a place in a clock says that nothing is in.
const NONE: Stamp = Stamp { slot: SlotId(u32::MAX), tick: 0 };

/// For each stream that something is ordered after, the last tick of it.
///
/// Sorted by slot. Entries that have completed may be left out: completion is known to everybody. A copy of
/// one that knows of few streams is a few words, and those of others have their memory in common until one of
/// them changes.
#[derive(Debug, PartialEq, Eq)]
pub struct Clock {
    /// The entries, and then `NONE`s.
    few: [Stamp; FEW],
    /// All entries, where they are more; `few` has none then.
    many: Option<Arc<Vec<Stamp>>>,
}

impl Clone for Clock {
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

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// A clock that knows of nothing.
    #[inline]
    pub const fn new() -> Self {
        Self { few: [NONE; FEW], many: None }
    }

    #[cold]
    #[inline(never)]
    fn many_from(&mut self, other: &Self) {
        self.many.clone_from(&other.many);
    }

    /// The same in short.
    #[inline]
    pub(crate) fn brief(&self) -> Brief {
        if self.many.is_some() || self.few[1].tick != 0 {
            Brief::Many
        } else if self.few[0].tick == 0 {
            Brief::Nothing
        } else {
            Brief::One(self.few[0])
        }
    }

    /// The entries.
    #[inline]
    fn entries(&self) -> &[Stamp] {
        match &self.many {
            None => &self.few[..self.used()],
            Some(many) => many,
        }
    }

    /// How many of `few` say something.
    #[inline]
    fn used(&self) -> usize {
        self.few.iter().take_while(|stamp| stamp.tick != 0).count()
    }

    /// Whether the clock covers `stamp`.
    #[inline]
    pub fn covers(&self, stamp: Stamp) -> bool {
        self.covers_plainly(stamp) || self.many.is_some() && self.covers_by_many(stamp)
    }

    /// Whether a clock that knows of few streams covers `stamp`.
    #[inline]
    pub(crate) fn covers_plainly(&self, stamp: Stamp) -> bool {
        let known = self.few.iter().find(|entry| entry.slot == stamp.slot);
        known.is_some_and(|entry| entry.tick >= stamp.tick)
    }

    #[cold]
    #[inline(never)]
    fn covers_by_many(&self, stamp: Stamp) -> bool {
        let entries = self.entries();
        let at = entries.binary_search_by_key(&stamp.slot, |entry| entry.slot);
        at.ok().and_then(|at| entries.get(at)).is_some_and(|entry| entry.tick >= stamp.tick)
    }

    /// Adds one stamp and all before it on its stream; says whether that was news.
    #[inline]
    pub fn add(&mut self, stamp: Stamp) -> bool {
        for entry in &mut self.few {
            if entry.slot == stamp.slot {
                let news = entry.tick < stamp.tick;
                if news {
                    entry.tick = stamp.tick;
                }
                return news;
            }
        }
        stamp.tick != 0 && self.add_elsewhere(stamp)
    }

    /// [`add`](Self::add) of a stream that `few` does not tell of.
    #[cold]
    #[inline(never)]
    fn add_elsewhere(&mut self, stamp: Stamp) -> bool {
        let used = self.used();
        let Some(many) = &mut self.many else {
            let at = self.few[..used].partition_point(|entry| entry.slot < stamp.slot);
            if used < FEW {
                self.few[at..].rotate_right(1);
                self.few[at] = stamp;
            } else {
                let mut many = self.few.to_vec();
                many.insert(at, stamp);
                *self = Self { few: [NONE; FEW], many: Some(Arc::new(many)) };
            }
            return true;
        };
        match many.binary_search_by_key(&stamp.slot, |entry| entry.slot) {
            Ok(at) => {
                let news = many[at].tick < stamp.tick;
                if news {
                    Arc::make_mut(many)[at].tick = stamp.tick;
                }
                news
            }
            Err(at) => {
                Arc::make_mut(many).insert(at, stamp);
                true
            }
        }
    }

    /// Whether the clock knows of this stream and no other one.
    #[inline]
    pub(crate) fn is_only_of(&self, slot: SlotId) -> bool {
        let [only, next, _] = &self.few;
        only.slot == slot && next.tick == 0
    }

    /// [`add`](Self::add) to a clock that knows of this very stream and no other one. None, with nothing
    /// added, for others.
    #[inline]
    pub(crate) fn add_to_only(&mut self, stamp: Stamp) -> Option<bool> {
        if !self.is_only_of(stamp.slot) {
            return None;
        }
        let only = &mut self.few[0];
        let news = only.tick < stamp.tick;
        if news {
            only.tick = stamp.tick;
        }
        Some(news)
    }

    /// Whether the clock has nothing to tell stream `own`, which needs to be told nothing about itself.
    #[inline]
    pub(crate) fn is_no_news_to(&self, own: SlotId) -> bool {
        let [only, next, _] = &self.few;
        // Without branches, of which the driver's code leaves no guesses.
        (next.tick == 0) & ((only.slot == own) | (only.tick == 0) & self.many.is_none())
    }

    /// Adds all that `other` covers; says whether any of it was news.
    #[inline]
    pub fn merge(&mut self, other: &Self) -> bool {
        // What a stream has without a slot is nobody's.
        self.learn(other, NONE.slot)
    }

    /// [`merge`](Self::merge) for the clock of stream `own`, which needs to be told nothing about itself.
    #[inline]
    pub fn learn(&mut self, other: &Self, own: SlotId) -> bool {
        let mut news = false;
        for stamp in &other.few {
            if stamp.tick == 0 {
                break;
            }
            news |= stamp.slot != own && self.add(*stamp);
        }
        match &other.many {
            None => news,
            Some(many) => self.learn_many(many, own),
        }
    }

    #[cold]
    #[inline(never)]
    fn learn_many(&mut self, many: &[Stamp], own: SlotId) -> bool {
        let stamps = many.iter().filter(|stamp| stamp.slot != own);
        stamps.fold(false, |news, stamp| self.add(*stamp) | news)
    }

    /// Drops the entries for which `completed` says that everybody knows.
    #[cold]
    pub fn prune(&mut self, mut completed: impl FnMut(Stamp) -> bool) {
        if !self.iter().any(&mut completed) {
            return;
        }
        let kept: Vec<Stamp> = self.iter().filter(|stamp| !completed(*stamp)).collect();
        *self = Self::new();
        match self.few.get_mut(..kept.len()) {
            Some(few) => few.copy_from_slice(&kept),
            None => self.many = Some(Arc::new(kept)),
        }
    }

    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// How many streams the clock knows of.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether the clock knows of no stream.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has become so long that it is worth looking for what is over.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.many.as_ref().is_some_and(|many| many.len() > 8)
    }

    /// The entries, by slot.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Stamp> {
        self.entries().iter().copied()
    }
}

/// What a clock knows of, as far as one number can say it, so that others can be told by one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brief {
    /// No stream.
    Nothing,
    /// This operation, and those before it.
    One(Stamp),
    /// More than a number can say.
    Many,
}

impl Brief {
    /// Bits of a tick. Those above are for the slot, all of them set where it is more than bits can say.
    const TICK_BITS: u32 = 48;

    /// What the bits say.
    #[inline]
    pub(crate) fn unpack(bits: u64) -> Self {
        // No slot is told of without a tick.
        if bits == 0 {
            return Self::Nothing;
        }
        match u32::try_from(bits >> Self::TICK_BITS) {
            Ok(slot) if slot < 0xffff => {
                Self::One(Stamp { slot: SlotId(slot), tick: bits & ((1 << Self::TICK_BITS) - 1) })
            }
            _ => Self::Many,
        }
    }

    /// The bits.
    #[inline]
    pub(crate) fn pack(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::One(Stamp { slot: SlotId(slot), tick })
                if slot < 0xffff && tick >> Self::TICK_BITS == 0 =>
            {
                (u64::from(slot) << Self::TICK_BITS) | tick
            }
            Self::One(_) | Self::Many => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Brief, Clock, SlotId, Stamp};

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

    #[test]
    fn clocks_of_any_length_tell_what_a_map_would() {
        let mut state = 5_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut lengths = [0; 9];
        for _ in 0..2_000 {
            let mut both = [(); 2].map(|()| (Clock::new(), BTreeMap::new()));
            for _ in 0..40 {
                let slot = u32::try_from(random(8)).unwrap();
                let (tick, own) = (random(20), SlotId(u32::try_from(random(8)).unwrap()));
                let [(clock, map), (other, seen)] = &mut both;
                match random(12) {
                    0..7 => {
                        let news = tick > map.get(&slot).copied().unwrap_or(0);
                        let only = map.len() == 1 && map.contains_key(&slot);
                        assert_eq!(clock.clone().add_to_only(stamp(slot, tick)), only.then_some(news));
                        let added = match clock.add_to_only(stamp(slot, tick)) {
                            Some(news) => news,
                            None => clock.add(stamp(slot, tick)),
                        };
                        assert_eq!(added, news);
                        if news {
                            map.insert(slot, tick);
                        }
                    }
                    7 => {
                        let mut news = false;
                        for (slot, tick) in seen.iter().filter(|(slot, _)| **slot != own.0) {
                            let entry = map.entry(*slot).or_insert(0);
                            news |= tick > entry;
                            *entry = *tick.max(entry);
                        }
                        assert_eq!(clock.learn(other, own), news);
                    }
                    8 => {
                        clock.prune(|stamp| stamp.tick < tick);
                        map.retain(|_, of| *of >= tick);
                    }
                    9 if random(4) == 0 => {
                        clock.clear();
                        map.clear();
                    }
                    10 => (*other, *seen) = (clock.clone(), map.clone()),
                    _ => both.reverse(),
                }
                for (clock, map) in &both {
                    let entries: Vec<_> = clock.iter().map(|stamp| (stamp.slot.0, stamp.tick)).collect();
                    assert_eq!(entries, map.iter().map(|(slot, tick)| (*slot, *tick)).collect::<Vec<_>>());
                    lengths[clock.len()] += 1;
                    for slot in 0..8 {
                        let known = map.get(&slot).copied().unwrap_or(0);
                        assert!(known == 0 || clock.covers(stamp(slot, known)));
                        assert!(!clock.covers(stamp(slot, known + 1)));
                    }
                    for slot in 0..9 {
                        let nothing = entries.iter().all(|(of, _)| *of == slot);
                        assert_eq!(clock.is_no_news_to(SlotId(slot)), nothing, "{entries:?}");
                    }
                    let brief = match entries.as_slice() {
                        [] => Brief::Nothing,
                        [(slot, tick)] => Brief::One(stamp(*slot, *tick)),
                        _ => Brief::Many,
                    };
                    assert_eq!(clock.brief(), brief);
                }
            }
        }
        assert!(lengths.iter().all(|seen| *seen > 100), "{lengths:?}");
    }

    #[test]
    fn what_is_told_in_short_is_what_was_meant_or_more_than_can_be_told() {
        let one = |slot, tick| Brief::One(Stamp { slot: SlotId(slot), tick });
        let last = (1 << 48) - 1;
        for (slot, tick) in [(0, 1), (0xfffe, 1), (0xfffe, last), (7, last)] {
            let brief = one(slot, tick);
            assert_eq!(Brief::unpack(brief.pack()), brief);
        }
        for (slot, tick) in [(0xffff, 1), (0x1_0000, 1), (u32::MAX - 1, 1), (3, last + 1)] {
            assert_eq!(Brief::unpack(one(slot, tick).pack()), Brief::Many);
        }
        for brief in [Brief::Nothing, Brief::Many] {
            assert_eq!(Brief::unpack(brief.pack()), brief);
        }
    }
}
