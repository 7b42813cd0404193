//! Memory and semaphores of other interfaces, such as Vulkan, in the same process or another one.
//!
//! The other side exports them as opaque file descriptors, on Windows as opaque handles. Importing is
//! `unsafe`: the tracker does not see what the other side does, and a descriptor says neither what it is nor
//! how large it is. A part of imported memory is a [`DeviceBuffer`] like any other. Semaphores order the work
//! of both sides: a stream signals one, or waits for one, and so does the other side.
//!
//! Nothing here blocks, except the drops: a buffer's and a semaphore's wait for the work that uses it.
//!
//! # Examples
//! ```no_run
//! use cuda_safe::memory::{ExternalMemory, ExternalMemoryFlags, ExternalSemaphore};
//! use cuda_safe::stream::AsStream;
//! use cuda_safe::{Device, Stream, memset_async};
//! # use std::os::fd::OwnedFd;
//! # fn export() -> (OwnedFd, OwnedFd) { unimplemented!() }
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let (device, stream, (memory, timeline)) = (Device::current()?, Stream::new()?, export());
//! // SAFETY: the descriptor is of a memory object of this device with 1 MiB.
//! let memory = unsafe { ExternalMemory::import(memory, 1 << 20, ExternalMemoryFlags::empty(), device) }?;
//! // SAFETY: the descriptor is of a timeline semaphore.
//! let timeline = unsafe { ExternalSemaphore::import_timeline(timeline, device) }?;
//! // SAFETY: the other side touches the memory only between the values 1 and 2 of the semaphore.
//! let mut image = unsafe { memory.open::<u8>(0, 1 << 20) }?;
//! memset_async(&mut image, 0, &stream)?;
//! stream.as_stream().signal_external_semaphores(&[(&timeline, 1)])?;
//! stream.as_stream().wait_external_semaphores(&[(&timeline, 2)])?;
//! memset_async(&mut image, 1, &stream)?;
//! # Ok(())
//! # }
//! ```
#![expect(unsafe_code, reason = "imports what other interfaces have exported")]

use std::panic::Location;
use std::sync::Arc;

use bitflags::bitflags;
use bytemuck::AnyBitPattern;
use cuda_hazard::Operation;

use super::allocation::Allocation;
use super::device::DeviceBuffer;
use super::handle::{GiveUp, ImportedHandle};
use super::retain::retained;
use super::size;
use crate::device::Device;
use crate::error::{Detail, Result, ensure, ensure_callable};
use crate::hazard::Access;
use crate::stream::StreamRef;
use crate::stream::relax;
use crate::system::{self, OwnedShared};
use crate::{check, sys};

bitflags! {
    /// Properties of the memory object that the other interface has exported.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ExternalMemoryFlags: u32 {
        /// A dedicated object: memory that was allocated for one image or buffer.
        #[doc(alias = "cudaExternalMemoryDedicated")]
        const DEDICATED = sys::cudaExternalMemoryDedicated;
    }
}

/// Memory that another interface has exported, imported by its opaque file descriptor.
///
/// It is given up when neither this value nor a buffer of it is left.
#[derive(Clone, Debug)]
#[doc(alias = "cudaExternalMemory_t")]
pub struct ExternalMemory(Arc<ImportedMemory>);

#[derive(Debug)]
struct ImportedMemory {
    handle: ImportedHandle<sys::CUexternalMemory_st>,
    bytes: u64,
}

impl ExternalMemory {
    /// Imports memory of `bytes` bytes for work on `device`. The runtime takes over the descriptor; after an
    /// error it is closed.
    ///
    /// Stands for [`cudaImportExternalMemory`](sys::cudaImportExternalMemory) with
    /// `cudaExternalMemoryHandleTypeOpaqueFd`.
    ///
    /// # Errors
    /// Returns the runtime's error: then the descriptor is not closed here, because driver 580 closes that of
    /// a semaphore even then. Refused inside a host function.
    ///
    /// # Safety
    /// The other interface has exported the descriptor, as an opaque one, for a memory object of this device
    /// with exactly `bytes` bytes and the properties in `flags`.
    #[doc(alias = "cudaImportExternalMemory")]
    #[doc(alias = "cudaDestroyExternalMemory")]
    #[track_caller]
    pub unsafe fn import(
        descriptor: OwnedShared,
        bytes: u64,
        flags: ExternalMemoryFlags,
        device: Device,
    ) -> Result<Self> {
        ensure_callable("ExternalMemory::import")?;
        let _current = device.switch()?;
        relax()?;
        let description = sys::cudaExternalMemoryHandleDesc {
            type_: system::SHARED_MEMORY,
            handle: system::shared_memory(&descriptor),
            size: bytes,
            flags: flags.bits(),
            ..Default::default()
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: both pointers are to live variables. The caller guarantees the descriptor, which is open.
        let result = unsafe { check!(cudaImportExternalMemory(&raw mut raw, &raw const description)) };
        // After an error, too: driver 580 closes that of a semaphore even then, and its number may be another
        // file's already.
        system::imported(descriptor);
        result?;
        let give_up: GiveUp<_> = ("cudaDestroyExternalMemory", sys::cudaDestroyExternalMemory);
        // SAFETY: the runtime has made the handle. Only this gives it up, after all buffers.
        let handle = unsafe { ImportedHandle::new(raw, device, give_up) };
        Ok(Self(Arc::new(ImportedMemory { handle, bytes })))
    }

    /// Maps `len` elements from byte `offset` on, for work of this process.
    ///
    /// Stands for [`cudaExternalMemoryGetMappedBuffer`](sys::cudaExternalMemoryGetMappedBuffer). Dropping the
    /// buffer waits for the work that uses it. If `len` is 0, nothing is mapped.
    ///
    /// # Errors
    /// - `Argument`, in bytes, if the memory ends before.
    /// - A refusal if the number of bytes overflows, if `T` is zero-sized, or if the address is not aligned
    ///   for `T`.
    /// - The runtime's error. Refused inside a host function.
    ///
    /// # Safety
    /// - The bytes are a buffer of the other interface, not an image, whose layout is unknown.
    /// - Conflicting work of the other side and of this buffer does not overlap: a semaphore or a message
    ///   orders it, and also orders the drop of the buffer.
    /// - Other buffers of the same bytes are not in use at the same time.
    #[doc(alias = "cudaExternalMemoryGetMappedBuffer")]
    #[track_caller]
    pub unsafe fn open<T: AnyBitPattern>(&self, offset: u64, len: usize) -> Result<DeviceBuffer<T>> {
        let (api, device) = ("ExternalMemory::open", self.0.handle.device);
        let bytes = size::bytes_of::<T>(api, len)?;
        ensure_callable(api)?;
        let (start, size) =
            (usize::try_from(offset).unwrap_or(usize::MAX), u64::try_from(bytes).unwrap_or(u64::MAX));
        let fits = offset.checked_add(size).is_some_and(|end| end <= self.0.bytes);
        ensure(fits, api, || {
            let len = usize::try_from(self.0.bytes).unwrap_or(usize::MAX);
            Detail::out_of_range(start, start.saturating_add(bytes), len)
        })?;
        if bytes == 0 {
            return DeviceBuffer::from_shared(api, Allocation::device(device, 0)?, 0);
        }
        let _current = device.switch()?;
        relax()?;
        let part = sys::cudaExternalMemoryBufferDesc { offset, size, ..Default::default() };
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the memory is live, and both pointers are to live variables.
        unsafe {
            check!(cudaExternalMemoryGetMappedBuffer(&raw mut pointer, self.as_raw(), &raw const part))
        }?;
        // SAFETY: the pointer is to a mapped buffer, which only this frees. `Allocation` drops it when no
        // work uses it.
        let mapped = unsafe { ImportedHandle::new(pointer, device, ("cudaFree", sys::cudaFree)) };
        let keeper = (mapped, Arc::clone(&self.0));
        // SAFETY: the bytes stay mapped until the keeper is dropped. The caller guarantees that their other
        // users are ordered with this work.
        let allocation = unsafe { Allocation::foreign(device, pointer.cast(), bytes, keeper) };
        DeviceBuffer::from_allocation(api, allocation, len)
    }

    /// Returns the raw handle. This value retains ownership of it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaExternalMemory_t {
        self.0.handle.raw
    }
}

/// A semaphore that another interface has exported, imported by its opaque file descriptor.
///
/// Dropping it waits for the streams that signal it or wait for it.
#[derive(Debug)]
#[doc(alias = "cudaExternalSemaphore_t")]
pub struct ExternalSemaphore {
    /// The pointer is the handle, which nothing reads through. Work that uses the semaphore reads the one
    /// byte.
    handle: Arc<Allocation>,
}

impl ExternalSemaphore {
    /// Imports a semaphore that is signalled or not, for work on `device`. The runtime takes over the
    /// descriptor; after an error it is closed.
    ///
    /// Each wait takes one signal away. The values in calls are ignored. Stands for
    /// [`cudaImportExternalSemaphore`](sys::cudaImportExternalSemaphore) with
    /// `cudaExternalSemaphoreHandleTypeOpaqueFd`.
    ///
    /// # Errors
    /// Returns the runtime's error: then the descriptor is not closed here, because driver 580 closes it even
    /// then. Refused inside a host function.
    ///
    /// # Safety
    /// - The other interface has exported the descriptor, as an opaque one, for such a semaphore.
    /// - As long as it is imported, both sides together wait once for each signal, after the signal was
    ///   submitted.
    #[doc(alias = "cudaImportExternalSemaphore")]
    #[doc(alias = "cudaDestroyExternalSemaphore")]
    #[track_caller]
    pub unsafe fn import(descriptor: OwnedShared, device: Device) -> Result<Self> {
        let kind = system::SHARED_SEMAPHORE;
        // SAFETY: the caller guarantees the descriptor.
        unsafe { Self::import_as("ExternalSemaphore::import", descriptor, kind, device) }
    }

    /// Imports a semaphore with a value, for work on `device`: a signal sets the value, and a wait ends
    /// when it is reached. The runtime takes over the descriptor; after an error it is closed.
    ///
    /// Stands for [`cudaImportExternalSemaphore`](sys::cudaImportExternalSemaphore) with
    /// `cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd`.
    ///
    /// # Errors
    /// Returns the runtime's error: then the descriptor is not closed here, because driver 580 closes it even
    /// then. Refused inside a host function.
    ///
    /// # Safety
    /// - The other interface has exported the descriptor, as an opaque one, for a timeline semaphore.
    /// - As long as it is imported, both sides together signal only growing values.
    #[doc(alias = "cudaImportExternalSemaphore")]
    #[doc(alias = "cudaDestroyExternalSemaphore")]
    #[track_caller]
    pub unsafe fn import_timeline(descriptor: OwnedShared, device: Device) -> Result<Self> {
        let kind = system::SHARED_TIMELINE;
        // SAFETY: the caller guarantees the descriptor.
        unsafe { Self::import_as("ExternalSemaphore::import_timeline", descriptor, kind, device) }
    }

    /// # Safety
    /// The descriptor is that of a semaphore of this kind.
    #[track_caller]
    unsafe fn import_as(
        api: &'static str,
        descriptor: OwnedShared,
        kind: sys::cudaExternalSemaphoreHandleType,
        device: Device,
    ) -> Result<Self> {
        ensure_callable(api)?;
        let _current = device.switch()?;
        relax()?;
        let description = sys::cudaExternalSemaphoreHandleDesc {
            type_: kind,
            handle: system::shared_semaphore(&descriptor),
            ..Default::default()
        };
        let mut raw: sys::cudaExternalSemaphore_t = std::ptr::null_mut();
        // SAFETY: both pointers are to live variables. The caller guarantees the descriptor, which is open.
        let result = unsafe { check!(cudaImportExternalSemaphore(&raw mut raw, &raw const description)) };
        // After an error, too: driver 580 closes it even then, and its number may be another file's already.
        system::imported(descriptor);
        result?;
        let give_up: GiveUp<_> = ("cudaDestroyExternalSemaphore", sys::cudaDestroyExternalSemaphore);
        // SAFETY: the runtime has made the handle. `Allocation` drops it when no work uses it.
        let keeper = unsafe { ImportedHandle::new(raw, device, give_up) };
        // SAFETY: nothing reads or writes through the pointer, which is the handle, and only accesses of the
        // semaphore are entered for its byte.
        let handle = unsafe { Allocation::foreign(device, raw.cast(), 1, keeper) };
        Ok(Self { handle: retained(handle) })
    }

    /// Returns the raw handle. This value retains ownership of it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaExternalSemaphore_t {
        self.handle.pointer().cast()
    }

    /// Returns the access of work that uses the semaphore. It is a read, because signals and waits must not
    /// wait for each other by the tracker.
    pub(crate) fn alive(&self) -> Access<'_> {
        Access::read(self.handle.history(), 0..1)
    }
}

/// Semaphores with the values of a call.
pub(crate) type Valued<'a> = [(&'a ExternalSemaphore, u64)];

/// Returns the handles, after a check that all are of this device.
#[track_caller]
pub(crate) fn handles(
    api: &'static str,
    device: Device,
    semaphores: &Valued<'_>,
) -> Result<Vec<sys::cudaExternalSemaphore_t>> {
    for (semaphore, _) in semaphores {
        semaphore.handle.on().ensure_is(device, api, "a semaphore")?;
    }
    Ok(semaphores.iter().map(|(semaphore, _)| semaphore.as_raw()).collect())
}

/// Returns C's parameters of signals.
pub(crate) fn signals(semaphores: &Valued<'_>) -> Vec<sys::cudaExternalSemaphoreSignalParams> {
    let one = |(_, value): &(_, u64)| {
        let mut signal = sys::cudaExternalSemaphoreSignalParams::default();
        signal.params.fence.value = *value;
        signal
    };
    semaphores.iter().map(one).collect()
}

/// Returns C's parameters of waits.
pub(crate) fn waits(semaphores: &Valued<'_>) -> Vec<sys::cudaExternalSemaphoreWaitParams> {
    let one = |(_, value): &(_, u64)| {
        let mut wait = sys::cudaExternalSemaphoreWaitParams::default();
        wait.params.fence.value = *value;
        wait
    };
    semaphores.iter().map(one).collect()
}

impl StreamRef<'_> {
    /// Signals semaphores, each with its value, after everything submitted to the stream before. Does not
    /// block. An empty list is a no-op.
    ///
    /// Stands for [`cudaSignalExternalSemaphoresAsync`](sys::cudaSignalExternalSemaphoresAsync).
    ///
    /// # Errors
    /// - `Device` for a semaphore of another device than the stream's.
    /// - The runtime's error. Refused inside a host function and in a capture;
    ///   [`node::semaphore_signal`](crate::graph::node::semaphore_signal) adds a node.
    #[doc(alias = "cudaSignalExternalSemaphoresAsync")]
    #[track_caller]
    pub fn signal_external_semaphores(&self, semaphores: &[(&ExternalSemaphore, u64)]) -> Result<()> {
        let signals = signals(semaphores);
        self.semaphores("StreamRef::signal_external_semaphores", semaphores, |list, count, stream| {
            // SAFETY: there are `count` live semaphores and as many parameters, which the call copies. The
            // stream is live.
            unsafe { check!(cudaSignalExternalSemaphoresAsync(list, signals.as_ptr(), count, stream)) }
        })
    }

    /// Makes all later work of the stream wait until semaphores are signalled, each with its value. Does not
    /// block. An empty list is a no-op.
    ///
    /// Stands for [`cudaWaitExternalSemaphoresAsync`](sys::cudaWaitExternalSemaphoresAsync). If nobody
    /// signals a semaphore, the stream waits for ever, and with it whoever waits for the stream.
    ///
    /// # Errors
    /// Those of [`signal_external_semaphores`](Self::signal_external_semaphores).
    #[doc(alias = "cudaWaitExternalSemaphoresAsync")]
    #[track_caller]
    pub fn wait_external_semaphores(&self, semaphores: &[(&ExternalSemaphore, u64)]) -> Result<()> {
        let waits = waits(semaphores);
        self.semaphores("StreamRef::wait_external_semaphores", semaphores, |list, count, stream| {
            // SAFETY: as in `signal_external_semaphores`.
            unsafe { check!(cudaWaitExternalSemaphoresAsync(list, waits.as_ptr(), count, stream)) }
        })
    }

    #[track_caller]
    fn semaphores(
        self,
        api: &'static str,
        semaphores: &Valued<'_>,
        call: impl FnOnce(*const sys::cudaExternalSemaphore_t, u32, sys::cudaStream_t) -> Result<()>,
    ) -> Result<()> {
        if semaphores.is_empty() {
            return Ok(());
        }
        self.ensure_not_captured(api)?;
        let (list, call_site) = (handles(api, self.device(), semaphores)?, Location::caller());
        let count = u32::try_from(list.len()).unwrap_or(u32::MAX);
        let accesses: Vec<Access<'_>> = semaphores.iter().map(|(semaphore, _)| semaphore.alive()).collect();
        let call = |stream| call(list.as_ptr(), count, stream);
        // SAFETY: the call uses the semaphores, which live until it is complete, and no memory. It is a mark,
        // because nothing says that it is work of the device.
        unsafe { self.submit(Operation::mark(&accesses), call_site, call) }
    }
}
