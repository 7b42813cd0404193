//! Executable graphs: a flat copy of a graph, whose launches put it on the queue.

use std::collections::{HashMap, HashSet};

use super::conditional::Choice;
use super::node::NodeOp;
use super::table::Graphs;
use super::user::Users;
use crate::error::Answer;
use crate::host_line::HostLine;
use crate::memory::Allocations;
use crate::stream::OperationId;
use crate::sys::cudaErrorInvalidValue;

/// One node of an executable graph.
#[derive(Clone, Debug)]
pub(crate) struct ExecNode {
    /// The node of the graph that it was made from.
    pub(crate) source: usize,
    pub(crate) op: NodeOp,
    /// The indices of its dependencies.
    pub(super) before: Vec<usize>,
    pub(super) device: usize,
    pub(super) call: &'static str,
    pub(super) line: HostLine,
    pub(crate) enabled: bool,
    /// Whether it was changed after the last launch, or before the first one.
    pub(crate) changed: bool,
    /// The laid out bodies of a conditional node.
    pub(super) choice: Option<Choice>,
}

/// One executable graph.
#[derive(Debug)]
pub(crate) struct Exec {
    /// The graph that it was made from.
    pub(super) source: usize,
    pub(super) steps: Vec<ExecNode>,
    /// The step of each node: the last one, if there are two around a child graph.
    places: HashMap<usize, usize>,
    pub(crate) flags: u64,
    /// The end of its last launch: launches of one executable graph do not overlap.
    pub(super) last: OperationId,
    /// How many references to user objects it holds.
    users: Vec<(usize, u32)>,
}

/// The reason why an executable graph cannot be updated from a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// There are other nodes or edges: at this node of the new graph, if it has one.
    Topology(usize),
    /// A node has another kind.
    Kind(usize),
    /// A node has parameters that may not change.
    Parameters(usize),
    /// A kernel has other attributes.
    Attributes(usize),
}

/// Lays a graph out flat: a child graph becomes its nodes between two empty ones. Returns the ends of
/// `graph`. With `within`, it is a part of the body of a conditional node.
fn lay_out(
    graphs: &Graphs,
    graph: usize,
    within: bool,
    after: &[usize],
    steps: &mut Vec<ExecNode>,
) -> Answer<Vec<usize>> {
    let it = graphs.get(graph)?;
    let (mut places, mut exits, mut followed) = (HashMap::new(), Vec::new(), HashSet::new());
    for handle in it.order().ok_or(cudaErrorInvalidValue)? {
        let node = graphs.node(handle)?;
        if (within || it.root.is_some()) && !node.op.is_allowed_in_body() {
            return Err(cudaErrorInvalidValue);
        }
        let mut before: Vec<usize> = node.before.iter().filter_map(|it| places.get(&it).copied()).collect();
        followed.extend(before.iter().copied());
        if before.is_empty() {
            before = after.to_vec();
        }
        let (device, call, line) = (node.device, node.call, node.line);
        let step = |before, op| {
            let (source, enabled, changed, choice) = (handle, true, false, None);
            ExecNode { source, op, before, device, call, line, enabled, changed, choice }
        };
        let mut choice = None;
        if let NodeOp::Conditional(it) = &node.op {
            let mut bodies = vec![Vec::new(); it.bodies.len()];
            for (body, laid_out) in it.bodies.iter().zip(&mut bodies) {
                lay_out(graphs, *body, true, &[], laid_out)?;
            }
            choice = Some(Choice::new(it, bodies));
        }
        if let NodeOp::Child(child) = node.op {
            steps.push(step(before, NodeOp::Nothing));
            let entry = steps.len() - 1;
            before = lay_out(graphs, child, within || it.root.is_some(), &[entry], steps)?;
            before.push(entry);
        }
        steps.push(ExecNode { choice, ..step(before, node.op.clone()) });
        places.insert(handle, steps.len() - 1);
        exits.push(steps.len() - 1);
    }
    exits.retain(|exit| !followed.contains(exit));
    Ok(exits)
}

/// The user objects of a graph and of all that it owns.
fn users(graphs: &Graphs, graph: usize) -> Answer<Vec<(usize, u32)>> {
    let it = graphs.get(graph)?;
    let mut found: Vec<_> = it.users.iter().map(|(user, count)| (*user, *count)).collect();
    for node in it.nodes.values() {
        if let NodeOp::Child(child) = node.op {
            found.extend(users(graphs, child)?);
        }
    }
    Ok(found)
}

impl Exec {
    /// Makes a graph executable.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if it has a cycle.
    pub(crate) fn new(graphs: &Graphs, counts: &mut Users, graph: usize, flags: u64) -> Answer<Self> {
        let mut steps = Vec::new();
        lay_out(graphs, graph, false, &[], &mut steps)?;
        let users = users(graphs, graph)?;
        for (user, count) in &users {
            counts.retain(*user, *count)?;
        }
        let places = steps.iter().enumerate().map(|(at, step)| (step.source, at)).collect();
        Ok(Self { source: graph, steps, places, flags, last: 0, users })
    }

    /// Whether it was ever launched.
    pub(crate) fn is_launched(&self) -> bool {
        self.last != 0
    }

    /// The step that was made from a node.
    pub(crate) fn step_mut(&mut self, source: usize) -> Answer<&mut ExecNode> {
        let at = self.places.get(&source);
        at.and_then(|at| self.steps.get_mut(*at)).ok_or(cudaErrorInvalidValue)
    }

    /// Takes over the acts of another graph of the same shape.
    pub(crate) fn update(
        &mut self,
        graphs: &Graphs,
        allocations: &Allocations,
        graph: usize,
    ) -> Answer<Result<(), Mismatch>> {
        let mut steps = Vec::new();
        lay_out(graphs, graph, false, &[], &mut steps)?;
        Ok(replace(&mut self.steps, &steps, allocations))
    }

    /// Takes over the acts of another graph, for the child graph of one node.
    pub(crate) fn update_child(
        &mut self,
        graphs: &Graphs,
        allocations: &Allocations,
        source: usize,
        graph: usize,
    ) -> Answer<Result<(), Mismatch>> {
        let entry = self.steps.iter().position(|step| step.source == source).ok_or(cudaErrorInvalidValue)?;
        let exit = self.steps.iter().rposition(|step| step.source == source).ok_or(cudaErrorInvalidValue)?;
        let root = self.steps.get(entry).ok_or(cudaErrorInvalidValue)?;
        // Indices count from the step that the child graph depends on, in both graphs.
        let mut wanted = vec![ExecNode { before: Vec::new(), ..root.clone() }];
        lay_out(graphs, graph, false, &[0], &mut wanted)?;
        let mut inner = self.steps.get(entry..exit).ok_or(cudaErrorInvalidValue)?.to_vec();
        if let Some(root) = inner.first_mut() {
            root.before.clear();
        }
        inner.iter_mut().flat_map(|step| &mut step.before).for_each(|at| *at -= entry);
        let done = replace(&mut inner, &wanted, allocations);
        for (step, new) in self.steps.iter_mut().skip(entry + 1).zip(inner.into_iter().skip(1)) {
            (step.op, step.choice) = (new.op, new.choice);
        }
        Ok(done)
    }

    /// The resources that it still holds at its end: the end of its last launch, and references to user
    /// objects.
    pub(crate) fn into_rest(self) -> (OperationId, Vec<(usize, u32)>) {
        (self.last, self.users)
    }
}

/// Gives steps the acts of others of the same shape. Changes nothing if the shapes differ.
fn replace(steps: &mut [ExecNode], with: &[ExecNode], allocations: &Allocations) -> Result<(), Mismatch> {
    compare(steps, with, allocations)?;
    for (old, new) in steps.iter_mut().zip(with) {
        old.op.take_over(&new.op);
        (old.choice, old.changed) = (new.choice.clone(), true);
    }
    Ok(())
}

/// Checks that steps can get the acts of others.
fn compare(steps: &[ExecNode], with: &[ExecNode], allocations: &Allocations) -> Result<(), Mismatch> {
    if steps.len() != with.len() {
        return Err(Mismatch::Topology(0));
    }
    let shape =
        with.iter().enumerate().find(|(at, new)| steps.get(*at).is_none_or(|old| old.before != new.before));
    if let Some((_, new)) = shape {
        return Err(Mismatch::Topology(new.source));
    }
    if let Some((_, new)) = steps.iter().zip(with).find(|(old, new)| !old.op.like(&new.op)) {
        return Err(Mismatch::Kind(new.source));
    }
    if let Some((_, new)) = steps.iter().zip(with).find(|(old, new)| !old.op.cooperates_like(&new.op)) {
        return Err(Mismatch::Attributes(new.source));
    }
    if let Some((_, new)) = steps.iter().zip(with).find(|(old, new)| !old.op.may_become(&new.op, allocations))
    {
        return Err(Mismatch::Parameters(new.source));
    }
    for (old, new) in
        steps.iter().zip(with).filter_map(|(old, new)| old.choice.as_ref().zip(new.choice.as_ref()))
    {
        if old.test != new.test || old.bodies.len() != new.bodies.len() {
            return Err(Mismatch::Parameters(0));
        }
        for (old, new) in old.bodies.iter().zip(&new.bodies) {
            compare(old, new, allocations)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(graphs: &Graphs, graph: usize) -> Exec {
        Exec::new(graphs, &mut Users::default(), graph, 0).unwrap()
    }

    fn shape(exec: &Exec) -> Vec<Vec<usize>> {
        exec.steps.iter().map(|step| step.before.clone()).collect()
    }

    /// One node, then a child graph of two, then one.
    fn nested(graphs: &mut Graphs) -> (usize, usize) {
        let child = graphs.create();
        let first = graphs.add(child, NodeOp::Nothing, &[], 0, "test").unwrap();
        graphs.add(child, NodeOp::Record(1), &[first], 0, "test").unwrap();
        let graph = graphs.create();
        let a = graphs.add(graph, NodeOp::Nothing, &[], 0, "test").unwrap();
        let b = graphs.add(graph, NodeOp::Child(child), &[a], 0, "test").unwrap();
        graphs.add(graph, NodeOp::Nothing, &[b], 0, "test").unwrap();
        (graph, b)
    }

    #[test]
    fn a_child_graph_lies_between_what_it_comes_after_and_what_comes_after_it() {
        let mut graphs = Graphs::default();
        let (graph, _) = nested(&mut graphs);
        let exec = exec(&graphs, graph);
        assert_eq!(shape(&exec), [vec![], vec![0], vec![1], vec![2], vec![3, 1], vec![4]]);
    }

    #[test]
    fn an_executable_graph_takes_over_acts_but_no_other_shape() {
        let allocations = Allocations::new(1, 1 << 20).unwrap();
        let mut graphs = Graphs::default();
        let (graph, node) = nested(&mut graphs);
        let mut exec = exec(&graphs, graph);
        let copy = graphs.duplicate(&mut Users::default(), graph).unwrap();
        let NodeOp::Child(child) = graphs.get(copy).unwrap().nodes.values().nth(1).unwrap().op else {
            panic!()
        };
        let last = *graphs.get(child).unwrap().nodes.keys().last().unwrap();
        graphs.node_mut(last).unwrap().op = NodeOp::Record(7);
        assert_eq!(exec.update(&graphs, &allocations, copy), Ok(Ok(())));
        assert!(matches!(exec.steps[3].op, NodeOp::Record(7)));
        graphs.node_mut(last).unwrap().op = NodeOp::Record(8);
        assert_eq!(exec.update_child(&graphs, &allocations, node, child), Ok(Ok(())));
        assert!(matches!(exec.steps[3].op, NodeOp::Record(8)));
        graphs.node_mut(last).unwrap().op = NodeOp::Wait(8);
        assert_eq!(exec.update_child(&graphs, &allocations, node, child), Ok(Err(Mismatch::Kind(last))));
        graphs.add(child, NodeOp::Nothing, &[], 0, "test").unwrap();
        graphs.node_mut(last).unwrap().op = NodeOp::Record(9);
        assert_eq!(exec.update(&graphs, &allocations, copy), Ok(Err(Mismatch::Topology(0))));
        assert!(matches!(exec.steps[3].op, NodeOp::Record(8)));
    }
}
