//! Prefetches: managed memory migrated to where it will be used.
#![expect(unsafe_code, reason = "hands a managed range to the runtime")]

use std::panic::Location;

use bytemuck::AnyBitPattern;

use super::super::location::MemoryLocation;
use super::super::memory_type::Managed;
use super::super::slice::Slice;
use super::ManagedBuffer;
use crate::check;
use crate::error::Result;
use crate::hazard::Mode;
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

impl<T: AnyBitPattern> Slice<'_, T, Managed> {
    /// Prefetches this part's pages to a location in stream order, and returns at once. If the length is 0,
    /// does nothing.
    ///
    /// Stands for [`cudaMemPrefetchAsync`](sys::cudaMemPrefetchAsync).
    ///
    /// # Ordering
    /// Stream-ordered, and after work of other streams that writes the part. It counts as a read: later
    /// work that writes the part comes after it.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidDevice` or `cudaErrorInvalidValue` for a location that does not exist, or
    /// the failure of earlier work.
    #[doc(alias = "cudaMemPrefetchAsync")]
    #[doc(alias = "cudaMemPrefetchAsync_v2")]
    #[track_caller]
    pub fn prefetch_async(&self, to: MemoryLocation, stream: &impl AsStream) -> Result<()> {
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(());
        }
        let call_site = Location::caller();
        let access = [span.access(Mode::Read)];
        let (pointer, bytes, to) = (span.pointer().cast_const().cast(), span.bytes(), to.to_raw());
        let call = |raw| {
            #[cfg(cudart_13_0)]
            // SAFETY: the range is managed memory, whose owner waits for this before it frees it. The flags
            // must be 0. The stream is live.
            let prefetched = unsafe { check!(cudaMemPrefetchAsync(pointer, bytes, to, 0, raw)) };
            #[cfg(not(cudart_13_0))]
            // SAFETY: as above.
            let prefetched = unsafe { check!(cudaMemPrefetchAsync_v2(pointer, bytes, to, 0, raw)) };
            prefetched.map_err(|error| error.at(call_site))
        };
        // SAFETY: the operation is put on this stream. It changes only where the pages of these bytes are.
        unsafe { stream.as_stream().enqueue(&access, call) }
    }
}

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Prefetches the buffer's pages to a location in stream order, and returns at once. If the length is
    /// 0, does nothing.
    ///
    /// Stands for [`cudaMemPrefetchAsync`](sys::cudaMemPrefetchAsync).
    ///
    /// # Ordering
    /// Stream-ordered, and after work of other streams that writes the buffer. It counts as a read: later
    /// work that writes the buffer comes after it.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidDevice` or `cudaErrorInvalidValue` for a location that does not exist, or
    /// the failure of earlier work.
    #[doc(alias = "cudaMemPrefetchAsync")]
    #[doc(alias = "cudaMemPrefetchAsync_v2")]
    #[track_caller]
    pub fn prefetch_async(&self, to: MemoryLocation, stream: &impl AsStream) -> Result<()> {
        self.as_slice().prefetch_async(to, stream)
    }
}
