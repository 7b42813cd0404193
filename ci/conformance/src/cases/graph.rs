//! Graphs that are built node by node, in the form that CUDA 13 gave the calls. The changes of executable
//! graphs are in `graph_change`.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::{Cases, Change};
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream};

/// Bytes of the rows that nodes fill and copy.
pub(super) const N: usize = 4096;

unsafe extern "C" {
    fn case_fill();
    fn case_list_symbol() -> *const c_void;
}

pub(super) fn graph(log: &mut Log) -> Result<cudaGraph_t, Setup> {
    let mut graph = ptr::null_mut();
    need!(log, cudaGraphCreate(&raw mut graph, 0));
    Ok(graph)
}

/// An `if` in a graph whose condition holds, and the graph that it runs.
pub(super) fn conditional(
    log: &mut Log,
    graph: cudaGraph_t,
) -> Result<(cudaGraphNode_t, cudaGraph_t), Setup> {
    let (mut handle, flag, mut node) = (0, cudaGraphCondAssignDefault.0, ptr::null_mut());
    need!(log, cudaGraphConditionalHandleCreate(&raw mut handle, graph, 1, flag));
    let mut wanted = cudaGraphNodeParams { type_: cudaGraphNodeTypeConditional, ..Default::default() };
    let kind = cudaGraphCondTypeIf;
    wanted.__bindgen_anon_1.conditional =
        cudaConditionalNodeParams { handle, type_: kind, size: 1, ..Default::default() };
    need!(log, cudaGraphAddNode(&raw mut node, graph, ptr::null(), ptr::null(), 0, &raw mut wanted));
    // SAFETY: the call filled this member with a list of one graph.
    Ok((node, unsafe { *wanted.__bindgen_anon_1.conditional.phGraph_out }))
}

/// A kernel's parameters: one thread, without arguments.
pub(super) fn kernel(function: unsafe extern "C" fn()) -> cudaKernelNodeParams {
    let one = dim3 { x: 1, y: 1, z: 1 };
    cudaKernelNodeParams {
        func: function as *const c_void as *mut c_void,
        gridDim: one,
        blockDim: one,
        sharedMemBytes: 0,
        kernelParams: ptr::null_mut(),
        extra: ptr::null_mut(),
    }
}

/// A node that does nothing.
pub(super) fn empty(
    log: &mut Log,
    graph: cudaGraph_t,
    before: &[cudaGraphNode_t],
) -> Result<cudaGraphNode_t, Setup> {
    let mut node = ptr::null_mut();
    need!(log, cudaGraphAddEmptyNode(&raw mut node, graph, before.as_ptr(), before.len()));
    Ok(node)
}

/// Notes the number of nodes and edges of a graph.
fn size(log: &mut Log, graph: cudaGraph_t) {
    let (mut nodes, mut edges) = (77, 77);
    ask!(log, cudaGraphGetNodes(graph, ptr::null_mut(), &raw mut nodes));
    ask!(log, cudaGraphGetEdges(graph, ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), &raw mut edges));
    log.fact("nodes", nodes);
    log.fact("edges", edges);
}

pub(super) fn ready(log: &mut Log, graph: cudaGraph_t) -> Result<cudaGraphExec_t, Setup> {
    let mut run = ptr::null_mut();
    need!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
    Ok(run)
}

/// Launches, waits, and notes whether a block holds the expected bytes.
pub(super) fn launch(log: &mut Log, run: cudaGraphExec_t, block: Block, want: &[u8]) -> Result<(), Setup> {
    let on = stream(log)?;
    ask!(log, cudaGraphLaunch(run, on));
    ask!(log, cudaStreamSynchronize(on));
    block.compare(log, "all bytes", want)
}

pub(super) fn row(to: Block, value: u32) -> cudaMemsetParams {
    cudaMemsetParams { dst: to.ptr(), pitch: 0, value, elementSize: 1, width: N, height: 1 }
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

fn dependencies(cases: &mut Cases) {
    let api = "cudaGraphAddDependencies";
    type Edges = fn(&mut Log, cudaGraph_t, [cudaGraphNode_t; 3]) -> Result<(), Setup>;
    let changes: [(&str, Edges); 9] = [
        ("one after the other", |log, graph, [a, b, _]| {
            ask!(log, cudaGraphAddDependencies(graph, &raw const a, &raw const b, ptr::null(), 1));
            Ok(())
        }),
        ("graph null", |log, _, [a, b, _]| {
            ask!(log, cudaGraphAddDependencies(ptr::null_mut(), &raw const a, &raw const b, ptr::null(), 1));
            Ok(())
        }),
        ("lists null", |log, graph, [a, _, _]| {
            ask!(log, cudaGraphAddDependencies(graph, ptr::null(), &raw const a, ptr::null(), 1));
            ask!(log, cudaGraphAddDependencies(graph, &raw const a, ptr::null(), ptr::null(), 1));
            Ok(())
        }),
        ("nodes null", |log, graph, [a, _, _]| {
            let none = ptr::null_mut();
            ask!(log, cudaGraphAddDependencies(graph, &raw const none, &raw const a, ptr::null(), 1));
            ask!(log, cudaGraphAddDependencies(graph, &raw const a, &raw const none, ptr::null(), 1));
            Ok(())
        }),
        ("none", |log, graph, [a, b, _]| {
            ask!(log, cudaGraphAddDependencies(graph, &raw const a, &raw const b, ptr::null(), 0));
            Ok(())
        }),
        ("a node of another graph", |log, one, [a, _, _]| {
            let other = graph(log)?;
            let b = empty(log, other, &[])?;
            ask!(log, cudaGraphAddDependencies(one, &raw const a, &raw const b, ptr::null(), 1));
            size(log, other);
            Ok(())
        }),
        ("twice", |log, graph, [a, b, _]| {
            ask!(log, cudaGraphAddDependencies(graph, &raw const a, &raw const b, ptr::null(), 1));
            ask!(log, cudaGraphAddDependencies(graph, &raw const a, &raw const b, ptr::null(), 1));
            Ok(())
        }),
        ("a node on itself", |log, graph, [a, _, _]| {
            ask!(log, cudaGraphAddDependencies(graph, &raw const a, &raw const a, ptr::null(), 1));
            Ok(())
        }),
        ("in a circle", |log, graph, [a, b, c]| {
            let (from, to) = ([a, b, c], [b, c, a]);
            ask!(log, cudaGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), ptr::null(), 3));
            let mut run = ptr::null_mut();
            ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
            Ok(())
        }),
    ];
    for (what, change) in changes {
        cases.add(format!("{api}/{what}"), move |log| {
            let one = graph(log)?;
            let nodes = [empty(log, one, &[])?, empty(log, one, &[])?, empty(log, one, &[])?];
            change(log, one, nodes)?;
            size(log, one);
            Ok(())
        });
    }
    cases.add("cudaGraphRemoveDependencies/one that there is, and again", |log| {
        let graph = graph(log)?;
        let a = empty(log, graph, &[])?;
        let b = empty(log, graph, &[a])?;
        size(log, graph);
        ask!(log, cudaGraphRemoveDependencies(graph, &raw const a, &raw const b, ptr::null(), 1));
        size(log, graph);
        ask!(log, "again", cudaGraphRemoveDependencies(graph, &raw const a, &raw const b, ptr::null(), 1));
        Ok(())
    });
}

fn life(cases: &mut Cases) {
    cases.add("cudaGraphCreate/flags, and null", |log| {
        let mut graph = ptr::null_mut();
        ask!(log, cudaGraphCreate(&raw mut graph, 1));
        ask!(log, "null", cudaGraphCreate(ptr::null_mut(), 0));
        Ok(())
    });
    cases.add("cudaGraphDestroy/null", |log| {
        ask!(log, cudaGraphDestroy(ptr::null_mut()));
        ask!(log, cudaGraphExecDestroy(ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaGraphDestroyNode/one between two", |log| {
        let graph = graph(log)?;
        let a = empty(log, graph, &[])?;
        let b = empty(log, graph, &[a])?;
        empty(log, graph, &[b])?;
        size(log, graph);
        ask!(log, cudaGraphDestroyNode(b));
        size(log, graph);
        Ok(())
    });
    cases.add("cudaGraphClone/a graph, and null", |log| {
        let graph = graph(log)?;
        let a = empty(log, graph, &[])?;
        empty(log, graph, &[a])?;
        let mut copy = ptr::null_mut();
        ask!(log, cudaGraphClone(&raw mut copy, graph));
        size(log, copy);
        let mut twin = ptr::null_mut();
        ask!(log, cudaGraphNodeFindInClone(&raw mut twin, a, copy));
        log.fact("another node", twin != a);
        ask!(log, "null", cudaGraphClone(&raw mut copy, ptr::null_mut()));
        ask!(log, "to null", cudaGraphClone(ptr::null_mut(), graph));
        Ok(())
    });
    cases.add("cudaGraphInstantiate/null", |log| {
        let graph = graph(log)?;
        let mut run = ptr::null_mut();
        ask!(log, cudaGraphInstantiate(ptr::null_mut(), graph, 0));
        ask!(log, cudaGraphInstantiate(&raw mut run, ptr::null_mut(), 0));
        ask!(log, cudaGraphInstantiateWithFlags(ptr::null_mut(), graph, 0));
        ask!(log, "flags", cudaGraphInstantiateWithFlags(&raw mut run, graph, 0x100));
        Ok(())
    });
    cases.add("cudaGraphLaunch/an empty graph, uploaded and not", |log| {
        let (graph, on) = (graph(log)?, stream(log)?);
        let run = ready(log, graph)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaGraphUpload(run, on));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, cudaGraphDestroy(graph));
        Ok(())
    });
    cases.alone("cudaGraphLaunch/again on another stream, while the first one is held", |log| {
        let block = Block::new(log, Kind::Device, N)?;
        let (graph, mut node) = (graph(log)?, ptr::null_mut());
        let fill = row(block, 0);
        need!(log, cudaGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, &raw const fill));
        let run = ready(log, graph)?;
        let (first, second, after) = (stream(log)?, stream(log)?, event(log)?);
        launch(log, run, block, &[0; N])?;
        let gate = Gate::hold(log, first)?;
        ask!(log, cudaGraphLaunch(run, first));
        ask!(log, "on the other stream", cudaGraphLaunch(run, second));
        ask!(log, cudaEventRecord(after, second));
        // Long enough for a launch that waits for nothing.
        std::thread::sleep(std::time::Duration::from_millis(200));
        ask!(log, "an event behind it", cudaEventQuery(after));
        gate.open();
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add("cudaGraphLaunch/null", |log| {
        let on = stream(log)?;
        ask!(log, cudaGraphLaunch(ptr::null_mut(), on));
        ask!(log, cudaGraphUpload(ptr::null_mut(), on));
        Ok(())
    });
    cases.add("cudaGraphLaunch/on a stream that is captured", |log| {
        let (inner, on) = (graph(log)?, stream(log)?);
        let to = Block::new(log, Kind::Device, N)?;
        let mut node = ptr::null_mut();
        let fill = row(to, 3);
        need!(log, cudaGraphAddMemsetNode(&raw mut node, inner, ptr::null(), 0, &raw const fill));
        let run = ready(log, inner)?;
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeRelaxed));
        ask!(log, cudaGraphLaunch(run, on));
        let mut outer = ptr::null_mut();
        ask!(log, cudaStreamEndCapture(on, &raw mut outer));
        if !outer.is_null() {
            size(log, outer);
        }
        Ok(())
    });
    cases.add("cudaDeviceGetGraphMemAttribute/devices and attributes", |log| {
        let mut value = 0_u64;
        let used = cudaGraphMemAttrUsedMemCurrent;
        let high = cudaGraphMemAttrUsedMemHigh;
        let out = (&raw mut value).cast();
        ask!(log, cudaDeviceGetGraphMemAttribute(0, used, out));
        log.fact("used", value);
        ask!(log, "no device", cudaDeviceGetGraphMemAttribute(-1, used, out));
        ask!(log, "trim no device", cudaDeviceGraphMemTrim(-1));
        ask!(log, cudaDeviceGraphMemTrim(0));
        ask!(log, "set no device", cudaDeviceSetGraphMemAttribute(-1, high, out));
        for mut value in [0_u64, 1] {
            let to = (&raw mut value).cast();
            ask!(log, &format!("high to {value}"), cudaDeviceSetGraphMemAttribute(0, high, to));
        }
        Ok(())
    });
}

fn simple_nodes(cases: &mut Cases) {
    let api = "cudaGraphAddEmptyNode";
    cases.add(format!("{api}/three, one after two"), |log| {
        let graph = graph(log)?;
        let (a, b) = (empty(log, graph, &[])?, empty(log, graph, &[])?);
        let c = empty(log, graph, &[a, b])?;
        size(log, graph);
        let (mut nodes, mut count) = ([ptr::null_mut(); 5], 5);
        ask!(log, cudaGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count));
        log.fact("in order", nodes == [a, b, c, ptr::null_mut(), ptr::null_mut()] && count == 3);
        count = 77;
        ask!(log, cudaGraphGetRootNodes(graph, ptr::null_mut(), &raw mut count));
        log.fact("roots", count);
        ask!(log, cudaGraphNodeGetDependencies(c, ptr::null_mut(), ptr::null_mut(), &raw mut count));
        log.fact("before", count);
        ask!(log, cudaGraphNodeGetDependentNodes(a, ptr::null_mut(), ptr::null_mut(), &raw mut count));
        log.fact("after", count);
        Ok(())
    });
    cases.add(format!("{api}/nulls"), |log| {
        let graph = graph(log)?;
        let mut node = ptr::null_mut();
        ask!(log, "node", cudaGraphAddEmptyNode(ptr::null_mut(), graph, ptr::null(), 0));
        ask!(log, "graph", cudaGraphAddEmptyNode(&raw mut node, ptr::null_mut(), ptr::null(), 0));
        ask!(log, "list", cudaGraphAddEmptyNode(&raw mut node, graph, ptr::null(), 1));
        let none = [ptr::null_mut(); 1];
        ask!(log, "one before", cudaGraphAddEmptyNode(&raw mut node, graph, none.as_ptr(), 1));
        size(log, graph);
        Ok(())
    });
    cases.add(format!("{api}/after one twice"), |log| {
        let graph = graph(log)?;
        let a = empty(log, graph, &[])?;
        let mut node = ptr::null_mut();
        ask!(log, cudaGraphAddEmptyNode(&raw mut node, graph, [a, a].as_ptr(), 2));
        size(log, graph);
        Ok(())
    });
    cases.add("cudaGraphAddEventRecordNode/an event, and null", |log| {
        let (graph, mark) = (graph(log)?, event(log)?);
        let mut node = ptr::null_mut();
        ask!(log, "null", cudaGraphAddEventRecordNode(&raw mut node, graph, ptr::null(), 0, ptr::null_mut()));
        ask!(log, cudaGraphAddEventRecordNode(&raw mut node, graph, ptr::null(), 0, mark));
        ask!(log, cudaGraphAddEventWaitNode(&raw mut node, graph, ptr::null(), 0, mark));
        ask!(log, "null", cudaGraphAddEventWaitNode(&raw mut node, graph, ptr::null(), 0, ptr::null_mut()));
        size(log, graph);
        Ok(())
    });
    cases.add("cudaGraphAddHostNode/a function, and nulls", |log| {
        let graph = graph(log)?;
        let right = cudaHostNodeParams { fn_: Some(nothing), userData: ptr::null_mut() };
        let wrong = cudaHostNodeParams { fn_: None, userData: ptr::null_mut() };
        let mut node = ptr::null_mut();
        ask!(log, cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, &raw const right));
        ask!(log, "node", cudaGraphAddHostNode(ptr::null_mut(), graph, ptr::null(), 0, &raw const right));
        ask!(log, "list", cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 2, &raw const right));
        ask!(log, "function", cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, &raw const wrong));
        ask!(log, "parameters", cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, ptr::null()));
        size(log, graph);
        Ok(())
    });
    let api = "cudaGraphAddKernelNode";
    let changes: [(&str, Change<cudaKernelNodeParams>); 6] = [
        ("as it should be", |_| {}),
        ("no function", |p| p.func = ptr::null_mut()),
        ("no arguments", |p| p.kernelParams = ptr::null_mut()),
        ("no threads", |p| p.blockDim.x = 0),
        ("too many threads", |p| p.blockDim.x = 2048),
        ("too much shared memory", |p| p.sharedMemBytes = 1 << 30),
    ];
    for (what, spoil) in changes {
        cases.add(format!("{api}/{what}"), move |log| {
            let graph = graph(log)?;
            let to = Block::new(log, Kind::Device, N)?;
            let (mut address, mut value, mut count) = (to.ptr(), 7_u8, N as u32);
            let mut arguments: [*mut c_void; 3] =
                [(&raw mut address).cast(), (&raw mut value).cast(), (&raw mut count).cast()];
            let mut parameters =
                cudaKernelNodeParams { kernelParams: arguments.as_mut_ptr(), ..kernel(case_fill) };
            (parameters.gridDim.x, parameters.blockDim.x) = (16, 256);
            spoil(&mut parameters);
            let mut node = ptr::null_mut();
            ask!(log, cudaGraphAddKernelNode(&raw mut node, graph, ptr::null(), 0, &raw const parameters));
            size(log, graph);
            // The node has its own copy of the arguments.
            (address, value, count) = (ptr::null_mut(), 0, 0);
            let _ = (address, value, count);
            let mut run = ptr::null_mut();
            let code = ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
            if code == cudaSuccess {
                launch(log, run, to, &[if node.is_null() { 0 } else { 7 }; N])?;
            }
            Ok(())
        });
    }
}

fn memory_nodes(cases: &mut Cases) {
    cases.add("cudaGraphAddMemsetNode/a row, and wrong ones", |log| {
        let graph = graph(log)?;
        let to = Block::new(log, Kind::Device, N)?;
        let mut node = ptr::null_mut();
        let right = row(to, 5);
        ask!(log, cudaGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, &raw const right));
        for (what, wrong) in [
            ("elements of 3 bytes", cudaMemsetParams { elementSize: 3, ..right }),
            ("too wide", cudaMemsetParams { width: N + 1, ..right }),
            ("to null", cudaMemsetParams { dst: ptr::null_mut(), ..right }),
            ("a pitch under the width", cudaMemsetParams { pitch: 16, height: 2, width: 32, ..right }),
        ] {
            ask!(log, what, cudaGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, &raw const wrong));
        }
        ask!(log, "null", cudaGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, ptr::null()));
        size(log, graph);
        let run = ready(log, graph)?;
        launch(log, run, to, &[5; N])
    });
    let api = "cudaGraphAddMemcpyNode1D";
    type Sizes = fn(Block, Block) -> (*mut c_void, *const c_void, usize);
    let changes: [(&str, Sizes); 6] = [
        ("all of it", |d, s| (d.ptr(), s.ptr(), N)),
        ("twice as much", |d, s| (d.ptr(), s.ptr(), 2 * N)),
        ("one byte over", |d, s| (d.at(1), s.ptr(), N)),
        ("nothing", |d, s| (d.ptr(), s.ptr(), 0)),
        ("to null", |_, s| (ptr::null_mut(), s.ptr(), N)),
        ("from null", |d, _| (d.ptr(), ptr::null(), N)),
    ];
    for (what, change) in changes {
        cases.add(format!("{api}/{what}"), move |log| {
            let graph = graph(log)?;
            let (to, from) =
                (Block::new(log, Kind::Device, N)?, Block::with(log, Kind::Device, &pattern(N, 1))?);
            let (dst, src, count) = change(to, from);
            let mut node = ptr::null_mut();
            let code = ask!(
                log,
                cudaGraphAddMemcpyNode1D(
                    &raw mut node,
                    graph,
                    ptr::null(),
                    0,
                    dst,
                    src,
                    count,
                    cudaMemcpyDeviceToDevice
                )
            );
            size(log, graph);
            if code == cudaSuccess && count > 0 {
                let run = ready(log, graph)?;
                launch(log, run, to, &pattern(N, 1))?;
            }
            Ok(())
        });
    }
    cases.add("cudaGraphAddMemcpyNodeToSymbol/there, back, and too much", |log| {
        let graph = graph(log)?;
        let (up, down) = (Block::with(log, Kind::Pinned, &[3; 64])?, Block::new(log, Kind::Pinned, 64)?);
        // SAFETY: takes nothing and gives an address.
        let list = unsafe { case_list_symbol() };
        let (mut node, mut last) = (ptr::null_mut(), ptr::null_mut());
        let (to, from) = (cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost);
        ask!(
            log,
            cudaGraphAddMemcpyNodeToSymbol(&raw mut node, graph, ptr::null(), 0, list, up.ptr(), 64, 0, to)
        );
        ask!(
            log,
            cudaGraphAddMemcpyNodeFromSymbol(
                &raw mut last,
                graph,
                &raw const node,
                1,
                down.ptr(),
                list,
                64,
                0,
                from
            )
        );
        let mut other = ptr::null_mut();
        ask!(
            log,
            "too much",
            cudaGraphAddMemcpyNodeToSymbol(&raw mut other, graph, ptr::null(), 0, list, up.ptr(), 64, 4, to)
        );
        ask!(
            log,
            "node null",
            cudaGraphAddMemcpyNodeToSymbol(ptr::null_mut(), graph, ptr::null(), 0, list, up.ptr(), 64, 0, to)
        );
        ask!(
            log,
            "list null",
            cudaGraphAddMemcpyNodeToSymbol(&raw mut other, graph, ptr::null(), 1, list, up.ptr(), 64, 0, to)
        );
        size(log, graph);
        let run = ready(log, graph)?;
        launch(log, run, down, &[3; 64])
    });
    cases.add("cudaGraphAddMemAllocNode/allocated, set, freed", |log| {
        let graph = graph(log)?;
        let mut wanted = cudaMemAllocNodeParams::default();
        wanted.poolProps.allocType = cudaMemAllocationTypePinned;
        wanted.poolProps.location.type_ = cudaMemLocationTypeDevice;
        wanted.bytesize = N;
        let (mut made, mut set, mut freed) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        ask!(log, "null", cudaGraphAddMemAllocNode(&raw mut made, graph, ptr::null(), 0, ptr::null_mut()));
        let mut nowhere = wanted;
        nowhere.poolProps.location.id = 77;
        ask!(
            log,
            "no such device",
            cudaGraphAddMemAllocNode(&raw mut made, graph, ptr::null(), 0, &raw mut nowhere)
        );
        ask!(log, cudaGraphAddMemAllocNode(&raw mut made, graph, ptr::null(), 0, &raw mut wanted));
        let fill =
            cudaMemsetParams { dst: wanted.dptr, pitch: 0, value: 1, elementSize: 1, width: N, height: 1 };
        ask!(log, cudaGraphAddMemsetNode(&raw mut set, graph, &raw const made, 1, &raw const fill));
        let other = Block::new(log, Kind::Device, N)?;
        ask!(
            log,
            "memory of others",
            cudaGraphAddMemFreeNode(&raw mut freed, graph, &raw const set, 1, other.ptr())
        );
        ask!(log, "null", cudaGraphAddMemFreeNode(&raw mut freed, graph, &raw const set, 1, ptr::null_mut()));
        ask!(log, cudaGraphAddMemFreeNode(&raw mut freed, graph, &raw const set, 1, wanted.dptr));
        size(log, graph);
        let mut copy = ptr::null_mut();
        ask!(log, cudaGraphClone(&raw mut copy, graph));
        let (run, on) = (ready(log, graph)?, stream(log)?);
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    life(cases);
    simple_nodes(cases);
    dependencies(cases);
    memory_nodes(cases);
}
