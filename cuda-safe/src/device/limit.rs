//! Limits that a program may change: stack, `printf` buffer, device heap, and persisting L2 cache.

use crate::sys;

/// A limit that [`Device::set_limit`](super::Device::set_limit) can change. Each variant names its unit.
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
    pub(super) fn as_raw(self) -> sys::cudaLimit {
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
