//! Owned arrays with smaller versions of themselves.
#![expect(unsafe_code, reason = "asks the runtime for the levels")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::element::ArrayElement;
use super::info::{ArrayFlags, ArrayInfo, ArrayKind, bytes_of};
use super::region::{Region, SubArray};
use super::view::{ArrayView, ArrayViewMut};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::Access;
use crate::memory::allocation::Allocation;
use crate::memory::retain::retained;
use crate::{check, sys};

/// A mipmapped CUDA array of elements `T`, freed with all its levels when it is dropped.
///
/// [`ArrayBuilder::mipmapped`](super::ArrayBuilder::mipmapped) makes it. Level 0 is the largest. Copies
/// take each level as they take an array. Work on one level is not ordered with work on another.
#[doc(alias = "cudaMipmappedArray_t")]
pub struct MipmappedArray<T> {
    allocation: Arc<Allocation>,
    kind: ArrayKind,
    flags: ArrayFlags,
    levels: Vec<SubArray>,
    elements: PhantomData<T>,
}

/// Returns the extent of a level.
fn extent_of(kind: ArrayKind, [width, height, depth]: [usize; 3], level: u32) -> [usize; 3] {
    let half = |size: usize| size.checked_shr(level).unwrap_or(0).max(1);
    [half(width), half(height), if kind.is_layered() { depth } else { half(depth) }]
}

/// Returns the number of levels down to one element.
fn most(kind: ArrayKind, [width, height, depth]: [usize; 3]) -> u32 {
    let longest = width.max(height).max(if kind.is_layered() { 1 } else { depth });
    longest.checked_ilog2().unwrap_or(0) + 1
}

impl<T: ArrayElement> MipmappedArray<T> {
    /// Returns the bytes of the elements of all levels.
    #[track_caller]
    pub(super) fn bytes(
        api: &'static str,
        kind: ArrayKind,
        extent: [usize; 3],
        levels: u32,
    ) -> Result<usize> {
        bytes_of::<T>(api, extent)?;
        let most = most(kind, extent);
        if levels == 0 {
            return Err(Error::refused(api, Detail::Zero { what: "the number of levels" }));
        }
        if levels > most {
            let (asked, limit) = (u64::from(levels), u64::from(most));
            return Err(Error::refused(api, Detail::Limit { what: "the number of levels", asked, limit }));
        }
        let mut bytes = 0_usize;
        for level in 0..levels {
            let right = bytes_of::<T>(api, extent_of(kind, extent, level))?;
            bytes = bytes.checked_add(right).ok_or_else(|| {
                Error::refused(api, Detail::Overflow { what: "the size in bytes", left: bytes, right })
            })?;
        }
        Ok(bytes)
    }

    /// Returns the owner of an allocation that was made with `levels` levels. If the query of a level
    /// fails, the allocation is freed again.
    #[track_caller]
    pub(super) fn new(
        allocation: Allocation,
        kind: ArrayKind,
        extent: [usize; 3],
        flags: ArrayFlags,
        levels: u32,
    ) -> Result<Self> {
        let mut made =
            Self { allocation: retained(allocation), kind, flags, levels: Vec::new(), elements: PhantomData };
        let _current = made.device().switch()?;
        let mut base = 0;
        for level in 0..levels {
            let mut raw = std::ptr::null_mut();
            // SAFETY: the mipmapped array is live. The pointer is to a live variable, which the call fills.
            unsafe { check!(cudaGetMipmappedArrayLevel(&raw mut raw, made.as_raw().cast_const(), level)) }?;
            let extent = extent_of(kind, extent, level);
            made.levels.push(SubArray { raw, extent, base });
            // Cannot overflow: `bytes` has computed the same sum before.
            base += bytes_of::<T>("MipmappedArray", extent)?;
        }
        Ok(made)
    }

    /// Views a level. Level 0 is the largest.
    ///
    /// Stands for [`cudaGetMipmappedArrayLevel`](sys::cudaGetMipmappedArrayLevel).
    ///
    /// # Errors
    /// Refused if there is no such level.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::{ArrayBuilder, MipmappedArray};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let image: MipmappedArray<u8> = ArrayBuilder::plane(64, 64).mipmapped(7)?;
    /// assert_eq!((image.levels(), image.level(6)?.width(), image.info(1)?.width), (7, 1, 32));
    /// image.free()?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGetMipmappedArrayLevel")]
    #[track_caller]
    pub fn level(&self, level: usize) -> Result<ArrayView<'_, T>> {
        Ok(ArrayView::new(self.region("MipmappedArray::level", level)?))
    }

    /// Views a level for writing. Level 0 is the largest.
    ///
    /// # Errors
    /// Refused if there is no such level.
    #[doc(alias = "cudaGetMipmappedArrayLevel")]
    #[track_caller]
    pub fn level_mut(&mut self, level: usize) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region("MipmappedArray::level_mut", level)?))
    }

    /// Views all levels for writing. Different streams may write them at the same time.
    pub fn levels_mut(&mut self) -> impl ExactSizeIterator<Item = ArrayViewMut<'_, T>> {
        self.levels.iter().map(|level| ArrayViewMut::new(level.region(&self.allocation)))
    }

    #[track_caller]
    fn region(&self, api: &'static str, level: usize) -> Result<Region<'_, T>> {
        let found = self.levels.get(level).ok_or_else(|| {
            let (start, end, len) = (level, level.saturating_add(1), self.levels.len());
            Error::refused(api, Detail::OutOfRange { start, end, len })
        })?;
        Ok(found.region(&self.allocation))
    }

    /// Returns the properties of a level that the runtime reports.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused if there is no such level.
    #[doc(alias = "cudaArrayGetInfo")]
    #[track_caller]
    pub fn info(&self, level: usize) -> Result<ArrayInfo> {
        let region = self.region("MipmappedArray::info", level)?;
        // SAFETY: the level lives as long as the borrow.
        unsafe { ArrayInfo::of(self.device(), region.raw()) }
    }
}

impl<T> MipmappedArray<T> {
    /// Returns the number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Returns the meaning of the dimensions.
    #[must_use]
    pub fn kind(&self) -> ArrayKind {
        self.kind
    }

    /// Returns the uses of the array.
    #[must_use]
    pub fn flags(&self) -> ArrayFlags {
        self.flags
    }

    /// Returns the bytes of the elements of all levels.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.allocation.bytes()
    }

    /// Returns the device of the array.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// Returns a read of all levels, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        Access::read(self.allocation.history(), 0..self.allocation.bytes())
    }

    /// Returns the handle. The tracker does not see accesses through it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaMipmappedArray_t {
        self.allocation.pointer().cast()
    }

    /// Waits for the work that still uses the array, and frees it. Unlike a drop, this returns the error.
    ///
    /// Stands for [`cudaFreeMipmappedArray`](sys::cudaFreeMipmappedArray).
    ///
    /// # Errors
    /// Returns the failure of work that used the array, or the runtime's error.
    #[doc(alias = "cudaFreeMipmappedArray")]
    #[track_caller]
    pub fn free(mut self) -> Result<()> {
        Arc::get_mut(&mut self.allocation).map_or(Ok(()), Allocation::free)
    }
}

impl<T> fmt::Debug for MipmappedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MipmappedArray")
            .field("element", &std::any::type_name::<T>())
            .field("kind", &self.kind)
            .field("extent", &self.levels.first().map(|level| level.extent))
            .field("levels", &self.levels.len())
            .field("device", &self.device().ordinal())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{MipmappedArray, extent_of, most};
    use crate::error::Detail;
    use crate::memory::ArrayKind;

    #[test]
    fn levels_halve_down_to_one_element_and_layers_stay() {
        assert_eq!(most(ArrayKind::Plane, [10, 4, 1]), 4);
        assert_eq!(most(ArrayKind::Volume, [2, 2, 9]), 4);
        assert_eq!(most(ArrayKind::LayeredPlane, [2, 2, 9]), 2);
        assert_eq!(extent_of(ArrayKind::Plane, [10, 4, 1], 3), [1, 1, 1]);
        assert_eq!(extent_of(ArrayKind::LayeredPlane, [10, 4, 7], 1), [5, 2, 7]);
        assert_eq!(extent_of(ArrayKind::Volume, [10, 4, 7], 1), [5, 2, 3]);
    }

    #[test]
    fn no_levels_and_too_many_are_refused() {
        let bytes = |levels| MipmappedArray::<u16>::bytes("test", ArrayKind::Plane, [10, 4, 1], levels);
        assert_eq!(bytes(4).unwrap(), 2 * (40 + 10 + 2 + 1));
        assert!(matches!(bytes(0).unwrap_err().detail(), Detail::Zero { .. }));
        assert!(matches!(bytes(5).unwrap_err().detail(), Detail::Limit { asked: 5, limit: 4, .. }));
    }
}
