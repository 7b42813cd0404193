//! Slots: a stream's identity in the books, which outlives its handle.
#![expect(unsafe_code, reason = "declares functions that are told what is so")]

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::clock::{Brief, Clock, SlotId, Stamp, Tick};
use crate::device::{DeviceBook, Kind};
#[cfg(not(loom))]
use crate::lock::{Lock, LockGuard};
use crate::policy::Policy;
use crate::primitives::{Arc, AtomicBool, AtomicU64, Mutex};
// Loom looks at what locks guard and not at how they are made: `tests/lock_loom.rs` does that.
#[cfg(loom)]
use crate::primitives::{Mutex as Lock, MutexGuard as LockGuard};
use crate::waits::Waits;

/// How a slot's stream can be waited for. The numbers are raw handles, which mean nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By recording an event on this stream.
    Stream(usize),
    /// By waiting for this event: the stream itself is gone.
    Event(usize),
    /// Only by waiting for the whole device.
    Device,
    /// Not at all, and it need not be: all that the slot stands for is over, and the stream, of which a graph
    /// is being made, is not to be touched.
    Over,
}

/// What one operation at a time changes: the stream's own end of its queue. In the order that [`Slot`] counts
/// on.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Lane {
    /// Of a blocking stream: what the legacy stream had done when this one last did something after it. Of
    /// the legacy stream: 1 while `pending` has something, else 0.
    pub(crate) legacy_epoch: u64,
    /// What everything that the stream does from now on is ordered after.
    pub(crate) clock: Clock,
    /// What the port keeps with the stream; see [`Port::order`](crate::Port::order).
    pub(crate) kept: usize,
    /// What the next operation will be ordered after by the legacy rule, once it is really issued.
    pub(crate) pending: Clock,
    /// The epoch that `pending` is about; of blocking streams only.
    pub(crate) pending_epoch: u64,
    /// Whether `clock` has grown since the legacy stream last told its device's page; of the legacy stream
    /// only.
    pub(crate) untold: bool,
}

/// A lane, locked.
pub(crate) type LaneGuard<'a> = LockGuard<'a, Lane>;

/// A stream's identity in the books.
///
/// All that most operations look at is in the first 64 bytes, the lane's lock and epoch included: between two
/// operations the driver has run, and each line of the cache has to be fetched again.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Slot {
    /// Operations handed to CUDA, or given up. Ticks go on for ever, whatever stream has the slot.
    submitted: AtomicU64,
    /// The operations that a synchronisation of the stream proves complete; see [`Slot::publish`].
    provable: AtomicU64,
    pub(crate) device: Arc<DeviceBook>,
    /// Its number.
    pub id: SlotId,
    /// How it relates to the legacy stream.
    pub kind: Kind,
    /// Whether the policy is to order what the program does not. Changed only by who has the lane locked.
    pub(crate) orders: AtomicBool,
    pub(crate) lane: Lock<Lane>,
    outside: Outside,
}

/// What others look at, who are not giving the stream anything: one line of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Outside {
    /// Operations known to have completed.
    completed: AtomicU64,
    /// [`Lane::clock`] in short, for others to read: [`Brief`]. Who has the lane stores it, but where it says
    /// that there is more, or is to say so, only under the lock of `known`: then somebody else may be making
    /// that less, as far as it is over.
    brief: AtomicU64,
    /// A leaf lock too, but held over the CUDA calls that use the handle, so that it cannot go away under
    /// them. As a rule one thread's affair, as the lane is.
    reach: Lock<Reach>,
    /// Whether the stream was given a fill of pinned memory since somebody asked.
    filled: AtomicBool,
    /// The waits that were added to it.
    waits: Waits,
    /// `Lane::clock` where `brief` says that there is more. A leaf lock: nothing is called while it is held.
    known: Mutex<Clock>,
}

impl Slot {
    /// A slot that has done nothing yet.
    pub(crate) fn new(id: SlotId, kind: Kind, device: Arc<DeviceBook>, reach: Reach, policy: Policy) -> Self {
        let lane = Lane {
            clock: Clock::new(),
            kept: 0,
            legacy_epoch: 0,
            pending: Clock::new(),
            pending_epoch: 0,
            untold: false,
        };
        Self {
            submitted: AtomicU64::new(0),
            provable: AtomicU64::new(0),
            lane: Lock::new(lane),
            id,
            kind,
            orders: AtomicBool::new(policy == Policy::Order),
            device,
            outside: Outside {
                completed: AtomicU64::new(0),
                brief: AtomicU64::new(Brief::Nothing.pack()),
                reach: Lock::new(reach),
                filled: AtomicBool::new(false),
                waits: Waits::new(),
                known: Mutex::new(Clock::new()),
            },
        }
    }

    /// The number of its device.
    #[must_use]
    #[inline]
    pub fn device(&self) -> i32 {
        self.device.ordinal
    }

    /// The last operation handed to CUDA.
    #[inline]
    pub fn submitted(&self) -> Tick {
        self.submitted.load(Acquire)
    }

    /// The next operation, for whoever has the lane locked.
    #[inline]
    pub(crate) fn next_by_owner(&self) -> Stamp {
        Stamp { slot: self.id, tick: self.submitted.load(Relaxed) + 1 }
    }

    /// The last operation known to have completed.
    #[inline]
    pub fn completed(&self) -> Tick {
        self.outside.completed.load(Acquire)
    }

    /// The last operation that the end of everything on the stream now would prove complete.
    #[inline]
    pub(crate) fn provable(&self) -> Tick {
        self.provable.load(Acquire)
    }

    /// Whether nothing of the stream can still be running.
    pub fn is_drained(&self) -> bool {
        self.completed() >= self.submitted()
    }

    /// Publishes operation `tick`. `proven` says whether the end of the stream's queue, as it now is, proves
    /// all its operations complete, and with them all that was taken off the ledgers on their account.
    ///
    /// That is not so after an operation that CUDA refused and that the legacy rule alone would have ordered:
    /// the stream's *next* operation will be behind the legacy stream, but there may be none.
    #[inline]
    pub(crate) fn publish(&self, tick: Tick, proven: bool) {
        if proven {
            self.provable.store(tick, Release);
        }
        self.submitted.store(tick, Release);
    }

    /// Whether CUDA has refused none of the stream's operations since the last one that it did, for whoever
    /// has the lane locked: then even what is read during the call of the next one is behind all of them.
    #[inline]
    pub(crate) fn is_solid(&self) -> bool {
        self.provable.load(Relaxed) == self.submitted.load(Relaxed)
    }

    /// The stream has really done something: all that is submitted is provable again.
    #[inline]
    pub(crate) fn made_provable(&self) {
        self.provable.store(self.submitted.load(Relaxed), Release);
    }

    /// Whether the legacy rule has nothing to say about the stream's next operation, for whoever has the lane
    /// locked.
    #[inline]
    pub(crate) fn is_caught_up(&self, lane: &Lane) -> bool {
        match self.kind {
            Kind::NonBlocking => true,
            Kind::Legacy => !self.device.has_news() && lane.legacy_epoch == 0,
            Kind::Blocking | Kind::PerThread => self.device.epoch() == lane.legacy_epoch,
        }
    }

    /// Notes that operation `tick` and all before it have completed.
    ///
    /// # Safety
    /// They have.
    #[inline]
    pub unsafe fn complete(&self, tick: Tick) {
        if self.completed() < tick {
            self.outside.completed.fetch_max(tick, std::sync::atomic::Ordering::AcqRel);
        }
    }

    /// All that the stream is ordered after, for another stream or thread.
    #[inline]
    pub(crate) fn known(&self) -> Clock {
        let mut clock = Clock::new();
        match self.brief() {
            Brief::Nothing => {}
            Brief::One(stamp) => {
                clock.add(stamp);
            }
            Brief::Many => self.with_many(|known| clock.merge(known)),
        }
        clock
    }

    /// The same in short.
    #[inline]
    pub(crate) fn brief(&self) -> Brief {
        Brief::unpack(self.outside.brief.load(Acquire))
    }

    /// Calls `with` with all that the stream is ordered after, where that is too much to be told in short.
    #[cold]
    #[inline(never)]
    fn with_many<R>(&self, with: impl FnOnce(&mut Clock) -> R) {
        let mut known = self.outside.known.lock();
        // It may have become less before the lock was there, and nothing is in the clock then.
        match self.brief() {
            Brief::Many => {
                with(&mut known);
                if known.brief() != Brief::Many {
                    let left = known.clone();
                    self.share_locked(&mut known, &left);
                }
            }
            Brief::Nothing => {}
            Brief::One(stamp) => {
                let mut one = Clock::new();
                one.add(stamp);
                with(&mut one);
            }
        }
    }

    /// Adds what the stream is ordered after to `clock`, but for what `completed` says is over.
    ///
    /// One that misses what the stream learns at the same moment claims less than it could, which is no harm.
    #[inline]
    pub(crate) fn pending_known_into(&self, clock: &mut Clock, completed: impl Fn(Stamp) -> bool) {
        match self.brief() {
            Brief::Nothing => {}
            Brief::One(stamp) if completed(stamp) => {}
            Brief::One(stamp) => {
                clock.add(stamp);
            }
            Brief::Many => self.with_many(|known| {
                known.prune(&completed);
                clock.merge(known);
            }),
        }
    }

    /// Whether the stream is known by others to be ordered after `stamp`.
    pub(crate) fn is_known_after(&self, stamp: Stamp) -> bool {
        self.known().covers(stamp)
    }

    /// Lets others see a changed clock.
    #[inline]
    pub(crate) fn share(&self, lane: &mut Lane) {
        let brief = lane.clock.brief();
        self.share_brief(lane, brief);
    }

    /// [`share`](Self::share) by who knows what the clock is in short.
    #[inline]
    pub(crate) fn share_brief(&self, lane: &mut Lane, brief: Brief) {
        let (bits, many) = (brief.pack(), Brief::Many.pack());
        if bits == many || self.outside.brief.load(Relaxed) == many {
            self.share_many(&lane.clock);
        } else {
            self.outside.brief.store(bits, Release);
        }
        if self.kind != Kind::NonBlocking {
            self.share_with_device(lane);
        }
    }

    /// Tells the device's page that there is something to tell the legacy stream, or that this one has it.
    #[cold]
    #[inline(never)]
    fn share_with_device(&self, lane: &mut Lane) {
        lane.untold |= self.kind == Kind::Legacy;
        self.device.note_news(self.kind);
    }

    #[cold]
    #[inline(never)]
    fn share_many(&self, clock: &Clock) {
        self.share_locked(&mut self.outside.known.lock(), clock);
    }

    fn share_locked(&self, known: &mut Clock, clock: &Clock) {
        let brief = clock.brief();
        *known = if brief == Brief::Many { clock.clone() } else { Clock::new() };
        self.outside.brief.store(brief.pack(), Release);
    }

    /// The waits that were added to the stream.
    #[inline]
    pub(crate) fn waits(&self) -> &Waits {
        &self.outside.waits
    }

    /// Notes that the stream is given a fill of pinned memory. To be called, as the next one, by who has the
    /// lane locked.
    #[inline]
    pub fn note_fill(&self) {
        self.outside.filled.store(true, Relaxed);
    }

    /// Whether one was noted; asking takes the note.
    ///
    /// # Safety
    /// The caller sees to it that a batch of copies does not directly follow the fill.
    #[inline]
    pub unsafe fn take_fill(&self) -> bool {
        let noted = self.outside.filled.load(Relaxed);
        if noted {
            self.outside.filled.store(false, Relaxed);
        }
        noted
    }

    /// Takes away what the port keeps with the stream.
    pub fn forget_kept(&self) {
        self.lane.lock().kept = 0;
    }

    /// How the stream can be waited for; the handle stays valid while the guard lives.
    #[inline]
    pub fn reach(&self) -> impl Deref<Target = Reach> {
        self.outside.reach.lock()
    }

    /// The same, to be changed.
    ///
    /// # Safety
    /// A stream can be waited for as it says. Where it says that nothing is to be waited for, that is so.
    #[inline]
    pub unsafe fn reach_mut(&self) -> impl DerefMut<Target = Reach> {
        self.outside.reach.lock()
    }
}
