//! The functions that nvcc's objects call by name.
//!
//! Such an object registers its kernels and variables in a constructor, before `main`, and launches kernels by
//! functions that no header declares for programs. Here registrations wait for the library: its first use
//! replays them in their order. Until then an object has a handle of this file, and it never sees the library's.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::find::{self, Library};
use super::{c_symbol, library, loaded};
use crate::{cudaError_t, cudaKernel_t, cudaStream_t, dim3, uint3};

/// The library's handle of one binary.
type Handle = *mut *mut c_void;

/// The handle that an object has: a place for the library's.
type Place = AtomicPtr<*mut c_void>;

/// One registration of a kernel or variable, given the library's functions and the handle of its binary.
type Registration = Box<dyn FnOnce(&Functions, Handle)>;

/// The binaries that wait for the library, or its functions once it is loaded.
enum Registry {
    Waiting(Vec<Binary>),
    /// None if the library lacks one of them: it is not NVIDIA's, and no binary was waiting.
    Loaded(Option<Functions>),
}

// SAFETY: the registrations have addresses in the program's own image, which every thread may use.
unsafe impl Send for Registry {}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry::Waiting(Vec::new()));

/// What nvcc made of the kernels of one object.
struct Binary {
    place: &'static Place,
    image: *mut c_void,
    registrations: Vec<Registration>,
}

/// Defines the type of the library's functions for registrations, and its lookup.
macro_rules! functions {
    ($($name:ident = $symbol:ident: fn($($type:ty),*) $(-> $result:ty)?;)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Functions {
            fn of(library: &Library) -> Option<Self> {
                $(
                    let symbol = concat!(stringify!($symbol), "\0");
                    let address = library.symbol(CStr::from_bytes_with_nul(symbol.as_bytes()).ok()?)?;
                    // SAFETY: a library of this major version has the function of this name at this address,
                    // with the type in nvcc's header for generated code.
                    let $name: unsafe extern "C" fn($($type),*) $(-> $result)? =
                        unsafe { core::mem::transmute::<NonNull<c_void>, _>(address) };
                )*
                Some(Self { $($name),* })
            }
        }
    };
}

functions! {
    binary = __cudaRegisterFatBinary: fn(*mut c_void) -> Handle;
    end = __cudaRegisterFatBinaryEnd: fn(Handle);
    function = __cudaRegisterFunction: fn(
        Handle, *const c_char, *mut c_char, *const c_char, c_int,
        *mut uint3, *mut uint3, *mut dim3, *mut dim3, *mut c_int
    );
    variable = __cudaRegisterVar: fn(
        Handle, *mut c_char, *mut c_char, *const c_char, c_int, usize, c_int, c_int
    );
    managed = __cudaRegisterManagedVar: fn(
        Handle, *mut *mut c_void, *mut c_char, *const c_char, c_int, usize, c_int, c_int
    );
    init = __cudaInitModule: fn(Handle) -> c_char;
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers with the library what registered before it was loaded.
pub(super) fn replay(library: &Library) -> Result<(), String> {
    let mut registry = registry();
    let functions = Functions::of(library);
    if let Registry::Waiting(binaries) = &mut *registry
        && !binaries.is_empty()
    {
        let Some(functions) = &functions else {
            return Err(
                "the libcudart that was loaded lacks functions that kernels register with: it is not \
                        NVIDIA's, check LD_LIBRARY_PATH and CUDA_PATH"
                    .to_owned(),
            );
        };
        for binary in core::mem::take(binaries) {
            // SAFETY: nvcc's object gave this address, which is in the program's image.
            let handle = unsafe { (functions.binary)(binary.image) };
            for registration in binary.registrations {
                registration(functions, handle);
            }
            binary.place.store(handle, Ordering::Release);
        }
        find::pin_this();
    }
    *registry = Registry::Loaded(functions);
    Ok(())
}

/// Makes a registration now, or when the library is loaded.
///
/// # Safety
/// `place` is from [`__cudaRegisterFatBinary`].
unsafe fn register(place: Handle, registration: impl FnOnce(&Functions, Handle) + 'static) {
    // SAFETY: the caller says so.
    let place = unsafe { place_of(place) };
    match &mut *registry() {
        Registry::Waiting(binaries) => {
            if let Some(binary) = binaries.iter_mut().rfind(|binary| core::ptr::eq(binary.place, place)) {
                binary.registrations.push(Box::new(registration));
            }
        }
        Registry::Loaded(Some(functions)) => registration(functions, place.load(Ordering::Acquire)),
        Registry::Loaded(None) => {}
    }
}

/// Returns the place behind the handle that an object has.
///
/// # Safety
/// The handle is from [`__cudaRegisterFatBinary`].
unsafe fn place_of(handle: Handle) -> &'static Place {
    // SAFETY: the caller says so: it is a leaked place.
    unsafe { &*handle.cast::<Place>() }
}

unsafe extern "C" fn __cudaRegisterFatBinary(image: *mut c_void) -> Handle {
    let place: &'static Place = Box::leak(Box::new(AtomicPtr::new(null_mut())));
    match &mut *registry() {
        Registry::Waiting(binaries) => binaries.push(Binary { place, image, registrations: Vec::new() }),
        Registry::Loaded(Some(functions)) => {
            // SAFETY: nvcc's object gives this address, which is in the program's image.
            place.store(unsafe { (functions.binary)(image) }, Ordering::Release);
            find::pin_this();
        }
        Registry::Loaded(None) => {}
    }
    core::ptr::from_ref(place).cast_mut().cast()
}
c_symbol!(__cudaRegisterFatBinary);

unsafe extern "C" fn __cudaRegisterFatBinaryEnd(place: Handle) {
    // SAFETY: nvcc's object passes the handle of its binary, here and below. The library gets its own.
    unsafe { register(place, |functions, handle| (functions.end)(handle)) }
}
c_symbol!(__cudaRegisterFatBinaryEnd);

/// Forgets a binary that the library has not seen. One that it has stays, because this is called only at the
/// end of the process: [`find::pin_this`] keeps a shared library from being unloaded. The library's own exit
/// handlers are newer than the object's, so it has ended already.
unsafe extern "C" fn __cudaUnregisterFatBinary(place: Handle) {
    // SAFETY: as above.
    let place = unsafe { place_of(place) };
    if let Registry::Waiting(binaries) = &mut *registry() {
        binaries.retain(|binary| !core::ptr::eq(binary.place, place));
    }
}
c_symbol!(__cudaUnregisterFatBinary);

unsafe extern "C" fn __cudaRegisterFunction(
    place: Handle,
    host: *const c_char,
    device: *mut c_char,
    name: *const c_char,
    threads: c_int,
    thread: *mut uint3,
    block: *mut uint3,
    block_dim: *mut dim3,
    grid_dim: *mut dim3,
    warp: *mut c_int,
) {
    // SAFETY: as above. All addresses are in the program's image, or null.
    unsafe {
        register(place, move |functions, handle| {
            (functions.function)(
                handle, host, device, name, threads, thread, block, block_dim, grid_dim, warp,
            )
        });
    }
}
c_symbol!(__cudaRegisterFunction);

unsafe extern "C" fn __cudaRegisterVar(
    place: Handle,
    host: *mut c_char,
    device: *mut c_char,
    name: *const c_char,
    external: c_int,
    size: usize,
    constant: c_int,
    global: c_int,
) {
    // SAFETY: as above.
    unsafe {
        register(place, move |functions, handle| {
            (functions.variable)(handle, host, device, name, external, size, constant, global)
        });
    }
}
c_symbol!(__cudaRegisterVar);

unsafe extern "C" fn __cudaRegisterManagedVar(
    place: Handle,
    host: *mut *mut c_void,
    device: *mut c_char,
    name: *const c_char,
    external: c_int,
    size: usize,
    constant: c_int,
    global: c_int,
) {
    // SAFETY: as above.
    unsafe {
        register(place, move |functions, handle| {
            (functions.managed)(handle, host, device, name, external, size, constant, global)
        });
    }
}
c_symbol!(__cudaRegisterManagedVar);

/// Has the library load a binary's managed variables. Returns 0 without a library.
unsafe extern "C" fn __cudaInitModule(place: Handle) -> c_char {
    if library().is_err() {
        return 0;
    }
    // SAFETY: as above.
    let handle = unsafe { place_of(place) }.load(Ordering::Acquire);
    let init = match &*registry() {
        Registry::Loaded(Some(functions)) => functions.init,
        _ => return 0,
    };
    // SAFETY: the handle is the library's, because it is loaded.
    unsafe { init(handle) }
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
