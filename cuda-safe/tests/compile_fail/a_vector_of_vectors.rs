//! A vector of vectors is a list of addresses, not consecutive elements.
use cuda_safe::{DeviceBuffer, memcpy};

fn main() -> cuda_safe::Result<()> {
    let rows = vec![vec![1.0_f32; 4]; 4];
    let mut device = DeviceBuffer::<f32>::alloc(16)?;
    memcpy(&mut device, &rows)
}
