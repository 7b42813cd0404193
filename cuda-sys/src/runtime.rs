//! The version of the libcudart that the program runs with.

#![expect(unsafe_code, reason = "asks libcudart for its version")]

use core::ffi::c_int;
use std::fmt;

use crate::{CUDART_VERSION, cudaError_t, cudaRuntimeGetVersion, cudaSuccess};

/// Returns the version of the loaded library in the format of `CUDART_VERSION`: 13020 is 13.2.
///
/// Needs neither a driver nor a device.
///
/// # Errors
/// Returns the code of [`cudaRuntimeGetVersion`] if that fails.
pub fn runtime_version() -> Result<c_int, cudaError_t> {
    let mut version = 0;
    // SAFETY: the pointer is valid for the call, which writes one int.
    let code = unsafe { cudaRuntimeGetVersion(&raw mut version) };
    if code == cudaSuccess { Ok(version) } else { Err(code) }
}

/// Checks that the loaded library has the major version of the headers that this program was built with. With
/// the feature `load`, it also checks that a library was found.
///
/// Within one major version the library may be older or newer. Between two, structs and functions of the
/// same name differ, so calls would do harm. The loader rejects most wrong libraries by their name. This
/// function detects the others: links, copies and replacements under the right name. Call it once, before
/// any other function of the runtime.
///
/// # Errors
/// The major versions differ, or the library does not return its version.
pub fn check_runtime() -> Result<(), WrongRuntime> {
    let library = runtime_version().unwrap_or(0);
    compare(CUDART_VERSION, library)
}

fn compare(headers: u32, library: c_int) -> Result<(), WrongRuntime> {
    match u32::try_from(library) {
        Ok(number) if number / 1000 == headers / 1000 => Ok(()),
        _ => Err(WrongRuntime { headers, library }),
    }
}

/// The loaded library has another major version than the headers that this program was built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongRuntime {
    headers: u32,
    library: c_int,
}

impl WrongRuntime {
    /// Returns the headers' version, as [`CUDART_VERSION`].
    #[must_use]
    pub fn headers(&self) -> u32 {
        self.headers
    }

    /// Returns the library's version, in the same format; 0 if it returned none.
    #[must_use]
    pub fn library(&self) -> c_int {
        self.library
    }
}

impl fmt::Display for WrongRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { headers, library } = *self;
        #[cfg(feature = "load")]
        if library == 0
            && let Some(why) = crate::load::why_none()
        {
            return f.write_str(&why);
        }
        write!(
            f,
            "this program was built for CUDA {}.{}, but the libcudart that is loaded",
            headers / 1000,
            headers % 1000 / 10
        )?;
        match library {
            0 => write!(f, " does not tell its version")?,
            _ => write!(f, " is CUDA {}.{}", library / 1000, library % 1000 / 10)?,
        }
        if let Some(path) = loaded_from() {
            write!(f, " ({path})")?;
        }
        write!(f, "; check LD_LIBRARY_PATH, or build for that version")
    }
}

impl std::error::Error for WrongRuntime {}

/// Returns the file that libcudart was loaded from, as the kernel lists it.
fn loaded_from() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    path_in_maps(&maps)
}

fn path_in_maps(maps: &str) -> Option<String> {
    let line = maps
        .lines()
        .find(|line| line.rsplit('/').next().is_some_and(|file| file.starts_with("libcudart")))?;
    line.find('/').map(|start| line[start..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_minor_version_is_fine() {
        for (headers, library) in [(13000, 13000), (13000, 13040), (13040, 13000), (12040, 12090)] {
            assert_eq!(compare(headers, library), Ok(()));
        }
    }

    #[test]
    fn another_major_version_is_an_error_that_names_both() {
        let error = compare(13020, 12090).unwrap_err();
        assert_eq!((error.headers(), error.library()), (13020, 12090));
        let text = error.to_string();
        assert!(
            text.starts_with(
                "this program was built for CUDA 13.2, but the libcudart that is loaded is CUDA 12.9"
            ),
            "{text}"
        );
        assert!(compare(13020, 0).unwrap_err().to_string().contains("does not tell"));
        assert!(compare(13020, -1).is_err());
    }

    #[test]
    fn the_librarys_file_is_found_among_others() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 12   /usr/lib/libc.so.6\n7f02-7f03 r--p 00000000 08:01 \
                    13   /opt/cuda x/libcudart.so.13\n";
        assert_eq!(path_in_maps(maps).as_deref(), Some("/opt/cuda x/libcudart.so.13"));
        assert_eq!(path_in_maps("7f00-7f01 rw-p 00000000 00:00 0 \n"), None);
    }

    #[test]
    fn the_library_of_this_very_test_fits() {
        check_runtime().unwrap();
        assert!(runtime_version().unwrap() >= 12000);
    }
}
