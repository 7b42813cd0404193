//! Volumes: layers of rows of elements with a pitch, wherever they are; to read, and to write.
//!
//! As [planes](super::Plane), with layers. Depths are in layers. How far apart layers begin is said in rows, as in C: layer `z`
//! begins `z * layer_rows * pitch` bytes after the first.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::buffer::Buffer;
use super::grid::{Apart, Grid};
use super::place::{AnyPlace, Pageable, Place};
use super::plane::{Plane, PlaneMut, of_rows};
use super::slice::{Slice, SliceMut};
use crate::device::Device;
use crate::error::Result;

/// Layers of rows of elements that may be read.
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
/// memcpy_3d(&mut VolumeMut::of_slice(&mut found, 2, 1, 2)?, &corner)?;
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

/// Layers of rows of elements that may be written, and that no other view shares an element with.
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

impl<'a, T: AnyBitPattern, M: AnyPlace> Volume<'a, T, M> {
    /// Layers.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.grid.depth()
    }

    /// Rows from the beginning of one layer to that of the next.
    #[must_use]
    pub fn layer_rows(&self) -> usize {
        self.grid.layout().layer_rows
    }

    /// Views some of the layers.
    ///
    /// # Errors
    /// A refusal where the range is not within the volume, with range and depth.
    #[track_caller]
    pub fn layers(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.grid.layers("Volume::layers", &range)?))
    }

    /// Views some rows of every layer.
    ///
    /// # Errors
    /// A refusal where the range is not within the volume, with range and height.
    #[track_caller]
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.grid.rows("Volume::rows", &range)?))
    }

    /// Views some elements of every row.
    ///
    /// # Errors
    /// A refusal where the range is not within the volume, with range and width.
    #[track_caller]
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.grid.columns("Volume::columns", &range)?))
    }

    /// Views one layer.
    ///
    /// # Errors
    /// A refusal where there is no such layer.
    #[track_caller]
    pub fn layer(&self, number: usize) -> Result<Plane<'a, T, M>> {
        Ok(Plane::new(self.grid.layer("Volume::layer", number)?))
    }
}

impl<T: AnyBitPattern, M: AnyPlace> VolumeMut<'_, T, M> {
    /// Layers.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.grid.depth()
    }

    /// Rows from the beginning of one layer to that of the next.
    #[must_use]
    pub fn layer_rows(&self) -> usize {
        self.grid.layout().layer_rows
    }

    /// The address of the first element, for writing.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.grid.pointer()
    }

    /// The same volume for as long as this borrow lives.
    #[must_use]
    pub fn reborrow(&mut self) -> VolumeMut<'_, T, M> {
        VolumeMut::new(self.grid)
    }

    /// The same volume, to read only, for as long as this borrow lives.
    #[must_use]
    pub fn as_volume(&self) -> Volume<'_, T, M> {
        Volume::new(self.grid)
    }

    /// Views some of the layers so that they may be written, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the volume, with range and depth.
    #[track_caller]
    pub fn layers_mut(&mut self, range: impl RangeBounds<usize>) -> Result<VolumeMut<'_, T, M>> {
        Ok(VolumeMut::new(self.grid.layers("VolumeMut::layers_mut", &range)?))
    }

    /// Views some rows of every layer so that they may be written, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the volume, with range and height.
    #[track_caller]
    pub fn rows_mut(&mut self, range: impl RangeBounds<usize>) -> Result<VolumeMut<'_, T, M>> {
        Ok(VolumeMut::new(self.grid.rows("VolumeMut::rows_mut", &range)?))
    }

    /// Views some elements of every row so that they may be written, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the volume, with range and width.
    #[track_caller]
    pub fn columns_mut(&mut self, range: impl RangeBounds<usize>) -> Result<VolumeMut<'_, T, M>> {
        Ok(VolumeMut::new(self.grid.columns("VolumeMut::columns_mut", &range)?))
    }

    /// Views one layer so that it may be written, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where there is no such layer.
    #[track_caller]
    pub fn layer_mut(&mut self, number: usize) -> Result<PlaneMut<'_, T, M>> {
        Ok(PlaneMut::new(self.grid.layer("VolumeMut::layer_mut", number)?))
    }

    /// Gives the view up for the layers before `middle` and those from it on, which may be written at once.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_layer_mut(self, middle: usize) -> Result<(Self, Self)> {
        let before = self.grid.layers("VolumeMut::split_at_layer_mut", &(..middle))?;
        let after = self.grid.layers("VolumeMut::split_at_layer_mut", &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
    }

    /// Gives the view up for the rows of every layer before `middle` and those from it on. The tracker orders work on the one
    /// after work on the other where there are layers.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_row_mut(self, middle: usize) -> Result<(Self, Self)> {
        let before = self.grid.rows("VolumeMut::split_at_row_mut", &(..middle))?;
        let after = self.grid.rows("VolumeMut::split_at_row_mut", &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
    }

    /// Gives the view up for the columns before `middle` and those from it on. The tracker orders work on the one after work
    /// on the other.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_column_mut(self, middle: usize) -> Result<(Self, Self)> {
        let before = self.grid.columns("VolumeMut::split_at_column_mut", &(..middle))?;
        let after = self.grid.columns("VolumeMut::split_at_column_mut", &(middle..))?;
        Ok((Self::new(before), Self::new(after)))
    }
}

impl<'a, T: NoUninit> Volume<'a, T, Pageable> {
    /// Views a slice as layers of rows, one after the other.
    ///
    /// # Errors
    /// A refusal where the slice has not as many elements as the volume, with both numbers; where the size overflows.
    #[track_caller]
    pub fn of_slice(slice: &'a [T], width: usize, height: usize, depth: usize) -> Result<Self> {
        Self::of(slice, [width, height, depth], Apart::Packed)
    }

    /// Views a slice as layers that begin `layer_rows` rows apart, of rows that begin `pitch` bytes apart. After the last
    /// row nothing needs to follow.
    ///
    /// # Errors
    /// As [`of_slice`](Self::of_slice), but that there may be more elements; where rows cannot have the pitch, and where layers would lie
    /// over each other.
    #[track_caller]
    pub fn of_slice_with_pitch(
        slice: &'a [T],
        (width, height, depth): (usize, usize, usize),
        pitch: usize,
        layer_rows: usize,
    ) -> Result<Self> {
        Self::of(slice, [width, height, depth], Apart::By(pitch, layer_rows))
    }

    #[track_caller]
    fn of(slice: &'a [T], extent: [usize; 3], apart: Apart) -> Result<Self> {
        // Never written through: only a destination is, and that is made from the other type.
        let pointer = slice.as_ptr().cast_mut();
        Ok(Self::new(Grid::of_slice("Volume::of_slice", pointer, slice.len(), extent, apart)?))
    }
}

impl<'a, T: AnyBitPattern> VolumeMut<'a, T, Pageable> {
    /// Views a slice as layers of rows, one after the other, that may be written.
    ///
    /// # Errors
    /// A refusal where the slice has not as many elements as the volume, with both numbers; where the size overflows.
    #[track_caller]
    pub fn of_slice(slice: &'a mut [T], width: usize, height: usize, depth: usize) -> Result<Self> {
        Self::of(slice, [width, height, depth], Apart::Packed)
    }

    /// Views a slice as layers that begin `layer_rows` rows apart, of rows that begin `pitch` bytes apart, and that may be
    /// written. After the last row nothing needs to follow.
    ///
    /// # Errors
    /// As [`of_slice`](Self::of_slice), but that there may be more elements; where rows cannot have the pitch, and where layers would lie
    /// over each other.
    #[track_caller]
    pub fn of_slice_with_pitch(
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
        Ok(Self::new(Grid::of_slice("VolumeMut::of_slice", pointer, len, extent, apart)?))
    }
}

impl<'a, T: AnyBitPattern, M: Place> Slice<'a, T, M> {
    /// Views the part as layers of rows, one after the other.
    ///
    /// # Errors
    /// A refusal where the part has not as many elements as the volume, with both numbers; where the size overflows.
    #[track_caller]
    pub fn volume(&self, width: usize, height: usize, depth: usize) -> Result<Volume<'a, T, M>> {
        let extent = [width, height, depth];
        Ok(Volume::new(Grid::of_span("Slice::volume", self.span(), extent, Apart::Packed)?))
    }

    /// Views the part as layers that begin `layer_rows` rows apart, of rows that begin `pitch` bytes apart. After the last
    /// row nothing needs to follow.
    ///
    /// # Errors
    /// As [`volume`](Self::volume), but that there may be more elements; where rows cannot have the pitch, and where layers
    /// would lie over each other.
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

impl<'a, T: AnyBitPattern, M: Place> SliceMut<'a, T, M> {
    /// Gives the view up for one of layers of rows, one after the other, that may be written.
    ///
    /// # Errors
    /// As [`Slice::volume`].
    #[track_caller]
    pub fn volume_mut(self, width: usize, height: usize, depth: usize) -> Result<VolumeMut<'a, T, M>> {
        let extent = [width, height, depth];
        Ok(VolumeMut::new(Grid::of_span("SliceMut::volume_mut", self.span(), extent, Apart::Packed)?))
    }

    /// Gives the view up for one of layers that begin `layer_rows` rows apart, of rows that begin `pitch` bytes apart, and
    /// that may be written.
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

impl<T: AnyBitPattern, M: Place> Buffer<T, M> {
    /// Views the whole buffer as layers of rows, one after the other.
    ///
    /// # Errors
    /// As [`Slice::volume`].
    #[track_caller]
    pub fn volume(&self, width: usize, height: usize, depth: usize) -> Result<Volume<'_, T, M>> {
        self.as_slice().volume(width, height, depth)
    }

    /// Views the whole buffer as layers of rows, one after the other, that may be written.
    ///
    /// # Errors
    /// As [`Slice::volume`].
    #[track_caller]
    pub fn volume_mut(&mut self, width: usize, height: usize, depth: usize) -> Result<VolumeMut<'_, T, M>> {
        self.as_slice_mut().volume_mut(width, height, depth)
    }
}
