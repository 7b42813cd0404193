//! Captures and graphs.

use cuda_sys as sys;
use cuda_sys::{cudaGraph_t, cudaGraphExec_t, cudaMemcpy3DParms};

use super::super::super::graph::conditional;
use super::super::common::{
    N, add_case, adds, begin, device, end, first, first_is, go, graph, holds, integers, nodes, null, ready,
    sum, taken, there,
};
use super::super::open::graph::{fill, info};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream, stream_with};

pub(super) fn add(cases: &mut Cases) {
    bodies(cases);
    gone(cases);
    captures(cases);
    add_case(cases, 337, "of a round like the last one, and of others, by what it copies down", updates);
    add_case(cases, 339, "a number of eight bytes to the stack behind a fill, and what is refused", copies);
}

/// A copy of eight bytes in a graph, its direction left to the runtime.
fn eight(log: &mut Log, what: &str, graph: cudaGraph_t, to: Block, from: Block) {
    let (mut node, auto) = (null(), sys::cudaMemcpyDefault);
    ask!(log, what, cudaGraphAddMemcpyNode1D(&raw mut node, graph, null(), 0, to.ptr(), from.ptr(), 8, auto));
}

fn small(log: &mut Log, kind: Kind, byte: u8) -> Result<Block, Setup> {
    Block::with(log, kind, &[byte; 8])
}

fn bodies(cases: &mut Cases) {
    add_case(cases, 302, "of a probe, its node in a body, not launched, and after its graph", |log| {
        let (outer, on) = (graph(log)?, stream(log)?);
        let (_, body) = conditional(log, outer)?;
        let (a, b) = (small(log, Kind::Device, 4)?, small(log, Kind::Device, 5)?);
        eight(log, "across", body, b, a);
        let run = ready(log, outer);
        ask!(log, "not launched", cudaGraphExecDestroy(run));
        let run = ready(log, outer);
        if !run.is_null() {
            go(log, run, on);
        }
        ask!(log, cudaGraphDestroy(outer));
        ask!(log, "after its graph", cudaGraphExecDestroy(run));
        ask!(log, cudaGetLastError());
        holds(log, b, &[4; 8])?;
        for block in [a, b] {
            ask!(log, cudaFree(block.ptr()));
        }
        taken(log)
    });
    add_case(cases, 398, "of eight bytes into a body, direction left open, by both kinds of memory", |log| {
        let on = stream(log)?;
        for (to, from) in [
            (Kind::Device, Kind::Device),
            (Kind::Device, Kind::Pinned),
            (Kind::Pinned, Kind::Device),
            (Kind::Device, Kind::Pageable),
            (Kind::Pool, Kind::Managed),
            (Kind::Pinned, Kind::Pinned),
        ] {
            let (outer, a, b) = (graph(log)?, small(log, from, 7)?, small(log, to, 1)?);
            let (_, body) = conditional(log, outer)?;
            eight(log, &format!("{} to {}", from.name(), to.name()), body, b, a);
            let run = ready(log, outer);
            if !run.is_null() {
                go(log, run, on);
            }
            ask!(log, "last", cudaGetLastError());
            let got = b.load(log)?;
            log.fact("byte", got[7]);
        }
        Ok(())
    });
    add_case(cases, 330, "the body of a node that a capture got, its end without a place", |log| {
        let (out, on, mut whole) = (device(log)?, begin(log)?, null());
        adds(log, "before", out, 1, on);
        let mut status = sys::cudaStreamCaptureStatus(77);
        let to = &raw mut whole;
        need!(log, cudaStreamGetCaptureInfo(on, &raw mut status, null(), to, null(), null(), null()));
        let ((mut node, body), more) = (conditional(log, whole)?, sys::cudaStreamAddCaptureDependencies.0);
        need!(log, cudaStreamUpdateCaptureDependencies(on, &raw mut node, null(), 1, more));
        adds(log, "after", out, 100, on);
        let whole = end(log, on);
        let (side, mode) = (stream_with(log, 0)?, sys::cudaStreamCaptureModeGlobal);
        ask!(log, cudaStreamBeginCaptureToGraph(side, body, null(), null(), 0, mode));
        info(log, "begun", side);
        adds(log, "in the body", out, 10, side);
        ask!(log, "no place", cudaStreamEndCapture(side, null()));
        info(log, "ended", side);
        nodes(log, body);
        nodes(log, whole);
        let run = ready(log, whole);
        for _ in 0..2 {
            go(log, run, side);
            first_is(log, "number", out)?;
        }
        taken(log)
    });
    add_case(cases, 361, "a body made by hand, behind its nodes, again, and what is refused", |log| {
        let (outer, other, out) = (graph(log)?, graph(log)?, device(log)?);
        let ((_, body), on, mode) =
            (conditional(log, outer)?, stream(log)?, sys::cudaStreamCaptureModeGlobal);
        let (strange, no_mode) =
            (fill(log, "another graph's", other, &[], out, 1, 1), sys::cudaStreamCaptureMode(9));
        for (name, it, to, list, count, mode) in [
            ("no graph", on, null(), null(), 0, mode),
            ("no list", on, body, null(), 1, mode),
            ("strange node", on, body, (&raw const strange).cast_mut(), 1, mode),
            ("no mode", on, body, null(), 0, no_mode),
            ("default", null(), body, null(), 0, mode),
        ] {
            ask!(log, name, cudaStreamBeginCaptureToGraph(it, to, list, null(), count, mode));
        }
        let node = fill(log, "by hand", body, &[], out, 5, 1);
        for count in [1, 0] {
            ask!(log, cudaStreamBeginCaptureToGraph(on, body, &raw const node, null(), count, mode));
            ask!(log, "again", cudaStreamBeginCaptureToGraph(on, body, null(), null(), 0, mode));
            ask!(log, cudaMemsetAsync(out.at(16), 3, 4, on));
            let made = end(log, on);
            log.fact("the same", made == body);
        }
        nodes(log, body);
        let run = ready(log, outer);
        go(log, run, on);
        let got = out.load(log)?;
        log.fact("bytes", format_args!("{} {}", got[0], got[16]));
        taken(log)
    });
}

/// A captured fill and sum of ones, and an instance of it.
fn captured(log: &mut Log, out: Block, count: usize) -> Result<(cudaGraph_t, cudaGraphExec_t), Setup> {
    let (on, from) = (stream(log)?, Block::with(log, Kind::Device, &integers([1; 256]))?);
    need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
    need!(log, cudaMemsetAsync(out.at(4), 9, 4, on));
    sum(log, "captured", out, from, count, on);
    let graph = end(log, on);
    need!(log, cudaStreamDestroy(on));
    Ok((graph, ready(log, graph)))
}

fn gone(cases: &mut Cases) {
    add_case(cases, 311, "after two launches with a byte set between, beside a second instance", |log| {
        let out = device(log)?;
        let (graph, run) = captured(log, out, 3)?;
        let other = ready(log, graph);
        ask!(log, "uploaded", cudaGraphUpload(other, null()));
        for value in [0, 10] {
            ask!(log, cudaMemset(out.ptr(), value, 1));
            ask!(log, cudaGraphLaunch(run, null()));
            ask!(log, cudaDeviceSynchronize());
            first_is(log, "number", out)?;
        }
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, "the other one", cudaGraphLaunch(other, null()));
        ask!(log, cudaGraphDestroy(graph));
        ask!(log, cudaDeviceSynchronize());
        first_is(log, "number", out)?;
        ask!(log, cudaGraphExecDestroy(other));
        ask!(log, cudaFree(out.ptr()));
        taken(log)
    });
    add_case(cases, 313, "once its instance went, and while the launch of one is held", |log| {
        let (out, on) = (device(log)?, stream(log)?);
        let (graph, run) = captured(log, out, 200)?;
        go(log, run, on);
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, cudaGraphDestroy(graph));
        first_is(log, "sum", out)?;
        let (graph, run) = captured(log, out, 100)?;
        let mut copy = null();
        ask!(log, cudaGraphClone(&raw mut copy, graph));
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, "held", cudaGraphDestroy(graph));
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "sum", out)?;
        nodes(log, copy);
        ask!(log, "its copy", cudaGraphDestroy(copy));
        ask!(log, cudaStreamDestroy(on));
        taken(log)
    });
}

fn captures(cases: &mut Cases) {
    add_case(cases, 353, "of work that a function submitted, in a thread, of a side, not joined", |log| {
        let (out, mark, join) = (device(log)?, event(log)?, event(log)?);
        for (name, mode) in [("relaxed", 2), ("of a thread", 1), ("global", 0)] {
            let on = stream_with(log, 0)?;
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureMode(mode)));
            need!(log, cudaMemsetAsync(out.ptr(), 1, 8, on));
            let at = on.expose_provenance();
            log.fact("mode", name);
            there(log, move || {
                let mut graph = null();
                let on = std::ptr::with_exposed_provenance_mut(at);
                // SAFETY: a stream of the case, which waits for this thread.
                [unsafe { sys::cudaStreamEndCapture(on, &raw mut graph) }]
            });
            end(log, on);
        }
        for joined in [true, false] {
            let (on, side) = (begin(log)?, stream(log)?);
            need!(log, cudaEventRecord(mark, on));
            need!(log, cudaStreamWaitEvent(side, mark, 0));
            need!(log, cudaMemsetAsync(out.ptr(), 1, 8, side));
            if joined {
                need!(log, cudaEventRecord(join, side));
                need!(log, cudaStreamWaitEvent(on, join, 0));
            } else {
                end(log, side);
            }
            let graph = end(log, on);
            if !graph.is_null() {
                nodes(log, graph);
            }
        }
        taken(log)
    });
    add_case(cases, 368, "how many a capture has, in the place of an empty graph", |log| {
        let (out, on, mut made) = (device(log)?, begin(log)?, null());
        adds(log, "captured", out, 3, on);
        ask!(log, cudaGraphCreate(&raw mut made, 0));
        ask!(log, "before the end", cudaGraphDestroy(made));
        ask!(log, cudaStreamEndCapture(on, &raw mut made));
        for room in [0, 1, 4] {
            let (mut list, mut count) = ([null(); 4], room);
            log.fact("room", room);
            ask!(log, cudaGraphGetNodes(made, list.as_mut_ptr(), &raw mut count));
            log.fact("count", format_args!("{count} {}", list.iter().filter(|node| !node.is_null()).count()));
        }
        let mut count = 77;
        ask!(log, "of no graph", cudaGraphGetNodes(null(), null(), &raw mut count));
        log.fact("count", count);
        ask!(log, "no count", cudaGraphGetNodes(made, null(), null()));
        let run = ready(log, made);
        go(log, run, on);
        first_is(log, "number", out)?;
        taken(log)
    });
    add_case(cases, 370, "the list of a fork and a join, each asked for its kind, and the roots", |log| {
        let (out, on, marks) = (device(log)?, begin(log)?, [event(log)?, event(log)?]);
        let side = stream(log)?;
        need!(log, cudaEventRecord(marks[0], on));
        need!(log, cudaStreamWaitEvent(side, marks[0], 0));
        adds(log, "here", out, 1, on);
        adds(log, "there", out, 2, side);
        need!(log, cudaMemsetAsync(out.at(16), 1, 4, side));
        need!(log, cudaEventRecord(marks[1], side));
        need!(log, cudaStreamWaitEvent(on, marks[1], 0));
        adds(log, "joined", out, 4, on);
        let graph = end(log, on);
        nodes(log, graph);
        let (mut list, mut count) = ([null(); 3], 3);
        ask!(log, "three of them", cudaGraphGetNodes(graph, list.as_mut_ptr(), &raw mut count));
        let kinds = list.map(|node| {
            let mut kind = sys::cudaGraphNodeType(99);
            // SAFETY: the node is of the list that the runtime gave.
            unsafe { sys::cudaGraphNodeGetType(node, &raw mut kind) };
            kind.0
        });
        log.fact("their kinds", format_args!("{count} {kinds:?}"));
        let mut count = 77;
        ask!(log, "roots", cudaGraphGetRootNodes(graph, null(), &raw mut count));
        log.fact("roots", count);
        let mut kind = sys::cudaGraphNodeType(99);
        ask!(log, "kind of none", cudaGraphNodeGetType(null(), &raw mut kind));
        let run = ready(log, graph);
        go(log, run, side);
        first_is(log, "number", out)?;
        taken(log)
    });
}

fn updates(log: &mut Log) -> Outcome {
    let (on, out) = (stream(log)?, device(log)?);
    let from = Block::with(log, Kind::Device, &integers([1; 256]))?;
    let (pageable, pinned) = (Block::new(log, Kind::Pageable, 8)?, Block::new(log, Kind::Pinned, 8)?);
    let mut run: cudaGraphExec_t = null();
    for (name, fill, count, to, bytes, more) in [
        ("first", 0, 64, pageable, 4, false),
        ("alike", 0, 256, pageable, 4, false),
        ("another value", 1, 64, pageable, 4, false),
        ("another place", 0, 64, pageable.moved(pageable.at(4)), 4, false),
        ("pinned", 0, 32, pinned, 4, false),
        ("more bytes", 0, 64, pinned, 8, false),
        ("a node more", 0, 64, pinned, 8, true),
        ("alike again", 0, 128, pinned, 8, false),
    ] {
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        need!(log, cudaMemsetAsync(out.ptr(), fill, 4, on));
        sum(log, name, out, from, count, on);
        need!(log, cudaMemcpyAsync(to.ptr(), out.ptr(), bytes, sys::cudaMemcpyDeviceToHost, on));
        if more {
            need!(log, cudaMemsetAsync(out.ptr(), 0, 4, on));
        }
        let (graph, mut result) = (end(log, on), sys::cudaGraphExecUpdateResultInfo::default());
        if run.is_null() {
            run = ready(log, graph);
        } else {
            ask!(log, cudaGraphExecUpdate(run, graph, &raw mut result));
            log.fact("result", result.result.0);
        }
        go(log, run, on);
        let got = (first(log, pageable)?, first(log, pinned)?);
        log.fact("numbers", format_args!("{got:?}"));
        ask!(log, cudaGraphDestroy(graph));
    }
    taken(log)
}

fn copies(log: &mut Log) -> Outcome {
    let (graph, on, out, mut number) = (graph(log)?, stream(log)?, device(log)?, 0_u64);
    let before = fill(log, "fill", graph, &[], out, 0x0102_0304, 2);
    let mut wanted = cudaMemcpy3DParms {
        srcPtr: sys::make_cudaPitchedPtr(out.ptr(), 8, 1, 1),
        dstPtr: sys::make_cudaPitchedPtr((&raw mut number).cast(), 8, 1, 1),
        extent: sys::make_cudaExtent(8, 1, 1),
        kind: sys::cudaMemcpyDeviceToHost,
        ..Default::default()
    };
    let (mut node, mut found) = (null(), cudaMemcpy3DParms::default());
    ask!(log, "it", cudaGraphAddMemcpyNode(&raw mut node, graph, &raw const before, 1, &raw const wanted));
    ask!(log, cudaGraphMemcpyNodeGetParams(node, &raw mut found));
    let (a, b) = (found.srcPtr, found.dstPtr);
    log.fact(
        "sides",
        format_args!("{} {} {} {} {} {}", a.pitch, a.xsize, a.ysize, b.pitch, b.xsize, b.ysize),
    );
    log.fact("kind", format_args!("{} {} {}", found.kind.0, found.extent.width, found.extent.depth));
    let run = ready(log, graph);
    go(log, run, on);
    log.fact("number", number);
    let add = |log: &mut Log, name: &str, wanted: &cudaMemcpy3DParms| {
        let mut node = null();
        ask!(log, name, cudaGraphAddMemcpyNode(&raw mut node, graph, null(), 0, wanted));
        ask!(log, "last", cudaGetLastError());
    };
    for (name, kind, height, pitch) in [
        ("as if up", 1, 1, 8),
        ("left open", 4, 1, 8),
        ("no height", 2, 0, 8),
        ("two rows", 2, 2, 8),
        ("pitch", 2, 1, 4),
    ] {
        (wanted.kind, wanted.extent.height, wanted.srcPtr.pitch) = (sys::cudaMemcpyKind(kind), height, pitch);
        add(log, name, &wanted);
    }
    wanted.srcPtr = sys::make_cudaPitchedPtr(null(), 8, 1, 1);
    add(log, "from null", &wanted);
    ask!(log, "no description", cudaGraphAddMemcpyNode(&raw mut node, graph, null(), 0, null()));
    nodes(log, graph);
    let up = pattern(N, 1);
    need!(log, cudaMemcpy(out.ptr(), up.as_ptr().cast(), N, sys::cudaMemcpyHostToDevice));
    go(log, run, on);
    log.fact("number", number);
    taken(log)
}
