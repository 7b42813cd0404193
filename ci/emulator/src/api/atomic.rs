//! Atomic operations over a link: on both kinds of links, all that kernels here can do.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_uint};

use super::{api, ordinal};
use crate::error::Answer;
use crate::sys::*;

fn answer(out: *mut c_uint, operations: *const cudaAtomicOperation, count: c_uint) -> Answer {
    let count = usize::try_from(count).map_err(|_| cudaErrorInvalidValue)?;
    if out.is_null() || operations.is_null() || count == 0 {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: the program promises that the list has `count` entries, and it is not null.
    let wanted = unsafe { core::slice::from_raw_parts(operations, count) };
    if wanted.iter().any(|it| it.0 > cudaAtomicOperationFloatMax.0) {
        return Err(cudaErrorInvalidValue);
    }
    let every =
        cudaAtomicCapabilityReduction.0 | cudaAtomicCapabilityScalar32.0 | cudaAtomicCapabilityScalar64.0;
    let whole = cudaAtomicCapabilitySigned.0 | cudaAtomicCapabilityUnsigned.0;
    for (at, it) in wanted.iter().enumerate() {
        let found = match *it {
            it if it == cudaAtomicOperationFloatAdd => every,
            // The least and the greatest of floats are not there.
            it if it.0 > cudaAtomicOperationFloatAdd.0 => 0,
            _ => every | whole,
        };
        // SAFETY: the program promises that there is room for `count` answers.
        unsafe { out.wrapping_add(at).write(found) };
    }
    Ok(())
}

api! {
    /// The atomic operations between the host and a device.
    allowed fn cudaDeviceGetHostAtomicCapabilities(
        call, out: *mut c_uint, operations: *const cudaAtomicOperation, count: c_uint, device: c_int,
    ) {
        let machine = call.machine()?;
        ordinal(&machine, device)?;
        answer(out, operations, count)?;
        // Over the bus there are none.
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: as for `answer`, which has written there.
            unsafe { out.wrapping_add(at).write(0) };
        }
        Ok(())
    }

    /// The atomic operations between two devices.
    allowed fn cudaDeviceGetP2PAtomicCapabilities(
        call, out: *mut c_uint, operations: *const cudaAtomicOperation, count: c_uint, from: c_int, to: c_int,
    ) {
        let machine = call.machine()?;
        if ordinal(&machine, from)? == ordinal(&machine, to)? {
            return Err(cudaErrorInvalidDevice);
        }
        answer(out, operations, count)
    }
}
