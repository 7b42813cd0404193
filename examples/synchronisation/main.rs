//! Shows which work is complete when a call returns.
//!
//! A gate kernel holds a stream until the host opens it, so each answer is proven: while the gate is
//! closed, no work behind it can have run.
//!
//! Not under sanitizers: a kernel polls a flag while the host asks what is done.
#![expect(unsafe_code, reason = "launches kernels")]
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use cuda_kernels::kernels::fill_u32;
use cuda_kernels::kernels::gate;
use cuda_safe::launch;
use cuda_safe::{DeviceBuffer, MappedFlag, PinnedBuffer, Stream, memcpy, memcpy_async, memset};
use examples::yes_no;

fn main() -> anyhow::Result<()> {
    let (n, threads) = (4096, 256);
    let blocks = n / threads;
    let mut d_gated = DeviceBuffer::<u32>::alloc(n)?;
    let mut d_free = DeviceBuffer::<u32>::alloc(n)?;
    let mut d_set = DeviceBuffer::<u32>::alloc(n)?;
    let mut h_gated = PinnedBuffer::<u32>::alloc(n)?;
    let mut h_free = PinnedBuffer::<u32>::alloc(n)?;
    h_gated.host_mut()?.fill(0);
    h_free.host_mut()?.fill(0);
    let flag = MappedFlag::new()?;
    let gated = Stream::new()?;
    let independent = Stream::non_blocking()?;

    // CUDA loads a kernel when it is first launched, and loading may wait for the device. So both kernels
    // run once before the gate closes.
    flag.set(1);
    // SAFETY: the flag is open, so the gate ends.
    unsafe { launch!(gate.unchecked()<<<1, 1, 0, &gated>>>(&flag)) }?;
    launch!(fill_u32<<<blocks, threads, 0, &gated>>>(&mut d_gated, 0, n))?;
    gated.synchronize()?;

    flag.set(0);
    // SAFETY: the flag is opened below.
    unsafe { launch!(gate.unchecked()<<<1, 1, 0, &gated>>>(&flag)) }?;
    launch!(fill_u32<<<blocks, threads, 0, &gated>>>(&mut d_gated, 7, n))?;
    println!("after a kernel launch: done? {}", yes_no(gated.is_done()?));

    memcpy_async(&mut h_gated, &d_gated, &gated)?;
    println!("after an asynchronous copy: done? {}", yes_no(gated.is_done()?));

    let calls = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&calls);
    gated.launch_host_fn(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    })?;
    println!(
        "after a host function was enqueued: done? {}, calls: {}",
        yes_no(gated.is_done()?),
        calls.load(Ordering::SeqCst)
    );

    // The legacy stream waits for the gate, but the host does not wait for a fill of device memory or a
    // copy within it.
    memset(&mut d_set, 1)?;
    println!("after a memset of device memory: done? {}", yes_no(gated.is_done()?));

    // A non-blocking stream does not wait for the gate: its work completes while the gate is closed.
    launch!(fill_u32<<<blocks, threads, 0, &independent>>>(&mut d_free, 9, n))?;
    memcpy_async(&mut h_free, &d_free, &independent)?;
    independent.synchronize()?;
    println!(
        "the non-blocking stream: done? {}, brought {}; the gated one: done? {}",
        yes_no(independent.is_done()?),
        h_free.host()?[n - 1],
        yes_no(gated.is_done()?)
    );

    // A blocking copy to the host waits for all earlier work of the blocking streams, so another thread
    // opens the gate.
    let mut result = vec![0; n];
    thread::scope(|scope| {
        scope.spawn(|| flag.set(1));
        memcpy(&mut result, &d_gated)
    })?;
    println!("after a blocking copy: done? {}, brought {}", yes_no(gated.is_done()?), result[n - 1]);

    gated.synchronize()?;
    println!(
        "after synchronising: done? {}, calls: {}, the asynchronous copy brought {}",
        yes_no(gated.is_done()?),
        calls.load(Ordering::SeqCst),
        h_gated.host()?[n - 1]
    );
    memcpy(&mut result, &d_set)?;
    println!("the memset wrote {:#010x}", result[n - 1]);
    Ok(())
}
