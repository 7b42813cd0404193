//! Updates of executable graphs with every result, and instances with parameters.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::graph::{N, empty, graph, kernel, ready, row};
use super::graph_parameter::{adds_one, copy, fill, host, kernel_node};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_empty();
    fn case_add();
}

unsafe extern "C" fn other_function(_: *mut c_void) {}

/// Updates an executable graph, and notes the result and which nodes it names.
fn update(log: &mut Log, run: cudaGraphExec_t, with: cudaGraph_t) {
    let mut info = cudaGraphExecUpdateResultInfo::default();
    ask!(log, cudaGraphExecUpdate(run, with, &raw mut info));
    let named = (!info.errorNode.is_null(), !info.errorFromNode.is_null());
    log.fact("result, nodes", format_args!("{} {} {}", info.result.0, named.0, named.1));
    ask!(log, cudaGetLastError());
}

pub(super) fn add(cases: &mut Cases) {
    type Build = fn(&mut Log, cudaGraph_t, [Block; 3]) -> Result<(), Setup>;
    let pairs: [(&str, Build, Build); 15] = [
        (
            "edges the other way",
            |log, graph, [a, b, c]| {
                let (one, two) = (fill(log, graph, &row(a, 1))?, copy(log, graph, b, c)?);
                need!(log, cudaGraphAddDependencies(graph, &raw const one, &raw const two, ptr::null(), 1));
                Ok(())
            },
            |log, graph, [a, b, c]| {
                let (one, two) = (fill(log, graph, &row(a, 1))?, copy(log, graph, b, c)?);
                need!(log, cudaGraphAddDependencies(graph, &raw const two, &raw const one, ptr::null(), 1));
                Ok(())
            },
        ),
        (
            "one edge less",
            |log, graph, _| {
                let one = kernel_node(log, graph, &[])?;
                kernel_node(log, graph, &[one]).map(drop)
            },
            |log, graph, _| {
                kernel_node(log, graph, &[])?;
                kernel_node(log, graph, &[]).map(drop)
            },
        ),
        (
            "one node less",
            |log, graph, _| {
                kernel_node(log, graph, &[])?;
                kernel_node(log, graph, &[]).map(drop)
            },
            |log, graph, _| kernel_node(log, graph, &[]).map(drop),
        ),
        (
            "one node more",
            |log, graph, _| kernel_node(log, graph, &[]).map(drop),
            |log, graph, _| {
                kernel_node(log, graph, &[])?;
                empty(log, graph, &[]).map(drop)
            },
        ),
        (
            "a kernel for a fill",
            |log, graph, [a, _, _]| fill(log, graph, &row(a, 1)).map(drop),
            |log, graph, _| kernel_node(log, graph, &[]).map(drop),
        ),
        (
            "an empty node for a kernel",
            |log, graph, _| kernel_node(log, graph, &[]).map(drop),
            |log, graph, _| empty(log, graph, &[]).map(drop),
        ),
        (
            "another function and data",
            |log, graph, _| {
                let (mut node, it) = (
                    ptr::null_mut(),
                    cudaHostNodeParams { fn_: Some(other_function), userData: ptr::null_mut() },
                );
                need!(log, cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, &raw const it));
                Ok(())
            },
            |log, graph, [_, _, c]| {
                let (mut node, it) =
                    (ptr::null_mut(), cudaHostNodeParams { fn_: Some(adds_one), userData: c.ptr() });
                need!(log, cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, &raw const it));
                Ok(())
            },
        ),
        (
            "another kernel",
            |log, graph, _| kernel_node(log, graph, &[]).map(drop),
            |log, graph, [a, _, _]| {
                let (mut at, mut amount) = (a.ptr(), 1_i32);
                let mut values: [*mut c_void; 2] = [(&raw mut at).cast(), (&raw mut amount).cast()];
                let (mut node, mut it) = (ptr::null_mut(), kernel(case_add));
                it.kernelParams = values.as_mut_ptr();
                need!(log, cudaGraphAddKernelNode(&raw mut node, graph, ptr::null(), 0, &raw const it));
                Ok(())
            },
        ),
        (
            "a kernel of another shape",
            |log, graph, _| kernel_node(log, graph, &[]).map(drop),
            |log, graph, _| {
                let (mut node, mut it) = (ptr::null_mut(), kernel(case_empty));
                (it.gridDim.x, it.blockDim.y, it.sharedMemBytes) = (5, 7, 2048);
                need!(log, cudaGraphAddKernelNode(&raw mut node, graph, ptr::null(), 0, &raw const it));
                Ok(())
            },
        ),
        (
            "a fill of two rows",
            |log, graph, [a, _, _]| fill(log, graph, &row(a, 1)).map(drop),
            |log, graph, [a, _, _]| {
                let two = cudaMemsetParams { pitch: 512, width: 64, height: 2, ..row(a, 1) };
                fill(log, graph, &two).map(drop)
            },
        ),
        (
            "a fill of wider elements",
            |log, graph, [a, _, _]| fill(log, graph, &row(a, 1)).map(drop),
            |log, graph, [_, b, _]| {
                fill(log, graph, &cudaMemsetParams { elementSize: 4, width: 16, ..row(b, 1) }).map(drop)
            },
        ),
        (
            "a copy of other bytes",
            |log, graph, [a, b, _]| copy(log, graph, a, b).map(drop),
            |log, graph, [a, _, _]| {
                let (mut node, way) = (ptr::null_mut(), cudaMemcpyDeviceToDevice);
                let (to, from) = (a.at(64), a.at(1024));
                need!(log, cudaGraphAddMemcpyNode1D(&raw mut node, graph, ptr::null(), 0, to, from, 64, way));
                Ok(())
            },
        ),
        (
            "a copy to pinned memory",
            |log, graph, [a, b, _]| copy(log, graph, a, b).map(drop),
            |log, graph, [a, _, c]| {
                let (mut node, way) = (ptr::null_mut(), cudaMemcpyDeviceToHost);
                let (to, from) = (c.ptr(), a.ptr());
                need!(log, cudaGraphAddMemcpyNode1D(&raw mut node, graph, ptr::null(), 0, to, from, N, way));
                Ok(())
            },
        ),
        (
            "a child graph of another shape",
            |log, outer, _| {
                let (inner, mut node) = (graph(log)?, ptr::null_mut());
                kernel_node(log, inner, &[])?;
                need!(log, cudaGraphAddChildGraphNode(&raw mut node, outer, ptr::null(), 0, inner));
                Ok(())
            },
            |log, outer, _| {
                let (inner, mut node) = (graph(log)?, ptr::null_mut());
                kernel_node(log, inner, &[])?;
                empty(log, inner, &[])?;
                need!(log, cudaGraphAddChildGraphNode(&raw mut node, outer, ptr::null(), 0, inner));
                Ok(())
            },
        ),
        (
            "a kernel that is cooperative",
            |log, graph, _| kernel_node(log, graph, &[]).map(drop),
            |log, graph, _| {
                let node = kernel_node(log, graph, &[])?;
                let mut value = cudaLaunchAttributeValue { pad: [0; 64] };
                value.cooperative = 1;
                let cooperative = cudaLaunchAttributeCooperative;
                need!(log, cudaGraphKernelNodeSetAttribute(node, cooperative, &raw const value));
                Ok(())
            },
        ),
    ];
    for (what, build, other) in pairs {
        cases.add(format!("cudaGraphExecUpdate/{what}"), move |log| {
            let blocks = [
                Block::new(log, Kind::Device, N)?,
                Block::new(log, Kind::Device, N)?,
                Block::new(log, Kind::Pinned, N)?,
            ];
            let (first, second, on) = (graph(log)?, graph(log)?, stream(log)?);
            build(log, first, blocks)?;
            other(log, second, blocks)?;
            let run = ready(log, first)?;
            update(log, run, second);
            ask!(log, cudaGraphLaunch(run, on));
            ask!(log, cudaStreamSynchronize(on));
            Ok(())
        });
    }
    cases.add("cudaGraphInstantiateWithParams/uploaded, refused, and why", |log| {
        let (graph, on) = (graph(log)?, stream(log)?);
        kernel_node(log, graph, &[])?;
        let mut run = ptr::null_mut();
        let mut wanted = cudaGraphInstantiateParams::default();
        wanted.flags = u64::from(cudaGraphInstantiateFlagUpload.0);
        wanted.uploadStream = on;
        ask!(log, "upload", cudaGraphInstantiateWithParams(&raw mut run, graph, &raw mut wanted));
        log.fact("result, node", format_args!("{} {}", wanted.result_out.0, wanted.errNode_out.is_null()));
        let mut flags = 77;
        ask!(log, cudaGraphExecGetFlags(run, &raw mut flags));
        log.fact("flags", flags);
        wanted.flags = 1 << 20;
        ask!(log, "flags", cudaGraphInstantiateWithParams(&raw mut run, graph, &raw mut wanted));
        log.fact("result", wanted.result_out.0);
        ask!(log, "flags", cudaGraphInstantiate(&raw mut run, graph, 1 << 20));
        ask!(log, "null", cudaGraphInstantiateWithParams(&raw mut run, graph, ptr::null_mut()));
        ask!(log, "no graph", cudaGraphInstantiateWithParams(&raw mut run, ptr::null_mut(), &raw mut wanted));
        Ok(())
    });
    cases.add("cudaGraphInstantiateWithParams/for launches by the device, with a function", |log| {
        let (graph, mut calls, mut run) = (graph(log)?, 0_u32, ptr::null_mut());
        let node = host(log, graph, &raw mut calls)?;
        let mut wanted = cudaGraphInstantiateParams::default();
        wanted.flags = u64::from(cudaGraphInstantiateFlagDeviceLaunch.0);
        ask!(log, cudaGraphInstantiateWithParams(&raw mut run, graph, &raw mut wanted));
        log.fact("result, node", format_args!("{} {}", wanted.result_out.0, wanted.errNode_out == node));
        Ok(())
    });
    cases.add("cudaGraphUpload/twice, while it runs, and null", |log| {
        let (graph, on, mut calls) = (graph(log)?, stream(log)?, 0_u32);
        host(log, graph, &raw mut calls)?;
        let run = ready(log, graph)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaGraphUpload(run, on));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, "again", cudaGraphUpload(run, on));
        ask!(log, cudaStreamQuery(on));
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "null", cudaGraphUpload(ptr::null_mut(), on));
        // SAFETY: the launch is over.
        log.fact("calls", unsafe { ptr::read_volatile(&raw const calls) });
        Ok(())
    });
    cases.add("cudaGraphExecDestroy/while it waits to run", |log| {
        let (graph, on, mut calls) = (graph(log)?, stream(log)?, 0_u32);
        host(log, graph, &raw mut calls)?;
        let run = ready(log, graph)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, cudaGraphDestroy(graph));
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        // SAFETY: the launch is over.
        log.fact("calls", unsafe { ptr::read_volatile(&raw const calls) });
        ask!(log, "null", cudaGraphExecDestroy(ptr::null_mut()));
        Ok(())
    });
}
