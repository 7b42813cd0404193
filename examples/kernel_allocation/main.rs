//! Memory that kernels allocate, and its way to the host.
//!
//! The memory comes from the device heap, whose size the host sets. Only kernels can use it: the host
//! cannot copy from its address, and gets an error. So a kernel moves the bytes into a staging buffer,
//! which the host then copies.
#![expect(unsafe_code, reason = "launches kernels; tries a raw copy that must fail")]
use anyhow::{anyhow, ensure};
use cuda_kernels::kernels::{heap_copy_out, heap_keep, heap_release, heap_squares};
use cuda_safe::device::Limit;
use cuda_safe::launch;
use cuda_safe::sys::cudaMemcpyDeviceToHost;
use cuda_safe::{Device, DeviceBuffer, Stream, check, memcpy, memset};
use examples::yes_no;

fn main() -> anyhow::Result<()> {
    let (n, threads) = (1000_u32, 128);
    let (blocks, len) = (n.div_ceil(threads), n as usize);
    let heap = 32 << 20;
    let mut result = vec![0_u32; len];
    let legacy = Stream::legacy()?;

    let device = Device::current()?;
    device.set_limit(Limit::MallocHeapSize, heap)?;
    let limit = device.limit(Limit::MallocHeapSize)?;
    println!("the heap has at least {} MiB: {}", heap >> 20, yes_no(limit >= heap));

    // Scratch memory within one kernel: each block allocates some, uses it, and frees it.
    let mut d_staging = DeviceBuffer::<u32>::alloc(len)?;
    let mut d_failures = DeviceBuffer::<u32>::alloc(1)?;
    let mut failures = [0];
    memset(&mut d_failures, 0)?;
    // SAFETY: the output holds `n` integers, and the counter is one element.
    unsafe {
        launch!(heap_squares.unchecked()<<<blocks, threads, 0, &legacy>>>(&mut d_staging, n, &mut d_failures))
    }?;
    memcpy(&mut failures, &d_failures)?;
    memcpy(&mut result, &d_staging)?;
    ensure!((0..n).zip(&result).all(|(i, &square)| square == i * i));
    println!(
        "through scratch memory: {n} squares, the last is {}, {} blocks without memory",
        result[len - 1],
        failures[0]
    );

    // Memory that outlives its kernel: the host gets only its address, and only kernels can use it.
    let mut d_address = DeviceBuffer::<u64>::alloc(1)?;
    let mut address = [0];
    // SAFETY: the kernel allocates room for `n` integers and stores one address.
    unsafe { launch!(heap_keep.unchecked()<<<1, threads, 0, &legacy>>>(&mut d_address, n)) }?;
    memcpy(&mut address, &d_address)?;
    ensure!(address[0] != 0);
    let source = std::ptr::with_exposed_provenance(usize::try_from(address[0])?);
    // SAFETY: the destination is as long as the copy. The runtime checks the source and must refuse it.
    let copied = unsafe {
        check!(cudaMemcpy(
            result.as_mut_ptr().cast(),
            source,
            size_of_val(&result[..]),
            cudaMemcpyDeviceToHost
        ))
    };
    let error = copied.err().ok_or_else(|| anyhow!("the host copied from the kernel's memory"))?;
    println!("a host copy from the kernel's memory: {} ({})", error.name(), error.number());

    memset(&mut d_staging, 0)?;
    // SAFETY: the heap memory and the output hold `n` integers each.
    unsafe {
        launch!(heap_copy_out.unchecked()<<<blocks, threads, 0, &legacy>>>(&d_address, &mut d_staging, n))
    }?;
    memcpy(&mut result, &d_staging)?;
    // SAFETY: nothing uses the heap memory after this.
    unsafe { launch!(heap_release.unchecked()<<<1, 1, 0, &legacy>>>(&mut d_address)) }?;
    device.synchronize()?;
    ensure!((0..n).zip(&result).all(|(i, &square)| square == i * i));
    println!("a copy by way of the staging buffer: {n} squares, the last is {}", result[len - 1]);
    Ok(())
}
