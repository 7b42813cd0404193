//! Managed memory: one address for the host and the devices. Here it is plain memory that both reach.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_uint, c_void};

use super::{Out, api, pointer, wide};
use crate::memory::Kind;
use crate::sys::{cudaErrorInvalidValue, cudaMemAttachGlobal, cudaMemAttachHost};

api! {
    /// Allocates managed memory.
    fn cudaMallocManaged(call, out: Out<'_, *mut c_void>, size: usize, flags: c_uint) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, device) = call.context()?;
        let out = out.write(core::ptr::null_mut());
        if size == 0 {
            return Ok(());
        }
        if flags != cudaMemAttachGlobal && flags != cudaMemAttachHost {
            return Err(cudaErrorInvalidValue);
        }
        *out = pointer(machine.book.allocate_host(device, wide(size), Kind::Managed, flags, call.name)?);
        Ok(())
    }
}
