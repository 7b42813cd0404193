//! Tells which libcudart the program runs with, or why there is none.
//!
//! `cargo run -p cudart-sys --no-default-features --features load --example which_library`

#![expect(unsafe_code, reason = "calls the raw bindings")]

use std::ffi::CStr;

use cuda_sys::{
    cudaError_t, cudaGetDeviceCount, cudaGetErrorName, cudaGetErrorString, cudaGraphGetId, cudaSuccess,
};

fn main() {
    match cuda_sys::check_runtime() {
        Ok(()) => println!("the library fits: {:?}", cuda_sys::runtime_version()),
        Err(error) => println!("the library does not fit: {error}"),
    }
    let mut devices = 0;
    // SAFETY: the pointer is valid for the call.
    report("cudaGetDeviceCount", unsafe { cudaGetDeviceCount(&raw mut devices) });
    let mut id = 0;
    // SAFETY: no graph is refused, and the pointer is valid for the call. CUDA 13.1 added the function.
    report("cudaGraphGetId", unsafe { cudaGraphGetId(std::ptr::null_mut(), &raw mut id) });
    println!("{devices} devices");
}

fn report(function: &str, code: cudaError_t) {
    if code == cudaSuccess {
        println!("{function}: done");
        return;
    }
    // SAFETY: takes any code.
    let name = unsafe { cudaGetErrorName(code) };
    // SAFETY: the names of codes are C strings that live for ever.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    // SAFETY: takes any code.
    let meaning = unsafe { cudaGetErrorString(code) };
    // SAFETY: as above.
    let meaning = unsafe { CStr::from_ptr(meaning) }.to_string_lossy();
    println!("{function}: {name} ({}): {meaning}", code.0);
}
