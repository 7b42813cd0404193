//! The way in for operations whose accesses were put in order before.
#![expect(unsafe_code, reason = "declares more of the unsafe way in")]

use std::panic::Location;

use super::Asked;
use super::short::{Going, enter_otherwise};
use crate::error::Result;
use crate::stream::{StreamRef, busy};
use crate::sys;
use cuda_hazard::lock::LockGuard;
use cuda_hazard::{Kind, Lane, Sorted, Tick};

impl StreamRef<'_> {
    /// [`enqueue`](Self::enqueue) of an operation whose accesses were put in order before.
    ///
    /// # Safety
    /// The duties of `enqueue`.
    #[inline]
    pub(crate) unsafe fn enqueue_sorted<R>(
        &self,
        accesses: &Sorted<'_>,
        place: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        if let Some((lane, tick)) = self.sorted_again(accesses, place) {
            let going = Going::new(self.slot(), lane, tick, true);
            let answer = f(self.as_raw());
            going.over(answer.is_ok());
            return answer;
        }
        self.copied().enqueue_sorted_late(accesses, place, f)
    }

    #[cold]
    #[inline(never)]
    fn enqueue_sorted_late<R>(
        self,
        accesses: &Sorted<'_>,
        place: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        self.enter(Asked::Sorted(accesses), place, f).map(|(answer, _)| answer)
    }

    /// [`again`](Self::again) of an operation whose accesses were put in order before.
    #[inline]
    fn sorted_again(
        &self,
        accesses: &Sorted<'_>,
        place: &'static Location<'static>,
    ) -> Option<(LockGuard<'static, Lane>, Tick)> {
        let (slot, raw) = (self.slot(), self.as_raw());
        let kind = slot.kind;
        if self.recorder().is_some() || !matches!(kind, Kind::Blocking | Kind::NonBlocking) {
            return None;
        }
        let entered = busy::try_enter()?;
        let again = slot.lock_sorted(kind, accesses, |lane, ledger, manner| {
            enter_otherwise(slot, lane, ledger, manner, raw, place)
        })?;
        entered.goes_on();
        Some(again)
    }
}
