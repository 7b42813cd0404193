//! The protocol between the threads of a transfer: which thread moves a piece, and which submits a chunk to
//! the device.
//!
//! It consists of atomics only and calls no CUDA, so it is tested by itself, with loom.
//!
//! A transfer is a sequence of chunks. Each goes through one slot of page-locked memory, and threads of the
//! host move a chunk in pieces.
//!
//! - Pieces are *claimed* in order, each once.
//! - A piece is *moved* between the program's memory and the slot of its chunk when [`Schedule::may_move`]
//!   allows it. D2H, the device has then filled the slot. H2D, the device is then done with the chunk that
//!   had the slot before.
//! - A chunk is *submitted* to the device, in order, by the thread that holds the *submitter role*. H2D, its
//!   last piece has then been moved in. D2H, the last piece of the chunk that had the slot before has been
//!   moved out.
//! - A chunk is *completed* when the submitter has asked the device, and the device is done with it; in order
//!   too.
//!
//! # Why a slot has one user at a time
//! The bytes of a piece are there before its count goes down (release), and the submitter has read that the
//! count is 0 (acquire). A chunk is complete before the number of completed ones goes up (release), and a
//! thread that moves has read that number (acquire). Only the submitter writes `submitted` and `completed`,
//! and the role passes from one thread to the next by acquire and release.
//!
//! # Why no chunk is left unsubmitted
//! The thread that moves the last piece of a chunk tries to take the role; if the role is taken, its holder
//! submits the chunk. The holder looks again after it has released the role. Between the count and the try,
//! and between the release and the look, there is a sequentially consistent fence each: so either the try
//! comes after the release and succeeds, or the look sees the count.

use std::sync::atomic::Ordering;

use crate::Direction;
use crate::primitives::{AtomicBool, AtomicUsize, fence};

/// The device, as the submitter sees it. Two threads never call it at once.
pub(crate) trait DeviceQueue {
    /// The error of a call.
    type Error;

    /// Submits the copy of a chunk, between its slot and the memory of the device.
    fn submit(&self, chunk: usize) -> Result<(), Self::Error>;

    /// Returns whether the device has completed a submitted chunk.
    fn is_done(&self, chunk: usize) -> Result<bool, Self::Error>;
}

/// A value on a cache line of its own: one thread writes it while others write its neighbours.
#[derive(Debug, Default)]
#[repr(align(64))]
struct CacheLine<T>(T);

/// The progress of a transfer.
#[derive(Debug)]
pub(crate) struct Schedule {
    direction: Direction,
    slots: usize,
    /// Pieces of all chunks.
    pieces: usize,
    /// Pieces of each chunk that have not been moved.
    rest: Box<[AtomicUsize]>,
    /// The next piece to claim.
    next: CacheLine<AtomicUsize>,
    submitted: CacheLine<AtomicUsize>,
    completed: CacheLine<AtomicUsize>,
    /// Whether a thread holds the submitter role.
    has_submitter: CacheLine<AtomicBool>,
    is_stopped: AtomicBool,
}

/// The submitter role, held until this is dropped.
struct Submitter<'a> {
    schedule: &'a Schedule,
    /// Whether the thread was unwinding before: then the copy is part of a drop.
    unwinding: bool,
}

impl<'a> Submitter<'a> {
    fn new(schedule: &'a Schedule) -> Option<Self> {
        let role = &schedule.has_submitter.0;
        // The load comes first, because an exchange takes the cache line away from the holder.
        let is_free = !role.load(Ordering::Relaxed)
            && role.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // Made only if the role was free: the drop releases it.
        is_free.then(|| Self { schedule, unwinding: std::thread::panicking() })
    }
}

impl Drop for Submitter<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.unwinding {
            self.schedule.stop();
        }
        self.schedule.has_submitter.0.store(false, Ordering::Release);
    }
}

impl Schedule {
    /// The schedule of chunks of so many pieces each (at least one), through so many slots (at least one).
    pub(crate) fn new(direction: Direction, slots: usize, pieces: impl Iterator<Item = usize>) -> Self {
        let mut all = 0;
        let rest = pieces.inspect(|pieces| all += pieces).map(AtomicUsize::new).collect();
        Self {
            direction,
            slots,
            pieces: all,
            rest,
            next: CacheLine(AtomicUsize::new(0)),
            submitted: CacheLine(AtomicUsize::new(0)),
            completed: CacheLine(AtomicUsize::new(0)),
            has_submitter: CacheLine(AtomicBool::new(false)),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Claims the next piece for the caller; `None` if all are claimed, or the transfer is stopped.
    pub(crate) fn claim(&self) -> Option<usize> {
        if self.is_stopped() {
            return None;
        }
        let piece = self.next.0.fetch_add(1, Ordering::Relaxed);
        (piece < self.pieces).then_some(piece)
    }

    /// Whether pieces of a chunk may be moved now.
    pub(crate) fn may_move(&self, chunk: usize) -> bool {
        let completed = self.completed.0.load(Ordering::Acquire);
        match self.direction {
            Direction::HostToDevice => chunk < completed + self.slots,
            Direction::DeviceToHost => chunk < completed,
        }
    }

    /// Records that a piece of a chunk has been moved. Returns whether it was the last one of the chunk:
    /// the caller then calls [`Self::drive`].
    pub(crate) fn moved(&self, chunk: usize) -> bool {
        let last = self.rest[chunk].fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            fence(Ordering::SeqCst);
        }
        last
    }

    /// Returns whether the device has completed everything.
    pub(crate) fn is_completed(&self) -> bool {
        self.completed.0.load(Ordering::Acquire) == self.rest.len()
    }

    /// Ends the transfer early: nothing more is claimed or submitted.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether the transfer ended early.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Submits the chunks that can be submitted, at most `most` of them.
    ///
    /// # Errors
    /// Those of the device. The transfer is then stopped.
    pub(crate) fn begin<D: DeviceQueue>(&self, device: &D, most: usize) -> Result<(), D::Error> {
        if let Some(_submitter) = Submitter::new(self) {
            self.submit(device, most)?;
        }
        Ok(())
    }

    /// Submits all chunks that can be submitted, and asks which are done, unless another thread does so now.
    /// Returns whether there were any.
    ///
    /// # Errors
    /// Those of the device. The transfer is then stopped.
    pub(crate) fn drive<D: DeviceQueue>(&self, device: &D) -> Result<bool, D::Error> {
        let mut did = false;
        loop {
            let Some(submitter) = Submitter::new(self) else { return Ok(did) };
            did |= self.submit(device, usize::MAX)?;
            did |= self.ask(device)?;
            drop(submitter);
            fence(Ordering::SeqCst);
            if self.is_stopped() || !self.may_submit() {
                return Ok(did);
            }
        }
    }

    fn may_submit(&self) -> bool {
        let chunk = self.submitted.0.load(Ordering::Relaxed);
        // D2H: the chunk that had the slot before.
        let needs = match self.direction {
            Direction::HostToDevice => Some(chunk),
            Direction::DeviceToHost => chunk.checked_sub(self.slots),
        };
        chunk < self.rest.len() && needs.is_none_or(|chunk| self.rest[chunk].load(Ordering::Acquire) == 0)
    }

    /// Submits chunks. The caller is the submitter.
    fn submit<D: DeviceQueue>(&self, device: &D, most: usize) -> Result<bool, D::Error> {
        let mut count = 0;
        while count < most && !self.is_stopped() && self.may_submit() {
            let chunk = self.submitted.0.load(Ordering::Relaxed);
            device.submit(chunk).inspect_err(|_| self.stop())?;
            self.submitted.0.store(chunk + 1, Ordering::Relaxed);
            count += 1;
        }
        Ok(count > 0)
    }

    /// Asks which chunks are done. The caller is the submitter.
    fn ask<D: DeviceQueue>(&self, device: &D) -> Result<bool, D::Error> {
        let before = self.completed.0.load(Ordering::Relaxed);
        let submitted = self.submitted.0.load(Ordering::Relaxed);
        let mut completed = before;
        while completed < submitted && device.is_done(completed).inspect_err(|_| self.stop())? {
            completed += 1;
            self.completed.0.store(completed, Ordering::Release);
        }
        Ok(completed > before)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(not(loom))]
    mod threads {
        use std::panic::{AssertUnwindSafe, catch_unwind};

        use super::super::*;

        /// A device that completes everything at once, until it panics.
        struct Model {
            submitted: AtomicUsize,
            panics_at: usize,
        }

        impl DeviceQueue for Model {
            type Error = std::convert::Infallible;

            fn submit(&self, chunk: usize) -> Result<(), Self::Error> {
                assert_eq!(self.submitted.fetch_add(1, Ordering::Relaxed), chunk, "in order, one at a time");
                if chunk == self.panics_at {
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
                Ok(())
            }

            fn is_done(&self, _: usize) -> Result<bool, Self::Error> {
                Ok(true)
            }
        }

        /// Has many threads work on a transfer of the model; returns how many pieces of each chunk were
        /// moved.
        fn schedule_of(
            direction: Direction,
            chunks: usize,
            slots: usize,
            panics_at: usize,
        ) -> (Schedule, Vec<usize>) {
            let schedule = Schedule::new(direction, slots, (0..chunks).map(|chunk| 1 + chunk % 3));
            let model = Model { submitted: AtomicUsize::new(0), panics_at };
            let of: Vec<usize> =
                (0..chunks).flat_map(|chunk| std::iter::repeat_n(chunk, 1 + chunk % 3)).collect();
            let moved: Vec<_> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
            let work = || {
                while let Some(piece) = schedule.claim() {
                    while !schedule.may_move(of[piece]) {
                        if schedule.is_stopped() {
                            return;
                        }
                        if !schedule.drive(&model).unwrap() {
                            std::thread::yield_now();
                        }
                    }
                    moved[of[piece]].fetch_add(1, Ordering::Relaxed);
                    if schedule.moved(of[piece]) {
                        schedule.drive(&model).unwrap();
                    }
                }
            };
            std::thread::scope(|threads| {
                for _ in 0..8 {
                    threads.spawn(|| catch_unwind(AssertUnwindSafe(work)));
                }
            });
            if panics_at >= chunks {
                schedule.drive(&model).unwrap();
            }
            (schedule, moved.into_iter().map(AtomicUsize::into_inner).collect())
        }

        #[test]
        fn many_threads_move_every_piece_once_and_submit_every_chunk() {
            for direction in [Direction::HostToDevice, Direction::DeviceToHost] {
                for slots in [1, 2, 7, 1000] {
                    let (schedule, moved) = schedule_of(direction, 500, slots, usize::MAX);
                    assert!(schedule.is_completed() && !schedule.is_stopped());
                    assert!(moved.iter().enumerate().all(|(chunk, &times)| times == 1 + chunk % 3));
                }
            }
        }

        #[test]
        fn a_thread_that_panics_while_it_submits_stops_the_transfer_for_all() {
            for direction in [Direction::HostToDevice, Direction::DeviceToHost] {
                for panics_at in [0, 1, 100] {
                    let (schedule, _) = schedule_of(direction, 500, 4, panics_at);
                    assert!(schedule.is_stopped() && !schedule.is_completed());
                    assert_eq!(schedule.claim(), None);
                }
            }
        }
    }

    /// The protocol under loom, which runs every interleaving of a few steps.
    ///
    /// The device is a model that copies when a chunk is submitted, and is done when it is asked. Memory is
    /// loom's, which fails on any two accesses that nothing orders.
    #[cfg(loom)]
    mod interleavings {
        #![expect(unsafe_code, reason = "reads and writes through the cells of loom")]

        use std::convert::Infallible;
        use std::sync::Arc;

        use loom::cell::UnsafeCell;

        use super::super::*;

        /// Bytes that threads and the device use in turn.
        type Bytes = UnsafeCell<[usize; 2]>;

        /// A transfer of chunks of two pieces, of a byte each.
        struct Transfer {
            schedule: Schedule,
            direction: Direction,
            chunks: usize,
            slots: Vec<Bytes>,
            /// The memory of the device, by chunk.
            remote: Vec<Bytes>,
            /// The chunks that the threads of the host have read, D2H.
            host: Vec<[UnsafeCell<usize>; 2]>,
        }

        // SAFETY: loom's cells detect when two threads use one at once.
        unsafe impl Send for Transfer {}
        // SAFETY: loom's cells detect when two threads use one at once.
        unsafe impl Sync for Transfer {}

        fn value(chunk: usize, piece: usize) -> usize {
            100 + 10 * chunk + piece
        }

        impl Transfer {
            fn new(direction: Direction, chunks: usize, slots: usize) -> Arc<Self> {
                let remote = |chunk| UnsafeCell::new([value(chunk, 0), value(chunk, 1)]);
                Arc::new(Self {
                    schedule: Schedule::new(direction, slots, (0..chunks).map(|_| 2)),
                    direction,
                    chunks,
                    slots: (0..slots).map(|_| UnsafeCell::new([0; 2])).collect(),
                    remote: (0..chunks)
                        .map(|chunk| {
                            if direction == Direction::DeviceToHost {
                                remote(chunk)
                            } else {
                                UnsafeCell::new([0; 2])
                            }
                        })
                        .collect(),
                    host: (0..chunks).map(|_| [UnsafeCell::new(0), UnsafeCell::new(0)]).collect(),
                })
            }

            fn slot(&self, chunk: usize) -> &Bytes {
                &self.slots[chunk % self.slots.len()]
            }

            /// The work of a thread.
            fn work(&self) {
                while let Some(number) = self.schedule.claim() {
                    let (chunk, piece) = (number / 2, number % 2);
                    while !self.schedule.may_move(chunk) {
                        let Ok(did) = self.schedule.drive(self);
                        if !did {
                            loom::thread::yield_now();
                        }
                    }
                    // The two pieces of a slot are two places: an access of one is not one of the other.
                    self.slot(chunk).with(|slot| {
                        // SAFETY: the place is this thread's alone, which is what is tested.
                        let place = unsafe { &raw mut (*slot.cast_mut())[piece] };
                        match self.direction {
                            // SAFETY: the place is this thread's alone, which is what is tested.
                            Direction::HostToDevice => unsafe { place.write(value(chunk, piece)) },
                            Direction::DeviceToHost => self.host[chunk][piece].with_mut(|to| {
                                // SAFETY: the place is this thread's alone, which is what is tested.
                                unsafe { to.copy_from(place, 1) };
                            }),
                        }
                    });
                    if self.schedule.moved(chunk) {
                        let Ok(_) = self.schedule.drive(self);
                    }
                }
            }

            /// Has two threads work. When both are done, every chunk that could be submitted has been.
            fn run(self: &Arc<Self>) {
                let worker = {
                    let this = Arc::clone(self);
                    loom::thread::spawn(move || this.work())
                };
                self.work();
                worker.join().unwrap();
                let Ok(_) = self.schedule.begin(&Nothing, 1);
                let Ok(_) = self.schedule.drive(&**self);
                assert!(self.schedule.is_completed());
                for chunk in 0..self.chunks {
                    for piece in 0..2 {
                        match self.direction {
                            Direction::HostToDevice => self.remote[chunk].with(|bytes| {
                                // SAFETY: both threads are done.
                                assert_eq!(unsafe { (*bytes)[piece] }, value(chunk, piece));
                            }),
                            Direction::DeviceToHost => self.host[chunk][piece].with(|byte| {
                                // SAFETY: both threads are done.
                                assert_eq!(unsafe { *byte }, value(chunk, piece));
                            }),
                        }
                    }
                }
            }
        }

        impl DeviceQueue for Transfer {
            type Error = Infallible;

            fn submit(&self, chunk: usize) -> Result<(), Infallible> {
                let (slot, remote) = (self.slot(chunk), &self.remote[chunk]);
                match self.direction {
                    Direction::HostToDevice => slot.with_mut(|slot| {
                        // SAFETY: the device has the slot to itself, which is what is tested.
                        remote.with_mut(|remote| unsafe { remote.copy_from(slot, 1) });
                    }),
                    Direction::DeviceToHost => slot.with_mut(|slot| {
                        // SAFETY: the device has the slot to itself, which is what is tested.
                        remote.with(|remote| unsafe { slot.copy_from(remote, 1) });
                    }),
                }
                Ok(())
            }

            fn is_done(&self, _: usize) -> Result<bool, Infallible> {
                Ok(true)
            }
        }

        /// A device that must receive nothing more.
        struct Nothing;

        impl DeviceQueue for Nothing {
            type Error = Infallible;

            fn submit(&self, chunk: usize) -> Result<(), Infallible> {
                panic!("chunk {chunk} was ready, and no thread submitted it");
            }

            fn is_done(&self, _: usize) -> Result<bool, Infallible> {
                Ok(false)
            }
        }

        fn every_interleaving(direction: Direction, chunks: usize, slots: usize) {
            let mut model = loom::model::Builder::new();
            model.preemption_bound = Some(2);
            model.check(move || Transfer::new(direction, chunks, slots).run());
        }

        #[test]
        fn h2d_every_chunk_is_submitted_and_after_its_pieces() {
            every_interleaving(Direction::HostToDevice, 2, 2);
        }

        #[test]
        fn h2d_a_slot_is_filled_again_only_after_the_chunk_before() {
            every_interleaving(Direction::HostToDevice, 2, 1);
        }

        #[test]
        fn d2h_pieces_are_moved_after_their_chunk_is_done() {
            every_interleaving(Direction::DeviceToHost, 1, 1);
        }

        #[test]
        fn d2h_a_slot_is_submitted_again_only_after_its_pieces() {
            every_interleaving(Direction::DeviceToHost, 2, 1);
        }
    }
}
