//! Restricts a profiler to a part of the program.
#![expect(unsafe_code, reason = "calls two functions of the runtime")]

use crate::error::{Error, Result};
use crate::stream;
use crate::sys;

// The two functions have a header of their own, which some toolkits lack. Every runtime library has the
// functions.
unsafe extern "C" {
    safe fn cudaProfilerStart() -> sys::cudaError_t;
    safe fn cudaProfilerStop() -> sys::cudaError_t;
}

/// Starts recording in a profiler that waits for this call (`nsys profile -c cudaProfilerApi`,
/// `ncu --profile-from-start off`). Without a profiler, this does nothing.
///
/// Stands for `cudaProfilerStart`.
///
/// # Errors
/// Returns the runtime's error if there is no device. Refused inside a host function.
///
/// # Examples
/// ```
/// use cuda_safe::device::{profiler_start, profiler_stop};
///
/// # fn main() -> cuda_safe::Result<()> {
/// profiler_start()?;
/// // the part to profile
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

/// Stops recording in a profiler. The profile may include work that is still running.
///
/// Stands for `cudaProfilerStop`.
///
/// # Errors
/// Returns the runtime's error if there is no device. Refused inside a host function.
#[doc(alias = "cudaProfilerStop")]
#[track_caller]
pub fn profiler_stop() -> Result<()> {
    stream::ensure_idle("profiler_stop")?;
    Error::check("cudaProfilerStop", cudaProfilerStop())
}
