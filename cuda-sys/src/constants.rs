//! Constants that the headers define as casts, which bindgen cannot evaluate.

#![allow(non_upper_case_globals, reason = "C's names")]

use core::ffi::c_int;
use core::ptr::without_provenance_mut;

use crate::cudaStream_t;

/// The legacy default stream. It waits for every blocking stream of its device, and they wait for it.
pub const cudaStreamLegacy: cudaStream_t = without_provenance_mut(1);

/// The default stream of the calling thread.
pub const cudaStreamPerThread: cudaStream_t = without_provenance_mut(2);

/// The device number of the CPU.
pub const cudaCpuDeviceId: c_int = -1;

/// A device number that stands for no device.
pub const cudaInvalidDeviceId: c_int = -2;
