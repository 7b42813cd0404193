//! Memsets of one, two and three dimensions.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_void};

use super::transfer::{MemoryType, Mode, device_access, is_before_launch, memory_type};
use super::{Call, address, api, wide};
use crate::error::Answer;
use crate::finding::Finding;
use crate::machine::Guard;
use crate::stream::{Fill, Volume, Work, submit, synchronize};
use crate::sys::{cudaErrorIllegalAddress, cudaErrorInvalidValue, cudaExtent, cudaPitchedPtr, cudaStream_t};

/// The bytes to write, and their place.
#[derive(Clone, Copy)]
struct FillRequest {
    address: u64,
    pitch: u64,
    slice: u64,
    volume: Volume,
    value: c_int,
}

fn set(call: &Call, stream: cudaStream_t, request: FillRequest, mode: Mode) -> Answer {
    let (mut machine, device, stream) = call.stream(stream)?;
    let FillRequest { address, pitch, slice, volume, value } = request;
    if volume.is_empty() {
        return Ok(());
    }
    // CUDA counts in 64 bits without an overflow check: a range that wraps around passes its check and faults
    // later.
    let span = wrapping_span(volume, pitch, slice);
    let wraps = address != 0 && address.checked_add(span).is_none();
    if wraps {
        let message = format!("{} writes over the end of all memory from {address:#x}", call.name);
        submit(&mut machine, stream, call.name, Work::Fault(cudaErrorIllegalAddress, message), &[])?;
        return Ok(());
    }
    // A capture does not look: the graph cannot be instantiated then.
    let mut place = MemoryType::Device;
    if !machine.is_captured(stream) {
        place = memory_type(call.name, &machine.allocations, address, Some(span), true)?;
        ensure_writable(&machine, call, machine.streams.get(stream)?.device, address)?;
    }
    let fill = Fill { address, pitch, slice, volume, value: value.to_le_bytes(), element: 1 };
    let fill = Box::new(fill);
    let id = submit(&mut machine, stream, call.name, Work::Fill(fill), &[])?;
    let waits = mode == Mode::Blocking && place != MemoryType::Device;
    if waits { synchronize(&mut machine, device, &[id]) } else { Ok(()) }
}

/// Memory of another device than the stream's is filled only with access to it, and that of a graph only once
/// the graph was launched. A capture does not look.
fn ensure_writable(machine: &Guard, call: &Call, device: usize, address: u64) -> Answer {
    let Some(it) = machine.allocations.at(address) else { return Ok(()) };
    if is_before_launch(machine, it) {
        let message = format!("{address:#x} is in {it}, which a graph allocates that was not launched yet");
        Finding::pointer(call.name, &message).report();
        return Err(cudaErrorInvalidValue);
    }
    if device_access(machine, it, device).1 {
        return Ok(());
    }
    let message = format!("{address:#x} is in {it}, which device {device}, the stream's, has no access to");
    Finding::pointer(call.name, &message).report();
    Err(cudaErrorInvalidValue)
}

fn wrapping_span(volume: Volume, pitch: u64, slice: u64) -> u64 {
    let layers = slice.wrapping_mul(volume.depth - 1);
    let rows = pitch.wrapping_mul(volume.height - 1);
    layers.wrapping_add(rows).wrapping_add(volume.width)
}

fn line(pointer: *mut c_void, value: c_int, count: usize) -> FillRequest {
    FillRequest { address: address(pointer), pitch: 0, slice: 0, volume: Volume::row(wide(count)), value }
}

fn plane(
    pointer: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> Answer<FillRequest> {
    let volume = Volume { width: wide(width), height: wide(height), depth: 1 };
    if height > 1 && pitch < width && width > 0 {
        return Err(cudaErrorInvalidValue);
    }
    let pitch = if height > 1 { wide(pitch) } else { 0 };
    Ok(FillRequest { address: address(pointer), pitch, slice: 0, volume, value })
}

fn solid(pointer: cudaPitchedPtr, value: c_int, extent: cudaExtent) -> Answer<FillRequest> {
    let volume = Volume { width: wide(extent.width), height: wide(extent.height), depth: wide(extent.depth) };
    if !volume.is_empty() && (pointer.pitch < extent.width || pointer.ysize < extent.height) {
        return Err(cudaErrorInvalidValue);
    }
    let slice = wide(pointer.pitch).checked_mul(wide(pointer.ysize)).ok_or(cudaErrorInvalidValue)?;
    Ok(FillRequest { address: address(pointer.ptr), pitch: wide(pointer.pitch), slice, volume, value })
}

const NULL: cudaStream_t = core::ptr::null_mut();

api! {
    /// Fills bytes.
    allowed fn cudaMemset | cudaMemset_ptds(call, pointer: *mut c_void, value: c_int, count: usize) {
        set(call, NULL, line(pointer, value, count), Mode::Blocking)
    }

    /// Fills bytes in stream order.
    allowed fn cudaMemsetAsync | cudaMemsetAsync_ptsz(
        call, pointer: *mut c_void, value: c_int, count: usize, stream: cudaStream_t,
    ) {
        set(call, stream, line(pointer, value, count), Mode::Asynchronous)
    }

    /// Fills rows.
    allowed fn cudaMemset2D | cudaMemset2D_ptds(
        call, pointer: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize,
    ) {
        set(call, NULL, plane(pointer, pitch, value, width, height)?, Mode::Blocking)
    }

    /// Fills rows in stream order.
    allowed fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz(
        call, pointer: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: cudaStream_t,
    ) {
        set(call, stream, plane(pointer, pitch, value, width, height)?, Mode::Asynchronous)
    }

    /// Fills layers of rows.
    allowed fn cudaMemset3D | cudaMemset3D_ptds(call, pointer: cudaPitchedPtr, value: c_int, extent: cudaExtent) {
        set(call, NULL, solid(pointer, value, extent)?, Mode::Blocking)
    }

    /// Fills layers of rows in stream order.
    allowed fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz(
        call, pointer: cudaPitchedPtr, value: c_int, extent: cudaExtent, stream: cudaStream_t,
    ) {
        set(call, stream, solid(pointer, value, extent)?, Mode::Asynchronous)
    }
}
