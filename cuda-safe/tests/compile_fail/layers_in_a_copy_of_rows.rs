//! A copy of rows takes one layer, which the program must select.
use cuda_safe::{PitchedBuffer, PitchedVolume, memcpy_2d};

fn main() -> cuda_safe::Result<()> {
    let mut plane = PitchedBuffer::<u32>::alloc(2, 2)?;
    let volume = PitchedVolume::<u32>::alloc(2, 2, 2)?;
    memcpy_2d(&mut plane, &volume)
}
