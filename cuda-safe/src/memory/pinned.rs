//! Owned page-locked host memory: for all uses, and write-combined memory, which the host only writes.
//!
//! Allocating and freeing are not stream-ordered. Freeing and [`write`](WriteCombinedBuffer::write) block
//! until the work that still uses the memory is complete. Nothing else here blocks.
#![expect(unsafe_code, reason = "takes over raw pinned pointers, and writes through them")]

use std::fmt;

use bitflags::bitflags;
use bytemuck::AnyBitPattern;

use super::allocation::Span;
use super::allocation::{Allocation, Allocator};
use super::buffer::{Buffer, Slice, SliceMut};
use super::guard::Loan;
use super::large_pages;
use super::memory_type::{Pinned, WriteCombined};
use super::size;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Detail, ErrorWith, Result, ensure, ensure_callable};
use crate::hazard::Mode;
use crate::{check, sys};

bitflags! {
    /// Properties of page-locked memory. On systems with unified addresses, all of it is portable and
    /// mapped anyway. Write-combined memory has its own type:
    /// [`WriteCombinedBuffer`](crate::WriteCombinedBuffer).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    /// Stands for [`cudaMallocHost`](sys::cudaMallocHost). If `len` is 0, nothing is allocated. From 16 MiB
    /// on, up to four threads get large pages from the system, and
    /// [`cudaHostRegister`](sys::cudaHostRegister) page-locks them, in a third to a sixth of the time.
    /// [`with_flags`](Self::with_flags) never does it.
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
        if let Some(allocation) = large_pages::allocate(size::bytes_of::<T>("PinnedBuffer::alloc", len)?) {
            return Self::from_allocation("PinnedBuffer::alloc", allocation?, len);
        }
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
        Self::from_allocation("PinnedBuffer::alloc", Allocation::pinned(None, bytes, flags.bits())?, len)
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
        unsafe { Self::taken_over("PinnedBuffer::from_raw", device, pointer, len, Allocator::Pinned) }
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
        if self.allocation.is_registered() {
            // In large pages. The runtime reports flags of its own allocations only.
            return Ok(PinnedFlags::MAPPED);
        }
        if !self.is_empty() {
            // SAFETY: the first pointer is to a live local integer, which the call fills. The memory lives
            // as long as the borrow.
            unsafe { check!(cudaHostGetFlags(&raw mut flags, self.as_ptr().cast_mut().cast())) }?;
        }
        Ok(PinnedFlags::from_bits_retain(flags))
    }

    /// Waits for the work that still uses the buffer, and gives the memory up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFreeHost` frees it.
    ///
    /// # Errors
    /// Each error comes with the buffer:
    /// - `InUse` while a graph also holds the memory.
    /// - The failure of the work that it waited for.
    /// - A refusal inside a host function, and of memory in large pages, which `cudaFreeHost` cannot free:
    ///   allocate such a buffer with [`with_flags`](Self::with_flags).
    #[track_caller]
    pub fn into_raw(self) -> core::result::Result<*mut T, ErrorWith<Self>> {
        self.give_up("PinnedBuffer::into_raw")
    }
}

/// An array of `T` in write-combined host memory, freed when it is dropped.
///
/// The host writes it past its caches and never reads it. No guard lends it for reading, because a read of
/// one element would take as long as hundreds of reads of other memory. Devices may read it faster or
/// slower than a [`PinnedBuffer`](crate::PinnedBuffer), depending on the machine: measure before use.
///
/// # Ordering
/// As [`PinnedBuffer`](crate::PinnedBuffer).
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, Stream, WriteCombinedBuffer, memcpy_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut device = DeviceBuffer::<u32>::alloc(4)?;
/// let mut numbers = WriteCombinedBuffer::<u32>::alloc(4)?;
/// let mut writer = numbers.write()?; // waits for work that still reads it
/// writer.fill(7);
/// writer.copy_from_slice(1, &[1, 2])?;
/// drop(writer);
/// memcpy_async(&mut device, &numbers, &stream)?;
/// assert_eq!(device.to_vec()?, [7, 1, 2, 7]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaHostAlloc")]
#[doc(alias = "cudaHostAllocWriteCombined")]
pub type WriteCombinedBuffer<T> = Buffer<T, WriteCombined>;

/// A part of a [`WriteCombinedBuffer`] that devices and copies may read.
pub type WriteCombinedSlice<'a, T> = Slice<'a, T, WriteCombined>;

/// A part of a [`WriteCombinedBuffer`], for writing. No other view overlaps it.
pub type WriteCombinedSliceMut<'a, T> = SliceMut<'a, T, WriteCombined>;

impl<T: AnyBitPattern> WriteCombinedBuffer<T> {
    /// Allocates `len` elements. As in C, their contents are unspecified.
    ///
    /// Stands for [`cudaHostAlloc`](sys::cudaHostAlloc). If `len` is 0, nothing is allocated.
    ///
    /// # Errors
    /// As [`PinnedBuffer::alloc`](crate::PinnedBuffer::alloc).
    #[doc(alias = "cudaHostAlloc")]
    #[track_caller]
    pub fn alloc(len: usize) -> Result<Self> {
        let bytes = size::bytes_of::<T>("WriteCombinedBuffer::alloc", len)?;
        let allocation = Allocation::pinned(None, bytes, sys::cudaHostAllocWriteCombined)?;
        Self::from_allocation("WriteCombinedBuffer::alloc", allocation, len)
    }

    /// Waits until no work uses the elements any more, and lends them to the host for writing.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host_mut`](crate::PinnedBuffer::host_mut).
    #[track_caller]
    pub fn write(&mut self) -> Result<HostWriter<'_, T>> {
        HostWriter::new(self.span())
    }
}

impl<T: AnyBitPattern> WriteCombinedSliceMut<'_, T> {
    /// Waits until no work uses the elements any more, and lends them to the host for writing.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host_mut`](crate::PinnedBuffer::host_mut).
    #[track_caller]
    pub fn write(&mut self) -> Result<HostWriter<'_, T>> {
        HostWriter::new(self.span())
    }
}

/// Elements of write-combined memory, lent to the host for writing only. No work uses them while it lives.
///
/// For speed, write the elements in ascending order and without gaps: the hardware combines neighbouring
/// writes.
#[must_use]
pub struct HostWriter<'a, T> {
    loan: Loan<'a, T>,
}

impl<'a, T: AnyBitPattern> HostWriter<'a, T> {
    /// Waits for readers and writers and lends the elements. Nobody else may have borrowed the span, which
    /// keeps new readers and writers away.
    #[track_caller]
    fn new(span: Span<'a, T>) -> Result<Self> {
        Ok(Self { loan: Loan::new(span, Mode::Write)? })
    }

    /// Writes elements from `start` on.
    ///
    /// # Errors
    /// Refused with the range and the length if the elements do not fit.
    #[track_caller]
    pub fn copy_from_slice(&mut self, start: usize, elements: &[T]) -> Result<()> {
        let (pointer, len) = self.loan.parts();
        let end = start.saturating_add(elements.len());
        ensure(end <= len, "HostWriter::copy_from_slice", || Detail::out_of_range(start, end, len))?;
        let to = pointer.wrapping_add(start);
        // SAFETY: the memory has this many aligned elements from `start` on, lent for writing. The loan
        // waited for pending accesses, and the exclusive borrow forbids new ones. The elements are the
        // caller's, so the two do not overlap.
        unsafe { to.copy_from_nonoverlapping(elements.as_ptr(), elements.len()) };
        Ok(())
    }

    /// Writes one element.
    ///
    /// # Errors
    /// Refused if there is no such element.
    #[track_caller]
    pub fn set(&mut self, index: usize, element: T) -> Result<()> {
        self.copy_from_slice(index, &[element])
    }

    /// Writes the same element everywhere.
    pub fn fill(&mut self, element: T) {
        self.fill_with(|_| element);
    }

    /// Writes the results of `element` for each index, in ascending order.
    pub fn fill_with(&mut self, mut element: impl FnMut(usize) -> T) {
        let (pointer, len) = self.loan.parts();
        for index in 0..len {
            let made = element(index);
            // SAFETY: as in `copy_from_slice`. The index is below the length.
            unsafe { pointer.wrapping_add(index).write(made) };
        }
    }
}

size::length!([T: AnyBitPattern] HostWriter<'_, T>, it => it.loan.parts().1);

impl<T> fmt::Debug for HostWriter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostWriter").field("len", &self.loan.parts().1).finish_non_exhaustive()
    }
}
