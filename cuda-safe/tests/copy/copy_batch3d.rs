//! Many copies of rows and layers in one call: the results byte for byte, the order, and the refusals.
//!
//! Not under initcheck: it does not see what cudaMemcpy3DBatchAsync writes.
#![expect(unsafe_code, reason = "captures with raw calls, and names an order that has duties")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::copy::{CopyAttributes, CopyBatch3d, Overlap};
use cuda_safe::error::Detail;
use cuda_safe::memory::{
    Array, ArrayBuilder, ManagedBuffer, MemoryLocation, PitchedBuffer, PitchedVolume, Plane, Volume,
};
use cuda_safe::{
    Device, DeviceBuffer, PinnedBuffer, Result, Stream, check, error, hazard, memcpy_2d_async, memcpy_3d,
    memcpy_async, memset_async, sys,
};
use cuda_testing::{Gate, alone};

const W: usize = 7;
const H: usize = 5;
const D: usize = 4;
/// The value of the memory around a copy.
const GUARD: u16 = 0xeeee;

fn numbers(len: usize) -> Vec<u16> {
    (1..).take(len).collect()
}

/// The number at this position of a volume of numbers.
fn number(x: usize, y: usize, z: usize) -> u16 {
    u16::try_from((z * H + y) * W + x + 1).unwrap()
}

#[test]
fn every_kind_of_operand_arrives_in_one_batch() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let host = PinnedBuffer::from_slice(&numbers(W * H * D))?;
    let managed = ManagedBuffer::from_slice(&numbers(W * H))?;
    let (host_volume, host_plane) = (host.volume(W, H, D)?, host.slice(..W * H)?.plane(W, H)?);
    let managed_plane = managed.plane(W, H)?;
    let mut pitched = PitchedBuffer::<u16>::alloc(W, H)?;
    let mut from_managed = PitchedBuffer::<u16>::alloc(W, H)?;
    let mut volume = PitchedVolume::<u16>::alloc(W, H, D)?;
    let (mut flat, mut solid) = (Array::<u16>::alloc_2d(W, H)?, Array::<u16>::alloc_3d(W, H, D)?);
    let mut layered = ArrayBuilder::plane(W, H).layers(D).alloc::<u16>()?;
    let up = CopyBatch3d::with_capacity(6)
        .copy_2d(&mut pitched, &host_plane)
        .copy_2d(&mut from_managed, &managed_plane)
        .copy_3d(&mut volume, &host_volume)
        .copy_2d(&mut flat, &host_plane)
        .copy_3d(&mut solid, &host_volume)
        .copy_3d(&mut layered, &host_volume);
    let bytes = 3 * W * H * 2 + 3 * W * H * D * 2;
    assert_eq!((up.len(), up.size_in_bytes(), up.is_empty()), (6, bytes, false));
    up.enqueue(&stream)?;
    assert_eq!([pitched.to_vec()?, from_managed.to_vec()?, flat.to_vec()?], [(); 3].map(|()| numbers(W * H)));
    let all = [volume.to_vec()?, solid.to_vec()?, layered.to_vec()?];
    assert_eq!(all, [(); 3].map(|()| numbers(W * H * D)));

    // Within the device, and to the host.
    let mut other = Array::<u16>::alloc_3d(W, H, D)?;
    let (mut from_layers, mut from_flat) = (PitchedVolume::alloc(W, H, D)?, PitchedBuffer::alloc(W, H)?);
    let (mut down, mut row) = (PinnedBuffer::<u16>::alloc(W * H * D)?, PinnedBuffer::<u16>::alloc(W * H)?);
    let (mut down_volume, mut row_plane) = (down.volume_mut(W, H, D)?, row.plane_mut(W, H)?);
    CopyBatch3d::new()
        .copy_3d(&mut other, &solid)
        .copy_3d(&mut from_layers, &layered)
        .copy_2d(&mut from_flat, &flat)
        .copy_3d(&mut down_volume, &volume)
        .copy_2d(&mut row_plane, &pitched)
        .enqueue(&stream)?;
    assert_eq!([other.to_vec()?, from_layers.to_vec()?], [(); 2].map(|()| numbers(W * H * D)));
    assert_eq!(from_flat.to_vec()?, numbers(W * H));
    assert_eq!((down.host()?.to_vec(), row.host()?.to_vec()), (numbers(W * H * D), numbers(W * H)));
    Ok(())
}

#[test]
fn parts_go_to_where_they_belong_and_nothing_around_them_is_touched() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let host = PinnedBuffer::from_slice(&numbers(W * H * D))?;
    let source = host.volume(W, H, D)?;
    // Rows with gaps between them, and layers with gaps between them.
    let (pitch, layer_rows) = (2 * W + 6, H + 2);
    let mut device = DeviceBuffer::from_slice(&[GUARD; 1000])?;
    let mut array = Array::<u16>::alloc_3d(W, H, D)?;
    memcpy_3d(&mut array, &Volume::from_slice(&[GUARD; W * H * D], W, H, D)?)?;
    {
        let mut all = device.slice_mut(..)?.volume_mut_with_pitch((W, H, D), pitch, layer_rows)?;
        let mut to = all.columns_mut(2..6)?;
        let mut to = to.rows_mut(1..3)?;
        let mut to = to.layers_mut(1..)?;
        let from = source.columns(3..)?.rows(2..4)?.layers(..3)?;
        let mut to_array = array.view_mut();
        let mut to_array = to_array.columns_mut(1..5)?;
        let mut to_array = to_array.rows_mut(3..)?;
        let mut to_array = to_array.layers_mut(..3)?;
        CopyBatch3d::new().copy_3d(&mut to, &from).copy_3d(&mut to_array, &from).enqueue(&stream)?;
    }
    for (at, found) in device.to_vec()?.into_iter().enumerate() {
        let (x, row) = (at % (pitch / 2), at / (pitch / 2));
        let (y, z) = (row % layer_rows, row / layer_rows);
        let inside = (2..6).contains(&x) && (1..3).contains(&y) && (1..4).contains(&z);
        assert_eq!(found, if inside { number(x + 1, y + 1, z - 1) } else { GUARD }, "{x} {y} {z}");
    }
    for (at, found) in array.to_vec()?.into_iter().enumerate() {
        let (x, y, z) = (at % W, at / W % H, at / W / H);
        let inside = (1..5).contains(&x) && (3..H).contains(&y) && z < 3;
        assert_eq!(found, if inside { number(x + 2, y - 1, z) } else { GUARD }, "{x} {y} {z}");
    }
    Ok(())
}

#[test]
fn tiles_of_one_plane_and_one_array_are_written_together_from_one_source() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let tile = PinnedBuffer::from_slice(&[1_u8, 2, 3, 4, 5, 6])?;
    let tile = tile.plane(3, 2)?;
    let mut plane = PitchedBuffer::<u8>::alloc(12, 2)?;
    let mut array = Array::<u8>::alloc_2d(6, 4)?;
    {
        let (left, right) = plane.plane_mut().split_at_column_mut(6)?;
        let ((mut a, mut b), (mut c, mut d)) = (left.split_at_column_mut(3)?, right.split_at_column_mut(3)?);
        let (upper, lower) = array.view_mut().split_at_row_mut(2)?;
        let ((mut e, mut f), (mut g, mut h)) = (upper.split_at_column_mut(3)?, lower.split_at_column_mut(3)?);
        let mut batch = CopyBatch3d::new();
        for part in [&mut a, &mut b, &mut c, &mut d] {
            batch = batch.copy_2d(part, &tile);
        }
        for part in [&mut e, &mut f, &mut g, &mut h] {
            batch = batch.copy_2d(part, &tile);
        }
        batch.enqueue(&stream)?;
    }
    assert_eq!(plane.to_vec()?, [[1, 2, 3].repeat(4), [4, 5, 6].repeat(4)].concat());
    let rows = [[1, 2, 3].repeat(2), [4, 5, 6].repeat(2)].concat();
    assert_eq!(array.to_vec()?, rows.repeat(2));
    Ok(())
}

/// C counts the pitch of memory in elements of the array on the other side. 20 bytes are not a whole number
/// of elements of 16.
#[test]
fn rows_that_do_not_begin_whole_elements_apart_arrive_too() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (width, height, depth) = (1, 3, 2);
    // Row `i` has the numbers from `5 i` on.
    let all: Vec<[f32; 4]> = (0_u8..8).map(|i| [0, 1, 2, 3].map(|part| f32::from(4 * i + part))).collect();
    let host = PinnedBuffer::from_slice(&all)?;
    let volume = host.slice(..)?.volume_with_pitch((width, height, depth), 20, height)?;
    let mut array = Array::<[f32; 4]>::alloc_3d(width, height, depth)?;
    CopyBatch3d::new().copy_3d(&mut array, &volume).enqueue(&stream)?;
    let rows: Vec<[f32; 4]> = (0_u8..6).map(|i| [0, 1, 2, 3].map(|part| f32::from(5 * i + part))).collect();
    assert_eq!(array.to_vec()?, rows);

    let mut back = PinnedBuffer::from_slice(&[[-1.0_f32; 4]; 8])?;
    let mut to = back.slice_mut(..)?.volume_mut_with_pitch((width, height, depth), 20, height)?;
    CopyBatch3d::new().copy_3d(&mut to, &array).enqueue(&stream)?;
    for (at, found) in back.host()?.iter().flatten().enumerate() {
        let expected = if at % 5 < 4 && at < 29 { all[at / 4][at % 4] } else { -1.0 };
        assert!((found - expected).abs() < 0.1, "{at}: {found}, not {expected}");
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
    let (stream, other) = (Stream::non_blocking()?, Device::new(1)?);
    let host = PinnedBuffer::from_slice(&numbers(W * H))?;
    let plane = host.plane(W, H)?;
    let (mut there, mut array) =
        other.with_current(|| Ok((PitchedBuffer::<u16>::alloc(W, H)?, Array::<u16>::alloc_2d(W, H)?)))?;
    CopyBatch3d::new().copy_2d(&mut there, &plane).copy_2d(&mut array, &plane).enqueue(&stream)?;
    let (mut here, mut here_array) = (PitchedBuffer::<u16>::alloc(W, H)?, Array::<u16>::alloc_2d(W, H)?);
    let batch = CopyBatch3d::new().copy_2d(&mut here, &there).copy_2d(&mut here_array, &array);
    // With any current device.
    other.with_current(|| batch.enqueue(&stream))?;
    assert_eq!((here.to_vec()?, here_array.to_vec()?), (numbers(W * H), numbers(W * H)));
    Ok(())
}

#[test]
fn copies_without_elements_are_left_out_and_a_batch_is_put_on_streams_again_and_again() -> Result<()> {
    let _alone = alone();
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let host = PinnedBuffer::from_slice(&numbers(W * H))?;
    let (plane, none) = (host.plane(W, H)?, host.slice(..0)?.plane(0, 0)?);
    let (mut device, mut nothing) = (PitchedBuffer::<u16>::alloc(W, H)?, PitchedBuffer::<u16>::alloc(0, 0)?);
    let batch = CopyBatch3d::new().copy_2d(&mut nothing, &none).copy_2d(&mut device, &plane);
    assert_eq!(batch.len(), 1);
    for stream in [&one, &other, &one] {
        batch.enqueue(stream)?;
    }
    assert_eq!(device.to_vec()?, numbers(W * H));
    let batch = CopyBatch3d::new().copy_2d(&mut nothing, &none);
    assert!(batch.is_empty());
    batch.enqueue(&one)?;
    CopyBatch3d::new().enqueue(&one)
}

#[test]
fn the_first_error_comes_out_and_nothing_is_copied() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let host = PinnedBuffer::from_slice(&numbers(12))?;
    let plane = host.plane(4, 3)?;
    let mut a = DeviceBuffer::from_slice(&[0_u16; 12])?;
    let mut b = PitchedBuffer::<u16>::alloc(3, 4)?;
    {
        let mut to = a.plane_mut(4, 3)?;
        let line = line!() + 1;
        let batch = CopyBatch3d::new().copy_2d(&mut to, &plane).copy_2d(&mut b, &plane);
        let error = batch.enqueue(&stream).unwrap_err();
        let expected = Detail::extent_mismatch([3, 4, 1], [4, 3, 1]);
        assert_eq!(error.detail(), &expected);
        assert_eq!(error.call_site().line(), line, "the line that added the copy");
    }
    assert_eq!(a.to_vec()?, [0; 12]);
    Ok(())
}

#[test]
fn the_legacy_and_the_per_thread_stream_take_batches_in_the_order_of_their_work() -> Result<()> {
    let _alone = alone();
    let (host, kept) = (PinnedBuffer::from_slice(&numbers(W * H))?, numbers(W * H));
    let plane = host.plane(W, H)?;
    let mut a = DeviceBuffer::<u16>::alloc(W * H)?;
    let mut b = PitchedVolume::<u16>::alloc(W, H, 1)?;
    let mut c = ManagedBuffer::from_slice(&[GUARD; W * H])?;
    let legacy = Stream::legacy()?;
    memset_async(&mut a, 1, &legacy)?;
    {
        let (mut to_a, mut to_c) = (a.plane_mut(W, H)?, c.plane_mut(W, H)?);
        CopyBatch3d::new()
            .copy_2d(&mut to_a, &plane)
            .copy_3d_during_call(&mut b, &Volume::from_slice(&kept, W, H, 1)?)
            .copy_2d_during_call(&mut to_c, &Plane::from_slice(&kept, W, H)?)
            .enqueue(&legacy)?;
    }
    drop(kept);
    assert_eq!([a.to_vec()?, b.to_vec()?, c.host()?.to_vec()], [(); 3].map(|()| numbers(W * H)));

    let mut array = Array::<u16>::alloc_2d(W, H)?;
    CopyBatch3d::new().copy_2d(&mut array, &plane).enqueue(&Stream::per_thread()?)?;
    assert_eq!(array.to_vec()?, numbers(W * H));
    Ok(())
}

#[test]
fn sources_are_read_in_the_order_of_the_stream_or_during_the_call() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let new = DeviceBuffer::from_slice(&numbers(W * H))?;
    let mut host = PinnedBuffer::from_slice(&[GUARD; W * H])?;
    let (mut ordered, mut during) = (PitchedBuffer::<u16>::alloc(W, H)?, Array::<u16>::alloc_2d(W, H)?);
    let mut values = numbers(W * H);
    let gate = Gate::on(&alone, &stream);
    let enqueued = (|| {
        memcpy_2d_async(&mut host.plane_mut(W, H)?, &new.plane(W, H)?, &stream)?;
        CopyBatch3d::new().copy_2d(&mut ordered, &host.plane(W, H)?).enqueue(&stream)
    })();
    let done = stream.is_done();
    gate.open();
    enqueued?;
    assert!(!done?, "the destination is written in the order of the stream");
    // Not behind the gate: if rows go to an array, the runtime waits for the stream before it reads them.
    CopyBatch3d::new()
        .copy_2d_during_call(&mut during, &Plane::from_slice(&values, W, H)?)
        .enqueue(&stream)?;
    values.fill(0);
    assert_eq!((ordered.to_vec()?, during.to_vec()?), (numbers(W * H), numbers(W * H)));
    Ok(())
}

#[test]
fn sources_in_any_order_arrive() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let host = PinnedBuffer::from_slice(&numbers(W * H))?;
    let (plane, volume) = (host.plane(W, H)?, host.volume(W, H, 1)?);
    let (mut a, mut b) = (PitchedBuffer::<u16>::alloc(W, H)?, PitchedVolume::<u16>::alloc(W, H, 1)?);
    // SAFETY: no work was ever submitted to a stream that writes the source.
    let early = unsafe { CopyAttributes::new().read_in_any_order() };
    CopyBatch3d::new().with(early).copy_2d(&mut a, &plane).copy_3d(&mut b, &volume).enqueue(&stream)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (numbers(W * H), numbers(W * H)));
    Ok(())
}

#[test]
fn wishes_change_nothing_about_what_is_copied() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    // One below and one above the limit for copies that may overlap.
    for height in [100, 1000] {
        let host = PinnedBuffer::from_slice(&numbers(200 * height / 4).repeat(4))?;
        let plane = host.plane(200, height)?;
        let volume = host.volume(100, height, 2)?;
        let mut a = PitchedBuffer::<u16>::alloc(200, height)?;
        let mut b = Array::<u16>::alloc_3d(100, height, 2)?;
        let mut c = ManagedBuffer::<u16>::from_slice(&vec![GUARD; 200 * height])?;
        let small = CopyAttributes::new().overlap(Overlap::Small);
        let here = MemoryLocation::Device(Device::current()?);
        {
            let mut to_c = c.plane_mut(200, height)?;
            CopyBatch3d::new()
                .with(small)
                .copy_2d(&mut a, &plane)
                .with(CopyAttributes::new().overlap(Overlap::Always))
                .copy_3d(&mut b, &volume)
                .with(small.source_hint(MemoryLocation::Host).destination_hint(here))
                .copy_2d(&mut to_c, &plane)
                .enqueue(&stream)?;
        }
        let expected = host.host()?.to_vec();
        assert_eq!([a.to_vec()?, b.to_vec()?, c.host()?.to_vec()], [(); 3].map(|()| expected.clone()));
    }
    Ok(())
}

#[test]
fn work_of_another_stream_on_any_of_the_memory_comes_first() -> Result<()> {
    let alone = alone();
    let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let source = PinnedBuffer::from_slice(&numbers(W * H))?;
    let plane = source.plane(W, H)?;
    let mut device = DeviceBuffer::from_slice(&[GUARD; W * H])?;
    let mut array = Array::<u16>::alloc_2d(W, H)?;
    let mut back = PinnedBuffer::from_slice(&[GUARD; W * H])?;
    CopyBatch3d::new().copy_2d(&mut array, &plane).enqueue(&first)?;
    Device::current()?.synchronize()?;
    let before = hazard::added_waits();
    let gate = Gate::on(&alone, &first);
    let enqueued = (|| {
        memset_async(&mut device, 9, &first)?;
        memcpy_2d_async(&mut back.plane_mut(W, H)?, &array, &first)?;
        let mut to = device.plane_mut(W, H)?;
        CopyBatch3d::new().copy_2d(&mut to, &plane).copy_2d(&mut array, &plane).enqueue(&second)
    })();
    let (waits, done) = (hazard::added_waits() - before, second.is_done());
    // Before anything can fail: freeing the memory waits for the gate.
    gate.open();
    enqueued?;
    assert_eq!((waits, done?), (1, false), "one wait covers both conflicts");
    assert_eq!((device.to_vec()?, back.host()?.to_vec()), (numbers(W * H), numbers(W * H)));
    Ok(())
}

#[test]
fn in_a_host_function_a_batch_is_refused() -> Result<()> {
    let _alone = alone();
    let (stream, inner) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let host = PinnedBuffer::from_slice(&numbers(W * H))?;
    let mut device = DeviceBuffer::from_slice(&[GUARD; W * H])?;
    let (tell, told) = std::sync::mpsc::channel();
    stream.launch_host_fn(move || {
        let refused = (|| {
            let (mut to, from) = (device.plane_mut(W, H)?, host.plane(W, H)?);
            CopyBatch3d::new().copy_2d(&mut to, &from).enqueue(&inner)
        })();
        tell.send((refused.unwrap_err().detail().clone(), device)).unwrap();
    })?;
    let (detail, device) = told.recv().unwrap();
    assert_eq!(detail, Detail::IN_CALLBACK);
    stream.synchronize()?;
    assert_eq!(device.to_vec()?, [GUARD; W * H]);
    Ok(())
}

#[test]
fn a_captured_batch_runs_at_each_launch_with_no_copy_lost() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let mut host = PinnedBuffer::from_slice(&numbers(W * H))?;
    let mut device = PitchedBuffer::<u16>::alloc(W, H)?;
    let mut array = Array::<u16>::alloc_2d(W, H)?;
    let values = numbers(W * H);
    let graph = stream.capture(|s| {
        let (plane, values) = (host.plane(W, H)?, Plane::from_slice(&values, W, H)?);
        CopyBatch3d::new().copy_2d(&mut device, &plane).copy_2d(&mut array, &plane).enqueue(s)?;
        let refused = CopyBatch3d::new().copy_2d_during_call(&mut device, &values).enqueue(s);
        assert_eq!(refused.unwrap_err().detail(), &Detail::CAPTURING);
        Ok(())
    })?;
    assert_eq!(graph.node_count()?, 2);
    let mut exec = graph.instantiate()?;
    for round in 1..3 {
        let numbers: Vec<u16> = numbers(W * H).into_iter().map(|number| number * round).collect();
        host.host_mut()?.copy_from_slice(&numbers);
        exec.launch(&stream)?;
        assert_eq!((device.to_vec()?, array.to_vec()?), (numbers.clone(), numbers));
    }
    Ok(())
}

/// The same in a capture that the crate did not begin: the runtime would refuse the batch but not
/// invalidate the capture.
#[test]
fn in_a_raw_capture_every_copy_becomes_a_node() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let host = PinnedBuffer::from_slice(&numbers(W * H))?;
    let plane = host.plane(W, H)?;
    let (mut a, mut b) = (PitchedBuffer::<u16>::alloc(W, H)?, Array::<u16>::alloc_2d(W, H)?);
    Device::current()?.synchronize()?;
    let raw = stream.as_raw();
    // SAFETY: the stream is live. The graph is never run.
    unsafe { check!(cudaStreamBeginCapture(raw, sys::cudaStreamCaptureModeRelaxed)) }?;
    let enqueued = CopyBatch3d::new().copy_2d(&mut a, &plane).copy_2d(&mut b, &plane).enqueue(&stream);
    let mut graph = std::ptr::null_mut();
    // SAFETY: the stream is live, and the pointer is to a variable, which the call fills.
    unsafe { check!(cudaStreamEndCapture(raw, &raw mut graph)) }?;
    let mut nodes = 0;
    // SAFETY: the graph was just made. With a null array the call only counts the nodes.
    unsafe { check!(cudaGraphGetNodes(graph, std::ptr::null_mut(), &raw mut nodes)) }?;
    // SAFETY: the graph has no other owner.
    unsafe { check!(cudaGraphDestroy(graph)) }?;
    enqueued?;
    assert_eq!(nodes, 2);
    assert_eq!(error::take_last(), Ok(()));
    Ok(())
}

#[cfg(cudart_13_2)]
#[test]
fn one_copy_with_wishes_arrives_on_every_kind_of_stream() -> Result<()> {
    use cuda_safe::copy::{memcpy_2d_with_attributes_async, memcpy_3d_with_attributes_async};

    let _alone = alone();
    let wishes = CopyAttributes::new().overlap(Overlap::Small);
    let host = PinnedBuffer::from_slice(&numbers(W * H * D))?;
    let (plane, volume) = (host.plane(W, H * D)?, host.volume(W, H, D)?);
    for number in 0..2 {
        let mut device = PitchedBuffer::<u16>::alloc(W, H * D)?;
        let mut array = Array::<u16>::alloc_3d(W, H, D)?;
        if number == 0 {
            let stream = Stream::non_blocking()?;
            memcpy_2d_with_attributes_async(&mut device, &plane, wishes, &stream)?;
            memcpy_3d_with_attributes_async(&mut array, &volume, wishes, &stream)?;
        } else {
            let stream = Stream::legacy()?;
            memcpy_2d_with_attributes_async(&mut device, &plane, wishes, &stream)?;
            memcpy_3d_with_attributes_async(&mut array, &volume, wishes, &stream)?;
        }
        assert_eq!((device.to_vec()?, array.to_vec()?), (numbers(W * H * D), numbers(W * H * D)));
    }
    Ok(())
}

/// Both sides are host memory: the runtime may copy at once. The copies still come after the work that the
/// stream waits for.
#[test]
fn on_the_legacy_stream_a_slice_reaches_pinned_memory_after_what_was_written_there_before() -> Result<()> {
    let alone = alone();
    let (first, legacy) = (Stream::non_blocking()?, Stream::legacy()?);
    let old = DeviceBuffer::from_slice(&[0_u16; W * H])?;
    let mut host = PinnedBuffer::<u16>::alloc(W * H)?;
    let values = numbers(W * H);
    let gate = Gate::on(&alone, &first);
    let opener = std::thread::spawn(move || gate.open());
    let enqueued = (|| {
        memcpy_async(&mut host, &old, &first)?;
        let mut to = host.plane_mut(W, H)?;
        CopyBatch3d::new().copy_2d_during_call(&mut to, &Plane::from_slice(&values, W, H)?).enqueue(&legacy)
    })();
    opener.join().unwrap();
    enqueued?;
    assert_eq!(host.host()?[..], values);
    Ok(())
}
