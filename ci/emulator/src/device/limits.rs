//! The limits of a device that a program may set. The size of the device heap is kept with the heap itself.

use crate::sys::{
    cudaLimit, cudaLimitDevRuntimePendingLaunchCount, cudaLimitDevRuntimeSyncDepth,
    cudaLimitMaxL2FetchGranularity, cudaLimitPersistingL2CacheSize, cudaLimitPrintfFifoSize,
    cudaLimitStackSize,
};

/// The limits of one device, in bytes or counts as CUDA has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    stack: usize,
    printf: usize,
    launches: usize,
    fetch: usize,
    persisting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { stack: 1024, printf: 1 << 20, launches: 2048, fetch: 64, persisting: 0 }
    }
}

/// The most local memory that a thread may have.
const LARGEST_STACK: usize = 512 << 10;

impl Limits {
    /// The value of a limit; `None` if there is no such limit.
    pub(crate) fn get(&self, limit: cudaLimit) -> Option<usize> {
        Some(match limit {
            it if it == cudaLimitStackSize => self.stack,
            it if it == cudaLimitPrintfFifoSize => self.printf,
            it if it == cudaLimitDevRuntimePendingLaunchCount => self.launches,
            it if it == cudaLimitMaxL2FetchGranularity => self.fetch,
            it if it == cudaLimitPersistingL2CacheSize => self.persisting,
            _ => return None,
        })
    }

    /// Sets a limit; whether there is such a limit and the value is possible.
    pub(crate) fn set(&mut self, limit: cudaLimit, value: usize) -> bool {
        let (place, value) = match limit {
            it if it == cudaLimitStackSize && value <= LARGEST_STACK => {
                (&mut self.stack, value.next_multiple_of(16))
            }
            it if it == cudaLimitPrintfFifoSize => (&mut self.printf, value),
            it if it == cudaLimitDevRuntimePendingLaunchCount => (&mut self.launches, value),
            it if it == cudaLimitMaxL2FetchGranularity && value <= 128 => (&mut self.fetch, value),
            it if it == cudaLimitPersistingL2CacheSize => (&mut self.persisting, value),
            _ => return false,
        };
        *place = value;
        true
    }
}

/// Limits that exist in the headers but not on devices of this generation.
pub(crate) fn unsupported(limit: cudaLimit) -> bool {
    limit == cudaLimitDevRuntimeSyncDepth
}
