//! Borrowed parts of arrays, and the box of elements in an array, a level or a plane that they are made of.
#![expect(unsafe_code, reason = "carries the handle of a borrowed array between threads")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use super::info::ArrayElement;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::memory::allocation::Allocation;
use crate::memory::size;
use crate::sys;

/// Some columns, rows and layers of an array, for reading. It replaces the offsets and extents that C
/// passes in each call.
#[doc(alias = "cudaMemcpy2DFromArray")]
#[doc(alias = "cudaMemcpy2DFromArrayAsync")]
#[doc(alias = "cudaMemcpy2DArrayToArray")]
pub struct ArrayView<'a, T> {
    region: Region<'a, T>,
}

/// Some columns, rows and layers of an array, for writing. Two such views never share an element.
#[doc(alias = "cudaMemcpy2DToArray")]
#[doc(alias = "cudaMemcpy2DToArrayAsync")]
#[doc(alias = "cudaMemcpy2DArrayToArray")]
pub struct ArrayViewMut<'a, T> {
    region: Region<'a, T>,
}

impl<T> Clone for ArrayView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ArrayView<'_, T> {}

/// The methods of both views.
macro_rules! array_view_methods {
    ($view:ident) => {
        impl<'a, T: ArrayElement> $view<'a, T> {
            pub(super) fn new(region: Region<'a, T>) -> Self {
                Self { region }
            }

            /// Returns the elements of a row, the rows of a layer, and the layers or faces.
            #[must_use]
            pub fn extent(&self) -> [usize; 3] {
                self.region.extent
            }

            /// Returns the handle of the array, level or plane that contains this part.
            #[must_use]
            pub fn as_raw(&self) -> sys::cudaArray_t {
                self.region.raw()
            }

            /// Returns a read of the elements, for [`enqueue`](crate::stream::StreamRef::enqueue).
            #[must_use]
            pub fn access(&self) -> Access<'_> {
                self.region.access(Mode::Read)
            }

            /// Returns the box of elements, for the copy core.
            pub(crate) fn region(&self) -> Region<'a, T> {
                self.region
            }
        }

        impl<T> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view))
                    .field("element", &std::any::type_name::<T>())
                    .field("at", &self.region.at())
                    .field("extent", &self.region.extent())
                    .finish()
            }
        }
    };
}

array_view_methods!(ArrayView);
array_view_methods!(ArrayViewMut);
size::length!([T: ArrayElement] ArrayView<'_, T>, it => it.region.len());
size::length!([T: ArrayElement] ArrayViewMut<'_, T>, it => it.region.len());

impl<T: ArrayElement> ArrayView<'_, T> {
    /// Views some elements of every row.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.cut("ArrayView::columns", COLUMNS, &range)?))
    }

    /// Views some rows of every layer.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.cut("ArrayView::rows", ROWS, &range)?))
    }

    /// Views some layers.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn layers(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.cut("ArrayView::layers", LAYERS, &range)?))
    }
}

impl<T: ArrayElement> ArrayViewMut<'_, T> {
    /// Views some elements of every row for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn columns_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.cut("ArrayViewMut::columns_mut", COLUMNS, &range)?))
    }

    /// Views some rows of every layer for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn rows_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.cut("ArrayViewMut::rows_mut", ROWS, &range)?))
    }

    /// Views some layers for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn layers_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.cut("ArrayViewMut::layers_mut", LAYERS, &range)?))
    }

    /// Splits the view into the layers before `middle` and those from `middle` on. Different streams may
    /// write both at the same time.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_layer_mut(self, middle: usize) -> Result<(Self, Self)> {
        self.split("ArrayViewMut::split_at_layer_mut", LAYERS, middle)
    }

    /// Splits the view into the rows of every layer before `middle` and those from `middle` on.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_row_mut(self, middle: usize) -> Result<(Self, Self)> {
        self.split("ArrayViewMut::split_at_row_mut", ROWS, middle)
    }

    /// Splits the view into the columns of every row before `middle` and those from `middle` on.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_column_mut(self, middle: usize) -> Result<(Self, Self)> {
        self.split("ArrayViewMut::split_at_column_mut", COLUMNS, middle)
    }

    #[track_caller]
    fn split(self, api: &'static str, dimension: usize, middle: usize) -> Result<(Self, Self)> {
        let before = self.region.cut(api, dimension, &(..middle))?;
        let after = self.region.cut(api, dimension, &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
    }

    /// Returns a write of the elements, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.region.access(Mode::Write)
    }
}

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
// SAFETY: the handle is of an array that lives as long as its owner, and any thread may use it.
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
// SAFETY: any thread may use the handle while the allocation lives. The view around it decides who may reach
// the elements.
unsafe impl<T> Sync for Region<'_, T> {}

impl<T> Clone for Region<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Region<'_, T> {}

/// The dimensions of a [`Region`], by the index in its extents.
pub(super) const COLUMNS: usize = 0;
pub(super) const ROWS: usize = 1;
pub(super) const LAYERS: usize = 2;

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
        self.whole[2] == 1
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
        let last = [0, 1, 2].map(|n: usize| self.at[n] + self.extent[n] - 1);
        place(self.at)..place(last) + size_of::<T>()
    }

    /// Returns a read or a write of the elements.
    pub(crate) fn access(&self, mode: Mode) -> Access<'a> {
        Access::new(self.allocation.history(), self.range(), mode)
    }

    /// Returns the allocation, whose access history records the accesses.
    pub(crate) fn allocation(&self) -> &'a Allocation {
        self.allocation
    }

    /// Returns a part along one dimension: some [`COLUMNS`], [`ROWS`] or [`LAYERS`].
    #[track_caller]
    pub(super) fn cut(
        &self,
        api: &'static str,
        dimension: usize,
        range: &impl RangeBounds<usize>,
    ) -> Result<Self> {
        let mut part = *self;
        let range = size::range_in(api, range, self.extent[dimension])?;
        part.at[dimension] += range.start;
        part.extent[dimension] = range.len();
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, LAYERS, ROWS, Region};
    use crate::device::Device;
    use crate::error::Detail;
    use crate::memory::allocation::{Allocation, Allocator};
    use crate::sys::cudaArray_t;

    /// An allocation without memory, which nobody frees: enough for arithmetic, and made without calling
    /// the runtime.
    fn nothing() -> Allocation {
        // SAFETY: the size is 0, so nothing is freed.
        unsafe { Allocation::from_raw(Device::from_ordinal(0), std::ptr::null_mut(), 0, Allocator::Array) }
    }

    const RAW: cudaArray_t = std::ptr::without_provenance_mut(0x100);

    #[test]
    fn parts_of_parts_count_from_the_array() {
        let allocation = nothing();
        let all = Region::<u32>::whole(&allocation, RAW, 1000, [10, 8, 6]);
        assert_eq!((all.range(), all.len()), (1000..1000 + 1920, 480));
        let part = all
            .cut("test", COLUMNS, &(2..7))
            .unwrap()
            .cut("test", ROWS, &(3..))
            .unwrap()
            .cut("test", LAYERS, &(1..=2))
            .unwrap();
        assert_eq!((part.at(), part.extent()), ([2, 3, 1], [5, 5, 2]));
        let inner = part
            .cut("test", COLUMNS, &(1..2))
            .unwrap()
            .cut("test", ROWS, &(4..))
            .unwrap()
            .cut("test", LAYERS, &(1..))
            .unwrap();
        assert_eq!((inner.at(), inner.extent()), ([3, 7, 2], [1, 1, 1]));
        let byte = 1000 + ((2 * 8 + 7) * 10 + 3) * 4;
        assert_eq!(inner.range(), byte..byte + 4);
        let error = part.cut("test", COLUMNS, &(3..6)).unwrap_err();
        assert_eq!(error.detail(), &Detail::out_of_range(3, 6, 5));
        let none = all.cut("test", ROWS, &(8..)).unwrap();
        assert!(none.is_empty() && none.range().is_empty());
    }
}
