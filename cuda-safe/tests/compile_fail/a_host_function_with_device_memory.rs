//! The host cannot reach device memory.
use cuda_safe::{DeviceBuffer, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = DeviceBuffer::<f32>::alloc(4)?;
    stream.launch_host_fn_with(&device, |d: &[f32]| println!("{d:?}"))?;
    Ok(())
}
