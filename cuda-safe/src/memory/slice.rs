//! Parts of memory of any type, for reading and for writing.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::{AnyBitPattern, NoUninit};

use super::guard::{HostMut, HostRef};
use super::memory_type::{HostMemoryType, Managed, MappedMemoryType, MemoryType, OnDevice, Pinned};
use super::span::{Span, mapped_pointer};
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};

/// A part of a [`Buffer`](super::Buffer) or of [`Registered`](super::Registered) memory, for reading.
pub struct Slice<'a, T, M> {
    span: Span<'a, T>,
    elements: PhantomData<(&'a [T], M)>,
}

/// A part of a [`Buffer`](super::Buffer) or of [`Registered`](super::Registered) memory, for writing. No
/// other view overlaps it.
pub struct SliceMut<'a, T, M> {
    span: Span<'a, T>,
    elements: PhantomData<(&'a mut [T], M)>,
}

/// A part of a [`DeviceBuffer`](crate::DeviceBuffer), for reading.
pub type DeviceSlice<'a, T> = Slice<'a, T, OnDevice>;

/// A part of a [`DeviceBuffer`](crate::DeviceBuffer), for writing. No other view overlaps it.
pub type DeviceSliceMut<'a, T> = SliceMut<'a, T, OnDevice>;

/// A part of a [`PinnedBuffer`](crate::PinnedBuffer) or of [`Registered`](crate::Registered) memory, for
/// reading.
pub type PinnedSlice<'a, T> = Slice<'a, T, Pinned>;

/// A part of a [`PinnedBuffer`](crate::PinnedBuffer) or of [`Registered`](crate::Registered) memory, for
/// writing. No other view overlaps it.
pub type PinnedSliceMut<'a, T> = SliceMut<'a, T, Pinned>;

/// A part of a [`ManagedBuffer`](crate::ManagedBuffer), for reading.
pub type ManagedSlice<'a, T> = Slice<'a, T, Managed>;

/// A part of a [`ManagedBuffer`](crate::ManagedBuffer), for writing. No other view overlaps it.
pub type ManagedSliceMut<'a, T> = SliceMut<'a, T, Managed>;

impl<T, M> Clone for Slice<'_, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M> Copy for Slice<'_, T, M> {}

/// Declares what views for reading and for writing have in common.
macro_rules! view_methods {
    ($view:ident, $name:ident) => {
        impl<'a, T, M: MemoryType> $view<'a, T, M> {
            /// Returns the length in elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.span.len()
            }

            /// Returns whether the length is 0.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the size in bytes.
            #[must_use]
            pub fn size_in_bytes(&self) -> usize {
                self.span.bytes()
            }

            /// Returns the device of the memory. For host memory, this is the device that was current at the
            /// allocation.
            #[must_use]
            pub fn device(&self) -> Device {
                self.span.device()
            }

            /// Returns the address of the first element: the device's address for device memory, otherwise
            /// the host's.
            ///
            /// Only a device may dereference the address of device memory. A read through the address of host
            /// memory races with work that writes it.
            #[must_use]
            pub fn as_ptr(&self) -> *const T {
                self.span.pointer().cast_const()
            }

            /// Returns the span of the view.
            pub(crate) fn span(&self) -> Span<'a, T> {
                self.span
            }
        }

        impl<T, M: MappedMemoryType> $view<'_, T, M> {
            /// Returns the address at which kernels reach the first element, or null if the memory has no
            /// bytes.
            ///
            /// # Errors
            /// Returns `cudaErrorInvalidValue` if the memory is not mapped.
            #[doc(alias = "cudaHostGetDevicePointer")]
            #[track_caller]
            pub fn device_ptr(&self) -> Result<*mut T> {
                mapped_pointer(self.span)
            }
        }

        impl<T, M: MemoryType> fmt::Debug for $view<'_, T, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                describe(f, M::$name, &self.span)
            }
        }
    };
}

view_methods!(Slice, VIEW);
view_methods!(SliceMut, VIEW_MUT);

impl<'a, T, M: MemoryType> Slice<'a, T, M> {
    /// Makes a view of a span that nobody may write while the view lives.
    pub(crate) fn new(span: Span<'a, T>) -> Self {
        Self { span, elements: PhantomData }
    }

    /// Returns a read of the part, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'a> {
        self.span.access(Mode::Read)
    }
}

impl<'a, T: AnyBitPattern, M: MemoryType> Slice<'a, T, M> {
    /// Views the elements of a range of this part.
    ///
    /// # Errors
    /// Refused with the range and the length if the range is not within the view.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self::new(self.span.part("Slice::slice", &range)?))
    }

    /// Views the elements before `middle` and those from `middle` on.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at(&self, middle: usize) -> Result<(Self, Self)> {
        let (left, right) = self.span.split("Slice::split_at", middle)?;
        Ok((Self::new(left), Self::new(right)))
    }

    /// Views this part in parts of `size` elements. The last one is shorter if `size` does not divide the
    /// length.
    ///
    /// # Errors
    /// Refused if `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T, M>> {
        Ok(self.span.chunks("Slice::chunks", size)?.map(Self::new))
    }

    /// Views the same bytes as elements of another type.
    ///
    /// # Errors
    /// Refused if the bytes are not a whole number of `U`, if the address is not aligned for `U`, or if `U`
    /// is zero-sized.
    #[track_caller]
    pub fn reinterpret<U: AnyBitPattern>(&self) -> Result<Slice<'a, U, M>>
    where
        T: NoUninit,
    {
        Ok(Slice::new(self.span.reinterpret("Slice::reinterpret")?))
    }
}

impl<'a, T: AnyBitPattern, M: HostMemoryType> Slice<'a, T, M> {
    /// Waits until no work writes the elements any more, and lends them to the host for reading.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host`](crate::PinnedBuffer::host).
    #[track_caller]
    pub fn host(&self) -> Result<HostRef<'a, T>> {
        HostRef::new(self.span)
    }
}

impl<'a, T, M: MemoryType> SliceMut<'a, T, M> {
    /// Makes a view of a span that nobody else may reach while the view lives.
    pub(crate) fn new(span: Span<'a, T>) -> Self {
        Self { span, elements: PhantomData }
    }

    /// Returns the address of the first element, for writing.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.span.pointer()
    }

    /// Returns a read of the part, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.span.access(Mode::Read)
    }

    /// Returns a write of the part, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.span.access(Mode::Write)
    }

    /// Returns the same part for the lifetime of this borrow, for functions that take the view by value.
    #[must_use]
    pub fn reborrow(&mut self) -> SliceMut<'_, T, M> {
        SliceMut::new(self.span)
    }

    /// Returns the same part for reading, for the lifetime of this borrow.
    #[must_use]
    pub fn as_slice(&self) -> Slice<'_, T, M> {
        Slice::new(self.span)
    }
}

impl<'a, T: AnyBitPattern, M: MemoryType> SliceMut<'a, T, M> {
    /// Views the elements of a range of this part, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused with the range and the length if the range is not within the view.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'_, T, M>> {
        Ok(Slice::new(self.span.part("SliceMut::slice", &range)?))
    }

    /// Views the elements of a range of this part for writing, for the lifetime of this borrow.
    ///
    /// # Errors
    /// Refused with the range and the length if the range is not within the view.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T, M>> {
        Ok(SliceMut::new(self.span.part("SliceMut::slice_mut", &range)?))
    }

    /// Splits the view into the elements before `middle` and those from `middle` on. Both may be written at
    /// the same time.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_mut(self, middle: usize) -> Result<(Self, Self)> {
        let (left, right) = self.span.split("SliceMut::split_at_mut", middle)?;
        Ok((Self::new(left), Self::new(right)))
    }

    /// Splits the view into parts of `size` elements, which may be written at the same time. The last one
    /// is shorter if `size` does not divide the length.
    ///
    /// # Errors
    /// Refused if `size` is 0.
    #[track_caller]
    pub fn chunks_mut(self, size: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T, M>> {
        Ok(self.span.chunks("SliceMut::chunks_mut", size)?.map(Self::new))
    }

    /// Converts the view to one of the same bytes as elements of another type.
    ///
    /// # Errors
    /// Refused if the bytes are not a whole number of `U`, if the address is not aligned for `U`, or if `U`
    /// is zero-sized.
    #[track_caller]
    pub fn reinterpret_mut<U: AnyBitPattern + NoUninit>(self) -> Result<SliceMut<'a, U, M>>
    where
        T: NoUninit,
    {
        Ok(SliceMut::new(self.span.reinterpret("SliceMut::reinterpret_mut")?))
    }
}

impl<T: AnyBitPattern, M: HostMemoryType> SliceMut<'_, T, M> {
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

/// Formats owners and views, without the elements, which may be on a device or being written.
pub(super) fn describe<T>(f: &mut fmt::Formatter<'_>, name: &str, span: &Span<'_, T>) -> fmt::Result {
    f.debug_struct(name)
        .field("element", &std::any::type_name::<T>())
        .field("len", &span.len())
        .field("device", &span.device().ordinal())
        .field("pointer", &span.pointer())
        .finish()
}
