//! Copies in graphs: between which memory, in bodies and in updates, and the descriptions that a node takes
//! and gives. And lists of nodes with too little room.

use std::ptr;

use cuda_sys as sys;
use cuda_sys::{cudaGraph_t, cudaGraphNode_t, cudaMemcpy3DParms, cudaMemcpyKind};

use super::graph::{conditional, empty, graph, ready};
use crate::case::{Cases, Change};
use crate::log::{Log, Outcome, Setup, ask, error_name, need};
use crate::memory::{Block, Kind, stream};

const N: usize = 64;
const AUTO: cudaMemcpyKind = sys::cudaMemcpyDefault;

fn null<T>() -> *mut T {
    ptr::null_mut()
}

unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}

/// A block of each kind.
fn blocks(log: &mut Log) -> Result<Vec<Block>, Setup> {
    Kind::ALL.into_iter().map(|kind| Block::new(log, kind, 1024)).collect()
}

/// A copy of one row in a graph.
fn row(log: &mut Log, graph: cudaGraph_t, to: Block, from: Block) -> Result<cudaGraphNode_t, Setup> {
    let mut node = null();
    need!(log, cudaGraphAddMemcpyNode1D(&raw mut node, graph, null(), 0, to.ptr(), from.ptr(), N, AUTO));
    Ok(node)
}

/// Each pair of kinds of memory, one case for each kind of the first side.
fn pairs(cases: &mut Cases, what: &str, run: fn(&mut Log, Kind) -> Outcome) {
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Registered) {
        cases.alone(format!("graph copies/{what}, {}", kind.name()), move |log| run(log, kind));
    }
}

/// Whether a copy in a body can be instantiated.
fn in_body(log: &mut Log, to: Kind) -> Outcome {
    let to = Block::new(log, to, 1024)?;
    for from in blocks(log)? {
        let (outer, mut run) = (graph(log)?, null());
        let (_, inner) = conditional(log, outer)?;
        row(log, inner, to, from)?;
        ask!(log, from.kind.name(), cudaGraphInstantiate(&raw mut run, outer, 0));
    }
    Ok(())
}

/// What a copy becomes in an executable graph: its destination of a kind, and then of each.
fn updated(log: &mut Log, to: Kind) -> Outcome {
    let (to, from) = (Block::new(log, to, 1024)?, Block::new(log, Kind::Device, 1024)?);
    for other in blocks(log)? {
        let (first, second) = (graph(log)?, graph(log)?);
        let node = row(log, first, to, from)?;
        row(log, second, other, from)?;
        let (run, mut result) = (ready(log, first)?, sys::cudaGraphExecUpdateResultInfo::default());
        // SAFETY: executable graphs and graphs of the case.
        let by_graph = unsafe { sys::cudaGraphExecUpdate(run, second, &raw mut result) };
        let run = ready(log, first)?;
        // SAFETY: as before, and memory of the case.
        let by_node =
            unsafe { sys::cudaGraphExecMemcpyNodeSetParams1D(run, node, other.ptr(), from.ptr(), N, AUTO) };
        log.fact(other.kind.name(), format_args!("{} {}", error_name(by_graph), error_name(by_node)));
    }
    Ok(())
}

/// The same of the source.
fn updated_source(log: &mut Log, from: Kind) -> Outcome {
    let (to, from) = (Block::new(log, Kind::Pinned, 1024)?, Block::new(log, from, 1024)?);
    for other in blocks(log)? {
        let graph = graph(log)?;
        let node = row(log, graph, to, from)?;
        let run = ready(log, graph)?;
        // SAFETY: an executable graph and memory of the case.
        let code =
            unsafe { sys::cudaGraphExecMemcpyNodeSetParams1D(run, node, to.ptr(), other.ptr(), N, AUTO) };
        log.fact(other.kind.name(), error_name(code));
    }
    Ok(())
}

/// A copy of four rows of 16 bytes.
fn rows(to: Block, from: Block) -> cudaMemcpy3DParms {
    cudaMemcpy3DParms {
        srcPtr: sys::make_cudaPitchedPtr(from.ptr(), 32, 20, 5),
        dstPtr: sys::make_cudaPitchedPtr(to.ptr(), 64, 40, 6),
        extent: sys::make_cudaExtent(16, 4, 1),
        kind: AUTO,
        ..Default::default()
    }
}

/// What a description of a copy is spoiled by, if it is.
const DESCRIPTIONS: [(&str, Change<cudaMemcpy3DParms>); 16] = [
    ("right", |_| ()),
    ("one row", |it| it.extent.height = 1),
    ("two layers", |it| (it.extent.height, it.extent.depth) = (2, 2)),
    ("no pitch", |it| it.srcPtr.pitch = 0),
    ("no pitch, one row", |it| (it.srcPtr.pitch, it.extent.height) = (0, 1)),
    ("a pitch that is too small", |it| it.srcPtr.pitch = 8),
    ("a pitch that is too small, one row", |it| (it.srcPtr.pitch, it.extent.height) = (8, 1)),
    ("a pitch that is too small below", |it| it.dstPtr.pitch = 8),
    ("fewer rows than are copied", |it| it.srcPtr.ysize = 2),
    ("fewer rows than are copied, two layers", |it| {
        (it.srcPtr.ysize, it.extent.depth) = (2, 2);
    }),
    ("no rows there", |it| it.srcPtr.ysize = 0),
    ("a narrower side", |it| it.srcPtr.xsize = 8),
    ("from the second row", |it| it.srcPos.y = 1),
    ("from a row too far", |it| it.srcPos.y = 2),
    ("from a byte", |it| it.srcPos.x = 4),
    ("from a byte too far", |it| it.srcPos.x = 20),
];

/// How often a description is taken: for a new node, for a node, in an executable graph, and for a call.
fn described(log: &mut Log, to: Kind) -> Outcome {
    let (to, from) = (Block::new(log, to, 1024)?, Block::new(log, Kind::Device, 1024)?);
    let on = stream(log)?;
    for (name, spoil) in DESCRIPTIONS {
        let (graph, mut it, mut made) = (graph(log)?, rows(to, from), null());
        let right = rows(to, from);
        let mut node = null();
        need!(log, cudaGraphAddMemcpyNode(&raw mut node, graph, null(), 0, &raw const right));
        let run = ready(log, graph)?;
        spoil(&mut it);
        let it = &raw const it;
        // SAFETY: objects and memory of the case.
        let codes = unsafe {
            [
                sys::cudaGraphAddMemcpyNode(&raw mut made, graph, null(), 0, it),
                sys::cudaGraphMemcpyNodeSetParams(node, it),
                sys::cudaGraphExecMemcpyNodeSetParams(run, node, it),
                sys::cudaMemcpy3DAsync(it, on),
            ]
        };
        log.fact(name, codes.map(error_name).join(" "));
        need!(log, cudaStreamSynchronize(on));
    }
    Ok(())
}

/// What a node tells of its copy.
fn tells(log: &mut Log, what: &str, node: cudaGraphNode_t) {
    let mut it = cudaMemcpy3DParms::default();
    ask!(log, what, cudaGraphMemcpyNodeGetParams(node, &raw mut it));
    for (name, side, at) in [("from", it.srcPtr, it.srcPos), ("to", it.dstPtr, it.dstPos)] {
        let null = side.ptr.is_null();
        let numbers = [side.pitch, side.xsize, side.ysize, at.x, at.y, at.z];
        log.fact(name, format_args!("{} {numbers:?}", if null { "null" } else { "some" }));
    }
    let extent = it.extent;
    log.fact("extent", format_args!("{} {} {}", extent.width, extent.height, extent.depth));
    log.fact("kind", it.kind.0);
}

/// The last node of a capture of one call.
fn captured(
    log: &mut Log,
    call: impl FnOnce(sys::cudaStream_t) -> sys::cudaError_t,
) -> Result<cudaGraphNode_t, Setup> {
    let (on, mut graph, mut node, mut count) = (stream(log)?, null(), null(), 1);
    need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeRelaxed));
    log.code("captured", call(on));
    need!(log, cudaStreamEndCapture(on, &raw mut graph));
    need!(log, cudaGraphGetNodes(graph, &raw mut node, &raw mut count));
    Ok(node)
}

fn told(cases: &mut Cases) {
    cases.alone("graph copies/what a node tells, as it was made", |log| {
        let graph = graph(log)?;
        for (to, from) in [
            (Kind::Device, Kind::Device),
            (Kind::Pinned, Kind::Device),
            (Kind::Device, Kind::Pageable),
            (Kind::Pageable, Kind::Pinned),
            (Kind::Managed, Kind::Device),
        ] {
            let (to, from) = (Block::new(log, to, 1024)?, Block::new(log, from, 1024)?);
            log.fact("memory", format_args!("{} to {}", from.kind.name(), to.kind.name()));
            let node = row(log, graph, to, from)?;
            tells(log, "a row", node);
            for (name, spoil) in
                [DESCRIPTIONS[0], DESCRIPTIONS[1], DESCRIPTIONS[2], DESCRIPTIONS[12], DESCRIPTIONS[14]]
            {
                let (mut it, mut node) = (rows(to, from), null());
                spoil(&mut it);
                need!(log, cudaGraphAddMemcpyNode(&raw mut node, graph, null(), 0, &raw const it));
                tells(log, name, node);
            }
        }
        Ok(())
    });
    cases.alone("graph copies/what a node tells, as it was captured", |log| {
        let (to, from) = (Block::new(log, Kind::Pinned, 1024)?, Block::new(log, Kind::Device, 1024)?);
        let node = captured(log, |on| {
            // SAFETY: memory of the case.
            unsafe { sys::cudaMemcpyAsync(to.ptr(), from.ptr(), N, AUTO, on) }
        })?;
        tells(log, "a row", node);
        let node = captured(log, |on| {
            // SAFETY: memory of the case.
            unsafe { sys::cudaMemcpy2DAsync(to.ptr(), 64, from.ptr(), 32, 16, 4, AUTO, on) }
        })?;
        tells(log, "rows", node);
        let it = rows(to, from);
        let node = captured(log, |on| {
            // SAFETY: memory of the case.
            unsafe { sys::cudaMemcpy3DAsync(&raw const it, on) }
        })?;
        tells(log, "a volume", node);
        Ok(())
    });
}

/// Lists with room for none, for one, and for more than there are.
fn rooms(log: &mut Log) -> Outcome {
    let (some, none) = (graph(log)?, graph(log)?);
    let first = empty(log, some, &[])?;
    let second = empty(log, some, &[first])?;
    for (graph, node, other) in [(some, second, first), (none, first, second)] {
        for room in [0, 1, 3] {
            let mut counts = [room; 5];
            let [mut a, mut b] = [[null(); 3]; 2];
            let (list, more) = (a.as_mut_ptr(), b.as_mut_ptr());
            // SAFETY: the lists have room for three.
            let codes = unsafe {
                [
                    sys::cudaGraphGetNodes(graph, list, &raw mut counts[0]),
                    sys::cudaGraphGetRootNodes(graph, list, &raw mut counts[1]),
                    sys::cudaGraphGetEdges(graph, list, more, null(), &raw mut counts[2]),
                    sys::cudaGraphNodeGetDependencies(node, list, null(), &raw mut counts[3]),
                    sys::cudaGraphNodeGetDependentNodes(other, list, null(), &raw mut counts[4]),
                ]
            };
            log.fact(&format!("{room}"), format_args!("{} {counts:?}", codes.map(error_name).join(" ")));
        }
    }
    Ok(())
}

/// Which nodes a body may have.
fn kinds_in_body(log: &mut Log) -> Outcome {
    let (memory, mark) = (blocks(log)?, crate::memory::event(log)?);
    let host = sys::cudaHostNodeParams { fn_: Some(nothing), userData: null() };
    let inside = graph(log)?;
    row(log, inside, memory[3], memory[0])?;
    type Add<'a> = &'a dyn Fn(*mut cudaGraphNode_t, cudaGraph_t) -> sys::cudaError_t;
    let fill = |kind: usize| sys::cudaMemsetParams {
        dst: memory[kind].ptr(),
        pitch: 0,
        value: 1,
        elementSize: 1,
        width: N,
        height: 1,
    };
    let (device, pinned, managed, pool) = (fill(3), fill(1), fill(4), fill(5));
    // SAFETY (all of these): objects and memory of the case.
    let adds: [(&str, Add<'_>); 8] = [
        ("nothing", &|to, graph| unsafe { sys::cudaGraphAddEmptyNode(to, graph, null(), 0) }),
        ("host", &|to, graph| unsafe { sys::cudaGraphAddHostNode(to, graph, null(), 0, &raw const host) }),
        ("record", &|to, graph| unsafe { sys::cudaGraphAddEventRecordNode(to, graph, null(), 0, mark) }),
        ("fill", &|to, graph| unsafe {
            sys::cudaGraphAddMemsetNode(to, graph, null(), 0, &raw const device)
        }),
        ("fill pinned", &|to, graph| unsafe {
            sys::cudaGraphAddMemsetNode(to, graph, null(), 0, &raw const pinned)
        }),
        ("fill managed", &|to, graph| unsafe {
            sys::cudaGraphAddMemsetNode(to, graph, null(), 0, &raw const managed)
        }),
        ("fill pool", &|to, graph| unsafe {
            sys::cudaGraphAddMemsetNode(to, graph, null(), 0, &raw const pool)
        }),
        ("child", &|to, graph| unsafe { sys::cudaGraphAddChildGraphNode(to, graph, null(), 0, inside) }),
    ];
    for (name, add) in adds {
        let (outer, mut node, mut run) = (graph(log)?, null(), null());
        let (_, inner) = conditional(log, outer)?;
        log.code(name, add(&raw mut node, inner));
        ask!(log, cudaGraphInstantiate(&raw mut run, outer, 0));
    }
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    pairs(cases, "in a body, to memory", in_body);
    pairs(cases, "updated, to memory", updated);
    pairs(cases, "updated, from memory", updated_source);
    for to in [Kind::Device, Kind::Pinned, Kind::Pageable] {
        cases.alone(format!("graph copies/descriptions, to memory, {}", to.name()), move |log| {
            described(log, to)
        });
    }
    told(cases);
    cases.alone("graph copies/lists with room for none, for one, for more", rooms);
    cases.alone("graph copies/kinds of nodes in a body", kinds_in_body);
}
