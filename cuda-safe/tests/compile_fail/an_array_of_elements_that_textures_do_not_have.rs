//! CUDA has no arrays of 64-bit numbers, nor of three numbers per element.
use cuda_safe::memory::Array;

fn main() -> cuda_safe::Result<()> {
    let _ = Array::<f64>::alloc_1d(4)?;
    let _ = Array::<[f32; 3]>::alloc_1d(4)?;
    Ok(())
}
