//! The attributes of ranges of managed memory, and the locations of their pages.
#![expect(unsafe_code, reason = "has the runtime write its answers")]

use std::ffi::c_int;

use bytemuck::AnyBitPattern;

use super::super::location::MemoryLocation;
use super::super::memory_type::Managed;
use super::super::slice::Slice;
use super::ManagedBuffer;
use crate::check;
use crate::device::Device;
use crate::error::Result;
#[cfg(cudart_13_4)]
use crate::error::{Detail, Error};
use crate::sys;

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

impl<T: AnyBitPattern> Slice<'_, T, Managed> {
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
        let (mut read_mostly, mut preferred, mut prefetched) = (0, [0; 2], [0; 2]);
        let [preferred_type, preferred_id]: &mut [c_int; 2] = &mut preferred;
        let [prefetched_type, prefetched_id]: &mut [c_int; 2] = &mut prefetched;
        // One for each device, and one for the host.
        let places = usize::try_from(Device::count()?).unwrap_or(0) + 1;
        let mut accessed_by: Vec<c_int> = vec![sys::cudaInvalidDeviceId; places];
        let one = size_of::<c_int>();
        let mut data = [
            (&raw mut read_mostly).cast(),
            (&raw mut *preferred_type).cast(),
            (&raw mut *preferred_id).cast(),
            (&raw mut *prefetched_type).cast(),
            (&raw mut *prefetched_id).cast(),
            accessed_by.as_mut_ptr().cast(),
        ];
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
        Ok(RangeAttributes {
            read_mostly: read_mostly != 0,
            preferred_location: MemoryLocation::from_parts(preferred[0], preferred[1]),
            accessed_by: accessed_by.into_iter().filter_map(MemoryLocation::from_number).collect(),
            last_prefetch_location: MemoryLocation::from_parts(prefetched[0], prefetched[1]),
        })
    }

    /// Returns whether all of this part is advised as mostly read.
    ///
    /// Stands for [`cudaMemRangeGetAttribute`](sys::cudaMemRangeGetAttribute) with
    /// `cudaMemRangeAttributeReadMostly`.
    ///
    /// # Errors
    /// As [`range_attributes`](Self::range_attributes).
    #[doc(alias = "cudaMemRangeGetAttribute")]
    #[track_caller]
    pub fn is_read_mostly(&self) -> Result<bool> {
        Ok(self.number(sys::cudaMemRangeAttributeReadMostly)? == Some(1))
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
        let number = self.number(sys::cudaMemRangeAttributeLastPrefetchLocation)?;
        Ok(number.and_then(MemoryLocation::from_number))
    }

    /// Returns an attribute that is one number, or `None` if the length is 0.
    #[track_caller]
    fn number(&self, attribute: sys::cudaMemRangeAttribute) -> Result<Option<c_int>> {
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
                attribute,
                span.pointer().cast_const().cast(),
                span.bytes()
            ))
        }?;
        Ok(Some(answer))
    }
}

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Returns the attributes of the buffer. If the length is 0, returns none and does not call the
    /// runtime.
    ///
    /// Stands for [`cudaMemRangeGetAttributes`](sys::cudaMemRangeGetAttributes) with all of the attributes.
    ///
    /// # Errors
    /// Returns the runtime's error, which may be the failure of earlier work.
    #[doc(alias = "cudaMemRangeGetAttributes")]
    #[track_caller]
    pub fn range_attributes(&self) -> Result<RangeAttributes> {
        self.as_slice().range_attributes()
    }
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
        if summary == 0 {
            return Err(Error::refused(API, Detail::Zero { what: "the bytes that one answer is about" }));
        }
        for (what, asked, limit) in [
            ("the bytes that one answer is about", summary, span.bytes()),
            ("the bytes from one sample to the next", sampling, summary),
        ] {
            if asked > limit {
                let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
                let (asked, limit) = (wide(asked), wide(limit));
                return Err(Error::refused(API, Detail::Limit { what, asked, limit }));
            }
        }
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

#[cfg(cudart_13_4)]
impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Returns the location of the buffer's pages. See [`Slice::locations`].
    ///
    /// # Errors
    /// As [`Slice::locations`].
    #[doc(alias = "cudaMemGetLocationInfo")]
    #[track_caller]
    pub fn locations(&self, summary: usize, sampling: usize) -> Result<Vec<Option<MemoryLocation>>> {
        self.as_slice().locations(summary, sampling)
    }
}
