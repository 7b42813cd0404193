//! Host functions: functions that a stream runs on the host.
//!
//! The runtime receives a number, not a pointer. The closures are stored here, boxed, as pending tasks.
//! A task that never runs, because the context is lost first, is dropped as soon as that is known. If
//! the runtime called it later all the same, the call would find nothing. Panics stay in Rust: they are
//! caught, and the stream's next synchronization reports them.
//!
//! # Why a task runs at most once, and is never called after it was dropped
//! A number identifies one task for the lifetime of the process. Three operations may end a task: the
//! call that runs it, the launch that takes it back because the runtime refused it, and the drop after a
//! lost context. Each first removes the task under a lock, so only one of them gets it.
//!
//! # Why the locks cannot deadlock
//! The locks of pending tasks are held to add or remove tasks, and always taken in one order: `taken`
//! before `added`. They are never held over a CUDA call, a task, or a task's drop, which may do anything.
#![expect(unsafe_code, reason = "gives the runtime a function to call")]

use std::collections::VecDeque;
use std::ffi::c_void;
use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use cuda_hazard::Operation;

use super::view::StreamRef;
use crate::busy;
use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::hazard::Access;
use crate::lock::lock;
use crate::{check, sys, thread_state};
use cuda_hazard::{CallSite, Timeline, TimelineId};

/// A function with the state of the device when it is called.
pub(super) type Run = Box<dyn FnOnce(sys::cudaError_t) + Send>;

/// When a stream calls a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trigger {
    /// After the work before it (`cudaLaunchHostFunc`).
    Completed,
    /// As above, and the device waits for the function in this way (`cudaLaunchHostFunc_v2`).
    #[cfg(cudart_13_2)]
    Synced(HostTaskSync),
    /// As above, and also after an error, with its code (`cudaStreamAddCallback`).
    Always,
}

/// How a stream waits for a host function: C's `cudaHostTaskSyncMode`. One of the constants, or a newer
/// value.
#[cfg(cudart_13_2)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostTaskSync(u32);

#[cfg(cudart_13_2)]
impl HostTaskSync {
    /// The threads involved sleep. For functions that take long.
    pub const BLOCKING: Self = Self(sys::cudaHostTaskBlocking.0);
    /// They spin, which is faster and keeps a processor busy. For functions that are soon over.
    pub const SPIN_WAIT: Self = Self(sys::cudaHostTaskSpinWait.0);

    /// Returns C's number.
    #[must_use]
    pub fn as_raw(self) -> u32 {
        self.0
    }
}

/// A host function that is pending on a stream.
struct HostTask {
    run: Run,
    timeline: TimelineId,
    device: i32,
    call_site: CallSite,
}

/// The pending tasks of the streams that share these locks.
///
/// The thread that launches adds to `added`. The thread that runs tasks takes them all over at once when
/// it has run those in `taken`. So a thread that launches many rarely waits for a cache line of the other
/// thread. With one lock for both, a launch cost 110 to 130 ns more than in C++ on an H200.
struct PendingTasks {
    added: Locked<Added>,
    /// Sorted by number. A stream runs its tasks in order, so the next one is at or near the front.
    taken: Locked<VecDeque<(usize, HostTask)>>,
}

/// A lock on a cache line of its own.
#[repr(align(64))]
struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        lock(&self.0)
    }
}

/// The tasks that nobody has looked for yet.
struct Added {
    /// The number of the next task.
    next: usize,
    /// Sorted by number. All numbers are greater than those of the tasks that were taken over.
    tasks: VecDeque<(usize, HostTask)>,
}

/// The number of pairs of locks that the streams share.
const PAIRS: usize = 64;

static PENDING: [PendingTasks; PAIRS] = [const {
    PendingTasks {
        added: Locked(Mutex::new(Added { next: PAIRS, tasks: VecDeque::new() })),
        taken: Locked(Mutex::new(VecDeque::new())),
    }
}; PAIRS];

/// Returns the pending tasks that include the one with this number.
fn pending(number: usize) -> &'static PendingTasks {
    let [first, ..] = &PENDING;
    PENDING.get(number % PAIRS).unwrap_or(first)
}

/// Adds a task and returns its number.
fn add(task: HostTask) -> usize {
    let TimelineId(timeline) = task.timeline;
    let pair = usize::try_from(timeline).unwrap_or_default() % PAIRS;
    let mut added = pending(pair).added.lock();
    let number = added.next + pair;
    added.next += PAIRS;
    added.tasks.push_back((number, task));
    number
}

/// Removes and returns a task. Returns `None` if it was removed before.
fn take(number: usize) -> Option<HostTask> {
    let pending = pending(number);
    let mut taken = pending.taken.lock();
    if taken.back().is_none_or(|(last, _)| *last < number) {
        taken.append(&mut pending.added.lock().tasks);
    }
    let at = taken.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    taken.remove(at).map(|(_, task)| task)
}

/// After a lost context no host function runs any more, so this drops the pending ones of the device.
pub(super) fn drop_tasks_if_lost(device: Device, waited: &Result<()>) {
    if let Err(error) = waited
        && error.is_sticky()
    {
        abandon(device.as_raw());
    }
}

/// Drops the pending tasks of a device whose context is lost, because they will never run. Their code, such
/// as a waker's, runs as in a host function: the thread may be in an operation.
pub(super) fn abandon(device: i32) {
    let mut dropped = Vec::new();
    for pending in &PENDING {
        let mut taken = pending.taken.lock();
        taken.append(&mut pending.added.lock().tasks);
        let (lost, others): (VecDeque<_>, VecDeque<_>) =
            mem::take(&mut *taken).into_iter().partition(|(_, task)| task.device == device);
        *taken = others;
        dropped.extend(lost);
    }
    for (_, HostTask { run, timeline, device, call_site }) in dropped {
        guarded(|| drop(run), Some(timeline), device, call_site);
    }
}

/// A function that panicked.
struct Panicked {
    /// The stream that ran it. `None` if a graph ran it.
    timeline: Option<TimelineId>,
    device: i32,
    call_site: CallSite,
}

/// The panics that no synchronization has reported yet.
static PANICS: Mutex<Vec<Panicked>> = Mutex::new(Vec::new());

/// Whether `PANICS` may have entries. Without it, every synchronization would lock.
static PANICKED: AtomicBool = AtomicBool::new(false);

impl StreamRef<'_> {
    /// Runs a function on the host after everything submitted to the stream before. Does not block.
    ///
    /// The function runs on a thread of the runtime, and later work of the stream waits for it. It must
    /// not call CUDA, nor wait for a thread that does; this crate refuses such calls with `InCallback`.
    /// The functions of all streams of a device may run one at a time, as on an H200: one that waits for
    /// another one may wait for ever.
    /// Values that it drops are freed later. If it panics, the stream's next synchronization reports
    /// that. If the context is lost before it runs, it never runs, and the thread that notices the loss
    /// drops it.
    ///
    /// Stands for [`cudaLaunchHostFunc`](sys::cudaLaunchHostFunc).
    ///
    /// # Errors
    /// Returns the runtime's error; the function is then dropped and never runs. Refused inside another
    /// host function.
    ///
    /// # Examples
    /// ```compile_fail
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut count = 0;
    /// let stream = cuda_safe::stream::Stream::new()?;
    /// stream.launch_host_fn(|| count += 1)?; // would outlive the borrow
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLaunchHostFunc")]
    #[doc(alias = "cudaStreamAddCallback")]
    #[track_caller]
    pub fn launch_host_fn(&self, f: impl FnOnce() + Send + 'static) -> Result<()> {
        // SAFETY: the function accesses no memory that streams use.
        unsafe {
            let (api, call_site) = ("StreamRef::launch_host_fn", Location::caller());
            self.launch_task(api, call_site, &[], Trigger::Completed, Box::new(move |_| f()))
        }
    }

    /// [`launch_host_fn`](Self::launch_host_fn) with the way in which the stream waits for the function.
    ///
    /// Stands for [`cudaLaunchHostFunc_v2`](sys::cudaLaunchHostFunc_v2), since CUDA 13.2.
    ///
    /// # Errors
    /// As `launch_host_fn`; the runtime's error for a way that it does not know.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Stream;
    /// use cuda_safe::stream::{AsStream, HostTaskSync};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// stream.as_stream().launch_host_fn_with_sync(HostTaskSync::SPIN_WAIT, || println!("soon over"))?;
    /// stream.synchronize()
    /// # }
    /// ```
    #[cfg(cudart_13_2)]
    #[doc(alias = "cudaLaunchHostFunc_v2")]
    #[track_caller]
    pub fn launch_host_fn_with_sync(
        &self,
        sync: HostTaskSync,
        f: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let (api, call_site) = ("StreamRef::launch_host_fn_with_sync", Location::caller());
        // SAFETY: the function accesses no memory that streams use.
        unsafe { self.launch_task(api, call_site, &[], Trigger::Synced(sync), Box::new(move |_| f())) }
    }

    /// Submits a host function as an operation with these accesses.
    ///
    /// # Safety
    /// The function accesses no memory of this crate except the bytes in `accesses`.
    pub(super) unsafe fn launch_task(
        self,
        api: &'static str,
        call_site: CallSite,
        accesses: &[Access<'_>],
        trigger: Trigger,
        run: Run,
    ) -> Result<()> {
        busy::ensure_idle(api).map_err(|error| error.at(call_site))?;
        self.ensure_not_captured(api).map_err(|error| error.at(call_site))?;
        let timeline = self.timeline;
        let number = add(HostTask { run, timeline: timeline.id, device: timeline.device(), call_site });
        let data = std::ptr::without_provenance_mut(number);
        let launch = |stream| {
            match trigger {
                // SAFETY: the stream lives as long as the view. The function may be called at any time, on
                // any thread, with a number that identifies a task or no longer does.
                Trigger::Completed => unsafe { check!(cudaLaunchHostFunc(stream, Some(call), data)) },
                #[cfg(cudart_13_2)]
                Trigger::Synced(HostTaskSync(mode)) => {
                    // SAFETY: the stream lives as long as the view. The function may be called at any time,
                    // on any thread, with a number that identifies a task or no longer does. The runtime
                    // checks the mode.
                    unsafe { check!(cudaLaunchHostFunc_v2(stream, Some(call), data, mode)) }
                }
                // SAFETY: the stream lives as long as the view. The function may be called at any time, on
                // any thread, with a number that identifies a task or no longer does. The flags must be 0.
                Trigger::Always => unsafe { check!(cudaStreamAddCallback(stream, Some(notify), data, 0)) },
            }
        };
        // SAFETY: the caller guarantees the accesses.
        let launched = unsafe { self.submit(Operation::new(accesses), call_site, launch) };
        if launched.is_err() {
            // Dropped here, where the stream is not locked.
            drop(take(number));
        }
        launched
    }
}

/// The function that the runtime calls with the number of a task. It never unwinds.
unsafe extern "C" fn call(data: *mut c_void) {
    run(data, sys::cudaSuccess);
}

/// [`call`] with the state of the device.
unsafe extern "C" fn notify(_: sys::cudaStream_t, status: sys::cudaError_t, data: *mut c_void) {
    run(data, status);
}

fn run(data: *mut c_void, status: sys::cudaError_t) {
    if let Some(HostTask { run, timeline, device, call_site }) = take(data.addr()) {
        guarded(|| run(status), Some(timeline), device, call_site);
    }
}

/// Runs a function of the program on a thread of the runtime. Calls of CUDA in it are refused, and it
/// never unwinds.
pub(crate) fn guarded(f: impl FnOnce(), timeline: Option<TimelineId>, device: i32, call_site: CallSite) {
    let _entered = thread_state::enter_callback();
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // The payload may itself panic when it is dropped.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            let _ = mem::ManuallyDrop::new(second);
        }
        lock(&PANICS).push(Panicked { timeline, device, call_site });
        PANICKED.store(true, Ordering::Release);
    }
}

/// Reports a panic in a host function of the stream, once.
///
/// # Errors
/// Returns `CallbackPanicked`.
#[inline]
#[track_caller]
pub(super) fn panicked(timeline: &Timeline) -> Result<()> {
    if PANICKED.load(Ordering::Acquire) { report_of(timeline) } else { Ok(()) }
}

#[cold]
#[track_caller]
fn report_of(timeline: &Timeline) -> Result<()> {
    let device = timeline.device();
    report(|panicked| panicked.timeline.map_or(panicked.device == device, |found| found == timeline.id))
}

/// Reports a panic in a host function of any stream of the device, once.
///
/// # Errors
/// Returns `CallbackPanicked`.
#[track_caller]
pub(super) fn panicked_on(device: i32) -> Result<()> {
    report(|panicked| panicked.device == device)
}

#[track_caller]
fn report(mut about: impl FnMut(&Panicked) -> bool) -> Result<()> {
    if !PANICKED.load(Ordering::Acquire) {
        return Ok(());
    }
    let mut panics = lock(&PANICS);
    let Some(at) = panics.iter().position(&mut about) else { return Ok(()) };
    let launched = panics.remove(at).call_site;
    // The same synchronization covers these: one report stands for all.
    panics.retain(|panicked| !about(panicked));
    PANICKED.store(!panics.is_empty(), Ordering::Release);
    drop(panics);
    let text = format!("the host function launched at {launched} panicked");
    Err(Error::refused("host function", Detail::new(ErrorKind::Panicked, text)))
}

#[cfg(test)]
mod tests {
    use std::panic::Location;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::{HostTask, abandon, add, call, take};
    use cuda_hazard::TimelineId;

    struct Counts(Arc<AtomicU32>);

    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A task of a device that owns something and counts its runs.
    fn task(device: i32, drops: &Arc<AtomicU32>, runs: &Arc<AtomicU32>) -> HostTask {
        let (owned, runs) = (Counts(Arc::clone(drops)), Arc::clone(runs));
        let run = Box::new(move |_| {
            let _owned = &owned;
            runs.fetch_add(1, Ordering::SeqCst);
        });
        HostTask { run, timeline: TimelineId(0), device, call_site: Location::caller() }
    }

    fn run(number: usize) {
        // SAFETY: the function takes any number.
        unsafe { call(std::ptr::without_provenance_mut(number)) };
    }

    #[test]
    fn a_task_runs_at_most_once_and_what_it_owns_is_dropped_once_however_it_ends() {
        // Devices that no other test has.
        const LOST: i32 = 7777;
        const OTHER: i32 = 7778;
        let (drops, runs) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let count = || (drops.load(Ordering::SeqCst), runs.load(Ordering::SeqCst));
        let numbers: Vec<usize> = (0..300).map(|_| add(task(LOST, &drops, &runs))).collect();
        let other = add(task(OTHER, &drops, &runs));
        run(numbers[0]);
        run(numbers[0]);
        assert_eq!(count(), (1, 1), "the second call found nothing");
        assert!(take(numbers[1]).is_some() && take(numbers[1]).is_none());
        run(numbers[1]);
        assert_eq!(count(), (2, 1), "a task that was taken back does not run");
        abandon(LOST);
        assert_eq!(count(), (300, 1), "the tasks of a lost context are dropped");
        numbers.iter().copied().for_each(run);
        assert_eq!(count(), (300, 1), "and do not run");
        run(other);
        assert_eq!(count(), (301, 2), "those of another device do");
    }

    #[test]
    fn tasks_that_panic_when_they_are_dropped_do_not_keep_others_nor_the_thread_that_notices_the_loss() {
        const DEVICE: i32 = 7780;
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                assert!(crate::thread_state::in_callback(), "its code is no operation's");
                panic!("on purpose");
            }
        }
        let (drops, runs) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        for _ in 0..2 {
            let owned = Panics;
            let run = Box::new(move |_| drop(owned));
            add(HostTask { run, timeline: TimelineId(0), device: DEVICE, call_site: Location::caller() });
            add(task(DEVICE, &drops, &runs));
        }
        abandon(DEVICE);
        assert_eq!(drops.load(Ordering::SeqCst), 2);
        assert!(super::panicked_on(DEVICE).is_err());
    }

    #[test]
    fn a_task_may_launch_and_abandon_others_when_it_is_dropped() {
        const DEVICE: i32 = 7779;
        struct LaunchesWhenDropped(Arc<AtomicU32>);
        impl Drop for LaunchesWhenDropped {
            fn drop(&mut self) {
                let (drops, runs) = (Arc::clone(&self.0), Arc::default());
                let number = add(task(DEVICE, &drops, &runs));
                abandon(DEVICE);
                assert!(take(number).is_none());
            }
        }
        let drops = Arc::default();
        let owned = LaunchesWhenDropped(Arc::clone(&drops));
        let run = Box::new(move |_| drop(owned));
        add(HostTask { run, timeline: TimelineId(0), device: DEVICE, call_site: Location::caller() });
        abandon(DEVICE);
        assert_eq!(drops.load(Ordering::SeqCst), 1);
    }
}
