//! Copies to, from and between arrays: of every dimension, in parts, and refusals of copies that do not
//! fit.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::error::Detail;
use cuda_safe::memory::{
    Array, ArrayBuilder, ArrayView, Half, PitchedBuffer, PitchedVolume, Plane, PlaneMut, Volume, VolumeMut,
};
use cuda_safe::stream::{AsStream, Stream};
use cuda_safe::{
    Device, PinnedBuffer, hazard, memcpy_2d, memcpy_2d_async, memcpy_3d, memcpy_3d_async, memset_2d,
    memset_3d,
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

/// An array with this many elements, filled with numbers.
fn filled(builder: ArrayBuilder) -> Array<u16> {
    let mut array = builder.alloc::<u16>().unwrap();
    let [width, height, depth] = array.extent();
    let host = numbers(width * height * depth);
    memcpy_3d(&mut array, &Volume::from_slice(&host, width, height, depth).unwrap()).unwrap();
    array
}

/// The number that `filled` stored there.
fn number(x: usize, y: usize, z: usize) -> u16 {
    u16::try_from((z * H + y) * W + x + 1).unwrap()
}

fn builders() -> [(ArrayBuilder, [usize; 3]); 6] {
    [
        (ArrayBuilder::line(W), [W, 1, 1]),
        (ArrayBuilder::plane(W, H), [W, H, 1]),
        (ArrayBuilder::volume(W, H, D), [W, H, D]),
        (ArrayBuilder::line(W).layers(D), [W, 1, D]),
        (ArrayBuilder::plane(W, H).layers(D), [W, H, D]),
        (ArrayBuilder::cubemap(H), [H, H, 6]),
    ]
}

#[test]
fn what_goes_into_an_array_of_any_kind_comes_out() {
    let _alone = alone();
    for (builder, [width, height, depth]) in builders() {
        let array = filled(builder);
        assert_eq!(array.to_vec().unwrap(), numbers(width * height * depth), "{array:?}");
        // To another array, to the device, to the host.
        let mut other = builder.surface().alloc::<u16>().unwrap();
        memcpy_3d(&mut other, &array).unwrap();
        let mut device = PitchedVolume::<u16>::alloc(width, height, depth).unwrap();
        // Proves that the numbers are from this copy. Also for sanitizers, which do not know that a copy
        // from an array writes.
        memset_3d(&mut device, 0xee).unwrap();
        memcpy_3d(&mut device, &other).unwrap();
        assert_eq!(device.to_vec().unwrap(), numbers(width * height * depth));
        let mut back = builder.alloc::<u16>().unwrap();
        memcpy_3d(&mut back, &device).unwrap();
        let mut host = vec![0; width * height * depth];
        memcpy_3d(&mut VolumeMut::from_slice(&mut host, width, height, depth).unwrap(), &back).unwrap();
        assert_eq!(host, numbers(width * height * depth));
    }
}

#[test]
fn rows_go_to_and_from_and_between_arrays_with_nothing_around_them_touched() {
    let _alone = alone();
    let host = numbers(W * H);
    let plane = Plane::from_slice(&host, W, H).unwrap();
    let mut array = Array::<u16>::alloc_2d(W, H).unwrap();
    memcpy_2d(&mut array, &Plane::from_slice(&[GUARD; W * H], W, H).unwrap()).unwrap();
    // Rows 1 to 3 of columns 2 to 6 of the host to rows 2 to 4 of columns 1 to 5.
    let part = plane.columns(2..6).unwrap().rows(1..3).unwrap();
    memcpy_2d(&mut array.view_mut().columns_mut(1..5).unwrap().rows_mut(2..4).unwrap(), &part).unwrap();
    for (at, found) in array.to_vec().unwrap().into_iter().enumerate() {
        let (x, y) = (at % W, at / W);
        let inside = (1..5).contains(&x) && (2..4).contains(&y);
        assert_eq!(found, if inside { number(x + 1, y - 1, 0) } else { GUARD }, "{x} {y}");
    }
    // From there to another array, and from that into memory with a different pitch.
    let mut other = filled(ArrayBuilder::plane(W, H));
    let part = array.view().columns(1..5).unwrap().rows(2..4).unwrap();
    memcpy_2d(&mut other.view_mut().columns_mut(3..).unwrap().rows_mut(..2).unwrap(), &part).unwrap();
    let mut device = PitchedBuffer::<u16>::alloc(W, H).unwrap();
    memset_2d(&mut device, 0xee).unwrap();
    let part = other.view().columns(2..6).unwrap().rows(..3).unwrap();
    memcpy_2d(&mut device.plane_mut().columns_mut(3..).unwrap().rows_mut(1..4).unwrap(), &part).unwrap();
    for (at, found) in device.to_vec().unwrap().into_iter().enumerate() {
        let (x, y) = (at % W, at / W);
        let expected = match (x.checked_sub(1), y.checked_sub(1)) {
            (Some(u), Some(v)) if (2..6).contains(&u) && v < 3 => {
                if u >= 3 && v < 2 {
                    number(u - 3 + 2, v + 1, 0)
                } else {
                    number(u, v, 0)
                }
            }
            _ => GUARD,
        };
        assert_eq!(found, expected, "{x} {y}");
    }
    let mut back = vec![GUARD; W * H];
    let mut corner = PlaneMut::from_slice(&mut back, W, H).unwrap();
    let part = array.view().columns(1..3).unwrap().rows(2..3).unwrap();
    memcpy_2d(&mut corner.columns_mut(5..).unwrap().rows_mut(4..).unwrap(), &part).unwrap();
    assert_eq!(back.pop(), Some(number(3, 1, 0)));
    assert_eq!(back.pop(), Some(number(2, 1, 0)));
    assert!(back.iter().all(|found| *found == GUARD));
}

#[test]
fn boxes_go_to_and_from_and_between_arrays_with_nothing_around_them_touched() {
    let _alone = alone();
    let whole = filled(ArrayBuilder::volume(W, H, D));
    let inner = |array: &Array<u16>| -> Vec<u16> {
        let view = array.view().columns(2..6).unwrap().rows(1..4).unwrap().layers(1..3).unwrap();
        view.to_vec().unwrap()
    };
    let expected: Vec<u16> =
        (1..3).flat_map(|z| (1..4).flat_map(move |y| (2..6).map(move |x| number(x, y, z)))).collect();
    assert_eq!(inner(&whole), expected);
    // The box to another position of an array with layers.
    let mut layered = filled(ArrayBuilder::plane(W, H).layers(D));
    let part = whole.view().columns(2..6).unwrap().rows(1..4).unwrap().layers(1..3).unwrap();
    let mut all = layered.view_mut();
    let mut target = all.layers_mut(2..).unwrap();
    memcpy_3d(&mut target.columns_mut(..4).unwrap().rows_mut(2..).unwrap(), &part).unwrap();
    for (at, found) in layered.to_vec().unwrap().into_iter().enumerate() {
        let (x, y, z) = (at % W, at / W % H, at / W / H);
        let inside = x < 4 && y >= 2 && z >= 2;
        let expected = if inside { number(x + 2, y - 1, z - 1) } else { number(x, y, z) };
        assert_eq!(found, expected, "{x} {y} {z}");
    }
    // One layer of it as a plane.
    let mut layer = vec![0; W * H];
    memcpy_2d(&mut PlaneMut::from_slice(&mut layer, W, H).unwrap(), &layered.view().layers(1..2).unwrap())
        .unwrap();
    assert_eq!(layer, (0..H).flat_map(|y| (0..W).map(move |x| number(x, y, 1))).collect::<Vec<_>>());
    memcpy_2d(&mut layered.view_mut().layers_mut(3..).unwrap(), &Plane::from_slice(&layer, W, H).unwrap())
        .unwrap();
    assert_eq!(layered.view().layers(3..4).unwrap().to_vec().unwrap(), layer);
    assert_eq!(layered.view().layers(0..1).unwrap().to_vec().unwrap(), numbers(W * H));
}

#[test]
fn elements_of_all_sizes_are_counted_as_elements() {
    fn round<T: cuda_safe::memory::ArrayElement + PartialEq + std::fmt::Debug>(one: T, other: T) {
        let mut array = ArrayBuilder::volume(3, 2, 2).alloc::<T>().unwrap();
        memcpy_3d(&mut array, &Volume::from_slice(&[one; 12], 3, 2, 2).unwrap()).unwrap();
        let mut last = array.view_mut();
        let mut last = last.columns_mut(2..).unwrap();
        let mut last = last.rows_mut(1..).unwrap();
        memcpy_3d(&mut last.layers_mut(1..).unwrap(), &Volume::from_slice(&[other], 1, 1, 1).unwrap())
            .unwrap();
        let mut found = array.to_vec().unwrap();
        assert_eq!(found.pop(), Some(other));
        assert_eq!(found, [one; 11]);
    }
    let _alone = alone();
    round(1_u8, 2);
    round([1_i8, 2], [3, 4]);
    round([1_u8, 2, 3, 4], [5, 6, 7, 8]);
    round(Half::from_bits(0x3c00), Half::from_bits(0x4000));
    round(1.5_f32, -2.5);
    round([1_u32, 2], [3, 4]);
    round([1.0_f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
}

/// Arrays of layers are planes of layers: a copy between two of them once took the first layer alone.
#[test]
fn a_copy_of_planes_between_layered_arrays_copies_every_layer() {
    let _alone = alone();
    let host = numbers(W * H * 2);
    let mut from = ArrayBuilder::plane(W, H).layers(2).alloc::<u16>().unwrap();
    memcpy_3d(&mut from, &Volume::from_slice(&host, W, H, 2).unwrap()).unwrap();
    let stream = Stream::new().unwrap();
    for on_stream in [false, true] {
        let mut to = ArrayBuilder::plane(W, H).layers(2).alloc::<u16>().unwrap();
        if on_stream {
            memcpy_2d_async(&mut to, &from, &stream).unwrap();
        } else {
            memcpy_2d(&mut to, &from).unwrap();
        }
        assert_eq!(to.to_vec().unwrap(), host, "on a stream: {on_stream}");
    }
}

#[test]
fn extents_that_differ_are_refused_with_both() {
    let _alone = alone();
    let mut array = Array::<u16>::alloc_2d(W, H).unwrap();
    let host = numbers(W * (H + 1));
    for (width, height) in [(W - 1, H), (W, H - 1), (W, H + 1)] {
        let plane = Plane::from_slice(&host[..width * height], width, height).unwrap();
        let error = memcpy_2d(&mut array, &plane).unwrap_err();
        let (destination, source) = ([W, H, 1], [width, height, 1]);
        assert_eq!(error.detail(), &Detail::extent_mismatch(destination, source));
        assert!(error.is_refused() && error.call_site().file() == file!(), "{error}");
    }
    // An array of layers is not a plane.
    let mut layered = ArrayBuilder::plane(W, H).layers(2).alloc::<u16>().unwrap();
    let error = memcpy_2d(&mut layered, &Plane::from_slice(&host[..W * H], W, H).unwrap()).unwrap_err();
    let (destination, source) = ([W, H, 2], [W, H, 1]);
    assert_eq!(error.detail(), &Detail::extent_mismatch(destination, source));
    let error = array.view_mut().layers_mut(1..2).unwrap_err();
    assert_eq!(error.detail(), &Detail::out_of_range(1, 2, 1));
}

#[test]
fn nothing_is_copied_without_a_call() {
    let _alone = alone();
    let mut array = filled(ArrayBuilder::plane(W, H));
    memcpy_2d(&mut array.view_mut().rows_mut(2..2).unwrap(), &Plane::from_slice(&[0_u16; 0], W, 0).unwrap())
        .unwrap();
    assert!(array.view().columns(7..).unwrap().to_vec().unwrap().is_empty());
    assert_eq!(array.to_vec().unwrap(), numbers(W * H));
}

#[test]
fn copies_of_arrays_keep_the_order_of_streams_whatever_the_streams_are() {
    let alone = alone();
    let (a, b) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let source = PinnedBuffer::from_slice(&numbers(W * H)).unwrap();
    let mut back = PinnedBuffer::<u16>::alloc(W * H).unwrap();
    let mut array = Array::<u16>::alloc_2d(W, H).unwrap();
    let mut other = Array::<u16>::alloc_2d(W, H).unwrap();
    let gate = Gate::on(&alone, &a);
    memcpy_2d_async(&mut array, &source.plane(W, H).unwrap(), &a).unwrap();
    memcpy_2d_async(&mut other, &array, &b).unwrap();
    memcpy_2d_async(&mut back.plane_mut(W, H).unwrap(), &other, &a).unwrap();
    assert!(!b.is_done().unwrap(), "the copy between the arrays waits for the first");
    gate.open();
    assert_eq!(*back.host().unwrap(), *numbers(W * H));
}

#[test]
fn a_program_that_orders_its_copies_is_given_no_wait() {
    let _alone = alone();
    let (a, b) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let mut array = filled(ArrayBuilder::volume(W, H, D));
    let mut device = PitchedVolume::<u16>::alloc(W, H, 2).unwrap();
    memset_3d(&mut device, 0xee).unwrap();
    Device::current().unwrap().synchronize().unwrap();
    let before = hazard::added_waits();
    // Two parts of one array without a common layer: first on two streams, then one after the other on one.
    let (mut front, back) = array.view_mut().split_at_layer_mut(2).unwrap();
    memcpy_3d_async(&mut device, &back, &a).unwrap();
    memcpy_3d_async(&mut front, &back, &b).unwrap();
    assert_eq!(hazard::added_waits(), before, "both only read the second half");
    a.synchronize().unwrap();
    b.synchronize().unwrap();
    let all = array.to_vec().unwrap();
    assert_eq!(all[..2 * W * H], all[2 * W * H..]);
    assert_eq!(device.to_vec().unwrap(), all[2 * W * H..]);
}

#[test]
fn an_array_dropped_with_work_pending_waits_for_it() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut back = PinnedBuffer::<u16>::alloc(W * H).unwrap();
    let array = filled(ArrayBuilder::plane(W, H));
    let gate = Gate::on(&alone, &stream);
    memcpy_2d_async(&mut back.plane_mut(W, H).unwrap(), &array, &stream).unwrap();
    let dropper = std::thread::spawn(move || drop(array));
    gate.open();
    dropper.join().unwrap();
    assert_eq!(*back.host().unwrap(), *numbers(W * H));
}

#[test]
fn borrowed_slices_go_to_and_from_arrays_within_a_scope() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let source = numbers(W * H * D);
    let mut back = vec![0; W * H * D];
    let mut layer = vec![0; W * H];
    let mut array = Array::<u16>::alloc_3d(W, H, D).unwrap();
    let from = Volume::from_slice(&source, W, H, D).unwrap();
    let mut to = VolumeMut::from_slice(&mut back, W, H, D).unwrap();
    let mut one = PlaneMut::from_slice(&mut layer, W, H).unwrap();
    stream
        .scope(|scope| {
            scope.memcpy_3d_async(&mut array, &from)?;
            scope.memcpy_3d_async(&mut to, &array)?;
            scope.memcpy_2d_async(&mut one, &array.view().layers(2..3)?)
        })
        .unwrap()
        .unwrap();
    assert_eq!(back, source);
    assert_eq!(layer, source[2 * W * H..3 * W * H]);
}

#[test]
fn levels_are_copied_each_for_itself() {
    let _alone = alone();
    let mut image = ArrayBuilder::plane(12, 6).mipmapped::<u16>(3).unwrap();
    for (value, mut level) in (10..).zip(image.levels_mut()) {
        let [width, height, _] = level.extent();
        memcpy_2d(&mut level, &Plane::from_slice(&vec![value; width * height], width, height).unwrap())
            .unwrap();
    }
    let mut level = image.level_mut(1).unwrap();
    memcpy_2d(
        &mut level.columns_mut(5..).unwrap().rows_mut(2..).unwrap(),
        &Plane::from_slice(&[99], 1, 1).unwrap(),
    )
    .unwrap();
    let all = |level: ArrayView<'_, u16>| level.to_vec().unwrap();
    assert_eq!(all(image.level(0).unwrap()), [10; 72]);
    let middle = all(image.level(1).unwrap());
    assert_eq!((&middle[..17], middle[17]), (&[11; 17][..], 99));
    assert_eq!(all(image.level(2).unwrap()), [12; 3]);
    // From one level to another.
    let mut other = ArrayBuilder::plane(6, 3).alloc::<u16>().unwrap();
    memcpy_2d(&mut other, &image.level(1).unwrap()).unwrap();
    assert_eq!(other.to_vec().unwrap(), middle);
}

#[test]
fn both_planes_of_an_image_are_copied_each_for_itself() {
    let _alone = alone();
    let mut image = ArrayBuilder::plane(8, 4).nv12().unwrap();
    let (mut luma, mut chroma) = image.planes_mut();
    memcpy_2d(&mut luma, &Plane::from_slice(&[7_u8; 32], 8, 4).unwrap()).unwrap();
    memcpy_2d(&mut chroma, &Plane::from_slice(&[[1_u8, 2]; 8], 4, 2).unwrap()).unwrap();
    assert_eq!(image.luma().to_vec().unwrap(), [7; 32]);
    assert_eq!(image.chroma().to_vec().unwrap(), [[1, 2]; 8]);
}

#[test]
fn arrays_of_two_devices_are_copied_between_them() {
    let _alone = alone();
    let Some(second) = Device::all().unwrap().nth(1) else {
        eprintln!("one device only: copies between two were not tested");
        return;
    };
    let here = filled(ArrayBuilder::volume(W, H, D));
    let mut there = ArrayBuilder::volume(W, H, D).device(second).alloc::<u16>().unwrap();
    memcpy_3d(&mut there, &here).unwrap();
    assert_eq!(there.to_vec().unwrap(), numbers(W * H * D));
    let stream = Stream::builder().device(second).build().unwrap();
    let mut back = ArrayBuilder::plane(W, H).alloc::<u16>().unwrap();
    memcpy_2d_async(&mut back, &there.view().layers(3..).unwrap(), &stream).unwrap();
    assert_eq!(back.to_vec().unwrap(), numbers(W * H * D)[3 * W * H..]);
    let mut device = PitchedBuffer::<u16>::alloc(W, H).unwrap();
    memset_2d(&mut device, 0xee).unwrap();
    memcpy_2d_async(&mut device, &there.view().layers(1..2).unwrap(), &stream.as_stream()).unwrap();
    assert_eq!(device.to_vec().unwrap(), numbers(W * H * D)[W * H..2 * W * H]);
}

#[test]
fn columns_of_one_array_are_copied_within_it() {
    let _alone = alone();
    let mut array = filled(ArrayBuilder::plane(W, H));
    let (left, mut right) = array.view_mut().split_at_column_mut(3).unwrap();
    memcpy_2d(&mut right.columns_mut(1..).unwrap(), &left).unwrap();
    for (at, found) in array.to_vec().unwrap().into_iter().enumerate() {
        let (x, y) = (at % W, at / W);
        assert_eq!(found, number(if x < 4 { x } else { x - 4 }, y, 0), "{x} {y}");
    }
}
