//! The table of the functions' addresses, and the functions over it.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::library::library;
use crate::bindings::{cudaError_t, cudaErrorSharedObjectInitFailed, cudaErrorSharedObjectSymbolNotFound};

/// Defines functions of C that call the library's, given as in an `extern` block. Each returns
/// `cudaErrorSharedObjectInitFailed` if there is no library, and `cudaErrorSharedObjectSymbolNotFound` if the
/// library lacks the function.
macro_rules! loaded {
    // `others.rs` has those that return something else.
    ($(#[$attribute:meta])* pub fn cudaGetErrorName $($rest:tt)*) => {};
    ($(#[$attribute:meta])* pub fn cudaGetErrorString $($rest:tt)*) => {};
    ($(#[$attribute:meta])* pub fn cudaCreateChannelDesc $($rest:tt)*) => {};
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> cudaError_t;) => {
        $(#[$attribute])*
        $visibility unsafe extern "C" fn $name($($argument: $type),*) -> cudaError_t {
            type Function = unsafe extern "C" fn($($type),*) -> cudaError_t;
            static ENTRY: $crate::load::table::Entry =
                $crate::load::table::Entry::new(concat!(stringify!($name), "\0"), first as *mut _);

            /// Stands in the table before the first call, and for ever if there is no such function.
            unsafe extern "C" fn first($($argument: $type),*) -> cudaError_t {
                let Some(address) = ENTRY.resolve() else { return $crate::load::table::code_of_none() };
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
        $crate::load::system::c_symbol!($name);
    };
}

pub(crate) use loaded;

/// The address of one function: one row of the table.
pub(crate) struct Entry {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Entry {
    /// Makes the entry of the function with this name, which ends with a zero. `first` has the function's
    /// type, and resolves the entry.
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
pub(super) static LACKED: AtomicBool = AtomicBool::new(false);
