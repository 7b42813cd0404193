//! Memory that graphs allocate, counted for each device.
#![expect(unsafe_code, reason = "exports C functions, and reaches the values that they are given")]

use core::ffi::{c_int, c_void};

use super::{api, ordinal};
use crate::graph::GraphMemory;
use crate::sys::*;

api! {
    /// How much is used or reserved, now or at most.
    allowed fn cudaDeviceGetGraphMemAttribute(call, device: c_int, attribute: cudaGraphMemAttributeType, value: *mut c_void) {
        let mut machine = call.machine()?;
        let device = ordinal(&machine, device)?;
        let memory = *machine.graphs.memory.of(device);
        let GraphMemory { reserved, reserved_high, used_high, .. } = memory;
        let found = match attribute {
            it if it == cudaGraphMemAttrUsedMemCurrent => reserved,
            it if it == cudaGraphMemAttrUsedMemHigh => used_high,
            it if it == cudaGraphMemAttrReservedMemCurrent => reserved,
            it if it == cudaGraphMemAttrReservedMemHigh => reserved_high,
            _ => return Err(cudaErrorInvalidValue),
        };
        if value.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        // SAFETY: the program gives the place of a number of 64 bits.
        unsafe { value.cast::<u64>().write_unaligned(found) };
        Ok(())
    }

    /// Resets a high-water mark to the current value.
    allowed fn cudaDeviceSetGraphMemAttribute(call, device: c_int, attribute: cudaGraphMemAttributeType, value: *mut c_void) {
        let mut machine = call.machine()?;
        let device = ordinal(&machine, device)?;
        // SAFETY: if the pointer is not null, it is the place of a number of 64 bits.
        if value.is_null() || unsafe { value.cast::<u64>().read_unaligned() } != 0 {
            return Err(cudaErrorInvalidValue);
        }
        let memory = machine.graphs.memory.of(device);
        match attribute {
            it if it == cudaGraphMemAttrUsedMemHigh => memory.used_high = memory.reserved,
            it if it == cudaGraphMemAttrReservedMemHigh => memory.reserved_high = memory.reserved,
            _ => return Err(cudaErrorInvalidValue),
        }
        Ok(())
    }

    /// Releases memory that is reserved and not used.
    allowed fn cudaDeviceGraphMemTrim(call, device: c_int) {
        let mut machine = call.machine()?;
        let device = ordinal(&machine, device)?;
        machine.graphs.memory.of(device).trim();
        Ok(())
    }
}
