//! Fills of every type, from one element to more than one pass of the grid.

use cuda_kernels::{Fill, fill};
use cuda_safe::element::{AnyBitPattern, NoUninit};
use cuda_safe::{DeviceBuffer, Result, Stream};
use cuda_testing::alone;

fn fills<T: Fill + AnyBitPattern + NoUninit + PartialEq + std::fmt::Debug>(value: T, other: T) -> Result<()> {
    let stream = Stream::new()?;
    for len in [1_usize, 255, 257, 5000] {
        let mut data = DeviceBuffer::from_slice(&vec![other; len + 2])?;
        fill(data.slice_mut(1..=len)?, value, &stream)?;
        let found = data.to_vec()?;
        assert!(found[1..=len].iter().all(|element| *element == value), "of {len} elements");
        assert_eq!((found[0], found[len + 1]), (other, other), "around {len} elements");
    }
    Ok(())
}

#[test]
fn bytes_are_filled() -> Result<()> {
    let _alone = alone();
    fills(0xa5_u8, 0)
}

#[test]
fn integers_are_filled() -> Result<()> {
    let _alone = alone();
    fills(-123_456_i32, 1)?;
    fills(0xdead_beef_u32, 1)?;
    fills(0x0123_4567_89ab_cdef_u64, 1)
}

#[test]
fn floats_are_filled() -> Result<()> {
    let _alone = alone();
    fills(-0.1_f32, 1.0)?;
    fills(1.0e-300_f64, 1.0)
}

#[test]
fn a_fill_larger_than_the_largest_grid_reaches_the_last_element() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    // 4096 blocks of 256 threads fill 1,048,576 elements in one pass.
    let len = (1 << 20) + 777;
    let mut data = DeviceBuffer::from_slice(&vec![0_u8; len])?;
    fill(&mut data, 7, &stream)?;
    assert_eq!(data.to_vec()?.iter().position(|byte| *byte != 7), None);
    Ok(())
}
