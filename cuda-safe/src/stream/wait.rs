//! Waits: the host for a stream, and a stream for an event.
#![expect(unsafe_code, reason = "calls the runtime's stream functions")]

use super::event::Event;
use super::host_function::drop_tasks_if_lost;
use super::tracker::TRACKER;
use super::view::StreamRef;
use super::{host_function, relax};
use crate::busy;
use crate::error::{Error, Result};
use crate::{callback, check, sys};

impl StreamRef<'_> {
    /// Blocks until the stream has completed everything submitted before this call.
    ///
    /// Stands for [`cudaStreamSynchronize`](sys::cudaStreamSynchronize).
    ///
    /// # Errors
    /// - The failure of any work that the device has run since the last check.
    /// - `CallbackPanicked` if a host function of this stream has panicked.
    /// - Refused inside a host function.
    #[doc(alias = "cudaStreamSynchronize")]
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        busy::ensure_idle("StreamRef::synchronize")?;
        self.ensure_not_captured("StreamRef::synchronize")?;
        let snapshot = TRACKER.snapshot_of(self.timeline);
        let waited = {
            let _current = self.switch()?;
            relax()?;
            // SAFETY: the stream lives as long as the view.
            unsafe { check!(cudaStreamSynchronize(self.as_raw())) }
        };
        drop_tasks_if_lost(self.device(), &waited);
        waited?;
        // SAFETY: the stream had completed everything submitted before when the call above returned.
        unsafe { TRACKER.completed_all(&snapshot) };
        callback::run_deferred();
        host_function::panicked(self.timeline)
    }

    /// Returns whether the stream has completed everything submitted before this call. Does not block.
    ///
    /// Stands for [`cudaStreamQuery`](sys::cudaStreamQuery).
    ///
    /// # Errors
    /// - The failure of any work that the device has run since the last check.
    /// - `CallbackPanicked` as for [`synchronize`](Self::synchronize).
    /// - Refused inside a host function.
    #[doc(alias = "cudaStreamQuery")]
    #[track_caller]
    pub fn is_done(&self) -> Result<bool> {
        busy::ensure_idle("StreamRef::is_done")?;
        self.ensure_not_captured("StreamRef::is_done")?;
        let snapshot = TRACKER.snapshot_of(self.timeline);
        let code = {
            let _current = self.switch()?;
            relax()?;
            // SAFETY: the stream lives as long as the view.
            unsafe { sys::cudaStreamQuery(self.as_raw()) }
        };
        if code == sys::cudaErrorNotReady {
            return Ok(false);
        }
        let answer = Error::check("cudaStreamQuery", code);
        drop_tasks_if_lost(self.device(), &answer);
        answer?;
        // SAFETY: the stream had completed everything submitted before when the call above returned.
        unsafe { TRACKER.completed_all(&snapshot) };
        callback::run_deferred();
        host_function::panicked(self.timeline)?;
        Ok(true)
    }

    /// Makes all later work of the stream wait for the work that the event stands for. Does not block.
    ///
    /// An event that was never recorded stands for nothing. In a capture, the event must have been
    /// recorded in the same capture, and a stream that was not part of it becomes one: see
    /// [`Stream::capture`](super::Stream::capture). Stands for
    /// [`cudaStreamWaitEvent`](sys::cudaStreamWaitEvent).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamWaitEvent")]
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<()> {
        if let Some(recorder) = self.recorder() {
            return recorder.wait_for("StreamRef::wait", *self, event.number());
        }
        let _entered = busy::enter("StreamRef::wait")?;
        let _current = self.switch()?;
        let wait = || {
            // SAFETY: stream and event live as long as the view and the borrow.
            match unsafe { sys::cudaStreamWaitEvent(self.as_raw(), event.as_raw(), 0) } {
                sys::cudaSuccess => Ok(()),
                code => Err(code),
            }
        };
        // SAFETY: the call makes this stream wait for this event.
        let waits = unsafe { TRACKER.wait_shared(self.timeline, event.shared(), wait) };
        // No closure here: it would hide the caller's location.
        match waits {
            Ok(()) => Ok(()),
            Err(code) => Err(Error::from_code("cudaStreamWaitEvent", code)),
        }
    }
}
