//! What a node of a large graph costs: prints nanoseconds for each node, beside those of the same calls
//! without this crate. Asserts nothing about them; `graph/order.rs` counts the steps.
//!
//! `cargo test --release -p cuda-safe --test graph graph_cost -- --ignored --nocapture`
//!
//! Not under sanitizers: it measures.
#![allow(clippy::unwrap_used, reason = "a program that measures")]
#![expect(unsafe_code, reason = "makes the same calls raw")]

use std::ptr;
use std::time::Instant;

use cuda_safe::graph::{Node, node};
use cuda_safe::{DeviceBuffer, Graph, Result, Stream, memset_async, sys};
use cuda_testing::alone;

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

/// Returns nanoseconds for each of `count`.
fn time(count: usize, f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64() * 1e9 / count as f64
}

fn check(code: sys::cudaError_t) {
    assert_eq!(code, sys::cudaSuccess);
}

/// Makes a graph by the runtime's functions.
fn raw(shape: &Shape, buffers: &mut [DeviceBuffer<u8>]) -> sys::cudaGraph_t {
    let (mut graph, mut nodes) = (ptr::null_mut(), Vec::new());
    // SAFETY: the pointer is to a live variable.
    check(unsafe { sys::cudaGraphCreate(&raw mut graph, 0) });
    for (buffer, before) in shape {
        let before: Vec<_> = before.iter().map(|at| nodes[*at]).collect();
        let dst = buffers[*buffer].as_mut_ptr().cast();
        let fill = sys::cudaMemsetParams { dst, pitch: 0, value: 1, elementSize: 1, width: 64, height: 1 };
        let (mut node, count) = (ptr::null_mut(), before.len());
        // SAFETY: the graph and its nodes are live, and so are the variables and the buffer of 64 bytes.
        check(unsafe {
            sys::cudaGraphAddMemsetNode(&raw mut node, graph, before.as_ptr(), count, &raw const fill)
        });
        nodes.push(node);
    }
    graph
}

/// Makes a graph, each node by a call of this crate.
fn safe(shape: &Shape, buffers: &mut [DeviceBuffer<u8>]) -> Result<Graph> {
    let (mut graph, mut nodes): (_, Vec<Node>) = (Graph::new()?, Vec::new());
    for (buffer, before) in shape {
        let before: Vec<_> = before.iter().map(|at| nodes[*at]).collect();
        nodes.push(graph.add(&before, node::memset(&mut buffers[*buffer], 1))?);
    }
    Ok(graph)
}

/// Returns the nanoseconds of a launch on an idle stream: the least of many.
fn launch(nodes: usize, stream: &Stream, mut launch: impl FnMut()) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..(10_000 / nodes).clamp(2, 20) {
        stream.synchronize()?;
        best = best.min(time(1, &mut launch));
    }
    stream.synchronize()?;
    Ok(best)
}

fn measure(name: &str, shape: &Shape) -> Result<()> {
    let nodes = shape.len();
    let count = shape.iter().map(|node| node.0 + 1).max().unwrap_or(0);
    let mut buffers = (0..count).map(|_| DeviceBuffer::<u8>::alloc(64)).collect::<Result<Vec<_>>>()?;
    let stream = Stream::new()?;
    let mut best = [f64::MAX; 8];
    for _ in 0..3 {
        let (mut graph, mut made) = (ptr::null_mut(), ptr::null_mut());
        let raw_add = time(nodes, || graph = raw(shape, &mut buffers));
        let raw_instantiate = time(nodes, || {
            // SAFETY: the graph is live, and the pointer is to a live variable.
            check(unsafe { sys::cudaGraphInstantiate(&raw mut made, graph, 0) });
        });
        // SAFETY: stream and graph are live here and below, and only this thread uses the buffers.
        let raw_launch =
            launch(nodes, &stream, || check(unsafe { sys::cudaGraphLaunch(made, stream.as_raw()) }))?;
        // SAFETY: nothing uses them any more.
        check(unsafe { sys::cudaGraphExecDestroy(made) });
        // SAFETY: nothing uses them any more.
        check(unsafe { sys::cudaGraphDestroy(graph) });

        let mut graph = Graph::new()?;
        let add = time(nodes, || graph = safe(shape, &mut buffers).unwrap());
        let mut exec = graph.instantiate()?;
        let instantiate = time(nodes, || exec = graph.instantiate().unwrap());
        let clone = time(nodes, || drop(graph.try_clone().unwrap()));
        let own = launch(nodes, &stream, || exec.launch(&stream).unwrap())?;
        let made = exec.as_raw();
        // SAFETY: nothing uses them any more.
        let same = launch(nodes, &stream, || check(unsafe { sys::cudaGraphLaunch(made, stream.as_raw()) }))?;
        let this = [raw_add, add, raw_instantiate, instantiate, clone, raw_launch, same, own];
        best.iter_mut().zip(this).for_each(|(best, this)| *best = best.min(this));
    }
    print!("{name:25}{nodes:7}");
    best.iter().for_each(|best| print!("{best:9.0}"));
    println!();
    Ok(())
}

#[test]
#[ignore = "prints times; run it by hand in a release build"]
fn the_cost_of_a_node() -> Result<()> {
    let _alone = alone();
    println!("nanoseconds for each node, and for a launch: by the runtime's functions, a raw launch of this");
    println!("crate's executable graph, and by this crate");
    println!(
        "{:25}{:>7}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "nodes", "raw add", "add", "raw inst", "inst", "clone", "raw", "same", "launch"
    );
    for nodes in [10, 100, 1_000, 10_000] {
        measure("chain", &chain(nodes))?;
        measure("chain, order not named", &unnamed(nodes))?;
        measure("fan", &fan(nodes))?;
        measure("lattice", &lattice(nodes))?;
        let mut buffers = (0..nodes).map(|_| DeviceBuffer::<u8>::alloc(64)).collect::<Result<Vec<_>>>()?;
        let mut stream = Stream::new()?;
        for branches in [1, 2] {
            let time = time(nodes, || {
                let all = &mut buffers;
                let graph = stream.capture(|s| {
                    if branches == 1 {
                        return all.iter_mut().try_for_each(|buffer| memset_async(buffer, 1, s));
                    }
                    let side = s.fork()?;
                    for (at, buffer) in all.iter_mut().enumerate() {
                        memset_async(buffer, 1, if at % 2 == 0 { s } else { &side })?;
                    }
                    s.join(side)
                });
                drop(graph.unwrap());
            });
            println!("{:25}{nodes:7}{:9}{time:9.0}", format!("captured, branches: {branches}"), "");
        }
    }
    Ok(())
}
