//! The work and the handles of a kernel that has called the runtime.

use std::collections::{HashMap, HashSet};

use cuda_hazard::happens_before::VectorClock;

use super::names::OperationId;
use super::work::Work;
use crate::error::Code;
use crate::race::Origin;
use crate::shape::LaunchShape;

/// The work and the handles of a kernel that has called the runtime.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// The operations that the next one on each stream comes after.
    pub(super) streams: HashMap<u64, Vec<OperationId>>,
    /// Those of them that were destroyed.
    pub(super) destroyed: HashSet<u64>,
    /// The same for the NULL stream of each block.
    pub(super) blocks: HashMap<u64, Vec<OperationId>>,
    /// The operations that each event stands for.
    pub(super) events: HashMap<u64, Vec<OperationId>>,
    /// All work but that of the tail.
    pub(super) children: Vec<OperationId>,
    /// The work that begins once all other work is over.
    pub(super) tail: Vec<(Origin, Work)>,
    /// The launches whose arguments are being written, by the address of the arguments: kernel and shape,
    /// which an older interface names later.
    pub(super) buffers: HashMap<u64, Option<(u64, LaunchShape)>>,
    /// The last error of each thread, by its block and number.
    pub(super) errors: HashMap<(u64, u32), Code>,
    /// The instructions whose errors were explained.
    pub(super) told: HashSet<u32>,
    /// The accesses of the kernel since its last launch are those of this operation.
    pub(super) phase: Option<OperationId>,
    pub(super) phases: usize,
    /// The operations whose flags the kernel has acquired since: its next accesses come after them.
    pub(super) acquired: Vec<OperationId>,
    /// What its first accesses come after, if it may begin before the kernel before it is complete.
    pub(super) early: Option<VectorClock>,
}
