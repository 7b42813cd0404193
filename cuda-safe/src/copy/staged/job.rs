//! One transfer, and what each thread does for it.
//!
//! # Why this is sound
//! A job has raw pointers to the two sides. The host's side is the program's memory, borrowed for the call that began the
//! transfer: threads reach it only while they work on the job, and that call does not return, nor unwind, before the
//! last of them has left ([`crew`](super::crew)). Each piece is given out once, so no two threads
//! write to the same byte. A device never reaches the host's side: it reads and writes chunks, and a thread touches a chunk only when the chunk's
//! event says that the device is done with it. Before a thread leaves, its stream is drained, also after an error: so nothing
//! is in flight, on either side, when the call returns.
#![expect(unsafe_code, reason = "moves bytes between raw pointers, and hands them to the runtime")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::cut::{Cutter, Layout, Piece};
use super::kit::{DEPTH, Kit};
use super::pace::Stopwatch;
use super::plan::{Plan, Way};
use super::{pace, store, test};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::{check, sys};

/// A transfer in pieces.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) device: Device,
    pub(super) plan: Plan,
    /// Bytes of pinned memory that all transfers together may use.
    pub(super) pinned: usize,
    way: Way,
    layout: Layout,
    host: *mut u8,
    remote: *mut u8,
    cutter: Mutex<Cutter>,
    /// There where this is the transfer to measure.
    pub(super) watch: Option<Stopwatch>,
    over: AtomicBool,
    error: Mutex<Option<Error>>,
}

// SAFETY: the pointers are used as the module's documentation says, from whichever thread works on the job.
unsafe impl Send for Job {}
// SAFETY: as above; everything else is made for several threads.
unsafe impl Sync for Job {}

impl Job {
    /// A transfer between `host` and `remote`, memory of `device`.
    ///
    /// # Safety
    /// Until the last thread has left the job, both sides are memory as large as the layout says; nobody else writes to
    /// the one that is read, or reaches the one that is written.
    #[expect(clippy::too_many_arguments, reason = "what a transfer is, each of another type")]
    pub(super) unsafe fn new(
        device: Device,
        way: Way,
        host: *mut u8,
        remote: *mut u8,
        layout: Layout,
        plan: Plan,
        pinned: usize,
        watch: Option<Stopwatch>,
    ) -> Self {
        let layout = layout.flattened();
        let cutter = Mutex::new(Cutter::new(layout, plan.sizes, host.addr()));
        let (over, error) = (AtomicBool::new(false), Mutex::new(None));
        Self { device, plan, pinned, way, layout, host, remote, cutter, watch, over, error }
    }

    /// Works on pieces until there are none left, or `leave` says so; then all of them are done. Whatever happens, the kit is
    /// drained. The first error of all threads is kept.
    pub(super) fn work(&self, kit: Kit, leave: impl Fn() -> bool) {
        let mut hand = Hand { job: self, kit: Some(kit), pending: [None; DEPTH] };
        let worked = match self.way {
            Way::Up => hand.up(leave),
            Way::Down => hand.down(leave),
        };
        match worked {
            // Every piece was waited for.
            Ok(()) => {
                if let Some(kit) = hand.kit.take() {
                    kit.give_back();
                }
            }
            Err(error) => {
                self.fail(error);
                drop(hand);
            }
        }
    }

    /// Ends the job with an error; the first one counts.
    pub(super) fn fail(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.over.store(true, Ordering::Relaxed);
    }

    /// What came of it, once all threads have left.
    pub(super) fn outcome(&self) -> Result<()> {
        match *self.error.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Keeps what was measured, if this was the transfer to measure.
    pub(super) fn keep_pace(&self, processors: usize) {
        if let Some(watch) = &self.watch {
            pace::keep(self.way, self.plan.provide, self.plan.sizes.parties, watch, processors);
        }
    }

    fn next(&self) -> Option<Piece> {
        if self.over.load(Ordering::Relaxed) {
            return None;
        }
        self.cutter.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    /// Moves a piece between the host's memory and a chunk, where it is packed.
    fn move_on_host(&self, piece: Piece, chunk: *mut u8) {
        let start = self.watch.as_ref().map(|watch| (watch, Instant::now()));
        self.move_rows(piece, chunk);
        if let Some((watch, start)) = start {
            watch.moved(start.elapsed());
        }
    }

    fn move_rows(&self, piece: Piece, chunk: *mut u8) {
        let past_caches = self.plan.past_caches;
        for row in 0..piece.rows {
            let host = self.host.wrapping_add(piece.host + row * self.layout.host_pitch);
            let packed = chunk.wrapping_add(row * piece.width);
            let (to, from) = match self.way {
                Way::Up => (packed, host),
                Way::Down => (host, packed),
            };
            // SAFETY: a row of a piece, which lies within the host's side and within the chunk; this thread alone has the piece,
            // and the device does not use the chunk.
            unsafe { store::copy(to, from, piece.width, past_caches) };
        }
    }
}

/// One thread's part in a job.
struct Hand<'a> {
    job: &'a Job,
    /// Drained if still there at the end.
    kit: Option<Kit>,
    /// What each chunk is on its way with.
    pending: [Option<Piece>; DEPTH],
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        if let Some(kit) = self.kit.take()
            && let Err(error) = kit.drain()
        {
            self.job.fail(error);
        }
    }
}

impl Hand<'_> {
    /// From the host to the device: fill a chunk, send it off, fill the next one.
    fn up(&mut self, leave: impl Fn() -> bool) -> Result<()> {
        let mut turn = 0;
        while !leave()
            && let Some(piece) = self.job.next()
        {
            let at = turn % DEPTH;
            turn += 1;
            self.wait(at)?;
            self.job.move_on_host(piece, self.chunk(at));
            self.send(at, piece)?;
        }
        (0..DEPTH).try_for_each(|at| self.wait(at).map(drop))
    }

    /// From the device to the host: have a chunk filled, and empty the other one meanwhile.
    fn down(&mut self, leave: impl Fn() -> bool) -> Result<()> {
        let mut turn = 0;
        while !leave()
            && let Some(piece) = self.job.next()
        {
            let at = turn % DEPTH;
            turn += 1;
            self.empty(at)?;
            self.send(at, piece)?;
            if self.job.plan.provide && piece.rows == 1 {
                store::provide(self.job.host.wrapping_add(piece.host), piece.width);
            }
        }
        // In the order in which they were asked for.
        (0..DEPTH).try_for_each(|next| self.empty((turn + next) % DEPTH))
    }

    /// Waits for a chunk, and brings what it holds to where it belongs.
    fn empty(&mut self, at: usize) -> Result<()> {
        if let Some(piece) = self.wait(at)? {
            self.job.move_on_host(piece, self.chunk(at));
        }
        Ok(())
    }

    /// Waits until the device is done with a chunk; gives what it was on its way with.
    fn wait(&mut self, at: usize) -> Result<Option<Piece>> {
        let Some(kit) = &self.kit else { return Ok(None) };
        if self.pending[at].is_some() {
            let start = self.job.watch.as_ref().map(|watch| (watch, Instant::now()));
            // SAFETY: the event is the kit's own and was never destroyed.
            unsafe { check!(cudaEventSynchronize(kit.event(at))) }?;
            if let Some((watch, start)) = start {
                watch.waited(start.elapsed());
            }
        }
        Ok(self.pending[at].take())
    }

    /// Has the device copy a piece from or to a chunk.
    fn send(&mut self, at: usize, piece: Piece) -> Result<()> {
        test::point(test::Point::Piece)?;
        let Some(kit) = &self.kit else { return Ok(()) };
        let (job, stream) = (self.job, kit.stream());
        let (chunk, remote) = (kit.chunk(at), job.remote.wrapping_add(piece.device));
        let (width, rows, pitch) = (piece.width, piece.rows, job.layout.device_pitch);
        self.pending[at] = Some(piece);
        match (job.way, rows) {
            // SAFETY: the piece lies within the device's side, which lives until the job is over, and fits the chunk, which is
            // not touched until the event below has come; the stream is the kit's own.
            (Way::Up, 1) => unsafe {
                check!(cudaMemcpyAsync(
                    remote.cast(),
                    chunk.cast(),
                    width,
                    sys::cudaMemcpyHostToDevice,
                    stream
                ))
            },
            // SAFETY: as above.
            (Way::Down, 1) => unsafe {
                check!(cudaMemcpyAsync(
                    chunk.cast(),
                    remote.cast(),
                    width,
                    sys::cudaMemcpyDeviceToHost,
                    stream
                ))
            },
            // SAFETY: as above; rows lie one pitch apart on the device, and one after the other in the chunk.
            (Way::Up, _) => unsafe {
                check!(cudaMemcpy2DAsync(
                    remote.cast(),
                    pitch,
                    chunk.cast(),
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
                    chunk.cast(),
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
        // SAFETY: event and stream are the kit's own, of one device.
        unsafe { check!(cudaEventRecord(kit.event(at), stream)) }
    }

    fn chunk(&self, at: usize) -> *mut u8 {
        self.kit.as_ref().map_or(std::ptr::null_mut(), |kit| kit.chunk(at))
    }
}
