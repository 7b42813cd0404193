//! Images of the format NV12: two planes in one array.
#![expect(unsafe_code, reason = "asks the runtime for the planes")]

use std::sync::Arc;

use super::region::Region;
use super::view::{ArrayView, ArrayViewMut};
use crate::device::Device;
use crate::error::Result;
use crate::memory::allocation::Allocation;
use crate::memory::retain::retained;
use crate::{check, sys};

/// An array of the format NV12, freed when it is dropped: a plane of brightness, and one of half its width and height with two
/// numbers of colour an element.
///
/// [`ArrayBuilder::nv12`](super::ArrayBuilder::nv12) makes it. The planes are copied to and from as arrays are.
#[derive(Debug)]
pub struct Nv12Array {
    allocation: Arc<Allocation>,
    luma: Nv12Plane,
    chroma: Nv12Plane,
}

/// One of the planes.
#[derive(Clone, Copy, Debug)]
struct Nv12Plane {
    raw: sys::cudaArray_t,
    extent: [usize; 3],
    /// The first byte in the ledger.
    base: usize,
}

// SAFETY: the handles are of arrays that live as long as the allocation, and may be used from any thread.
unsafe impl Send for Nv12Plane {}
// SAFETY: as above.
unsafe impl Sync for Nv12Plane {}

impl Nv12Array {
    /// The owner of what was made. Where a plane cannot be had, what was made is freed again.
    #[track_caller]
    pub(super) fn new(allocation: Allocation, [width, height]: [usize; 2]) -> Result<Self> {
        let allocation = retained(allocation);
        let raw = {
            let _current = allocation.on().switch()?;
            let plane = |index| {
                let mut raw = std::ptr::null_mut();
                // SAFETY: the array is live; the pointer is to a live variable, which the call fills.
                unsafe { check!(cudaArrayGetPlane(&raw mut raw, allocation.pointer().cast(), index)) }?;
                crate::Result::Ok(raw)
            };
            [plane(0)?, plane(1)?]
        };
        let [luma, chroma] = raw;
        Ok(Self {
            luma: Nv12Plane { raw: luma, extent: [width, height, 1], base: 0 },
            chroma: Nv12Plane { raw: chroma, extent: [width / 2, height / 2, 1], base: width * height },
            allocation,
        })
    }

    fn region<T>(&self, plane: Nv12Plane) -> Region<'_, T> {
        Region::whole(&self.allocation, plane.raw, plane.base, plane.extent)
    }

    /// Views the plane of brightness.
    ///
    /// Stands for [`cudaArrayGetPlane`](sys::cudaArrayGetPlane).
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn luma(&self) -> ArrayView<'_, u8> {
        ArrayView::new(self.region(self.luma))
    }

    /// Views the plane of colour.
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn chroma(&self) -> ArrayView<'_, [u8; 2]> {
        ArrayView::new(self.region(self.chroma))
    }

    /// Views both planes, brightness first, so that they may be written, by different streams at once.
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn planes_mut(&mut self) -> (ArrayViewMut<'_, u8>, ArrayViewMut<'_, [u8; 2]>) {
        (ArrayViewMut::new(self.region(self.luma)), ArrayViewMut::new(self.region(self.chroma)))
    }

    /// The device that the array is of.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// The handle. What is done through it is not in the books.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaArray_t {
        self.allocation.pointer().cast()
    }

    /// Waits for the work that still uses the array and frees it: what a drop does, with the error.
    ///
    /// # Errors
    /// The failure of work that used the array, or of the call.
    #[doc(alias = "cudaFreeArray")]
    #[track_caller]
    pub fn free(mut self) -> Result<()> {
        Arc::get_mut(&mut self.allocation).map_or(Ok(()), Allocation::free)
    }
}
