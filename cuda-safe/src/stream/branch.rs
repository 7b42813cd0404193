//! Branches of a capture: hidden streams, forks and joins.
#![expect(unsafe_code, reason = "asks whether streams are captured")]

use std::mem::ManuallyDrop;

use super::owned::Stream;
use super::recorder::Recorder;
use super::view::{AsStream as _, StreamRef};
use crate::busy;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::sys;
use cuda_hazard::{Kind, Timeline};

/// A stream that is captured and has no other user. If its capture did not end, it is never used again.
pub(crate) struct HiddenStream(ManuallyDrop<Stream>);

impl HiddenStream {
    /// Takes a stream that has nothing to do, and hides it from other threads.
    #[track_caller]
    pub(crate) fn new(device: Device, priority: i32) -> Result<Self> {
        let stream = Stream::builder().device(device).non_blocking().priority(priority).build()?;
        stream.set_apart(true);
        Ok(Self(ManuallyDrop::new(stream)))
    }

    /// Returns the raw handle.
    pub(crate) fn as_raw(&self) -> sys::cudaStream_t {
        self.0.as_raw()
    }

    /// Adds the stream to a capture as a branch, and returns the branch's stream.
    ///
    /// # Safety
    /// The stream is being captured, or about to be.
    #[track_caller]
    pub(crate) unsafe fn into_branch(self, recorder: &Recorder) -> Result<StreamRef<'_>> {
        let (raw, timeline) = (self.as_raw(), self.0.as_stream().timeline);
        // SAFETY: the caller guarantees it. The owner is given with the handle.
        unsafe { recorder.add_branch(timeline, raw, Box::new(self)) }?;
        Ok(StreamRef::new(raw, timeline))
    }

    /// Returns whether the stream can be used again.
    fn is_over(&self) -> bool {
        let mut status = sys::cudaStreamCaptureStatusActive;
        // SAFETY: the stream is live. The pointer is to a live variable, which the call fills.
        let code = unsafe { sys::cudaStreamIsCapturing(self.as_raw(), &raw mut status) };
        code == sys::cudaSuccess && status == sys::cudaStreamCaptureStatusNone
    }
}

impl Drop for HiddenStream {
    fn drop(&mut self) {
        if self.is_over() {
            self.0.set_apart(false);
            // SAFETY: the stream is not used afterwards, and only this function drops it.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl Recorder {
    /// Makes a branch that begins after everything that the branch of `stream` has been given.
    #[track_caller]
    pub(crate) fn fork(&self, stream: StreamRef<'_>) -> Result<StreamRef<'_>> {
        let api = "Capture::fork";
        busy::ensure_idle(api)?;
        let mark = self.mark_of(api, stream.timeline)?;
        let hidden = HiddenStream::new(self.device(), self.priority())?;
        // SAFETY: the wait below makes it part of the capture.
        let side = unsafe { hidden.into_branch(self) }?;
        self.wait(api, side.timeline, &mark)?;
        Ok(side)
    }

    /// Makes the branch of `stream` wait for everything that the branch of `side` has been given.
    #[track_caller]
    pub(crate) fn join(&self, stream: StreamRef<'_>, side: StreamRef<'_>) -> Result<()> {
        let api = "Capture::join";
        busy::ensure_idle(api)?;
        let mark = self.mark_of(api, side.timeline)?;
        self.wait(api, stream.timeline, &mark)
    }

    /// Makes a stream wait for an event that was recorded in the capture. A stream that is not part of the
    /// capture becomes one: until the capture ends, it stands for a new branch on this thread.
    #[track_caller]
    pub(super) fn wait_for(&self, api: &'static str, stream: StreamRef<'_>, event: u64) -> Result<()> {
        busy::ensure_idle(api)?;
        let mark = self.recorded(api, event)?;
        let name: &Timeline = stream.timeline;
        if self.raw_of(name).is_none() {
            if name.kind == Kind::Legacy {
                return Err(Error::refused(api, Detail::OUTSIDE_CAPTURE));
            }
            stream.device().ensure_is(self.device(), api, "the stream")?;
            let hidden = HiddenStream::new(self.device(), stream.priority()?)?;
            let raw = hidden.as_raw();
            // SAFETY: the wait below makes it part of the capture. The owner is given with the handle.
            unsafe { self.add_branch(name, raw, Box::new(hidden)) }?;
        }
        self.wait(api, name, &mark)
    }
}
