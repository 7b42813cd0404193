//! Submission of work to streams: begin, call, commit. All operations of this crate take this path.
//!
//! # Why safe code has no data race on the device
//! Every operation of this crate begins by [`StreamRef::begin`], which enters the accessed bytes in the
//! access history of each allocation before the runtime receives the operation. It orders the operation
//! after every conflicting entry: the entry is already known to happen before it, or an event is
//! recorded on the other stream and this stream waits for it. [`cuda_hazard`] defines "known to happen
//! before". `port` ensures that event and wait establish that order.
//!
//! # Why nothing deadlocks
//! [`cuda_hazard`] defines the order of steps and locks. A closure that submitted another operation, or
//! waited on the host for memory of its own operation, would wait for itself. A host function must not
//! call CUDA. A flag of the thread refuses all three.
#![expect(unsafe_code, reason = "declares the unsafe functions that submit work")]

use std::panic::Location;

use cuda_hazard::{Hazard, Kind, Operation, Refusal, SubmittedSnapshot, WaitTarget};

use super::pool;
use super::port::Runtime;
use super::tracker::TRACKER;
use super::view::StreamRef;
use crate::device::{Device, Switched};
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::hazard::{Access, AccessHistory};
use crate::thread_state::{Entered, enter_operation, is_capturing};
use crate::{busy, sys};

/// An operation between begin and commit: the tracker has entered it, and the caller is about to make
/// the runtime's call.
///
/// If it is dropped without a commit, also by a panic, the operation counts as failed. Its fields are
/// dropped in this order: the submit state with the stream's lock and the operation's sequence number,
/// the flag against nested operations, the current device.
#[must_use = "dropped, the operation counts as failed"]
pub(crate) struct StreamSubmission {
    /// `None` if the operation is captured. It becomes part of a graph, and the tracker does not enter
    /// it.
    state: Option<cuda_hazard::Submission<'static>>,
    _entered: Entered,
    _current: Option<Switched>,
}

impl StreamSubmission {
    /// Ends the submission. `done` says whether the runtime accepted the operation.
    #[expect(clippy::inline_always, reason = "measured: the submission then stays in registers")]
    #[inline(always)]
    pub(crate) fn commit(self, done: bool) {
        if let Some(state) = self.state {
            state.commit(done);
        }
    }

    /// Ends the submission of an operation without accesses that has allocated `bytes` bytes. Returns
    /// the access history of the new memory.
    #[inline]
    pub(crate) fn commit_first(self, bytes: usize, call_site: &'static Location<'static>) -> AccessHistory {
        match self.state {
            Some(state) => AccessHistory::written(bytes, TRACKER.commit_first(state, call_site)),
            None => AccessHistory::new(bytes),
        }
    }

    /// Returns a snapshot of the epochs that are complete once the stream has completed everything
    /// submitted to it, this operation included. The caller takes it before the call.
    #[inline]
    pub(crate) fn covers(&self) -> Option<SubmittedSnapshot> {
        self.state.as_ref().map(|state| TRACKER.snapshot_of_submission(state))
    }

    /// Ends the submission of a call that has waited for the stream.
    ///
    /// # Safety
    /// The stream has completed everything submitted to it, and `covered` is the result of
    /// [`covers`](Self::covers) from before the call.
    #[inline]
    pub(crate) unsafe fn commit_blocking(self, covered: Option<SubmittedSnapshot>) {
        if let (Some(state), Some(covered)) = (self.state, covered) {
            // SAFETY: the caller has the same duties.
            unsafe { TRACKER.commit_blocking(state, &covered) };
        }
    }
}

impl StreamRef<'_> {
    /// Submits an operation that reads and writes the bytes in `accesses`, ordered after all conflicting
    /// work.
    ///
    /// `f` receives the raw stream and makes the CUDA call. This is also the entry point for other
    /// libraries that take a stream: with declared accesses, their work is ordered with all work of this
    /// crate. Several accesses may name the same allocation. A call that submits to several streams takes
    /// [`enqueue_all`](crate::stream::enqueue_all). `f` may return the library's own error type, to
    /// which [`Error`] converts: its status then reaches the caller with its number and name.
    ///
    /// # Ordering
    /// The operation runs after every conflicting operation that was enqueued before, on any stream. If
    /// the program has not ordered them, the tracker adds a wait or refuses the operation: see
    /// [`hazard::set_policy`](crate::hazard::set_policy).
    ///
    /// # Errors
    /// - The error of `f`.
    /// - `Hazard` under `Policy::Error`.
    /// - `InCallback` inside the closure of another `enqueue`, and inside a host function.
    /// - `InUse` for an access that no borrow stands for while the host has borrowed the memory.
    /// - The runtime's error if adding a wait fails.
    ///
    /// # Safety
    /// - The work that `f` submits accesses no memory of this crate except the bytes in `accesses`, and
    ///   writes only those declared as written.
    /// - `f` submits the work to the stream that it receives and to no other, or makes that stream wait
    ///   for the others.
    /// - If `f` succeeds and `accesses` has bytes, `f` has submitted at least one operation that makes
    ///   the device do something.
    /// - Pinned memory that is copied to a device is declared as [read at the call](Access::at_call). A
    ///   batch of such copies does not directly follow a fill of that memory by `cudaMemset`, because
    ///   CUDA does not order the two.
    /// - On a captured stream ([`is_capturing`](Self::is_capturing)) all of this holds for every launch
    ///   of the graph. Everything else that the operation needs lives as long as the graph and its
    ///   executable forms.
    /// - The memory lives, does not move, and is not accessed by the host until the operation is
    ///   complete. Owners of this crate ensure that themselves when they are dropped.
    #[inline]
    #[track_caller]
    pub unsafe fn enqueue<R, E: From<Error>>(
        &self,
        accesses: &[Access<'_>],
        f: impl FnOnce(sys::cudaStream_t) -> core::result::Result<R, E>,
    ) -> core::result::Result<R, E> {
        // SAFETY: the caller has the same duties.
        let submission = unsafe { self.begin(Operation::new(accesses), Location::caller()) }?;
        let answer = f(self.as_raw());
        submission.commit(answer.is_ok());
        answer
    }

    /// [`enqueue`](Self::enqueue) of any operation for a call site, which the error of `f` gets too. The
    /// operation may have accesses that were sorted before ([`Operation::prepared`]), or be a mark that gives
    /// the device nothing to do ([`Operation::mark`]).
    ///
    /// # Safety
    /// The duties of `enqueue`, except that a mark need not make the device do anything.
    #[inline]
    pub(crate) unsafe fn submit<R>(
        self,
        operation: Operation<'_, '_>,
        call_site: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        // SAFETY: the caller has the same duties.
        let submission = unsafe { self.begin(operation, call_site) }?;
        let answer = f(self.as_raw());
        submission.commit(answer.is_ok());
        answer.map_err(|error| error.at(call_site))
    }

    /// Begins an operation. The caller then makes its call on the raw stream, and commits.
    ///
    /// # Errors
    /// Refuses as [`enqueue`](Self::enqueue). Returns the runtime's error if adding a wait fails.
    ///
    /// # Safety
    /// The duties of `enqueue` apply to the call that is made before the commit. `commit(true)` is called
    /// only if the call succeeded. A mark need not make the device do anything.
    #[expect(clippy::inline_always, reason = "measured: an operation costs 15 ns less on an H200")]
    #[inline(always)]
    pub(crate) unsafe fn begin(
        self,
        operation: Operation<'_, '_>,
        call_site: &'static Location<'static>,
    ) -> Result<StreamSubmission> {
        let Some(entered) = enter_operation() else {
            return Err(busy::refused("enqueue").at(call_site));
        };
        // The handle denotes the same stream on every thread and device, and no hidden one.
        if !is_capturing() && matches!(self.timeline.kind, Kind::Blocking | Kind::NonBlocking) {
            // SAFETY: the caller has these duties and more. The timeline belongs to the tracker of this
            // process, the only one that knows its access histories.
            if let Some(state) = unsafe { TRACKER.begin_fast(self.timeline, operation) } {
                return Ok(StreamSubmission { state: Some(state), _entered: entered, _current: None });
            }
        }
        // SAFETY: the caller has the same duties.
        unsafe { self.begin_slow(entered, operation, call_site) }
    }

    /// [`begin`](Self::begin) for any stream, and with waits to add.
    ///
    /// # Safety
    /// The duties of `begin`.
    #[cold]
    #[inline(never)]
    unsafe fn begin_slow(
        self,
        entered: Entered,
        operation: Operation<'_, '_>,
        call_site: &'static Location<'static>,
    ) -> Result<StreamSubmission> {
        if let Some(recorder) = self.recorder() {
            let noted = recorder.note(self.timeline, operation, call_site);
            noted.map_err(|error| error.at(call_site))?;
            // If the runtime refuses a launch because of the current device, that may invalidate the
            // capture.
            let current = self.device().switch().map_err(|error| error.at(call_site))?;
            return Ok(StreamSubmission { state: None, _entered: entered, _current: Some(current) });
        }
        let current = self.switch().map_err(|error| error.at(call_site))?;
        let (timeline, port) = (self.timeline, Runtime::new(self.as_raw()));
        let fast = match current {
            // `begin` has tried it.
            None => None,
            // SAFETY: the caller has these duties and more. The timeline belongs to the tracker of this
            // process, the only one that knows its access histories.
            Some(_) => unsafe { TRACKER.begin_fast(timeline, operation) },
        };
        let state = match fast {
            Some(state) => state,
            // SAFETY: the caller has these duties and more. The timeline belongs to the tracker of this
            // process, the only one that knows its access histories.
            None => match unsafe { TRACKER.begin_slow(timeline, operation, &port, call_site) } {
                Ok(state) => state,
                Err(refusal) => return Err(refused(refusal, "enqueue", call_site)),
            },
        };
        Ok(StreamSubmission { state: Some(state), _entered: entered, _current: current })
    }
}

/// Submits the operation that frees an allocation of a device to the one stream that still uses it.
///
/// Returns `None`, without a call, if several streams use the allocation, and if the stream is a default
/// stream, is captured, or is in use by another thread. The caller then frees the allocation in the order
/// of another stream.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with a write of the whole allocation. Nobody else has the
/// allocation.
#[inline]
pub(crate) unsafe fn enqueue_free(
    history: &AccessHistory,
    device: Device,
    free: impl FnOnce(sys::cudaStream_t) -> sys::cudaError_t,
) -> Option<sys::cudaError_t> {
    let _entered = enter_operation()?;
    // SAFETY: the caller has these duties. An operation borrows the memory's owner from begin to commit.
    let (submission, target) = unsafe { TRACKER.begin_free(history, device.as_raw()) }?;
    // The target stays locked over the call. A handle that is captured, or that its owner gives up, leaves
    // the target first, so this one is live and not captured. A dropped stream's handle is never destroyed.
    let WaitTarget::Stream(number) = *target else { return None };
    let code = free(pool::raw_stream(number));
    submission.commit(code == sys::cudaSuccess);
    Some(code)
}

/// Facts about a call, for its error.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// The C function.
    pub(crate) api: &'static str,
    /// The call site in the program.
    pub(crate) call_site: &'static Location<'static>,
    /// The number of bytes that the call copies or fills, or 0 if that is not meaningful.
    pub(crate) bytes: usize,
}

impl Call {
    /// Converts the runtime's code to a result.
    #[inline]
    pub(crate) fn check(self, code: sys::cudaError_t) -> Result<()> {
        if code == sys::cudaSuccess { Ok(()) } else { Err(self.failed(code)) }
    }

    #[cold]
    #[inline(never)]
    fn failed(self, code: sys::cudaError_t) -> Error {
        self.about(Error::from_code(self.api, code).at(self.call_site))
    }

    /// Adds the number of bytes to the error.
    #[cold]
    #[inline(never)]
    pub(crate) fn about(self, error: Error) -> Error {
        if self.bytes == 0 { error } else { error.with_detail(Detail::transfer(self.bytes)) }
    }
}

/// Returns the error for an operation that the tracker refused or could not order.
#[cold]
#[inline(never)]
pub(super) fn refused(
    refusal: Refusal<Error>,
    api: &'static str,
    call_site: &'static Location<'static>,
) -> Error {
    let detail = match refusal {
        Refusal::Call(error) => return error.at(call_site),
        Refusal::HostBorrowed => Detail::HOST_BORROWED,
        Refusal::Overlap { first, second, bytes } => {
            let text = format!(
                "two streams of one call access the same {bytes} bytes of an allocation, one from byte \
                 {first} on and one from byte {second} on, and one of them writes: nothing orders the two; give one \
                 stream both accesses, or make two calls"
            );
            Detail::new(ErrorKind::Hazard, text)
        }
        Refusal::Hazard(Hazard { first, second }) => Detail::hazard(first, second),
    };
    Error::refused(api, detail).at(call_site)
}
