//! A call gets the pointers that its borrows allow.
use cuda_safe::{DeviceBuffer, Stream, sys};

/// Another library's function.
unsafe fn fill(_x: *mut f32, _stream: sys::cudaStream_t) -> cuda_safe::Result<()> {
    Ok(())
}

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let x = DeviceBuffer::<f32>::alloc(4)?;
    // SAFETY: the buffer has four elements.
    unsafe { stream.call(&x, |raw, x| fill(x, raw)) }
}
