//! Memory and semaphores of other interfaces: imports, mapped buffers, and semaphores in stream order and in
//! graphs.
#![expect(unsafe_code, reason = "exports C functions, and reads the structures that they are given")]

use core::ffi::{c_int, c_uint, c_void};
use std::fs::File;
use std::os::fd::FromRawFd as _;
use std::sync::Arc;

use super::{Call, Out, api, follows_null, pointer, put};
use crate::error::Answer;
use crate::external::{ExternalMemory, Semaphore, SemaphoreWork};
use crate::graph::NodeOp;
use crate::machine::Machine;
use crate::stream::{SharedCounters, Work, submit};
use crate::sys::*;

/// The value of a semaphore in the parameters of a call.
trait FenceValue {
    fn value(&self) -> u64;
}

impl FenceValue for cudaExternalSemaphoreSignalParams {
    fn value(&self) -> u64 {
        self.params.fence.value
    }
}

impl FenceValue for cudaExternalSemaphoreWaitParams {
    fn value(&self) -> u64 {
        self.params.fence.value
    }
}

/// The work of a call with such lists. CUDA does not check the handles of an `unchecked` call.
fn work<P: FenceValue>(
    machine: &Machine,
    unchecked: Option<&Call>,
    signals: bool,
    list: *const cudaExternalSemaphore_t,
    parameters: *const P,
    count: c_uint,
) -> Answer<SemaphoreWork> {
    if count == 0 || list.is_null() || parameters.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    let one = |at: usize| {
        // SAFETY: the program promises that there are `count` handles.
        let handle = unsafe { list.wrapping_add(at).read() };
        if let Some(call) = unchecked.filter(|_| handle.is_null()) {
            follows_null(call, "a semaphore to signal");
        }
        // SAFETY: and as many parameters.
        let parameters = unsafe { &*parameters.wrapping_add(at) };
        Ok((machine.externals.semaphore(handle.addr())?, parameters.value()))
    };
    let list = (0..usize::try_from(count).unwrap_or(0)).rev().map(one).collect::<Answer<_>>()?;
    Ok(SemaphoreWork { signals, list })
}

/// The signals of a node.
pub(super) fn signals(
    machine: &Machine,
    it: Option<&cudaExternalSemaphoreSignalNodeParams>,
) -> Answer<NodeOp> {
    let it = it.ok_or(cudaErrorInvalidValue)?;
    let work = work(machine, None, true, it.extSemArray, it.paramsArray, it.numExtSems)?;
    Ok(NodeOp::Semaphores(Box::new(work)))
}

/// The waits of a node.
pub(super) fn waits(machine: &Machine, it: Option<&cudaExternalSemaphoreWaitNodeParams>) -> Answer<NodeOp> {
    let it = it.ok_or(cudaErrorInvalidValue)?;
    let work = work(machine, None, false, it.extSemArray, it.paramsArray, it.numExtSems)?;
    Ok(NodeOp::Semaphores(Box::new(work)))
}

/// A file of the program's. As with driver 580, it is closed if the import fails behind this.
fn file(number: c_int) -> Answer<File> {
    // SAFETY: takes a number, and reads flags.
    if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: the program passes an open descriptor, and gives it up.
    Ok(unsafe { File::from_raw_fd(number) })
}

fn in_order<P: FenceValue>(
    call: &Call,
    signals: bool,
    (list, parameters, count): (*const cudaExternalSemaphore_t, *const P, c_uint),
    stream: cudaStream_t,
) -> Answer {
    let (mut machine, _, key) = call.stream(stream)?;
    let work = work(&machine, signals.then_some(call), signals, list, parameters, count)?;
    submit(&mut machine, key, call.name, Work::Task(Box::new(work)), &[]).map(drop)
}

/// The error for a handle of a system or interface that is not here.
fn unknown(call: &Call, what: &str) -> cudaError_t {
    eprintln!("CUDA emulator: {}: there is no {what} here but that of file descriptors", call.name);
    cudaErrorNotSupported
}

api! {
    /// Takes over a file as memory.
    allowed fn cudaImportExternalMemory(
        call, out: Out<'_, cudaExternalMemory_t>, description: Option<&cudaExternalMemoryHandleDesc>,
    ) {
        let (out, it) = (out.ok_or(cudaErrorInvalidValue)?, description.ok_or(cudaErrorInvalidValue)?);
        let (mut machine, device) = call.waiting()?;
        if it.type_ != cudaExternalMemoryHandleTypeOpaqueFd {
            let kinds = cudaExternalMemoryHandleTypeOpaqueWin32.0..=cudaExternalMemoryHandleTypeNvSciBuf.0;
            // SAFETY: any bytes are pointers, and all other kinds have one or two.
            let handle = unsafe { it.handle.win32 };
            let nothing = handle.handle.is_null() && handle.name.is_null();
            let given = kinds.contains(&it.type_.0) && !nothing;
            return Err(if given { unknown(call, "external memory") } else { cudaErrorInvalidValue });
        }
        if it.size == 0 || it.flags > 1 {
            return Err(cudaErrorInvalidValue);
        }
        // SAFETY: for this type the program sets this member.
        let file = file(unsafe { it.handle.fd }).map_err(|_| cudaErrorUnknown)?;
        if !file.metadata().is_ok_and(|file| file.len() >= it.size) {
            return Err(cudaErrorUnknown);
        }
        let number = machine.externals.number();
        let memory = ExternalMemory { file, size: it.size, device };
        machine.externals.memories.insert(number, memory);
        out.write(pointer(number.try_into().unwrap_or(0)).cast());
        Ok(())
    }

    /// Maps a part of such memory.
    allowed fn cudaExternalMemoryGetMappedBuffer(
        call, out: Out<'_, *mut c_void>, memory: cudaExternalMemory_t,
        description: Option<&cudaExternalMemoryBufferDesc>,
    ) {
        let (out, part) = (out.ok_or(cudaErrorInvalidValue)?, description.ok_or(cudaErrorInvalidValue)?);
        let (mut machine, _) = call.waiting()?;
        let m = &mut *machine;
        let it = m.externals.memories.get(&memory.addr()).ok_or(cudaErrorInvalidValue)?;
        let end = part.offset.checked_add(part.size).ok_or(cudaErrorInvalidValue)?;
        if part.size == 0 || end > it.size || part.flags != 0 {
            return Err(cudaErrorInvalidValue);
        }
        let file = it.file.try_clone().map_err(|_| cudaErrorMapBufferObjectFailed)?;
        let start = m.allocations.open_file(it.device, file, (part.offset, part.size), call.name)?;
        put(Some(out), pointer(start))
    }

    /// Maps a part of such memory as an array, which cannot be done here.
    allowed fn cudaExternalMemoryGetMappedMipmappedArray(
        call, out: Out<'_, cudaMipmappedArray_t>, memory: cudaExternalMemory_t,
        description: Option<&cudaExternalMemoryMipmappedArrayDesc>,
    ) {
        let it = out.and(description).ok_or(cudaErrorInvalidValue)?;
        let (machine, _) = call.waiting()?;
        if it.formatDesc.x == 0 {
            return Err(cudaErrorInvalidChannelDescriptor);
        }
        machine.externals.memories.get(&memory.addr()).ok_or(cudaErrorInvalidValue)?;
        Err(unknown(call, "array of external memory"))
    }

    /// Gives such memory up. Buffers stay mapped.
    waits fn cudaDestroyExternalMemory(call, memory: cudaExternalMemory_t) {
        let (mut machine, _) = call.any_context()?;
        let gone = machine.externals.memories.remove(&memory.addr());
        gone.map(drop).ok_or(cudaErrorInvalidValue)
    }

    /// Takes over a file as a semaphore.
    allowed fn cudaImportExternalSemaphore(
        call, out: Out<'_, cudaExternalSemaphore_t>, description: Option<&cudaExternalSemaphoreHandleDesc>,
    ) {
        let (out, it) = (out.ok_or(cudaErrorInvalidValue)?, description.ok_or(cudaErrorInvalidValue)?);
        let (mut machine, _) = call.waiting()?;
        let timeline = it.type_ == cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;
        if !timeline && it.type_ != cudaExternalSemaphoreHandleTypeOpaqueFd {
            let kinds = cudaExternalSemaphoreHandleTypeOpaqueWin32.0
                ..=cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32.0;
            // SAFETY: any bytes are pointers, and all other kinds have one or two.
            let handle = unsafe { it.handle.win32 };
            let nothing = handle.handle.is_null() && handle.name.is_null();
            let given = kinds.contains(&it.type_.0) && !nothing && it.flags == 0;
            return Err(if given { unknown(call, "semaphore") } else { cudaErrorInvalidValue });
        }
        if it.flags != 0 {
            return Err(cudaErrorInvalidValue);
        }
        let no_file = if timeline { cudaErrorInvalidValue } else { cudaErrorUnknown };
        // SAFETY: for these types the program sets this member.
        let file = file(unsafe { it.handle.fd }).map_err(|_| no_file)?;
        let counter = SharedCounters::map(file).ok_or(cudaErrorUnknown)?;
        let number = machine.externals.number();
        machine.externals.semaphores.insert(number, Semaphore { counter: Arc::new(counter), timeline });
        out.write(pointer(number.try_into().unwrap_or(0)).cast());
        Ok(())
    }

    /// Gives a semaphore up.
    waits fn cudaDestroyExternalSemaphore(call, semaphore: cudaExternalSemaphore_t) {
        let (mut machine, _) = call.any_context()?;
        let gone = machine.externals.semaphores.remove(&semaphore.addr());
        gone.map(drop).ok_or(cudaErrorInvalidValue)
    }

    /// Signals semaphores in stream order.
    allowed fn cudaSignalExternalSemaphoresAsync | cudaSignalExternalSemaphoresAsync_ptsz(
        call, list: *const cudaExternalSemaphore_t, parameters: *const cudaExternalSemaphoreSignalParams,
        count: c_uint, stream: cudaStream_t,
    ) {
        in_order(call, true, (list, parameters, count), stream)
    }

    /// Waits for semaphores in stream order.
    allowed fn cudaWaitExternalSemaphoresAsync | cudaWaitExternalSemaphoresAsync_ptsz(
        call, list: *const cudaExternalSemaphore_t, parameters: *const cudaExternalSemaphoreWaitParams,
        count: c_uint, stream: cudaStream_t,
    ) {
        in_order(call, false, (list, parameters, count), stream)
    }
}
