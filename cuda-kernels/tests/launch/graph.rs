//! Kernels in graphs, captured and added by hand.
#![allow(unsafe_code, reason = "launches kernels that have no safe function, and adds them to graphs")]

use cuda_kernels::kernels::{self, variables_matrix as matrix};
use cuda_kernels::vector_add;
use cuda_safe::copy::memcpy_from_symbol;
use cuda_safe::error::Detail;
use cuda_safe::graph::{InstantiateFlags, NodeKind, node};
use cuda_safe::launch::LaunchConfig;
use cuda_safe::{
    DeviceBuffer, Graph, GraphExec, PinnedBuffer, Result, Stream, launch, memcpy, memcpy_async, sys,
};
use cuda_testing::alone;

#[test]
fn a_captured_kernel_keeps_its_arguments_as_they_were() -> Result<()> {
    let _alone = alone();
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
    // The contents of the memory may change between launches.
    memcpy(&mut a, &[5.0; 100])?;
    exec.launch(&stream)?;
    assert_eq!(*result.host()?, [7.0; 100]);
    Ok(())
}

#[test]
fn kernels_that_are_added_come_after_what_they_conflict_with() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (a, b) = (DeviceBuffer::from_slice(&[1.0; 64])?, DeviceBuffer::from_slice(&[2.0; 64])?);
    let (mut sum, mut twice) = (DeviceBuffer::<f32>::alloc(64)?, DeviceBuffer::<f32>::alloc(64)?);
    let mut graph = Graph::new()?;
    // SAFETY: the kernel touches the first 64 elements of each, and each has as many, on the graph's device.
    unsafe { graph.add(&[], node::kernel(&kernels::vector_add, (1, 64), (&a, &b, &mut sum, 64))) }?;
    // SAFETY: as above.
    unsafe { graph.add(&[], node::kernel(&kernels::vector_add, (1, 64), (&sum, &sum, &mut twice, 64))) }?;
    drop((a, b, sum));
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(twice.to_vec()?, [6.0; 64]);
    Ok(())
}

#[test]
fn variables_of_a_source_file_are_ordered_with_the_graphs_whose_kernels_use_them() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let graph = stream.capture(|s| launch!(kernels::variables_fill<<<1, 64, 0, s>>>(2000)))?;
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
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[1_i32; 64])?, DeviceBuffer::from_slice(&[10_i32; 64])?);
    let mut graph = Graph::new()?;
    // SAFETY: here and below, the count is the buffer's.
    let node = unsafe { graph.add(&[], node::kernel(&kernels::add_one, (1, 64), (&mut a, 64))) }?;
    assert_eq!(graph.node_kind(node)?, NodeKind::KERNEL);
    let mut exec: GraphExec = graph.instantiate()?;
    exec.launch(&stream)?;
    // SAFETY: as above.
    unsafe { exec.set(&graph, node, node::kernel(&kernels::double_values, (2, 32), (&mut b, 64))) }?;
    exec.launch(&stream)?;
    exec.launch(&stream)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![2; 64], vec![40; 64]));
    // SAFETY: refused.
    let refused = unsafe { exec.set(&graph, node, node::kernel(&kernels::add_one, (0, 64), (&mut a, 64))) };
    let error = refused.unwrap_err();
    assert_eq!(error.detail(), &Detail::zero("the grid's x"), "{error}");
    exec.set_enabled(&graph, node, false)?;
    exec.launch(&stream)?;
    assert_eq!(b.to_vec()?, [40; 64]);
    Ok(())
}

#[test]
fn memory_of_a_graph_is_an_argument_of_kernels_of_its_nodes_and_of_no_others() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let (a, b) = (DeviceBuffer::from_slice(&[1.0; 64])?, DeviceBuffer::from_slice(&[2.0; 64])?);
    let mut twice = PinnedBuffer::<f32>::alloc(64)?;
    let mut graph = Graph::new()?;
    let mut sum = graph.add(&[], node::alloc::<f32>(64))?;
    let mut other = graph.add(&[], node::alloc::<f32>(64))?;
    // SAFETY: the kernel touches the first 64 elements of each, and each has as many, on the graph's device.
    unsafe { graph.add(&[], node::kernel(&kernels::vector_add, (1, 64), (&a, &b, &mut sum, 64))) }?;
    // SAFETY: as above.
    unsafe { graph.add(&[], node::kernel(&kernels::vector_add, (1, 32), (&sum, &sum, &mut other, 32))) }?;
    let (from, mut to) = (sum.slice(32..)?, other.slice_mut(32..)?);
    // SAFETY: the kernel touches the first 32 elements of each, and each has as many.
    unsafe { graph.add(&[], node::kernel(&kernels::vector_add, (1, 32), (from, &from, &mut to, 32))) }?;
    graph.add(&[], node::memcpy(&mut twice, &other))?;
    let late = graph.add(&[], node::free(&mut sum))?;
    graph.add(&[], node::free(&mut other))?;
    let refused = [
        // SAFETY: as above, except that the memory is freed by then.
        unsafe { graph.add(&[late], node::kernel(&kernels::vector_add, (1, 64), (&a, &b, &mut sum, 64))) }
            .map(drop),
        // SAFETY: as above, except that the memory exists only in launches of the graph.
        unsafe { kernels::vector_add.unchecked().launch((1, 64), &stream, (&a, &b, &mut sum, 64)) },
        // SAFETY: as above.
        unsafe {
            Graph::new()?.add(&[], node::kernel(&kernels::vector_add, (1, 64), (&sum, &b, &mut other, 64)))
        }
        .map(drop),
        stream
            // SAFETY: as above.
            .capture(|s| unsafe {
                kernels::vector_add.unchecked().launch((1, 64), s, (&a, &b, &mut sum, 64))
            })
            .map(drop),
    ];
    for (at, answer) in refused.into_iter().enumerate() {
        let error = answer.unwrap_err();
        // The first node is refused by what it comes after, the others by their argument.
        let text = error.detail().as_str();
        assert!(at == 0 || text.starts_with("argument 0 ") || text.starts_with("argument 2 "), "{error}");
        assert!(text.ends_with(" is not supported"), "{error}");
    }
    let mut exec = graph.instantiate()?;
    for _ in 0..3 {
        twice.host_mut()?.fill(0.0);
        exec.launch(&stream)?;
        assert_eq!(*twice.host()?, [6.0; 64]);
    }
    Ok(())
}

#[test]
fn a_kernel_of_a_graph_is_another_one_with_other_arguments_before_it_is_made_executable() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[1_i32; 64])?, DeviceBuffer::from_slice(&[10_i32; 64])?);
    let mut graph = Graph::new()?;
    // SAFETY: here and below, the count is the buffer's.
    let node = unsafe { graph.add(&[], node::kernel(&kernels::add_one, (1, 64), (&mut a, 64))) }?;
    let mut old = graph.instantiate()?;
    // SAFETY: as above.
    unsafe { graph.set(node, node::kernel(&kernels::double_values, (2, 32), (&mut b, 64))) }?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![1; 64], vec![20; 64]));
    old.launch(&stream)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![2; 64], vec![20; 64]));
    let other = graph.add(&[], node::memset(&mut a, 0))?;
    // SAFETY: refused, as it would race with the fill.
    let refused = unsafe { graph.set(node, node::kernel(&kernels::add_one, (1, 64), (&mut a, 64))) };
    assert_eq!(refused.unwrap_err().detail().as_str(), cuda_testing::nodes_unordered(1));
    // SAFETY: refused, as the node is of another kind.
    assert!(unsafe { graph.set(other, node::kernel(&kernels::add_one, (1, 64), (&mut a, 64))) }.is_err());
    Ok(())
}

#[test]
fn variables_are_copied_to_and_from_by_nodes_that_can_be_changed() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (ones, twos) = (DeviceBuffer::from_slice(&[1_i32; 64])?, DeviceBuffer::from_slice(&[2_i32; 64])?);
    let (mut first, mut second) = (PinnedBuffer::<i32>::alloc(64)?, PinnedBuffer::<i32>::alloc(64)?);
    let mut graph = Graph::new()?;
    let put = graph.add(&[], node::memcpy_to_symbol(&matrix, &ones))?;
    let get = graph.add(&[], node::memcpy_from_symbol(&mut first, &matrix))?;
    // The two nodes conflict.
    assert_eq!(graph.edges()?, [(put, get)]);
    let mut exec: GraphExec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!(*first.host()?, [1; 64]);
    exec.set(&graph, put, node::memcpy_to_symbol(matrix.slice(..32)?, &twos.slice(..32)?))?;
    exec.set(&graph, get, node::memcpy_from_symbol(&mut second, &matrix))?;
    exec.launch(&stream)?;
    assert_eq!(*second.host()?, [[2; 32], [1; 32]].concat());
    graph.set(put, node::memcpy_to_symbol(&matrix, &twos))?;
    graph.set(get, node::memcpy_from_symbol(&mut second.slice_mut(..8)?, matrix.slice(56..)?))?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(second.host()?[..8], [2; 8]);
    let error = graph.set(put, node::memcpy_to_symbol(&matrix, &twos.slice(..63)?)).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(64, 63));
    Ok(())
}

#[test]
fn attributes_of_kernels_are_set_told_and_copied() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut data = DeviceBuffer::from_slice(&[1_i32; 64])?;
    let mut graph = Graph::new()?;
    let config = LaunchConfig::new(1, 64).priority(-1).cooperative();
    // SAFETY: here and below, the count is the buffer's, and the kernel does the same with any attributes.
    let first = unsafe { graph.add(&[], node::kernel(&kernels::add_one, config, (&mut data, 64))) }?;
    // SAFETY: as above.
    let second = unsafe { graph.add(&[], node::kernel(&kernels::add_one, (1, 64), (&mut data, 64))) }?;
    let fill = graph.add(&[], node::memset(&mut data.slice_mut(..1)?, 0))?;
    // SAFETY: the kernel does the same with any attributes.
    unsafe { graph.copy_kernel_attributes(second, first) }?;
    for node in [first, second] {
        let value = graph.kernel_attribute(node, sys::cudaLaunchAttributePriority)?;
        // SAFETY: the attribute determines which member is set.
        assert_eq!(unsafe { value.priority }, -1);
        let value = graph.kernel_attribute(node, sys::cudaLaunchAttributeCooperative)?;
        // SAFETY: as above.
        assert_eq!(unsafe { value.cooperative }, 1);
    }
    // SAFETY: refused: a graph orders its nodes itself.
    let serial = unsafe { LaunchConfig::new(1, 64).programmatic_stream_serialization() };
    // SAFETY: as above.
    let refused = unsafe { graph.set(first, node::kernel(&kernels::add_one, serial, (&mut data, 64))) };
    assert!(refused.unwrap_err().detail().as_str().contains(" is not supported"));
    // SAFETY: refused: the node is of another kind.
    assert!(unsafe { graph.set(fill, node::kernel(&kernels::add_one, config, (&mut data, 64))) }.is_err());
    // SAFETY: as above.
    assert!(unsafe { graph.copy_kernel_attributes(fill, first) }.is_err());
    assert!(graph.kernel_attribute(fill, sys::cudaLaunchAttributePriority).is_err());
    let mut exec: GraphExec = graph.instantiate_with_flags(InstantiateFlags::USE_NODE_PRIORITY)?;
    // A driver may leave this flag out.
    assert!(InstantiateFlags::USE_NODE_PRIORITY.contains(exec.flags()?));
    assert_eq!(graph.instantiate()?.flags()?, InstantiateFlags::empty());
    // SAFETY: refused: CUDA sets attributes in the graph only.
    let refused =
        unsafe { exec.set(&graph, first, node::kernel(&kernels::add_one, config, (&mut data, 64))) };
    assert!(refused.unwrap_err().detail().as_str().contains(" is not supported"));
    exec.launch(&stream)?;
    assert_eq!(data.to_vec()?, [vec![0], vec![3; 63]].concat());
    Ok(())
}
