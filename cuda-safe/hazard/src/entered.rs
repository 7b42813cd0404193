//! An operation between the ledgers and CUDA.

use crate::clock::{Stamp, Tick};
use crate::enter::Refusal;
use crate::slot::{Kind, Lane, Slot};
use crate::table::Books;

/// An operation that is in the ledgers and not yet CUDA's. Its tick is published when this is dropped, whatever happens, or
/// others would wait for it for ever.
pub(crate) struct Entered<'a> {
    slot: &'a Slot,
    tick: Tick,
    /// What to say where CUDA refuses it; see [`Slot::publish`].
    proven: bool,
    /// Whether it counts as one of the stream's, being sure to put something on it.
    real: bool,
    /// Whether it brings the stream what the legacy rule holds back for it.
    pending: bool,
}

impl<'a> Entered<'a> {
    /// The next operation of the stream, for whoever has its lane locked.
    #[inline]
    pub(crate) fn new(slot: &'a Slot, real: bool, pending: bool) -> Self {
        let tick = slot.next_by_owner().tick;
        let solid = slot.provable() + 1 == tick;
        Self { slot, tick, proven: solid && !pending, real, pending }
    }

    #[inline]
    pub(crate) fn me(&self) -> Stamp {
        Stamp { slot: self.slot.id, tick: self.tick }
    }

    /// Has `call` hand it to CUDA. Inlined, so that what is known about it need not go through memory.
    #[expect(clippy::inline_always, reason = "measured: a fifth less for the smallest operation")]
    #[inline(always)]
    pub(crate) fn hand_over<R, E>(
        mut self,
        lane: &mut Lane,
        call: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Stamp), Refusal<E>> {
        let me = self.me();
        let answer = call().map_err(Refusal::Call)?;
        let (slot, real) = (self.slot, self.real);
        if real {
            self.proven = true;
            if self.pending {
                Books::commit(slot, lane);
            }
        }
        drop(self);
        if real && slot.kind == Kind::Legacy {
            slot.device.acted(me.tick, lane.untold.then_some(&lane.clock));
            lane.untold = false;
        }
        Ok((answer, me))
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.publish(self.tick, self.proven);
        self.slot.device.note_news(self.slot.kind);
    }
}
