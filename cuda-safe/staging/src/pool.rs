//! The worker pool: the threads that help with transfers, and when they end.
//!
//! The caller of a copy works on it too. Workers join while the copy wants more threads. They start when
//! they are first needed, sleep between transfers, and end after two seconds without one. (A worker that
//! stays awake for a while after a transfer was measured, and gains nothing.) A worker owns no CUDA
//! resource, and calls CUDA only while it works on a transfer. It relaxes its capture mode before its first
//! call, for life: no program can have set another mode on it.
//!
//! # Ends
//! - A transfer is complete when all threads that work on it have left. [`run`] always waits for that, also
//!   when it unwinds.
//! - When the process ends while another thread is in the middle of a copy, a function that the C library
//!   runs at exit, before those of the runtime, has the callers of copies stop at the next piece, and waits
//!   until all of them, and so their workers, have left. Those copies fail. A thread at work waits only for
//!   chunks that were submitted, so this takes no longer than those.
//! - In the child of a `fork` there are no workers and no runtime: no copy is staged there, and the function
//!   at exit does nothing.
#![expect(unsafe_code, reason = "has the C library call a function at exit")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use cuda_sys as sys;

use crate::pinned::StagingRing;
use crate::plan::MOST_THREADS;
use crate::runtime::{Error, Result, is_own_process, lock, relax_for_life, set_device};
use crate::transfer::Transfer;

/// How long a worker waits for a transfer before it ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// A transfer that workers can join.
struct Task {
    transfer: Transfer,
    /// Workers on it.
    workers: AtomicUsize,
    /// Locked for a moment by the last worker that leaves, and by a caller that waits for it.
    leaving: Mutex<()>,
    /// Signalled when the last worker leaves.
    gone: Condvar,
}

impl Task {
    fn new(transfer: Transfer) -> Self {
        Self { transfer, workers: AtomicUsize::new(0), leaving: Mutex::new(()), gone: Condvar::new() }
    }

    fn has_no_workers(&self) -> bool {
        self.workers.load(Ordering::Acquire) == 0
    }
}

struct Pool {
    /// Tasks, each with the number of workers that it still wants.
    open: Vec<(Arc<Task>, usize)>,
    /// Workers that wait. The last one to come is the first to be woken: its processor is the least asleep,
    /// and a copy that follows another one finds the same threads where they were.
    idle: Vec<Thread>,
    /// Workers that exist.
    alive: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { open: Vec::new(), idle: Vec::new(), alive: 0 });

/// The number of workers that exist now.
pub(crate) fn workers() -> usize {
    lock(&POOL).alive
}

/// Runs a transfer through the slots of a ring, with workers. When it returns or unwinds, nothing of the
/// transfer is in flight.
///
/// # Errors
/// Returns the first failure of any thread.
pub(crate) fn run(transfer: Transfer, ring: StagingRing) -> Result<()> {
    let Some(_caller) = Caller::enter() else { return Err(process_ends()) };
    // If the transfer ends early, the drop drains the ring, before the caller leaves.
    let mut ring = ring;
    ring.is_in_flight = true;
    let task = Arc::new(Task::new(transfer));
    let transfer = &task.transfer;
    let mut close = CloseOnDrop { task: &task, has_panicked: true };
    transfer.begin();
    let wanted = transfer.useful_threads() - 1;
    if wanted > 0 {
        offer(&task, wanted);
    }
    let leave = || {
        let ends = Caller::must_leave();
        if ends {
            transfer.fail(process_ends());
        }
        ends
    };
    transfer.work(leave);
    transfer.finish(leave);
    close.has_panicked = false;
    drop(close);
    transfer.result()?;
    // All chunks are complete.
    ring.is_in_flight = false;
    Ok(())
}

/// Returns the error of a copy that the end of the process has stopped.
fn process_ends() -> Error {
    Error::new("staged copy", sys::cudaErrorCudartUnloading)
}

/// Returns the error of a copy with a thread that panicked.
fn has_panicked() -> Error {
    Error::new("staged copy", sys::cudaErrorUnknown)
}

/// Processors that the process may use: of the machine, of its set, and of its share.
pub(crate) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// How often the caller checks whether the workers have left before it sleeps: for about as long as a piece
/// takes.
const LOOKS: u32 = 1000;

/// On drop, closes a task to further workers and waits until all have left.
struct CloseOnDrop<'a> {
    task: &'a Arc<Task>,
    /// Whether the caller ended early.
    has_panicked: bool,
}

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        if self.has_panicked {
            self.task.transfer.fail(has_panicked());
        }
        lock(&POOL).open.retain(|(task, _)| !Arc::ptr_eq(task, self.task));
        // Usually they are at their last pieces: a wake-up would take longer.
        let looks = (0..LOOKS).take_while(|_| !self.task.has_no_workers());
        looks.for_each(|_| std::hint::spin_loop());
        let mut leaving = lock(&self.task.leaving);
        while !self.task.has_no_workers() {
            leaving = self.task.gone.wait(leaving).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Offers a task to workers, and starts some if too few are idle. If none can be started, the caller works
/// alone.
fn offer(task: &Arc<Task>, wanted: usize) {
    // The caller wakes one worker, and each worker wakes others: the caller has work of its own.
    let (missing, first) = {
        let mut pool = lock(&POOL);
        pool.open.push((Arc::clone(task), wanted));
        // At most as many workers as there are processors beside the caller's, or as one transfer wants.
        let most = processors().saturating_sub(1).max(wanted).min(MOST_THREADS);
        let missing = wanted.saturating_sub(pool.idle.len()).min(most.saturating_sub(pool.alive));
        pool.alive += missing;
        (missing, pool.idle.pop())
    };
    if let Some(first) = first {
        first.unpark();
    }
    for _ in 0..missing {
        if thread::Builder::new().name(WORKER.to_owned()).spawn(work).is_err() {
            lock(&POOL).alive -= 1;
        }
    }
}

/// The name of a worker thread.
pub(crate) const WORKER: &str = "cuda-staging";

/// The main function of a worker.
fn work() {
    let mut is_relaxed = false;
    let mut pool = lock(&POOL);
    loop {
        if let Some((task, more)) = pool.join() {
            let next = [more > 0, more > 1].map(|wanted| if wanted { pool.idle.pop() } else { None });
            drop(pool);
            next.into_iter().flatten().for_each(|next| next.unpark());
            help(&task, &mut is_relaxed);
            drop(task);
            pool = lock(&POOL);
            continue;
        }
        pool = wait(pool);
        if pool.dismiss(&thread::current()) && pool.open.is_empty() {
            pool.alive -= 1;
            return;
        }
    }
}

/// Waits until the worker is woken, or until no transfer has come for a while.
fn wait(mut pool: MutexGuard<'static, Pool>) -> MutexGuard<'static, Pool> {
    let me = thread::current();
    let until = Instant::now() + PATIENCE;
    pool.idle.push(me.clone());
    loop {
        drop(pool);
        let left = until.saturating_duration_since(Instant::now());
        thread::park_timeout(left);
        pool = lock(&POOL);
        // A wake-up may be spurious.
        if left.is_zero() || !pool.idle.iter().any(|one| one.id() == me.id()) {
            return pool;
        }
    }
}

impl Pool {
    /// Removes a worker from the idle ones; returns whether it was there.
    fn dismiss(&mut self, worker: &Thread) -> bool {
        let at = self.idle.iter().position(|one| one.id() == worker.id());
        at.map(|at| self.idle.remove(at)).is_some()
    }

    /// Joins the open task with the fewest workers; returns it, and how many workers all tasks still want.
    fn join(&mut self) -> Option<(Arc<Task>, usize)> {
        let at = (0..self.open.len()).min_by_key(|&at| self.open[at].0.workers.load(Ordering::Relaxed))?;
        let (task, wanted) = &mut self.open[at];
        let task = Arc::clone(task);
        task.workers.fetch_add(1, Ordering::Relaxed);
        *wanted -= 1;
        if *wanted == 0 {
            self.open.swap_remove(at);
        }
        Some((task, self.open.iter().map(|(_, wanted)| wanted).sum()))
    }
}

/// Works on a task that the worker has joined.
fn help(task: &Task, is_relaxed: &mut bool) {
    /// Leaves the task on drop.
    struct LeaveOnDrop<'a>(&'a Task);
    impl Drop for LeaveOnDrop<'_> {
        fn drop(&mut self) {
            if self.0.workers.fetch_sub(1, Ordering::AcqRel) == 1 {
                // With the lock, so that a caller that has looked before does not go to sleep after this.
                let _leaving = lock(&self.0.leaving);
                self.0.gone.notify_all();
            }
        }
    }
    let joined = LeaveOnDrop(task);
    let transfer = &joined.0.transfer;
    let helped = catch_unwind(AssertUnwindSafe(|| {
        if !*is_relaxed {
            *is_relaxed = relax_for_life().is_ok();
        }
        // If either fails, the others work without this worker.
        if *is_relaxed && set_device(transfer.device).is_ok() {
            transfer.work(|| false);
        }
    }));
    if let Err(payload) = helped {
        transfer.fail(has_panicked());
        // The payload may itself panic when it is dropped.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            let _ = std::mem::ManuallyDrop::new(second);
        }
    }
}

/// A caller whose transfer is running. Workers work only while the transfer of a caller runs.
struct Caller;

/// The number of callers.
static CALLERS: Mutex<usize> = Mutex::new(0);

/// Signalled when a caller leaves while the process ends.
static LEFT: Condvar = Condvar::new();

/// Whether the process ends.
static ENDS: AtomicBool = AtomicBool::new(false);

impl Caller {
    /// Enters, unless the process ends.
    fn enter() -> Option<Self> {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| {
            // Records the number of this process.
            let _ = is_own_process();
            // The runtime has been called before this, so its own functions run after ours: the C library
            // runs the last one first. If it has no room for ours, the process ends as one with threads of
            // its own in CUDA does.
            // SAFETY: the function may be called at any time, once, from any thread.
            let _ = unsafe { libc::atexit(at_exit) };
        });
        let mut callers = lock(&CALLERS);
        if Self::must_leave() {
            return None;
        }
        *callers += 1;
        Some(Self)
    }

    /// Whether all callers must leave, because the process ends.
    fn must_leave() -> bool {
        ENDS.load(Ordering::Relaxed)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        *lock(&CALLERS) -= 1;
        if Self::must_leave() {
            LEFT.notify_all();
        }
    }
}

/// The C library calls this when `main` has returned.
extern "C" fn at_exit() {
    if !is_own_process() {
        return;
    }
    let mut callers = lock(&CALLERS);
    ENDS.store(true, Ordering::Relaxed);
    while *callers > 0 {
        callers = LEFT.wait(callers).unwrap_or_else(PoisonError::into_inner);
    }
}
