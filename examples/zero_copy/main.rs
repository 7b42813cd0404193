//! A kernel reads and writes host memory directly.
//!
//! The memory is pinned and mapped into the device's address space, so nothing is copied.
use anyhow::ensure;
use cuda_kernels::kernels::scale_offset;
use cuda_safe::launch;
use cuda_safe::{PinnedBuffer, PinnedFlags, Stream};

fn main() -> anyhow::Result<()> {
    let (n, threads) = (4096_u32, 256);
    let mut h_data = PinnedBuffer::<f32>::with_flags(n as usize, PinnedFlags::MAPPED)?;
    for (i, number) in (0..n).zip(h_data.host_mut()?.iter_mut()) {
        *number = i as f32;
    }

    let stream = Stream::new()?;
    launch!(scale_offset<<<n / threads, threads, 0, &stream>>>(&mut h_data, 0.5, 3.0, n))?;
    stream.synchronize()?;

    let data = h_data.host()?;
    for (i, number) in (0..n).zip(data.iter()) {
        ensure!(*number == 0.5 * i as f32 + 3.0);
    }
    println!(
        "the kernel changed {n} floats in host memory: {:.1}, {:.1}, ... {:.1}",
        data[0],
        data[1],
        data[n as usize - 1]
    );
    Ok(())
}
