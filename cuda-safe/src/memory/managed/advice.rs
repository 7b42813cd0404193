//! Hints about the use and the location of managed memory: advice, and prefetches to where it will be used.
#![expect(unsafe_code, reason = "hands managed ranges to the runtime")]

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
use crate::sys;

/// Advice about the use of managed memory. It also applies to pages that are only partly in the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Mostly read: each device that reads a page gets its own copy. A write discards the copies.
    #[doc(alias = "cudaMemAdviseSetReadMostly")]
    SetReadMostly,
    /// No longer mostly read.
    #[doc(alias = "cudaMemAdviseUnsetReadMostly")]
    UnsetReadMostly,
    /// Preferred at this location: pages stay there as long as the devices that use them can reach it.
    #[doc(alias = "cudaMemAdviseSetPreferredLocation")]
    SetPreferredLocation(MemoryLocation),
    /// No longer preferred at a location: pages migrate to where they are used.
    #[doc(alias = "cudaMemAdviseUnsetPreferredLocation")]
    UnsetPreferredLocation,
    /// Used from this location: pages are mapped there, so that accesses from there never fault.
    #[doc(alias = "cudaMemAdviseSetAccessedBy")]
    SetAccessedBy(MemoryLocation),
    /// No longer used from this location.
    #[doc(alias = "cudaMemAdviseUnsetAccessedBy")]
    UnsetAccessedBy(MemoryLocation),
}

impl Advice {
    /// Returns C's values. Advice without a location has the host's.
    fn to_raw(self) -> (sys::cudaMemoryAdvise, sys::cudaMemLocation) {
        let nowhere = MemoryLocation::Host;
        let (advice, place) = match self {
            Self::SetReadMostly => (sys::cudaMemAdviseSetReadMostly, nowhere),
            Self::UnsetReadMostly => (sys::cudaMemAdviseUnsetReadMostly, nowhere),
            Self::SetPreferredLocation(place) => (sys::cudaMemAdviseSetPreferredLocation, place),
            Self::UnsetPreferredLocation => (sys::cudaMemAdviseUnsetPreferredLocation, nowhere),
            Self::SetAccessedBy(place) => (sys::cudaMemAdviseSetAccessedBy, place),
            Self::UnsetAccessedBy(place) => (sys::cudaMemAdviseUnsetAccessedBy, place),
        };
        (advice, place.to_raw())
    }
}

impl<T: AnyBitPattern> Slice<'_, T, Managed> {
    /// Advises the runtime about the use of this part. Takes effect at once, whatever work is pending on
    /// it. If the length is 0, does nothing.
    ///
    /// Stands for [`cudaMemAdvise`](sys::cudaMemAdvise).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` for a location that the advice does not support, such as a NUMA node
    /// if only devices are possible.
    #[doc(alias = "cudaMemAdvise")]
    #[doc(alias = "cudaMemAdvise_v2")]
    #[track_caller]
    pub fn advise(&self, advice: Advice) -> Result<()> {
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(());
        }
        let (advice, place) = advice.to_raw();
        let _current = span.device().switch()?;
        let (pointer, bytes) = (span.pointer().cast_const().cast(), span.bytes());
        #[cfg(cudart_13_0)]
        // SAFETY: the range is borrowed managed memory. Advice changes only where its pages are.
        let advised = unsafe { check!(cudaMemAdvise(pointer, bytes, advice, place)) };
        #[cfg(not(cudart_13_0))]
        // SAFETY: as above.
        let advised = unsafe { check!(cudaMemAdvise_v2(pointer, bytes, advice, place)) };
        advised
    }

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
    /// Advises the runtime about the use of the buffer. Takes effect at once, whatever work is pending on
    /// it. If the length is 0, does nothing.
    ///
    /// Stands for [`cudaMemAdvise`](sys::cudaMemAdvise).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` for a location that the advice does not support, such as a NUMA node
    /// if only devices are possible.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::memory::managed::Advice;
    /// use cuda_safe::memory::{ManagedBuffer, MemoryLocation};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let table = ManagedBuffer::from_slice(&[1.0_f32; 1024])?;
    /// table.advise(Advice::SetReadMostly)?;
    /// table.slice(..512)?.advise(Advice::SetPreferredLocation(MemoryLocation::Device(Device::current()?)))?;
    /// assert!(table.range_attributes()?.read_mostly);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMemAdvise")]
    #[doc(alias = "cudaMemAdvise_v2")]
    #[track_caller]
    pub fn advise(&self, advice: Advice) -> Result<()> {
        self.as_slice().advise(advice)
    }

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
