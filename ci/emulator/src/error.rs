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
        5 => c"profiling is switched off",
        6 => c"the profiler was not initialised",
        7 => c"the profiler runs already",
        8 => c"the profiler does not run",
        9 => c"invalid launch configuration",
        12 => c"invalid pitch",
        13 => c"invalid device symbol",
        16 => c"invalid host pointer",
        17 => c"invalid device pointer",
        18 => c"invalid texture",
        19 => c"invalid texture binding",
        20 => c"invalid channel descriptor",
        21 => c"invalid copy direction",
        22 => c"the address of a constant cannot be taken",
        23 => c"a texture could not be read",
        24 => c"no memory is bound to the texture",
        25 => c"a synchronisation failed",
        26 => c"a filter that these elements do not have",
        27 => c"a normalisation that these elements do not have",
        28 => c"the device and its emulation cannot run together",
        31 => c"this is not implemented yet",
        32 => c"a value too large for memory",
        34 => c"a stub library was loaded instead of the driver",
        35 => c"the driver is older than the runtime",
        36 => c"the call needs a newer driver",
        37 => c"invalid surface",
        43 => c"two variables have the same name",
        44 => c"two textures have the same name",
        45 => c"two surfaces have the same name",
        46 => c"all devices are busy or unavailable",
        49 => c"a context that the runtime cannot use",
        52 => c"a launch without a configuration",
        53 => c"an earlier launch failed",
        65 => c"launches are nested too deeply",
        66 => c"a launch by a kernel uses a texture of its file",
        67 => c"a launch by a kernel uses a surface of its file",
        68 => c"synchronisation is nested too deeply",
        69 => c"too many launches are pending",
        98 => c"invalid device function",
        100 => c"no CUDA device was found",
        101 => c"invalid device ordinal",
        102 => c"the device has no licence",
        103 => c"the integrity of the software could not be checked",
        127 => c"an internal start-up check failed",
        200 => c"the device kernel image is invalid",
        201 => c"invalid device context",
        205 => c"a buffer could not be mapped",
        206 => c"a buffer could not be unmapped",
        207 => c"the array is mapped",
        208 => c"the resource is mapped already",
        209 => c"no kernel image runs on this device",
        210 => c"the resource was acquired already",
        211 => c"the resource is not mapped",
        212 => c"the resource is not mapped as an array",
        213 => c"the resource is not mapped as a pointer",
        214 => c"an uncorrectable memory error was found",
        215 => c"this limit is not supported",
        216 => c"another thread uses the device exclusively",
        217 => c"peer access is not supported between these devices",
        218 => c"the PTX could not be compiled",
        219 => c"invalid graphics context",
        220 => c"an uncorrectable error of NVLink was found",
        221 => c"the PTX compiler was not found",
        222 => c"this version of PTX is too new",
        223 => c"compilation of PTX is switched off",
        224 => c"this kind of affinity is not supported",
        225 => c"the code synchronises devices in an unsupported way",
        226 => c"a contained error was found",
        300 => c"the device kernel source is invalid",
        301 => c"the file was not found",
        302 => c"a symbol of a shared object was not found",
        303 => c"a shared object could not be initialised",
        304 => c"an operating system call failed",
        400 => c"invalid resource handle",
        401 => c"the object's state does not permit this",
        402 => c"the query would lose information",
        500 => c"the named symbol was not found",
        600 => c"the work is not finished yet",
        700 => c"an illegal memory access was encountered",
        701 => c"too many resources requested for launch",
        702 => c"the launch timed out",
        703 => c"the launch has an incompatible texturing mode",
        704 => c"peer access is already enabled",
        705 => c"peer access is not enabled",
        708 => c"the primary context is already in use",
        709 => c"the context is gone",
        710 => c"a device-side assertion failed",
        711 => c"too many peers are enabled",
        712 => c"this host memory is already registered",
        713 => c"this host memory is not registered",
        714 => c"the hardware stack overflowed",
        715 => c"an illegal instruction was encountered",
        716 => c"a misaligned address was accessed",
        717 => c"an operation on an address of the wrong space",
        718 => c"an invalid program counter",
        719 => c"the kernel failed",
        720 => c"too many blocks for a cooperative launch",
        721 => c"a kernel left tensor memory allocated",
        800 => c"this operation is not permitted",
        801 => c"this operation is not supported",
        802 => c"the system is not ready",
        803 => c"driver and system do not match",
        804 => c"forward compatibility is not supported on this device",
        805 => c"no connection to the MPS server",
        806 => c"the MPS server failed",
        807 => c"the MPS server is not ready",
        808 => c"the MPS server has too many clients",
        809 => c"the MPS server has too many connections",
        810 => c"the MPS server ended this client",
        811 => c"kernels that launch kernels are not supported",
        812 => c"kernels that launch kernels have another version",
        900 => c"this operation is not permitted while a stream is capturing",
        901 => c"the capture was invalidated by an earlier error",
        902 => c"two captures would become one",
        903 => c"the capture was not begun in this stream",
        904 => c"the capture has work that was not joined",
        905 => c"captured work would depend on work outside",
        906 => c"the legacy stream would depend on a capturing blocking stream",
        907 => c"the event was recorded in a capture",
        908 => c"the capture belongs to another thread",
        909 => c"the time is over",
        910 => c"the executable graph cannot be updated like this",
        911 => c"an external device failed",
        912 => c"invalid cluster size",
        913 => c"the function is not loaded",
        914 => c"invalid type of resource",
        915 => c"invalid configuration of a resource",
        999 => c"unknown error",
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
