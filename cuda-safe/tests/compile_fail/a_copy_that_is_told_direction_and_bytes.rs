//! A copy takes no direction, which could be wrong, and no number, which could count elements or bytes.
use cuda_safe::sys::cudaMemcpyHostToDevice;
use cuda_safe::{DeviceBuffer, memcpy};

fn main() -> cuda_safe::Result<()> {
    let mut host = [0_u32; 3];
    let device = DeviceBuffer::<u32>::alloc(3)?;
    memcpy(&mut host, &device, 12, cudaMemcpyHostToDevice)
}
