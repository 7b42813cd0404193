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
    /// Pinned or registered memory, which is copied directly.
    Pinned(PinnedSlice<'a, T>),
}

/// The host array that a [`Pipeline`](super::Pipeline) writes.
#[derive(Debug)]
#[non_exhaustive]
pub enum PipelineOutput<'a, T> {
    /// A slice or a vector, which is filled to its length.
    Pageable(&'a mut [T]),
    /// Pinned or registered memory, which is copied directly.
    Pinned(PinnedSliceMut<'a, T>),
}

/// Implements `From` for a side: a line each with the generics, the type, its element type, and the
/// conversion.
macro_rules! made_from {
    ($side:ident: $([$($generic:tt)*] $from:ty, $element:ty, |$it:ident| $made:expr;)*) => {$(
        impl<'a, $($generic)*> From<$from> for $side<'a, $element> {
            fn from($it: $from) -> Self {
                $made
            }
        }
    )*};
}

made_from! { PipelineInput:
    [T] &'a [T], T, |slice| Self::Pageable(slice);
    [T] &'a Vec<T>, T, |vector| Self::Pageable(vector);
    [T] PinnedSlice<'a, T>, T, |slice| Self::Pinned(slice);
    [T: AnyBitPattern] &'a Buffer<T, Pinned>, T, |buffer| Self::Pinned(buffer.as_slice());
    [C: Stable] &'a Registered<C>, C::Element, |registered| Self::Pinned(registered.as_slice());
}

made_from! { PipelineOutput:
    [T] &'a mut [T], T, |slice| Self::Pageable(slice);
    [T] &'a mut Vec<T>, T, |vector| Self::Pageable(vector);
    [T] PinnedSliceMut<'a, T>, T, |slice| Self::Pinned(slice);
    [T: AnyBitPattern] &'a mut Buffer<T, Pinned>, T, |buffer| Self::Pinned(buffer.as_slice_mut());
    [C: StableMut] &'a mut Registered<C>, C::Element, |registered| Self::Pinned(registered.as_slice_mut());
}

impl<T: AnyBitPattern> PipelineInput<'_, T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Pageable(slice) => slice.len(),
            Self::Pinned(slice) => slice.len(),
        }
    }

    /// Returns whether the array is pageable, so that its copies are staged.
    pub(super) fn is_pageable(&self) -> bool {
        matches!(self, Self::Pageable(_))
    }

    /// Returns the part of the array in this range.
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

impl<'a, T: AnyBitPattern> PipelineOutput<'a, T> {
    /// Splits the array into the first `len` elements, or all if there are fewer, and the rest.
    pub(super) fn split(self, len: usize) -> Result<(Self, Self)> {
        Ok(match self {
            Self::Pageable(slice) => {
                let (first, rest) = slice.split_at_mut(len.min(slice.len()));
                (Self::Pageable(first), Self::Pageable(rest))
            }
            Self::Pinned(slice) => {
                let len = len.min(slice.len());
                let (first, rest) = slice.split_at_mut(len)?;
                (Self::Pinned(first), Self::Pinned(rest))
            }
        })
    }

    /// Returns the same array for reading.
    pub(super) fn as_input(&self) -> PipelineInput<'_, T> {
        match self {
            Self::Pageable(slice) => PipelineInput::Pageable(slice),
            Self::Pinned(slice) => PipelineInput::Pinned(slice.as_slice()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.as_input().len()
    }

    /// Returns whether the array is pageable, so that its copies are staged.
    pub(super) fn is_pageable(&self) -> bool {
        self.as_input().is_pageable()
    }
}
