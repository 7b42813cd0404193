//! Numbers of the crate `half` as elements and arguments: for `__half`, `__nv_bfloat16` and their pairs.

use cuda_kernels::kernels::{self, add_pairs, scale_bfloats, scale_halves};
use cuda_safe::{DeviceBuffer, PinnedBuffer, Result, Stream, launch};
use half::{bf16, f16};

#[test]
fn halves_are_elements_and_values() -> Result<()> {
    let stream = Stream::non_blocking()?;
    let numbers: Vec<_> = (0..300_u16).map(|i| f16::from_f32(f32::from(i) / 8.0)).collect();
    let mut d = DeviceBuffer::from_slice(&numbers)?;
    launch!(scale_halves<<<2, 256, 0, &stream>>>(&mut d, f16::from_f32(0.5), 300))?;
    let expected: Vec<_> = numbers.iter().map(|&number| f16::from_f32(number.to_f32() * 0.5)).collect();
    assert_eq!(d.to_vec()?, expected);
    // Memory of the header's own type, and a part of pinned memory.
    let mut h = PinnedBuffer::from_slice(&numbers)?;
    launch!(scale_halves<<<1, 256, 0, &stream>>>(h.slice_mut(100..)?, f16::from_f32(2.0), 200))?;
    assert_eq!(h.host()?[99..101], [numbers[99], f16::from_f32(numbers[100].to_f32() * 2.0)]);
    let mut own = DeviceBuffer::<kernels::__half>::alloc_zeroed(300)?;
    launch!(scale_halves<<<2, 256, 0, &stream>>>(&mut own, f16::ONE, 300))?;
    Ok(())
}

#[test]
fn bfloats_are_elements_and_values() -> Result<()> {
    let stream = Stream::non_blocking()?;
    let numbers: Vec<_> = (0..100_u16).map(|i| bf16::from_f32(f32::from(i) * 1000.0)).collect();
    let mut d = DeviceBuffer::from_slice(&numbers)?;
    launch!(scale_bfloats<<<1, 128, 0, &stream>>>(&mut d, bf16::from_f32(-3.0), 100))?;
    let expected: Vec<_> = numbers.iter().map(|&number| bf16::from_f32(number.to_f32() * -3.0)).collect();
    assert_eq!(d.to_vec()?, expected);
    Ok(())
}

#[test]
fn pairs_take_memory_of_single_numbers_and_an_array_of_two() -> Result<()> {
    let stream = Stream::non_blocking()?;
    let numbers: Vec<_> = (0..64_u16).map(|i| f16::from_f32(f32::from(i))).collect();
    let d = DeviceBuffer::from_slice(&numbers)?;
    let mut sum = DeviceBuffer::<f16>::alloc_zeroed(64)?;
    let more = [f16::from_f32(1.0), f16::from_f32(100.0)];
    launch!(add_pairs<<<1, 32, 0, &stream>>>(&d, &mut sum, more, 32))?;
    let expected = (0..64_u16).map(|i| f16::from_f32(f32::from(i) + if i % 2 == 0 { 1.0 } else { 100.0 }));
    assert_eq!(sum.to_vec()?, expected.collect::<Vec<_>>());
    // No whole number of pairs, and a part that begins in a pair.
    for part in [0..63, 1..63] {
        let error = launch!(add_pairs<<<1, 32, 0, &stream>>>(d.slice(part)?, &mut sum, more, 31));
        assert!(error.is_err_and(|error| error.to_string().contains("launch")));
    }
    Ok(())
}
