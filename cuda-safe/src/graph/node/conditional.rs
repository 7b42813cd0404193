//! Conditional nodes. [`conditional`](crate::graph::conditional) in the crate's sources says why they are
//! sound.
#![expect(unsafe_code, reason = "adds nodes to raw graphs")]

use std::marker::PhantomData;
use std::ptr;
use std::slice;
use std::sync::atomic::Ordering;

use cuda_hazard::Few;

use super::{BodyOp, Graph, Node, NodeOp, retain_all, sealed};
use crate::error::{Detail, Error, Result, ensure};
use crate::graph::conditional::{Condition, Conditional};
use crate::graph::step::Step;
use crate::graph::topology::NodeKind;
use crate::{check, stream, sys};

/// Bodies that run by a condition. See [`conditional`].
#[derive(Debug)]
pub struct ConditionalOp<'a, F> {
    condition: &'a Condition,
    kind: Conditional,
    fill: F,
}

/// A body of a conditional node while its nodes are added. See
/// [`conditional`].
///
/// It has the nodes that CUDA allows in bodies. All are for the graph's device. Memory of the graph's own
/// ([`GraphBuffer`](crate::graph::GraphBuffer)) is refused.
#[derive(Debug)]
pub struct Body<'g> {
    /// The node owns the raw graph.
    graph: Graph,
    node: PhantomData<&'g mut Graph>,
}

impl Body<'_> {
    /// [`Graph::add`] in the body, of an operation that CUDA allows there.
    ///
    /// # Errors
    /// Those of `Graph::add`.
    #[doc(alias = "cudaGraphAddNode")]
    #[track_caller]
    pub fn add<O: BodyOp>(&mut self, after: &[Node], operation: O) -> Result<O::Added> {
        stream::ensure_idle("Body::add")?;
        operation.ensure_allowed()?;
        operation.add_to(&mut self.graph, after)
    }

    /// [`Graph::condition`] for a conditional node in the body. The condition gets its first value at the
    /// beginning of each launch, not of each run of the body.
    ///
    /// # Errors
    /// Those of `Graph::condition`.
    #[doc(alias = "cudaGraphConditionalHandleCreate")]
    #[track_caller]
    pub fn condition(&mut self, first: u32) -> Result<Condition> {
        self.graph.condition(first)
    }
}

/// Describes bodies that run by a condition: `if`, `while` and `switch` on the device. When the node is
/// added, calls `fill` once for each body, with its number.
///
/// The node comes after every earlier node that conflicts with any of its bodies or sets the condition.
/// Launches are ordered by the accesses of all bodies. Stands for
/// [`cudaGraphAddNode`](sys::cudaGraphAddNode) with `cudaGraphNodeTypeConditional`.
///
/// A graph with a condition cannot be cloned or become part of another graph, and has at most one
/// executable form at a time. The nodes in bodies keep their operations. A loop whose condition never
/// becomes 0 never ends.
///
/// # Errors
/// - `Unsupported` if the condition belongs to another graph, or has a node.
/// - `Limit` for more than [`MOST_BODIES`](Conditional::MOST_BODIES) bodies, before `fill` is called.
/// - The error of `fill`.
///
/// After an error or a panic of `fill`, the graph cannot be made executable.
///
/// # Examples
/// ```no_run
/// use cuda_safe::graph::{Conditional, node};
/// use cuda_safe::launch::{ConditionalHandle, Kernel};
/// use cuda_safe::{DeviceBuffer, Graph, Stream};
///
/// // __global__ void step(cudaGraphConditionalHandle again, float* x) {
/// //     *x /= 2;
/// //     cudaGraphSetConditional(again, *x > 1);
/// // }
/// # fn run(step: Kernel<(ConditionalHandle, *mut f32)>) -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut x = DeviceBuffer::from_slice(&[100.0_f32])?;
/// let mut graph = Graph::new()?;
/// let again = graph.condition(1)?;
/// let halve_until_one = node::conditional(&again, Conditional::While, |_, body| {
///     // SAFETY: one thread, and `x` has one element.
///     unsafe { body.add(&[], node::kernel(&step, (1, 1), (&again, &mut x))) }?;
///     Ok(())
/// });
/// graph.add(&[], halve_until_one)?;
/// graph.instantiate()?.launch(&stream)?;
/// assert_eq!(x.to_vec()?, [0.78125]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddNode")]
#[doc(alias = "cudaGraphNodeTypeConditional")]
#[must_use]
pub fn conditional<F>(condition: &Condition, kind: Conditional, fill: F) -> ConditionalOp<'_, F>
where
    F: FnMut(usize, &mut Body<'_>) -> Result<()>,
{
    ConditionalOp { condition, kind, fill }
}

impl<F> sealed::Sealed for ConditionalOp<'_, F> {}

impl<F: FnMut(usize, &mut Body<'_>) -> Result<()>> NodeOp for ConditionalOp<'_, F> {
    type Added = Node;

    fn add_to(self, graph: &mut Graph, after: &[Node]) -> Result<Node> {
        let (api, number, Self { condition, kind, mut fill }) = ("node::conditional", graph.number, self);
        graph.ensure_complete(api)?;
        condition.ensure_of(graph.root, api)?;
        if condition.has_node().load(Ordering::Relaxed) {
            return Err(Error::refused(api, Detail::unsupported("a condition that has a node")));
        }
        let (what, asked, limit) = ("the number of bodies", kind.parts().1, Conditional::MOST_BODIES);
        ensure(asked <= limit, api, || Detail::limit(what, asked.into(), limit.into()))?;
        let mut uses = retain_all(api, [condition.written()])?;
        let before = graph.last_of(api, after)?;
        let (raw, bodies) = match add_raw(graph, &before, condition.raw, kind) {
            Ok(added) => added,
            Err(error) => {
                graph.steps_mut().failed(&uses);
                return Err(error);
            }
        };
        condition.has_node().store(true, Ordering::Relaxed);
        // Until all edges exist, and for good if something fails or panics before.
        graph.is_complete = false;
        for (at, raw) in bodies.into_iter().enumerate() {
            let mut body = Body { graph: Graph::body(raw, graph.device(), graph.root), node: PhantomData };
            let filled = fill(at, &mut body);
            uses.add_all(&body.graph.steps.uses());
            graph.newest_condition = graph.newest_condition.max(body.graph.newest_condition);
            filled?;
            body.graph.ensure_complete(api)?;
        }
        let direct = graph.steps_mut().order(api, number, after, &uses)?;
        let missing = direct.iter().filter(|at| after.iter().all(|node| node.at() != **at));
        let steps = missing.filter_map(|at| graph.steps.get(*at));
        let from: Vec<_> = steps.flat_map(|step| step.last().iter().copied()).collect();
        graph.join_raw(&from, &vec![raw; from.len()])?;
        // A launch that runs no body may give the device no work.
        graph.steps_mut().push(Step::new(Few::from([raw]), uses, false), direct);
        graph.is_complete = true;
        Ok(Node::new(number, graph.steps.list.len() - 1))
    }
}

impl<F: FnMut(usize, &mut Body<'_>) -> Result<()>> BodyOp for ConditionalOp<'_, F> {}

/// Adds a conditional node after nodes of the graph. Returns it with its bodies.
#[track_caller]
fn add_raw(
    graph: &Graph,
    before: &[sys::cudaGraphNode_t],
    handle: sys::cudaGraphConditionalHandle,
    kind: Conditional,
) -> Result<(sys::cudaGraphNode_t, Vec<sys::cudaGraph_t>)> {
    let (type_, size) = kind.parts();
    let mut conditional = sys::cudaConditionalNodeParams::default();
    (conditional.handle, conditional.type_, conditional.size) = (handle, type_, size);
    let mut wanted = sys::cudaGraphNodeParams { type_: NodeKind::CONDITIONAL.as_raw(), ..Default::default() };
    wanted.__bindgen_anon_1.conditional = conditional;
    let _current = graph.device().switch()?;
    let (graph, from, count) = (graph.as_raw(), before.as_ptr(), before.len());
    let (mut node, node_params) = (ptr::null_mut(), &raw mut wanted);
    #[cfg(cudart_13_0)]
    // SAFETY: the graph and its `count` nodes are live, and the pointers are to live variables.
    unsafe { check!(cudaGraphAddNode(&raw mut node, graph, from, ptr::null(), count, node_params)) }?;
    #[cfg(not(cudart_13_0))]
    // SAFETY: the graph and its `count` nodes are live, and the pointers are to live variables.
    unsafe { check!(cudaGraphAddNode(&raw mut node, graph, from, count, node_params)) }?;
    // SAFETY: this is the member that was set above, and the call completed it.
    let bodies = unsafe { wanted.__bindgen_anon_1.conditional }.phGraph_out;
    // SAFETY: the call returned an array of `size` graphs, which lives as long as the node.
    let bodies = unsafe { slice::from_raw_parts(bodies, size.try_into().unwrap_or(0)) };
    Ok((node, bodies.to_vec()))
}
