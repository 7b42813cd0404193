//! The short way in, of which `hazard::books::again` says when there is one.

use std::panic::Location;

use super::BOOKS;
use crate::device::Device;
use crate::hazard::Access;
use crate::hazard::books::{Again, Kind, Lane, Ledger, LockGuard, Manner, Slot, Tick};
use crate::stream::port::Runtime;
use crate::stream::{StreamRef, busy};
use crate::sys;

/// An operation that went the short way in, until it is over.
pub(in crate::stream) struct Going<'a> {
    pub(super) again: Again<'a>,
    _busy: busy::Begun,
}

impl<'a> Going<'a> {
    /// What [`StreamRef::again`] has entered.
    #[inline]
    pub(super) fn new(slot: &'a Slot, lane: LockGuard<'a, Lane>, tick: Tick, real: bool) -> Self {
        Self { again: Again::new(slot, lane, tick, real), _busy: busy::Begun }
    }

    /// CUDA has it, or has refused it.
    #[inline]
    pub(in crate::stream) fn over(self, done: bool) {
        self.again.over(done);
    }
}

impl StreamRef<'_> {
    /// Enters an operation by the short way, which there is not for streams whose device would have to be made current. Where it is
    /// entered, the thread is busy, until there is a [`Going`] for it that goes.
    #[expect(clippy::inline_always, reason = "measured")]
    #[inline(always)]
    pub(super) fn again(
        &self,
        accesses: &[Access<'_>],
        place: &'static Location<'static>,
    ) -> Option<(LockGuard<'static, Lane>, Tick)> {
        let kind = self.slot().kind;
        if self.recorder().is_some() || !matches!(kind, Kind::Blocking | Kind::NonBlocking) {
            return None;
        }
        self.again_as(kind, accesses, place)
    }

    /// The same for a legacy stream, where there is only one device, which is always current.
    #[expect(clippy::inline_always, reason = "measured")]
    #[inline(always)]
    pub(super) fn again_on_legacy(
        &self,
        accesses: &[Access<'_>],
        place: &'static Location<'static>,
    ) -> Option<(LockGuard<'static, Lane>, Tick)> {
        if self.recorder().is_some() || self.slot().kind != Kind::Legacy || !Device::is_only_one() {
            return None;
        }
        self.again_as(Kind::Legacy, accesses, place)
    }

    #[expect(clippy::inline_always, reason = "measured")]
    #[inline(always)]
    fn again_as(
        &self,
        kind: Kind,
        accesses: &[Access<'_>],
        place: &'static Location<'static>,
    ) -> Option<(LockGuard<'static, Lane>, Tick)> {
        let (slot, raw) = (self.slot(), self.as_raw());
        let entered = busy::try_enter()?;
        let again = slot.lock_again(
            kind,
            accesses,
            |lane, ledger, manner| take_turn(slot, lane, ledger, manner, raw, place),
            |lane, ledger, manner| enter_otherwise(slot, lane, ledger, manner, raw, place),
        )?;
        entered.goes_on();
        Some(again)
    }
}

/// [`Books::take_turn`] for an operation on the stream `raw` of this slot.
#[cold]
#[inline(never)]
fn take_turn(
    slot: &Slot,
    lane: &mut Lane,
    ledger: &Ledger,
    manner: Manner,
    raw: sys::cudaStream_t,
    place: &'static Location<'static>,
) -> bool {
    BOOKS.take_turn(slot, lane, ledger, manner, &Runtime::new(raw), place)
}

/// [`Slot::enter_otherwise`] for an operation on the stream `raw` of this slot.
#[cold]
#[inline(never)]
pub(super) fn enter_otherwise(
    slot: &Slot,
    lane: &mut Lane,
    ledger: &Ledger,
    manner: Manner,
    raw: sys::cudaStream_t,
    place: &'static Location<'static>,
) -> bool {
    slot.enter_otherwise(lane, ledger, manner, |lane| enter_behind(slot, lane, ledger, manner, raw, place))
}

/// The same of [`Books::enter_behind`].
#[cold]
#[inline(never)]
fn enter_behind(
    slot: &Slot,
    lane: &mut Lane,
    ledger: &Ledger,
    manner: Manner,
    raw: sys::cudaStream_t,
    place: &'static Location<'static>,
) -> bool {
    BOOKS.enter_behind(slot, lane, ledger, manner, &Runtime::new(raw), place)
}
