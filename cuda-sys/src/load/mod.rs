//! The library that is loaded at run time: feature `load`.
//!
//! Each function of the bindings is a Rust function of the same name and type with an [`Entry`] of the table of
//! addresses, which its first call fills. The first call of any function loads the library ([`find`]) and
//! hands it the kernels that registered before ([`register`]). Nothing unloads it.
//!
//! Objects of C++ and of nvcc in the same program call the runtime by C's names. [`c_symbol`] defines these for
//! the linker, as *hidden* symbols: they bind what is linked into one program or shared library. Other shared
//! libraries use the libcudart that they are linked with.

#![allow(unsafe_code, reason = "loads a library and calls its functions")]
#![allow(non_snake_case, reason = "C's names")]

mod find;
mod register;

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::ffi::CString;
use std::sync::OnceLock;

use crate::bindings::ERROR_NAMES;
use crate::{
    cudaChannelFormatDesc, cudaChannelFormatKind, cudaError_t, cudaErrorSharedObjectInitFailed,
    cudaErrorSharedObjectSymbolNotFound,
};
use find::Library;

/// Defines functions of C that call the library's, given as in an `extern` block. Each returns
/// `cudaErrorSharedObjectInitFailed` if there is no library, and `cudaErrorSharedObjectSymbolNotFound` if the
/// library lacks the function.
macro_rules! loaded {
    // Those that return something else are in this file.
    ($(#[$attribute:meta])* pub fn cudaGetErrorName $($rest:tt)*) => {};
    ($(#[$attribute:meta])* pub fn cudaGetErrorString $($rest:tt)*) => {};
    ($(#[$attribute:meta])* pub fn cudaCreateChannelDesc $($rest:tt)*) => {};
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> cudaError_t;) => {
        $(#[$attribute])*
        $visibility unsafe extern "C" fn $name($($argument: $type),*) -> cudaError_t {
            type Function = unsafe extern "C" fn($($type),*) -> cudaError_t;
            static ENTRY: $crate::load::Entry =
                $crate::load::Entry::new(concat!(stringify!($name), "\0"), first as *mut ::core::ffi::c_void);

            /// Stands in the table before the first call, and for ever if there is no such function.
            unsafe extern "C" fn first($($argument: $type),*) -> cudaError_t {
                let Some(address) = ENTRY.resolve() else { return $crate::load::code_of_none() };
                // SAFETY: a library of these bindings' major version has the function of this name at this
                // address, with this type.
                let function: Function = unsafe { ::core::mem::transmute(address) };
                // SAFETY: the caller upholds what the function asks for.
                unsafe { function($($argument),*) }
            }

            // SAFETY: the entry has the address of the function, or of `first`. Both have this type.
            let function: Function = unsafe { ::core::mem::transmute(ENTRY.address()) };
            // SAFETY: the caller upholds what the function asks for.
            unsafe { function($($argument),*) }
        }
        $crate::load::c_symbol!($name);
    };
}

/// Defines C's name for a function of this crate, hidden, in a section of its own, which the linker drops if
/// nothing refers to it.
macro_rules! c_symbol {
    ($name:ident) => {
        ::core::arch::global_asm!(
            concat!(".pushsection .text.cudart.", stringify!($name), ",\"ax\",%progbits"),
            concat!(".globl ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ",%function"),
            concat!(stringify!($name), ":"),
            concat!($crate::load::jump!(), " {function}"),
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            function = sym $name,
        );
    };
}

/// The instruction that goes to a function of the same program.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp"
    };
}

/// The instruction that goes to a function of the same program.
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b"
    };
}

pub(crate) use {c_symbol, jump, loaded};

/// The address of one function: one row of the table.
pub(crate) struct Entry {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Entry {
    /// Makes the entry of the function with this name, which ends with a zero. `first` has the function's type,
    /// and resolves the entry.
    pub(crate) const fn new(name: &'static str, first: *mut c_void) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
            panic!("not the name of a function")
        };
        Self { name, address: AtomicPtr::new(first) }
    }

    /// Returns the address in the library, or that of `first`. It is not null.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        self.address.load(Ordering::Acquire)
    }

    /// Loads the library and puts the function's address into the entry. Returns `None` if there is no
    /// library, or if it lacks the function.
    #[cold]
    pub(crate) fn resolve(&self) -> Option<NonNull<c_void>> {
        let address = library().ok()?.symbol(self.name)?;
        self.address.store(address.as_ptr(), Ordering::Release);
        Some(address)
    }
}

/// Returns the code of a function without an address.
#[cold]
pub(crate) fn code_of_none() -> cudaError_t {
    if library().is_err() {
        return cudaErrorSharedObjectInitFailed;
    }
    LACKED.store(true, Ordering::Relaxed);
    cudaErrorSharedObjectSymbolNotFound
}

/// Whether a function was called that the library lacks.
static LACKED: AtomicBool = AtomicBool::new(false);

/// Returns the library, which the first call loads, or why there is none.
fn library() -> Result<&'static Library, &'static CStr> {
    static LIBRARY: OnceLock<Result<Library, CString>> = OnceLock::new();
    let loaded = LIBRARY.get_or_init(|| {
        let loaded = find::load().and_then(|library| register::replay(&library).map(|()| library));
        loaded.map_err(|why| CString::new(why.replace('\0', " ")).unwrap_or_default())
    });
    loaded.as_ref().map_err(CString::as_c_str)
}

/// Returns why there is no library, which this loads if nothing has.
pub(crate) fn why_none() -> Option<String> {
    library().err().map(|why| why.to_string_lossy().into_owned())
}

/// Returns the code's name. Without a library, that of the bindings.
///
/// # Safety
/// None: it is an `unsafe fn` because all of C's are.
pub unsafe extern "C" fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    match library().ok().and_then(|library| library.symbol(c"cudaGetErrorName")) {
        // SAFETY: the library has the function of this name at this address, with this type.
        Some(address) => unsafe { text_of(address, error) },
        None => {
            let known = ERROR_NAMES.iter().find(|(code, _)| *code == error.0);
            known.map_or(c"unrecognized error code", |(_, name)| name).as_ptr()
        }
    }
}
c_symbol!(cudaGetErrorName);

/// Returns the code's description. For the codes of a library that is not there, or that lacks a function, it
/// says what was looked for, where, and what to do.
///
/// # Safety
/// None: it is an `unsafe fn` because all of C's are.
pub unsafe extern "C" fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    let library = match library() {
        Err(why) if error == cudaErrorSharedObjectInitFailed => return why.as_ptr(),
        Err(_) => return c"the CUDA runtime, which has the description, is not loaded".as_ptr(),
        Ok(library) => library,
    };
    match library.symbol(c"cudaGetErrorString") {
        Some(_) if error == cudaErrorSharedObjectSymbolNotFound && LACKED.load(Ordering::Relaxed) => {
            library.lacks().as_ptr()
        }
        // SAFETY: the library has the function of this name at this address, with this type.
        Some(address) => unsafe { text_of(address, error) },
        None => library.lacks().as_ptr(),
    }
}
c_symbol!(cudaGetErrorString);

/// Calls a function from a code to its text.
///
/// # Safety
/// At the address is such a function.
unsafe fn text_of(address: NonNull<c_void>, error: cudaError_t) -> *const c_char {
    // SAFETY: the caller says so.
    let function: unsafe extern "C" fn(cudaError_t) -> *const c_char =
        unsafe { core::mem::transmute(address) };
    // SAFETY: it takes any code.
    unsafe { function(error) }
}

/// Returns a channel descriptor of these values. Needs no library.
///
/// # Safety
/// None: it is an `unsafe fn` because all of C's are.
pub unsafe extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: cudaChannelFormatKind,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}
c_symbol!(cudaCreateChannelDesc);
