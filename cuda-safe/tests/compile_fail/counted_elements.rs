//! A copy of an `Rc` would count down what it never counted up.
fn main() {
    let _ = cuda_safe::PinnedBuffer::<std::rc::Rc<u32>>::alloc(3);
}
