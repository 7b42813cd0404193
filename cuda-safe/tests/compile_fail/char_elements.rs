//! A device may leave bytes that are not a valid `char`.
fn main() {
    let _ = cuda_safe::PinnedBuffer::<char>::alloc(3);
}
