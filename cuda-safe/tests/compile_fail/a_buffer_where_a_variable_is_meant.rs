//! A buffer is not a variable of a kernel's source file.
use cuda_safe::DeviceBuffer;
use cuda_safe::copy::memcpy_to_symbol;

fn main() -> cuda_safe::Result<()> {
    let device = DeviceBuffer::<f32>::alloc(3)?;
    memcpy_to_symbol(&device, &[1.0, 2.0, 3.0])
}
