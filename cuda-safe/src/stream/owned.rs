//! [`Stream`]: a stream that the program made and owns.
#![expect(unsafe_code, reason = "takes raw streams in and gives them out")]

use super::legacy::LegacyStream;
use super::methods::stream_methods;
use super::per_thread::PerThreadStream;
use super::tracker::TRACKER;
use super::view::{AsStream, StreamRef, sealed};
use super::{busy, deferred, pool, port};
use crate::device::Device;
use crate::error::Result;
use crate::{check, process, sys};
use cuda_hazard::{Kind, Timeline, WaitTarget};

/// A queue of work for one device: what it is given runs in order.
///
/// Any number of threads may put work on one stream at once. Dropping a stream does not wait: what it was
/// given runs to its end, and whoever needs the memory involved waits for exactly that.
///
/// # Examples
/// ```no_run
/// use cuda_safe::stream::{Event, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let producer = Stream::non_blocking()?;
/// let consumer = Stream::non_blocking()?;
/// let mut ready = Event::without_timing()?;
/// // ... work on `producer` ...
/// ready.record(&producer)?;
/// consumer.wait(&ready)?;
/// // ... work on `consumer` that needs it ...
/// consumer.synchronize()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[doc(alias = "cudaStreamDestroy")]
#[doc(alias = "cudaStream_t")]
pub struct Stream {
    raw: sys::cudaStream_t,
    timeline: &'static Timeline,
    priority: i32,
    process: u32,
}

// SAFETY: a stream's handle is a name that the runtime takes from any thread, and the timeline is made for many
// threads.
unsafe impl Send for Stream {}
// SAFETY: as above: the runtime serialises what several threads put on one stream, and the tracker lock the
// stream.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream of the current device that waits for the legacy stream, and the legacy stream for it.
    ///
    /// Stands for [`cudaStreamCreate`](sys::cudaStreamCreate).
    ///
    /// # Errors
    /// Those of [`StreamBuilder::build`].
    #[doc(alias = "cudaStreamCreate")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Makes a stream of the current device that is ordered with nothing but what it is told to wait for.
    ///
    /// Stands for [`cudaStreamCreateWithFlags`](sys::cudaStreamCreateWithFlags) with `cudaStreamNonBlocking`.
    ///
    /// # Errors
    /// Those of [`StreamBuilder::build`].
    #[doc(alias = "cudaStreamCreateWithFlags")]
    #[doc(alias = "cudaStreamNonBlocking")]
    #[track_caller]
    pub fn non_blocking() -> Result<Self> {
        Self::builder().non_blocking().build()
    }

    /// Begins to describe a stream: device, priority, blocking or not.
    #[doc(alias = "cudaStreamCreateWithPriority")]
    pub fn builder() -> StreamBuilder {
        StreamBuilder::new()
    }

    /// The legacy default stream of the current device: what C means by stream `0`.
    ///
    /// # Errors
    /// Where there is no device.
    #[doc(alias = "cudaStreamLegacy")]
    #[track_caller]
    pub fn legacy() -> Result<LegacyStream> {
        LegacyStream::of(Device::current()?)
    }

    /// The calling thread's own default stream of the current device.
    ///
    /// # Errors
    /// Where there is no device.
    #[doc(alias = "cudaStreamPerThread")]
    #[track_caller]
    pub fn per_thread() -> Result<PerThreadStream> {
        PerThreadStream::of(Device::current()?)
    }

    /// A stream with this handle and timeline.
    pub(super) fn of(raw: sys::cudaStream_t, timeline: &'static Timeline, priority: i32) -> Self {
        Self { raw, timeline, priority, process: process::number() }
    }

    /// Keeps other threads away from the handle, or lets them come to it again. They know it by what a stream that had it before was given:
    /// who has found that something of this was in his way just before it turned out to be over, would make his stream wait for this one. Where
    /// this one is captured, his would become part of the capture, and what he gives it part of the graph.
    ///
    /// To be done only while the stream has been given nothing that is not over.
    pub(crate) fn set_apart(&self, apart: bool) {
        let reach =
            if apart { WaitTarget::Nothing } else { WaitTarget::Stream(self.raw.expose_provenance()) };
        // SAFETY: the stream has been given nothing that is not over, or is reached by its handle as before.
        *unsafe { self.timeline.wait_target_mut() } = reach;
    }

    /// Takes over a stream that was made elsewhere.
    ///
    /// The runtime is asked what kind of stream it is. Work that it was given before is the caller's affair.
    ///
    /// # Errors
    /// Where the runtime does not know the stream. It is then still the caller's.
    ///
    /// # Safety
    /// - `raw` is a live stream of `device`, made by `cudaStreamCreate` or a function like it, not being captured, and no
    ///   longer used by whoever made it.
    /// - What it was given before does not touch memory that this crate owns.
    #[track_caller]
    pub unsafe fn from_raw(raw: sys::cudaStream_t, device: Device) -> Result<Self> {
        busy::ensure_idle("Stream::from_raw")?;
        let (mut flags, mut priority) = (0, 0);
        // SAFETY: the caller vouches for the stream; the pointer is to a live integer.
        unsafe { check!(cudaStreamGetFlags(raw, &raw mut flags)) }?;
        // SAFETY: the caller vouches for the stream; the pointer is to a live integer.
        unsafe { check!(cudaStreamGetPriority(raw, &raw mut priority)) }?;
        let kind = if flags & sys::cudaStreamNonBlocking == 0 { Kind::Blocking } else { Kind::NonBlocking };
        Ok(Self::of(raw, pool::enrol(device, kind, raw)?, priority))
    }

    /// Gives the stream up without destroying it, which is then the caller's affair.
    ///
    /// What it was given stays on the tracker: an event recorded now stands for it. Inside a host function there can be none: the stream
    /// is then to be destroyed only once its work is done.
    #[must_use = "the stream is destroyed by nobody else"]
    pub fn into_raw(self) -> sys::cudaStream_t {
        let raw = self.raw;
        let device = self.device();
        let reach = port::last_event(device, raw, self.timeline);
        // SAFETY: nobody has the timeline any more; the reach is that of the last event.
        unsafe { TRACKER.retire(self.timeline, reach) };
        let _ = std::mem::ManuallyDrop::new(self);
        raw
    }
}

stream_methods!(Stream);

impl Drop for Stream {
    /// Gives the handle back to the pool. No call, no wait: so it may happen anywhere, host functions
    /// included.
    fn drop(&mut self) {
        // In the child of a fork the runtime is not usable.
        if process::is(self.process) {
            pool::keep_stream(
                self.raw.expose_provenance(),
                self.device(),
                self.timeline.kind,
                self.priority,
                self.timeline,
            );
        }
    }
}

impl sealed::Sealed for Stream {}

impl AsStream for Stream {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        StreamRef::new(self.raw, self.timeline)
    }
}

/// The flags of a stream that waits for the legacy stream.
const BLOCKING: u32 = 0;

/// What a stream is to be like. Made by [`Stream::builder`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct StreamBuilder {
    device: Option<Device>,
    kind: Kind,
    priority: i32,
}

impl StreamBuilder {
    /// A blocking stream of the current device with the default priority.
    pub(super) fn new() -> Self {
        Self { device: None, kind: Kind::Blocking, priority: 0 }
    }

    /// The stream's device. Without this, the current one.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// The stream does not wait for the legacy stream, nor the legacy stream for it.
    #[doc(alias = "cudaStreamNonBlocking")]
    pub fn non_blocking(mut self) -> Self {
        self.kind = Kind::NonBlocking;
        self
    }

    /// The stream's priority: smaller numbers go first. Numbers outside
    /// [`Device::stream_priority_range`] are taken as its nearest end.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Makes the stream.
    ///
    /// Stands for [`cudaStreamCreateWithPriority`](sys::cudaStreamCreateWithPriority). A dropped stream of
    /// the same kind whose work is done is used again.
    ///
    /// # Errors
    /// Where the device cannot be made current or has no room for another stream; a refusal inside a host
    /// function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{Device, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let urgent = Device::current()?.stream_priority_range()?.greatest;
    /// let stream = Stream::builder().non_blocking().priority(urgent).build()?;
    /// assert_eq!((stream.priority()?, stream.is_blocking()), (urgent, false));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamCreate")]
    #[doc(alias = "cudaStreamCreateWithFlags")]
    #[doc(alias = "cudaStreamCreateWithPriority")]
    #[track_caller]
    pub fn build(self) -> Result<Stream> {
        busy::ensure_idle("StreamBuilder::build")?;
        deferred::run();
        let device = match self.device {
            Some(device) => device,
            None => Device::current()?,
        };
        if let Some((number, timeline)) = pool::stream(device, self.kind, self.priority) {
            return Ok(Stream::of(pool::raw_stream(number), timeline, self.priority));
        }
        let flags = if self.kind == Kind::NonBlocking { sys::cudaStreamNonBlocking } else { BLOCKING };
        let mut raw = std::ptr::null_mut();
        {
            let _current = device.switch()?;
            // SAFETY: the pointer is to a live variable of ours, which the call fills.
            unsafe { check!(cudaStreamCreateWithPriority(&raw mut raw, flags, self.priority)) }?;
        }
        let enrolled = pool::enrol(device, self.kind, raw);
        if enrolled.is_err() {
            // SAFETY: the stream was made above and nobody else has seen it.
            let _ = unsafe { sys::cudaStreamDestroy(raw) };
        }
        Ok(Stream::of(raw, enrolled?, self.priority))
    }
}
