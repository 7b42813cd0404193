//! Runtime calls and raw pointers only.
//!
//! `check!` is the raw layer: it can call every function of the C API, and returns typed errors. As in
//! C++, nothing is freed automatically, and the compiler checks no lifetimes.
#![expect(unsafe_code, reason = "shows the raw layer")]
use std::ffi::c_void;
use std::ptr::{null, null_mut};

use anyhow::{anyhow, ensure};
use cuda_kernels::kernels::vector_add;
use cuda_safe::check;
use cuda_safe::sys::{cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice, dim3};

fn main() -> anyhow::Result<()> {
    let (n, threads) = (1000_u32, 256);
    let len = n as usize;
    let bytes = len * size_of::<f32>();
    let (a, b) = (vec![1.25_f32; len], vec![2.5_f32; len]);
    let mut sum = vec![0.0_f32; len];

    let (mut d_a, mut d_b, mut d_sum) = (null_mut::<c_void>(), null_mut::<c_void>(), null_mut::<c_void>());
    // SAFETY: each call writes one pointer to a live variable.
    unsafe { check!(cudaMalloc(&raw mut d_a, bytes)) }?;
    // SAFETY: each call writes one pointer to a live variable.
    unsafe { check!(cudaMalloc(&raw mut d_b, bytes)) }?;
    // SAFETY: each call writes one pointer to a live variable.
    unsafe { check!(cudaMalloc(&raw mut d_sum, bytes)) }?;
    // SAFETY: both sides of each copy have `bytes` bytes.
    unsafe { check!(cudaMemcpy(d_a, a.as_ptr().cast(), bytes, cudaMemcpyHostToDevice)) }?;
    // SAFETY: both sides of each copy have `bytes` bytes.
    unsafe { check!(cudaMemcpy(d_b, b.as_ptr().cast(), bytes, cudaMemcpyHostToDevice)) }?;

    let (grid, block) = (dim3 { x: n.div_ceil(threads), y: 1, z: 1 }, dim3 { x: threads, y: 1, z: 1 });
    let mut count = n;
    let mut arguments: [*mut c_void; 4] =
        [(&raw mut d_a).cast(), (&raw mut d_b).cast(), (&raw mut d_sum).cast(), (&raw mut count).cast()];
    // SAFETY: the arguments are those of the kernel in number, order and type, and the buffers hold `n`
    // floats.
    unsafe {
        check!(cudaLaunchKernel(vector_add.as_raw(), grid, block, arguments.as_mut_ptr(), 0, null_mut()))
    }?;

    // SAFETY: both sides have `bytes` bytes.
    unsafe { check!(cudaMemcpy(sum.as_mut_ptr().cast(), d_sum, bytes, cudaMemcpyDeviceToHost)) }?;
    ensure!(sum.iter().all(|&x| x == 3.75));
    println!("{n} sums of {:.2} and {:.2}: all {:.2}", a[0], b[0], sum[0]);

    // SAFETY: the destination has `bytes` bytes. The runtime must refuse the null source.
    let copied =
        unsafe { check!(cudaMemcpy(sum.as_mut_ptr().cast(), null(), bytes, cudaMemcpyDeviceToHost)) };
    let error = copied.err().ok_or_else(|| anyhow!("a copy from a null pointer went well"))?;
    println!("a copy from a null pointer: {} ({})", error.name(), error.number());

    // SAFETY: the memory is from `cudaMalloc` and no longer in use.
    unsafe { check!(cudaFree(d_a)) }?;
    // SAFETY: the memory is from `cudaMalloc` and no longer in use.
    unsafe { check!(cudaFree(d_b)) }?;
    // SAFETY: the memory is from `cudaMalloc` and no longer in use.
    unsafe { check!(cudaFree(d_sum)) }?;
    Ok(())
}
