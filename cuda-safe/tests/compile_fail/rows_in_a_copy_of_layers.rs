//! A copy of layers needs the number of rows of each.
use cuda_safe::{PitchedBuffer, PitchedVolume, memcpy_3d};

fn main() -> cuda_safe::Result<()> {
    let plane = PitchedBuffer::<u32>::alloc(2, 2)?;
    let mut volume = PitchedVolume::<u32>::alloc(2, 2, 1)?;
    memcpy_3d(&mut volume, &plane)
}
