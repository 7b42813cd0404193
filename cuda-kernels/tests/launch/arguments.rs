//! Argument passing: a kernel gets exactly the values that the host passes (scalars, structs with
//! padding, pointers in structs).
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches kernels that have no safe function")]

use cuda_kernels::kernels::{
    arguments_Aligned, arguments_Direction, arguments_Nested, arguments_Padded, arguments_View,
    arguments_many, arguments_overloaded, arguments_overloaded1, arguments_pitched, arguments_rows,
    arguments_scalars, arguments_structs, arguments_vectors, copy_values,
};
use cuda_safe::hazard::added_waits;
use cuda_safe::memory::{DevicePtr, Plane};
use cuda_safe::{
    Device, DeviceBuffer, PitchedBuffer, PitchedVolume, Result, Stream, check, launch, memcpy_2d,
};
use cuda_testing::alone;

#[test]
fn scalars_of_every_width_arrive() -> Result<()> {
    let _alone = alone();
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
    let _alone = alone();
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
    let _alone = alone();
    let stream = Stream::new()?;
    let mut floats = DeviceBuffer::from_slice(&[1.5_f32])?;
    let mut integers = DeviceBuffer::from_slice(&[1_i32])?;
    launch!(arguments_overloaded<<<1, 1, 0, &stream>>>(&mut floats, 0.25))?;
    launch!(arguments_overloaded1<<<1, 1, 0, &stream>>>(&mut integers, 41))?;
    assert_eq!((floats.to_vec()?, integers.to_vec()?), (vec![1.75], vec![42]));
    Ok(())
}

#[test]
fn planes_and_volumes_are_passed_as_their_first_element_and_the_tracker_knows_what_they_span() -> Result<()> {
    let _alone = alone();
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
    launch!(copy_values<<<count.div_ceil(256), 256, 0, &one>>>(&image, &mut field, count))?;
    let mut again = PitchedBuffer::<f32>::alloc(4, 3)?;
    {
        let (from, mut to) = (field.volume().layers(1..)?, again.plane_mut());
        let count = 2 * words + 4;
        launch!(copy_values<<<count.div_ceil(256), 256, 0, &other>>>(from, &mut to, count))?;
    }
    assert!(added_waits() > before, "the second launch reads what the first one writes");
    assert_eq!(field.to_vec()?, numbers);
    assert_eq!(again.to_vec()?, numbers[12..]);
    Ok(())
}

#[test]
fn pitched_memory_is_an_argument_for_cudas_structure_of_that() -> Result<()> {
    let _alone = alone();
    let streams = [Stream::non_blocking()?, Stream::non_blocking()?];
    let mut plane = PitchedBuffer::<i32>::alloc(5, 3)?;
    launch!(arguments_pitched<<<1, 32, 0, &streams[0]>>>(&mut plane, 1, 100))?;
    // A part of it, from another stream: ordered after the first.
    let mut whole = plane.plane_mut();
    let part = whole.rows_mut(1..3)?;
    launch!(arguments_pitched<<<1, 32, 0, &streams[1]>>>(part, 1, 0))?;
    assert_eq!(plane.to_vec()?, [100, 101, 102, 103, 104, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mut volume = PitchedVolume::<i32>::alloc(3, 2, 4)?;
    launch!(arguments_pitched<<<1, 32, 0, &streams[0]>>>(&mut volume, 4, 7))?;
    assert_eq!(volume.to_vec()?, (7..31).collect::<Vec<i32>>());
    Ok(())
}

#[test]
fn twenty_parameters_arrive_from_whole_numbers_of_any_type() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut out = DeviceBuffer::from_slice(&[0_i32; 20])?;
    let (length, wide, narrow): (usize, i64, u8) = (out.len(), -3, 250);
    launch!(arguments_many<<<1, 1, 0, &stream>>>(
        &mut out, length, wide, narrow, 4_u64, 5_isize, 6_i16, 7_u16, 8_i8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
        19, 1 << 20
    ))?;
    let mut expected: Vec<i32> = (1..=20).collect();
    expected[..3].copy_from_slice(&[20, -3, 250]);
    expected[19] = 1 << 20;
    assert_eq!(out.to_vec()?, expected);
    Ok(())
}

#[test]
fn a_whole_number_that_its_parameter_cannot_hold_is_refused_by_its_argument() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[1_i32])?;
    let too_many: usize = 1 << 31;
    let refused = launch!(arguments_overloaded1<<<1, 1, 0, &stream>>>(&mut data, too_many));
    let error = refused.unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("arguments_overloaded1: argument 1 (0 is the first), `value`: ")
            && said.contains("2147483648 does not fit"),
        "{said}"
    );
    assert!(said.contains("arguments.rs"), "{said}");
    let refused = launch!(arguments_overloaded1<<<too_many, 1, 0, &stream>>>(&mut data, 1));
    assert!(refused.unwrap_err().to_string().contains("the grid's x"));
    assert_eq!(data.to_vec()?, [1]);
    Ok(())
}

#[test]
fn a_mutable_borrow_serves_one_launch_after_the_other() -> Result<()> {
    let _alone = alone();
    struct Problem<'a> {
        data: &'a mut DeviceBuffer<i32>,
    }
    fn twice(data: &mut DeviceBuffer<i32>, stream: &Stream) -> Result<()> {
        for value in [1_i64, 2] {
            launch!(arguments_overloaded1<<<1, 1, 0, stream>>>(data, value))?;
        }
        let problem = Problem { data };
        launch!(arguments_overloaded1<<<1, 1, 0, stream>>>(problem.data, 3))?;
        launch!(arguments_overloaded1<<<1, 1, 0, stream>>>(problem.data, 4))
    }
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32])?;
    twice(&mut data, &stream)?;
    assert_eq!(data.to_vec()?, [10]);
    Ok(())
}

#[test]
fn a_table_of_pointers_is_memory_of_device_pointers() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let mut rows = [1.0_f32, 2.0, 4.0].map(|first| DeviceBuffer::from_slice(&[first]).unwrap());
    let addresses: Vec<_> = rows.iter().map(DevicePtr::from).collect();
    let mut table = DeviceBuffer::from_slice(&addresses).unwrap();
    let again = DeviceBuffer::from_slice(&addresses).unwrap();
    let mut kernel = arguments_rows.using(rows[0].access_mut()).unwrap();
    for row in &rows[1..] {
        kernel = kernel.using(row.access()).unwrap();
    }
    // SAFETY: the tables have the addresses of three rows of one number each. Nothing else uses these.
    unsafe { launch!(kernel<<<1, 1, 0, &stream>>>(&mut table, &again, rows.len())) }.unwrap();
    assert_eq!(table.to_vec().unwrap(), [addresses[1], addresses[0], addresses[2]]);
    assert_eq!(rows[0].to_vec().unwrap(), [7.0]);
}

#[test]
fn vector_types_take_memory_of_their_numbers_and_bools_take_bytes() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let input = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, -5.0, 6.0, 7.0, 8.0])?;
    let mut output = DeviceBuffer::from_slice(&[0.0_f32; 9])?;
    let mut positive = DeviceBuffer::from_slice(&[7_u8; 2])?;
    launch!(arguments_vectors<<<1, 32, 0, &stream>>>(&input, output.slice_mut(..8)?, &mut positive, 2))?;
    assert_eq!(output.to_vec()?, [2.0, 4.0, 6.0, 8.0, -10.0, 12.0, 14.0, 16.0, 0.0]);
    assert_eq!(positive.to_vec()?, [1, 0]);
    // Neither a part of a vector nor a misaligned one.
    let mut odd = |range: std::ops::Range<usize>| -> Result<String> {
        let part = output.slice_mut(range)?;
        // SAFETY: the launch is refused.
        let refused = launch!(arguments_vectors<<<1, 32, 0, &stream>>>(&input, part, &mut positive, 1));
        Ok(refused.unwrap_err().to_string())
    };
    let (divided, misaligned) = (odd(0..9)?, odd(1..9)?);
    assert!(divided.contains("argument 1") && divided.contains("whole number of elements"), "{divided}");
    assert!(misaligned.contains("argument 1") && misaligned.contains("aligned to 16"), "{misaligned}");
    Ok(())
}
