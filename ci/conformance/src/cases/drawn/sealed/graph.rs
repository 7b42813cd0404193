//! Captures and graphs.

use cuda_sys as sys;
use cuda_sys::{cudaGraph_t, cudaGraphNode_t};

use super::super::common::{Kernel, add_case, arguments, graph, null, taken};
use super::super::open::graph::kernel;
use crate::case::Cases;
use crate::log::{Log, Setup, ask};
use crate::memory::{Block, Kind};

unsafe extern "C" {
    fn case_add();
}

/// Where the numbers of a case are, which are zero.
fn numbers(log: &mut Log) -> Result<Block, Setup> {
    Block::new(log, Kind::Device, 64)
}

/// A node that adds to the first number.
fn adds(
    log: &mut Log,
    graph: cudaGraph_t,
    before: &[cudaGraphNode_t],
    to: Block,
    amount: i32,
) -> cudaGraphNode_t {
    let (mut at, mut amount, mut node) = (to.ptr(), amount, null());
    let mut list = arguments![at, amount];
    let wanted = kernel(case_add as Kernel, 1, &mut list);
    ask!(
        log,
        "adds",
        cudaGraphAddKernelNode(&raw mut node, graph, before.as_ptr(), before.len(), &raw const wanted)
    );
    node
}

pub(super) fn add(cases: &mut Cases) {
    changed(cases);
}

fn changed(cases: &mut Cases) {
    add_case(cases, 190, "with priorities of its streams, flags together", |log| {
        let (graph, out) = (graph(log)?, numbers(log)?);
        let node = adds(log, graph, &[], out, 1);
        for flags in [8, 9, 12, 2 | 8, 32, 1 << 40] {
            let mut run = null();
            ask!(log, &format!("{flags}"), cudaGraphInstantiate(&raw mut run, graph, flags));
            if !run.is_null() {
                let mut found = 77;
                ask!(log, cudaGraphExecGetFlags(run, &raw mut found));
                log.fact("flags", found);
            }
            ask!(log, "last", cudaGetLastError());
        }
        let mut value = sys::cudaLaunchAttributeValue::default();
        ask!(log, cudaGraphKernelNodeGetAttribute(node, sys::cudaLaunchAttributePriority, &raw mut value));
        // SAFETY: the attribute is of this member.
        log.fact("priority", unsafe { value.priority });
        taken(log)
    });
}
