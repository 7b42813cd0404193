//! Conditional nodes. A graph may have them, with bodies to be filled, but it cannot be made executable with
//! them.
#![expect(unsafe_code, reason = "exports C functions, and writes where a program wants its answer")]

use core::ffi::c_uint;
use std::sync::atomic::{AtomicU64, Ordering};

use super::capture::graph;
use super::{Out, api};
use crate::error::Answer;
use crate::graph::Act;
use crate::machine::Guard;
use crate::sys::{
    cudaConditionalNodeParams, cudaErrorInvalidValue, cudaGraph_t, cudaGraphCondAssignDefault,
    cudaGraphCondTypeIf, cudaGraphCondTypeSwitch, cudaGraphCondTypeWhile, cudaGraphConditionalHandle,
};

/// How many handles were given out; they are the numbers up to this.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// A conditional node with as many empty bodies as are asked for.
pub(super) fn node(machine: &mut Guard, wanted: &cudaConditionalNodeParams) -> Answer<Act> {
    let known = (1..=GIVEN.load(Ordering::Relaxed)).contains(&wanted.handle);
    let right = match wanted.type_ {
        it if it == cudaGraphCondTypeIf => matches!(wanted.size, 1 | 2),
        it if it == cudaGraphCondTypeWhile => wanted.size == 1,
        it if it == cudaGraphCondTypeSwitch => wanted.size > 0,
        _ => false,
    };
    if !known || !right {
        return Err(cudaErrorInvalidValue);
    }
    let mut bodies = Vec::new();
    for _ in 0..wanted.size {
        let body = machine.graphs.create();
        machine.graphs.get_mut(body)?.owned = true;
        bodies.push(body);
    }
    Ok(Act::Conditional(bodies))
}

/// The list of bodies, as a program wants it; it lives as long as the process.
pub(super) fn list(bodies: &[usize]) -> *mut cudaGraph_t {
    let list: Box<[cudaGraph_t]> = bodies.iter().map(|body| graph(*body)).collect();
    Box::leak(list).as_mut_ptr()
}

api! {
    /// Makes a handle for a conditional node of a graph.
    fn cudaGraphConditionalHandleCreate(
        call, out: Out<'_, cudaGraphConditionalHandle>, graph: cudaGraph_t, _value: c_uint, flags: c_uint,
    ) {
        let (machine, _) = call.context()?;
        machine.graphs.get(graph.addr())?;
        if flags != 0 && flags != cudaGraphCondAssignDefault.0 {
            return Err(cudaErrorInvalidValue);
        }
        out.ok_or(cudaErrorInvalidValue)?.write(GIVEN.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(())
    }
}
