//! Copies of planes and volumes of linear memory. Arrays are not supported yet.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::{Call, address, api, ordinal, wide};
use crate::error::Answer;
use crate::stream::Volume;
use crate::sys::{
    cudaArray_t, cudaErrorInvalidPitchValue, cudaErrorInvalidValue, cudaErrorNotSupported, cudaExtent,
    cudaMemcpy3DParms, cudaMemcpy3DPeerParms, cudaMemcpyDefault, cudaMemcpyKind, cudaPitchedPtr, cudaPos,
    cudaStream_t,
};
use crate::transfer::{Mode, Request, Side, transfer};

/// The largest pitch that a copy may have.
const LARGEST_PITCH: usize = 0x7fff_ffff;
const NULL: cudaStream_t = core::ptr::null_mut();

fn copy(call: &Call, stream: cudaStream_t, request: Answer<Request>, mode: Mode) -> Answer {
    let (mut machine, _, stream) = call.stream(stream)?;
    transfer(&mut machine, call, stream, &request?, mode)
}

/// A copy of rows. Nothing to copy is no error, whatever the rest is.
fn plane(
    (dst, to_pitch): (*mut c_void, usize),
    (src, from_pitch): (*const c_void, usize),
    (width, height): (usize, usize),
    kind: cudaMemcpyKind,
) -> Answer<Request> {
    let volume = Volume { width: wide(width), height: wide(height), depth: 1 };
    for pitch in [to_pitch, from_pitch] {
        if !volume.is_empty() && (pitch < width || pitch > LARGEST_PITCH) {
            return Err(cudaErrorInvalidPitchValue);
        }
    }
    let to = Side { address: address(dst), pitch: wide(to_pitch), slice: 0 };
    let from = Side { address: address(src), pitch: wide(from_pitch), slice: 0 };
    Ok(Request { to, from, volume, kind })
}

/// One side of a copy of a volume: linear memory, from a position in it.
fn corner(array: cudaArray_t, memory: cudaPitchedPtr, at: cudaPos, extent: cudaExtent) -> Answer<Side> {
    if !array.is_null() {
        return Err(if memory.ptr.is_null() { cudaErrorNotSupported } else { cudaErrorInvalidValue });
    }
    if memory.ptr.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    let end = |at: usize, length: usize| at.checked_add(length).ok_or(cudaErrorInvalidValue);
    if memory.pitch > LARGEST_PITCH || end(at.x, extent.width)? > memory.pitch {
        return Err(cudaErrorInvalidPitchValue);
    }
    let layers = end(at.z, extent.depth)?;
    if layers > 1 && end(at.y, extent.height)? > memory.ysize {
        return Err(cudaErrorInvalidValue);
    }
    let pitch = wide(memory.pitch);
    let slice = pitch.checked_mul(wide(memory.ysize)).ok_or(cudaErrorInvalidValue)?;
    let offset = wide(at.z).checked_mul(slice).and_then(|layers| {
        let rows = wide(at.y).checked_mul(pitch)?;
        address(memory.ptr).checked_add(layers)?.checked_add(rows)?.checked_add(wide(at.x))
    });
    Ok(Side { address: offset.ok_or(cudaErrorInvalidValue)?, pitch, slice })
}

fn volume(extent: cudaExtent) -> Volume {
    Volume { width: wide(extent.width), height: wide(extent.height), depth: wide(extent.depth) }
}

/// Nothing to copy.
fn nothing(kind: cudaMemcpyKind) -> Request {
    Request { to: Side::row(0), from: Side::row(0), volume: Volume::row(0), kind }
}

fn solid(parameters: Option<&cudaMemcpy3DParms>) -> Answer<Request> {
    let p = parameters.ok_or(cudaErrorInvalidValue)?;
    let volume = volume(p.extent);
    if volume.is_empty() {
        return Ok(nothing(p.kind));
    }
    let to = corner(p.dstArray, p.dstPtr, p.dstPos, p.extent)?;
    let from = corner(p.srcArray, p.srcPtr, p.srcPos, p.extent)?;
    Ok(Request { to, from, volume, kind: p.kind })
}

fn between(call: &Call, parameters: Option<&cudaMemcpy3DPeerParms>) -> Answer<Request> {
    let p = parameters.ok_or(cudaErrorInvalidValue)?;
    let volume = volume(p.extent);
    if volume.is_empty() {
        return Ok(nothing(cudaMemcpyDefault));
    }
    let machine = call.machine()?;
    ordinal(&machine, p.dstDevice)?;
    ordinal(&machine, p.srcDevice)?;
    let to = corner(p.dstArray, p.dstPtr, p.dstPos, p.extent)?;
    let from = corner(p.srcArray, p.srcPtr, p.srcPos, p.extent)?;
    Ok(Request { to, from, volume, kind: cudaMemcpyDefault })
}

api! {
    /// Copies rows, ordered with the default stream.
    fn cudaMemcpy2D | cudaMemcpy2D_ptds(
        call, dst: *mut c_void, to_pitch: usize, src: *const c_void, from_pitch: usize, width: usize, height: usize,
        kind: cudaMemcpyKind,
    ) {
        copy(call, NULL, plane((dst, to_pitch), (src, from_pitch), (width, height), kind), Mode::Blocking)
    }

    /// Copies rows in stream order.
    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz(
        call, dst: *mut c_void, to_pitch: usize, src: *const c_void, from_pitch: usize, width: usize, height: usize,
        kind: cudaMemcpyKind, stream: cudaStream_t,
    ) {
        copy(call, stream, plane((dst, to_pitch), (src, from_pitch), (width, height), kind), Mode::Asynchronous)
    }

    /// Copies layers of rows, ordered with the default stream.
    fn cudaMemcpy3D | cudaMemcpy3D_ptds(call, parameters: Option<&cudaMemcpy3DParms>) {
        copy(call, NULL, solid(parameters), Mode::Blocking)
    }

    /// Copies layers of rows in stream order.
    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz(
        call, parameters: Option<&cudaMemcpy3DParms>, stream: cudaStream_t,
    ) {
        copy(call, stream, solid(parameters), Mode::Asynchronous)
    }

    /// Copies layers of rows between devices.
    fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds(call, parameters: Option<&cudaMemcpy3DPeerParms>) {
        let request = between(call, parameters);
        copy(call, NULL, request, Mode::Asynchronous)
    }

    /// Copies layers of rows between devices in stream order.
    fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz(
        call, parameters: Option<&cudaMemcpy3DPeerParms>, stream: cudaStream_t,
    ) {
        let request = between(call, parameters);
        copy(call, stream, request, Mode::Asynchronous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: usize, y: usize, z: usize) -> cudaPos {
        cudaPos { x, y, z }
    }

    const MEMORY: cudaPitchedPtr =
        cudaPitchedPtr { ptr: core::ptr::without_provenance_mut(0x1000), pitch: 64, xsize: 50, ysize: 10 };

    #[test]
    fn a_corner_counts_bytes_rows_and_layers() {
        let extent = cudaExtent { width: 8, height: 2, depth: 2 };
        let side = corner(core::ptr::null_mut(), MEMORY, at(3, 2, 1), extent).unwrap();
        assert_eq!((side.address, side.pitch, side.slice), (0x1000 + 640 + 128 + 3, 64, 640));
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let extent = cudaExtent { width: 60, height: 2, depth: 2 };
        let corner = |at, extent| corner(core::ptr::null_mut(), MEMORY, at, extent).map(|side| side.address);
        assert_eq!(corner(at(5, 0, 0), extent), Err(cudaErrorInvalidPitchValue));
        assert_eq!(corner(at(0, 9, 0), extent), Err(cudaErrorInvalidValue));
        assert_eq!(corner(at(usize::MAX, 0, 0), extent), Err(cudaErrorInvalidValue));
        let null = core::ptr::null_mut();
        let short = plane((null, 10), (null, 20), (11, 2), cudaMemcpyDefault).map(|request| request.volume);
        assert_eq!(short, Err(cudaErrorInvalidPitchValue));
        let none = plane((null, 10), (null, 20), (11, 0), cudaMemcpyDefault)
            .map(|request| request.volume.is_empty());
        assert_eq!(none, Ok(true));
    }
}
