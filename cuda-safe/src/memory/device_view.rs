//! Parts of device memory: to read, and to write.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::span::Span;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};

/// A part of a [`DeviceBuffer`](crate::DeviceBuffer) that may be read.
pub struct DeviceSlice<'a, T> {
    span: Span<'a, T>,
    elements: PhantomData<&'a [T]>,
}

/// A part of a [`DeviceBuffer`](crate::DeviceBuffer) that may be written, and that no other view overlaps.
pub struct DeviceSliceMut<'a, T> {
    span: Span<'a, T>,
    elements: PhantomData<&'a mut [T]>,
}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<'_, T> {}

impl<'a, T> DeviceSlice<'a, T> {
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

    /// The device that the memory is of.
    #[must_use]
    pub fn device(&self) -> Device {
        self.span.device()
    }

    /// The device address of the first element. Only a device may dereference it.
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

impl<'a, T: AnyBitPattern> DeviceSlice<'a, T> {
    /// Views a part of the part, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.span.part("DeviceSlice::slice", &range)?))
    }

    /// Views the elements before `middle` and those from it on.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at(&self, middle: usize) -> Result<(Self, Self)> {
        let (left, right) = self.span.split("DeviceSlice::split_at", middle)?;
        Ok((Self::new(left), Self::new(right)))
    }

    /// Views the part in parts of `size` elements; the last is shorter where that does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T>> {
        Ok(self.span.chunks("DeviceSlice::chunks", size)?.map(Self::new))
    }

    /// Views the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret<U: AnyBitPattern>(&self) -> Result<DeviceSlice<'a, U>>
    where
        T: NoUninit,
    {
        Ok(DeviceSlice::new(self.span.reinterpret("DeviceSlice::reinterpret")?))
    }
}

impl<'a, T> DeviceSliceMut<'a, T> {
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

    /// The device that the memory is of.
    #[must_use]
    pub fn device(&self) -> Device {
        self.span.device()
    }

    /// The device address of the first element. Only a device may dereference it.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span.pointer().cast_const()
    }

    /// The device address of the first element, for writing.
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
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(self.span)
    }

    /// The same part, to read only, for as long as this borrow lives.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.span)
    }
}

impl<'a, T: AnyBitPattern> DeviceSliceMut<'a, T> {
    /// Views a part of the part, by elements, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_, T>> {
        Ok(DeviceSlice::new(self.span.part("DeviceSliceMut::slice", &range)?))
    }

    /// Views a part of the part that may be written, by elements, for as long as this borrow lives.
    ///
    /// # Errors
    /// A refusal where the range is not within the view, with range and length.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, T>> {
        Ok(DeviceSliceMut::new(self.span.part("DeviceSliceMut::slice_mut", &range)?))
    }

    /// Gives the view up for the elements before `middle` and those from it on, which may be written at once.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_mut(self, middle: usize) -> Result<(Self, Self)> {
        let (left, right) = self.span.split("DeviceSliceMut::split_at_mut", middle)?;
        Ok((Self::new(left), Self::new(right)))
    }

    /// Gives the view up for parts of `size` elements, which may be written at once; the last is shorter where that
    /// does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks_mut(self, size: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T>> {
        Ok(self.span.chunks("DeviceSliceMut::chunks_mut", size)?.map(Self::new))
    }

    /// Gives the view up for one of the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret_mut<U: AnyBitPattern + NoUninit>(self) -> Result<DeviceSliceMut<'a, U>>
    where
        T: NoUninit,
    {
        Ok(DeviceSliceMut::new(self.span.reinterpret("DeviceSliceMut::reinterpret_mut")?))
    }
}

impl<T> fmt::Debug for DeviceSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "DeviceSlice", &self.span)
    }
}

impl<T> fmt::Debug for DeviceSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "DeviceSliceMut", &self.span)
    }
}

/// What both views print; the elements are on the device.
fn describe<T>(f: &mut fmt::Formatter<'_>, name: &str, span: &Span<'_, T>) -> fmt::Result {
    f.debug_struct(name)
        .field("element", &std::any::type_name::<T>())
        .field("len", &span.len())
        .field("device", &span.device().ordinal())
        .field("pointer", &span.pointer())
        .finish()
}
