//! Parts of memory, wherever it is: to read, and to write.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::guard::{HostMut, HostRef};
use super::mapped::mapped_pointer;
use super::place::{HostPlace, Managed, MappedPlace, OnDevice, Pinned, Place};
use super::span::Span;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};

/// A part of a [`Buffer`](super::Buffer), or of [`Registered`](super::Registered) memory, that may be read.
pub struct Slice<'a, T, M> {
    span: Span<'a, T>,
    elements: PhantomData<(&'a [T], M)>,
}

/// A part of a [`Buffer`](super::Buffer), or of [`Registered`](super::Registered) memory, that may be written, and that no
/// other view overlaps.
pub struct SliceMut<'a, T, M> {
    span: Span<'a, T>,
    elements: PhantomData<(&'a mut [T], M)>,
}

/// A part of a [`DeviceBuffer`](crate::DeviceBuffer) that may be read.
pub type DeviceSlice<'a, T> = Slice<'a, T, OnDevice>;

/// A part of a [`DeviceBuffer`](crate::DeviceBuffer) that may be written, and that no other view overlaps.
pub type DeviceSliceMut<'a, T> = SliceMut<'a, T, OnDevice>;

/// A part of a [`PinnedBuffer`](crate::PinnedBuffer) or of [`Registered`](crate::Registered) memory that may be read.
pub type PinnedSlice<'a, T> = Slice<'a, T, Pinned>;

/// A part of a [`PinnedBuffer`](crate::PinnedBuffer) or of [`Registered`](crate::Registered) memory that may be written, and
/// that no other view overlaps.
pub type PinnedSliceMut<'a, T> = SliceMut<'a, T, Pinned>;

/// A part of a [`ManagedBuffer`](crate::ManagedBuffer) that may be read.
pub type ManagedSlice<'a, T> = Slice<'a, T, Managed>;

/// A part of a [`ManagedBuffer`](crate::ManagedBuffer) that may be written, and that no other view overlaps.
pub type ManagedSliceMut<'a, T> = SliceMut<'a, T, Managed>;

impl<T, M> Clone for Slice<'_, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M> Copy for Slice<'_, T, M> {}

impl<'a, T, M: Place> Slice<'a, T, M> {
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

    /// The device that the memory is of; for memory of the host, the one that was current when it was allocated.
    #[must_use]
    pub fn device(&self) -> Device {
        self.span.device()
    }

    /// The address of the first element: the device's for device memory, else the host's.
    ///
    /// Only a device may dereference that of a device. To read through that of the host is a race with work that writes the memory.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span.pointer().cast_const()
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

impl<'a, T: AnyBitPattern, M: Place> Slice<'a, T, M> {
    /// Views a part of the part, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.span.part("Slice::slice", &range)?))
    }

    /// Views the elements before `middle` and those from it on.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at(&self, middle: usize) -> Result<(Self, Self)> {
        let (left, right) = self.span.split("Slice::split_at", middle)?;
        Ok((Self::new(left), Self::new(right)))
    }

    /// Views the part in parts of `size` elements; the last is shorter where that does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T, M>> {
        Ok(self.span.chunks("Slice::chunks", size)?.map(Self::new))
    }

    /// Views the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret<U: AnyBitPattern>(&self) -> Result<Slice<'a, U, M>>
    where
        T: NoUninit,
    {
        Ok(Slice::new(self.span.reinterpret("Slice::reinterpret")?))
    }
}

impl<'a, T: AnyBitPattern, M: HostPlace> Slice<'a, T, M> {
    /// Waits until no work writes the elements any more, and lends them to the host for reading.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host`](crate::PinnedBuffer::host).
    #[track_caller]
    pub fn host(&self) -> Result<HostRef<'a, T>> {
        HostRef::new(self.span)
    }
}

impl<T, M: MappedPlace> Slice<'_, T, M> {
    /// The address at which kernels reach the first element; null where there are none.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the memory is not mapped.
    #[doc(alias = "cudaHostGetDevicePointer")]
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut T> {
        mapped_pointer(self.span)
    }
}

impl<'a, T, M: Place> SliceMut<'a, T, M> {
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

    /// The device that the memory is of; for memory of the host, the one that was current when it was allocated.
    #[must_use]
    pub fn device(&self) -> Device {
        self.span.device()
    }

    /// The address of the first element: the device's for device memory, else the host's.
    ///
    /// Only a device may dereference that of a device. To read through that of the host is a race with work that writes the memory.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span.pointer().cast_const()
    }

    /// The address of the first element, for writing.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.span.pointer()
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
    pub fn reborrow(&mut self) -> SliceMut<'_, T, M> {
        SliceMut::new(self.span)
    }

    /// The same part, to read only, for as long as this borrow lives.
    #[must_use]
    pub fn as_slice(&self) -> Slice<'_, T, M> {
        Slice::new(self.span)
    }
}

impl<'a, T: AnyBitPattern, M: Place> SliceMut<'a, T, M> {
    /// Views a part of the part, by elements, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'_, T, M>> {
        Ok(Slice::new(self.span.part("SliceMut::slice", &range)?))
    }

    /// Views a part of the part that may be written, by elements, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T, M>> {
        Ok(SliceMut::new(self.span.part("SliceMut::slice_mut", &range)?))
    }

    /// Gives the view up for the elements before `middle` and those from it on, which may be written at once.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_mut(self, middle: usize) -> Result<(Self, Self)> {
        let (left, right) = self.span.split("SliceMut::split_at_mut", middle)?;
        Ok((Self::new(left), Self::new(right)))
    }

    /// Gives the view up for parts of `size` elements, which may be written at once; the last is shorter where that
    /// does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks_mut(self, size: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T, M>> {
        Ok(self.span.chunks("SliceMut::chunks_mut", size)?.map(Self::new))
    }

    /// Gives the view up for one of the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret_mut<U: AnyBitPattern + NoUninit>(self) -> Result<SliceMut<'a, U, M>>
    where
        T: NoUninit,
    {
        Ok(SliceMut::new(self.span.reinterpret("SliceMut::reinterpret_mut")?))
    }
}

impl<T: AnyBitPattern, M: HostPlace> SliceMut<'_, T, M> {
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
}

impl<T, M: MappedPlace> SliceMut<'_, T, M> {
    /// The address at which kernels reach the first element; null where there are none.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the memory is not mapped.
    #[doc(alias = "cudaHostGetDevicePointer")]
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut T> {
        mapped_pointer(self.span)
    }
}

impl<T, M: Place> fmt::Debug for Slice<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, M::VIEW, &self.span)
    }
}

impl<T, M: Place> fmt::Debug for SliceMut<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, M::VIEW_MUT, &self.span)
    }
}

/// What owners and views print: not the elements, which may be on a device, or being written.
pub(super) fn describe<T>(f: &mut fmt::Formatter<'_>, name: &str, span: &Span<'_, T>) -> fmt::Result {
    f.debug_struct(name)
        .field("element", &std::any::type_name::<T>())
        .field("len", &span.len())
        .field("device", &span.device().ordinal())
        .field("pointer", &span.pointer())
        .finish()
}
