//! Pinned host memory, and the program's own memory made known to the devices.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_uint, c_void};

use super::{Call, Out, address, api, pointer, put, wide};
use crate::error::Answer;
use crate::memory::Kind;
use crate::page::mappings;
use crate::stream::before_free;
use crate::sys::*;

const ALLOC_FLAGS: c_uint = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
const REGISTER_FLAGS: c_uint =
    cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;

/// Allocates pinned memory and writes its address; null for no bytes, and null on failure.
fn allocate(call: &Call, out: Out<'_, *mut c_void>, size: usize, flags: c_uint) -> Answer {
    let out = out.ok_or(cudaErrorInvalidValue)?;
    let (mut machine, device) = call.context()?;
    let out = out.write(core::ptr::null_mut());
    if size == 0 {
        return Ok(());
    }
    if flags & !ALLOC_FLAGS != 0 {
        return Err(cudaErrorInvalidValue);
    }
    // With unified addressing all pinned memory is mapped, and is said to be.
    let flags = flags | cudaHostAllocMapped;
    *out = pointer(machine.allocations.allocate_host(device, wide(size), Kind::Pinned, flags, call.name)?);
    Ok(())
}

/// Whether every page from an address on can be read and written.
fn mapped_for_writing(start: u64, size: u64) -> bool {
    let Some(mappings) = mappings() else { return true };
    let Some(end) = start.checked_add(size) else { return false };
    let mut covered = start;
    for it in mappings.iter().filter(|it| it.writable) {
        if it.low <= covered && covered < it.high {
            covered = it.high;
        }
    }
    covered >= end
}

api! {
    /// Allocates pinned host memory.
    waits fn cudaMallocHost(call, out: Out<'_, *mut c_void>, size: usize) {
        allocate(call, out, size, 0)
    }

    /// Allocates pinned host memory with flags.
    waits fn cudaHostAlloc(call, out: Out<'_, *mut c_void>, size: usize, flags: c_uint) {
        allocate(call, out, size, flags)
    }

    /// Frees pinned host memory, after all work of the device.
    waits fn cudaFreeHost(call, memory: *mut c_void) {
        let (mut machine, device) = call.context()?;
        if memory.is_null() {
            return Ok(());
        }
        let memory = address(memory);
        machine.allocations.starting_at(memory, &[Kind::Pinned]).ok_or(cudaErrorInvalidValue)?;
        before_free(&mut machine, device)?;
        let m = &mut *machine;
        m.queue.note_host_free(&m.allocations, memory, call.name);
        machine.allocations.remove(memory, call.name).ok_or(cudaErrorInvalidValue)
    }

    /// Makes the program's own memory known to the devices.
    waits fn cudaHostRegister(call, memory: *mut c_void, size: usize, flags: c_uint) {
        let (mut machine, device) = call.context()?;
        if memory.is_null() || size == 0 || flags & !REGISTER_FLAGS != 0 {
            return Err(cudaErrorInvalidValue);
        }
        // No pages here are those of a device of the bus.
        if flags & cudaHostRegisterIoMemory != 0 {
            return Err(cudaErrorInvalidValue);
        }
        if !mapped_for_writing(address(memory), wide(size)) {
            return Err(cudaErrorInvalidValue);
        }
        machine.allocations.register(device, memory.cast(), wide(size), flags | cudaHostRegisterMapped)
    }

    /// Makes it unknown again, after all work of the device.
    waits fn cudaHostUnregister(call, memory: *mut c_void) {
        let (mut machine, device) = call.context()?;
        if memory.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        before_free(&mut machine, device)?;
        let m = &mut *machine;
        m.queue.note_host_free(&m.allocations, address(memory), call.name);
        machine.allocations.unregister(address(memory))
    }

    /// The address by which kernels know host memory: its own.
    allowed fn cudaHostGetDevicePointer(call, out: Out<'_, *mut c_void>, memory: *mut c_void, flags: c_uint) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let found = machine.allocations.at(address(memory)).map(|it| it.kind);
        if flags != 0 || !matches!(found, Some(Kind::Pinned | Kind::Registered)) {
            return Err(cudaErrorInvalidValue);
        }
        out.write(memory);
        Ok(())
    }

    /// The flags with which host memory was allocated or registered.
    allowed fn cudaHostGetFlags(call, out: Out<'_, c_uint>, memory: *mut c_void) {
        let (machine, _) = call.context()?;
        let found = machine.allocations.at(address(memory)).filter(|it| it.kind.on_host());
        // Memory of pools has none.
        let found = found.filter(|it| machine.allocations.pools.of(it.start).is_none()).ok_or(cudaErrorInvalidValue)?;
        // An H200 does not tell what is only read.
        put(out, found.flags & !cudaHostRegisterReadOnly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mapped_writable_memory_counts() {
        let mut memory = vec![0_u8; 10000];
        let start = address(memory.as_mut_ptr().cast());
        assert!(mapped_for_writing(start, 10000));
        assert!(!mapped_for_writing(start, u64::MAX));
        let text = "constant";
        assert!(!mapped_for_writing(address(text.as_ptr().cast()), 8));
        assert!(!mapped_for_writing(16, 16));
    }
}
