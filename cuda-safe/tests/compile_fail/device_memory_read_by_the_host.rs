//! An address of device memory is invalid on the host: a copy brings the elements.
fn main() -> cuda_safe::Result<()> {
    let mut device = cuda_safe::DeviceBuffer::<u32>::alloc(3)?;
    let _first = device[0];
    device[1] = 5;
    let _second = device.slice(1..)?[0];
    let _guard = device.host()?;
    Ok(())
}
