//! Parts of pinned memory: to read, and to write.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::guard::{HostMut, HostRef};
use super::mapped::mapped_pointer;
use super::span::Span;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};

/// A part of a [`PinnedBuffer`](crate::PinnedBuffer) or of [`Registered`](crate::Registered) memory that may be read.
pub struct PinnedSlice<'a, T> {
    span: Span<'a, T>,
    elements: PhantomData<&'a [T]>,
}

/// A part of a [`PinnedBuffer`](crate::PinnedBuffer) or of [`Registered`](crate::Registered) memory that may be written, and that no other view overlaps.
pub struct PinnedSliceMut<'a, T> {
    span: Span<'a, T>,
    elements: PhantomData<&'a mut [T]>,
}

impl<T> Clone for PinnedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PinnedSlice<'_, T> {}

impl<'a, T> PinnedSlice<'a, T> {
    /// A view of a span that nobody may write while the view lives.
    pub(crate) fn new(span: Span<'a, T>) -> Self {
        Self { span, elements: PhantomData }
    }

    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.span.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size in bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.span.bytes()
    }

    /// The device that was current when the memory was allocated.
    #[must_use]
    pub fn device(&self) -> Device {
        self.span.device()
    }

    /// The host address of the first element. Reading through it is a race with work that writes the memory.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span.pointer().cast_const()
    }

    /// The address at which kernels reach the first element; null where there are none.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the memory is not mapped.
    #[doc(alias = "cudaHostGetDevicePointer")]
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut T> {
        mapped_pointer(self.span)
    }

    /// A read of the part, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'a> {
        self.span.access(Mode::Read)
    }

    /// What the view is made of.
    pub(crate) fn span(&self) -> Span<'a, T> {
        self.span
    }
}

impl<'a, T: AnyBitPattern> PinnedSlice<'a, T> {
    /// Waits until no work writes the elements any more, and lends them to the host for reading.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host`](crate::PinnedBuffer::host).
    #[track_caller]
    pub fn host(&self) -> Result<HostRef<'a, T>> {
        HostRef::new(self.span)
    }

    /// Views a part of the part, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.span.part("PinnedSlice::slice", &range)?))
    }

    /// Views the elements before `middle` and those from it on.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at(&self, middle: usize) -> Result<(Self, Self)> {
        let (left, right) = self.span.split("PinnedSlice::split_at", middle)?;
        Ok((Self::new(left), Self::new(right)))
    }

    /// Views the part in parts of `size` elements; the last is shorter where that does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T>> {
        Ok(self.span.chunks("PinnedSlice::chunks", size)?.map(Self::new))
    }

    /// Views the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret<U: AnyBitPattern>(&self) -> Result<PinnedSlice<'a, U>>
    where
        T: NoUninit,
    {
        Ok(PinnedSlice::new(self.span.reinterpret("PinnedSlice::reinterpret")?))
    }
}

impl<'a, T> PinnedSliceMut<'a, T> {
    /// A view of a span that nobody else may reach while the view lives.
    pub(crate) fn new(span: Span<'a, T>) -> Self {
        Self { span, elements: PhantomData }
    }

    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.span.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size in bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.span.bytes()
    }

    /// The device that was current when the memory was allocated.
    #[must_use]
    pub fn device(&self) -> Device {
        self.span.device()
    }

    /// The host address of the first element. Reading through it is a race with work that writes the memory.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span.pointer().cast_const()
    }

    /// The host address of the first element, for writing.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.span.pointer()
    }

    /// The address at which kernels reach the first element; null where there are none.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the memory is not mapped.
    #[doc(alias = "cudaHostGetDevicePointer")]
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut T> {
        mapped_pointer(self.span)
    }

    /// A read of the part, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.span.access(Mode::Read)
    }

    /// A write of the part, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.span.access(Mode::Write)
    }

    /// What the view is made of.
    pub(crate) fn span(&self) -> Span<'a, T> {
        self.span
    }

    /// The same part for as long as this borrow lives: what a function that takes the view by value needs.
    #[must_use]
    pub fn reborrow(&mut self) -> PinnedSliceMut<'_, T> {
        PinnedSliceMut::new(self.span)
    }

    /// The same part, to read only, for as long as this borrow lives.
    #[must_use]
    pub fn as_slice(&self) -> PinnedSlice<'_, T> {
        PinnedSlice::new(self.span)
    }
}

impl<'a, T: AnyBitPattern> PinnedSliceMut<'a, T> {
    /// Waits until no work writes the elements any more, and lends them to the host for reading.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host`](crate::PinnedBuffer::host).
    #[track_caller]
    pub fn host(&self) -> Result<HostRef<'_, T>> {
        HostRef::new(self.span)
    }

    /// Waits until no work uses the elements any more, and lends them to the host for writing.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host`](crate::PinnedBuffer::host).
    #[track_caller]
    pub fn host_mut(&mut self) -> Result<HostMut<'_, T>> {
        HostMut::new(self.span)
    }

    /// Views a part of the part, by elements, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<PinnedSlice<'_, T>> {
        Ok(PinnedSlice::new(self.span.part("PinnedSliceMut::slice", &range)?))
    }

    /// Views a part of the part that may be written, by elements, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<PinnedSliceMut<'_, T>> {
        Ok(PinnedSliceMut::new(self.span.part("PinnedSliceMut::slice_mut", &range)?))
    }

    /// Gives the view up for the elements before `middle` and those from it on, which may be written at once.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_mut(self, middle: usize) -> Result<(Self, Self)> {
        let (left, right) = self.span.split("PinnedSliceMut::split_at_mut", middle)?;
        Ok((Self::new(left), Self::new(right)))
    }

    /// Gives the view up for parts of `size` elements, which may be written at once; the last is shorter where that
    /// does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks_mut(self, size: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T>> {
        Ok(self.span.chunks("PinnedSliceMut::chunks_mut", size)?.map(Self::new))
    }

    /// Gives the view up for one of the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret_mut<U: AnyBitPattern + NoUninit>(self) -> Result<PinnedSliceMut<'a, U>>
    where
        T: NoUninit,
    {
        Ok(PinnedSliceMut::new(self.span.reinterpret("PinnedSliceMut::reinterpret_mut")?))
    }
}

impl<T> fmt::Debug for PinnedSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "PinnedSlice", &self.span)
    }
}

impl<T> fmt::Debug for PinnedSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "PinnedSliceMut", &self.span)
    }
}

/// What both views print; work may be writing the elements.
fn describe<T>(f: &mut fmt::Formatter<'_>, name: &str, span: &Span<'_, T>) -> fmt::Result {
    f.debug_struct(name)
        .field("element", &std::any::type_name::<T>())
        .field("len", &span.len())
        .field("pointer", &span.pointer())
        .finish_non_exhaustive()
}
