//! More changes of the nodes of an executable graph: fills of other lengths, kernels, functions, graphs, and
//! empty work.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::graph::{N, empty, graph, launch, ready, row};
use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_fill();
    fn case_empty();
}

/// A function for host nodes: adds one to a byte.
unsafe extern "C" fn adds_one(data: *mut c_void) {
    // SAFETY: the cases pass the address of a byte that nobody else uses meanwhile.
    unsafe { *data.cast::<u8>() += 1 };
}

/// A row on the device, and a graph that fills it with fives.
fn filling(log: &mut Log) -> Result<(Block, cudaGraph_t, cudaGraphNode_t, cudaGraphExec_t), Setup> {
    let (graph, to) = (graph(log)?, Block::new(log, Kind::Device, N)?);
    let mut node = ptr::null_mut();
    let fill = row(to, 5);
    need!(log, cudaGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, &raw const fill));
    let run = ready(log, graph)?;
    Ok((to, graph, node, run))
}

/// The parameters of a kernel node that fills so many bytes.
fn kernel(values: &mut [*mut c_void; 3], bytes: usize) -> cudaKernelNodeParams {
    let mut it =
        cudaKernelNodeParams { kernelParams: values.as_mut_ptr(), ..super::graph::kernel(case_fill) };
    (it.gridDim.x, it.blockDim.x) = (bytes.div_ceil(256) as u32, 256);
    it
}

fn enabled(cases: &mut Cases) {
    cases.add("cudaGraphNodeSetEnabled/a fill, off, changed, and on", |log| {
        let (to, _, node, run) = filling(log)?;
        let mut is = 77;
        ask!(log, "at first", cudaGraphNodeGetEnabled(run, node, &raw mut is));
        log.fact("enabled", is);
        need!(log, cudaMemset(to.ptr(), 1, N));
        need!(log, cudaDeviceSynchronize());
        ask!(log, "off", cudaGraphNodeSetEnabled(run, node, 0));
        ask!(log, cudaGraphNodeGetEnabled(run, node, &raw mut is));
        log.fact("enabled", is);
        launch(log, run, to, &[1; N])?;
        let other = row(to, 6);
        ask!(log, cudaGraphExecMemsetNodeSetParams(run, node, &raw const other));
        launch(log, run, to, &[1; N])?;
        ask!(log, "on", cudaGraphNodeSetEnabled(run, node, 1));
        launch(log, run, to, &[6; N])
    });
    let id = "cudaGraphNodeSetEnabled/a kernel, changed, off, and on, each launch on another stream";
    // With all launches on one stream, driver 580 loses the change.
    cases.add(id, |log| {
        let (graph, to) = (graph(log)?, Block::new(log, Kind::Device, N)?);
        let mut nodes = [ptr::null_mut(); 3];
        for at in 0..3 {
            let (mut place, mut value, mut count) =
                (to.ptr(), 4 + at as u8, if at < 2 { N as u32 } else { 1 });
            let mut values: [*mut c_void; 3] =
                [(&raw mut place).cast(), (&raw mut value).cast(), (&raw mut count).cast()];
            let parameters = kernel(&mut values, N);
            let before = if at > 0 { &raw const nodes[at - 1] } else { ptr::null() };
            let (mut node, count) = (ptr::null_mut(), usize::from(at > 0));
            need!(log, cudaGraphAddKernelNode(&raw mut node, graph, before, count, &raw const parameters));
            nodes[at] = node;
        }
        let run = ready(log, graph)?;
        let filled = |value: u8| {
            let mut all = [value; N];
            all[0] = 6;
            all
        };
        launch(log, run, to, &filled(5))?;
        let (mut place, mut value, mut count) = (to.ptr(), 7_u8, N as u32);
        let mut values: [*mut c_void; 3] =
            [(&raw mut place).cast(), (&raw mut value).cast(), (&raw mut count).cast()];
        let parameters = kernel(&mut values, N);
        ask!(log, "changed", cudaGraphExecKernelNodeSetParams(run, nodes[1], &raw const parameters));
        ask!(log, "off", cudaGraphNodeSetEnabled(run, nodes[1], 0));
        launch(log, run, to, &filled(4))?;
        ask!(log, "on", cudaGraphNodeSetEnabled(run, nodes[1], 1));
        launch(log, run, to, &filled(7))?;
        launch(log, run, to, &filled(7))
    });
    cases.add("cudaGraphNodeSetEnabled/nodes of other kinds", |log| {
        let graph = graph(log)?;
        let nothing = empty(log, graph, &[])?;
        let mut host = ptr::null_mut();
        let mut byte = 0_u8;
        let call = cudaHostNodeParams { fn_: Some(adds_one), userData: (&raw mut byte).cast() };
        need!(log, cudaGraphAddHostNode(&raw mut host, graph, ptr::null(), 0, &raw const call));
        let run = ready(log, graph)?;
        let mut is = 77;
        ask!(log, "nothing", cudaGraphNodeSetEnabled(run, nothing, 0));
        ask!(log, "of nothing", cudaGraphNodeGetEnabled(run, nothing, &raw mut is));
        ask!(log, "a function", cudaGraphNodeSetEnabled(run, host, 0));
        ask!(log, "of a function", cudaGraphNodeGetEnabled(run, host, &raw mut is));
        log.fact("enabled", is);
        Ok(())
    });
    cases.add("cudaGraphNodeSetEnabled/a fill, off, and the graph updated", |log| {
        let (to, graph, node, run) = filling(log)?;
        need!(log, cudaMemset(to.ptr(), 1, N));
        need!(log, cudaDeviceSynchronize());
        need!(log, cudaGraphNodeSetEnabled(run, node, 0));
        let mut info = cudaGraphExecUpdateResultInfo::default();
        ask!(log, cudaGraphExecUpdate(run, graph, &raw mut info));
        let mut is = 77;
        ask!(log, cudaGraphNodeGetEnabled(run, node, &raw mut is));
        log.fact("enabled", is);
        Ok(())
    });
}

fn others(cases: &mut Cases) {
    cases.add("cudaGraphExecMemsetNodeSetParams/a part of the row", |log| {
        let (to, _, node, run) = filling(log)?;
        need!(log, cudaMemset(to.ptr(), 1, N));
        need!(log, cudaDeviceSynchronize());
        let mut part = row(to, 6);
        part.width = N / 2;
        ask!(log, cudaGraphExecMemsetNodeSetParams(run, node, &raw const part));
        let mut want = [1; N];
        want[..N / 2].fill(6);
        launch(log, run, to, &want)
    });
    cases.add("cudaGraphExecKernelNodeSetParams/another shape, value, kernel", |log| {
        let (graph, to) = (graph(log)?, Block::new(log, Kind::Device, N)?);
        let (mut at, mut value, mut count, mut node) = (to.ptr(), 5_u8, N as u32, ptr::null_mut());
        let mut values: [*mut c_void; 3] =
            [(&raw mut at).cast(), (&raw mut value).cast(), (&raw mut count).cast()];
        let mut parameters = kernel(&mut values, N);
        need!(log, cudaGraphAddKernelNode(&raw mut node, graph, ptr::null(), 0, &raw const parameters));
        let run = ready(log, graph)?;
        launch(log, run, to, &[5; N])?;
        // SAFETY: `values` leads to it, and nobody else uses it.
        unsafe { ptr::write_volatile(&raw mut value, 6) };
        (parameters.gridDim.x, parameters.blockDim.x) = (2 * parameters.gridDim.x, 128);
        ask!(log, "value and shape", cudaGraphExecKernelNodeSetParams(run, node, &raw const parameters));
        launch(log, run, to, &[6; N])?;
        parameters.func = case_empty as *const c_void as *mut c_void;
        ask!(log, "kernel", cudaGraphExecKernelNodeSetParams(run, node, &raw const parameters));
        launch(log, run, to, &[6; N])?;
        parameters.gridDim.x = 0;
        ask!(log, "no blocks", cudaGraphExecKernelNodeSetParams(run, node, &raw const parameters));
        launch(log, run, to, &[6; N])
    });
    cases.add("cudaGraphExecHostNodeSetParams/another argument, and no function", |log| {
        let graph = graph(log)?;
        let (mut first, mut second, mut node) = (0_u8, 0_u8, ptr::null_mut());
        let call = cudaHostNodeParams { fn_: Some(adds_one), userData: (&raw mut first).cast() };
        need!(log, cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, &raw const call));
        let (run, on) = (ready(log, graph)?, stream(log)?);
        need!(log, cudaGraphLaunch(run, on));
        let call = cudaHostNodeParams { userData: (&raw mut second).cast(), ..call };
        ask!(log, cudaGraphExecHostNodeSetParams(run, node, &raw const call));
        need!(log, cudaGraphLaunch(run, on));
        need!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        // SAFETY: both are alive, and the launches are over.
        let counts = unsafe { (ptr::read_volatile(&raw const first), ptr::read_volatile(&raw const second)) };
        log.fact("calls", format_args!("{counts:?}"));
        let none = cudaHostNodeParams { fn_: None, ..call };
        ask!(log, "no function", cudaGraphExecHostNodeSetParams(run, node, &raw const none));
        Ok(())
    });
    cases.add("cudaGraphExecChildGraphNodeSetParams/of the same shape, and of another", |log| {
        let (to, within, _, _) = filling(log)?;
        let (outer, other) = (graph(log)?, graph(log)?);
        let (mut child, mut node) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaGraphAddChildGraphNode(&raw mut child, outer, ptr::null(), 0, within));
        let run = ready(log, outer)?;
        let six = row(to, 6);
        need!(log, cudaGraphAddMemsetNode(&raw mut node, other, ptr::null(), 0, &raw const six));
        ask!(log, "the same", cudaGraphExecChildGraphNodeSetParams(run, child, other));
        launch(log, run, to, &[6; N])?;
        empty(log, other, &[node])?;
        ask!(log, "another", cudaGraphExecChildGraphNodeSetParams(run, child, other));
        ask!(log, "null", cudaGraphExecChildGraphNodeSetParams(run, child, ptr::null_mut()));
        launch(log, run, to, &[6; N])
    });
    cases.add("cudaGraphGetRootNodes/of three nodes, and their kinds", |log| {
        let (_, graph, node, _) = filling(log)?;
        let second = empty(log, graph, &[node])?;
        empty(log, graph, &[])?;
        let mut count = 77;
        ask!(log, cudaGraphGetRootNodes(graph, ptr::null_mut(), &raw mut count));
        log.fact("count", count);
        let (mut roots, mut room) = ([ptr::null_mut(); 4], 4);
        ask!(log, "with room", cudaGraphGetRootNodes(graph, roots.as_mut_ptr(), &raw mut room));
        log.fact("count", format_args!("{room}, {} null", roots.iter().filter(|it| it.is_null()).count()));
        for (name, node) in [("first", node), ("second", second)] {
            let mut kind = cudaGraphNodeTypeCount;
            ask!(log, name, cudaGraphNodeGetType(node, &raw mut kind));
            log.fact("kind", kind.0);
        }
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    enabled(cases);
    others(cases);
}
