//! Memory and semaphores of other interfaces, which a program imports as file descriptors. Any file that
//! can be mapped is memory here, and the first eight bytes of one are a semaphore.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use crate::error::Answer;
use crate::exec::env::{Env, Step, Task};
use crate::stream::SharedCounters;
use crate::sys::cudaErrorInvalidValue;

/// Imported memory: the file, its size, and the device that it was imported for.
#[derive(Debug)]
pub(crate) struct ExternalMemory {
    pub(crate) file: File,
    pub(crate) size: u64,
    pub(crate) device: usize,
}

/// An imported semaphore. Copies are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Semaphore {
    pub(crate) counter: Arc<SharedCounters>,
    /// Whether it has a value that grows. Otherwise it is signalled or not.
    pub(crate) timeline: bool,
}

/// Everything that was imported, by handle.
#[derive(Debug, Default)]
pub(crate) struct Externals {
    last: usize,
    pub(crate) memories: BTreeMap<usize, ExternalMemory>,
    pub(crate) semaphores: BTreeMap<usize, Semaphore>,
}

impl Externals {
    /// A number for a handle.
    pub(crate) fn number(&mut self) -> usize {
        // No small numbers, so that no other handle is taken for one of these.
        self.last += 1;
        0x00e0_0000 + 16 * self.last
    }

    pub(crate) fn semaphore(&self, handle: usize) -> Answer<Semaphore> {
        self.semaphores.get(&handle).cloned().ok_or(cudaErrorInvalidValue)
    }
}

/// Signals semaphores, or waits for them, in the order of a list.
#[derive(Clone, Debug)]
pub(crate) struct SemaphoreWork {
    pub(crate) signals: bool,
    /// What is left, the next one last.
    pub(crate) list: Vec<(Semaphore, u64)>,
}

impl Task for SemaphoreWork {
    fn step(&mut self, _env: &mut dyn Env, _budget: u64) -> Step {
        while let Some((Semaphore { counter, timeline }, value)) = self.list.last() {
            let counter = counter.value();
            let done = match (self.signals, *timeline) {
                (true, true) => {
                    counter.fetch_max(*value, SeqCst);
                    true
                }
                (true, false) => {
                    counter.fetch_add(1, SeqCst);
                    true
                }
                (false, true) => counter.load(SeqCst) >= *value,
                // A wait takes the signal away.
                (false, false) => counter.fetch_update(SeqCst, SeqCst, |count| count.checked_sub(1)).is_ok(),
            };
            if !done {
                return Step::Yield;
            }
            self.list.pop();
        }
        Step::Done
    }

    fn waits_outside(&self) -> bool {
        !self.signals
    }
}
