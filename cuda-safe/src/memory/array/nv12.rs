//! Images of the format NV12: two planes in one array.
#![expect(unsafe_code, reason = "asks the runtime for the planes")]

use std::sync::Arc;

use super::region::SubArray;
use super::view::{ArrayView, ArrayViewMut};
use crate::device::Device;
use crate::error::Result;
use crate::memory::allocation::Allocation;
use crate::memory::retain::retained;
use crate::{check, sys};

/// An array of the format NV12, freed when it is dropped: a plane of brightness, and a plane of colour with
/// half its width and height and two numbers in each element.
///
/// [`ArrayBuilder::nv12`](super::ArrayBuilder::nv12) makes it. Copies take the planes as they take arrays.
#[derive(Debug)]
pub struct Nv12Array {
    allocation: Arc<Allocation>,
    luma: SubArray,
    chroma: SubArray,
}

impl Nv12Array {
    /// Returns the owner of an allocation. If the query of a plane fails, the allocation is freed again.
    #[track_caller]
    pub(super) fn new(allocation: Allocation, [width, height]: [usize; 2]) -> Result<Self> {
        let allocation = retained(allocation);
        let raw = {
            let _current = allocation.on().switch()?;
            let plane = |index| {
                let mut raw = std::ptr::null_mut();
                // SAFETY: the array is live. The pointer is to a live variable, which the call fills.
                unsafe { check!(cudaArrayGetPlane(&raw mut raw, allocation.pointer().cast(), index)) }?;
                crate::Result::Ok(raw)
            };
            [plane(0)?, plane(1)?]
        };
        let [luma, chroma] = raw;
        Ok(Self {
            luma: SubArray { raw: luma, extent: [width, height, 1], base: 0 },
            chroma: SubArray { raw: chroma, extent: [width / 2, height / 2, 1], base: width * height },
            allocation,
        })
    }

    /// Views the plane of brightness.
    ///
    /// Stands for [`cudaArrayGetPlane`](sys::cudaArrayGetPlane).
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn luma(&self) -> ArrayView<'_, u8> {
        ArrayView::new(self.luma.region(&self.allocation))
    }

    /// Views the plane of colour.
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn chroma(&self) -> ArrayView<'_, [u8; 2]> {
        ArrayView::new(self.chroma.region(&self.allocation))
    }

    /// Views both planes for writing, brightness first. Different streams may write them at the same time.
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn planes_mut(&mut self) -> (ArrayViewMut<'_, u8>, ArrayViewMut<'_, [u8; 2]>) {
        (
            ArrayViewMut::new(self.luma.region(&self.allocation)),
            ArrayViewMut::new(self.chroma.region(&self.allocation)),
        )
    }

    /// Returns the device of the array.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// Returns the handle. The tracker does not see accesses through it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaArray_t {
        self.allocation.pointer().cast()
    }

    /// Waits for the work that still uses the array, and frees it. Unlike a drop, this returns the error.
    ///
    /// # Errors
    /// Returns the failure of work that used the array, or the runtime's error.
    #[doc(alias = "cudaFreeArray")]
    #[track_caller]
    pub fn free(mut self) -> Result<()> {
        Arc::get_mut(&mut self.allocation).map_or(Ok(()), Allocation::free)
    }
}
