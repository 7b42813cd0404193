//! Runs queued work: on the threads that wait for it, and on one background thread for the rest.
//!
//! Everything here runs in steps under the machine's lock, which is offered to other threads after each step.
//! A thread that waits runs wanted work until its own is done. The background thread runs wanted work if
//! nobody waits, and wants work that has been pending for too long.

use std::time::{Duration, Instant};

use super::device_env::{DeviceEnv, show};
use super::host::Caller;
use super::names::OperationId;
use super::queue::{PATIENCE, Picked};
use super::work::Work;
use crate::device::Device;
use crate::error::{Answer, Code};
use crate::exec::env::Step;
use crate::fidelity::{self, Limit};
use crate::host_line::HostLine;
use crate::machine::{self, Guard, Machine};
use crate::race::Origin;
use crate::sys::{cudaErrorIllegalAddress, cudaErrorNotReady};
use crate::thread;

/// The result of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// There was nothing to run.
    Nothing,
    /// An operation is done, or was handed to the thread that calls host functions.
    Worked,
    /// An operation ran and has more to do.
    Yielded,
}

/// No wait is longer than this without looking again.
const LONGEST: Duration = Duration::from_secs(1);
/// The part of a kernel that runs between two looks at a query's clock: a bound on the cost of a query.
const STEPS_OF_A_QUERY: usize = 4;

impl Machine {
    /// Runs one step of a wanted operation.
    fn drive(&mut self) -> Progress {
        match self.queue.pick() {
            Some(picked) => self.step(picked),
            None => Progress::Nothing,
        }
    }

    /// At the end of the process, runs what is pending for a while if races are looked for: the program has
    /// not waited for it. Host functions are not called any more, and nothing is printed.
    pub(crate) fn finish(&mut self) {
        const MOST: Duration = Duration::from_secs(2);
        if self.queue.races.is_none() {
            return;
        }
        let start = Instant::now();
        self.queue.want_all();
        self.queue.ends = true;
        while self.drive() != Progress::Nothing {
            if start.elapsed() >= MOST {
                fidelity::note(Limit::Pending);
                break;
            }
        }
    }

    fn step(&mut self, picked: Picked) -> Progress {
        let Picked { id, device, call, line, work } = picked;
        let failed = self.devices.get(device).and_then(|device| device.fault);
        self.queue.staged -= work.staged();
        match work {
            Work::Host(host) if !self.queue.ends && (failed.is_none() || host.survives_errors()) => {
                let caller = self.devices.get_mut(device).and_then(Device::caller);
                if let Some(caller) = caller {
                    // The function may tell the host.
                    self.queue.host_waited(&[id]);
                    caller.call(id, host, failed);
                    return Progress::Worked;
                }
                let message = "no thread for host functions";
                self.fail(device, crate::sys::cudaErrorOperatingSystem, message, call, line);
            }
            Work::Record(record) => self.events.done(record, id),
            Work::Free(address) => {
                self.queue.note_end(&self.allocations, id, address);
                self.allocations.free(address, call);
            }
            Work::Reuse(address) => {
                self.queue.note_begin(&self.allocations, id, address);
                self.allocations.poison(address);
            }
            Work::Release(users) => {
                for (user, count) in users {
                    if let Ok(Some(destroy)) = self.users.release(user, count) {
                        let id = self.queue.push(device, call, Work::Host(destroy), &[]);
                        self.queue.want(id);
                    }
                }
            }
            _ if failed.is_some() => {}
            Work::Nothing | Work::Host(_) => {}
            Work::Copy(mut copy) => {
                let done = copy.run(&self.allocations, call, line);
                self.queue.note_copy(&self.allocations, id, &copy, done.is_ok());
                self.check(device, call, line, done);
            }
            Work::Copies(copies) => {
                for mut copy in copies {
                    let done = copy.run(&self.allocations, call, line);
                    self.queue.note_copy(&self.allocations, id, &copy, done.is_ok());
                    self.check(device, call, line, done);
                }
            }
            Work::Fill(fill) => {
                let done = fill.run(&self.allocations);
                self.queue.note_fill(&self.allocations, id, &fill, done.is_ok());
                self.check(device, call, line, done);
            }
            Work::Expansion(mut it) => {
                if let Some(parts) = it.next() {
                    let mut ids = Vec::with_capacity(parts.len());
                    for part in parts {
                        let before: Vec<OperationId> =
                            part.before.iter().filter_map(|at| ids.get(*at).copied()).collect();
                        let origin = Origin { call: part.call, line: part.line, ..Origin::default() };
                        ids.push(self.queue.push_within(id, part.device, origin, part.work, &before));
                    }
                    let origin = Origin { call, ..Origin::default() };
                    let end = self.queue.push_within(id, device, origin, Work::Nothing, &ids);
                    self.queue.put_back(id, Work::Expansion(it));
                    self.queue.put_off(id, end);
                    return Progress::Worked;
                }
            }
            Work::Fault(code, message) => self.fail(device, code, &message, call, line),
            Work::Task(mut task) => {
                let peers = self.devices.get(device).map_or(&[][..], |device| &device.peers);
                let budget = self.queue.budget();
                let touched =
                    self.queue.races.as_mut().map(|races| races.running.remove(&id).unwrap_or_default());
                let mut env = DeviceEnv {
                    allocations: &mut self.allocations,
                    id,
                    device,
                    devices: self.devices.len(),
                    limits: self.devices.get(device).map(|device| device.limits).unwrap_or_default(),
                    peers,
                    processors: self.queue.processors(),
                    printed: Vec::new(),
                    touched,
                    missed: None,
                    polled: None,
                    line,
                    grid: self.queue.grids.remove(&id),
                    queue: &mut self.queue,
                };
                let step = task.step(&mut env, budget);
                let DeviceEnv { touched, missed, mut grid, printed, .. } = env;
                if !self.queue.ends {
                    show(&printed);
                }
                match (&step, &mut self.queue.races, touched) {
                    (_, None, _) | (_, _, None) => {}
                    (Step::Yield, Some(races), Some(touched)) => drop(races.running.insert(id, touched)),
                    (_, _, Some(touched)) => {
                        let last = grid.as_mut().map_or(id, |grid| grid.last_phase(&mut self.queue, id));
                        let accesses = touched.spans(task.program());
                        self.queue.note_kernel(&self.allocations, last, accesses, missed);
                    }
                }
                if let Step::Yield = step {
                    self.queue.grids.extend(grid.map(|grid| (id, grid)));
                    self.queue.put_back(id, Work::Task(task));
                    return Progress::Yielded;
                }
                let failed = matches!(step, Step::Fault(_));
                let (queue, allocations) = (&mut self.queue, &mut self.allocations);
                if let Some(end) = grid.and_then(|grid| grid.end(queue, allocations, (id, device), failed)) {
                    queue.put_back(id, Work::Nothing);
                    queue.put_off(id, end);
                    return Progress::Worked;
                }
                match step {
                    Step::Done | Step::Yield => {}
                    Step::Fault(fault) => {
                        let memory = missed.and_then(|at| self.allocations.neighbour(at)).map(|it| it.line);
                        let code = Code(fault.code);
                        let lines = [line, memory.unwrap_or_default()];
                        self.fail_at(device, code, &fault.message, fault.at, call, lines);
                    }
                }
            }
        }
        self.queue.complete(id);
        Progress::Worked
    }

    fn check(&mut self, device: usize, call: &'static str, line: HostLine, done: Result<(), String>) {
        if let Err(message) = done {
            self.fail(device, cudaErrorIllegalAddress, &format!("{call} {message}"), call, line);
        }
    }
}

/// Waits until all of these operations are done, and runs their pending work.
pub(crate) fn wait_for(machine: &mut Guard, ids: &[OperationId]) {
    stir(machine);
    for id in ids {
        machine.queue.want(*id);
    }
    machine.queue.drivers += 1;
    let mut left = ids.to_vec();
    while let Some(last) = left.last() {
        if !machine.queue.pending(*last) {
            left.pop();
            continue;
        }
        match machine.drive() {
            Progress::Nothing => machine::wait(machine, LONGEST),
            Progress::Worked => {
                machine::announce();
                machine::give_way(machine);
            }
            Progress::Yielded => machine::give_way(machine),
        }
    }
    machine.queue.drivers -= 1;
    leave_the_rest(machine);
}

/// Makes another thread continue with wanted work, if there is any.
pub(super) fn leave_the_rest(machine: &Guard) {
    if machine.queue.has_work() {
        // A waiting thread runs the work that it finds. If no thread waits, the background thread does.
        if machine.queue.drivers > 0 { machine::announce() } else { machine::wake_background() }
    }
}

/// Waits for operations, and returns the error that a device failed with, if it did.
pub(crate) fn synchronize(machine: &mut Guard, device: usize, ids: &[OperationId]) -> Answer {
    wait_for(machine, ids);
    machine.queue.host_waited(ids);
    machine.allocations.pools.synchronised(device);
    machine.devices.get(device).and_then(|device| device.fault).map_or(Ok(()), Err)
}

/// Waits for all operations of a device, and returns the error that it failed with, if it did.
pub(crate) fn synchronize_device(machine: &mut Guard, device: usize) -> Answer {
    let all = machine.queue.on_device(device);
    let clock = machine.queue.races.as_ref().map(|races| races.order.of_device(device));
    let answer = synchronize(machine, device, &all);
    machine.queue.host_waited_for_device(clock.as_ref());
    answer
}

/// The wait before a free. CUDA only says that a free may wait. `CUDA_EMULATOR_FREE=at-once` switches the
/// wait off, to show that a program does not rely on it.
pub(crate) fn before_free(machine: &mut Guard, device: usize) -> Answer {
    if !machine.config.free_waits {
        return Ok(());
    }
    synchronize_device(machine, device)
}

/// Wants operations that a program queries and runs some of their pending work, without waiting for anything.
fn nudge(machine: &mut Guard, ids: &[OperationId]) {
    stir(machine);
    for id in ids {
        machine.queue.want(*id);
    }
    let mut yields = 0;
    while yields < STEPS_OF_A_QUERY && ids.iter().any(|id| machine.queue.pending(*id)) {
        match machine.drive() {
            Progress::Nothing => break,
            Progress::Worked => machine::announce(),
            Progress::Yielded => yields += 1,
        }
    }
    leave_the_rest(machine);
}

/// Looks whether operations are done, without waiting for them. What is done, the host has waited for. An
/// operation that was something to do at the beginning of the look counts as not done, even if it is now.
pub(crate) fn query(machine: &mut Guard, ids: &[OperationId]) -> Answer {
    let busy = ids.iter().any(|id| machine.queue.busy(*id));
    nudge(machine, ids);
    if busy || ids.iter().any(|id| machine.queue.pending(*id)) {
        return Err(cudaErrorNotReady);
    }
    machine.queue.host_waited(ids);
    Ok(())
}

/// Runs after every enqueue: starts the background thread, and runs work if the schedule does so.
pub(super) fn queued(machine: &mut Guard) {
    if !machine.queue.started {
        machine.queue.started = true;
        let builder = std::thread::Builder::new().name("cuda-background".to_owned());
        if builder.spawn(background).is_err() {
            eprintln!("CUDA emulator: no background thread: work runs only when something waits for it");
        }
    }
    stir(machine);
    if machine.queue.eager() {
        while machine.drive() == Progress::Worked {
            machine::announce();
        }
        leave_the_rest(machine);
    }
    if machine.queue.first_to_be_patient_with() {
        machine::wake_background();
    }
}

/// In the random schedule, runs a few steps of whatever may run.
fn stir(machine: &mut Guard) {
    while let Some(picked) = machine.queue.pick_at_random() {
        machine.step(picked);
        machine::announce();
    }
}

/// Wants operations that have been pending for long enough, and returns the time of the next look. A program
/// that only had to wait for a processor does not wait for its work, and gets more time.
fn want_overdue(machine: &mut Guard, now: Instant) -> Option<Instant> {
    let used = thread::processor_time();
    if machine.queue.overdue_by_the_clock_only(now, used, LONGEST)
        && machine::unlocked(machine, thread::others_run)
    {
        return Some(now + PATIENCE);
    }
    machine.queue.want_overdue(now)
}

fn background() {
    let Ok(mut machine) = machine::lock() else { return };
    loop {
        let now = Instant::now();
        let due = want_overdue(&mut machine, now);
        let progress = if machine.queue.drivers == 0 { machine.drive() } else { Progress::Nothing };
        if machine.queue.drivers > 0 {
            // Operations that have just become overdue are work for the waiting threads, too.
            machine::announce();
        }
        match progress {
            Progress::Nothing => {
                let patience = due.map_or(LONGEST, |due| due.saturating_duration_since(now));
                machine::wait_for_work(&mut machine, patience);
            }
            Progress::Worked => {
                machine::announce();
                machine::give_way(&mut machine);
            }
            Progress::Yielded => machine::give_way(&mut machine),
        }
    }
}

/// Completes the operation whose function has returned. The thread that called the function calls this.
fn called(id: OperationId) -> Answer {
    let mut machine = machine::lock()?;
    machine.queue.complete(id);
    leave_the_rest(&machine);
    drop(machine);
    machine::announce();
    Ok(())
}

impl Device {
    /// The thread that calls host functions for this device, started by the first call.
    fn caller(&mut self) -> Option<&Caller> {
        if self.caller.is_none() {
            self.caller = Caller::start(called);
        }
        self.caller.as_ref()
    }
}
