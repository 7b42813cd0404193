//! Nothing retains a slice until a stream has read it.
use cuda_safe::memcpy_2d_async;
use cuda_safe::memory::{Array, Plane};

fn main() -> cuda_safe::Result<()> {
    let stream = cuda_safe::Stream::new()?;
    let mut array = Array::<u8>::alloc_2d(4, 2)?;
    memcpy_2d_async(&mut array, &Plane::from_slice(&[1; 8], 4, 2)?, &stream)
}
