//! Captures and graphs.

use std::ffi::{CString, c_void};

use cuda_sys as sys;
use cuda_sys::{cudaGraph_t, cudaGraphNode_t, cudaMemsetParams};

use super::super::common::{
    Kernel, N, add_case, adds, arguments, begin, device, end, first_is, float_is, floats, go, graph, holds,
    integers, nodes, null, ready, shape, start, sum, taken, there,
};
use super::super::open::graph::{fill, info, kernel};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, event, stream, stream_with};

unsafe extern "C" {
    fn case_add();
    fn case_empty();
    fn case_scale();
}

pub(super) fn add(cases: &mut Cases) {
    built(cases);
    nested(cases);
    captures(cases);
    instances(cases);
    gone(cases);
    printed(cases);
}

fn empty(log: &mut Log, what: &str, graph: cudaGraph_t, before: &[cudaGraphNode_t]) -> cudaGraphNode_t {
    let mut node = null();
    ask!(log, what, cudaGraphAddEmptyNode(&raw mut node, graph, before.as_ptr(), before.len()));
    node
}

/// A node that adds to the first number of a block.
fn more(
    log: &mut Log,
    graph: cudaGraph_t,
    before: &[cudaGraphNode_t],
    to: Block,
    by: i32,
) -> cudaGraphNode_t {
    let (mut at, mut by, mut node) = (to.ptr(), by, null());
    let mut list = arguments![at, by];
    let wanted = kernel(case_add as Kernel, 1, &mut list);
    let (list, count) = (before.as_ptr(), before.len());
    ask!(log, "adds", cudaGraphAddKernelNode(&raw mut node, graph, list, count, &raw const wanted));
    node
}

/// A node whose graph runs while, or if, a number is not zero, which it is only at first if `begins`.
fn conditional(log: &mut Log, graph: cudaGraph_t, loops: bool, begins: u32) -> Result<cudaGraph_t, Setup> {
    let (mut handle, flag, mut node) = (0, sys::cudaGraphCondAssignDefault.0, null());
    need!(log, cudaGraphConditionalHandleCreate(&raw mut handle, graph, begins, flag));
    let mut wanted =
        sys::cudaGraphNodeParams { type_: sys::cudaGraphNodeTypeConditional, ..Default::default() };
    let kind = if loops { sys::cudaGraphCondTypeWhile } else { sys::cudaGraphCondTypeIf };
    wanted.__bindgen_anon_1.conditional =
        sys::cudaConditionalNodeParams { handle, type_: kind, size: 1, ..Default::default() };
    need!(log, cudaGraphAddNode(&raw mut node, graph, null(), null(), 0, &raw mut wanted));
    // SAFETY: the call filled this member with a list of one graph.
    Ok(unsafe { *wanted.__bindgen_anon_1.conditional.phGraph_out })
}

fn built(cases: &mut Cases) {
    add_case(cases, 480, "an explicit one, first empty, then of tokens, with flags that are none", |log| {
        let (on, out, mut it) = (stream(log)?, device(log)?, null());
        ask!(log, cudaGraphCreate(&raw mut it, 0));
        nodes(log, it);
        let run = ready(log, it);
        go(log, run, on);
        ask!(log, cudaGraphExecDestroy(run));
        let (x, y) = (more(log, it, &[], out, 1), more(log, it, &[], out, 10));
        let z = more(log, it, &[x, y], out, 100);
        empty(log, "behind all", it, &[z]);
        nodes(log, it);
        let run = ready(log, it);
        for _ in 0..2 {
            go(log, run, on);
        }
        first_is(log, "number", out)?;
        let mut other = std::ptr::without_provenance_mut(16);
        for flags in [1, u32::MAX] {
            ask!(log, &format!("{flags}"), cudaGraphCreate(&raw mut other, flags));
            log.fact("as it was", other.addr() == 16);
        }
        ask!(log, "no place", cudaGraphCreate(null(), 0));
        let captures = begin(log)?;
        ask!(log, "while a stream captures", cudaGraphCreate(&raw mut other, 0));
        end(log, captures);
        taken(log)
    });
    add_case(cases, 478, "in a task, then many that read, and one that writes", |log| {
        let (it, on, out) = (graph(log)?, stream(log)?, device(log)?);
        let first = empty(log, "first", it, &[]);
        let readers: Vec<_> = (0..10).map(|_| empty(log, "reads", it, &[first])).collect();
        let last = empty(log, "writes", it, &readers);
        let number = more(log, it, &[last], out, 5);
        nodes(log, it);
        for (name, node) in [("first", first), ("last", last), ("number", number)] {
            let (mut before, mut after) = (77, 77);
            ask!(log, name, cudaGraphNodeGetDependencies(node, null(), null(), &raw mut before));
            ask!(log, cudaGraphNodeGetDependentNodes(node, null(), null(), &raw mut after));
            log.fact("around it", format_args!("{before} {after}"));
        }
        let run = ready(log, it);
        go(log, run, on);
        first_is(log, "number", out)?;
        ask!(log, "a reader less", cudaGraphDestroyNode(readers[3]));
        ask!(log, "the first less", cudaGraphDestroyNode(first));
        nodes(log, it);
        let other = graph(log)?;
        let mut node = null();
        ask!(log, "behind another graph's", cudaGraphAddEmptyNode(&raw mut node, other, &raw const last, 1));
        let twice = [last, last];
        ask!(log, "behind one twice", cudaGraphAddEmptyNode(&raw mut node, it, twice.as_ptr(), 2));
        ask!(log, "behind null", cudaGraphAddEmptyNode(&raw mut node, it, [null()].as_ptr(), 1));
        nodes(log, it);
        let mut result = sys::cudaGraphExecUpdateResultInfo::default();
        ask!(log, cudaGraphExecUpdate(run, it, &raw mut result));
        log.fact("result", result.result.0);
        taken(log)
    });
    add_case(cases, 481, "a sum of eight bytes to zero as two numbers, and forms that are none", |log| {
        let (it, on, d_sum) = (graph(log)?, stream(log)?, Block::with(log, Kind::Device, &[7; 64])?);
        let good =
            cudaMemsetParams { dst: d_sum.ptr(), pitch: 0, value: 0, elementSize: 4, width: 2, height: 1 };
        let (mut node, mut found) = (null(), cudaMemsetParams::default());
        ask!(log, "it", cudaGraphAddMemsetNode(&raw mut node, it, null(), 0, &raw const good));
        ask!(log, cudaGraphMemsetNodeGetParams(node, &raw mut found));
        log.fact(
            "found",
            format_args!(
                "{} {} {} {} {}",
                found.pitch, found.value, found.elementSize, found.width, found.height
            ),
        );
        let add = |log: &mut Log, name: &str, change: fn(&mut cudaMemsetParams)| {
            let (mut wanted, mut node) = (good, null());
            change(&mut wanted);
            ask!(log, name, cudaGraphAddMemsetNode(&raw mut node, it, null(), 0, &raw const wanted));
            ask!(log, "last", cudaGetLastError());
            if !node.is_null() {
                ask!(log, cudaGraphDestroyNode(node));
            }
        };
        for (name, change) in [
            ("eight bytes each", (|it| it.elementSize = 8) as fn(&mut cudaMemsetParams)),
            ("three bytes each", |it| it.elementSize = 3),
            ("no bytes each", |it| it.elementSize = 0),
            ("no width", |it| it.width = 0),
            ("no height", |it| it.height = 0),
            ("two rows, no pitch", |it| it.height = 2),
            ("two rows", |it| (it.height, it.pitch) = (2, 8)),
            ("two rows, each in the other", |it| (it.height, it.pitch) = (2, 4)),
            ("more than a number", |it| (it.elementSize, it.value) = (1, 256)),
            ("two bytes, more than they hold", |it| (it.elementSize, it.value) = (2, 0x1_0000)),
            ("at an odd place", |it| it.dst = it.dst.wrapping_byte_add(2)),
            ("more than there is", |it| it.width = 1 << 30),
            ("nowhere", |it| it.dst = null()),
        ] {
            add(log, name, change);
        }
        ask!(log, "no form", cudaGraphAddMemsetNode(&raw mut node, it, null(), 0, null()));
        ask!(log, "no place", cudaGraphAddMemsetNode(null(), it, null(), 0, &raw const good));
        let run = ready(log, it);
        go(log, run, on);
        let got = d_sum.load(log)?;
        log.fact("bytes", format_args!("{:?}", &got[6..10]));
        taken(log)
    });
}

fn nested(cases: &mut Cases) {
    add_case(cases, 407, "behind nodes that make its data ready, then changed where it came from", |log| {
        let (outer, inner, on, out) = (graph(log)?, graph(log)?, stream(log)?, device(log)?);
        let set = fill(log, "inner", inner, &[], out, 5, 1);
        more(log, inner, &[set], out, 1);
        let ready_nodes =
            [empty(log, "one", outer, &[]), fill(log, "other", outer, &[], out.moved(out.at(64)), 9, 1)];
        let (mut node, mut copy) = (null(), null());
        let list = ready_nodes.as_ptr();
        ask!(log, "it", cudaGraphAddChildGraphNode(&raw mut node, outer, list, 2, inner));
        more(log, outer, &[node], out, 10);
        ask!(log, cudaGraphChildGraphNodeGetGraph(node, &raw mut copy));
        log.fact("another", copy != inner);
        more(log, inner, &[], out, 1000);
        nodes(log, inner);
        nodes(log, copy);
        nodes(log, outer);
        let run = ready(log, outer);
        go(log, run, on);
        first_is(log, "number", out)?;
        more(log, copy, &[], out.moved(out.at(128)), 3);
        nodes(log, copy);
        let mut result = sys::cudaGraphExecUpdateResultInfo::default();
        ask!(log, "with a node more within", cudaGraphExecUpdate(run, outer, &raw mut result));
        log.fact("result", result.result.0);
        for (name, list, count) in
            [("no list", null::<cudaGraphNode_t>().cast_const(), 1), ("twice", [node, node].as_ptr(), 2)]
        {
            let mut node = null();
            ask!(log, name, cudaGraphAddChildGraphNode(&raw mut node, outer, list, count, inner));
        }
        ask!(log, "no graph", cudaGraphAddChildGraphNode(&raw mut node, null(), null(), 0, inner));
        ask!(log, "graph of another kind", cudaGraphChildGraphNodeGetGraph(ready_nodes[0], &raw mut copy));
        ask!(log, cudaGraphDestroy(inner));
        let run = ready(log, outer);
        go(log, run, on);
        first_is(log, "number", out)?;
        taken(log)
    });
    add_case(cases, 413, "of one of two vectors to the other, each round the other way", |log| {
        let (it, on) = (graph(log)?, stream(log)?);
        let (x, y) =
            (Block::with(log, Kind::Device, &floats([1.0; 64]))?, Block::new(log, Kind::Device, 256)?);
        let set = |log: &mut Log, run, node, to: Block, from: Block, [blocks, threads]: [usize; 2]| {
            let (mut to, mut from, mut by, mut count) = (to.ptr(), from.ptr(), 2.0_f32, 64_i32);
            let mut list = arguments![to, from, by, count];
            let mut wanted = kernel(case_scale as Kernel, threads, &mut list);
            wanted.gridDim = shape(blocks);
            ask!(log, "set", cudaGraphExecKernelNodeSetParams(run, node, &raw const wanted));
        };
        let (mut node, mut run) = (null(), null());
        {
            let (mut to, mut from, mut by, mut count) = (y.ptr(), x.ptr(), 2.0_f32, 64_i32);
            let mut list = arguments![to, from, by, count];
            let wanted = kernel(case_scale as Kernel, 64, &mut list);
            ask!(log, cudaGraphAddKernelNode(&raw mut node, it, null(), 0, &raw const wanted));
            ask!(log, cudaGraphInstantiate(&raw mut run, it, 0));
        }
        for round in 0..4 {
            let (to, from) = if round % 2 == 0 { (y, x) } else { (x, y) };
            set(log, run, node, to, from, [1 + round, 64]);
            go(log, run, on);
            float_is(log, to, 63)?;
        }
        let gate = Gate::hold(log, on)?;
        ask!(log, "held", cudaGraphLaunch(run, on));
        set(log, run, node, x, y, [1, 1]);
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        float_is(log, x, 0)?;
        set(log, run, node, y, x, [0, 64]);
        set(log, run, node, y, x, [1, 1025]);
        let mut found = sys::cudaKernelNodeParams::default();
        ask!(log, "of the graph", cudaGraphKernelNodeGetParams(node, &raw mut found));
        log.fact("threads", format_args!("{} {}", found.gridDim.x, found.blockDim.x));
        let other = empty(log, "later", it, &[node]);
        let wanted = kernel(case_empty as Kernel, 1, &mut []);
        ask!(log, "of none in it", cudaGraphExecKernelNodeSetParams(run, other, &raw const wanted));
        go(log, run, on);
        float_is(log, y, 63)?;
        taken(log)
    });
}

/// Notes whether a stream captures.
fn captures_now(log: &mut Log, name: &str, on: sys::cudaStream_t) {
    let mut status = sys::cudaStreamCaptureStatus(77);
    ask!(log, name, cudaStreamIsCapturing(on, &raw mut status));
    log.fact("status", status.0);
}

fn captures(cases: &mut Cases) {
    add_case(
        cases,
        430,
        "before, in, behind and past a capture, of it and of others, code not looked at",
        |log| {
            let (block, side, mark) = (device(log)?, stream(log)?, event(log)?);
            for (name, flags) in [("non-blocking", 1), ("blocking", 0)] {
                let on = stream_with(log, flags)?;
                log.fact("stream", name);
                captures_now(log, "before", on);
                need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeRelaxed));
                captures_now(log, "in", on);
                captures_now(log, "default", null());
                captures_now(log, "of the thread", sys::cudaStreamPerThread);
                ask!(log, "last", cudaGetLastError());
                captures_now(log, "side", side);
                ask!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
                ask!(log, cudaEventRecord(mark, on));
                ask!(log, cudaStreamWaitEvent(side, mark, 0));
                captures_now(log, "side, forked", side);
                ask!(log, "what ends it", cudaStreamSynchronize(on));
                captures_now(log, "then", on);
                captures_now(log, "side then", side);
                end(log, on);
                captures_now(log, "past", on);
                captures_now(log, "side past", side);
            }
            ask!(log, "no place", cudaStreamIsCapturing(side, null()));
            taken(log)
        },
    );
    add_case(cases, 449, "where the graph of the last round went before, and where there is none", |log| {
        let (on, out, mut last) = (stream(log)?, device(log)?, null::<c_void>());
        log.fact("none", last.is_null());
        let mut it: cudaGraph_t = null();
        for round in 0..3 {
            if !it.is_null() {
                ask!(log, cudaGraphDestroy(it));
            }
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeThreadLocal));
            adds(log, &format!("{round}"), out, round + 1, on);
            it = end(log, on);
            let run = ready(log, it);
            go(log, run, on);
            first_is(log, "number", out)?;
        }
        last = out.ptr();
        let mut none = std::ptr::without_provenance_mut(16);
        ask!(log, "not begun", cudaStreamEndCapture(on, &raw mut none));
        log.fact("answer", none.addr());
        ask!(log, "default", cudaStreamEndCapture(null(), &raw mut none));
        ask!(log, "of the thread", cudaStreamEndCapture(sys::cudaStreamPerThread, &raw mut none));
        ask!(log, "last", cudaGetLastError());
        for what in ["a wait", "a refused launch", "a refused fill"] {
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
            adds(log, "captured", out, 1, on);
            match what {
                "a wait" => ask!(log, what, cudaStreamSynchronize(on)),
                "a refused fill" => ask!(log, what, cudaMemsetAsync(null(), 1, 64, on)),
                _ => {
                    start(log, what, case_empty as Kernel, [1, 2000, 0], on, &mut []);
                    ask!(log, cudaPeekAtLastError())
                }
            };
            adds(log, "captured then", out, 1, on);
            info(log, "state", on);
            end(log, on);
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "then", cudaMemsetAsync(last, 0, 4, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
}

fn instances(cases: &mut Cases) {
    add_case(cases, 488, "of captured rounds that copy a sum down, with flags, twice", |log| {
        let (on, d_sum, mut number) = (stream(log)?, device(log)?, 0_i32);
        let (from, host) = (Block::with(log, Kind::Device, &integers([2; 64]))?, (&raw mut number).cast());
        let block = d_sum.ptr();
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        need!(log, cudaMemsetAsync(block, 0, 4, on));
        sum(log, "round", d_sum, from, 64, on);
        need!(log, cudaMemcpyAsync(host, block, 4, sys::cudaMemcpyDeviceToHost, on));
        let it = end(log, on);
        for flags in [0, 1, 2, 3, 8, 9, 16, 1 << 40] {
            let mut run = null();
            ask!(log, &format!("{flags}"), cudaGraphInstantiate(&raw mut run, it, flags));
            ask!(log, "last", cudaGetLastError());
            log.fact("made", !run.is_null());
            if !run.is_null() {
                let mut found = 77_u64;
                ask!(log, cudaGraphExecGetFlags(run, &raw mut found));
                log.fact("flags", found);
                go(log, run, on);
                // SAFETY: a live number, which the copy wrote before the wait ended.
                log.fact("number", unsafe { host.cast::<i32>().read_volatile() });
            }
        }
        let mut run = null();
        ask!(log, "no graph", cudaGraphInstantiate(&raw mut run, null(), 0));
        ask!(log, "no place", cudaGraphInstantiate(null(), it, 0));
        let captures = stream(log)?;
        need!(log, cudaStreamBeginCapture(captures, sys::cudaStreamCaptureModeRelaxed));
        ask!(log, "while a stream captures", cudaGraphInstantiate(&raw mut run, it, 0));
        end(log, captures);
        taken(log)
    });
    add_case(cases, 456, "instead of a new instance, with what it tells of what does not fit", |log| {
        let (on, out, other) = (stream(log)?, device(log)?, device(log)?);
        let host = Block::new(log, Kind::Pinned, N)?;
        // A fill, a kernel and a copy, of which some are others.
        let round = |log: &mut Log, which: &str, on| -> Result<cudaGraph_t, Setup> {
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeThreadLocal));
            if which != "no fill" {
                need!(log, cudaMemsetAsync(out.ptr(), 0, if which == "longer fill" { N } else { 4 }, on));
            }
            match which {
                "another kernel" => start(log, "kernel", case_empty as Kernel, [1, 1, 0], on, &mut []),
                "no kernel" => {
                    need!(log, cudaMemcpyAsync(other.ptr(), out.ptr(), 4, sys::cudaMemcpyDeviceToDevice, on));
                }
                _ => adds(log, "kernel", out, if which == "more" { 70 } else { 7 }, on),
            }
            let to = if which == "across" { other } else { host };
            need!(log, cudaMemcpyAsync(to.ptr(), out.ptr(), 4, sys::cudaMemcpyDefault, on));
            if which == "longer" {
                adds(log, "one more", out, 1, on);
            }
            let mut it = null();
            ask!(log, which, cudaStreamEndCapture(on, &raw mut it));
            Ok(it)
        };
        let it = round(log, "first", on)?;
        let run = ready(log, it);
        for which in [
            "alike",
            "more",
            "longer fill",
            "another kernel",
            "no kernel",
            "across",
            "no fill",
            "longer",
            "alike",
        ] {
            let next = round(log, which, on)?;
            let mut result = sys::cudaGraphExecUpdateResultInfo::default();
            ask!(log, cudaGraphExecUpdate(run, next, &raw mut result));
            log.fact("result", result.result.0);
            log.fact(
                "nodes",
                format_args!("{} {}", !result.errorNode.is_null(), !result.errorFromNode.is_null()),
            );
            ask!(log, "last", cudaGetLastError());
            go(log, run, on);
            first_is(log, "number", out)?;
            ask!(log, cudaGraphDestroy(next));
        }
        ask!(log, "no result", cudaGraphExecUpdate(run, it, null()));
        let mut result = sys::cudaGraphExecUpdateResultInfo::default();
        ask!(log, "no graph", cudaGraphExecUpdate(run, null(), &raw mut result));
        ask!(log, "no instance", cudaGraphExecUpdate(null(), it, &raw mut result));
        taken(log)
    });
}

fn gone(cases: &mut Cases) {
    add_case(cases, 460, "behind its instance and looks for errors, before its stream", |log| {
        let (out, on) = (device(log)?, begin(log)?);
        adds(log, "captured", out, 4, on);
        let it = end(log, on);
        let run = ready(log, it);
        go(log, run, on);
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, "it", cudaGraphDestroy(it));
        ask!(log, cudaStreamDestroy(on));
        first_is(log, "number", out)?;
        ask!(log, "none", cudaGraphDestroy(null()));
        ask!(log, "last", cudaGetLastError());
        let (it, other) = (graph(log)?, stream(log)?);
        more(log, it, &[], out, 1);
        let run = ready(log, it);
        ask!(log, "before the launch", cudaGraphDestroy(it));
        go(log, run, other);
        first_is(log, "number", out)?;
        let address = graph(log)?.expose_provenance();
        let captures = begin(log)?;
        there(log, move || {
            // SAFETY: a graph of the case, which nothing uses after this.
            unsafe {
                [
                    sys::cudaGraphDestroy(std::ptr::with_exposed_provenance_mut(address)),
                    sys::cudaGetLastError(),
                ]
            }
        });
        end(log, captures);
        taken(log)
    });
    add_case(cases, 477, "of a probe, if there is one, its error thrown away, and while it runs", |log| {
        let (on, out) = (stream(log)?, device(log)?);
        for (name, loops, begins) in [("once", false, 1), ("not once", false, 0), ("no round", true, 0)] {
            let it = graph(log)?;
            let body = conditional(log, it, loops, begins)?;
            more(log, body, &[], out, 6);
            let mut run = null();
            ask!(log, name, cudaGraphInstantiate(&raw mut run, it, 0));
            if !run.is_null() {
                go(log, run, on);
                first_is(log, "number", out)?;
                ask!(log, cudaGraphExecDestroy(run));
            }
            ask!(log, cudaGetLastError());
            ask!(log, cudaGraphDestroy(it));
        }
        let it = graph(log)?;
        let body = conditional(log, it, false, 1)?;
        let mut node = null();
        let mut host = sys::cudaHostNodeParams { fn_: None, userData: null() };
        ask!(log, "no function", cudaGraphAddHostNode(&raw mut node, body, null(), 0, &raw const host));
        host.fn_ = Some(nothing);
        ask!(log, "of the host", cudaGraphAddHostNode(&raw mut node, body, null(), 0, &raw const host));
        let mut run = null();
        ask!(log, "with it", cudaGraphInstantiate(&raw mut run, it, 0));
        ask!(log, cudaGetLastError());
        ask!(log, "none", cudaGraphExecDestroy(null()));
        ask!(log, cudaGetLastError());
        let plain = graph(log)?;
        more(log, plain, &[], out, 100);
        let run = ready(log, plain);
        go(log, run, on);
        let gate = Gate::hold(log, on)?;
        ask!(log, "held", cudaGraphLaunch(run, on));
        ask!(log, "while it is held", cudaGraphExecDestroy(run));
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "number", out)
    });
    add_case(cases, 487, "behind its graph, both there or not, and of one that was uploaded", |log| {
        let (on, out) = (stream(log)?, device(log)?);
        for uploaded in [false, true] {
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeThreadLocal));
            adds(log, "captured", out, 2, on);
            let it = end(log, on);
            let run = ready(log, it);
            if uploaded {
                ask!(log, cudaGraphUpload(run, on));
            }
            ask!(log, cudaGraphDestroy(it));
            for _ in 0..2 {
                ask!(log, cudaGraphLaunch(run, on));
            }
            if !uploaded {
                ask!(log, cudaStreamSynchronize(on));
            }
            ask!(log, "it", cudaGraphExecDestroy(run));
            ask!(log, cudaStreamSynchronize(on));
            first_is(log, "number", out)?;
        }
        let (it, captures) = (graph(log)?, begin(log)?);
        adds(log, "captured", out, 1, captures);
        let made = end(log, captures);
        let run = ready(log, made);
        more(log, it, &[], out, 1);
        let other = ready(log, it);
        need!(log, cudaStreamBeginCapture(captures, sys::cudaStreamCaptureModeGlobal));
        ask!(log, "captured", cudaGraphLaunch(run, captures));
        ask!(log, "while a stream captures", cudaGraphExecDestroy(other));
        let whole = end(log, captures);
        if !whole.is_null() {
            nodes(log, whole);
            ask!(log, "what was captured", cudaGraphExecDestroy(run));
            let run = ready(log, whole);
            go(log, run, on);
            first_is(log, "number", out)?;
        }
        taken(log)
    });
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

/// Prints a graph to a file, and notes the code and how the file begins.
fn print(log: &mut Log, name: &str, graph: cudaGraph_t, flags: u32) {
    let path = std::env::temp_dir().join(format!("drawn-{}.dot", std::process::id()));
    let file = CString::new(path.to_string_lossy().into_owned()).expect("no zero in a path");
    ask!(log, name, cudaGraphDebugDotPrint(graph, file.as_ptr(), flags));
    let text = std::fs::read_to_string(&path);
    let ends = text.as_ref().is_ok_and(|text| text.trim_end().ends_with('}'));
    log.fact("file", format_args!("{} {ends}", text.as_ref().is_ok_and(|text| text.starts_with("digraph"))));
    drop(std::fs::remove_file(&path));
}

fn printed(cases: &mut Cases) {
    add_case(cases, 424, "with a loop of kernels, after a launch, and its body alone", |log| {
        let (it, on, out) = (graph(log)?, stream(log)?, device(log)?);
        let body = conditional(log, it, true, 0)?;
        more(log, body, &[], out, 1);
        let run = ready(log, it);
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "number", out)?;
        for flags in [0, 1, 0x4, 0x8000] {
            print(log, &format!("{flags}"), it, flags);
        }
        print(log, "body", body, 0);
        print(log, "none", null(), 0);
        ask!(log, "last", cudaGetLastError());
        ask!(log, "again", cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 471, "over a file that is there, to a folder, of graphs of every kind of node", |log| {
        let (it, inner, out) = (graph(log)?, graph(log)?, device(log)?);
        print(log, "no node", it, 0);
        let set = fill(log, "set", it, &[], out, 1, 4);
        let added = more(log, it, &[set], out, 2);
        empty(log, "inner", inner, &[]);
        let (mut node, host) = (null(), sys::cudaHostNodeParams { fn_: Some(nothing), userData: null() });
        ask!(log, cudaGraphAddHostNode(&raw mut node, it, &raw const added, 1, &raw const host));
        ask!(log, cudaGraphAddChildGraphNode(&raw mut node, it, &raw const added, 1, inner));
        let mark = event(log)?;
        ask!(log, cudaGraphAddEventRecordNode(&raw mut node, it, null(), 0, mark));
        ask!(log, cudaGraphAddEventWaitNode(&raw mut node, it, null(), 0, mark));
        print(log, "all", it, 0);
        print(log, "in words", it, 1);
        print(log, "no such flags", it, 1 << 30);
        let folder = CString::new(std::env::temp_dir().to_string_lossy().into_owned()).expect("a path");
        ask!(log, "to a folder", cudaGraphDebugDotPrint(it, folder.as_ptr(), 0));
        ask!(log, "no name", cudaGraphDebugDotPrint(it, c"".as_ptr(), 0));
        ask!(log, "last", cudaGetLastError());
        let (path, text) =
            (std::env::temp_dir().join(format!("there-{}.dot", std::process::id())), [b'#'; 100_000]);
        std::fs::write(&path, text).expect("a file");
        let file = CString::new(path.to_string_lossy().into_owned()).expect("no zero in a path");
        ask!(log, "over a file", cudaGraphDebugDotPrint(it, file.as_ptr(), 0));
        let got = std::fs::read(&path).unwrap_or_default();
        log.fact("left of it", got.contains(&b'#') && got.len() >= 100_000);
        drop(std::fs::remove_file(&path));
        holds_zeros(log, out)
    });
}

fn holds_zeros(log: &mut Log, block: Block) -> Outcome {
    holds(log, block, &[0; N])?;
    taken(log)
}
