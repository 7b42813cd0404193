//! Managed memory: owners, guards, copies, and hints about the location of its pages.
//!
//! Each test runs alone: they count pages of the whole device, and small buffers share the pages that
//! advice concerns.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::copy::{CopyBatch, memcpy_2d, memcpy_3d};
use cuda_safe::error::Detail;
use cuda_safe::memory::managed::{Advice, Attachment, RangeAttributes};
use cuda_safe::memory::{ManagedBuffer, MemoryLocation, Plane, Slice};
use cuda_safe::{
    Device, DeviceBuffer, PinnedBuffer, PitchedBuffer, PitchedVolume, Registered, Result, Stream, memcpy,
    memcpy_async, memset, memset_async,
};
use cuda_testing::{alone, test_beside};

fn numbers(count: u32, first: u32) -> Vec<u32> {
    (first..first + count).collect()
}

fn here() -> Result<MemoryLocation> {
    Ok(MemoryLocation::Device(Device::current()?))
}

#[test]
fn the_host_reads_and_writes_through_guards() -> Result<()> {
    let _alone = alone();
    let mut buffer = ManagedBuffer::<u32>::alloc(4)?;
    buffer.host_mut()?.copy_from_slice(&[1, 2, 3, 4]);
    buffer.host_mut()?[1] = 20;
    assert_eq!(*buffer.host()?, [1, 20, 3, 4]);
    assert_eq!((buffer.to_vec()?, buffer.len(), buffer.size_in_bytes()), (vec![1, 20, 3, 4], 4, 16));
    let (mut left, right) = buffer.split_at_mut(2)?;
    left.host_mut()?[0] = right.host()?[1];
    assert_eq!(buffer.slice(..2)?.host()?.to_vec(), [4, 20]);
    assert!(format!("{buffer:?}").starts_with("ManagedBuffer"));
    buffer.free()
}

#[test]
fn no_elements_need_no_memory() -> Result<()> {
    let _alone = alone();
    let mut empty = ManagedBuffer::<u64>::alloc(0)?;
    assert!(empty.as_ptr().is_null() && empty.host()?.is_empty());
    empty.as_slice().advise(Advice::SetReadMostly)?;
    let stream = Stream::new()?;
    empty.as_slice().prefetch_async(here()?, &stream)?;
    empty.attach_async(Attachment::Host, &stream)?;
    assert_eq!(empty.as_slice().range_attributes()?, RangeAttributes::default());
    assert_eq!(empty.as_slice().last_prefetch_location()?, None);
    empty.free()
}

#[test]
fn sizes_that_overflow_and_elements_without_bytes_are_refused() {
    let _alone = alone();
    let error = ManagedBuffer::<u64>::alloc(usize::MAX).unwrap_err();
    assert!(error.detail().as_str().contains(" overflows: "));
    let error = ManagedBuffer::<[u32; 0]>::alloc(1).unwrap_err();
    assert!(error.detail().as_str().contains(" have no bytes"));
    let error = ManagedBuffer::<u32>::with_attachment(1, Attachment::Single).unwrap_err();
    assert_eq!(error.name(), "cudaErrorInvalidValue");
}

#[test]
#[allow(unsafe_code, reason = "takes over what was given up")]
fn memory_can_be_given_up_and_taken_over() -> Result<()> {
    let _alone = alone();
    let buffer = ManagedBuffer::from_slice(&numbers(8, 1))?;
    let device = buffer.device();
    let pointer = buffer.into_raw()?;
    // SAFETY: it was just given up, with as many elements.
    let again = unsafe { ManagedBuffer::from_raw(device, pointer, 8) }?;
    assert_eq!(again.to_vec()?, numbers(8, 1));
    Ok(())
}

#[test]
fn blocking_copies_go_between_managed_and_every_other_memory() -> Result<()> {
    let _alone = alone();
    let source = ManagedBuffer::from_slice(&numbers(100, 5))?;
    let expected = numbers(100, 5);

    let mut device = DeviceBuffer::<u32>::alloc(100)?;
    memcpy(&mut device, &source)?;
    assert_eq!(device.to_vec()?, expected);
    let mut pinned = PinnedBuffer::<u32>::alloc(100)?;
    memcpy(&mut pinned, &source)?;
    assert_eq!(*pinned.host()?, *expected);
    let mut vector = vec![0; 100];
    memcpy(&mut vector, &source)?;
    assert_eq!(vector, expected);
    let mut registered = Registered::new(vec![0_u32; 100])?;
    memcpy(&mut registered, &source)?;
    assert_eq!(*registered.host()?, *expected);

    let fresh = || ManagedBuffer::from_slice(&[0_u32; 100]);
    let mut managed = fresh()?;
    memcpy(&mut managed, &source)?;
    assert_eq!(managed.to_vec()?, expected);
    let mut managed = fresh()?;
    memcpy(&mut managed, &device)?;
    assert_eq!(managed.to_vec()?, expected);
    let mut managed = fresh()?;
    memcpy(&mut managed, &pinned)?;
    assert_eq!(managed.to_vec()?, expected);
    let mut managed = fresh()?;
    memcpy(&mut managed.slice_mut(10..20)?, &vector[..10])?;
    assert_eq!((managed.host()?[9], managed.host()?[10], managed.host()?[20]), (0, 5, 0));
    let error = memcpy(&mut managed, &vector[..99]).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(100, 99));
    Ok(())
}

#[test]
fn asynchronous_copies_and_fills_are_waited_for_by_the_host() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut managed = ManagedBuffer::from_slice(&[0_u32; 64])?;
    let device = DeviceBuffer::from_slice(&numbers(64, 1))?;
    memcpy_async(&mut managed, &device, &stream)?;
    assert_eq!(*managed.host()?, *numbers(64, 1));
    memset_async(&mut managed.slice_mut(..2)?, 1, &stream)?;
    assert_eq!(managed.host()?[..3], [0x0101_0101, 0x0101_0101, 3]);
    memset(&mut managed, 0)?;
    assert_eq!(managed.to_vec()?, [0; 64]);
    let (mut back, numbers) = (vec![0; 64], numbers(64, 7));
    stream.scope(|scope| {
        scope.memcpy_async(&mut managed, &numbers)?;
        scope.memcpy_async(&mut back, &managed)
    })??;
    assert_eq!(back, numbers);
    Ok(())
}

#[test]
fn rows_and_layers_are_copied_too() -> Result<()> {
    let _alone = alone();
    let source = ManagedBuffer::from_slice(&numbers(3 * 5 * 2, 0))?;
    let mut plane = PitchedBuffer::<u32>::alloc(3, 5)?;
    memcpy_2d(&mut plane, &source.slice(..15)?.plane(3, 5)?)?;
    assert_eq!(plane.to_vec()?, numbers(15, 0));
    let mut volume = PitchedVolume::<u32>::alloc(3, 5, 2)?;
    memcpy_3d(&mut volume, &source.volume(3, 5, 2)?)?;
    let mut back = ManagedBuffer::from_slice(&[0_u32; 30])?;
    memcpy_3d(&mut back.volume_mut(3, 5, 2)?, &volume)?;
    assert_eq!(back.to_vec()?, numbers(30, 0));
    Ok(())
}

/// The copy may still be running when the blocking function returns. Later writes must not change its
/// result.
#[test]
fn managed_memory_is_the_source_of_a_blocking_copy_and_then_written() -> Result<()> {
    let _alone = alone();
    let mut source = ManagedBuffer::from_slice(&[0_u32; 4096])?;
    let mut device = DeviceBuffer::<u32>::alloc(4096)?;
    let mut other = ManagedBuffer::<u32>::alloc(4096)?;
    for turn in 1..20 {
        source.host_mut()?.fill(turn);
        memcpy(&mut device, &source)?;
        memcpy(&mut other, &source)?;
        source.host_mut()?.fill(u32::MAX);
        assert_eq!(device.to_vec()?, [turn; 4096]);
        assert_eq!(*other.host()?, [turn; 4096]);
    }
    Ok(())
}

/// A guard lends a slice like any other, but the runtime recognises managed memory, and may read it later
/// than a vector.
#[test]
fn what_a_guard_lends_is_the_source_of_a_blocking_copy_and_then_written() -> Result<()> {
    let _alone = alone();
    let mut source = ManagedBuffer::from_slice(&[0_u32; 64])?;
    let mut device = DeviceBuffer::<u32>::alloc(64)?;
    let mut plane = PitchedBuffer::<u32>::alloc(8, 8)?;
    let mut batched = DeviceBuffer::<u32>::alloc(64)?;
    let legacy = Stream::legacy()?;
    for turn in 1..20 {
        source.host_mut()?.fill(turn);
        memcpy(&mut device, &*source.host()?)?;
        memcpy_2d(&mut plane, &Plane::from_slice(&source.host()?, 8, 8)?)?;
        CopyBatch::new().copy_during_call(&mut batched, &source.host()?).enqueue(&legacy)?;
        source.host_mut()?.fill(u32::MAX);
        assert_eq!(device.to_vec()?, [turn; 64]);
        assert_eq!(plane.to_vec()?, [turn; 64]);
        assert_eq!(batched.to_vec()?, [turn; 64]);
        memcpy(&mut *source.host_mut()?, &device)?;
        assert_eq!(*source.host()?, [turn; 64]);
    }
    Ok(())
}

#[test]
fn a_buffer_that_is_dropped_waits_for_its_work() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut device = DeviceBuffer::<u8>::alloc(1 << 16)?;
    for turn in 0..10 {
        let source = ManagedBuffer::from_slice(&[turn; 1 << 16])?;
        memcpy_async(&mut device, &source, &stream)?;
        drop(source);
        assert_eq!(device.to_vec()?, [turn; 1 << 16]);
    }
    Ok(())
}

#[test]
fn advice_is_remembered_until_it_is_taken_back() -> Result<()> {
    let _alone = alone();
    let buffer = ManagedBuffer::from_slice(&[0_u8; 1 << 20])?;
    let device = here()?;
    assert_eq!(buffer.as_slice().range_attributes()?, RangeAttributes::default());

    buffer.as_slice().advise(Advice::SetReadMostly)?;
    assert!(buffer.as_slice().range_attributes()?.read_mostly);
    buffer.as_slice().advise(Advice::SetAccessedBy(device))?;
    buffer.as_slice().advise(Advice::SetPreferredLocation(MemoryLocation::Host))?;
    let known = buffer.as_slice().range_attributes()?;
    assert!(known.read_mostly);
    assert_eq!(known.preferred_location, Some(MemoryLocation::Host));
    assert_eq!(known.accessed_by, [device]);

    buffer.as_slice().advise(Advice::UnsetReadMostly)?;
    buffer.as_slice().advise(Advice::UnsetAccessedBy(device))?;
    buffer.as_slice().advise(Advice::UnsetPreferredLocation)?;
    assert_eq!(Slice::range_attributes(&buffer.as_slice())?, RangeAttributes::default());
    Ok(())
}

#[test]
fn every_device_and_the_host_can_be_said_to_use_it() -> Result<()> {
    let _alone = alone();
    let buffer = ManagedBuffer::from_slice(&[0_u8; 4096])?;
    let mut places = vec![MemoryLocation::Host];
    places.extend(Device::all()?.map(MemoryLocation::Device));
    for place in &places {
        buffer.as_slice().advise(Advice::SetAccessedBy(*place))?;
    }
    let mut known = buffer.as_slice().range_attributes()?.accessed_by;
    known.sort_by_key(|place| format!("{place:?}"));
    places.sort_by_key(|place| format!("{place:?}"));
    assert_eq!(known, places);
    Ok(())
}

#[test]
fn a_prefetch_changes_nothing_but_where_the_pages_are() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let buffer = ManagedBuffer::from_slice(&numbers(1 << 18, 0))?;
    let device = here()?;
    buffer.as_slice().prefetch_async(device, &stream)?;
    stream.synchronize()?;
    assert_eq!(buffer.as_slice().range_attributes()?.last_prefetch_location, Some(device));
    assert_eq!(Slice::last_prefetch_location(&buffer.as_slice())?, Some(device));
    assert_eq!(buffer.to_vec()?, numbers(1 << 18, 0));
    Slice::prefetch_async(&buffer.slice(..1 << 17)?, MemoryLocation::Host, &stream)?;
    stream.synchronize()?;
    assert_eq!(
        buffer.slice(..1 << 17)?.range_attributes()?.last_prefetch_location,
        Some(MemoryLocation::Host)
    );
    assert_eq!(buffer.slice(1 << 17..)?.last_prefetch_location()?, Some(device));
    assert_eq!(buffer.as_slice().range_attributes()?.last_prefetch_location, None, "the two halves differ");
    assert_eq!(buffer.to_vec()?, numbers(1 << 18, 0));
    Ok(())
}

#[cfg(cudart_13_0)]
#[test]
fn a_batch_prefetches_and_discards_and_leaves_what_is_beside_alone() -> Result<()> {
    use cuda_safe::memory::managed::PrefetchBatch;

    const BLOCK: usize = 1 << 16;
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let device = here()?;
    let input = ManagedBuffer::from_slice(&numbers(1 << 16, 3))?;
    let mut given_up = ManagedBuffer::from_slice(&vec![7_u8; 4 * BLOCK])?;
    let mut both = ManagedBuffer::from_slice(&vec![8_u8; 4 * BLOCK])?;
    let empty = ManagedBuffer::<u8>::alloc(0)?;
    PrefetchBatch::new().enqueue(&stream)?;
    PrefetchBatch::new()
        .prefetch(&input.as_slice(), device)
        .prefetch(&empty.as_slice(), device)
        .discard(&mut given_up.slice_mut(100..3 * BLOCK)?)
        .discard_and_prefetch(&mut both.slice_mut(BLOCK + 5..)?, device)
        .enqueue(&stream)?;
    stream.synchronize()?;
    assert_eq!(input.as_slice().last_prefetch_location()?, Some(device));
    assert_eq!(both.slice(BLOCK + 5..)?.last_prefetch_location()?, Some(device));
    assert_eq!(input.to_vec()?, numbers(1 << 16, 3));
    let (given_up, both) = (given_up.to_vec()?, both.to_vec()?);
    assert!(given_up[..100].iter().chain(&given_up[3 * BLOCK..]).all(|byte| *byte == 7));
    assert!(both[..BLOCK + 5].iter().all(|byte| *byte == 8));

    // Data that is written after a discard is there.
    let mut again = ManagedBuffer::from_slice(&vec![1_u8; 2 * BLOCK])?;
    PrefetchBatch::new().discard(&mut again.as_slice_mut()).enqueue(&stream)?;
    again.host_mut()?.fill(2);
    assert_eq!(again.to_vec()?, vec![2; 2 * BLOCK]);
    let error =
        PrefetchBatch::new().prefetch(&input.as_slice(), device).enqueue(&Stream::legacy()?).unwrap_err();
    assert_eq!(error.name(), "cudaErrorInvalidValue");
    Ok(())
}

#[test]
fn memory_is_attached_to_the_host_to_one_stream_and_to_all() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut buffer = ManagedBuffer::<u32>::with_attachment(16, Attachment::Host)?;
    buffer.host_mut()?.fill(3);
    for attachment in [Attachment::Single, Attachment::Host, Attachment::Global] {
        buffer.attach_async(attachment, &stream)?;
        stream.synchronize()?;
        assert_eq!(buffer.to_vec()?, [3; 16]);
    }
    buffer.attach_async(Attachment::Single, &Stream::legacy()?)?;
    assert_eq!(buffer.to_vec()?, [3; 16]);
    Ok(())
}

#[cfg(cudart_13_4)]
#[test]
fn every_part_says_where_its_pages_are() -> Result<()> {
    let _alone = alone();
    let len = 4 << 20;
    let mut buffer = ManagedBuffer::from_slice(&vec![1_u8; len])?;
    buffer.host_mut()?.fill(2);
    // Parts of a MiB, and the rest of it.
    let part = buffer.slice(..len - 4096)?;
    let found = part.locations(1 << 20, 0)?;
    assert_eq!(found.len(), 4);
    let on_the_host =
        |place: &Option<_>| matches!(place, Some(MemoryLocation::Host | MemoryLocation::HostNuma(_)));
    assert!(found.iter().all(on_the_host), "the host has just written them: {found:?}");
    assert_eq!(buffer.as_slice().locations(len, 4096)?.len(), 1);
    assert!(buffer.slice(..0)?.locations(0, 0)?.is_empty());
    let refused =
        |summary, sampling| buffer.as_slice().locations(summary, sampling).unwrap_err().detail().clone();
    assert!(refused(0, 0).as_str().contains("is zero, at least 1 is needed"));
    let (asked, limit) = (len as u64 + 1, len as u64);
    assert!(refused(len + 1, 0).as_str().contains(&format!(" is {asked}, at most {limit} is possible")));
    assert!(refused(4096, 8192).as_str().contains("is 8192, at most 4096 is"));
    Ok(())
}

/// Only the emulator has such devices here: another process gets one by its environment.
#[cfg(unix)]
#[test]
fn without_concurrent_managed_access_the_error_says_what_to_use_instead() {
    let _alone = alone();
    let mut command = cuda_testing::child::command(test_beside!("the_process_without_managed_memory"), &[]);
    command.env("CUDA_EMULATOR_MANAGED", "0");
    let mut other = cuda_testing::child::Talk::start(command);
    let found = other.hear_one_of(&["refused", "concurrent"]);
    other.end();
    if std::env::var("CUDA_RUNNER").as_deref() == Ok("emulator") {
        assert_eq!(found, "refused");
    }
}

#[cfg(unix)]
#[test]
#[ignore = "the other process of another test"]
fn the_process_without_managed_memory() {
    let Err(error) = ManagedBuffer::<u32>::alloc(4) else {
        return cuda_testing::child::say("concurrent");
    };
    assert!(error.detail().as_str().starts_with("device 0 has no concurrent managed access: "), "{error}");
    assert_eq!(error.code(), cuda_safe::sys::cudaErrorNotSupported);
    assert!(error.to_string().contains("use a PinnedBuffer"), "{error}");
    assert!(!Device::current().unwrap().properties().unwrap().concurrent_managed_access());
    // Memory that does the same.
    let mut pinned = PinnedBuffer::<u32>::alloc(4).unwrap();
    memset(&mut pinned, 0).unwrap();
    assert_eq!(*pinned.host().unwrap(), [0; 4]);
    cuda_testing::child::say("refused");
}
