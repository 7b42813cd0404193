//! Two views for writing never share an element: only a split makes two.
use cuda_safe::memcpy_2d;
use cuda_safe::memory::Array;

fn main() -> cuda_safe::Result<()> {
    let mut array = Array::<u8>::alloc_3d(4, 2, 2)?;
    let mut one = array.view_mut();
    let other = array.view_mut();
    memcpy_2d(&mut one, &other)
}
