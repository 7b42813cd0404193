//! Events report completion, make streams wait, and measure time.
//!
//! They mark points in a stream: here the ends of a kernel and of a copy. A gate kernel holds the stream,
//! so "not done" is certain and does not depend on timing.
//!
//! Not under sanitizers: a kernel polls a flag while the host asks what is done.
#![expect(unsafe_code, reason = "launches kernels")]
use anyhow::anyhow;
use cuda_kernels::kernels::fill_f32;
use cuda_kernels::kernels::gate;
use cuda_safe::launch;
use cuda_safe::{DeviceBuffer, Event, MappedFlag, PinnedBuffer, Stream, memcpy_async};
use examples::yes_no;

fn main() -> anyhow::Result<()> {
    let (n, threads) = (4096, 256);
    let blocks = n / threads;
    let mut d_data = DeviceBuffer::<f32>::alloc(n)?;
    let mut h_first = PinnedBuffer::<f32>::alloc(n)?;
    let mut h_second = PinnedBuffer::<f32>::alloc(n)?;
    h_first.host_mut()?.fill(0.0);
    h_second.host_mut()?.fill(0.0);
    let flag = MappedFlag::new()?;

    let stream = Stream::non_blocking()?;
    let other = Stream::non_blocking()?;
    let start = Event::new()?;
    let kernel_done = Event::new()?;
    let copy_done = Event::new()?;
    let other_done = Event::without_timing()?;

    // CUDA loads a kernel when it is first launched, and loading may wait for the device. So both kernels
    // run once before the gate closes.
    flag.set(1);
    // SAFETY: the flag is open, so the gate ends.
    unsafe { launch!(gate.unchecked()<<<1, 1, 0, &stream>>>(&flag)) }?;
    launch!(fill_f32<<<blocks, threads, 0, &stream>>>(&mut d_data, 0.0, n))?;
    stream.synchronize()?;

    flag.set(0);
    // SAFETY: the flag is opened below.
    unsafe { launch!(gate.unchecked()<<<1, 1, 0, &stream>>>(&flag)) }?;
    start.record(&stream)?;
    launch!(fill_f32<<<blocks, threads, 0, &stream>>>(&mut d_data, 7.0, n))?;
    kernel_done.record(&stream)?;
    memcpy_async(&mut h_first, &d_data, &stream)?;
    copy_done.record(&stream)?;
    other.wait(&kernel_done)?;
    memcpy_async(&mut h_second, &d_data, &other)?;
    other_done.record(&other)?;
    println!(
        "gate closed: kernel done? {}. copy done? {}. other stream done? {}.",
        yes_no(kernel_done.is_done()?),
        yes_no(copy_done.is_done()?),
        yes_no(other_done.is_done()?)
    );

    flag.set(1);
    copy_done.synchronize()?;
    other_done.synchronize()?;
    println!(
        "gate open: kernel done? {}. copy done? {}. other stream done? {}.",
        yes_no(kernel_done.is_done()?),
        yes_no(copy_done.is_done()?),
        yes_no(other_done.is_done()?)
    );
    let (brought, waited) = (h_first.host()?[n - 1], h_second.host()?[n - 1]);
    println!("the copy brought {brought:.0}, the one that waited for the kernel {waited:.0}");

    let kernel_ms = kernel_done.elapsed_ms(&start)?;
    let copy_ms = copy_done.elapsed_ms(&kernel_done)?;
    let back_ms = start.elapsed_ms(&copy_done)?;
    println!("time from start to kernel is not negative: {}", yes_no(kernel_ms >= 0.0));
    println!("time from kernel to copy is not negative: {}", yes_no(copy_ms >= 0.0));
    println!("time from copy back to start is not positive: {}", yes_no(back_ms <= 0.0));
    let error =
        other_done.elapsed_ms(&start).err().ok_or_else(|| anyhow!("an event without timing gave a time"))?;
    println!("time to an event without timing: {} ({})", error.name(), error.number());
    Ok(())
}
