//! The staged engine: large blocking copies between pageable memory and a device, faster than `cudaMemcpy`.
//!
//! The runtime copies pageable memory through a buffer of its own, on one thread, and the speed of that thread is the limit. Here several threads
//! move bytes between the program's memory and a ring of pinned slots, and the device copies from and to those at the
//! speed of its link. [`memcpy`](crate::memcpy), [`DeviceBuffer::from_slice`](crate::DeviceBuffer::from_slice) and
//! [`DeviceBuffer::to_vec`](crate::DeviceBuffer::to_vec) do this by themselves from the size on at which it is faster; nothing else changes.
//!
//! | module | what it owns |
//! |---|---|
//! | `settings` | what the program wants: on or off, from which size, threads, pinned memory |
//! | `plan` | whether and how a transfer is staged, from sizes and processors |
//! | `cut` | which bytes make a block, and which a piece |
//! | `flow` | who does what next: claims, and the driver's role |
//! | `job` | one transfer, and each thread's part in it |
//! | `crew` | the threads, and how they end |
//! | `ring` | pinned slots, a stream and events, kept for the next transfer, within a bound |
//! | `quick` | small copies down, by one slot and without threads |
//! | `store` | how the host's processor moves bytes, and gets fresh pages |
//!
//! # Ordering
//! As `cudaMemcpy`, a staged copy is on the legacy stream: it begins when all is done that the legacy stream, and so every blocking stream of the
//! device, was given before, whoever gave it, and it is complete when the call returns. For the tracker it is an operation of the legacy
//! stream like any other. The streams of the engine itself are on no books: they have nothing to do before the wait for the
//! legacy stream and after the call.
//!
//! # What can go wrong
//! The first error of any thread is the call's, once, and nothing is left in flight, on either side. Where threads cannot be had, there
//! are fewer; where pinned memory cannot be had, or others have it all, the copy is made by `cudaMemcpy`. After the loss of the device's
//! context slots that it may still be writing to are leaked. `crew` says what happens at the end of the process and in the
//! child of a `fork`.
//!
//! # Memory
//! Slots are pinned, a ring at a time, at most [`Settings::pinned`] bytes for all transfers together, and kept for the next copy: pinning
//! costs more than copying. A program that copies little never pays for it, as a ring is made only when the program has copied enough to
//! make up for it. Giving pinned memory back makes the runtime wait for all devices, kernels that wait for the host included, so it happens
//! only where the program frees memory itself, once no copy has used the rings for a second, or by [`release`].
//!
//! C functions: `cudaHostAlloc`, `cudaFreeHost`, `cudaStreamCreateWithFlags`, `cudaEventCreateWithFlags`, `cudaEventRecord`, `cudaEventQuery`,
//! `cudaEventSynchronize`, `cudaMemcpyAsync`, `cudaMemcpy2DAsync`, `cudaStreamSynchronize`, `cudaDeviceSynchronize`.
#![expect(
    unsafe_code,
    reason = "waits for the legacy stream by its raw handle, and declares the unsafe way in"
)]

mod crew;
mod cut;
mod flow;
mod job;
mod plan;
pub(super) mod quick;
mod ring;
mod settings;
mod store;
mod test;
#[cfg(test)]
mod tests;

/// What `flow` is written with: a test puts loom's in the place.
mod sync {
    pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
}

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use self::job::Job;
use self::plan::{FRESH, Need, Plan};
use self::ring::Ring;
use crate::device::Device;
use crate::error::Result;
use crate::memory::relax;
use crate::{check, memory, stream, sys};

pub(crate) use self::cut::Layout;
pub(crate) use self::flow::Way;
pub(crate) use self::plan::Company;
pub(crate) use self::ring::abandon;
pub use self::ring::release;
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
    let (pinned, most_pinned) = ring::pinned();
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
///
/// To pin a ring of 16 MiB takes 5.5 ms, and the engine saves 40 to 80 µs on each MiB: it has made up for it after 64 to 128 MiB. So
/// the ring is made, in one go, by the copy with which there have been 128 MiB, and nobody has spent more than twice what was necessary.
const WORTH: u64 = 8;

/// Bytes that go to fresh memory count so many times, as the engine saves as many times the time on them: there the first copy of
/// 32 MiB makes up for the ring by itself.
const FRESH_COUNTS: u64 = 4;

/// No copy below this is ever staged by the engine's own choice: it is not even looked at.
const NEVER: usize = 1 << 20;

/// A copy that is going to be staged: everything that could be lacking is there.
#[derive(Debug)]
pub(crate) struct Staged {
    device: Device,
    way: Way,
    layout: Layout,
    plan: Plan,
    /// `None` only while being dropped.
    ring: Option<Ring>,
}

impl Staged {
    /// Prepares a transfer between pageable memory and a device; none where it is not to be staged. `fresh` is the host's memory
    /// where that has not been touched yet.
    pub(crate) fn prepare(
        device: Device,
        way: Way,
        layout: Layout,
        fresh: Option<*mut u8>,
        company: Company,
    ) -> Option<Self> {
        let bytes = layout.bytes();
        let settings = settings();
        if bytes == 0 || never(bytes) || stream::in_callback() || !crew::in_own_process() {
            return None;
        }
        let fresh = fresh.filter(|_| bytes >= FRESH);
        let need = Need { way, bytes, fresh: fresh.is_some(), processors: crew::processors(), company };
        let staged = Self::with_ring(device, layout, &need, &settings);
        if staged.is_none()
            && settings.enabled
            && layout.flattened().rows == 1
            && let Some(room) = fresh
        {
            // Otherwise `cudaMemcpy` has the system provide one page after the other.
            store::provide(room, bytes);
        }
        staged
    }

    fn with_ring(device: Device, layout: Layout, need: &Need, settings: &Settings) -> Option<Self> {
        let plan = Plan::of(need, settings)?;
        let earned = earned(need, settings);
        let _current = device.switch().ok()?;
        // Asking an event is one of the calls that somebody's capture would forbid.
        relax().ok()?;
        // Without memory or a stream of its own the copy is one for the runtime.
        let ring = Ring::take(device, plan::slot(settings), settings.pinned, earned).ok()??;
        memory::on_free(ring::release_idle);
        Some(Self { device, way: need.way, layout, plan, ring: Some(ring) })
    }

    /// Which way the bytes go.
    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Waits for a stream, the legacy one as a rule, and makes the copy. Without `hurry` the wait leaves the processor to others.
    ///
    /// # Errors
    /// The first failure of any thread, or of work that was given to the device before.
    ///
    /// # Safety
    /// - Both sides are memory as large as the layout that this was prepared with, the device's of its device.
    /// - Until this returns, nobody but work that the legacy stream waits for writes to the one that is read, or reaches
    ///   the one that is written.
    /// - The device is current, and `stream` one of its streams.
    pub(crate) unsafe fn run(
        mut self,
        stream: sys::cudaStream_t,
        hurry: bool,
        host: *mut u8,
        remote: *mut u8,
    ) -> Result<()> {
        let Some(ring) = self.ring.take() else { return Ok(()) };
        let slots = ring.slots(self.plan.sizes.most);
        let waited = match wait_for(stream, slots.event(0), hurry) {
            Ok(waited) => waited,
            Err(error) => {
                // Nothing was given to its stream.
                ring.give_back();
                return Err(error);
            }
        };
        let (layout, plan) = (self.layout, if waited { self.plan.after_a_wait() } else { self.plan });
        // SAFETY: the caller vouches for both sides until `run` is over, which is when the last thread has left; the slots are those of
        // the ring, which is given back, or drained, then.
        let job = unsafe { Job::new(self.device, self.way, (host, remote), layout, plan, slots) };
        crew::run(job, ring)?;
        COPIES.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.bytes() as u64, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Staged {
    /// The copy was refused before it began.
    fn drop(&mut self) {
        if let Some(ring) = self.ring.take() {
            ring.give_back();
        }
    }
}

/// Blocks until everything is done that comes before an operation of a stream. Whether it slept: without hurry, so that others might go on.
///
/// By an event: recording one is an operation, which on the legacy stream waits for the blocking ones; whether a synchronisation is one is
/// not said.
fn wait_for(stream: sys::cudaStream_t, event: sys::cudaEvent_t, hurry: bool) -> Result<bool> {
    // SAFETY: the event is one of a ring that nobody else has, of the device that is current, and the stream one of that device's.
    unsafe { check!(cudaEventRecord(event, stream)) }?;
    if hurry {
        // SAFETY: as above.
        unsafe { check!(cudaEventSynchronize(event)) }.map(|()| false)
    } else {
        // SAFETY: as above.
        unsafe { job::sleep_until(event) }
    }
}

/// How much pinned memory the traffic so far is worth, this transfer included.
fn earned(need: &Need, settings: &Settings) -> usize {
    if settings.threshold.is_some() {
        return usize::MAX;
    }
    let counts = if need.fresh { FRESH_COUNTS } else { 1 };
    let bytes = (need.bytes as u64).saturating_mul(counts);
    let traffic = TRAFFIC.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    usize::try_from(traffic / WORTH).unwrap_or(usize::MAX)
}
