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
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Way for Plain {
    const API: &'static str = "cudaLaunchKernel";

    #[inline]
    unsafe fn put(
        self,
        kernel: *const c_void,
        config: &LaunchConfig,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let LaunchConfig { grid, block, shared_bytes } = *config;
        // SAFETY: the caller's duties are those of the call.
        unsafe { sys::cudaLaunchKernel(kernel, grid.into(), block.into(), values, shared_bytes, stream) }
    }
}

/// All blocks at the same time.
#[derive(Clone, Copy)]
pub(super) struct Together;

impl Way for Together {
    const API: &'static str = "cudaLaunchCooperativeKernel";

    unsafe fn put(
        self,
        kernel: *const c_void,
        config: &LaunchConfig,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let LaunchConfig { grid, block, shared_bytes } = *config;
        let (grid, block) = (grid.into(), block.into());
        // SAFETY: the caller's duties are those of the call.
        unsafe { sys::cudaLaunchCooperativeKernel(kernel, grid, block, values, shared_bytes, stream) }
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
