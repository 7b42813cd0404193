//! Multiprocessors and execution contexts, which CUDA added in 13.1. The structures are written out, because
//! the installed headers may be older.
#![expect(unsafe_code, reason = "exports C functions, and reads the structures that they are given")]

use core::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::{Call, Out, api, ordinal, pointer, put};
use crate::context::ExecutionContext;
use crate::device::attribute;
use crate::error::Answer;
use crate::machine::{Guard, Machine};
use crate::stream::{OperationId, Record, StreamId, Work, submit, synchronize};
use crate::sys::*;

/// `cudaDevResourceTypeSm`.
const SM: c_uint = 1;
/// A part has a multiple of so many multiprocessors.
const STEP: c_uint = 2;

/// `cudaDevResource`, of multiprocessors.
#[derive(Clone, Copy)]
#[repr(C)]
struct Resource {
    kind: c_uint,
    /// The first four bytes name the device.
    internal: [u8; 92],
    count: c_uint,
    least: c_uint,
    step: c_uint,
    flags: c_uint,
    rest: [u8; 24],
    next: *mut c_void,
}

/// `cudaDevSmResourceGroupParams`.
#[repr(C)]
struct SmGroupParams {
    count: c_uint,
    coscheduled: c_uint,
    preferred: c_uint,
    flags: c_uint,
    rest: [c_uint; 12],
}

impl Resource {
    fn new(device: usize, count: c_uint) -> Self {
        let mut internal = [0; 92];
        for (to, from) in internal.iter_mut().zip(u32::try_from(device).unwrap_or(0).to_ne_bytes()) {
            *to = from;
        }
        // A resource of nothing is invalid.
        let kind = if count == 0 { 0 } else { SM };
        let (least, step) = (STEP, STEP);
        Self { kind, internal, count, least, step, flags: 0, rest: [0; 24], next: core::ptr::null_mut() }
    }

    fn device(&self) -> usize {
        let [a, b, c, d, ..] = self.internal;
        usize::try_from(u32::from_ne_bytes([a, b, c, d])).unwrap_or(0)
    }
}

fn whole(device: usize) -> c_uint {
    attribute(cudaDevAttrMultiProcessorCount, device).and_then(|count| count.try_into().ok()).unwrap_or(0)
}

/// Cuts parts of these sizes off a resource, and writes them and the rest.
fn part(input: &Resource, sizes: &[c_uint], parts: *mut Resource, rest: Out<'_, Resource>) -> Answer {
    let used: c_uint = sizes.iter().sum();
    let fits = |size: &c_uint| *size >= STEP && size.is_multiple_of(STEP);
    if used > input.count || !sizes.iter().all(fits) {
        return Err(cudaErrorInvalidValue);
    }
    for (at, size) in sizes.iter().enumerate().filter(|_| !parts.is_null()) {
        // SAFETY: the program promises room for all parts.
        unsafe { parts.wrapping_add(at).write(Resource::new(input.device(), *size)) };
    }
    rest.map(|rest| rest.write(Resource::new(input.device(), input.count - used)));
    Ok(())
}

fn sm(input: Option<&Resource>) -> Answer<&Resource> {
    input.filter(|input| input.kind == SM).ok_or(cudaErrorInvalidValue)
}

/// The handle of a device's own context, made by the first call.
fn of_device(machine: &mut Machine, device: usize) -> usize {
    let known = machine.contexts.all.iter().find(|(_, it)| it.device == device && !it.is_green);
    known.map(|(handle, _)| *handle).unwrap_or_else(|| add(machine, device, whole(device), false))
}

fn add(machine: &mut Machine, device: usize, multiprocessors: c_uint, is_green: bool) -> usize {
    let marks = made(machine, device, 0).1;
    let number = machine.contexts.number();
    let (streams, after) = (Vec::new(), Vec::new());
    machine
        .contexts
        .all
        .insert(number, ExecutionContext { device, multiprocessors, is_green, streams, marks, after });
    number
}

/// A new stream.
fn made(machine: &mut Machine, device: usize, priority: c_int) -> (cudaStream_t, StreamId) {
    let handle = machine.streams.create(device, cudaStreamNonBlocking, priority);
    (handle, machine.streams.resolve(handle, device, false).unwrap_or_default())
}

/// The pending work of a context: a device has that of all its streams.
fn pending(machine: &mut Machine, handle: usize) -> Answer<Vec<OperationId>> {
    let ExecutionContext { device, is_green, streams, .. } = machine.contexts.get(handle)?;
    let (device, is_green, streams) = (*device, *is_green, streams.clone());
    if !is_green {
        return Ok(machine.queue.on_device(device));
    }
    // Streams that are gone have left the table.
    let known = streams.into_iter().filter(|key| machine.streams.get(*key).is_ok());
    Ok(known.flat_map(|key| machine.streams.before(key, &machine.queue)).collect())
}

fn context(call: &Call, handle: *mut c_void) -> Answer<(Guard, usize)> {
    let (mut machine, _) = call.context()?;
    machine.contexts.get(handle.addr())?;
    Ok((machine, handle.addr()))
}

api! {
    /// The multiprocessors of a device.
    allowed fn cudaDeviceGetDevResource(call, device: c_int, out: Out<'_, Resource>, kind: c_uint) {
        let machine = call.machine()?;
        let device = ordinal(&machine, device)?;
        if kind != SM {
            return Err(cudaErrorInvalidValue);
        }
        put(out, Resource::new(device, whole(device)))
    }

    /// Splits multiprocessors into equal parts.
    allowed fn cudaDevSmResourceSplitByCount(
        call, parts: *mut Resource, count: Option<&mut c_uint>, input: Option<&Resource>, rest: Out<'_, Resource>,
        flags: c_uint, least: c_uint,
    ) {
        drop(call.machine()?);
        let (input, count) = (sm(input)?, count.ok_or(cudaErrorInvalidValue)?);
        let size = least.max(1).next_multiple_of(STEP);
        if flags > 3 {
            return Err(cudaErrorInvalidValue);
        }
        *count = if parts.is_null() { input.count / size } else { (*count).min(input.count / size) };
        part(input, &vec![size; usize::try_from(*count).unwrap_or(0)], parts, rest)
    }

    /// Splits multiprocessors as described.
    allowed fn cudaDevSmResourceSplit(
        call, parts: *mut Resource, count: c_uint, input: Option<&Resource>, rest: Out<'_, Resource>, flags: c_uint,
        groups: *mut SmGroupParams,
    ) {
        drop(call.machine()?);
        let input = sm(input)?;
        if count == 0 || groups.is_null() || flags != 0 {
            return Err(cudaErrorInvalidValue);
        }
        let (mut left, mut sizes) = (input.count, Vec::new());
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the program promises that there are so many.
            let group = unsafe { &mut *groups.wrapping_add(at) };
            if group.count == 0 {
                group.count = left / STEP * STEP;
            }
            left = left.checked_sub(group.count).ok_or(cudaErrorInvalidValue)?;
            sizes.push(group.count);
        }
        part(input, &sizes, parts, rest)
    }

    /// Describes resources for a context.
    allowed fn cudaDevResourceGenerateDesc(call, out: Out<'_, *mut c_void>, list: *const Resource, count: c_uint) {
        let mut machine = call.machine()?;
        if count == 0 || list.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        let mut sum = 0;
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the program promises that there are so many.
            sum += sm(Some(unsafe { &*list.wrapping_add(at) }))?.count;
        }
        let number = machine.contexts.number();
        machine.contexts.descriptions.insert(number, sum);
        put(out, pointer(number.try_into().unwrap_or(0)))
    }

    /// Makes a green context.
    allowed fn cudaGreenCtxCreate(call, out: Out<'_, *mut c_void>, description: *mut c_void, device: c_int, flags: c_uint) {
        let (mut machine, _) = call.context()?;
        let (out, device) = (out.ok_or(cudaErrorInvalidValue)?, ordinal(&machine, device)?);
        let count = machine.contexts.descriptions.remove(&description.addr()).ok_or(cudaErrorInvalidValue)?;
        if flags != 0 {
            return Err(cudaErrorInvalidValue);
        }
        out.write(pointer(add(&mut machine, device, count, true).try_into().unwrap_or(0)));
        Ok(())
    }

    /// The context of a device.
    allowed fn cudaDeviceGetExecutionCtx(call, out: Out<'_, *mut c_void>, device: c_int) {
        let (mut machine, _) = call.context()?;
        let device = ordinal(&machine, device)?;
        put(out, pointer(of_device(&mut machine, device).try_into().unwrap_or(0)))
    }

    /// Destroys a green context.
    allowed fn cudaExecutionCtxDestroy(call, handle: *mut c_void) {
        let (mut machine, handle) = context(call, handle)?;
        if !machine.contexts.get(handle)?.is_green {
            return Err(cudaErrorInvalidResourceHandle);
        }
        machine.contexts.all.remove(&handle);
        Ok(())
    }

    /// The multiprocessors of a context.
    allowed fn cudaExecutionCtxGetDevResource(call, handle: *mut c_void, out: Out<'_, Resource>, kind: c_uint) {
        let (mut machine, handle) = context(call, handle)?;
        let it = machine.contexts.get(handle)?;
        if kind != SM {
            return Err(cudaErrorInvalidValue);
        }
        put(out, Resource::new(it.device, it.multiprocessors))
    }

    /// The device of a context.
    allowed fn cudaExecutionCtxGetDevice(call, out: Out<'_, c_int>, handle: *mut c_void) {
        let (mut machine, handle) = context(call, handle)?;
        put(out, machine.contexts.get(handle)?.device.try_into().unwrap_or(0))
    }

    /// The number of a context.
    allowed fn cudaExecutionCtxGetId(call, handle: *mut c_void, out: Out<'_, c_ulonglong>) {
        let (_, handle) = context(call, handle)?;
        put(out, handle.try_into().unwrap_or(0))
    }

    /// Makes a stream in a context.
    allowed fn cudaExecutionCtxStreamCreate(
        call, out: Out<'_, cudaStream_t>, handle: *mut c_void, flags: c_uint, priority: c_int,
    ) {
        let (mut machine, handle) = context(call, handle)?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        if flags & !cudaStreamNonBlocking != 0 {
            return Err(cudaErrorInvalidValue);
        }
        let device = machine.contexts.get(handle)?.device;
        let (stream, key) = made(&mut machine, device, priority);
        let it = machine.contexts.get(handle)?;
        it.streams.push(key);
        let after = it.after.clone();
        out.write(stream);
        submit(&mut machine, key, call.name, Work::Nothing, &after).map(drop)
    }

    /// Waits for all streams of a context.
    allowed fn cudaExecutionCtxSynchronize(call, handle: *mut c_void) {
        let (mut machine, handle) = context(call, handle)?;
        let ids = pending(&mut machine, handle)?;
        let device = machine.contexts.get(handle)?.device;
        synchronize(&mut machine, device, &ids)
    }

    /// Makes an event stand for all work of a context.
    allowed fn cudaExecutionCtxRecordEvent(call, handle: *mut c_void, event: cudaEvent_t) {
        let (mut machine, handle) = context(call, handle)?;
        let of_event = machine.events.get(event)?.device;
        let ExecutionContext { device, marks, .. } = *machine.contexts.get(handle)?;
        if device != of_event {
            return Err(cudaErrorInvalidResourceHandle);
        }
        let ids = pending(&mut machine, handle)?;
        submit(&mut machine, marks, call.name, Work::Record(Record { event: event.addr() }), &ids).map(drop)
    }

    /// Makes all later work of a context wait for an event.
    allowed fn cudaExecutionCtxWaitEvent(call, handle: *mut c_void, event: cudaEvent_t) {
        let (mut machine, handle) = context(call, handle)?;
        let Some(id) = machine.events.get(event)?.id else { return Ok(()) };
        let it = machine.contexts.get(handle)?;
        it.after.push(id);
        let streams = it.streams.clone();
        for key in streams {
            if machine.streams.get(key).is_ok() {
                submit(&mut machine, key, call.name, Work::Nothing, &[id])?;
            }
        }
        Ok(())
    }

    /// The multiprocessors of a stream.
    allowed fn cudaStreamGetDevResource | cudaStreamGetDevResource_ptsz(
        call, stream: cudaStream_t, out: Out<'_, Resource>, kind: c_uint,
    ) {
        let (machine, _, key) = call.stream(stream)?;
        let device = machine.streams.get(key)?.device;
        if kind != SM {
            return Err(cudaErrorInvalidValue);
        }
        let green = machine.contexts.all.values().find(|it| it.streams.contains(&key));
        put(out, Resource::new(device, green.map_or_else(|| whole(device), |it| it.multiprocessors)))
    }
}
