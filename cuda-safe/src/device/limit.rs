//! Limits that a program may change: stack, `printf` buffer, device heap, and persisting L2 cache.
#![expect(unsafe_code, reason = "calls the runtime's limit functions")]

use super::Device;
use crate::error::{Detail, Result};
use crate::{check, sys};

/// A limit that [`Device::set_limit`] can change. Each variant names its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Stack size of each thread of a kernel, in bytes.
    #[doc(alias = "cudaLimitStackSize")]
    StackSize,
    /// Size of the buffer for `printf` in kernels, in bytes.
    #[doc(alias = "cudaLimitPrintfFifoSize")]
    PrintfFifoSize,
    /// Size of the heap for `malloc` in kernels, in bytes. Fixed after the first launch of a kernel that
    /// uses it.
    #[doc(alias = "cudaLimitMallocHeapSize")]
    MallocHeapSize,
    /// Maximum number of pending launches that were made inside kernels.
    #[doc(alias = "cudaLimitDevRuntimePendingLaunchCount")]
    PendingLaunchCount,
    /// Fetch granularity of the L2 cache in bytes, 0 to 128. A hint.
    #[doc(alias = "cudaLimitMaxL2FetchGranularity")]
    MaxL2FetchGranularity,
    /// Size of the L2 cache area for persisting data, in bytes.
    #[doc(alias = "cudaLimitPersistingL2CacheSize")]
    PersistingL2CacheSize,
}

impl Limit {
    /// Returns C's constant.
    fn as_raw(self) -> sys::cudaLimit {
        match self {
            Self::StackSize => sys::cudaLimitStackSize,
            Self::PrintfFifoSize => sys::cudaLimitPrintfFifoSize,
            Self::MallocHeapSize => sys::cudaLimitMallocHeapSize,
            Self::PendingLaunchCount => sys::cudaLimitDevRuntimePendingLaunchCount,
            Self::MaxL2FetchGranularity => sys::cudaLimitMaxL2FetchGranularity,
            Self::PersistingL2CacheSize => sys::cudaLimitPersistingL2CacheSize,
        }
    }
}

impl Device {
    /// Returns the current value of the limit, in the unit that [`Limit`] names.
    ///
    /// Stands for [`cudaDeviceGetLimit`](sys::cudaDeviceGetLimit).
    ///
    /// # Errors
    /// Returns `cudaErrorUnsupportedLimit` if the device does not have the limit.
    #[doc(alias = "cudaDeviceGetLimit")]
    #[track_caller]
    pub fn limit(self, limit: Limit) -> Result<usize> {
        let _current = self.switch()?;
        let mut value = 0;
        // SAFETY: the pointer is to a live local integer, which the call fills.
        unsafe { check!(cudaDeviceGetLimit(&raw mut value, limit.as_raw())) }?;
        Ok(value)
    }

    /// Requests a value for the limit, in the unit that [`Limit`] names. The runtime may round it: see
    /// [`limit`](Self::limit).
    ///
    /// Stands for [`cudaDeviceSetLimit`](sys::cudaDeviceSetLimit).
    ///
    /// # Errors
    /// - `cudaErrorUnsupportedLimit` if the device does not have the limit.
    /// - `cudaErrorMemoryAllocation` if the device cannot reserve the amount.
    /// - `cudaErrorInvalidValue` if it is too late for a change or the value is out of range.
    #[doc(alias = "cudaDeviceSetLimit")]
    #[track_caller]
    pub fn set_limit(self, limit: Limit, value: usize) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes two numbers, which the runtime checks.
        unsafe { check!(cudaDeviceSetLimit(limit.as_raw(), value)) }
            .map_err(|error| error.with_detail(Detail::LimitAsked { limit, value }))
    }
}
