//! The attributes of a pointer.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_void};

use super::{Out, address, api, put};
use crate::memory::{Allocation, Kind};
use crate::stream::access;
use crate::sys::*;

/// The device of memory that no device knows.
const NO_DEVICE: c_int = -2;

api! {
    /// The kind of memory that an address is in, and the addresses by which the host and the devices know it.
    allowed fn cudaPointerGetAttributes(call, out: Out<'_, cudaPointerAttributes>, memory: *const c_void) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (machine, current) = call.any_context()?;
        let null = core::ptr::null_mut();
        let (type_, device, on_device, on_host) = match machine.allocations.usable(address(memory)) {
            None | Some(Allocation { kind: Kind::Array, .. }) => (cudaMemoryTypeUnregistered, NO_DEVICE, null, memory.cast_mut()),
            Some(it) => {
                let device = c_int::try_from(it.device).unwrap_or(NO_DEVICE);
                let (type_, on_host) = match it.kind {
                    Kind::Pinned | Kind::Registered => (cudaMemoryTypeHost, memory.cast_mut()),
                    Kind::Managed => (cudaMemoryTypeManaged, memory.cast_mut()),
                    Kind::Device | Kind::Pool | Kind::Heap | Kind::Array | Kind::Symbol | Kind::Imported => {
                        (cudaMemoryTypeDevice, null)
                    }
                };
                // Memory of a device that the current one has no way to has no address there.
                let peers = machine.devices.get(current).map_or(&[][..], |device| &device.peers);
                let (near, _) = access(&machine.allocations, it, current, peers);
                (type_, device, if near { memory.cast_mut() } else { null }, on_host)
            }
        };
        let found = cudaPointerAttributes {
            type_, device, devicePointer: on_device, hostPointer: on_host, ..Default::default()
        };
        put(Some(out), found)
    }
}
