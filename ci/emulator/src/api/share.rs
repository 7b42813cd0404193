//! Memory and events that processes share: handles out, handles in.
//!
//! Both processes use this library. Bytes are really shared, through files that both map. The moments of an
//! event are two counters in such a file.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd as _, IntoRawFd as _, RawFd};
use std::os::unix::fs::FileExt as _;

use super::mem_pool::device_place;
use super::{Out, address, api, follows_null, pointer, put};
use crate::error::Answer;
use crate::graph::capture::permits_waiting;
use crate::memory::{IpcHandle, Kind, Pools, unnamed_file};
use crate::sys::*;

/// The bytes of a handle as numbers.
fn unsigned(bytes: &[c_char; 64]) -> [u8; 64] {
    bytes.map(|byte| u8::from_ne_bytes(byte.to_ne_bytes()))
}

/// The bytes of a handle as C has them.
fn signed(bytes: [u8; 64]) -> [c_char; 64] {
    bytes.map(|byte| c_char::from_ne_bytes(byte.to_ne_bytes()))
}

/// The handle of memory or an event of another process, or the error for what is none.
fn foreign(bytes: &[u8; 64], otherwise: cudaError_t) -> Answer<IpcHandle> {
    let ipc_handle = IpcHandle::from_bytes(bytes).ok_or(otherwise)?;
    // A process may not open its own memory.
    if ipc_handle.is_ours() { Err(cudaErrorDeviceUninitialized) } else { Ok(ipc_handle) }
}

fn file_handles(kind: cudaMemAllocationHandleType, flags: c_uint) -> Answer {
    let ours = kind == cudaMemHandleTypePosixFileDescriptor && flags == 0;
    if ours { Ok(()) } else { Err(cudaErrorInvalidValue) }
}

api! {
    /// The handle with which another process opens device memory.
    allowed fn cudaIpcGetMemHandle(call, out: Out<'_, cudaIpcMemHandle_t>, memory: *mut c_void) {
        let (mut machine, _) = call.context()?;
        let Some(out) = out else { follows_null(call, "the place of the handle") };
        let within = machine.allocations.at(address(memory)).filter(|it| it.kind == Kind::Device);
        let memory = within.ok_or(cudaErrorInvalidValue)?.start;
        let ipc_handle = machine.allocations.share(memory)?;
        out.write(cudaIpcMemHandle_t { reserved: signed(ipc_handle.to_bytes()) });
        Ok(())
    }

    /// Opens another process's device memory. If it is open already, counts one more user.
    allowed fn cudaIpcOpenMemHandle(call, out: Out<'_, *mut c_void>, handle: cudaIpcMemHandle_t, flags: c_uint) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, current) = call.context()?;
        if flags != cudaIpcMemLazyEnablePeerAccess {
            return Err(cudaErrorInvalidValue);
        }
        let ipc_handle = foreign(&unsigned(&handle.reserved), cudaErrorInvalidValue)?;
        permits_waiting(&mut machine)?;
        let start = machine.allocations.open_once_more(&ipc_handle, call.name)?;
        let device = ipc_handle.device().ok_or(cudaErrorInvalidValue)?;
        if device != current
            && let Some(state) = machine.devices.get_mut(current)
            && !state.peers.contains(&device)
        {
            state.peers.push(device);
        }
        out.write(pointer(start));
        Ok(())
    }

    /// Closes it as often as it was opened.
    allowed fn cudaIpcCloseMemHandle(call, memory: *mut c_void) {
        let (mut machine, _) = call.context()?;
        machine.allocations.at(address(memory)).filter(|it| it.kind == Kind::Imported).ok_or(cudaErrorInvalidValue)?;
        permits_waiting(&mut machine)?;
        machine.allocations.close(address(memory), call.name)
    }

    /// The handle with which another process opens an event.
    allowed fn cudaIpcGetEventHandle(call, out: Out<'_, cudaIpcEventHandle_t>, event: cudaEvent_t) {
        let (mut machine, _) = call.context()?;
        if event.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        let m = &mut *machine;
        let ipc_handle = m.events.share(event, &m.queue)?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        out.write(cudaIpcEventHandle_t { reserved: signed(ipc_handle.to_bytes()) });
        Ok(())
    }

    /// Opens another process's event.
    allowed fn cudaIpcOpenEventHandle(call, out: Out<'_, cudaEvent_t>, handle: cudaIpcEventHandle_t) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, device) = call.context()?;
        let ipc_handle = foreign(&unsigned(&handle.reserved), cudaErrorMapBufferObjectFailed)?;
        out.write(machine.events.open(&ipc_handle, device)?);
        Ok(())
    }

    /// The handle with which another process opens a pool.
    waits fn cudaMemPoolExportToShareableHandle(
        call, out: *mut c_void, pool: cudaMemPool_t, kind: cudaMemAllocationHandleType, flags: c_uint,
    ) {
        let mut machine = call.machine()?;
        let key = machine.allocations.pools.named(pool)?;
        file_handles(kind, flags)?;
        let pool = machine.allocations.pools.get(key)?;
        if out.is_null() || pool.handles & kind.0 == 0 || pool.imported.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        let (file, ipc_handle) = unnamed_file(pool.device).ok_or(cudaErrorMapBufferObjectFailed)?;
        file.write_all_at(&ipc_handle.to_bytes(), 0).map_err(|_| cudaErrorMapBufferObjectFailed)?;
        machine.allocations.pools.get_mut(key)?.exported = true;
        // SAFETY: for this type of handle the program passes the address of a file descriptor, which it owns
        // from now on.
        unsafe { out.cast::<c_int>().write_unaligned(file.into_raw_fd()) };
        Ok(())
    }

    /// Opens a pool of another process.
    waits fn cudaMemPoolImportFromShareableHandle(
        call, out: Out<'_, cudaMemPool_t>, handle: *mut c_void, kind: cudaMemAllocationHandleType, flags: c_uint,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let mut machine = call.machine()?;
        file_handles(kind, flags)?;
        let number = RawFd::try_from(handle.addr()).ok().filter(|number| *number > 0);
        let number = number.ok_or(cudaErrorInvalidValue)?;
        // SAFETY: the file stays the program's: it is only read here and not closed.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(number) });
        let mut bytes = [0; 64];
        file.read_exact_at(&mut bytes, 0).map_err(|_| cudaErrorUnknown)?;
        let ipc_handle = IpcHandle::from_bytes(&bytes).ok_or(cudaErrorUnknown)?;
        let device = ipc_handle.device().filter(|device| *device < machine.devices.len()).ok_or(cudaErrorInvalidValue)?;
        let key = machine.allocations.pools.import(device_place(device), device, ipc_handle.process);
        put(Some(out), Pools::handle(key))
    }

    /// The handle with which another process opens memory of a pool that it has opened.
    waits fn cudaMemPoolExportPointer(call, out: Out<'_, cudaMemPoolPtrExportData>, memory: *mut c_void) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let mut machine = call.machine()?;
        let memory = address(memory);
        let (_, pool) = machine.allocations.pools.of(memory).ok_or(cudaErrorInvalidValue)?;
        if !pool.exported || pool.imported.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        let ipc_handle = machine.allocations.share(memory)?;
        out.write(cudaMemPoolPtrExportData { reserved: ipc_handle.to_bytes() });
        Ok(())
    }

    /// Opens memory of another process's pool.
    waits fn cudaMemPoolImportPointer(
        call, out: Out<'_, *mut c_void>, pool: cudaMemPool_t, data: Option<&cudaMemPoolPtrExportData>,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let mut machine = call.machine()?;
        let key = machine.allocations.pools.named(pool)?;
        let ipc_handle = IpcHandle::from_bytes(&data.ok_or(cudaErrorInvalidValue)?.reserved).ok_or(cudaErrorInvalidValue)?;
        if machine.allocations.pools.get(key)?.imported != Some(ipc_handle.process) {
            return Err(cudaErrorInvalidValue);
        }
        let start = machine.allocations.open(&ipc_handle, Kind::Pool, call.name)?;
        machine.allocations.pools.took(key, start, ipc_handle.size);
        out.write(pointer(start));
        Ok(())
    }
}
