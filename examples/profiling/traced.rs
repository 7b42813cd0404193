//! Names, ranges and marks for a profiler, by NVTX.
use std::ffi::CStr;

use cuda_safe::{Result, Stream, hazard};
use nvtx::{CudaRuntimeResource, LocalRange, Str};

/// Names a stream.
pub(crate) fn name(stream: &Stream, name: &CStr) {
    nvtx::name_cudart_resource(CudaRuntimeResource::Stream(stream.as_raw().cast()), name);
}

/// Makes a call within a range, and marks the waits that the tracker adds meanwhile.
pub(crate) fn traced<R>(name: &CStr, call: impl FnOnce() -> Result<R>) -> Result<R> {
    let _range = LocalRange::new(name);
    let before = hazard::added_waits();
    let result = call();
    let added = usize::try_from(hazard::added_waits() - before).unwrap_or(usize::MAX);
    for wait in hazard::recent_waits().iter().rev().take(added) {
        nvtx::mark(Str::from_str_lossy(&format!("added wait: {wait}")));
    }
    result
}
