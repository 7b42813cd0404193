//! Managed memory: one address for the host and all devices, and pages that migrate to where they are used.
//!
//! A [`ManagedBuffer`] is an owner like the others. Kernels take it and its views as arguments, and copies
//! take it on either side. The host reaches it through guards ([`host`](ManagedBuffer::host),
//! [`host_mut`](ManagedBuffer::host_mut)), which wait for pending work. Only managed memory has hints about
//! the location of its pages: [advice](Advice) and prefetches
//! ([`prefetch_async`](crate::memory::Slice::prefetch_async), [`PrefetchBatch`]). [`RangeAttributes`] reports
//! what is known about its pages. Hints change where pages are, never their contents. Only a discard gives up
//! the contents.
//!
//! # Why safe code has no data race with the host
//! A live `&[T]` into memory that a kernel writes is undefined behaviour, and the hardware does not prevent
//! it for managed memory. As for pinned memory, the guards prevent it. They borrow from the owner, so
//! nobody can submit new work on the bytes, and they wait for the work that was submitted before.
//!
//! The guards suffice only on devices where the host may access managed memory while *other* kernels run.
//! On a device without concurrent managed access, the host faults then, whatever memory these kernels use.
//! No borrow of one buffer can prevent that. Therefore there is no managed memory if any device of the
//! process lacks concurrent managed access.
//!
//! Allocating, freeing and advice are not stream-ordered. Freeing and the guards block. Prefetches and
//! discards are stream-ordered. Owners and views may be used from any thread.
#![expect(unsafe_code, reason = "takes over raw managed pointers")]

mod advice;
#[cfg(cudart_13_0)]
mod batch;
pub(crate) mod extent;

use std::panic::Location;
use std::sync::OnceLock;

use bytemuck::AnyBitPattern;
use cuda_hazard::Operation;

use super::allocation::{Allocation, Allocator};
use super::buffer::Buffer;
use super::memory_type::Managed;
use super::size;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Detail, Error, ErrorKind, ErrorWith, Result};
use crate::hazard::Mode;
use crate::stream::AsStream;
use crate::{check, sys};

pub use advice::{Advice, RangeAttributes};
#[cfg(cudart_13_0)]
pub use batch::PrefetchBatch;

/// The streams that managed memory is attached to.
///
/// This is a hint that forbids nothing: the crate has managed memory only if all devices have concurrent
/// managed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Attachment {
    /// All streams of all devices.
    #[doc(alias = "cudaMemAttachGlobal")]
    Global = sys::cudaMemAttachGlobal,
    /// No stream: the host uses it.
    #[doc(alias = "cudaMemAttachHost")]
    Host = sys::cudaMemAttachHost,
    /// One stream.
    #[doc(alias = "cudaMemAttachSingle")]
    Single = sys::cudaMemAttachSingle,
}

/// An array of `T` in managed memory, freed when it is dropped.
///
/// Kernels of all devices and the host reach it at the same address. A kernel may be using it at any time.
/// Therefore the host reaches the elements only through guards, as those of pinned memory.
///
/// # Ordering
/// The tracker records the accesses to the buffer. Dropping the buffer waits for the work that still uses
/// it.
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
/// numbers.as_slice().prefetch_async(MemoryLocation::Device(Device::current()?), &stream)?;
/// memset_async(&mut numbers.slice_mut(1..)?, 9, &stream)?;
/// assert_eq!(*numbers.host()?, [1, 9, 9]); // waits
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMallocManaged")]
pub type ManagedBuffer<T> = Buffer<T, Managed>;

impl<T> ManagedBuffer<T> {
    /// Allocates `len` elements, for use from any stream. As in C, their contents are unspecified.
    ///
    /// Stands for [`cudaMallocManaged`](sys::cudaMallocManaged). If `len` is 0, nothing is allocated.
    ///
    /// # Errors
    /// - `Unsupported` if a device of this process has no concurrent managed access.
    /// - `cudaErrorMemoryAllocation` with the number of bytes, if there is not enough memory.
    /// - A refusal if the number of bytes overflows, or if `T` is zero-sized.
    #[doc(alias = "cudaMallocManaged")]
    #[track_caller]
    pub fn alloc(len: usize) -> Result<Self>
    where
        T: Element,
    {
        Self::with_attachment(len, Attachment::Global)
    }

    /// Allocates `len` elements that are attached to all streams, or at first to the host.
    ///
    /// Stands for [`cudaMallocManaged`](sys::cudaMallocManaged).
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc), and `cudaErrorInvalidValue` for [`Attachment::Single`].
    /// [`attach_async`](Self::attach_async) attaches memory to a single stream later.
    #[doc(alias = "cudaMallocManaged")]
    #[track_caller]
    pub fn with_attachment(len: usize, attachment: Attachment) -> Result<Self>
    where
        T: Element,
    {
        const API: &str = "ManagedBuffer::alloc";
        supported(API)?;
        let bytes = size::bytes_of::<T>(API, len)?;
        Self::from_allocation(API, Allocation::managed(bytes, attachment as u32)?, len)
    }
}

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Attaches the buffer in stream order: to the stream, to the host, or to all streams.
    ///
    /// Stands for [`cudaStreamAttachMemAsync`](sys::cudaStreamAttachMemAsync). If the length is 0, does
    /// nothing.
    ///
    /// # Ordering
    /// Stream-ordered, and after all earlier work of other streams on the buffer.
    ///
    /// # Errors
    /// Returns the runtime's error.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Stream;
    /// use cuda_safe::memory::ManagedBuffer;
    /// use cuda_safe::memory::managed::Attachment;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::non_blocking()?;
    /// let mut buffer = ManagedBuffer::from_slice(&[1.0, 2.0])?;
    /// buffer.attach_async(Attachment::Single, &stream)?; // only this stream's kernels use it now
    /// # buffer.attach_async(Attachment::Global, &stream)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamAttachMemAsync")]
    #[track_caller]
    pub fn attach_async(&mut self, attachment: Attachment, stream: &impl AsStream) -> Result<()> {
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(());
        }
        let call_site = Location::caller();
        let access = [span.access(Mode::Write)];
        let pointer = span.pointer().cast();
        let call = |raw| {
            // SAFETY: the pointer is to a live managed allocation, and the length 0 stands for all of it.
            // The stream is live.
            unsafe { check!(cudaStreamAttachMemAsync(raw, pointer, 0, attachment as u32)) }
        };
        // SAFETY: the operation is put on this stream. It uses the buffer and nothing else.
        unsafe { stream.as_stream().submit(Operation::mark(&access), call_site, call) }
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
    /// Refused if the number of bytes overflows, if `T` is zero-sized, if the address is not aligned for
    /// `T`, or if a device of this process has no concurrent managed access.
    ///
    /// # Safety
    /// - `pointer` came from `cudaMallocManaged` with `device` current, or from
    ///   [`into_raw`](Self::into_raw), and nobody else frees it.
    /// - The memory has room for `len` elements of `T`, and nobody else reaches them.
    /// - Work that uses the memory is complete. [`into_raw`](Self::into_raw) waits for the work that the
    ///   tracker knows.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, pointer: *mut T, len: usize) -> Result<Self> {
        supported("ManagedBuffer::from_raw")?;
        // SAFETY: the caller guarantees all of it.
        unsafe { Self::taken_over("ManagedBuffer::from_raw", device, pointer, len, Allocator::Managed) }
    }

    /// Takes over managed memory of others, with the value that keeps it alive.
    ///
    /// # Safety
    /// - The duties of [`DeviceBuffer::adopt`](super::DeviceBuffer) hold.
    /// - The memory is managed, and the host does not reach it otherwise.
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
        // SAFETY: the caller guarantees it for `len` elements, and `bytes` is their size.
        let allocation = unsafe { Allocation::foreign(device, pointer.cast(), bytes, keeper) }.everywhere();
        Self::from_allocation(api, allocation, len)
    }
}

impl<T> ManagedBuffer<T> {
    /// Waits for the work that still uses the buffer, and gives the memory up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFree` frees it.
    ///
    /// # Errors
    /// Each error comes with the buffer:
    /// - `InUse` while a graph also holds the memory.
    /// - `Unsupported` for a variable of a library, which `cudaFree` does not free.
    /// - The failure of the work that it waited for.
    /// - A refusal inside a host function.
    #[track_caller]
    pub fn into_raw(self) -> core::result::Result<*mut T, ErrorWith<Self>> {
        self.give_up("ManagedBuffer::into_raw")
    }
}

/// Refuses managed memory if the host must not access it while a kernel of some device runs.
#[track_caller]
fn supported(api: &'static str) -> Result<()> {
    /// The first device without concurrent managed access. Queried once, because devices do not change.
    static LACKING: OnceLock<Option<usize>> = OnceLock::new();
    let lacking = match LACKING.get() {
        Some(lacking) => *lacking,
        None => {
            let mut found = None;
            for device in Device::all()?.rev() {
                if device.attribute(sys::cudaDevAttrConcurrentManagedAccess)? == 0 {
                    found = Some(device.ordinal());
                }
            }
            *LACKING.get_or_init(|| found)
        }
    };
    match lacking {
        None => Ok(()),
        Some(device) => {
            let text = format!(
                "device {device} has no concurrent managed access: the host must not touch managed memory \
                 while any kernel of it runs, so there is none in this process; use a PinnedBuffer, which kernels \
                 reach, too, or a DeviceBuffer and copies, or hide the device with CUDA_VISIBLE_DEVICES"
            );
            Err(Error::refused(api, Detail::new(ErrorKind::Unsupported, text)))
        }
    }
}
