//! A slice for reading is not a destination, on the host either.
use cuda_safe::{DeviceBuffer, memcpy};

fn main() -> cuda_safe::Result<()> {
    let device = DeviceBuffer::<u32>::alloc(3)?;
    let host = [0_u32; 3];
    memcpy(&mut &host[..], &device)
}
