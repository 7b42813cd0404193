//! The edges of random graphs whose nodes access memory, compared with plain lists that say the same.

use std::collections::BTreeSet;
use std::ptr;
use std::sync::Arc;

use cuda_hazard::Few;

use super::{Closure, Dice, Memory, SEEDS, Use, conflict, edges_of, memory, uses};
use crate::error::Detail;
use crate::graph::identity::Node;
use crate::graph::order::Edge;
use crate::graph::step::Step;
use crate::graph::steps::Steps;
use crate::hazard::RetainedAccesses;

/// A graph, and the plain lists that say the same.
#[derive(Default)]
pub(super) struct Model {
    pub(super) steps: Steps,
    /// The accesses of each node, or `None` after it is destroyed.
    uses: Vec<Option<Vec<Use>>>,
}

impl Model {
    fn alive(&self) -> Vec<usize> {
        (0..self.uses.len()).filter(|at| self.uses[*at].is_some()).collect()
    }

    fn conflict(&self, one: usize, other: usize) -> bool {
        one != other
            && self.uses[one]
                .as_ref()
                .zip(self.uses[other].as_ref())
                .is_some_and(|(one, other)| conflict(one, other))
    }

    fn edges(&self) -> BTreeSet<Edge> {
        edges_of(&self.steps.order, self.uses.len())
    }

    fn closure(&self) -> Closure {
        Closure::of(self.uses.len(), &self.edges())
    }

    pub(super) fn add(&mut self, memory: &[Arc<Memory>], after: &[usize], list: Vec<Use>) {
        let after: Vec<Node> = after.iter().map(|at| Node::new(1, *at)).collect();
        let uses = uses(memory, &list);
        let direct = self.steps.order("test", 1, &after, &uses).unwrap();
        let raw = ptr::without_provenance_mut(1 + self.uses.len());
        self.steps.push(Step::new(Few::from([raw]), uses, true), direct);
        self.uses.push(Some(list));
    }

    /// Adds a node, and checks that it has the edges that it was given or that conflicts need, and no others.
    fn add_and_check(&mut self, memory: &[Arc<Memory>], after: &[usize], list: Vec<Use>) {
        let at = self.uses.len();
        self.add(memory, after, list);
        let edges = self.edges();
        assert!(after.iter().all(|from| edges.contains(&(*from, at))));
        for (from, _) in edges.iter().filter(|edge| edge.1 == at) {
            assert!(after.contains(from) || self.conflict(*from, at));
        }
    }

    fn set(&mut self, memory: &[Arc<Memory>], at: usize, new: Vec<Use>, done: bool) {
        let closure = self.closure();
        let other = self.alive().into_iter().find(|other| {
            *other != at && conflict(&new, self.uses[*other].as_ref().unwrap()) && !closure.orders(*other, at)
        });
        let uses = uses(memory, &new);
        let refused = self.steps.ensure_fits("test", at, &uses).err().map(|error| error.detail().clone());
        assert_eq!(refused, other.map(Detail::nodes_unordered));
        if other.is_none() {
            let differs = self.steps.differs(at, &uses);
            let mut union = self.steps.uses();
            let before = self.steps.given(at, uses, done);
            self.steps.update(&mut union, at, &before, &RetainedAccesses::default());
            let list = |uses: &RetainedAccesses| format!("{uses:?}");
            assert_eq!(list(&union), list(&self.steps.uses()));
            assert!(differs || list(&before) == list(&self.steps.list[at].uses));
            // After a failure, the node may have both.
            let kept = if done { None } else { self.uses[at].take() };
            self.uses[at] = Some(kept.into_iter().flatten().chain(new).collect());
        }
    }

    fn join(&mut self, edges: &[Edge]) {
        let before = self.edges();
        let mut then = before.clone();
        let closes = edges.iter().any(|edge| {
            let closes = edge.0 == edge.1 || Closure::of(self.uses.len(), &then).is_before(edge.1, edge.0);
            then.insert(*edge);
            closes
        });
        let joined = self.steps.join(edges);
        assert_eq!(joined.is_none(), closes);
        assert_eq!(self.edges(), if closes { before } else { then });
    }

    fn part(&mut self, gone: &[Edge]) {
        let (edges, closure) = (self.edges(), self.closure());
        let left: BTreeSet<Edge> = edges.iter().copied().filter(|edge| !gone.contains(edge)).collect();
        let then = Closure::of(self.uses.len(), &left);
        let pairs = (0..self.uses.len()).flat_map(|to| (0..self.uses.len()).map(move |from| (from, to)));
        let mut lost = pairs.filter(|(from, to)| {
            closure.is_before(*from, *to) && !then.is_before(*from, *to) && self.conflict(*from, *to)
        });
        match self.steps.parted(gone) {
            Ok(order) => {
                assert_eq!(lost.next(), None);
                self.steps.set_order(order);
                assert_eq!(self.edges(), left);
            }
            Err(other) => assert_eq!(lost.next().map(|edge| edge.0), Some(other)),
        }
    }

    fn destroy(&mut self, at: usize) {
        let (edges, closure) = (self.edges(), self.closure());
        let (order, needed) = self.steps.without(at);
        self.steps.set_order(order);
        self.steps.take_out(at);
        self.uses[at] = None;
        let mut then: BTreeSet<Edge> =
            edges.into_iter().filter(|edge| edge.0 != at && edge.1 != at).collect();
        assert!(needed.iter().all(|edge| then.insert(*edge)));
        assert!(needed.iter().all(|(from, to)| closure.is_before(*from, *to) && self.conflict(*from, *to)));
        assert_eq!(self.edges(), then);
    }
}

#[test]
fn nodes_that_conflict_are_ordered_in_every_random_graph() {
    let memory = memory(3);
    for seed in 0..SEEDS {
        let (mut dice, mut model) = (Dice(seed), Model::default());
        // Many reads of the same bytes have an order among themselves that a later write may rest on.
        let kind = if seed % 2 == 0 { (3, 2) } else { (1, 6) };
        for _ in 0..40 {
            let alive = model.alive();
            let edges: Vec<Edge> = model.edges().into_iter().collect();
            match dice.roll(15) {
                0 | 1 if !alive.is_empty() => {
                    let at = alive[dice.roll(alive.len())];
                    model.set(&memory, at, dice.uses(kind), dice.roll(4) > 0);
                }
                2 if !alive.is_empty() => {
                    let mut end = || alive[dice.roll(alive.len())];
                    let edges = [(end(), end()), (end(), end())];
                    model.join(&edges[..1 + dice.roll(2)]);
                }
                3..6 if !edges.is_empty() => model.part(&dice.some(&edges, 2)),
                6 if !alive.is_empty() => model.destroy(alive[dice.roll(alive.len())]),
                _ => model.add_and_check(&memory, &dice.recent(&alive), dice.uses(kind)),
            }
            let closure = model.closure();
            for (one, other) in (0..model.uses.len()).flat_map(|one| (0..one).map(move |other| (one, other)))
            {
                let fits = !model.conflict(one, other) || closure.orders(one, other);
                assert!(fits, "seed {seed}: {one} and {other} have no order in {:?}", model.edges());
            }
        }
    }
}
