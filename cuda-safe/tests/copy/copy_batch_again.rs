//! Batches that are put on streams repeatedly: the accesses retained between two enqueues are exactly those
//! of the copies.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::copy::{CopyBatch, CopyBatch3d};
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, PitchedBuffer, Result, Stream, hazard, memset_async};
use cuda_testing::{Gate, alone};

/// Returns the number of added waits of a closure.
fn waits(what: impl FnOnce() -> Result<()>) -> Result<u64> {
    let before = hazard::added_waits();
    what().map(|()| hazard::added_waits() - before)
}

#[test]
fn a_copy_that_is_added_after_an_enqueue_is_ordered_like_the_others() -> Result<()> {
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let host = PinnedBuffer::from_slice(&[7_u8; 64])?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[0_u8; 64])?, DeviceBuffer::from_slice(&[0_u8; 64])?);
    Device::current()?.synchronize()?;
    let gate = Gate::on(&alone, &other);
    memset_async(&mut b, 1, &other)?;
    let batch = CopyBatch::new().copy(&mut a, &host);
    let alone = waits(|| batch.enqueue(&stream))?;
    let batch = batch.copy(&mut b, &host);
    let both = waits(|| batch.enqueue(&stream))?;
    let again = waits(|| batch.enqueue(&stream))?;
    let done = stream.is_done()?;
    // Before anything can fail: freeing the memory waits for the gate.
    gate.open();
    assert_eq!((alone, both, again, done), (0, 1, 0, false));
    drop(batch);
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![7; 64], vec![7; 64]));
    Ok(())
}

#[test]
fn what_lies_between_and_beside_the_copies_is_not_waited_for() -> Result<()> {
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let host = PinnedBuffer::from_slice(&[7_u8; 64])?;
    let mut device = DeviceBuffer::from_slice(&[0_u8; 64])?;
    Device::current()?.synchronize()?;
    let gate = Gate::on(&alone, &other);
    let mut parts: Vec<_> = device.slice_mut(..)?.chunks_mut(8)?.collect();
    let sources: Vec<_> = host.slice(..)?.chunks(8)?.collect();
    // The first three parts touch, so they are one access to the tracker. So are the sources, and the last
    // of them touches the next part.
    let [a, b, c, between, d, behind, ..] = parts.as_mut_slice() else { panic!("8 parts") };
    memset_async(&mut *between, 1, &other)?;
    memset_async(&mut *behind, 1, &other)?;
    let batch =
        CopyBatch::new().copy(c, &sources[3]).copy(a, &sources[0]).copy(d, &sources[1]).copy(b, &sources[2]);
    let added = waits(|| (0..3).try_for_each(|_| batch.enqueue(&stream)))?;
    stream.synchronize()?;
    drop(batch);
    let batch = CopyBatch::new().copy(a, &sources[0]).copy(between, &sources[1]);
    let on_both = waits(|| batch.enqueue(&stream))?;
    gate.open();
    assert_eq!((added, on_both), (0, 1));
    let expected = [[7; 8], [7; 8], [7; 8], [7; 8], [7; 8], [1; 8], [0; 8], [0; 8]];
    assert_eq!(device.to_vec()?, expected.as_flattened());
    Ok(())
}

#[test]
fn a_batch_goes_from_stream_to_stream_and_back_in_order() -> Result<()> {
    let alone = alone();
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let host = PinnedBuffer::from_slice(&[7_u8; 256])?;
    let mut device = DeviceBuffer::from_slice(&[0_u8; 256])?;
    let mut pitched = PitchedBuffer::<u8>::alloc(16, 16)?;
    Device::current()?.synchronize()?;
    let (mut to, from) = (device.slice_mut(..)?, host.slice(..)?);
    let plane = host.plane(16, 16)?;
    // Parts that together are the whole, and parts that are not.
    for step in [1, 2] {
        let mut parts: Vec<_> = to.slice_mut(..)?.chunks_mut(16)?.step_by(step).collect();
        let sources: Vec<_> = from.chunks(16)?.step_by(step).collect();
        let batch: CopyBatch<'_> = parts.iter_mut().zip(&sources).collect();
        let batch_3d = CopyBatch3d::new().copy_2d(&mut pitched, &plane);
        let gate = Gate::on(&alone, &one);
        let mut added = Vec::new();
        for stream in [&one, &one, &other, &other, &one] {
            added.push(waits(|| batch.enqueue(stream))?);
            added.push(waits(|| batch_3d.enqueue(stream))?);
        }
        let done = other.is_done()?;
        gate.open();
        // One wait covers everything that was submitted to a stream before.
        assert_eq!((added, done), (vec![0, 0, 0, 0, 1, 0, 0, 0, 1, 0], false), "every part in {step}");
        one.synchronize()?;
    }
    assert_eq!((device.to_vec()?, pitched.to_vec()?), (vec![7; 256], vec![7; 256]));
    Ok(())
}

#[test]
fn a_batch_that_has_run_is_captured_and_runs_outside_again() -> Result<()> {
    let alone = alone();
    let (mut stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut host = PinnedBuffer::from_slice(&[7_u8; 64])?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[0_u8; 64])?, DeviceBuffer::from_slice(&[0_u8; 32])?);
    let mut pitched = PitchedBuffer::<u8>::alloc(8, 8)?;
    Device::current()?.synchronize()?;
    let (half, plane) = (host.slice(..32)?, host.plane(8, 8)?);
    let batch = CopyBatch::new().copy(&mut a, &host).copy(&mut b, &half);
    let batch_3d = CopyBatch3d::new().copy_2d(&mut pitched, &plane);
    let both = |stream: &Stream| batch.enqueue(stream).and_then(|()| batch_3d.enqueue(stream));
    both(&stream)?;
    let graph = stream.capture(|s| batch.enqueue(s).and_then(|()| batch_3d.enqueue(s)))?;
    assert_eq!(graph.node_count()?, 3);
    both(&stream)?;
    stream.synchronize()?;
    drop((batch, batch_3d));

    // The graph has all accesses of the copies, so a launch waits for work on any of this memory.
    let mut exec = graph.instantiate()?;
    host.host_mut()?.fill(8);
    let gate = Gate::on(&alone, &other);
    memset_async(&mut b, 1, &other)?;
    let added = waits(|| exec.launch(&stream))?;
    let done = stream.is_done()?;
    gate.open();
    assert_eq!((added, done), (1, false));
    assert_eq!((a.to_vec()?, b.to_vec()?, pitched.to_vec()?), (vec![8; 64], vec![8; 32], vec![8; 64]));
    Ok(())
}
