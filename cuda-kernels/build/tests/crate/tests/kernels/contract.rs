//! Contracts of a kernel's author: launches that meet them tightly run, others are refused.
#![expect(unsafe_code, reason = "launches without a contract")]

use cuda_safe::error::ErrorKind;
use cuda_safe::graph::node;
use cuda_safe::{DeviceBuffer, Graph, Result, Stream, hazard, launch};

use crate::kernels::heap_squares;

fn words(refused: Result<()>) -> String {
    let error = refused.unwrap_err();
    assert!(error.detail().kind() == ErrorKind::Proof && error.call_site().file() == file!(), "{error}");
    error.detail().to_string()
}

#[test]
fn a_launch_that_meets_the_contract_tightly_runs_and_one_element_less_is_refused() -> Result<()> {
    let stream = Stream::new()?;
    let (one, mut failures) = (DeviceBuffer::from_slice(&[1_u32])?, DeviceBuffer::from_slice(&[0_u32])?);
    for count in [0, 1, 31, 32, 33, 64] {
        let mut out = DeviceBuffer::from_slice(&vec![0_u32; count])?;
        // Exactly so many elements, and as many blocks as the second clause allows.
        launch!(heap_squares<<<2, 32, 0, &stream>>>(&one, &mut out, count, &mut failures))?;
        let expected: Vec<u32> = (0..u32::try_from(count).unwrap()).map(|i| i * i + 1).collect();
        assert_eq!(out.to_vec()?, expected);
        let refused = launch!(heap_squares<<<2, 32, 0, &stream>>>(&one, &mut out, count + 1, &mut failures));
        let expected = format!(
            "cannot prove heap_squares: its contract `requires count <= len(out)` is not met: {} <= {count} \
             is false",
            count + 1
        );
        assert_eq!(words(refused), expected);
    }
    assert_eq!(failures.to_vec()?, [0]);
    Ok(())
}

#[test]
fn each_clause_is_checked_in_launches_and_nodes() -> Result<()> {
    let stream = Stream::new()?;
    let (one, mut failures) = (DeviceBuffer::from_slice(&[1_u32])?, DeviceBuffer::from_slice(&[0_u32])?);
    let mut out = DeviceBuffer::from_slice(&[0_u32; 8])?;
    let block = words(launch!(heap_squares<<<1, 64, 0, &stream>>>(&one, &mut out, 8, &mut failures)));
    assert!(block.contains("`block 32` is not met: 64 == 32 is false"), "{block}");
    let block = words(launch!(heap_squares<<<1, (32, 2), 0, &stream>>>(&one, &mut out, 8, &mut failures)));
    assert!(block.contains("`block 32` is not met: 2 == 1 is false"), "{block}");
    let grid = words(launch!(heap_squares<<<3, 32, 0, &stream>>>(&one, &mut out, 8, &mut failures)));
    assert!(grid.contains("is not met: 3 <= 2 is false"), "{grid}");
    let shared = words(launch!(heap_squares<<<2, 32, 1, &stream>>>(&one, &mut out, 8, &mut failures)));
    assert!(shared.contains("is not met: 3 <= 2 is false"), "{shared}");
    // A sign is a sign.
    launch!(heap_squares<<<1, 32, 0, &stream>>>(&one, &mut out, -1, &mut failures))?;
    // What the kernel may write is not passed to be read.
    let read = words(launch!(heap_squares<<<1, 32, 0, &stream>>>(&one, out.read_only(), 8, &mut failures)));
    assert!(read.contains("lets it write out, which it is to read only"), "{read}");
    let needs = heap_squares.needs((1, 32), ((), (), 8, ()));
    assert!(needs.unwrap_err().to_string().contains("a contract in place of a proof"));

    let mut graph = Graph::new()?;
    let node =
        graph.add(&[], node::checked_kernel(&heap_squares, (1, 32), (&one, &mut out, 9, &mut failures)));
    assert!(words(node.map(drop)).contains("9 <= 8 is false"));
    graph.add(&[], node::checked_kernel(&heap_squares, (1, 32), (&one, &mut out, 8, &mut failures)))?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(out.to_vec()?, [1, 2, 5, 10, 17, 26, 37, 50]);
    // SAFETY: with a count of zero the kernel writes nothing.
    unsafe { launch!(heap_squares.unchecked()<<<1, 64, 0, &stream>>>(&one, &mut out, 0, &mut failures)) }?;
    Ok(())
}

#[test]
fn the_tracker_takes_all_of_each_argument() -> Result<()> {
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (input, mut failures) = (DeviceBuffer::from_slice(&[1_u32])?, DeviceBuffer::from_slice(&[0_u32])?);
    let (mut out, mut also) = (DeviceBuffer::from_slice(&[0_u32; 8])?, DeviceBuffer::from_slice(&[0_u32])?);
    cuda_safe::Device::current()?.synchronize()?;
    let before = hazard::added_waits();
    launch!(heap_squares<<<1, 32, 0, &one>>>(&input, &mut out, 1, &mut failures))?;
    launch!(heap_squares<<<1, 32, 0, &other>>>(&input, out.slice_mut(7..)?, 1, &mut also))?;
    assert_eq!(hazard::added_waits(), before + 1);
    Ok(())
}
