//! Many copies in one call: the results, the order, and the refusals.
//!
//! Not under initcheck: it does not see what cudaMemcpyBatchAsync writes.
#![expect(unsafe_code, reason = "captures with raw calls, and names an order that has duties")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::copy::{CopyAttributes, CopyBatch, Overlap};
use cuda_safe::error::Detail;
use cuda_safe::memory::MemoryLocation;
use cuda_safe::{
    Device, DeviceBuffer, PinnedBuffer, Registered, Result, Stream, check, error, hazard, memcpy_async,
    memset_async, sys,
};
use cuda_testing::{Gate, alone};

/// Numbers that identify their buffer.
fn numbers(of: u32) -> Vec<u32> {
    (0..100).map(|i| of * 1000 + i).collect()
}

#[test]
fn every_direction_arrives_in_one_batch() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (pinned, device) = (PinnedBuffer::from_slice(&numbers(1))?, DeviceBuffer::from_slice(&numbers(2))?);
    let registered = Registered::new(numbers(3))?;
    let mut to_device = DeviceBuffer::<u32>::alloc(100)?;
    let mut within = DeviceBuffer::<u32>::alloc(100)?;
    let mut to_host = PinnedBuffer::<u32>::alloc(100)?;
    let mut host_to_host = Registered::new(vec![0_u32; 100])?;
    let batch = CopyBatch::new()
        .copy(&mut to_device, &pinned)
        .copy(&mut within, &device)
        .copy(&mut to_host, &device)
        .copy(&mut host_to_host, &registered);
    assert_eq!((batch.len(), batch.size_in_bytes(), batch.is_empty()), (4, 1600, false));
    batch.enqueue(&stream)?;
    assert_eq!(to_device.to_vec()?, numbers(1));
    assert_eq!(within.to_vec()?, numbers(2));
    assert_eq!(to_host.host()?[..], numbers(2));
    assert_eq!(host_to_host.host()?[..], numbers(3));
    Ok(())
}

#[test]
fn many_copies_up_and_down_and_within_arrive_from_whichever_call_they_are_in() -> Result<()> {
    const COPIES: usize = 100;
    let _alone = alone();
    let (host, device) = (PinnedBuffer::from_slice(&numbers(0))?, DeviceBuffer::from_slice(&numbers(1))?);
    let slices = numbers(2);
    for stream in [Stream::non_blocking()?, Stream::new()?] {
        let mut up = DeviceBuffer::<u32>::alloc_zeroed(2 * COPIES)?;
        let mut within = DeviceBuffer::<u32>::alloc_zeroed(COPIES)?;
        let mut down = PinnedBuffer::<u32>::alloc(COPIES)?;
        let mut up_to: Vec<_> = up.slice_mut(..)?.chunks_mut(1)?.collect();
        let mut within_to: Vec<_> = within.slice_mut(..)?.chunks_mut(1)?.collect();
        let mut down_to: Vec<_> = down.slice_mut(..)?.chunks_mut(1)?.collect();
        let from_host: Vec<_> = host.slice(..)?.chunks(1)?.collect();
        let from_device: Vec<_> = device.slice(..)?.chunks(1)?.collect();
        // Attributes and orders change now and then, at other copies than the calls do.
        let mut batch = CopyBatch::with_capacity(4 * COPIES);
        let places = up_to.chunks_mut(2).zip(&mut within_to).zip(&mut down_to);
        for (i, ((up, within), down)) in places.enumerate() {
            let [even, odd] = up else { panic!("two places a copy") };
            let wish = if i % 7 < 3 { Overlap::Never } else { Overlap::Always };
            let wish = CopyAttributes::new().overlap(wish);
            batch = batch
                .with(wish)
                .copy(even, &from_host[i])
                .copy(within, &from_device[i])
                .with(CopyAttributes::new())
                .copy_during_call(odd, &slices[i..=i])
                .with(wish)
                .copy(down, &from_device[i]);
        }
        assert_eq!((batch.len(), batch.size_in_bytes()), (4 * COPIES, 16 * COPIES));
        batch.enqueue(&stream)?;
        drop(batch);
        stream.synchronize()?;
        let pairs: Vec<u32> = numbers(0).into_iter().zip(numbers(2)).flat_map(<[u32; 2]>::from).collect();
        assert_eq!(up.to_vec()?, pairs);
        assert_eq!((within.to_vec()?, down.host()?.to_vec()), (device.to_vec()?, device.to_vec()?));
    }
    Ok(())
}

#[test]
fn copies_between_devices_are_part_of_a_batch() -> Result<()> {
    let _alone = alone();
    if Device::count()? < 2 {
        println!("one device only: no copy between two");
        return Ok(());
    }
    let stream = Stream::non_blocking()?;
    let there = Device::new(1)?.with_current(|| DeviceBuffer::from_slice(&numbers(1)))?;
    let mut other = Device::new(1)?.with_current(|| DeviceBuffer::<u32>::alloc(100))?;
    let (mut here, host) = (DeviceBuffer::<u32>::alloc(100)?, PinnedBuffer::from_slice(&numbers(2))?);
    let batch = CopyBatch::new().copy(&mut here, &there).copy(&mut other, &host);
    // With any current device.
    Device::new(1)?.with_current(|| batch.enqueue(&stream))?;
    assert_eq!((here.to_vec()?, other.to_vec()?), (numbers(1), numbers(2)));
    Ok(())
}

#[test]
fn parts_of_a_buffer_are_copied_and_what_is_between_them_is_not() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let hosts: Vec<_> = (0..64).map(|i| PinnedBuffer::from_slice(&[i; 7])).collect::<Result<_>>()?;
    let mut device = DeviceBuffer::from_slice(&[-1_i32; 640])?;
    let mut parts = Vec::new();
    for part in device.slice_mut(..)?.chunks_mut(10)? {
        parts.push(part.split_at_mut(7)?.0);
    }
    let batch: CopyBatch<'_> = parts.iter_mut().zip(&hosts).collect();
    assert_eq!(batch.len(), 64);
    batch.enqueue(&stream)?;
    let expected: Vec<i32> = (0..64).flat_map(|i| [[i; 7].as_slice(), &[-1; 3]].concat()).collect();
    assert_eq!(device.to_vec()?, expected);
    Ok(())
}

#[test]
fn a_batch_can_be_put_on_streams_again_and_again() -> Result<()> {
    let _alone = alone();
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let host = PinnedBuffer::from_slice(&numbers(4))?;
    let mut device = DeviceBuffer::<u32>::alloc(100)?;
    let batch = CopyBatch::with_capacity(1).copy(&mut device, &host);
    for stream in [&one, &other, &one] {
        batch.enqueue(stream)?;
    }
    assert_eq!(device.to_vec()?, numbers(4));
    Ok(())
}

#[test]
fn copies_without_elements_are_left_out() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (nothing, something) = (PinnedBuffer::<u8>::alloc(0)?, PinnedBuffer::from_slice(&[7_u8])?);
    let (mut none, mut one) = (DeviceBuffer::<u8>::alloc(0)?, DeviceBuffer::<u8>::alloc(1)?);
    let batch = CopyBatch::new().copy(&mut none, &nothing).copy(&mut one, &something);
    assert_eq!(batch.len(), 1);
    batch.enqueue(&stream)?;
    assert_eq!(one.to_vec()?, [7]);
    let batch = CopyBatch::new().copy(&mut none, &nothing);
    assert!(batch.is_empty());
    batch.enqueue(&stream)?;
    CopyBatch::new().enqueue(&stream)
}

#[test]
fn the_first_error_comes_out_and_nothing_is_copied() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let host = PinnedBuffer::from_slice(&numbers(1))?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&numbers(0))?, DeviceBuffer::<u32>::alloc(99)?);
    let line = line!() + 1;
    let batch = CopyBatch::new().copy(&mut a, &host).copy(&mut b, &host);
    let error = batch.enqueue(&stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(99, 100));
    assert_eq!(error.call_site().line(), line, "the line that added the copy");
    assert_eq!(a.to_vec()?, numbers(0));
    Ok(())
}

#[test]
fn the_legacy_stream_gets_a_loop_in_the_order_of_its_work() -> Result<()> {
    let _alone = alone();
    let host = PinnedBuffer::from_slice(&numbers(5))?;
    let (mut a, mut b) = (DeviceBuffer::<u32>::alloc(100)?, DeviceBuffer::<u32>::alloc(100)?);
    let kept = numbers(6);
    let legacy = Stream::legacy()?;
    memset_async(&mut a, 1, &legacy)?;
    CopyBatch::new().copy(&mut a, &host).copy_during_call(&mut b, &kept).enqueue(&legacy)?;
    drop(kept);
    assert_eq!((a.to_vec()?, b.to_vec()?), (numbers(5), numbers(6)));
    Ok(())
}

#[test]
fn the_per_thread_stream_takes_batches() -> Result<()> {
    let _alone = alone();
    let host = PinnedBuffer::from_slice(&numbers(5))?;
    let mut device = DeviceBuffer::<u32>::alloc(100)?;
    CopyBatch::new().copy(&mut device, &host).enqueue(&Stream::per_thread()?)?;
    assert_eq!(device.to_vec()?, numbers(5));
    Ok(())
}

#[test]
fn a_source_is_read_in_the_order_of_the_stream() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let (new, mut host) = (DeviceBuffer::from_slice(&numbers(7))?, PinnedBuffer::from_slice(&numbers(0))?);
    let mut device = DeviceBuffer::<u32>::alloc(100)?;
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut host, &new, &stream)?;
    CopyBatch::new().copy(&mut device, &host).enqueue(&stream)?;
    gate.open();
    assert_eq!(device.to_vec()?, numbers(7));
    Ok(())
}

#[test]
fn a_slice_copied_during_the_call_may_go_at_once() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut device, mut other) = (DeviceBuffer::<u32>::alloc(100)?, DeviceBuffer::<u32>::alloc(100)?);
    let host = PinnedBuffer::from_slice(&numbers(9))?;
    let gate = Gate::on(&alone, &stream);
    let mut values = numbers(8);
    CopyBatch::new().copy_during_call(&mut device, &values).copy(&mut other, &host).enqueue(&stream)?;
    values.fill(0);
    let done = stream.is_done()?;
    gate.open();
    assert!(!done, "the destination is written in the order of the stream");
    assert_eq!((device.to_vec()?, other.to_vec()?), (numbers(8), numbers(9)));
    Ok(())
}

#[test]
fn a_source_in_any_order_arrives() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (host, mut device) = (PinnedBuffer::from_slice(&numbers(3))?, DeviceBuffer::<u32>::alloc(100)?);
    // SAFETY: no work was ever submitted to a stream that writes the source.
    let early = unsafe { CopyAttributes::new().read_in_any_order() };
    CopyBatch::new().with(early).copy(&mut device, &host).enqueue(&stream)?;
    assert_eq!(device.to_vec()?, numbers(3));
    Ok(())
}

#[test]
fn wishes_change_nothing_about_what_is_copied() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let host: Vec<_> =
        (0..6_u8).map(|i| PinnedBuffer::from_slice(&vec![i; 100_000])).collect::<Result<_>>()?;
    let mut devices: Vec<_> = (0..6).map(|_| DeviceBuffer::<u8>::alloc(100_000)).collect::<Result<_>>()?;
    let small = CopyAttributes::new().overlap(Overlap::Small);
    let here = MemoryLocation::Device(Device::current()?);
    let near = small.source_hint(MemoryLocation::Host).destination_hint(here);
    let wishes =
        [CopyAttributes::new(), small, small, near, near, CopyAttributes::new().overlap(Overlap::Always)];
    let mut batch = CopyBatch::new();
    for ((device, host), wish) in devices.iter_mut().zip(&host).zip(wishes) {
        batch = batch.with(wish).copy(device, host);
    }
    batch.enqueue(&stream)?;
    for (device, i) in devices.iter().zip(0..) {
        assert_eq!(device.to_vec()?, vec![i; 100_000]);
    }
    Ok(())
}

#[test]
fn work_of_another_stream_on_any_of_the_memory_comes_first() -> Result<()> {
    let alone = alone();
    let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let sources: Vec<_> = (0..8).map(|_| PinnedBuffer::from_slice(&[1_u8; 64])).collect::<Result<_>>()?;
    let mut device = DeviceBuffer::from_slice(&[0_u8; 512])?;
    let mut back = PinnedBuffer::<u8>::alloc(64)?;
    Device::current()?.synchronize()?;
    let before = hazard::added_waits();
    let gate = Gate::on(&alone, &first);
    memset_async(&mut device.slice_mut(64..128)?, 9, &first)?;
    memcpy_async(&mut back, &device.slice(128..192)?, &first)?;
    let mut parts: Vec<_> = device.slice_mut(..)?.chunks_mut(64)?.collect();
    parts.iter_mut().zip(&sources).collect::<CopyBatch<'_>>().enqueue(&second)?;
    let (waits, done) = (hazard::added_waits() - before, second.is_done()?);
    // Before anything can fail: freeing the memory waits for the gate.
    gate.open();
    assert_eq!((waits, done), (1, false), "one wait covers both conflicts");
    assert_eq!(device.to_vec()?, [1; 512]);
    assert_eq!(back.host()?[..], [0; 64]);
    Ok(())
}

#[test]
fn the_host_gets_pinned_memory_when_the_batch_is_done_with_it() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let device = DeviceBuffer::from_slice(&numbers(2))?;
    let (mut a, mut b) = (PinnedBuffer::<u32>::alloc(50)?, PinnedBuffer::<u32>::alloc(50)?);
    let gate = Gate::on(&alone, &stream);
    let (left, right) = (device.slice(..50)?, device.slice(50..)?);
    CopyBatch::new().copy(&mut a, &left).copy(&mut b, &right).enqueue(&stream)?;
    let opener = std::thread::spawn(move || gate.open());
    assert_eq!([&a.host()?[..], &b.host()?[..]].concat(), numbers(2));
    opener.join().unwrap();
    Ok(())
}

#[test]
fn in_a_host_function_a_batch_is_refused() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let inner = Stream::non_blocking()?;
    let (host, mut device) = (PinnedBuffer::from_slice(&numbers(1))?, DeviceBuffer::from_slice(&numbers(0))?);
    let (tell, told) = std::sync::mpsc::channel();
    stream.launch_host_fn(move || {
        let refused = CopyBatch::new().copy(&mut device, &host).enqueue(&inner).unwrap_err();
        tell.send((refused.detail().clone(), device)).unwrap();
    })?;
    let (detail, device) = told.recv().unwrap();
    assert_eq!(detail, Detail::IN_CALLBACK);
    stream.synchronize()?;
    assert_eq!(device.to_vec()?, numbers(0));
    Ok(())
}

/// The runtime refuses a batch on a captured stream but does not invalidate the capture. Without the
/// crate's own refusal, the result would be a graph without the copies.
#[test]
fn in_a_capture_every_copy_becomes_a_node_and_none_is_lost() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut host = PinnedBuffer::from_slice(&numbers(1))?;
    let values = numbers(2);
    let (mut a, mut b) = (DeviceBuffer::from_slice(&numbers(0))?, DeviceBuffer::from_slice(&numbers(0))?);
    let mut c = DeviceBuffer::from_slice(&numbers(0))?;
    // The wait of a batch after a fill is not part of the graph.
    memset_async(&mut host.slice_mut(..1)?, 0, &stream)?;
    host.host_mut()?.copy_from_slice(&numbers(1));
    Device::current()?.synchronize()?;
    let raw = stream.as_raw();
    // SAFETY: the stream is live. The captured graph runs before its memory is dropped.
    let begun = unsafe { check!(cudaStreamBeginCapture(raw, sys::cudaStreamCaptureModeRelaxed)) };
    let enqueued = CopyBatch::new().copy(&mut a, &host).copy(&mut b, &host).enqueue(&stream);
    let during = CopyBatch::new().copy_during_call(&mut c, &values).enqueue(&stream);
    let mut graph = std::ptr::null_mut();
    // SAFETY: the stream is live, and the pointer is to a variable, which the call fills.
    let ended = unsafe { check!(cudaStreamEndCapture(raw, &raw mut graph)) };
    enqueued?;
    match begun {
        Ok(()) => {
            ended?;
            assert_eq!(during.unwrap_err().detail(), &Detail::CAPTURING);
            let mut nodes = 0;
            // SAFETY: the graph was just made. With a null array the call only counts the nodes.
            unsafe { check!(cudaGraphGetNodes(graph, std::ptr::null_mut(), &raw mut nodes)) }?;
            // SAFETY: the graph has no other owner.
            unsafe { check!(cudaGraphDestroy(graph)) }?;
            assert_eq!(nodes, 2);
            assert_eq!(error::take_last(), Ok(()));
            assert_eq!(a.to_vec()?, numbers(0), "what was captured has not run");
        }
        Err(refused) => {
            assert_eq!(refused.code(), sys::cudaErrorNotSupported, "{refused}");
            assert!(std::env::var_os("CUDA_TEST_REQUIRE_GPU").is_none(), "a GPU's runtime captures");
            assert!(ended.is_err());
            let _ = error::take_last();
            during?;
            assert_eq!((a.to_vec()?, b.to_vec()?, c.to_vec()?), (numbers(1), numbers(1), numbers(2)));
        }
    }
    Ok(())
}

#[cfg(cudart_13_2)]
#[test]
fn one_copy_with_wishes_arrives_on_every_kind_of_stream() -> Result<()> {
    use cuda_safe::copy::memcpy_with_attributes_async;

    let _alone = alone();
    let wishes = CopyAttributes::new().overlap(Overlap::Small);
    let host = PinnedBuffer::from_slice(&numbers(1))?;
    for number in 0..2 {
        let mut device = DeviceBuffer::<u32>::alloc(100)?;
        match number {
            0 => memcpy_with_attributes_async(&mut device, &host, wishes, &Stream::non_blocking()?)?,
            _ => memcpy_with_attributes_async(&mut device, &host, wishes, &Stream::legacy()?)?,
        }
        assert_eq!(device.to_vec()?, numbers(1));
    }
    Ok(())
}

/// Both sides are host memory: the runtime may copy at once. The copies still come after the work that the
/// stream waits for.
#[test]
fn on_the_legacy_stream_a_slice_reaches_pinned_memory_after_what_was_written_there_before() -> Result<()> {
    let alone = alone();
    let (first, legacy) = (Stream::non_blocking()?, Stream::legacy()?);
    let old = DeviceBuffer::from_slice(&[0_u32; 100])?;
    let mut host = PinnedBuffer::<u32>::alloc(100)?;
    let values = numbers(1);
    let gate = Gate::on(&alone, &first);
    let opener = std::thread::spawn(move || gate.open());
    let enqueued = (|| {
        memcpy_async(&mut host, &old, &first)?;
        CopyBatch::new().copy_during_call(&mut host, &values).enqueue(&legacy)
    })();
    opener.join().unwrap();
    enqueued?;
    assert_eq!(host.host()?[..], values);
    Ok(())
}
