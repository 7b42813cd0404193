//! Other owners of an `Arc` may be reading the elements that a copy would write.
use std::sync::Arc;

use cuda_safe::{DeviceBuffer, Registered, Stream, memcpy_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = DeviceBuffer::from_slice(&[1_u32, 2, 3])?;
    let mut shared = Registered::new(Arc::<[u32]>::from([0; 3]))?;
    memcpy_async(&mut shared, &device, &stream)
}
