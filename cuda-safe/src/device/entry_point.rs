//! Looks up functions of the driver by name.
#![expect(unsafe_code, reason = "asks the runtime where functions of the driver are")]

use std::ffi::{CString, c_void};
use std::ptr::{self, NonNull};

use super::Version;
use crate::error::{Detail, OrRefused, Result};
use crate::{check, stream, sys};

/// The address of a driver function, or the reason why it is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "cudaDriverEntryPointQueryResult")]
pub enum DriverEntryPoint {
    /// The address. The function has the C type that `cuda.h` of the requested version declares.
    Found(NonNull<c_void>),
    /// The driver has no function of this name.
    NotFound,
    /// The driver has the function only for versions later than the requested one.
    VersionNotSufficient,
}

/// Selects between two variants of a function that treat the default stream differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DefaultStream {
    /// The variant that uses the legacy default stream.
    Legacy,
    /// The variant that uses the per-thread default stream, if there are two variants.
    PerThread,
}

/// Returns the address of a driver function as of a CUDA version. Use it for functions that the runtime
/// does not offer. Pass the name without a suffix such as `_v2`; the version selects the variant.
///
/// Stands for [`cudaGetDriverEntryPointByVersion`](sys::cudaGetDriverEntryPointByVersion).
///
/// # Errors
/// - `cudaErrorInvalidValue` if the version is newer than the driver.
/// - `NulByte` if the name contains a zero byte.
/// - Refused inside a host function.
///
/// # Examples
/// ```
/// use cuda_safe::device::{DefaultStream, DriverEntryPoint, driver_entry_point, driver_version};
///
/// # fn main() -> cuda_safe::Result<()> {
/// match driver_entry_point("cuMemGetAddressRange", driver_version()?, DefaultStream::Legacy)? {
///     DriverEntryPoint::Found(address) => println!("at {address:?}"),
///     other => println!("this driver lacks it: {other:?}"),
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
    let name = CString::new(name).ok().or_refused(API, || Detail::nul_byte("the name"))?;
    let flags = match default_stream {
        DefaultStream::Legacy => sys::cudaEnableLegacyStream,
        DefaultStream::PerThread => sys::cudaEnablePerThreadDefaultStream,
    };
    let (mut function, mut status) = (ptr::null_mut(), sys::cudaDriverEntryPointSymbolNotFound);
    let (out, of, flags) = (&raw mut function, version.number(), u64::from(flags.0));
    // SAFETY: the pointers are to live variables, which the call fills, and to a name that ends in a zero
    // byte.
    unsafe { check!(cudaGetDriverEntryPointByVersion(name.as_ptr(), out, of, flags, &raw mut status)) }?;
    Ok(match NonNull::new(function) {
        Some(function) => DriverEntryPoint::Found(function),
        None if status == sys::cudaDriverEntryPointVersionNotSufficent => {
            DriverEntryPoint::VersionNotSufficient
        }
        None => DriverEntryPoint::NotFound,
    })
}
