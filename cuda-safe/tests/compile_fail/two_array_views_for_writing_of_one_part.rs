//! Two views for writing never share an element: only a split makes two.
use cuda_safe::memcpy_2d;
use cuda_safe::memory::Array;

fn main() -> cuda_safe::Result<()> {
    let mut array = Array::<u8>::alloc_3d(4, 2, 2)?;
    let mut one = array.layers_mut(0..1)?;
    let other = array.layers_mut(0..1)?;
    memcpy_2d(&mut one, &other)
}
