//! Every kernel over vectors against the same computation on the host.

use std::sync::Arc;

use cuda_kernels::{add_one, copy_values, double_values, scale_offset, square, vector_add};
use cuda_safe::error::Detail;
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, Registered, Result, Stream};
use cuda_testing::alone;
use cuda_testing::images::{LENGTHS, numbers};

#[test]
fn vector_add_adds_every_element_of_any_length() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    for len in LENGTHS {
        let (h_a, h_b) = (numbers(len, 1), numbers(len, 2));
        let (a, b) = (DeviceBuffer::from_slice(&h_a)?, DeviceBuffer::from_slice(&h_b)?);
        let mut sum = DeviceBuffer::alloc(len)?;
        vector_add(&a, &b, &mut sum, &stream)?;
        let expected: Vec<f32> = h_a.iter().zip(&h_b).map(|(a, b)| a + b).collect();
        assert_eq!(sum.to_vec()?, expected, "of {len} elements");
    }
    Ok(())
}

#[test]
fn vector_add_takes_one_vector_twice() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let a = DeviceBuffer::from_slice(&[1.0, 2.5, -3.0])?;
    let mut sum = DeviceBuffer::alloc(3)?;
    vector_add(&a, &a, &mut sum, &stream)?;
    assert_eq!(sum.to_vec()?, [2.0, 5.0, -6.0]);
    Ok(())
}

#[test]
fn vector_add_takes_registered_containers_and_writes_those_that_are_its_own() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let a = Registered::new(vec![1.0, 2.5, -3.0])?;
    let b = Registered::new(Arc::<[f32]>::from([1.0, 2.0, 3.0]))?;
    let mut sum = Registered::new(Box::new([0.0; 3]))?;
    vector_add(&a, &b, &mut sum, &stream)?;
    assert_eq!(*sum.into_inner()?, [2.0, 4.5, 0.0]);
    Ok(())
}

#[test]
fn vector_add_refuses_lengths_that_differ_and_names_the_argument() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (a, b) = (DeviceBuffer::from_slice(&[1.0; 8])?, DeviceBuffer::from_slice(&[1.0; 7])?);
    let mut sum = DeviceBuffer::alloc(8)?;
    let error = vector_add(&a, &b, &mut sum, &stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::wrong_length("b", 8, 7));
    assert_eq!(error.call_site().file(), file!());
    Ok(())
}

#[test]
fn parts_of_buffers_are_computed_and_the_rest_is_left_alone() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let a = DeviceBuffer::from_slice(&numbers(100, 3))?;
    let mut sum = DeviceBuffer::from_slice(&[9.0; 100])?;
    vector_add(a.slice(10..20)?, a.slice(30..40)?, sum.slice_mut(50..60)?, &stream)?;
    let (h_a, h_sum) = (a.to_vec()?, sum.to_vec()?);
    for (at, value) in h_sum.into_iter().enumerate() {
        let expected = if (50..60).contains(&at) { h_a[at - 40] + h_a[at - 20] } else { 9.0 };
        assert_eq!(value, expected, "at {at}");
    }
    Ok(())
}

#[test]
fn no_elements_launch_nothing() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let nothing = DeviceBuffer::<f32>::alloc(0)?;
    let mut sum = DeviceBuffer::alloc(0)?;
    vector_add(&nothing, &nothing, &mut sum, &stream)?;
    stream.synchronize()
}

#[test]
fn scale_offset_works_in_place_and_rounds_once() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    for len in LENGTHS {
        let host = numbers(len, 4);
        let mut data = DeviceBuffer::from_slice(&host)?;
        scale_offset(&mut data, 0.1, 0.7, &stream)?;
        let expected: Vec<f32> = host.iter().map(|value| value.mul_add(0.1, 0.7)).collect();
        assert_eq!(data.to_vec()?, expected, "of {len} elements");
    }
    Ok(())
}

#[test]
fn integers_are_doubled_incremented_and_squared() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let host: Vec<i32> = (-500..500).collect();
    let mut data = DeviceBuffer::from_slice(&host)?;
    double_values(&mut data, &stream)?;
    add_one(&mut data, &stream)?;
    let mut squares = DeviceBuffer::alloc(host.len())?;
    square(&data, &mut squares, &stream)?;
    let expected: Vec<i32> = host.iter().map(|value| (2 * value + 1) * (2 * value + 1)).collect();
    assert_eq!(squares.to_vec()?, expected);
    Ok(())
}

#[test]
fn a_kernel_reads_and_writes_pinned_host_memory() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let host = numbers(300, 5);
    let from = PinnedBuffer::from_slice(&host)?;
    let mut to = PinnedBuffer::alloc(300)?;
    copy_values(&from, &mut to, &stream)?;
    // No synchronisation is needed: the host access waits for the kernel.
    assert_eq!(&to.host()?[..], host);
    Ok(())
}

#[test]
fn memory_of_another_device_is_refused() -> Result<()> {
    let _alone = alone();
    if Device::count()? < 2 {
        println!("one device only: nothing to mix up");
        return Ok(());
    }
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::<i32>::alloc_on(Device::new(1)?, 4)?;
    let error = add_one(&mut data, &stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::device_mismatch("data", 1, 0));
    Ok(())
}
