//! Captures and graphs.

use cuda_sys as sys;
use cuda_sys::{cudaGraph_t, cudaGraphNode_t, cudaKernelNodeParams};

use super::super::common::{
    Kernel, N, add_case, arguments, begin, device, end, first, first_is, float, floats, go, graph, integers,
    nodes, null, ready, scale, sum, taken,
};
use super::super::open::graph::{fill, info, kernel};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, event, stream, stream_with};

unsafe extern "C" {
    fn case_add();
    fn case_empty();
}

/// Where the numbers of a case are, which are zero.
fn numbers(log: &mut Log) -> Result<Block, Setup> {
    Block::new(log, Kind::Device, 64)
}

fn empty(log: &mut Log, what: &str, graph: cudaGraph_t, before: &[cudaGraphNode_t]) -> cudaGraphNode_t {
    let mut node = null();
    ask!(log, what, cudaGraphAddEmptyNode(&raw mut node, graph, before.as_ptr(), before.len()));
    node
}

/// A node that adds to the first number.
fn adds(
    log: &mut Log,
    graph: cudaGraph_t,
    before: &[cudaGraphNode_t],
    to: Block,
    amount: i32,
) -> cudaGraphNode_t {
    let (mut at, mut amount, mut node) = (to.ptr(), amount, null());
    let mut list = arguments![at, amount];
    let wanted = kernel(case_add as Kernel, 1, &mut list);
    ask!(
        log,
        "adds",
        cudaGraphAddKernelNode(&raw mut node, graph, before.as_ptr(), before.len(), &raw const wanted)
    );
    node
}

pub(super) fn add(cases: &mut Cases) {
    launches(cases);
    built(cases);
    changed(cases);
    captures(cases);
    conditions(cases);
}

fn launches(cases: &mut Cases) {
    add_case(cases, 157, "once, with allocations in the graph", |log| {
        let (on, mut at, from) = (begin(log)?, null(), Block::with(log, Kind::Pinned, &[8; N])?);
        let to = device(log)?;
        ask!(log, cudaMallocAsync(&raw mut at, N, on));
        ask!(log, cudaMemcpyAsync(at, from.ptr(), N, sys::cudaMemcpyDefault, on));
        ask!(log, cudaMemcpyAsync(to.ptr(), at, N, sys::cudaMemcpyDefault, on));
        ask!(log, cudaFreeAsync(at, on));
        let graph = end(log, on);
        nodes(log, graph);
        let run = ready(log, graph);
        for _ in 0..2 {
            go(log, run, on);
        }
        let got = to.load(log)?;
        log.bytes("all bytes", &got, &[8; N]);
        ready(log, graph);
        taken(log)
    });
    add_case(cases, 194, "on a stream of a priority, with an event behind it", |log| {
        let (mut on, mark, out) = (null(), event(log)?, numbers(log)?);
        need!(log, cudaStreamCreateWithPriority(&raw mut on, sys::cudaStreamNonBlocking, -3));
        let graph = graph(log)?;
        adds(log, graph, &[], out, 2);
        let run = ready(log, graph);
        go(log, run, on);
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, "held", cudaEventQuery(mark));
        ask!(log, "on top", cudaGraphLaunch(run, on));
        gate.open();
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "number", out)?;
        taken(log)
    });
    add_case(cases, 287, "in a loop, with a copy of the result between", |log| {
        let (on, out, graph) = (stream(log)?, numbers(log)?, graph(log)?);
        adds(log, graph, &[], out, 3);
        let run = ready(log, graph);
        for _ in 0..3 {
            let mut got = -1_i32;
            ask!(log, cudaGraphLaunch(run, on));
            ask!(log, cudaMemcpyAsync((&raw mut got).cast(), out.ptr(), 4, sys::cudaMemcpyDeviceToHost, on));
            ask!(log, cudaStreamSynchronize(on));
            log.fact("number", got);
        }
        let captures = begin(log)?;
        ask!(log, "on a stream that captures", cudaGraphLaunch(run, captures));
        let whole = end(log, captures);
        nodes(log, whole);
        ask!(log, "of the thread", cudaGraphLaunch(run, sys::cudaStreamPerThread));
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 274, "after launches, its graph gone before, then the stream", |log| {
        let (on, out, graph) = (stream(log)?, numbers(log)?, graph(log)?);
        adds(log, graph, &[], out, 1);
        let run = ready(log, graph);
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaGraphDestroy(graph));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, cudaStreamDestroy(on));
        first_is(log, "number", out)?;
        taken(log)
    });
}

fn built(cases: &mut Cases) {
    add_case(cases, 164, "in a task's graph, behind others, and launched", |log| {
        let (graph, on) = (graph(log)?, stream(log)?);
        let a = empty(log, "first", graph, &[]);
        let b = empty(log, "second", graph, &[a]);
        empty(log, "both", graph, &[a, b]);
        empty(log, "the same twice", graph, &[a, a]);
        empty(log, "behind null", graph, &[null()]);
        nodes(log, graph);
        let run = ready(log, graph);
        go(log, run, on);
        taken(log)
    });
    add_case(cases, 199, "alone in a graph, behind a node of another one, taken out", |log| {
        let (graph, other, mut made) = (graph(log)?, super::super::common::graph(log)?, null());
        let a = empty(log, "alone", graph, &[]);
        empty(log, "behind another graph's", other, &[a]);
        ask!(log, "no graph", cudaGraphAddEmptyNode(&raw mut made, null(), null(), 0));
        ask!(log, "answer null", cudaGraphAddEmptyNode(null(), graph, null(), 0));
        ask!(log, "no list", cudaGraphAddEmptyNode(&raw mut made, graph, null(), 1));
        ask!(log, cudaGraphDestroyNode(a));
        nodes(log, graph);
        taken(log)
    });
    add_case(cases, 219, "behind two nodes, its description read back", |log| {
        let (graph, out, on) = (graph(log)?, numbers(log)?, stream(log)?);
        let a = fill(log, "a", graph, &[], out, 5, 1);
        let b = fill(log, "b", graph, &[], out.moved(out.at(16)), 6, 1);
        let node = adds(log, graph, &[a, b], out, 10);
        described(log, node);
        let mut more = null();
        ask!(log, "a copy of it", cudaGraphClone(&raw mut more, graph));
        nodes(log, more);
        let run = ready(log, more);
        go(log, run, on);
        let got = out.load(log)?;
        log.fact("numbers", format_args!("{} {}", got[0], got[16]));
        taken(log)
    });
    add_case(cases, 252, "back from a temporary, behind the first copy, and from host memory", |log| {
        let (graph, on, across) = (graph(log)?, stream(log)?, sys::cudaMemcpyDeviceToDevice);
        let (x, y, aside) = (
            Block::with(log, Kind::Device, &[3; N])?,
            Block::with(log, Kind::Device, &[4; N])?,
            device(log)?,
        );
        let mut before = null();
        ask!(
            log,
            cudaGraphAddMemcpyNode1D(&raw mut before, graph, null(), 0, aside.ptr(), x.ptr(), N, across)
        );
        for (to, from) in [(x, y), (y, aside)] {
            let (mut node, after) = (null(), before);
            ask!(
                log,
                cudaGraphAddMemcpyNode1D(
                    &raw mut node,
                    graph,
                    &raw const after,
                    1,
                    to.ptr(),
                    from.ptr(),
                    N,
                    across
                )
            );
            before = node;
        }
        let (host, mut node, down) = (Block::new(log, Kind::Pinned, N)?, null(), sys::cudaMemcpyDeviceToHost);
        ask!(
            log,
            "down",
            cudaGraphAddMemcpyNode1D(
                &raw mut node,
                graph,
                &raw const before,
                1,
                host.ptr(),
                y.ptr(),
                N,
                down
            )
        );
        ask!(
            log,
            "over the end",
            cudaGraphAddMemcpyNode1D(&raw mut node, graph, null(), 0, x.ptr(), y.ptr(), 64 << 20, across)
        );
        nodes(log, graph);
        let run = ready(log, graph);
        if !run.is_null() {
            go(log, run, on);
            let (x, host) = (x.load(log)?, host.load(log)?);
            log.fact("bytes", format_args!("{} {}", x[N - 1], host[N - 1]));
        }
        taken(log)
    });
    add_case(cases, 293, "from ready nodes to one that is there, with what is refused", |log| {
        let (graph, out, on) = (graph(log)?, numbers(log)?, stream(log)?);
        let a = fill(log, "a", graph, &[], out, 5, 1);
        let b = adds(log, graph, &[], out, 1);
        let c = empty(log, "c", graph, &[]);
        let (from, to) = ([a, a], [b, c]);
        ask!(log, "two", cudaGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), null(), 2));
        ask!(log, "none", cudaGraphAddDependencies(graph, null(), null(), null(), 0));
        ask!(log, "again", cudaGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), null(), 1));
        nodes(log, graph);
        ask!(log, "removed", cudaGraphRemoveDependencies(graph, &raw const a, &raw const c, null(), 1));
        ask!(log, "removed again", cudaGraphRemoveDependencies(graph, &raw const a, &raw const c, null(), 1));
        nodes(log, graph);
        let run = ready(log, graph);
        go(log, run, on);
        first_is(log, "number", out)?;
        taken(log)
    });
    add_case(cases, 264, "into the body of a node, and its copy asked for", |log| {
        let (outer, inner, out, on) = (graph(log)?, graph(log)?, numbers(log)?, stream(log)?);
        adds(log, inner, &[], out, 7);
        let body = body(log, outer, 1, sys::cudaGraphCondTypeIf, 1)?;
        let (mut node, mut copy) = (null(), null());
        ask!(log, cudaGraphAddChildGraphNode(&raw mut node, body, null(), 0, inner));
        ask!(log, cudaGraphChildGraphNodeGetGraph(node, &raw mut copy));
        log.fact("another graph", copy != inner);
        nodes(log, copy);
        let run = ready(log, outer);
        go(log, run, on);
        first_is(log, "number", out)?;
        taken(log)
    });
}

/// Notes the description of a kernel node.
fn described(log: &mut Log, node: cudaGraphNode_t) {
    // SAFETY: zeros are null pointers and numbers.
    let mut found: cudaKernelNodeParams = unsafe { std::mem::zeroed() };
    ask!(log, "description", cudaGraphKernelNodeGetParams(node, &raw mut found));
    let (grid, block) = (found.gridDim, found.blockDim);
    log.fact("shape", format_args!("{} {} {} {} {}", grid.x, grid.y, block.x, block.z, found.sharedMemBytes));
    log.fact("kernel", found.func == (case_add as Kernel).cast_mut());
    if !found.kernelParams.is_null() {
        // SAFETY: the runtime keeps the addresses of two arguments.
        log.fact("amount", unsafe { *(*found.kernelParams.add(1)).cast::<i32>() });
    }
}

fn changed(cases: &mut Cases) {
    add_case(cases, 154, "of one of two forms each round, and of what cannot be", |log| {
        let (graph, out, on) = (graph(log)?, numbers(log)?, stream(log)?);
        let node = adds(log, graph, &[], out, 1);
        let run = ready(log, graph);
        for amount in [10, 1, 100] {
            let (mut at, mut amount) = (out.ptr(), amount);
            let mut list = arguments![at, amount];
            let wanted = kernel(case_add as Kernel, 1, &mut list);
            ask!(log, cudaGraphExecKernelNodeSetParams(run, node, &raw const wanted));
            go(log, run, on);
            first_is(log, "number", out)?;
        }
        described(log, node);
        let other = kernel(case_empty as Kernel, 32, &mut []);
        ask!(log, "another kernel", cudaGraphExecKernelNodeSetParams(run, node, &raw const other));
        go(log, run, on);
        let large = kernel(case_empty as Kernel, 2000, &mut []);
        ask!(log, "too many threads", cudaGraphExecKernelNodeSetParams(run, node, &raw const large));
        ask!(log, "no node", cudaGraphExecKernelNodeSetParams(run, null(), &raw const other));
        ask!(log, "no instance", cudaGraphExecKernelNodeSetParams(null(), node, &raw const other));
        taken(log)
    });
    add_case(cases, 190, "with priorities of its streams, flags together", |log| {
        let (graph, out) = (graph(log)?, numbers(log)?);
        let node = adds(log, graph, &[], out, 1);
        for flags in [8, 9, 12, 2 | 8, 32, 1 << 40] {
            let mut run = null();
            ask!(log, &format!("{flags}"), cudaGraphInstantiate(&raw mut run, graph, flags));
            if !run.is_null() {
                let mut found = 77;
                ask!(log, cudaGraphExecGetFlags(run, &raw mut found));
                log.fact("flags", found);
            }
            ask!(log, "last", cudaGetLastError());
        }
        let mut value = sys::cudaLaunchAttributeValue::default();
        ask!(log, cudaGraphKernelNodeGetAttribute(node, sys::cudaLaunchAttributePriority, &raw mut value));
        // SAFETY: the attribute is of this member.
        log.fact("priority", unsafe { value.priority });
        taken(log)
    });
    add_case(cases, 234, "of each node, to find those of a shape, also nodes of other kinds", |log| {
        let (graph, out) = (graph(log)?, numbers(log)?);
        let node = adds(log, graph, &[], out, -4);
        described(log, node);
        let others = [empty(log, "empty", graph, &[]), fill(log, "fill", graph, &[], out, 1, 1)];
        for other in others {
            described(log, other);
        }
        described(log, null());
        ask!(log, "answer null", cudaGraphKernelNodeGetParams(node, null()));
        let on = begin(log)?;
        scale(log, "captured", out, out, 1.0, 16, on);
        let graph = end(log, on);
        let (mut list, mut count) = ([null(); 1], 1);
        ask!(log, cudaGraphGetNodes(graph, list.as_mut_ptr(), &raw mut count));
        // SAFETY: zeros are null pointers and numbers.
        let mut found: cudaKernelNodeParams = unsafe { std::mem::zeroed() };
        ask!(log, cudaGraphKernelNodeGetParams(list[0], &raw mut found));
        log.fact("threads", found.blockDim.x);
        taken(log)
    });
    add_case(cases, 230, "of a capture that nobody uses, again, of a child", |log| {
        let on = begin(log)?;
        let unused = end(log, on);
        nodes(log, unused);
        ask!(log, cudaGraphDestroy(unused));
        ask!(log, cudaStreamDestroy(on));
        let (outer, inner, mut node, mut copy) = (graph(log)?, graph(log)?, null(), null());
        need!(log, cudaGraphAddChildGraphNode(&raw mut node, outer, null(), 0, inner));
        need!(log, cudaGraphChildGraphNodeGetGraph(node, &raw mut copy));
        ask!(log, "inner", cudaGraphDestroy(inner));
        ask!(log, "outer", cudaGraphDestroy(outer));
        ask!(log, "null", cudaGraphDestroy(null()));
        taken(log)
    });
}

fn captures(cases: &mut Cases) {
    add_case(cases, 177, "of a sum whose input changes between launches", |log| {
        let (on, out, from) =
            (begin(log)?, numbers(log)?, Block::with(log, Kind::Pinned, &integers([1; 64]))?);
        ask!(log, cudaMemsetAsync(out.ptr(), 0, 4, on));
        sum(log, "captured", out, from, 64, on);
        let graph = end(log, on);
        let (mut run, mut node) = (null(), sys::cudaGraphInstantiateParams::default());
        ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
        for value in [1, 2] {
            from.store(log, &integers([value; 64]))?;
            go(log, run, on);
            first_is(log, "sum", out)?;
        }
        ask!(log, "with a description", cudaGraphInstantiateWithParams(&raw mut run, graph, &raw mut node));
        log.fact("result", node.result_out.0);
        taken(log)
    });
    add_case(cases, 224, "with work after a node that was added by hand", |log| {
        let (on, out, mut graph) = (begin(log)?, numbers(log)?, null());
        let (mut status, mut list, mut count) =
            (sys::cudaStreamCaptureStatus(77), null::<cudaGraphNode_t>().cast_const(), 0);
        need!(log, cudaMemsetAsync(out.ptr(), 0, 4, on));
        need!(
            log,
            cudaStreamGetCaptureInfo(
                on,
                &raw mut status,
                null(),
                &raw mut graph,
                &raw mut list,
                null(),
                &raw mut count
            )
        );
        // SAFETY: the runtime's list has so many nodes until the next call.
        let before = unsafe { std::slice::from_raw_parts(list, count) }.to_vec();
        let mut node = adds(log, graph, &before, out, 4);
        let set = sys::cudaStreamSetCaptureDependencies.0;
        ask!(log, cudaStreamUpdateCaptureDependencies(on, &raw mut node, null(), 1, set));
        sum(log, "captured", out, out, 1, on);
        let whole = end(log, on);
        log.fact("the same graph", whole == graph);
        nodes(log, whole);
        let run = ready(log, whole);
        go(log, run, on);
        first_is(log, "number", out)?;
        ask!(log, "again", cudaStreamEndCapture(on, &raw mut graph));
        ask!(log, "answer null", cudaStreamEndCapture(on, null()));
        taken(log)
    });
    add_case(cases, 256, "after a fork and a join, of both streams", |log| {
        let (on, side, out, marks) = (begin(log)?, stream(log)?, numbers(log)?, [event(log)?, event(log)?]);
        info(log, "begun", on);
        need!(log, cudaMemsetAsync(out.ptr(), 0, 4, on));
        need!(log, cudaEventRecord(marks[0], on));
        info(log, "not yet forked", side);
        need!(log, cudaStreamWaitEvent(side, marks[0], 0));
        info(log, "forked", side);
        need!(log, cudaMemsetAsync(out.at(8), 0, 4, side));
        need!(log, cudaMemsetAsync(out.at(16), 0, 4, on));
        need!(log, cudaEventRecord(marks[1], side));
        need!(log, cudaStreamWaitEvent(on, marks[1], 0));
        info(log, "joined", on);
        info(log, "side", side);
        let mut status = sys::cudaStreamCaptureStatus(77);
        ask!(log, cudaStreamIsCapturing(side, &raw mut status));
        log.fact("status", status.0);
        end(log, on);
        info(log, "side, after", side);
        taken(log)
    });
}

/// A conditional node, and the graph that it runs.
fn body(
    log: &mut Log,
    graph: cudaGraph_t,
    first: u32,
    kind: sys::cudaGraphConditionalNodeType,
    size: u32,
) -> Result<cudaGraph_t, Setup> {
    let (mut handle, flag, mut node) = (0, sys::cudaGraphCondAssignDefault.0, null());
    ask!(log, "handle", cudaGraphConditionalHandleCreate(&raw mut handle, graph, first, flag));
    let mut wanted =
        sys::cudaGraphNodeParams { type_: sys::cudaGraphNodeTypeConditional, ..Default::default() };
    wanted.__bindgen_anon_1.conditional =
        sys::cudaConditionalNodeParams { handle, type_: kind, size, ..Default::default() };
    need!(log, cudaGraphAddNode(&raw mut node, graph, null(), null(), 0, &raw mut wanted));
    // SAFETY: the call filled this member with a list of graphs.
    Ok(unsafe { *wanted.__bindgen_anon_1.conditional.phGraph_out.add(size as usize - 1) })
}

fn conditions(cases: &mut Cases) {
    add_case(cases, 292, "a first value of 1, for each kind of node that ends", |log| {
        let kinds = [
            ("if", sys::cudaGraphCondTypeIf, 1),
            ("if or else", sys::cudaGraphCondTypeIf, 2),
            ("switch", sys::cudaGraphCondTypeSwitch, 2),
        ];
        for (name, kind, size) in kinds {
            for value in [0, 1, 5] {
                let (graph, out, on) = (graph(log)?, numbers(log)?, stream_with(log, 0)?);
                log.fact(name, value);
                let last = body(log, graph, value, kind, size)?;
                adds(log, last, &[], out, 1);
                let run = ready(log, graph);
                go(log, run, on);
                first_is(log, "the last body ran", out)?;
            }
        }
        while_never(log)
    });
}

fn while_never(log: &mut Log) -> Outcome {
    let (graph, out, on) = (graph(log)?, numbers(log)?, stream(log)?);
    let inner = body(log, graph, 0, sys::cudaGraphCondTypeWhile, 1)?;
    adds(log, inner, &[], out, 1);
    let from = Block::with(log, Kind::Device, &floats([1.0]))?;
    let run = ready(log, graph);
    go(log, run, on);
    scale(log, "beside it", out.moved(out.at(4)), from, 2.0, 1, on);
    ask!(log, cudaStreamSynchronize(on));
    let got = (first(log, out)?, float(log, out, 1)?);
    log.fact("numbers", format_args!("{got:?}"));
    taken(log)
}
