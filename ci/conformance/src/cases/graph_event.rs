//! Nodes that record events and wait for them.

use std::ptr;

use cuda_sys::*;

use super::graph::{empty, graph, ready};
use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{event, stream};

/// A graph that waits for an event and then records another, with the two nodes.
fn graph_of(
    log: &mut Log,
    wait: cudaEvent_t,
    record: cudaEvent_t,
) -> Result<(cudaGraph_t, [cudaGraphNode_t; 2]), Setup> {
    let (graph, mut waits, mut records) = (graph(log)?, ptr::null_mut(), ptr::null_mut());
    need!(log, cudaGraphAddEventWaitNode(&raw mut waits, graph, ptr::null(), 0, wait));
    need!(log, cudaGraphAddEventRecordNode(&raw mut records, graph, &raw const waits, 1, record));
    Ok((graph, [waits, records]))
}

pub(super) fn add(cases: &mut Cases) {
    cases.add("cudaGraphEventRecordNodeGetEvent/of nodes, changed, and of other kinds", |log| {
        let (a, b, mut found) = (event(log)?, event(log)?, ptr::null_mut());
        let (graph, [waits, records]) = graph_of(log, a, b)?;
        ask!(log, cudaGraphEventWaitNodeGetEvent(waits, &raw mut found));
        log.fact("the first", found == a);
        ask!(log, cudaGraphEventRecordNodeGetEvent(records, &raw mut found));
        log.fact("the second", found == b);
        ask!(log, cudaGraphEventWaitNodeSetEvent(waits, b));
        ask!(log, cudaGraphEventRecordNodeSetEvent(records, a));
        ask!(log, cudaGraphEventWaitNodeGetEvent(waits, &raw mut found));
        log.fact("the second", found == b);
        let other = empty(log, graph, &[])?;
        ask!(log, "of nothing", cudaGraphEventRecordNodeGetEvent(other, &raw mut found));
        ask!(log, "a record of a wait", cudaGraphEventRecordNodeSetEvent(waits, a));
        ask!(log, "null", cudaGraphEventRecordNodeSetEvent(records, ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaGraphLaunch/a graph that waits for an event that was never recorded", |log| {
        let (a, b, on) = (event(log)?, event(log)?, stream(log)?);
        let (graph, _) = graph_of(log, a, b)?;
        let run = ready(log, graph)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaEventQuery(b));
        Ok(())
    });
    cases.add("cudaGraphLaunch/a graph that waits for what it records, twice", |log| {
        let (a, on) = (event(log)?, stream(log)?);
        let (graph, _) = graph_of(log, a, a)?;
        let run = ready(log, graph)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, "again", cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.add("cudaGraphExecEventRecordNodeSetEvent/another event, and nodes of other kinds", |log| {
        let (a, b, c, on) = (event(log)?, event(log)?, event(log)?, stream(log)?);
        let (graph, [waits, records]) = graph_of(log, a, b)?;
        let other = empty(log, graph, &[])?;
        let run = ready(log, graph)?;
        ask!(log, cudaGraphExecEventRecordNodeSetEvent(run, records, c));
        ask!(log, cudaGraphExecEventWaitNodeSetEvent(run, waits, c));
        ask!(log, "a record of a wait", cudaGraphExecEventRecordNodeSetEvent(run, waits, c));
        ask!(log, "a wait of nothing", cudaGraphExecEventWaitNodeSetEvent(run, other, c));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases
        .add("cudaGraphAddEventRecordNode/an event of another device", |log| {
            let (here, mut node) = (graph(log)?, ptr::null_mut());
            need!(log, cudaSetDevice(1));
            let there = event(log)?;
            need!(log, cudaSetDevice(0));
            ask!(log, cudaGraphAddEventRecordNode(&raw mut node, here, ptr::null(), 0, there));
            let mut run = ptr::null_mut();
            ask!(log, cudaGraphInstantiate(&raw mut run, here, 0));
            Ok(())
        })
        .two_devices();
}
