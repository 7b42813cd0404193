//! The threads that help with transfers, and when they must not be there.
//!
//! Whoever calls a copy works on it too; helpers join where there are seats left. They are started when first needed, sleep between transfers,
//! and end when nothing has come for a while. (Staying awake for a while after a transfer was measured: nothing is gained.) A helper has
//! nothing of CUDA's, and calls it only while it works on a transfer.
//!
//! # Ends
//! - A transfer is over when all that work on it have left: [`run`] waits for that whatever happens, also when it unwinds.
//! - When the process ends while another of its threads is in the middle of a copy, a function that the C library runs at exit,
//!   before the runtime's own, has the callers of copies stop at the next piece and waits until all of them, and so their
//!   helpers, have left. Those copies fail. Nobody at work waits for anything but the blocks sent off, so this takes no longer than those.
//! - In the child of a `fork` there are no helpers and no runtime: nothing is staged there, and the exit function does nothing.
#![expect(unsafe_code, reason = "has the C library call a function at exit")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::job::Job;
use super::plan::MOST_THREADS;
use super::ring::Ring;
use crate::error::{Error, Result};
use crate::memory::relax;
use crate::{process, sys};

/// How long a helper waits for a transfer before it ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// A transfer that helpers can join.
struct Ticket {
    job: Job,
    /// Helpers at work.
    helpers: AtomicUsize,
    /// Held for a moment by the last of them, and by a caller who waits for it.
    leaving: Mutex<()>,
    /// Rung when the last of them leaves.
    gone: Condvar,
}

impl Ticket {
    fn new(job: Job) -> Self {
        Self { job, helpers: AtomicUsize::new(0), leaving: Mutex::new(()), gone: Condvar::new() }
    }

    fn is_empty(&self) -> bool {
        self.helpers.load(Ordering::Acquire) == 0
    }
}

/// Who can help, and with what.
struct Crew {
    /// Transfers with so many seats left.
    open: Vec<(Arc<Ticket>, usize)>,
    /// Helpers that wait. The last one to come is the first to be woken: its processor is the least asleep, and a copy that follows the one
    /// before finds the same threads where they were.
    idle: Vec<Thread>,
    /// Helpers that there are.
    alive: usize,
}

static CREW: Mutex<Crew> = Mutex::new(Crew { open: Vec::new(), idle: Vec::new(), alive: 0 });

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Helper threads that there are at present.
pub(super) fn helpers() -> usize {
    lock(&CREW).alive
}

/// Whether this is the process that the engine was first used in, and not the child of a `fork`.
pub(super) fn in_own_process() -> bool {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    process::is(*PROCESS.get_or_init(process::number))
}

/// Does a job, whose slots are those of this ring, with helpers. When it returns, or unwinds, nothing of the job is in flight any more.
///
/// # Errors
/// The first failure of any thread.
pub(super) fn run(job: Job, ring: Ring) -> Result<()> {
    let Some(_inside) = Inside::enter() else {
        ring.give_back();
        return Err(ended());
    };
    let mut owned = Owned(Some(ring));
    let ticket = Arc::new(Ticket::new(job));
    let job = &ticket.job;
    let mut over = Over { ticket: &ticket, panicked: true };
    job.begin();
    let seats = job.parties() - 1;
    if seats > 0 {
        offer(&ticket, seats);
    }
    let leave = || {
        let closing = Inside::closing();
        if closing {
            job.fail(ended());
        }
        closing
    };
    job.work(leave);
    job.finish(leave);
    over.panicked = false;
    drop(over);
    job.outcome()?;
    // Every block was waited for.
    if let Some(ring) = owned.0.take() {
        ring.give_back();
    }
    Ok(())
}

/// The ring of a transfer under way: drained when the transfer ends before its time.
struct Owned(Option<Ring>);

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(ring) = self.0.take() {
            ring.drain();
        }
    }
}

/// The error for a copy that the end of the process has stopped.
fn ended() -> Error {
    Error::from_code("staged copy", sys::cudaErrorCudartUnloading)
}

/// Processors that the process may use: of the machine, of its set, and of its share.
pub(super) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// How often the caller looks whether the helpers have left before it sleeps: for about as long as a piece takes.
const LOOKS: u32 = 1000;

/// Lets nobody join any more, and waits until all helpers have left, when it goes out of scope.
struct Over<'a> {
    ticket: &'a Arc<Ticket>,
    /// Whether the caller did not come to its end.
    panicked: bool,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if self.panicked {
            self.ticket.job.fail(broken());
        }
        lock(&CREW).open.retain(|(ticket, _)| !Arc::ptr_eq(ticket, self.ticket));
        // They are at their last pieces, as a rule: to be woken would take longer.
        let looks = (0..LOOKS).take_while(|_| !self.ticket.is_empty());
        looks.for_each(|_| std::hint::spin_loop());
        let mut leaving = lock(&self.ticket.leaving);
        while !self.ticket.is_empty() {
            leaving = self.ticket.gone.wait(leaving).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The error for a transfer of which a thread panicked.
fn broken() -> Error {
    Error::from_code("staged copy", sys::cudaErrorUnknown)
}

/// Offers seats, and starts helpers where too few are waiting. Without any the caller works alone.
fn offer(ticket: &Arc<Ticket>, seats: usize) {
    // Whoever wakes wakes others: the caller has work of its own.
    let (missing, first) = {
        let mut crew = lock(&CREW);
        crew.open.push((Arc::clone(ticket), seats));
        // No more helpers than processors beside the caller's, or than one transfer was to have.
        let most = processors().saturating_sub(1).max(seats).min(MOST_THREADS);
        let missing = seats.saturating_sub(crew.idle.len()).min(most.saturating_sub(crew.alive));
        crew.alive += missing;
        (missing, crew.idle.pop())
    };
    if let Some(first) = first {
        first.unpark();
    }
    for _ in 0..missing {
        let helper = thread::Builder::new().name("cuda-safe copy".to_owned());
        if helper.spawn(help).is_err() {
            lock(&CREW).alive -= 1;
        }
    }
}

/// What a helper does with its life.
fn help() {
    let mut crew = lock(&CREW);
    loop {
        if let Some((ticket, more)) = crew.seat() {
            let next = [more > 0, more > 1].map(|wanted| if wanted { crew.idle.pop() } else { None });
            drop(crew);
            next.into_iter().flatten().for_each(|next| next.unpark());
            join(&ticket);
            drop(ticket);
            crew = lock(&CREW);
            continue;
        }
        crew = wait(crew);
        if crew.dismiss(&thread::current()) && crew.open.is_empty() {
            crew.alive -= 1;
            return;
        }
    }
}

/// Waits until a helper is woken, or nothing has come for a while.
fn wait(mut crew: MutexGuard<'static, Crew>) -> MutexGuard<'static, Crew> {
    let me = thread::current();
    let until = Instant::now() + PATIENCE;
    crew.idle.push(me.clone());
    loop {
        drop(crew);
        let left = until.saturating_duration_since(Instant::now());
        thread::park_timeout(left);
        crew = lock(&CREW);
        // A thread may also be woken for no reason.
        if left.is_zero() || !crew.idle.iter().any(|one| one.id() == me.id()) {
            return crew;
        }
    }
}

impl Crew {
    /// Takes a helper off those that wait; whether it was there.
    fn dismiss(&mut self, helper: &Thread) -> bool {
        let at = self.idle.iter().position(|one| one.id() == helper.id());
        at.map(|at| self.idle.remove(at)).is_some()
    }

    /// A seat at the transfer that has the fewest helpers, and how many seats are left at all.
    fn seat(&mut self) -> Option<(Arc<Ticket>, usize)> {
        let at = (0..self.open.len()).min_by_key(|&at| self.open[at].0.helpers.load(Ordering::Relaxed))?;
        let (ticket, seats) = &mut self.open[at];
        let ticket = Arc::clone(ticket);
        ticket.helpers.fetch_add(1, Ordering::Relaxed);
        *seats -= 1;
        if *seats == 0 {
            self.open.swap_remove(at);
        }
        Some((ticket, self.open.iter().map(|(_, seats)| seats).sum()))
    }
}

/// Works on a transfer as a helper.
fn join(ticket: &Ticket) {
    /// Leaves, whatever happens.
    struct Seat<'a>(&'a Ticket);
    impl Drop for Seat<'_> {
        fn drop(&mut self) {
            if self.0.helpers.fetch_sub(1, Ordering::AcqRel) == 1 {
                // With the lock, so that nobody who has looked before goes to sleep after this.
                let _leaving = lock(&self.0.leaving);
                self.0.gone.notify_all();
            }
        }
    }
    let seat = Seat(ticket);
    let job = &seat.0.job;
    let helped = catch_unwind(AssertUnwindSafe(|| {
        // Where that cannot be had, the others do without this helper.
        if relax().and_then(|()| job.device.set_current()).is_ok() {
            job.work(|| false);
        }
    }));
    if let Err(payload) = helped {
        job.fail(broken());
        // What was thrown may itself panic when dropped.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            let _ = std::mem::ManuallyDrop::new(second);
        }
    }
}

/// A caller whose transfer is under way. Helpers are at work only while theirs is.
struct Inside;

/// How many of them there are.
static INSIDE: Mutex<usize> = Mutex::new(0);

/// Rung when somebody leaves while the process ends.
static LEFT: Condvar = Condvar::new();

/// Whether the process ends.
static CLOSING: AtomicBool = AtomicBool::new(false);

impl Inside {
    /// Goes in; not once the process ends.
    fn enter() -> Option<Self> {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| {
            // The runtime has been called before this, so that its own functions come after ours: the last one first. Where the C
            // library has no room for ours, the process ends as one with threads of its own in CUDA does.
            // SAFETY: the function may be called at any time, once, from any thread.
            let _ = unsafe { libc::atexit(at_exit) };
        });
        let mut inside = lock(&INSIDE);
        if Self::closing() {
            return None;
        }
        *inside += 1;
        Some(Self)
    }

    /// Whether everybody should leave.
    fn closing() -> bool {
        CLOSING.load(Ordering::Relaxed)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        *lock(&INSIDE) -= 1;
        if Self::closing() {
            LEFT.notify_all();
        }
    }
}

/// What the C library calls when `main` has returned.
extern "C" fn at_exit() {
    if !in_own_process() {
        return;
    }
    let mut inside = lock(&INSIDE);
    CLOSING.store(true, Ordering::Relaxed);
    while *inside > 0 {
        inside = LEFT.wait(inside).unwrap_or_else(PoisonError::into_inner);
    }
}
