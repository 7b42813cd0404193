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

/// What a side is made from, a line each: the generics, the type, that of the elements, and how.
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

impl<'a, T: AnyBitPattern> PipelineOutput<'a, T> {
    /// The first elements, as far as there are any, and the others.
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

    /// The same, to be read.
    pub(super) fn as_input(&self) -> PipelineInput<'_, T> {
        match self {
            Self::Pageable(slice) => PipelineInput::Pageable(slice),
            Self::Pinned(slice) => PipelineInput::Pinned(slice.as_slice()),
        }
    }

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
