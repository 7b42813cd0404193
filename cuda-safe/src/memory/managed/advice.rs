//! Hints about the use and the location of managed memory (advice, and prefetches to where it will be used),
//! and what is known about its pages.
#![expect(unsafe_code, reason = "hands managed ranges to the runtime, and has it write its answers")]

use std::ffi::c_int;
use std::panic::Location;

use bytemuck::AnyBitPattern;

use super::super::buffer::Slice;
use super::super::location::MemoryLocation;
use super::super::memory_type::Managed;
use crate::device::Device;
use crate::error::Result;
#[cfg(cudart_13_4)]
use crate::error::{Detail, ensure};
use crate::hazard::Mode;
#[cfg(cudart_13_4)]
use crate::memory::size::{self, wide};
use crate::stream::AsStream;
use crate::{check, sys};

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
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::memory::managed::Advice;
    /// use cuda_safe::memory::{ManagedBuffer, MemoryLocation};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let table = ManagedBuffer::from_slice(&[1.0_f32; 1024])?;
    /// table.as_slice().advise(Advice::SetReadMostly)?;
    /// table.slice(..512)?.advise(Advice::SetPreferredLocation(MemoryLocation::Device(Device::current()?)))?;
    /// assert!(table.as_slice().range_attributes()?.read_mostly);
    /// # Ok(())
    /// # }
    /// ```
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
        // SAFETY: the range is borrowed managed memory. Advice changes only where its pages are.
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
            // SAFETY: the range is managed memory, whose owner waits for this before it frees it. The flags
            // must be 0. The stream is live.
            let prefetched = unsafe { check!(cudaMemPrefetchAsync_v2(pointer, bytes, to, 0, raw)) };
            prefetched.map_err(|error| error.at(call_site))
        };
        // SAFETY: the operation is put on this stream. It changes only where the pages of these bytes are.
        unsafe { stream.as_stream().enqueue(&access, call) }
    }

    /// Returns the attributes of this part. If the length is 0, returns none and does not call the runtime.
    ///
    /// Stands for [`cudaMemRangeGetAttributes`](sys::cudaMemRangeGetAttributes) with all of the attributes.
    ///
    /// # Errors
    /// Returns the runtime's error, which may be the failure of earlier work.
    #[doc(alias = "cudaMemRangeGetAttributes")]
    #[track_caller]
    pub fn range_attributes(&self) -> Result<RangeAttributes> {
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(RangeAttributes::default());
        }
        let mut answers: [c_int; 5] = [0; 5];
        // One for each device, and one for the host.
        let places = Device::count()? + 1;
        let mut accessed_by: Vec<c_int> = vec![sys::cudaInvalidDeviceId; places];
        let [a, b, c, d, e] = answers.each_mut().map(|answer| std::ptr::from_mut(answer).cast());
        let mut data = [a, b, c, d, e, accessed_by.as_mut_ptr().cast()];
        let one = size_of::<c_int>();
        let mut sizes = [one, one, one, one, one, places * one];
        let mut attributes = [
            sys::cudaMemRangeAttributeReadMostly,
            sys::cudaMemRangeAttributePreferredLocationType,
            sys::cudaMemRangeAttributePreferredLocationId,
            sys::cudaMemRangeAttributeLastPrefetchLocationType,
            sys::cudaMemRangeAttributeLastPrefetchLocationId,
            sys::cudaMemRangeAttributeAccessedBy,
        ];
        let _current = span.device().switch()?;
        // SAFETY: the three lists have `attributes.len()` elements each: pointers to live variables, their
        // sizes, and the attribute for each. The range is borrowed managed memory.
        unsafe {
            check!(cudaMemRangeGetAttributes(
                data.as_mut_ptr(),
                sizes.as_mut_ptr(),
                attributes.as_mut_ptr(),
                attributes.len(),
                span.pointer().cast_const().cast(),
                span.bytes()
            ))
        }?;
        let [read_mostly, preferred_type, preferred_id, prefetched_type, prefetched_id] = answers;
        Ok(RangeAttributes {
            read_mostly: read_mostly != 0,
            preferred_location: MemoryLocation::from_parts(preferred_type, preferred_id),
            accessed_by: accessed_by.into_iter().filter_map(MemoryLocation::from_number).collect(),
            last_prefetch_location: MemoryLocation::from_parts(prefetched_type, prefetched_id),
        })
    }

    /// Returns the location to which all of this part was last prefetched: a device, or the host.
    ///
    /// Stands for [`cudaMemRangeGetAttribute`](sys::cudaMemRangeGetAttribute) with
    /// `cudaMemRangeAttributeLastPrefetchLocation`.
    ///
    /// # Errors
    /// As [`range_attributes`](Self::range_attributes).
    #[doc(alias = "cudaMemRangeGetAttribute")]
    #[track_caller]
    pub fn last_prefetch_location(&self) -> Result<Option<MemoryLocation>> {
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(None);
        }
        let mut answer: c_int = 0;
        let _current = span.device().switch()?;
        // SAFETY: the first pointer is to a live variable of the given size. The range is borrowed managed
        // memory.
        unsafe {
            check!(cudaMemRangeGetAttribute(
                (&raw mut answer).cast(),
                size_of::<c_int>(),
                sys::cudaMemRangeAttributeLastPrefetchLocation,
                span.pointer().cast_const().cast(),
                span.bytes()
            ))
        }?;
        Ok(MemoryLocation::from_number(answer))
    }
}

/// Attributes that all pages of a range of managed memory have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeAttributes {
    /// Whether all pages are advised as mostly read.
    pub read_mostly: bool,
    /// The preferred location of all pages.
    pub preferred_location: Option<MemoryLocation>,
    /// The locations from which all pages are advised to be used.
    pub accessed_by: Vec<MemoryLocation>,
    /// The location to which all pages were last prefetched. They need not be there any more.
    pub last_prefetch_location: Option<MemoryLocation>,
}

#[cfg(cudart_13_4)]
impl<T: AnyBitPattern> Slice<'_, T, Managed> {
    /// Returns the location of the pages of this part: one entry for every `summary` bytes, the last of
    /// which is for the rest. An entry is `None` if its pages have no location yet. If the length is 0,
    /// returns an empty list and does not call the runtime.
    ///
    /// In each `summary` bytes, the runtime takes a sample every `sampling` bytes, and the entry is the
    /// location of most samples. If `sampling` is 0, the runtime chooses the number of samples. Pages
    /// migrate, so the result may be out of date when it is read.
    ///
    /// Stands for [`cudaMemGetLocationInfo`](sys::cudaMemGetLocationInfo), which is new in CUDA 13.4.
    ///
    /// # Errors
    /// - A refusal if `summary` is 0.
    /// - A refusal with both numbers if `summary` is more than the bytes of this part, or `sampling` more
    ///   than `summary`.
    /// - The runtime's error, which may be the failure of earlier work.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::ManagedBuffer;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let buffer = ManagedBuffer::from_slice(&vec![1_u8; 8 << 20])?;
    /// for (number, place) in buffer.slice(..)?.locations(2 << 20, 0)?.into_iter().enumerate() {
    ///     println!("most of part {number} is at {place:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMemGetLocationInfo")]
    #[track_caller]
    pub fn locations(&self, summary: usize, sampling: usize) -> Result<Vec<Option<MemoryLocation>>> {
        const API: &str = "Slice::locations";
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(Vec::new());
        }
        let what = "the bytes that one answer is about";
        ensure(summary > 0, API, || Detail::zero(what))?;
        size::at_most(API, what, wide(summary), wide(span.bytes()))?;
        size::at_most(API, "the bytes from one sample to the next", wide(sampling), wide(summary))?;
        let mut found = vec![sys::cudaMemLocation::default(); span.bytes().div_ceil(summary)];
        let _current = span.device().switch()?;
        // SAFETY: the range is borrowed managed memory, and the list has an element for each entry of the
        // result.
        unsafe {
            check!(cudaMemGetLocationInfo(
                span.pointer().cast(),
                span.bytes(),
                summary,
                sampling,
                found.as_mut_ptr()
            ))
        }?;
        let place = |raw: sys::cudaMemLocation| {
            // SAFETY: all fields of the union are plain data, which the call or the default has
            // initialised.
            let id = unsafe { raw.__bindgen_anon_1.id };
            MemoryLocation::from_parts(i32::try_from(raw.type_.0).ok()?, id)
        };
        Ok(found.into_iter().map(place).collect())
    }
}
