//! What a node of a large graph costs: prints nanoseconds for each node, beside those of the same calls without
//! this crate. Asserts nothing about them; `graph/order.rs` counts the steps.
//!
//! `cargo test --release -p cuda-safe --test graph_cost -- --ignored --nocapture`
#![allow(clippy::unwrap_used, unsafe_code, reason = "a program that measures, and makes the same calls raw")]

use std::ptr;
use std::time::Instant;

use cuda_safe::graph::Node;
use cuda_safe::{DeviceBuffer, Graph, Result, Stream, memset_async, sys};

/// A node: the buffer that it fills, and the earlier nodes that the program names.
type Shape = Vec<(usize, Vec<usize>)>;

/// Each node comes after the one before. All of them fill one buffer.
fn chain(nodes: usize) -> Shape {
    (0..nodes).map(|at| (0, at.checked_sub(1).into_iter().collect())).collect()
}

/// The same, and the program names no order.
fn unnamed(nodes: usize) -> Shape {
    vec![(0, vec![]); nodes]
}

/// Each node fills a buffer of its own.
fn fan(nodes: usize) -> Shape {
    (0..nodes).map(|at| (at, vec![])).collect()
}

/// Rows of 16 nodes, each of which comes after two of the row before, and fills the buffer of its column.
fn lattice(nodes: usize) -> Shape {
    const WIDTH: usize = 16;
    let before = |at: usize| {
        let row = at.checked_sub(at % WIDTH + WIDTH);
        row.map_or(vec![], |row| vec![row + at % WIDTH, row + (at + 1 + at / WIDTH % 15) % WIDTH])
    };
    (0..nodes).map(|at| (at % WIDTH, before(at))).collect()
}

/// Returns nanoseconds for each node.
fn time(nodes: usize, f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64() * 1e9 / nodes as f64
}

fn raw(shape: &Shape, buffers: &mut [DeviceBuffer<u8>]) -> f64 {
    let (mut graph, mut nodes) = (ptr::null_mut(), Vec::new());
    // SAFETY: a new graph, its own nodes, live buffers, none of which is launched.
    let check = |code| assert_eq!(code, sys::cudaSuccess);
    check(unsafe { sys::cudaGraphCreate(&raw mut graph, 0) });
    let time = time(shape.len(), || {
        for (buffer, before) in shape {
            let before: Vec<_> = before.iter().map(|at| nodes[*at]).collect();
            let dst = buffers[*buffer].as_mut_ptr().cast();
            let parameters =
                sys::cudaMemsetParams { dst, pitch: 0, value: 1, elementSize: 1, width: 64, height: 1 };
            let mut node = ptr::null_mut();
            check(unsafe {
                sys::cudaGraphAddMemsetNode(
                    &raw mut node,
                    graph,
                    before.as_ptr(),
                    before.len(),
                    &raw const parameters,
                )
            });
            nodes.push(node);
        }
    });
    check(unsafe { sys::cudaGraphDestroy(graph) });
    time
}

#[test]
#[ignore = "prints times; run it by hand in a release build"]
fn the_cost_of_a_node() -> Result<()> {
    let shapes: [(&str, fn(usize) -> Shape); 4] =
        [("chain", chain), ("chain, order not named", unnamed), ("fan", fan), ("lattice", lattice)];
    println!(
        "{:25}{:>7}{:>9}{:>9}{:>13}{:>9}{:>9}",
        "ns for each node", "nodes", "raw", "add", "instantiate", "clone", "launch"
    );
    for (name, shape) in shapes {
        for nodes in [10, 100, 1_000, 10_000] {
            let shape = shape(nodes);
            let count = shape.iter().map(|node| node.0 + 1).max().unwrap();
            let mut buffers: Vec<_> =
                (0..count).map(|_| DeviceBuffer::<u8>::alloc(64)).collect::<Result<_>>()?;
            let raw = (0..3).map(|_| raw(&shape, &mut buffers)).fold(f64::MAX, f64::min);
            let mut best = [f64::MAX; 4];
            for _ in 0..3 {
                let (mut graph, mut made): (_, Vec<Node>) = (Graph::new()?, Vec::new());
                let add = time(nodes, || {
                    for (buffer, before) in &shape {
                        let before: Vec<_> = before.iter().map(|at| made[*at]).collect();
                        made.push(graph.add_memset(&before, &mut buffers[*buffer], 1).unwrap());
                    }
                });
                let (mut exec, mut copy) = (None, None);
                let instantiate = time(nodes, || exec = Some(graph.instantiate().unwrap()));
                let clone = time(nodes, || copy = Some(graph.try_clone().unwrap()));
                let stream = Stream::new()?;
                let launch = time(nodes, || exec.as_mut().unwrap().launch(&stream).unwrap());
                for (best, this) in best.iter_mut().zip([add, instantiate, clone, launch]) {
                    *best = best.min(this);
                }
                drop(copy);
                drop(exec);
                stream.synchronize()?;
            }
            let [add, instantiate, clone, launch] = best;
            println!("{name:25}{nodes:7}{raw:9.0}{add:9.0}{instantiate:13.0}{clone:9.0}{launch:9.0}");
        }
    }
    for nodes in [10, 100, 1_000, 10_000] {
        let mut buffers: Vec<_> = (0..nodes).map(|_| DeviceBuffer::<u8>::alloc(64)).collect::<Result<_>>()?;
        let mut stream = Stream::new()?;
        let time = time(nodes, || {
            let all = &mut buffers;
            drop(
                stream.capture(|s| all.iter_mut().try_for_each(|buffer| memset_async(buffer, 1, s))).unwrap(),
            );
        });
        println!("{:25}{nodes:7}{:>9}{time:9.0}", "captured", "");
    }
    Ok(())
}
