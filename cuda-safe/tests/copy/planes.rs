//! Planes and volumes: the results of copies, refusals before any call, and the data that later work reads.

use cuda_safe::copy::staged;
use cuda_safe::error::Detail;
use cuda_safe::memory::{PitchedBuffer, PitchedVolume, Plane, PlaneMut, Volume, VolumeMut};
use cuda_safe::stream::Stream;
use cuda_safe::{
    Device, DeviceBuffer, PinnedBuffer, Registered, fill, fill_async, hazard, memcpy_2d, memcpy_2d_async,
    memcpy_3d, memcpy_3d_async, memset_2d, memset_2d_async, memset_3d, memset_3d_async,
};
use cuda_testing::{Gate, alone};

fn numbers(len: u32) -> Vec<u32> {
    (0..len).map(|n| n.wrapping_mul(2_654_435_761)).collect()
}

#[test]
fn rows_go_to_the_device_and_back_whatever_the_pitches() {
    let _alone = alone();
    let host = numbers(12);
    let mut device = PitchedBuffer::<u32>::alloc(4, 3).unwrap();
    assert!(device.pitch() >= 16 && device.extent() == [4, 3, 1]);
    memcpy_2d(&mut device, &Plane::from_slice(&host, 4, 3).unwrap()).unwrap();
    assert_eq!(device.to_vec().unwrap(), host);
    // Two columns of two rows, to rows of five elements.
    let mut back = [7_u32; 10];
    let mut to = PlaneMut::from_slice_with_pitch(&mut back, 2, 2, 20).unwrap();
    memcpy_2d(&mut to, &device.plane().rows(1..).unwrap().columns(1..3).unwrap()).unwrap();
    assert_eq!(back, [host[5], host[6], 7, 7, 7, host[9], host[10], 7, 7, 7]);
}

#[test]
fn asynchronous_planes_go_through_pinned_and_registered_memory() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let source = PinnedBuffer::from_slice(&numbers(20)).unwrap();
    let mut middle = PitchedBuffer::<u32>::alloc(5, 4).unwrap();
    let mut other = DeviceBuffer::<u32>::alloc(20).unwrap();
    let mut back = Registered::new(vec![0_u32; 20]).unwrap();
    memset_2d_async(&mut middle, 0xff, &stream).unwrap();
    memcpy_2d_async(&mut middle, &source.plane(5, 4).unwrap(), &stream).unwrap();
    memcpy_2d_async(&mut other.plane_mut(5, 4).unwrap(), &middle, &stream).unwrap();
    memcpy_2d_async(&mut back.as_slice_mut().plane_mut(5, 4).unwrap(), &other.plane(5, 4).unwrap(), &stream)
        .unwrap();
    assert_eq!(*back.host().unwrap(), *numbers(20));
}

#[test]
fn a_part_of_a_volume_is_copied_by_layers_rows_and_columns() {
    let _alone = alone();
    let host = numbers(60);
    let mut device = PitchedVolume::<u32>::alloc(5, 4, 3).unwrap();
    assert_eq!(device.extent(), [5, 4, 3]);
    memcpy_3d(&mut device, &Volume::from_slice(&host, 5, 4, 3).unwrap()).unwrap();
    assert_eq!(device.to_vec().unwrap(), host);
    let part = device.volume().layers(1..).unwrap().rows(2..4).unwrap().columns(..2).unwrap();
    let mut back = [0; 8];
    memcpy_3d(&mut VolumeMut::from_slice(&mut back, 2, 2, 2).unwrap(), &part).unwrap();
    let at = |x: usize, y: usize, z: usize| host[(z * 4 + y) * 5 + x];
    let expected = [
        at(0, 2, 1),
        at(1, 2, 1),
        at(0, 3, 1),
        at(1, 3, 1),
        at(0, 2, 2),
        at(1, 2, 2),
        at(0, 3, 2),
        at(1, 3, 2),
    ];
    assert_eq!(back, expected);
    // One layer of it, as a plane; and layers that begin further apart than their rows require.
    let mut row = [0; 5];
    let second = device.volume().layer(1).unwrap();
    memcpy_2d(&mut PlaneMut::from_slice(&mut row, 5, 1).unwrap(), &second.rows(3..).unwrap()).unwrap();
    assert_eq!(row, host[35..40]);
    let mut wide = [1_u32; 26];
    let mut to = VolumeMut::from_slice_with_pitch(&mut wide, (2, 2, 2), 16, 4).unwrap();
    memcpy_3d(&mut to, &part).unwrap();
    assert_eq!(
        (wide[0..2].to_vec(), wide[20..22].to_vec()),
        (expected[..2].to_vec(), expected[6..].to_vec())
    );
    assert_eq!(wide.iter().filter(|&&n| n == 1).count(), 18);
}

#[test]
fn asynchronous_volumes_go_through_linear_device_memory() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let source = PinnedBuffer::from_slice(&numbers(24)).unwrap();
    let mut middle = PitchedVolume::<u32>::alloc(4, 3, 2).unwrap();
    let mut linear = DeviceBuffer::<u32>::alloc(24).unwrap();
    let mut back = PinnedBuffer::<u32>::alloc(24).unwrap();
    memset_3d_async(&mut middle, 1, &stream).unwrap();
    memcpy_3d_async(&mut middle, &source.volume(4, 3, 2).unwrap(), &stream).unwrap();
    memcpy_3d_async(&mut linear.volume_mut(4, 3, 2).unwrap(), &middle, &stream).unwrap();
    memcpy_3d_async(&mut back.volume_mut(4, 3, 2).unwrap(), &linear.volume(4, 3, 2).unwrap(), &stream)
        .unwrap();
    assert_eq!(*back.host().unwrap(), *numbers(24));
}

#[test]
fn fills_of_rows_and_layers_leave_what_is_between_alone() {
    let _alone = alone();
    let mut device = DeviceBuffer::<u8>::alloc_zeroed(24).unwrap();
    let mut plane = device.plane_mut(6, 4).unwrap();
    memset_2d(&mut plane.columns_mut(1..3).unwrap().rows_mut(1..3).unwrap(), 9).unwrap();
    let rows = [[0; 6], [0, 9, 9, 0, 0, 0], [0, 9, 9, 0, 0, 0], [0; 6]];
    assert_eq!(device.to_vec().unwrap(), rows.concat());
    let mut volume = device.volume_mut(3, 2, 4).unwrap();
    memset_3d(&mut volume.layers_mut(3..).unwrap().columns_mut(2..).unwrap(), 5).unwrap();
    assert_eq!(device.to_vec().unwrap()[18..], [0, 0, 5, 0, 0, 5]);
    let stream = Stream::new().unwrap();
    memset_2d_async(&mut device.plane_mut(6, 4).unwrap(), 1, &stream).unwrap();
    memset_3d_async(&mut device.volume_mut(6, 2, 2).unwrap().rows_mut(1..).unwrap(), 2, &stream).unwrap();
    assert_eq!(device.to_vec().unwrap(), [[1; 6], [2; 6], [1; 6], [2; 6]].concat());
}

#[test]
fn a_fill_sets_elements_of_any_size() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc_zeroed(6).unwrap();
    fill(&mut device.slice_mut(1..5).unwrap(), 0x1234_5678).unwrap();
    fill_async(&mut device.slice_mut(2..4).unwrap(), 0x0707_0707, &stream).unwrap();
    let n = 0x1234_5678;
    assert_eq!(device.to_vec().unwrap(), [0, n, 0x0707_0707, 0x0707_0707, n, 0]);
    let mut pinned = PinnedBuffer::<[f64; 2]>::alloc(3).unwrap();
    fill_async(&mut pinned, [1.5, -0.1], &stream).unwrap();
    assert_eq!(*pinned.host().unwrap(), [[1.5, -0.1]; 3]);
    fill(&mut pinned.slice_mut(..0).unwrap(), [9.0; 2]).unwrap();
    assert_eq!(*pinned.host().unwrap(), [[1.5, -0.1]; 3]);
}

#[test]
fn extents_that_differ_are_refused_with_both_before_any_call() {
    let _alone = alone();
    let host = [1_u16; 12];
    let mut device = PitchedBuffer::<u16>::alloc(3, 4).unwrap();
    memset_2d(&mut device, 0).unwrap();
    let error = memcpy_2d(&mut device, &Plane::from_slice(&host, 4, 3).unwrap()).unwrap_err();
    let detail = Detail::extent_mismatch([3, 4, 1], [4, 3, 1]);
    assert_eq!((error.detail(), error.api(), error.call_site().file()), (&detail, "memcpy_2d", file!()));
    let stream = Stream::new().unwrap();
    let mut pinned = PinnedBuffer::<u16>::alloc(8).unwrap();
    let error = memcpy_3d_async(
        &mut pinned.volume_mut(2, 2, 2).unwrap(),
        &device.plane().row(0).unwrap().volume(3, 1, 1).unwrap(),
        &stream,
    )
    .unwrap_err();
    assert_eq!(
        error.detail().as_str(),
        "extents differ: the destination has width, height and depth [2, 2, 2], the source [3, 1, \
         1]; copy parts that have the same"
    );
    assert_eq!(device.to_vec().unwrap(), [0; 12]);
}

#[test]
fn planes_that_do_not_fit_their_memory_are_refused_on_the_host_too() {
    let _alone = alone();
    let host = [0_u32; 12];
    let mut room = [0_u32; 12];
    let length = |error: cuda_safe::Error| error.detail().clone();
    let error = Plane::from_slice(&host, 4, 4).unwrap_err();
    assert_eq!(length(error), Detail::wrong_length("the memory", 16, 12));
    let error = Plane::from_slice(&host, 4, 2).unwrap_err();
    let words = "the memory has 12 elements, and the rows are exactly 8: take its `slice(..8)`";
    assert_eq!(error.detail().as_str(), words);
    assert!(PlaneMut::from_slice(&mut room, 13, 1).is_err());
    // No bytes need follow the last row: (2 * 20 + 8) / 4 elements, and not one less.
    assert!(PlaneMut::from_slice_with_pitch(&mut room, 2, 3, 20).is_ok());
    assert!(PlaneMut::from_slice_with_pitch(&mut room[1..], 2, 3, 20).is_err());
    assert!(PlaneMut::from_slice_with_pitch(&mut room, 3, 3, 20).is_err());
    assert!(VolumeMut::from_slice(&mut room, 2, 2, 4).is_err());
    assert!(VolumeMut::from_slice_with_pitch(&mut room, (1, 2, 2), 8, 4).is_ok());
    assert!(VolumeMut::from_slice_with_pitch(&mut room[..10], (1, 2, 2), 8, 4).is_err());
    for (width, height) in [(usize::MAX, 2), (usize::MAX / 8, 16), (1 << 33, 1 << 33)] {
        assert!(Plane::from_slice(&host, width, height).is_err(), "{width} times {height}");
        assert!(PitchedBuffer::<u32>::alloc(width, height).is_err(), "{width} times {height}");
    }
    assert!(Volume::from_slice(&host, 1 << 30, 1 << 30, 1 << 30).is_err());
    let error = Plane::from_slice_with_pitch(&host, 3, 2, 8).unwrap_err();
    assert_eq!(
        error.detail().as_str(),
        "a pitch of 8 bytes does not do for rows of 12 bytes whose elements are aligned to 4"
    );
    assert!(Plane::from_slice_with_pitch(&host, 1, 2, 6).is_err(), "rows that are not aligned");
    let error = Volume::from_slice_with_pitch(&host, (1, 3, 2), 4, 2).unwrap_err();
    assert!(error.detail().as_str().contains("has 2 elements, 3 are needed"), "layers over each other");
}

#[test]
fn ranges_of_rows_and_columns_are_checked() {
    let _alone = alone();
    let mut device = PitchedVolume::<u8>::alloc(3, 4, 5).unwrap();
    let volume = device.volume();
    assert_eq!(volume.rows(2..5).unwrap_err().detail(), &Detail::out_of_range(2, 5, 4));
    assert_eq!(volume.columns(..4).unwrap_err().detail(), &Detail::out_of_range(0, 4, 3));
    assert_eq!(volume.layers(5..6).unwrap_err().detail(), &Detail::out_of_range(5, 6, 5));
    assert!(volume.layer(5).is_err() && volume.layer(usize::MAX).is_err());
    assert!(volume.layer(4).unwrap().row(3).unwrap().len() == 3);
    assert!(volume.layer(4).unwrap().row(4).is_err());
    let none = volume.rows(4..).unwrap();
    assert!(none.is_empty() && none.extent()[1] == 0);
    let (before, after) = device.volume_mut().split_at_layer_mut(2).unwrap();
    assert_eq!((before.extent()[2], after.extent()[2]), (2, 3));
    assert!(device.volume_mut().split_at_layer_mut(6).is_err());
}

#[test]
fn no_elements_make_no_call() {
    let _alone = alone();
    let empty: [u32; 0] = [];
    let mut device = PitchedBuffer::<u32>::alloc(0, 5).unwrap();
    assert!(device.as_ptr().is_null());
    memcpy_2d(&mut device, &Plane::from_slice(&empty, 0, 5).unwrap()).unwrap();
    memset_2d(&mut device, 1).unwrap();
    assert_eq!(device.to_vec().unwrap(), empty);
    let mut volume = PitchedVolume::<u32>::alloc(2, 0, 2).unwrap();
    memcpy_3d(&mut volume, &Volume::from_slice(&empty, 2, 0, 2).unwrap()).unwrap();
    volume.free().unwrap();
    device.free().unwrap();
}

#[test]
fn columns_that_lie_in_each_other_are_copied_and_those_that_share_bytes_refused() {
    let _alone = alone();
    let mut device = DeviceBuffer::from_slice(&[1_u8, 2, 0, 0, 3, 4, 0, 0]).unwrap();
    let (left, mut right) = device.plane_mut(4, 2).unwrap().split_at_column_mut(2).unwrap();
    memcpy_2d(&mut right, &left).unwrap();
    assert_eq!(device.to_vec().unwrap(), [1, 2, 1, 2, 3, 4, 3, 4]);
}

#[test]
fn views_made_in_the_line_of_a_scopes_copy_are_passed_as_they_are() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let host = numbers(24);
    let (mut rows, mut layers) = ([0_u32; 6], vec![0_u32; 24]);
    let mut device = PitchedBuffer::<u32>::alloc(3, 2).unwrap();
    let mut solid = PitchedVolume::<u32>::alloc(4, 3, 2).unwrap();
    stream
        .scope(|scope| -> cuda_safe::Result<()> {
            scope.memcpy_2d_async(&mut device, Plane::from_slice(&host[..6], 3, 2)?)?;
            scope.memcpy_2d_async(PlaneMut::from_slice(&mut rows, 3, 2)?, &device)?;
            scope.memcpy_3d_async(&mut solid, Volume::from_slice(&host, 4, 3, 2)?)?;
            scope.memcpy_3d_async(VolumeMut::from_slice(&mut layers, 4, 3, 2)?, &solid)
        })
        .unwrap()
        .unwrap();
    assert_eq!((&rows[..], &layers), (&host[..6], &host));
}

#[test]
fn planes_are_borrowed_for_a_scope() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let source = numbers(12);
    let (mut back, mut again) = (vec![0; 12], vec![0; 12]);
    let mut device = PitchedBuffer::<u32>::alloc(4, 3).unwrap();
    let mut solid = PitchedVolume::<u32>::alloc(3, 2, 2).unwrap();
    let from = (Plane::from_slice(&source, 4, 3).unwrap(), Volume::from_slice(&source, 3, 2, 2).unwrap());
    let mut to =
        (PlaneMut::from_slice(&mut back, 4, 3).unwrap(), VolumeMut::from_slice(&mut again, 3, 2, 2).unwrap());
    stream
        .scope(|scope| {
            scope.memcpy_2d_async(&mut device, &from.0)?;
            scope.memcpy_2d_async(&mut to.0, &device)?;
            scope.memcpy_3d_async(&mut solid, &from.1)?;
            scope.memcpy_3d_async(&mut to.1, &solid)
        })
        .unwrap()
        .unwrap();
    assert_eq!((&back, &again), (&source, &source));
}

#[test]
fn work_on_two_streams_is_ordered_by_what_a_plane_spans() {
    let alone = alone();
    let (first, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let source = PinnedBuffer::from_slice(&[3_u8; 8]).unwrap();
    let mut device = DeviceBuffer::<u8>::alloc_zeroed(32).unwrap();
    let mut back = PinnedBuffer::<u8>::alloc(8).unwrap();
    device.device().synchronize().unwrap();
    let waits = hazard::added_waits();
    let gate = Gate::on(&alone, &first);
    let (mut upper, mut lower) = device.plane_mut(4, 8).unwrap().split_at_row_mut(4).unwrap();
    memcpy_2d_async(&mut upper.columns_mut(..2).unwrap(), &source.plane(2, 4).unwrap(), &first).unwrap();
    // Other rows do not wait: that would deadlock, because the gate is closed.
    memset_2d_async(&mut lower, 9, &second).unwrap();
    second.synchronize().unwrap();
    assert_eq!(hazard::added_waits(), waits);
    // The same rows do.
    memcpy_2d_async(&mut back.plane_mut(2, 4).unwrap(), &upper.columns_mut(..2).unwrap(), &second).unwrap();
    assert_eq!(hazard::added_waits(), waits + 1);
    gate.open();
    assert_eq!(*back.host().unwrap(), [3; 8]);
}

#[test]
fn a_blocking_copy_to_the_host_sees_what_streams_were_given_before() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let source = PinnedBuffer::from_slice(&numbers(6)).unwrap();
    let mut device = PitchedBuffer::<u32>::alloc(3, 2).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_2d_async(&mut device, &source.plane(3, 2).unwrap(), &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    assert_eq!(device.to_vec().unwrap(), numbers(6));
    opener.join().unwrap();
}

#[test]
fn pitched_memory_dropped_with_work_pending_is_freed_after_it() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let source = PinnedBuffer::from_slice(&numbers(6)).unwrap();
    let mut back = PinnedBuffer::<u32>::alloc(6).unwrap();
    let mut device = PitchedVolume::<u32>::alloc(3, 2, 1).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_3d_async(&mut device, &source.volume(3, 2, 1).unwrap(), &stream).unwrap();
    memcpy_3d_async(&mut back.volume_mut(3, 2, 1).unwrap(), &device, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    drop(device);
    opener.join().unwrap();
    assert_eq!(*back.host().unwrap(), *numbers(6));
}

#[test]
fn planes_and_volumes_go_from_one_device_to_another() {
    let _alone = alone();
    let devices: Vec<_> = Device::all().unwrap().collect();
    let [first, second, ..] = devices[..] else {
        println!("one device only: no second one to copy to");
        return;
    };
    let host = numbers(12);
    let mut a = first.with_current(|| PitchedBuffer::<u32>::alloc(4, 3)).unwrap();
    let mut b = second.with_current(|| PitchedBuffer::<u32>::alloc(4, 3)).unwrap();
    memcpy_2d(&mut a, &Plane::from_slice(&host, 4, 3).unwrap()).unwrap();
    memcpy_2d(&mut b, &a).unwrap(); // cudaMemcpy3DPeer
    assert_eq!(b.to_vec().unwrap(), host);
    let mut c = second.with_current(|| PitchedVolume::<u32>::alloc(3, 2, 2)).unwrap();
    let d = DeviceBuffer::from_slice(&host).unwrap();
    let stream = second.with_current(Stream::non_blocking).unwrap();
    memcpy_3d_async(&mut c, &d.volume(3, 2, 2).unwrap(), &stream).unwrap(); // cudaMemcpy3DPeerAsync
    assert_eq!(c.to_vec().unwrap(), host);
    memset_2d(&mut a, 0).unwrap();
    memcpy_2d_async(&mut a.plane_mut().columns_mut(1..).unwrap(), &b.plane().columns(..3).unwrap(), &stream)
        .unwrap();
    assert_eq!(a.plane().row(2).unwrap().to_vec().unwrap(), [0, host[8], host[9], host[10]]);
}

#[test]
fn large_planes_of_slices_are_staged_and_nothing_between_the_rows_is_touched() {
    let _alone = alone();
    let before = staged::settings();
    staged::configure(staged::Settings { threshold: Some(1), ..before });
    let (width, height, pitch) = (300, 700, 1240);
    let host = numbers(u32::try_from(pitch / 4 * height).unwrap());
    let mut device = DeviceBuffer::<u32>::alloc(host.len()).unwrap();
    memset_2d(&mut device.plane_mut(pitch / 4, height).unwrap(), 0xee).unwrap();
    let copies = staged::statistics().copies;
    let from = Plane::from_slice_with_pitch(&host, width, height, pitch).unwrap();
    let to = device.as_slice_mut().plane_mut_with_pitch(width, height, pitch);
    memcpy_2d(&mut to.unwrap(), &from).unwrap();
    let mut back = vec![7; host.len()];
    let mut to = PlaneMut::from_slice_with_pitch(&mut back, width, height, pitch).unwrap();
    memcpy_2d(&mut to, &device.as_slice().plane_with_pitch(width, height, pitch).unwrap()).unwrap();
    let mut again = vec![7; host.len()];
    let mut to =
        VolumeMut::from_slice_with_pitch(&mut again, (width, height / 2, 2), pitch, height / 2).unwrap();
    let whole = device.as_slice().volume_with_pitch((width, height / 2, 2), pitch, height / 2);
    memcpy_3d(&mut to, &whole.unwrap()).unwrap();
    assert_eq!(staged::statistics().copies, copies + 3);
    staged::configure(before);
    for (at, bytes) in device.to_vec().unwrap().into_iter().enumerate() {
        let within = at % (pitch / 4) < width;
        assert_eq!(bytes, if within { host[at] } else { 0xeeee_eeee }, "device, {at}");
        assert_eq!(back[at], if within { host[at] } else { 7 }, "host, {at}");
    }
    assert_eq!(again, back);
}

#[test]
fn rows_are_reinterpreted_only_as_whole_aligned_elements() {
    let _alone = alone();
    let bytes: Vec<u8> = (0..36).collect();
    let mut device = PitchedBuffer::<u8>::alloc(12, 3).unwrap();
    memcpy_2d(&mut device, &Plane::from_slice(&bytes, 12, 3).unwrap()).unwrap();
    let pitch = device.pitch();
    let whole = device.plane();
    let words = whole.reinterpret::<u32>().unwrap();
    assert_eq!((words.extent(), words.pitch()), ([3, 3, 1], pitch));
    assert_eq!((words.as_ptr().addr(), words.size_in_bytes()), (whole.as_ptr().addr(), 36));
    let word = |at: u8| u32::from_ne_bytes([at, at + 1, at + 2, at + 3]);
    assert_eq!(words.row(2).unwrap().to_vec().unwrap(), [word(24), word(28), word(32)]);
    assert_eq!(words.columns(1..).unwrap().reinterpret::<[u16; 2]>().unwrap().extent()[0], 2);

    // A row, the address, the pitch, and nothing at all.
    let detail = |error: cuda_safe::Error| error.detail().clone();
    assert_eq!(
        detail(whole.reinterpret::<u64>().unwrap_err()).as_str(),
        "12 bytes are not a whole number of elements of 8 bytes"
    );
    let odd = whole.columns(2..10).unwrap();
    let error = odd.reinterpret::<u32>().unwrap_err();
    assert_eq!(error.api(), "Plane::reinterpret");
    let misaligned = format!("address {:#x} is not aligned to 4 bytes", odd.as_ptr().addr());
    assert_eq!(detail(error).as_str(), misaligned);
    assert_eq!(odd.reinterpret::<u16>().unwrap().extent()[0], 4);
    let packed = DeviceBuffer::from_slice(&bytes).unwrap();
    let rows = packed.as_slice().plane_with_pitch(8, 3, 14).unwrap();
    let error = rows.reinterpret::<u32>().unwrap_err();
    assert_eq!(
        detail(error).as_str(),
        "a pitch of 14 bytes does not do for rows of 8 bytes whose elements are aligned to 4"
    );
    assert_eq!(rows.reinterpret::<u16>().unwrap().row(1).unwrap().to_vec().unwrap()[0], 0x0f0e_u16.to_le());
    assert!(detail(whole.reinterpret::<[u8; 0]>().unwrap_err()).as_str().contains(" have no bytes"));

    // For writing, the host's rows and layers too.
    let mut sums = [0_u8; 24];
    let mut to = VolumeMut::from_slice(&mut sums, 4, 3, 2).unwrap().reinterpret_mut::<[u8; 4]>().unwrap();
    let from = packed.slice(..24).unwrap();
    memcpy_3d(&mut to, &from.volume(4, 3, 2).unwrap().reinterpret::<[u8; 4]>().unwrap()).unwrap();
    assert_eq!(sums, bytes[..24]);
    let mut words = device.plane_mut().reinterpret_mut::<u32>().unwrap();
    fill(&mut words.row_mut(1).unwrap(), word(100)).unwrap();
    assert_eq!(device.to_vec().unwrap()[12..16], [100, 101, 102, 103]);
}
