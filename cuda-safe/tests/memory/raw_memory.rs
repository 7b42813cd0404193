//! Memory that is taken apart into a raw pointer and made an owner again.
#![expect(unsafe_code, reason = "puts owners together from raw pointers")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use cuda_safe::error::Detail;
use cuda_safe::memory::{Array, ManagedBuffer, MemoryPool};
use cuda_safe::{
    Device, DeviceBuffer, Event, PinnedBuffer, Result, Stream, memcpy_2d, memcpy_2d_async, memset_async,
};
use cuda_testing::{Alone, Gate, alone};

/// Submits work on an owner behind a gate that another thread opens, and gives the owner's memory up
/// meanwhile.
fn given_up_behind_a_gate<O, R>(
    alone: &Alone,
    mut owner: O,
    put: impl FnOnce(&mut O, &Stream) -> Result<()>,
    give_up: impl FnOnce(O) -> Result<R>,
) -> Result<R> {
    let stream = Stream::non_blocking()?;
    let over = Event::without_timing()?;
    let gate = Gate::on(alone, &stream);
    put(&mut owner, &stream)?;
    over.record(&stream)?;
    let opener = std::thread::spawn(move || gate.open());
    let raw = give_up(owner)?;
    assert!(over.is_done()?, "the memory was given up while work was using it");
    opener.join().unwrap();
    Ok(raw)
}

#[test]
fn memory_is_given_up_after_the_work_that_uses_it() -> Result<()> {
    let alone = alone();
    let device = Device::current()?;

    let owner = DeviceBuffer::<u8>::alloc(64)?;
    let fill = |owner: &mut DeviceBuffer<u8>, stream: &Stream| memset_async(owner, 3, stream);
    let raw = given_up_behind_a_gate(&alone, owner, fill, |owner| Ok(owner.into_raw()?))?;
    // SAFETY: the memory was just given up, with as many elements, and no work uses it.
    assert_eq!(unsafe { DeviceBuffer::from_raw(device, raw, 64) }?.to_vec()?, [3; 64]);

    let owner = PinnedBuffer::<u8>::alloc(64)?;
    let fill = |owner: &mut PinnedBuffer<u8>, stream: &Stream| memset_async(owner, 4, stream);
    let raw = given_up_behind_a_gate(&alone, owner, fill, |owner| Ok(owner.into_raw()?))?;
    // SAFETY: the memory was just given up, with as many elements, and no work uses it.
    assert_eq!(unsafe { PinnedBuffer::from_raw(device, raw, 64) }?.to_vec()?, [4; 64]);

    // Not every device supports it.
    if let Ok(owner) = ManagedBuffer::<u8>::alloc(64) {
        let fill = |owner: &mut ManagedBuffer<u8>, stream: &Stream| memset_async(owner, 5, stream);
        let raw = given_up_behind_a_gate(&alone, owner, fill, |owner| Ok(owner.into_raw()?))?;
        // SAFETY: the memory was just given up, with as many elements, and no work uses it.
        assert_eq!(unsafe { ManagedBuffer::from_raw(device, raw, 64) }?.to_vec()?, [5; 64]);
    }

    let source = PinnedBuffer::from_slice(&[6_u8; 64])?;
    let owner = Array::<u8>::alloc_2d(8, 8)?;
    let copy = |owner: &mut Array<u8>, stream: &Stream| memcpy_2d_async(owner, &source.plane(8, 8)?, stream);
    let raw = given_up_behind_a_gate(&alone, owner, copy, |owner| Ok(owner.into_raw()?))?;
    // SAFETY: the memory was just given up, with as many elements, and no work uses it.
    let array = unsafe { Array::<u8>::from_raw(device, raw) }?;
    let mut back = [0; 64];
    memcpy_2d(&mut cuda_safe::memory::PlaneMut::from_slice(&mut back, 8, 8)?, &array)?;
    assert_eq!(back, [6; 64]);
    Ok(())
}

#[test]
fn memory_of_a_pool_is_given_up_after_its_allocation_and_freed_like_any_other() -> Result<()> {
    let alone = alone();
    let device = Device::current()?;
    let pool = MemoryPool::new()?;
    for from_a_pool in [false, true] {
        let stream = Stream::non_blocking()?;
        let gate = Gate::on(&alone, &stream);
        let owner = if from_a_pool {
            DeviceBuffer::<u8>::alloc_from(&pool, 64, &stream)?
        } else {
            DeviceBuffer::<u8>::alloc_async(64, &stream)?
        };
        let opener = std::thread::spawn(move || gate.open());
        let raw = owner.into_raw()?;
        assert!(stream.is_done()?, "the memory was given up before it was there");
        opener.join().unwrap();
        // SAFETY: the memory was just given up, with as many elements, and no work uses it.
        let mut buffer = unsafe { DeviceBuffer::from_raw(device, raw, 64) }?;
        memset_async(&mut buffer, 7, &stream)?;
        assert_eq!(buffer.to_vec()?, [7; 64]);
        buffer.free()?;
    }
    Ok(())
}

#[test]
fn memory_of_others_is_not_given_up() -> Result<()> {
    let _alone = alone();
    let theirs = DeviceBuffer::from_slice(&[1_u8, 2, 3])?;
    let (pointer, len, keeper) = (theirs.as_ptr().cast_mut(), theirs.len(), Arc::new(theirs));
    let kept = Arc::downgrade(&keeper);
    // SAFETY: the memory lives as long as its owner, which is dropped with the buffer and does nothing
    // meanwhile.
    let buffer = unsafe { DeviceBuffer::adopt(Device::current()?, pointer, len, keeper) }?;
    let (error, buffer) = buffer.into_raw().unwrap_err().into_parts();
    assert!(error.detail().as_str().contains(" is not supported"), "{error}");
    assert_eq!(buffer.to_vec()?, [1, 2, 3]);
    drop(buffer);
    assert!(kept.upgrade().is_none(), "the memory was not given back to its owner");
    Ok(())
}

#[test]
fn memory_that_a_graph_holds_is_not_given_up() -> Result<()> {
    let _alone = alone();
    let mut buffer = DeviceBuffer::<u8>::alloc(64)?;
    let graph = Stream::non_blocking()?.capture(|captured| memset_async(&mut buffer, 1, captured))?;
    let (error, buffer) = buffer.into_raw().unwrap_err().into_parts();
    assert_eq!(error.detail(), &Detail::IN_GRAPH);
    drop(graph);
    let (device, raw) = (buffer.device(), buffer.into_raw()?);
    // SAFETY: the memory was just given up, with as many elements, and no work uses it.
    drop(unsafe { DeviceBuffer::from_raw(device, raw, 64) }?);
    Ok(())
}

#[test]
fn nothing_is_given_up_in_a_host_function() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let buffer = PinnedBuffer::from_slice(&[1_u8, 2, 3])?;
    let (tell, told) = std::sync::mpsc::channel();
    stream.launch_host_fn(move || {
        let refused =
            matches!(buffer.into_raw(), Err(failed) if failed.error().detail() == &Detail::IN_CALLBACK);
        tell.send(refused).unwrap();
    })?;
    assert!(told.recv().unwrap());
    stream.synchronize()
}
