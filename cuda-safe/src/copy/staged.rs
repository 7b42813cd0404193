//! Staged copies: large blocking copies between pageable memory and a device, faster than `cudaMemcpy`.
//!
//! [`memcpy`](crate::memcpy), [`DeviceBuffer::from_slice`](crate::DeviceBuffer::from_slice) and
//! [`DeviceBuffer::to_vec`](crate::DeviceBuffer::to_vec) stage a copy if that is faster. Nothing else
//! changes. The crate `cuda-staging` makes these copies with worker threads and a ring of page-locked
//! chunks. Without the cargo feature `staged`, which is on by default, that crate is not compiled, this
//! module is empty, and every copy is one `cudaMemcpy`.
//!
//! # Ordering
//! Like `cudaMemcpy`, a staged copy runs on the legacy stream. It begins after all work that was
//! submitted to the legacy stream, and so to every blocking stream of the device, before. It is complete
//! when the call returns. For the tracker it is an operation of the legacy stream. The tracker does not
//! know the streams of `cuda-staging`: they are idle before the wait for the legacy stream and after the
//! call.
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
#![cfg_attr(
    feature = "staged",
    expect(unsafe_code, reason = "hands pointers to the crate that stages copies")
)]

#[cfg(feature = "staged")]
pub use cuda_staging::{Settings, Statistics, configure, settings, statistics};

pub(crate) use self::backend::abandon;
pub(super) use self::backend::{Traffic, request_large_pages, try_copy};

/// Frees all page-locked memory that no copy uses.
///
/// Like every free, this waits for all work of the devices. Without it, memory that no copy has used for
/// a second is freed when the program next frees device or pinned memory.
///
/// # Errors
/// Returns the runtime's error. Refused inside a host function, where no memory can be freed. Memory
/// that the runtime refuses to free stays for the next call.
#[cfg(feature = "staged")]
#[doc(alias = "cudaFreeHost")]
#[track_caller]
pub fn release() -> crate::error::Result<()> {
    use crate::error::{AtCaller as _, Detail, Error};
    if crate::stream::in_callback() {
        return Err(Error::refused("staged::release", Detail::IN_CALLBACK));
    }
    backend::install();
    cuda_staging::release().map_err(backend::from_staging).at_caller()
}

/// The calls into `cuda-staging`.
#[cfg(feature = "staged")]
mod backend {
    use std::panic::Location;
    use std::sync::OnceLock;

    use cuda_hazard::Operation;
    use cuda_staging::{Direction, Layout, Prepared, Wait, is_never_staged};
    pub(in crate::copy) use cuda_staging::{Traffic, request_large_pages};

    use crate::copy::checked::{CheckedCopy, CopyDirection};
    use crate::copy::operand::Dimensions;
    use crate::device::Device;
    use crate::error::{Error, Result, is_sticky};
    use crate::hazard::Mode;
    use crate::memory::size;
    use crate::stream::StreamRef;
    use crate::{memory, process, stream};

    /// Installs the hooks that `cuda-staging` calls before it calls the runtime.
    pub(super) fn install() {
        // SAFETY: host functions and children of a fork may not call, and after a sticky error the context is
        // lost.
        unsafe { cuda_staging::install(cuda_staging::Hooks { may_call, is_sticky }) };
    }

    fn may_call() -> bool {
        static PROCESS: OnceLock<u32> = OnceLock::new();
        !stream::in_callback() && process::is(*PROCESS.get_or_init(process::number))
    }

    #[track_caller]
    pub(super) fn from_staging(error: cuda_staging::Error) -> Error {
        Error::from_code(error.api(), error.code())
    }

    /// Makes a copy between pageable memory and a device in the order of a stream of the device. It is
    /// complete on return. Returns `None`, without starting the copy, if it is not to be staged.
    #[track_caller]
    pub(in crate::copy) fn try_copy(
        stream: StreamRef<'_>,
        copy: &CheckedCopy<'_>,
        is_fresh: bool,
        traffic: Traffic,
    ) -> Option<Result<()>> {
        let prepared = prepare(copy, is_fresh, traffic)?;
        Some(run(prepared, stream, copy))
    }

    #[track_caller]
    fn run(prepared: Prepared, stream: StreamRef<'_>, copy: &CheckedCopy<'_>) -> Result<()> {
        let call_site = Location::caller();
        let (host, remote) = match prepared.direction() {
            Direction::HostToDevice => (copy.from.pointer, copy.to.pointer),
            Direction::DeviceToHost => (copy.to.pointer, copy.from.pointer),
        };
        // The steps of a pipeline usually wait for each other, and its copies need the processors.
        let wait = if stream.is_legacy() { Wait::Spin } else { Wait::Sleep };
        // One side is pageable.
        let access = copy.to.written().or(copy.from.access(Mode::Read));
        let operation = Operation::new(access.as_slice()).with_untracked(true);
        // SAFETY: the copy accesses no other tracked memory.
        let submission = unsafe { stream.begin(operation, call_site) }?;
        // Another thread may submit more during the copy, so what it waits for is read before it.
        let covered = submission.covers();
        // SAFETY: both operands are borrowed memory of at least as many bytes as the copy was prepared
        // with. The device side's accesses are entered, and the stream, which belongs to the device, has
        // received the waits that they need.
        let copied = unsafe { prepared.run(stream.as_raw(), wait, host, remote) };
        copied.map_err(|error| from_staging(error).at(call_site))?;
        // SAFETY: the copy began with an event on the stream, waited for it, and is complete.
        unsafe { submission.commit_blocking(covered) };
        Ok(())
    }

    /// Prepares a copy. Returns `None` if `cudaMemcpy` is to make it. `is_fresh`: the host's memory was
    /// just allocated. This may wait for the device, so it is called before the operation begins on its
    /// stream.
    fn prepare(copy: &CheckedCopy<'_>, is_fresh: bool, traffic: Traffic) -> Option<Prepared> {
        let (to, from) = (&copy.to, &copy.from);
        if is_never_staged(copy.bytes()) || to.array.is_some() || from.array.is_some() {
            return None;
        }
        let (device, direction, host, remote) = match (copy.direction, to.memory, from.memory) {
            (CopyDirection::HostToDevice(device), _, None) => {
                (device, Direction::HostToDevice, from.layout, to.layout)
            }
            (CopyDirection::DeviceToHost(device), None, _) => {
                (device, Direction::DeviceToHost, to.layout, from.layout)
            }
            _ => return None,
        };
        let size::RowLayout { row: row_bytes, rows, layers, .. } = to.layout;
        let is_one = layers == 1 || (host.layer_rows == rows && remote.layer_rows == rows);
        let layout = match to.dimensions {
            Dimensions::One => Layout::linear(row_bytes),
            // Layers that are contiguous on both sides count as further rows.
            _ if is_one => Layout {
                row_bytes,
                rows: rows.checked_mul(layers)?,
                host_pitch: host.pitch,
                device_pitch: remote.pitch,
            },
            _ => return None,
        };
        install();
        let fresh = is_fresh.then_some(to.pointer);
        let prepared = cuda_staging::prepare(device.as_raw(), direction, layout, fresh, traffic)?;
        memory::on_free(cuda_staging::release_idle);
        Some(prepared)
    }

    /// Forgets memory that a reset of a device has freed.
    pub(crate) fn abandon(device: Device) {
        cuda_staging::abandon(device.as_raw());
    }
}

/// The replacement without `cuda-staging`: no copy is staged.
#[cfg(not(feature = "staged"))]
mod backend {
    use std::mem::MaybeUninit;

    use crate::copy::checked::CheckedCopy;
    use crate::device::Device;
    use crate::error::Result;
    use crate::stream::StreamRef;

    #[derive(Clone, Copy, Debug)]
    pub(in crate::copy) enum Traffic {
        OneWay,
        BothWays,
    }

    pub(in crate::copy) fn try_copy(
        _: StreamRef<'_>,
        _: &CheckedCopy<'_>,
        _: bool,
        _: Traffic,
    ) -> Option<Result<()>> {
        None
    }

    pub(in crate::copy) fn request_large_pages<T>(_: &mut [MaybeUninit<T>]) {}

    pub(crate) fn abandon(_: Device) {}
}
