//! Two planes for writing do not overlap: the second one would need the borrow of the first.
use cuda_safe::memory::PitchedBuffer;
use cuda_safe::{memset_2d, memset_2d_async, stream::Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = PitchedBuffer::<u32>::alloc(4, 4)?;
    let mut whole = device.plane_mut();
    let mut rows = whole.rows_mut(..2)?;
    memset_2d(&mut whole.columns_mut(..2)?, 0)?;
    memset_2d_async(&mut rows, 1, &stream)
}
