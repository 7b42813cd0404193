//! A copy of a `String` would be freed twice.
fn main() {
    let _ = cuda_safe::DeviceBuffer::<String>::alloc(3);
}
