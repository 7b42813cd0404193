//! Each error of a graph names the line of its caller: of nodes that are not the graph's, that are gone, and
//! of what a node or an executable graph does not take.
//!
//! `ledger/call_sites.rs` requires that each fallible function is tried here or in one of its other files.
#![expect(unsafe_code, reason = "copies the attributes of nodes that are no kernels")]

use cuda_safe::graph::{Conditional, InstantiateFlags, node};
use cuda_safe::{Device, DeviceBuffer, Event, Graph, PinnedBuffer, Result, Stream};
use cuda_testing::{alone, refused};

#[test]
fn each_refusal_of_a_graph_names_the_line_of_its_caller() -> Result<()> {
    let _alone = alone();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    let (stream, event) = (Stream::non_blocking()?, Event::new()?);
    let (mut d, mut p) = (DeviceBuffer::<u8>::alloc_zeroed(64)?, PinnedBuffer::<u8>::alloc(64)?);
    let (mut graph, mut other, mut inner) = (Graph::new()?, Graph::new()?, Graph::new()?);
    inner.add(&[], node::empty())?;
    let first = graph.add(&[], node::memset(&mut d, 1))?;
    let gone = graph.add(&[], node::empty())?;
    let foreign = other.add(&[], node::memset(&mut d, 1))?;
    let mut exec = graph.instantiate()?;
    graph.destroy_node(gone)?;
    let late = graph.add(&[], node::memset(&mut d, 2))?;
    // A node of another graph and one that is gone, for every operation and question.
    for no in [foreign, gone] {
        let scratch = |graph: &mut Graph| graph.add(&[], node::alloc::<u8>(64));
        let mut memory = scratch(&mut graph)?;
        let condition = graph.condition(1)?;
        refused! { wrong, tried:
            graph.add(&[no], node::empty());
            graph.add(&[no], node::memset(&mut d, 1));
            graph.add(&[no], node::memcpy(&mut d, &p));
            graph.add(&[no], node::memcpy(&mut p, &memory));
            graph.add(&[no], node::host_fn(|| ()));
            graph.add(&[no], node::event_record(&event));
            graph.add(&[no], node::event_wait(&event));
            graph.add(&[no], node::child_graph(&inner));
            graph.add(&[no], node::alloc::<u8>(64));
            graph.add(&[no], node::free(&mut memory));
            graph.add(&[no], node::conditional(&condition, Conditional::If, |_, _| Ok(())));
            graph.set(no, node::memset(&mut d, 1));
            graph.set(no, node::memcpy(&mut d, &p));
            graph.set(no, node::host_fn(|| ()));
            graph.set(no, node::event_record(&event));
            graph.set(no, node::event_wait(&event));
            exec.set(&graph, no, node::memset(&mut d, 1));
            exec.set(&graph, no, node::memcpy(&mut d, &p));
            exec.set(&graph, no, node::host_fn(|| ()));
            exec.set(&graph, no, node::event_record(&event));
            exec.set(&graph, no, node::child_graph(&inner));
            exec.set_enabled(&graph, no, true);
            exec.is_enabled(&graph, no);
            graph.node_kind(no);
            graph.event(no);
            graph.graph_within(no);
            graph.find_in_clone(no);
            graph.dependencies(no);
            graph.dependent_nodes(no);
            graph.add_dependencies(&[(first, no)]);
            graph.add_dependencies(&[(no, first)]);
            graph.remove_dependencies(&[(first, no)]);
            graph.destroy_node(no);
            graph.kernel_attribute(no, cuda_safe::sys::cudaLaunchAttributePriority);
            // SAFETY: neither is a kernel.
            unsafe { graph.copy_kernel_attributes(no, first) };
            // SAFETY: as above.
            unsafe { graph.copy_kernel_attributes(first, no) };
            memory.slice(65..);
            memory.slice_mut(65..);
        }
        #[cfg(cudart_13_1)]
        refused! { wrong, tried:
            graph.node_local_id(no);
            graph.node_tools_id(no);
        }
        graph.add(&[], node::free(&mut memory))?;
    }
    // What does not fit the node, the graph or the executable graph.
    let mut memory = other.add(&[], node::alloc::<u8>(64))?;
    refused! { wrong, tried:
        graph.add(&[], node::memcpy(&mut memory, &d));
        graph.add(&[], node::memcpy(&mut d, &memory));
        graph.add(&[], node::free(&mut memory));
        graph.add(&[], node::memcpy(&mut d.slice_mut(..8)?, &p));
        graph.set(first, node::host_fn(|| ()));
        graph.event(first);
        graph.graph_within(first);
        exec.set(&graph, late, node::memset(&mut d, 1));
        exec.set(&other, foreign, node::memset(&mut d, 1));
        exec.set(&graph, first, node::host_fn(|| ()));
        exec.set_enabled(&graph, first, true);
        exec.update(&other);
        other.instantiate();
        other.instantiate_with_flags(InstantiateFlags::empty());
        other.try_clone();
        graph.write_dot("/nowhere/at/all");
    }
    // The captures' own refusals.
    let mut side = Stream::non_blocking()?;
    let mut inside = Vec::new();
    let captured = side.capture(|capture| {
        let fork = capture.fork()?;
        let (mut one, mut two) = (Vec::new(), 0);
        refused! { one, two:
            capture.wait(&event);
            stream.wait(&event).and_then(|()| stream.synchronize());
            cuda_safe::memcpy(&mut d, &[0; 64]);
            cuda_safe::memset(&mut d, 0);
            exec.launch(&stream);
        }
        inside = one;
        tried += two;
        capture.join(fork)
    });
    captured?;
    wrong.extend(inside);
    refused! { wrong, tried:
        side.capture_to_graph(Graph::new()?, &[foreign], |_| Ok(()));
        side.capture(|capture| { let _lost = capture.fork()?; cuda_safe::memset_async(&mut d, 1, &_lost) });
    }
    if Device::count()? > 1 {
        let there = Device::new(1)?.with_current(Stream::new)?;
        refused! { wrong, tried:
            exec.launch(&there);
            exec.upload(&there);
        }
    }
    println!("{tried} refusals");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tried > 90);
    Ok(())
}
