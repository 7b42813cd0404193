//! Kernels in graphs, captured and added by hand.
#![allow(unsafe_code, reason = "launches kernels that have no safe function, and adds them to graphs")]

use cuda_kernels::kernels::{self, variables_matrix as matrix};
use cuda_kernels::vector_add;
use cuda_safe::copy::memcpy_from_symbol;
use cuda_safe::error::Detail;
use cuda_safe::graph::NodeKind;
use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer, Result, Stream, launch, memcpy, memcpy_async};

#[test]
fn a_captured_kernel_keeps_its_arguments_as_they_were() -> Result<()> {
    let mut stream = Stream::new()?;
    let mut a = DeviceBuffer::from_slice(&[1.0; 100])?;
    let mut result = PinnedBuffer::<f32>::alloc(100)?;
    let graph = {
        let b = DeviceBuffer::from_slice(&[2.0; 100])?;
        let mut sum = DeviceBuffer::alloc(100)?;
        stream.capture(|s| {
            vector_add(&a, &b, &mut sum, s)?;
            memcpy_async(&mut result, &sum, s)
        })?
    };
    assert_eq!(graph.node_count()?, 2);
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!(*result.host()?, [3.0; 100]);
    // What the addresses lead to may change.
    memcpy(&mut a, &[5.0; 100])?;
    exec.launch(&stream)?;
    assert_eq!(*result.host()?, [7.0; 100]);
    Ok(())
}

#[test]
fn kernels_that_are_added_come_after_what_they_conflict_with() -> Result<()> {
    let stream = Stream::new()?;
    let (a, b) = (DeviceBuffer::from_slice(&[1.0; 64])?, DeviceBuffer::from_slice(&[2.0; 64])?);
    let (mut sum, mut twice) = (DeviceBuffer::<f32>::alloc(64)?, DeviceBuffer::<f32>::alloc(64)?);
    let mut graph = Graph::new()?;
    // SAFETY: the kernel touches the first 64 elements of each, and each has as many, on the graph's device.
    unsafe { graph.add_kernel(&[], &kernels::vector_add, (1, 64), (&a, &b, &mut sum, 64)) }?;
    // SAFETY: as above.
    unsafe { graph.add_kernel(&[], &kernels::vector_add, (1, 64), (&sum, &sum, &mut twice, 64)) }?;
    drop((a, b, sum));
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(twice.to_vec()?, [6.0; 64]);
    Ok(())
}

#[test]
fn variables_of_a_source_file_are_ordered_with_the_graphs_whose_kernels_use_them() -> Result<()> {
    let mut stream = Stream::non_blocking()?;
    let graph = stream.capture(|s| {
        // SAFETY: the kernel writes its variable, one element a thread.
        unsafe { launch!(kernels::variables_fill<<<1, 64, 0, s>>>(2000)) }
    })?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    let mut back = [0; 64];
    memcpy_from_symbol(&mut back, &matrix)?;
    assert_eq!(back.to_vec(), (2000..2064).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn a_kernel_of_an_executable_graph_is_another_one_with_other_arguments_from_the_next_launch_on() -> Result<()>
{
    let stream = Stream::non_blocking()?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[1_i32; 64])?, DeviceBuffer::from_slice(&[10_i32; 64])?);
    let mut graph = Graph::new()?;
    // SAFETY: the count is the buffer's, here and below.
    let node = unsafe { graph.add_kernel(&[], &kernels::add_one, (1, 64), (&mut a, 64)) }?;
    assert_eq!(graph.node_kind(node)?, NodeKind::KERNEL);
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    // SAFETY: as above.
    unsafe { exec.set_kernel(&graph, node, &kernels::double_values, (2, 32), (&mut b, 64)) }?;
    exec.launch(&stream)?;
    exec.launch(&stream)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![2; 64], vec![40; 64]));
    // SAFETY: refused.
    let refused = unsafe { exec.set_kernel(&graph, node, &kernels::add_one, (0, 64), (&mut a, 64)) };
    let error = refused.unwrap_err();
    assert_eq!(error.detail(), Detail::Zero { what: "the grid's x" }, "{error}");
    exec.set_enabled(&graph, node, false)?;
    exec.launch(&stream)?;
    assert_eq!(b.to_vec()?, [40; 64]);
    Ok(())
}

#[test]
fn memory_of_a_graph_is_an_argument_of_kernels_of_its_nodes_and_of_no_others() -> Result<()> {
    let mut stream = Stream::new()?;
    let (a, b) = (DeviceBuffer::from_slice(&[1.0; 64])?, DeviceBuffer::from_slice(&[2.0; 64])?);
    let mut twice = PinnedBuffer::<f32>::alloc(64)?;
    let mut graph = Graph::new()?;
    let mut sum = graph.add_alloc::<f32>(&[], 64)?;
    let mut other = graph.add_alloc::<f32>(&[], 64)?;
    // SAFETY: the kernel touches the first 64 elements of each, and each has as many, on the graph's device.
    unsafe { graph.add_kernel(&[], &kernels::vector_add, (1, 64), (&a, &b, &mut sum, 64)) }?;
    // SAFETY: as above.
    unsafe { graph.add_kernel(&[], &kernels::vector_add, (1, 64), (&sum, &sum, &mut other, 64)) }?;
    graph.add_memcpy(&[], &mut twice, &other)?;
    let late = graph.add_free(&[], &mut sum)?;
    graph.add_free(&[], &mut other)?;
    let refused = [
        // SAFETY: as above, but that the memory is freed by then.
        unsafe { graph.add_kernel(&[late], &kernels::vector_add, (1, 64), (&a, &b, &mut sum, 64)) }.map(drop),
        // SAFETY: as above, but that there is no memory outside of launches of the graph.
        unsafe { kernels::vector_add.launch((1, 64), &stream, (&a, &b, &mut sum, 64)) },
        // SAFETY: as above.
        unsafe { Graph::new()?.add_kernel(&[], &kernels::vector_add, (1, 64), (&sum, &b, &mut other, 64)) }
            .map(drop),
        stream
            // SAFETY: as above.
            .capture(|s| unsafe { kernels::vector_add.launch((1, 64), s, (&a, &b, &mut sum, 64)) })
            .map(drop),
    ];
    for answer in refused {
        assert!(matches!(answer.unwrap_err().detail(), Detail::Unsupported { .. }));
    }
    let mut exec = graph.instantiate()?;
    for _ in 0..3 {
        twice.host_mut()?.fill(0.0);
        exec.launch(&stream)?;
        assert_eq!(*twice.host()?, [6.0; 64]);
    }
    Ok(())
}
