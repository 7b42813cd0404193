//! The one way onto a stream.
//!
//! # Why safe code has no data race on the device
//! Every operation of this crate comes through [`StreamRef::enqueue`], which enters each allocation's bytes
//! in its ledger before the runtime sees the operation, and orders it after every conflicting entry: by what
//! the stream is already known to be ordered after, or by an event recorded on the other stream and a wait on
//! this one. What "known" may mean is in [`hazard`](crate::hazard); that the event and the wait order what
//! they are to order, in `port`.
//!
//! # Why nobody waits for ever
//! The order of steps is in `cuda_hazard`. A closure that started another operation, or waited on the host
//! for memory of its own operation, would wait for itself: a flag of the thread refuses both. A host function
//! may not call CUDA: the same flag.
#![expect(unsafe_code, reason = "declares the unsafe way in")]

mod call;
mod repeated;
mod short;
mod sorted;

use std::panic::Location;

pub(super) use self::short::Going;
use super::port::Runtime;
use super::view::StreamRef;
use super::{busy, policy};
use crate::error::{Detail, Error, Result};
use crate::hazard::Access;
use crate::sys;
use cuda_hazard::{Books, First, Kind, Refusal, Sorted, Stamp};

/// The books of this process.
pub(crate) static BOOKS: Books = Books::new(policy::initial);

impl StreamRef<'_> {
    /// Puts an operation on the stream that reads and writes the bytes in `accesses`, ordered after whatever
    /// conflicts with it.
    ///
    /// `f` gets the raw stream and hands the operation to CUDA. This is the way in for other libraries that
    /// take a stream, too: with their accesses declared, what they do is ordered with everything that this
    /// crate does. Several accesses of one allocation are fine.
    ///
    /// # Ordering
    /// After every operation that was enqueued before and conflicts, on whatever stream. If the program has
    /// not ordered them, a wait is added, or the operation refused: see
    /// [`hazard::set_policy`](crate::hazard::set_policy).
    ///
    /// # Errors
    /// What `f` fails with; `Hazard` under `Policy::Error`; `Nested` inside the closure of another `enqueue`,
    /// `InCallback` inside a host function; `HostBorrowed` for an access that no borrow stands for while the
    /// host has the memory; a failure of the runtime to add a wait.
    ///
    /// # Safety
    /// - What `f` puts on the stream touches no memory that this crate owns but the bytes in `accesses`, and
    ///   writes only those declared as written.
    /// - `f` puts it on the stream it is given and on no other one, or joins the others to it again.
    /// - If `f` succeeds and `accesses` has bytes, `f` has put at least one operation on the stream that gives the device something to
    ///   do.
    /// - Pinned memory that is copied to a device is declared as [read at the call](Access::at_call). A batch of such copies does not
    ///   directly follow a fill of that memory by `cudaMemset`: CUDA does not order the two.
    /// - On a captured stream ([`is_capturing`](Self::is_capturing)) all this holds for every launch of the graph, and what
    ///   the operation needs beside the memory in `accesses` lives as long as the graph and its executable forms.
    /// - The memory lives and is not moved or reached by the host until the operation has completed. Owners
    ///   of this crate see to that themselves when they are dropped.
    #[inline]
    #[track_caller]
    pub unsafe fn enqueue<R>(
        &self,
        accesses: &[Access<'_>],
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        // SAFETY: the caller's duties are just these.
        unsafe { self.enqueue_at(accesses, Location::caller(), f) }
    }

    /// [`enqueue`](Self::enqueue) on behalf of a line elsewhere: a closure in between would hide the
    /// caller's.
    ///
    /// # Safety
    /// The duties of `enqueue`.
    #[inline]
    pub(crate) unsafe fn enqueue_at<R>(
        &self,
        accesses: &[Access<'_>],
        place: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        if let Some((lane, tick)) = self.again(accesses, place) {
            let going = Going::new(self.slot(), lane, tick, !accesses.is_empty());
            let answer = f(self.as_raw());
            going.over(answer.is_ok());
            return answer;
        }
        self.enter(Asked::New(accesses), place, f).map(|(answer, _)| answer)
    }

    /// [`enqueue_first`](Self::enqueue_first) by the short way: gives what the call gave, and what the memory's ledger begins with where it
    /// was made. None, with nothing called, where the operation has to go the usual way.
    ///
    /// # Safety
    /// The duties of `enqueue_first`.
    #[expect(clippy::inline_always, reason = "as `enqueue_call`")]
    #[inline(always)]
    pub(crate) unsafe fn enqueue_first_again(
        self,
        place: &'static Location<'static>,
        call: impl FnOnce(sys::cudaStream_t) -> sys::cudaError_t,
    ) -> Option<(sys::cudaError_t, First)> {
        let (lane, tick) = self.again(&[], place)?;
        let going = Going::new(self.slot(), lane, tick, false);
        let first = BOOKS.first(&going.again, place);
        let code = call(self.as_raw());
        drop(going);
        Some((code, first))
    }

    /// [`enqueue`](Self::enqueue) of what makes memory that nobody else has yet. It conflicts with nothing, so
    /// it is entered afterwards: `First` is what the memory's ledger begins with.
    ///
    /// # Safety
    /// The duties of `enqueue`, and the ledger does begin with it.
    pub(crate) unsafe fn enqueue_first(
        self,
        place: &'static Location<'static>,
        call: impl FnOnce(sys::cudaStream_t) -> Result<()>,
    ) -> Result<First> {
        let _entered = busy::enter("enqueue").map_err(|error| error.at(place))?;
        let _current = self.switch().map_err(|error| error.at(place))?;
        BOOKS.enqueue_first(self.slot(), place, || call(self.as_raw()))
    }

    /// [`enqueue`](Self::enqueue) of what is ordered like work on the memory but gives the device nothing to do, so that it
    /// puts neither a blocking stream behind the legacy one nor the other way round.
    ///
    /// # Safety
    /// The duties of `enqueue`, but that something must be put on the stream.
    pub(crate) unsafe fn enqueue_mark(
        &self,
        accesses: &[Access<'_>],
        place: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<()>,
    ) -> Result<()> {
        self.enter(Asked::Mark(accesses), place, f).map(|(answer, _)| answer)
    }

    /// [`enqueue`](Self::enqueue) for a call that returns only when the stream has done all that it was
    /// given, this included.
    ///
    /// # Safety
    /// That, and the duties of `enqueue`.
    pub(crate) unsafe fn enqueue_blocking<R>(
        &self,
        accesses: &[Access<'_>],
        place: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        self.enter_blocking(accesses, true, place, f)
    }

    /// Enters an operation, and notes what is over where its call `waits` until then.
    fn enter_blocking<R>(
        &self,
        accesses: &[Access<'_>],
        waits: bool,
        place: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        let coverage = waits.then(|| BOOKS.coverage_of(self.slot()));
        let (answer, stamp) = self.enter(Asked::Real(accesses), place, f)?;
        if let Some(coverage) = coverage {
            BOOKS.completed_all(&coverage.and(stamp));
        }
        Ok(answer)
    }

    #[inline]
    fn enter<R>(
        &self,
        asked: Asked<'_, '_>,
        place: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<(R, Stamp)> {
        let _entered = busy::enter("enqueue").map_err(|error| error.at(place))?;
        if let Some(recorder) = self.recorder() {
            recorder.note(asked.accesses()).map_err(|error| error.at(place))?;
            // A launch that the runtime refuses for the current device's sake might spoil the capture.
            let _current = self.device().switch().map_err(|error| error.at(place))?;
            return f(self.as_raw()).map(|answer| (answer, Stamp { slot: self.slot().id, tick: 0 }));
        }
        let _current = self.switch().map_err(|error| error.at(place))?;
        let raw = self.as_raw();
        let (slot, port) = (self.slot(), Runtime::new(raw));
        let entered = match asked {
            // Only of these two kinds has the short way been tried.
            Asked::New(accesses) if matches!(slot.kind, Kind::Blocking | Kind::NonBlocking) => {
                BOOKS.enqueue_anew(slot, accesses, true, &port, place, || f(raw))
            }
            Asked::New(accesses) | Asked::Real(accesses) => {
                BOOKS.enqueue(slot, accesses, true, &port, place, || f(raw))
            }
            Asked::Mark(accesses) => BOOKS.enqueue(slot, accesses, false, &port, place, || f(raw)),
            Asked::Sorted(accesses) if matches!(slot.kind, Kind::Blocking | Kind::NonBlocking) => {
                BOOKS.enqueue_sorted_anew(slot, accesses, &port, place, || f(raw))
            }
            Asked::Sorted(accesses) => BOOKS.enqueue_sorted(slot, accesses, &port, place, || f(raw)),
        };
        match entered {
            Ok(entered) => Ok(entered),
            Err(refusal) => Err(refused(refusal, place)),
        }
    }
}

/// What an operation is entered with.
#[derive(Clone, Copy)]
enum Asked<'b, 'a> {
    /// Accesses in any order, of an operation that gives the device something to do where they have bytes.
    Real(&'b [Access<'a>]),
    /// The same where [`StreamRef::again`] was tried.
    New(&'b [Access<'a>]),
    /// The same of one that does not.
    Mark(&'b [Access<'a>]),
    /// Those of an operation that does, put in order before.
    Sorted(&'b Sorted<'a>),
}

impl<'b, 'a> Asked<'b, 'a> {
    #[inline]
    fn accesses(self) -> &'b [Access<'a>] {
        match self {
            Self::Real(accesses) | Self::New(accesses) | Self::Mark(accesses) => accesses,
            Self::Sorted(accesses) => accesses.as_slice(),
        }
    }
}

/// What the caller is told where the books refused, or a call failed.
#[cold]
fn refused(refusal: Refusal<Error>, place: &'static Location<'static>) -> Error {
    match refusal {
        Refusal::Call(error) => error,
        Refusal::HostBorrowed => Error::refused("enqueue", Detail::HostBorrowed).at(place),
        Refusal::Hazard(hazard) => {
            let detail = Detail::Hazard { first: hazard.first, second: hazard.second };
            Error::refused("enqueue", detail).at(place)
        }
    }
}
