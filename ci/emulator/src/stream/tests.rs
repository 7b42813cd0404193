//! Work that runs in steps, on the one machine of this process, in the late schedule. These tests take turns,
//! because kernels of another test would take steps that a test counts on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{OperationId, StreamId, Work, query, submit, submit_kernel, synchronize};
use crate::error::Code;
use crate::exec::Fault;
use crate::exec::env::{Env, Step, Task};
use crate::machine::{self, Guard};
use crate::sys::{cudaErrorLaunchFailure, cudaErrorNotReady};

/// A kernel that polls until `flag` has a value, and then sets it to another.
struct Poll {
    flag: Arc<AtomicU32>,
    until: u32,
    then: u32,
}

impl Task for Poll {
    fn step(&mut self, _env: &mut dyn Env, _budget: u64) -> Step {
        if self.flag.load(Ordering::SeqCst) != self.until {
            return Step::Yield;
        }
        self.flag.store(self.then, Ordering::SeqCst);
        Step::Done
    }
}

/// A kernel that dies.
struct Die;

impl Task for Die {
    fn step(&mut self, _env: &mut dyn Env, _budget: u64) -> Step {
        Step::Fault(Fault { code: Fault::LAUNCH_FAILURE, message: "a test".to_owned(), at: None })
    }
}

/// The turn of a test, a flag, and the machine.
fn begin() -> (MutexGuard<'static, ()>, Arc<AtomicU32>, Guard) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    (turn, Arc::new(AtomicU32::new(0)), machine::lock().unwrap())
}

fn stream(machine: &mut Guard, device: usize) -> StreamId {
    let handle = machine.streams.create(device, 1, 0);
    machine.streams.resolve(handle, device, false).unwrap()
}

fn poll(machine: &mut Guard, stream: StreamId, flag: &Arc<AtomicU32>, until: u32, then: u32) -> OperationId {
    let task = Box::new(Poll { flag: Arc::clone(flag), until, then });
    submit_kernel(machine, (stream, 0), "test", task, false).unwrap()
}

#[test]
fn a_kernel_that_polls_sees_what_the_host_sets_while_another_thread_waits_for_it() {
    let (_turn, flag, mut machine) = begin();
    let key = stream(&mut machine, 0);
    let id = poll(&mut machine, key, &flag, 1, 2);
    drop(machine);
    let (started, waiting) = channel();
    let waiter = std::thread::spawn(move || {
        let mut machine = machine::lock().unwrap();
        started.send(()).unwrap();
        synchronize(&mut machine, 0, &[id])
    });
    waiting.recv().unwrap();
    // The waiter holds the machine only for a step at a time.
    assert!(machine::lock().unwrap().queue.pending(id));
    flag.store(1, Ordering::SeqCst);
    assert_eq!(waiter.join().unwrap(), Ok(()));
    assert_eq!(flag.load(Ordering::SeqCst), 2);
}

#[test]
fn kernels_that_poll_for_each_other_on_two_streams_take_turns() {
    let (_turn, flag, mut machine) = begin();
    let (a, b) = (stream(&mut machine, 0), stream(&mut machine, 0));
    let ids = [
        poll(&mut machine, a, &flag, 1, 2),
        poll(&mut machine, a, &flag, 3, 4),
        poll(&mut machine, b, &flag, 0, 1),
        poll(&mut machine, b, &flag, 2, 3),
    ];
    synchronize(&mut machine, 0, &ids).unwrap();
    assert_eq!(flag.load(Ordering::SeqCst), 4);
}

#[test]
fn a_kernel_that_polls_for_work_nobody_asked_for_gets_it_in_the_end() {
    let (_turn, flag, mut machine) = begin();
    let (a, b) = (stream(&mut machine, 0), stream(&mut machine, 0));
    let wanted = poll(&mut machine, a, &flag, 1, 2);
    poll(&mut machine, b, &flag, 0, 1);
    synchronize(&mut machine, 0, &[wanted]).unwrap();
    assert_eq!(flag.load(Ordering::SeqCst), 2);
}

#[test]
fn asking_runs_some_of_a_kernel_and_never_waits_for_it() {
    let (_turn, flag, mut machine) = begin();
    let key = stream(&mut machine, 0);
    let id = poll(&mut machine, key, &flag, 1, 2);
    assert_eq!(query(&mut machine, &[id]), Err(cudaErrorNotReady));
    assert!(machine.queue.pending(id));
    flag.store(1, Ordering::SeqCst);
    assert_eq!(query(&mut machine, &[id]), Err(cudaErrorNotReady));
    assert!(!machine.queue.pending(id));
    assert_eq!(query(&mut machine, &[id]), Ok(()));
    let mark = submit(&mut machine, key, "cudaEventRecord", Work::Nothing, &[]).unwrap();
    assert_eq!(query(&mut machine, &[mark]), Ok(()));
}

#[test]
fn a_kernel_that_dies_takes_its_device_with_it_and_what_came_after_it() {
    let (_turn, flag, mut machine) = begin();
    const DEVICE: usize = 1;
    let key = stream(&mut machine, DEVICE);
    submit_kernel(&mut machine, (key, DEVICE), "test", Box::new(Die), false).unwrap();
    let task = Box::new(Poll { flag: Arc::clone(&flag), until: 0, then: 1 });
    let after = submit_kernel(&mut machine, (key, DEVICE), "test", task, false).unwrap();
    assert_eq!(synchronize(&mut machine, DEVICE, &[after]), Err(cudaErrorLaunchFailure));
    assert_eq!(flag.load(Ordering::SeqCst), 0, "the second kernel ran");
    assert_eq!(machine.devices[DEVICE].fault, Some(Code(Fault::LAUNCH_FAILURE)));
    let own = stream(&mut machine, 0);
    let id = submit(&mut machine, own, "test", Work::Nothing, &[]).unwrap();
    assert_eq!(synchronize(&mut machine, 0, &[id]), Ok(()));
}

#[test]
fn a_kernel_is_launched_only_on_a_stream_of_the_current_device() {
    let (_turn, _, mut machine) = begin();
    let key = stream(&mut machine, 0);
    let refused = submit_kernel(&mut machine, (key, 1), "test", Box::new(Die), false);
    assert_eq!(refused, Err(crate::sys::cudaErrorInvalidResourceHandle));
}
