//! Errors of calls that fail; work continues after them.
//!
//! One line for each mistake goes to standard output, and the error's whole sentence goes to standard
//! error. A mistake has no lasting effect: memory is unchanged, and work goes on. The program makes
//! mistakes in safe Rust where the compiler allows them, and the others through `check!`.
#![expect(unsafe_code, reason = "makes mistakes that safe code cannot make")]
use std::ffi::c_void;
use std::ptr::{null, null_mut};

use anyhow::{anyhow, ensure};
use cuda_kernels::kernels::square;
use cuda_safe::launch;
use cuda_safe::sys::{
    cudaMemcpyDeviceToDevice, cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice, cudaMemcpyKind,
};
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, Stream, check, error, memcpy, memset};
use examples::yes_no;

fn report<T>(mistake: &str, result: cuda_safe::Result<T>) -> anyhow::Result<()> {
    let error = result.err().ok_or_else(|| anyhow!("{mistake}: this went well"))?;
    eprintln!("{mistake}: {error}");
    println!("{mistake}: {} ({})", error.name(), error.number());
    if !error.is_refused() {
        ensure!(error::take_last().is_err_and(|last| last.code() == error.code())); // clears the error
    }
    error::take_last()?;
    Ok(())
}

fn make_mistakes() -> anyhow::Result<()> {
    let (n, too_much) = (1000, usize::MAX / 2);
    let mut host = vec![0_u8; 2 * n];
    let mut p: *mut c_void = null_mut();
    let mut pitch = 0;

    report("more device memory than there is", DeviceBuffer::<u8>::alloc(too_much))?;
    report("more pinned memory than there is", PinnedBuffer::<u8>::alloc(too_much))?;
    // SAFETY: here and in the next three, the pointers are to live variables, and no memory is allocated.
    report("more managed memory than there is", unsafe {
        check!(cudaMallocManaged(&raw mut p, too_much, 1))
    })?;
    // SAFETY: as above.
    let pitched = unsafe { check!(cudaMallocPitch(&raw mut p, &raw mut pitch, 1, usize::MAX)) };
    report("more rows than there is memory for", pitched)?;
    // SAFETY: as above.
    report("pinned memory with unknown flags", unsafe { check!(cudaHostAlloc(&raw mut p, n, 1 << 20)) })?;
    // SAFETY: as above.
    report("registering no memory at all", unsafe { check!(cudaHostRegister(null_mut(), n, 0)) })?;
    ensure!(p.is_null());

    let mut d_data = DeviceBuffer::<u8>::alloc(n)?;
    memset(&mut d_data, 1)?;
    report("an upload longer than its destination", memcpy(&mut d_data, &host))?;
    report("a download longer than its source", memcpy(&mut host, &d_data))?;
    report(
        "a memset longer than its destination",
        d_data.slice_mut(0..2 * n).and_then(|mut d| memset(&mut d, 0)),
    )?;
    let raw: *mut c_void = d_data.as_mut_ptr().cast();
    // SAFETY: here and in the next two, the runtime refuses before it touches any memory.
    report("a copy from a null pointer", unsafe {
        check!(cudaMemcpy(raw, null(), n, cudaMemcpyHostToDevice))
    })?;
    // SAFETY: as above.
    let nowhere = unsafe { check!(cudaMemcpy(raw, host.as_ptr().cast(), n, cudaMemcpyKind(100))) };
    report("a copy in no direction", nowhere)?;
    // SAFETY: as above.
    let confused = unsafe { check!(cudaMemcpy(raw, host.as_ptr().cast(), n, cudaMemcpyDeviceToDevice)) };
    report("a copy on the device with host memory", confused)?;

    let d_none = DeviceBuffer::<i32>::alloc(0)?;
    let mut d_squares = DeviceBuffer::<i32>::alloc(0)?;
    let legacy = Stream::legacy()?;
    let none = launch!(square<<<0, 32, 0, &legacy>>>(&d_none, &mut d_squares, 0));
    report("a launch of no blocks", none)?;
    let large = launch!(square<<<1, 4096, 0, &legacy>>>(&d_none, &mut d_squares, 0));
    report("a launch of blocks too large", large)?;
    report("a device that is not there", Device::new(1000))?;

    ensure!(d_data.to_vec()? == vec![1; n]);
    d_data.free()?;
    // SAFETY: here and in the next two, the runtime refuses before it touches any memory.
    let freed = unsafe { check!(cudaMemcpy(host.as_mut_ptr().cast(), raw, n, cudaMemcpyDeviceToHost)) };
    report("a copy from memory that is freed", freed)?;
    // SAFETY: as above.
    report("memory freed twice", unsafe { check!(cudaFree(raw)) })?;
    // SAFETY: as above.
    report("host memory freed as device memory", unsafe { check!(cudaFree(host.as_mut_ptr().cast())) })?;
    Ok(())
}

fn main() -> anyhow::Result<()> {
    make_mistakes()?;
    let before = Device::current()?.memory_info()?;
    println!("and all of it once more");
    make_mistakes()?;
    let after = Device::current()?.memory_info()?;
    println!("free device memory is what it was: {}", yes_no(after.free == before.free));
    Ok(())
}
