//! A device may leave bytes behind that are no `char`.
fn main() {
    let _ = cuda_safe::PinnedBuffer::<char>::alloc(3);
}
