//! Functions of the driver that make tensor maps. Programs find them by `cudaGetDriverEntryPoint`. They
//! return a `CUresult`: 0, 1 for an invalid value, and 801 for what is not supported.
#![expect(unsafe_code, reason = "C functions, which read arrays and write maps that they are given")]

use core::ffi::{c_uint, c_void};

use super::address;
use crate::exec::tensor::{BYTES, RANK, TensorMap};

/// `CUDA_SUCCESS`, `CUDA_ERROR_INVALID_VALUE` and `CUDA_ERROR_NOT_SUPPORTED`.
const SUCCESS: c_uint = 0;
const INVALID_VALUE: c_uint = 1;
const NOT_SUPPORTED: c_uint = 801;

/// The version of the driver that introduced the functions.
pub(super) const SINCE: c_uint = 12_000;

/// A function of the driver, by its name.
pub(super) fn function(name: &[u8]) -> Option<*mut c_void> {
    let encode: EncodeTiled = encode_tiled;
    let replace: extern "C" fn(*mut [u8; BYTES], *mut c_void) -> c_uint = replace_address;
    let image: extern "C" fn() -> c_uint = encode_im2col;
    match name {
        b"cuTensorMapEncodeTiled" => Some(encode as *mut c_void),
        b"cuTensorMapReplaceAddress" => Some(replace as *mut c_void),
        b"cuTensorMapEncodeIm2col" => Some(image as *mut c_void),
        _ => None,
    }
}

type EncodeTiled = extern "C" fn(
    *mut [u8; BYTES],
    c_uint,
    c_uint,
    *mut c_void,
    *const u64,
    *const u64,
    *const u32,
    *const u32,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
) -> c_uint;

/// Says what is wrong with a call, and returns its code.
fn fails(name: &str, code: c_uint, why: &str) -> c_uint {
    eprintln!("CUDA emulator: {name}: {why}");
    code
}

/// Reads elements of an array; those beyond `count` are `rest`.
///
/// # Safety
/// The array has `count` elements.
unsafe fn elements<T: Copy, const N: usize>(from: *const T, count: usize, rest: T) -> Option<[T; N]> {
    if from.is_null() && count > 0 {
        return None;
    }
    let mut out = [rest; N];
    for (n, place) in out.iter_mut().enumerate().take(count) {
        // SAFETY: the caller vouches for so many elements.
        *place = unsafe { from.wrapping_add(n).read() };
    }
    Some(out)
}

extern "C" fn encode_tiled(
    map: *mut [u8; BYTES],
    element: c_uint,
    rank: c_uint,
    global: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    boxes: *const u32,
    steps: *const u32,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> c_uint {
    const NAME: &str = "cuTensorMapEncodeTiled";
    let invalid = |why: &str| fails(NAME, INVALID_VALUE, why);
    let rank = usize::try_from(rank).unwrap_or(0);
    // Its type asks for 64 bytes of alignment, but an H200 takes any place.
    if map.is_null() {
        return invalid("the map is null");
    }
    if !(1..=RANK).contains(&rank) {
        return invalid(&format!("the rank is {rank}: 1 to {RANK} are possible"));
    }
    if promotion > 3 || fill > 1 || interleave > 2 {
        return invalid("there is no such interleave, promotion or fill");
    }
    // SAFETY: C's caller vouches for as many elements as the tensor has dimensions.
    let dims = unsafe { elements(dims, rank, 1) };
    // SAFETY: C's caller vouches for an element for each dimension of the tensor but the first.
    let strides = unsafe { elements(strides, rank - 1, 0) };
    // SAFETY: as for the dimensions.
    let boxes = unsafe { elements(boxes, rank, 1) };
    // SAFETY: as for the dimensions.
    let steps: Option<[u32; RANK]> = unsafe { elements(steps, rank, 1) };
    let (Some(dims), Some(strides), Some(boxes), Some(mut steps)) = (dims, strides, boxes, steps) else {
        return invalid("an array is null");
    };
    if (1..=8).contains(&steps[0]) {
        // There are no steps in the innermost dimension.
        steps[0] = 1;
    }
    let address = address(global);
    let tensor = TensorMap { element, rank, swizzle, nan: fill == 1, address, dims, strides, boxes, steps };
    if interleave > 0 {
        return fails(NAME, NOT_SUPPORTED, "interleaved layouts are not supported");
    }
    let checked = tensor.check();
    // On an H200, too, a map that is refused is none afterwards.
    let bytes = if checked.is_ok() { tensor.pack() } else { [0; BYTES] };
    // SAFETY: C's caller vouches for the map, which is not null.
    unsafe { map.write(bytes) };
    checked.map_or_else(|why| invalid(&why), |()| SUCCESS)
}

/// The same map of another tensor.
extern "C" fn replace_address(map: *mut [u8; BYTES], global: *mut c_void) -> c_uint {
    const NAME: &str = "cuTensorMapReplaceAddress";
    if map.is_null() || global.is_null() {
        return fails(NAME, INVALID_VALUE, "the map or the address is null");
    }
    // SAFETY: C's caller vouches for the map, which is not null.
    let Some(old) = TensorMap::unpack(&unsafe { map.read() }) else {
        // An H200 changes bytes that are no map as well. A kernel that uses them ends with an error.
        return fails(NAME, SUCCESS, "no function of the driver has made this map, which stays as it is");
    };
    let new = TensorMap { address: address(global), ..old };
    if let Err(why) = new.check() {
        return fails(NAME, INVALID_VALUE, &why);
    }
    // SAFETY: C's caller vouches for the map, which is not null.
    unsafe { map.write(new.pack()) };
    SUCCESS
}

/// Its arguments are not looked at.
extern "C" fn encode_im2col() -> c_uint {
    fails("cuTensorMapEncodeIm2col", NOT_SUPPORTED, "maps of columns of images are not supported")
}
