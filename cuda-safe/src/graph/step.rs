//! What a graph knows of one node besides its order.

use cuda_hazard::Few;

use crate::hazard::RetainedAccesses;
use crate::sys;

/// One node, or all nodes of a capture.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Empty after the node is destroyed.
    pub(super) raws: Few<sys::cudaGraphNode_t>,
    pub(super) uses: RetainedAccesses,
    /// Whether the node gives the device work.
    pub(super) acts: bool,
    /// Boxed, because few nodes have it, and the memory of a large graph costs more than its instructions.
    pub(super) more: Option<Box<More>>,
}

/// What only captures, host functions and child graphs have.
#[derive(Clone, Debug, Default)]
pub(super) struct More {
    /// The nodes of a capture without a predecessor in it, and those without a successor. All its nodes come
    /// after what the former come after, and before what comes after the latter.
    pub(super) ends: Option<[Vec<sys::cudaGraphNode_t>; 2]>,
    /// The user object through which the graph owns the node's host function.
    pub(super) function: Option<sys::cudaUserObject_t>,
    /// The user objects through which the graph owns further host functions: those of a capture or of a
    /// child graph.
    pub(super) functions: Vec<sys::cudaUserObject_t>,
}

impl Step {
    /// Makes a step of an added node, or of all nodes of a capture.
    pub(super) fn new(raws: Few<sys::cudaGraphNode_t>, uses: RetainedAccesses, acts: bool) -> Self {
        Self { raws, uses, acts, more: None }
    }

    /// Returns the first and the last nodes of a capture.
    pub(super) fn ends(&self) -> Option<&[Vec<sys::cudaGraphNode_t>; 2]> {
        self.more.as_ref()?.ends.as_ref()
    }

    /// Returns the raw nodes that an edge to this node leads to.
    pub(super) fn first(&self) -> &[sys::cudaGraphNode_t] {
        self.ends().map_or(&self.raws, |[first, _]| first)
    }

    /// Returns the raw nodes that an edge from this node comes from.
    pub(super) fn last(&self) -> &[sys::cudaGraphNode_t] {
        self.ends().map_or(&self.raws, |[_, last]| last)
    }

    /// Returns what few nodes have, for a change.
    pub(super) fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }
}
