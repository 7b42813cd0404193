//! One transfer, and what each thread does for it.
//!
//! # Why this is sound
//! A transfer has raw pointers to both sides. The host's side is the program's memory, borrowed for the call
//! that began the transfer: threads reach it only while they work on the transfer, and that call does not
//! return, nor unwind, before the last of them has left ([`pool`](crate::pool)). Each piece is given to one
//! thread, so no two threads write to the same byte.
//!
//! A device never reaches the host's side: it reads and writes slots. A slot has one user at a time
//! ([`schedule`](crate::schedule) says why): a thread touches it only when the event of the chunk in it is
//! complete, and the device gets it only when all bytes are moved, which includes the fence that non-temporal
//! stores need ([`host::copy`]).
//!
//! The stream, the events and the slots belong to the caller. Other threads name them in calls, one thread at
//! a time, and only while they work on the transfer. Before the caller gives them back, all events are
//! complete, or it has drained the stream. So nothing is in flight, on either side, when the call returns.
#![expect(unsafe_code, reason = "moves bytes between raw pointers, and hands them to the runtime")]

use std::ffi::c_int;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cuda_sys as sys;

use crate::Direction;
use crate::host;
use crate::pinned::Slots;
use crate::plan::{Chunks, Layout, Plan, RowRange};
use crate::runtime::{Error, Result, check, fail_point, lock};
use crate::schedule::{DeviceQueue, Schedule};
use crate::system;

/// A transfer.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) device: c_int,
    direction: Direction,
    plan: Plan,
    layout: Layout,
    host: *mut u8,
    remote: *mut u8,
    slots: Slots,
    chunks: Chunks,
    schedule: Schedule,
    error: Mutex<Option<Error>>,
}

// SAFETY: the pointers are used as the module's documentation says, from any thread that works on the
// transfer.
unsafe impl Send for Transfer {}
// SAFETY: the pointers are used as the module's documentation says, from any thread that works on the
// transfer. Everything else is made for several threads.
unsafe impl Sync for Transfer {}

/// D2H, so many chunks are submitted before workers are woken: waking takes the caller longer than the device
/// takes for a chunk.
const AHEAD: usize = 2;

impl Transfer {
    /// A transfer between `host` and `remote`, memory of `device`, through `slots` of at least the size of
    /// the largest chunk.
    ///
    /// # Safety
    /// - Until the last thread has left the transfer, both sides are memory as large as the layout says;
    ///   nobody else writes to the one that is read, or reaches the one that is written.
    /// - Until then, and until their stream is drained, the slots belong to this transfer alone; they are of
    ///   the device.
    pub(crate) unsafe fn new(
        device: c_int,
        direction: Direction,
        (host, remote): (*mut u8, *mut u8),
        layout: Layout,
        plan: Plan,
        slots: Slots,
    ) -> Self {
        let chunks = Chunks::new(layout, plan.sizes, host.addr());
        let schedule = Schedule::new(direction, slots.count(), chunks.pieces());
        let (layout, error) = (layout.flattened(), Mutex::new(None));
        Self { device, direction, plan, layout, host, remote, slots, chunks, schedule, error }
    }

    /// Returns the number of threads that have work.
    pub(crate) fn useful_threads(&self) -> usize {
        let threads = self.plan.threads;
        threads.min(self.chunks.pieces().take(2 * threads).sum::<usize>() / 2).max(1)
    }

    /// Submits the first chunks, if the device comes first.
    pub(crate) fn begin(&self) {
        if self.direction == Direction::DeviceToHost {
            self.schedule.begin(self, AHEAD).unwrap_or_else(|error| self.fail(error));
        }
    }

    /// Moves pieces until none are left, or `leave` returns true. The transfer keeps the first error of all
    /// threads.
    pub(crate) fn work(&self, leave: impl Fn() -> bool) {
        self.work_until(&leave).unwrap_or_else(|error| self.fail(error));
    }

    /// Waits until the device has completed everything, or the transfer has failed.
    pub(crate) fn finish(&self, leave: impl Fn() -> bool) {
        let waited = self.wait(&leave, || self.schedule.is_completed());
        waited.map(drop).unwrap_or_else(|error| self.fail(error));
    }

    /// Ends the transfer with an error. Only the first error counts.
    pub(crate) fn fail(&self, error: Error) {
        lock(&self.error).get_or_insert(error);
        self.schedule.stop();
    }

    /// Returns the result, once all threads have left: without an error everything is copied, and no slot
    /// is in use.
    pub(crate) fn result(&self) -> Result<()> {
        lock(&self.error).map_or(Ok(()), Err)
    }

    fn work_until(&self, leave: &impl Fn() -> bool) -> Result<()> {
        while !leave()
            && let Some(number) = self.schedule.claim()
            && let Some((chunk, piece)) = self.chunks.piece(number)
        {
            if self.plan.populate && piece.rows == 1 {
                system::populate(self.host.wrapping_add(piece.host), piece.width);
            }
            if !self.wait(leave, || self.schedule.may_move(chunk))? {
                break;
            }
            fail_point::at(fail_point::Point::Move)?;
            self.move_rows(piece, self.slots.slot(chunk).wrapping_add(piece.slot));
            if self.schedule.moved(chunk) {
                self.schedule.drive(self)?;
            }
        }
        Ok(())
    }

    /// Waits until a condition holds, and submits chunks meanwhile. Returns whether it holds: it may not if
    /// the transfer has failed.
    fn wait(&self, leave: &impl Fn() -> bool, holds: impl Fn() -> bool) -> Result<bool> {
        let mut backoff = Backoff::LONG;
        loop {
            if holds() {
                return Ok(true);
            }
            if leave() || self.schedule.is_stopped() {
                return Ok(false);
            }
            if !self.schedule.drive(self)? {
                backoff.pause();
            }
        }
    }

    fn move_rows(&self, piece: RowRange, packed: *mut u8) {
        for row in 0..piece.rows {
            let host = self.host.wrapping_add(piece.host + row * self.layout.host_pitch);
            let packed = packed.wrapping_add(row * piece.width);
            let (to, from) = match self.direction {
                Direction::HostToDevice => (packed, host),
                Direction::DeviceToHost => (host, packed),
            };
            // SAFETY: a row of a piece, which is within the host's side and within the slot. This thread
            // alone has the piece, and the device does not use the slot.
            unsafe { host::copy(to, from, piece.width, self.plan.bypass_caches) };
        }
    }
}

impl DeviceQueue for Transfer {
    type Error = Error;

    fn submit(&self, chunk: usize) -> Result<()> {
        fail_point::at(fail_point::Point::Submit)?;
        let RowRange { device, width, rows, .. } = self.chunks.all()[chunk];
        let (stream, pitch) = (self.slots.stream, self.layout.device_pitch);
        let (slot, remote) = (self.slots.slot(chunk), self.remote.wrapping_add(device));
        // Destination, its pitch, source, its pitch: rows are packed in the slot.
        let (to, to_pitch, from, from_pitch, kind) = match self.direction {
            Direction::HostToDevice => (remote, pitch, slot, width, sys::cudaMemcpyHostToDevice),
            Direction::DeviceToHost => (slot, width, remote, pitch, sys::cudaMemcpyDeviceToHost),
        };
        let (to, from) = (to.cast(), from.cast_const().cast());
        if rows == 1 {
            // SAFETY: the chunk lies within the device's side, which lives until the transfer is over, and
            // fits the slot, which is not touched until the event below is complete; the stream is the
            // transfer's alone.
            unsafe { check!(cudaMemcpyAsync(to, from, width, kind, stream)) }?;
        } else {
            // SAFETY: the chunk lies within the device's side, which lives until the transfer is over, and
            // fits the slot, which is not touched until the event below is complete; the stream is the
            // transfer's alone. Rows lie one pitch apart on the device, and one after the other in the slot.
            unsafe { check!(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, kind, stream)) }?;
        }
        // SAFETY: event and stream are the transfer's alone, of one device; what it recorded last is
        // complete.
        unsafe { check!(cudaEventRecord(self.slots.event(chunk), stream)) }
    }

    fn is_done(&self, chunk: usize) -> Result<bool> {
        // SAFETY: this transfer is the only user of the event.
        unsafe { is_complete(self.slots.event(chunk)) }
    }
}

/// Returns whether all work before an event is complete.
///
/// # Safety
/// The event is live.
unsafe fn is_complete(event: sys::cudaEvent_t) -> Result<bool> {
    // SAFETY: the caller guarantees it.
    match unsafe { sys::cudaEventQuery(event) } {
        sys::cudaErrorNotReady => Ok(false),
        code => Error::check("cudaEventQuery", code).map(|()| true),
    }
}

/// How a copy waits for the stream that it is ordered after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// As the runtime does, which keeps the processor busy: the shortest wait.
    Spin,
    /// With short sleeps, which leave the processor to others.
    Sleep,
}

/// Blocks until everything is complete that comes before an operation of a stream now. Returns whether it
/// slept, so that others may have gone on.
///
/// It records an event: recording is an operation, which on the legacy stream waits for the blocking ones. It
/// is not documented whether a synchronisation is one.
///
/// # Safety
/// The event is the caller's alone, of the device that is current; the stream is one of that device.
pub(crate) unsafe fn wait_for(
    stream: sys::cudaStream_t,
    event: sys::cudaEvent_t,
    wait: Wait,
) -> Result<bool> {
    // SAFETY: the caller guarantees it.
    unsafe { check!(cudaEventRecord(event, stream)) }?;
    match wait {
        // SAFETY: the caller guarantees it.
        Wait::Spin => unsafe { check!(cudaEventSynchronize(event)) }.map(|()| false),
        Wait::Sleep => {
            let mut backoff = Backoff::SHORT;
            // SAFETY: the caller guarantees it.
            while !unsafe { is_complete(event) }? {
                backoff.pause();
            }
            Ok(backoff.since.is_some())
        }
    }
}

/// How a thread waits for the device: first it spins, then it yields, and then it sleeps between two looks,
/// as the device may be busy with other work.
struct Backoff {
    /// The number of checks during which it spins.
    spins: u32,
    /// How long it yields before it sleeps.
    yields: Duration,
    since: Option<Instant>,
}

/// How long a thread sleeps between two checks.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

impl Backoff {
    /// For a thread that has work as soon as a chunk is done: it spins for as long as that usually takes.
    const LONG: Self = Self { spins: 64, yields: Duration::from_millis(2), since: None };

    /// For a thread that waits for work that may take any time.
    const SHORT: Self = Self { spins: 8, yields: Duration::ZERO, since: None };

    fn pause(&mut self) {
        if let Some(left) = self.spins.checked_sub(1) {
            self.spins = left;
            for _ in 0..8 {
                std::hint::spin_loop();
            }
        } else if self.since.get_or_insert_with(Instant::now).elapsed() < self.yields {
            std::thread::yield_now();
        } else {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_spins_yields_and_sleeps_in_this_order() {
        let mut backoff = Backoff { spins: 3, yields: Duration::from_secs(3600), since: None };
        let begin = Instant::now();
        (0..3).for_each(|_| backoff.pause());
        assert!(backoff.spins == 0 && backoff.since.is_none());
        backoff.pause();
        assert!(backoff.since.is_some_and(|since| since >= begin));
        backoff.yields = Duration::ZERO;
        let begin = Instant::now();
        (0..3).for_each(|_| backoff.pause());
        assert!(begin.elapsed() >= 3 * POLL_INTERVAL);
    }
}
