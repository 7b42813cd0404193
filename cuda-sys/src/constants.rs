//! Constants that the headers define as casts, which bindgen cannot evaluate.

#![allow(non_upper_case_globals, reason = "C's names")]

use core::ffi::c_int;
use core::ptr::without_provenance_mut;

use crate::cudaStream_t;

/// The default stream that waits for, and is waited for by, every blocking stream of its device.
pub const cudaStreamLegacy: cudaStream_t = without_provenance_mut(1);

/// The default stream of the calling thread.
pub const cudaStreamPerThread: cudaStream_t = without_provenance_mut(2);

/// Stands for the CPU where a device number is asked for.
pub const cudaCpuDeviceId: c_int = -1;

/// Stands for no device where a device number is asked for.
pub const cudaInvalidDeviceId: c_int = -2;
