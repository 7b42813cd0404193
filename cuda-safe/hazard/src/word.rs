//! The access word: all there is to say about most allocations, in one atomic.
//!
//! From the top: three bits of mode, thirteen of slot, then 48 of tick; or, for a stream that has read what
//! it wrote itself, 40 of the write's tick and 8 of how much later the read was, or 28 and 20. The write's
//! own tick matters: a stream that is ordered after the write but not after the later read may still read.
//! What does not fit goes to the list.

use crate::clock::{SlotId, Stamp, Tick};
use crate::entry::Mode;

const SLOT_BITS: u32 = 13;
const TICK_BITS: u32 = 48;
/// Bits of how much later the read was, where it was soon after, and where it was long after.
const SOON_BITS: u32 = 8;
const LATE_BITS: u32 = 20;

const MODE_WRITE: u64 = 1;
const MODE_READ: u64 = 2;
const MODE_BOTH: u64 = 3;
const MODE_BOTH_LATE: u64 = 4;
const MODE_LISTED: u64 = 5;

/// The word of an allocation whose accesses are in its list.
pub(crate) const LISTED: u64 = MODE_LISTED << (SLOT_BITS + TICK_BITS);

/// What an access word says. All of these are about the whole allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// No access is on record.
    Empty,
    /// The last access was this write.
    Write(Stamp),
    /// The last access was this read, and no write before it matters any more.
    Read(Stamp),
    /// `write`, then a read of the same stream at `read`.
    Both { write: Stamp, read: Tick },
    /// The accesses are in the list.
    Listed,
}

/// `value` in `bits` bits, if it fits.
fn fits(value: u64, bits: u32) -> Option<u64> {
    (value >> bits == 0).then_some(value)
}

impl Word {
    /// The word for the bits of the atomic.
    #[inline]
    pub(crate) fn unpack(bits: u64) -> Self {
        let tick = bits & ((1 << TICK_BITS) - 1);
        // The mask leaves thirteen bits, so nothing is lost.
        let slot = (bits >> TICK_BITS) & ((1 << SLOT_BITS) - 1);
        let Ok(slot) = u32::try_from(slot) else { return Self::Listed };
        let slot = SlotId(slot);
        match bits >> (SLOT_BITS + TICK_BITS) {
            0 => Self::Empty,
            MODE_WRITE => Self::Write(Stamp { slot, tick }),
            MODE_READ => Self::Read(Stamp { slot, tick }),
            MODE_BOTH => Self::both(slot, tick, SOON_BITS),
            MODE_BOTH_LATE => Self::both(slot, tick, LATE_BITS),
            _ => Self::Listed,
        }
    }

    /// A write and a later read, from a payload that has `bits` bits for how much later.
    fn both(slot: SlotId, payload: u64, bits: u32) -> Self {
        let write = payload >> bits;
        let delta = payload & ((1 << bits) - 1);
        Self::Both { write: Stamp { slot, tick: write }, read: write + delta }
    }

    /// The bits after one more whole access by the stream that `bits` tell of, which is what most operations find: the stream's own
    /// order puts it behind all that they say. None if they tell of another stream or of none, or if bits cannot tell it.
    ///
    /// Where the access is one that may be made [during the call](crate::Access::at_call), the stream's own order is not enough, but
    /// for [another of its mode](Self::alike), or where CUDA has refused none of the stream's operations since the last one that it
    /// did.
    pub(crate) fn again(bits: u64, mode: Mode, me: Stamp) -> Option<u64> {
        Self::alike(bits, mode, me).or_else(|| match (Self::before(bits, me)?, mode) {
            (before @ MODE_WRITE..MODE_LISTED, Mode::Read) => Self::read_again(bits, before, me),
            _ => None,
        })
    }

    /// [`again`](Self::again) of a write, or of a read after reads alone: the bits then tell of it and of nothing else. For a read during
    /// the call, too, the stream's own order is enough there.
    #[inline]
    pub(crate) fn alike(bits: u64, mode: Mode, me: Stamp) -> Option<u64> {
        let before = Self::before(bits, me)?;
        let alike = match mode {
            Mode::Write => before.wrapping_sub(MODE_WRITE) < MODE_LISTED - MODE_WRITE,
            Mode::Read => before == MODE_READ,
        };
        alike.then_some(Self::told(mode, me))
    }

    /// The bits after one more whole access where they tell of one of another stream that the accessing one is ordered after: it is so after
    /// operation `known` of one stream and all before that. None where it is not so, or where that takes more than one look.
    #[inline]
    pub(crate) fn taken_over(bits: u64, mode: Mode, me: Stamp, known: Stamp) -> Option<u64> {
        let last = Self::last_in_the_way(bits, mode)?;
        if last.slot == known.slot && last.tick <= known.tick { Self::only(mode, me) } else { None }
    }

    /// The mode that bits tell of, if the slot is the same; else what is no mode. None where the slot or the tick does not fit into bits.
    #[inline]
    fn before(bits: u64, me: Stamp) -> Option<u64> {
        Self::can_tell(me).then(|| (bits >> TICK_BITS).wrapping_sub(me.slot.0.into()).rotate_right(SLOT_BITS))
    }

    /// Whether an operation fits into bits. It would be taken for another one.
    #[inline]
    fn can_tell(me: Stamp) -> bool {
        (u64::from(me.slot.0) >> SLOT_BITS) | (me.tick >> TICK_BITS) == 0
    }

    /// The bits that tell of this access and no other one, which they can.
    #[inline]
    fn told(mode: Mode, me: Stamp) -> u64 {
        let mode = match mode {
            Mode::Write => MODE_WRITE,
            Mode::Read => MODE_READ,
        };
        (((mode << SLOT_BITS) | u64::from(me.slot.0)) << TICK_BITS) | me.tick
    }

    /// [`again`](Self::again) of a read after a write, and perhaps after other reads.
    ///
    /// Every so often it says that it cannot tell, so that somebody looks whether the write is over: reads alone cost less.
    fn read_again(bits: u64, before: u64, me: Stamp) -> Option<u64> {
        let payload = bits & ((1 << TICK_BITS) - 1);
        let (write, later) = match before {
            MODE_BOTH => (payload >> SOON_BITS, payload & ((1 << SOON_BITS) - 1)),
            MODE_BOTH_LATE => (payload >> LATE_BITS, payload & ((1 << LATE_BITS) - 1)),
            _ => (payload, 0),
        };
        if (write + later) >> SOON_BITS != me.tick >> SOON_BITS {
            return None;
        }
        Self::Both { write: Stamp { slot: me.slot, tick: write }, read: me.tick }.pack()
    }

    /// Whether the bits tell of this stream. Those that tell of no stream may say so too.
    #[inline]
    pub(crate) fn is_of(bits: u64, slot: SlotId) -> bool {
        (bits >> TICK_BITS) & ((1 << SLOT_BITS) - 1) == u64::from(slot.0)
    }

    /// The operation behind which a whole access of mode `mode` must be, so that [it alone](Self::only) need be told of afterwards. None
    /// where that takes more than one look.
    #[inline]
    pub(crate) fn in_the_way(bits: u64, mode: Mode) -> Option<Stamp> {
        Self::last_in_the_way(bits, mode).or_else(|| Self::read_in_the_way(bits, mode))
    }

    /// [`in_the_way`](Self::in_the_way) where the bits tell of one access only.
    #[inline]
    pub(crate) fn last_in_the_way(bits: u64, mode: Mode) -> Option<Stamp> {
        let kind = bits >> (SLOT_BITS + TICK_BITS);
        if kind != MODE_READ && (kind != MODE_WRITE || mode == Mode::Read) {
            return None;
        }
        // The mask leaves thirteen bits, so nothing is lost.
        let slot = u32::try_from((bits >> TICK_BITS) & ((1 << SLOT_BITS) - 1)).ok()?;
        Some(Stamp { slot: SlotId(slot), tick: bits & ((1 << TICK_BITS) - 1) })
    }

    /// The read that a write must be behind.
    #[cold]
    #[inline(never)]
    fn read_in_the_way(bits: u64, mode: Mode) -> Option<Stamp> {
        match (Self::unpack(bits), mode) {
            (Self::Both { write, read }, Mode::Write) => Some(Stamp { slot: write.slot, tick: read }),
            _ => None,
        }
    }

    /// The bits that tell of this access and no other one, if bits can.
    #[inline]
    pub(crate) fn only(mode: Mode, me: Stamp) -> Option<u64> {
        Self::can_tell(me).then(|| Self::told(mode, me))
    }

    /// The bits for the word, if it can be told in bits.
    #[inline]
    pub(crate) fn pack(self) -> Option<u64> {
        let (mode, slot, payload) = match self {
            Self::Empty => return Some(0),
            Self::Listed => return Some(LISTED),
            Self::Write(stamp) => (MODE_WRITE, stamp.slot, fits(stamp.tick, TICK_BITS)?),
            Self::Read(stamp) => (MODE_READ, stamp.slot, fits(stamp.tick, TICK_BITS)?),
            Self::Both { write, read } => {
                let delta = read.checked_sub(write.tick)?;
                let (mode, bits) = if delta >> SOON_BITS == 0 {
                    (MODE_BOTH, SOON_BITS)
                } else {
                    (MODE_BOTH_LATE, LATE_BITS)
                };
                let tick = fits(write.tick, TICK_BITS - bits)?;
                (mode, write.slot, (tick << bits) | fits(delta, bits)?)
            }
        };
        let slot = fits(u64::from(slot.0), SLOT_BITS)?;
        Some((((mode << SLOT_BITS) | slot) << TICK_BITS) | payload)
    }
}

#[cfg(test)]
mod tests {
    use super::{LISTED, Mode, SlotId, Stamp, Word};

    #[test]
    fn every_word_that_packs_unpacks_to_itself() {
        for slot in [0, 1, 77, (1 << 13) - 1] {
            for tick in [1, 2, 255, 256, (1 << 40) - 1] {
                let stamp = Stamp { slot: SlotId(slot), tick };
                let mut words = vec![Word::Write(stamp), Word::Read(stamp)];
                words.extend([0, 1, 255].map(|later| Word::Both { write: stamp, read: tick + later }));
                for word in words {
                    assert_eq!(word.pack().map(Word::unpack), Some(word));
                }
            }
        }
        assert_eq!(Word::unpack(0), Word::Empty);
        assert_eq!(Word::unpack(LISTED), Word::Listed);
    }

    #[test]
    fn one_more_access_of_the_same_kind_is_told_as_it_would_be_anew() {
        let slots = [0, 1, (1 << 13) - 1, 1 << 13, (1 << 13) + 1];
        let stamps =
            slots.map(|slot| [3, (1 << 48) - 1, 1 << 48].map(|tick| Stamp { slot: SlotId(slot), tick }));
        let stamps = stamps.as_flattened();
        for before in stamps {
            let both = Word::Both { write: *before, read: before.tick };
            for word in [Word::Write(*before), Word::Read(*before), both, Word::Empty, Word::Listed] {
                let Some(bits) = word.pack() else { continue };
                for me in stamps {
                    let (write, read) =
                        (Word::again(bits, Mode::Write, *me), Word::again(bits, Mode::Read, *me));
                    let same = before.slot == me.slot && !matches!(word, Word::Empty | Word::Listed);
                    assert_eq!(write, Word::Write(*me).pack().filter(|_| same), "{word:?} {me:?}");
                    let has_read = match word {
                        Word::Read(_) => Word::Read(*me),
                        _ => Word::Both { write: *before, read: me.tick },
                    };
                    // Where a write matters, it is now and then to be asked for.
                    let told = matches!(word, Word::Read(_)) || before.tick >> 8 == me.tick >> 8;
                    assert_eq!(read, has_read.pack().filter(|_| same && told), "{word:?} {me:?}");
                    for mode in [Mode::Write, Mode::Read] {
                        let kinds = matches!(
                            (word, mode),
                            (Word::Write(_), Mode::Write) | (Word::Read(_), Mode::Read)
                        );
                        let alike = kinds && same;
                        let kept = Word::again(bits, mode, *me).map(Word::unpack);
                        let only = if mode == Mode::Write { Word::Write(*me) } else { Word::Read(*me) };
                        let plain = Word::alike(bits, mode, *me);
                        assert!(plain.is_none() || plain == Word::again(bits, mode, *me), "{word:?} {me:?}");
                        assert!(!alike || kept.is_none_or(|kept| kept == only), "{word:?} {me:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_stream_that_reads_what_it_wrote_reads_again_and_writes_again() {
        let slot = SlotId(5);
        let at = |tick| Stamp { slot, tick };
        let mut bits = Word::Write(at(7)).pack().unwrap();
        for tick in [8, 9, 255] {
            bits = Word::again(bits, Mode::Read, at(tick)).unwrap();
            assert_eq!(Word::unpack(bits), Word::Both { write: at(7), read: tick });
            let other = Stamp { slot: SlotId(4), tick };
            assert_eq!(Word::again(bits, Mode::Read, other).or(Word::again(bits, Mode::Write, other)), None);
            assert_eq!(Word::in_the_way(bits, Mode::Write), Some(at(tick)));
            assert_eq!(Word::in_the_way(bits, Mode::Read), None);
        }
        // Now somebody is to look whether the write is over.
        assert_eq!(Word::again(bits, Mode::Read, at(256)), None);
        let late = Word::Both { write: at(7), read: 900 }.pack().unwrap();
        let next = Word::again(late, Mode::Read, at(1000)).unwrap();
        assert_eq!(Word::unpack(next), Word::Both { write: at(7), read: 1000 });
        assert_eq!(Word::again(late, Mode::Read, at(1024)), None);
        let bits = Word::again(late, Mode::Write, at(1 << 20)).unwrap();
        assert_eq!(Word::unpack(bits), Word::Write(at(1 << 20)));
        assert_eq!(Word::in_the_way(bits, Mode::Write), Some(at(1 << 20)));
        assert_eq!(Word::in_the_way(bits, Mode::Read), None);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_not_cut() {
        let far = Stamp { slot: SlotId(1 << 13), tick: 1 };
        assert_eq!(Word::Write(far).pack(), None);
        let late = Stamp { slot: SlotId(0), tick: 1 << 48 };
        assert_eq!(Word::Read(late).pack(), None);
        let stamp = Stamp { slot: SlotId(3), tick: 10 };
        let late = Word::Both { write: stamp, read: 10 + 256 };
        assert_eq!(late.pack().map(Word::unpack), Some(late));
        assert_eq!(Word::Both { write: stamp, read: 10 + (1 << 20) }.pack(), None);
        let stamp = Stamp { slot: SlotId(3), tick: 1 << 28 };
        assert_eq!(Word::Both { write: stamp, read: (1 << 28) + 256 }.pack(), None);
        let late = Stamp { slot: SlotId(3), tick: 1 << 40 };
        assert_eq!(Word::Both { write: late, read: 1 << 40 }.pack(), None);
    }
}
