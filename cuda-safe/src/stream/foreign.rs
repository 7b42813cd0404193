//! [`ForeignStream`]: a stream of another library, used but not owned.
//!
//! It has a timeline in the tracker like any other stream. The timeline is found by the stream's unique
//! number (`cudaStreamGetId`), because handles are reused: adopting the same stream twice gives the same
//! timeline. When the last `ForeignStream` of a stream is dropped, an event that stands for everything
//! submitted to the stream replaces the handle in the tracker, and nothing uses the handle afterwards.
//! If a `ForeignStream` is forgotten, the resource that keeps the stream alive is never dropped, so the
//! handle stays valid: soundness does not rely on a destructor.
#![expect(unsafe_code, reason = "takes raw streams in")]

use std::any::Any;
use std::fmt;
use std::sync::Mutex;

use super::methods::stream_methods;
use super::tracker::TRACKER;
use super::view::{AsStream, StreamRef, sealed};
use super::{pool, port};
use crate::busy;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::lock::lock;
use crate::{callback, check, process, sys};
use cuda_hazard::{Kind, Timeline};

/// A stream that another library made and destroys.
///
/// Work that this crate submits to it is ordered with everything else, as on a
/// [`Stream`](super::Stream). The tracker does not see work that the other library submits.
#[doc(alias = "cudaStreamGetId")]
pub struct ForeignStream {
    raw: sys::cudaStream_t,
    id: u64,
    timeline: &'static Timeline,
    process: u32,
    keeper: Option<Box<dyn Any + Send + Sync>>,
}

// SAFETY: the runtime accepts a stream's handle on any thread, the timeline is made for many threads,
// and the retained value is `Send`.
unsafe impl Send for ForeignStream {}
// SAFETY: the runtime accepts a stream's handle on any thread, the timeline is made for many threads, and the
// retained value is `Send`. The retained value is `Sync`.
unsafe impl Sync for ForeignStream {}

/// A foreign stream that is in use.
struct Adopted {
    id: u64,
    timeline: &'static Timeline,
    users: usize,
}

static ADOPTED: Mutex<Vec<Adopted>> = Mutex::new(Vec::new());

impl ForeignStream {
    /// Adopts a stream, together with a value that keeps it alive, such as a reference-counted owner.
    ///
    /// # Errors
    /// - The runtime's error if it does not know the stream.
    /// - A refusal for the legacy and the per-thread stream. Use
    ///   [`Stream::legacy`](super::Stream::legacy) and [`Stream::per_thread`](super::Stream::per_thread)
    ///   for these.
    /// - Refused inside a host function.
    ///
    /// # Safety
    /// - `raw` is a stream of `device`. It is not destroyed before `keeper` is dropped, and it is not
    ///   being captured.
    /// - Work submitted to it before, and work that others submit, accesses memory of this crate only in
    ///   order with this crate's accesses.
    #[track_caller]
    pub unsafe fn adopt<K: Any + Send + Sync>(
        raw: sys::cudaStream_t,
        device: Device,
        keeper: K,
    ) -> Result<Self> {
        // SAFETY: the caller has the same duties.
        unsafe { Self::enter("ForeignStream::adopt", raw, device, Some(Box::new(keeper))) }
    }

    /// Lends a stream to `f`. The stream lives at least as long as `f` runs.
    ///
    /// # Errors
    /// As [`adopt`](Self::adopt).
    ///
    /// # Safety
    /// The duties of [`adopt`](Self::adopt), except that the stream need only live until this returns.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::stream::{ForeignStream, Stream};
    /// use cuda_safe::{DeviceBuffer, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// // The stream of another library.
    /// let theirs = Stream::new()?;
    /// let mut buffer = DeviceBuffer::<u8>::alloc(100)?;
    /// // SAFETY: the stream outlives the call, and nothing else is submitted to it.
    /// unsafe {
    ///     ForeignStream::lend(theirs.as_raw(), theirs.device(), |stream| {
    ///         memset_async(&mut buffer, 3, stream)
    ///     })
    /// }??;
    /// assert_eq!(buffer.to_vec()?, [3; 100]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub unsafe fn lend<R>(raw: sys::cudaStream_t, device: Device, f: impl FnOnce(&Self) -> R) -> Result<R> {
        // SAFETY: the caller has the same duties. The value is dropped before this returns, also on a
        // panic.
        let stream = unsafe { Self::enter("ForeignStream::lend", raw, device, None) }?;
        Ok(f(&stream))
    }

    /// # Safety
    /// The duties of `adopt`. The stream lives until the keeper is dropped or, without a keeper, until
    /// the value is dropped.
    #[track_caller]
    unsafe fn enter(
        api: &'static str,
        raw: sys::cudaStream_t,
        device: Device,
        keeper: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self> {
        busy::ensure_idle(api)?;
        if raw.addr() <= 2 {
            return Err(Error::refused(api, Detail::unsupported("a default stream")));
        }
        let (mut flags, mut id) = (0, 0);
        // SAFETY: the caller guarantees that the stream is live. The pointer is to a live integer.
        unsafe { check!(cudaStreamGetFlags(raw, &raw mut flags)) }?;
        // SAFETY: the caller guarantees that the stream is live. The pointer is to a live integer.
        unsafe { check!(cudaStreamGetId(raw, &raw mut id)) }?;
        let mut adopted = lock(&ADOPTED);
        let timeline = match adopted.iter_mut().find(|it| it.id == id) {
            Some(it) => {
                it.users += 1;
                it.timeline
            }
            None => {
                let blocking = flags & sys::cudaStreamNonBlocking == 0;
                let kind = if blocking { Kind::Blocking } else { Kind::NonBlocking };
                let timeline = pool::add_timeline(device, kind, raw)?;
                adopted.push(Adopted { id, timeline, users: 1 });
                timeline
            }
        };
        drop(adopted);
        Ok(Self { raw, id, timeline, process: process::number(), keeper })
    }
}

stream_methods!(ForeignStream);

impl Drop for ForeignStream {
    /// Replaces the handle in the tracker by an event, and drops the value that keeps the stream alive.
    /// Does not wait. If the thread must not call the runtime, for example in a host function, this
    /// happens later.
    fn drop(&mut self) {
        if !process::is(self.process) {
            return;
        }
        if self.keeper.is_some() && busy::ensure_idle("ForeignStream").is_err() {
            // Without an event, nobody could find out when the stream may be destroyed. Besides, a
            // function that is called about a failing call (`logs::on_message`) may drop this while the
            // thread has the list locked.
            let (raw, id, timeline, process) = (self.raw, self.id, self.timeline, self.process);
            let later = Self { raw, id, timeline, process, keeper: self.keeper.take() };
            callback::defer(Box::new(move || drop(later)));
            return;
        }
        {
            // Locked until the end, so that nobody finds the timeline and uses the handle.
            let mut adopted = lock(&ADOPTED);
            if let Some(at) = adopted.iter().position(|it| it.id == self.id) {
                let last = adopted.get_mut(at).is_none_or(|it| {
                    it.users -= 1;
                    it.users == 0
                });
                if last {
                    adopted.swap_remove(at);
                    let target = port::last_event(self.device(), self.raw, self.timeline);
                    // SAFETY: nobody has the timeline any more, and the wait target is the last event.
                    unsafe { TRACKER.retire(self.timeline, target) };
                }
            }
        }
        drop(self.keeper.take());
    }
}

impl fmt::Debug for ForeignStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignStream").field("id", &self.id).field("device", &self.device()).finish()
    }
}

impl sealed::SealedStream for ForeignStream {}

impl AsStream for ForeignStream {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        StreamRef::new(self.raw, self.timeline)
    }
}
