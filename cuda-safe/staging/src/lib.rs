//! Fast blocking copies between pageable host memory and a CUDA device, over raw pointers.
//!
//! `cudaMemcpy` copies pageable memory through a buffer of the driver on one thread, and the speed of that
//! thread is the limit. This crate moves the bytes with several threads through a ring of page-locked chunks,
//! and the device copies those chunks at the speed of its link. `cuda-safe` uses it for its blocking copies
//! (feature `staged`). The crate stands on `cuda-sys` alone and tracks nothing: callers order the copies.
//!
//! A copy has two steps. [`prepare`] decides whether staging is faster, and takes page-locked memory if it
//! is. [`Prepared::run`] copies. Only the first step allocates page-locked memory, because allocating may
//! wait for the device. A caller takes its own locks between the two steps.
//!
//! | file | what it owns |
//! |---|---|
//! | `copy` | the interface: [`prepare`], [`Prepared`], [`statistics`] |
//! | `plan` | [`Settings`]; from sizes and processors to threads, chunks and pieces |
//! | `pool` | the worker pool, and its end when the process ends |
//! | `transfer` | one transfer, and what each thread does for it |
//! | `schedule` | the protocol between these threads: who moves a piece, who submits a chunk |
//! | `pinned` | page-locked memory: the staging rings, cached within a bound |
//! | `host` | how a processor moves bytes |
//! | `system` | what Linux and Windows do differently with pages |
//! | `runtime` | errors, the current device, the capture mode, and the hooks of the layer above |
//!
//! # Ordering
//! [`Prepared::run`] records an event on the stream that it is given, waits for it, copies on streams of its
//! own, and returns when the copy is complete. On the legacy stream that is the order of `cudaMemcpy`: the
//! copy begins after all earlier work of the legacy stream, and so of every blocking stream of the device.
//!
//! # Failures
//! The first error of any thread is the error of the copy, and nothing is in flight on either side when it is
//! returned. If the system starts too few threads, fewer threads copy. If it has no page-locked memory left,
//! [`prepare`] returns `None`, and the caller uses `cudaMemcpy`. After the loss of the device's context,
//! chunks that the device may still write to are leaked. `pool` describes the end of the process, and the
//! child of a `fork`.
//!
//! # Memory
//! Page-locked memory is allocated one ring at a time, at most [`Settings::pinned`] bytes for all copies
//! together, and cached for the next copy: page-locking costs more than copying. A ring is allocated only
//! after the program has copied enough to make up for it. Freeing page-locked memory makes the runtime wait
//! for all devices, including kernels that wait for the host. It therefore happens only in [`release`], and
//! in [`release_idle`], which the layer above calls where it frees memory itself.
//!
//! # The process
//! The crate starts worker threads, registers one function with `atexit`, reads the environment variables
//! `CUDA_SAFE_STAGED` and `CUDA_SAFE_STAGED_PINNED`, and keeps the capture mode of its own threads relaxed. A
//! thread that calls it has a relaxed capture mode only during the call.
//!
//! # Examples
//! ```
//! use cuda_staging::{Direction, Layout, Traffic, Wait, prepare};
//!
//! let host = vec![7_u8; 4 << 20];
//! let mut device = std::ptr::null_mut();
//! // SAFETY: the pointer is to a live variable, which the call fills.
//! assert_eq!(unsafe { cuda_sys::cudaMalloc(&raw mut device, host.len()) }, cuda_sys::cudaSuccess);
//! let layout = Layout::linear(host.len());
//! match prepare(0, Direction::HostToDevice, layout, None, Traffic::OneWay) {
//!     // SAFETY: both sides have as many bytes as the layout, and nothing else uses them.
//!     Some(prepared) => unsafe {
//!         prepared.run(std::ptr::null_mut(), Wait::Spin, host.as_ptr().cast_mut(), device.cast())?
//!     },
//!     None => println!("cudaMemcpy is as fast here"),
//! }
//! # Ok::<(), cuda_staging::Error>(())
//! ```
#![cfg_attr(loom, allow(dead_code, reason = "with loom the protocol is compiled without its callers"))]

#[cfg(not(loom))]
mod copy;
#[cfg(not(loom))]
mod host;
#[cfg(not(loom))]
mod pinned;
#[cfg(not(loom))]
mod plan;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod runtime;
mod schedule;
#[cfg(not(loom))]
mod system;
#[cfg(not(loom))]
mod transfer;

/// The synchronisation primitives of the protocol, which loom replaces.
mod primitives {
    #[cfg(loom)]
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize, fence};
    #[cfg(not(loom))]
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
}

#[cfg(not(loom))]
pub use self::{
    copy::{Prepared, Statistics, prepare, request_large_pages, statistics},
    pinned::{abandon, release, release_idle},
    plan::{Layout, Settings, Traffic, configure, is_never_staged, settings},
    runtime::{Error, Hooks, Result, install},
    transfer::Wait,
};

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the host to a device (H2D).
    HostToDevice,
    /// From a device to the host (D2H).
    DeviceToHost,
}
