//! A stage of a pipeline: done by a thread of its own where it waits, else by whoever gives it a chunk.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Takes chunks, does to each what the stage is for, and gives them back, all in order.
///
/// Once it is gone its thread has done all that it was given, and is gone too.
pub(super) struct Stage<'scope, Task, Done> {
    work: &'scope (dyn Fn(Task) -> Done + Sync),
    thread: Option<Thread<'scope, Task, Done>>,
    /// Chunks that the thread has.
    away: usize,
    /// Chunks that were done by who gave them.
    ready: VecDeque<Done>,
}

struct Thread<'scope, Task, Done> {
    tasks: Sender<Task>,
    done: Receiver<Done>,
    handle: ScopedJoinHandle<'scope, ()>,
}

impl<'scope, Task: Send + 'scope, Done: Send + 'scope> Stage<'scope, Task, Done> {
    /// A stage that does `work`, on a thread of this name. Where there is none, or the system has no thread to give, whoever gives it a chunk
    /// does it.
    pub(super) fn new<'env: 'scope>(
        threads: &'scope Scope<'scope, 'env>,
        name: Option<&str>,
        work: &'env (dyn Fn(Task) -> Done + Sync),
    ) -> Self {
        let thread = name.and_then(|name| {
            let (tasks, to_come) = channel();
            let (report, done) = channel();
            let work = move || {
                for task in to_come {
                    // Nobody takes it where the calling thread unwinds; the rest is seen to all the same.
                    let _ = report.send(work(task));
                }
            };
            let handle = Builder::new().name(name.to_owned()).spawn_scoped(threads, work).ok()?;
            Some(Thread { tasks, done, handle })
        });
        Self { work, thread, away: 0, ready: VecDeque::new() }
    }

    /// Gives it a chunk.
    pub(super) fn give(&mut self, task: Task) {
        match &self.thread {
            Some(thread) => match thread.tasks.send(task) {
                Ok(()) => self.away += 1,
                Err(_) => self.end(),
            },
            None => self.ready.push_back((self.work)(task)),
        }
    }

    /// Takes the next chunk back if it is done.
    pub(super) fn look(&mut self) -> Option<Done> {
        let done = self.thread.as_ref().and_then(|thread| thread.done.try_recv().ok());
        self.away -= usize::from(done.is_some());
        done.or_else(|| self.ready.pop_front())
    }

    /// Takes the next chunk back, once it is done; none if there is none.
    pub(super) fn take(&mut self) -> Option<Done> {
        match &self.thread {
            Some(thread) if self.away > 0 => match thread.done.recv() {
                Ok(done) => {
                    self.away -= 1;
                    Some(done)
                }
                Err(_) => {
                    self.end();
                    None
                }
            },
            _ => self.ready.pop_front(),
        }
    }

    /// Waits for the thread, and passes its panic on.
    pub(super) fn end(&mut self) {
        if let Err(panic) = self.join() {
            resume_unwind(panic);
        }
    }
}

impl<Task, Done> Stage<'_, Task, Done> {
    fn join(&mut self) -> std::thread::Result<()> {
        let Some(Thread { tasks, done, handle }) = self.thread.take() else { return Ok(()) };
        self.away = 0;
        // It ends when there is nothing more to come, and waits for nobody to take what is done.
        drop((tasks, done));
        handle.join()
    }
}

impl<Task, Done> Drop for Stage<'_, Task, Done> {
    fn drop(&mut self) {
        // The calling thread unwinds, or `end` was called before: this panic is of no interest beside its own.
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::Stage;

    /// Doubles numbers, but for a 0.
    fn double(number: u32) -> u32 {
        if number == 0 {
            resume_unwind(Box::new("a zero"));
        }
        2 * number
    }

    #[test]
    fn chunks_come_back_in_order_whoever_does_them() {
        for name in [None, Some("a stage")] {
            let here = thread::current().id();
            let elsewhere = move |number| (double(number), thread::current().id() != here);
            thread::scope(|threads| {
                let mut stage = Stage::new(threads, name, &elsewhere);
                assert!(stage.look().is_none() && stage.take().is_none());
                (1..4).for_each(|number| stage.give(number));
                let all: Vec<_> = std::iter::from_fn(|| stage.take()).collect();
                assert_eq!(all, [2, 4, 6].map(|number| (number, name.is_some())));
                stage.give(4);
                let looked = loop {
                    if let Some(done) = stage.look() {
                        break done.0;
                    }
                    thread::yield_now();
                };
                assert_eq!((looked, stage.take()), (8, None));
                stage.end();
            });
        }
    }

    #[test]
    fn a_panic_comes_out_where_its_chunk_is_taken_and_those_before_it_are_there() {
        let mut taken = None;
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|threads| {
                let mut stage = Stage::new(threads, Some("a stage"), &double);
                [1, 0].into_iter().for_each(|number| stage.give(number));
                taken = stage.take();
                stage.take()
            })
        }));
        assert_eq!(taken, Some(2));
        assert_eq!(unwound.unwrap_err().downcast_ref::<&str>(), Some(&"a zero"));
    }

    #[test]
    fn what_it_was_given_is_done_when_it_is_gone() {
        let done = AtomicU32::new(0);
        let count = |number| done.fetch_add(number, Ordering::Relaxed);
        thread::scope(|threads| {
            let mut stage = Stage::new(threads, Some("a stage"), &count);
            (1..=10).for_each(|number| stage.give(number));
            drop(stage);
            assert_eq!(done.load(Ordering::Relaxed), 55);
        });
    }
}
