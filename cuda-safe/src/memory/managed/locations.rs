//! The locations of the pages of managed memory, since CUDA 13.4.
#![expect(unsafe_code, reason = "has the runtime write its answers")]

use bytemuck::AnyBitPattern;

use super::super::location::MemoryLocation;
use super::super::memory_type::Managed;
use super::super::slice::Slice;
use super::ManagedBuffer;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

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
