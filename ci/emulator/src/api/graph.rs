//! Graphs: making, copying and destroying them, and their nodes and edges.
#![expect(unsafe_code, reason = "exports C functions, and reads and writes the lists that they are given")]

use core::ffi::{CStr, c_char, c_uint, c_ulonglong, c_void};
use std::fmt::Write as _;

use super::{Out, api, put};
use crate::error::Answer;
use crate::graph::{NodeOp, kind, number, release};
use crate::machine::Guard;
use crate::stream::{HostCall, condition};
use crate::sys::*;
use crate::thread;

pub(super) fn node(handle: usize) -> cudaGraphNode_t {
    core::ptr::without_provenance_mut::<CUgraphNode_st>(handle)
}

/// Writes as many of `found` as there is room for, and their number. Without a list, writes the number of
/// all. A list without room is an error.
///
/// # Safety
/// Each list that is not null must have room for as many elements as the count says.
unsafe fn list(
    found: &[Vec<usize>],
    lists: &[*mut cudaGraphNode_t],
    (edges, ports): (*mut cudaGraphEdgeData, &[u8]),
    count: Option<&mut usize>,
) -> Answer {
    let count = count.ok_or(cudaErrorInvalidValue)?;
    let length = found.first().map_or(0, Vec::len);
    if lists.iter().all(|list| list.is_null()) {
        *count = length;
        return Ok(());
    }
    if edges.is_null() && ports.iter().any(|port| *port != 0) {
        return Err(cudaErrorLossyQuery);
    }
    let room = *count;
    if room == 0 {
        return Err(cudaErrorInvalidValue);
    }
    for (handles, list) in found.iter().zip(lists).filter(|it| !it.1.is_null()) {
        let rest = core::iter::repeat_n(0, room.saturating_sub(length));
        for (at, handle) in handles.iter().copied().chain(rest).take(room).enumerate() {
            // SAFETY: the caller promises room for that many.
            unsafe { list.wrapping_add(at).write(node(handle)) };
        }
    }
    if !edges.is_null() {
        for at in 0..room.min(length) {
            let port = ports.get(at).copied().unwrap_or(0);
            let edge =
                cudaGraphEdgeData { from_port: port, to_port: 0, type_: port.min(1), reserved: [0; 5] };
            // SAFETY: the caller promises room for that many.
            unsafe { edges.wrapping_add(at).write(edge) };
        }
    }
    *count = room.min(length);
    Ok(())
}

/// Checks a number of references to a user object: some, and no more than a signed number holds.
fn references(count: c_uint) -> Answer {
    if (1..=c_uint::MAX >> 1).contains(&count) { Ok(()) } else { Err(cudaErrorInvalidValue) }
}

/// The handles of nodes that a program gives: `count` of them, or none.
///
/// # Safety
/// Where it is not null, it must have that many elements.
pub(super) unsafe fn handles(start: *const cudaGraphNode_t, count: usize) -> Answer<Vec<usize>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if start.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: not null, and the caller vouches for the elements.
    Ok(unsafe { core::slice::from_raw_parts(start, count) }.iter().map(|it| it.addr()).collect())
}

/// The ports that edges begin at: 0 for a plain one, another one for a kernel that may begin before the
/// earlier one is over.
///
/// # Safety
/// Where it is not null, it must have that many elements.
pub(super) unsafe fn ports(edges: *const cudaGraphEdgeData, count: usize) -> Answer<Vec<u8>> {
    if edges.is_null() || count == 0 {
        return Ok(vec![0; count]);
    }
    // SAFETY: not null, and the caller vouches for the elements.
    let edges = unsafe { core::slice::from_raw_parts(edges, count) };
    let port = |it: &cudaGraphEdgeData| match (it.from_port, it.to_port, it.type_) {
        (0, 0, 0) => Ok(0),
        (1 | 2, 0, 1) => Ok(it.from_port),
        _ => Err(cudaErrorInvalidValue),
    };
    edges.iter().map(port).collect()
}

pub(super) fn graph(handle: usize) -> cudaGraph_t {
    core::ptr::without_provenance_mut::<CUgraph_st>(handle)
}

/// Destroys a graph and gives back the references to user objects that it held.
pub(super) fn destroy(machine: &mut Guard, graph: usize) -> Answer {
    let users = machine.graphs.destroy(graph)?;
    release(machine, users, thread::device(), 0)
}

/// A graph in the language of Graphviz.
fn dot(machine: &Guard, graph: usize, name: &str, text: &mut String) -> Answer {
    let it = machine.graphs.get(graph)?;
    let failed = |_| cudaErrorOperatingSystem;
    writeln!(text, "subgraph \"cluster_{name}\" {{").map_err(failed)?;
    for (handle, node) in &it.nodes {
        let what = match &node.op {
            NodeOp::Nothing => "EMPTY".to_owned(),
            NodeOp::Kernel(kernel) => format!("KERNEL\\n{}", kernel.launch().program.name),
            NodeOp::Copy(copy) => format!("MEMCPY\\n{:?}", copy.volume),
            NodeOp::Fill(fill) => format!("MEMSET\\n{:#x}", fill.address),
            NodeOp::Host(_) => "HOST".to_owned(),
            NodeOp::Record(_) => "EVENT_RECORD".to_owned(),
            NodeOp::Wait(_) => "EVENT_WAIT".to_owned(),
            NodeOp::Semaphores(work) if work.signals => "EXT_SEMAS_SIGNAL".to_owned(),
            NodeOp::Semaphores(_) => "EXT_SEMAS_WAIT".to_owned(),
            NodeOp::Child(_) => "GRAPH".to_owned(),
            NodeOp::Conditional(it) => format!("CONDITIONAL\\n{} bodies", it.bodies.len()),
            NodeOp::Alloc(address, bytes) => format!("MEM_ALLOC\\n{bytes} bytes at {address:#x}"),
            NodeOp::Free(address) => format!("MEM_FREE\\n{address:#x}"),
        };
        writeln!(text, "\"{name}_{handle:x}\" [label=\"{what}\"];").map_err(failed)?;
        if let NodeOp::Child(child) = node.op {
            dot(machine, child, &format!("{name}_{handle:x}_child"), text)?;
        }
    }
    for (from, to) in it.edges() {
        writeln!(text, "\"{name}_{from:x}\" -> \"{name}_{to:x}\";").map_err(failed)?;
    }
    writeln!(text, "}}").map_err(failed)
}

api! {
    /// Makes a graph without nodes.
    allowed fn cudaGraphCreate(call, out: Out<'_, cudaGraph_t>, flags: c_uint) {
        let (mut machine, _) = call.any_context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        if flags != 0 {
            return Err(cudaErrorInvalidValue);
        }
        out.write(graph(machine.graphs.create()));
        Ok(())
    }

    /// Destroys a graph. Executable graphs that were made from it stay.
    allowed fn cudaGraphDestroy(call, graph: cudaGraph_t) {
        let (mut machine, _) = call.any_context()?;
        if machine.graphs.get(graph.addr())?.owned {
            return Err(cudaErrorInvalidValue);
        }
        destroy(&mut machine, graph.addr())
    }

    /// Copies a graph.
    allowed fn cudaGraphClone(call, out: Out<'_, cudaGraph_t>, original: cudaGraph_t) {
        let (mut machine, _) = call.any_context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        if machine.graphs.allocates(original.addr())? || machine.graphs.is_conditional(original.addr())? {
            return Err(cudaErrorNotSupported);
        }
        let m = &mut *machine;
        let copy = m.graphs.duplicate(&mut m.users, original.addr())?;
        out.write(graph(copy));
        Ok(())
    }

    /// The node of a copy that was made from a node of the original.
    allowed fn cudaGraphNodeFindInClone(call, out: Out<'_, cudaGraphNode_t>, original: cudaGraphNode_t, clone: cudaGraph_t) {
        let (machine, _) = call.any_context()?;
        let it = machine.graphs.get(clone.addr())?;
        let found = it.twins.get(&original.addr()).filter(|twin| it.nodes.contains_key(twin));
        put(out, node(*found.ok_or(cudaErrorInvalidValue)?))
    }

    /// The type of a node.
    allowed fn cudaGraphNodeGetType(call, node: cudaGraphNode_t, out: Out<'_, cudaGraphNodeType>) {
        let (machine, _) = call.any_context()?;
        put(out, kind(&machine.graphs.node(node.addr())?.op))
    }

    /// The number of a graph for tools.
    allowed fn cudaGraphGetId(call, graph: cudaGraph_t, out: Out<'_, c_uint>) {
        let (machine, _) = call.any_context()?;
        machine.graphs.get(graph.addr())?;
        put(out, c_uint::try_from(number(graph.addr())).unwrap_or(c_uint::MAX))
    }

    /// The number of a node in its graph, which is the same in copies of the graph.
    allowed fn cudaGraphNodeGetLocalId(call, node: cudaGraphNode_t, out: Out<'_, c_uint>) {
        let (machine, _) = call.any_context()?;
        put(out, machine.graphs.node(node.addr())?.local)
    }

    /// The number of a node for tools.
    allowed fn cudaGraphNodeGetToolsId(call, node: cudaGraphNode_t, out: Out<'_, c_ulonglong>) {
        let (machine, _) = call.any_context()?;
        machine.graphs.node(node.addr())?;
        put(out, number(node.addr()))
    }

    /// The nodes of a graph.
    allowed fn cudaGraphGetNodes(call, graph: cudaGraph_t, nodes: *mut cudaGraphNode_t, count: Option<&mut usize>) {
        let (machine, _) = call.any_context()?;
        let found = machine.graphs.get(graph.addr())?.nodes.keys().copied().collect();
        // SAFETY: the program promises that there is room for that many.
        unsafe { list(&[found], &[nodes], (core::ptr::null_mut(), &[]), count) }
    }

    /// The nodes of a graph without dependencies.
    allowed fn cudaGraphGetRootNodes(call, graph: cudaGraph_t, nodes: *mut cudaGraphNode_t, count: Option<&mut usize>) {
        let (machine, _) = call.any_context()?;
        let all = machine.graphs.get(graph.addr())?.nodes.iter();
        let found = all.filter(|it| it.1.before.is_empty()).map(|entry| *entry.0).collect();
        // SAFETY: the program promises that there is room for that many.
        unsafe { list(&[found], &[nodes], (core::ptr::null_mut(), &[]), count) }
    }

    /// The edges of a graph.
    allowed fn cudaGraphGetEdges(
        call, graph: cudaGraph_t, from: *mut cudaGraphNode_t, to: *mut cudaGraphNode_t,
        edges: *mut cudaGraphEdgeData, count: Option<&mut usize>,
    ) {
        let (machine, _) = call.any_context()?;
        if from.is_null() != to.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        let it = machine.graphs.get(graph.addr())?;
        let all = it.edges();
        let ports: Vec<u8> = all.iter().map(|(from, to)| it.port(*from, *to)).collect();
        let (first, second) = all.into_iter().unzip();
        // SAFETY: the program promises that there is room for that many.
        unsafe { list(&[first, second], &[from, to], (edges, &ports), count) }
    }

    /// The dependencies of a node.
    allowed fn cudaGraphNodeGetDependencies(
        call, node: cudaGraphNode_t, nodes: *mut cudaGraphNode_t, edges: *mut cudaGraphEdgeData,
        count: Option<&mut usize>,
    ) {
        let (machine, _) = call.any_context()?;
        let (it, to) = (machine.graphs.get(machine.graphs.home(node.addr())?)?, node.addr());
        let found: Vec<usize> = machine.graphs.node(to)?.before.iter().collect();
        let ports: Vec<u8> = found.iter().map(|from| it.port(*from, to)).collect();
        // SAFETY: the program promises that there is room for that many.
        unsafe { list(&[found], &[nodes], (edges, &ports), count) }
    }

    /// The nodes that depend on a node.
    allowed fn cudaGraphNodeGetDependentNodes(
        call, node: cudaGraphNode_t, nodes: *mut cudaGraphNode_t, edges: *mut cudaGraphEdgeData,
        count: Option<&mut usize>,
    ) {
        let (machine, _) = call.any_context()?;
        let (it, from) = (machine.graphs.get(machine.graphs.home(node.addr())?)?, node.addr());
        let found: Vec<usize> = machine.graphs.node(from)?.after.iter().copied().collect();
        let ports: Vec<u8> = found.iter().map(|to| it.port(from, *to)).collect();
        // SAFETY: the program promises that there is room for that many.
        unsafe { list(&[found], &[nodes], (edges, &ports), count) }
    }

    /// Has nodes come after others.
    allowed fn cudaGraphAddDependencies(
        call, graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t,
        edges: *const cudaGraphEdgeData, count: usize,
    ) {
        let (mut machine, _) = call.any_context()?;
        // SAFETY: the program promises that the lists have `count` elements.
        let ports = unsafe { ports(edges, count) }?;
        // SAFETY: the program promises that the lists have `count` elements.
        let (from, to) = (unsafe { handles(from, count) }?, unsafe { handles(to, count) }?);
        let it = machine.graphs.get_mut(graph.addr())?;
        let known = from.iter().chain(&to).all(|node| it.nodes.contains_key(node));
        let pairs = || from.iter().copied().zip(to.iter().copied());
        if !known || pairs().any(|(a, b)| a == b || it.has_edge(a, b)) {
            return Err(cudaErrorInvalidValue);
        }
        for ((a, b), port) in pairs().zip(ports) {
            it.set_port(a, b, port)?;
            it.connect(a, b);
        }
        Ok(())
    }

    /// Ends that.
    allowed fn cudaGraphRemoveDependencies(
        call, graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t,
        _edges: *const cudaGraphEdgeData, count: usize,
    ) {
        let (mut machine, _) = call.any_context()?;
        // SAFETY: the program promises that the lists have `count` elements.
        let (from, to) = (unsafe { handles(from, count) }?, unsafe { handles(to, count) }?);
        if machine.graphs.allocates(graph.addr())? {
            return Err(cudaErrorNotSupported);
        }
        let it = machine.graphs.get_mut(graph.addr())?;
        let pairs = || from.iter().copied().zip(to.iter().copied());
        if !pairs().all(|(a, b)| it.has_edge(a, b)) {
            return Err(cudaErrorInvalidValue);
        }
        for (a, b) in pairs() {
            it.disconnect(a, b);
        }
        Ok(())
    }

    /// Takes a node out of its graph.
    allowed fn cudaGraphDestroyNode(call, node: cudaGraphNode_t) {
        let (mut machine, _) = call.any_context()?;
        let home = machine.graphs.home(node.addr())?;
        if machine.graphs.allocates(home)? {
            // Not asked of a GPU: as for edges.
            return Err(cudaErrorNotSupported);
        }
        if let NodeOp::Conditional(it) = &machine.graphs.node(node.addr())?.op {
            condition::set_has_node(it.handle, false);
        }
        let owned = machine.graphs.remove(node.addr())?;
        owned.into_iter().try_for_each(|graph| destroy(&mut machine, graph))
    }

    /// Writes a graph to a file, in the language of Graphviz.
    allowed fn cudaGraphDebugDotPrint(call, graph: cudaGraph_t, path: *const c_char, _flags: c_uint) {
        let (machine, _) = call.any_context()?;
        if path.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        // SAFETY: the program gives a string of C's.
        let path = unsafe { CStr::from_ptr(path) }.to_str().map_err(|_| cudaErrorInvalidValue)?;
        let mut text = "digraph dot {\n".to_owned();
        dot(&machine, graph.addr(), "graph_1", &mut text)?;
        text.push_str("}\n");
        std::fs::write(path, text).map_err(|_| cudaErrorOperatingSystem)
    }

    /// Makes an object that graphs can refer to, and whose end calls a function.
    allowed fn cudaUserObjectCreate(
        call, out: Out<'_, cudaUserObject_t>, data: *mut c_void, destroy: cudaHostFn_t, count: c_uint, flags: c_uint,
    ) {
        let (mut machine, _) = call.any_context()?;
        let (out, destroy) = (out.ok_or(cudaErrorInvalidValue)?, destroy.ok_or(cudaErrorInvalidValue)?);
        if flags != cudaUserObjectNoDestructorSync.0 {
            return Err(cudaErrorInvalidValue);
        }
        if count == 0 {
            return Err(cudaErrorInvalidValue);
        }
        let handle = machine.users.create(HostCall::function(destroy, data), count);
        out.write(core::ptr::without_provenance_mut::<CUuserObject_st>(handle));
        Ok(())
    }

    /// Adds references to an object.
    allowed fn cudaUserObjectRetain(call, object: cudaUserObject_t, count: c_uint) {
        let (mut machine, _) = call.any_context()?;
        references(count)?;
        machine.users.retain(object.addr(), count)
    }

    /// Takes references to an object away.
    allowed fn cudaUserObjectRelease(call, object: cudaUserObject_t, count: c_uint) {
        let (mut machine, device) = call.any_context()?;
        references(count)?;
        release(&mut machine, vec![(object.addr(), count)], device, 0)
    }

    /// Has a graph refer to an object.
    allowed fn cudaGraphRetainUserObject(
        call, graph: cudaGraph_t, object: cudaUserObject_t, count: c_uint, flags: c_uint,
    ) {
        let (mut machine, _) = call.any_context()?;
        let moved = flags == cudaGraphUserObjectMove.0;
        references(count)?;
        if flags != 0 && !moved {
            return Err(cudaErrorInvalidValue);
        }
        machine.graphs.get(graph.addr())?;
        if !moved {
            machine.users.retain(object.addr(), count)?;
        }
        let held = machine.graphs.get_mut(graph.addr())?.users.entry(object.addr()).or_default();
        *held = held.checked_add(count).ok_or(cudaErrorInvalidValue)?;
        Ok(())
    }

    /// Ends that.
    allowed fn cudaGraphReleaseUserObject(call, graph: cudaGraph_t, object: cudaUserObject_t, count: c_uint) {
        let (mut machine, device) = call.any_context()?;
        let users = &mut machine.graphs.get_mut(graph.addr())?.users;
        // More references than the graph has are those that it has.
        let Some(held) = users.get_mut(&object.addr()) else { return Ok(()) };
        let count = count.min(*held);
        *held -= count;
        if *held == 0 {
            users.remove(&object.addr());
        }
        release(&mut machine, vec![(object.addr(), count)], device, 0)
    }
}
