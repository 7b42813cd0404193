//! Memory, owned, wherever it is: what all owners have in common.
#![expect(unsafe_code, reason = "takes over raw pointers, and shares typed ones between threads")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};

use super::allocation::{Allocation, Kind};
use super::guard::{HostMut, HostRef};
use super::mapped::mapped_pointer;
use super::place::{HostPlace, MappedPlace, Place};
use super::retain::retained;
use super::size;
use super::slice::{Slice, SliceMut, describe};
use super::span::Span;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode};
#[cfg(doc)]
use crate::sys;

/// An array of `T` in memory of one place, freed when it is dropped: a [`DeviceBuffer`](crate::DeviceBuffer) or a
/// [`PinnedBuffer`](crate::PinnedBuffer).
///
/// # Ordering
/// The buffer's accesses are in the books. Dropping it waits for the work that still uses it.
pub struct Buffer<T, M> {
    allocation: Arc<Allocation>,
    len: usize,
    elements: PhantomData<(T, M)>,
}

// SAFETY: the buffer owns its elements and the allocation may be freed from any thread; elements that may be sent, may.
unsafe impl<T: Send, M> Send for Buffer<T, M> {}
// SAFETY: a shared buffer only lets its elements be read.
unsafe impl<T: Sync, M> Sync for Buffer<T, M> {}

impl<T: AnyBitPattern, M: Place> Buffer<T, M> {
    /// The owner of what was allocated for `len` elements.
    #[inline]
    #[track_caller]
    pub(super) fn of(api: &'static str, allocation: Allocation, len: usize) -> Result<Self> {
        Self::of_shared(api, retained(allocation), len)
    }

    /// The same of what was made where it stays.
    #[inline]
    #[track_caller]
    pub(super) fn of_shared(api: &'static str, allocation: Arc<Allocation>, len: usize) -> Result<Self> {
        size::aligned::<T>(api, allocation.pointer().addr())?;
        Ok(Self { allocation, len, elements: PhantomData })
    }

    /// The owner of memory that was allocated elsewhere.
    ///
    /// # Safety
    /// The memory is of the device, has room for `len` elements, was allocated as `kind` says, and is freed by nobody else.
    /// Memory of the host is reached by nobody else.
    #[track_caller]
    pub(super) unsafe fn taken_over(
        api: &'static str,
        device: Device,
        pointer: *mut T,
        len: usize,
        kind: Kind,
    ) -> Result<Self> {
        let bytes = size::bytes_of::<T>(api, len)?;
        size::aligned::<T>(api, pointer.addr())?;
        // SAFETY: the caller says so, for as many bytes as were just computed from the same length.
        let allocation = unsafe { Allocation::from_raw(device, pointer.cast(), bytes, kind) };
        Ok(Self { allocation: retained(allocation), len, elements: PhantomData })
    }

    /// Views a part, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the buffer, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'_, T, M>> {
        Ok(Slice::new(self.span().part("Buffer::slice", &range)?))
    }

    /// Views a part that may be written, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the buffer, with range and length.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T, M>> {
        Ok(SliceMut::new(self.span().part("Buffer::slice_mut", &range)?))
    }

    /// Views the whole buffer.
    #[must_use]
    pub fn as_slice(&self) -> Slice<'_, T, M> {
        Slice::new(self.span())
    }

    /// Views the whole buffer so that it may be written.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> SliceMut<'_, T, M> {
        SliceMut::new(self.span())
    }

    /// Views the elements before `middle` and those from it on.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at(&self, middle: usize) -> Result<(Slice<'_, T, M>, Slice<'_, T, M>)> {
        self.as_slice().split_at(middle)
    }

    /// Views the elements before `middle` and those from it on; the two may be written by different streams at once, or
    /// the one by a stream and the other by the host.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_mut(&mut self, middle: usize) -> Result<(SliceMut<'_, T, M>, SliceMut<'_, T, M>)> {
        self.as_slice_mut().split_at_mut(middle)
    }

    /// Views the buffer in parts of `size` elements; the last is shorter where that does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Result<impl ExactSizeIterator<Item = Slice<'_, T, M>>> {
        self.as_slice().chunks(size)
    }

    /// Views the buffer in parts of `size` elements that may be written by different streams at once.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks_mut(&mut self, size: usize) -> Result<impl ExactSizeIterator<Item = SliceMut<'_, T, M>>> {
        self.as_slice_mut().chunks_mut(size)
    }

    /// Views the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret<U: AnyBitPattern>(&self) -> Result<Slice<'_, U, M>>
    where
        T: NoUninit,
    {
        self.as_slice().reinterpret()
    }

    /// Views the same bytes as elements of another type that may be written.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret_mut<U: AnyBitPattern + NoUninit>(&mut self) -> Result<SliceMut<'_, U, M>>
    where
        T: NoUninit,
    {
        self.as_slice_mut().reinterpret_mut()
    }
}

impl<T: AnyBitPattern, M: HostPlace> Buffer<T, M> {
    /// Waits until no work writes the elements any more, and lends them to the host for reading.
    ///
    /// Blocks for as long as a copy into the buffer, or a kernel that writes it, is pending; work that only reads it
    /// does not matter. Behind a kernel that waits for the host, that is for ever.
    ///
    /// # Errors
    /// The failure of the work that was waited for; a refusal inside a host function where the work is not known to
    /// be complete.
    #[track_caller]
    pub fn host(&self) -> Result<HostRef<'_, T>> {
        HostRef::new(self.span())
    }

    /// Waits until no work uses the elements any more, and lends them to the host for writing.
    ///
    /// Blocks for as long as any copy from or into the buffer, or a kernel that uses it, is pending.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    #[track_caller]
    pub fn host_mut(&mut self) -> Result<HostMut<'_, T>> {
        HostMut::new(self.span())
    }

    /// Waits as [`host`](Self::host) does, and copies the elements to a vector.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        Ok(self.host()?.to_vec())
    }
}

impl<T, M: MappedPlace> Buffer<T, M> {
    /// The address at which kernels reach the first element; null where there are none.
    ///
    /// Stands for [`cudaHostGetDevicePointer`](sys::cudaHostGetDevicePointer), called the first time only. Where
    /// addresses are unified it is the host's.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the memory is not mapped.
    #[doc(alias = "cudaHostGetDevicePointer")]
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut T> {
        mapped_pointer(self.span())
    }
}

impl<T, M: Place> Buffer<T, M> {
    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size in bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.span().bytes()
    }

    /// The device that the memory is of; for memory of the host, the one that was current when it was allocated.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// The address of the first element: the device's for device memory, else the host's. Null where there are none.
    ///
    /// Only a device may dereference that of a device; to read through that of the host is a race with work that writes
    /// the memory. What is done through it is not in the books: see [`access`](Self::access).
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span().pointer().cast_const()
    }

    /// The address of the first element, for writing; null where there are none.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.span().pointer()
    }

    /// A read of the whole buffer, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.span().access(Mode::Read)
    }

    /// A write of the whole buffer, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.span().access(Mode::Write)
    }

    /// All of it, as views are made from.
    #[inline]
    pub(crate) fn span(&self) -> Span<'_, T> {
        Span::whole(&self.allocation, self.len)
    }

    /// The owner of the allocation.
    #[inline]
    pub(super) fn into_shared(self) -> Arc<Allocation> {
        self.allocation
    }

    /// Waits for the work that still uses the memory and gives it up without freeing it, or gives the owner
    /// back with the error.
    #[track_caller]
    pub(super) fn give_up(mut self, api: &'static str) -> core::result::Result<*mut T, (Error, Self)> {
        let Some(allocation) = Arc::get_mut(&mut self.allocation) else {
            return Err((Error::refused(api, Detail::InGraph), self));
        };
        match allocation.give_up(api) {
            Ok(pointer) => Ok(pointer.cast()),
            Err(error) => Err((error, self)),
        }
    }
}

impl<T, M: Place> fmt::Debug for Buffer<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, M::OWNER, &self.span())
    }
}
