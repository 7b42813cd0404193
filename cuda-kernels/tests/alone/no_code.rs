//! A kernel of a file that was compiled for other GPUs than this one.
//!
//! Alone: registration with the runtime holds for the whole process.
#![expect(unsafe_code, reason = "registers a kernel without code, as nvcc's code registers kernels")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use cuda_kernels::add_one;
use cuda_safe::launch::Kernel;
use cuda_safe::{DeviceBuffer, Stream, launch, sys};
use cuda_testing::own_process;

/// The structure that nvcc's code passes to the runtime: it points to a file's code.
#[repr(C)]
struct Wrapper {
    magic: c_int,
    version: c_int,
    code: *const Code,
    unused: *const c_void,
}

/// The code of a file for one kind of GPU.
#[repr(C, align(8))]
struct Code {
    magic: u32,
    version: u16,
    header: u16,
    bytes: u64,
    entry: Entry,
}

/// PTX in plain text.
#[repr(C)]
struct Entry {
    kind: u16,
    version: u16,
    header: u32,
    bytes: u64,
    packed: u64,
    ptx_version: u32,
    compute: u32,
    name: u64,
    flags: u64,
    unused: u64,
    plain: u64,
    text: [u8; 64],
}

unsafe extern "C" {
    fn __cudaRegisterFatBinary(wrapper: *const Wrapper) -> *mut *mut c_void;
    fn __cudaRegisterFatBinaryEnd(handle: *mut *mut c_void);
    fn __cudaRegisterFunction(
        handle: *mut *mut c_void,
        stub: *const c_void,
        device_function: *const c_char,
        device_name: *const c_char,
        thread_limit: c_int,
        thread: *mut c_void,
        block: *mut c_void,
        block_dim: *mut c_void,
        grid_dim: *mut c_void,
        warp_size: *mut c_int,
    ) -> c_int;
}

/// The host side of the kernel, which is never called.
extern "C" fn stub() {}

/// A compute capability that no GPU has yet.
const FUTURE: u32 = 990;

fn text() -> [u8; 64] {
    let mut text = [0; 64];
    let ptx = b".version 8.0\n.target sm_990\n.address_size 64\n.entry later() {}\n";
    text[..ptx.len().min(63)].copy_from_slice(&ptx[..ptx.len().min(63)]);
    text
}

#[test]
fn a_kernel_without_code_for_this_device_is_an_error_of_its_launch() {
    own_process!();
    let entry = Entry {
        kind: 1,
        version: 0x0101,
        header: 64,
        bytes: 64,
        packed: 0,
        ptx_version: 8,
        compute: FUTURE,
        name: 0,
        flags: 0x11,
        unused: 0,
        plain: 0,
        text: text(),
    };
    let bytes = u64::try_from(size_of::<Entry>()).unwrap();
    let code = Code { magic: 0xba55_ed50, version: 1, header: 16, bytes, entry };
    let wrapper =
        Wrapper { magic: 0x4662_43b1, version: 1, code: Box::leak(Box::new(code)), unused: ptr::null() };
    let name: &CStr = c"later";
    let (null, stub_address) = (ptr::null_mut(), stub as *const c_void);
    // SAFETY: the wrapper and the code are laid out as nvcc lays them out, and live as long as the process.
    let handle = unsafe { __cudaRegisterFatBinary(Box::leak(Box::new(wrapper))) };
    // SAFETY: the handle is from the call above, the name lives as long as the process, and the runtime
    // ignores null pointers here.
    unsafe {
        __cudaRegisterFunction(
            handle,
            stub_address,
            name.as_ptr(),
            name.as_ptr(),
            -1,
            null,
            null,
            null,
            null,
            ptr::null_mut(),
        )
    };
    // SAFETY: the handle is from the call above, and all of its kernels are registered.
    unsafe { __cudaRegisterFatBinaryEnd(handle) };

    // SAFETY: the function is registered as the stub of a kernel, without parameters or variables.
    let later = unsafe { Kernel::<()>::from_stub("later", stub) };
    let stream = Stream::new().unwrap();
    assert_eq!(later.load().unwrap_err().code(), sys::cudaErrorNoKernelImageForDevice);
    // SAFETY: the kernel would do nothing.
    let refused = unsafe { launch!(later<<<1, 1, 0, &stream>>>()) }.unwrap_err();
    assert_eq!(refused.code(), sys::cudaErrorNoKernelImageForDevice, "{refused}");
    assert!(!refused.is_sticky(), "{refused}");

    // Kernels with code still run.
    let mut numbers = DeviceBuffer::from_slice(&[1, 2, 3]).unwrap();
    add_one(&mut numbers, &stream).unwrap();
    assert_eq!(numbers.to_vec().unwrap(), [2, 3, 4]);
}
