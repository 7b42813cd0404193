//! [`Done`]: a future that is ready when a stream or an event is.
//!
//! The stream calls a function behind the work, and that function wakes the task. So a future needs no
//! executor of a certain kind and no thread of its own, and nobody polls the device.
//!
//! # What a waker may do
//! A waker is safe code of any executor, and the runtime's thread runs it, as it runs a host function. After
//! the loss of the context the thread that notices it does, in the same way. There
//! this crate refuses every CUDA call with `InCallback`, frees later what is dropped, and catches panics; the
//! stream's next synchronization reports them. (Raw CUDA calls are unsafe, and not to be made there is one of
//! their duties.) A waker that blocks delays all host functions of the device. Common executors put the task
//! into a queue and unpark a thread. If an executor polls the task in the waker itself, the task gets
//! `InCallback` from its next CUDA call.
//!
//! # Why `Ok` means that the work is complete
//! The function is behind the work in the stream, so it begins when the work is complete. The tracker then
//! knows that everything has completed that was submitted before [`done`](StreamRef::done), and nothing
//! later.
//!
//! # Why a future may be dropped or forgotten at any time
//! It owns no memory and orders nothing. Memory in flight stays with its owners, who wait as ever. The stream
//! calls the function all the same, which then wakes nobody.
#![expect(unsafe_code, reason = "tells the tracker what has completed")]

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use super::host_function::drop_tasks_if_lost;
use super::host_function::{self, Trigger};
use super::tracker::TRACKER;
use super::view::StreamRef;
use crate::device::Device;
use crate::error::{Error, Result, first_sticky};
use crate::lock::lock;
use crate::{callback, sys, thread_state};
use cuda_hazard::{CallSite, SubmittedSnapshot, Timeline};

/// A future that is ready when a stream or an event has completed its work: see [`StreamRef::done`] and
/// [`Event::done`](super::Event::done). It belongs to no executor and borrows nothing.
///
/// Its output is the failure of earlier work, if any. After it was ready, it stays so.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Done(Progress);

enum Progress {
    Pending(Box<PendingWork>),
    Finished(Result<()>),
}

struct PendingWork {
    signal: Arc<Signal>,
    snapshot: SubmittedSnapshot,
    timeline: &'static Timeline,
    call_site: CallSite,
    /// A value that lives until the work is complete or the future is dropped.
    _keeper: Option<Box<dyn Send + Sync>>,
}

/// Shared by the future and the function that the stream calls.
#[derive(Default)]
struct Signal(Mutex<SignalState>);

#[derive(Default)]
struct SignalState {
    /// `None` until the work is complete or the context is lost.
    status: Option<Status>,
    waker: Option<Waker>,
}

#[derive(Clone, Copy)]
enum Status {
    /// The function was called with this code.
    Called(sys::cudaError_t),
    /// It never will be: the context is lost.
    Lost,
}

impl Signal {
    fn lock(&self) -> MutexGuard<'_, SignalState> {
        lock(&self.0)
    }

    /// Wakes the task, unless that has happened.
    fn notify(&self, status: Status) {
        let waker = {
            let mut state = self.lock();
            state.status.get_or_insert(status);
            state.waker.take()
        };
        // Not under the lock: the waker may poll or drop the future.
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The stream's side of a signal. Dropped without a call, it says that the context is lost.
struct Notifier(Arc<Signal>);

impl Drop for Notifier {
    fn drop(&mut self) {
        self.0.notify(Status::Lost);
    }
}

impl StreamRef<'_> {
    /// Returns a future that is ready when the stream has completed everything submitted before this call.
    /// Does not block, unless the device's queue is full (about 1,000 pending functions).
    ///
    /// The future notes the stream's position now, not when it is first polled, and later work does not delay
    /// it. It may be awaited on any thread, by any executor, or dropped: that changes nothing for the work.
    /// The task is woken by a function that the stream calls, so a waker must not block. Afterwards the host
    /// can access the memory of that work without waiting.
    ///
    /// The function wakes the task some 20 µs after the work, and later work of the stream waits for it. For
    /// short work, [`Stream::synchronized`](super::Stream::synchronized) is faster.
    ///
    /// Stands for [`cudaStreamAddCallback`](sys::cudaStreamAddCallback), which, unlike a host function, also
    /// reports failures.
    ///
    /// # Errors
    /// The future returns, once:
    /// - The failure of any work that the device has run since the last check.
    /// - `CallbackPanicked` if a host function of this stream has panicked.
    /// - A refusal if it was made inside a host function, or while the thread makes a capture.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, memcpy_async};
    ///
    /// async fn round_trip(stream: &Stream, numbers: &[u32]) -> cuda_safe::Result<Vec<u32>> {
    ///     let mut host = PinnedBuffer::from_slice(numbers)?;
    ///     let mut device = DeviceBuffer::alloc_async(numbers.len(), stream)?;
    ///     memcpy_async(&mut device, &host, stream)?;
    ///     memcpy_async(&mut host, &device, stream)?;
    ///     stream.done().await?; // other tasks run meanwhile
    ///     Ok(host.host()?.to_vec())
    /// }
    /// ```
    #[doc(alias = "cudaStreamAddCallback")]
    #[doc(alias = "cudaStreamSynchronize")]
    #[track_caller]
    pub fn done(&self) -> Done {
        Done::new(*self)
    }
}

impl Done {
    /// Makes a future that is ready with this result.
    pub(super) fn ready(result: Result<()>) -> Self {
        Self(Progress::Finished(result))
    }

    /// Keeps a value until the future is ready or dropped.
    pub(super) fn keeping(mut self, keeper: impl Send + Sync + 'static) -> Self {
        if let Progress::Pending(pending) = &mut self.0 {
            pending._keeper = Some(Box::new(keeper));
        }
        self
    }

    #[track_caller]
    pub(super) fn new(stream: StreamRef<'_>) -> Self {
        Self::at(stream, std::panic::Location::caller())
    }

    /// Makes a future for a call of the program.
    pub(super) fn at(stream: StreamRef<'_>, call_site: CallSite) -> Self {
        let signal = Arc::<Signal>::default();
        let timeline = stream.timeline;
        let snapshot = TRACKER.snapshot_of(timeline);
        let notifier = Notifier(Arc::clone(&signal));
        let run = Box::new(move |status| notifier.0.notify(Status::Called(status)));
        // SAFETY: the function accesses no memory that streams use.
        let launched = unsafe { stream.launch_task("StreamRef::done", call_site, &[], Trigger::Always, run) };
        match launched {
            Ok(()) => {
                let pending = PendingWork { signal, snapshot, timeline, call_site, _keeper: None };
                Self(Progress::Pending(Box::new(pending)))
            }
            Err(error) => Self(Progress::Finished(Err(error))),
        }
    }
}

impl PendingWork {
    /// Returns the result for what the function was called with.
    fn finish(&self, status: Status) -> Result<()> {
        let answer = match status {
            Status::Called(code) => Error::check("cudaStreamAddCallback", code),
            Status::Lost => {
                let code = first_sticky().map_or(sys::cudaErrorUnknown, |first| first.code());
                Err(Error::from_code("cudaStreamAddCallback", code))
            }
        };
        let answer = answer.map_err(|error| error.at(self.call_site));
        // A waker may poll inside a host function, and a task inside an operation: the tracker then learns
        // it when somebody next waits.
        if thread_state::is_idle() {
            drop_tasks_if_lost(Device::from_ordinal(self.timeline.device()), &answer);
        }
        answer?;
        if thread_state::is_idle() {
            // SAFETY: the stream has called the function behind everything in the snapshot.
            unsafe { TRACKER.completed_all(&self.snapshot) };
            callback::run_deferred();
        }
        host_function::panicked(self.timeline).map_err(|error| error.at(self.call_site))
    }
}

impl Future for Done {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if let Progress::Pending(pending) = &self.0 {
            // Not under the lock: a waker's clone and drop may do anything.
            let waker = context.waker().clone();
            let (status, former) = {
                let mut state = pending.signal.lock();
                match state.status {
                    Some(status) => (Some(status), state.waker.take()),
                    None => (None, state.waker.replace(waker)),
                }
            };
            drop(former);
            let Some(status) = status else { return Poll::Pending };
            self.0 = Progress::Finished(pending.finish(status));
        }
        match &self.0 {
            Progress::Finished(result) => Poll::Ready(result.clone()),
            Progress::Pending(_) => Poll::Pending,
        }
    }
}

impl Drop for PendingWork {
    /// Lets the task go, which the stream need not wake any more.
    fn drop(&mut self) {
        let waker = self.signal.lock().waker.take();
        drop(waker);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending(pending) => write!(f, "pending since {}", pending.call_site),
            Self::Finished(result) => fmt::Debug::fmt(result, f),
        }
    }
}
