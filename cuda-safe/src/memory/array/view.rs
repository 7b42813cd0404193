//! Borrowed parts of arrays.

use std::fmt;
use std::ops::RangeBounds;

use super::element::ArrayElement;
use super::region::Region;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
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

            /// Returns the number of elements in a row.
            #[must_use]
            pub fn width(&self) -> usize {
                let [width, ..] = self.region.extent();
                width
            }

            /// Returns the number of rows in a layer.
            #[must_use]
            pub fn height(&self) -> usize {
                let [_, height, _] = self.region.extent();
                height
            }

            /// Returns the number of layers or faces.
            #[must_use]
            pub fn depth(&self) -> usize {
                let [.., depth] = self.region.extent();
                depth
            }

            /// Returns the number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.region.len()
            }

            /// Returns whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.region.is_empty()
            }

            /// Returns the device of the array.
            #[must_use]
            pub fn device(&self) -> Device {
                self.region.device()
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

impl<T: ArrayElement> ArrayView<'_, T> {
    /// Views some elements of every row.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.columns("ArrayView::columns", &range)?))
    }

    /// Views some rows of every layer.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.rows("ArrayView::rows", &range)?))
    }

    /// Views some layers.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn layers(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.layers("ArrayView::layers", &range)?))
    }
}

impl<'a, T: ArrayElement> ArrayViewMut<'a, T> {
    /// Returns the same elements for reading, for the lifetime of this borrow.
    #[must_use]
    pub fn as_view(&self) -> ArrayView<'_, T> {
        ArrayView::new(self.region)
    }

    /// Returns the same elements for the lifetime of this borrow.
    #[must_use]
    pub fn reborrow(&mut self) -> ArrayViewMut<'_, T> {
        ArrayViewMut::new(self.region)
    }

    /// Views some elements of every row for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn columns_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.columns("ArrayViewMut::columns_mut", &range)?))
    }

    /// Views some rows of every layer for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn rows_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.rows("ArrayViewMut::rows_mut", &range)?))
    }

    /// Views some layers for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused if the range is not within the view.
    #[track_caller]
    pub fn layers_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.layers("ArrayViewMut::layers_mut", &range)?))
    }

    /// Splits the view into the layers before `middle` and those from `middle` on. Different streams may
    /// write both at the same time.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_layer_mut(self, middle: usize) -> Result<(ArrayViewMut<'a, T>, ArrayViewMut<'a, T>)> {
        let split = |range| self.region.layers("ArrayViewMut::split_at_layer_mut", &range);
        let (first, second) = (split(0..middle)?, split(middle..self.depth())?);
        Ok((Self::new(first), Self::new(second)))
    }

    /// Splits the view into the rows of every layer before `middle` and those from `middle` on.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_row_mut(self, middle: usize) -> Result<(ArrayViewMut<'a, T>, ArrayViewMut<'a, T>)> {
        let split = |range| self.region.rows("ArrayViewMut::split_at_row_mut", &range);
        let (first, second) = (split(0..middle)?, split(middle..self.height())?);
        Ok((Self::new(first), Self::new(second)))
    }

    /// Splits the view into the columns of every row before `middle` and those from `middle` on.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_column_mut(self, middle: usize) -> Result<(ArrayViewMut<'a, T>, ArrayViewMut<'a, T>)> {
        let split = |range| self.region.columns("ArrayViewMut::split_at_column_mut", &range);
        let (first, second) = (split(0..middle)?, split(middle..self.width())?);
        Ok((Self::new(first), Self::new(second)))
    }

    /// Returns a write of the elements, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.region.access(Mode::Write)
    }
}
