//! Captures and graphs.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::{cudaGraph_t, cudaGraphNode_t, cudaKernelNodeParams, cudaMemsetParams};

use super::super::common::{
    Kernel, add_case, arguments, device, first_is, float_is, floats, go, graph, nodes, null, ready, shape,
    taken,
};
use crate::case::Cases;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_scale();
}

pub(super) fn add(cases: &mut Cases) {
    built(cases);
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
    add_case(cases, 147, "a first value of 1 or 0, of an if, and what is refused", conditions);
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

fn launched(cases: &mut Cases) {
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
}
