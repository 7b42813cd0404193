//! The staged engine: large blocking copies between pageable memory and a device, faster than `cudaMemcpy`.
//!
//! The runtime copies pageable memory through a buffer of its own, on one thread, and the speed of that thread is the limit. Here several threads
//! move bytes between the program's memory and pinned chunks, each with a stream of its own, and the device copies from and to those at the
//! speed of its link. [`memcpy`](crate::memcpy), [`DeviceBuffer::from_slice`](crate::DeviceBuffer::from_slice) and
//! [`DeviceBuffer::to_vec`](crate::DeviceBuffer::to_vec) do this by themselves from the size on at which it is faster; nothing else changes.
//!
//! | module | what it owns |
//! |---|---|
//! | `settings` | what the program wants: on or off, from which size, threads, pinned memory |
//! | `plan` | whether and how a transfer is staged, from sizes and processors |
//! | `cut` | which bytes make a piece |
//! | `pace` | how many threads are needed, measured once |
//! | `store` | how the host's processor moves bytes, and gets fresh pages |
//! | `kit` | pinned chunks, streams and events, kept for the next transfer, within a bound |
//! | `job` | one transfer, and each thread's part in it |
//! | `crew` | the threads, and how they end |
//!
//! # Ordering
//! As `cudaMemcpy`, a staged copy is on the legacy stream: it begins when all is done that the legacy stream, and so every blocking stream of the
//! device, was given before, whoever gave it, and it is complete when the call returns. For the tracker it is an operation of the legacy
//! stream like any other. The streams of the engine itself are on no books: they have nothing to do before the wait for the
//! legacy stream and after the call.
//!
//! # What can go wrong
//! The first error of any thread is the call's, once, and nothing is left in flight, on either side. Where pinned memory or threads cannot be had, there
//! are fewer, and at worst the copy is made by `cudaMemcpy`. After the loss of the device's context chunks that it may still be
//! writing to are leaked. `crew` says what happens at the end of the process and in the child of a `fork`.
//!
//! # Memory
//! Chunks are pinned, at most [`Settings::pinned`] bytes for all devices and threads together, and kept for the next copy: pinning costs
//! more than copying. A program that copies little never pays for it, as the engine takes only a part of what the program has copied
//! so far. Giving pinned memory back makes the runtime wait for all devices, kernels that wait for the host included, so it happens
//! only where the program frees memory itself, once no copy has used the chunks for a second, or by [`release`].
//!
//! C functions: `cudaHostAlloc`, `cudaFreeHost`, `cudaStreamCreateWithFlags`, `cudaEventCreateWithFlags`, `cudaEventRecord`, `cudaEventSynchronize`,
//! `cudaMemcpyAsync`, `cudaMemcpy2DAsync`, `cudaStreamSynchronize`, `cudaDeviceSynchronize`.
#![expect(
    unsafe_code,
    reason = "waits for the legacy stream by its raw handle, and declares the unsafe way in"
)]

mod crew;
mod cut;
mod job;
mod kit;
mod pace;
mod plan;
mod settings;
mod store;
mod test;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use self::job::Job;
use self::kit::Kit;
use self::pace::Stopwatch;
use self::plan::{Need, Plan};
use crate::device::Device;
use crate::error::Result;
use crate::{check, memory, stream, sys};

pub(crate) use self::cut::Layout;
pub(crate) use self::kit::abandon;
pub use self::kit::release;
pub(crate) use self::plan::Way;
pub(crate) use self::settings::never;
pub use self::settings::{Settings, configure, settings};

/// Asks for large pages for room that is going to be filled by a copy: it is then there sooner. Nothing is asked for where the engine is
/// switched off, or for little.
pub(super) fn wish_for_large_pages<T>(room: &mut [MaybeUninit<T>]) {
    let bytes = size_of_val(room);
    if bytes >= LARGE && settings().enabled {
        store::wish_for_large_pages(room.as_mut_ptr().cast(), bytes);
    }
}

/// Room of fewer bytes is seldom fresh, though it was allocated just now.
const FRESH: usize = 32 << 20;

/// Room of fewer bytes has pages of the usual size.
const LARGE: usize = 8 << 20;

/// What the engine has done and holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Copies that were staged.
    pub copies: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Bytes of pinned memory that the engine holds.
    pub pinned: usize,
    /// The most that it ever held.
    pub most_pinned: usize,
    /// Threads that wait for work or are at it.
    pub helpers: usize,
}

/// What the engine has done so far, and what it holds now.
#[must_use]
pub fn statistics() -> Statistics {
    let (pinned, most_pinned) = kit::pinned();
    Statistics {
        copies: COPIES.load(Ordering::Relaxed),
        bytes: BYTES.load(Ordering::Relaxed),
        pinned,
        most_pinned,
        helpers: crew::helpers(),
    }
}

static COPIES: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Bytes that were copied by transfers large enough to be staged, by whatever way.
static TRAFFIC: AtomicU64 = AtomicU64::new(0);

/// Pinning a byte costs as much as the engine saves on so many: it holds no more than this part of the traffic.
const WORTH: u64 = 8;

/// No copy below this is ever staged by the engine's own choice: it is not even looked at.
const NEVER: usize = 256 << 10;

/// A copy that is going to be staged: everything that could be lacking is there.
#[derive(Debug)]
pub(crate) struct Staged {
    device: Device,
    way: Way,
    layout: Layout,
    plan: Plan,
    pinned: usize,
    /// `None` only while being dropped.
    kit: Option<Kit>,
}

impl Staged {
    /// Prepares a transfer between pageable memory and a device; none where it is not to be staged. `fresh` says that the host's
    /// memory has not been touched yet.
    pub(crate) fn prepare(device: Device, way: Way, layout: Layout, fresh: bool) -> Option<Self> {
        let bytes = layout.bytes();
        let settings = settings();
        if bytes == 0 || never(bytes) || stream::in_callback() || !crew::in_own_process() {
            return None;
        }
        // Allocators give smaller rooms from memory that has been used before.
        let fresh = fresh && bytes >= FRESH;
        let pinned = settings.pinned.min(earned(&settings, bytes));
        let (processors, measured) = (crew::processors(), pace::measured(way, fresh));
        let need = Need { way, bytes, fresh, processors, measured, pinned };
        let plan = Plan::of(&need, &settings)?;
        let _current = device.switch().ok()?;
        // Without memory or a stream of its own the copy is one for the runtime.
        let kit = Kit::take(device, plan.sizes.most, settings.pinned, true).ok()??;
        memory::on_free(kit::release_idle);
        Some(Self { device, way, layout, plan, pinned, kit: Some(kit) })
    }

    /// Which way the bytes go.
    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Waits for a stream, the legacy one as a rule, and makes the copy.
    ///
    /// # Errors
    /// The first failure of any thread, or of work that was given to the device before.
    ///
    /// # Safety
    /// - Both sides are memory as large as the layout that this was prepared with, the device's of its device.
    /// - Until this returns, nobody but work that the legacy stream waits for writes to the one that is read, or reaches
    ///   the one that is written.
    /// - The device is current, and `legacy` its legacy stream.
    pub(crate) unsafe fn run(
        mut self,
        stream: sys::cudaStream_t,
        host: *mut u8,
        remote: *mut u8,
    ) -> Result<()> {
        let Some(kit) = self.kit.take() else { return Ok(()) };
        if let Err(error) = wait_for(stream, &kit) {
            // Nothing was given to its stream.
            kit.give_back();
            return Err(error);
        }
        let Self { device, way, layout, plan, pinned, .. } = self;
        let wanted = pace::wants(way, plan.provide, layout.bytes(), plan.sizes.parties);
        let watch = wanted.then(Stopwatch::default);
        // SAFETY: the caller vouches for both sides until `run` is over, which is when the last thread has left.
        let job = unsafe { Job::new(device, way, host, remote, layout, plan, pinned, watch) };
        crew::run(job, kit)?;
        COPIES.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.bytes() as u64, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Staged {
    /// The copy was refused before it began.
    fn drop(&mut self) {
        if let Some(kit) = self.kit.take() {
            kit.give_back();
        }
    }
}

/// Blocks until everything is done that comes before an operation of a stream.
///
/// By an event: recording one is an operation, which on the legacy stream waits for the blocking ones; whether a synchronisation is one is
/// not said.
fn wait_for(stream: sys::cudaStream_t, kit: &Kit) -> Result<()> {
    // SAFETY: the event is the kit's own, of the device that is current, and the stream one of that device's.
    unsafe { check!(cudaEventRecord(kit.event(0), stream)) }?;
    // SAFETY: the event is the kit's own.
    unsafe { check!(cudaEventSynchronize(kit.event(0))) }
}

/// How much pinned memory the traffic so far is worth, this transfer included.
fn earned(settings: &Settings, bytes: usize) -> usize {
    if settings.threshold.is_some() {
        return usize::MAX;
    }
    let bytes = bytes as u64;
    let traffic = TRAFFIC.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    usize::try_from(traffic / WORTH).unwrap_or(usize::MAX)
}
