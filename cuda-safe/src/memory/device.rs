//! Owned device memory.
#![expect(unsafe_code, reason = "takes over raw device pointers, and sends addresses as plain bytes")]

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use bytemuck::{AnyBitPattern, Pod, Zeroable};

use super::allocation::{Allocation, Allocator};
use super::buffer::{Buffer, Slice, SliceMut};
use super::memory_type::OnDevice;
use super::pool::MemoryPool;
use super::size;
use crate::device::Device;
use crate::element::Element;
use crate::error::{ErrorWith, Result};
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

/// An array of `T` on a device, freed when it is dropped.
///
/// The host never reaches the elements directly: [`memcpy`](crate::memcpy) and its family move them.
/// Kernels take the buffer, or a view of it, as an argument.
///
/// # Ordering
/// The tracker records the accesses to the buffer. Work on it is therefore ordered after conflicting work
/// on any stream. Dropping the buffer waits for the work that still uses it.
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
pub type DeviceBuffer<T> = Buffer<T, OnDevice>;

impl<T> DeviceBuffer<T> {
    /// Allocates `len` elements on the current device. As in C, their contents are unspecified.
    ///
    /// Stands for [`cudaMalloc`](sys::cudaMalloc). If `len` is 0, nothing is allocated.
    ///
    /// # Errors
    /// - `cudaErrorMemoryAllocation` with the number of bytes, if there is not enough memory.
    /// - A refusal if the number of bytes overflows, or if `T` is zero-sized.
    #[doc(alias = "cudaMalloc")]
    #[inline]
    #[track_caller]
    pub fn alloc(len: usize) -> Result<Self>
    where
        T: Element,
    {
        Self::alloc_where(None, len)
    }

    /// Allocates `len` elements on a device, which need not be current.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    #[doc(alias = "cudaMalloc")]
    #[inline]
    #[track_caller]
    pub fn alloc_on(device: Device, len: usize) -> Result<Self>
    where
        T: Element,
    {
        Self::alloc_where(Some(device), len)
    }

    /// Allocates on a device, by default the current one.
    #[inline]
    #[track_caller]
    fn alloc_where(device: Option<Device>, len: usize) -> Result<Self>
    where
        T: Element,
    {
        let bytes = size::bytes_of::<T>("DeviceBuffer::alloc", len)?;
        Self::from_shared("DeviceBuffer::alloc", Allocation::device(device, bytes)?, len)
    }

    /// Allocates `len` elements from the memory pool of the stream's device, in stream order, and returns
    /// at once.
    ///
    /// Stands for [`cudaMallocAsync`](sys::cudaMallocAsync). If `len` is 0, nothing is allocated.
    ///
    /// # Ordering
    /// The memory exists from this point of the stream on. Other streams may use it at once: the tracker
    /// makes them wait. Dropping the buffer frees it on a stream of the crate, after the work that still
    /// uses it, and does not block the host. [`free_async`](Self::free_async) frees it on a stream of the
    /// program.
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc), and `cudaErrorNotSupported` if the device has no pools.
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
    #[inline]
    #[track_caller]
    pub fn alloc_async(len: usize, stream: &impl AsStream) -> Result<Self>
    where
        T: Element,
    {
        let bytes = size::bytes_of::<T>("DeviceBuffer::alloc_async", len)?;
        let allocation = Allocation::pool(stream.as_stream(), None, bytes)?;
        Self::from_shared("DeviceBuffer::alloc_async", allocation, len)
    }

    /// Allocates `len` elements from a pool, in stream order, and returns at once.
    ///
    /// Stands for [`cudaMallocFromPoolAsync`](sys::cudaMallocFromPoolAsync). If `len` is 0, nothing is
    /// allocated. The buffer is on the device of the pool, which need not be the stream's. The pool may be
    /// dropped before the buffer.
    ///
    /// # Ordering
    /// As [`alloc_async`](Self::alloc_async).
    ///
    /// # Errors
    /// Those of [`alloc_async`](Self::alloc_async), and a refusal if the pool is not of device memory.
    #[doc(alias = "cudaMallocFromPoolAsync")]
    #[inline]
    #[track_caller]
    pub fn alloc_from(pool: &MemoryPool, len: usize, stream: &impl AsStream) -> Result<Self>
    where
        T: Element,
    {
        let bytes = size::bytes_of::<T>("DeviceBuffer::alloc_from", len)?;
        let from = Some((pool, pool.device()?));
        let allocation = Allocation::pool(stream.as_stream(), from, bytes)?;
        Self::from_shared("DeviceBuffer::alloc_from", allocation, len)
    }
}

impl<T: AnyBitPattern> DeviceBuffer<T> {
    /// Takes over memory that was allocated with `cudaMalloc`.
    ///
    /// # Errors
    /// Refused if the number of bytes overflows, if `T` is zero-sized, or if the address is not aligned for
    /// `T`.
    ///
    /// # Safety
    /// - `pointer` came from `cudaMalloc` on `device`, or from [`into_raw`](Self::into_raw), and nobody
    ///   else frees it.
    /// - The memory has room for `len` elements of `T`. All others who use them are ordered with this
    ///   crate's work on them.
    /// - Work that uses the memory is complete. [`into_raw`](Self::into_raw) waits for the work that the
    ///   tracker knows.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, pointer: *mut T, len: usize) -> Result<Self> {
        // SAFETY: the caller guarantees all of it.
        unsafe { Self::taken_over("DeviceBuffer::from_raw", device, pointer, len, Allocator::Device) }
    }

    /// Adopts device memory of another library, with the value that keeps the memory alive. Instead of
    /// freeing the memory, the buffer drops `keeper` when no work uses the memory any more.
    ///
    /// # Errors
    /// Refused if the number of bytes overflows, if `T` is zero-sized, or if the address is not aligned for
    /// `T`. In each case `keeper` is dropped.
    ///
    /// # Safety
    /// - `pointer` is to `len` elements in memory of `device`, which live and do not move until `keeper` is
    ///   dropped.
    /// - All others who use the memory in the meantime are ordered with this crate's work on it: the
    ///   tracker does not see their work. Their earlier work is complete, or the first work submitted here
    ///   is ordered after it.
    /// - The memory is adopted only once at a time.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{Device, DeviceBuffer, memcpy};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// // The memory of another library.
    /// let theirs = DeviceBuffer::<f32>::from_slice(&[1.0, 2.0, 3.0])?;
    /// let (pointer, len) = (theirs.as_ptr().cast_mut(), theirs.len());
    /// // SAFETY: the memory lives as long as its owner, which the buffer retains and which does nothing in
    /// // the meantime.
    /// let mut buffer = unsafe { DeviceBuffer::adopt(Device::current()?, pointer, len, theirs) }?;
    /// memcpy(&mut buffer.slice_mut(..1)?, &[7.0])?;
    /// assert_eq!(buffer.to_vec()?, [7.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub unsafe fn adopt<K: Any + Send>(
        device: Device,
        pointer: *mut T,
        len: usize,
        keeper: K,
    ) -> Result<Self> {
        let bytes = size::bytes_of::<T>("DeviceBuffer::adopt", len)?;
        // SAFETY: the caller guarantees it for `len` elements, and `bytes` is their size.
        let allocation = unsafe { Allocation::foreign(device, pointer.cast(), bytes, keeper) };
        Self::from_allocation("DeviceBuffer::adopt", allocation, len)
    }
}

impl<T> DeviceBuffer<T> {
    /// Frees the buffer in stream order, after all work that still uses it, and returns at once.
    ///
    /// Stands for [`cudaFreeAsync`](sys::cudaFreeAsync). A buffer that is not from a pool is freed as by
    /// [`free`](Self::free), which blocks.
    ///
    /// # Errors
    /// Returns the failure of earlier work, or the runtime's error. Refused inside a host function; the
    /// buffer is then freed later.
    #[doc(alias = "cudaFreeAsync")]
    #[inline]
    #[track_caller]
    pub fn free_async(self, stream: &impl AsStream) -> Result<()> {
        Allocation::free_on(self.into_shared(), stream.as_stream())
    }

    /// Waits for the work that still uses the buffer, and gives the memory up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFree` frees it. This is also true for memory from a pool, which
    /// [`free_async`](Self::free_async) then no longer frees in stream order.
    ///
    /// # Errors
    /// Each error comes with the buffer:
    /// - `InUse` while a graph or a texture also holds the memory.
    /// - `Unsupported` for memory that `cudaFree` does not free: [adopted](Self::adopt) memory, a variable
    ///   of a library, and memory of another process ([`IpcMemHandle::open`](super::IpcMemHandle::open)).
    /// - The failure of the work that it waited for.
    /// - A refusal inside a host function.
    #[track_caller]
    pub fn into_raw(self) -> core::result::Result<*mut T, ErrorWith<Self>> {
        self.give_up("DeviceBuffer::into_raw")
    }
}

/// The 64-bit address of elements of `T` on a device: a `T *` in a structure that a kernel reads.
///
/// An address is only a number, which anybody may have, copy to a device and read. Kernels access memory
/// through it, and their launch is `unsafe`. The tracker does not see these accesses, because a buffer that
/// a kernel reaches only through such an address is not an argument of the launch. Therefore the launch
/// must declare the buffers: pass them as arguments, too, or name each of them once for all launches by
/// [`Kernel::using`](crate::launch::Kernel::using). The work is then ordered with all other work, and the
/// memory is not freed before the work is complete. Memory of `DevicePtr<T>` is an argument for a `T**`.
///
/// # Examples
/// ```
/// use cuda_safe::DeviceBuffer;
/// use cuda_safe::memory::DevicePtr;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut rows = [DeviceBuffer::<f32>::alloc(10)?, DeviceBuffer::<f32>::alloc(20)?];
/// let addresses: Vec<_> = rows.iter_mut().map(|row| DevicePtr::from(row.as_slice_mut())).collect();
/// // For a kernel that takes `float *const *rows`.
/// let table = DeviceBuffer::<DevicePtr<f32>>::from_slice(&addresses)?;
/// assert_eq!(table.to_vec()?[1].address(), u64::try_from(rows[1].as_ptr().addr()).unwrap());
/// # Ok(())
/// # }
/// ```
#[repr(transparent)]
pub struct DevicePtr<T> {
    address: u64,
    element: PhantomData<fn(T) -> T>,
}

impl<T> DevicePtr<T> {
    /// The null address.
    pub const NULL: Self = Self { address: 0, element: PhantomData };

    /// Makes a pointer from one that devices understand, such as that of
    /// [`PinnedBuffer::device_ptr`](crate::PinnedBuffer).
    #[must_use]
    pub fn new(pointer: *mut T) -> Self {
        // Device addresses have 64 bits, and hosts that CUDA supports do not have more.
        let address = u64::try_from(pointer.expose_provenance()).unwrap_or(0);
        Self { address, element: PhantomData }
    }

    /// Returns the address as a number.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }
}

impl<T> From<&DeviceBuffer<T>> for DevicePtr<T> {
    /// Returns the address of the first element, or null if the length is 0.
    fn from(buffer: &DeviceBuffer<T>) -> Self {
        Self::new(buffer.as_ptr().cast_mut())
    }
}

impl<T> From<Slice<'_, T, OnDevice>> for DevicePtr<T> {
    /// Returns the address of the first element.
    fn from(slice: Slice<'_, T, OnDevice>) -> Self {
        Self::new(slice.as_ptr().cast_mut())
    }
}

impl<T> From<SliceMut<'_, T, OnDevice>> for DevicePtr<T> {
    /// Returns the address of the first element.
    fn from(slice: SliceMut<'_, T, OnDevice>) -> Self {
        Self::new(slice.as_ptr().cast_mut())
    }
}

impl<T> Clone for DevicePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePtr<T> {}

impl<T> PartialEq for DevicePtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePtr<T> {}

impl<T> fmt::Debug for DevicePtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePtr({:#x})", self.address)
    }
}

// SAFETY: 64 bits. All zeros is the null address.
unsafe impl<T> Zeroable for DevicePtr<T> {}
// SAFETY: 64 bits without padding, every pattern of which is an address, and a zero-sized marker.
unsafe impl<T: 'static> Pod for DevicePtr<T> {}
