//! A copy of rows needs their length: a buffer has none, a plane of it does.
use cuda_safe::memory::PitchedBuffer;
use cuda_safe::{DeviceBuffer, memcpy_2d};

fn main() -> cuda_safe::Result<()> {
    let mut plane = PitchedBuffer::<u32>::alloc(2, 2)?;
    let row = DeviceBuffer::<u32>::alloc(4)?;
    memcpy_2d(&mut plane, &row)
}
