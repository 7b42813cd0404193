//! Where the pages of managed memory are: from CUDA 13.4 on.
#![expect(unsafe_code, reason = "has the runtime write its answers")]

use bytemuck::AnyBitPattern;

use super::super::location::MemoryLocation;
use super::super::place::Managed;
use super::super::slice::Slice;
use super::ManagedBuffer;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

impl<T: AnyBitPattern> Slice<'_, T, Managed> {
    /// Where the pages of this part are, one answer for every `summary` bytes of it; none for those that are nowhere yet. The last
    /// answer is about what is left. No elements, no answers, and no call.
    ///
    /// Of each `summary` bytes every `sampling` bytes are looked at, and the place that most of these are at is the answer; with
    /// 0 the runtime chooses how many it looks at. Pages move, so the answer may be out of date when it is read.
    ///
    /// Stands for [`cudaMemGetLocationInfo`](sys::cudaMemGetLocationInfo), which CUDA 13.4 brought.
    ///
    /// # Errors
    /// A refusal where `summary` is 0 or more than this part has, with both numbers, or `sampling` more than `summary`. What the
    /// runtime reports, which may be the failure of earlier work.
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
        // SAFETY: the range is borrowed managed memory, and the list has an element for each answer about it.
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
            // SAFETY: all that the number shares its bytes with is plain data, and the call, or the default, has set them.
            let id = unsafe { raw.__bindgen_anon_1.id };
            MemoryLocation::from_parts(i32::try_from(raw.type_.0).ok()?, id)
        };
        Ok(found.into_iter().map(place).collect())
    }
}

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Where the pages of the buffer are, as [`Slice::locations`] answers.
    ///
    /// # Errors
    /// As [`Slice::locations`].
    #[doc(alias = "cudaMemGetLocationInfo")]
    #[track_caller]
    pub fn locations(&self, summary: usize, sampling: usize) -> Result<Vec<Option<MemoryLocation>>> {
        self.as_slice().locations(summary, sampling)
    }
}
