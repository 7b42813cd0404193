//! Owners of memory of any type, and views of them: what all of them have in common.
#![expect(unsafe_code, reason = "takes over raw pointers, and shares typed ones between threads")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};

use super::allocation::{Allocation, Allocator};
use super::allocation::{Span, mapped_pointer};
use super::guard::{HostMut, HostRef};
use super::memory_type::{HostMemoryType, Managed, MappedMemoryType, MemoryType, OnDevice, Pinned};
use super::retain::retained;
use super::size;
use crate::device::Device;
use crate::error::{ErrorWith, Result};
use crate::hazard::{Access, Mode};
#[cfg(doc)]
use crate::sys;

/// An array of `T` in one type of memory, freed when it is dropped: a [`DeviceBuffer`](crate::DeviceBuffer)
/// or a [`PinnedBuffer`](crate::PinnedBuffer).
///
/// # Ordering
/// The tracker records the accesses to the buffer. Dropping the buffer waits for the work that still uses
/// it.
pub struct Buffer<T, M> {
    pub(super) allocation: Arc<Allocation>,
    len: usize,
    elements: PhantomData<(T, M)>,
}

// SAFETY: the buffer owns its elements, which are `Send`, and any thread may free the allocation.
unsafe impl<T: Send, M> Send for Buffer<T, M> {}
// SAFETY: a shared buffer only allows reads of its elements.
unsafe impl<T: Sync, M> Sync for Buffer<T, M> {}

impl<T: AnyBitPattern, M: MemoryType> Buffer<T, M> {
    /// Returns the owner of an allocation that was made for `len` elements.
    #[inline]
    #[track_caller]
    pub(super) fn from_allocation(api: &'static str, allocation: Allocation, len: usize) -> Result<Self> {
        Self::from_shared(api, retained(allocation), len)
    }

    /// As `of`, for an allocation that is already shared.
    #[inline]
    #[track_caller]
    pub(super) fn from_shared(api: &'static str, allocation: Arc<Allocation>, len: usize) -> Result<Self> {
        size::aligned::<T>(api, allocation.pointer().addr())?;
        Ok(Self { allocation, len, elements: PhantomData })
    }

    /// Returns the owner of memory that was allocated elsewhere.
    ///
    /// # Safety
    /// - The memory belongs to the device and has room for `len` elements.
    /// - It was allocated by the call that `kind` names, and nobody else frees it.
    /// - Nobody else reaches it, if it is host memory.
    #[track_caller]
    pub(super) unsafe fn taken_over(
        api: &'static str,
        device: Device,
        pointer: *mut T,
        len: usize,
        kind: Allocator,
    ) -> Result<Self> {
        let bytes = size::bytes_of::<T>(api, len)?;
        size::aligned::<T>(api, pointer.addr())?;
        // SAFETY: the caller guarantees it for `len` elements, and `bytes` is their size.
        let allocation = unsafe { Allocation::from_raw(device, pointer.cast(), bytes, kind) };
        Ok(Self { allocation: retained(allocation), len, elements: PhantomData })
    }

    /// Views the elements of a range.
    ///
    /// # Errors
    /// Refused with the range and the length if the range is not within the buffer.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'_, T, M>> {
        Ok(Slice::new(self.span().part("Buffer::slice", &range)?))
    }

    /// Views the elements of a range for writing. Two such views at a time come from
    /// [`split_at_mut`](Self::split_at_mut).
    ///
    /// # Errors
    /// Refused with the range and the length if the range is not within the buffer.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T, M>> {
        Ok(SliceMut::new(self.span().part("Buffer::slice_mut", &range)?))
    }

    /// Views the whole buffer.
    #[must_use]
    pub fn as_slice(&self) -> Slice<'_, T, M> {
        Slice::new(self.span())
    }

    /// Views the whole buffer for writing.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> SliceMut<'_, T, M> {
        SliceMut::new(self.span())
    }

    /// Views the elements before `middle` and those from `middle` on, for writing. Two streams may write
    /// the two views at the same time, or a stream one and the host the other.
    ///
    /// # Errors
    /// Refused if `middle` is past the end.
    #[track_caller]
    pub fn split_at_mut(&mut self, middle: usize) -> Result<(SliceMut<'_, T, M>, SliceMut<'_, T, M>)> {
        self.as_slice_mut().split_at_mut(middle)
    }

    /// Views the elements in parts with these lengths, one behind the other, for writing: a tensor each.
    /// Elements behind the last part are in none.
    ///
    /// # Errors
    /// Refused with both lengths if the parts are longer than the buffer.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> cuda_safe::Result<()> {
    /// use cuda_safe::{DeviceBuffer, Stream, memcpy_async};
    ///
    /// let mut memory = DeviceBuffer::from_slice(&[7_u32; 100])?;
    /// let [weights, mut bias] = memory.split_mut([64, 36])?;
    /// memcpy_async(&mut bias, &weights.slice(..36)?, &Stream::new()?)?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn split_mut<const N: usize>(&mut self, sizes: [usize; N]) -> Result<[SliceMut<'_, T, M>; N]> {
        self.as_slice_mut().split_mut(sizes)
    }

    /// Views the buffer in parts of `size` elements. The last part is shorter if `size` does not divide the
    /// length.
    ///
    /// # Errors
    /// Refused if `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Result<impl ExactSizeIterator<Item = Slice<'_, T, M>>> {
        self.as_slice().chunks(size)
    }

    /// Views the buffer in parts of `size` elements, which different streams may write at the same time.
    ///
    /// # Errors
    /// Refused if `size` is 0.
    #[track_caller]
    pub fn chunks_mut(&mut self, size: usize) -> Result<impl ExactSizeIterator<Item = SliceMut<'_, T, M>>> {
        self.as_slice_mut().chunks_mut(size)
    }

    /// Waits until no work writes the elements any more, and lends them to the host for reading.
    ///
    /// Blocks while a copy into the buffer or a kernel that writes it is pending. Pending reads do not
    /// matter. If such a kernel waits for the host, this blocks for ever.
    ///
    /// # Errors
    /// Returns the failure of the work that it waited for. Refused inside a host function, unless the work
    /// is known to be complete.
    #[track_caller]
    pub fn host(&self) -> Result<HostRef<'_, T>>
    where
        M: HostMemoryType,
    {
        HostRef::new(self.span())
    }

    /// Waits until no work uses the elements any more, and lends them to the host for writing.
    ///
    /// Blocks while a copy from or into the buffer, or a kernel that uses it, is pending.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    #[track_caller]
    pub fn host_mut(&mut self) -> Result<HostMut<'_, T>>
    where
        M: HostMemoryType,
    {
        HostMut::new(self.span())
    }
}

impl<T: AnyBitPattern, M: HostMemoryType> Buffer<T, M> {
    /// Waits as [`host`](Self::host) does, and copies the elements to a vector.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        Ok(self.host()?.to_vec())
    }
}

impl<T, M: MappedMemoryType> Buffer<T, M> {
    /// Returns the address at which kernels reach the first element, or null if the length is 0.
    ///
    /// Stands for [`cudaHostGetDevicePointer`](sys::cudaHostGetDevicePointer), which is called only the
    /// first time. It is the host's address if addresses are unified.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the memory is not mapped.
    #[doc(alias = "cudaHostGetDevicePointer")]
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut T> {
        mapped_pointer(self.span())
    }
}

impl<T, M: MemoryType> Buffer<T, M> {
    /// Returns the address of the first element: the device's address for device memory, otherwise the
    /// host's. Null if the length is 0.
    ///
    /// Only a device may dereference the address of device memory. A read through the address of host
    /// memory races with work that writes it. The tracker does not see accesses through the address: see
    /// [`access`](Self::access).
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span().pointer().cast_const()
    }

    /// Returns the address of the first element for writing, or null if the length is 0.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.span().pointer()
    }

    /// Returns a read of the whole buffer, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.span().access(Mode::Read)
    }

    /// Returns a write of the whole buffer, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.span().access(Mode::Write)
    }

    /// Returns whether a graph, a texture or a surface retains the memory, too, so that work may use it
    /// without a borrow of this buffer.
    #[must_use]
    pub fn is_retained(&self) -> bool {
        Arc::strong_count(&self.allocation) > 1
    }

    /// Waits for the work that still uses the buffer, and frees it. Unlike a drop, this returns the error.
    ///
    /// Stands for [`cudaFree`](sys::cudaFree), or [`cudaFreeHost`](sys::cudaFreeHost) for pinned memory.
    ///
    /// # Errors
    /// Returns the failure of work that used the buffer, or the runtime's error. After such a failure, pinned
    /// and managed memory is leaked.
    #[doc(alias = "cudaFree")]
    #[doc(alias = "cudaFreeHost")]
    #[inline]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        Allocation::free_owned(self.into_shared())
    }

    /// Returns the span of all elements, from which views are made.
    #[inline]
    pub(crate) fn span(&self) -> Span<'_, T> {
        Span::whole(&self.allocation, self.len)
    }

    /// Returns the owner of the allocation.
    #[inline]
    pub(super) fn into_shared(self) -> Arc<Allocation> {
        self.allocation
    }

    /// Waits for the work that still uses the memory, and gives the memory up without freeing it. On
    /// failure, returns the owner with the error.
    #[track_caller]
    pub(super) fn give_up(mut self, api: &'static str) -> core::result::Result<*mut T, ErrorWith<Self>> {
        match Allocation::give_up(&mut self.allocation, api) {
            Ok(pointer) => Ok(pointer.cast()),
            Err(error) => Err(ErrorWith::new(error, self)),
        }
    }
}

/// Declares what buffers and views have in common.
macro_rules! element_methods {
    ($type:ty, $name:ident) => {
        size::length!([T, M: MemoryType] $type, it => it.span().len());

        impl<T, M: MemoryType> $type {
            /// Returns the size in bytes.
            #[must_use]
            pub fn size_in_bytes(&self) -> usize {
                self.span().bytes()
            }

            /// Returns the device of the memory. For host memory, this is the device that was current at the
            /// allocation.
            #[must_use]
            pub fn device(&self) -> Device {
                self.span().device()
            }
        }

        impl<T, M: MemoryType> fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                describe(f, M::$name, &self.span())
            }
        }
    };
}

element_methods!(Buffer<T, M>, OWNER);
element_methods!(Slice<'_, T, M>, VIEW);
element_methods!(SliceMut<'_, T, M>, VIEW_MUT);

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
    ($view:ident) => {
        impl<'a, T, M: MemoryType> $view<'a, T, M> {
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
    };
}

view_methods!(Slice);
view_methods!(SliceMut);

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

    /// Views this part in parts with these lengths, one behind the other: a tensor each. Elements behind the
    /// last part are in none.
    ///
    /// # Errors
    /// Refused with both lengths if the parts are longer than this one.
    #[track_caller]
    pub fn split<const N: usize>(&self, sizes: [usize; N]) -> Result<[Self; N]> {
        Ok(self.span.parts("Slice::split", sizes)?.map(Self::new))
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

    /// Splits the view into parts with these lengths, one behind the other, which may be written at the same
    /// time. Elements behind the last part are in none.
    ///
    /// # Errors
    /// Refused with both lengths if the parts are longer than the view.
    #[track_caller]
    pub fn split_mut<const N: usize>(self, sizes: [usize; N]) -> Result<[Self; N]> {
        Ok(self.span.parts("SliceMut::split_mut", sizes)?.map(Self::new))
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
fn describe<T>(f: &mut fmt::Formatter<'_>, name: &str, span: &Span<'_, T>) -> fmt::Result {
    f.debug_struct(name)
        .field("element", &std::any::type_name::<T>())
        .field("len", &span.len())
        .field("device", &span.device().ordinal())
        .field("pointer", &span.pointer())
        .finish()
}
