//! Two libraries in one program, each with device code of several sources that is linked.
//!
//! Not under initcheck, synccheck, racecheck: they do not support kernels that launch kernels.
#![expect(unsafe_code, reason = "launches kernels")]

use std::sync::{Mutex, PoisonError};

use cuda_safe::copy::memcpy_from_symbol;
use cuda_safe::{DeviceBuffer, Result, Stream, launch, memcpy_async};

mod linked {
    cuda_safe::include_kernels!("own_linked");
}

mod other {
    cuda_safe::include_kernels!("own_other");
}

/// Held by tests whose kernels count their steps.
static COUNTS: Mutex<()> = Mutex::new(());

#[test]
fn kernels_of_both_launch_kernels_that_call_functions_of_other_sources() -> Result<()> {
    let _counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let stream = Stream::new()?;
    let mut x = DeviceBuffer::from_slice(&[1_u32, 2, 3])?;
    // SAFETY: three threads, and three numbers, here and below.
    unsafe { launch!(linked::parent.unchecked()<<<1, 1, 0, &stream>>>(&mut x, 3_u32)) }?;
    // SAFETY: as above.
    unsafe { launch!(other::parent_of_other.unchecked()<<<1, 1, 0, &stream>>>(&mut x, 3_u32)) }?;
    assert_eq!(x.to_vec()?, [4, 6, 8]);
    Ok(())
}

#[test]
fn a_kernel_counts_as_a_user_of_the_variables_of_all_sources() -> Result<()> {
    let _counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let [first, second] = [Stream::non_blocking()?, Stream::non_blocking()?];
    let (mut x, mut steps) = (DeviceBuffer::from_slice(&[0_u32])?, [0]);
    memcpy_from_symbol(&mut steps, &linked::steps)?;
    let before = steps[0];
    // SAFETY: one thread, and one number.
    unsafe { launch!(linked::calls.unchecked()<<<1, 1, 0, &first>>>(&mut x)) }?;
    let mut after = DeviceBuffer::from_slice(&[0_u32])?;
    memcpy_async(&mut after, &linked::steps.slice(..)?, &second)?;
    assert_eq!(after.to_vec()?, [before + 1]);
    Ok(())
}

#[test]
fn memory_that_a_function_of_another_source_may_write_is_written() {
    // A type that is spelled out: `*const u32` would not fit.
    let _: &cuda_safe::launch::Kernel<(*mut u32,)> = &linked::calls;
}
