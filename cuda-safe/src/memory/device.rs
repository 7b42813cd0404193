//! Memory on a device, owned.
#![expect(unsafe_code, reason = "takes over raw device pointers")]

use std::any::Any;

use bytemuck::AnyBitPattern;

use super::allocation::{Allocation, Kind};
use super::buffer::Buffer;
use super::place::OnDevice;
use super::pool::MemoryPool;
use super::size;
use crate::device::Device;
use crate::error::{Error, Result};
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
pub type DeviceBuffer<T> = Buffer<T, OnDevice>;

impl<T: AnyBitPattern> DeviceBuffer<T> {
    /// Allocates `len` elements on the current device. As in C, what they contain is unspecified.
    ///
    /// Stands for [`cudaMalloc`](sys::cudaMalloc). No elements, no call.
    ///
    /// # Errors
    /// `cudaErrorMemoryAllocation` with the number of bytes, and a refusal where that number overflows or `T` has no bytes.
    #[doc(alias = "cudaMalloc")]
    #[inline]
    #[track_caller]
    pub fn alloc(len: usize) -> Result<Self> {
        Self::alloc_where(None, len)
    }

    /// Allocates `len` elements on a device, which need not be current.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    #[doc(alias = "cudaMalloc")]
    #[inline]
    #[track_caller]
    pub fn alloc_on(device: Device, len: usize) -> Result<Self> {
        Self::alloc_where(Some(device), len)
    }

    /// Allocates on a device, the current one where none is named.
    #[inline]
    #[track_caller]
    fn alloc_where(device: Option<Device>, len: usize) -> Result<Self> {
        let bytes = size::bytes_of::<T>("DeviceBuffer::alloc", len)?;
        Self::of_shared("DeviceBuffer::alloc", Allocation::device(device, bytes)?, len)
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
    #[inline]
    #[track_caller]
    pub fn alloc_async(len: usize, stream: &impl AsStream) -> Result<Self> {
        let bytes = size::bytes_of::<T>("DeviceBuffer::alloc_async", len)?;
        let allocation = Allocation::pool(stream.as_stream(), None, bytes)?;
        Self::of_shared("DeviceBuffer::alloc_async", allocation, len)
    }

    /// Gives a stream the task of allocating `len` elements of a pool's memory, and returns.
    ///
    /// Stands for [`cudaMallocFromPoolAsync`](sys::cudaMallocFromPoolAsync). No elements, no call. The buffer is of the
    /// pool's device, which need not be the stream's. The pool may be dropped before it.
    ///
    /// # Ordering
    /// As for [`alloc_async`](Self::alloc_async).
    ///
    /// # Errors
    /// As [`alloc_async`](Self::alloc_async); a refusal where the pool is not of a device's memory.
    #[doc(alias = "cudaMallocFromPoolAsync")]
    #[inline]
    #[track_caller]
    pub fn alloc_from(pool: &MemoryPool, len: usize, stream: &impl AsStream) -> Result<Self> {
        let bytes = size::bytes_of::<T>("DeviceBuffer::alloc_from", len)?;
        let from = Some((pool, pool.device()?));
        let allocation = Allocation::pool(stream.as_stream(), from, bytes)?;
        Self::of_shared("DeviceBuffer::alloc_from", allocation, len)
    }

    /// Takes over memory that was allocated with `cudaMalloc`.
    ///
    /// # Errors
    /// A refusal where the number of bytes overflows, `T` has no bytes, or the address does not fit `T`.
    ///
    /// # Safety
    /// - `pointer` came from `cudaMalloc` on `device`, or from [`into_raw`](Self::into_raw), and nobody else frees it.
    /// - It has room for `len` elements of `T`, and nobody else uses them, but in order with what this crate does there.
    /// - Work that uses the memory is complete: [`into_raw`](Self::into_raw) waits for what it knows of.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, pointer: *mut T, len: usize) -> Result<Self> {
        // SAFETY: the caller vouches for all of it.
        unsafe { Self::taken_over("DeviceBuffer::from_raw", device, pointer, len, Kind::Device) }
    }

    /// Adopts device memory of another library's, with what keeps it alive: the keeper is dropped once no work uses the
    /// memory any more, in the place of freeing it.
    ///
    /// # Errors
    /// A refusal where the number of bytes overflows, `T` has no bytes, or the address does not fit `T`; the keeper is
    /// dropped then.
    ///
    /// # Safety
    /// - `pointer` is to `len` elements of memory of `device`, which live and stay where they are until `keeper` is dropped.
    /// - Whoever else uses the memory meanwhile is ordered with what this crate does there: its books know of no others.
    ///   Work given before is complete, or the first work given here is ordered after it.
    /// - The memory is adopted once at a time.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{Device, DeviceBuffer, memcpy};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// // What another library would have.
    /// let theirs = DeviceBuffer::<f32>::from_slice(&[1.0, 2.0, 3.0])?;
    /// let (pointer, len) = (theirs.as_ptr().cast_mut(), theirs.len());
    /// // SAFETY: the memory lives as long as its owner, which goes with the buffer and does nothing meanwhile.
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
        // SAFETY: the caller vouches for as many bytes as were just computed from the same length.
        let allocation = unsafe { Allocation::foreign(device, pointer.cast(), bytes, keeper) };
        Self::of("DeviceBuffer::adopt", allocation, len)
    }
}

impl<T> DeviceBuffer<T> {
    /// Waits for the work that still uses the buffer and frees it: what a drop does, with the error.
    ///
    /// Stands for [`cudaFree`](sys::cudaFree).
    ///
    /// # Errors
    /// The failure of work that used the buffer, or of the call.
    #[doc(alias = "cudaFree")]
    #[inline]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        Allocation::free_owned(self.into_shared())
    }

    /// Gives a stream the task of freeing the buffer, after all work that still uses it, and returns.
    ///
    /// Stands for [`cudaFreeAsync`](sys::cudaFreeAsync). A buffer that is not of a pool
    /// is freed as [`free`](Self::free) does, which waits.
    ///
    /// # Errors
    /// The failure of earlier work, or of the call; a refusal inside a host function, after which it is freed later.
    #[doc(alias = "cudaFreeAsync")]
    #[inline]
    #[track_caller]
    pub fn free_async(self, stream: &impl AsStream) -> Result<()> {
        Allocation::free_on(self.into_shared(), stream.as_stream())
    }

    /// Waits for the work that still uses the buffer, and gives the memory up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFree` frees it, also where it is memory of a pool, which
    /// [`free_async`](Self::free_async) then no longer frees in the order of a stream.
    ///
    /// # Errors
    /// Each error comes with the buffer: `InGraph` while a graph or a texture holds the memory too;
    /// `Unsupported` for memory that `cudaFree` does not free: [adopted](Self::adopt) memory, a variable of a
    /// library, and memory of another process ([`IpcMemHandle::open`](super::IpcMemHandle::open)); the
    /// failure of the work that was waited for; a refusal inside a host function.
    #[track_caller]
    pub fn into_raw(self) -> core::result::Result<*mut T, (Error, Self)> {
        self.give_up("DeviceBuffer::into_raw")
    }
}
