//! Device memory: allocation, release, how much there is.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::{Call, Out, address, api, pointer, wide};
use crate::error::Answer;
use crate::finding::{Finding, Subject};
use crate::memory::Kind;
use crate::stream::before_free;
use crate::sys::{cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaExtent, cudaPitchedPtr};

/// Every pitch is a multiple of this.
const PITCH: u64 = 512;

/// Allocates device memory and writes its address; null for no bytes, and null on failure.
fn allocate(call: &Call, out: Out<'_, *mut c_void>, size: u64) -> Answer {
    let out = out.ok_or(cudaErrorInvalidValue)?;
    let (mut machine, device) = call.context()?;
    let out = out.write(core::ptr::null_mut());
    if size > 0 {
        *out = pointer(machine.allocations.allocate(device, size, Kind::Device, call.name)?);
        super::notification::look(&machine, device);
    }
    Ok(())
}

/// The pitch of rows of `width` bytes; a width that no device could have is an error.
fn pitch(width: u64) -> Answer<u64> {
    width.checked_next_multiple_of(PITCH).ok_or(cudaErrorInvalidValue)
}

api! {
    /// Allocates device memory.
    waits fn cudaMalloc(call, out: Out<'_, *mut c_void>, size: usize) {
        allocate(call, out, wide(size))
    }

    /// Allocates rows of device memory.
    waits fn cudaMallocPitch(call, out: Out<'_, *mut c_void>, row: Out<'_, usize>, width: usize, height: usize) {
        let (out, row) = (out.ok_or(cudaErrorInvalidValue)?, row.ok_or(cudaErrorInvalidValue)?);
        out.write(core::ptr::null_mut());
        if width == 0 || height == 0 {
            drop(call.context()?);
            row.write(0);
            return Ok(());
        }
        let bytes = pitch(wide(width))?;
        row.write(usize::try_from(bytes).map_err(|_| cudaErrorInvalidValue)?);
        allocate(call, Some(out), bytes.checked_mul(wide(height)).ok_or(cudaErrorMemoryAllocation)?)
    }

    /// Allocates layers of rows of device memory.
    waits fn cudaMalloc3D(call, out: Out<'_, cudaPitchedPtr>, extent: cudaExtent) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, device) = call.context()?;
        let cudaExtent { width, height, depth } = extent;
        let mut found = cudaPitchedPtr { ptr: core::ptr::null_mut(), pitch: 0, xsize: width, ysize: height };
        if width != 0 && height != 0 && depth != 0 {
            let bytes = pitch(wide(width))?;
            found.pitch = usize::try_from(bytes).map_err(|_| cudaErrorInvalidValue)?;
            // The pitch is written even if the allocation fails.
            let out = out.write(cudaPitchedPtr { xsize: 0, ysize: 0, ..found });
            let size = bytes.checked_mul(wide(height)).and_then(|layer| layer.checked_mul(wide(depth)));
            let size = size.ok_or(cudaErrorMemoryAllocation)?;
            found.ptr = pointer(machine.allocations.allocate(device, size, Kind::Device, call.name)?);
            *out = found;
            return Ok(());
        }
        out.write(found);
        Ok(())
    }

    /// Frees device memory, after all work of its device.
    waits fn cudaFree(call, memory: *mut c_void) {
        let (mut machine, _) = call.context()?;
        if memory.is_null() {
            return Ok(());
        }
        let memory = address(memory);
        let kinds = [Kind::Device, Kind::Pool, Kind::Managed];
        let Some(device) = machine.allocations.starting_at(memory, &kinds).map(|it| it.device) else {
            let near = match machine.allocations.at(memory) {
                Some(it) => Some(format!("it lies in {it}")),
                None => machine.allocations.nearest(memory),
            };
            let near = near.map_or_else(String::new, |near| format!(": {near}"));
            let what = format!("{}: {memory:#x} is no address to free{near}", call.name);
            let advice = "Free each allocation once, by the address that was returned.";
            let mut finding = Finding::new(Subject::Free, what, advice).here(call.name);
            if let Some((_, before, line)) = machine.allocations.freed_around(memory) {
                finding = finding.part(format!("{before} has freed it before"), *line);
            }
            finding.report();
            return Err(cudaErrorInvalidValue);
        };
        before_free(&mut machine, device)?;
        // A graph keeps the address of its memory for its next launch.
        if let Some(used) = machine.graphs.memory.give_back(memory) {
            return if used { Ok(()) } else { Err(cudaErrorInvalidValue) };
        }
        let m = &mut *machine;
        m.queue.note_host_free(&m.allocations, memory, call.name);
        machine.allocations.remove(memory, call.name).ok_or(cudaErrorInvalidValue)
    }

    /// How much device memory there is.
    allowed fn cudaMemGetInfo(call, free: Out<'_, usize>, total: Out<'_, usize>) {
        let (machine, device) = call.context()?;
        let (unused, all) = machine.allocations.room(device);
        for (out, bytes) in [(free, unused), (total, all)] {
            if let Some(out) = out {
                out.write(usize::try_from(bytes).unwrap_or(usize::MAX));
            }
        }
        drop(machine);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pitch_is_a_multiple_that_holds_the_row() {
        assert_eq!((pitch(1), pitch(512), pitch(513)), (Ok(512), Ok(512), Ok(1024)));
        assert_eq!(pitch(u64::MAX), Err(cudaErrorInvalidValue));
    }
}
