//! Puts work on streams.

use super::drive::{queued, wait_for};
use super::queue::Tick;
use super::table::Key;
use super::work::Work;
use crate::error::Answer;
use crate::exec::env::Task;
use crate::machine::Guard;
use crate::sys::cudaErrorInvalidResourceHandle;

/// How much pageable memory may be held for copies that have not run, before a call waits for its own.
const STAGED: usize = 64 << 20;

/// Puts an operation on a stream, after all that the rules say; answers with its name.
pub(crate) fn submit(
    machine: &mut Guard,
    stream: Key,
    call: &'static str,
    work: Work,
    and: &[Tick],
) -> Answer<Tick> {
    let device = machine.streams.get(stream)?.device;
    let m = &mut **machine;
    let mut before = m.streams.before(stream, &m.queue);
    before.extend_from_slice(and);
    let record = if let Work::Record(record) = &work { Some(record.event) } else { None };
    let tick = m.queue.push(device, call, work, &before);
    m.streams.append(stream, tick, &m.queue);
    if let Some(event) = record {
        m.events.recorded(event, tick);
    }
    queued(machine);
    if machine.queue.staged > STAGED {
        wait_for(machine, &[tick]);
    }
    Ok(tick)
}

/// Launches a kernel on a stream of the calling thread's current device.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` where the stream belongs to another device.
pub(crate) fn submit_task(
    machine: &mut Guard,
    stream: Key,
    device: usize,
    call: &'static str,
    task: Box<dyn Task>,
) -> Answer<Tick> {
    if machine.streams.get(stream)?.device != device {
        return Err(cudaErrorInvalidResourceHandle);
    }
    submit(machine, stream, call, Work::Task(task), &[])
}

/// Puts an operation after all and before all that these devices have and will have to do.
pub(crate) fn submit_everywhere(
    machine: &mut Guard,
    stream: Key,
    devices: &[usize],
    call: &'static str,
    work: Work,
) -> Answer<Tick> {
    let before: Vec<Tick> = devices.iter().flat_map(|device| machine.streams.tails(*device)).collect();
    let home = machine.streams.get(stream)?.device;
    let m = &mut **machine;
    let tick = m.queue.push(home, call, work, &before);
    for device in devices {
        m.streams.append_everywhere(*device, tick);
    }
    queued(machine);
    Ok(tick)
}
