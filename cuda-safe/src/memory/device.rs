//! Memory on a device, owned.
#![expect(unsafe_code, reason = "takes over raw device pointers, and shares typed ones between threads")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};

use super::allocation::{Allocation, Kind};
use super::device_view::{DeviceSlice, DeviceSliceMut};
use super::size;
use super::span::Span;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

/// An array of `T` on a device, freed when it is dropped.
///
/// The host never reaches the elements directly: [`memcpy`](crate::memcpy) and its family move them. Kernels take
/// the buffer or a view of it as an argument.
///
/// # Ordering
/// The buffer's accesses are in the books, so work on it is ordered after conflicting work whatever streams the two
/// are on. Dropping it waits for the work that still uses it.
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, memcpy};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut numbers = DeviceBuffer::<f32>::alloc(4)?;
/// memcpy(&mut numbers, &[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(numbers.slice(1..3)?.to_vec()?, [2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMalloc")]
pub struct DeviceBuffer<T> {
    allocation: Arc<Allocation>,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: the buffer owns its elements and the allocation may be freed from any thread; elements that may be sent, may.
unsafe impl<T: Send> Send for DeviceBuffer<T> {}
// SAFETY: a shared buffer only lets its elements be read.
unsafe impl<T: Sync> Sync for DeviceBuffer<T> {}

impl<T: AnyBitPattern> DeviceBuffer<T> {
    /// Allocates `len` elements on the current device. As in C, what they contain is unspecified.
    ///
    /// Stands for [`cudaMalloc`](sys::cudaMalloc). No elements, no call.
    ///
    /// # Errors
    /// `cudaErrorMemoryAllocation` with the number of bytes, and a refusal where that number overflows or `T` has no bytes.
    #[doc(alias = "cudaMalloc")]
    #[track_caller]
    pub fn alloc(len: usize) -> Result<Self> {
        Self::alloc_on(Device::current()?, len)
    }

    /// Allocates `len` elements on a device, which need not be current.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    #[doc(alias = "cudaMalloc")]
    #[track_caller]
    pub fn alloc_on(device: Device, len: usize) -> Result<Self> {
        let bytes = size::bytes_of::<T>("DeviceBuffer::alloc", len)?;
        let allocation = Allocation::device(device, bytes)?;
        size::aligned::<T>("DeviceBuffer::alloc", allocation.pointer().addr())?;
        Ok(Self { allocation: Arc::new(allocation), len, elements: PhantomData })
    }

    /// Gives a stream the task of allocating `len` elements of its device's memory pool, and returns.
    ///
    /// Stands for [`cudaMallocAsync`](sys::cudaMallocAsync). No elements, no call.
    ///
    /// # Ordering
    /// The memory is there when the stream comes to it. Other streams may use it at once: the tracker makes them wait.
    /// Dropping the buffer frees it on a stream of the crate's own, after the work that still uses it, and without a wait on
    /// the host; [`free_async`](Self::free_async) frees it on a stream of the program's.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc); `cudaErrorNotSupported` where the device has no pools.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::stream::Stream;
    /// use cuda_safe::{DeviceBuffer, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut scratch = DeviceBuffer::<u8>::alloc_async(1024, &stream)?;
    /// memset_async(&mut scratch, 7, &stream)?;
    /// assert_eq!(scratch.to_vec()?, [7; 1024]);
    /// scratch.free_async(&stream)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMallocAsync")]
    #[track_caller]
    pub fn alloc_async(len: usize, stream: &impl AsStream) -> Result<Self> {
        let bytes = size::bytes_of::<T>("DeviceBuffer::alloc_async", len)?;
        let allocation = Allocation::pool(stream.as_stream(), bytes)?;
        size::aligned::<T>("DeviceBuffer::alloc_async", allocation.pointer().addr())?;
        Ok(Self { allocation: Arc::new(allocation), len, elements: PhantomData })
    }

    /// Takes over memory that was allocated with `cudaMalloc`.
    ///
    /// # Errors
    /// A refusal where the number of bytes overflows, `T` has no bytes, or the address does not fit `T`.
    ///
    /// # Safety
    /// - `pointer` came from `cudaMalloc` on `device`, or from [`into_raw`](Self::into_raw), and nobody else frees it.
    /// - It has room for `len` elements of `T`.
    /// - Work that uses the memory and was not given to a stream through this crate is complete.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, pointer: *mut T, len: usize) -> Result<Self> {
        let bytes = size::bytes_of::<T>("DeviceBuffer::from_raw", len)?;
        size::aligned::<T>("DeviceBuffer::from_raw", pointer.addr())?;
        // SAFETY: the caller says so, for as many bytes as were just computed from the same length.
        let allocation = unsafe { Allocation::from_raw(device, pointer.cast(), bytes, Kind::Device) };
        Ok(Self { allocation: Arc::new(allocation), len, elements: PhantomData })
    }

    /// Views a part, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the buffer, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_, T>> {
        Ok(DeviceSlice::new(self.span().part("DeviceBuffer::slice", &range)?))
    }

    /// Views a part that may be written, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the buffer, with range and length.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, T>> {
        Ok(DeviceSliceMut::new(self.span().part("DeviceBuffer::slice_mut", &range)?))
    }

    /// Views the whole buffer.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.span())
    }

    /// Views the whole buffer so that it may be written.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(self.span())
    }

    /// Views the elements before `middle` and those from it on.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at(&self, middle: usize) -> Result<(DeviceSlice<'_, T>, DeviceSlice<'_, T>)> {
        self.as_slice().split_at(middle)
    }

    /// Views the elements before `middle` and those from it on; the two may be written by different streams at once.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_mut(&mut self, middle: usize) -> Result<(DeviceSliceMut<'_, T>, DeviceSliceMut<'_, T>)> {
        self.as_slice_mut().split_at_mut(middle)
    }

    /// Views the buffer in parts of `size` elements; the last is shorter where that does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Result<impl ExactSizeIterator<Item = DeviceSlice<'_, T>>> {
        self.as_slice().chunks(size)
    }

    /// Views the buffer in parts of `size` elements that may be written by different streams at once.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks_mut(
        &mut self,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = DeviceSliceMut<'_, T>>> {
        self.as_slice_mut().chunks_mut(size)
    }

    /// Views the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret<U: AnyBitPattern>(&self) -> Result<DeviceSlice<'_, U>>
    where
        T: NoUninit,
    {
        self.as_slice().reinterpret()
    }

    /// Views the same bytes as elements of another type that may be written.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret_mut<U: AnyBitPattern + NoUninit>(&mut self) -> Result<DeviceSliceMut<'_, U>>
    where
        T: NoUninit,
    {
        self.as_slice_mut().reinterpret_mut()
    }
}

impl<T> DeviceBuffer<T> {
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

    /// The device that the memory is of.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// The device address of the first element; null where there are none.
    ///
    /// Only a device may dereference it. What is done through it is not in the books: see [`access`](Self::access).
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span().pointer().cast_const()
    }

    /// The device address of the first element, for writing; null where there are none.
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

    /// Waits for the work that still uses the buffer and frees it: what a drop does, with the error.
    ///
    /// Stands for [`cudaFree`](sys::cudaFree).
    ///
    /// # Errors
    /// The failure of work that used the buffer, or of the call.
    #[doc(alias = "cudaFree")]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        Arc::into_inner(self.allocation).map_or(Ok(()), Allocation::free)
    }

    /// Gives a stream the task of freeing the buffer, after all work that still uses it, and returns.
    ///
    /// Stands for [`cudaFreeAsync`](sys::cudaFreeAsync). A buffer that is not from [`alloc_async`](Self::alloc_async) is
    /// freed as [`free`](Self::free) does, which waits.
    ///
    /// # Errors
    /// The failure of earlier work, or of the call; a refusal inside a host function, after which it is freed later.
    #[doc(alias = "cudaFreeAsync")]
    #[track_caller]
    pub fn free_async(self, stream: &impl AsStream) -> Result<()> {
        Arc::into_inner(self.allocation).map_or(Ok(()), |allocation| allocation.free_on(stream.as_stream()))
    }

    /// Gives the memory up without freeing it, and without waiting for the work that still uses it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFree` frees it, also where it came from [`alloc_async`](Self::alloc_async).
    #[must_use = "the memory is leaked otherwise"]
    pub fn into_raw(self) -> *mut T {
        Arc::into_inner(self.allocation).map_or(std::ptr::null_mut(), Allocation::into_raw).cast()
    }

    /// All of it, as views are made from.
    pub(crate) fn span(&self) -> Span<'_, T> {
        Span::whole(&self.allocation, self.len)
    }
}

impl<T> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBuffer")
            .field("element", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("device", &self.device().ordinal())
            .field("pointer", &self.as_ptr())
            .finish()
    }
}
