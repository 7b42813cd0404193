//! The readers of an allocation that several streams read without an order between them.
//!
//! FastTrack keeps one epoch while the reads are ordered, and a vector clock only while they are not. This is
//! that clock: one slot for each timeline. A stream that reads again stores its sequence number in its slot.
//! It takes no lock, looks at no other slot, and writes to no cache line that another stream uses.
//!
//! The last-access word says whether the readers are in use. They are in use for a *period*, from the read
//! that finds an unordered one before it to the next access of another kind. Slots are never cleared: each
//! says of which period its number is.
//!
//! # Why no read is overlooked
//! A stream reads for the first time in a period under the lock, and finds the word unchanged there. A
//! thread that ends a period changes the word first and then takes the readers under the same lock. So the
//! one finds the word changed, or the other finds the read. A stream that reads again takes no lock: it
//! stores its number, and then looks at the word and the period once more, with a sequentially consistent
//! fence between the two steps. If both are unchanged, the thread that ends the period finds the number. If
//! not, the operation gives its sequence number up and starts again, because it may already count as one that
//! came first.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::clock::{Epoch, TimelineId};
use crate::primitives::{AtomicU64, Mutex, MutexGuard, Once, fence};
use crate::tracker::{BLOCKS, block_size, position};

/// Bits of the sequence number in a slot; the others are of the period.
const SEQUENCE_BITS: u32 = 48;

/// One reader's last read, on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Slot(AtomicU64);

/// The readers of one allocation.
#[derive(Debug)]
pub(crate) struct Readers {
    /// The number of the period. Changes only under the lock.
    period: AtomicU64,
    known: Mutex<KnownReads>,
    /// A slot for each timeline, in blocks as the tracker's.
    blocks: [Once<Box<[Slot]>>; BLOCKS],
}

/// Where the reads of a period are.
#[derive(Debug)]
struct KnownReads {
    /// The last read before the period.
    earlier: Option<Epoch>,
    /// The timelines with a read in their slots.
    timelines: Vec<TimelineId>,
}

/// The locked readers.
pub(crate) struct LockedReaders<'a> {
    readers: &'a Readers,
    known: MutexGuard<'a, KnownReads>,
}

impl Readers {
    /// Creates readers that are not in use.
    pub(crate) fn new() -> Self {
        Self {
            period: AtomicU64::new(0),
            known: Mutex::new(KnownReads { earlier: None, timelines: Vec::new() }),
            blocks: std::array::from_fn(|_| Once::new()),
        }
    }

    /// Locks the readers.
    pub(crate) fn lock(&self) -> LockedReaders<'_> {
        LockedReaders { readers: self, known: self.known.lock() }
    }

    /// Enters one more read of a stream that has read in this period, whose last read `replaceable` returns
    /// true for. Returns `None`, with nothing entered, for any other. Otherwise returns whether the period
    /// goes on: `is_current` looks at the last-access word.
    #[inline]
    pub(crate) fn read_again(
        &self,
        me: Epoch,
        replaceable: impl FnOnce(Epoch) -> bool,
        is_current: impl FnOnce() -> bool,
    ) -> Option<bool> {
        let period = self.period.load(Acquire);
        let (block, at) = position(me.timeline);
        let slot = &self.blocks.get(block)?.get()?.get(at)?.0;
        let last = self.read(period, me.timeline, slot.load(Relaxed))?;
        if me.sequence >> SEQUENCE_BITS != 0 || !replaceable(last) {
            return None;
        }
        slot.store(pack(period, me), Release);
        // Pairs with the fence of `LockedReaders::end`.
        fence(SeqCst);
        Some(is_current() && self.period.load(Acquire) == period)
    }

    /// Returns the read in a slot, if it is of this period.
    #[inline]
    fn read(&self, period: u64, timeline: TimelineId, bits: u64) -> Option<Epoch> {
        let sequence = bits & ((1 << SEQUENCE_BITS) - 1);
        let epoch = Epoch { timeline, sequence };
        (sequence != 0 && pack(period, epoch) == bits).then_some(epoch)
    }

    fn slot(&self, timeline: TimelineId) -> Option<&AtomicU64> {
        let (block, at) = position(timeline);
        let slots = || (0..block_size(timeline)).map(|_| Slot(AtomicU64::new(0))).collect();
        Some(&self.blocks.get(block)?.get_or_init(slots).get(at)?.0)
    }
}

impl LockedReaders<'_> {
    /// Begins a period after the read `earlier`. The word does not say yet that the readers are in use.
    pub(crate) fn begin(&mut self, earlier: Option<Epoch>) {
        self.known.timelines.clear();
        self.known.earlier = earlier;
        self.readers.period.store(self.readers.period.load(Relaxed) + 1, Release);
    }

    /// Enters a read. Returns false, with nothing entered, if its number does not fit, or if the stream has
    /// read in this period and `replaceable` returns false for that read.
    #[must_use]
    pub(crate) fn add(&mut self, me: Epoch, replaceable: impl FnOnce(Epoch) -> bool) -> bool {
        let period = self.readers.period.load(Relaxed);
        let Some(slot) = self.readers.slot(me.timeline) else { return false };
        if me.sequence >> SEQUENCE_BITS != 0 {
            return false;
        }
        match self.readers.read(period, me.timeline, slot.load(Relaxed)) {
            Some(last) if !replaceable(last) => return false,
            Some(_) => {}
            None => self.known.timelines.push(me.timeline),
        }
        slot.store(pack(period, me), Release);
        true
    }

    /// Returns the reads of the period.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Epoch> {
        let period = self.readers.period.load(Relaxed);
        let slots = self.known.timelines.iter().filter_map(move |timeline| {
            self.readers.read(period, *timeline, self.readers.slot(*timeline)?.load(Acquire))
        });
        self.known.earlier.into_iter().chain(slots)
    }

    /// Ends the period, after the last-access word was changed. `take` is given its reads.
    pub(crate) fn end<R>(mut self, take: impl FnOnce(&Self) -> R) -> R {
        // Pairs with the fence of `read_again`.
        fence(SeqCst);
        let taken = take(&self);
        self.begin(None);
        taken
    }
}

/// Returns the bits of a slot.
#[inline]
fn pack(period: u64, read: Epoch) -> u64 {
    (period << SEQUENCE_BITS) | read.sequence
}
