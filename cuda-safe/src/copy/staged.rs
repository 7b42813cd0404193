//! Staged copies: large blocking copies between pageable memory and a device, faster than `cudaMemcpy`.
//!
//! [`memcpy`](crate::memcpy), [`DeviceBuffer::from_slice`](crate::DeviceBuffer::from_slice) and
//! [`DeviceBuffer::to_vec`](crate::DeviceBuffer::to_vec) stage a copy where that is faster; nothing else
//! changes. The crate `cuda-staging` makes them, with worker threads and a ring of page-locked chunks.
//! Without the cargo feature `staged`, which is on by default, that crate is not compiled, this module is
//! empty, and every copy is one `cudaMemcpy`.
//!
//! # Ordering
//! As `cudaMemcpy`, a staged copy is on the legacy stream: it begins after all work that the legacy stream,
//! and so every blocking stream of the device, was given before, and it is complete when the call returns.
//! For the tracker it is an operation of the legacy stream. The tracker does not know the streams of
//! `cuda-staging`: they have nothing to do before the wait for the legacy stream, nor after the call.
//!
//! # Examples
//! ```
//! use cuda_safe::copy::staged::{self, Settings};
//!
//! // At most four threads, the calling one included, and 16 MiB of page-locked memory.
//! staged::configure(Settings { threads: Some(4), pinned: 16 << 20, ..Settings::default() });
//! // All copies by `cudaMemcpy` itself.
//! staged::configure(Settings { enabled: false, ..Settings::default() });
//! ```
#![cfg_attr(not(feature = "staged"), doc = "\n(This documentation was built without the feature `staged`.)")]
#![expect(unsafe_code, reason = "hands pointers to the crate that stages copies")]

#[cfg(feature = "staged")]
pub use cuda_staging::{Settings, Statistics, configure, settings, statistics};

pub(crate) use self::backend::*;

/// Frees all page-locked memory that no copy uses.
///
/// As everything that frees memory, this waits for all work of the devices. Without it, memory that no copy
/// has used for a second is freed when the program next frees memory of its own, device or pinned.
///
/// # Errors
/// Those of the runtime; a refusal inside a host function, where no memory can be freed. Memory that the
/// runtime refuses to free stays for the next call.
#[cfg(feature = "staged")]
#[doc(alias = "cudaFreeHost")]
#[track_caller]
pub fn release() -> crate::error::Result<()> {
    use crate::error::{Detail, Error};
    if crate::stream::in_callback() {
        return Err(Error::refused("staged::release", Detail::InCallback));
    }
    install();
    cuda_staging::release().map_err(from_staging)
}

/// The calls into `cuda-staging`.
#[cfg(feature = "staged")]
mod backend {
    use std::sync::OnceLock;

    pub(crate) use cuda_staging::{
        Direction, HostMemory, Layout as RowLayout, Prepared, Traffic, Wait, bounce_to_host, is_never_staged,
        request_large_pages,
    };

    use crate::device::Device;
    use crate::error::{Error, Result, is_sticky};
    use crate::{memory, process, stream, sys};

    /// Gives `cuda-staging` the hooks that it asks before it calls the runtime.
    pub(super) fn install() {
        cuda_staging::install(cuda_staging::Hooks { may_call, is_sticky });
    }

    fn may_call() -> bool {
        static PROCESS: OnceLock<u32> = OnceLock::new();
        !stream::in_callback() && process::is(*PROCESS.get_or_init(process::number))
    }

    #[track_caller]
    pub(super) fn from_staging(error: cuda_staging::Error) -> Error {
        Error::from_code(error.api(), error.code())
    }

    /// Prepares a copy; returns `None` if `cudaMemcpy` is to make it. `new` is the host's memory if that was
    /// allocated just now. It may wait for the device, so it is called before the operation begins on its
    /// stream.
    pub(crate) fn prepare(
        device: Device,
        direction: Direction,
        layout: RowLayout,
        new: Option<*mut u8>,
        traffic: Traffic,
    ) -> Option<Prepared> {
        install();
        let prepared = cuda_staging::prepare(device.ordinal(), direction, layout, new, traffic)?;
        memory::on_free(cuda_staging::release_idle);
        Some(prepared)
    }

    /// Makes a copy that was prepared.
    ///
    /// # Errors
    /// Those of [`Prepared::run`].
    ///
    /// # Safety
    /// Those of [`Prepared::run`].
    #[track_caller]
    pub(crate) unsafe fn run(
        prepared: Prepared,
        stream: sys::cudaStream_t,
        wait: Wait,
        (host, device): (*mut u8, *mut u8),
    ) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe { prepared.run(stream, wait, host, device) }.map_err(from_staging)
    }

    /// Counts a copy that [`bounce_to_host`] is about to make, and may allocate the bounce buffer for it.
    /// Allocating may wait, so this is called before the operation begins on its stream.
    #[inline]
    pub(crate) fn count_bounce(device: Device, bytes: usize, memory: HostMemory) {
        if cuda_staging::wants_bounce_buffer(bytes, memory) {
            allocate(device, bytes);
        }
    }

    #[cold]
    fn allocate(device: Device, bytes: usize) {
        install();
        cuda_staging::allocate_bounce_buffer(device.ordinal(), bytes);
        memory::on_free(cuda_staging::release_idle);
    }

    /// Forgets what a reset of a device has freed.
    pub(crate) fn abandon(device: Device) {
        cuda_staging::abandon(device.ordinal());
    }
}

/// The same without `cuda-staging`: no copy is staged.
#[cfg(not(feature = "staged"))]
mod backend {
    use std::convert::Infallible;
    use std::mem::MaybeUninit;

    use crate::device::Device;
    use crate::error::Result;
    use crate::sys;

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Direction {
        HostToDevice,
        DeviceToHost,
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum HostMemory {
        Existing,
        New,
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Traffic {
        OneWay,
        BothWays,
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Wait {
        Spin,
        Sleep,
    }

    #[derive(Clone, Copy, Debug)]
    #[expect(dead_code, reason = "nothing reads the rows of a copy that is not staged")]
    pub(crate) struct RowLayout {
        pub(crate) row_bytes: usize,
        pub(crate) rows: usize,
        pub(crate) host_pitch: usize,
        pub(crate) device_pitch: usize,
    }

    impl RowLayout {
        pub(crate) fn linear(bytes: usize) -> Self {
            Self { row_bytes: bytes, rows: 1, host_pitch: bytes, device_pitch: bytes }
        }
    }

    /// There is none.
    #[derive(Debug)]
    pub(crate) struct Prepared(Infallible);

    impl Prepared {
        pub(crate) fn direction(&self) -> Direction {
            match self.0 {}
        }
    }

    #[inline]
    pub(crate) fn is_never_staged(_: usize) -> bool {
        true
    }

    pub(crate) fn prepare(
        _: Device,
        _: Direction,
        _: RowLayout,
        _: Option<*mut u8>,
        _: Traffic,
    ) -> Option<Prepared> {
        None
    }

    /// # Safety
    /// None: it cannot be called.
    pub(crate) unsafe fn run(
        prepared: Prepared,
        _: sys::cudaStream_t,
        _: Wait,
        _: (*mut u8, *mut u8),
    ) -> Result<()> {
        match prepared.0 {}
    }

    #[inline]
    pub(crate) fn count_bounce(_: Device, _: usize, _: HostMemory) {}

    /// # Safety
    /// So many bytes of a device's memory may be read, and of the host's written, until this returns.
    #[inline]
    pub(crate) unsafe fn bounce_to_host(
        to: *mut u8,
        from: *const u8,
        bytes: usize,
        _: HostMemory,
    ) -> sys::cudaError_t {
        // SAFETY: as the caller says.
        unsafe { sys::cudaMemcpy(to.cast(), from.cast(), bytes, sys::cudaMemcpyDeviceToHost) }
    }

    pub(crate) fn request_large_pages<T>(_: &mut [MaybeUninit<T>]) {}

    pub(crate) fn abandon(_: Device) {}
}
