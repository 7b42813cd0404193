//! What the constructors that nvcc generates call: a program tells its modules, kernels and variables.
//!
//! These run before `main` and answer nothing; what is wrong shows at the first use.
#![expect(unsafe_code, reason = "exports C functions, reads what generated code passes")]

use core::ffi::{CStr, c_char, c_int, c_void};

use super::enter;
use crate::module::fatbin::fatbins;
use crate::module::load::load;
use crate::module::registry::{KernelEntry, RegisteredVariable, registry};

/// What a program holds for a module: only its address matters, and what it points to.
type Handle = *mut *mut c_void;

/// The module that a handle stands for.
fn module(handle: Handle) -> Option<usize> {
    if handle.is_null() {
        return None;
    }
    // SAFETY: the program passes what `__cudaRegisterFatBinary` gave, which lives as long as the process.
    let number = unsafe { handle.read() };
    number.addr().checked_sub(1)
}

/// Text that generated code passes: a name in the program's read-only data.
fn text(name: *const c_char) -> Option<&'static CStr> {
    // SAFETY: generated code passes names that end in a zero and live as long as the program.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> Handle {
    // SAFETY: generated code passes its wrapper, which lives as long as the program.
    let found = unsafe { fatbins(wrapper) };
    let number = registry().add(found);
    // It stays for the life of the process: generated code may pass it until the very end.
    Box::leak(Box::new(core::ptr::without_provenance_mut(number + 1)))
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_handle: Handle) {}

#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(handle: Handle) {
    if let Some(module) = module(handle) {
        registry().remove(module);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFunction(
    handle: Handle,
    host: *const c_char,
    _device: *mut c_char,
    name: *const c_char,
    _limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _warp: *mut c_int,
) {
    if let (Some(module), Some(c_name)) = (module(handle), text(name)) {
        let name = c_name.to_string_lossy().into_owned();
        registry().add_kernel(host.addr(), KernelEntry::new(module, name, c_name));
    }
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterVar(
    handle: Handle,
    host: *mut c_char,
    _device: *mut c_char,
    name: *const c_char,
    _external: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    if let (Some(module), Some(name)) = (module(handle), text(name)) {
        let name = name.to_string_lossy().into_owned();
        let variable = RegisteredVariable { module, name, size: super::wide(size), managed: None };
        registry().add_variable(host.addr(), variable);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterManagedVar(
    handle: Handle,
    host: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
    _external: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    if let (Some(module), Some(name)) = (module(handle), text(name)) {
        let name = name.to_string_lossy().into_owned();
        let managed = Some(host.expose_provenance());
        let variable = RegisteredVariable { module, name, size: super::wide(size), managed };
        registry().add_variable(host.addr(), variable);
    }
}

/// Programs call this before they touch a managed variable on the host.
#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(handle: Handle) -> c_char {
    let Some(module) = module(handle) else { return 0 };
    let code = enter("__cudaInitModule", false, |call| {
        let (mut machine, device) = call.context()?;
        load(&mut machine, &mut registry(), module, device)
    });
    c_char::from(code == crate::sys::cudaSuccess)
}
