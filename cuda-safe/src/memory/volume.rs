//! Volumes: layers of rows of elements with a pitch, in any memory, for reading and for writing.
//!
//! As [planes](super::Plane), with layers. Depths are in layers. As in C, the distance between layers is in
//! rows: layer `z` begins `z * layer_rows * pitch` bytes after the first.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::buffer::Buffer;
use super::grid::{Apart, Grid};
use super::memory_type::{AnyMemoryType, MemoryType, Pageable};
use super::plane::{Plane, PlaneMut, of_rows};
use super::slice::{Slice, SliceMut};
use crate::device::Device;
use crate::error::Result;

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

impl<T, M> Clone for Volume<'_, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M> Copy for Volume<'_, T, M> {}

of_rows!(Volume, "Volume");
of_rows!(VolumeMut, "VolumeMut");

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

    /// Views some rows of every layer.
    ///
    /// # Errors
    /// Refused with the range and the height if the range is not within the volume.
    #[track_caller]
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.grid.rows("Volume::rows", &range)?))
    }

    /// Views some elements of every row.
    ///
    /// # Errors
    /// Refused with the range and the width if the range is not within the volume.
    #[track_caller]
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.grid.columns("Volume::columns", &range)?))
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

    /// Returns the address of the first element, for writing.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.grid.pointer()
    }

    /// Returns the same volume for the lifetime of this borrow.
    #[must_use]
    pub fn reborrow(&mut self) -> VolumeMut<'_, T, M> {
        VolumeMut::new(self.grid)
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

    /// Views some rows of every layer for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused with the range and the height if the range is not within the volume.
    #[track_caller]
    pub fn rows_mut(&mut self, range: impl RangeBounds<usize>) -> Result<VolumeMut<'_, T, M>> {
        Ok(VolumeMut::new(self.grid.rows("VolumeMut::rows_mut", &range)?))
    }

    /// Views some elements of every row for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused with the range and the width if the range is not within the volume.
    #[track_caller]
    pub fn columns_mut(&mut self, range: impl RangeBounds<usize>) -> Result<VolumeMut<'_, T, M>> {
        Ok(VolumeMut::new(self.grid.columns("VolumeMut::columns_mut", &range)?))
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

    /// Splits the view into the rows of every layer before `middle` and those from `middle` on. With more
    /// than one layer, the tracker orders work on one of them after work on the other.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_row_mut(self, middle: usize) -> Result<(Self, Self)> {
        let before = self.grid.rows("VolumeMut::split_at_row_mut", &(..middle))?;
        let after = self.grid.rows("VolumeMut::split_at_row_mut", &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
    }

    /// Splits the view into the columns before `middle` and those from `middle` on. The tracker orders work
    /// on one of them after work on the other.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_column_mut(self, middle: usize) -> Result<(Self, Self)> {
        let before = self.grid.columns("VolumeMut::split_at_column_mut", &(..middle))?;
        let after = self.grid.columns("VolumeMut::split_at_column_mut", &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
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

    #[track_caller]
    fn of(slice: &'a [T], extent: [usize; 3], apart: Apart) -> Result<Self> {
        // Never written through: only destinations are written, and they are made from the `Mut` type.
        let pointer = slice.as_ptr().cast_mut();
        Ok(Self::new(Grid::of_slice("Volume::from_slice", pointer, slice.len(), extent, apart)?))
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

    #[track_caller]
    fn of(slice: &'a mut [T], extent: [usize; 3], apart: Apart) -> Result<Self> {
        let (pointer, len) = (slice.as_mut_ptr(), slice.len());
        Ok(Self::new(Grid::of_slice("VolumeMut::from_slice", pointer, len, extent, apart)?))
    }
}

impl<'a, T: AnyBitPattern, M: MemoryType> Slice<'a, T, M> {
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
