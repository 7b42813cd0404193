//! Argument passing: a kernel gets exactly the values that the host passes (scalars, structs with
//! padding, pointers in structs).
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches kernels that have no safe function")]

use cuda_kernels::kernels::{
    arguments_Aligned, arguments_Direction, arguments_Nested, arguments_Padded, arguments_View,
    arguments_overloaded, arguments_overloaded1, arguments_pitched, arguments_scalars, arguments_structs,
    copy_values,
};
use cuda_safe::hazard::added_waits;
use cuda_safe::memory::Plane;
use cuda_safe::{
    Device, DeviceBuffer, PitchedBuffer, PitchedVolume, Result, Stream, check, launch, memcpy_2d,
};

#[test]
fn scalars_of_every_width_arrive() -> Result<()> {
    let stream = Stream::new()?;
    let mut out = DeviceBuffer::from_slice(&[0.0_f64; 14])?;
    // SAFETY: the kernel writes fourteen numbers.
    unsafe {
        launch!(arguments_scalars<<<1, 1, 0, &stream>>>(
            &mut out, true, 65, -7, 250, -30_000, 60_000, -2_000_000_000, 4_000_000_000,
            -9_000_000_000, 18_000_000_000, 0.5, -0.25, 1 << 40, arguments_Direction::Down
        ))
    }?;
    let expected = [
        1.0,
        65.0,
        -7.0,
        250.0,
        -30_000.0,
        60_000.0,
        -2e9,
        4e9,
        -9e9,
        18e9,
        0.5,
        -0.25,
        1_099_511_627_776.0,
        -1.0,
    ];
    assert_eq!(out.to_vec()?, expected);
    Ok(())
}

#[test]
fn structs_arrive_field_by_field() -> Result<()> {
    let stream = Stream::new()?;
    let mut out = DeviceBuffer::from_slice(&[0.0_f64; 18])?;
    let data = DeviceBuffer::from_slice(&[10, 20, 12])?;
    let padded = arguments_Padded { tag: 200, value: 2.5, tail: -3 };
    let nested = arguments_Nested {
        numbers: [[1, 2, 3], [4, 5, 6]],
        padded: arguments_Padded { tag: 1, value: -0.5, tail: 300 },
    };
    let aligned = arguments_Aligned { values: [0.25, 0.5, 0.75, 1.0] };
    let view = arguments_View { data: data.as_ptr(), count: data.len() };
    // SAFETY: the kernel writes eighteen numbers and reads the view's three. Nothing else uses these
    // until the copy below has waited for the kernel.
    unsafe { launch!(arguments_structs<<<1, 1, 0, &stream>>>(&mut out, padded, nested, 77, aligned, view)) }?;
    let expected =
        [200.0, 2.5, -3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, -0.5, 300.0, 77.0, 0.25, 0.5, 0.75, 1.0, 42.0];
    assert_eq!(out.to_vec()?, expected);
    Ok(())
}

#[test]
fn overloads_are_two_kernels() -> Result<()> {
    let stream = Stream::new()?;
    let mut floats = DeviceBuffer::from_slice(&[1.5_f32])?;
    let mut integers = DeviceBuffer::from_slice(&[1_i32])?;
    // SAFETY: each kernel adds to one element.
    unsafe { launch!(arguments_overloaded<<<1, 1, 0, &stream>>>(&mut floats, 0.25)) }?;
    // SAFETY: as above.
    unsafe { launch!(arguments_overloaded1<<<1, 1, 0, &stream>>>(&mut integers, 41)) }?;
    assert_eq!((floats.to_vec()?, integers.to_vec()?), (vec![1.75], vec![42]));
    Ok(())
}

#[test]
fn planes_and_volumes_are_passed_as_their_first_element_and_the_tracker_knows_what_they_span() -> Result<()> {
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let numbers: Vec<f32> = (0_u8..24).map(f32::from).collect();
    let mut image = PitchedBuffer::<f32>::alloc(4, 6)?;
    let mut field = PitchedVolume::<f32>::alloc(4, 3, 2)?;
    // Both have six rows of the same length, and therefore the same pitch.
    assert_eq!(image.pitch(), field.pitch());
    let words = u32::try_from(image.pitch() / size_of::<f32>()).unwrap();
    let count = 5 * words + 4;
    // The kernels also read the bytes between the rows, which copies of rows do not write.
    let bytes = usize::try_from(count).unwrap() * size_of::<f32>();
    // SAFETY: five pitches and a row are within the buffer, which nothing else uses until the device is
    // done.
    unsafe { check!(cudaMemset(image.as_mut_ptr().cast(), 0xee, bytes)) }?;
    Device::current()?.synchronize()?;
    memcpy_2d(&mut image, &Plane::from_slice(&numbers, 4, 6)?)?;
    let before = added_waits();
    // SAFETY: five pitches and a row are within either.
    unsafe { launch!(copy_values<<<count.div_ceil(256), 256, 0, &one>>>(&image, &mut field, count)) }?;
    let mut again = PitchedBuffer::<f32>::alloc(4, 3)?;
    {
        let (from, mut to) = (field.volume().layers(1..)?, again.plane_mut());
        let count = 2 * words + 4;
        // SAFETY: two pitches and a row are within the second layer and the three rows.
        unsafe { launch!(copy_values<<<count.div_ceil(256), 256, 0, &other>>>(from, &mut to, count)) }?;
    }
    assert!(added_waits() > before, "the second launch reads what the first one writes");
    assert_eq!(field.to_vec()?, numbers);
    assert_eq!(again.to_vec()?, numbers[12..]);
    Ok(())
}

#[test]
fn pitched_memory_is_an_argument_for_cudas_structure_of_that() -> Result<()> {
    let streams = [Stream::non_blocking()?, Stream::non_blocking()?];
    let mut plane = PitchedBuffer::<i32>::alloc(5, 3)?;
    // SAFETY: here and below, the kernel writes the elements that the structure and the depth describe.
    unsafe { launch!(arguments_pitched<<<1, 32, 0, &streams[0]>>>(&mut plane, 1, 100)) }?;
    // A part of it, from another stream: ordered after the first.
    let mut whole = plane.plane_mut();
    let part = whole.rows_mut(1..3)?;
    // SAFETY: as above.
    unsafe { launch!(arguments_pitched<<<1, 32, 0, &streams[1]>>>(part, 1, 0)) }?;
    assert_eq!(plane.to_vec()?, [100, 101, 102, 103, 104, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mut volume = PitchedVolume::<i32>::alloc(3, 2, 4)?;
    // SAFETY: as above.
    unsafe { launch!(arguments_pitched<<<1, 32, 0, &streams[0]>>>(&mut volume, 4, 7)) }?;
    assert_eq!(volume.to_vec()?, (7..31).collect::<Vec<i32>>());
    Ok(())
}
