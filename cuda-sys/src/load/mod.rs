//! The library that is loaded at run time: feature `load`.
//!
//! Each function of the bindings is a Rust function of the same name and type with an [`Entry`], which has the
//! address in the library once it was called. The first call of any function loads the library ([`find`]) and
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
use core::ptr::{NonNull, null_mut};
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
            static ENTRY: $crate::load::Entry = $crate::load::entry!($name);
            match ENTRY.address() {
                Ok(address) => {
                    type Function = unsafe extern "C" fn($($type),*) -> cudaError_t;
                    // SAFETY: a library of these bindings' major version has the function of this name at
                    // this address, with this type.
                    let function: Function = unsafe { ::core::mem::transmute(address) };
                    // SAFETY: the caller upholds what the function asks for.
                    unsafe { function($($argument),*) }
                }
                Err(code) => code,
            }
        }
        $crate::load::c_symbol!($name);
    };
}

/// Makes the [`Entry`] of a function.
macro_rules! entry {
    ($name:ident) => {
        $crate::load::Entry::new(concat!(stringify!($name), "\0"))
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

pub(crate) use {c_symbol, entry, jump, loaded};

/// The address of one function in the library, from its first call on.
pub(crate) struct Entry {
    name: &'static CStr,
    /// Null before the first call, and if the library lacks the function.
    address: AtomicPtr<c_void>,
}

impl Entry {
    /// Makes the entry of the function with this name, which ends with a zero.
    pub(crate) const fn new(name: &'static str) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
            panic!("not the name of a function")
        };
        Self { name, address: AtomicPtr::new(null_mut()) }
    }

    /// Returns the address, or the code that the function returns without one.
    #[inline]
    pub(crate) fn address(&self) -> Result<NonNull<c_void>, cudaError_t> {
        match NonNull::new(self.address.load(Ordering::Acquire)) {
            Some(address) => Ok(address),
            None => self.resolve(),
        }
    }

    #[cold]
    fn resolve(&self) -> Result<NonNull<c_void>, cudaError_t> {
        let library = library().map_err(|_| cudaErrorSharedObjectInitFailed)?;
        let Some(address) = library.symbol(self.name) else {
            LACKED.store(true, Ordering::Relaxed);
            return Err(cudaErrorSharedObjectSymbolNotFound);
        };
        self.address.store(address.as_ptr(), Ordering::Release);
        Ok(address)
    }
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
    static ENTRY: Entry = entry!(cudaGetErrorName);
    match ENTRY.address() {
        // SAFETY: the library has the function of this name at this address, with this type. It takes any code.
        Ok(address) => unsafe { text_of(address, error) },
        Err(_) => {
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
    static ENTRY: Entry = entry!(cudaGetErrorString);
    let library = match library() {
        Err(why) if error == cudaErrorSharedObjectInitFailed => return why.as_ptr(),
        Err(_) => return c"the CUDA runtime, which has the description, is not loaded".as_ptr(),
        Ok(library) => library,
    };
    if error == cudaErrorSharedObjectSymbolNotFound && LACKED.load(Ordering::Relaxed) {
        return library.lacks().as_ptr();
    }
    match ENTRY.address() {
        // SAFETY: the library has the function of this name at this address, with this type. It takes any code.
        Ok(address) => unsafe { text_of(address, error) },
        Err(_) => library.lacks().as_ptr(),
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
