//! Functions of the driver, by name.
#![expect(unsafe_code, reason = "asks the runtime where functions of the driver are")]

use std::ffi::{CString, c_void};
use std::ptr::{self, NonNull};

use super::Version;
use crate::error::{Detail, Error, Result};
use crate::{check, stream, sys};

/// Where a function of the driver is, if it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "cudaDriverEntryPointQueryResult")]
pub enum DriverEntryPoint {
    /// Here: a function of the C type that `cuda.h` of the version asked for declares.
    Found(NonNull<c_void>),
    /// The driver has no function of this name.
    NotFound,
    /// The driver has the function, but since a later version than was asked for.
    VersionNotSufficient,
}

/// Which of two functions, where one treats the default stream as the legacy one and another as the thread's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DefaultStream {
    /// The legacy one.
    Legacy,
    /// The thread's own, where there are two.
    PerThread,
}

/// Where a function of the driver is, as of a version of CUDA: for what the runtime has no function for. Its name is that without `_v2` and its
/// like, of which the version says which.
///
/// Stands for [`cudaGetDriverEntryPointByVersion`](sys::cudaGetDriverEntryPointByVersion).
///
/// # Errors
/// `cudaErrorInvalidValue` for a version that is newer than the driver; `NulByte` for a name that has one; a refusal inside a host
/// function.
///
/// # Examples
/// ```
/// use cuda_safe::device::{DefaultStream, DriverEntryPoint, driver_entry_point, driver_version};
///
/// # fn main() -> cuda_safe::Result<()> {
/// match driver_entry_point("cuMemGetAddressRange", driver_version()?, DefaultStream::Legacy)? {
///     DriverEntryPoint::Found(address) => println!("at {address:?}"),
///     other => println!("this driver has it not: {other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGetDriverEntryPointByVersion")]
#[track_caller]
pub fn driver_entry_point(
    name: &str,
    version: Version,
    default_stream: DefaultStream,
) -> Result<DriverEntryPoint> {
    const API: &str = "driver_entry_point";
    stream::ensure_idle(API)?;
    let Ok(name) = CString::new(name) else {
        return Err(Error::refused(API, Detail::NulByte { what: "the name" }));
    };
    let flags = match default_stream {
        DefaultStream::Legacy => sys::cudaEnableLegacyStream,
        DefaultStream::PerThread => sys::cudaEnablePerThreadDefaultStream,
    };
    let (mut function, mut status) = (ptr::null_mut(), sys::cudaDriverEntryPointSymbolNotFound);
    let (out, of, flags) = (&raw mut function, version.number(), u64::from(flags.0));
    // SAFETY: the pointers are to live variables, which the call fills, and to a name that ends in a zero byte.
    unsafe { check!(cudaGetDriverEntryPointByVersion(name.as_ptr(), out, of, flags, &raw mut status)) }?;
    Ok(match NonNull::new(function) {
        Some(function) => DriverEntryPoint::Found(function),
        None if status == sys::cudaDriverEntryPointVersionNotSufficent => {
            DriverEntryPoint::VersionNotSufficient
        }
        None => DriverEntryPoint::NotFound,
    })
}
