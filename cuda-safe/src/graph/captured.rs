//! What a capture has put into a graph: one step for all its nodes.
#![expect(unsafe_code, reason = "asks the runtime about captured nodes")]

use cuda_hazard::Few;

use super::graph::Graph;
use super::host::HostFunction;
use super::identity::Node;
use super::step::{More, Step};
use crate::device::Device;
use crate::error::{AtCaller as _, Detail, Error, Result, quietly};
use crate::hazard::RetainedAccesses;
use crate::{check, sys};

impl Graph {
    /// Makes the owner of a captured graph with its accesses and host functions.
    #[track_caller]
    pub(super) fn captured(
        raw: sys::cudaGraph_t,
        device: Device,
        uses: RetainedAccesses,
        functions: Vec<HostFunction>,
    ) -> Result<Self> {
        let mut graph = Self::of(raw, device);
        let (step, _) = graph.captured_step(&[], uses, functions)?;
        if step.raws.is_empty() {
            graph.steps_mut().failed(&step.uses);
        } else {
            graph.acts = step.acts;
            graph.steps_mut().push(step, Few::default());
        }
        Ok(graph)
    }

    /// Adds what a capture has put into the graph, after the nodes in `after` and all earlier nodes that it
    /// conflicts with. `known` are the raw nodes that the graph had before.
    ///
    /// After an error the graph has nodes that nothing orders: it must never be made executable.
    #[track_caller]
    pub(super) fn add_captured(
        &mut self,
        api: &'static str,
        known: &[sys::cudaGraphNode_t],
        after: &[Node],
        uses: RetainedAccesses,
        functions: Vec<HostFunction>,
    ) -> Result<Node> {
        let (step, edges) = self.captured_step(known, uses, functions)?;
        if step.raws.is_empty() {
            self.steps_mut().failed(&step.uses);
            return self.add_empty(after);
        }
        let number = self.number;
        let direct = self.steps_mut().order(api, number, after, &step.uses)?;
        if let Some(edges) = edges {
            let before = direct.iter().filter_map(|at| self.steps.get(*at)).flat_map(Step::last);
            let wanted = before.flat_map(|from| step.first().iter().map(move |to| (*from, *to)));
            let missing = wanted.filter(|edge| edges.binary_search(edge).is_err());
            let (from, to): (Vec<_>, Vec<_>) = missing.unzip();
            self.join_raw(&from, &to)?;
        } else if direct.iter().any(|at| after.iter().all(|node| node.at() != *at)) {
            // The capture began after the nodes in `after`. Which other edges are missing is unknown.
            let what = "a conflict with a node that `after` lacks, in a graph with edges that have data";
            return Err(Error::refused(api, Detail::unsupported(what)));
        }
        self.acts |= step.acts;
        self.steps_mut().push(step, direct);
        Ok(Node::new(number, self.steps.list.len() - 1))
    }

    /// Returns the step of a capture that has put its nodes into the graph besides the `known` ones, and the
    /// sorted raw edges of the graph, if the runtime tells them.
    #[track_caller]
    fn captured_step(
        &mut self,
        known: &[sys::cudaGraphNode_t],
        uses: RetainedAccesses,
        functions: Vec<HostFunction>,
    ) -> Result<(Step, Option<Vec<RawEdge>>)> {
        let raw = self.as_raw();
        let functions = functions.into_iter().map(|function| function.give_to(raw));
        let functions = functions.collect::<Result<_>>().at_caller()?;
        let mut known = known.to_vec();
        known.sort_unstable();
        let is_known = |raw: &sys::cudaGraphNode_t| known.binary_search(raw).is_ok();
        let mut raws = self.raw_nodes()?;
        raws.retain(|raw| !is_known(raw));
        let mut acts = false;
        for raw in &raws {
            acts = acts || gives_work(*raw)?;
        }
        // An edge after which a kernel may run before the other one is over makes the query fail. Then the
        // nodes count one by one.
        let edges = quietly(self.all_raw_edges()).map(|(from, to)| {
            let mut edges: Vec<RawEdge> = from.into_iter().zip(to).collect();
            edges.sort_unstable();
            edges
        });
        let inside = edges.iter().flatten().filter(|(from, to)| !is_known(from) && !is_known(to));
        let (from, mut to): (Vec<_>, Vec<_>) = inside.copied().unzip();
        // The edges are sorted by the nodes that they come from.
        to.sort_unstable();
        let without =
            |others: Vec<_>| raws.iter().copied().filter(|raw| others.binary_search(raw).is_err()).collect();
        let ends = [to, from].map(without);
        let more = Some(Box::new(More { ends: Some(ends), functions, function: None }));
        Ok((Step { more, ..Step::new(raws.into(), uses, acts) }, edges))
    }
}

/// A raw node and its direct successor.
type RawEdge = (sys::cudaGraphNode_t, sys::cudaGraphNode_t);

/// Returns whether a captured node gives the device work. Captured graphs have only nodes of these kinds
/// and empty nodes. Of any other kind the tracker assumes that it does nothing: then a launch is ordered by
/// less, and more waits are added.
#[track_caller]
fn gives_work(node: sys::cudaGraphNode_t) -> Result<bool> {
    let mut kind = sys::cudaGraphNodeTypeEmpty;
    // SAFETY: the node belongs to a live graph. The pointer is to a live variable, which the call fills.
    unsafe { check!(cudaGraphNodeGetType(node, &raw mut kind)) }?;
    Ok(matches!(
        kind,
        sys::cudaGraphNodeTypeKernel
            | sys::cudaGraphNodeTypeMemcpy
            | sys::cudaGraphNodeTypeMemset
            | sys::cudaGraphNodeTypeHost
    ))
}
