//! [`ForeignStream`]: a stream of another library's, used but not owned.
//!
//! It has a timeline in the tracker like any other stream, found by the number that the runtime gives each stream for good
//! (`cudaStreamGetId`), as handles are used again: whoever adopts the same stream twice gets the same timeline. When the last
//! of them goes, an event that stands for all that the stream was given takes the handle's place in the tracker, so nobody
//! touches the handle afterwards. A forgotten one keeps what keeps the stream alive, so the handle stays good: nothing
//! relies on a destructor being run.
#![expect(unsafe_code, reason = "takes raw streams in")]

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::methods::stream_methods;
use super::tracker::TRACKER;
use super::view::{AsStream, StreamRef, sealed};
use super::{busy, deferred, pool, port};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, process, sys};
use cuda_hazard::{Kind, Timeline};

/// A stream that another library made and destroys.
///
/// What this crate puts on it is ordered with everything else, as on a [`Stream`](super::Stream). What the other library
/// puts on it, the tracker does not know of.
#[doc(alias = "cudaStreamGetId")]
pub struct ForeignStream {
    raw: sys::cudaStream_t,
    id: u64,
    timeline: &'static Timeline,
    process: u32,
    keeper: Option<Box<dyn Any + Send + Sync>>,
}

// SAFETY: a stream's handle is a name that the runtime takes from any thread, the timeline is made for many threads, and the
// keeper may be sent.
unsafe impl Send for ForeignStream {}
// SAFETY: as above, and the keeper may be shared.
unsafe impl Sync for ForeignStream {}

/// A foreign stream that is in use.
struct Adopted {
    id: u64,
    timeline: &'static Timeline,
    users: usize,
}

static ADOPTED: Mutex<Vec<Adopted>> = Mutex::new(Vec::new());

fn adopted() -> MutexGuard<'static, Vec<Adopted>> {
    ADOPTED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ForeignStream {
    /// Adopts a stream, with what keeps it alive, a counted owner for one.
    ///
    /// # Errors
    /// Where the runtime does not know the stream; a refusal for the legacy and the per-thread stream, which
    /// [`Stream::legacy`](super::Stream::legacy) and [`Stream::per_thread`](super::Stream::per_thread) are for, or inside a
    /// host function.
    ///
    /// # Safety
    /// - `raw` is a stream of `device` that is not destroyed before `keeper` is dropped, and not being captured.
    /// - What it was given before, and is given by others, does not touch memory that this crate owns, but in order with
    ///   what this crate does there.
    #[track_caller]
    pub unsafe fn adopt<K: Any + Send + Sync>(
        raw: sys::cudaStream_t,
        device: Device,
        keeper: K,
    ) -> Result<Self> {
        // SAFETY: the caller vouches for all of it.
        unsafe { Self::enter("ForeignStream::adopt", raw, device, Some(Box::new(keeper))) }
    }

    /// Lends a stream to `f` that lives for as long as `f` runs.
    ///
    /// # Errors
    /// As [`adopt`](Self::adopt).
    ///
    /// # Safety
    /// The duties of [`adopt`](Self::adopt), the stream living until this returns.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::stream::{ForeignStream, Stream};
    /// use cuda_safe::{DeviceBuffer, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// // What another library would have.
    /// let theirs = Stream::new()?;
    /// let mut buffer = DeviceBuffer::<u8>::alloc(100)?;
    /// // SAFETY: the stream outlives the call and is given nothing else.
    /// unsafe {
    ///     ForeignStream::lend(theirs.as_raw(), theirs.device(), |stream| memset_async(&mut buffer, 3, stream))
    /// }??;
    /// assert_eq!(buffer.to_vec()?, [3; 100]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub unsafe fn lend<R>(raw: sys::cudaStream_t, device: Device, f: impl FnOnce(&Self) -> R) -> Result<R> {
        // SAFETY: the caller vouches for all of it; the value goes before this returns, also on a panic.
        let stream = unsafe { Self::enter("ForeignStream::lend", raw, device, None) }?;
        Ok(f(&stream))
    }

    /// # Safety
    /// The duties of `adopt`, the stream living until the keeper is dropped, or where there is none, the value.
    #[track_caller]
    unsafe fn enter(
        api: &'static str,
        raw: sys::cudaStream_t,
        device: Device,
        keeper: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self> {
        busy::ensure_idle(api)?;
        if raw.addr() <= 2 {
            return Err(Error::refused(api, Detail::Unsupported { what: "a default stream" }));
        }
        let (mut flags, mut id) = (0, 0);
        // SAFETY: the caller vouches for the stream; the pointer is to a live integer.
        unsafe { check!(cudaStreamGetFlags(raw, &raw mut flags)) }?;
        // SAFETY: as above.
        unsafe { check!(cudaStreamGetId(raw, &raw mut id)) }?;
        let mut adopted = adopted();
        let timeline = match adopted.iter_mut().find(|it| it.id == id) {
            Some(it) => {
                it.users += 1;
                it.timeline
            }
            None => {
                let blocking = flags & sys::cudaStreamNonBlocking == 0;
                let kind = if blocking { Kind::Blocking } else { Kind::NonBlocking };
                let timeline = pool::enrol(device, kind, raw)?;
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
    /// Leaves an event in the place of the handle, and lets go of what keeps the stream alive. Does not wait. Where the thread may not
    /// call the runtime, in a host function for one, that is done later.
    fn drop(&mut self) {
        if !process::is(self.process) {
            return;
        }
        if self.keeper.is_some() && busy::ensure_idle("ForeignStream").is_err() {
            // Without an event nobody could say when the stream may go; and who is told of a call that fails (`logs::on_message`) may be
            // so where this thread has the list locked.
            let (raw, id, timeline, process) = (self.raw, self.id, self.timeline, self.process);
            let later = Self { raw, id, timeline, process, keeper: self.keeper.take() };
            deferred::defer(Box::new(move || drop(later)));
            return;
        }
        {
            // Locked to the end, so that nobody finds the timeline who would use the handle.
            let mut adopted = adopted();
            if let Some(at) = adopted.iter().position(|it| it.id == self.id) {
                let last = adopted.get_mut(at).is_none_or(|it| {
                    it.users -= 1;
                    it.users == 0
                });
                if last {
                    adopted.swap_remove(at);
                    let reach = port::last_event(self.device(), self.raw, self.timeline);
                    // SAFETY: nobody has the timeline any more; the reach is that of the last event.
                    unsafe { TRACKER.retire(self.timeline, reach) };
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

impl sealed::Sealed for ForeignStream {}

impl AsStream for ForeignStream {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        StreamRef::new(self.raw, self.timeline)
    }
}
