//! Versions of the driver and of the runtime library, and whether the library is one that this program can use.
#![expect(unsafe_code, reason = "asks driver and runtime for their versions")]

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{BUILT, Detail, Error, Result};
#[cfg(doc)]
use crate::sys;
use crate::{check, stream};

/// A version of CUDA, such as 13.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The number before the dot.
    pub major: i32,
    /// The number after the dot.
    pub minor: i32,
}

impl Version {
    /// Takes apart the runtime's way of writing a version: `1000 * major + 10 * minor`.
    const fn from_number(number: i32) -> Self {
        Self { major: number / 1000, minor: number % 1000 / 10 }
    }

    /// The version as the runtime writes it; zero for one that there cannot be.
    #[cfg(cudart_12_8)]
    pub(super) fn number(self) -> u32 {
        let number =
            self.major.checked_mul(1000).and_then(|major| major.checked_add(self.minor.checked_mul(10)?));
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    /// The version of the headers that this program was built with.
    #[must_use]
    pub const fn of_headers() -> Self {
        Self::from_number(BUILT)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The newest CUDA that the installed driver supports; 0.0 where there is no driver.
///
/// Stands for [`cudaDriverGetVersion`](sys::cudaDriverGetVersion).
///
/// # Errors
/// None is known; the runtime answers without a driver too.
#[doc(alias = "cudaDriverGetVersion")]
#[track_caller]
pub fn driver_version() -> Result<Version> {
    let mut number = 0;
    // SAFETY: the pointer is to a live integer of ours, which the call fills.
    unsafe { check!(cudaDriverGetVersion(&raw mut number)) }?;
    Ok(Version::from_number(number))
}

/// The version of the runtime library that was loaded.
///
/// Stands for [`cudaRuntimeGetVersion`](sys::cudaRuntimeGetVersion).
///
/// # Errors
/// None is known; the call needs neither driver nor device.
#[doc(alias = "cudaRuntimeGetVersion")]
#[track_caller]
pub fn runtime_version() -> Result<Version> {
    let mut number = 0;
    // SAFETY: the pointer is to a live integer of ours, which the call fills.
    unsafe { check!(cudaRuntimeGetVersion(&raw mut number)) }?;
    Ok(Version::from_number(number))
}

/// Refuses to go on where the runtime may not be called: inside a host function, or where the loaded library is of another
/// major version than the headers: same names, other structures.
///
/// The library is asked once, because the loaded one does not change.
///
/// # Errors
/// A refusal: `InCallback`, or one that names both versions and says what to do.
#[inline]
#[track_caller]
pub(super) fn ensure_callable(api: &'static str) -> Result<()> {
    if stream::in_callback() {
        return Err(Error::refused(api, Detail::InCallback));
    }
    if SAME.load(Ordering::Relaxed) {
        return Ok(());
    }
    let found = runtime_version()?;
    if found.major != Version::of_headers().major {
        return Err(Error::refused("libcudart", Detail::versions()));
    }
    SAME.store(true, Ordering::Relaxed);
    Ok(())
}

/// Whether [`ensure_callable`] is known to have nothing against it.
#[inline]
pub(super) fn is_callable() -> bool {
    SAME.load(Ordering::Relaxed) && !stream::in_callback()
}

/// Whether the loaded library was found to be of the headers' major version.
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
