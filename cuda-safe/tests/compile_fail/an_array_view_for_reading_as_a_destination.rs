//! A view of an array for reading is not a destination.
use cuda_safe::memcpy_2d;
use cuda_safe::memory::{Array, Plane};

fn main() -> cuda_safe::Result<()> {
    let array = Array::<u8>::alloc_2d(4, 2)?;
    memcpy_2d(&mut array.view(), &Plane::from_slice(&[1; 8], 4, 2)?)
}
