//! The way in for operations that are made again and again with the same accesses.
#![expect(unsafe_code, reason = "declares another unsafe way in")]

use super::short::Going;
use crate::error::Result;
use crate::hazard::Repeat;
use crate::hazard::books::Kind;
use crate::stream::{StreamRef, busy};
use crate::sys;

impl StreamRef<'_> {
    /// [`enqueue`](Self::enqueue) of an operation that does again what its stream did last to the same memory, where the tracker need not
    /// be told what that is: the program has seen that its accesses are those of some [`Series`](crate::hazard::Series), one for each
    /// allocation. It costs the same however many they are.
    ///
    /// None, with nothing done and `f` not called, where the tracker needs more: the first time, and where anybody else has used the memory
    /// since. The operation then goes in by `enqueue`, or by this with the accesses [told](crate::hazard::Series::told), which is
    /// what makes the next one find them. Of an operation with two series of one allocation the tracker has to be told each time.
    ///
    /// # Ordering
    /// As `enqueue`.
    ///
    /// # Errors
    /// What `f` fails with.
    ///
    /// # Safety
    /// - The duties of `enqueue`, the accesses being those of all the series.
    /// - Each series stands, whenever it is used, for accesses to the same bytes of one allocation, of the same kinds, in the same
    ///   order, be the allocation another one by then; where they are told, for just these.
    #[inline]
    pub(crate) unsafe fn enqueue_repeated<R>(
        &self,
        repeats: &[Repeat<'_, '_>],
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Option<Result<R>> {
        let slot = self.slot();
        if self.recorder().is_some() || !matches!(slot.kind, Kind::Blocking | Kind::NonBlocking) {
            return None;
        }
        let entered = busy::try_enter()?;
        let (lane, tick) = slot.lock_repeated(slot.kind, repeats)?;
        entered.goes_on();
        let going = Going::new(slot, lane, tick, true);
        let answer = f(self.as_raw());
        going.over(answer.is_ok());
        Some(answer)
    }
}
