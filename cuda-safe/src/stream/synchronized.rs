//! [`Synchronized`]: a future that is ready as soon as `synchronize` would return, for short work.
//!
//! A host function wakes a task some 20 µs after the work: the driver has to start a thread for it, and the
//! thread has to start the task. For work that takes less than that, this future asks the stream itself at
//! its first poll, for [`LIMIT`]. Only then does it leave a function in the stream, as [`Done`] does.
//!
//! # What an executor pays
//! The first poll of a future may take [`LIMIT`], the others do not spin. If the work takes longer, the
//! time is lost, so each thread has a [`Budget`]: after a loss it does not spin for its next future, after
//! two in a row for its next three, then seven, and so on, at most 255. A thread that makes 1,000 futures of
//! long work loses 200 µs for all of them together. The first future that is ready in time restores the
//! budget.

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::done::Done;
use super::view::AsStream;
use crate::error::Result;
use cuda_hazard::CallSite;

/// How long a first poll asks the stream: what waking a task by a host function takes.
const LIMIT: Duration = Duration::from_micros(20);

/// The largest number of losses in a row that a budget counts.
const MOST: u32 = 8;

thread_local! {
    static BUDGET: Budget = const { Budget { losses: Cell::new(0), pause: Cell::new(0) } };
}

/// How many of a thread's next futures do not spin.
struct Budget {
    losses: Cell<u32>,
    pause: Cell<u32>,
}

impl Budget {
    /// Returns whether the next future may spin.
    fn take(&self) -> bool {
        let pause = self.pause.get();
        self.pause.set(pause.saturating_sub(1));
        pause == 0
    }

    /// Notes whether a future that has spun was ready in time.
    fn settle(&self, in_time: bool) {
        let losses = if in_time { 0 } else { (self.losses.get() + 1).min(MOST) };
        self.losses.set(losses);
        self.pause.set((1 << losses) - 1);
    }
}

/// A future that is ready when a stream has completed its work: see
/// [`Stream::synchronized`](super::Stream::synchronized). It belongs to no executor, and borrows the stream.
///
/// Its output is the failure of earlier work, if any. After it was ready, it stays so.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Synchronized<'a, S> {
    stream: &'a S,
    call_site: CallSite,
    /// `None` until the first poll.
    done: Option<Done>,
}

impl<'a, S: AsStream> Synchronized<'a, S> {
    #[track_caller]
    pub(super) fn new(stream: &'a S) -> Self {
        Self { stream, call_site: std::panic::Location::caller(), done: None }
    }

    /// Asks the stream until it has completed its work, or until the limit.
    fn spin(&self) -> Result<bool> {
        let stream = self.stream.as_stream();
        let begin = Instant::now();
        loop {
            if stream.is_done().map_err(|error| error.at(self.call_site))? {
                return Ok(true);
            }
            if begin.elapsed() >= LIMIT {
                return Ok(false);
            }
            std::hint::spin_loop();
        }
    }

    /// The first poll.
    fn begin(&self) -> Done {
        if BUDGET.with(Budget::take) {
            let answer = self.spin();
            BUDGET.with(|budget| budget.settle(answer != Ok(false)));
            match answer {
                Ok(true) => return Done::ready(Ok(())),
                Err(error) => return Done::ready(Err(error)),
                Ok(false) => {}
            }
        }
        Done::at(self.stream.as_stream(), self.call_site)
    }
}

impl<S: AsStream> Future for Synchronized<'_, S> {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let done = match self.done.take() {
            Some(done) => done,
            None => self.begin(),
        };
        Pin::new(self.done.insert(done)).poll(context)
    }
}

impl<S> fmt::Debug for Synchronized<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Synchronized").field("call_site", &self.call_site).field("done", &self.done).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Cell};

    fn budget() -> Budget {
        Budget { losses: Cell::new(0), pause: Cell::new(0) }
    }

    #[test]
    fn long_work_costs_a_thread_ten_spins_for_a_thousand_futures() {
        let budget = budget();
        let spins = (0..1000).filter(|_| {
            let spins = budget.take();
            if spins {
                budget.settle(false);
            }
            spins
        });
        assert_eq!(spins.count(), 10);
    }

    #[test]
    fn one_future_that_is_ready_in_time_restores_the_budget() {
        let budget = budget();
        for _ in 0..100 {
            if budget.take() {
                budget.settle(false);
            }
        }
        let waits = (0..).position(|_| budget.take()).unwrap();
        assert!((1..256).contains(&waits), "{waits}");
        budget.settle(true);
        for _ in 0..100 {
            assert!(budget.take());
            budget.settle(true);
        }
    }
}
