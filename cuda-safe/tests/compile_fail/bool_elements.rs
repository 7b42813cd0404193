//! A device may leave bytes behind that are no `bool`.
fn main() {
    let _ = cuda_safe::DeviceBuffer::<bool>::alloc(3);
}
