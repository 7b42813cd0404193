//! The way in for operations that are one call of a C function, as most are.
#![expect(unsafe_code, reason = "declares more of the unsafe way in")]

use super::short::Going;
use super::{Asked, BOOKS};
use crate::error::Result;
use crate::hazard::Access;
use crate::stream::StreamRef;
use crate::stream::call::{Call, about, copied};
use crate::sys;

impl StreamRef<'_> {
    /// [`enqueue`](Self::enqueue) of one call of a C function, as most operations are.
    ///
    /// # Safety
    /// The duties of `enqueue`.
    #[expect(
        clippy::inline_always,
        reason = "measured: what the caller knows of the call then need not go through memory"
    )]
    #[inline(always)]
    pub(crate) unsafe fn enqueue_call<const N: usize>(
        self,
        accesses: [Access<'_>; N],
        asked: Call<impl Fn() -> usize + Copy>,
        call: impl Fn(sys::cudaStream_t) -> sys::cudaError_t + Copy,
    ) -> Result<()> {
        let Some((lane, tick)) = self.again(&accesses, asked.place) else {
            let accesses = accesses.map(Access::copied);
            return self.copied().call_late(&accesses, asked.copied(), copied(&call));
        };
        let going = Going::new(self.slot(), lane, tick, N > 0);
        let code = call(self.as_raw());
        going.over(code == sys::cudaSuccess);
        asked.outcome(code)
    }

    /// [`enqueue_call`](Self::enqueue_call) for a legacy stream. If the call `waits`, it returns only when the stream has done all that it
    /// was given, this included.
    ///
    /// # Safety
    /// The duties of `enqueue`, and the call does wait if that is said.
    #[expect(clippy::inline_always, reason = "as `enqueue_call`")]
    #[inline(always)]
    pub(crate) unsafe fn enqueue_call_blocking<const N: usize>(
        self,
        accesses: [Access<'_>; N],
        waits: bool,
        asked: Call<impl Fn() -> usize + Copy>,
        call: impl Fn(sys::cudaStream_t) -> sys::cudaError_t + Copy,
    ) -> Result<()> {
        let Some((lane, tick)) = self.again_on_legacy(&accesses, asked.place) else {
            let accesses = accesses.map(Access::copied);
            return self.copied().call_blocking_late(&accesses, waits, asked.copied(), copied(&call));
        };
        let slot = self.slot();
        let going = Going::new(slot, lane, tick, N > 0);
        let besides = if waits { BOOKS.coverage_besides(slot) } else { None };
        let code = call(self.as_raw());
        let done = code == sys::cudaSuccess;
        going.over(done);
        if waits && done {
            slot.complete(tick);
            if let Some(besides) = besides {
                BOOKS.completed_all(&besides);
            }
        }
        asked.outcome(code)
    }

    /// [`enqueue_call_blocking`](Self::enqueue_call_blocking) where the short way was none.
    #[cold]
    #[inline(never)]
    fn call_blocking_late(
        self,
        accesses: &[Access<'_>],
        waits: bool,
        asked: Call<impl Fn() -> usize + Copy>,
        call: impl Fn(sys::cudaStream_t) -> sys::cudaError_t,
    ) -> Result<()> {
        let call = |raw| asked.outcome(call(raw));
        let entered = self.enter_blocking(accesses, waits, asked.place, call);
        entered.map_err(|error| about(error, (asked.bytes)()))
    }

    /// [`enqueue_call`](Self::enqueue_call) with accesses that lie in memory already.
    ///
    /// # Safety
    /// The duties of `enqueue`.
    #[inline]
    pub(crate) unsafe fn enqueue_call_with(
        self,
        accesses: &[Access<'_>],
        asked: Call<impl Fn() -> usize + Copy>,
        call: impl Fn(sys::cudaStream_t) -> sys::cudaError_t + Copy,
    ) -> Result<()> {
        let Some((lane, tick)) = self.again(accesses, asked.place) else {
            return self.copied().call_late(accesses, asked.copied(), copied(&call));
        };
        let going = Going::new(self.slot(), lane, tick, !accesses.is_empty());
        let code = call(self.as_raw());
        going.over(code == sys::cudaSuccess);
        asked.outcome(code)
    }

    /// [`enqueue_call`](Self::enqueue_call) where the short way was none.
    #[cold]
    #[inline(never)]
    fn call_late(
        self,
        accesses: &[Access<'_>],
        asked: Call<impl Fn() -> usize + Copy>,
        call: impl Fn(sys::cudaStream_t) -> sys::cudaError_t,
    ) -> Result<()> {
        let call = |raw| asked.outcome(call(raw));
        let entered = self.enter(Asked::New(accesses), asked.place, call);
        entered.map(|_| ()).map_err(|error| about(error, (asked.bytes)()))
    }
}
