//! The ways to put a launch to the runtime, one for each of its functions. What is to be done around the call is the same for all.
#![expect(unsafe_code, reason = "calls the runtime's launch functions")]

use std::ffi::c_void;

use crate::sys;

use super::{LaunchAttributes, LaunchConfig};

/// A function that launches.
pub(super) trait Way: Copy {
    /// Its name.
    const API: &'static str;

    /// Calls it.
    ///
    /// # Safety
    /// `kernel` is the stub of a kernel, `values` has a pointer to a live value for each of its parameters, and the stream is live.
    /// What the kernel does is the caller's duty, too.
    unsafe fn put(
        self,
        kernel: *const c_void,
        config: &LaunchConfig,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t;

    /// The attributes that it is called with, where it takes any.
    #[inline]
    fn attributes(&self) -> Option<&LaunchAttributes<'_>> {
        None
    }
}

/// As `<<<...>>>` launches.
pub(super) const PLAIN: Usual<false> = Usual;

/// All blocks at the same time.
pub(super) const TOGETHER: Usual<true> = Usual;

/// What takes a shape and nothing else.
#[derive(Clone, Copy)]
pub(super) struct Usual<const TOGETHER: bool>;

impl<const TOGETHER: bool> Way for Usual<TOGETHER> {
    const API: &'static str = if TOGETHER { "cudaLaunchCooperativeKernel" } else { "cudaLaunchKernel" };

    #[inline]
    unsafe fn put(
        self,
        kernel: *const c_void,
        config: &LaunchConfig,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let LaunchConfig { grid, block, shared_bytes } = *config;
        let put = if TOGETHER { sys::cudaLaunchCooperativeKernel } else { sys::cudaLaunchKernel };
        // SAFETY: the caller's duties are those of the call.
        unsafe { put(kernel, grid.into(), block.into(), values, shared_bytes, stream) }
    }
}

impl Way for &LaunchAttributes<'_> {
    const API: &'static str = "cudaLaunchKernelExC";

    unsafe fn put(
        self,
        kernel: *const c_void,
        config: &LaunchConfig,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let config = self.config(config, stream);
        // SAFETY: the caller's duties are those of the call; the attributes live while they are borrowed, and each has set the member
        // that its identifier says.
        unsafe { sys::cudaLaunchKernelExC(&raw const config, kernel, values) }
    }

    fn attributes(&self) -> Option<&LaunchAttributes<'_>> {
        Some(self)
    }
}
