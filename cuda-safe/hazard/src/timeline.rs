//! Slots: a stream's identity in the tracker, which outlives its handle.
#![expect(unsafe_code, reason = "declares functions that are told what is so")]

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::clock::{ClockSummary, Epoch, SequenceNumber, TimelineId, VectorClock};
use crate::device::{DeviceTimelines, Kind};
#[cfg(not(loom))]
use crate::lock::{Lock, LockGuard};
use crate::policy::Policy;
use crate::primitives::{Arc, AtomicBool, AtomicU64, Mutex};
// Loom looks at what locks guard and not at how they are made: `tests/lock_loom.rs` does that.
#[cfg(loom)]
use crate::primitives::{Mutex as Lock, MutexGuard as LockGuard};
use crate::wait_log::WaitLog;

/// How a timeline's stream can be waited for. The numbers are raw handles, which mean nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    /// By recording an event on this stream.
    Stream(usize),
    /// By waiting for this event: the stream itself is gone.
    Event(usize),
    /// Only by waiting for the whole device.
    Device,
    /// Not at all, and it need not be: all that the timeline stands for is over, and the stream, of which a graph
    /// is being made, is not to be touched.
    Over,
}

/// What one operation at a time changes: the stream's own end of its queue. In the order that [`Timeline`] counts
/// on.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SubmitState {
    /// Of a blocking stream: what the legacy stream had done when this one last did something after it. Of
    /// the legacy stream: 1 while `pending` has something, else 0.
    pub(crate) legacy_seen: u64,
    /// What everything that the stream does from now on is ordered after.
    pub(crate) clock: VectorClock,
    /// What the port keeps with the stream; see [`EventBackend::order`](crate::EventBackend::order).
    pub(crate) backend_data: usize,
    /// What the next operation will be ordered after by the legacy rule, once it is really issued.
    pub(crate) pending: VectorClock,
    /// The epoch that `pending` is about; of blocking streams only.
    pub(crate) pending_seen: u64,
    /// Whether `clock` has grown since the legacy stream last told its device's page; of the legacy stream
    /// only.
    pub(crate) unshared: bool,
}

/// A submit state, locked.
pub(crate) type SubmitStateGuard<'a> = LockGuard<'a, SubmitState>;

/// A stream's identity in the tracker.
///
/// All that most operations look at is in the first 64 bytes, the submit state's lock and epoch included: between two
/// operations the driver has run, and each line of the cache has to be fetched again.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Timeline {
    /// Operations handed to CUDA, or given up. Ticks go on for ever, whatever stream has the timeline.
    submitted: AtomicU64,
    /// The operations that a synchronisation of the stream proves complete; see [`Timeline::publish`].
    sync_covered: AtomicU64,
    pub(crate) device: Arc<DeviceTimelines>,
    /// Its number.
    pub id: TimelineId,
    /// How it relates to the legacy stream.
    pub kind: Kind,
    /// Whether the policy is to order what the program does not. Changed only by who has the submit state locked.
    pub(crate) orders: AtomicBool,
    pub(crate) state: Lock<SubmitState>,
    shared: SharedState,
}

/// What others look at, who are not giving the stream anything: one line of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct SharedState {
    /// Operations known to have completed.
    completed: AtomicU64,
    /// [`SubmitState::clock`] in short, for others to read: [`ClockSummary`]. Who has the submit state stores it, but where it says
    /// that there is more, or is to say so, only under the lock of `known`: then somebody else may be making
    /// that less, as far as it is over.
    summary: AtomicU64,
    /// A leaf lock too, but held over the CUDA calls that use the handle, so that it cannot go away under
    /// them. As a rule one thread's affair, as the submit state is.
    wait_target: Lock<WaitTarget>,
    /// Whether the stream was given a fill of pinned memory since somebody asked.
    filled: AtomicBool,
    /// The waits that were added to it.
    waits: WaitLog,
    /// `SubmitState::clock` where `summary` says that there is more. A leaf lock: nothing is called while it is held.
    clock: Mutex<VectorClock>,
}

impl Timeline {
    /// A timeline that has done nothing yet.
    pub(crate) fn new(
        id: TimelineId,
        kind: Kind,
        device: Arc<DeviceTimelines>,
        wait_target: WaitTarget,
        policy: Policy,
    ) -> Self {
        let state = SubmitState {
            clock: VectorClock::new(),
            backend_data: 0,
            legacy_seen: 0,
            pending: VectorClock::new(),
            pending_seen: 0,
            unshared: false,
        };
        Self {
            submitted: AtomicU64::new(0),
            sync_covered: AtomicU64::new(0),
            state: Lock::new(state),
            id,
            kind,
            orders: AtomicBool::new(policy == Policy::Order),
            device,
            shared: SharedState {
                completed: AtomicU64::new(0),
                summary: AtomicU64::new(ClockSummary::Nothing.pack()),
                wait_target: Lock::new(wait_target),
                filled: AtomicBool::new(false),
                waits: WaitLog::new(),
                clock: Mutex::new(VectorClock::new()),
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
    pub fn submitted(&self) -> SequenceNumber {
        self.submitted.load(Acquire)
    }

    /// The next operation, for whoever has the submit state locked.
    #[inline]
    pub(crate) fn next_by_owner(&self) -> Epoch {
        Epoch { timeline: self.id, sequence: self.submitted.load(Relaxed) + 1 }
    }

    /// The last operation known to have completed.
    #[inline]
    pub fn completed(&self) -> SequenceNumber {
        self.shared.completed.load(Acquire)
    }

    /// The last operation that the end of everything on the stream now would prove complete.
    #[inline]
    pub(crate) fn sync_covered(&self) -> SequenceNumber {
        self.sync_covered.load(Acquire)
    }

    /// Whether nothing of the stream can still be running.
    pub fn is_drained(&self) -> bool {
        self.completed() >= self.submitted()
    }

    /// Publishes operation `sequence`. `proven` says whether the end of the stream's queue, as it now is, proves
    /// all its operations complete, and with them all that was taken off the access histories on their account.
    ///
    /// That is not so after an operation that CUDA refused and that the legacy rule alone would have ordered:
    /// the stream's *next* operation will be behind the legacy stream, but there may be none.
    #[inline]
    pub(crate) fn publish(&self, sequence: SequenceNumber, proven: bool) {
        if proven {
            self.sync_covered.store(sequence, Release);
        }
        self.submitted.store(sequence, Release);
    }

    /// Whether CUDA has refused none of the stream's operations since the last one that it did, for whoever
    /// has the submit state locked: then even what is read during the call of the next one is behind all of them.
    #[inline]
    pub(crate) fn is_sync_covered(&self) -> bool {
        self.sync_covered.load(Relaxed) == self.submitted.load(Relaxed)
    }

    /// The stream has really done something: all that is submitted is sync_covered again.
    #[inline]
    pub(crate) fn mark_sync_covered(&self) {
        self.sync_covered.store(self.submitted.load(Relaxed), Release);
    }

    /// Whether the legacy rule has nothing to say about the stream's next operation, for whoever has the submit state
    /// locked.
    #[inline]
    pub(crate) fn is_caught_up(&self, state: &SubmitState) -> bool {
        match self.kind {
            Kind::NonBlocking => true,
            Kind::Legacy => !self.device.has_changes() && state.legacy_seen == 0,
            Kind::Blocking | Kind::PerThread => self.device.actions() == state.legacy_seen,
        }
    }

    /// Notes that operation `sequence` and all before it have completed.
    ///
    /// # Safety
    /// They have.
    #[inline]
    pub unsafe fn complete(&self, sequence: SequenceNumber) {
        if self.completed() < sequence {
            self.shared.completed.fetch_max(sequence, std::sync::atomic::Ordering::AcqRel);
        }
    }

    /// All that the stream is ordered after, for another stream or thread.
    #[inline]
    pub(crate) fn published_clock(&self) -> VectorClock {
        let mut clock = VectorClock::new();
        match self.summary() {
            ClockSummary::Nothing => {}
            ClockSummary::One(epoch) => {
                clock.add(epoch);
            }
            ClockSummary::Many => self.with_published_clock(|published| clock.join(published)),
        }
        clock
    }

    /// The same in short.
    #[inline]
    pub(crate) fn summary(&self) -> ClockSummary {
        ClockSummary::unpack(self.shared.summary.load(Acquire))
    }

    /// Calls `with` with all that the stream is ordered after, where that is too much to be told in short.
    #[cold]
    #[inline(never)]
    fn with_published_clock<R>(&self, with: impl FnOnce(&mut VectorClock) -> R) {
        let mut published = self.shared.clock.lock();
        // It may have become less before the lock was there, and nothing is in the clock then.
        match self.summary() {
            ClockSummary::Many => {
                with(&mut published);
                if published.summary() != ClockSummary::Many {
                    let left = published.clone();
                    self.share_locked(&mut published, &left);
                }
            }
            ClockSummary::Nothing => {}
            ClockSummary::One(epoch) => {
                let mut one = VectorClock::new();
                one.add(epoch);
                with(&mut one);
            }
        }
    }

    /// Adds what the stream is ordered after to `clock`, but for what `completed` says is over.
    ///
    /// One that misses what the stream learns at the same moment claims less than it could, which is no harm.
    #[inline]
    pub(crate) fn join_pending_into(&self, clock: &mut VectorClock, completed: impl Fn(Epoch) -> bool) {
        match self.summary() {
            ClockSummary::Nothing => {}
            ClockSummary::One(epoch) if completed(epoch) => {}
            ClockSummary::One(epoch) => {
                clock.add(epoch);
            }
            ClockSummary::Many => self.with_published_clock(|published| {
                published.prune(&completed);
                clock.join(published);
            }),
        }
    }

    /// Whether the stream is known by others to be ordered after `enter`.
    pub(crate) fn is_ordered_after(&self, epoch: Epoch) -> bool {
        self.published_clock().covers(epoch)
    }

    /// Lets others see a changed clock.
    #[inline]
    pub(crate) fn share(&self, state: &mut SubmitState) {
        let summary = state.clock.summary();
        self.share_summary(state, summary);
    }

    /// [`share`](Self::share) by who knows what the clock is in short.
    #[inline]
    pub(crate) fn share_summary(&self, state: &mut SubmitState, summary: ClockSummary) {
        let (bits, many) = (summary.pack(), ClockSummary::Many.pack());
        if bits == many || self.shared.summary.load(Relaxed) == many {
            self.share_many(&state.clock);
        } else {
            self.shared.summary.store(bits, Release);
        }
        if self.kind != Kind::NonBlocking {
            self.share_with_device(state);
        }
    }

    /// Tells the device's page that there is something to tell the legacy stream, or that this one has it.
    #[cold]
    #[inline(never)]
    fn share_with_device(&self, state: &mut SubmitState) {
        state.unshared |= self.kind == Kind::Legacy;
        self.device.note_change(self.kind);
    }

    #[cold]
    #[inline(never)]
    fn share_many(&self, clock: &VectorClock) {
        self.share_locked(&mut self.shared.clock.lock(), clock);
    }

    fn share_locked(&self, published: &mut VectorClock, clock: &VectorClock) {
        let summary = clock.summary();
        *published = if summary == ClockSummary::Many { clock.clone() } else { VectorClock::new() };
        self.shared.summary.store(summary.pack(), Release);
    }

    /// The waits that were added to the stream.
    #[inline]
    pub(crate) fn waits(&self) -> &WaitLog {
        &self.shared.waits
    }

    /// Notes that the stream is given a fill of pinned memory. To be called, as the next one, by who has the
    /// submit state locked.
    #[inline]
    pub fn note_fill(&self) {
        self.shared.filled.store(true, Relaxed);
    }

    /// Whether one was noted; asking takes the note.
    ///
    /// # Safety
    /// The caller sees to it that a batch of copies does not directly follow the fill.
    #[inline]
    pub unsafe fn take_fill(&self) -> bool {
        let noted = self.shared.filled.load(Relaxed);
        if noted {
            self.shared.filled.store(false, Relaxed);
        }
        noted
    }

    /// Takes away what the port keeps with the stream.
    pub fn clear_backend_data(&self) {
        self.state.lock().backend_data = 0;
    }

    /// How the stream can be waited for; the handle stays valid while the guard lives.
    #[inline]
    pub fn wait_target(&self) -> impl Deref<Target = WaitTarget> {
        self.shared.wait_target.lock()
    }

    /// The same, to be changed.
    ///
    /// # Safety
    /// A stream can be waited for as it says. Where it says that nothing is to be waited for, that is so.
    #[inline]
    pub unsafe fn wait_target_mut(&self) -> impl DerefMut<Target = WaitTarget> {
        self.shared.wait_target.lock()
    }
}
