//! Captures and graphs.

use cuda_sys as sys;
use cuda_sys::{cudaGraph_t, cudaGraphExec_t, cudaMemcpy3DParms};

use super::super::super::graph::conditional;
use super::super::common::{
    N, add_case, adds, begin, device, end, first, first_is, go, graph, integers, nodes, null, ready, sum,
    taken,
};
use super::super::open::graph::fill;
use crate::case::Cases;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

pub(super) fn add(cases: &mut Cases) {
    bodies(cases);
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
}

fn captures(cases: &mut Cases) {
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
