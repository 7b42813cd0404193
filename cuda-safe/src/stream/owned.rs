//! [`Stream`]: a stream that the program makes and owns.
#![expect(unsafe_code, reason = "takes raw streams in and gives them out")]

use super::legacy::LegacyStream;
use super::methods::stream_methods;
use super::per_thread::PerThreadStream;
use super::tracker::TRACKER;
use super::view::{AsStream, StreamRef, sealed};
use super::{pool, port};
use crate::busy;
use crate::device::Device;
use crate::error::Result;
use crate::{callback, check, process, sys};
use cuda_hazard::{Kind, Timeline, WaitTarget};

/// A queue of work for one device. Work runs in the order of submission.
///
/// Any number of threads may submit work to one stream at once. Dropping a stream does not wait: its
/// work runs to the end, and whoever needs the memory involved waits for exactly that work.
///
/// # Examples
/// ```no_run
/// use cuda_safe::stream::{Event, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let producer = Stream::non_blocking()?;
/// let consumer = Stream::non_blocking()?;
/// let ready = Event::without_timing()?;
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

// SAFETY: the runtime accepts a stream's handle on any thread, and the timeline is made for many
// threads.
unsafe impl Send for Stream {}
// SAFETY: the runtime accepts a stream's handle on any thread, and the timeline is made for many threads. The
// runtime serializes submissions of several threads to one stream, and the tracker locks the stream.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream of the current device. It and the legacy stream wait for each other.
    ///
    /// Stands for [`cudaStreamCreate`](sys::cudaStreamCreate).
    ///
    /// # Errors
    /// Fails as [`StreamBuilder::build`].
    #[doc(alias = "cudaStreamCreate")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Makes a stream of the current device that is ordered only with the work that it explicitly waits
    /// for.
    ///
    /// Stands for [`cudaStreamCreateWithFlags`](sys::cudaStreamCreateWithFlags) with `cudaStreamNonBlocking`.
    ///
    /// # Errors
    /// Fails as [`StreamBuilder::build`].
    #[doc(alias = "cudaStreamCreateWithFlags")]
    #[doc(alias = "cudaStreamNonBlocking")]
    #[track_caller]
    pub fn non_blocking() -> Result<Self> {
        Self::builder().non_blocking().build()
    }

    /// Returns a builder that sets device, priority and kind of a stream.
    #[doc(alias = "cudaStreamCreateWithPriority")]
    pub fn builder() -> StreamBuilder {
        StreamBuilder::new()
    }

    /// Returns C's stream `0`: the legacy default stream of the device that is current now. It stays the
    /// stream of that device. Makes no stream, and costs little more than the query of the device.
    ///
    /// # Errors
    /// Returns the runtime's error if there is no device.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Stream, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut device = DeviceBuffer::<u8>::alloc(4)?;
    /// memset_async(&mut device, 7, &Stream::legacy()?)?;
    /// assert_eq!(device.to_vec()?, [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamLegacy")]
    #[track_caller]
    pub fn legacy() -> Result<LegacyStream> {
        LegacyStream::new(Device::current()?)
    }

    /// Returns the calling thread's own default stream of the current device.
    ///
    /// # Errors
    /// Returns the runtime's error if there is no device.
    #[doc(alias = "cudaStreamPerThread")]
    #[track_caller]
    pub fn per_thread() -> Result<PerThreadStream> {
        PerThreadStream::new(Device::current()?)
    }

    /// Makes a stream with this handle and timeline.
    pub(super) fn from_parts(raw: sys::cudaStream_t, timeline: &'static Timeline, priority: i32) -> Self {
        Self { raw, timeline, priority, process: process::number() }
    }

    /// Hides the handle from other threads, or makes it available again. They find it by epochs of
    /// earlier work on it, possibly by a former stream with the same handle. A thread that found such an
    /// epoch, just before the work turned out to be complete, would make its own stream wait for this
    /// one. While this one is captured, that would make the other stream and its later work part of the
    /// capture.
    ///
    /// The caller ensures that everything submitted to the stream is complete.
    pub(crate) fn set_apart(&self, apart: bool) {
        let target =
            if apart { WaitTarget::Nothing } else { WaitTarget::Stream(self.raw.expose_provenance()) };
        // SAFETY: everything submitted to the stream is complete, or the stream is reached by its handle
        // as before.
        *unsafe { self.timeline.wait_target_mut() } = target;
    }

    /// Takes ownership of a stream that other code made.
    ///
    /// The runtime is asked which kind of stream it is. The caller is responsible for work that was
    /// submitted before.
    ///
    /// # Errors
    /// Returns the runtime's error if it does not know the stream. The caller then still owns the
    /// stream.
    ///
    /// # Safety
    /// - `raw` is a live stream of `device`, made by `cudaStreamCreate` or a similar function. It is not
    ///   being captured, and its creator no longer uses it.
    /// - Work submitted to it before does not access memory of this crate.
    #[track_caller]
    pub unsafe fn from_raw(raw: sys::cudaStream_t, device: Device) -> Result<Self> {
        busy::ensure_idle("Stream::from_raw")?;
        let (mut flags, mut priority) = (0, 0);
        // SAFETY: the caller guarantees that the stream is live. The pointer is to a live integer.
        unsafe { check!(cudaStreamGetFlags(raw, &raw mut flags)) }?;
        // SAFETY: the caller guarantees that the stream is live. The pointer is to a live integer.
        unsafe { check!(cudaStreamGetPriority(raw, &raw mut priority)) }?;
        let kind = if flags & sys::cudaStreamNonBlocking == 0 { Kind::Blocking } else { Kind::NonBlocking };
        Ok(Self::from_parts(raw, pool::add_timeline(device, kind, raw)?, priority))
    }

    /// Returns the raw handle without destroying the stream. The caller owns it from now on.
    ///
    /// The tracker keeps the stream's work: an event recorded now stands for it. Inside a host function
    /// no event can be recorded; the caller must then destroy the stream only after its work is
    /// complete.
    #[must_use = "the stream is destroyed by nobody else"]
    pub fn into_raw(self) -> sys::cudaStream_t {
        let raw = self.raw;
        let device = self.device();
        let target = port::last_event(device, raw, self.timeline);
        // SAFETY: nobody has the timeline any more, and the wait target is the last event.
        unsafe { TRACKER.retire(self.timeline, target) };
        let _ = std::mem::ManuallyDrop::new(self);
        raw
    }
}

stream_methods!(Stream);

impl Drop for Stream {
    /// Returns the handle to the pool. This makes no CUDA call and does not wait, so it may happen
    /// anywhere, including host functions.
    fn drop(&mut self) {
        // The child of a fork cannot use the runtime.
        if process::is(self.process) {
            pool::return_stream(
                self.raw.expose_provenance(),
                self.device(),
                self.timeline.kind,
                self.priority,
                self.timeline,
            );
        }
    }
}

impl sealed::SealedStream for Stream {}

impl AsStream for Stream {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        StreamRef::new(self.raw, self.timeline)
    }
}

/// The flags of a blocking stream.
const BLOCKING: u32 = 0;

/// Sets device, kind and priority of a new stream. Made by [`Stream::builder`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct StreamBuilder {
    device: Option<Device>,
    kind: Kind,
    priority: i32,
}

impl StreamBuilder {
    /// Describes a blocking stream of the current device with the default priority.
    pub(super) fn new() -> Self {
        Self { device: None, kind: Kind::Blocking, priority: 0 }
    }

    /// Sets the stream's device. The default is the current one.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Makes the stream non-blocking: it and the legacy stream do not wait for each other.
    #[doc(alias = "cudaStreamNonBlocking")]
    pub fn non_blocking(mut self) -> Self {
        self.kind = Kind::NonBlocking;
        self
    }

    /// Sets the stream's priority. A smaller number is a higher priority. Numbers outside
    /// [`Device::stream_priority_range`] are clamped to it.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Makes the stream.
    ///
    /// Stands for [`cudaStreamCreateWithPriority`](sys::cudaStreamCreateWithPriority). If a dropped
    /// stream of the same kind has completed its work, its handle is reused.
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be made current or cannot hold another stream.
    /// Refused inside a host function.
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
        callback::run_deferred();
        let device = match self.device {
            Some(device) => device,
            None => Device::current()?,
        };
        if let Some((number, timeline)) = pool::stream(device, self.kind, self.priority) {
            return Ok(Stream::from_parts(pool::raw_stream(number), timeline, self.priority));
        }
        let flags = if self.kind == Kind::NonBlocking { sys::cudaStreamNonBlocking } else { BLOCKING };
        let mut raw = std::ptr::null_mut();
        {
            let _current = device.switch()?;
            // SAFETY: the pointer is to a live local variable, which the call fills.
            unsafe { check!(cudaStreamCreateWithPriority(&raw mut raw, flags, self.priority)) }?;
        }
        let added = pool::add_timeline(device, self.kind, raw);
        if added.is_err() {
            // SAFETY: the stream was made above, and nobody else has seen it.
            let _ = unsafe { sys::cudaStreamDestroy(raw) };
        }
        Ok(Stream::from_parts(raw, added?, self.priority))
    }
}
