//! One transfer, and what each thread does for it.
//!
//! # Why this is sound
//! A job has raw pointers to the two sides. The host's side is the program's memory, borrowed for the call that began the
//! transfer: threads reach it only while they work on the job, and that call does not return, nor unwind, before the
//! last of them has left ([`crew`](super::crew)). Each piece is given out once, so no two threads write to the same byte.
//!
//! A device never reaches the host's side: it reads and writes slots, and a slot has one user at a time ([`flow`](super::flow) says why): a
//! thread touches it only when the event of the block in it has come, and the device is told to only when all bytes
//! are moved, which includes the fence that stores past the caches need ([`store::copy`]).
//!
//! The stream, the events and the slots are the caller's. Other threads name them in calls, one thread at a time, and only
//! while they work on the job; before the caller gives them back, all events have come, or it has drained the stream. So nothing
//! is in flight, on either side, when the call returns.
#![expect(unsafe_code, reason = "moves bytes between raw pointers, and hands them to the runtime")]

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::cut::{Cut, Layout, Part, Place};
use super::flow::{Driver, Flow, Way};
use super::plan::Plan;
use super::ring::Slots;
use super::{store, test};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::{check, sys};

/// A transfer.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) device: Device,
    way: Way,
    plan: Plan,
    layout: Layout,
    host: *mut u8,
    remote: *mut u8,
    slots: Slots,
    cut: Cut,
    flow: Flow,
    error: Mutex<Option<Error>>,
}

// SAFETY: the pointers are used as the module's documentation says, from whichever thread works on the job.
unsafe impl Send for Job {}
// SAFETY: as above; everything else is made for several threads.
unsafe impl Sync for Job {}

/// So many blocks are on their way down before helpers are woken, which takes the caller longer than a block its way.
const AHEAD: usize = 2;

impl Job {
    /// A transfer between `host` and `remote`, memory of `device`, by way of `slots` of at least the largest block's size.
    ///
    /// # Safety
    /// - Until the last thread has left the job, both sides are memory as large as the layout says; nobody else writes to
    ///   the one that is read, or reaches the one that is written.
    /// - Until then, and until their stream is drained, the slots are this job's alone; they are of the device.
    pub(super) unsafe fn new(
        device: Device,
        way: Way,
        (host, remote): (*mut u8, *mut u8),
        layout: Layout,
        plan: Plan,
        slots: Slots,
    ) -> Self {
        let cut = Cut::new(layout, plan.sizes, host.addr());
        let flow = Flow::new(way, slots.count(), cut.pieces());
        let (layout, error) = (layout.flattened(), Mutex::new(None));
        Self { device, way, plan, layout, host, remote, slots, cut, flow, error }
    }

    /// How many threads there is work for.
    pub(super) fn parties(&self) -> usize {
        self.plan.threads.min(self.cut.pieces().take(2 * self.plan.threads).sum::<usize>() / 2).max(1)
    }

    /// Gives the device something to do, where it comes first.
    pub(super) fn begin(&self) {
        if self.way == Way::Down
            && let Err(error) = self.flow.begin(self, AHEAD)
        {
            self.fail(error);
        }
    }

    /// Moves pieces until there are none left. The first error of all threads is kept.
    pub(super) fn work(&self, leave: impl Fn() -> bool) {
        if let Err(error) = self.work_until(&leave) {
            self.fail(error);
        }
    }

    /// Waits until the device is done with everything, or the job has failed.
    pub(super) fn finish(&self, leave: impl Fn() -> bool) {
        if let Err(error) = self.wait(&leave, || self.flow.is_completed()) {
            self.fail(error);
        }
    }

    /// Ends the job with an error; the first one counts.
    pub(super) fn fail(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.flow.stop();
    }

    /// What came of it, once all threads have left: without an error everything is there, and no slot is in use.
    pub(super) fn outcome(&self) -> Result<()> {
        match self.error.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn work_until(&self, leave: &impl Fn() -> bool) -> Result<()> {
        let mut place = Place::default();
        while !leave()
            && let Some(number) = self.flow.claim()
            && let Some((block, piece)) = self.cut.piece(number, &mut place)
        {
            if self.plan.provide && piece.rows == 1 {
                store::provide(self.host.wrapping_add(piece.host), piece.width);
            }
            if !self.wait(leave, || self.flow.may_move(block))? {
                break;
            }
            test::point(test::Point::Move)?;
            self.move_rows(piece, self.slots.slot(block).wrapping_add(piece.slot));
            if self.flow.moved(block) {
                self.flow.drive(self)?;
            }
        }
        Ok(())
    }

    /// Waits until something is the case, and does what the device needs meanwhile. Whether it is: not if the job has failed.
    fn wait(&self, leave: &impl Fn() -> bool, there: impl Fn() -> bool) -> Result<bool> {
        let mut patience = Patience::LONG;
        loop {
            if there() {
                return Ok(true);
            }
            if leave() || self.flow.is_stopped() {
                return Ok(false);
            }
            if !self.flow.drive(self)? {
                patience.pause();
            }
        }
    }

    fn move_rows(&self, piece: Part, packed: *mut u8) {
        for row in 0..piece.rows {
            let host = self.host.wrapping_add(piece.host + row * self.layout.host_pitch);
            let packed = packed.wrapping_add(row * piece.width);
            let (to, from) = match self.way {
                Way::Up => (packed, host),
                Way::Down => (host, packed),
            };
            // SAFETY: a row of a piece, which lies within the host's side and within the slot; this thread alone has the piece,
            // and the device does not use the slot.
            unsafe { store::copy(to, from, piece.width, self.plan.past_caches) };
        }
    }
}

impl Driver for Job {
    type Error = Error;

    fn submit(&self, block: usize) -> Result<()> {
        test::point(test::Point::Submit)?;
        let Part { device, width, rows, .. } = self.cut.blocks()[block];
        let (stream, pitch) = (self.slots.stream, self.layout.device_pitch);
        let (slot, remote) = (self.slots.slot(block), self.remote.wrapping_add(device));
        match (self.way, rows) {
            // SAFETY: the block lies within the device's side, which lives until the job is over, and fits the slot, which is
            // not touched until the event below has come; the stream is the job's alone.
            (Way::Up, 1) => unsafe {
                check!(cudaMemcpyAsync(
                    remote.cast(),
                    slot.cast(),
                    width,
                    sys::cudaMemcpyHostToDevice,
                    stream
                ))
            },
            // SAFETY: as above.
            (Way::Down, 1) => unsafe {
                check!(cudaMemcpyAsync(
                    slot.cast(),
                    remote.cast(),
                    width,
                    sys::cudaMemcpyDeviceToHost,
                    stream
                ))
            },
            // SAFETY: as above; rows lie one pitch apart on the device, and one after the other in the slot.
            (Way::Up, _) => unsafe {
                check!(cudaMemcpy2DAsync(
                    remote.cast(),
                    pitch,
                    slot.cast(),
                    width,
                    width,
                    rows,
                    sys::cudaMemcpyHostToDevice,
                    stream
                ))
            },
            // SAFETY: as above.
            (Way::Down, _) => unsafe {
                check!(cudaMemcpy2DAsync(
                    slot.cast(),
                    width,
                    remote.cast(),
                    pitch,
                    width,
                    rows,
                    sys::cudaMemcpyDeviceToHost,
                    stream
                ))
            },
        }?;
        // SAFETY: event and stream are the job's alone, of one device; the event's last moment has come.
        unsafe { check!(cudaEventRecord(self.slots.event(block), stream)) }
    }

    fn is_done(&self, block: usize) -> Result<bool> {
        // SAFETY: the event is the job's alone.
        unsafe { is_over(self.slots.event(block)) }
    }
}

/// Whether all is done that comes before an event.
///
/// # Safety
/// The event is live.
unsafe fn is_over(event: sys::cudaEvent_t) -> Result<bool> {
    // SAFETY: as the caller says.
    match unsafe { sys::cudaEventQuery(event) } {
        sys::cudaErrorNotReady => Ok(false),
        code => Error::check("cudaEventQuery", code).map(|()| true),
    }
}

/// Blocks until all is done that comes before an event, and leaves the processor to others meanwhile: the runtime would keep it busy. Whether
/// it slept.
///
/// # Safety
/// The event is live.
pub(super) unsafe fn sleep_until(event: sys::cudaEvent_t) -> Result<bool> {
    let mut patience = Patience::SHORT;
    // SAFETY: as the caller says.
    while !unsafe { is_over(event) }? {
        patience.pause();
    }
    Ok(patience.since.is_some())
}

/// How a thread waits for the device: awake for some looks, then giving way, and then asleep in between, as the device may be busy with
/// something else.
struct Patience {
    /// So many looks it is still awake.
    awake: u32,
    /// For so long it gives way before it sleeps.
    gives_way: Duration,
    since: Option<Instant>,
}

/// For so long a thread sleeps between two looks.
const NAP: Duration = Duration::from_micros(50);

impl Patience {
    /// Of a thread that has work to do as soon as a block has come: awake for as long as that usually takes.
    const LONG: Self = Self { awake: 64, gives_way: Duration::from_millis(2), since: None };

    /// Of one that waits for what may take any time.
    const SHORT: Self = Self { awake: 8, gives_way: Duration::ZERO, since: None };

    fn pause(&mut self) {
        if let Some(left) = self.awake.checked_sub(1) {
            self.awake = left;
            for _ in 0..8 {
                std::hint::spin_loop();
            }
        } else if self.since.get_or_insert_with(Instant::now).elapsed() < self.gives_way {
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_awake_gives_way_and_sleeps_in_this_order() {
        let mut patience = Patience { awake: 3, gives_way: Duration::from_secs(3600), since: None };
        let begin = Instant::now();
        (0..3).for_each(|_| patience.pause());
        assert!(patience.awake == 0 && patience.since.is_none());
        patience.pause();
        assert!(patience.since.is_some_and(|since| since >= begin));
        patience.gives_way = Duration::ZERO;
        let begin = Instant::now();
        (0..3).for_each(|_| patience.pause());
        assert!(begin.elapsed() >= 3 * NAP);
    }
}
