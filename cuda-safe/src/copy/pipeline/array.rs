//! [`PipelineInput`] and [`PipelineOutput`]: the host arrays of a pipeline.

use std::ops::Range;

use bytemuck::AnyBitPattern;

use crate::error::Result;
use crate::memory::{Buffer, Pinned, PinnedSlice, PinnedSliceMut, Registered, Stable, StableMut, size};

/// The host array that a [`Pipeline`](super::Pipeline) reads.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PipelineInput<'a, T> {
    /// A slice or a vector.
    Pageable(&'a [T]),
    /// Pinned or registered memory, which is copied without a detour.
    Pinned(PinnedSlice<'a, T>),
}

/// The host array that a [`Pipeline`](super::Pipeline) writes.
#[derive(Debug)]
#[non_exhaustive]
pub enum PipelineOutput<'a, T> {
    /// A slice or a vector, which is filled to its length.
    Pageable(&'a mut [T]),
    /// Pinned or registered memory, which is copied without a detour.
    Pinned(PinnedSliceMut<'a, T>),
}

impl<'a, T> From<&'a [T]> for PipelineInput<'a, T> {
    fn from(slice: &'a [T]) -> Self {
        Self::Pageable(slice)
    }
}

impl<'a, T> From<&'a Vec<T>> for PipelineInput<'a, T> {
    fn from(vector: &'a Vec<T>) -> Self {
        Self::Pageable(vector)
    }
}

impl<'a, T> From<PinnedSlice<'a, T>> for PipelineInput<'a, T> {
    fn from(slice: PinnedSlice<'a, T>) -> Self {
        Self::Pinned(slice)
    }
}

impl<'a, T: AnyBitPattern> From<&'a Buffer<T, Pinned>> for PipelineInput<'a, T> {
    fn from(buffer: &'a Buffer<T, Pinned>) -> Self {
        Self::Pinned(buffer.as_slice())
    }
}

impl<'a, C: Stable> From<&'a Registered<C>> for PipelineInput<'a, C::Element> {
    fn from(registered: &'a Registered<C>) -> Self {
        Self::Pinned(registered.as_slice())
    }
}

impl<'a, T> From<&'a mut [T]> for PipelineOutput<'a, T> {
    fn from(slice: &'a mut [T]) -> Self {
        Self::Pageable(slice)
    }
}

impl<'a, T> From<&'a mut Vec<T>> for PipelineOutput<'a, T> {
    fn from(vector: &'a mut Vec<T>) -> Self {
        Self::Pageable(vector)
    }
}

impl<'a, T> From<PinnedSliceMut<'a, T>> for PipelineOutput<'a, T> {
    fn from(slice: PinnedSliceMut<'a, T>) -> Self {
        Self::Pinned(slice)
    }
}

impl<'a, T: AnyBitPattern> From<&'a mut Buffer<T, Pinned>> for PipelineOutput<'a, T> {
    fn from(buffer: &'a mut Buffer<T, Pinned>) -> Self {
        Self::Pinned(buffer.as_slice_mut())
    }
}

impl<'a, C: StableMut> From<&'a mut Registered<C>> for PipelineOutput<'a, C::Element> {
    fn from(registered: &'a mut Registered<C>) -> Self {
        Self::Pinned(registered.as_slice_mut())
    }
}

impl<T: AnyBitPattern> PipelineInput<'_, T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Pageable(slice) => slice.len(),
            Self::Pinned(slice) => slice.len(),
        }
    }

    /// Whether the staged engine copies it.
    pub(super) fn is_pageable(&self) -> bool {
        matches!(self, Self::Pageable(_))
    }

    /// Some of the elements.
    pub(super) fn part(&self, range: Range<usize>) -> Result<PipelineInput<'_, T>> {
        match self {
            Self::Pageable(slice) => {
                let range = size::range_in("Pipeline::run", &range, slice.len())?;
                Ok(PipelineInput::Pageable(slice.get(range).unwrap_or(&[])))
            }
            Self::Pinned(slice) => Ok(PipelineInput::Pinned(slice.slice(range)?)),
        }
    }
}

impl<T: AnyBitPattern> PipelineOutput<'_, T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Pageable(slice) => slice.len(),
            Self::Pinned(slice) => slice.len(),
        }
    }

    /// Whether the staged engine copies it.
    pub(super) fn is_pageable(&self) -> bool {
        matches!(self, Self::Pageable(_))
    }
}
