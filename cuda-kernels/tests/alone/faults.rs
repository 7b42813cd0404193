//! Kernels that fault.
//!
//! Alone: each fault loses the device.
//! Not under sanitizers: kernels trap, assert, and reach outside of every allocation.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches kernels that fault")]

use cuda_kernels::kernels::{fault_assert_nonzero, fault_load, fault_store, fault_trap};
use cuda_safe::{DeviceBuffer, Error, Result, Stream, launch, sys};
use cuda_testing::own_process;

/// Checks that the call that waits reports the fault, that the error is sticky, and that every later call
/// reports it.
fn is_sticky(error: &Error, code: sys::cudaError_t) {
    assert_eq!(error.code(), code, "{error}");
    assert!(error.is_sticky() && error.is_from_earlier_work(), "{error}");
    let later = DeviceBuffer::<u32>::alloc(4).unwrap_err();
    assert_eq!(later.code(), code, "{later}");
    assert!(later.is_sticky(), "{later}");
}

#[test]
fn a_store_outside_of_every_allocation_is_an_illegal_address() -> Result<()> {
    own_process!(Ok(()));
    let stream = Stream::new()?;
    let nowhere = std::ptr::without_provenance_mut::<u32>(0x10);
    // SAFETY: the device refuses the access, which the test checks. The process ends after it.
    unsafe { launch!(fault_store.unchecked()<<<1, 1, 0, &stream>>>(nowhere, 1)) }?;
    is_sticky(&stream.synchronize().unwrap_err(), sys::cudaErrorIllegalAddress);
    Ok(())
}

#[test]
fn a_load_through_a_null_pointer_is_an_illegal_address() -> Result<()> {
    own_process!(Ok(()));
    let stream = Stream::new()?;
    let mut found = DeviceBuffer::from_slice(&[0_u32])?;
    // SAFETY: as above.
    unsafe { launch!(fault_load.unchecked()<<<1, 1, 0, &stream>>>(std::ptr::null::<u32>(), &mut found)) }?;
    is_sticky(&found.to_vec().unwrap_err(), sys::cudaErrorIllegalAddress);
    Ok(())
}

#[test]
fn a_trap_is_a_launch_failure() -> Result<()> {
    own_process!(Ok(()));
    let stream = Stream::new()?;
    launch!(fault_trap<<<1, 1, 0, &stream>>>())?;
    is_sticky(&stream.synchronize().unwrap_err(), sys::cudaErrorLaunchFailure);
    Ok(())
}

#[test]
fn a_failed_assertion_is_an_assert_error_and_a_true_one_is_none() -> Result<()> {
    own_process!(Ok(()));
    let stream = Stream::new()?;
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(fault_assert_nonzero.unchecked()<<<1, 1, 0, &stream>>>(1)) }?;
    stream.synchronize()?;
    // SAFETY: as above. The process ends after it.
    unsafe { launch!(fault_assert_nonzero.unchecked()<<<1, 1, 0, &stream>>>(0)) }?;
    is_sticky(&stream.synchronize().unwrap_err(), sys::cudaErrorAssert);
    Ok(())
}
