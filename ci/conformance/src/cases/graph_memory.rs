//! Memory that graphs allocate and free by nodes of their own: the forms of such graphs, and their
//! attributes.

use std::ptr;

use cuda_sys::*;

use super::graph::{N, empty, graph, launch, ready, row};
use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, stream};

/// A node that allocates, with its address.
fn allocation(log: &mut Log, graph: cudaGraph_t) -> Result<(cudaGraphNode_t, cudaMemAllocNodeParams), Setup> {
    let (mut made, mut wanted) = (ptr::null_mut(), cudaMemAllocNodeParams::default());
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location.type_ = cudaMemLocationTypeDevice;
    wanted.bytesize = N;
    need!(log, cudaGraphAddMemAllocNode(&raw mut made, graph, ptr::null(), 0, &raw mut wanted));
    Ok((made, wanted))
}

/// A graph that allocates and frees, with the two nodes.
fn freeing(log: &mut Log) -> Result<(cudaGraph_t, [cudaGraphNode_t; 2]), Setup> {
    let graph = graph(log)?;
    let (made, wanted) = allocation(log, graph)?;
    let mut freed = ptr::null_mut();
    need!(log, cudaGraphAddMemFreeNode(&raw mut freed, graph, &raw const made, 1, wanted.dptr));
    Ok((graph, [made, freed]))
}

fn forms(cases: &mut Cases) {
    cases.add("cudaGraphInstantiate/a graph that allocates, twice", |log| {
        let (graph, _) = freeing(log)?;
        let (first, mut second) = (ready(log, graph)?, ptr::null_mut());
        ask!(log, cudaGraphInstantiate(&raw mut second, graph, 0));
        ask!(log, cudaGraphExecDestroy(first));
        ask!(log, "again", cudaGraphInstantiate(&raw mut second, graph, 0));
        Ok(())
    });
    cases.add("cudaGraphLaunch/a graph that allocates and does not free, twice", |log| {
        let (graph, on) = (graph(log)?, stream(log)?);
        let (_, wanted) = allocation(log, graph)?;
        let run = ready(log, graph)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, "again", cudaGraphLaunch(run, on));
        ask!(log, cudaFreeAsync(wanted.dptr, on));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.add("cudaGraphAddChildGraphNode/a graph that allocates", |log| {
        let ((inner, _), outer, mut node) = (freeing(log)?, graph(log)?, ptr::null_mut());
        ask!(log, cudaGraphAddChildGraphNode(&raw mut node, outer, ptr::null(), 0, inner));
        Ok(())
    });
    cases.add("cudaGraphExecUpdate/the same graph, which allocates", |log| {
        let (graph, [made, freed]) = freeing(log)?;
        let (block, mut set) = (Block::new(log, Kind::Device, N)?, ptr::null_mut());
        let (one, two) = (row(block, 1), row(block, 2));
        need!(log, cudaGraphAddMemsetNode(&raw mut set, graph, &raw const freed, 1, &raw const one));
        let run = ready(log, graph)?;
        ask!(log, cudaGraphMemsetNodeSetParams(set, &raw const two));
        let mut info = cudaGraphExecUpdateResultInfo::default();
        ask!(log, cudaGraphExecUpdate(run, graph, &raw mut info));
        log.fact("result", info.result.0);
        log.fact("another node", made != set);
        launch(log, run, block, &[2; N])
    });
}

fn nodes(cases: &mut Cases) {
    cases.add("cudaGraphAddMemFreeNode/freed twice", |log| {
        let graph = graph(log)?;
        let (made, wanted) = allocation(log, graph)?;
        let mut freed = ptr::null_mut();
        ask!(log, cudaGraphAddMemFreeNode(&raw mut freed, graph, &raw const made, 1, wanted.dptr));
        let first = freed;
        ask!(log, "again", cudaGraphAddMemFreeNode(&raw mut freed, graph, &raw const first, 1, wanted.dptr));
        Ok(())
    });
    cases.add("cudaGraphAddMemFreeNode/not after the allocation", |log| {
        let graph = graph(log)?;
        let (_, wanted) = allocation(log, graph)?;
        let (mut freed, mut run) = (ptr::null_mut(), ptr::null_mut());
        ask!(log, cudaGraphAddMemFreeNode(&raw mut freed, graph, ptr::null(), 0, wanted.dptr));
        ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
        Ok(())
    });
    cases.add("cudaGraphDestroyNode/in a graph that allocates", |log| {
        let (graph, [made, freed]) = freeing(log)?;
        let other = empty(log, graph, &[])?;
        ask!(log, "another node", cudaGraphDestroyNode(other));
        ask!(log, "that frees", cudaGraphDestroyNode(freed));
        ask!(log, "that allocates", cudaGraphDestroyNode(made));
        Ok(())
    });
    cases.add("cudaGraphMemAllocNodeGetParams/what was asked for, and of others", |log| {
        let graph = graph(log)?;
        let (made, wanted) = allocation(log, graph)?;
        let (other, mut found) = (empty(log, graph, &[])?, cudaMemAllocNodeParams::default());
        ask!(log, cudaGraphMemAllocNodeGetParams(made, &raw mut found));
        log.fact("same address", found.dptr == wanted.dptr);
        log.fact("bytes", found.bytesize);
        ask!(log, "of others", cudaGraphMemAllocNodeGetParams(other, &raw mut found));
        Ok(())
    });
    cases.add("cudaGraphAddMemAllocNode/no bytes", |log| {
        let (graph, mut made, mut wanted) = (graph(log)?, ptr::null_mut(), cudaMemAllocNodeParams::default());
        wanted.poolProps.allocType = cudaMemAllocationTypePinned;
        wanted.poolProps.location.type_ = cudaMemLocationTypeDevice;
        ask!(log, cudaGraphAddMemAllocNode(&raw mut made, graph, ptr::null(), 0, &raw mut wanted));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    forms(cases);
    nodes(cases);
}
