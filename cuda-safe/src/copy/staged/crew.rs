//! The threads that help with transfers, and when they must not be there.
//!
//! Whoever calls a copy works on it too; helpers join where there are seats left. They are started when first needed, sleep between transfers,
//! and end when nothing has come for a while. A sleeping helper is not inside CUDA.
//!
//! # Ends
//! - A transfer is over when all that work on it have left: [`run`] waits for that whatever happens, also when it unwinds.
//! - When the process ends while another of its threads is in the middle of a copy, a function that the C library runs at exit,
//!   before the runtime's own, has everybody stop at the next piece and waits until nobody is at work. That copy fails.
//!   Nobody at work waits for anything but the pieces sent off, so this takes no longer than those.
//! - In the child of a `fork` there are no helpers and no runtime: nothing is staged there, and the exit function does nothing.
#![expect(unsafe_code, reason = "has the C library call a function at exit")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::Duration;

use super::job::Job;
use super::kit::{self, Kit};
use super::plan::MOST_THREADS;
use crate::error::{Error, Result};
use crate::memory::relax;
use crate::{process, sys};

/// How long a helper waits for a transfer before it ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// A transfer that helpers can join.
struct Ticket {
    job: Job,
    /// Helpers at work.
    helpers: Mutex<usize>,
    /// Rung when the last of them leaves.
    gone: Condvar,
}

/// Who can help, and with what.
struct Crew {
    /// Transfers with so many seats left.
    open: Vec<(Arc<Ticket>, usize)>,
    /// Helpers that wait.
    idle: usize,
    /// Helpers that there are.
    alive: usize,
}

static CREW: Mutex<Crew> = Mutex::new(Crew { open: Vec::new(), idle: 0, alive: 0 });

/// Rung when there are seats.
static BELL: Condvar = Condvar::new();

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

/// Does a job with this kit and with helpers. When it returns, or unwinds, nothing of the job is in flight any more.
///
/// # Errors
/// The first failure of any thread.
pub(super) fn run(job: Job, kit: Kit) -> Result<()> {
    let Some(_inside) = Inside::enter() else {
        kit.give_back();
        return Err(kit::ended());
    };
    let seats = job.plan.sizes.parties.saturating_sub(1);
    let ticket = Arc::new(Ticket { job, helpers: Mutex::new(0), gone: Condvar::new() });
    let over = Over(&ticket);
    if seats > 0 {
        offer(&ticket, seats);
    }
    ticket.job.work(kit, || {
        let closing = Inside::closing();
        if closing {
            ticket.job.fail(kit::ended());
        }
        closing
    });
    drop(over);
    ticket.job.outcome()?;
    ticket.job.keep_pace(processors());
    Ok(())
}

/// Processors that the process may use: of the machine, of its set, and of its share.
pub(super) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Lets nobody join any more, and waits until all helpers have left, when it goes out of scope.
struct Over<'a>(&'a Arc<Ticket>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.job.fail(broken());
        }
        lock(&CREW).open.retain(|(ticket, _)| !Arc::ptr_eq(ticket, self.0));
        let mut helpers = lock(&self.0.helpers);
        while *helpers > 0 {
            helpers = self.0.gone.wait(helpers).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The error for a transfer of which a thread panicked.
fn broken() -> Error {
    Error::from_code("staged copy", sys::cudaErrorUnknown)
}

/// Offers seats, and starts helpers where too few are waiting. Without any the caller works alone.
fn offer(ticket: &Arc<Ticket>, seats: usize) {
    let missing = {
        let mut crew = lock(&CREW);
        crew.open.push((Arc::clone(ticket), seats));
        let missing = seats.saturating_sub(crew.idle).min(MOST_THREADS.saturating_sub(crew.alive));
        crew.alive += missing;
        missing
    };
    for _ in 0..missing {
        let helper = std::thread::Builder::new().name("cuda-safe copy".to_owned());
        if helper.spawn(help).is_err() {
            lock(&CREW).alive -= 1;
        }
    }
    // Whoever wakes wakes others: the caller has work of its own.
    BELL.notify_one();
}

/// What a helper does with its life.
fn help() {
    let mut crew = lock(&CREW);
    loop {
        if let Some((ticket, more)) = crew.seat() {
            drop(crew);
            for _ in 0..more.min(2) {
                BELL.notify_one();
            }
            join(&ticket);
            drop(ticket);
            crew = lock(&CREW);
            continue;
        }
        crew.idle += 1;
        let (woken, waited) = BELL.wait_timeout(crew, PATIENCE).unwrap_or_else(PoisonError::into_inner);
        crew = woken;
        crew.idle -= 1;
        if waited.timed_out() && crew.open.is_empty() {
            crew.alive -= 1;
            return;
        }
    }
}

impl Crew {
    /// A seat at the transfer that has the fewest helpers, and how many seats are left at all.
    fn seat(&mut self) -> Option<(Arc<Ticket>, usize)> {
        let at = (0..self.open.len()).min_by_key(|&at| *lock(&self.open[at].0.helpers))?;
        let (ticket, seats) = &mut self.open[at];
        let ticket = Arc::clone(ticket);
        *lock(&ticket.helpers) += 1;
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
            let mut helpers = lock(&self.0.helpers);
            *helpers -= 1;
            if *helpers == 0 {
                // Under the lock: once the caller sees that nobody is left, the ticket may be gone.
                self.0.gone.notify_all();
            }
        }
    }
    let seat = Seat(ticket);
    let Some(_inside) = Inside::enter() else { return };
    let job = &seat.0.job;
    let helped = catch_unwind(AssertUnwindSafe(|| {
        // Whatever cannot be had, the others do without this helper.
        if relax().and_then(|()| job.device.set_current()).is_err() {
            return;
        }
        if let Ok(Some(kit)) = Kit::take(job.device, job.plan.sizes.most, job.pinned, false) {
            job.work(kit, || Inside::closing() || kit::somebody_starves());
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

/// Somebody who makes calls into CUDA on behalf of a transfer.
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
