//! Page-locked memory of the host, owned.
#![expect(unsafe_code, reason = "takes over raw pinned pointers")]

use bitflags::bitflags;
use bytemuck::AnyBitPattern;

use super::allocation::{Allocation, Kind};
use super::buffer::Buffer;
use super::place::Pinned;
use super::size;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

bitflags! {
    /// How page-locked memory is set up. On systems with unified addresses, all of it is portable and mapped anyway.
    /// Write-combined memory is a type of its own: [`WriteCombinedBuffer`](crate::WriteCombinedBuffer).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct PinnedFlags: u32 {
        /// Counts as pinned for every device, not only for the one that was current.
        #[doc(alias = "cudaHostAllocPortable")]
        const PORTABLE = sys::cudaHostAllocPortable;
        /// Kernels can use it.
        #[doc(alias = "cudaHostAllocMapped")]
        const MAPPED = sys::cudaHostAllocMapped;
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
pub type PinnedBuffer<T> = Buffer<T, Pinned>;

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
        Self::of("PinnedBuffer::alloc", Allocation::pinned(None, bytes, flags.bits())?, len)
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
    /// - Work that uses the memory is complete: [`into_raw`](Self::into_raw) waits for what it knows of.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, pointer: *mut T, len: usize) -> Result<Self> {
        // SAFETY: the caller vouches for all of it.
        unsafe { Self::taken_over("PinnedBuffer::from_raw", device, pointer, len, Kind::Pinned) }
    }
}

impl<T> PinnedBuffer<T> {
    /// How the memory was set up, as the runtime tells it: memory that all devices can use anyway says so.
    ///
    /// Stands for [`cudaHostGetFlags`](sys::cudaHostGetFlags). No elements, no call and no flags.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
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
        if crate::stream::in_callback() {
            return Err(Error::refused("PinnedBuffer::flags", Detail::InCallback));
        }
        let mut flags = 0;
        if !self.is_empty() {
            // SAFETY: the first pointer is to a live integer of ours; the memory lives while the borrow does.
            unsafe { check!(cudaHostGetFlags(&raw mut flags, self.as_ptr().cast_mut().cast())) }?;
        }
        Ok(PinnedFlags::from_bits_retain(flags))
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
        Allocation::free_owned(self.into_shared())
    }

    /// Waits for the work that still uses the buffer, and gives the memory up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFreeHost` frees it.
    ///
    /// # Errors
    /// Each error comes with the buffer: `InGraph` while a graph holds the memory too; the failure of the
    /// work that was waited for; a refusal inside a host function.
    #[track_caller]
    pub fn into_raw(self) -> core::result::Result<*mut T, (Error, Self)> {
        self.give_up("PinnedBuffer::into_raw")
    }
}
