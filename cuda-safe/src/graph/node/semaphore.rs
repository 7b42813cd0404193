//! Nodes that signal semaphores of other interfaces, and nodes that wait for them.
#![expect(unsafe_code, reason = "adds nodes to raw graphs, and changes them")]

use super::{NodeTarget, Recipient, Resolve, retain_all, sealed};
use crate::error::Result;
use crate::memory::ExternalSemaphore;
use crate::memory::external::{Valued, handles, signals, waits};
use crate::{check, sys};

/// The signals of semaphores. See [`semaphore_signal`].
#[derive(Debug)]
pub struct SemaphoreSignal<'a>(&'a Valued<'a>);

/// The wait for semaphores. See [`semaphore_wait`].
#[derive(Debug)]
pub struct SemaphoreWait<'a>(&'a Valued<'a>);

/// Describes the signals of semaphores of the graph's device, each with its value. The graph retains the
/// semaphores.
///
/// Stands for
/// [`cudaGraphAddExternalSemaphoresSignalNode`](sys::cudaGraphAddExternalSemaphoresSignalNode),
/// `cudaGraphExternalSemaphoresSignalNodeSetParams` and `cudaGraphExecExternalSemaphoresSignalNodeSetParams`.
///
/// # Errors
/// `Device` for a semaphore of another device.
#[doc(alias = "cudaGraphAddExternalSemaphoresSignalNode")]
#[doc(alias = "cudaGraphExternalSemaphoresSignalNodeSetParams")]
#[doc(alias = "cudaGraphExecExternalSemaphoresSignalNodeSetParams")]
#[must_use]
pub fn semaphore_signal<'a>(semaphores: &'a [(&'a ExternalSemaphore, u64)]) -> SemaphoreSignal<'a> {
    SemaphoreSignal(semaphores)
}

/// Describes the wait for semaphores of the graph's device, each with its value. The graph retains the
/// semaphores. If nobody signals a semaphore, a launch waits for ever.
///
/// Stands for [`cudaGraphAddExternalSemaphoresWaitNode`](sys::cudaGraphAddExternalSemaphoresWaitNode),
/// `cudaGraphExternalSemaphoresWaitNodeSetParams` and `cudaGraphExecExternalSemaphoresWaitNodeSetParams`.
///
/// # Errors
/// `Device` for a semaphore of another device.
#[doc(alias = "cudaGraphAddExternalSemaphoresWaitNode")]
#[doc(alias = "cudaGraphExternalSemaphoresWaitNodeSetParams")]
#[doc(alias = "cudaGraphExecExternalSemaphoresWaitNodeSetParams")]
#[must_use]
pub fn semaphore_wait<'a>(semaphores: &'a [(&'a ExternalSemaphore, u64)]) -> SemaphoreWait<'a> {
    SemaphoreWait(semaphores)
}

/// Implements the operation: the kind of node, the function that makes the list of values, C's structure and
/// the three calls.
macro_rules! semaphores {
    ($api:literal, $op:ident, $values:ident, $params:ident, $add:ident, $set:ident, $set_exec:ident) => {
        impl sealed::Sealed for $op<'_> {}

        impl Resolve for $op<'_> {
            fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
                let (mut list, values) = (handles($api, to.device(), self.0)?, $values(self.0));
                let uses = retain_all($api, self.0.iter().map(|(semaphore, _)| semaphore.alive()))?;
                let parameters = sys::$params {
                    extSemArray: list.as_mut_ptr(),
                    paramsArray: values.as_ptr(),
                    numExtSems: u32::try_from(list.len()).unwrap_or(u32::MAX),
                };
                to.take(uses, false, |place| {
                    let parameters = &raw const parameters;
                    match place {
                        // SAFETY: the invariants of `NewNode`. The lists are live, and the call copies them.
                        // The graph retains the semaphores.
                        NodeTarget::New(new) => unsafe {
                            check!($add(new.node, new.graph, new.before, new.count, parameters))
                        },
                        // SAFETY: the invariants of `NodeTarget`. The lists are live, and the call copies
                        // them.
                        NodeTarget::Node(node) => unsafe { check!($set(node, parameters)) },
                        // SAFETY: the invariants of `NodeTarget`. The lists are live, and the call copies
                        // them.
                        NodeTarget::Exec(exec, node) => unsafe { check!($set_exec(exec, node, parameters)) },
                    }
                })
            }
        }
    };
}

semaphores!(
    "node::semaphore_signal",
    SemaphoreSignal,
    signals,
    cudaExternalSemaphoreSignalNodeParams,
    cudaGraphAddExternalSemaphoresSignalNode,
    cudaGraphExternalSemaphoresSignalNodeSetParams,
    cudaGraphExecExternalSemaphoresSignalNodeSetParams
);
semaphores!(
    "node::semaphore_wait",
    SemaphoreWait,
    waits,
    cudaExternalSemaphoreWaitNodeParams,
    cudaGraphAddExternalSemaphoresWaitNode,
    cudaGraphExternalSemaphoresWaitNodeSetParams,
    cudaGraphExecExternalSemaphoresWaitNodeSetParams
);
