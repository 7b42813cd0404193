//! Checks whether there is a GPU: succeeds if the driver's library counts at least one.
//! `ci/runner` compiles it with `rustc` alone.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::process::ExitCode;

type Init = unsafe extern "C" fn(c_uint) -> c_int;
type Count = unsafe extern "C" fn(*mut c_int) -> c_int;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

const RTLD_NOW: c_int = 2;

fn main() -> ExitCode {
    // SAFETY: loading the driver's library runs its constructors, as in every CUDA program.
    let driver = unsafe { dlopen(c"libcuda.so.1".as_ptr(), RTLD_NOW) };
    if driver.is_null() {
        return ExitCode::FAILURE;
    }
    let find = |name: &CStr| {
        // SAFETY: `driver` is a loaded library and the name ends in NUL.
        let function = unsafe { dlsym(driver, name.as_ptr()) };
        (!function.is_null()).then_some(function)
    };
    let (Some(init), Some(count)) = (find(c"cuInit"), find(c"cuDeviceGetCount")) else {
        return ExitCode::FAILURE;
    };
    // SAFETY: the driver's headers declare these functions with these types.
    let (init, count): (Init, Count) = unsafe { (std::mem::transmute(init), std::mem::transmute(count)) };
    let mut devices = 0;
    // SAFETY: zero is the only valid flag, and `devices` outlives the call.
    let answers = unsafe { init(0) == 0 && count(&mut devices) == 0 };
    if answers && devices > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
