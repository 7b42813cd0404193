//! Copies to, from and between arrays by rows, and the older ones by bytes.
//!
//! Offsets and widths are in bytes, and in copies by rows they need not be whole elements; heights are in
//! rows. These copies only reach the first layer of an array. A direction that would put the array on the
//! host is refused.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::array::handle;
use super::transfer::{LARGEST_PITCH, Mode, Request, Side, transfer};
use super::{Call, address, api, wide};
use crate::error::Answer;
use crate::finding::Finding;
use crate::memory::{Allocations, Array};
use crate::stream::Volume;
use crate::sys::*;

const NULL: cudaStream_t = core::ptr::null_mut();

/// A corner of an array: bytes from the left, rows from the top.
#[derive(Clone, Copy)]
struct Corner<T> {
    array: *const T,
    x: usize,
    y: usize,
}

fn at<T>(array: *const T, x: usize, y: usize) -> Corner<T> {
    Corner { array, x, y }
}

/// Linear memory: its first byte, and bytes from row to row.
#[derive(Clone, Copy)]
struct Rows {
    memory: *const c_void,
    pitch: usize,
}

/// The array behind a handle, for a copy. It must have memory that is copied as a whole.
///
/// # Errors
/// Those of [`Allocations::array`], and `cudaErrorInvalidValue`.
pub(super) fn copyable<'a>(call: &Call, allocations: &'a Allocations, array: u64) -> Answer<&'a Array> {
    let found = allocations.array(array)?;
    let trouble = if found.format.is_planar() {
        "an array of several planes is copied plane by plane"
    } else if !found.is_backed() {
        "nothing is mapped to this array"
    } else {
        return Ok(found);
    };
    Finding::pointer(call.name, trouble).report();
    Err(cudaErrorInvalidValue)
}

/// Some rows of an array.
fn part<T>(call: &Call, allocations: &Allocations, corner: Corner<T>, volume: Volume) -> Answer<Side> {
    let array = copyable(call, allocations, handle(corner.array))?;
    let (x, y) = (wide(corner.x), wide(corner.y));
    let right = x.checked_add(volume.width).filter(|end| *end <= array.pitch());
    let below = y.checked_add(volume.height).filter(|end| *end <= array.rows());
    if right.is_none() || below.is_none() {
        let what = format!(
            "{} bytes and {} rows from byte {x} of row {y} on are not in an array of {} bytes and {} rows",
            volume.width,
            volume.height,
            array.pitch(),
            array.rows()
        );
        Finding::pointer(call.name, &what).report();
        return Err(cudaErrorInvalidValue);
    }
    Ok(Side { address: array.start + y * array.pitch() + x, pitch: array.pitch(), slice: array.slice() })
}

/// So many bytes of an array, row after row.
fn run<T>(call: &Call, allocations: &Allocations, corner: Corner<T>, count: u64) -> Answer<Side> {
    let array = copyable(call, allocations, handle(corner.array))?;
    let element = array.format.element();
    let start = wide(corner.y).checked_mul(array.pitch()).and_then(|rows| rows.checked_add(wide(corner.x)));
    let start = start.ok_or(cudaErrorInvalidValue)?;
    let inside = start.checked_add(count).is_some_and(|end| end <= array.slice());
    let whole = start.is_multiple_of(element) && count.is_multiple_of(element);
    if wide(corner.x) >= array.pitch() || !inside || !whole {
        return Err(cudaErrorInvalidValue);
    }
    Ok(Side::row(array.start + start))
}

/// Linear memory on one side of a copy.
///
/// CUDA does not check the pitch of a single row of its own memory, and divides by it.
fn linear(call: &Call, known: Option<&Allocations>, rows: Rows, volume: Volume) -> Answer<Side> {
    if rows.memory.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    let is_pageable = known.is_some_and(|known| known.at(address(rows.memory)).is_none());
    if rows.pitch == 0 && volume.height == 1 && is_pageable {
        // Of pageable memory a single row needs no pitch in copies that wait, which alone pass what is known.
        return Ok(Side::row(address(rows.memory)));
    }
    if rows.pitch == 0 && volume.height == 1 {
        Finding::pointer(call.name, "the pitch of a single row is 0, and CUDA divides by it").report();
        // SAFETY: takes a number.
        unsafe { libc::raise(libc::SIGFPE) };
    }
    if wide(rows.pitch) < volume.width || wide(rows.pitch) > LARGEST_PITCH {
        return Err(cudaErrorInvalidPitchValue);
    }
    Ok(Side { address: address(rows.memory), pitch: wide(rows.pitch), slice: 0 })
}

fn one_of(kind: cudaMemcpyKind, kinds: &[cudaMemcpyKind]) -> Answer {
    let known = kind == cudaMemcpyDefault || kinds.contains(&kind);
    if known { Ok(()) } else { Err(cudaErrorInvalidMemcpyDirection) }
}

const TO: [cudaMemcpyKind; 2] = [cudaMemcpyHostToDevice, cudaMemcpyDeviceToDevice];
const FROM: [cudaMemcpyKind; 2] = [cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice];

/// Checks the copy that `request` describes and runs it. A zero-length copy is a no-op, whatever the other
/// arguments are.
fn copy(
    call: &Call,
    stream: cudaStream_t,
    volume: Volume,
    mode: Mode,
    request: impl FnOnce(&Allocations) -> Answer<Request>,
) -> Answer {
    let (mut machine, _, stream) = call.stream(stream)?;
    if volume.is_empty() {
        return Ok(());
    }
    let request = request(&machine.allocations)?;
    transfer(&mut machine, call, stream, &request, mode)
}

fn plane(width: usize, height: usize) -> Volume {
    Volume { width: wide(width), height: wide(height), depth: 1 }
}

/// The handle of an array that must not be null.
fn given<T>(array: *const T) -> Answer {
    if array.is_null() { Err(cudaErrorInvalidResourceHandle) } else { Ok(()) }
}

fn to_array(
    call: &Call,
    (to, from): (Corner<crate::sys::cudaArray>, Rows),
    volume: Volume,
    kind: cudaMemcpyKind,
    (stream, mode): (cudaStream_t, Mode),
) -> Answer {
    copy(call, stream, volume, mode, |allocations| {
        given(to.array)?;
        one_of(kind, &TO)?;
        let from = linear(call, (mode == Mode::Blocking).then_some(allocations), from, volume)?;
        Ok(Request { to: part(call, allocations, to, volume)?, from, volume, kind })
    })
}

fn from_array(
    call: &Call,
    (to, from): (Rows, Corner<crate::sys::cudaArray>),
    volume: Volume,
    kind: cudaMemcpyKind,
    (stream, mode): (cudaStream_t, Mode),
) -> Answer {
    copy(call, stream, volume, mode, |allocations| {
        given(from.array)?;
        one_of(kind, &FROM)?;
        let to = linear(call, (mode == Mode::Blocking).then_some(allocations), to, volume)?;
        Ok(Request { to, from: part(call, allocations, from, volume)?, volume, kind })
    })
}

/// Which way bytes are copied by the older functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArraySide {
    To,
    From,
}

fn bytes(
    call: &Call,
    way: ArraySide,
    corner: Corner<crate::sys::cudaArray>,
    memory: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    (stream, mode): (cudaStream_t, Mode),
) -> Answer {
    let volume = Volume::row(wide(count));
    copy(call, stream, volume, mode, |allocations| {
        given(corner.array)?;
        one_of(kind, if way == ArraySide::To { &TO } else { &FROM })?;
        let linear = linear(
            call,
            None,
            Rows {
                memory,
                pitch: usize::try_from(LARGEST_PITCH).map_or(count, |largest| count.min(largest)),
            },
            Volume::row(0),
        )?;
        let array = run(call, allocations, corner, volume.width)?;
        let (to, from) = if way == ArraySide::To { (array, linear) } else { (linear, array) };
        Ok(Request { to, from, volume, kind })
    })
}

api! {
    /// Copies rows to an array, ordered with the default stream.
    allowed fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds(
        call, dst: cudaArray_t, x: usize, y: usize, src: *const c_void, pitch: usize, width: usize, height: usize,
        kind: cudaMemcpyKind,
    ) {
        let sides = (at(dst, x, y), Rows { memory: src, pitch });
        to_array(call, sides, plane(width, height), kind, (NULL, Mode::Blocking))
    }

    /// Copies rows to an array in stream order.
    allowed fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz(
        call, dst: cudaArray_t, x: usize, y: usize, src: *const c_void, pitch: usize, width: usize, height: usize,
        kind: cudaMemcpyKind, stream: cudaStream_t,
    ) {
        let sides = (at(dst, x, y), Rows { memory: src, pitch });
        to_array(call, sides, plane(width, height), kind, (stream, Mode::Asynchronous))
    }

    /// Copies rows from an array, ordered with the default stream.
    allowed fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds(
        call, dst: *mut c_void, pitch: usize, src: cudaArray_const_t, x: usize, y: usize, width: usize, height: usize,
        kind: cudaMemcpyKind,
    ) {
        let sides = (Rows { memory: dst, pitch }, at(src, x, y));
        from_array(call, sides, plane(width, height), kind, (NULL, Mode::Blocking))
    }

    /// Copies rows from an array in stream order.
    allowed fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz(
        call, dst: *mut c_void, pitch: usize, src: cudaArray_const_t, x: usize, y: usize, width: usize, height: usize,
        kind: cudaMemcpyKind, stream: cudaStream_t,
    ) {
        let sides = (Rows { memory: dst, pitch }, at(src, x, y));
        from_array(call, sides, plane(width, height), kind, (stream, Mode::Asynchronous))
    }

    /// Copies rows between arrays, ordered with the default stream.
    allowed fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds(
        call, dst: cudaArray_t, to_x: usize, to_y: usize, src: cudaArray_const_t, from_x: usize, from_y: usize,
        width: usize, height: usize, kind: cudaMemcpyKind,
    ) {
        let volume = plane(width, height);
        copy(call, NULL, volume, Mode::Blocking, |allocations| {
            given(src)?;
            if dst.is_null() {
                return Err(cudaErrorInvalidValue);
            }
            one_of(kind, &[cudaMemcpyDeviceToDevice])?;
            let to = part(call, allocations, at(dst, to_x, to_y), volume)?;
            Ok(Request { to, from: part(call, allocations, at(src, from_x, from_y), volume)?, volume, kind })
        })
    }

    /// Copies bytes to an array, row after row, ordered with the default stream.
    allowed fn cudaMemcpyToArray | cudaMemcpyToArray_ptds(
        call, dst: cudaArray_t, x: usize, y: usize, src: *const c_void, count: usize, kind: cudaMemcpyKind,
    ) {
        bytes(call, ArraySide::To, at(dst, x, y), src, count, kind, (NULL, Mode::Blocking))
    }

    /// Copies bytes to an array, row after row, in stream order.
    allowed fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz(
        call, dst: cudaArray_t, x: usize, y: usize, src: *const c_void, count: usize, kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) {
        bytes(call, ArraySide::To, at(dst, x, y), src, count, kind, (stream, Mode::Asynchronous))
    }

    /// Copies bytes from an array, row after row, ordered with the default stream.
    allowed fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds(
        call, dst: *mut c_void, src: cudaArray_const_t, x: usize, y: usize, count: usize, kind: cudaMemcpyKind,
    ) {
        bytes(call, ArraySide::From, at(src, x, y), dst, count, kind, (NULL, Mode::Blocking))
    }

    /// Copies bytes from an array, row after row, in stream order.
    allowed fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz(
        call, dst: *mut c_void, src: cudaArray_const_t, x: usize, y: usize, count: usize, kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) {
        bytes(call, ArraySide::From, at(src, x, y), dst, count, kind, (stream, Mode::Asynchronous))
    }

    /// Copies bytes between arrays, row after row, ordered with the default stream.
    allowed fn cudaMemcpyArrayToArray | cudaMemcpyArrayToArray_ptds(
        call, dst: cudaArray_t, to_x: usize, to_y: usize, src: cudaArray_const_t, from_x: usize, from_y: usize,
        count: usize, kind: cudaMemcpyKind,
    ) {
        let volume = Volume::row(wide(count));
        copy(call, NULL, volume, Mode::Blocking, |allocations| {
            given(src)?;
            if dst.is_null() {
                return Err(cudaErrorInvalidValue);
            }
            one_of(kind, &[cudaMemcpyDeviceToDevice])?;
            let to = run(call, allocations, at(dst, to_x, to_y), volume.width)?;
            Ok(Request { to, from: run(call, allocations, at(src, from_x, from_y), volume.width)?, volume, kind })
        })
    }
}
