//! An address of the host is invalid on a device, and one from a device could point anywhere.
fn main() {
    let _ = cuda_safe::DeviceBuffer::<*const f32>::alloc(3);
}
