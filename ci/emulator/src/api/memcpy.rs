//! Copies of one row, of planes and of volumes: of linear memory, and volumes of arrays too.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::array::handle;
use super::memcpy_array::copyable;
use super::transfer::{Mode, Request, Side, plan, transfer};
use super::{Call, address, api, ordinal, wide};
use crate::error::Answer;
use crate::machine::Machine;
use crate::memory::{Allocations, Array};
use crate::stream::{Volume, Work, submit_everywhere};
use crate::sys::*;

fn request(dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) -> Request {
    let (to, from) = (Side::row(address(dst)), Side::row(address(src)));
    Request { to, from, volume: Volume::row(wide(count)), kind }
}

api! {
    /// Copies bytes, ordered with the default stream.
    allowed fn cudaMemcpy | cudaMemcpy_ptds(call, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) {
        let (mut machine, _, stream) = call.stream(core::ptr::null_mut())?;
        transfer(&mut machine, call, stream, &request(dst, src, count, kind), Mode::Blocking)
    }

    /// Copies bytes in stream order.
    allowed fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz(
        call, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind, stream: cudaStream_t,
    ) {
        // Without bytes CUDA does not look at the context.
        if count == 0 {
            return Ok(());
        }
        let (mut machine, _, stream) = call.stream(stream)?;
        transfer(&mut machine, call, stream, &request(dst, src, count, kind), Mode::Asynchronous)
    }
}

const NULL: cudaStream_t = core::ptr::null_mut();

/// Copies as `request` describes.
fn copy(
    call: &Call,
    stream: cudaStream_t,
    mode: Mode,
    request: impl FnOnce(&Machine) -> Answer<Request>,
) -> Answer {
    let (mut machine, _, stream) = call.stream(stream)?;
    let request = request(&machine)?;
    transfer(&mut machine, call, stream, &request, mode)
}

/// A copy of rows. Nothing to copy is no error, whatever the rest is. The pitch of a single row may be any on
/// the side of the source. An H200 compares that of the destination.
fn plane(
    (dst, to_pitch): (*mut c_void, usize),
    (src, from_pitch): (*const c_void, usize),
    (width, height): (usize, usize),
    kind: cudaMemcpyKind,
) -> Answer<Request> {
    let volume = Volume { width: wide(width), height: wide(height), depth: 1 };
    for pitch in [to_pitch, from_pitch] {
        if !volume.is_empty() && height > 1 && pitch < width {
            return Err(cudaErrorInvalidPitchValue);
        }
    }
    if !volume.is_empty() && to_pitch < width {
        return Err(cudaErrorInvalidValue);
    }
    let side = |memory, pitch| Side {
        address: address(memory),
        pitch: if height > 1 { wide(pitch) } else { 0 },
        slice: 0,
    };
    Ok(Request { to: side(dst, to_pitch), from: side(src, from_pitch), volume, kind })
}

/// One side of a copy of a volume as the program gives it.
#[derive(Clone, Copy)]
struct VolumeSide {
    array: cudaArray_t,
    memory: cudaPitchedPtr,
    at: cudaPos,
}

impl VolumeSide {
    /// The array, if this is one.
    fn array<'a>(&self, call: &Call, allocations: &'a Allocations) -> Answer<Option<&'a Array>> {
        match (self.array.is_null(), self.memory.ptr.is_null()) {
            (true, true) | (false, false) => Err(cudaErrorInvalidValue),
            (true, false) => Ok(None),
            (false, true) => copyable(call, allocations, handle(self.array)).map(Some),
        }
    }
}

/// Part of an array, from a position in elements.
pub(super) fn solid_part(array: &Array, at: (u64, u64, u64), volume: Volume) -> Answer<Side> {
    let element = array.format.element();
    let x = at.0.checked_mul(element).ok_or(cudaErrorInvalidValue)?;
    let inside = |at: u64, length: u64, end: u64| at.checked_add(length).is_some_and(|it| it <= end);
    if !inside(x, volume.width, array.pitch())
        || !inside(at.1, volume.height, array.rows())
        || !inside(at.2, volume.depth, array.layers())
    {
        return Err(cudaErrorInvalidValue);
    }
    let (pitch, slice) = (array.pitch(), array.slice());
    Ok(Side { address: array.start + at.2 * slice + at.1 * pitch + x, pitch, slice })
}

/// Part of linear memory, from a position in bytes, rows and layers. The pitch is compared with the `width`
/// of the extent, even if that counts elements.
fn corner(memory: cudaPitchedPtr, at: cudaPos, volume: Volume, width: u64) -> Answer<Side> {
    let end = |at: usize, length: u64| wide(at).checked_add(length).ok_or(cudaErrorInvalidValue);
    let layered = end(at.z, volume.depth)? > 1;
    let (several, pitch, rows) = (layered || volume.height > 1, wide(memory.pitch), wide(memory.ysize));
    if several && pitch < width || layered && rows < volume.height {
        return Err(cudaErrorInvalidPitchValue);
    }
    // Of a single row the pitch may be left open, and of a single layer its rows.
    let beyond = |end: u64, size: u64, open: bool| end > size && !(open && size == 0);
    if beyond(end(at.x, volume.width)?, pitch, !several) || beyond(end(at.y, volume.height)?, rows, !layered)
    {
        return Err(cudaErrorInvalidValue);
    }
    let slice = pitch.checked_mul(rows).ok_or(cudaErrorInvalidValue)?;
    let offset = wide(at.z).checked_mul(slice).and_then(|layers| {
        let rows = wide(at.y).checked_mul(pitch)?;
        address(memory.ptr).checked_add(layers)?.checked_add(rows)?.checked_add(wide(at.x))
    });
    Ok(Side { address: offset.ok_or(cudaErrorInvalidValue)?, pitch, slice })
}

/// The bytes of an extent. It counts elements of an array if one side is an array; two arrays must agree on
/// their elements.
pub(super) fn volume(extent: cudaExtent, to: Option<&Array>, from: Option<&Array>) -> Answer<Volume> {
    let element = match (to, from) {
        (Some(to), Some(from)) if to.format.element() != from.format.element() => {
            return Err(cudaErrorInvalidValue);
        }
        (Some(array), _) | (None, Some(array)) => array.format.element(),
        (None, None) => 1,
    };
    let width = wide(extent.width).checked_mul(element).ok_or(cudaErrorInvalidValue)?;
    Ok(Volume { width, height: wide(extent.height), depth: wide(extent.depth) })
}

/// A direction that would have an array on the host means the device.
fn corrected(kind: cudaMemcpyKind, to_array: bool, from_array: bool) -> cudaMemcpyKind {
    let to_host = [cudaMemcpyHostToHost, cudaMemcpyDeviceToHost].contains(&kind) && !to_array;
    let from_host = [cudaMemcpyHostToHost, cudaMemcpyHostToDevice].contains(&kind) && !from_array;
    if !(cudaMemcpyHostToHost.0..=cudaMemcpyDeviceToDevice.0).contains(&kind.0) {
        return kind;
    }
    match (to_host, from_host) {
        (true, true) => cudaMemcpyHostToHost,
        (true, false) => cudaMemcpyDeviceToHost,
        (false, true) => cudaMemcpyHostToDevice,
        (false, false) => cudaMemcpyDeviceToDevice,
    }
}

/// Checks both sides of a copy of a volume.
fn both(
    call: &Call,
    allocations: &Allocations,
    (to, from): (VolumeSide, VolumeSide),
    extent: cudaExtent,
    kind: cudaMemcpyKind,
) -> Answer<Request> {
    let (to_array, from_array) = (to.array(call, allocations)?, from.array(call, allocations)?);
    let volume = volume(extent, to_array, from_array)?;
    let side = |operand: VolumeSide, array: Option<&Array>| match array {
        Some(array) => {
            let at = (wide(operand.at.x), wide(operand.at.y), wide(operand.at.z));
            solid_part(array, at, volume)
        }
        None => corner(operand.memory, operand.at, volume, wide(extent.width)),
    };
    let kind = corrected(kind, to_array.is_some(), from_array.is_some());
    // Linear memory is looked at first.
    if to_array.is_some() {
        let from = side(from, from_array)?;
        return Ok(Request { to: side(to, to_array)?, from, volume, kind });
    }
    Ok(Request { to: side(to, to_array)?, from: side(from, from_array)?, volume, kind })
}

fn is_empty(extent: cudaExtent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

/// Nothing to copy.
fn nothing(kind: cudaMemcpyKind) -> Request {
    Request { to: Side::row(0), from: Side::row(0), volume: Volume::row(0), kind }
}

pub(super) fn solid(
    call: &Call,
    machine: &Machine,
    parameters: Option<&cudaMemcpy3DParms>,
) -> Answer<Request> {
    let p = parameters.ok_or(cudaErrorInvalidValue)?;
    if is_empty(p.extent) {
        return Ok(nothing(p.kind));
    }
    let to = VolumeSide { array: p.dstArray, memory: p.dstPtr, at: p.dstPos };
    let from = VolumeSide { array: p.srcArray, memory: p.srcPtr, at: p.srcPos };
    both(call, &machine.allocations, (to, from), p.extent, p.kind)
}

fn between(call: &Call, machine: &Machine, parameters: Option<&cudaMemcpy3DPeerParms>) -> Answer<Request> {
    let p = parameters.ok_or(cudaErrorInvalidValue)?;
    if is_empty(p.extent) {
        return Ok(nothing(cudaMemcpyDefault));
    }
    let (to_device, from_device) = (ordinal(machine, p.dstDevice)?, ordinal(machine, p.srcDevice)?);
    let to = VolumeSide { array: p.dstArray, memory: p.dstPtr, at: p.dstPos };
    let from = VolumeSide { array: p.srcArray, memory: p.srcPtr, at: p.srcPos };
    for (operand, device) in [(to, to_device), (from, from_device)] {
        if operand.array(call, &machine.allocations)?.is_some_and(|array| array.device != device) {
            return Err(cudaErrorInvalidValue);
        }
    }
    both(call, &machine.allocations, (to, from), p.extent, cudaMemcpyDefault)
}

api! {
    /// Copies rows, ordered with the default stream.
    allowed fn cudaMemcpy2D | cudaMemcpy2D_ptds(
        call, dst: *mut c_void, to_pitch: usize, src: *const c_void, from_pitch: usize, width: usize, height: usize,
        kind: cudaMemcpyKind,
    ) {
        copy(call, NULL, Mode::Blocking, |_| plane((dst, to_pitch), (src, from_pitch), (width, height), kind))
    }

    /// Copies rows in stream order.
    allowed fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz(
        call, dst: *mut c_void, to_pitch: usize, src: *const c_void, from_pitch: usize, width: usize, height: usize,
        kind: cudaMemcpyKind, stream: cudaStream_t,
    ) {
        copy(call, stream, Mode::Asynchronous, |_| {
            plane((dst, to_pitch), (src, from_pitch), (width, height), kind)
        })
    }

    /// Copies layers of rows, ordered with the default stream.
    allowed fn cudaMemcpy3D | cudaMemcpy3D_ptds(call, parameters: Option<&cudaMemcpy3DParms>) {
        copy(call, NULL, Mode::Blocking, |machine| solid(call, machine, parameters))
    }

    /// Copies layers of rows in stream order.
    allowed fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz(
        call, parameters: Option<&cudaMemcpy3DParms>, stream: cudaStream_t,
    ) {
        copy(call, stream, Mode::Asynchronous, |machine| solid(call, machine, parameters))
    }

    /// Copies layers of rows between devices, in order with all that both have to do.
    allowed fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds(call, parameters: Option<&cudaMemcpy3DPeerParms>) {
        let (mut machine, current, stream) = call.stream(NULL)?;
        let request = between(call, &machine, parameters)?;
        if request.volume.is_empty() {
            return Ok(());
        }
        let p = parameters.ok_or(cudaErrorInvalidValue)?;
        let mut devices = vec![current, ordinal(&machine, p.dstDevice)?, ordinal(&machine, p.srcDevice)?];
        devices.sort_unstable();
        devices.dedup();
        let planned = plan(call, &machine.allocations, &request, Mode::Asynchronous)?;
        let work = Work::Copy(Box::new(planned.copy));
        submit_everywhere(&mut machine, stream, &devices, call.name, work).map(drop)
    }

    /// Copies layers of rows between devices in stream order.
    allowed fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz(
        call, parameters: Option<&cudaMemcpy3DPeerParms>, stream: cudaStream_t,
    ) {
        copy(call, stream, Mode::Asynchronous, |machine| between(call, machine, parameters))
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

    fn bytes(width: u64, height: u64, depth: u64) -> Volume {
        Volume { width, height, depth }
    }

    #[test]
    fn a_corner_counts_bytes_rows_and_layers() {
        let side = corner(MEMORY, at(3, 2, 1), bytes(8, 2, 2), 8).unwrap();
        assert_eq!((side.address, side.pitch, side.slice), (0x1000 + 640 + 128 + 3, 64, 640));
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let corner = |at, volume: Volume| corner(MEMORY, at, volume, volume.width).map(|side| side.address);
        assert_eq!(corner(at(0, 0, 0), bytes(65, 2, 2)), Err(cudaErrorInvalidPitchValue));
        assert_eq!(corner(at(5, 0, 0), bytes(60, 2, 2)), Err(cudaErrorInvalidValue));
        assert_eq!(corner(at(0, 9, 0), bytes(60, 2, 2)), Err(cudaErrorInvalidValue));
        assert_eq!(corner(at(usize::MAX, 0, 0), bytes(60, 2, 2)), Err(cudaErrorInvalidValue));
        let null = core::ptr::null_mut();
        let short = plane((null, 10), (null, 20), (11, 2), cudaMemcpyDefault).map(|request| request.volume);
        assert_eq!(short, Err(cudaErrorInvalidPitchValue));
        let one =
            |to, from| plane((null, to), (null, from), (11, 1), cudaMemcpyDefault).map(|it| it.to.pitch);
        assert_eq!((one(20, 10), one(10, 20)), (Ok(0), Err(cudaErrorInvalidValue)));
        let none = plane((null, 10), (null, 20), (11, 0), cudaMemcpyDefault)
            .map(|request| request.volume.is_empty());
        assert_eq!(none, Ok(true));
    }

    #[test]
    fn an_array_is_never_on_the_host_whatever_the_direction_says() {
        assert_eq!(corrected(cudaMemcpyHostToHost, true, false), cudaMemcpyHostToDevice);
        assert_eq!(corrected(cudaMemcpyHostToHost, false, true), cudaMemcpyDeviceToHost);
        assert_eq!(corrected(cudaMemcpyHostToDevice, true, true), cudaMemcpyDeviceToDevice);
        assert_eq!(corrected(cudaMemcpyDeviceToHost, false, false), cudaMemcpyDeviceToHost);
        assert_eq!(corrected(cudaMemcpyDefault, true, true), cudaMemcpyDefault);
        assert_eq!(corrected(cudaMemcpyKind(99), true, true), cudaMemcpyKind(99));
    }
}
