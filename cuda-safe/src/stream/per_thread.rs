//! [`PerThreadStream`]: the calling thread's own default stream.
#![expect(unsafe_code, reason = "has the runtime make the thread's stream")]

use std::cell::RefCell;
use std::marker::PhantomData;

use super::methods::stream_methods;
use super::tracker::TRACKER;
use super::view::{AsStream, StreamRef, sealed};
use super::{busy, pool, port};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::{check, process, sys};
use cuda_hazard::{Kind, Timeline, WaitTarget};

/// The number that the runtime knows the calling thread's stream of the current device by.
const HANDLE: sys::cudaStream_t = std::ptr::without_provenance_mut(2);

/// The default stream that belongs to the calling thread, one for each device.
///
/// Its handle means another stream on every other thread, so this can be neither sent nor shared: others wait
/// for it by an event that it has recorded. Like all blocking streams it is ordered with the legacy stream.
///
/// It ends with its thread: what the destructors of a thread's variables would give it then, is refused. Work that is pending
/// is done all the same; the legacy stream is made to wait for it.
///
/// # Ordering
/// Where the host wants memory that another thread's stream still uses (`host()`, `free`, a drop), it waits
/// for that stream:
///
/// - On the stream's own thread, and on any thread once that thread has ended, it waits for this stream
///   alone.
/// - While that thread lives, nobody else has a handle of its stream. The host then waits for an event of the
///   legacy stream, which comes after the work of *all* blocking streams of the device. Work of non-blocking
///   streams does not hold it up. A raw capture of a blocking stream does not permit this wait and is spoiled
///   by it; the memory is freed later then.
///
/// A thread that hands memory on can synchronize its stream first: nobody waits then.
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

/// The timelines of the thread's streams. When the thread ends, they stay in the tracker, with their last events to reach them by.
struct Mine {
    timelines: Vec<&'static Timeline>,
    process: u32,
}

impl Drop for Mine {
    fn drop(&mut self) {
        busy::end();
        // In the child of a fork, a thread that is not there any more may have held the tracker' lock.
        if self.timelines.is_empty() || !process::is(self.process) {
            return;
        }
        for timeline in &self.timelines {
            // The thread's streams are still there: see `of`.
            let reach = port::last_event(Device::from_ordinal(timeline.device()), HANDLE, timeline);
            // SAFETY: the thread gives the stream nothing more; the reach is that of its last event.
            unsafe { TRACKER.retire(timeline, reach) };
        }
    }
}

thread_local! {
    static MINE: RefCell<Mine> = const { RefCell::new(Mine { timelines: Vec::new(), process: 0 }) };
}

impl PerThreadStream {
    /// The calling thread's stream of `device`.
    ///
    /// # Errors
    /// Where the device cannot be made current, the thread is ending, or in a host function.
    #[doc(alias = "cudaStreamPerThread")]
    #[track_caller]
    pub fn of(device: Device) -> Result<Self> {
        busy::ensure_idle("PerThreadStream::of")?;
        let found = MINE.try_with(|mine| {
            mine.borrow().timelines.iter().copied().find(|timeline| timeline.device() == device.ordinal())
        });
        match found {
            Ok(Some(timeline)) => return Ok(Self { timeline, here: PhantomData }),
            Ok(None) => {}
            Err(_) => return Err(Error::refused("PerThreadStream::of", busy::ENDED)),
        }
        {
            // The runtime makes its own per-thread state now, before ours, and so destroys it after ours: until then the legacy stream
            // is sure to wait for the thread's stream, and the stream can be given its last event.
            let _current = device.switch()?;
            let mut flags = 0;
            // SAFETY: the handle is the runtime's own number; the pointer is to a live integer, which the
            // call fills.
            unsafe { check!(cudaStreamGetFlags(HANDLE, &raw mut flags)) }?;
        }
        let timeline = pool::enrol(device, Kind::PerThread, HANDLE)?;
        let kept = MINE.try_with(|mine| {
            let mut mine = mine.borrow_mut();
            mine.process = process::number();
            mine.timelines.push(timeline);
            busy::owns(timeline.id);
        });
        if kept.is_err() {
            // SAFETY: the stream was given nothing.
            unsafe { TRACKER.retire(timeline, WaitTarget::Device) };
            return Err(Error::refused("PerThreadStream::of", busy::ENDED));
        }
        Ok(Self { timeline, here: PhantomData })
    }
}

stream_methods!(PerThreadStream);

impl sealed::Sealed for PerThreadStream {}

impl AsStream for PerThreadStream {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        StreamRef::new(HANDLE, self.timeline)
    }
}
