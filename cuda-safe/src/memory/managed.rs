//! Managed memory: one address for the host and all devices, and pages that move to where they are used.
//!
//! A [`ManagedBuffer`] is an owner like the others: kernels take it and its views as arguments, copies take it on either side,
//! and the host reaches it through guards ([`host`](ManagedBuffer::host), [`host_mut`](ManagedBuffer::host_mut)) that wait for
//! what is pending. What is special to it are hints about where its pages should be: [advice](Advice), prefetches
//! ([`prefetch_async`](ManagedBuffer::prefetch_async), [`PrefetchBatch`]), and what is known about them
//! ([`RangeAttributes`]). Hints change where pages are, never what they hold; only a discard gives the contents up.
//!
//! # Why safe code has no data race with the host
//! A live `&[T]` into memory that a kernel writes is undefined behaviour, and with managed memory the hardware would not
//! stop it. The guards are what stops it, as for pinned memory: they are borrowed from the owner, so nobody enters
//! new work on the bytes, and they wait for what was entered before. That needs a device on which the host may touch
//! managed memory while *other* kernels run. Devices without concurrent managed access fault then, whatever memory these kernels
//! use, and no borrow of one buffer can prevent it: so where any device of the process lacks it, there is no managed memory.
//!
//! Allocating, freeing and advice are not stream-ordered; freeing and the guards wait; prefetches and discards are
//! stream-ordered. Owners and views may be used from any thread.
//!
//! C functions: `cudaMallocManaged`, `cudaMemAdvise`, `cudaMemAdvise_v2`, `cudaMemPrefetchAsync`, `cudaMemPrefetchAsync_v2`,
//! `cudaMemPrefetchBatchAsync`, `cudaMemDiscardBatchAsync`, `cudaMemDiscardAndPrefetchBatchAsync`, `cudaMemRangeGetAttribute`,
//! `cudaMemRangeGetAttributes`, `cudaMemGetLocationInfo` (from CUDA 13.4 on), `cudaStreamAttachMemAsync`.
#![expect(unsafe_code, reason = "takes over raw managed pointers")]

mod advice;
mod attach;
mod attributes;
#[cfg(cudart_13_0)]
mod batch;
pub(crate) mod extent;
#[cfg(cudart_13_4)]
mod locations;
mod prefetch;

use std::sync::OnceLock;

use bytemuck::AnyBitPattern;

use super::allocation::{Allocation, Kind};
use super::buffer::Buffer;
use super::place::Managed;
use super::size;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::sys;

pub use advice::Advice;
pub use attach::Attachment;
pub use attributes::RangeAttributes;
#[cfg(cudart_13_0)]
pub use batch::PrefetchBatch;

/// An array of `T` in managed memory, freed when it is dropped.
///
/// Kernels of all devices and the host reach it at the same address. Because a kernel may be using it at any time, the host
/// reaches the elements through guards only, as those of pinned memory.
///
/// # Ordering
/// The buffer's accesses are in the books. Dropping it waits for the work that still uses it.
///
/// # Examples
/// ```
/// use cuda_safe::memory::{ManagedBuffer, MemoryLocation};
/// use cuda_safe::stream::Stream;
/// use cuda_safe::{Device, memset_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut numbers = ManagedBuffer::from_slice(&[1_u8, 2, 3])?;
/// numbers.prefetch_async(MemoryLocation::Device(Device::current()?), &stream)?;
/// memset_async(&mut numbers.slice_mut(1..)?, 9, &stream)?;
/// assert_eq!(*numbers.host()?, [1, 9, 9]); // waits
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMallocManaged")]
pub type ManagedBuffer<T> = Buffer<T, Managed>;

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Allocates `len` elements, for use from any stream. As in C, what they contain is unspecified.
    ///
    /// Stands for [`cudaMallocManaged`](sys::cudaMallocManaged). No elements, no call that allocates.
    ///
    /// # Errors
    /// `cudaErrorNotSupported` where a device of this process has no concurrent managed access; `cudaErrorMemoryAllocation`
    /// with the number of bytes, and a refusal where that number overflows or `T` has no bytes.
    #[doc(alias = "cudaMallocManaged")]
    #[track_caller]
    pub fn alloc(len: usize) -> Result<Self> {
        Self::with_attachment(len, Attachment::Global)
    }

    /// Allocates `len` elements that belong to all streams, or to the host to begin with.
    ///
    /// Stands for [`cudaMallocManaged`](sys::cudaMallocManaged).
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc); `cudaErrorInvalidValue` for memory of a single stream, which is
    /// [attached](Self::attach_async) later.
    #[doc(alias = "cudaMallocManaged")]
    #[track_caller]
    pub fn with_attachment(len: usize, attachment: Attachment) -> Result<Self> {
        const API: &str = "ManagedBuffer::alloc";
        supported(API)?;
        let bytes = size::bytes_of::<T>(API, len)?;
        Self::of(API, Allocation::managed(None, bytes, attachment.to_raw())?, len)
    }

    /// Allocates as many elements as the slice has, and copies them on the host.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    #[track_caller]
    pub fn from_slice(elements: &[T]) -> Result<Self> {
        let mut buffer = Self::alloc(elements.len())?;
        buffer.host_mut()?.copy_from_slice(elements);
        Ok(buffer)
    }

    /// Takes over memory that was allocated with `cudaMallocManaged`.
    ///
    /// # Errors
    /// A refusal where the number of bytes overflows, `T` has no bytes, the address does not fit `T`, or a device of this
    /// process has no concurrent managed access.
    ///
    /// # Safety
    /// - `pointer` came from `cudaMallocManaged` with `device` current, or from [`into_raw`](Self::into_raw), and nobody else
    ///   frees it.
    /// - It has room for `len` elements of `T`, and nobody else reaches them.
    /// - Work that uses the memory is complete: [`into_raw`](Self::into_raw) waits for what it knows of.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, pointer: *mut T, len: usize) -> Result<Self> {
        supported("ManagedBuffer::from_raw")?;
        // SAFETY: the caller vouches for all of it.
        unsafe { Self::taken_over("ManagedBuffer::from_raw", device, pointer, len, Kind::Managed) }
    }

    /// Takes over managed memory of others, with what keeps it alive.
    ///
    /// # Safety
    /// The duties of [`DeviceBuffer::adopt`](super::DeviceBuffer), and the memory is managed, and no host reaches it otherwise.
    #[cfg(cudart_12_8)]
    #[track_caller]
    pub(crate) unsafe fn adopted<K: std::any::Any + Send>(
        api: &'static str,
        device: Device,
        pointer: *mut T,
        len: usize,
        keeper: K,
    ) -> Result<Self> {
        supported(api)?;
        let bytes = size::bytes_of::<T>(api, len)?;
        extent::extend(pointer.addr(), bytes);
        // SAFETY: the caller vouches for as many bytes as were just computed from the same length.
        let allocation = unsafe { Allocation::foreign(device, pointer.cast(), bytes, keeper) };
        Self::of(api, allocation, len)
    }
}

impl<T> ManagedBuffer<T> {
    /// Waits for the work that still uses the buffer and frees it: what a drop does, with the error.
    ///
    /// Stands for [`cudaFree`](sys::cudaFree).
    ///
    /// # Errors
    /// The failure of work that used the buffer, in which case it is leaked, or of the call.
    #[doc(alias = "cudaFree")]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        Allocation::free_owned(self.into_shared())
    }

    /// Waits for the work that still uses the buffer, and gives the memory up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFree` frees it.
    ///
    /// # Errors
    /// Each error comes with the buffer: `InGraph` while a graph holds the memory too; `Unsupported` for a
    /// variable of a library, which `cudaFree` does not free; the failure of the work that was waited for; a
    /// refusal inside a host function.
    #[track_caller]
    pub fn into_raw(self) -> core::result::Result<*mut T, (Error, Self)> {
        self.give_up("ManagedBuffer::into_raw")
    }
}

/// Refuses managed memory where the host must not touch it while a kernel of some device runs.
#[track_caller]
fn supported(api: &'static str) -> Result<()> {
    /// Whether all devices have concurrent managed access: asked once, as devices do not change.
    static SUPPORTED: OnceLock<bool> = OnceLock::new();
    let supported = match SUPPORTED.get() {
        Some(supported) => *supported,
        None => {
            let found = all_concurrent()?;
            *SUPPORTED.get_or_init(|| found)
        }
    };
    if supported {
        return Ok(());
    }
    let what = "managed memory that host and devices use at the same time (concurrent managed access)";
    Err(Error::refused(api, Detail::Unsupported { what }))
}

#[track_caller]
fn all_concurrent() -> Result<bool> {
    for ordinal in 0..Device::count()? {
        let device = Device::from_ordinal(ordinal);
        if device.attribute(sys::cudaDevAttrConcurrentManagedAccess)? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}
