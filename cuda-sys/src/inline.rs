//! The functions that the headers define inline, so that no library has them.
//!
//! The headers define a few of the channel descriptions for C++ only; here all are alike.

#![allow(non_snake_case, reason = "C's names")]

use core::ffi::{
    c_int, c_long, c_longlong, c_schar, c_short, c_uchar, c_uint, c_ulong, c_ulonglong, c_ushort, c_void,
};

use crate::bindings as c;
use crate::{cudaChannelFormatDesc, cudaChannelFormatKind, cudaExtent, cudaPitchedPtr, cudaPos};

/// Makes an extent. The width is in elements if an array is involved, else in bytes.
#[must_use]
pub const fn make_cudaExtent(w: usize, h: usize, d: usize) -> cudaExtent {
    cudaExtent { width: w, height: h, depth: d }
}

/// Makes a position. `x` is in elements if an array is involved, else in bytes.
#[must_use]
pub const fn make_cudaPos(x: usize, y: usize, z: usize) -> cudaPos {
    cudaPos { x, y, z }
}

/// Describes pitched memory: `p` bytes from row to row, with `xsz` used bytes in each of `ysz` rows.
#[must_use]
pub const fn make_cudaPitchedPtr(d: *mut c_void, p: usize, xsz: usize, ysz: usize) -> cudaPitchedPtr {
    cudaPitchedPtr { ptr: d, pitch: p, xsize: xsz, ysize: ysz }
}

const fn channels(bits: [c_int; 4], f: cudaChannelFormatKind) -> cudaChannelFormatDesc {
    let [x, y, z, w] = bits;
    cudaChannelFormatDesc { x, y, z, w, f }
}

/// Returns the description of one channel of half-precision floats.
#[must_use]
pub const fn cudaCreateChannelDescHalf() -> cudaChannelFormatDesc {
    channels([16, 0, 0, 0], c::cudaChannelFormatKindFloat)
}

/// Returns the description of one channel of half-precision floats.
#[must_use]
pub const fn cudaCreateChannelDescHalf1() -> cudaChannelFormatDesc {
    cudaCreateChannelDescHalf()
}

/// Returns the description of two channels of half-precision floats.
#[must_use]
pub const fn cudaCreateChannelDescHalf2() -> cudaChannelFormatDesc {
    channels([16, 16, 0, 0], c::cudaChannelFormatKindFloat)
}

/// Returns the description of four channels of half-precision floats.
#[must_use]
pub const fn cudaCreateChannelDescHalf4() -> cudaChannelFormatDesc {
    channels([16, 16, 16, 16], c::cudaChannelFormatKindFloat)
}

/// Returns the description of the planes of an NV12 image.
#[must_use]
pub const fn cudaCreateChannelDescNV12() -> cudaChannelFormatDesc {
    channels([8, 8, 8, 0], c::cudaChannelFormatKindNV12)
}

/// Defines `make_float2(x, y)` and the like.
macro_rules! vectors {
    ($($make:ident($($component:ident),*: $scalar:ty) -> $vector:ident;)*) => {$(
        #[doc = concat!("A [`", stringify!($vector), "`](c::", stringify!($vector), ") of its components.")]
        #[must_use]
        pub const fn $make($($component: $scalar),*) -> c::$vector {
            c::$vector { $($component),* }
        }
    )*};
}

vectors! {
    make_char1(x: c_schar) -> char1;
    make_char2(x, y: c_schar) -> char2;
    make_char3(x, y, z: c_schar) -> char3;
    make_char4(x, y, z, w: c_schar) -> char4;
    make_uchar1(x: c_uchar) -> uchar1;
    make_uchar2(x, y: c_uchar) -> uchar2;
    make_uchar3(x, y, z: c_uchar) -> uchar3;
    make_uchar4(x, y, z, w: c_uchar) -> uchar4;
    make_short1(x: c_short) -> short1;
    make_short2(x, y: c_short) -> short2;
    make_short3(x, y, z: c_short) -> short3;
    make_short4(x, y, z, w: c_short) -> short4;
    make_ushort1(x: c_ushort) -> ushort1;
    make_ushort2(x, y: c_ushort) -> ushort2;
    make_ushort3(x, y, z: c_ushort) -> ushort3;
    make_ushort4(x, y, z, w: c_ushort) -> ushort4;
    make_int1(x: c_int) -> int1;
    make_int2(x, y: c_int) -> int2;
    make_int3(x, y, z: c_int) -> int3;
    make_int4(x, y, z, w: c_int) -> int4;
    make_uint1(x: c_uint) -> uint1;
    make_uint2(x, y: c_uint) -> uint2;
    make_uint3(x, y, z: c_uint) -> uint3;
    make_uint4(x, y, z, w: c_uint) -> uint4;
    make_long1(x: c_long) -> long1;
    make_long2(x, y: c_long) -> long2;
    make_long3(x, y, z: c_long) -> long3;
    make_long4(x, y, z, w: c_long) -> long4;
    make_ulong1(x: c_ulong) -> ulong1;
    make_ulong2(x, y: c_ulong) -> ulong2;
    make_ulong3(x, y, z: c_ulong) -> ulong3;
    make_ulong4(x, y, z, w: c_ulong) -> ulong4;
    make_longlong1(x: c_longlong) -> longlong1;
    make_longlong2(x, y: c_longlong) -> longlong2;
    make_longlong3(x, y, z: c_longlong) -> longlong3;
    make_longlong4(x, y, z, w: c_longlong) -> longlong4;
    make_ulonglong1(x: c_ulonglong) -> ulonglong1;
    make_ulonglong2(x, y: c_ulonglong) -> ulonglong2;
    make_ulonglong3(x, y, z: c_ulonglong) -> ulonglong3;
    make_ulonglong4(x, y, z, w: c_ulonglong) -> ulonglong4;
    make_float1(x: f32) -> float1;
    make_float2(x, y: f32) -> float2;
    make_float3(x, y, z: f32) -> float3;
    make_float4(x, y, z, w: f32) -> float4;
    make_double1(x: f64) -> double1;
    make_double2(x, y: f64) -> double2;
    make_double3(x, y, z: f64) -> double3;
    make_double4(x, y, z, w: f64) -> double4;
}
