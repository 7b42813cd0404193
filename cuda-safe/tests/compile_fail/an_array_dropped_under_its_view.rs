//! A view of an array, or of a level of one, does not outlive it.
use cuda_safe::memory::ArrayBuilder;

fn main() -> cuda_safe::Result<()> {
    let image = ArrayBuilder::plane(4, 2).mipmapped::<u8>(2)?;
    let level = image.level(1)?;
    drop(image);
    level.to_vec().map(drop)
}
