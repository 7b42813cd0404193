//! Page-locked memory that the host only writes.
//!
//! Allocating and freeing are not stream-ordered. Freeing and [`write`](WriteCombinedBuffer::write) block
//! until the work that still uses the memory is complete. Nothing else here blocks.
//!
//! C functions: `cudaHostAlloc` with `cudaHostAllocWriteCombined`, `cudaFreeHost`.
#![expect(unsafe_code, reason = "writes to memory that devices reach too")]

use std::fmt;

use bytemuck::AnyBitPattern;

use super::allocation::Allocation;
use super::buffer::Buffer;
use super::guard::Loan;
use super::memory_type::WriteCombined;
use super::size;
use super::slice::{Slice, SliceMut};
use super::span::Span;
use crate::error::{Detail, Error, Result};
use crate::hazard::Mode;
use crate::sys;

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
        Self::of("WriteCombinedBuffer::alloc", allocation, len)
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

    /// Returns the length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.loan.parts().1
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes elements from `start` on.
    ///
    /// # Errors
    /// Refused with the range and the length if the elements do not fit.
    #[track_caller]
    pub fn copy_from_slice(&mut self, start: usize, elements: &[T]) -> Result<()> {
        let (pointer, len) = self.loan.parts();
        let end = start.saturating_add(elements.len());
        if end > len {
            let detail = Detail::OutOfRange { start, end, len };
            return Err(Error::refused("HostWriter::copy_from_slice", detail));
        }
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

impl<T> fmt::Debug for HostWriter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostWriter").field("len", &self.loan.parts().1).finish_non_exhaustive()
    }
}
