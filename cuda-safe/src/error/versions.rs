//! The versions of driver, runtime and headers, and what to do where they do not fit.
#![expect(unsafe_code, reason = "asks driver and runtime for their versions")]

use std::fmt;

use super::Detail;
use crate::sys;

impl Detail {
    /// The versions of driver, loaded runtime and headers.
    pub(crate) fn versions() -> Self {
        let (mut driver, mut runtime) = (0, 0);
        // SAFETY: the pointer is to a live integer; the call needs no device and answers 0 without a driver.
        let driver_code = unsafe { sys::cudaDriverGetVersion(&raw mut driver) };
        // SAFETY: the pointer is to a live integer; the call needs neither device nor driver.
        let runtime_code = unsafe { sys::cudaRuntimeGetVersion(&raw mut runtime) };
        if driver_code != sys::cudaSuccess {
            driver = 0;
        }
        if runtime_code != sys::cudaSuccess {
            runtime = 0;
        }
        Self::Versions { driver, runtime, built: BUILT }
    }
}

/// The version of the headers that the bindings were made from.
pub(crate) const BUILT: i32 = {
    let version = sys::CUDART_VERSION;
    assert!(version < 1_000_000, "a version the format cannot hold");
    #[expect(clippy::cast_possible_wrap, reason = "asserted to be far below the limit")]
    let version = version as i32;
    version
};

/// A version number as people write it.
struct Version(i32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// Says which of driver, runtime and headers does not fit, and what to do.
pub(super) fn write_versions(
    f: &mut fmt::Formatter<'_>,
    driver: i32,
    runtime: i32,
    built: i32,
) -> fmt::Result {
    if runtime != 0 && runtime / 1000 != built / 1000 {
        return write!(
            f,
            "the loaded libcudart is of CUDA {}, but this program was built for CUDA {}: put the CUDA {} \
             library first on the loader path (LD_LIBRARY_PATH), or build with CUDA_PATH set to a CUDA {} toolkit",
            Version(runtime),
            Version(built),
            built / 1000,
            runtime / 1000
        );
    }
    if driver == 0 {
        return write!(
            f,
            "no NVIDIA driver answers (runtime CUDA {}): install one, or run where there is a GPU",
            Version(runtime)
        );
    }
    if driver < runtime {
        return write!(
            f,
            "the driver supports CUDA up to {}, the runtime is CUDA {}: update the driver, or build with \
             CUDA_PATH set to a toolkit no newer than {}",
            Version(driver),
            Version(runtime),
            Version(driver)
        );
    }
    write!(f, "the driver supports CUDA {}, the runtime is CUDA {}", Version(driver), Version(runtime))
}

#[cfg(test)]
mod tests {
    use super::Detail;

    #[test]
    fn a_library_of_another_major_says_which_and_what_to_do() {
        let text = Detail::Versions { driver: 13_000, runtime: 12_040, built: 13_000 }.to_string();
        assert!(text.contains("12.4") && text.contains("13.0") && text.contains("LD_LIBRARY_PATH"), "{text}");
    }

    #[test]
    fn an_old_driver_says_what_it_supports() {
        let text = Detail::Versions { driver: 12_080, runtime: 13_000, built: 13_000 }.to_string();
        assert!(text.contains("12.8") && text.contains("update the driver"), "{text}");
    }

    #[test]
    fn a_machine_without_a_driver_is_told_so() {
        let text = Detail::Versions { driver: 0, runtime: 13_000, built: 13_000 }.to_string();
        assert!(text.contains("no NVIDIA driver"), "{text}");
    }
}
