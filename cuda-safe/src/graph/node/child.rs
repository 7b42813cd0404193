//! ChildGraph graphs, and empty nodes.
#![expect(unsafe_code, reason = "adds nodes to raw graphs")]

use super::{BodyOp, ExecOp, Graph, GraphExec, Node, NodeOp, sealed};
use crate::check;
use crate::error::{Detail, Error, Result};
use crate::graph::host;
use crate::graph::topology::{NodeKind, kind_of};

/// No operation. See [`empty`].
#[derive(Debug)]
pub struct Empty(());

/// The operations of another graph. See [`child_graph`].
#[derive(Debug)]
pub struct ChildGraph<'a>(&'a Graph);

/// Describes a node that does nothing. It serves as a dependency between other nodes.
///
/// Stands for [`cudaGraphAddEmptyNode`](crate::sys::cudaGraphAddEmptyNode).
#[doc(alias = "cudaGraphAddEmptyNode")]
#[must_use]
pub fn empty() -> Empty {
    Empty(())
}

/// Describes the current state of another graph as one child node. Both graphs share its memory and host
/// functions. In an executable graph, the other graph must have the shape of the one before; host functions
/// are taken over as by [`update`](GraphExec::update).
///
/// Stands for [`cudaGraphAddChildGraphNode`](crate::sys::cudaGraphAddChildGraphNode) and
/// [`cudaGraphExecChildGraphNodeSetParams`](crate::sys::cudaGraphExecChildGraphNodeSetParams).
///
/// # Errors
/// - `Device` if the graph is for another device.
/// - `Unsupported` if it has memory or conditions of its own, and in a body if it has nodes other than
///   kernels, copies, fills and empty ones.
///
/// # Examples
/// ```
/// use cuda_safe::graph::node;
/// use cuda_safe::{DeviceBuffer, Graph, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
/// let (mut ones, mut twos, mut graph) = (Graph::new()?, Graph::new()?, Graph::new()?);
/// ones.add(&[], node::memset(&mut bytes, 1))?;
/// twos.add(&[], node::memset(&mut bytes, 2))?;
/// let child = graph.add(&[], node::child_graph(&ones))?;
/// let mut exec = graph.instantiate()?;
/// exec.set(&graph, child, node::child_graph(&twos))?;
/// exec.launch(&stream)?;
/// assert_eq!(bytes.to_vec()?, [2; 4]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddChildGraphNode")]
#[doc(alias = "cudaGraphExecChildGraphNodeSetParams")]
#[must_use]
pub fn child_graph(graph: &Graph) -> ChildGraph<'_> {
    ChildGraph(graph)
}

impl sealed::Sealed for Empty {}

impl NodeOp for Empty {
    type Added = Node;

    fn add_to(self, graph: &mut Graph, after: &[Node]) -> Result<Node> {
        graph.add_empty(after)
    }
}

impl BodyOp for Empty {}

impl sealed::Sealed for ChildGraph<'_> {}

impl NodeOp for ChildGraph<'_> {
    type Added = Node;

    fn add_to(self, graph: &mut Graph, after: &[Node]) -> Result<Node> {
        let (api, Self(child)) = ("node::child_graph", self);
        child.device().ensure_is(graph.device(), api, "the graph")?;
        child.ensure_can_be_copied(api)?;
        let added = graph.add_node(after, child.steps.uses(), child.acts, |new| {
            // SAFETY: the invariants of `NewNode`. The other graph is borrowed and therefore live.
            unsafe {
                check!(cudaGraphAddChildGraphNode(new.node, new.graph, new.before, new.count, child.as_raw()))
            }
        })?;
        if let Some(step) = graph.steps_mut().list.get_mut(added.at()) {
            step.more_mut().functions = child.steps.functions();
        }
        Ok(added)
    }
}

impl BodyOp for ChildGraph<'_> {
    fn ensure_allowed(&self) -> Result<()> {
        for raw in self.0.raw_nodes()? {
            let kind = kind_of(raw)?;
            if ![NodeKind::KERNEL, NodeKind::MEMCPY, NodeKind::MEMSET, NodeKind::EMPTY].contains(&kind) {
                let what = "a node in a body that is no kernel, copy, fill or empty node";
                return Err(Error::refused("node::child_graph", Detail::unsupported(what)));
            }
        }
        Ok(())
    }
}

impl ExecOp for ChildGraph<'_> {
    fn set_in_exec(self, exec: &mut GraphExec, graph: &Graph, node: Node) -> Result<()> {
        let (api, Self(child)) = ("node::child_graph", self);
        child.device().ensure_is(exec.device(), api, "the graph")?;
        child.ensure_can_be_copied(api)?;
        let mut uses = child.steps.uses();
        uses.add_all(&host::taken(api, &child.steps.functions())?);
        exec.set_node(graph, node, uses, |exec, node| {
            // SAFETY: the executable graph, and the node of the graph that it was made from, are live. The
            // mutable borrow excludes launches. The other graph is live, and what it uses is retained.
            unsafe { check!(cudaGraphExecChildGraphNodeSetParams(exec, node, child.as_raw())) }
        })
    }
}
