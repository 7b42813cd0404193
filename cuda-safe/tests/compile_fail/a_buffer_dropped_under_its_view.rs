//! A view does not outlive its buffer.
fn main() -> cuda_safe::Result<()> {
    let device = cuda_safe::DeviceBuffer::<u32>::alloc(4)?;
    let view = device.slice(..)?;
    drop(device);
    assert_eq!(view.len(), 4);
    Ok(())
}
