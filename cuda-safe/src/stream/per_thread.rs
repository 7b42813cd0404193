//! [`PerThreadStream`]: the calling thread's own default stream.
#![expect(unsafe_code, reason = "has the runtime make the thread's stream")]

use std::cell::RefCell;
use std::marker::PhantomData;

use super::methods::stream_methods;
use super::tracker::TRACKER;
use super::view::{AsStream, StreamRef, sealed};
use super::{ownership, pool, port};
use crate::busy;
use crate::device::Device;
use crate::error::Result;
use crate::{check, process, sys};
use cuda_hazard::{Kind, Timeline, WaitTarget};

/// The runtime's constant for the calling thread's stream of the current device.
const HANDLE: sys::cudaStream_t = std::ptr::without_provenance_mut(2);

/// The calling thread's own default stream of one device.
///
/// Its handle denotes another stream on every other thread, so the value can be neither sent nor shared.
/// Other threads wait for it by an event that it has recorded. It is ordered with the legacy stream like
/// all blocking streams.
///
/// It ends with its thread. Work that the destructors of the thread's variables submit to it then is
/// refused. Pending work still completes, and the legacy stream waits for it.
///
/// # Ordering
/// If the host needs memory that another thread's stream still uses (`host()`, `free`, a drop), it waits
/// for that stream:
///
/// - On the stream's own thread, and on any thread after that thread has ended, it waits for this stream
///   alone.
/// - While that thread lives, nobody else has a handle of its stream. The host then waits for an event
///   of the legacy stream, which is ordered after the work of *all* blocking streams of the device. Work
///   of non-blocking streams does not delay it. A raw capture of a blocking stream does not permit this
///   wait, and the wait invalidates the capture; the memory is then freed later.
///
/// A thread that hands memory on can synchronize its stream first. Then nobody waits.
///
/// # Examples
/// ```compile_fail
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = cuda_safe::stream::Stream::per_thread()?;
/// std::thread::spawn(move || stream.synchronize()); // not another thread's affair
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PerThreadStream {
    timeline: &'static Timeline,
    here: PhantomData<*mut ()>,
}

/// The timelines of the thread's streams. When the thread ends, they stay in the tracker and are reached
/// by their last events.
struct Mine {
    timelines: Vec<&'static Timeline>,
    process: u32,
}

impl Drop for Mine {
    fn drop(&mut self) {
        ownership::end();
        // In the child of a fork, a thread that no longer exists may have held the tracker's lock.
        if self.timelines.is_empty() || !process::is(self.process) {
            return;
        }
        for timeline in &self.timelines {
            // The thread's streams still exist: see `of`.
            let target = port::last_event(Device::from_ordinal(timeline.device()), HANDLE, timeline);
            // SAFETY: the thread submits nothing more to the stream, and the wait target is its last
            // event.
            unsafe { TRACKER.retire(timeline, target) };
        }
    }
}

thread_local! {
    static MINE: RefCell<Mine> = const { RefCell::new(Mine { timelines: Vec::new(), process: 0 }) };
}

impl PerThreadStream {
    /// Returns the calling thread's stream of `device`.
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be made current. Refused if the thread is
    /// ending, and inside a host function.
    #[doc(alias = "cudaStreamPerThread")]
    #[track_caller]
    pub fn new(device: Device) -> Result<Self> {
        busy::ensure_idle("PerThreadStream::new")?;
        let found = MINE.try_with(|mine| {
            mine.borrow().timelines.iter().copied().find(|timeline| timeline.device() == device.as_raw())
        });
        match found {
            Ok(Some(timeline)) => return Ok(Self { timeline, here: PhantomData }),
            Ok(None) => {}
            Err(_) => return Err(ownership::ended("PerThreadStream::new")),
        }
        {
            // The runtime makes its own per-thread state now, before ours, and so destroys it after
            // ours. Until then the legacy stream waits for the thread's stream, and an event can be
            // recorded on the thread's stream.
            let _current = device.switch()?;
            let mut flags = 0;
            // SAFETY: the handle is the runtime's own constant. The pointer is to a live integer, which
            // the call fills.
            unsafe { check!(cudaStreamGetFlags(HANDLE, &raw mut flags)) }?;
        }
        let timeline = pool::add_timeline(device, Kind::PerThread, HANDLE)?;
        let kept = MINE.try_with(|mine| {
            let mut mine = mine.borrow_mut();
            mine.process = process::number();
            mine.timelines.push(timeline);
            ownership::owns(timeline.id);
        });
        if kept.is_err() {
            // SAFETY: nothing was submitted to the stream.
            unsafe { TRACKER.retire(timeline, WaitTarget::Device) };
            return Err(ownership::ended("PerThreadStream::new"));
        }
        Ok(Self { timeline, here: PhantomData })
    }
}

stream_methods!(PerThreadStream);

impl sealed::SealedStream for PerThreadStream {}

impl AsStream for PerThreadStream {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        StreamRef::new(HANDLE, self.timeline)
    }
}
