//! Who does what next in a transfer: claims, and the driver's role. Atomics only, not a call into CUDA, so that it can be tested by itself.
//!
//! A transfer goes in blocks, each through one slot of pinned memory, and a block is moved by the host's processors in pieces.
//!
//! - Pieces are *claimed* in order, each once.
//! - A piece is *moved* between the program's memory and its block's slot when [`Flow::may_move`] says so: on the way down when the
//!   device has filled the slot, on the way up when the device is done with the block that had the slot before.
//! - A block is *submitted* to the device, by whoever holds the role, in order: on the way up when its last piece is in, on the way down
//!   when the last piece of the block that had the slot before is out.
//! - It is *completed* when the holder of the role has asked the device and was told so, in order too.
//!
//! # Why a slot has one user at a time
//! A piece's bytes are there before its count goes down (release), and who submits has read that the count is 0 (acquire). A
//! block is over before the number of completed ones goes up (release), and who moves has read that number (acquire). `submitted` and
//! `completed` are written by the holder of the role alone, and the role goes from one to the next by acquire and release.
//!
//! # Why no block is left unsent
//! Whoever moves the last piece of a block tries to take the role; if it is taken, the piece is its holder's affair. The holder looks
//! again after it has let go. Between the count and the try, and between letting go and looking, there is a sequentially
//! consistent fence each: so either the try comes after the letting go and succeeds, or the look sees the count.

use super::sync::{AtomicBool, AtomicUsize, Ordering, fence};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the host to a device.
    Up,
    /// From a device to the host.
    Down,
}

/// What makes calls to the device for a transfer. Never called by two threads at once.
pub(super) trait Driver {
    /// What calls fail with.
    type Error;

    /// Has the device copy a block, between its slot and the memory of the device.
    fn submit(&self, block: usize) -> Result<(), Self::Error>;

    /// Whether a block that was submitted is over.
    fn is_done(&self, block: usize) -> Result<bool, Self::Error>;
}

/// Something that is written by one thread while others write its neighbours.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Apart<T>(T);

/// How far a transfer has come.
#[derive(Debug)]
pub(super) struct Flow {
    way: Way,
    slots: usize,
    /// Pieces of all blocks.
    pieces: usize,
    /// Pieces of each block that are still to be moved.
    rest: Box<[AtomicUsize]>,
    /// The next piece that nobody has claimed.
    next: Apart<AtomicUsize>,
    submitted: Apart<AtomicUsize>,
    completed: Apart<AtomicUsize>,
    /// Whether some thread makes calls to the device.
    role: Apart<AtomicBool>,
    stopped: AtomicBool,
}

/// The role, for as long as this is there.
struct Role<'a> {
    flow: &'a Flow,
    /// Whether the thread was unwinding before: then it copies as part of a drop.
    unwinding: bool,
}

impl<'a> Role<'a> {
    fn take(flow: &'a Flow) -> Option<Self> {
        let role = &flow.role.0;
        // A look first: an exchange takes the line away from its holder.
        let free = !role.load(Ordering::Relaxed)
            && role.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // Made only where it is free: dropping it gives it back.
        free.then(|| Self { flow, unwinding: std::thread::panicking() })
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.unwinding {
            self.flow.stop();
        }
        self.flow.role.0.store(false, Ordering::Release);
    }
}

impl Flow {
    /// A transfer in blocks of so many pieces each (none of 0), through so many slots (at least one).
    pub(super) fn new(way: Way, slots: usize, pieces: impl Iterator<Item = usize>) -> Self {
        let mut all = 0;
        let rest = pieces.inspect(|pieces| all += pieces).map(AtomicUsize::new).collect();
        Self {
            way,
            slots,
            pieces: all,
            rest,
            next: Apart(AtomicUsize::new(0)),
            submitted: Apart(AtomicUsize::new(0)),
            completed: Apart(AtomicUsize::new(0)),
            role: Apart(AtomicBool::new(false)),
            stopped: AtomicBool::new(false),
        }
    }

    /// The next piece, for the caller to move; none once all are claimed, or the transfer is stopped.
    pub(super) fn claim(&self) -> Option<usize> {
        if self.is_stopped() {
            return None;
        }
        let piece = self.next.0.fetch_add(1, Ordering::Relaxed);
        (piece < self.pieces).then_some(piece)
    }

    /// Whether pieces of a block may be moved now.
    pub(super) fn may_move(&self, block: usize) -> bool {
        let completed = self.completed.0.load(Ordering::Acquire);
        match self.way {
            Way::Up => block < completed + self.slots,
            Way::Down => block < completed,
        }
    }

    /// A piece of a block has been moved. Whether it was the last one of the block: then [`Self::drive`] is to be called.
    pub(super) fn moved(&self, block: usize) -> bool {
        let last = self.rest[block].fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            fence(Ordering::SeqCst);
        }
        last
    }

    /// Whether the device is done with everything.
    pub(super) fn is_completed(&self) -> bool {
        self.completed.0.load(Ordering::Acquire) == self.rest.len()
    }

    /// Ends the transfer before its time: nothing more is claimed or submitted.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the transfer was ended before its time.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Submits what can be submitted, no more than `most` blocks.
    ///
    /// # Errors
    /// What the driver fails with. The transfer is then stopped.
    pub(super) fn begin<D: Driver>(&self, driver: &D, most: usize) -> Result<(), D::Error> {
        if let Some(_role) = Role::take(self) {
            self.submit(driver, most)?;
        }
        Ok(())
    }

    /// Submits all that can be submitted, and asks what is over, unless another thread is at it. Whether there was anything.
    ///
    /// # Errors
    /// What the driver fails with. The transfer is then stopped.
    pub(super) fn drive<D: Driver>(&self, driver: &D) -> Result<bool, D::Error> {
        let mut did = false;
        loop {
            let Some(role) = Role::take(self) else { return Ok(did) };
            did |= self.submit(driver, usize::MAX)?;
            did |= self.ask(driver)?;
            drop(role);
            fence(Ordering::SeqCst);
            if self.is_stopped() || !self.may_submit() {
                return Ok(did);
            }
        }
    }

    fn may_submit(&self) -> bool {
        let block = self.submitted.0.load(Ordering::Relaxed);
        // Down: the block that had the slot before.
        let needs = match self.way {
            Way::Up => Some(block),
            Way::Down => block.checked_sub(self.slots),
        };
        block < self.rest.len() && needs.is_none_or(|block| self.rest[block].load(Ordering::Acquire) == 0)
    }

    /// With the role: submits blocks.
    fn submit<D: Driver>(&self, driver: &D, most: usize) -> Result<bool, D::Error> {
        let mut count = 0;
        while count < most && !self.is_stopped() && self.may_submit() {
            let block = self.submitted.0.load(Ordering::Relaxed);
            driver.submit(block).inspect_err(|_| self.stop())?;
            self.submitted.0.store(block + 1, Ordering::Relaxed);
            count += 1;
        }
        Ok(count > 0)
    }

    /// With the role: asks which blocks are over.
    fn ask<D: Driver>(&self, driver: &D) -> Result<bool, D::Error> {
        let before = self.completed.0.load(Ordering::Relaxed);
        let submitted = self.submitted.0.load(Ordering::Relaxed);
        let mut completed = before;
        while completed < submitted && driver.is_done(completed).inspect_err(|_| self.stop())? {
            completed += 1;
            self.completed.0.store(completed, Ordering::Release);
        }
        Ok(completed > before)
    }
}
