//! An array has elements of one type, even if another type has the same bytes.
use cuda_safe::memcpy_2d;
use cuda_safe::memory::{Array, Plane};

fn main() -> cuda_safe::Result<()> {
    let mut array = Array::<[u8; 4]>::alloc_2d(4, 2)?;
    memcpy_2d(&mut array, &Plane::from_slice(&[1.0_f32; 8], 4, 2)?)
}
