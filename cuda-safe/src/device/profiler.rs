//! Which part of a program a profiler looks at.
#![expect(unsafe_code, reason = "calls two functions of the runtime")]

use crate::error::{Error, Result};
use crate::stream;
use crate::sys;

// The two have a header of their own, which not every toolkit brings; every runtime library has them.
unsafe extern "C" {
    safe fn cudaProfilerStart() -> sys::cudaError_t;
    safe fn cudaProfilerStop() -> sys::cudaError_t;
}

/// Has a profiler that was told to wait for this (`nsys profile -c cudaProfilerApi`, `ncu --profile-from-start off`) begin to look.
/// Without a profiler nothing happens.
///
/// Stands for `cudaProfilerStart`.
///
/// # Errors
/// Where there is no device; a refusal inside a host function.
///
/// # Examples
/// ```
/// use cuda_safe::device::{profiler_start, profiler_stop};
///
/// # fn main() -> cuda_safe::Result<()> {
/// profiler_start()?;
/// // what is to be measured
/// profiler_stop()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaProfilerStart")]
#[track_caller]
pub fn profiler_start() -> Result<()> {
    stream::ensure_idle("profiler_start")?;
    Error::check("cudaProfilerStart", cudaProfilerStart())
}

/// Has a profiler look no longer: what is under way may still be in what it shows.
///
/// Stands for `cudaProfilerStop`.
///
/// # Errors
/// Where there is no device; a refusal inside a host function.
#[doc(alias = "cudaProfilerStop")]
#[track_caller]
pub fn profiler_stop() -> Result<()> {
    stream::ensure_idle("profiler_stop")?;
    Error::check("cudaProfilerStop", cudaProfilerStop())
}
