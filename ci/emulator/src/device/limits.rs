//! The limits of a device that a program may set. The size of the device heap is kept with the heap itself.

use std::ops::RangeInclusive;

use super::attribute;
use crate::sys::*;

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

/// The most local memory that a thread may have: an H200 takes this, and an H100 does not take 512 KiB.
const LARGEST_STACK: usize = (512 << 10) - 1024;

/// The least and the most bytes of the buffer of `printf`, and launches that may be pending. An H200 takes
/// any value, but keeps one within these ranges, and whole pieces for `printf`.
const PRINTF: RangeInclusive<usize> = 512 << 10..=2 << 30;
const PRINTF_STEP: usize = 256;
const LAUNCHES: RangeInclusive<usize> = 32..=599_186;

/// Bytes of persisting cache come in steps of this. An H200 takes 1 byte and 1 MiB, but keeps neither.
const PERSISTING_STEP: usize = 2 << 20;

fn nearest(value: usize, range: RangeInclusive<usize>) -> usize {
    value.clamp(*range.start(), *range.end())
}

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
            it if it == cudaLimitPrintfFifoSize => {
                (&mut self.printf, nearest(value, PRINTF).next_multiple_of(PRINTF_STEP))
            }
            it if it == cudaLimitDevRuntimePendingLaunchCount => {
                (&mut self.launches, nearest(value, LAUNCHES))
            }
            it if it == cudaLimitMaxL2FetchGranularity && value <= 128 => (&mut self.fetch, value),
            it if it == cudaLimitPersistingL2CacheSize && value <= most_persisting() => {
                (&mut self.persisting, value.next_multiple_of(PERSISTING_STEP))
            }
            _ => return false,
        };
        *place = value;
        true
    }
}

fn most_persisting() -> usize {
    let most = attribute(cudaDevAttrMaxPersistingL2CacheSize, 0);
    most.and_then(|most| usize::try_from(most).ok()).unwrap_or(0)
}

/// Limits that exist in the headers but not on devices of this generation.
pub(crate) fn unsupported(limit: cudaLimit) -> bool {
    limit == cudaLimitDevRuntimeSyncDepth
}
