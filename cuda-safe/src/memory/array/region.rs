//! A box of elements in an array, a level or a plane, which all views of arrays are made of.
#![expect(unsafe_code, reason = "carries the handle of a borrowed array between threads")]

use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::memory::allocation::Allocation;
use crate::memory::size;
use crate::sys;

/// A level of a mipmapped array or a plane of an image, which is an array of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubArray {
    pub(super) raw: sys::cudaArray_t,
    pub(super) extent: [usize; 3],
    /// The first byte in the access history of the whole array.
    pub(super) base: usize,
}

// SAFETY: the handle is of an array that lives as long as its owner, and any thread may use it.
unsafe impl Send for SubArray {}
// SAFETY: as above.
unsafe impl Sync for SubArray {}

impl SubArray {
    /// Returns all of the array, whose elements are in this allocation.
    pub(super) fn region<T>(self, allocation: &Allocation) -> Region<'_, T> {
        Region::whole(allocation, self.raw, self.base, self.extent)
    }
}

/// A box of elements of an array that lives for `'a`, always within it.
#[derive(Debug)]
pub(crate) struct Region<'a, T> {
    allocation: &'a Allocation,
    raw: sys::cudaArray_t,
    /// The first byte of the array in the access history, which levels and planes share.
    base: usize,
    /// The extent of the whole array.
    whole: [usize; 3],
    at: [usize; 3],
    extent: [usize; 3],
    element: PhantomData<T>,
}

// SAFETY: any thread may use the handle while the allocation lives. The view around it decides who may
// reach the elements.
unsafe impl<T> Send for Region<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Region<'_, T> {}

impl<T> Clone for Region<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Region<'_, T> {}

impl<'a, T> Region<'a, T> {
    /// Returns all of an array of this extent, which begins at byte `base` of the access history. The size
    /// does not overflow: that was checked when the array was made.
    pub(super) fn whole(
        allocation: &'a Allocation,
        raw: sys::cudaArray_t,
        base: usize,
        extent: [usize; 3],
    ) -> Self {
        Self { allocation, raw, base, whole: extent, at: [0; 3], extent, element: PhantomData }
    }

    /// Returns the handle of the array.
    pub(crate) fn raw(&self) -> sys::cudaArray_t {
        self.raw
    }

    /// Returns the device of the array.
    pub(crate) fn device(&self) -> Device {
        self.allocation.on()
    }

    /// Returns the position of the first element: column, row, layer.
    pub(crate) fn at(&self) -> [usize; 3] {
        self.at
    }

    /// Returns the number of elements in a row, of rows in a layer, and of layers.
    pub(crate) fn extent(&self) -> [usize; 3] {
        self.extent
    }

    /// Returns whether there are no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }

    /// Returns whether it is all of its array, level or plane.
    pub(crate) fn is_whole(&self) -> bool {
        self.at == [0; 3] && self.extent == self.whole
    }

    /// Returns whether the whole array has one layer.
    pub(crate) fn is_flat(&self) -> bool {
        let [.., layers] = self.whole;
        layers == 1
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.extent.iter().product()
    }

    /// Returns the range in the access history from the first element to just past the last, as if rows
    /// were stored one after another.
    pub(crate) fn range(&self) -> Range<usize> {
        if self.is_empty() {
            return self.base..self.base;
        }
        let [width, height, _] = self.whole;
        let place = |[x, y, z]: [usize; 3]| self.base + ((z * height + y) * width + x) * size_of::<T>();
        let [last_x, last_y, last_z] = [0, 1, 2].map(|n: usize| {
            let of = |list: [usize; 3]| list.get(n).copied().unwrap_or(0);
            of(self.at) + of(self.extent) - 1
        });
        place(self.at)..place([last_x, last_y, last_z]) + size_of::<T>()
    }

    /// Returns a read or a write of the elements.
    pub(crate) fn access(&self, mode: Mode) -> Access<'a> {
        Access::new(self.allocation.history(), self.range(), mode)
    }

    /// Returns the allocation, whose access history records the accesses.
    pub(crate) fn allocation(&self) -> &'a Allocation {
        self.allocation
    }

    /// Returns some elements of every row.
    #[track_caller]
    pub(super) fn columns(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        self.cut(api, 0, range)
    }

    /// Returns some rows of every layer.
    #[track_caller]
    pub(super) fn rows(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        self.cut(api, 1, range)
    }

    /// Returns some layers.
    #[track_caller]
    pub(super) fn layers(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        self.cut(api, 2, range)
    }

    #[track_caller]
    fn cut(&self, api: &'static str, dimension: usize, range: &impl RangeBounds<usize>) -> Result<Self> {
        let mut part = *self;
        if let (Some(at), Some(extent)) = (part.at.get_mut(dimension), part.extent.get_mut(dimension)) {
            let range = size::range_in(api, range, *extent)?;
            *at += range.start;
            *extent = range.len();
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::Region;
    use crate::device::Device;
    use crate::error::Detail;
    use crate::memory::allocation::{Allocation, Kind};
    use crate::sys::cudaArray_t;

    /// An allocation without memory, which nobody frees: enough for arithmetic, and made without calling
    /// the runtime.
    fn nothing() -> Allocation {
        // SAFETY: the size is 0, so nothing is freed.
        unsafe { Allocation::from_raw(Device::from_ordinal(0), std::ptr::null_mut(), 0, Kind::Array) }
    }

    const RAW: cudaArray_t = std::ptr::without_provenance_mut(0x100);

    #[test]
    fn parts_of_parts_count_from_the_array() {
        let allocation = nothing();
        let all = Region::<u32>::whole(&allocation, RAW, 1000, [10, 8, 6]);
        assert_eq!((all.range(), all.len()), (1000..1000 + 1920, 480));
        let part = all
            .columns("test", &(2..7))
            .unwrap()
            .rows("test", &(3..))
            .unwrap()
            .layers("test", &(1..=2))
            .unwrap();
        assert_eq!((part.at(), part.extent()), ([2, 3, 1], [5, 5, 2]));
        let inner = part
            .columns("test", &(1..2))
            .unwrap()
            .rows("test", &(4..))
            .unwrap()
            .layers("test", &(1..))
            .unwrap();
        assert_eq!((inner.at(), inner.extent()), ([3, 7, 2], [1, 1, 1]));
        let byte = 1000 + ((2 * 8 + 7) * 10 + 3) * 4;
        assert_eq!(inner.range(), byte..byte + 4);
        let error = part.columns("test", &(3..6)).unwrap_err();
        assert_eq!(error.detail(), &Detail::OutOfRange { start: 3, end: 6, len: 5 });
        let none = all.rows("test", &(8..)).unwrap();
        assert!(none.is_empty() && none.range().is_empty());
    }
}
