//! Conditional nodes: their bodies, and what a graph with one refuses.

use std::ptr;

use cuda_sys::*;

use super::graph::{empty, graph, ready};
use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};

/// Makes a handle for a graph, with a first value.
fn handle(log: &mut Log, graph: cudaGraph_t) -> Result<cudaGraphConditionalHandle, Setup> {
    let mut handle = 0;
    let flags = cudaGraphCondAssignDefault.0;
    need!(log, cudaGraphConditionalHandleCreate(&raw mut handle, graph, 0, flags));
    Ok(handle)
}

/// Asks for a conditional node, and returns it with its first body.
fn ask_node(
    log: &mut Log,
    what: &'static str,
    graph: cudaGraph_t,
    handle: cudaGraphConditionalHandle,
    (kind, size): (cudaGraphConditionalNodeType, u32),
) -> (cudaGraphNode_t, cudaGraph_t) {
    let mut conditional = cudaConditionalNodeParams::default();
    (conditional.handle, conditional.type_, conditional.size) = (handle, kind, size);
    let mut wanted = cudaGraphNodeParams { type_: cudaGraphNodeTypeConditional, ..Default::default() };
    wanted.__bindgen_anon_1.conditional = conditional;
    let (mut node, none) = (ptr::null_mut(), ptr::null());
    ask!(log, what, cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut wanted));
    // SAFETY: the member was written above, and the call may have filled it.
    let bodies = unsafe { wanted.__bindgen_anon_1.conditional }.phGraph_out;
    // SAFETY: a list that the call returned has a graph.
    let body = if bodies.is_null() { ptr::null_mut() } else { unsafe { *bodies } };
    (node, body)
}

/// A graph with a conditional node.
fn with_node(log: &mut Log) -> Result<(cudaGraph_t, cudaGraphNode_t, cudaGraph_t), Setup> {
    let graph = graph(log)?;
    let handle = handle(log, graph)?;
    let (node, body) = ask_node(log, "the node", graph, handle, (cudaGraphCondTypeIf, 1));
    Ok((graph, node, body))
}

fn instantiate(log: &mut Log, graph: cudaGraph_t) {
    let mut run = ptr::null_mut();
    ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
}

unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}

pub(super) fn add(cases: &mut Cases) {
    cases.add("cudaGraphConditionalHandleCreate/a node with one body", |log| {
        let graph = graph(log)?;
        let mut handle = 0;
        ask!(log, cudaGraphConditionalHandleCreate(&raw mut handle, graph, 1, 0));
        let (_, body) = ask_node(log, "GraphAddNode", graph, handle, (cudaGraphCondTypeIf, 1));
        log.fact("bodies given", !body.is_null());
        log.fact("body given", !body.is_null());
        Ok(())
    });
    cases.add("cudaGraphAddNode/conditional, with few and many bodies", |log| {
        let graph = graph(log)?;
        for (what, kind, sizes) in [
            ("if", cudaGraphCondTypeIf, 0..4),
            ("while", cudaGraphCondTypeWhile, 0..3),
            ("switch", cudaGraphCondTypeSwitch, 0..3),
            ("no such kind", cudaGraphConditionalNodeType(77), 1..2),
        ] {
            for size in sizes {
                log.fact("bodies", size);
                let handle = handle(log, graph)?;
                ask_node(log, what, graph, handle, (kind, size));
            }
        }
        Ok(())
    });
    cases.add("cudaGraphAddNode/conditional, handles that do not fit", |log| {
        let (one, other) = (graph(log)?, graph(log)?);
        let own = handle(log, one)?;
        ask_node(log, "of another graph", other, own, (cudaGraphCondTypeIf, 1));
        ask_node(log, "its own", one, own, (cudaGraphCondTypeIf, 1));
        ask_node(log, "once more", one, own, (cudaGraphCondTypeIf, 1));
        ask_node(log, "none", one, 0, (cudaGraphCondTypeIf, 1));
        Ok(())
    });
    cases.add("cudaGraphInstantiate/a conditional node, twice", |log| {
        let (graph, ..) = with_node(log)?;
        let mut runs = [ptr::null_mut(); 2];
        ask!(log, "first", cudaGraphInstantiate(&raw mut runs[0], graph, 0));
        ask!(log, "second", cudaGraphInstantiate(&raw mut runs[1], graph, 0));
        ask!(log, cudaGraphExecDestroy(runs[0]));
        ask!(log, "after the first", cudaGraphInstantiate(&raw mut runs[1], graph, 0));
        Ok(())
    });
    cases.add("cudaGraphInstantiate/a condition without a node", |log| {
        let graph = graph(log)?;
        handle(log, graph)?;
        instantiate(log, graph);
        Ok(())
    });
    cases.add("cudaGraphClone/a conditional node", |log| {
        let (graph, ..) = with_node(log)?;
        let mut copy = ptr::null_mut();
        ask!(log, cudaGraphClone(&raw mut copy, graph));
        Ok(())
    });
    cases.add("cudaGraphAddChildGraphNode/a conditional node in the child", |log| {
        let (child, ..) = with_node(log)?;
        let (parent, mut node) = (graph(log)?, ptr::null_mut());
        ask!(log, cudaGraphAddChildGraphNode(&raw mut node, parent, ptr::null(), 0, child));
        Ok(())
    });
    cases.add("cudaGraphDestroyNode/a conditional node", |log| {
        let (graph, node, _) = with_node(log)?;
        ask!(log, cudaGraphDestroyNode(node));
        instantiate(log, graph);
        Ok(())
    });
    cases.add("cudaGraphAddHostNode/in a body", |log| {
        let (graph, _, body) = with_node(log)?;
        let wanted = cudaHostNodeParams { fn_: Some(nothing), userData: ptr::null_mut() };
        let mut node = ptr::null_mut();
        ask!(log, cudaGraphAddHostNode(&raw mut node, body, ptr::null(), 0, &raw const wanted));
        instantiate(log, graph);
        Ok(())
    });
    cases.add("cudaGraphDestroy/a body", |log| {
        let (graph, _, body) = with_node(log)?;
        empty(log, body, &[])?;
        ask!(log, cudaGraphDestroy(body));
        instantiate(log, graph);
        Ok(())
    });
    cases.add("cudaGraphExecUpdate/a conditional node", |log| {
        let (graph, _, body) = with_node(log)?;
        empty(log, body, &[])?;
        let run = ready(log, graph)?;
        let (other, ..) = with_node(log)?;
        let mut result = cudaGraphExecUpdateResultInfo::default();
        ask!(log, "by its graph", cudaGraphExecUpdate(run, graph, &raw mut result));
        log.fact("result", result.result.0);
        ask!(log, "by another graph", cudaGraphExecUpdate(run, other, &raw mut result));
        log.fact("result", result.result.0);
        Ok(())
    });
}
