//! Planes and volumes: rows of elements with a pitch, and layers of such rows, in any memory, for reading and
//! for writing.
//!
//! They are made from pitched memory, from a part of any buffer, or from a slice of the program. Widths are
//! in elements, heights in rows, depths in layers, pitches in bytes. As in C, the distance between layers is
//! in rows: layer `z` begins `z * layer_rows * pitch` bytes after the first. Parts are taken by layers, by
//! rows and by columns. The tracker records a plane or a volume as the range from its first to its last byte,
//! with the bytes between the rows. Work on two interleaved planes is therefore ordered, although it need not
//! be.
//!
//! Others may have what lies between the rows of a half of a plane, so a launch that is proven stays before
//! the first gap of it: in one row, in rows with all columns, or, of a volume that was split by rows, in one
//! layer.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::buffer::{Buffer, Slice, SliceMut};
use super::grid::{Apart, Extent, Grid, Others};
use super::memory_type::{AnyMemoryType, MemoryType, Pageable};
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
                Ok(Self::new(self.grid.rows(concat!(stringify!($view), "::rows"), &range, Others::OnlyRead)?))
            }

            /// Views some elements of every row.
            ///
            /// # Errors
            /// Refused with the range and the width if the range is not within the view.
            #[track_caller]
            pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
                let api = concat!(stringify!($view), "::columns");
                Ok(Self::new(self.grid.columns(api, &range, Others::OnlyRead)?))
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
            /// Views some of the rows for writing, for the lifetime of this borrow. For a volume, these are
            /// rows of every layer.
            ///
            /// # Errors
            /// Refused with the range and the height if the range is not within the view.
            #[track_caller]
            pub fn rows_mut(&mut self, range: impl RangeBounds<usize>) -> Result<$view_mut<'_, T, M>> {
                let api = concat!(stringify!($view_mut), "::rows_mut");
                Ok($view_mut::new(self.grid.rows(api, &range, Others::MayWrite)?))
            }

            /// Views some elements of every row for writing, for the lifetime of this borrow.
            ///
            /// # Errors
            /// Refused with the range and the width if the range is not within the view.
            #[track_caller]
            pub fn columns_mut(&mut self, range: impl RangeBounds<usize>) -> Result<$view_mut<'_, T, M>> {
                let api = concat!(stringify!($view_mut), "::columns_mut");
                Ok($view_mut::new(self.grid.columns(api, &range, Others::MayWrite)?))
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
                let before = self.grid.rows(api, &(..middle), Others::MayWrite)?;
                let after = self.grid.rows(api, &(middle..), Others::MayWrite)?;
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
                let before = self.grid.columns(api, &(..middle), Others::MayWrite)?;
                let after = self.grid.columns(api, &(middle..), Others::MayWrite)?;
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

            /// Returns the elements of a row, the rows of a layer, and the layers, of which a plane has one.
            #[must_use]
            pub fn extent(&self) -> [usize; 3] {
                self.grid.extent()
            }

            /// Returns the distance between rows in bytes.
            #[must_use]
            pub fn pitch(&self) -> usize {
                self.grid.layout().pitch
            }

            /// Returns the distance between layers in rows. For a plane, this is the number of its rows.
            #[must_use]
            pub fn layer_rows(&self) -> usize {
                self.grid.layout().layer_rows
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

/// The functions that make the view for reading and the one for writing, each packed and with a pitch: of a
/// slice of the program, of a part of a buffer, and of a whole buffer.
macro_rules! views_of_memory {
    (
        $view:ident($make:ident, $pitched:ident), $view_mut:ident($make_mut:ident, $pitched_mut:ident),
        [$($size:tt)*] => $extent:expr, [$($pitch:tt)*] => $apart:expr
    ) => {
        impl<'a, T: NoUninit> $view<'a, T, Pageable> {
            /// Views a slice as packed rows, or layers of rows.
            ///
            /// # Errors
            /// - Refused with both numbers if the slice and the view do not have the same number of elements.
            /// - Refused if the size overflows.
            #[track_caller]
            pub fn from_slice(slice: &'a [T], $($size)*) -> Result<Self> {
                Self::of_slice(slice, $extent, Apart::Packed)
            }

            /// Views a slice as rows that are `pitch` bytes apart. Layers are `layer_rows` rows apart. The
            /// slice may end with the last row.
            ///
            /// # Errors
            /// As [`from_slice`](Self::from_slice), except that the slice may have more elements than the
            /// view needs. Also refused if the pitch is not possible for these rows, or if layers would
            /// overlap.
            #[track_caller]
            pub fn from_slice_with_pitch(slice: &'a [T], $($pitch)*) -> Result<Self> {
                Self::of_slice(slice, $extent, $apart)
            }

            #[track_caller]
            fn of_slice(slice: &'a [T], extent: Extent, apart: Apart) -> Result<Self> {
                // Never written through: only destinations are written, and they are made from the `Mut`
                // type.
                let slice = std::ptr::from_ref(slice).cast_mut();
                let api = concat!(stringify!($view), "::from_slice");
                Ok(Self::new(Grid::of_slice(api, slice, extent, apart)?))
            }
        }

        impl<'a, T: AnyBitPattern> $view_mut<'a, T, Pageable> {
            /// Views a slice as packed rows, or layers of rows, for writing.
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($view), "::from_slice`].")]
            #[track_caller]
            pub fn from_slice(slice: &'a mut [T], $($size)*) -> Result<Self> {
                Self::of_slice(slice, $extent, Apart::Packed)
            }

            /// Views a slice as rows that are `pitch` bytes apart, for writing. Layers are `layer_rows` rows
            /// apart. The slice may end with the last row.
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($view), "::from_slice_with_pitch`].")]
            #[track_caller]
            pub fn from_slice_with_pitch(slice: &'a mut [T], $($pitch)*) -> Result<Self> {
                Self::of_slice(slice, $extent, $apart)
            }

            #[track_caller]
            fn of_slice(slice: &'a mut [T], extent: Extent, apart: Apart) -> Result<Self> {
                let api = concat!(stringify!($view_mut), "::from_slice");
                Ok(Self::new(Grid::of_slice(api, slice, extent, apart)?))
            }
        }

        impl<'a, T: AnyBitPattern, M: MemoryType> Slice<'a, T, M> {
            /// Views the part as packed rows, or layers of rows.
            ///
            /// # Errors
            /// - Refused with both numbers if the part and the view do not have the same number of elements.
            /// - Refused if the size overflows.
            #[track_caller]
            pub fn $make(&self, $($size)*) -> Result<$view<'a, T, M>> {
                let api = concat!("Slice::", stringify!($make));
                Ok($view::new(Grid::of_span(api, self.span(), $extent, Apart::Packed)?))
            }

            /// Views the part as rows that are `pitch` bytes apart. Layers are `layer_rows` rows apart. The
            /// part may end with the last row.
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($make), "`](Self::", stringify!($make), "), except that")]
            /// the part may have more elements than the view needs. Also refused if the pitch is not possible
            /// for these rows, or if layers would overlap.
            #[track_caller]
            pub fn $pitched(&self, $($pitch)*) -> Result<$view<'a, T, M>> {
                let api = concat!("Slice::", stringify!($pitched));
                Ok($view::new(Grid::of_span(api, self.span(), $extent, $apart)?))
            }
        }

        impl<'a, T: AnyBitPattern, M: MemoryType> SliceMut<'a, T, M> {
            /// Converts the part to packed rows, or layers of rows, for writing.
            ///
            /// # Errors
            #[doc = concat!("As [`Slice::", stringify!($make), "`].")]
            #[track_caller]
            pub fn $make_mut(self, $($size)*) -> Result<$view_mut<'a, T, M>> {
                let api = concat!("SliceMut::", stringify!($make_mut));
                Ok($view_mut::new(Grid::of_span(api, self.span(), $extent, Apart::Packed)?))
            }

            /// Converts the part to rows that are `pitch` bytes apart, for writing. Layers are `layer_rows`
            /// rows apart.
            ///
            /// # Errors
            #[doc = concat!("As [`Slice::", stringify!($pitched), "`].")]
            #[track_caller]
            pub fn $pitched_mut(self, $($pitch)*) -> Result<$view_mut<'a, T, M>> {
                let api = concat!("SliceMut::", stringify!($pitched_mut));
                Ok($view_mut::new(Grid::of_span(api, self.span(), $extent, $apart)?))
            }
        }

        impl<T: AnyBitPattern, M: MemoryType> Buffer<T, M> {
            /// Views the whole buffer as packed rows, or layers of rows.
            ///
            /// # Errors
            #[doc = concat!("As [`Slice::", stringify!($make), "`].")]
            #[track_caller]
            pub fn $make(&self, $($size)*) -> Result<$view<'_, T, M>> {
                let api = concat!("Buffer::", stringify!($make));
                Ok($view::new(Grid::of_span(api, self.span(), $extent, Apart::Packed)?))
            }

            /// Views the whole buffer as packed rows, or layers of rows, for writing.
            ///
            /// # Errors
            #[doc = concat!("As [`Slice::", stringify!($make), "`].")]
            #[track_caller]
            pub fn $make_mut(&mut self, $($size)*) -> Result<$view_mut<'_, T, M>> {
                let api = concat!("Buffer::", stringify!($make_mut));
                Ok($view_mut::new(Grid::of_span(api, self.span(), $extent, Apart::Packed)?))
            }
        }
    };
}

views_of_memory!(
    Plane(plane, plane_with_pitch), PlaneMut(plane_mut, plane_mut_with_pitch),
    [width: usize, height: usize] => [width, height, 1],
    [width: usize, height: usize, pitch: usize] => Apart::By(pitch, height)
);
views_of_memory!(
    Volume(volume, volume_with_pitch), VolumeMut(volume_mut, volume_mut_with_pitch),
    [width: usize, height: usize, depth: usize] => [width, height, depth],
    [(width, height, depth): (usize, usize, usize), pitch: usize, layer_rows: usize]
        => Apart::By(pitch, layer_rows)
);
