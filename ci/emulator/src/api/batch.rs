//! Batches of copies. The copies of one batch are not ordered among themselves. Here they run from the last
//! to the first, so that no program comes to rely on the other order.
#![expect(unsafe_code, reason = "exports C functions, and reads the lists that they are given")]

use core::ffi::{c_ulonglong, c_void};

use super::array::handle;
use super::memcpy::{solid_part, volume};
use super::memcpy_array::copyable;
use super::transfer::{Mode, Request, Side, plan, take_early};
use super::{Call, address, api, wide};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::{Allocations, Array};
use crate::stream::{Copy, StreamId, Volume, Work, submit, submit_past_fill};
use crate::sys::*;

/// A list that a program gives: `length` elements.
///
/// # Safety
/// Where it is not null, it must have that many elements that can be read.
pub(super) unsafe fn list<'a, T>(start: *const T, length: usize) -> Answer<&'a [T]> {
    if start.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: not null, and the caller vouches for the elements.
    Ok(unsafe { core::slice::from_raw_parts(start, length) })
}

/// The stream of a batch, which may not be the legacy one.
pub(super) fn batch_stream(call: &Call, stream: cudaStream_t) -> Answer<(Guard, StreamId)> {
    let (machine, _, key) = call.stream(stream)?;
    if machine.streams.get(key)?.legacy {
        return Err(cudaErrorInvalidValue);
    }
    Ok((machine, key))
}

fn check_order(order: cudaMemcpySrcAccessOrder) -> Answer {
    let known = (cudaMemcpySrcAccessOrderStream.0..=cudaMemcpySrcAccessOrderAny.0).contains(&order.0);
    if known { Ok(()) } else { Err(cudaErrorInvalidValue) }
}

fn check_flags(flags: u32) -> Answer {
    if flags & !cudaMemcpyFlagPreferOverlapWithCompute.0 == 0 { Ok(()) } else { Err(cudaErrorInvalidValue) }
}

fn planned(call: &Call, machine: &Guard, request: &Request, order: cudaMemcpySrcAccessOrder) -> Answer<Copy> {
    let mut copy = plan(call, &machine.allocations, request, Mode::Asynchronous)?.copy;
    if order != cudaMemcpySrcAccessOrderStream {
        // The source is read now: the order allows it during the call, or at any time, even before earlier
        // work of the stream is done.
        // SAFETY: by the order, the program promises that its source can be read during the call.
        unsafe { copy.stage(&machine.allocations) };
    }
    Ok(copy)
}

/// Puts the copies on the stream. If one of them is invalid, the copies before it are still put there.
fn put_on(
    machine: &mut Guard,
    key: StreamId,
    call: &Call,
    copies: impl Iterator<Item = impl FnOnce(&Guard) -> Answer<Copy>>,
) -> Answer {
    if machine.is_captured(key) {
        // Unlike other calls that no graph can hold, this one does not spoil the capture.
        return Err(cudaErrorStreamCaptureUnsupported);
    }
    let (mut planned, mut answer) = (Vec::new(), Ok(()));
    for copy in copies {
        match copy(machine) {
            Ok(copy) => planned.push(copy),
            Err(code) => {
                answer = Err(code);
                break;
            }
        }
    }
    if !planned.is_empty() {
        planned.iter_mut().for_each(|copy| take_early(machine, key, copy));
        planned.reverse();
        let past = submit_past_fill(machine, key, call.name, &mut planned)?;
        submit(machine, key, call.name, Work::Copies(planned), past.as_slice())?;
    }
    answer
}

/// The array of an operand, if it is one.
fn array<'a>(
    call: &Call,
    allocations: &'a Allocations,
    operand: &cudaMemcpy3DOperand,
) -> Answer<Option<&'a Array>> {
    if operand.type_ == cudaMemcpyOperandTypePointer {
        return Ok(None);
    }
    if operand.type_ != cudaMemcpyOperandTypeArray {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: the type says which member of the union the program has set.
    let array = unsafe { operand.op.array };
    copyable(call, allocations, handle(array.array)).map(Some)
}

/// One side of a copy of a volume, in a batch. Lengths of linear memory are in elements of the array on the
/// other side.
fn side(operand: &cudaMemcpy3DOperand, array: Option<&Array>, volume: Volume, element: u64) -> Answer<Side> {
    if let Some(found) = array {
        // SAFETY: it is an array only where the type says so.
        let at = unsafe { operand.op.array }.offset;
        return solid_part(found, (wide(at.x), wide(at.y), wide(at.z)), volume);
    }
    // SAFETY: the type says which member of the union the program has set.
    let memory = unsafe { operand.op.ptr };
    let row = wide(memory.rowLength).checked_mul(element).ok_or(cudaErrorInvalidValue)?;
    let pitch = if row == 0 { volume.width } else { row };
    let rows = if memory.layerHeight == 0 { volume.height } else { wide(memory.layerHeight) };
    if pitch < volume.width || rows < volume.height {
        return Err(cudaErrorInvalidValue);
    }
    let slice = pitch.checked_mul(rows).ok_or(cudaErrorInvalidValue)?;
    Ok(Side { address: address(memory.ptr), pitch, slice })
}

/// Checks the parts of a copy of volumes that need no look at the memory.
fn check_solid(op: &cudaMemcpy3DBatchOp) -> Answer {
    check_order(op.srcAccessOrder)?;
    check_flags(op.flags)?;
    let (width, height) = (op.extent.width, op.extent.height);
    let right = |operand: &cudaMemcpy3DOperand| {
        if operand.type_ != cudaMemcpyOperandTypePointer {
            return operand.type_ == cudaMemcpyOperandTypeArray;
        }
        // SAFETY: the type says which member of the union the program has set.
        let memory = unsafe { operand.op.ptr };
        let fits = |length: usize, needed: usize| length == 0 || length >= needed;
        fits(memory.rowLength, width) && fits(memory.layerHeight, height)
    };
    let some = width > 0 && height > 0 && op.extent.depth > 0;
    if some && right(&op.dst) && right(&op.src) { Ok(()) } else { Err(cudaErrorInvalidValue) }
}

/// A copy of a batch of copies of volumes.
fn solid(call: &Call, allocations: &Allocations, op: &cudaMemcpy3DBatchOp) -> Answer<Request> {
    let (to, from) = (array(call, allocations, &op.dst)?, array(call, allocations, &op.src)?);
    let volume = volume(op.extent, to, from)?;
    let element = to.or(from).map_or(1, |array| array.format.element());
    let (to, from) = (side(&op.dst, to, volume, element)?, side(&op.src, from, volume, element)?);
    Ok(Request { to, from, volume, kind: cudaMemcpyDefault })
}

/// Puts copies of volumes on a stream.
fn solids(
    call: &Call,
    count: usize,
    ops: *const cudaMemcpy3DBatchOp,
    flags: c_ulonglong,
    stream: cudaStream_t,
) -> Answer {
    let (mut machine, key) = batch_stream(call, stream)?;
    if count == 0 || flags != 0 {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: the program promises that the list has `count` elements.
    let ops = unsafe { list(ops, count) }?;
    // A defect of any copy by itself refuses the whole batch. The memory is looked up copy by copy.
    for op in ops {
        check_solid(op)?;
    }
    let copies = ops.iter().map(|op| {
        move |machine: &Guard| {
            let request = solid(call, &machine.allocations, op)?;
            planned(call, machine, &request, op.srcAccessOrder)
        }
    });
    put_on(&mut machine, key, call, copies)
}

api! {
    /// Puts many copies of one row on a stream.
    allowed fn cudaMemcpyBatchAsync | cudaMemcpyBatchAsync_ptsz(
        call, dsts: *const *mut c_void, srcs: *const *const c_void, sizes: *const usize, count: usize,
        attrs: *const cudaMemcpyAttributes, starts: *const usize, attr_count: usize, stream: cudaStream_t,
    ) {
        let (mut machine, key) = batch_stream(call, stream)?;
        if count == 0 || attr_count == 0 || attr_count > count {
            return Err(cudaErrorInvalidValue);
        }
        // SAFETY: the program promises that these three lists have `count` elements.
        let (dsts, srcs) = (unsafe { list(dsts, count) }?, unsafe { list(srcs, count) }?);
        // SAFETY: the program promises that these three lists have `count` elements.
        let sizes = unsafe { list(sizes, count) }?;
        // SAFETY: the program promises that these two lists have `attr_count` elements.
        let (attrs, starts) = (unsafe { list(attrs, attr_count) }?, unsafe { list(starts, attr_count) }?);
        let rising = starts.windows(2).all(|pair| pair.first() < pair.last());
        if starts.first() != Some(&0) || !rising || starts.last().is_some_and(|last| *last >= count) {
            return Err(cudaErrorInvalidValue);
        }
        for attr in attrs {
            check_order(attr.srcAccessOrder)?;
            check_flags(attr.flags)?;
        }
        let copies = dsts.iter().zip(srcs).zip(sizes).enumerate();
        let copies = copies.map(|(at, ((dst, src), size))| {
            move |machine: &Guard| {
                if *size == 0 {
                    return Err(cudaErrorInvalidValue);
                }
                let segment = starts.partition_point(|start| *start <= at).saturating_sub(1);
                let order = attrs.get(segment).ok_or(cudaErrorInvalidValue)?.srcAccessOrder;
                let (to, from) = (Side::row(address(*dst)), Side::row(address(*src)));
                let request = Request { to, from, volume: Volume::row(wide(*size)), kind: cudaMemcpyDefault };
                planned(call, machine, &request, order)
            }
        });
        put_on(&mut machine, key, call, copies)
    }

    /// Copies one row, as a batch of one copy.
    allowed fn cudaMemcpyWithAttributesAsync | cudaMemcpyWithAttributesAsync_ptsz(
        call, dst: *mut c_void, src: *const c_void, size: usize, attr: *const cudaMemcpyAttributes,
        stream: cudaStream_t,
    ) {
        let (mut machine, key) = batch_stream(call, stream)?;
        // SAFETY: the program passes attributes, or null.
        let attr = unsafe { attr.as_ref() }.filter(|_| size > 0).ok_or(cudaErrorInvalidValue)?;
        check_order(attr.srcAccessOrder)?;
        check_flags(attr.flags)?;
        let row = |machine: &Guard| {
            let (to, from) = (Side::row(address(dst)), Side::row(address(src)));
            let request = Request { to, from, volume: Volume::row(wide(size)), kind: cudaMemcpyDefault };
            planned(call, machine, &request, attr.srcAccessOrder)
        };
        put_on(&mut machine, key, call, std::iter::once(row))
    }

    /// Copies a volume, as a batch of one copy.
    allowed fn cudaMemcpy3DWithAttributesAsync | cudaMemcpy3DWithAttributesAsync_ptsz(
        call, op: *const cudaMemcpy3DBatchOp, flags: c_ulonglong, stream: cudaStream_t,
    ) {
        solids(call, 1, op, flags, stream)
    }

    /// Puts many copies of volumes on a stream.
    allowed fn cudaMemcpy3DBatchAsync | cudaMemcpy3DBatchAsync_ptsz(
        call, count: usize, ops: *const cudaMemcpy3DBatchOp, flags: c_ulonglong, stream: cudaStream_t,
    ) {
        solids(call, count, ops, flags, stream)
    }
}
