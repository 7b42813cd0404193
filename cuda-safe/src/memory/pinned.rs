//! Owned page-locked host memory.
#![expect(unsafe_code, reason = "takes over raw pinned pointers")]

use bitflags::bitflags;
use bytemuck::AnyBitPattern;

use super::allocation::{Allocation, Kind};
use super::buffer::Buffer;
use super::memory_type::Pinned;
use super::size;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result, ensure_callable};
use crate::{check, sys};

bitflags! {
    /// Properties of page-locked memory. On systems with unified addresses, all of it is portable and
    /// mapped anyway. Write-combined memory has its own type:
    /// [`WriteCombinedBuffer`](crate::WriteCombinedBuffer).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct PinnedFlags: u32 {
        /// Counts as pinned for every device, not only for the current one.
        #[doc(alias = "cudaHostAllocPortable")]
        const PORTABLE = sys::cudaHostAllocPortable;
        /// Kernels can use it.
        #[doc(alias = "cudaHostAllocMapped")]
        const MAPPED = sys::cudaHostAllocMapped;
    }
}

/// An array of `T` in page-locked host memory, freed when it is dropped.
///
/// Asynchronous copies borrow it and do not take ownership. A copy may be reading or writing the memory at
/// any time. Therefore the host reaches the elements only through guards: [`host`](Self::host) and
/// [`host_mut`](Self::host_mut) wait for pending work on them, and can fail.
///
/// # Ordering
/// The tracker records the accesses to the buffer. Dropping the buffer waits for the work that still uses
/// it. If the end of that work cannot be known, because a kernel failed, the memory is leaked.
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
pub type PinnedBuffer<T> = Buffer<T, Pinned>;

impl<T> PinnedBuffer<T> {
    /// Allocates `len` elements. As in C, their contents are unspecified.
    ///
    /// Stands for [`cudaMallocHost`](sys::cudaMallocHost). If `len` is 0, nothing is allocated.
    ///
    /// # Errors
    /// - `cudaErrorMemoryAllocation` with the number of bytes, if there is not enough memory.
    /// - A refusal if the number of bytes overflows, or if `T` is zero-sized.
    #[doc(alias = "cudaMallocHost")]
    #[track_caller]
    pub fn alloc(len: usize) -> Result<Self>
    where
        T: Element,
    {
        Self::with_flags(len, PinnedFlags::empty())
    }

    /// Allocates `len` elements with these flags.
    ///
    /// Stands for [`cudaHostAlloc`](sys::cudaHostAlloc). If `len` is 0, nothing is allocated.
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc), and `cudaErrorInvalidValue` for flags that the runtime does not
    /// know.
    #[doc(alias = "cudaHostAlloc")]
    #[track_caller]
    pub fn with_flags(len: usize, flags: PinnedFlags) -> Result<Self>
    where
        T: Element,
    {
        let bytes = size::bytes_of::<T>("PinnedBuffer::alloc", len)?;
        Self::of("PinnedBuffer::alloc", Allocation::pinned(None, bytes, flags.bits())?, len)
    }

    /// Allocates as many elements as the slice has, and copies them.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    #[track_caller]
    pub fn from_slice(elements: &[T]) -> Result<Self>
    where
        T: Element,
    {
        let mut buffer = Self::alloc(elements.len())?;
        buffer.host_mut()?.copy_from_slice(elements);
        Ok(buffer)
    }
}

impl<T: AnyBitPattern> PinnedBuffer<T> {
    /// Takes over memory that was allocated with `cudaMallocHost` or `cudaHostAlloc`.
    ///
    /// # Errors
    /// Refused if the number of bytes overflows, if `T` is zero-sized, or if the address is not aligned for
    /// `T`.
    ///
    /// # Safety
    /// - `pointer` came from one of these functions, or from [`into_raw`](Self::into_raw), and nobody else
    ///   frees it.
    /// - The memory has room for `len` elements of `T`, and nobody else reaches them.
    /// - Work that uses the memory is complete. [`into_raw`](Self::into_raw) waits for the work that the
    ///   tracker knows.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, pointer: *mut T, len: usize) -> Result<Self> {
        // SAFETY: the caller guarantees all of it.
        unsafe { Self::taken_over("PinnedBuffer::from_raw", device, pointer, len, Kind::Pinned) }
    }
}

impl<T> PinnedBuffer<T> {
    /// Returns the flags that the runtime reports. They include those of properties that the memory has on
    /// this system anyway.
    ///
    /// Stands for [`cudaHostGetFlags`](sys::cudaHostGetFlags). If the length is 0, returns no flags and
    /// does not call the runtime.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::PinnedBuffer;
    /// use cuda_safe::memory::PinnedFlags;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let buffer = PinnedBuffer::<f32>::with_flags(1000, PinnedFlags::MAPPED)?;
    /// assert!(buffer.flags()?.contains(PinnedFlags::MAPPED));
    /// let for_kernels: *mut f32 = buffer.device_ptr()?;
    /// assert!(!for_kernels.is_null());
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaHostGetFlags")]
    #[track_caller]
    pub fn flags(&self) -> Result<PinnedFlags> {
        ensure_callable("PinnedBuffer::flags")?;
        let mut flags = 0;
        if !self.is_empty() {
            // SAFETY: the first pointer is to a live local integer, which the call fills. The memory lives
            // as long as the borrow.
            unsafe { check!(cudaHostGetFlags(&raw mut flags, self.as_ptr().cast_mut().cast())) }?;
        }
        Ok(PinnedFlags::from_bits_retain(flags))
    }

    /// Waits for the work that still uses the buffer, and frees it. Unlike a drop, this returns the error.
    ///
    /// Stands for [`cudaFreeHost`](sys::cudaFreeHost).
    ///
    /// # Errors
    /// Returns the failure of work that used the buffer, which is then leaked, or the runtime's error.
    #[doc(alias = "cudaFreeHost")]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        Allocation::free_owned(self.into_shared())
    }

    /// Waits for the work that still uses the buffer, and gives the memory up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFreeHost` frees it.
    ///
    /// # Errors
    /// Each error comes with the buffer:
    /// - `InGraph` while a graph also holds the memory.
    /// - The failure of the work that it waited for.
    /// - A refusal inside a host function.
    #[track_caller]
    pub fn into_raw(self) -> core::result::Result<*mut T, (Error, Self)> {
        self.give_up("PinnedBuffer::into_raw")
    }
}
