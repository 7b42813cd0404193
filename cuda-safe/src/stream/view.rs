//! Views of streams, which every function of the crate takes that submits work.
#![expect(unsafe_code, reason = "calls the runtime's stream functions")]

use std::marker::PhantomData;
use std::panic::Location;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use super::ownership;
use super::recorder::{self, Recorder};
use super::tracker::TRACKER;
use crate::busy;
use crate::device::{Device, Switched};
use crate::error::{Detail, Error, Result};
use crate::hazard::Access;
use crate::{check, sys, thread_state};
use cuda_hazard::{Hazard, Kind, Timeline};

/// A stream that takes operations: a [`Stream`](super::Stream), the
/// [`LegacyStream`](super::LegacyStream) of a device, this thread's
/// [`PerThreadStream`](super::PerThreadStream), or a view of any of them.
///
/// The trait is sealed, because the ordering rules are known only for these types.
pub trait AsStream: sealed::SealedStream {
    /// Returns a view of the stream.
    fn as_stream(&self) -> StreamRef<'_>;
}

pub(crate) mod sealed {
    /// Seals [`AsStream`](super::AsStream).
    pub trait SealedStream {}
}

/// A view of a stream that lives at least as long as `'a`. Copies denote the same stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamRef<'a> {
    /// The raw handle. Its pointer type also keeps views of per-thread streams on their thread.
    raw: sys::cudaStream_t,
    /// The stream's timeline in the tracker.
    pub(super) timeline: &'static Timeline,
    owner: PhantomData<&'a ()>,
}

impl sealed::SealedStream for StreamRef<'_> {}

impl AsStream for StreamRef<'_> {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        *self
    }
}

impl<'a> StreamRef<'a> {
    /// Makes the view of a stream with this timeline.
    #[inline]
    pub(super) fn new(raw: sys::cudaStream_t, timeline: &'static Timeline) -> Self {
        Self { raw, timeline, owner: PhantomData }
    }

    /// Returns the capture that the thread makes, whether or not the stream is part of it.
    #[inline]
    pub(super) fn recorder(&self) -> Option<Rc<Recorder>> {
        recorder::current()
    }

    /// Returns whether operations become part of a graph instead of running.
    ///
    /// That is the case inside [`Stream::capture`](super::Stream::capture), for its stream and for all
    /// that wait for an event of it. Makes no CUDA call. Stands for
    /// [`cudaStreamIsCapturing`](sys::cudaStreamIsCapturing).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Stream;
    /// use cuda_safe::stream::{AsStream, StreamRef};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut stream = Stream::new()?;
    /// let graph = stream.capture(|captured| {
    ///     let captured: StreamRef<'_> = captured.as_stream();
    ///     assert!(captured.is_capturing());
    ///     Ok(())
    /// })?;
    /// assert!(!stream.as_stream().is_capturing());
    /// # drop(graph);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamIsCapturing")]
    #[must_use]
    pub fn is_capturing(&self) -> bool {
        recorder::current().is_some_and(|recorder| recorder.raw_of(self.timeline).is_some())
    }

    /// Returns a number that no other capture of the process has or will have, or `None` if the stream is
    /// not captured. All streams of a capture have the same number. An allocator, for example, recognizes by
    /// it what belongs together.
    ///
    /// In contrast to [`is_capturing`](Self::is_capturing), this also finds a capture that raw calls have
    /// begun. Stands for [`cudaStreamGetCaptureInfo`](sys::cudaStreamGetCaptureInfo).
    ///
    /// # Errors
    /// - `cudaErrorStreamCaptureInvalidated` if the capture has failed and is not over.
    /// - `cudaErrorStreamCaptureImplicit` on the legacy stream, while raw calls capture a blocking stream.
    /// - Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{AsStream as _, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut stream = Stream::new()?;
    /// stream.capture(|s| {
    ///     let side = s.fork()?;
    ///     assert!(s.as_stream().capture_id()?.is_some());
    ///     assert_eq!(s.as_stream().capture_id()?, side.as_stream().capture_id()?);
    ///     s.join(side)
    /// })?;
    /// assert_eq!(stream.as_stream().capture_id()?, None);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamGetCaptureInfo")]
    #[track_caller]
    pub fn capture_id(&self) -> Result<Option<u64>> {
        let api = "StreamRef::capture_id";
        busy::ensure_idle(api)?;
        let _current = self.switch()?;
        let (mut status, mut id) = (sys::cudaStreamCaptureStatusNone, 0);
        info(self.as_raw(), &mut status, &mut id)?;
        match status {
            sys::cudaStreamCaptureStatusNone => Ok(None),
            sys::cudaStreamCaptureStatusActive => Ok(Some(id)),
            _ => {
                let refused = Error::refused(api, Detail::unsupported("a capture that has failed"));
                Err(refused.with_code(sys::cudaErrorStreamCaptureInvalidated))
            }
        }
    }

    /// Refuses a call that cannot be part of a graph while the thread makes one.
    #[inline]
    #[track_caller]
    pub(crate) fn ensure_not_captured(&self, api: &'static str) -> Result<()> {
        if thread_state::is_capturing() { Err(self.captured(api)) } else { Ok(()) }
    }

    /// Returns the refusal of a call that cannot be part of a graph.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn captured(&self, api: &'static str) -> Error {
        let detail = if self.is_capturing() { Detail::CAPTURING } else { Detail::OUTSIDE_CAPTURE };
        Error::refused(api, detail)
    }

    /// Returns the hazard of an operation at `call_site` that has only this access, or `None` if it has none.
    pub(crate) fn hazard_of(
        &self,
        access: Access<'_>,
        call_site: &'static Location<'static>,
    ) -> Option<Hazard> {
        match self.recorder() {
            Some(recorder) => recorder.hazard_of(self.timeline, access, call_site),
            None => TRACKER.hazard_of(self.timeline, access, call_site),
        }
    }

    /// Notes that a fill of pinned memory, or a graph that may have one, is submitted to the stream. The
    /// caller is inside an `enqueue`.
    #[inline]
    pub(crate) fn note_fill(&self) {
        self.timeline.backend_flag().store(true, Relaxed);
    }

    /// Returns whether a fill was noted, and clears the note.
    ///
    /// # Safety
    /// The caller is inside an `enqueue` of the stream. If this returns `true`, the caller submits something
    /// to the stream before a batch, or notes the fill again.
    #[cfg(cudart_12_8)]
    #[inline]
    pub(crate) unsafe fn take_fill(&self) -> bool {
        let noted = self.timeline.backend_flag().load(Relaxed);
        if noted {
            self.timeline.backend_flag().store(false, Relaxed);
        }
        noted
    }

    /// Returns the stream's device.
    #[doc(alias = "cudaStreamGetDevice")]
    #[must_use]
    #[inline]
    pub fn device(&self) -> Device {
        Device::from_ordinal(self.timeline.device())
    }

    /// Returns the raw handle. The tracker does not see work that other code submits to it: make such
    /// calls by `call` or `enqueue`. In a capture, the handle is that of the branch that the stream
    /// stands for.
    #[must_use]
    #[inline]
    pub fn as_raw(&self) -> sys::cudaStream_t {
        if thread_state::is_capturing() { self.raw_in_capture() } else { self.raw }
    }

    /// Returns the handle of the hidden stream if this one stands for it.
    #[cold]
    #[inline(never)]
    fn raw_in_capture(&self) -> sys::cudaStream_t {
        let branch = recorder::current().and_then(|recorder| recorder.raw_of(self.timeline));
        branch.unwrap_or(self.raw)
    }

    /// Returns whether this is the legacy stream of its device.
    pub(crate) fn is_legacy(&self) -> bool {
        self.timeline.kind == Kind::Legacy
    }

    /// Returns whether this stream and the legacy stream of the device wait for each other.
    ///
    /// Makes no CUDA call. Stands for [`cudaStreamGetFlags`](sys::cudaStreamGetFlags).
    #[doc(alias = "cudaStreamGetFlags")]
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.timeline.kind != Kind::NonBlocking
    }

    /// Returns the stream's priority. A smaller number is a higher priority.
    ///
    /// Stands for [`cudaStreamGetPriority`](sys::cudaStreamGetPriority).
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaStreamGetPriority")]
    #[track_caller]
    pub fn priority(&self) -> Result<i32> {
        busy::ensure_idle("StreamRef::priority")?;
        let _current = self.switch()?;
        let mut priority = 0;
        // SAFETY: the stream lives as long as the view. The pointer is to a live integer, which the call
        // fills.
        unsafe { check!(cudaStreamGetPriority(self.raw, &raw mut priority)) }?;
        Ok(priority)
    }

    /// Returns a number that no other stream of the process has or will have. Handles, in contrast, are
    /// reused.
    ///
    /// Stands for [`cudaStreamGetId`](sys::cudaStreamGetId).
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaStreamGetId")]
    #[track_caller]
    pub fn id(&self) -> Result<u64> {
        busy::ensure_idle("StreamRef::id")?;
        let _current = self.switch()?;
        let mut id = 0;
        // SAFETY: the stream lives as long as the view. The pointer is to a live integer, which the call
        // fills.
        unsafe { check!(cudaStreamGetId(self.raw, &raw mut id)) }?;
        Ok(id)
    }

    /// Makes the stream's device current if the handle denotes another stream on another device.
    #[inline]
    #[track_caller]
    pub(super) fn switch(&self) -> Result<Option<Switched>> {
        match self.timeline.kind {
            Kind::Blocking | Kind::NonBlocking => Ok(None),
            Kind::Legacy => self.device().switch().map(Some),
            Kind::PerThread => {
                self.ensure_not_ending("StreamRef")?;
                self.device().switch().map(Some)
            }
        }
    }

    /// Refuses a thread's own stream if the thread is ending, because its timeline may belong to another
    /// thread by now. Every entry in the tracker for a stream is preceded by this check, or by
    /// [`switch`](Self::switch), which includes it.
    #[inline]
    #[track_caller]
    pub(super) fn ensure_not_ending(&self, api: &'static str) -> Result<()> {
        if self.timeline.kind == Kind::PerThread { ownership::ensure_not_ending(api) } else { Ok(()) }
    }
}

/// Asks for the state of a live stream's capture, and for its number if it is active.
#[track_caller]
fn info(raw: sys::cudaStream_t, status: &mut sys::cudaStreamCaptureStatus, id: &mut u64) -> Result<()> {
    let (status, id, graph) = (ptr::from_mut(status), ptr::from_mut(id), ptr::null_mut());
    #[cfg(cudart_13_0)]
    // SAFETY: the stream is live. The first two pointers are to live variables, which the call fills. It
    // returns nothing for the others, which are null.
    let asked = unsafe {
        check!(cudaStreamGetCaptureInfo(
            raw,
            status,
            id,
            graph,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut()
        ))
    };
    #[cfg(not(cudart_13_0))]
    // SAFETY: the stream is live. The first two pointers are to live variables, which the call fills. It
    // returns nothing for the others, which are null.
    let asked =
        unsafe { check!(cudaStreamGetCaptureInfo(raw, status, id, graph, ptr::null_mut(), ptr::null_mut())) };
    asked
}
