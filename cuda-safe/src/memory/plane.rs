//! Planes and volumes: rows of elements with a pitch, and layers of such rows, in any memory, for reading and
//! for writing.
//!
//! They are made from pitched memory, from a part of any buffer, or from a slice of the program. Widths are
//! in elements, heights in rows, depths in layers, pitches in bytes. As in C, the distance between layers is
//! in rows: layer `z` begins `z * layer_rows * pitch` bytes after the first. Parts are taken by layers, by
//! rows and by columns. The tracker records a plane or a volume as the range from its first to its last byte,
//! with the bytes between the rows. Work on two interleaved planes is therefore ordered, although it need not
//! be.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::buffer::{Buffer, Slice, SliceMut};
use super::grid::{Apart, Extent, Grid};
use super::memory_type::{AnyMemoryType, MemoryType, Pageable};
use crate::device::Device;
use crate::error::Result;

/// Rows of elements, for reading.
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
/// memcpy_2d(&mut PlaneMut::from_slice(&mut right, 2, 2)?, &plane.columns(1..)?)?;
/// assert_eq!(right, [1, 2, 11, 12]);
/// # Ok(())
/// # }
/// ```
pub struct Plane<'a, T, M> {
    grid: Grid<'a, T>,
    elements: PhantomData<(&'a [T], M)>,
}

/// Rows of elements, for writing. No other view shares an element with them.
pub struct PlaneMut<'a, T, M> {
    grid: Grid<'a, T>,
    elements: PhantomData<(&'a mut [T], M)>,
}

/// Layers of rows of elements, for reading.
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, memcpy_3d};
/// use cuda_safe::memory::VolumeMut;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let numbers = DeviceBuffer::from_slice(&(0..24).collect::<Vec<u16>>())?;
/// let corner = numbers.volume(4, 3, 2)?.columns(2..)?.rows(..1)?; // width, height, depth
/// let mut found = [0; 4];
/// memcpy_3d(&mut VolumeMut::from_slice(&mut found, 2, 1, 2)?, &corner)?;
/// assert_eq!(found, [2, 3, 14, 15]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "make_cudaExtent")]
#[doc(alias = "make_cudaPitchedPtr")]
pub struct Volume<'a, T, M> {
    grid: Grid<'a, T>,
    elements: PhantomData<(&'a [T], M)>,
}

/// Layers of rows of elements, for writing. No other view shares an element with them.
pub struct VolumeMut<'a, T, M> {
    grid: Grid<'a, T>,
    elements: PhantomData<(&'a mut [T], M)>,
}

/// The methods that planes and volumes share: of both views, of the view for reading, and of the one for
/// writing.
macro_rules! views_of_rows {
    ($view:ident, $view_mut:ident) => {
        views_of_rows!(@both $view, stringify!($view));
        views_of_rows!(@both $view_mut, stringify!($view_mut));

        impl<T, M> Clone for $view<'_, T, M> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T, M> Copy for $view<'_, T, M> {}

        impl<T: AnyBitPattern, M: AnyMemoryType> $view<'_, T, M> {
            /// Views some of the rows. For a volume, these are rows of every layer.
            ///
            /// # Errors
            /// Refused with the range and the height if the range is not within the view.
            #[track_caller]
            pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
                Ok(Self::new(self.grid.rows(concat!(stringify!($view), "::rows"), &range)?))
            }

            /// Views some elements of every row.
            ///
            /// # Errors
            /// Refused with the range and the width if the range is not within the view.
            #[track_caller]
            pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
                Ok(Self::new(self.grid.columns(concat!(stringify!($view), "::columns"), &range)?))
            }
        }

        impl<'a, T: AnyBitPattern + NoUninit, M: AnyMemoryType> $view<'a, T, M> {
            /// Views the same bytes of each row as elements of another type. The pitch stays as it is, and
            /// the new width is the number of `U` in a row.
            ///
            /// # Errors
            /// Refused if the bytes of a row are not a whole number of `U`, if the address or the pitch is
            /// not aligned for `U`, or if `U` is zero-sized.
            #[track_caller]
            pub fn reinterpret<U: AnyBitPattern>(&self) -> Result<$view<'a, U, M>> {
                Ok($view::new(self.grid.reinterpret(concat!(stringify!($view), "::reinterpret"))?))
            }
        }

        impl<'a, T: NoUninit> $view<'a, T, Pageable> {
            #[track_caller]
            fn of(slice: &'a [T], extent: Extent, apart: Apart) -> Result<Self> {
                // Never written through: only destinations are written, and they are made from the `Mut`
                // type.
                let slice = std::ptr::from_ref(slice).cast_mut();
                let api = concat!(stringify!($view), "::from_slice");
                Ok(Self::new(Grid::of_slice(api, slice, extent, apart)?))
            }
        }

        impl<'a, T: AnyBitPattern> $view_mut<'a, T, Pageable> {
            #[track_caller]
            fn of(slice: &'a mut [T], extent: Extent, apart: Apart) -> Result<Self> {
                let api = concat!(stringify!($view_mut), "::from_slice");
                Ok(Self::new(Grid::of_slice(api, slice, extent, apart)?))
            }
        }

        impl<'a, T: AnyBitPattern + NoUninit, M: AnyMemoryType> $view_mut<'a, T, M> {
            /// Converts the view to one of the same bytes of each row as elements of another type. The pitch
            /// stays as it is, and the new width is the number of `U` in a row.
            ///
            /// # Errors
            /// Refused if the bytes of a row are not a whole number of `U`, if the address or the pitch is
            /// not aligned for `U`, or if `U` is zero-sized.
            #[track_caller]
            pub fn reinterpret_mut<U: AnyBitPattern + NoUninit>(self) -> Result<$view_mut<'a, U, M>> {
                let api = concat!(stringify!($view_mut), "::reinterpret_mut");
                Ok($view_mut::new(self.grid.reinterpret(api)?))
            }
        }

        impl<T: AnyBitPattern, M: AnyMemoryType> $view_mut<'_, T, M> {
            /// Returns the address of the first element, for writing.
            #[must_use]
            pub fn as_mut_ptr(&mut self) -> *mut T {
                self.grid.pointer()
            }

            /// Returns the same view for the lifetime of this borrow.
            #[must_use]
            pub fn reborrow(&mut self) -> $view_mut<'_, T, M> {
                $view_mut::new(self.grid)
            }

            /// Views some of the rows for writing, for the lifetime of this borrow. For a volume, these are
            /// rows of every layer.
            ///
            /// # Errors
            /// Refused with the range and the height if the range is not within the view.
            #[track_caller]
            pub fn rows_mut(&mut self, range: impl RangeBounds<usize>) -> Result<$view_mut<'_, T, M>> {
                Ok($view_mut::new(self.grid.rows(concat!(stringify!($view_mut), "::rows_mut"), &range)?))
            }

            /// Views some elements of every row for writing, for the lifetime of this borrow.
            ///
            /// # Errors
            /// Refused with the range and the width if the range is not within the view.
            #[track_caller]
            pub fn columns_mut(&mut self, range: impl RangeBounds<usize>) -> Result<$view_mut<'_, T, M>> {
                let api = concat!(stringify!($view_mut), "::columns_mut");
                Ok($view_mut::new(self.grid.columns(api, &range)?))
            }

            /// Splits the view into the rows before `middle` and those from `middle` on. Both may be written
            /// at the same time. For a volume, these are rows of every layer; with more than one layer, the
            /// tracker orders work on one of them after work on the other.
            ///
            /// # Errors
            /// Refused if `middle` is past the end.
            #[track_caller]
            pub fn split_at_row_mut(self, middle: usize) -> Result<(Self, Self)> {
                let api = concat!(stringify!($view_mut), "::split_at_row_mut");
                let (before, after) = (self.grid.rows(api, &(..middle))?, self.grid.rows(api, &(middle..))?);
                Ok((Self::new(before), Self::new(after)))
            }

            /// Splits the view into the columns before `middle` and those from `middle` on. The tracker
            /// orders work on one of them after work on the other.
            ///
            /// # Errors
            /// Refused if `middle` is past the end.
            #[track_caller]
            pub fn split_at_column_mut(self, middle: usize) -> Result<(Self, Self)> {
                let api = concat!(stringify!($view_mut), "::split_at_column_mut");
                let (before, after) =
                    (self.grid.columns(api, &(..middle))?, self.grid.columns(api, &(middle..))?);
                Ok((Self::new(before), Self::new(after)))
            }
        }
    };
    (@both $view:ident, $name:expr) => {
        impl<'a, T, M: AnyMemoryType> $view<'a, T, M> {
            /// Makes a view of a grid. Its type decides how it may be used.
            pub(crate) fn new(grid: Grid<'a, T>) -> Self {
                Self { grid, elements: PhantomData }
            }

            /// Returns the grid of the view.
            pub(crate) fn grid(&self) -> Grid<'a, T> {
                self.grid
            }

            /// Returns the number of elements in a row.
            #[must_use]
            pub fn width(&self) -> usize {
                self.grid.width()
            }

            /// Returns the number of rows. For a volume, this is the number in each layer.
            #[must_use]
            pub fn height(&self) -> usize {
                self.grid.height()
            }

            /// Returns the distance between rows in bytes.
            #[must_use]
            pub fn pitch(&self) -> usize {
                self.grid.layout().pitch
            }

            /// Returns whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.grid.layout().is_empty()
            }

            /// Returns the size in bytes, without the bytes between the rows.
            #[must_use]
            pub fn size_in_bytes(&self) -> usize {
                self.grid.layout().bytes()
            }

            /// Returns the address of the first element: the device's address for device memory, otherwise
            /// the host's.
            #[must_use]
            pub fn as_ptr(&self) -> *const T {
                self.grid.pointer().cast_const()
            }

            /// Returns the device of the memory, or `None` for memory of the program.
            #[must_use]
            pub fn device(&self) -> Option<Device> {
                self.grid.device()
            }
        }

        impl<T, M: AnyMemoryType> fmt::Debug for $view<'_, T, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.grid.describe(f, $name)
            }
        }
    };
}

views_of_rows!(Plane, PlaneMut);
views_of_rows!(Volume, VolumeMut);

impl<'a, T: AnyBitPattern, M: MemoryType> Plane<'a, T, M> {
    /// Views one row as consecutive elements.
    ///
    /// # Errors
    /// Refused if there is no such row.
    #[track_caller]
    pub fn row(&self, number: usize) -> Result<Slice<'a, T, M>> {
        Ok(Slice::new(self.grid.row("Plane::row", number)?))
    }
}

impl<T: AnyBitPattern, M: AnyMemoryType> PlaneMut<'_, T, M> {
    /// Returns the same plane for reading, for the lifetime of this borrow.
    #[must_use]
    pub fn as_plane(&self) -> Plane<'_, T, M> {
        Plane::new(self.grid)
    }
}

impl<T: AnyBitPattern, M: MemoryType> PlaneMut<'_, T, M> {
    /// Views one row for writing, as consecutive elements, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused if there is no such row.
    #[track_caller]
    pub fn row_mut(&mut self, number: usize) -> Result<SliceMut<'_, T, M>> {
        Ok(SliceMut::new(self.grid.row("PlaneMut::row_mut", number)?))
    }
}

impl<'a, T: AnyBitPattern, M: AnyMemoryType> Volume<'a, T, M> {
    /// Returns the number of layers.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.grid.depth()
    }

    /// Returns the distance between layers in rows.
    #[must_use]
    pub fn layer_rows(&self) -> usize {
        self.grid.layout().layer_rows
    }

    /// Views some of the layers.
    ///
    /// # Errors
    /// Refused with the range and the depth if the range is not within the volume.
    #[track_caller]
    pub fn layers(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.grid.layers("Volume::layers", &range)?))
    }

    /// Views one layer.
    ///
    /// # Errors
    /// Refused if there is no such layer.
    #[track_caller]
    pub fn layer(&self, number: usize) -> Result<Plane<'a, T, M>> {
        Ok(Plane::new(self.grid.layer("Volume::layer", number)?))
    }
}

impl<T: AnyBitPattern, M: AnyMemoryType> VolumeMut<'_, T, M> {
    /// Returns the number of layers.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.grid.depth()
    }

    /// Returns the distance between layers in rows.
    #[must_use]
    pub fn layer_rows(&self) -> usize {
        self.grid.layout().layer_rows
    }

    /// Returns the same volume for reading, for the lifetime of this borrow.
    #[must_use]
    pub fn as_volume(&self) -> Volume<'_, T, M> {
        Volume::new(self.grid)
    }

    /// Views some of the layers for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused with the range and the depth if the range is not within the volume.
    #[track_caller]
    pub fn layers_mut(&mut self, range: impl RangeBounds<usize>) -> Result<VolumeMut<'_, T, M>> {
        Ok(VolumeMut::new(self.grid.layers("VolumeMut::layers_mut", &range)?))
    }

    /// Views one layer for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused if there is no such layer.
    #[track_caller]
    pub fn layer_mut(&mut self, number: usize) -> Result<PlaneMut<'_, T, M>> {
        Ok(PlaneMut::new(self.grid.layer("VolumeMut::layer_mut", number)?))
    }

    /// Splits the view into the layers before `middle` and those from `middle` on. Both may be written at
    /// the same time.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_layer_mut(self, middle: usize) -> Result<(Self, Self)> {
        let before = self.grid.layers("VolumeMut::split_at_layer_mut", &(..middle))?;
        let after = self.grid.layers("VolumeMut::split_at_layer_mut", &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
    }
}

impl<'a, T: NoUninit> Plane<'a, T, Pageable> {
    /// Views a slice as packed rows.
    ///
    /// # Errors
    /// - Refused with both numbers if the slice and the plane do not have the same number of elements.
    /// - Refused if the size overflows.
    #[track_caller]
    pub fn from_slice(slice: &'a [T], width: usize, height: usize) -> Result<Self> {
        Self::of(slice, [width, height, 1], Apart::Packed)
    }

    /// Views a slice as rows that are `pitch` bytes apart. The slice may end with the last row.
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice), except that the slice may have more elements than the plane
    /// needs. Also refused if the pitch is not possible for these rows.
    #[track_caller]
    pub fn from_slice_with_pitch(slice: &'a [T], width: usize, height: usize, pitch: usize) -> Result<Self> {
        Self::of(slice, [width, height, 1], Apart::By(pitch, height))
    }
}

impl<'a, T: AnyBitPattern> PlaneMut<'a, T, Pageable> {
    /// Views a slice as packed rows, for writing.
    ///
    /// # Errors
    /// - Refused with both numbers if the slice and the plane do not have the same number of elements.
    /// - Refused if the size overflows.
    #[track_caller]
    pub fn from_slice(slice: &'a mut [T], width: usize, height: usize) -> Result<Self> {
        Self::of(slice, [width, height, 1], Apart::Packed)
    }

    /// Views a slice as rows that are `pitch` bytes apart, for writing. The slice may end with the last
    /// row.
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice), except that the slice may have more elements than the plane
    /// needs. Also refused if the pitch is not possible for these rows.
    #[track_caller]
    pub fn from_slice_with_pitch(
        slice: &'a mut [T],
        width: usize,
        height: usize,
        pitch: usize,
    ) -> Result<Self> {
        Self::of(slice, [width, height, 1], Apart::By(pitch, height))
    }
}

impl<'a, T: AnyBitPattern, M: MemoryType> Slice<'a, T, M> {
    /// Views the part as packed rows.
    ///
    /// # Errors
    /// - Refused with both numbers if the part and the plane do not have the same number of elements.
    /// - Refused if the size overflows.
    #[track_caller]
    pub fn plane(&self, width: usize, height: usize) -> Result<Plane<'a, T, M>> {
        let grid = Grid::of_span("Slice::plane", self.span(), [width, height, 1], Apart::Packed)?;
        Ok(Plane::new(grid))
    }

    /// Views the part as rows that are `pitch` bytes apart. The part may end with the last row.
    ///
    /// # Errors
    /// As [`plane`](Self::plane), except that the part may have more elements than the plane needs. Also
    /// refused if the pitch is not possible for these rows.
    #[track_caller]
    pub fn plane_with_pitch(&self, width: usize, height: usize, pitch: usize) -> Result<Plane<'a, T, M>> {
        let apart = Apart::By(pitch, height);
        Ok(Plane::new(Grid::of_span("Slice::plane_with_pitch", self.span(), [width, height, 1], apart)?))
    }

    /// Views the part as packed layers of rows.
    ///
    /// # Errors
    /// - Refused with both numbers if the part and the volume do not have the same number of elements.
    /// - Refused if the size overflows.
    #[track_caller]
    pub fn volume(&self, width: usize, height: usize, depth: usize) -> Result<Volume<'a, T, M>> {
        let extent = [width, height, depth];
        Ok(Volume::new(Grid::of_span("Slice::volume", self.span(), extent, Apart::Packed)?))
    }

    /// Views the part as layers that are `layer_rows` rows apart, with rows that are `pitch` bytes apart.
    /// The part may end with the last row.
    ///
    /// # Errors
    /// As [`volume`](Self::volume), except that the part may have more elements than the volume needs. Also
    /// refused if the pitch is not possible for these rows, or if layers would overlap.
    #[track_caller]
    pub fn volume_with_pitch(
        &self,
        (width, height, depth): (usize, usize, usize),
        pitch: usize,
        layer_rows: usize,
    ) -> Result<Volume<'a, T, M>> {
        let (extent, apart) = ([width, height, depth], Apart::By(pitch, layer_rows));
        Ok(Volume::new(Grid::of_span("Slice::volume_with_pitch", self.span(), extent, apart)?))
    }
}

impl<'a, T: AnyBitPattern, M: MemoryType> SliceMut<'a, T, M> {
    /// Converts the view to packed rows, for writing.
    ///
    /// # Errors
    /// As [`Slice::plane`].
    #[track_caller]
    pub fn plane_mut(self, width: usize, height: usize) -> Result<PlaneMut<'a, T, M>> {
        let grid = Grid::of_span("SliceMut::plane_mut", self.span(), [width, height, 1], Apart::Packed)?;
        Ok(PlaneMut::new(grid))
    }

    /// Converts the view to rows that are `pitch` bytes apart, for writing.
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

    /// Converts the view to packed layers of rows, for writing.
    ///
    /// # Errors
    /// As [`Slice::volume`].
    #[track_caller]
    pub fn volume_mut(self, width: usize, height: usize, depth: usize) -> Result<VolumeMut<'a, T, M>> {
        let extent = [width, height, depth];
        Ok(VolumeMut::new(Grid::of_span("SliceMut::volume_mut", self.span(), extent, Apart::Packed)?))
    }

    /// Converts the view to layers that are `layer_rows` rows apart, with rows that are `pitch` bytes
    /// apart, for writing.
    ///
    /// # Errors
    /// As [`Slice::volume_with_pitch`].
    #[track_caller]
    pub fn volume_mut_with_pitch(
        self,
        (width, height, depth): (usize, usize, usize),
        pitch: usize,
        layer_rows: usize,
    ) -> Result<VolumeMut<'a, T, M>> {
        let (extent, apart) = ([width, height, depth], Apart::By(pitch, layer_rows));
        Ok(VolumeMut::new(Grid::of_span("SliceMut::volume_mut_with_pitch", self.span(), extent, apart)?))
    }
}

impl<T: AnyBitPattern, M: MemoryType> Buffer<T, M> {
    /// Views the whole buffer as packed rows.
    ///
    /// # Errors
    /// As [`Slice::plane`].
    #[track_caller]
    pub fn plane(&self, width: usize, height: usize) -> Result<Plane<'_, T, M>> {
        self.as_slice().plane(width, height)
    }

    /// Views the whole buffer as packed rows, for writing.
    ///
    /// # Errors
    /// As [`Slice::plane`].
    #[track_caller]
    pub fn plane_mut(&mut self, width: usize, height: usize) -> Result<PlaneMut<'_, T, M>> {
        self.as_slice_mut().plane_mut(width, height)
    }

    /// Views the whole buffer as packed layers of rows.
    ///
    /// # Errors
    /// As [`Slice::volume`].
    #[track_caller]
    pub fn volume(&self, width: usize, height: usize, depth: usize) -> Result<Volume<'_, T, M>> {
        self.as_slice().volume(width, height, depth)
    }

    /// Views the whole buffer as packed layers of rows, for writing.
    ///
    /// # Errors
    /// As [`Slice::volume`].
    #[track_caller]
    pub fn volume_mut(&mut self, width: usize, height: usize, depth: usize) -> Result<VolumeMut<'_, T, M>> {
        self.as_slice_mut().volume_mut(width, height, depth)
    }
}

impl<'a, T: NoUninit> Volume<'a, T, Pageable> {
    /// Views a slice as packed layers of rows.
    ///
    /// # Errors
    /// - Refused with both numbers if the slice and the volume do not have the same number of elements.
    /// - Refused if the size overflows.
    #[track_caller]
    pub fn from_slice(slice: &'a [T], width: usize, height: usize, depth: usize) -> Result<Self> {
        Self::of(slice, [width, height, depth], Apart::Packed)
    }

    /// Views a slice as layers that are `layer_rows` rows apart, with rows that are `pitch` bytes apart.
    /// The slice may end with the last row.
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice), except that the slice may have more elements than the volume
    /// needs. Also refused if the pitch is not possible for these rows, or if layers would overlap.
    #[track_caller]
    pub fn from_slice_with_pitch(
        slice: &'a [T],
        (width, height, depth): (usize, usize, usize),
        pitch: usize,
        layer_rows: usize,
    ) -> Result<Self> {
        Self::of(slice, [width, height, depth], Apart::By(pitch, layer_rows))
    }
}

impl<'a, T: AnyBitPattern> VolumeMut<'a, T, Pageable> {
    /// Views a slice as packed layers of rows, for writing.
    ///
    /// # Errors
    /// - Refused with both numbers if the slice and the volume do not have the same number of elements.
    /// - Refused if the size overflows.
    #[track_caller]
    pub fn from_slice(slice: &'a mut [T], width: usize, height: usize, depth: usize) -> Result<Self> {
        Self::of(slice, [width, height, depth], Apart::Packed)
    }

    /// Views a slice as layers that are `layer_rows` rows apart, with rows that are `pitch` bytes apart,
    /// for writing. The slice may end with the last row.
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice), except that the slice may have more elements than the volume
    /// needs. Also refused if the pitch is not possible for these rows, or if layers would overlap.
    #[track_caller]
    pub fn from_slice_with_pitch(
        slice: &'a mut [T],
        (width, height, depth): (usize, usize, usize),
        pitch: usize,
        layer_rows: usize,
    ) -> Result<Self> {
        Self::of(slice, [width, height, depth], Apart::By(pitch, layer_rows))
    }
}
