//! A device may leave a zero.
fn main() {
    let _ = cuda_safe::ManagedBuffer::<std::num::NonZeroU32>::alloc(3);
}
