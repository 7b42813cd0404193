//! Launches of executable graphs.

use super::conditional::{Beginning, parts};
use super::node::NodeOp;
use crate::error::Answer;
use crate::host_line::HostLine;
use crate::machine::Guard;
use crate::stream::{OperationId, Part, StreamId, Work, submit_after, submit_all};
use crate::sys::{cudaErrorInvalidValue, cudaGraphInstantiateFlagAutoFreeOnLaunch};

/// The effect of an operation on the memory of its graph: the address, and the bytes that it allocates, or
/// `None` if it frees.
fn memory(op: &NodeOp) -> Option<(u64, Option<u64>)> {
    match op {
        NodeOp::Alloc(address, bytes) => Some((*address, Some(*bytes))),
        NodeOp::Free(address) => Some((*address, None)),
        _ => None,
    }
}

/// Puts all nodes of an executable graph on the queue, after the pending work of the stream and after its
/// last launch.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is no such graph, or if memory that its last launch allocated is still in
/// use.
pub(crate) fn launch(machine: &mut Guard, exec: usize, stream: StreamId, call: &'static str) -> Answer {
    let m = &mut **machine;
    let it = m.graphs.exec(exec)?;
    let frees_first = it.flags & u64::from(cudaGraphInstantiateFlagAutoFreeOnLaunch.0) != 0;
    let mut allocated = it.steps.iter().filter(|step| step.enabled).filter_map(|step| memory(&step.op));
    if !frees_first && allocated.any(|(at, bytes)| bytes.is_some() && m.graphs.memory.is_in_use(at)) {
        return Err(cudaErrorInvalidValue);
    }
    let last = it.last;
    let mut parts = parts(&it.steps, |event| m.events.id(event));
    if let Some(beginning) = Beginning::of(&it.steps) {
        for part in &mut parts {
            part.before.iter_mut().for_each(|at| *at += 1);
            if part.before.is_empty() {
                part.before.push(0);
            }
        }
        let (device, work) =
            (it.steps.first().map_or(0, |step| step.device), Work::Expansion(Box::new(beginning)));
        parts.insert(
            0,
            Part { device, call, line: HostLine::NONE, work, before: Vec::new(), and: Vec::new() },
        );
    }
    let memory: Vec<_> =
        it.steps.iter().filter(|step| step.enabled).filter_map(|step| memory(&step.op)).collect();
    let end = submit_all(machine, stream, call, parts, &[last])?;
    for (address, bytes) in memory {
        match bytes {
            Some(bytes) => {
                let device = machine.allocations.at(address).map_or(0, |it| it.device);
                machine.graphs.memory.take(address, device, bytes);
            }
            None => machine.graphs.memory.free(address),
        }
    }
    let it = machine.graphs.exec_mut(exec)?;
    it.last = end;
    it.steps.iter_mut().for_each(|step| step.changed = false);
    Ok(())
}

/// Releases the resources of an executable graph, once its last launch is over.
pub(crate) fn release(
    machine: &mut Guard,
    users: Vec<(usize, u32)>,
    device: usize,
    after: OperationId,
) -> Answer {
    if !machine.queue.pending(after) {
        for (user, count) in users {
            if let Some(destroy) = machine.users.release(user, count)? {
                submit_after(machine, device, "cudaUserObjectRelease", Work::Host(destroy), &[]);
            }
        }
    } else if !users.is_empty() {
        submit_after(machine, device, "cudaGraphExecDestroy", Work::Release(users), &[after]);
    }
    Ok(())
}
