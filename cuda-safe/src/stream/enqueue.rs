//! The one way onto a stream: begin, call, commit.
//!
//! # Why safe code has no data race on the device
//! Every operation of this crate begins by [`StreamRef::begin`], which enters each allocation's bytes in its
//! access history before the runtime sees the operation, and orders it after every conflicting entry: by what
//! is already known to happen before it, or by an event recorded on the other stream and a wait on this one.
//! [`cuda_hazard`] says what "known" may mean; that the event and the wait order what they are to order,
//! `port` does.
//!
//! # Why nobody waits for ever
//! The order of steps is in [`cuda_hazard`]. A closure that started another operation, or waited on the host
//! for memory of its own operation, would wait for itself: a flag of the thread refuses both. A host function
//! may not call CUDA: the same flag.
#![expect(unsafe_code, reason = "declares the unsafe way in")]

use std::panic::Location;

use cuda_hazard::{Operation, Refusal, RepeatedGroup, SubmittedSnapshot};

use super::busy;
use super::port::Runtime;
use super::tracker::TRACKER;
use super::view::StreamRef;
use crate::device::Switched;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory};
use crate::sys;

/// An operation between its begin and its commit: the tracker has it, and the runtime is about to.
///
/// Dropped without a commit, also by a panic, it counts as failed. What it holds goes in this order: the
/// stream's lock and the operation's sequence number, the flag against operations within it, the current
/// device.
#[must_use = "dropped, the operation counts as failed"]
pub(crate) struct Submission {
    /// None of an operation that is captured: it goes into a graph, and the tracker has nothing of it.
    state: Option<cuda_hazard::Submission<'static>>,
    _entered: busy::Entered,
    _current: Option<Switched>,
}

impl Submission {
    /// The runtime has the operation, or has refused it.
    #[inline]
    pub(crate) fn commit(self, done: bool) {
        if let Some(state) = self.state {
            state.commit(done);
        }
    }

    /// The runtime has made memory of so many bytes by an operation without accesses: gives the memory's
    /// access history.
    #[inline]
    pub(crate) fn commit_first(self, bytes: usize, call_site: &'static Location<'static>) -> AccessHistory {
        match self.state {
            Some(state) => AccessHistory::written(bytes, TRACKER.commit_first(state, call_site)),
            None => AccessHistory::new(bytes),
        }
    }

    /// What is over once the stream has done all that it was given, this included. To be read before the
    /// call.
    #[inline]
    pub(crate) fn covers(&self) -> Option<SubmittedSnapshot> {
        self.state.as_ref().map(|state| TRACKER.snapshot_of_submission(state))
    }

    /// The call has returned, and the stream has done all that it was given.
    ///
    /// # Safety
    /// So it has, and `covered` is what [`covers`](Self::covers) gave before the call.
    #[inline]
    pub(crate) unsafe fn commit_blocking(self, covered: Option<SubmittedSnapshot>) {
        if let (Some(state), Some(covered)) = (self.state, covered) {
            // SAFETY: the caller's duties are just these.
            unsafe { TRACKER.commit_blocking(state, &covered) };
        }
    }
}

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
    /// - If `f` succeeds and `accesses` has bytes, `f` has put at least one operation on the stream that
    ///   gives the device something to do.
    /// - Pinned memory that is copied to a device is declared as [read at the call](Access::at_call). A batch
    ///   of such copies does not directly follow a fill of that memory by `cudaMemset`: CUDA does not order
    ///   the two.
    /// - On a captured stream ([`is_capturing`](Self::is_capturing)) all this holds for every launch of the
    ///   graph, and what the operation needs beside the memory in `accesses` lives as long as the graph and
    ///   its executable forms.
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
        unsafe { self.submit(Operation::new(accesses), Location::caller(), f) }
    }

    /// [`enqueue`](Self::enqueue) of any operation on behalf of a call site elsewhere: one whose accesses
    /// were put in order before ([`Operation::prepared`]), or that gives the device nothing to do
    /// ([`Operation::mark`]).
    ///
    /// # Safety
    /// The duties of `enqueue`, but that a mark need not give the device anything to do.
    #[inline]
    pub(crate) unsafe fn submit<R>(
        self,
        operation: Operation<'_, '_>,
        call_site: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        // SAFETY: the caller's duties are just these.
        let submission = unsafe { self.begin(operation, call_site) }?;
        let answer = f(self.as_raw());
        submission.commit(answer.is_ok());
        answer
    }

    /// [`enqueue`](Self::enqueue) for a call that returns only when the stream has done all that it was
    /// given, this included.
    ///
    /// # Safety
    /// That, and the duties of `enqueue`.
    pub(crate) unsafe fn enqueue_blocking<R>(
        self,
        accesses: &[Access<'_>],
        call_site: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        // SAFETY: the caller's duties are just these.
        let submission = unsafe { self.begin(Operation::new(accesses), call_site) }?;
        let covered = submission.covers();
        let answer = f(self.as_raw())?;
        // SAFETY: the call returned only when the stream had done all that it was given.
        unsafe { submission.commit_blocking(covered) };
        Ok(answer)
    }

    /// Begins an operation: the caller makes its call on the raw stream, and commits.
    ///
    /// # Errors
    /// The refusals of [`enqueue`](Self::enqueue), and a failure of the runtime to add a wait.
    ///
    /// # Safety
    /// The duties of `enqueue` for the call that is made before the commit, which is done only if the call
    /// succeeded. A mark need not give the device anything to do.
    #[expect(clippy::inline_always, reason = "measured: an operation costs 15 ns less on an H200")]
    #[inline(always)]
    pub(crate) unsafe fn begin(
        self,
        operation: Operation<'_, '_>,
        call_site: &'static Location<'static>,
    ) -> Result<Submission> {
        let entered = busy::begin("enqueue", call_site)?;
        if self.is_plain() {
            // SAFETY: the caller's duties are these and more. The timeline belongs to this process's tracker.
            if let Some(state) = unsafe { TRACKER.begin_fast(self.timeline(), operation) } {
                return Ok(Submission { state: Some(state), _entered: entered, _current: None });
            }
        }
        // SAFETY: the caller's duties are just these.
        unsafe { self.begin_slow(entered, operation, call_site) }
    }

    /// [`begin`](Self::begin) on any stream, and with waits to add.
    ///
    /// # Safety
    /// The duties of `begin`.
    #[cold]
    #[inline(never)]
    unsafe fn begin_slow(
        self,
        entered: busy::Entered,
        operation: Operation<'_, '_>,
        call_site: &'static Location<'static>,
    ) -> Result<Submission> {
        if let Some(recorder) = self.recorder() {
            recorder.note(operation.accesses()).map_err(|error| error.at(call_site))?;
            // A launch that the runtime refuses for the current device's sake might spoil the capture.
            let current = self.device().switch().map_err(|error| error.at(call_site))?;
            return Ok(Submission { state: None, _entered: entered, _current: Some(current) });
        }
        let current = self.switch().map_err(|error| error.at(call_site))?;
        let (timeline, port) = (self.timeline(), Runtime::new(self.as_raw()));
        let fast = match current {
            // `begin` tried it.
            None => None,
            // SAFETY: the caller's duties are these and more. The timeline belongs to this process's tracker.
            Some(_) => unsafe { TRACKER.begin_fast(timeline, operation) },
        };
        let state = match fast {
            Some(state) => state,
            // SAFETY: as above.
            None => match unsafe { TRACKER.begin_slow(timeline, operation, &port, call_site) } {
                Ok(state) => state,
                Err(refusal) => return Err(refused(refusal, call_site)),
            },
        };
        Ok(Submission { state: Some(state), _entered: entered, _current: current })
    }

    /// Begins an operation whose accesses the tracker knows by the numbers of their [`GroupId`](cuda_hazard::GroupId), one for each
    /// allocation. The cost does not depend on the number of accesses.
    ///
    /// Returns `None`, with nothing entered, if the tracker needs the accesses: the first time, and if another
    /// operation has used the memory since. The caller then tries once more with the accesses
    /// [told](cuda_hazard::GroupId::repeat_with), or [`begin`](Self::begin)s. An operation with two series of one
    /// allocation must tell its accesses every time.
    ///
    /// # Safety
    /// - The duties of `begin`, the accesses being those of all the series.
    /// - Each series stands, whenever it is used, for accesses to the same bytes of one allocation, of the
    ///   same kinds, in the same order. The allocation may be another one each time. Told accesses are these.
    pub(super) unsafe fn begin_repeated(self, repeats: &[RepeatedGroup<'_, '_>]) -> Option<Submission> {
        if self.recorder().is_some() {
            return None;
        }
        let entered = busy::enter("enqueue").ok()?;
        let current = self.switch().ok()?;
        // SAFETY: the caller's duties are these and more.
        let state = unsafe { TRACKER.begin_repeated(self.timeline(), repeats) }?;
        Some(Submission { state: Some(state), _entered: entered, _current: current })
    }
}

/// The error of an operation that the tracker has refused, or that could not be ordered.
#[cold]
#[inline(never)]
fn refused(refusal: Refusal<Error>, call_site: &'static Location<'static>) -> Error {
    match refusal {
        Refusal::Call(error) => error,
        Refusal::HostBorrowed => Error::refused("enqueue", Detail::HostBorrowed).at(call_site),
        Refusal::Hazard(hazard) => {
            let detail = Detail::Hazard { first: hazard.first, second: hazard.second };
            Error::refused("enqueue", detail).at(call_site)
        }
    }
}
