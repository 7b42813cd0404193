//! Error codes: the result type of the functions inside, the last error of a thread, and the names of codes.
//!
//! The last error belongs to a thread, as `cudaGetLastError` promises. `cudaErrorNotReady` only means "not
//! yet" and is never kept.

use std::cell::Cell;
use std::ffi::CStr;

pub(crate) use crate::sys::cudaError as Code;
use crate::sys::{cudaErrorNotReady, cudaSuccess};

/// The result of every function of this library, before it becomes a C return value.
pub(crate) type Answer<T = ()> = Result<T, Code>;

thread_local! {
    static LAST: Cell<Code> = const { Cell::new(cudaSuccess) };
}

/// Keeps `code` as the calling thread's last error if it is an error.
pub(crate) fn remember(code: Code) {
    if code != cudaSuccess && code != cudaErrorNotReady {
        LAST.set(code);
    }
}

/// The calling thread's last error.
pub(crate) fn last() -> Code {
    LAST.get()
}

/// The calling thread's last error, which is forgotten by this.
pub(crate) fn take_last() -> Code {
    LAST.replace(cudaSuccess)
}

/// Every code's number and name, from the headers.
const NAMES: &[(u32, &CStr)] = include!(concat!(env!("OUT_DIR"), "/errors.rs"));

/// The name of a code in the headers; `None` if they have no such number.
pub(crate) fn name(code: Code) -> Option<&'static CStr> {
    NAMES
        .binary_search_by_key(&code.0, |entry| entry.0)
        .ok()
        .and_then(|at| NAMES.get(at))
        .map(|entry| entry.1)
}

/// The description of a code, in words of our own, or else its name.
pub(crate) fn text(code: Code) -> Option<&'static CStr> {
    let name = name(code)?;
    let words = match code.0 {
        0 => c"no error",
        1 => c"invalid argument",
        2 => c"out of memory",
        3 => c"the runtime could not be initialised",
        4 => c"the process ends and the runtime is gone",
        9 => c"invalid launch configuration",
        12 => c"invalid pitch",
        13 => c"invalid device symbol",
        21 => c"invalid copy direction",
        35 => c"the driver is older than the runtime",
        98 => c"invalid device function",
        100 => c"no CUDA device was found",
        101 => c"invalid device ordinal",
        200 => c"the device kernel image is invalid",
        201 => c"invalid device context",
        209 => c"no kernel image runs on this device",
        217 => c"peer access is not supported between these devices",
        304 => c"an operating system call failed",
        400 => c"invalid resource handle",
        401 => c"the object's state does not permit this",
        500 => c"the named symbol was not found",
        600 => c"the work is not finished yet",
        700 => c"an illegal memory access was encountered",
        701 => c"too many resources requested for launch",
        702 => c"the launch timed out",
        704 => c"peer access is already enabled",
        705 => c"peer access is not enabled",
        708 => c"the primary context is already in use",
        710 => c"a device-side assertion failed",
        712 => c"this host memory is already registered",
        713 => c"this host memory is not registered",
        714 => c"the hardware stack overflowed",
        715 => c"an illegal instruction was encountered",
        716 => c"a misaligned address was accessed",
        717 => c"an operation on an address of the wrong space",
        718 => c"an invalid program counter",
        719 => c"the kernel failed",
        720 => c"too many blocks for a cooperative launch",
        800 => c"this operation is not permitted",
        801 => c"this operation is not supported",
        900 => c"this operation is not permitted while a stream is capturing",
        901 => c"the capture was invalidated by an earlier error",
        906 => c"the legacy stream would depend on a capturing blocking stream",
        _ => name,
    };
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cudaErrorInvalidValue;

    #[test]
    fn names_are_sorted_so_that_each_is_found() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(name(cudaErrorInvalidValue), Some(c"cudaErrorInvalidValue"));
        assert_eq!(name(Code(12345)), None);
    }

    #[test]
    fn the_last_error_is_kept_until_taken_and_not_ready_is_no_error() {
        remember(cudaErrorInvalidValue);
        remember(cudaErrorNotReady);
        remember(cudaSuccess);
        assert_eq!(last(), cudaErrorInvalidValue);
        assert_eq!(take_last(), cudaErrorInvalidValue);
        assert_eq!(last(), cudaSuccess);
    }
}
