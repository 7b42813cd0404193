//! All devices sum their parts of an array, and the first one sums them up.
//!
//! Each device has its own stream, which copies a part to the device, sums it, and copies the sums of the
//! blocks to the first device. The first device's stream waits for all of them.
use anyhow::ensure;
use cuda_safe::{Device, DeviceBuffer, Event, PinnedBuffer, Stream, launch, memcpy_async};
use examples::kernels::block_sums;

fn main() -> anyhow::Result<()> {
    let (n, blocks, threads) = (1 << 14, 8, 128);
    let devices = Device::all()?;
    let mut d_all = DeviceBuffer::<i32>::alloc(blocks * devices.len())?;
    let mut d_total = DeviceBuffer::<i32>::alloc(1)?;
    let (mut all, mut expected) = (Vec::new(), 0);

    for (device, mut d_gathered) in devices.zip(d_all.chunks_mut(blocks)?) {
        device.set_current()?;
        let first = i32::try_from(device.ordinal())?;
        let input: Vec<i32> = (first..first + 100).cycle().take(n).collect();
        expected += input.iter().sum::<i32>();
        let (stream, done) = (Stream::non_blocking()?, Event::without_timing()?);
        let h_part = PinnedBuffer::from_slice(&input)?;
        let mut d_part = DeviceBuffer::<i32>::alloc(n)?;
        let mut d_sums = DeviceBuffer::<i32>::alloc(blocks)?;

        memcpy_async(&mut d_part, &h_part, &stream)?;
        launch!(block_sums<<<blocks, threads, 0, &stream>>>(&d_part, &mut d_sums, n))?;
        memcpy_async(&mut d_gathered, &d_sums, &stream)?;
        done.record(&stream)?;
        all.push((stream, done, h_part, d_part, d_sums)); // a drop here would wait for this device
    }

    let stream = &all[0].0;
    for (_, done, ..) in &all {
        stream.wait(done)?;
    }
    launch!(block_sums<<<1, threads, 0, stream>>>(&d_all, &mut d_total, d_all.len()))?;
    stream.synchronize()?;
    let total = d_total.to_vec()?[0];
    ensure!(total == expected);
    println!("{n} numbers on each device, their sum is {total} for {} devices", all.len());
    Ok(())
}
