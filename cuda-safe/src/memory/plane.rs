//! Planes: rows of elements with a pitch, wherever they are; to read, and to write.
//!
//! A plane is made from pitched memory, from a part of any buffer, or from a slice of the program's own. Widths are in
//! elements, heights in rows, pitches in bytes. Parts are taken by rows and by columns. The tracker enters a plane as the
//! bytes from its first to its last, what is between the rows included: work on two planes that lie in each other is
//! ordered, though it need not be.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::buffer::Buffer;
use super::grid::{Apart, Grid};
use super::place::{AnyPlace, Pageable, Place};
use super::slice::{Slice, SliceMut};
use crate::device::Device;
use crate::error::{Detail, Error, Result};

/// Rows of elements that may be read.
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, memcpy_2d};
/// use cuda_safe::memory::{Plane, PlaneMut};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let numbers = DeviceBuffer::from_slice(&[0, 1, 2, 10, 11, 12])?;
/// let plane = numbers.plane(3, 2)?; // two rows of three
/// let mut right = [0; 4];
/// memcpy_2d(&mut PlaneMut::of_slice(&mut right, 2, 2)?, &plane.columns(1..)?)?;
/// assert_eq!(right, [1, 2, 11, 12]);
/// # Ok(())
/// # }
/// ```
pub struct Plane<'a, T, M> {
    grid: Grid<'a, T>,
    elements: PhantomData<(&'a [T], M)>,
}

/// Rows of elements that may be written, and that no other view shares an element with.
pub struct PlaneMut<'a, T, M> {
    grid: Grid<'a, T>,
    elements: PhantomData<(&'a mut [T], M)>,
}

impl<T, M> Clone for Plane<'_, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M> Copy for Plane<'_, T, M> {}

/// What a view of rows says about itself.
macro_rules! of_rows {
    ($view:ident, $name:literal) => {
        impl<'a, T, M: AnyPlace> $view<'a, T, M> {
            /// The view of a grid, as the type says it may be used.
            pub(crate) fn new(grid: Grid<'a, T>) -> Self {
                Self { grid, elements: PhantomData }
            }

            /// What the view is made of.
            pub(crate) fn grid(&self) -> Grid<'a, T> {
                self.grid
            }

            /// Elements of a row.
            #[must_use]
            pub fn width(&self) -> usize {
                self.grid.width()
            }

            /// Rows; of each layer, where there are layers.
            #[must_use]
            pub fn height(&self) -> usize {
                self.grid.height()
            }

            /// Bytes from one row to the next.
            #[must_use]
            pub fn pitch(&self) -> usize {
                self.grid.layout().pitch
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.grid.layout().is_empty()
            }

            /// Size in bytes, without what is between the rows.
            #[must_use]
            pub fn size_in_bytes(&self) -> usize {
                self.grid.layout().bytes()
            }

            /// The address of the first element: the device's for device memory, else the host's.
            #[must_use]
            pub fn as_ptr(&self) -> *const T {
                self.grid.pointer().cast_const()
            }

            /// The device that the memory is of; none for memory of the program's own.
            #[must_use]
            pub fn device(&self) -> Option<Device> {
                self.grid.device()
            }
        }

        impl<T, M: AnyPlace> fmt::Debug for $view<'_, T, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.grid.describe(f, $name)
            }
        }
    };
}
pub(super) use of_rows;

of_rows!(Plane, "Plane");
of_rows!(PlaneMut, "PlaneMut");

impl<'a, T: AnyBitPattern, M: AnyPlace> Plane<'a, T, M> {
    /// Views some of the rows.
    ///
    /// # Errors
    /// A refusal where the range is not within the plane, with range and height.
    #[track_caller]
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.grid.rows("Plane::rows", &range)?))
    }

    /// Views some elements of every row.
    ///
    /// # Errors
    /// A refusal where the range is not within the plane, with range and width.
    #[track_caller]
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.grid.columns("Plane::columns", &range)?))
    }
}

impl<'a, T: AnyBitPattern, M: Place> Plane<'a, T, M> {
    /// Views one row, as elements one after the other.
    ///
    /// # Errors
    /// A refusal where there is no such row.
    #[track_caller]
    pub fn row(&self, number: usize) -> Result<Slice<'a, T, M>> {
        self.grid.row("Plane::row", number)?.map(Slice::new).ok_or_else(|| unbooked("Plane::row"))
    }
}

impl<T: AnyBitPattern, M: AnyPlace> PlaneMut<'_, T, M> {
    /// The address of the first element, for writing.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.grid.pointer()
    }

    /// The same plane for as long as this borrow lives.
    #[must_use]
    pub fn reborrow(&mut self) -> PlaneMut<'_, T, M> {
        PlaneMut::new(self.grid)
    }

    /// The same plane, to read only, for as long as this borrow lives.
    #[must_use]
    pub fn as_plane(&self) -> Plane<'_, T, M> {
        Plane::new(self.grid)
    }

    /// Views some of the rows so that they may be written, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the plane, with range and height.
    #[track_caller]
    pub fn rows_mut(&mut self, range: impl RangeBounds<usize>) -> Result<PlaneMut<'_, T, M>> {
        Ok(PlaneMut::new(self.grid.rows("PlaneMut::rows_mut", &range)?))
    }

    /// Views some elements of every row so that they may be written, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the plane, with range and width.
    #[track_caller]
    pub fn columns_mut(&mut self, range: impl RangeBounds<usize>) -> Result<PlaneMut<'_, T, M>> {
        Ok(PlaneMut::new(self.grid.columns("PlaneMut::columns_mut", &range)?))
    }

    /// Gives the view up for the rows before `middle` and those from it on, which may be written at once.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_row_mut(self, middle: usize) -> Result<(Self, Self)> {
        let before = self.grid.rows("PlaneMut::split_at_row_mut", &(..middle))?;
        let after = self.grid.rows("PlaneMut::split_at_row_mut", &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
    }

    /// Gives the view up for the columns before `middle` and those from it on. The tracker orders work on the one after work
    /// on the other.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_column_mut(self, middle: usize) -> Result<(Self, Self)> {
        let before = self.grid.columns("PlaneMut::split_at_column_mut", &(..middle))?;
        let after = self.grid.columns("PlaneMut::split_at_column_mut", &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
    }
}

impl<T: AnyBitPattern, M: Place> PlaneMut<'_, T, M> {
    /// Views one row so that it may be written, as elements one after the other, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where there is no such row.
    #[track_caller]
    pub fn row_mut(&mut self, number: usize) -> Result<SliceMut<'_, T, M>> {
        let row = self.grid.row("PlaneMut::row_mut", number)?;
        row.map(SliceMut::new).ok_or_else(|| unbooked("PlaneMut::row_mut"))
    }
}

/// Not reached: every place but pageable memory has books.
#[track_caller]
pub(super) fn unbooked(api: &'static str) -> Error {
    Error::refused(api, Detail::Unsupported { what: "memory of which no books are kept" })
}

impl<'a, T: NoUninit> Plane<'a, T, Pageable> {
    /// Views a slice as rows one after the other.
    ///
    /// # Errors
    /// A refusal where the slice has not as many elements as the plane, with both numbers; where the size overflows.
    #[track_caller]
    pub fn of_slice(slice: &'a [T], width: usize, height: usize) -> Result<Self> {
        Self::of(slice, width, height, Apart::Packed)
    }

    /// Views a slice as rows that begin `pitch` bytes apart. After the last row nothing needs to follow.
    ///
    /// # Errors
    /// As [`of_slice`](Self::of_slice), but that there may be more elements; where rows cannot have the pitch.
    #[track_caller]
    pub fn of_slice_with_pitch(slice: &'a [T], width: usize, height: usize, pitch: usize) -> Result<Self> {
        Self::of(slice, width, height, Apart::By(pitch, height))
    }

    #[track_caller]
    fn of(slice: &'a [T], width: usize, height: usize, apart: Apart) -> Result<Self> {
        // Never written through: only a destination is, and that is made from the other type.
        let pointer = slice.as_ptr().cast_mut();
        let extent = [width, height, 1];
        Ok(Self::new(Grid::of_slice("Plane::of_slice", pointer, slice.len(), extent, apart)?))
    }
}

impl<'a, T: AnyBitPattern> PlaneMut<'a, T, Pageable> {
    /// Views a slice as rows one after the other that may be written.
    ///
    /// # Errors
    /// A refusal where the slice has not as many elements as the plane, with both numbers; where the size overflows.
    #[track_caller]
    pub fn of_slice(slice: &'a mut [T], width: usize, height: usize) -> Result<Self> {
        Self::of(slice, width, height, Apart::Packed)
    }

    /// Views a slice as rows that begin `pitch` bytes apart and may be written. After the last row nothing needs to follow.
    ///
    /// # Errors
    /// As [`of_slice`](Self::of_slice), but that there may be more elements; where rows cannot have the pitch.
    #[track_caller]
    pub fn of_slice_with_pitch(
        slice: &'a mut [T],
        width: usize,
        height: usize,
        pitch: usize,
    ) -> Result<Self> {
        Self::of(slice, width, height, Apart::By(pitch, height))
    }

    #[track_caller]
    fn of(slice: &'a mut [T], width: usize, height: usize, apart: Apart) -> Result<Self> {
        let (pointer, len) = (slice.as_mut_ptr(), slice.len());
        Ok(Self::new(Grid::of_slice("PlaneMut::of_slice", pointer, len, [width, height, 1], apart)?))
    }
}

impl<'a, T: AnyBitPattern, M: Place> Slice<'a, T, M> {
    /// Views the part as rows one after the other.
    ///
    /// # Errors
    /// A refusal where the part has not as many elements as the plane, with both numbers; where the size overflows.
    #[track_caller]
    pub fn plane(&self, width: usize, height: usize) -> Result<Plane<'a, T, M>> {
        let grid = Grid::of_span("Slice::plane", self.span(), [width, height, 1], Apart::Packed)?;
        Ok(Plane::new(grid))
    }

    /// Views the part as rows that begin `pitch` bytes apart. After the last row nothing needs to follow.
    ///
    /// # Errors
    /// As [`plane`](Self::plane), but that there may be more elements; where rows cannot have the pitch.
    #[track_caller]
    pub fn plane_with_pitch(&self, width: usize, height: usize, pitch: usize) -> Result<Plane<'a, T, M>> {
        let apart = Apart::By(pitch, height);
        Ok(Plane::new(Grid::of_span("Slice::plane_with_pitch", self.span(), [width, height, 1], apart)?))
    }
}

impl<'a, T: AnyBitPattern, M: Place> SliceMut<'a, T, M> {
    /// Gives the view up for one of rows one after the other that may be written.
    ///
    /// # Errors
    /// As [`Slice::plane`].
    #[track_caller]
    pub fn plane_mut(self, width: usize, height: usize) -> Result<PlaneMut<'a, T, M>> {
        let grid = Grid::of_span("SliceMut::plane_mut", self.span(), [width, height, 1], Apart::Packed)?;
        Ok(PlaneMut::new(grid))
    }

    /// Gives the view up for one of rows that begin `pitch` bytes apart and may be written.
    ///
    /// # Errors
    /// As [`Slice::plane_with_pitch`].
    #[track_caller]
    pub fn plane_mut_with_pitch(
        self,
        width: usize,
        height: usize,
        pitch: usize,
    ) -> Result<PlaneMut<'a, T, M>> {
        let apart = Apart::By(pitch, height);
        let grid = Grid::of_span("SliceMut::plane_mut_with_pitch", self.span(), [width, height, 1], apart)?;
        Ok(PlaneMut::new(grid))
    }
}

impl<T: AnyBitPattern, M: Place> Buffer<T, M> {
    /// Views the whole buffer as rows one after the other.
    ///
    /// # Errors
    /// As [`Slice::plane`].
    #[track_caller]
    pub fn plane(&self, width: usize, height: usize) -> Result<Plane<'_, T, M>> {
        self.as_slice().plane(width, height)
    }

    /// Views the whole buffer as rows one after the other that may be written.
    ///
    /// # Errors
    /// As [`Slice::plane`].
    #[track_caller]
    pub fn plane_mut(&mut self, width: usize, height: usize) -> Result<PlaneMut<'_, T, M>> {
        self.as_slice_mut().plane_mut(width, height)
    }
}
