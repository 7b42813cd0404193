//! The functions that nvcc's objects launch kernels with. No header declares them for programs.

use core::ffi::{c_char, c_void};

use super::library::library;
use super::register::{self, Handle};
use super::system::c_symbol;
use super::table::loaded;
use crate::bindings::{cudaError_t, cudaKernel_t, cudaStream_t, dim3};

/// Has the library load a binary's managed variables. Returns 0 without a library.
extern "C" fn __cudaInitModule(handle: Handle) -> c_char {
    if library().is_err() { 0 } else { register::init(handle) }
}
c_symbol!(__cudaInitModule);

// Returns 0 if the launch of `kernel<<<..>>>` goes on. Its type is `unsigned`, and so is that of a code.
loaded! {
    fn __cudaPushCallConfiguration(grid: dim3, block: dim3, shared: usize, stream: *mut c_void) -> cudaError_t;
}
loaded! {
    fn __cudaPopCallConfiguration(
        grid: *mut dim3,
        block: *mut dim3,
        shared: *mut usize,
        stream: *mut c_void,
    ) -> cudaError_t;
}
loaded! {
    fn __cudaGetKernel(kernel: *mut cudaKernel_t, host: *const c_void) -> cudaError_t;
}
loaded! {
    fn __cudaLaunchKernel(
        kernel: cudaKernel_t,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) -> cudaError_t;
}
loaded! {
    fn __cudaLaunchKernel_ptsz(
        kernel: cudaKernel_t,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: cudaStream_t,
    ) -> cudaError_t;
}
