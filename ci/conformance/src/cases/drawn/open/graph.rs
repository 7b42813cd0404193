//! Captures and graphs.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::{cudaGraph_t, cudaGraphExec_t, cudaGraphNode_t, cudaKernelNodeParams, cudaMemsetParams};

use super::super::common::{
    Kernel, N, add_case, arguments, begin, device, end, first_is, float, float_is, floats, go, graph,
    integers, nodes, null, ready, scale, shape, sum, taken, waits,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, event, stream, stream_with};

unsafe extern "C" {
    fn case_empty();
    fn case_scale();
}

pub(super) fn add(cases: &mut Cases) {
    captures(cases);
    built(cases);
    changed(cases);
    launched(cases);
}

/// The description of a kernel node.
pub(crate) fn kernel(of: Kernel, threads: usize, list: &mut [*mut c_void]) -> cudaKernelNodeParams {
    cudaKernelNodeParams {
        func: of.cast_mut().cast(),
        gridDim: shape(1),
        blockDim: shape(threads),
        sharedMemBytes: 0,
        kernelParams: list.as_mut_ptr(),
        extra: null(),
    }
}

/// A node that sets `width` numbers of four bytes.
pub(crate) fn fill(
    log: &mut Log,
    what: &str,
    graph: cudaGraph_t,
    before: &[cudaGraphNode_t],
    to: Block,
    value: u32,
    width: usize,
) -> cudaGraphNode_t {
    let wanted = cudaMemsetParams { dst: to.ptr(), pitch: 0, value, elementSize: 4, width, height: 1 };
    let mut node = null();
    ask!(
        log,
        what,
        cudaGraphAddMemsetNode(&raw mut node, graph, before.as_ptr(), before.len(), &raw const wanted)
    );
    node
}

/// A captured fill and sum, of `count` ones.
fn captured(log: &mut Log, out: Block, from: Block, count: usize) -> Result<cudaGraph_t, Setup> {
    let on = begin(log)?;
    need!(log, cudaMemsetAsync(out.ptr(), 0, 4, on));
    sum(log, "captured", out, from, count, on);
    Ok(end(log, on))
}

fn captures(cases: &mut Cases) {
    add_case(cases, 26, "of a sum, the codes of calls that may not be there", |log| {
        let (on, out) = (stream(log)?, device(log)?);
        let from = Block::with(log, Kind::Device, &integers([1; 1024]))?;
        ask!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        ask!(log, "again", cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        sum(log, "kernel", out, from, 1024, on);
        ask!(log, "a query", cudaStreamQuery(on));
        ask!(log, "captures", cudaPeekAtLastError());
        let graph = end(log, on);
        if !graph.is_null() {
            nodes(log, graph);
        }
        taken(log)
    });
    add_case(cases, 50, "on the default stream, on no stream, in modes", |log| {
        let on = stream(log)?;
        ask!(log, "default", cudaStreamBeginCapture(null(), sys::cudaStreamCaptureModeGlobal));
        ask!(log, "last", cudaGetLastError());
        ask!(
            log,
            "of the thread",
            cudaStreamBeginCapture(sys::cudaStreamPerThread, sys::cudaStreamCaptureModeRelaxed)
        );
        end(log, sys::cudaStreamPerThread);
        ask!(log, "no such mode", cudaStreamBeginCapture(on, sys::cudaStreamCaptureMode(9)));
        for mode in 0..3 {
            ask!(log, &format!("{mode}"), cudaStreamBeginCapture(on, sys::cudaStreamCaptureMode(mode)));
            let mut at = null();
            ask!(log, "an allocation", cudaMalloc(&raw mut at, 64));
            let graph = end(log, on);
            if !graph.is_null() {
                nodes(log, graph);
            }
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
    add_case(cases, 84, "in each round of a loop, memory that was allocated before", |log| {
        let (on, sums, mut run): (_, _, cudaGraphExec_t) = (stream(log)?, device(log)?, null());
        let from = Block::with(log, Kind::Device, &integers([1; 1024]))?;
        for round in 1..4 {
            ask!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
            ask!(log, cudaMemsetAsync(sums.ptr(), 0, 8, on));
            sum(log, "kernel", sums, from, 100 * round, on);
            let (graph, mut result) = (end(log, on), sys::cudaGraphExecUpdateResultInfo::default());
            if run.is_null() {
                run = ready(log, graph);
            } else {
                ask!(log, cudaGraphExecUpdate(run, graph, &raw mut result));
                log.fact("result", result.result.0);
            }
            go(log, run, on);
            first_is(log, "sum", sums)?;
            ask!(log, cudaGraphDestroy(graph));
        }
        Ok(())
    });
    add_case(cases, 133, "with a copy down to the stack, of another stream, and not joined", |log| {
        let (on, out, mut got) = (begin(log)?, device(log)?, [0_u8; 8]);
        ask!(log, cudaMemsetAsync(out.ptr(), 5, 8, on));
        ask!(log, cudaMemcpyAsync(got.as_mut_ptr().cast(), out.ptr(), 8, sys::cudaMemcpyDeviceToHost, on));
        let graph = end(log, on);
        nodes(log, graph);
        let run = ready(log, graph);
        go(log, run, on);
        log.fact("bytes", format_args!("{got:?}"));
        end(log, on);
        let (on, side, mark) = (begin(log)?, stream(log)?, event(log)?);
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, cudaStreamWaitEvent(side, mark, 0));
        ask!(log, cudaMemsetAsync(out.ptr(), 5, 8, side));
        end(log, side);
        end(log, on);
        taken(log)
    });
    add_case(cases, 101, "the graph and the last nodes, step by step", |log| {
        let (on, out) = (stream(log)?, device(log)?);
        info(log, "before", on);
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        info(log, "empty", on);
        for _ in 0..2 {
            need!(log, cudaMemsetAsync(out.ptr(), 5, 8, on));
            info(log, "a node", on);
        }
        let mut status = sys::cudaStreamCaptureStatus(77);
        ask!(
            log,
            "nulls",
            cudaStreamGetCaptureInfo(on, &raw mut status, null(), null(), null(), null(), null())
        );
        ask!(
            log,
            "status null",
            cudaStreamGetCaptureInfo(on, null(), null(), null(), null(), null(), null())
        );
        ask!(
            log,
            "default",
            cudaStreamGetCaptureInfo(null(), &raw mut status, null(), null(), null(), null(), null())
        );
        log.fact("status", status.0);
        end(log, on);
        info(log, "after", on);
        taken(log)
    });
    add_case(cases, 63, "to a node that was added by hand, and to none", |log| {
        let (on, out) = (begin(log)?, device(log)?);
        need!(log, cudaMemsetAsync(out.ptr(), 5, 8, on));
        let (mut status, mut graph) = (sys::cudaStreamCaptureStatus(77), null());
        need!(
            log,
            cudaStreamGetCaptureInfo(on, &raw mut status, null(), &raw mut graph, null(), null(), null())
        );
        let mut node = fill(log, "by hand", graph, &[], out, 1, 4);
        let (set, more) = (sys::cudaStreamSetCaptureDependencies.0, sys::cudaStreamAddCaptureDependencies.0);
        ask!(log, "more", cudaStreamUpdateCaptureDependencies(on, &raw mut node, null(), 1, more));
        info(log, "two", on);
        ask!(log, "set", cudaStreamUpdateCaptureDependencies(on, &raw mut node, null(), 1, set));
        info(log, "one", on);
        need!(log, cudaMemsetAsync(out.ptr(), 5, 8, on));
        ask!(log, "to none", cudaStreamUpdateCaptureDependencies(on, null(), null(), 0, set));
        ask!(log, "no such flag", cudaStreamUpdateCaptureDependencies(on, null(), null(), 0, 9));
        let graph = end(log, on);
        if !graph.is_null() {
            nodes(log, graph);
        }
        ask!(
            log,
            "when it does not capture",
            cudaStreamUpdateCaptureDependencies(on, null(), null(), 0, set)
        );
        taken(log)
    });
    add_case(cases, 119, "an event for others, from within a capture", |log| {
        let (on, mark, plain) = (begin(log)?, event(log)?, event(log)?);
        ask!(log, "outside of a graph", cudaEventRecordWithFlags(mark, on, sys::cudaEventRecordExternal));
        ask!(log, cudaEventRecordWithFlags(plain, on, sys::cudaEventRecordDefault));
        ask!(log, "no such flag", cudaEventRecordWithFlags(plain, on, 8));
        ask!(log, "wait for it", cudaStreamWaitEvent(on, mark, sys::cudaEventWaitExternal));
        let graph = end(log, on);
        nodes(log, graph);
        let run = ready(log, graph);
        go(log, run, on);
        ask!(log, "recorded", cudaEventQuery(mark));
        ask!(log, "captured", cudaEventQuery(plain));
        ask!(log, "no capture", cudaEventRecordWithFlags(mark, on, sys::cudaEventRecordExternal));
        taken(log)
    });
}

/// Notes the state of a capture: status, whether there is a graph, and how many nodes the next one follows.
pub(crate) fn info(log: &mut Log, what: &str, on: sys::cudaStream_t) {
    let (mut status, mut id, mut graph) = (sys::cudaStreamCaptureStatus(77), 0, null());
    let (mut list, mut count) = (null::<cudaGraphNode_t>().cast_const(), 77);
    let (status_to, graph_to) = (&raw mut status, &raw mut graph);
    ask!(
        log,
        what,
        cudaStreamGetCaptureInfo(on, status_to, &raw mut id, graph_to, &raw mut list, null(), &raw mut count)
    );
    log.fact("state", format_args!("{} graph {} last nodes {count}", status.0, !graph.is_null()));
}

fn built(cases: &mut Cases) {
    add_case(cases, 10, "a graph of two nodes behind another node, its source gone then", |log| {
        let (graph, child, out, on) =
            (graph(log)?, graph(log)?, Block::new(log, Kind::Device, 16)?, stream(log)?);
        let before = fill(log, "before", graph, &[], out, 1, 4);
        let inner = fill(log, "inner", child, &[], out, 2, 2);
        fill(log, "inner", child, &[inner], out, 3, 1);
        let mut node = null();
        ask!(log, cudaGraphAddChildGraphNode(&raw mut node, graph, &raw const before, 1, child));
        ask!(log, "itself", cudaGraphAddChildGraphNode(&raw mut node, graph, null(), 0, graph));
        ask!(log, cudaGraphDestroy(child));
        nodes(log, graph);
        let run = ready(log, graph);
        go(log, run, on);
        let got = out.load(log)?;
        log.fact("numbers", format_args!("{} {} {} {}", got[0], got[4], got[8], got[12]));
        ask!(log, "null", cudaGraphAddChildGraphNode(&raw mut node, graph, null(), 0, null()));
        Ok(())
    });
    add_case(cases, 68, "before a capture ends, whose result takes its place", |log| {
        let (on, out, mut made) = (begin(log)?, device(log)?, null());
        ask!(log, cudaGraphCreate(&raw mut made, 0));
        need!(log, cudaMemsetAsync(out.ptr(), 1, 8, on));
        let first = made;
        ask!(log, cudaStreamEndCapture(on, &raw mut made));
        log.fact("the same", made == first);
        nodes(log, made);
        nodes(log, first);
        ask!(log, "flags 1", cudaGraphCreate(&raw mut made, 1));
        ask!(log, "null", cudaGraphCreate(null(), 0));
        taken(log)
    });
    add_case(cases, 70, "behind a fill, with arguments on the stack, and what is refused", |log| {
        let (graph, to, on) = (graph(log)?, device(log)?, stream(log)?);
        let from = Block::with(log, Kind::Device, &floats([3.0; 32]))?;
        let before = fill(log, "before", graph, &[], to, 7, 32);
        let mut node = null();
        {
            let (mut a, mut b, mut by, mut count) = (to.ptr(), from.ptr(), 2_f32, 16_i32);
            let mut list = arguments![a, b, by, count];
            let wanted = kernel(case_scale as Kernel, 32, &mut list);
            ask!(log, cudaGraphAddKernelNode(&raw mut node, graph, &raw const before, 1, &raw const wanted));
            count = 0;
            by = 9.0;
            let _ = (count, by);
        }
        let run = ready(log, graph);
        go(log, run, on);
        let got = (float(log, to, 15)?, float(log, to, 16)?.to_bits());
        log.fact("numbers", format_args!("{} {}", got.0, got.1));
        let mut wanted = kernel(case_empty as Kernel, 2000, &mut []);
        ask!(log, "2000 threads", cudaGraphAddKernelNode(&raw mut node, graph, null(), 0, &raw const wanted));
        wanted.blockDim = shape(0);
        ask!(log, "no threads", cudaGraphAddKernelNode(&raw mut node, graph, null(), 0, &raw const wanted));
        (wanted.blockDim, wanted.func) = (shape(32), null());
        ask!(log, "no kernel", cudaGraphAddKernelNode(&raw mut node, graph, null(), 0, &raw const wanted));
        ask!(log, "no description", cudaGraphAddKernelNode(&raw mut node, graph, null(), 0, null()));
        taken(log)
    });
    add_case(cases, 86, "two numbers of four bytes, and other shapes of it", |log| {
        let (graph, to, on) = (graph(log)?, Block::new(log, Kind::Device, 64)?, stream(log)?);
        for (name, value, size, width, height, pitch) in [
            ("two", 0x0102_0304, 4, 2, 1, 0),
            ("rows", 0x0506, 2, 1, 2, 16),
            ("a byte", 0x1ff, 1, 1, 1, 0),
            ("of three bytes", 1, 3, 1, 1, 0),
            ("of eight bytes", 1, 8, 1, 1, 0),
            ("no width", 1, 1, 0, 1, 0),
            ("no height", 1, 1, 1, 0, 0),
            ("a small pitch", 1, 4, 4, 2, 8),
        ] {
            let dst = to.at(if name == "rows" {
                16
            } else if name == "a byte" {
                60
            } else {
                0
            });
            let wanted = cudaMemsetParams { dst, pitch, value, elementSize: size, width, height };
            let mut node = null();
            ask!(log, name, cudaGraphAddMemsetNode(&raw mut node, graph, null(), 0, &raw const wanted));
            ask!(log, "last", cudaGetLastError());
        }
        nodes(log, graph);
        let run = ready(log, graph);
        go(log, run, on);
        let got = to.load(log)?;
        log.fact("bytes", format_args!("{:?} {:?} {:?} {}", &got[..9], &got[16..20], &got[32..36], got[60]));
        Ok(())
    });
    add_case(cases, 130, "a row to itself and back, in a child, and sides that do not fit", |log| {
        let (graph, on) = (graph(log)?, stream(log)?);
        let (x, y) = (Block::with(log, Kind::Device, &[3; N])?, device(log)?);
        let (mut node, across) = (null(), sys::cudaMemcpyDeviceToDevice);
        ask!(log, cudaGraphAddMemcpyNode1D(&raw mut node, graph, null(), 0, y.ptr(), x.ptr(), N, across));
        let way = sys::cudaMemcpyHostToDevice;
        ask!(
            log,
            "as if up",
            cudaGraphAddMemcpyNode1D(&raw mut node, graph, null(), 0, y.ptr(), x.ptr(), 8, way)
        );
        ask!(
            log,
            "none",
            cudaGraphAddMemcpyNode1D(&raw mut node, graph, null(), 0, y.ptr(), x.ptr(), 0, across)
        );
        ask!(
            log,
            "to null",
            cudaGraphAddMemcpyNode1D(&raw mut node, graph, null(), 0, null(), x.ptr(), 8, across)
        );
        let auto = sys::cudaMemcpyDefault;
        ask!(
            log,
            "left open",
            cudaGraphAddMemcpyNode1D(&raw mut node, graph, null(), 0, y.at(8), x.ptr(), 8, auto)
        );
        nodes(log, graph);
        let run = ready(log, graph);
        go(log, run, on);
        let got = y.load(log)?;
        log.bytes("all bytes", &got, &[3; N]);
        taken(log)
    });
    add_case(cases, 41, "of each node of a capture of two streams", joined);
    add_case(cases, 147, "a first value of 1 or 0, of an if, and what is refused", conditions);
}

fn joined(log: &mut Log) -> Outcome {
    let (on, side, out) = (begin(log)?, stream(log)?, device(log)?);
    let (fork, join) = (event(log)?, event(log)?);
    need!(log, cudaMemsetAsync(out.ptr(), 1, 8, on));
    need!(log, cudaEventRecord(fork, on));
    need!(log, cudaStreamWaitEvent(side, fork, 0));
    need!(log, cudaMemsetAsync(out.at(8), 1, 8, side));
    need!(log, cudaMemsetAsync(out.at(16), 1, 8, on));
    need!(log, cudaEventRecord(join, side));
    need!(log, cudaStreamWaitEvent(on, join, 0));
    need!(log, cudaMemsetAsync(out.ptr(), 1, 24, on));
    let graph = end(log, on);
    let (mut count, mut list) = (4, [null(); 4]);
    ask!(log, cudaGraphGetNodes(graph, list.as_mut_ptr(), &raw mut count));
    let mut counts = Vec::new();
    for node in list {
        let (mut before, mut after) = (77, 77);
        ask!(log, "before", cudaGraphNodeGetDependencies(node, null(), null(), &raw mut before));
        ask!(log, "after", cudaGraphNodeGetDependentNodes(node, null(), null(), &raw mut after));
        counts.push((before, after));
        let (mut some, mut edges, mut room) = ([null(); 1], [sys::cudaGraphEdgeData::default(); 1], 1);
        ask!(
            log,
            "one",
            cudaGraphNodeGetDependencies(node, some.as_mut_ptr(), edges.as_mut_ptr(), &raw mut room)
        );
        counts.push((room, usize::from(edges[0].type_)));
    }
    log.fact("counts", format_args!("{counts:?}"));
    let mut count = 77;
    ask!(log, "null", cudaGraphNodeGetDependencies(null(), null(), null(), &raw mut count));
    ask!(log, "no count", cudaGraphNodeGetDependencies(list[0], null(), null(), null()));
    taken(log)
}

fn conditions(log: &mut Log) -> Outcome {
    for value in [1, 0] {
        let (graph, out, on) = (graph(log)?, Block::new(log, Kind::Device, 16)?, stream(log)?);
        let (mut handle, flag) = (0, sys::cudaGraphCondAssignDefault.0);
        ask!(log, &format!("{value}"), cudaGraphConditionalHandleCreate(&raw mut handle, graph, value, flag));
        let mut wanted =
            sys::cudaGraphNodeParams { type_: sys::cudaGraphNodeTypeConditional, ..Default::default() };
        wanted.__bindgen_anon_1.conditional = sys::cudaConditionalNodeParams {
            handle,
            type_: sys::cudaGraphCondTypeIf,
            size: 1,
            ..Default::default()
        };
        let mut node = null();
        need!(log, cudaGraphAddNode(&raw mut node, graph, null(), null(), 0, &raw mut wanted));
        // SAFETY: the call filled this member with a list of one graph.
        let body = unsafe { *wanted.__bindgen_anon_1.conditional.phGraph_out };
        fill(log, "in the body", body, &[], out, 9, 1);
        let run = ready(log, graph);
        for _ in 0..2 {
            go(log, run, on);
            first_is(log, "number", out)?;
            need!(log, cudaMemset(out.ptr(), 0, 4));
        }
    }
    let (graph, mut handle) = (graph(log)?, 0);
    ask!(log, "no flag", cudaGraphConditionalHandleCreate(&raw mut handle, graph, 1, 0));
    ask!(log, "flag 2", cudaGraphConditionalHandleCreate(&raw mut handle, graph, 1, 2));
    ask!(log, "no graph", cudaGraphConditionalHandleCreate(&raw mut handle, null(), 1, 1));
    ask!(log, "null", cudaGraphConditionalHandleCreate(null(), graph, 1, 1));
    ready(log, graph);
    taken(log)
}

fn changed(cases: &mut Cases) {
    add_case(cases, 94, "by graphs of the same form, of another, of none", |log| {
        let (out, on) = (device(log)?, stream(log)?);
        let from = Block::with(log, Kind::Device, &integers([1; 1024]))?;
        let graph = captured(log, out, from, 64)?;
        let run = ready(log, graph);
        let longer = captured(log, out, from, 1024)?;
        let other = {
            let on = begin(log)?;
            sum(log, "captured", out, from, 64, on);
            end(log, on)
        };
        let swapped = {
            let on = begin(log)?;
            sum(log, "captured", out, from, 64, on);
            need!(log, cudaMemsetAsync(out.ptr(), 0, 4, on));
            end(log, on)
        };
        for (name, graph) in [("longer", longer), ("fewer nodes", other), ("the other way round", swapped)] {
            let mut result = sys::cudaGraphExecUpdateResultInfo::default();
            ask!(log, name, cudaGraphExecUpdate(run, graph, &raw mut result));
            log.fact("result", result.result.0);
            log.fact("a node", !result.errorNode.is_null());
            ask!(log, "last", cudaGetLastError());
            go(log, run, on);
            first_is(log, "sum", out)?;
        }
        ask!(log, "no place", cudaGraphExecUpdate(run, longer, null()));
        Ok(())
    });
    add_case(cases, 55, "after an update that failed, and while it runs", |log| {
        let (out, on) = (device(log)?, stream(log)?);
        let from = Block::with(log, Kind::Device, &integers([1; 64]))?;
        let graph = captured(log, out, from, 64)?;
        let run = ready(log, graph);
        // The first launch of a kernel may wait for all streams.
        go(log, run, on);
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaGraphLaunch(run, on));
        waits(log, &gate, |log| {
            ask!(log, cudaGraphExecDestroy(run));
        });
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "sum", out)?;
        ask!(log, "null", cudaGraphExecDestroy(null()));
        taken(log)
    });
    add_case(cases, 35, "of the last step, before the next capture ends; its instance stays", |log| {
        let (out, on) = (device(log)?, stream(log)?);
        let from = Block::with(log, Kind::Device, &integers([2; 64]))?;
        let graph = captured(log, out, from, 64)?;
        let run = ready(log, graph);
        let next = begin(log)?;
        ask!(log, "while another captures", cudaGraphDestroy(graph));
        end(log, next);
        go(log, run, on);
        first_is(log, "sum", out)?;
        ask!(log, "null", cudaGraphDestroy(null()));
        taken(log)
    });
}

fn launched(cases: &mut Cases) {
    add_case(cases, 59, "many times on a stream, and on two held ones", |log| {
        let (out, on, other) = (device(log)?, stream(log)?, stream(log)?);
        let from = Block::with(log, Kind::Device, &integers([1; 64]))?;
        let capture = begin(log)?;
        sum(log, "captured", out, from, 64, capture);
        let graph = end(log, capture);
        let run = ready(log, graph);
        for _ in 0..10 {
            need!(log, cudaGraphLaunch(run, on));
        }
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "sum", out)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, "held", cudaGraphLaunch(run, on));
        ask!(log, "elsewhere", cudaGraphLaunch(run, other));
        ask!(log, "behind itself", cudaStreamQuery(other));
        gate.open();
        ask!(log, cudaDeviceSynchronize());
        first_is(log, "sum", out)?;
        ask!(log, "null", cudaGraphLaunch(null(), on));
        taken(log)
    });
    add_case(cases, 127, "of fill, kernel and copy down, built by hand", |log| {
        let (graph, to, on) = (graph(log)?, device(log)?, stream(log)?);
        let (from, host) =
            (Block::with(log, Kind::Device, &floats([3.0; 32]))?, Block::new(log, Kind::Pinned, 128)?);
        let before = fill(log, "fill", graph, &[], to, 7, 32);
        let (mut a, mut b, mut by, mut count) = (to.ptr(), from.ptr(), 2_f32, 32_i32);
        let mut list = arguments![a, b, by, count];
        let wanted = kernel(case_scale as Kernel, 32, &mut list);
        let (mut node, mut copy) = (null(), null());
        ask!(log, cudaGraphAddKernelNode(&raw mut node, graph, &raw const before, 1, &raw const wanted));
        let way = sys::cudaMemcpyDeviceToHost;
        ask!(
            log,
            cudaGraphAddMemcpyNode1D(
                &raw mut copy,
                graph,
                &raw const node,
                1,
                host.ptr(),
                to.ptr(),
                128,
                way
            )
        );
        let mut run = null();
        for flags in [0, 1, 2, 8, 16, 4, 64] {
            ask!(log, &format!("flags {flags}"), cudaGraphInstantiate(&raw mut run, graph, flags));
            ask!(log, "last", cudaGetLastError());
        }
        let run = ready(log, graph);
        go(log, run, on);
        float_is(log, host, 31)?;
        let mut flags = 77;
        ask!(log, cudaGraphExecGetFlags(run, &raw mut flags));
        log.fact("flags", flags);
        Ok(())
    });
    add_case(cases, 135, "of a capture, then one launch, and what goes", |log| {
        let (out, on) = (device(log)?, stream_with(log, 0)?);
        let from = Block::with(log, Kind::Device, &floats([1.0; 64]))?;
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        scale(log, "kernel", out, from, 8.0, 64, on);
        let graph = end(log, on);
        let (run, second) = (ready(log, graph), ready(log, graph));
        log.fact("two", run != second);
        go(log, run, on);
        float_is(log, out, 63)?;
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, cudaGraphDestroy(graph));
        go(log, second, null());
        ask!(log, "null", cudaGraphInstantiate(null(), null(), 0));
        taken(log)
    });
    add_case(cases, 146, "of an empty graph, of a cycle that is refused, of no graph", |log| {
        let (graph, on, out) = (graph(log)?, stream(log)?, device(log)?);
        let run = ready(log, graph);
        go(log, run, on);
        let a = fill(log, "a", graph, &[], out, 1, 1);
        let b = fill(log, "b", graph, &[a], out, 2, 1);
        ask!(log, "a behind b", cudaGraphAddDependencies(graph, &raw const b, &raw const a, null(), 1));
        ask!(log, "a behind a", cudaGraphAddDependencies(graph, &raw const a, &raw const a, null(), 1));
        ask!(log, "again", cudaGraphAddDependencies(graph, &raw const a, &raw const b, null(), 1));
        ready(log, graph);
        taken(log)?;
        let mut run = null();
        ask!(log, "null", cudaGraphInstantiate(&raw mut run, null(), 0));
        Ok(())
    });
}
