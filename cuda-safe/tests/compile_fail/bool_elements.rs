//! A device may leave bytes that are not a valid `bool`.
fn main() {
    let _ = cuda_safe::DeviceBuffer::<bool>::alloc(3);
}
