//! The operation of a node, kept so that it can run any number of times.
#![expect(unsafe_code, reason = "keeps what a program gave in a union")]

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;

use super::conditional::Conditional;
use crate::exec::{Kernel, Launch};
use crate::external::SemaphoreWork;
use crate::memory::Allocations;
use crate::stream::{Copy, Fill, HostCall, Record, Work};
use crate::sys::*;

/// The value of an attribute. Only the bytes that the attribute has need to be valid.
#[derive(Clone, Copy)]
pub(crate) struct AttributeValue(pub(crate) cudaLaunchAttributeValue);

// SAFETY: addresses in it are only given back to the program.
unsafe impl Send for AttributeValue {}

impl fmt::Debug for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value")
    }
}

/// A copy of the arguments of a node, and the address of each, which programs may ask for.
#[derive(Debug, Default)]
struct GivenArguments {
    addresses: Vec<usize>,
    _bytes: Vec<u8>,
    is_given: bool,
}

/// Those of nodes that are gone or have others, the newest last: programs use them all the same.
static STALE: Mutex<Vec<GivenArguments>> = Mutex::new(Vec::new());

/// The most that are kept.
const MOST_STALE: usize = 256;

/// Whether a program passes the arguments of a node that is gone or has others.
pub(crate) fn is_stale(arguments: usize) -> bool {
    STALE.lock().iter().any(|it| it.addresses.as_ptr().addr() == arguments)
}

impl GivenArguments {
    fn new(launch: &Launch) -> Self {
        let bytes = launch.params.clone();
        let start = bytes.as_ptr().expose_provenance();
        let at = |offset: u32| start + usize::try_from(offset).unwrap_or(0);
        let addresses = launch.program.params.iter().map(|&(offset, _)| at(offset)).collect();
        Self { addresses, _bytes: bytes, is_given: false }
    }
}

impl Drop for GivenArguments {
    fn drop(&mut self) {
        if std::mem::take(&mut self.is_given) {
            let mut stale = STALE.lock();
            if stale.len() == MOST_STALE {
                stale.remove(0);
            }
            stale.push(std::mem::take(self));
        }
    }
}

/// A launch of a kernel, and the addresses of its arguments for a program that asks for them.
#[derive(Debug)]
pub(crate) struct KernelNode {
    pub(crate) function: usize,
    launch: Launch,
    arguments: GivenArguments,
    /// Attributes that have no effect here, by their identifiers.
    others: BTreeMap<u32, AttributeValue>,
}

impl KernelNode {
    pub(crate) fn new(function: usize, launch: Launch) -> Self {
        let arguments = GivenArguments::new(&launch);
        Self { function, launch, arguments, others: BTreeMap::new() }
    }

    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    pub(crate) fn arguments(&mut self) -> &mut [usize] {
        self.arguments.is_given = true;
        &mut self.arguments.addresses
    }

    /// Sets whether its blocks may wait for each other.
    pub(crate) fn set_cooperative(&mut self, cooperative: bool) {
        self.launch.cooperative = cooperative;
    }

    /// Sets the shape of its clusters.
    pub(crate) fn set_cluster(&mut self, cluster: Option<[u32; 3]>) {
        self.launch.cluster = cluster;
    }

    /// Attributes that have no effect here.
    pub(crate) fn others(&mut self) -> &mut BTreeMap<u32, AttributeValue> {
        &mut self.others
    }

    /// Takes over another node's attributes.
    pub(crate) fn copy_attributes(&mut self, from: &Self) {
        (self.launch.cooperative, self.launch.cluster) = (from.launch.cooperative, from.launch.cluster);
        self.others.clone_from(&from.others);
    }
}

impl Clone for KernelNode {
    fn clone(&self) -> Self {
        Self { others: self.others.clone(), ..Self::new(self.function, self.launch.clone()) }
    }
}

/// The operation of a node.
#[derive(Clone, Debug)]
pub(crate) enum NodeOp {
    /// Nothing: only its place in the order matters.
    Nothing,
    Kernel(Box<KernelNode>),
    Copy(Box<Copy>),
    Fill(Box<Fill>),
    Host(HostCall),
    /// Makes an event mark this place in the order.
    Record(usize),
    /// Waits for the moment that an event marks at the launch.
    Wait(usize),
    /// Signals semaphores of another interface, or waits for them.
    Semaphores(Box<SemaphoreWork>),
    /// All of another graph, which this node owns.
    Child(usize),
    /// The choice of other graphs, which this node owns.
    Conditional(Conditional),
    /// The beginning of memory that the graph has had since the node was made.
    Alloc(u64, u64),
    /// The end of such memory, or of a stream-ordered allocation.
    Free(u64),
}

impl NodeOp {
    /// Whether a node with this operation is made in a context, which must not have failed.
    pub(crate) fn needs_context(&self) -> bool {
        matches!(self, Self::Kernel(_) | Self::Copy(_) | Self::Fill(_))
    }

    /// Whether both are cooperative kernels, or neither is.
    pub(super) fn cooperates_like(&self, other: &Self) -> bool {
        let cooperative = |op: &Self| matches!(op, Self::Kernel(it) if it.launch.cooperative);
        cooperative(self) == cooperative(other)
    }

    /// Takes over the operation of another graph's node. A kernel without clusters gets those that the node
    /// had, as driver 580 does it.
    pub(super) fn take_over(&mut self, new: &Self) {
        let had = if let Self::Kernel(it) = &*self { it.launch.cluster } else { None };
        self.clone_from(new);
        if let Self::Kernel(it) = self {
            it.launch.cluster = it.launch.cluster.or(had);
        }
    }

    /// The operation that does this once.
    pub(super) fn work(&self) -> Work {
        match self {
            Self::Nothing
            | Self::Wait(_)
            | Self::Child(_)
            | Self::Conditional(_)
            | Self::Alloc(..)
            | Self::Free(_) => Work::Nothing,
            Self::Kernel(kernel) => Work::Task(Box::new(Kernel::new(kernel.launch.clone()))),
            Self::Copy(copy) => Work::Copy(copy.clone()),
            Self::Fill(fill) => Work::Fill(fill.clone()),
            Self::Host(host) => Work::Host(*host),
            Self::Record(event) => Work::Record(Record { event: *event }),
            Self::Semaphores(work) => Work::Task(work.clone()),
        }
    }

    /// The operation that a captured operation becomes.
    ///
    /// # Errors
    /// `None` if the operation cannot be captured.
    pub(super) fn captured(work: Work) -> Option<Self> {
        match work {
            Work::Copy(copy) => Some(Self::Copy(copy)),
            Work::Fill(fill) => Some(Self::Fill(fill)),
            Work::Host(host) if !host.survives_errors() => Some(Self::Host(host)),
            Work::Free(address) => Some(Self::Free(address)),
            _ => None,
        }
    }

    /// The graphs that a node with this operation owns.
    pub(crate) fn owned(&self) -> &[usize] {
        match self {
            Self::Child(child) => core::slice::from_ref(child),
            Self::Conditional(it) => &it.bodies,
            _ => &[],
        }
    }

    /// Whether a body of a conditional node may have such a node. The device runs it, and reaches no pageable
    /// memory.
    pub(super) fn is_allowed_in_body(&self) -> bool {
        match self {
            Self::Nothing | Self::Conditional(_) => true,
            it => it.is_run_by_device(),
        }
    }

    /// Whether a graph that kernels launch may have such a node.
    pub(crate) fn is_run_by_device(&self) -> bool {
        match self {
            Self::Copy(copy) => !copy.is_pageable(),
            it => matches!(it, Self::Kernel(_) | Self::Fill(_) | Self::Child(_)),
        }
    }

    /// Whether another operation can take this one's place in an executable graph.
    pub(super) fn like(&self, other: &Self) -> bool {
        kind(self) == kind(other)
    }

    /// Whether another operation of the same kind can replace this one. Memsets stay with the same device,
    /// and those of several rows keep their extent.
    pub(crate) fn may_become(&self, other: &Self, allocations: &Allocations) -> bool {
        match (self, other) {
            (Self::Copy(old), Self::Copy(new)) => old.may_become(new, allocations),
            (Self::Fill(old), Self::Fill(new)) => {
                let flat = |it: &Fill| it.volume.height <= 1;
                let device = |it: &Fill| allocations.at(it.address).map(|it| it.device);
                let same = old.volume == new.volume && old.element == new.element;
                device(old) == device(new) && (same || flat(old) && flat(new))
            }
            _ => true,
        }
    }
}

/// The type of a node, as programs ask for it.
pub(crate) fn kind(op: &NodeOp) -> cudaGraphNodeType {
    match op {
        NodeOp::Nothing => cudaGraphNodeTypeEmpty,
        NodeOp::Kernel(_) => cudaGraphNodeTypeKernel,
        NodeOp::Copy(_) => cudaGraphNodeTypeMemcpy,
        NodeOp::Fill(_) => cudaGraphNodeTypeMemset,
        NodeOp::Host(_) => cudaGraphNodeTypeHost,
        NodeOp::Record(_) => cudaGraphNodeTypeEventRecord,
        NodeOp::Wait(_) => cudaGraphNodeTypeWaitEvent,
        NodeOp::Semaphores(work) if work.signals => cudaGraphNodeTypeExtSemaphoreSignal,
        NodeOp::Semaphores(_) => cudaGraphNodeTypeExtSemaphoreWait,
        NodeOp::Child(_) => cudaGraphNodeTypeGraph,
        NodeOp::Conditional(_) => cudaGraphNodeTypeConditional,
        NodeOp::Alloc(..) => cudaGraphNodeTypeMemAlloc,
        NodeOp::Free(_) => cudaGraphNodeTypeMemFree,
    }
}
