//! Semaphores of other interfaces. There are none here, so that these functions only check their lists.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_uint;

use super::{Call, api};
use crate::error::Answer;
use crate::sys::{
    cudaErrorInvalidValue, cudaErrorNotSupported, cudaExternalSemaphore_t, cudaExternalSemaphoreSignalParams,
    cudaExternalSemaphoreWaitParams, cudaStream_t,
};

/// The result of a call with such lists.
fn check<P>(
    call: &Call,
    list: *const cudaExternalSemaphore_t,
    parameters: *const P,
    count: c_uint,
    stream: cudaStream_t,
) -> Answer {
    drop(call.stream(stream)?);
    if count == 0 || list.is_null() || parameters.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    eprintln!("CUDA emulator: {}: there are no semaphores of other interfaces here", call.name);
    Err(cudaErrorNotSupported)
}

api! {
    /// Signals semaphores in stream order.
    fn cudaSignalExternalSemaphoresAsync | cudaSignalExternalSemaphoresAsync_ptsz(
        call, list: *const cudaExternalSemaphore_t, parameters: *const cudaExternalSemaphoreSignalParams,
        count: c_uint, stream: cudaStream_t,
    ) {
        check(call, list, parameters, count, stream)
    }

    /// Waits for semaphores in stream order.
    fn cudaWaitExternalSemaphoresAsync | cudaWaitExternalSemaphoresAsync_ptsz(
        call, list: *const cudaExternalSemaphore_t, parameters: *const cudaExternalSemaphoreWaitParams,
        count: c_uint, stream: cudaStream_t,
    ) {
        check(call, list, parameters, count, stream)
    }
}
