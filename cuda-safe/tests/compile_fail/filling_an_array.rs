//! An array has no address, and CUDA has no function that fills one.
use cuda_safe::memory::Array;
use cuda_safe::memset_2d;

fn main() -> cuda_safe::Result<()> {
    let mut array = Array::<u8>::alloc_2d(4, 2)?;
    memset_2d(&mut array, 1)
}
