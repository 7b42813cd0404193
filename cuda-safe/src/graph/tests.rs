//! Random graphs: the nodes, their edges and their conflicts, compared with a plain transitive closure. And
//! the steps that large graphs cost.
#![expect(unsafe_code, reason = "declares memory of tests as retained")]

use std::collections::BTreeSet;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use super::identity::Node;
use super::node::retain_all;
use super::order::{Edge, Order, STEPS};
use super::step::Step;
use super::steps::Steps;
use crate::error::Detail;
use crate::hazard::{Access, AccessHistory, Mode, RetainedAccesses};
use crate::memory::{retainable, retained};
use cuda_hazard::Few;

#[derive(Debug)]
struct Memory(AccessHistory);

retainable!(Memory, 0);

fn memory(count: usize) -> Vec<Arc<Memory>> {
    (0..count).map(|_| retained(Memory(AccessHistory::new(BYTES)))).collect()
}

/// How many random graphs of each kind are made.
const SEEDS: u64 = 100;

/// The bytes of each allocation.
const BYTES: usize = 8;

/// An access: the allocation, the bytes and the mode.
type Use = (usize, Range<usize>, Mode);

fn uses(memory: &[Arc<Memory>], list: &[Use]) -> RetainedAccesses {
    let access = |(at, range, mode): &Use| Access::new(&memory[*at].0, range.clone(), *mode);
    retain_all("test", list.iter().map(access)).unwrap()
}

fn conflict(one: &[Use], other: &[Use]) -> bool {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    pairs.into_iter().any(|((a, x, by), (b, y, with))| {
        a == b && x.start < y.end && y.start < x.end && (*by == Mode::Write || *with == Mode::Write)
    })
}

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).unwrap()
    }

    /// Up to `most` of these.
    fn some<T: Copy>(&mut self, of: &[T], most: usize) -> Vec<T> {
        let count = if of.is_empty() { 0 } else { self.roll(most + 1) };
        (0..count).map(|_| of[self.roll(of.len())]).collect()
    }

    /// As some, and often the last ones.
    fn recent(&mut self, of: &[usize]) -> Vec<usize> {
        let from = if self.roll(2) == 0 { of.len().saturating_sub(3) } else { 0 };
        self.some(&of[from..], 3)
    }

    /// Up to two accesses to so many allocations. One of `sides` is a write.
    fn uses(&mut self, (allocations, sides): (usize, usize)) -> Vec<Use> {
        let mut one = || {
            let (start, len) = (self.roll(BYTES), 1 + self.roll(BYTES));
            let mode = if self.roll(sides) == 0 { Mode::Write } else { Mode::Read };
            (self.roll(allocations), start..(start + len).min(BYTES), mode)
        };
        let list = [one(), one()];
        list[..self.roll(3)].to_vec()
    }
}

/// For each node, all that come before it.
struct Closure(Vec<BTreeSet<usize>>);

impl Closure {
    fn of(count: usize, edges: &BTreeSet<Edge>) -> Self {
        let before = |at: usize| {
            let (mut found, mut open) = (BTreeSet::new(), vec![at]);
            while let Some(to) = open.pop() {
                let direct = edges.iter().filter(|edge| edge.1 == to).map(|edge| edge.0);
                open.extend(direct.filter(|from| found.insert(*from)));
            }
            found
        };
        Self((0..count).map(before).collect())
    }

    fn is_before(&self, first: usize, second: usize) -> bool {
        self.0[second].contains(&first)
    }

    fn orders(&self, one: usize, other: usize) -> bool {
        self.is_before(one, other) || self.is_before(other, one)
    }
}

fn edges_of(order: &Order, count: usize) -> BTreeSet<Edge> {
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    pairs.filter(|edge| order.has_edge(*edge)).collect()
}

#[test]
fn which_of_two_nodes_comes_first_is_what_a_transitive_closure_says() {
    for seed in 0..SEEDS {
        let (mut dice, mut order, mut edges, mut count) = (Dice(seed), Order::default(), BTreeSet::new(), 0);
        for _ in 0..40 {
            let nodes: Vec<usize> = (0..count).collect();
            match dice.roll(8) {
                0 if count > 0 => {
                    let edge = (dice.roll(count), dice.roll(count));
                    let closure = Closure::of(count, &edges);
                    let closes = edge.0 == edge.1 || closure.is_before(edge.1, edge.0);
                    assert_eq!(order.join(edge), !closes, "seed {seed}: {edge:?} in {edges:?}");
                    edges.extend((!closes).then_some(edge));
                }
                1 if !edges.is_empty() => {
                    let list: Vec<Edge> = edges.iter().copied().collect();
                    let gone = dice.some(&list, 2);
                    order.part(&gone);
                    gone.iter().for_each(|edge| _ = edges.remove(edge));
                }
                _ => {
                    let mut direct = dice.recent(&nodes);
                    direct.sort_unstable();
                    direct.dedup();
                    let (named, others) = (direct.clone(), dice.recent(&nodes));
                    let missing = order.not_before(&named, others.clone().into());
                    let mut direct = Few::from(direct);
                    order.extend(&mut direct, others.clone().into());
                    // So few edges need no limit: the missing ones are exactly those that are added.
                    let added: Vec<usize> = direct.iter().copied().filter(|at| !named.contains(at)).collect();
                    assert_eq!(
                        added,
                        missing.iter().copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
                    );
                    edges.extend(direct.iter().map(|from| (*from, count)));
                    order.push(direct);
                    count += 1;
                    let closure = Closure::of(count, &edges);
                    assert!(others.iter().all(|other| closure.is_before(*other, count - 1)), "seed {seed}");
                    let redundant = |from: &usize| {
                        edges.iter().any(|edge| edge.1 == count - 1 && closure.is_before(*from, edge.0))
                    };
                    assert!(!added.iter().any(redundant), "seed {seed}: {added:?} in {edges:?}");
                }
            }
            assert_eq!(edges_of(&order, count), edges);
            let closure = Closure::of(count, &edges);
            for (first, second) in (0..count).flat_map(|first| (0..count).map(move |second| (first, second)))
            {
                let before = closure.is_before(first, second);
                assert_eq!(
                    order.comes_before(first, second),
                    before,
                    "seed {seed}: {first}, {second} in {edges:?}"
                );
                assert!(before || !order.is_seen_before(first, second));
            }
            let mut seen = BTreeSet::new();
            for at in order.sorted() {
                assert!(closure.0[at].iter().all(|before| seen.contains(before)));
                seen.insert(at);
            }
            assert_eq!(seen.len(), count);
        }
    }
}

/// A graph, and the plain lists that say the same.
#[derive(Default)]
struct Model {
    steps: Steps,
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

    fn add(&mut self, memory: &[Arc<Memory>], after: &[usize], list: Vec<Use>) {
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

/// Builds a graph of nodes, each with its accesses and the nodes that it is added after. Returns the number
/// of its edges, and of the steps of all searches.
fn build(nodes: usize, buffers: usize, node: impl Fn(usize) -> (Vec<usize>, Vec<Use>)) -> (usize, usize) {
    let (memory, mut model) = (memory(buffers), Model::default());
    STEPS.set(0);
    for at in 0..nodes {
        let (after, list) = node(at);
        model.add(&memory, &after, list);
    }
    let edges = &model.steps.order;
    ((0..nodes).map(|at| edges.direct(at).len()).sum(), STEPS.get())
}

#[test]
fn the_steps_of_a_node_do_not_grow_with_the_graph() {
    let read = |at| (at, 0..BYTES, Mode::Read);
    let write = |at| (at, 0..BYTES, Mode::Write);
    for nodes in [10, 100, 1_000, 10_000] {
        let before = |at: usize| at.checked_sub(1).into_iter().collect::<Vec<_>>();
        // A chain of writes to one buffer, with named edges and without; and two of them in turn.
        assert_eq!(build(nodes, 1, |at| (before(at), vec![write(0)])), (nodes - 1, 0));
        assert_eq!(build(nodes, 1, |_| (vec![], vec![write(0)])), (nodes - 1, 0));
        assert_eq!(build(nodes, 2, |at| (vec![], vec![write(at % 2)])), (nodes - 2, 0));
        // The same, and all of them read what the first node wrote.
        let shared = |at: usize| if at == 0 { vec![write(0)] } else { vec![read(0), write(1)] };
        assert_eq!(build(nodes, 2, |at| (vec![], shared(at))), (nodes - 1, 0));
        // A fan: a write, and reads of it that write to a buffer each.
        let reader = |at| if at == 0 { vec![write(0)] } else { vec![read(0), write(at)] };
        assert_eq!(build(nodes, nodes, |at| (vec![], reader(at))), (nodes - 1, 0));
        // The same with a last node that comes after all of them.
        let last = |at| if at + 1 == nodes { (0..nodes).map(write).collect() } else { reader(at) };
        let (edges, steps) = build(nodes, nodes, |at| (vec![], last(at)));
        assert!(edges == 2 * nodes - 4 && steps <= nodes, "{edges} edges, {steps} steps");
        // Diamonds: two nodes read what one wrote, and the next one reads what both wrote.
        let diamond = |at: usize| match at % 3 {
            0 => vec![read(1), read(2), write(0)],
            side => vec![read(0), write(side)],
        };
        let (edges, steps) = build(nodes, 3, |at| (vec![], diamond(at)));
        assert!(edges <= nodes * 4 / 3 && steps <= nodes, "{edges} edges, {steps} steps");
        // A lattice: rows of eight nodes, each of which reads what two of the row before wrote, and writes
        // what another one has read.
        let lattice = |at: usize| {
            let row = at / 8 % 2 * 8;
            vec![read((8 - row) + at % 8), read((8 - row) + (at + 1) % 8), write(row + at % 8)]
        };
        let (edges, steps) = build(nodes, 16, |at| (vec![], lattice(at)));
        assert!(edges <= 3 * nodes && steps <= 8 * nodes, "{edges} edges, {steps} steps");
        // Layers that read a buffer each, which the first half of the nodes has filled: twice, as two towers.
        let third = nodes / 3;
        let tower = |at: usize| match at.checked_sub(third) {
            None => vec![write(at)],
            Some(layer) => vec![read(layer % third), write(third + layer / third)],
        };
        let (edges, steps) = build(nodes, third + 4, |at| (vec![], tower(at)));
        assert!(edges <= 2 * nodes && steps <= 33 * nodes, "{edges} edges, {steps} steps");
    }
}
