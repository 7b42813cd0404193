//! Kernels that allocate on the device heap.
#![allow(
    unsafe_code,
    clippy::multiple_unsafe_ops_per_block,
    reason = "launches kernels that have no safe function"
)]

use cuda_kernels::{heap_squares, kernels};
use cuda_safe::{DeviceBuffer, Result, Stream, check, launch};
use cuda_testing::alone;

#[test]
fn scratch_memory_inside_of_a_kernel_brings_the_result() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    for len in [1_usize, 256, 1000] {
        let mut out = DeviceBuffer::from_slice(&vec![7_u32; len])?;
        let mut failures = DeviceBuffer::from_slice(&[0_u32])?;
        heap_squares(&mut out, &mut failures, &stream)?;
        assert_eq!(failures.to_vec()?, [0]);
        let expected: Vec<u32> = (0..u32::try_from(len).unwrap()).map(|at| at * at).collect();
        assert_eq!(out.to_vec()?, expected, "of {len} elements");
    }
    Ok(())
}

#[test]
fn the_host_cannot_copy_from_the_heap_but_a_kernel_can() -> Result<()> {
    let _alone = alone();
    const COUNT: u32 = 100;
    let stream = Stream::new()?;
    let mut address = DeviceBuffer::from_slice(&[0_u64])?;
    // SAFETY: one block; the kernel stores one address and writes the memory that it allocated itself.
    unsafe { launch!(kernels::heap_keep.unchecked()<<<1, 32, 0, &stream>>>(&mut address, COUNT)) }?;
    let scratch = address.to_vec()?[0];
    assert_ne!(scratch, 0, "the heap has room for 400 bytes");

    let mut host = [0_u32; 100];
    let from = std::ptr::with_exposed_provenance::<std::ffi::c_void>(usize::try_from(scratch).unwrap());
    let to = host.as_mut_ptr().cast();
    // SAFETY: the destination has 400 bytes; the source is an address that the runtime has to refuse.
    let refused = unsafe { check!(cudaMemcpy(to, from, 400, cuda_safe::sys::cudaMemcpyDeviceToHost)) };
    let error = refused.unwrap_err();
    assert_eq!(error.code(), cuda_safe::sys::cudaErrorInvalidValue, "{error}");
    assert!(!error.is_sticky(), "{error}");

    let mut staging = DeviceBuffer::from_slice(&[0_u32; 100])?;
    // SAFETY: the address is that of 100 integers on the heap, and the buffer has as many.
    unsafe {
        launch!(kernels::heap_copy_out.unchecked()<<<1, 128, 0, &stream>>>(&address, &mut staging, COUNT))
    }?;
    assert_eq!(staging.to_vec()?, (0..COUNT).map(|at| at * at).collect::<Vec<u32>>());

    // SAFETY: the address is from the heap, and it is freed once.
    unsafe { launch!(kernels::heap_release.unchecked()<<<1, 1, 0, &stream>>>(&mut address)) }?;
    assert_eq!(address.to_vec()?, [0]);
    Ok(())
}
