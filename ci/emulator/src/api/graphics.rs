//! Resources of graphics interfaces. None can be registered here, so no handle is that of a resource.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_uint, c_void};

use super::{Call, Out, api};
use crate::error::Answer;
use crate::sys::*;

/// Looks at a list of resources.
fn list(call: &Call, count: c_int, list: *mut cudaGraphicsResource_t, stream: cudaStream_t) -> Answer {
    if count == 0 || list.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    call.stream(stream).and(Err(cudaErrorInvalidResourceHandle))
}

/// Looks at one resource.
fn one(call: &Call) -> Answer {
    call.any_context().and(Err(cudaErrorInvalidResourceHandle))
}

api! {
    /// Lets the device use resources.
    allowed fn cudaGraphicsMapResources(
        call, count: c_int, resources: *mut cudaGraphicsResource_t, stream: cudaStream_t,
    ) {
        list(call, count, resources, stream)
    }

    /// Gives them back.
    allowed fn cudaGraphicsUnmapResources(
        call, count: c_int, resources: *mut cudaGraphicsResource_t, stream: cudaStream_t,
    ) {
        list(call, count, resources, stream)
    }

    /// Forgets a resource.
    allowed fn cudaGraphicsUnregisterResource(call, _resource: cudaGraphicsResource_t) {
        one(call)
    }

    /// Says how a resource will be used.
    allowed fn cudaGraphicsResourceSetMapFlags(call, _resource: cudaGraphicsResource_t, _flags: c_uint) {
        one(call)
    }

    /// The memory of a resource.
    allowed fn cudaGraphicsResourceGetMappedPointer(
        call, out: Out<'_, *mut c_void>, size: Out<'_, usize>, _resource: cudaGraphicsResource_t,
    ) {
        out.map(|out| out.write(core::ptr::null_mut()));
        size.map(|size| size.write(0));
        one(call)
    }

    /// The array of a part of a resource.
    allowed fn cudaGraphicsSubResourceGetMappedArray(
        call, _out: Out<'_, cudaArray_t>, _resource: cudaGraphicsResource_t, _index: c_uint, _level: c_uint,
    ) {
        one(call)
    }

    /// What another interface has to know to wait for a device.
    allowed fn cudaDeviceGetNvSciSyncAttributes(call, list: *mut c_void, _device: c_int, _flags: c_int) {
        drop(call.any_context()?);
        Err(if list.is_null() { cudaErrorInvalidResourceHandle } else { cudaErrorNotSupported })
    }

    /// The levels of a resource.
    allowed fn cudaGraphicsResourceGetMappedMipmappedArray(
        call, _out: Out<'_, cudaMipmappedArray_t>, _resource: cudaGraphicsResource_t,
    ) {
        one(call)
    }
}
