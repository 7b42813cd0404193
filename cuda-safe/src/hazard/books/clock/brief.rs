//! What a clock knows of, as one number.

use super::{SlotId, Stamp};

/// What a clock knows of, as far as one number can say it, so that others can be told by one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Brief {
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
    pub(in super::super) fn unpack(bits: u64) -> Self {
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

    /// Whether the bits tell of nothing, or of this very stream.
    #[inline]
    pub(in super::super) fn is_no_news_to(bits: u64, slot: SlotId) -> bool {
        // More than bits can say is no stream's number. All three are asked: a branch would cost more than the last two do.
        (bits == 0) | (slot.0 < 0xffff) & (bits >> Self::TICK_BITS == u64::from(slot.0))
    }

    /// The bits.
    #[inline]
    pub(in super::super) fn pack(self) -> u64 {
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
    use super::*;

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
