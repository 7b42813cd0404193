//! A reference from a device would point anywhere.
fn main() {
    let _ = cuda_safe::DeviceBuffer::<&'static u32>::alloc(3);
}
