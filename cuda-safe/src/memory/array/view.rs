//! Parts of arrays, borrowed.

use std::fmt;
use std::ops::RangeBounds;

use super::element::ArrayElement;
use super::region::Region;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::sys;

/// Some columns, rows and layers of an array, to be read: what C says by offsets and extents in each call.
#[doc(alias = "cudaMemcpy2DFromArray")]
#[doc(alias = "cudaMemcpy2DFromArrayAsync")]
#[doc(alias = "cudaMemcpy2DArrayToArray")]
pub struct ArrayView<'a, T> {
    region: Region<'a, T>,
}

/// Some columns, rows and layers of an array that may be written. Two such views never share an element.
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

/// What both views have, written once.
macro_rules! view_methods {
    ($view:ident) => {
        impl<'a, T: ArrayElement> $view<'a, T> {
            pub(super) fn new(region: Region<'a, T>) -> Self {
                Self { region }
            }

            /// Elements of a row.
            #[must_use]
            pub fn width(&self) -> usize {
                let [width, ..] = self.region.extent();
                width
            }

            /// Rows of a layer.
            #[must_use]
            pub fn height(&self) -> usize {
                let [_, height, _] = self.region.extent();
                height
            }

            /// Layers, or faces.
            #[must_use]
            pub fn depth(&self) -> usize {
                let [.., depth] = self.region.extent();
                depth
            }

            /// How many elements there are.
            #[must_use]
            pub fn len(&self) -> usize {
                self.region.len()
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.region.is_empty()
            }

            /// The device that the array is of.
            #[must_use]
            pub fn device(&self) -> Device {
                self.region.device()
            }

            /// The handle of the array, level or plane that this is a part of.
            #[must_use]
            pub fn as_raw(&self) -> sys::cudaArray_t {
                self.region.raw()
            }

            /// A read of the elements, for [`enqueue`](crate::stream::StreamRef::enqueue).
            #[must_use]
            pub fn access(&self) -> Access<'_> {
                self.region.access(Mode::Read)
            }

            /// The box of elements, for the copy core.
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

view_methods!(ArrayView);
view_methods!(ArrayViewMut);

impl<T: ArrayElement> ArrayView<'_, T> {
    /// Views some elements of every row.
    ///
    /// # Errors
    /// A refusal where the range is not within the view.
    #[track_caller]
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.columns("ArrayView::columns", &range)?))
    }

    /// Views some rows of every layer.
    ///
    /// # Errors
    /// A refusal where the range is not within the view.
    #[track_caller]
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.rows("ArrayView::rows", &range)?))
    }

    /// Views some layers.
    ///
    /// # Errors
    /// A refusal where the range is not within the view.
    #[track_caller]
    pub fn layers(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.region.layers("ArrayView::layers", &range)?))
    }
}

impl<'a, T: ArrayElement> ArrayViewMut<'a, T> {
    /// Views the same elements for reading only, for as long as this view is not used for writing.
    #[must_use]
    pub fn as_view(&self) -> ArrayView<'_, T> {
        ArrayView::new(self.region)
    }

    /// Views the same elements again, for as long as this view is not used.
    #[must_use]
    pub fn reborrow(&mut self) -> ArrayViewMut<'_, T> {
        ArrayViewMut::new(self.region)
    }

    /// Views some elements of every row so that they may be written.
    ///
    /// # Errors
    /// A refusal where the range is not within the view.
    #[track_caller]
    pub fn columns_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.columns("ArrayViewMut::columns_mut", &range)?))
    }

    /// Views some rows of every layer so that they may be written.
    ///
    /// # Errors
    /// A refusal where the range is not within the view.
    #[track_caller]
    pub fn rows_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.rows("ArrayViewMut::rows_mut", &range)?))
    }

    /// Views some layers so that they may be written.
    ///
    /// # Errors
    /// A refusal where the range is not within the view.
    #[track_caller]
    pub fn layers_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region.layers("ArrayViewMut::layers_mut", &range)?))
    }

    /// Views the layers before `middle` and those from it on; the two may be written by different streams at once.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_layer_mut(self, middle: usize) -> Result<(ArrayViewMut<'a, T>, ArrayViewMut<'a, T>)> {
        let split = |range| self.region.layers("ArrayViewMut::split_at_layer_mut", &range);
        let (first, second) = (split(0..middle)?, split(middle..self.depth())?);
        Ok((Self::new(first), Self::new(second)))
    }

    /// Views the rows before `middle` and those from it on, of every layer.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_row_mut(self, middle: usize) -> Result<(ArrayViewMut<'a, T>, ArrayViewMut<'a, T>)> {
        let split = |range| self.region.rows("ArrayViewMut::split_at_row_mut", &range);
        let (first, second) = (split(0..middle)?, split(middle..self.height())?);
        Ok((Self::new(first), Self::new(second)))
    }

    /// Views the columns before `middle` and those from it on, of every row of every layer.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_column_mut(self, middle: usize) -> Result<(ArrayViewMut<'a, T>, ArrayViewMut<'a, T>)> {
        let split = |range| self.region.columns("ArrayViewMut::split_at_column_mut", &range);
        let (first, second) = (split(0..middle)?, split(middle..self.width())?);
        Ok((Self::new(first), Self::new(second)))
    }

    /// A write of the elements, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.region.access(Mode::Write)
    }
}
