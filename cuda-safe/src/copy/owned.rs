//! Copies into new owners: device buffers from elements, and vectors from device memory.
#![expect(unsafe_code, reason = "takes a vector's spare as filled once the copy has filled it")]

use bytemuck::AnyBitPattern;

use super::checked::CheckedCopy;
use super::fill::memset;
use super::operand::{Dimensions, Operand, Planar, Source, Volumetric};
use super::staged;
use super::transfer;
use super::verbs::memcpy;
use crate::element::{Element, PlainElement};
use crate::error::Result;
use crate::memory::{
    Array, ArrayElement, ArrayView, DeviceBuffer, DeviceSlice, OnDevice, PitchedBuffer, PitchedVolume,
};

impl<T> DeviceBuffer<T> {
    /// Allocates a buffer of the slice's length on the current device, and copies the elements to it.
    ///
    /// Stands for [`cudaMalloc`](crate::sys::cudaMalloc) and [`cudaMemcpy`](crate::sys::cudaMemcpy).
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc) and [`memcpy`].
    ///
    /// # Examples
    /// ```
    /// # fn main() -> cuda_safe::Result<()> {
    /// let squares = cuda_safe::DeviceBuffer::from_slice(&[1, 4, 9])?;
    /// assert_eq!(squares.to_vec()?, [1, 4, 9]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn from_slice(elements: &[T]) -> Result<Self>
    where
        T: PlainElement,
    {
        let mut buffer = Self::alloc(elements.len())?;
        memcpy(&mut buffer, elements)?;
        Ok(buffer)
    }

    /// Allocates `len` elements on the current device and sets all bytes to 0.
    ///
    /// Stands for [`cudaMalloc`](crate::sys::cudaMalloc) and [`cudaMemset`](crate::sys::cudaMemset).
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc) and [`memset`].
    #[track_caller]
    pub fn alloc_zeroed(len: usize) -> Result<Self>
    where
        T: Element,
    {
        let mut buffer = Self::alloc(len)?;
        memset(&mut buffer, 0)?;
        Ok(buffer)
    }
}

impl<T: AnyBitPattern> DeviceBuffer<T> {
    /// Copies the elements to a new vector, as [`memcpy`] does.
    ///
    /// # Errors
    /// As [`memcpy`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        to_vec(Operand::from_span::<T, OnDevice>(self.span()))
    }
}

impl<T: AnyBitPattern> DeviceSlice<'_, T> {
    /// Copies the elements to a new vector, as [`memcpy`] does.
    ///
    /// # Errors
    /// As [`memcpy`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        to_vec(Operand::from_span::<T, OnDevice>(self.span()))
    }
}

impl<T: AnyBitPattern> PitchedBuffer<T> {
    /// Copies the rows to a new vector, one after the other, as [`memcpy_2d`](crate::memcpy_2d) does.
    ///
    /// # Errors
    /// As [`memcpy_2d`](crate::memcpy_2d).
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        to_vec(Source::<Planar>::operand(self)?)
    }
}

impl<T: AnyBitPattern> PitchedVolume<T> {
    /// Copies the layers to a new vector, one row after the other, as [`memcpy_3d`](crate::memcpy_3d) does.
    ///
    /// # Errors
    /// As [`memcpy_3d`](crate::memcpy_3d).
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        to_vec(Source::<Volumetric>::operand(self)?)
    }
}

impl<T: ArrayElement> Array<T> {
    /// Copies the elements to a new vector, row after row and layer after layer.
    ///
    /// # Errors
    /// As [`memcpy_3d`](crate::memcpy_3d).
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.view().to_vec()
    }
}

impl<T: ArrayElement> ArrayView<'_, T> {
    /// Copies the elements to a new vector, row after row and layer after layer.
    ///
    /// # Errors
    /// As [`memcpy_3d`](crate::memcpy_3d).
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let dimensions = if self.extent()[2] == 1 { Dimensions::Two } else { Dimensions::Three };
        to_vec(Operand::from_array(self.region(), dimensions))
    }
}

/// Copies elements directly into a vector's spare capacity, which is written only once.
#[track_caller]
fn to_vec<T: AnyBitPattern>(source: Operand<'_>) -> Result<Vec<T>> {
    if source.bytes() == 0 {
        return Ok(Vec::new());
    }
    // Does not overflow if there are elements, because an owner holds all of them.
    let len = source.extent().into_iter().fold(1, usize::saturating_mul);
    let mut elements = Vec::with_capacity(len);
    // A vector may have more capacity than requested.
    let spare = elements.spare_capacity_mut().get_mut(..len).unwrap_or(&mut []);
    if let Dimensions::One = source.dimensions {
        staged::request_large_pages(spare);
    }
    if let Some(copy) = CheckedCopy::new("to_vec", Operand::from_uninit_like(spare, &source), source)? {
        transfer::block_checked("to_vec", &copy, true)?;
    }
    // SAFETY: the copy has written `len` elements, with contiguous rows, to the start of the vector's
    // memory, and is complete on the host's side. Any bytes are a valid `T`.
    unsafe { elements.set_len(len) };
    Ok(elements)
}
