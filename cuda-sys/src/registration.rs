//! The functions by which nvcc's objects register their kernels and variables.
//!
//! An object calls them in a constructor, before `main`, and so does a program that has a fatbinary of its
//! own. CUDA's `crt/host_runtime.h` declares them, for code that nvcc generates, so they are no part of the
//! bindings. With the feature `load` they are this crate's.
#![allow(unsafe_code, reason = "declares functions of C")]

use core::ffi::{c_char, c_int, c_void};

use crate::bindings::{dim3, uint3};

/// The runtime's handle of a registered fatbinary.
pub type Handle = *mut *mut c_void;

/// Passes the declarations to a macro. What is `replayed` belongs to a fatbinary that may wait for the
/// library (feature `load`).
macro_rules! functions {
    ($then:ident) => {
        $then! {
            /// Registers a fatbinary, given its `__fatBinC_Wrapper_t`.
            called fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> Handle;
            /// Ends the registrations of a fatbinary.
            replayed fn __cudaRegisterFatBinaryEnd(handle: Handle);
            /// Registers a kernel of a fatbinary under an address of the program.
            replayed fn __cudaRegisterFunction(
                handle: Handle,
                host: *const c_char,
                device: *mut c_char,
                name: *const c_char,
                threads: c_int,
                thread: *mut uint3,
                block: *mut uint3,
                block_dim: *mut dim3,
                grid_dim: *mut dim3,
                warp: *mut c_int
            );
            /// Registers a variable of a fatbinary under an address of the program.
            replayed fn __cudaRegisterVar(
                handle: Handle,
                host: *mut c_char,
                device: *mut c_char,
                name: *const c_char,
                external: c_int,
                size: usize,
                constant: c_int,
                global: c_int
            );
            /// Registers a managed variable. The runtime writes the variable's address to `host`.
            replayed fn __cudaRegisterManagedVar(
                handle: Handle,
                host: *mut *mut c_void,
                device: *mut c_char,
                name: *const c_char,
                external: c_int,
                size: usize,
                constant: c_int,
                global: c_int
            );
            /// Gives the managed variables of a fatbinary their addresses. Returns 0 if it cannot yet.
            called fn __cudaInitModule(handle: Handle) -> c_char;
        }
    };
}

macro_rules! declare {
    ($($(#[$docs:meta])* $kind:ident fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        unsafe extern "C" {
            $($(#[$docs])* pub fn $name($($argument: $type),*) $(-> $result)?;)*
            /// Undoes the registrations of a fatbinary.
            pub fn __cudaUnregisterFatBinary(handle: Handle);
        }
    };
}

functions!(declare);

#[cfg(feature = "load")]
pub(crate) use functions;
