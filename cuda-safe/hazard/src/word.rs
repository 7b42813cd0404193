//! The access word: all there is to say about most allocations, in one atomic.
//!
//! From the top: three bits of mode, thirteen of slot, then 48 of tick; or, for a stream that has read what
//! it wrote itself, 40 of the write's tick and 8 of how much later the read was, or 28 and 20. The write's
//! own tick matters: a stream that is ordered after the write but not after the later read may still read.
//! What does not fit goes to the list.

use crate::clock::{SlotId, Stamp, Tick};

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
    use super::{LISTED, SlotId, Stamp, Word};

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
