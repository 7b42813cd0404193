//! Nodes: adding them to graphs, and changing their parameters.
#![expect(unsafe_code, reason = "exports C functions, and reads the structures that they are given")]

use core::ffi::{c_int, c_void};

use super::capture::plain;
use super::graph::node;
use super::graph::{graph, handles};
use super::graph_params as params;
use super::symbol::{VariableRange, VariableSide};
use super::{Call, Out, address, alive, api, conditional, external, follows, ordinal, pointer, put, wide};
use crate::error::Answer;
use crate::graph::{NodeOp, kind};
use crate::machine::Guard;
use crate::memory::Kind;
use crate::stream::condition;
use crate::sys::*;

/// Where a new node goes.
#[derive(Clone, Copy)]
struct NodePlace {
    graph: cudaGraph_t,
    before: *const cudaGraphNode_t,
    count: usize,
}

/// Adds a node that does `op`.
fn add(
    call: &Call,
    out: Out<'_, cudaGraphNode_t>,
    place: NodePlace,
    op: impl FnOnce(&mut Guard, usize) -> Answer<NodeOp>,
) -> Answer {
    let (mut machine, device) = call.any_context()?;
    let out = out.ok_or(cudaErrorInvalidValue)?;
    machine.graphs.get(place.graph.addr())?;
    // SAFETY: the program promises that there are so many.
    let before = unsafe { handles(place.before, place.count) }?;
    let op = op(&mut machine, device)?;
    if op.needs_context() {
        alive(&machine, device)?;
    }
    let made = machine.graphs.add(place.graph.addr(), op, &before, device, call.name)?;
    out.write(node(made));
    Ok(())
}

/// Replaces the operation of a node by another of the same kind.
fn set(call: &Call, node: cudaGraphNode_t, op: impl FnOnce(&mut Guard, usize) -> Answer<NodeOp>) -> Answer {
    let (mut machine, _) = call.any_context()?;
    let device = machine.graphs.node(node.addr())?.device;
    let op = op(&mut machine, device)?;
    if op.needs_context() {
        alive(&machine, device)?;
    }
    let it = machine.graphs.node_mut(node.addr())?;
    if kind(&it.op) != kind(&op) || matches!(op, NodeOp::Conditional(_)) {
        return Err(cudaErrorInvalidValue);
    }
    it.op = op;
    Ok(())
}

/// Returns the parameters of a node if it is of the kind that `pick` accepts.
fn get<T>(
    call: &Call,
    node: cudaGraphNode_t,
    out: Out<'_, T>,
    pick: impl FnOnce(&mut NodeOp) -> Option<T>,
) -> Answer {
    let (mut machine, _) = call.any_context()?;
    let found = pick(&mut machine.graphs.node_mut(node.addr())?.op);
    put(out, found.ok_or(cudaErrorInvalidValue)?)
}

/// A copy of a graph that a node will own.
pub(super) fn child(machine: &mut Guard, child: cudaGraph_t) -> Answer<NodeOp> {
    if machine.graphs.allocates(child.addr())? || machine.graphs.is_conditional(child.addr())? {
        return Err(cudaErrorNotSupported);
    }
    let m = &mut **machine;
    let copy = m.graphs.duplicate(&mut m.users, child.addr())?;
    m.graphs.get_mut(copy)?.owned = true;
    Ok(NodeOp::Child(copy))
}

/// Checks what is kept for later versions.
fn reserved(given: &cudaGraphNodeParams) -> Answer {
    let zero = given.reserved0 == [0; 3] && given.reserved2 == 0;
    if zero { Ok(()) } else { Err(cudaErrorInvalidValue) }
}

/// An allocation by a graph, whose address the program gets.
fn allocation(call: &Call, machine: &mut Guard, given: &mut cudaMemAllocNodeParams) -> Answer<NodeOp> {
    let (bytes, props) = (wide(given.bytesize), &given.poolProps);
    // Other processes cannot get the memory of a graph.
    let exported = props.handleTypes != cudaMemHandleTypeNone;
    let lists = given.accessDescs.is_null() && given.accessDescCount > 0;
    if exported || props.location.type_ == cudaMemLocationTypeHost {
        return Err(cudaErrorNotSupported);
    }
    if bytes == 0 || lists || props.allocType != cudaMemAllocationTypePinned {
        return Err(cudaErrorInvalidValue);
    }
    let device = ordinal(machine, props.location.id()).map_err(|_| cudaErrorInvalidValue)?;
    let memory = machine.allocations.allocate(device, bytes, Kind::Pool, call.name)?;
    given.dptr = pointer(memory);
    Ok(NodeOp::Alloc(memory, bytes))
}

/// The end of memory of a graph, which a graph has once.
fn free(machine: &Guard, graph: usize, memory: *mut c_void) -> Answer<NodeOp> {
    let start = address(memory);
    let it = machine.allocations.starting_at(start, &[Kind::Pool]);
    it.filter(|it| machine.allocations.pools.of(it.start).is_none()).ok_or(cudaErrorInvalidValue)?;
    let mut others = machine.graphs.get(graph)?.nodes.values();
    let twice = others.any(|node| matches!(node.op, NodeOp::Free(it) if it == start));
    if twice { Err(cudaErrorInvalidValue) } else { Ok(NodeOp::Free(start)) }
}

/// The operation that the general form of a node's parameters describes, unless that is one of memory.
pub(super) fn general(
    call: &Call,
    machine: &mut Guard,
    (graph, device): (usize, usize),
    given: *const cudaGraphNodeParams,
) -> Answer<NodeOp> {
    // SAFETY: the program passes such a structure, or null.
    let given = unsafe { given.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    let of = &given.__bindgen_anon_1;
    reserved(given)?;
    // All members of a union begin at its first byte.
    let member = &raw const *of;
    match given.type_ {
        it if it == cudaGraphNodeTypeEmpty => Ok(NodeOp::Nothing),
        // The structures of the general form are laid out like those of the others.
        it if it == cudaGraphNodeTypeKernel => params::kernel(machine, (device, call.name), member.cast()),
        it if it == cudaGraphNodeTypeMemcpy => {
            // SAFETY: the type says which member of the union the program has set.
            let copy = unsafe { &of.memcpy };
            if copy.flags != 0 || copy.reserved != 0 || !copy.ctx.is_null() {
                return Err(cudaErrorInvalidValue);
            }
            params::shaped(call, machine, &raw const copy.copyParams)
        }
        it if it == cudaGraphNodeTypeMemset => params::fill(call, machine, member.cast()),
        it if it == cudaGraphNodeTypeHost => params::host(member.cast()),
        // SAFETY: the type says which member of the union the program has set.
        it if it == cudaGraphNodeTypeGraph => child(machine, unsafe { of.graph.graph }),
        it if it == cudaGraphNodeTypeWaitEvent => {
            // SAFETY: the type says which member of the union the program has set.
            let event = unsafe { of.eventWait.event };
            params::event(machine, event).map(NodeOp::Wait)
        }
        it if it == cudaGraphNodeTypeEventRecord => {
            // SAFETY: the type says which member of the union the program has set.
            let event = unsafe { of.eventRecord.event };
            params::event(machine, event).map(NodeOp::Record)
        }
        it if it == cudaGraphNodeTypeConditional => {
            // SAFETY: the type says which member of the union the program has set.
            let wanted = unsafe { &of.conditional };
            conditional::node(machine, graph, wanted)
        }
        it if it == cudaGraphNodeTypeExtSemaphoreSignal => {
            // SAFETY: the type says which member of the union the program has set.
            external::signals(machine, unsafe {
                member.cast::<cudaExternalSemaphoreSignalNodeParams>().as_ref()
            })
        }
        it if it == cudaGraphNodeTypeExtSemaphoreWait => {
            // SAFETY: the type says which member of the union the program has set.
            external::waits(machine, unsafe { member.cast::<cudaExternalSemaphoreWaitNodeParams>().as_ref() })
        }
        _ => Err(cudaErrorInvalidValue),
    }
}

fn event(handle: usize) -> cudaEvent_t {
    core::ptr::without_provenance_mut::<CUevent_st>(handle)
}

api! {
    /// Adds a node that does nothing.
    allowed fn cudaGraphAddEmptyNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
    ) {
        add(call, out, NodePlace { graph, before, count }, |_, _| Ok(NodeOp::Nothing))
    }

    /// Adds a node of any kind.
    allowed fn cudaGraphAddNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t,
        edges: *const cudaGraphEdgeData, count: usize, given: *mut cudaGraphNodeParams,
    ) {
        // SAFETY: the program promises that there are so many, or none.
        unsafe { plain(edges, count) }?;
        add(call, out, NodePlace { graph, before, count }, |machine, device| {
            // SAFETY: the program passes such a structure, or null.
            let it = unsafe { given.as_mut() }.ok_or(cudaErrorInvalidValue)?;
            reserved(it)?;
            // All members of a union begin at its first byte, and these are laid out like those of other
            // calls.
            let member = &raw mut it.__bindgen_anon_1;
            if it.type_ == cudaGraphNodeTypeMemAlloc {
                // SAFETY: the type says which member of the union the program has set.
                return allocation(call, machine, unsafe { &mut *member.cast() });
            }
            if it.type_ == cudaGraphNodeTypeMemFree {
                // SAFETY: the type says which member of the union the program has set.
                return free(machine, graph.addr(), unsafe { it.__bindgen_anon_1.free.dptr });
            }
            let op = general(call, machine, (graph.addr(), device), it)?;
            if let NodeOp::Conditional(made) = &op {
                condition::set_has_node(made.handle, true);
                it.__bindgen_anon_1.conditional.phGraph_out = conditional::list(&made.bodies);
            }
            Ok(op)
        })
    }

    /// Changes the parameters of a node of any kind.
    allowed fn cudaGraphNodeSetParams(call, node: cudaGraphNode_t, given: *mut cudaGraphNodeParams) {
        set(call, node, |machine, device| {
            let graph = machine.graphs.home(node.addr())?;
            general(call, machine, (graph, device), given)
        })
    }

    /// Adds a launch of a kernel.
    allowed fn cudaGraphAddKernelNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        given: *const cudaKernelNodeParams,
    ) {
        params::known(given)?;
        add(call, out, NodePlace { graph, before, count }, |machine, device| params::kernel(machine, (device, call.name), given))
    }

    /// The launch of a kernel node.
    allowed fn cudaGraphKernelNodeGetParams(call, node: cudaGraphNode_t, out: Out<'_, cudaKernelNodeParams>) {
        get(call, node, out, |op| if let NodeOp::Kernel(it) = op { Some(params::kernel_params(it)) } else { None })
    }

    /// Changes the launch of a kernel node. The node keeps its attributes.
    allowed fn cudaGraphKernelNodeSetParams(call, node: cudaGraphNode_t, given: *const cudaKernelNodeParams) {
        params::known(given)?;
        set(call, node, |machine, device| {
            let mut op = params::kernel(machine, (device, call.name), given)?;
            if let (NodeOp::Kernel(new), NodeOp::Kernel(old)) = (&mut op, &machine.graphs.node(node.addr())?.op) {
                new.copy_attributes(old);
            }
            Ok(op)
        })
    }

    /// An attribute of a kernel node.
    allowed fn cudaGraphKernelNodeGetAttribute(
        call, node: cudaGraphNode_t, attr: cudaLaunchAttributeID, out: Out<'_, cudaLaunchAttributeValue>,
    ) {
        get(call, node, out, |op| {
            let NodeOp::Kernel(it) = op else { return None };
            params::kernel_attribute(it, attr)
        })
    }

    /// Sets an attribute of a kernel node.
    allowed fn cudaGraphKernelNodeSetAttribute(
        call, node: cudaGraphNode_t, attr: cudaLaunchAttributeID, value: Option<&cudaLaunchAttributeValue>,
    ) {
        let (mut machine, _) = call.any_context()?;
        let value = value.ok_or(cudaErrorInvalidValue)?;
        let NodeOp::Kernel(it) = &mut machine.graphs.node_mut(node.addr())?.op else { return Err(cudaErrorInvalidValue) };
        params::set_kernel_attribute(it, attr, value)
    }

    /// Gives one kernel node the attributes of another.
    allowed fn cudaGraphKernelNodeCopyAttributes(call, to: cudaGraphNode_t, from: cudaGraphNode_t) {
        let (mut machine, _) = call.any_context()?;
        let NodeOp::Kernel(from) = &machine.graphs.node(from.addr())?.op else { return Err(cudaErrorInvalidValue) };
        let from = from.clone();
        let NodeOp::Kernel(to) = &mut machine.graphs.node_mut(to.addr())?.op else { return Err(cudaErrorInvalidValue) };
        to.copy_attributes(&from);
        Ok(())
    }

    /// Adds a copy of a volume.
    allowed fn cudaGraphAddMemcpyNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        given: *const cudaMemcpy3DParms,
    ) {
        add(call, out, NodePlace { graph, before, count }, |machine, _| params::shaped(call, machine, given))
    }

    /// The copy of a copy node.
    allowed fn cudaGraphMemcpyNodeGetParams(call, node: cudaGraphNode_t, out: Out<'_, cudaMemcpy3DParms>) {
        let (machine, _) = call.any_context()?;
        let NodeOp::Copy(it) = &machine.graphs.node(node.addr())?.op else { return Err(cudaErrorInvalidValue) };
        put(out, params::copy_params(it))
    }

    /// Changes the copy of a copy node.
    allowed fn cudaGraphMemcpyNodeSetParams(call, node: cudaGraphNode_t, given: *const cudaMemcpy3DParms) {
        set(call, node, |machine, _| params::shaped(call, machine, given))
    }

    /// Adds a copy of one row.
    allowed fn cudaGraphAddMemcpyNode1D(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        dst: *mut c_void, src: *const c_void, bytes: usize, kind: cudaMemcpyKind,
    ) {
        let place = NodePlace { graph, before, count };
        add(call, out, place, |machine, _| params::linear(call, machine, dst, src, bytes, kind))
    }

    /// Changes the copy of a copy node, to a copy of one row.
    allowed fn cudaGraphMemcpyNodeSetParams1D(
        call, node: cudaGraphNode_t, dst: *mut c_void, src: *const c_void, bytes: usize, kind: cudaMemcpyKind,
    ) {
        set(call, node, |machine, _| params::linear(call, machine, dst, src, bytes, kind))
    }

    /// Adds a copy to a variable.
    allowed fn cudaGraphAddMemcpyNodeToSymbol(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        variable: *const c_void, src: *const c_void, bytes: usize, offset: usize, kind: cudaMemcpyKind,
    ) {
        let part = VariableRange { variable, offset, count: bytes };
        add(call, out, NodePlace { graph, before, count }, |machine, device| {
            params::symbol(call, machine, device, VariableSide::To, part, src, kind)
        })
    }

    /// Adds a copy from a variable.
    allowed fn cudaGraphAddMemcpyNodeFromSymbol(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        dst: *mut c_void, variable: *const c_void, bytes: usize, offset: usize, kind: cudaMemcpyKind,
    ) {
        let part = VariableRange { variable, offset, count: bytes };
        add(call, out, NodePlace { graph, before, count }, |machine, device| {
            params::symbol(call, machine, device, VariableSide::From, part, dst, kind)
        })
    }

    /// Changes the copy of a copy node, to a copy to a variable.
    allowed fn cudaGraphMemcpyNodeSetParamsToSymbol(
        call, node: cudaGraphNode_t, variable: *const c_void, src: *const c_void, count: usize, offset: usize,
        kind: cudaMemcpyKind,
    ) {
        let part = VariableRange { variable, offset, count };
        set(call, node, |machine, device| params::symbol(call, machine, device, VariableSide::To, part, src, kind))
    }

    /// Changes the copy of a copy node, to a copy from a variable.
    allowed fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        call, node: cudaGraphNode_t, dst: *mut c_void, variable: *const c_void, count: usize, offset: usize,
        kind: cudaMemcpyKind,
    ) {
        let part = VariableRange { variable, offset, count };
        set(call, node, |machine, device| params::symbol(call, machine, device, VariableSide::From, part, dst, kind))
    }

    /// Adds a memset.
    allowed fn cudaGraphAddMemsetNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        given: *const cudaMemsetParams,
    ) {
        add(call, out, NodePlace { graph, before, count }, |machine, _| params::fill(call, machine, given))
    }

    /// The memset of a memset node.
    allowed fn cudaGraphMemsetNodeGetParams(call, node: cudaGraphNode_t, out: Out<'_, cudaMemsetParams>) {
        get(call, node, out, |op| if let NodeOp::Fill(it) = op { Some(params::fill_params(it)) } else { None })
    }

    /// Changes the memset of a memset node.
    allowed fn cudaGraphMemsetNodeSetParams(call, node: cudaGraphNode_t, given: *const cudaMemsetParams) {
        set(call, node, |machine, _| params::fill(call, machine, given))
    }

    /// Adds a call of a function of the program's.
    allowed fn cudaGraphAddHostNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        given: *const cudaHostNodeParams,
    ) {
        add(call, out, NodePlace { graph, before, count }, |_, _| params::host(given))
    }

    /// The function of a host node.
    allowed fn cudaGraphHostNodeGetParams(call, node: cudaGraphNode_t, out: Out<'_, cudaHostNodeParams>) {
        get(call, node, out, |op| {
            let NodeOp::Host(it) = op else { return None };
            it.parts().map(|(function, data)| cudaHostNodeParams { fn_: Some(function), userData: data })
        })
    }

    /// Changes the function of a host node.
    allowed fn cudaGraphHostNodeSetParams(call, node: cudaGraphNode_t, given: *const cudaHostNodeParams) {
        set(call, node, |_, _| params::host(given))
    }

    /// Adds all of another graph, which is copied.
    allowed fn cudaGraphAddChildGraphNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        inner: cudaGraph_t,
    ) {
        if graph == inner && !graph.is_null() {
            follows(call, "the graph is to be its own child");
        }
        add(call, out, NodePlace { graph, before, count }, |machine, _| child(machine, inner))
    }

    /// The graph that a node owns.
    allowed fn cudaGraphChildGraphNodeGetGraph(call, node: cudaGraphNode_t, out: Out<'_, cudaGraph_t>) {
        get(call, node, out, |op| if let NodeOp::Child(it) = op { Some(graph(*it)) } else { None })
    }

    /// Adds a record of an event.
    allowed fn cudaGraphAddEventRecordNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        event: cudaEvent_t,
    ) {
        add(call, out, NodePlace { graph, before, count }, |machine, _| params::event(machine, event).map(NodeOp::Record))
    }

    /// The event that a node records.
    allowed fn cudaGraphEventRecordNodeGetEvent(call, node: cudaGraphNode_t, out: Out<'_, cudaEvent_t>) {
        get(call, node, out, |op| if let NodeOp::Record(it) = op { Some(event(*it)) } else { None })
    }

    /// Changes the event that a node records.
    allowed fn cudaGraphEventRecordNodeSetEvent(call, node: cudaGraphNode_t, event: cudaEvent_t) {
        set(call, node, |machine, _| params::event(machine, event).map(NodeOp::Record))
    }

    /// Adds signals of semaphores.
    allowed fn cudaGraphAddExternalSemaphoresSignalNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        it: Option<&cudaExternalSemaphoreSignalNodeParams>,
    ) {
        add(call, out, NodePlace { graph, before, count }, |machine, _| external::signals(machine, it))
    }

    /// Changes the signals of a node.
    allowed fn cudaGraphExternalSemaphoresSignalNodeSetParams(
        call, node: cudaGraphNode_t, it: Option<&cudaExternalSemaphoreSignalNodeParams>,
    ) {
        set(call, node, |machine, _| external::signals(machine, it))
    }

    /// Adds waits for semaphores.
    allowed fn cudaGraphAddExternalSemaphoresWaitNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        it: Option<&cudaExternalSemaphoreWaitNodeParams>,
    ) {
        add(call, out, NodePlace { graph, before, count }, |machine, _| external::waits(machine, it))
    }

    /// Changes the waits of a node.
    allowed fn cudaGraphExternalSemaphoresWaitNodeSetParams(
        call, node: cudaGraphNode_t, it: Option<&cudaExternalSemaphoreWaitNodeParams>,
    ) {
        set(call, node, |machine, _| external::waits(machine, it))
    }

    /// Adds a wait for an event.
    allowed fn cudaGraphAddEventWaitNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        event: cudaEvent_t,
    ) {
        add(call, out, NodePlace { graph, before, count }, |machine, _| params::event(machine, event).map(NodeOp::Wait))
    }

    /// The event that a node waits for.
    allowed fn cudaGraphEventWaitNodeGetEvent(call, node: cudaGraphNode_t, out: Out<'_, cudaEvent_t>) {
        get(call, node, out, |op| if let NodeOp::Wait(it) = op { Some(event(*it)) } else { None })
    }

    /// Changes the event that a node waits for.
    allowed fn cudaGraphEventWaitNodeSetEvent(call, node: cudaGraphNode_t, event: cudaEvent_t) {
        set(call, node, |machine, _| params::event(machine, event).map(NodeOp::Wait))
    }

    /// Adds an allocation, which the graph has from now on.
    allowed fn cudaGraphAddMemAllocNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        given: Option<&mut cudaMemAllocNodeParams>,
    ) {
        let given = given.ok_or(cudaErrorInvalidValue)?;
        add(call, out, NodePlace { graph, before, count }, |machine, _| allocation(call, machine, given))
    }

    /// The allocation of a node.
    allowed fn cudaGraphMemAllocNodeGetParams(call, node: cudaGraphNode_t, out: Out<'_, cudaMemAllocNodeParams>) {
        let (machine, _) = call.any_context()?;
        let NodeOp::Alloc(memory, bytes) = machine.graphs.node(node.addr())?.op else { return Err(cudaErrorInvalidValue) };
        let device = machine.allocations.at(memory).map_or(0, |it| it.device);
        let mut found = cudaMemAllocNodeParams { dptr: pointer(memory), ..Default::default() };
        found.bytesize = usize::try_from(bytes).map_err(|_| cudaErrorInvalidValue)?;
        found.poolProps.allocType = cudaMemAllocationTypePinned;
        found.poolProps.location.type_ = cudaMemLocationTypeDevice;
        found.poolProps.location.__bindgen_anon_1.id = c_int::try_from(device).map_err(|_| cudaErrorInvalidValue)?;
        put(out, found)
    }

    /// Adds the end of an allocation.
    allowed fn cudaGraphAddMemFreeNode(
        call, out: Out<'_, cudaGraphNode_t>, graph: cudaGraph_t, before: *const cudaGraphNode_t, count: usize,
        memory: *mut c_void,
    ) {
        add(call, out, NodePlace { graph, before, count }, |machine, _| free(machine, graph.addr(), memory))
    }

    /// The memory that a node ends.
    allowed fn cudaGraphMemFreeNodeGetParams(call, node: cudaGraphNode_t, out: *mut c_void) {
        let (machine, _) = call.any_context()?;
        let NodeOp::Free(memory) = machine.graphs.node(node.addr())?.op else { return Err(cudaErrorInvalidValue) };
        if out.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        // SAFETY: the program gives the place of a pointer.
        unsafe { out.cast::<*mut c_void>().write(pointer(memory)) };
        Ok(())
    }
}
