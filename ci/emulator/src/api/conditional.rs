//! Conditional nodes.
#![expect(unsafe_code, reason = "exports C functions, and writes where a program wants its answer")]

use core::ffi::c_uint;

use super::graph::graph;
use super::{Out, api};
use crate::error::Answer;
use crate::graph::NodeOp;
use crate::graph::conditional::{Conditional, Test};
use crate::machine::Guard;
use crate::stream::condition;
use crate::sys::*;

/// More bodies than this count as more than there is memory for. CUDA's headers name no limit.
const MOST_BODIES: c_uint = 1 << 20;

/// A conditional node of a graph, with as many empty bodies as are asked for.
pub(super) fn node(machine: &mut Guard, graph: usize, wanted: &cudaConditionalNodeParams) -> Answer<NodeOp> {
    let test = match wanted.type_ {
        it if it == cudaGraphCondTypeIf && matches!(wanted.size, 1 | 2) => Test::If,
        it if it == cudaGraphCondTypeWhile && wanted.size == 1 => Test::While,
        it if it == cudaGraphCondTypeSwitch && wanted.size > 0 => Test::Switch,
        _ => return Err(cudaErrorInvalidValue),
    };
    let root = machine.graphs.root(graph)?;
    if !condition::is_free(wanted.handle, root) {
        return Err(cudaErrorInvalidValue);
    }
    if wanted.size > MOST_BODIES {
        return Err(cudaErrorMemoryAllocation);
    }
    let mut bodies = Vec::new();
    for _ in 0..wanted.size {
        let body = machine.graphs.create();
        let it = machine.graphs.get_mut(body)?;
        (it.owned, it.root) = (true, Some(root));
        bodies.push(body);
    }
    Ok(NodeOp::Conditional(Conditional { handle: wanted.handle, test, bodies }))
}

/// The list of bodies, as a program wants it; it lives as long as the process.
pub(super) fn list(bodies: &[usize]) -> *mut cudaGraph_t {
    let list: Box<[cudaGraph_t]> = bodies.iter().map(|body| graph(*body)).collect();
    Box::leak(list).as_mut_ptr()
}

api! {
    /// Makes a handle for a conditional node of a graph.
    allowed fn cudaGraphConditionalHandleCreate(
        call, out: Out<'_, cudaGraphConditionalHandle>, graph: cudaGraph_t, value: c_uint, flags: c_uint,
    ) {
        let (machine, _) = call.context()?;
        let root = machine.graphs.root(graph.addr())?;
        if flags != 0 && flags != cudaGraphCondAssignDefault.0 {
            return Err(cudaErrorInvalidValue);
        }
        let out = out.ok_or(cudaErrorInvalidValue)?;
        out.write(condition::create((flags != 0).then_some(value), root));
        Ok(())
    }
}
