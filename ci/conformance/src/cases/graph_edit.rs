//! Nodes of graphs that get other work before the graph is made executable, attributes of their kernels,
//! copies of graphs, and user objects.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::graph::{N, empty, graph, launch, ready, row};
use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

unsafe extern "C" {
    fn case_empty();
}

/// A kernel without parameters, and a node that launches it.
fn kernel(log: &mut Log, graph: cudaGraph_t) -> Result<(cudaKernelNodeParams, cudaGraphNode_t), Setup> {
    let (mut node, parameters) = (ptr::null_mut(), super::graph::kernel(case_empty));
    need!(log, cudaGraphAddKernelNode(&raw mut node, graph, ptr::null(), 0, &raw const parameters));
    Ok((parameters, node))
}

/// Notes the priority of a node's kernel, and whether it is cooperative.
fn tell(log: &mut Log, node: cudaGraphNode_t) {
    let mut value = cudaLaunchAttributeValue { pad: [0; 64] };
    ask!(log, cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &raw mut value));
    // SAFETY: all bytes are there, whichever of them the call has filled.
    log.fact("priority", unsafe { value.priority });
    ask!(log, cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &raw mut value));
    // SAFETY: all bytes are there, whichever of them the call has filled.
    log.fact("cooperative", unsafe { value.cooperative });
}

fn attributes(cases: &mut Cases) {
    cases.add("cudaGraphKernelNodeSetAttribute/set, told, copied, and of a fill", |log| {
        let (graph, on) = (graph(log)?, stream(log)?);
        let ((parameters, first), (_, second)) = (kernel(log, graph)?, kernel(log, graph)?);
        tell(log, first);
        let (priority, mut fill) = (cudaLaunchAttributeValue { priority: -1 }, ptr::null_mut());
        ask!(log, cudaGraphKernelNodeSetAttribute(first, cudaLaunchAttributePriority, &raw const priority));
        let together = cudaLaunchAttributeValue { cooperative: 1 };
        ask!(
            log,
            cudaGraphKernelNodeSetAttribute(first, cudaLaunchAttributeCooperative, &raw const together)
        );
        tell(log, first);
        ask!(log, cudaGraphKernelNodeCopyAttributes(second, first));
        tell(log, second);
        ask!(log, "parameters", cudaGraphKernelNodeSetParams(first, &raw const parameters));
        tell(log, first);
        let bytes = row(Block::new(log, Kind::Device, N)?, 5);
        need!(log, cudaGraphAddMemsetNode(&raw mut fill, graph, ptr::null(), 0, &raw const bytes));
        ask!(
            log,
            "of a fill",
            cudaGraphKernelNodeSetAttribute(fill, cudaLaunchAttributePriority, &raw const priority)
        );
        ask!(log, "to a fill", cudaGraphKernelNodeCopyAttributes(fill, first));
        let run = ready(log, graph)?;
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.add("cudaGraphExecGetFlags/with and without", |log| {
        let (graph, mut run, mut flags) = (graph(log)?, ptr::null_mut(), 77);
        let by_node = cudaGraphInstantiateFlagUseNodePriority.0;
        need!(log, cudaGraphInstantiate(&raw mut run, graph, by_node.into()));
        ask!(log, cudaGraphExecGetFlags(run, &raw mut flags));
        log.fact("flags", flags);
        let run = ready(log, graph)?;
        ask!(log, cudaGraphExecGetFlags(run, &raw mut flags));
        log.fact("flags", flags);
        Ok(())
    });
}

fn work(cases: &mut Cases) {
    cases.add("cudaGraphMemcpyNodeSetParams1D/from another place, and from the host", |log| {
        let (graph, mut node) = (graph(log)?, ptr::null_mut());
        let (first, second) = (
            Block::with(log, Kind::Device, &pattern(N, 1))?,
            Block::with(log, Kind::Device, &pattern(N, 2))?,
        );
        let (host, to) = (Block::with(log, Kind::Pinned, &pattern(N, 3))?, Block::new(log, Kind::Device, N)?);
        let way = cudaMemcpyDefault;
        need!(
            log,
            cudaGraphAddMemcpyNode1D(&raw mut node, graph, ptr::null(), 0, to.ptr(), first.ptr(), N, way)
        );
        ask!(log, cudaGraphMemcpyNodeSetParams1D(node, to.ptr(), second.ptr(), N, way));
        let run = ready(log, graph)?;
        launch(log, run, to, &pattern(N, 2))?;
        ask!(log, "from the host", cudaGraphMemcpyNodeSetParams1D(node, to.ptr(), host.ptr(), N, way));
        let run = ready(log, graph)?;
        launch(log, run, to, &pattern(N, 3))
    });
    cases.add("cudaGraphNodeFindInClone/one that was destroyed", |log| {
        let (graph, mut copy, mut twin) = (graph(log)?, ptr::null_mut(), ptr::null_mut());
        let node = empty(log, graph, &[])?;
        need!(log, cudaGraphClone(&raw mut copy, graph));
        ask!(log, cudaGraphNodeFindInClone(&raw mut twin, node, copy));
        ask!(log, cudaGraphDestroyNode(twin));
        ask!(log, "again", cudaGraphNodeFindInClone(&raw mut twin, node, copy));
        Ok(())
    });
    cases.add("cudaGraphRemoveDependencies/none", |log| {
        let graph = graph(log)?;
        ask!(log, cudaGraphRemoveDependencies(graph, ptr::null(), ptr::null(), ptr::null(), 0));
        Ok(())
    });
    cases.add("cudaGraphChildGraphNodeGetGraph/of a graph, and of nothing", |log| {
        let (inner, outer, mut node, mut found) =
            (graph(log)?, graph(log)?, ptr::null_mut(), ptr::null_mut());
        empty(log, inner, &[])?;
        need!(log, cudaGraphAddChildGraphNode(&raw mut node, outer, ptr::null(), 0, inner));
        ask!(log, cudaGraphChildGraphNodeGetGraph(node, &raw mut found));
        log.fact("another", found != inner);
        let other = empty(log, outer, &[])?;
        ask!(log, "of nothing", cudaGraphChildGraphNodeGetGraph(other, &raw mut found));
        Ok(())
    });
}

/// Counts its calls.
unsafe extern "C" fn counts(data: *mut c_void) {
    let count: *mut u8 = data.cast();
    // SAFETY: the number outlives the calls, and only one of them runs at a time.
    unsafe { count.write_volatile(count.read_volatile() + 1) };
}

fn objects(cases: &mut Cases) {
    cases.add("cudaGraphReleaseUserObject/an executable graph has it, too", |log| {
        let (graph, on) = (graph(log)?, stream(log)?);
        let (mut called, mut ended, mut node, mut object) = (0_u8, 0_u8, ptr::null_mut(), ptr::null_mut());
        let call = cudaHostNodeParams { fn_: Some(counts), userData: (&raw mut called).cast() };
        need!(log, cudaGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, &raw const call));
        let alone = cudaUserObjectNoDestructorSync.0;
        need!(log, cudaUserObjectCreate(&raw mut object, (&raw mut ended).cast(), Some(counts), 1, alone));
        need!(log, cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove.0));
        let run = ready(log, graph)?;
        ask!(log, cudaGraphReleaseUserObject(graph, object, 1));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, cudaStreamSynchronize(on));
        // SAFETY: both are alive, and the launch is over.
        let counts = unsafe { (ptr::read_volatile(&raw const called), ptr::read_volatile(&raw const ended)) };
        log.fact("called, ended", format_args!("{counts:?}"));
        ask!(log, cudaGraphExecDestroy(run));
        // The runtime does this some time later, on a thread of its own.
        // SAFETY: the number is alive.
        while unsafe { ptr::read_volatile(&raw const ended) } == 0 {
            std::thread::yield_now();
        }
        Ok(())
    });
}

/// What becomes of the outermost of three graphs.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    Clone,
    Child,
    Executable,
}

/// A graph within a graph within a graph, of which the innermost has a user object, and one more owner of all
/// three. The owners go one after the other, this one first.
fn deep(log: &mut Log, made: Made, first: usize) -> Result<(), Setup> {
    let (mut called, mut ended, mut node, mut object) = (0_u8, 0_u8, ptr::null_mut(), ptr::null_mut());
    let mut graphs = [graph(log)?, graph(log)?, graph(log)?];
    let call = cudaHostNodeParams { fn_: Some(counts), userData: (&raw mut called).cast() };
    need!(log, cudaGraphAddHostNode(&raw mut node, graphs[0], ptr::null(), 0, &raw const call));
    let alone = cudaUserObjectNoDestructorSync.0;
    need!(log, cudaUserObjectCreate(&raw mut object, (&raw mut ended).cast(), Some(counts), 1, alone));
    need!(log, cudaGraphRetainUserObject(graphs[0], object, 1, cudaGraphUserObjectMove.0));
    for at in [1, 2] {
        need!(log, cudaGraphAddChildGraphNode(&raw mut node, graphs[at], ptr::null(), 0, graphs[at - 1]));
    }
    let mut run = ptr::null_mut();
    let mut other = ptr::null_mut();
    match made {
        Made::Clone => need!(log, cudaGraphClone(&raw mut other, graphs[2])),
        Made::Child => {
            other = graph(log)?;
            need!(log, cudaGraphAddChildGraphNode(&raw mut node, other, ptr::null(), 0, graphs[2]));
        }
        Made::Executable => run = ready(log, graphs[2])?,
    }
    // The other owner is the fourth. It goes first, last, and in between.
    let mut order = [0, 1, 2, 3];
    order.rotate_left(first);
    let on = stream(log)?;
    for (at, owner) in order.into_iter().enumerate() {
        if at == 3 {
            // The last owner still calls the function.
            if owner < 3 {
                run = ready(log, graphs[owner])?;
            } else if made != Made::Executable {
                run = ready(log, other)?;
            }
            need!(log, cudaGraphLaunch(run, on));
            need!(log, cudaStreamSynchronize(on));
            // SAFETY: both are alive, and the launch is over.
            let counts =
                unsafe { (ptr::read_volatile(&raw const called), ptr::read_volatile(&raw const ended)) };
            log.fact(&format!("{first}: called, ended"), format_args!("{counts:?}"));
        }
        match (owner, made) {
            (3, Made::Executable) => ask!(log, cudaGraphExecDestroy(run)),
            (3, _) => ask!(log, cudaGraphDestroy(other)),
            _ => ask!(log, cudaGraphDestroy(std::mem::replace(&mut graphs[owner], ptr::null_mut()))),
        };
        if at == 3 && !(owner == 3 && made == Made::Executable) {
            ask!(log, cudaGraphExecDestroy(run));
        }
    }
    // The runtime does this some time later, on a thread of its own.
    // SAFETY: the number is alive.
    while unsafe { ptr::read_volatile(&raw const ended) } == 0 {
        std::thread::yield_now();
    }
    // SAFETY: the number is alive.
    log.fact(&format!("{first}: ended"), unsafe { ptr::read_volatile(&raw const ended) });
    Ok(())
}

fn deep_objects(cases: &mut Cases) {
    for (name, made) in [
        ("cudaGraphClone", Made::Clone),
        ("cudaGraphAddChildGraphNode", Made::Child),
        ("cudaGraphInstantiate", Made::Executable),
    ] {
        let id = format!("{name}/a user object of a graph within a graph within a graph");
        cases.add(id, move |log| (0..4).try_for_each(|first| deep(log, made, first))).alone();
    }
}

pub(super) fn add(cases: &mut Cases) {
    attributes(cases);
    work(cases);
    objects(cases);
    deep_objects(cases);
}
