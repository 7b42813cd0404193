//! Allocates and frees memory in the order of a stream.
//!
//! The host never waits for an allocation. Memory is freed right after the last operation that uses it was
//! enqueued, and the next turn gets the same memory from the device's pool. The first allocation raises the
//! pool's release threshold, so the program does not set it.
use anyhow::ensure;
use cuda_kernels::kernels::vector_add;
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, Stream, launch, memcpy_async};
use examples::yes_no;

fn main() -> anyhow::Result<()> {
    let (n, threads) = (1 << 14, 256);
    let numbers: Vec<f32> = (0_u16..1 << 14).map(f32::from).collect();
    let h_a = PinnedBuffer::from_slice(&numbers)?;
    let h_b = PinnedBuffer::from_slice(&numbers.iter().map(|number| 2.0 * number).collect::<Vec<_>>())?;
    let mut h_sum = PinnedBuffer::<f32>::alloc(n)?;
    let stream = Stream::non_blocking()?;
    let pool = Device::current()?.default_memory_pool()?;

    for turn in 1..=3 {
        let mut d_a = DeviceBuffer::<f32>::alloc_async(n, &stream)?;
        let mut d_b = DeviceBuffer::<f32>::alloc_async(n, &stream)?;
        let mut d_sum = DeviceBuffer::<f32>::alloc_async(n, &stream)?;
        memcpy_async(&mut d_a, &h_a, &stream)?;
        memcpy_async(&mut d_b, &h_b, &stream)?;
        launch!(vector_add<<<n / threads, threads, 0, &stream>>>(&d_a, &d_b, &mut d_sum, n))?;
        d_a.free_async(&stream)?;
        d_b.free_async(&stream)?;
        memcpy_async(&mut h_sum, &d_sum, &stream)?;
        d_sum.free_async(&stream)?;
        stream.synchronize()?;

        ensure!(h_sum.host()?.iter().zip(&numbers).all(|(sum, number)| *sum == 3.0 * number));
        let (used, keeps) = (pool.attributes()?.used, pool.attributes()?.reserved >= 12 * n as u64);
        println!(
            "turn {turn}: {n} sums are right, {used} bytes are in use, the pool keeps memory: {}",
            yes_no(keeps)
        );
    }
    pool.trim_to(0)?;
    println!("after a trim it keeps {} bytes", pool.attributes()?.reserved);
    Ok(())
}
