//! The versions of the driver and of the runtime library, and the check that this program can use the
//! library.
#![expect(unsafe_code, reason = "asks driver and runtime for their versions")]

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::check;
use crate::error::{self, BUILT, Detail, Result, ensure};
#[cfg(doc)]
use crate::sys;
use crate::thread_state::in_callback;

/// A version of CUDA, such as 13.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The number before the dot.
    pub major: i32,
    /// The number after the dot.
    pub minor: i32,
}

impl Version {
    /// Converts the runtime's number `1000 * major + 10 * minor`.
    const fn from_number(number: i32) -> Self {
        Self { major: number / 1000, minor: number % 1000 / 10 }
    }

    /// Returns the version as the runtime's number, or 0 if it has no valid number.
    #[cfg(cudart_12_8)]
    pub(super) fn number(self) -> u32 {
        let number =
            self.major.checked_mul(1000).and_then(|major| major.checked_add(self.minor.checked_mul(10)?));
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    /// Returns the version of the headers that this program was built with.
    #[must_use]
    pub const fn from_headers() -> Self {
        Self::from_number(BUILT)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Returns the newest CUDA version that the installed driver supports, or 0.0 if there is no driver.
///
/// Stands for [`cudaDriverGetVersion`](sys::cudaDriverGetVersion).
///
/// # Errors
/// No error is known. The runtime answers without a driver, too.
#[doc(alias = "cudaDriverGetVersion")]
#[track_caller]
pub fn driver_version() -> Result<Version> {
    let mut number = 0;
    // SAFETY: the pointer is to a live local integer, which the call fills.
    unsafe { check!(cudaDriverGetVersion(&raw mut number)) }?;
    Ok(Version::from_number(number))
}

/// Returns the version of the loaded runtime library.
///
/// Stands for [`cudaRuntimeGetVersion`](sys::cudaRuntimeGetVersion).
///
/// # Errors
/// No error is known. The call needs neither driver nor device.
#[doc(alias = "cudaRuntimeGetVersion")]
#[track_caller]
pub fn runtime_version() -> Result<Version> {
    let mut number = 0;
    // SAFETY: the pointer is to a live local integer, which the call fills.
    unsafe { check!(cudaRuntimeGetVersion(&raw mut number)) }?;
    Ok(Version::from_number(number))
}

/// Refuses if the runtime must not be called: inside a host function, or if the major versions of the
/// loaded library and of the headers differ. Such a library has the same names but other structures.
///
/// The library's version is queried once, because the loaded library does not change.
///
/// # Errors
/// Refuses with `InCallback`, or with an error that names both versions and the remedy.
#[inline]
#[track_caller]
pub(super) fn ensure_callable(api: &'static str) -> Result<()> {
    error::ensure_callable(api)?;
    if SAME.load(Ordering::Relaxed) {
        return Ok(());
    }
    let same = runtime_version()?.major == Version::from_headers().major;
    ensure(same, "libcudart", Detail::versions)?;
    SAME.store(true, Ordering::Relaxed);
    Ok(())
}

/// Returns whether [`ensure_callable`] is known to succeed.
#[inline]
pub(super) fn is_callable() -> bool {
    SAME.load(Ordering::Relaxed) && !in_callback()
}

/// Whether the loaded library is known to have the headers' major version.
static SAME: AtomicBool = AtomicBool::new(false);

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn a_version_number_comes_apart() {
        assert_eq!(Version::from_number(13_020), Version { major: 13, minor: 2 });
        assert_eq!(Version::from_number(12_040).to_string(), "12.4");
        assert_eq!(Version::from_number(0).to_string(), "0.0");
    }
}
