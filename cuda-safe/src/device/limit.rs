//! Limits that a program may change: stack, printf buffer, heap inside kernels, cache set aside.
#![expect(unsafe_code, reason = "calls the runtime's limit functions")]

use super::Device;
use crate::error::{Detail, Result};
use crate::{check, sys};

/// What [`Device::set_limit`] can change. The unit is given with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Bytes of stack for each thread of a kernel.
    #[doc(alias = "cudaLimitStackSize")]
    StackSize,
    /// Bytes of the buffer that `printf` in kernels writes to.
    #[doc(alias = "cudaLimitPrintfFifoSize")]
    PrintfFifoSize,
    /// Bytes of the heap that `malloc` in kernels takes from. Fixed once a kernel that uses it was launched.
    #[doc(alias = "cudaLimitMallocHeapSize")]
    MallocHeapSize,
    /// Launches from kernels that may be waiting at a time, a count.
    #[doc(alias = "cudaLimitDevRuntimePendingLaunchCount")]
    PendingLaunchCount,
    /// Bytes that the L2 cache fetches at a time: a hint, 0 to 128.
    #[doc(alias = "cudaLimitMaxL2FetchGranularity")]
    MaxL2FetchGranularity,
    /// Bytes of L2 cache set aside for data that persists.
    #[doc(alias = "cudaLimitPersistingL2CacheSize")]
    PersistingL2CacheSize,
}

impl Limit {
    /// C's constant.
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
    /// The limit as it is now, in the unit that [`Limit`] gives.
    ///
    /// Stands for [`cudaDeviceGetLimit`](sys::cudaDeviceGetLimit).
    ///
    /// # Errors
    /// `cudaErrorUnsupportedLimit` where the device does not have this one.
    #[doc(alias = "cudaDeviceGetLimit")]
    #[track_caller]
    pub fn limit(self, limit: Limit) -> Result<usize> {
        let _current = self.switch()?;
        let mut value = 0;
        // SAFETY: the pointer is to a live integer of ours, which the call fills.
        unsafe { check!(cudaDeviceGetLimit(&raw mut value, limit.as_raw())) }?;
        Ok(value)
    }

    /// Asks for a limit, in the unit that [`Limit`] gives. The runtime may round it: see [`limit`](Self::limit).
    ///
    /// Stands for [`cudaDeviceSetLimit`](sys::cudaDeviceSetLimit).
    ///
    /// # Errors
    /// `cudaErrorUnsupportedLimit` where the device does not have this one, `cudaErrorMemoryAllocation` where so
    /// much cannot be set aside, `cudaErrorInvalidValue` where it is too late or the value is out of range.
    #[doc(alias = "cudaDeviceSetLimit")]
    #[track_caller]
    pub fn set_limit(self, limit: Limit, value: usize) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes two numbers, which the runtime checks.
        unsafe { check!(cudaDeviceSetLimit(limit.as_raw(), value)) }
            .map_err(|error| error.with_detail(Detail::LimitAsked { limit, value }))
    }
}
