//! Limits that a program may change: stack, `printf` buffer, device heap, and persisting L2 cache.

use crate::sys;

/// A limit that [`Device::set_limit`](super::Device::set_limit) can change. Each variant names its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Limit {
    /// Stack size of each thread of a kernel, in bytes.
    #[doc(alias = "cudaLimitStackSize")]
    StackSize = sys::cudaLimitStackSize.0,
    /// Size of the buffer for `printf` in kernels, in bytes.
    #[doc(alias = "cudaLimitPrintfFifoSize")]
    PrintfFifoSize = sys::cudaLimitPrintfFifoSize.0,
    /// Size of the heap for `malloc` in kernels, in bytes. Fixed after the first launch of a kernel that
    /// uses it.
    #[doc(alias = "cudaLimitMallocHeapSize")]
    MallocHeapSize = sys::cudaLimitMallocHeapSize.0,
    /// Maximum number of pending launches that were made inside kernels.
    #[doc(alias = "cudaLimitDevRuntimePendingLaunchCount")]
    PendingLaunchCount = sys::cudaLimitDevRuntimePendingLaunchCount.0,
    /// Fetch granularity of the L2 cache in bytes, 0 to 128. A hint.
    #[doc(alias = "cudaLimitMaxL2FetchGranularity")]
    MaxL2FetchGranularity = sys::cudaLimitMaxL2FetchGranularity.0,
    /// Size of the L2 cache area for persisting data, in bytes.
    #[doc(alias = "cudaLimitPersistingL2CacheSize")]
    PersistingL2CacheSize = sys::cudaLimitPersistingL2CacheSize.0,
}

impl Limit {
    /// Returns C's constant.
    pub(super) fn as_raw(self) -> sys::cudaLimit {
        sys::cudaLimit(self as u32)
    }
}
