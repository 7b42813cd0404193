//! A copy of an `Rc` would decrement a count that it never incremented.
fn main() {
    let _ = cuda_safe::PinnedBuffer::<std::rc::Rc<u32>>::alloc(3);
}
