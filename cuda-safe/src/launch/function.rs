//! The runtime's launch functions. The code around the call is the same for all of them.
#![expect(unsafe_code, reason = "calls the runtime's launch functions")]

use std::ffi::c_void;

use crate::sys;

use super::{LaunchAttributes, LaunchConfig};

/// A function of the runtime that launches a kernel.
pub(super) trait LaunchFunction: Copy {
    /// The name of the C function.
    const API: &'static str;

    /// Calls the C function.
    ///
    /// # Safety
    /// - `kernel` is the stub of a kernel.
    /// - `values` has a pointer to a live value for each of its parameters.
    /// - The stream is live.
    /// - The caller is responsible for the effects of the kernel.
    unsafe fn call(
        self,
        kernel: *const c_void,
        config: &LaunchConfig,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t;

    /// Returns the attributes of the launch, if the function takes any.
    #[inline]
    fn attributes(&self) -> Option<&LaunchAttributes<'_>> {
        None
    }
}

/// Launches like `<<<...>>>`.
pub(super) const PLAIN: Plain<false> = Plain;

/// Launches all blocks at the same time.
pub(super) const COOPERATIVE: Plain<true> = Plain;

/// The functions that take a shape and nothing else.
#[derive(Clone, Copy)]
pub(super) struct Plain<const COOPERATIVE: bool>;

impl<const COOPERATIVE: bool> LaunchFunction for Plain<COOPERATIVE> {
    const API: &'static str = if COOPERATIVE { "cudaLaunchCooperativeKernel" } else { "cudaLaunchKernel" };

    #[inline]
    unsafe fn call(
        self,
        kernel: *const c_void,
        config: &LaunchConfig,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let LaunchConfig { grid, block, shared_bytes } = *config;
        let launch = if COOPERATIVE { sys::cudaLaunchCooperativeKernel } else { sys::cudaLaunchKernel };
        // SAFETY: the caller has the duties of the call.
        unsafe { launch(kernel, grid.into(), block.into(), values, shared_bytes, stream) }
    }
}

impl LaunchFunction for &LaunchAttributes<'_> {
    const API: &'static str = "cudaLaunchKernelExC";

    unsafe fn call(
        self,
        kernel: *const c_void,
        config: &LaunchConfig,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let config = self.config(config, stream);
        // SAFETY: the caller has the duties of the call. The attributes live as long as they are
        // borrowed, and each has set the member that its identifier names.
        unsafe { sys::cudaLaunchKernelExC(&raw const config, kernel, values) }
    }

    fn attributes(&self) -> Option<&LaunchAttributes<'_>> {
        Some(self)
    }
}
