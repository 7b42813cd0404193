//! Page-locked memory of the host, owned.
#![expect(unsafe_code, reason = "takes over raw pinned pointers, and shares typed ones between threads")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::ptr;
use std::sync::Arc;

use bitflags::bitflags;
use bytemuck::{AnyBitPattern, NoUninit};

use super::allocation::{Allocation, Kind};
use super::guard::{HostMut, HostRef};
use super::mapped::mapped_pointer;
use super::pinned_view::{PinnedSlice, PinnedSliceMut};
use super::size;
use super::span::Span;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::sys;

bitflags! {
    /// How page-locked memory is set up. On systems with unified addresses, all of it is portable and mapped anyway.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct PinnedFlags: u32 {
        /// Counts as pinned for every device, not only for the one that was current.
        const PORTABLE = sys::cudaHostAllocPortable;
        /// Kernels can use it.
        const MAPPED = sys::cudaHostAllocMapped;
        /// Written by the host past its caches. Reading it on the host is tens of times slower; measure before use.
        const WRITE_COMBINED = sys::cudaHostAllocWriteCombined;
    }
}

/// An array of `T` in page-locked memory of the host, freed when it is dropped.
///
/// Asynchronous copies take it without giving up ownership. Because one of them may be reading or writing the memory at
/// any time, the host reaches the elements through guards only: [`host`](Self::host) and [`host_mut`](Self::host_mut)
/// wait for what is pending on them, and can fail.
///
/// # Ordering
/// The buffer's accesses are in the books. Dropping it waits for the work that still uses it; memory of which that
/// cannot be known, after a failed kernel, is leaked and never given back.
///
/// # Examples
/// ```
/// use cuda_safe::PinnedBuffer;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut numbers = PinnedBuffer::<i32>::alloc(3)?;
/// numbers.host_mut()?.copy_from_slice(&[1, 2, 3]);
/// assert_eq!(numbers.host()?[1], 2);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMallocHost")]
#[doc(alias = "cudaHostAlloc")]
pub struct PinnedBuffer<T> {
    allocation: Arc<Allocation>,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: the buffer owns its elements and the allocation may be freed from any thread; elements that may be sent, may.
unsafe impl<T: Send> Send for PinnedBuffer<T> {}
// SAFETY: a shared buffer only lets its elements be read.
unsafe impl<T: Sync> Sync for PinnedBuffer<T> {}

impl<T: AnyBitPattern> PinnedBuffer<T> {
    /// Allocates `len` elements. As in C, what they contain is unspecified.
    ///
    /// Stands for [`cudaMallocHost`](sys::cudaMallocHost). No elements, no call.
    ///
    /// # Errors
    /// `cudaErrorMemoryAllocation` with the number of bytes, and a refusal where that number overflows or `T` has no bytes.
    #[doc(alias = "cudaMallocHost")]
    #[track_caller]
    pub fn alloc(len: usize) -> Result<Self> {
        Self::with_flags(len, PinnedFlags::empty())
    }

    /// Allocates `len` elements, set up as `flags` say.
    ///
    /// Stands for [`cudaHostAlloc`](sys::cudaHostAlloc). No elements, no call.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc), and `cudaErrorInvalidValue` for flags that the runtime does not know.
    #[doc(alias = "cudaHostAlloc")]
    #[track_caller]
    pub fn with_flags(len: usize, flags: PinnedFlags) -> Result<Self> {
        let bytes = size::bytes_of::<T>("PinnedBuffer::alloc", len)?;
        let allocation = Allocation::pinned(Device::current()?, bytes, flags.bits())?;
        size::aligned::<T>("PinnedBuffer::alloc", allocation.pointer().addr())?;
        Ok(Self { allocation: Arc::new(allocation), len, elements: PhantomData })
    }

    /// Allocates as many elements as the slice has, and copies them.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    #[track_caller]
    pub fn from_slice(elements: &[T]) -> Result<Self> {
        let mut buffer = Self::alloc(elements.len())?;
        buffer.host_mut()?.copy_from_slice(elements);
        Ok(buffer)
    }

    /// Takes over memory that was allocated with `cudaMallocHost` or `cudaHostAlloc`.
    ///
    /// # Errors
    /// A refusal where the number of bytes overflows, `T` has no bytes, or the address does not fit `T`.
    ///
    /// # Safety
    /// - `pointer` came from one of these functions, or from [`into_raw`](Self::into_raw), and nobody else frees it.
    /// - It has room for `len` elements of `T`, and nobody else reaches them.
    /// - Work that uses the memory and was not given to a stream through this crate is complete.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, pointer: *mut T, len: usize) -> Result<Self> {
        let bytes = size::bytes_of::<T>("PinnedBuffer::from_raw", len)?;
        size::aligned::<T>("PinnedBuffer::from_raw", pointer.addr())?;
        // SAFETY: the caller says so, for as many bytes as were just computed from the same length.
        let allocation = unsafe { Allocation::from_raw(device, pointer.cast(), bytes, Kind::Pinned) };
        Ok(Self { allocation: Arc::new(allocation), len, elements: PhantomData })
    }

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

    /// Views a part, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the buffer, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<PinnedSlice<'_, T>> {
        Ok(PinnedSlice::new(self.span().part("PinnedBuffer::slice", &range)?))
    }

    /// Views a part that may be written, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the buffer, with range and length.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<PinnedSliceMut<'_, T>> {
        Ok(PinnedSliceMut::new(self.span().part("PinnedBuffer::slice_mut", &range)?))
    }

    /// Views the whole buffer.
    #[must_use]
    pub fn as_slice(&self) -> PinnedSlice<'_, T> {
        PinnedSlice::new(self.span())
    }

    /// Views the whole buffer so that it may be written.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> PinnedSliceMut<'_, T> {
        PinnedSliceMut::new(self.span())
    }

    /// Views the elements before `middle` and those from it on.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at(&self, middle: usize) -> Result<(PinnedSlice<'_, T>, PinnedSlice<'_, T>)> {
        self.as_slice().split_at(middle)
    }

    /// Views the elements before `middle` and those from it on: a stream may use the one while the host has the other.
    ///
    /// # Errors
    /// A refusal where `middle` is past the end.
    #[track_caller]
    pub fn split_at_mut(&mut self, middle: usize) -> Result<(PinnedSliceMut<'_, T>, PinnedSliceMut<'_, T>)> {
        self.as_slice_mut().split_at_mut(middle)
    }

    /// Views the buffer in parts of `size` elements; the last is shorter where that does not divide.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Result<impl ExactSizeIterator<Item = PinnedSlice<'_, T>>> {
        self.as_slice().chunks(size)
    }

    /// Views the buffer in parts of `size` elements that different streams may use at once.
    ///
    /// # Errors
    /// A refusal where `size` is 0.
    #[track_caller]
    pub fn chunks_mut(
        &mut self,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = PinnedSliceMut<'_, T>>> {
        self.as_slice_mut().chunks_mut(size)
    }

    /// Views the same bytes as elements of another type.
    ///
    /// # Errors
    /// A refusal where the bytes are not a whole number of `U`, the address does not fit `U`, or `U` has no bytes.
    #[track_caller]
    pub fn reinterpret<U: AnyBitPattern>(&self) -> Result<PinnedSlice<'_, U>>
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
    pub fn reinterpret_mut<U: AnyBitPattern + NoUninit>(&mut self) -> Result<PinnedSliceMut<'_, U>>
    where
        T: NoUninit,
    {
        self.as_slice_mut().reinterpret_mut()
    }
}

impl<T> PinnedBuffer<T> {
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

    /// The device that was current when the memory was allocated.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// The host address of the first element; null where there are none.
    ///
    /// Reading through it is a race with whatever work writes the memory: see [`host`](Self::host).
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.span().pointer().cast_const()
    }

    /// The host address of the first element, for writing; null where there are none.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.span().pointer()
    }

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
    /// Stands for [`cudaFreeHost`](sys::cudaFreeHost).
    ///
    /// # Errors
    /// The failure of work that used the buffer, in which case it is leaked, or of the call.
    #[doc(alias = "cudaFreeHost")]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        Arc::into_inner(self.allocation).map_or(Ok(()), Allocation::free)
    }

    /// Gives the memory up without freeing it, and without waiting for the work that still uses it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFreeHost` frees it.
    #[must_use = "the memory is leaked otherwise"]
    pub fn into_raw(self) -> *mut T {
        Arc::into_inner(self.allocation).map_or(ptr::null_mut(), Allocation::into_raw).cast()
    }

    /// All of it, as views are made from.
    pub(crate) fn span(&self) -> Span<'_, T> {
        Span::whole(&self.allocation, self.len)
    }
}

impl<T> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBuffer")
            .field("element", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("pointer", &self.as_ptr())
            .finish_non_exhaustive()
    }
}
