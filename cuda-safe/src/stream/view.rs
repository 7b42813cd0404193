//! Views of streams: what every verb of the crate takes.
#![expect(unsafe_code, reason = "calls the runtime's stream functions")]

use std::marker::PhantomData;

use super::busy;
use super::recorder::Recorder;
use crate::device::{Device, Switched};
use crate::error::{Detail, Error, Result};
use crate::{check, sys};
use cuda_hazard::{Kind, Timeline};

/// What an operation can be put on: a [`Stream`](super::Stream), the [`LegacyStream`](super::LegacyStream) of
/// a device, this thread's [`PerThreadStream`](super::PerThreadStream), or a view of any of them.
///
/// Sealed: what is ordered, and how, is known of these only.
pub trait AsStream: sealed::Sealed {
    /// A view of the stream.
    fn as_stream(&self) -> StreamRef<'_>;
}

pub(crate) mod sealed {
    /// Keeps [`AsStream`](super::AsStream) to this crate.
    pub trait Sealed {}
}

/// A view of a stream that lives at least as long as `'a`. Copies are the same stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamRef<'a> {
    /// A raw pointer, which also keeps views of per-thread streams on their thread.
    raw: sys::cudaStream_t,
    timeline: &'static Timeline,
    /// Where operations go instead, while the stream is captured.
    recorder: Option<&'a Recorder>,
    owner: PhantomData<&'a ()>,
}

/// The refusal of what cannot be part of a graph.
#[cold]
#[inline(never)]
#[track_caller]
fn captured(api: &'static str) -> Error {
    Error::refused(api, Detail::Capturing)
}

impl sealed::Sealed for StreamRef<'_> {}

impl AsStream for StreamRef<'_> {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        *self
    }
}

impl<'a> StreamRef<'a> {
    /// The view of a stream that has this timeline.
    #[inline]
    pub(super) fn new(raw: sys::cudaStream_t, timeline: &'static Timeline) -> Self {
        Self { raw, timeline, recorder: None, owner: PhantomData }
    }

    /// The view of a stream that is captured: what it is given goes into the graph.
    pub(crate) fn captured(stream: StreamRef<'a>, recorder: &'a Recorder) -> Self {
        Self { recorder: Some(recorder), ..stream }
    }

    /// Where operations go instead, while the stream is captured.
    #[inline]
    pub(super) fn recorder(&self) -> Option<&'a Recorder> {
        self.recorder
    }

    /// Whether what the stream is given goes into a graph instead of running.
    ///
    /// So it is within [`Stream::capture`](super::Stream::capture), and nowhere else. Answered from what the crate knows;
    /// stands for [`cudaStreamIsCapturing`](sys::cudaStreamIsCapturing).
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
        self.recorder.is_some()
    }

    /// Refuses what cannot be part of a graph.
    #[inline]
    #[track_caller]
    pub(crate) fn ensure_not_captured(&self, api: &'static str) -> Result<()> {
        if self.recorder.is_none() { Ok(()) } else { Err(captured(api)) }
    }

    /// The stream's timeline in the tracker.
    #[inline]
    pub(super) fn timeline(&self) -> &'static Timeline {
        self.timeline
    }

    /// Notes that the stream is given a fill of pinned memory. To be called by what an `enqueue` calls.
    #[inline]
    pub(crate) fn note_fill(&self) {
        self.timeline.note_fill();
    }

    /// Whether one was noted; asking takes the note. As above.
    #[cfg(cudart_12_8)]
    #[inline]
    pub(crate) fn take_fill(&self) -> bool {
        // SAFETY: the caller puts something between the fill and its batch.
        unsafe { self.timeline.take_fill() }
    }

    /// The device that the stream is of.
    #[doc(alias = "cudaStreamGetDevice")]
    #[must_use]
    #[inline]
    pub fn device(&self) -> Device {
        Device::from_ordinal(self.timeline.device())
    }

    /// The raw handle. What is put on it behind the crate's back, the tracker does not know of.
    #[must_use]
    #[inline]
    pub fn as_raw(&self) -> sys::cudaStream_t {
        self.raw
    }

    /// Whether this is the legacy stream of its device.
    pub(crate) fn is_legacy(&self) -> bool {
        self.timeline.kind == Kind::Legacy
    }

    /// Whether the legacy stream of the device waits for this stream and the other way round.
    ///
    /// Answered from what the stream was made with; stands for
    /// [`cudaStreamGetFlags`](sys::cudaStreamGetFlags).
    #[doc(alias = "cudaStreamGetFlags")]
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.timeline.kind != Kind::NonBlocking
    }

    /// The stream's priority: smaller numbers go first.
    ///
    /// Stands for [`cudaStreamGetPriority`](sys::cudaStreamGetPriority).
    ///
    /// # Errors
    /// What the runtime fails with.
    #[doc(alias = "cudaStreamGetPriority")]
    #[track_caller]
    pub fn priority(&self) -> Result<i32> {
        busy::ensure_idle("StreamRef::priority")?;
        let _current = self.switch()?;
        let mut priority = 0;
        // SAFETY: the stream lives while the view does; the pointer is to a live integer, which the call
        // fills.
        unsafe { check!(cudaStreamGetPriority(self.raw, &raw mut priority)) }?;
        Ok(priority)
    }

    /// A number that no other stream of the process has or will have. Handles, in contrast, are used again.
    ///
    /// Stands for [`cudaStreamGetId`](sys::cudaStreamGetId).
    ///
    /// # Errors
    /// What the runtime fails with.
    #[doc(alias = "cudaStreamGetId")]
    #[track_caller]
    pub fn id(&self) -> Result<u64> {
        busy::ensure_idle("StreamRef::id")?;
        let _current = self.switch()?;
        let mut id = 0;
        // SAFETY: the stream lives while the view does; the pointer is to a live integer, which the call
        // fills.
        unsafe { check!(cudaStreamGetId(self.raw, &raw mut id)) }?;
        Ok(id)
    }

    /// Makes the stream's device current where the handle means another stream on another device.
    #[inline]
    #[track_caller]
    pub(super) fn switch(&self) -> Result<Option<Switched>> {
        match self.timeline.kind {
            Kind::Blocking | Kind::NonBlocking => Ok(None),
            Kind::Legacy => self.device().switch().map(Some),
            Kind::PerThread => {
                self.ensure_going_on("StreamRef")?;
                self.device().switch().map(Some)
            }
        }
    }

    /// Refuses a thread's own stream where the thread is ending: its timeline may be another thread's by now. Whoever enters anything for a
    /// stream in the tracker asks this first, or [`switch`](Self::switch)es, which does.
    #[inline]
    #[track_caller]
    pub(super) fn ensure_going_on(&self, api: &'static str) -> Result<()> {
        if self.timeline.kind == Kind::PerThread { busy::ensure_going_on(api) } else { Ok(()) }
    }
}
