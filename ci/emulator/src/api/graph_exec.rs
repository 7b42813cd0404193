//! Executable graphs: instantiation, launches, and changes of their nodes.
#![expect(unsafe_code, reason = "exports C functions, and reads the structures that they are given")]

use core::ffi::{c_uint, c_ulonglong, c_void};

use super::graph::node;
use super::graph_node::general;
use super::graph_params as params;
use super::symbol::{VariableRange, VariableSide};
use super::transfer::memory_type;
use super::{Call, Out, alive, api, external, put};
use crate::error::Answer;
use crate::finding::{Finding, Subject};
use crate::graph::{Exec, Graph, Mismatch, NodeOp, kind, launch, number, release};
use crate::machine::{Guard, Machine};
use crate::stream::condition;
use crate::sys::*;

/// The flags of an instantiation.
const KNOWN: c_uint = cudaGraphInstantiateFlagAutoFreeOnLaunch.0
    | cudaGraphInstantiateFlagUpload.0
    | cudaGraphInstantiateFlagDeviceLaunch.0
    | cudaGraphInstantiateFlagUseNodePriority.0;

/// Whether there are such flags.
fn known(flags: c_ulonglong) -> bool {
    flags & !c_ulonglong::from(KNOWN) == 0
}

/// The first node that a launch by a kernel could not run, if the graph is to be launched so.
fn unfit(graph: &Graph, flags: c_ulonglong) -> Option<usize> {
    let by_kernels = flags & c_ulonglong::from(cudaGraphInstantiateFlagDeviceLaunch.0) != 0;
    let mut nodes = graph.nodes.iter().filter(|_| by_kernels);
    nodes.find(|node| !node.1.op.is_run_by_device()).map(|node| *node.0)
}

/// Checks the memory of all memsets of a graph, and of the graphs that its nodes own.
fn fills(machine: &Machine, graph: usize) -> Answer {
    for node in machine.graphs.get(graph)?.nodes.values() {
        if let NodeOp::Fill(it) = &node.op {
            let span = it.volume.span(it.pitch, it.slice);
            memory_type("cudaGraphInstantiate", &machine.allocations, it.address, span, true)?;
        }
        node.op.owned().iter().try_for_each(|owned| fills(machine, *owned))?;
    }
    Ok(())
}

fn instantiate(machine: &mut Guard, graph: cudaGraph_t, flags: c_ulonglong) -> Answer<cudaGraphExec_t> {
    if !known(flags) {
        return Err(cudaErrorInvalidValue);
    }
    let m = &mut **machine;
    let graph = graph.addr();
    if unfit(m.graphs.get(graph)?, flags).is_some() {
        return Err(cudaErrorInvalidValue);
    }
    let once = m.graphs.allocates(graph)? || m.graphs.is_conditional(graph)?;
    if once && m.graphs.has_exec(graph) {
        return Err(cudaErrorNotSupported);
    }
    if condition::is_any_free(graph) {
        return Err(cudaErrorInvalidValue);
    }
    fills(m, graph)?;
    let exec = Exec::new(&m.graphs, &mut m.users, graph, flags)?;
    Ok(core::ptr::without_provenance_mut::<CUgraphExec_st>(m.graphs.keep(exec)))
}

/// Makes a graph executable by a call without parameters: there is no stream for an upload.
fn alone(call: &Call, out: Out<'_, cudaGraphExec_t>, graph: cudaGraph_t, flags: c_ulonglong) -> Answer {
    let (mut machine, _) = call.context()?;
    let out = out.ok_or(cudaErrorInvalidValue)?;
    if flags & c_ulonglong::from(cudaGraphInstantiateFlagUpload.0) != 0 {
        return Err(cudaErrorInvalidValue);
    }
    out.write(instantiate(&mut machine, graph, flags)?);
    Ok(())
}

/// Has the step that was made from a node do something else of the same kind.
fn set(
    call: &Call,
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    op: impl FnOnce(&mut Guard, usize) -> Answer<NodeOp>,
) -> Answer {
    let (mut machine, _) = call.any_context()?;
    let device = machine.graphs.node(node.addr())?.device;
    let op = op(&mut machine, device)?;
    if op.needs_context() {
        alive(&machine, device)?;
    }
    let machine = &mut *machine;
    let step = machine.graphs.exec_mut(exec.addr())?.step_mut(node.addr())?;
    if kind(&step.op) != kind(&op) || !step.op.may_become(&op, &machine.allocations) {
        return Err(cudaErrorInvalidValue);
    }
    (step.op, step.changed) = (op, true);
    Ok(())
}

api! {
    /// Makes a graph executable.
    waits fn cudaGraphInstantiate(call, out: Out<'_, cudaGraphExec_t>, graph: cudaGraph_t, flags: c_ulonglong) {
        alone(call, out, graph, flags)
    }

    /// The same.
    waits fn cudaGraphInstantiateWithFlags(call, out: Out<'_, cudaGraphExec_t>, graph: cudaGraph_t, flags: c_ulonglong) {
        alone(call, out, graph, flags)
    }

    /// Does the same, and reports the cause of a failure.
    waits fn cudaGraphInstantiateWithParams | cudaGraphInstantiateWithParams_ptsz(
        call, out: Out<'_, cudaGraphExec_t>, graph: cudaGraph_t, given: Option<&mut cudaGraphInstantiateParams>,
    ) {
        let (mut machine, _) = call.context()?;
        let (out, given) = (out.ok_or(cudaErrorInvalidValue)?, given.ok_or(cudaErrorInvalidValue)?);
        let made = instantiate(&mut machine, graph, given.flags);
        let unfit = machine.graphs.get(graph.addr()).ok().and_then(|it| unfit(it, given.flags));
        given.errNode_out = node(unfit.unwrap_or(0));
        given.result_out = match () {
            () if made.is_ok() => cudaGraphInstantiateSuccess,
            () if !known(given.flags) => cudaGraphInstantiateError,
            () if unfit.is_some() => cudaGraphInstantiateNodeOperationNotSupported,
            () => cudaGraphInstantiateInvalidStructure,
        };
        out.write(made?);
        Ok(())
    }

    /// The flags of an executable graph. An H200 does not report the priority.
    allowed fn cudaGraphExecGetFlags(call, exec: cudaGraphExec_t, out: Out<'_, c_ulonglong>) {
        let (machine, _) = call.any_context()?;
        let untold = cudaGraphInstantiateFlagUseNodePriority.0 | cudaGraphInstantiateFlagUpload.0;
        let untold = c_ulonglong::from(untold);
        put(out, machine.graphs.exec(exec.addr())?.flags & !untold)
    }

    /// The number of an executable graph for tools.
    allowed fn cudaGraphExecGetId(call, exec: cudaGraphExec_t, out: Out<'_, c_uint>) {
        let (machine, _) = call.any_context()?;
        machine.graphs.exec(exec.addr())?;
        put(out, c_uint::try_from(number(exec.addr())).unwrap_or(c_uint::MAX))
    }

    /// Launches an executable graph, or, on a captured stream, adds a copy of it to the graph.
    allowed fn cudaGraphLaunch | cudaGraphLaunch_ptsz(call, exec: cudaGraphExec_t, stream: cudaStream_t) {
        let (mut machine, _, key) = call.stream(stream)?;
        if machine.is_captured(key) {
            // The steps of an executable graph are no nodes any more.
            return machine.unasked_in_capture(key).and(Err(cudaErrorStreamCaptureUnsupported));
        }
        machine.capture_of(key)?;
        launch(&mut machine, exec.addr(), key, call.name)
    }

    /// Prepares a launch.
    allowed fn cudaGraphUpload | cudaGraphUpload_ptsz(call, exec: cudaGraphExec_t, stream: cudaStream_t) {
        let (machine, _, _) = call.stream(stream)?;
        machine.graphs.exec(exec.addr()).map(drop)
    }

    /// Ends an executable graph; its launches go on.
    waits fn cudaGraphExecDestroy(call, exec: cudaGraphExec_t) {
        let (mut machine, device) = call.any_context()?;
        let (last, users) = machine.graphs.end(exec.addr())?.into_rest();
        release(&mut machine, users, device, last)
    }

    /// Updates an executable graph from another graph of the same shape.
    allowed fn cudaGraphExecUpdate(
        call, exec: cudaGraphExec_t, graph: cudaGraph_t, out: Option<&mut cudaGraphExecUpdateResultInfo>,
    ) {
        let (mut machine, _) = call.any_context()?;
        let m = &mut *machine;
        let mut changed = m.graphs.end(exec.addr())?;
        let done = changed.update(&m.graphs, &m.allocations, graph.addr());
        m.graphs.put_back(exec.addr(), changed);
        let (result, at) = match done? {
            Ok(()) => (cudaGraphExecUpdateSuccess, 0),
            Err(Mismatch::Topology(at)) => (cudaGraphExecUpdateErrorTopologyChanged, at),
            Err(Mismatch::Kind(at)) => (cudaGraphExecUpdateErrorNodeTypeChanged, at),
            Err(Mismatch::Parameters(at)) => (cudaGraphExecUpdateErrorParametersChanged, at),
            Err(Mismatch::Attributes(at)) => (cudaGraphExecUpdateErrorAttributesChanged, at),
        };
        if let Some(out) = out {
            *out = cudaGraphExecUpdateResultInfo {
                result,
                errorNode: node(at),
                errorFromNode: core::ptr::null_mut(),
            };
        }
        if result == cudaGraphExecUpdateSuccess { Ok(()) } else { Err(cudaErrorGraphExecUpdateFailure) }
    }

    /// Changes the parameters of a node of any kind, in an executable graph.
    allowed fn cudaGraphExecNodeSetParams(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, given: *mut cudaGraphNodeParams,
    ) {
        set(call, exec, node, |machine, device| {
            let graph = machine.graphs.home(node.addr())?;
            general(call, machine, (graph, device), given)
        })
    }

    /// Changes the launch of a kernel node, in an executable graph.
    allowed fn cudaGraphExecKernelNodeSetParams(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, given: *const cudaKernelNodeParams,
    ) {
        params::known(given)?;
        set(call, exec, node, |machine, device| params::kernel(machine, (device, call.name), given))
    }

    /// Changes the copy of a copy node, in an executable graph.
    allowed fn cudaGraphExecMemcpyNodeSetParams(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, given: *const cudaMemcpy3DParms,
    ) {
        set(call, exec, node, |machine, _| params::shaped(call, machine, given))
    }

    /// The same, to one row.
    allowed fn cudaGraphExecMemcpyNodeSetParams1D(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, dst: *mut c_void, src: *const c_void, count: usize,
        kind: cudaMemcpyKind,
    ) {
        set(call, exec, node, |machine, _| params::linear(call, machine, dst, src, count, kind))
    }

    /// The same, to a variable.
    allowed fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, variable: *const c_void, src: *const c_void,
        count: usize, offset: usize, kind: cudaMemcpyKind,
    ) {
        let part = VariableRange { variable, offset, count };
        set(call, exec, node, |machine, device| params::symbol(call, machine, device, VariableSide::To, part, src, kind))
    }

    /// The same, from a variable.
    allowed fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, dst: *mut c_void, variable: *const c_void,
        count: usize, offset: usize, kind: cudaMemcpyKind,
    ) {
        let part = VariableRange { variable, offset, count };
        set(call, exec, node, |machine, device| params::symbol(call, machine, device, VariableSide::From, part, dst, kind))
    }

    /// Changes the memset of a memset node, in an executable graph.
    allowed fn cudaGraphExecMemsetNodeSetParams(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, given: *const cudaMemsetParams,
    ) {
        set(call, exec, node, |machine, _| params::fill(call, machine, given))
    }

    /// Changes the function of a host node, in an executable graph.
    allowed fn cudaGraphExecHostNodeSetParams(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, given: *const cudaHostNodeParams,
    ) {
        set(call, exec, node, |_, _| params::host(given))
    }

    /// Changes the event that a node records, in an executable graph.
    allowed fn cudaGraphExecEventRecordNodeSetEvent(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, event: cudaEvent_t,
    ) {
        set(call, exec, node, |machine, _| params::event(machine, event).map(NodeOp::Record))
    }

    /// Changes the event that a node waits for, in an executable graph.
    allowed fn cudaGraphExecEventWaitNodeSetEvent(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, event: cudaEvent_t,
    ) {
        set(call, exec, node, |machine, _| params::event(machine, event).map(NodeOp::Wait))
    }

    /// Changes the signals of a node, in an executable graph.
    allowed fn cudaGraphExecExternalSemaphoresSignalNodeSetParams(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, it: Option<&cudaExternalSemaphoreSignalNodeParams>,
    ) {
        set(call, exec, node, |machine, _| external::signals(machine, it))
    }

    /// Changes the waits of a node, in an executable graph.
    allowed fn cudaGraphExecExternalSemaphoresWaitNodeSetParams(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, it: Option<&cudaExternalSemaphoreWaitNodeParams>,
    ) {
        set(call, exec, node, |machine, _| external::waits(machine, it))
    }

    /// Updates the child graph of a node, in an executable graph, from another graph of the same shape.
    allowed fn cudaGraphExecChildGraphNodeSetParams(
        call, exec: cudaGraphExec_t, node: cudaGraphNode_t, inner: cudaGraph_t,
    ) {
        let (mut machine, _) = call.any_context()?;
        let m = &mut *machine;
        let mut changed = m.graphs.end(exec.addr())?;
        let done = changed.update_child(&m.graphs, &m.allocations, node.addr(), inner.addr());
        m.graphs.put_back(exec.addr(), changed);
        done?.map_err(|_| cudaErrorGraphExecUpdateFailure)
    }

    /// Has launches skip a kernel, copy or memset, or no longer.
    allowed fn cudaGraphNodeSetEnabled(call, exec: cudaGraphExec_t, node: cudaGraphNode_t, enabled: c_uint) {
        let (mut machine, _) = call.any_context()?;
        let exec = machine.graphs.exec_mut(exec.addr())?;
        let launched = exec.is_launched();
        let step = exec.step_mut(node.addr())?;
        if !matches!(step.op, NodeOp::Kernel(_) | NodeOp::Copy(_) | NodeOp::Fill(_)) {
            return Err(cudaErrorInvalidValue);
        }
        let what = match step.op {
            NodeOp::Fill(_) => "a memset node is disabled",
            _ => "a node is disabled that was changed after the last launch",
        };
        if enabled == 0 && (launched && step.changed || matches!(step.op, NodeOp::Fill(_))) {
            // Seen on an H200: launches crash, fail, run other nodes too early, or lose the change.
            let advice = "Driver 580 fails here. Disable kernels and copies, and change a node after that.";
            Finding::new(Subject::Driver, format!("{}: {what}", call.name), advice).here(call.name).report();
        }
        step.enabled = enabled != 0;
        Ok(())
    }

    /// Whether launches skip a node.
    allowed fn cudaGraphNodeGetEnabled(call, exec: cudaGraphExec_t, node: cudaGraphNode_t, out: Out<'_, c_uint>) {
        let (mut machine, _) = call.any_context()?;
        let step = machine.graphs.exec_mut(exec.addr())?.step_mut(node.addr())?;
        if !matches!(step.op, NodeOp::Kernel(_) | NodeOp::Copy(_) | NodeOp::Fill(_)) {
            return Err(cudaErrorInvalidValue);
        }
        put(out, c_uint::from(step.enabled))
    }
}
