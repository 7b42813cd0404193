//! Prefetches: managed memory brought to where it will be used.
#![expect(unsafe_code, reason = "hands a managed range to the runtime")]

use std::panic::Location;

use bytemuck::AnyBitPattern;

use super::super::location::MemoryLocation;
use super::super::place::Managed;
use super::super::slice::Slice;
use super::ManagedBuffer;
use crate::check;
use crate::error::Result;
use crate::hazard::Mode;
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

impl<T: AnyBitPattern> Slice<'_, T, Managed> {
    /// Gives a stream the task of bringing this part's pages to a place, and returns. No elements, no call.
    ///
    /// Stands for [`cudaMemPrefetchAsync`](sys::cudaMemPrefetchAsync).
    ///
    /// # Ordering
    /// In the order of the stream, and after work that writes the part on other streams. It counts as a read: work that
    /// writes the part later comes after it.
    ///
    /// # Errors
    /// `cudaErrorInvalidDevice` or `cudaErrorInvalidValue` for a place that is none; what earlier work failed with.
    #[doc(alias = "cudaMemPrefetchAsync")]
    #[doc(alias = "cudaMemPrefetchAsync_v2")]
    #[track_caller]
    pub fn prefetch_async(&self, to: MemoryLocation, stream: &impl AsStream) -> Result<()> {
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(());
        }
        let place = Location::caller();
        let access = [span.access(Mode::Read)];
        let (pointer, bytes, to) = (span.pointer().cast_const().cast(), span.bytes(), to.to_raw());
        let call = |raw| {
            #[cfg(cudart_13_0)]
            // SAFETY: the range is managed memory, whose owner waits for this before it frees; the flags must be 0; the stream is live.
            let prefetched = unsafe { check!(cudaMemPrefetchAsync(pointer, bytes, to, 0, raw)) };
            #[cfg(not(cudart_13_0))]
            // SAFETY: as above.
            let prefetched = unsafe { check!(cudaMemPrefetchAsync_v2(pointer, bytes, to, 0, raw)) };
            prefetched.map_err(|error| error.at(place))
        };
        // SAFETY: the operation changes nothing but where the pages of these bytes are, and is put on this stream.
        unsafe { stream.as_stream().enqueue(&access, call) }
    }
}

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Gives a stream the task of bringing the buffer's pages to a place, and returns. No elements, no call.
    ///
    /// Stands for [`cudaMemPrefetchAsync`](sys::cudaMemPrefetchAsync).
    ///
    /// # Ordering
    /// In the order of the stream, and after work that writes the buffer on other streams. It counts as a read: work that
    /// writes the buffer later comes after it.
    ///
    /// # Errors
    /// `cudaErrorInvalidDevice` or `cudaErrorInvalidValue` for a place that is none; what earlier work failed with.
    #[doc(alias = "cudaMemPrefetchAsync")]
    #[doc(alias = "cudaMemPrefetchAsync_v2")]
    #[track_caller]
    pub fn prefetch_async(&self, to: MemoryLocation, stream: &impl AsStream) -> Result<()> {
        self.as_slice().prefetch_async(to, stream)
    }
}
