//! Two views for writing come from a split, never from one buffer twice.
use cuda_safe::{DeviceBuffer, memcpy};

fn main() -> cuda_safe::Result<()> {
    let mut device = DeviceBuffer::<u32>::alloc(4)?;
    let mut first = device.slice_mut(..2)?;
    let second = device.slice_mut(1..3)?;
    memcpy(&mut first, &second)
}
