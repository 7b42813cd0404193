//! Waiting: the host for a stream, and a stream for an event.
#![expect(unsafe_code, reason = "calls the runtime's stream functions")]

use super::event::{Event, Mark};
use super::tracker::TRACKER;
use super::view::StreamRef;
use super::{busy, deferred, host_function};
use crate::error::{Error, Result};
use crate::{check, sys};

impl StreamRef<'_> {
    /// Blocks until the stream has done all that it was given before this call.
    ///
    /// Stands for [`cudaStreamSynchronize`](sys::cudaStreamSynchronize).
    ///
    /// # Errors
    /// The failure of any work that the device has done since; `CallbackPanicked` if a host function of this
    /// stream did; a refusal inside a host function.
    #[doc(alias = "cudaStreamSynchronize")]
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        busy::ensure_idle("StreamRef::synchronize")?;
        self.ensure_not_captured("StreamRef::synchronize")?;
        let snapshot = TRACKER.snapshot_of(self.timeline());
        let waited = {
            let _current = self.switch()?;
            // SAFETY: the stream lives while the view does.
            unsafe { check!(cudaStreamSynchronize(self.as_raw())) }
        };
        self.waited(waited)?;
        // SAFETY: the stream had done all that it was given when the call above returned.
        unsafe { TRACKER.completed_all(&snapshot) };
        deferred::run();
        host_function::panicked(self.timeline())
    }

    /// Whether the stream has done all that it was given before this call. Does not block.
    ///
    /// Stands for [`cudaStreamQuery`](sys::cudaStreamQuery).
    ///
    /// # Errors
    /// The failure of any work that the device has done since; `CallbackPanicked` as for
    /// [`synchronize`](Self::synchronize); a refusal inside a host function.
    #[doc(alias = "cudaStreamQuery")]
    #[track_caller]
    pub fn is_done(&self) -> Result<bool> {
        busy::ensure_idle("StreamRef::is_done")?;
        self.ensure_not_captured("StreamRef::is_done")?;
        let snapshot = TRACKER.snapshot_of(self.timeline());
        let code = {
            let _current = self.switch()?;
            // SAFETY: the stream lives while the view does.
            unsafe { sys::cudaStreamQuery(self.as_raw()) }
        };
        if code == sys::cudaErrorNotReady {
            return Ok(false);
        }
        self.waited(Error::check("cudaStreamQuery", code))?;
        // SAFETY: the stream had done all that it was given when the call above returned.
        unsafe { TRACKER.completed_all(&snapshot) };
        deferred::run();
        host_function::panicked(self.timeline())?;
        Ok(true)
    }

    /// After a lost context no host function runs any more: drops those of the device that are still waiting
    /// for their turn.
    fn waited(&self, result: Result<()>) -> Result<()> {
        if let Err(error) = &result
            && error.is_sticky()
        {
            host_function::abandon(self.timeline().device());
        }
        result
    }

    /// Has everything that the stream is given from now on wait for what the event stands for. Does not
    /// block.
    ///
    /// An event that was never recorded stands for nothing. Stands for
    /// [`cudaStreamWaitEvent`](sys::cudaStreamWaitEvent).
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaStreamWaitEvent")]
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<()> {
        let _entered = busy::enter("StreamRef::wait")?;
        self.ensure_not_captured("StreamRef::wait")?;
        if matches!(event.mark(), Mark::Nothing) {
            return Ok(());
        }
        let _current = self.switch()?;
        let wait = || {
            // SAFETY: stream and event live while the view and the borrow do.
            match unsafe { sys::cudaStreamWaitEvent(self.as_raw(), event.as_raw(), 0) } {
                sys::cudaSuccess => Ok(()),
                code => Err(code),
            }
        };
        let waits = match event.mark() {
            // SAFETY: the snapshot is what the event stands for.
            Mark::Recorded => unsafe { TRACKER.wait(self.timeline(), event.event_clock(), wait) },
            Mark::Nothing | Mark::Unknown => wait(),
        };
        // No closure, which would hide the caller.
        match waits {
            Ok(()) => Ok(()),
            Err(code) => Err(Error::from_code("cudaStreamWaitEvent", code)),
        }
    }
}
