//! Streams and events.

use cuda_sys as sys;
use cuda_sys::cudaStream_t;

use super::super::common::{add_case, null, taken};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask};
use crate::memory::event;

pub(super) fn add(cases: &mut Cases) {
    streams(cases);
}

/// Notes what a stream is like, and whether the default stream holds it.
fn about(log: &mut Log, on: cudaStream_t) -> Outcome {
    let (mut flags, mut priority, mut device, mark) = (77, 77, 77, event(log)?);
    ask!(log, cudaStreamGetFlags(on, &raw mut flags));
    ask!(log, cudaStreamGetPriority(on, &raw mut priority));
    ask!(log, cudaStreamGetDevice(on, &raw mut device));
    log.fact("flags, priority, device", format_args!("{flags} {priority} {device}"));
    let gate = Gate::hold(log, null())?;
    ask!(log, cudaEventRecord(mark, on));
    ask!(log, "behind the default stream", cudaEventQuery(mark));
    gate.open();
    ask!(log, cudaDeviceSynchronize());
    Ok(())
}

fn streams(cases: &mut Cases) {
    add_case(cases, 198, "for launches of a graph, non-blocking", |log| {
        let mut on = null();
        ask!(log, cudaStreamCreateWithFlags(&raw mut on, sys::cudaStreamNonBlocking));
        about(log, on)?;
        ask!(log, "flags 2", cudaStreamCreateWithFlags(&raw mut on, 2));
        taken(log)
    });
}
