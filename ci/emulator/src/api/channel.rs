//! Descriptions of texture elements.
#![expect(unsafe_code, reason = "exports a C function")]

use core::ffi::c_int;

use crate::sys::{cudaChannelFormatDesc, cudaChannelFormatKind};

/// Puts a description together.
#[unsafe(no_mangle)]
extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: cudaChannelFormatKind,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}
