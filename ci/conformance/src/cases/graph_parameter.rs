//! Parameters of nodes, read and changed; clones, edges with data, user objects, and memory of graphs.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::graph::{N, empty, graph, kernel, launch, ready, row};
use crate::case::{Cases, Change};
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream};

unsafe extern "C" {
    fn case_empty();
    fn case_add();
    fn case_fill();
}

pub(super) unsafe extern "C" fn adds_one(data: *mut c_void) {
    // SAFETY: the cases pass the address of a number that nobody else uses meanwhile.
    unsafe { *data.cast::<u32>() += 1 };
}

pub(super) fn kernel_node(
    log: &mut Log,
    graph: cudaGraph_t,
    before: &[cudaGraphNode_t],
) -> Result<cudaGraphNode_t, Setup> {
    let (mut node, it) = (ptr::null_mut(), kernel(case_empty));
    need!(log, cudaGraphAddKernelNode(&raw mut node, graph, before.as_ptr(), before.len(), &raw const it));
    Ok(node)
}

pub(super) fn fill(
    log: &mut Log,
    graph: cudaGraph_t,
    it: &cudaMemsetParams,
) -> Result<cudaGraphNode_t, Setup> {
    let mut node = ptr::null_mut();
    need!(log, cudaGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, it));
    Ok(node)
}

pub(super) fn copy(
    log: &mut Log,
    graph: cudaGraph_t,
    to: Block,
    from: Block,
) -> Result<cudaGraphNode_t, Setup> {
    let (mut node, way) = (ptr::null_mut(), cudaMemcpyDeviceToDevice);
    let (to, from) = (to.ptr(), from.ptr());
    need!(log, cudaGraphAddMemcpyNode1D(&raw mut node, graph, ptr::null(), 0, to, from, N, way));
    Ok(node)
}

pub(super) fn host(log: &mut Log, graph: cudaGraph_t, calls: *mut u32) -> Result<cudaGraphNode_t, Setup> {
    let (mut node, it) =
        (ptr::null_mut(), cudaHostNodeParams { fn_: Some(adds_one), userData: calls.cast() });
    need!(log, cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, &raw const it));
    Ok(node)
}

fn parameters(cases: &mut Cases) {
    cases.add("cudaGraphKernelNodeGetParams/of a kernel, of others, and null", |log| {
        let (graph, to) = (graph(log)?, Block::new(log, Kind::Device, N)?);
        let (mut at, mut value, mut count, mut node) = (to.ptr(), 5_u8, 77_u32, ptr::null_mut());
        let mut values: [*mut c_void; 3] =
            [(&raw mut at).cast(), (&raw mut value).cast(), (&raw mut count).cast()];
        let mut it = kernel(case_fill);
        it.kernelParams = values.as_mut_ptr();
        it.blockDim.x = 96;
        it.gridDim.y = 3;
        it.sharedMemBytes = 1024;
        need!(log, cudaGraphAddKernelNode(&raw mut node, graph, ptr::null(), 0, &raw const it));
        // SAFETY: `values` leads to them.
        unsafe { ptr::write_volatile(&raw mut value, 6) };
        let mut back = kernel(case_empty);
        ask!(log, cudaGraphKernelNodeGetParams(node, &raw mut back));
        log.fact("function", ptr::eq(back.func, it.func));
        log.fact("shape", format_args!("{} {} {}", back.gridDim.y, back.blockDim.x, back.sharedMemBytes));
        log.fact("extra", back.extra.is_null());
        if !back.kernelParams.is_null() {
            // SAFETY: the node's own copies of three arguments.
            let (value, count) = unsafe {
                (**back.kernelParams.add(1).cast::<*mut u8>(), **back.kernelParams.add(2).cast::<*mut u32>())
            };
            log.fact("arguments", format_args!("{value} {count}"));
        }
        let nothing = empty(log, graph, &[])?;
        ask!(log, "of nothing", cudaGraphKernelNodeGetParams(nothing, &raw mut back));
        ask!(log, "of null", cudaGraphKernelNodeGetParams(ptr::null_mut(), &raw mut back));
        ask!(log, "to null", cudaGraphKernelNodeGetParams(node, ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaGraphKernelNodeSetParams/another kernel, what is refused", |log| {
        let graph = graph(log)?;
        let node = kernel_node(log, graph, &[])?;
        let (mut it, mut back) = (kernel(case_add), kernel(case_empty));
        ask!(log, "without its arguments", cudaGraphKernelNodeSetParams(node, &raw const it));
        let (mut to, mut amount) = (ptr::null_mut::<c_void>(), 3_i32);
        let mut values: [*mut c_void; 2] = [(&raw mut to).cast(), (&raw mut amount).cast()];
        it.kernelParams = values.as_mut_ptr();
        ask!(log, "another kernel", cudaGraphKernelNodeSetParams(node, &raw const it));
        it.blockDim.x = 2048;
        ask!(log, "too many threads", cudaGraphKernelNodeSetParams(node, &raw const it));
        it.blockDim.x = 1;
        it.sharedMemBytes = 1 << 20;
        ask!(log, "too much memory", cudaGraphKernelNodeSetParams(node, &raw const it));
        it.sharedMemBytes = 0;
        it.func = ptr::null_mut();
        ask!(log, "no kernel", cudaGraphKernelNodeSetParams(node, &raw const it));
        ask!(log, "null", cudaGraphKernelNodeSetParams(node, ptr::null()));
        ask!(log, cudaGraphKernelNodeGetParams(node, &raw mut back));
        log.fact("the other kernel", ptr::eq(back.func, case_add as *const c_void));
        log.fact("threads", back.blockDim.x);
        Ok(())
    });
    cases.add("cudaGraphMemsetNodeGetParams/of one row and of two", |log| {
        let (graph, to) = (graph(log)?, Block::new(log, Kind::Device, N)?);
        for (what, it) in [
            ("one", cudaMemsetParams { pitch: 99, ..row(to, 0xff) }),
            ("two", cudaMemsetParams { pitch: 512, width: 50, height: 2, elementSize: 4, ..row(to, 7) }),
        ] {
            let node = fill(log, graph, &it)?;
            let mut back = cudaMemsetParams::default();
            ask!(log, what, cudaGraphMemsetNodeGetParams(node, &raw mut back));
            let (pitch, value, size) = (back.pitch, back.value, back.elementSize);
            log.fact("parameters", format_args!("{pitch} {value} {size} {} {}", back.width, back.height));
            log.fact("its place", back.dst == to.ptr());
            ask!(log, "to null", cudaGraphMemsetNodeGetParams(node, ptr::null_mut()));
        }
        let (nothing, mut back) = (empty(log, graph, &[])?, cudaMemsetParams::default());
        ask!(log, "of nothing", cudaGraphMemsetNodeGetParams(nothing, &raw mut back));
        Ok(())
    });
    cases.add("cudaGraphMemsetNodeSetParams/elements that there are not, no width", |log| {
        let (graph, to) = (graph(log)?, Block::new(log, Kind::Device, N)?);
        let node = fill(log, graph, &row(to, 5))?;
        for (what, it) in [
            ("elements of 3", cudaMemsetParams { elementSize: 3, width: 16, ..row(to, 6) }),
            ("elements of 8", cudaMemsetParams { elementSize: 8, width: 16, ..row(to, 6) }),
            ("no width", cudaMemsetParams { width: 0, ..row(to, 6) }),
            ("no height", cudaMemsetParams { height: 0, ..row(to, 6) }),
            ("a pitch below the width", cudaMemsetParams { pitch: 8, width: 16, height: 2, ..row(to, 6) }),
            ("an odd place", cudaMemsetParams { dst: to.at(1), elementSize: 4, width: 4, ..row(to, 6) }),
            ("too much", cudaMemsetParams { width: 2 * N, ..row(to, 6) }),
            ("null", cudaMemsetParams { dst: ptr::null_mut(), ..row(to, 6) }),
            ("a part", cudaMemsetParams { width: N / 2, ..row(to, 6) }),
        ] {
            ask!(log, what, cudaGraphMemsetNodeSetParams(node, &raw const it));
        }
        let run = ready(log, graph)?;
        let mut want = [0; N];
        want[..N / 2].fill(6);
        launch(log, run, to, &want)
    });
    cases.add("cudaGraphHostNodeGetParams/read, changed, refused", |log| {
        let (graph, mut first, mut second) = (graph(log)?, 0_u32, 0_u32);
        let node = host(log, graph, &raw mut first)?;
        let mut back = cudaHostNodeParams { fn_: None, userData: ptr::null_mut() };
        ask!(log, cudaGraphHostNodeGetParams(node, &raw mut back));
        log.fact("data", back.userData == (&raw mut first).cast());
        back.userData = (&raw mut second).cast();
        ask!(log, cudaGraphHostNodeSetParams(node, &raw const back));
        back.fn_ = None;
        ask!(log, "no function", cudaGraphHostNodeSetParams(node, &raw const back));
        ask!(log, "null", cudaGraphHostNodeSetParams(node, ptr::null()));
        let nothing = empty(log, graph, &[])?;
        ask!(log, "of nothing", cudaGraphHostNodeGetParams(nothing, &raw mut back));
        let (run, on) = (ready(log, graph)?, stream(log)?);
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        // SAFETY: the launch is over.
        let calls = unsafe { (ptr::read_volatile(&raw const first), ptr::read_volatile(&raw const second)) };
        log.fact("calls", format_args!("{calls:?}"));
        Ok(())
    });
    cases.add("cudaGraphMemcpyNodeGetParams/of a row and of a volume", |log| {
        let (graph, mut node) = (graph(log)?, ptr::null_mut());
        let (to, from) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, N)?);
        let row = copy(log, graph, to, from)?;
        let mut back = cudaMemcpy3DParms::default();
        ask!(log, "a row", cudaGraphMemcpyNodeGetParams(row, &raw mut back));
        let extent = back.extent;
        log.fact("extent", format_args!("{} {} {}", extent.width, extent.height, extent.depth));
        log.fact("kind", back.kind.0);
        log.fact("places", back.srcPtr.ptr == from.ptr() && back.dstPtr.ptr == to.ptr());
        let mut it = super::volume::whole(to, from, cudaMemcpyDeviceToDevice);
        it.extent = cudaExtent { width: 16, height: 2, depth: 2 };
        (it.srcPtr.pitch, it.srcPtr.ysize, it.dstPtr.pitch, it.dstPtr.ysize) = (64, 4, 128, 2);
        need!(log, cudaGraphAddMemcpyNode(&raw mut node, graph, ptr::null(), 0, &raw const it));
        ask!(log, "a volume", cudaGraphMemcpyNodeGetParams(node, &raw mut back));
        let (from, to) = (back.srcPtr, back.dstPtr);
        log.fact("pitches", format_args!("{} {} {} {}", from.pitch, from.ysize, to.pitch, to.ysize));
        ask!(log, "set", cudaGraphMemcpyNodeSetParams(row, &raw const it));
        it.extent.width = 100;
        ask!(log, "wider than the pitch", cudaGraphMemcpyNodeSetParams(row, &raw const it));
        ask!(log, "to null", cudaGraphMemcpyNodeGetParams(row, ptr::null_mut()));
        ask!(log, "null", cudaGraphMemcpyNodeSetParams(row, ptr::null()));
        Ok(())
    });
    cases.add("cudaGraphNodeSetParams/of every kind, and of another kind", |log| {
        let (graph, to) = (graph(log)?, Block::new(log, Kind::Device, N)?);
        let node = fill(log, graph, &row(to, 5))?;
        let mut it = cudaGraphNodeParams::default();
        it.type_ = cudaGraphNodeTypeMemset;
        it.__bindgen_anon_1.memset =
            cudaMemsetParamsV2 { dst: to.ptr(), pitch: 0, value: 6, elementSize: 1, width: N, height: 1 };
        ask!(log, "a fill", cudaGraphNodeSetParams(node, &raw mut it));
        let run = ready(log, graph)?;
        launch(log, run, to, &[6; N])?;
        it.__bindgen_anon_1.memset.value = 7;
        ask!(log, "in the executable graph", cudaGraphExecNodeSetParams(run, node, &raw mut it));
        launch(log, run, to, &[7; N])?;
        it.reserved0[1] = 1;
        ask!(log, "reserved", cudaGraphNodeSetParams(node, &raw mut it));
        it.reserved0[1] = 0;
        it.type_ = cudaGraphNodeTypeEmpty;
        ask!(log, "as empty", cudaGraphNodeSetParams(node, &raw mut it));
        it.type_ = cudaGraphNodeTypeHost;
        ask!(log, "as a function", cudaGraphNodeSetParams(node, &raw mut it));
        it.type_ = cudaGraphNodeType(50);
        ask!(log, "as no kind", cudaGraphNodeSetParams(node, &raw mut it));
        ask!(log, "null", cudaGraphNodeSetParams(node, ptr::null_mut()));
        ask!(log, "null", cudaGraphExecNodeSetParams(run, ptr::null_mut(), &raw mut it));
        Ok(())
    });
    cases.add("cudaGraphAddNode/of every kind that is simple", |log| {
        let (graph, to) = (graph(log)?, Block::new(log, Kind::Device, N)?);
        let (mut node, mut calls) = (ptr::null_mut(), 0_u32);
        let mark = event(log)?;
        let none = ptr::null();
        let mut it = cudaGraphNodeParams::default();
        it.type_ = cudaGraphNodeTypeEmpty;
        ask!(log, "empty", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut it));
        let mut it = cudaGraphNodeParams::default();
        it.type_ = cudaGraphNodeTypeHost;
        it.__bindgen_anon_1.host.fn_ = Some(adds_one);
        it.__bindgen_anon_1.host.userData = (&raw mut calls).cast();
        ask!(log, "function", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut it));
        let mut it = cudaGraphNodeParams::default();
        it.type_ = cudaGraphNodeTypeEventRecord;
        it.__bindgen_anon_1.eventRecord.event = mark;
        ask!(log, "record", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut it));
        it.__bindgen_anon_1.eventRecord.event = ptr::null_mut();
        ask!(log, "of null", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut it));
        let mut it = cudaGraphNodeParams::default();
        it.type_ = cudaGraphNodeTypeKernel;
        let one = dim3 { x: 1, y: 1, z: 1 };
        it.__bindgen_anon_1.kernel.func = case_empty as *const c_void as *mut c_void;
        it.__bindgen_anon_1.kernel.gridDim = one;
        it.__bindgen_anon_1.kernel.blockDim = one;
        ask!(log, "kernel", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut it));
        let mut it = cudaGraphNodeParams::default();
        it.type_ = cudaGraphNodeTypeMemcpy;
        it.__bindgen_anon_1.memcpy.copyParams = super::volume::whole(to, to, cudaMemcpyDeviceToDevice);
        it.__bindgen_anon_1.memcpy.copyParams.extent = cudaExtent { width: 64, height: 1, depth: 1 };
        ask!(log, "copy", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut it));
        it.__bindgen_anon_1.memcpy.flags = 1;
        ask!(log, "flags", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut it));
        it.type_ = cudaGraphNodeType(50);
        ask!(log, "no kind", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, &raw mut it));
        ask!(log, "null", cudaGraphAddNode(&raw mut node, graph, none, ptr::null(), 0, ptr::null_mut()));
        let (run, on) = (ready(log, graph)?, stream(log)?);
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        // SAFETY: the launch is over.
        log.fact("calls", unsafe { ptr::read_volatile(&raw const calls) });
        Ok(())
    });
    cases.add("cudaGraphNodeGetType/of nodes and of null", |log| {
        let graph = graph(log)?;
        let mut kind = cudaGraphNodeTypeCount;
        let node = kernel_node(log, graph, &[])?;
        ask!(log, cudaGraphNodeGetType(node, &raw mut kind));
        log.fact("kind", kind.0);
        ask!(log, "of null", cudaGraphNodeGetType(ptr::null_mut(), &raw mut kind));
        ask!(log, "to null", cudaGraphNodeGetType(node, ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaGraphNodeGetDependencies/with less room, with more, and null", |log| {
        let graph = graph(log)?;
        let (a, b) = (empty(log, graph, &[])?, empty(log, graph, &[])?);
        let c = empty(log, graph, &[a, b])?;
        let d = empty(log, graph, &[c, a])?;
        let null = ptr::null_mut();
        for (what, node) in [("c", c), ("a", a), ("d", d)] {
            let mut count = 77;
            ask!(log, what, cudaGraphNodeGetDependencies(node, ptr::null_mut(), null, &raw mut count));
            log.fact("before", count);
            ask!(log, what, cudaGraphNodeGetDependentNodes(node, ptr::null_mut(), null, &raw mut count));
            log.fact("after", count);
        }
        let (mut nodes, mut room) = ([ptr::null_mut(); 4], 1);
        ask!(log, "less", cudaGraphNodeGetDependencies(c, nodes.as_mut_ptr(), null, &raw mut room));
        log.fact("room", format_args!("{room} {}", nodes.iter().filter(|it| it.is_null()).count()));
        room = 4;
        nodes = [d; 4];
        ask!(log, "more", cudaGraphNodeGetDependencies(c, nodes.as_mut_ptr(), null, &raw mut room));
        log.fact("room", format_args!("{room} {}", nodes.iter().filter(|it| it.is_null()).count()));
        ask!(log, "no count", cudaGraphNodeGetDependencies(c, nodes.as_mut_ptr(), null, ptr::null_mut()));
        ask!(log, "null", cudaGraphNodeGetDependencies(null.cast(), nodes.as_mut_ptr(), null, &raw mut room));
        Ok(())
    });
}

/// Edges of a programmatic launch, from a port.
fn edge(from_port: u8, to_port: u8, kind: u32) -> cudaGraphEdgeData {
    let mut edge = cudaGraphEdgeData::default();
    (edge.from_port, edge.to_port, edge.type_) = (from_port, to_port, kind as u8);
    edge
}

fn edges(cases: &mut Cases) {
    cases.add("cudaGraphAddDependencies/edges with data", |log| {
        let graph = graph(log)?;
        let (a, b) = (kernel_node(log, graph, &[])?, kernel_node(log, graph, &[])?);
        let c = empty(log, graph, &[])?;
        for (what, from, to, data) in [
            ("programmatic", a, b, edge(1, 0, 1)),
            ("of the default kind with a port", a, b, edge(1, 0, 0)),
            ("to a port", a, b, edge(1, 1, 1)),
            ("from no such port", a, b, edge(3, 0, 1)),
            ("of no such kind", a, b, edge(0, 0, 7)),
            ("to a node that is no kernel", a, c, edge(1, 0, 1)),
            ("from a node that is no kernel", c, b, edge(1, 0, 1)),
            ("at the start of the launch", a, b, edge(2, 0, 1)),
        ] {
            ask!(
                log,
                what,
                cudaGraphAddDependencies(graph, &raw const from, &raw const to, &raw const data, 1)
            );
        }
        let mut count = 77;
        let none = ptr::null_mut();
        ask!(
            log,
            "with null for data",
            cudaGraphGetEdges(graph, none, none, ptr::null_mut(), &raw mut count)
        );
        log.fact("edges", count);
        let (mut from, mut to) = ([ptr::null_mut(); 8], [ptr::null_mut(); 8]);
        let mut data = [cudaGraphEdgeData::default(); 8];
        ask!(
            log,
            "without room for data",
            cudaGraphGetEdges(graph, from.as_mut_ptr(), to.as_mut_ptr(), ptr::null_mut(), &raw mut count)
        );
        count = 8;
        ask!(
            log,
            cudaGraphGetEdges(graph, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &raw mut count)
        );
        for it in data.iter().take(count.min(8)) {
            log.fact("edge", format_args!("{} {} {}", it.from_port, it.to_port, it.type_));
        }
        let plain = edge(0, 0, 0);
        let (one, two) = (a, b);
        ask!(
            log,
            "removed with other data",
            cudaGraphRemoveDependencies(graph, &raw const one, &raw const two, &raw const plain, 1)
        );
        let mut run = ptr::null_mut();
        ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
        Ok(())
    });
    cases.add("cudaGraphAddDependencies/of the parent and of a child graph", |log| {
        let (outer, inner, mut child) = (graph(log)?, graph(log)?, ptr::null_mut());
        let (a, b) = (empty(log, outer, &[])?, empty(log, inner, &[])?);
        need!(log, cudaGraphAddChildGraphNode(&raw mut child, outer, ptr::null(), 0, inner));
        ask!(
            log,
            "into the child",
            cudaGraphAddDependencies(outer, &raw const a, &raw const b, ptr::null(), 1)
        );
        ask!(
            log,
            "to the child",
            cudaGraphAddDependencies(outer, &raw const a, &raw const child, ptr::null(), 1)
        );
        let mut node = ptr::null_mut();
        ask!(log, "after a foreign node", cudaGraphAddEmptyNode(&raw mut node, outer, &raw const b, 1));
        let mut room = 77;
        ask!(log, cudaGraphGetNodes(outer, ptr::null_mut(), &raw mut room));
        log.fact("nodes", room);
        Ok(())
    });
    cases.add("cudaGraphClone/a child graph, changed after it, and its nodes", |log| {
        let (outer, inner, mut child) = (graph(log)?, graph(log)?, ptr::null_mut());
        let to = Block::new(log, Kind::Device, N)?;
        let within = fill(log, inner, &row(to, 5))?;
        need!(log, cudaGraphAddChildGraphNode(&raw mut child, outer, ptr::null(), 0, inner));
        let (mut copy, mut found, mut part) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        ask!(log, cudaGraphClone(&raw mut copy, outer));
        ask!(log, cudaGraphNodeFindInClone(&raw mut found, child, copy));
        log.fact("another node", found != child && !found.is_null());
        ask!(log, cudaGraphChildGraphNodeGetGraph(found, &raw mut part));
        let mut inside = ptr::null_mut();
        ask!(log, "a node of the child", cudaGraphNodeFindInClone(&raw mut inside, within, part));
        ask!(log, "in itself", cudaGraphNodeFindInClone(&raw mut inside, child, outer));
        ask!(log, "null", cudaGraphNodeFindInClone(&raw mut inside, child, ptr::null_mut()));
        let six = row(to, 6);
        ask!(log, cudaGraphMemsetNodeSetParams(within, &raw const six));
        ask!(log, cudaGraphDestroy(inner));
        ask!(log, cudaGraphDestroy(outer));
        let run = ready(log, copy)?;
        launch(log, run, to, &[5; N])
    });
    cases.add("cudaGraphDebugDotPrint/to a file, to no folder, and null", |log| {
        let graph = graph(log)?;
        let node = kernel_node(log, graph, &[])?;
        empty(log, graph, &[node])?;
        let path = std::env::temp_dir().join(format!("conformance-{}.dot", std::process::id()));
        let name = std::ffi::CString::new(path.to_string_lossy().into_owned()).unwrap();
        for flags in [0, 1, u32::MAX] {
            ask!(log, "a file", cudaGraphDebugDotPrint(graph, name.as_ptr(), flags));
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        log.fact("begins", text.starts_with("digraph"));
        drop(std::fs::remove_file(&path));
        ask!(log, "no folder", cudaGraphDebugDotPrint(graph, c"/no/such/folder/it.dot".as_ptr(), 0));
        ask!(log, "null", cudaGraphDebugDotPrint(graph, ptr::null(), 0));
        ask!(log, "no graph", cudaGraphDebugDotPrint(ptr::null_mut(), name.as_ptr(), 0));
        Ok(())
    });
}

fn objects(cases: &mut Cases) {
    cases.add("cudaUserObjectCreate/counted, moved, released", |log| {
        let (graph, mut ends, mut object) = (graph(log)?, Box::new(0_u32), ptr::null_mut());
        let data: *mut u32 = &raw mut *ends;
        // SAFETY: the destructor, which the runtime calls on a thread of its own, may have run or not.
        let ended = |_: &mut Log| unsafe { ptr::read_volatile(data) };
        let flag = cudaUserObjectNoDestructorSync.0;
        ask!(log, cudaUserObjectCreate(&raw mut object, data.cast(), Some(adds_one), 2, flag));
        ask!(log, cudaUserObjectRetain(object, 3));
        ask!(log, cudaUserObjectRelease(object, 4));
        ask!(log, cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove.0));
        let before = ended(log);
        log.fact("destroyed", before);
        ask!(log, "more than it has", cudaGraphReleaseUserObject(graph, object, 2));
        ask!(log, cudaGraphDestroy(graph));
        for _ in 0..2000 {
            if ended(log) > 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let after = ended(log);
        log.fact("destroyed", after);
        Box::leak(ends);
        Ok(())
    });
    cases.add("cudaUserObjectCreate/what is refused", |log| {
        let (graph, data, mut object) = (graph(log)?, Box::leak(Box::new(0_u32)), ptr::null_mut());
        let data: *mut c_void = ptr::from_mut(data).cast();
        let flag = cudaUserObjectNoDestructorSync.0;
        ask!(log, "no flag", cudaUserObjectCreate(&raw mut object, data, Some(adds_one), 1, 0));
        ask!(log, "flags", cudaUserObjectCreate(&raw mut object, data, Some(adds_one), 1, 3));
        ask!(log, "no references", cudaUserObjectCreate(&raw mut object, data, Some(adds_one), 0, flag));
        ask!(log, "too many", cudaUserObjectCreate(&raw mut object, data, Some(adds_one), 1 << 31, flag));
        ask!(log, "no function", cudaUserObjectCreate(&raw mut object, data, None, 1, flag));
        ask!(log, "null", cudaUserObjectCreate(ptr::null_mut(), data, Some(adds_one), 1, flag));
        need!(log, cudaUserObjectCreate(&raw mut object, data, Some(adds_one), 1, flag));
        ask!(log, "retain none", cudaUserObjectRetain(object, 0));
        ask!(log, "release none", cudaUserObjectRelease(object, 0));
        ask!(log, "retain for a graph none", cudaGraphRetainUserObject(graph, object, 0, 0));
        ask!(log, "flags of a graph", cudaGraphRetainUserObject(graph, object, 1, 2));
        ask!(log, "no graph", cudaGraphRetainUserObject(ptr::null_mut(), object, 1, 0));
        ask!(log, "no object", cudaGraphRetainUserObject(graph, ptr::null_mut(), 1, 0));
        ask!(log, "not of the graph", cudaGraphReleaseUserObject(graph, object, 1));
        ask!(log, "retain null", cudaUserObjectRetain(ptr::null_mut(), 1));
        Ok(())
    });
}

/// A node that allocates so many bytes, after others.
fn allocation(
    log: &mut Log,
    graph: cudaGraph_t,
    bytes: usize,
    change: fn(&mut cudaMemAllocNodeParams),
) -> (cudaGraphNode_t, *mut c_void) {
    let (mut made, mut wanted) = (ptr::null_mut(), cudaMemAllocNodeParams::default());
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location.type_ = cudaMemLocationTypeDevice;
    wanted.bytesize = bytes;
    change(&mut wanted);
    ask!(log, cudaGraphAddMemAllocNode(&raw mut made, graph, ptr::null(), 0, &raw mut wanted));
    (made, wanted.dptr)
}

fn memory(cases: &mut Cases) {
    cases.add("cudaGraphAddMemAllocNode/places, kinds and accesses that there are not", |log| {
        let graph = graph(log)?;
        let changes: [(&str, Change<cudaMemAllocNodeParams>); 6] = [
            ("as it should be", |_| {}),
            ("device 100", |it| it.poolProps.location.id = 100),
            ("of the host", |it| it.poolProps.location.type_ = cudaMemLocationTypeHost),
            ("no kind", |it| it.poolProps.allocType.0 = 0),
            ("to be exported", |it| {
                it.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor;
            }),
            ("bytes without end", |it| it.bytesize = usize::MAX / 2),
        ];
        for (what, change) in changes {
            log.fact("of", what);
            let (node, at) = allocation(log, graph, N, change);
            log.fact("made, address", format_args!("{} {}", !node.is_null(), !at.is_null()));
        }
        let (mut node, at) = (ptr::null_mut(), allocation(log, graph, N, |_| {}).1);
        ask!(
            log,
            "freed within",
            cudaGraphAddMemFreeNode(&raw mut node, graph, ptr::null(), 0, at.wrapping_byte_add(64))
        );
        ask!(log, "null", cudaGraphAddMemFreeNode(&raw mut node, graph, ptr::null(), 0, ptr::null_mut()));
        let other = Block::new(log, Kind::Device, 64)?;
        ask!(log, "other memory", cudaGraphAddMemFreeNode(&raw mut node, graph, ptr::null(), 0, other.ptr()));
        Ok(())
    });
    cases.add("cudaGraphMemFreeNodeGetParams/of a node that frees, and of others", |log| {
        let (graph, mut node) = (graph(log)?, ptr::null_mut());
        let (made, at) = allocation(log, graph, N, |_| {});
        need!(log, cudaGraphAddMemFreeNode(&raw mut node, graph, &raw const made, 1, at));
        let mut back = ptr::null_mut::<c_void>();
        ask!(log, cudaGraphMemFreeNodeGetParams(node, (&raw mut back).cast()));
        log.fact("its place", back == at);
        ask!(log, "of one that allocates", cudaGraphMemFreeNodeGetParams(made, (&raw mut back).cast()));
        ask!(log, "to null", cudaGraphMemFreeNodeGetParams(node, ptr::null_mut()));
        Ok(())
    });
    cases.alone("cudaGraphLaunch/memory that a graph allocates, used and freed by the stream", |log| {
        let (graph, on) = (graph(log)?, stream(log)?);
        let (_, at) = allocation(log, graph, N, |_| {});
        let run = ready(log, graph)?;
        ask!(log, "before the launch", cudaMemsetAsync(at, 1, N, on));
        ask!(log, cudaGetLastError());
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaMemsetAsync(at, 5, N, on));
        let mut about = cudaPointerAttributes::default();
        ask!(log, cudaPointerGetAttributes(&raw mut about, at));
        log.fact("type, device", format_args!("{} {}", about.type_.0, about.device));
        let down = Block::new(log, Kind::Pinned, N)?;
        ask!(log, cudaMemcpyAsync(down.ptr(), at, N, cudaMemcpyDeviceToHost, on));
        ask!(log, "again", cudaGraphLaunch(run, on));
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, "after it is freed", cudaGraphLaunch(run, on));
        ask!(log, "freed at once", cudaFree(at));
        ask!(log, cudaStreamSynchronize(on));
        let got = down.load(log)?;
        log.bytes("bytes", &got, &[5; N]);
        ask!(log, "freed twice", cudaFree(at));
        Ok(())
    });
    cases.alone("cudaGraphInstantiate/memory that is freed by the next launch", |log| {
        let (graph, on, mut run) = (graph(log)?, stream(log)?, ptr::null_mut());
        let (_, at) = allocation(log, graph, N, |_| {});
        let flag = u64::from(cudaGraphInstantiateFlagAutoFreeOnLaunch.0);
        ask!(log, cudaGraphInstantiate(&raw mut run, graph, flag));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaMemsetAsync(at, 5, N, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, "after its end", cudaMemsetAsync(at, 5, N, on));
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.alone("cudaDeviceGetGraphMemAttribute/before, used, trimmed, set", |log| {
        let read = |log: &mut Log, name: &str| {
            log.fact("at", name);
            for number in 0..5 {
                let mut value = 7_u64;
                let attribute = cudaGraphMemAttributeType(number);
                ask!(log, cudaDeviceGetGraphMemAttribute(0, attribute, (&raw mut value).cast()));
                log.fact("is", value);
            }
        };
        read(log, "first");
        let (graph, on) = (graph(log)?, stream(log)?);
        let (_, at) = allocation(log, graph, 1 << 20, |_| {});
        let run = ready(log, graph)?;
        need!(log, cudaGraphLaunch(run, on));
        need!(log, cudaStreamSynchronize(on));
        read(log, "launched");
        need!(log, cudaFreeAsync(at, on));
        need!(log, cudaStreamSynchronize(on));
        ask!(log, cudaDeviceGraphMemTrim(0));
        read(log, "trimmed");
        let mut value = 0_u64;
        for number in 0..5 {
            let attribute = cudaGraphMemAttributeType(number);
            ask!(log, cudaDeviceSetGraphMemAttribute(0, attribute, (&raw mut value).cast()));
        }
        read(log, "set to none");
        value = 5;
        let high = cudaGraphMemAttrUsedMemHigh;
        ask!(log, "to five", cudaDeviceSetGraphMemAttribute(0, high, (&raw mut value).cast()));
        ask!(log, "of device 100", cudaDeviceGetGraphMemAttribute(100, high, (&raw mut value).cast()));
        ask!(log, "trim device 100", cudaDeviceGraphMemTrim(100));
        Ok(())
    });
    cases.alone(
        "cudaDeviceGetGraphMemAttribute/of graphs that free their memory, and are destroyed",
        |log| {
            let read = |log: &mut Log, name: &str| {
                let mut values = [7_u64; 4];
                for (number, value) in (0..).zip(&mut values) {
                    let attribute = cudaGraphMemAttributeType(number);
                    need!(log, cudaDeviceGetGraphMemAttribute(0, attribute, (&raw mut *value).cast()));
                }
                log.fact(name, format_args!("{:?}", values.map(|it| it >> 20)));
                Ok(())
            };
            let on = stream(log)?;
            let mut runs = Vec::new();
            for bytes in [1 << 20, 40 << 20] {
                let (graph, mut free) = (graph(log)?, ptr::null_mut());
                let (node, at) = allocation(log, graph, bytes, |_| {});
                need!(log, cudaGraphAddMemFreeNode(&raw mut free, graph, &raw const node, 1, at));
                let run = ready(log, graph)?;
                read(log, "made")?;
                need!(log, cudaGraphLaunch(run, on));
                need!(log, cudaStreamSynchronize(on));
                read(log, "launched")?;
                need!(log, cudaGraphLaunch(run, on));
                need!(log, cudaStreamSynchronize(on));
                read(log, "again")?;
                runs.push(run);
            }
            ask!(log, cudaGraphExecDestroy(runs[1]));
            read(log, "one destroyed")?;
            ask!(log, cudaDeviceGraphMemTrim(0));
            read(log, "trimmed")?;
            need!(log, cudaGraphLaunch(runs[0], on));
            need!(log, cudaStreamSynchronize(on));
            read(log, "the first again")?;
            ask!(log, cudaGraphExecDestroy(runs[0]));
            read(log, "both destroyed")?;
            let (graph, held) = (graph(log)?, stream(log)?);
            let (_, at) = allocation(log, graph, 1 << 20, |_| {});
            let run = ready(log, graph)?;
            need!(log, cudaGraphLaunch(run, held));
            need!(log, cudaStreamSynchronize(held));
            ask!(log, cudaDeviceGraphMemTrim(0));
            read(log, "trimmed, in use")?;
            need!(log, cudaFreeAsync(at, held));
            need!(log, cudaStreamSynchronize(held));
            read(log, "freed")
        },
    );
    cases.add("cudaMallocAsync/in a capture, freed outside of it", |log| {
        let on = stream(log)?;
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
        let (mut at, source) = (ptr::null_mut(), pattern(N, 4));
        ask!(log, cudaMallocAsync(&raw mut at, N, on));
        ask!(log, cudaMemsetAsync(at, 3, N, on));
        ask!(log, "of other memory", cudaFreeAsync(source.as_ptr().cast_mut().cast(), on));
        let graph = super::capture::end(log, "end", on);
        if graph.is_null() {
            return Ok(());
        }
        let run = ready(log, graph)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaFree(at));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    parameters(cases);
    edges(cases);
    objects(cases);
    memory(cases);
}
