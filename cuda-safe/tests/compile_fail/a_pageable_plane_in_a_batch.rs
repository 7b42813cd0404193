//! A batch of rows is asynchronous, like one of elements: a plane of a slice may be freed before it is read.
use cuda_safe::copy::CopyBatch3d;
use cuda_safe::memory::{PitchedBuffer, Plane};
use cuda_safe::stream::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = PitchedBuffer::<u32>::alloc(2, 2)?;
    let host = vec![1_u32, 2, 3, 4];
    CopyBatch3d::new().copy_2d(&mut device, &Plane::from_slice(&host, 2, 2)?).enqueue(&stream)
}
