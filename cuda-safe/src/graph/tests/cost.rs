//! The steps that large graphs cost.

use super::model::Model;
use super::{BYTES, Use, memory};
use crate::graph::order::STEPS;
use crate::hazard::Mode;

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
