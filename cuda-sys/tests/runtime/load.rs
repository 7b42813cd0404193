//! The library that is loaded at run time, and what takes its place.
#![expect(unsafe_code, reason = "calls the raw bindings, and what nvcc's objects call")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut, without_provenance_mut};

use cuda_sys::{
    cudaError_t, cudaErrorSharedObjectInitFailed, cudaErrorSharedObjectSymbolNotFound, cudaGetDeviceCount,
    cudaGetErrorName, cudaGetErrorString, cudaGetLastError, cudaSuccess,
};

use super::{installed, is_child, stand_in, stand_in_with, start_again, temporary};

/// The versions of the bindings' headers and of their major version.
const BUILT: u32 = cuda_sys::CUDART_VERSION;
const MAJOR: u32 = BUILT / 1000;

fn version(number: u32) -> String {
    format!("CUDA {}.{}", number / 1000, number % 1000 / 10)
}

/// Returns the name and the description of a code.
fn words(code: cudaError_t) -> String {
    // SAFETY: takes any code.
    let name = unsafe { cudaGetErrorName(code) };
    // SAFETY: a C string that lives for ever.
    let name = unsafe { CStr::from_ptr(name) };
    // SAFETY: takes any code.
    let meaning = unsafe { cudaGetErrorString(code) };
    // SAFETY: as above.
    let meaning = unsafe { CStr::from_ptr(meaning) };
    format!("{}: {}", name.to_str().unwrap(), meaning.to_str().unwrap())
}

fn count_devices() -> cudaError_t {
    let mut devices = 0;
    // SAFETY: the pointer is valid for the call.
    unsafe { cudaGetDeviceCount(&raw mut devices) }
}

/// The line of a child that finds a library of this major version although it was given none.
const INSTALLED: &str = "a library is installed on this machine";

/// Returns whether there is such a library, and prints the line.
fn is_installed() -> bool {
    let installed = cuda_sys::check_runtime().is_ok();
    if installed {
        eprintln!("{INSTALLED}");
    }
    installed
}

/// Starts the test again with a folder on the loader's path, and returns what its child printed.
fn printed(test: &str, folder: &Path) -> String {
    let output = start_again(&format!("load::{test}"), folder);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn without_a_library_each_call_is_an_error_that_says_where_it_was_looked_for() {
    if is_child() {
        if is_installed() {
            return;
        }
        for code in [count_devices(), count_devices()] {
            assert_eq!(code, cudaErrorSharedObjectInitFailed);
        }
        // SAFETY: takes no arguments.
        assert_eq!(unsafe { cudaGetLastError() }, cudaErrorSharedObjectInitFailed);
        assert_eq!(cudaProfilerStart(), cudaErrorSharedObjectInitFailed);
        assert_eq!(cudaProfilerStop(), cudaErrorSharedObjectInitFailed);
        assert_eq!(words(cuda_sys::cudaErrorInvalidValue).split(':').next(), Some("cudaErrorInvalidValue"));
        assert_eq!(cuda_sys::runtime_version(), Err(cudaErrorSharedObjectInitFailed));
        eprintln!("{}", words(count_devices()));
        eprintln!("checked: {}", cuda_sys::check_runtime().unwrap_err());
        return;
    }
    let folder = temporary().join("nothing");
    std::fs::create_dir_all(&folder).unwrap();
    let text = printed("without_a_library_each_call_is_an_error_that_says_where_it_was_looked_for", &folder);
    if text.contains(INSTALLED) {
        return;
    }
    let sentence = format!("no libcudart.so.{MAJOR} was found");
    for expected in [
        &format!("cudaErrorSharedObjectInitFailed: {sentence}"),
        &format!("checked: {sentence}"),
        "the loader: ",
        "CUDA_PATH, CUDA_HOME, CUDA_ROOT, CUDA_TOOLKIT_ROOT_DIR: not set",
        "/usr/local/cuda: ",
        "LD_LIBRARY_PATH",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn another_major_version_is_refused_at_the_first_call_with_both_versions() {
    if is_child() {
        assert_eq!(count_devices(), cudaErrorSharedObjectInitFailed);
        eprintln!("{}", words(count_devices()));
        return;
    }
    let folder = stand_in_with("load_major", 12040, "int cudaGetDeviceCount(int *n) { *n = 5; return 0; }\n");
    let text = printed("another_major_version_is_refused_at_the_first_call_with_both_versions", &folder);
    assert!(text.contains(&format!("is {} ({}", version(12040), folder.display())), "{text}");
    assert!(text.contains(&format!("built for {}", version(BUILT))), "{text}");
}

#[test]
fn another_major_version_under_its_own_name_is_mentioned() {
    if is_child() {
        if !is_installed() {
            assert_eq!(count_devices(), cudaErrorSharedObjectInitFailed);
            eprintln!("{}", words(count_devices()));
        }
        return;
    }
    let folder = stand_in("load_older", (MAJOR - 1) * 1000 + 40);
    let older = folder.join(format!("libcudart.so.{}", MAJOR - 1));
    std::fs::rename(folder.join(format!("libcudart.so.{MAJOR}")), &older).unwrap();
    let text = printed("another_major_version_under_its_own_name_is_mentioned", &folder);
    let sentence = format!("{} is {}", older.display(), version((MAJOR - 1) * 1000 + 40));
    let mentioned = text.contains(&sentence);
    assert!(text.contains(INSTALLED) || mentioned && text.contains(&version(BUILT)[5..]), "{text}");
}

#[test]
fn a_function_that_the_library_lacks_is_an_error_with_both_versions() {
    if is_child() {
        // SAFETY: takes no arguments.
        assert_eq!(unsafe { cudaGetLastError() }, cudaSuccess);
        for code in [count_devices(), count_devices()] {
            assert_eq!(code, cudaErrorSharedObjectSymbolNotFound);
        }
        eprintln!("{}", words(count_devices()));
        return;
    }
    let functions = "int cudaGetLastError(void) { return 0; }\n\
                     const char *cudaGetErrorName(int code) { return \"of the library\"; }\n\
                     const char *cudaGetErrorString(int code) { return \"of the library\"; }\n";
    let folder = stand_in_with("load_lacks", MAJOR * 1000, functions);
    let text = printed("a_function_that_the_library_lacks_is_an_error_with_both_versions", &folder);
    let sentence = format!("of the library: libcudart is {} ({}", version(MAJOR * 1000), folder.display());
    assert!(text.contains(&sentence), "{text}");
    assert!(text.contains("lacks this function") && text.contains(&version(BUILT)), "{text}");
}

#[test]
fn a_toolkit_that_a_variable_names_is_found_after_the_loaders_path() {
    if is_child() {
        // SAFETY: nothing has called CUDA yet, so no other thread of this process reads the environment.
        unsafe { std::env::set_var("CUDA_HOME", temporary().join("load_root")) };
        eprintln!("{:?}", cuda_sys::runtime_version());
        return;
    }
    stand_in("load_root/lib64", MAJOR * 1000 + 70);
    let test = "a_toolkit_that_a_variable_names_is_found_after_the_loaders_path";
    let text = printed(test, Path::new(""));
    // A library that is installed for all programs is on the loader's path.
    let on_path = installed(&format!("libcudart.so.{MAJOR}"));
    assert_eq!(text.contains(&format!("Ok({})", MAJOR * 1000 + 70)), !on_path, "{text}");
    let text = printed(test, &stand_in("load_first", MAJOR * 1000 + 80));
    assert!(text.contains(&format!("Ok({})", MAJOR * 1000 + 80)), "{text}");
}

// SAFETY: what nvcc's objects and `cuda-safe` call by name. The linker finds this crate's, which pass the
// addresses on, and the stand-ins read only the names.
unsafe extern "C" {
    safe fn __cudaRegisterFatBinary(image: *mut c_void) -> *mut *mut c_void;
    safe fn __cudaRegisterFunction(
        handle: *mut *mut c_void,
        host: *const c_char,
        device: *mut c_char,
        name: *const c_char,
        threads: c_int,
        thread: *mut c_void,
        block: *mut c_void,
        block_dim: *mut c_void,
        grid_dim: *mut c_void,
        warp: *mut c_int,
    );
    safe fn __cudaRegisterVar(
        handle: *mut *mut c_void,
        host: *mut c_char,
        device: *mut c_char,
        name: *const c_char,
        external: c_int,
        size: usize,
        constant: c_int,
        global: c_int,
    );
    safe fn __cudaRegisterFatBinaryEnd(handle: *mut *mut c_void);
    safe fn __cudaUnregisterFatBinary(handle: *mut *mut c_void);
    safe fn __cudaInitModule(handle: *mut *mut c_void) -> c_char;
    // No header of the snapshot declares these.
    safe fn cudaProfilerStart() -> cudaError_t;
    safe fn cudaProfilerStop() -> cudaError_t;
}

/// Registers a kernel and a variable, as the constructor of an object does.
fn register(image: usize, kernel: &'static CStr) -> *mut *mut c_void {
    let handle = __cudaRegisterFatBinary(without_provenance_mut(image));
    let name = kernel.as_ptr();
    let (none, no_int) = (null_mut(), null_mut());
    __cudaRegisterFunction(handle, name, name.cast_mut(), name, -1, none, none, none, none, no_int);
    __cudaRegisterVar(handle, null_mut(), null_mut(), c"variable".as_ptr(), 0, 12, 1, 0);
    __cudaRegisterFatBinaryEnd(handle);
    handle
}

#[test]
fn kernels_that_register_before_the_library_is_loaded_are_replayed_in_order() {
    if is_child() {
        let _first = register(100, c"first");
        let gone = register(200, c"unloaded");
        __cudaUnregisterFatBinary(gone);
        let third = register(300, c"third");
        eprintln!("the first call");
        // SAFETY: takes no arguments.
        assert_eq!(unsafe { cudaGetLastError() }, cudaSuccess);
        let fourth = register(400, c"fourth");
        assert_eq!((__cudaInitModule(third), __cudaInitModule(fourth)), (1, 1));
        __cudaUnregisterFatBinary(fourth);
        return;
    }
    let functions = r#"
#include <stdio.h>
#define SAY(...) fprintf(stderr, __VA_ARGS__)
int cudaGetLastError(void) { SAY("called\n"); return 0; }
void **__cudaRegisterFatBinary(void *image) { SAY("binary %d\n", (int)(long)image); return image; }
void __cudaRegisterFatBinaryEnd(void **handle) { SAY("end %d\n", (int)(long)handle); }
void __cudaUnregisterFatBinary(void **handle) { SAY("unregistered %d\n", (int)(long)handle); }
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads,
                            void *a, void *b, void *c, void *d, int *warp) {
    SAY("kernel %s %s %s %d of %d\n", host, device, name, threads, (int)(long)handle);
}
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global) {
    SAY("%s %d %d %d %d of %d\n", name, external, (int)size, constant, global, (int)(long)handle);
}
void __cudaRegisterManagedVar(void) {}
char __cudaInitModule(void **handle) { SAY("init %d\n", (int)(long)handle); return 1; }
"#;
    let folder = stand_in_with("load_register", MAJOR * 1000, functions);
    let text = printed("kernels_that_register_before_the_library_is_loaded_are_replayed_in_order", &folder);
    let of = |number: u32, name: &str| {
        format!(
            "binary {number}\nkernel {name} {name} {name} -1 of {number}\nvariable 0 12 1 0 of \
             {number}\nend {number}\n"
        )
    };
    let expected = ["the first call\n", &of(100, "first"), &of(300, "third"), "called\n", &of(400, "fourth")];
    let expected = expected.concat() + "init 300\ninit 400\n";
    assert!(text.contains(&expected), "{text}");
    assert!(!text.contains("unloaded") && !text.contains("unregistered"), "{text}");
}

#[test]
fn a_library_without_the_functions_for_kernels_is_refused_if_there_are_kernels() {
    if is_child() {
        register(100, c"kernel");
        // SAFETY: takes no arguments.
        let code = unsafe { cudaGetLastError() };
        assert_eq!(code, cudaErrorSharedObjectInitFailed);
        eprintln!("{}", words(code));
        let dim = cuda_sys::dim3 { x: 1, y: 1, z: 1 };
        // SAFETY: refused before anything is read.
        let launched = unsafe { cuda_sys::cudaLaunchKernel(null(), dim, dim, null_mut(), 0, null_mut()) };
        assert_eq!(launched, cudaErrorSharedObjectInitFailed);
        return;
    }
    let folder = stand_in("load_no_kernels", MAJOR * 1000);
    let text =
        printed("a_library_without_the_functions_for_kernels_is_refused_if_there_are_kernels", &folder);
    assert!(text.contains("lacks functions that kernels register with"), "{text}");
}
