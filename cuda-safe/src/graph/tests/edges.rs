//! The order of nodes in random graphs, compared with a plain transitive closure.

use std::collections::BTreeSet;

use cuda_hazard::Few;

use super::{Closure, Dice, SEEDS, edges_of};
use crate::graph::order::{Edge, Order};

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
