//! Timelines: the identities of streams in the tracker, which outlive their handles.
#![expect(unsafe_code, reason = "declares functions whose callers vouch for what they state")]

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::clock::{Epoch, SequenceNumber, TimelineId, VectorClock};
use crate::device::{DeviceTimelines, Kind};
#[cfg(not(loom))]
use crate::lock::{Lock, LockGuard};
use crate::policy::Policy;
use crate::primitives::{Arc, AtomicBool, AtomicU32, AtomicU64, Mutex};
// Loom checks what the locks guard here. `tests/interleavings/lock.rs` checks how they are made.
#[cfg(loom)]
use crate::primitives::{Mutex as Lock, MutexGuard as LockGuard};

/// The handle to wait for in order to wait for a timeline's stream. The numbers are raw handles, which this
/// crate does not interpret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    /// An event recorded on this stream.
    Stream(usize),
    /// This event: the stream itself is gone.
    Event(usize),
    /// The whole device; there is nothing less to wait for.
    Device,
    /// Nothing: everything that the timeline stands for has completed. A graph is being captured from the
    /// stream, so the stream must not be touched.
    Nothing,
}

/// The facts about an operation between its begin and its commit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    /// Whether it is an action: it surely puts something on the stream.
    pub(crate) is_action: bool,
    /// Whether the legacy rule has a pending clock for it, which the stream joins if it succeeds.
    pub(crate) takes_pending: bool,
    /// Whether CUDA took it.
    pub(crate) done: bool,
}

/// The submitting side of a stream, which one operation at a time changes. [`Timeline`] relies on the order
/// of the fields.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SubmitState {
    /// Of a blocking stream: the count of the legacy stream's actions when this stream last joined its clock.
    /// Of the legacy stream: 1 while `pending` holds anything, else 0.
    pub(crate) legacy_seen: u64,
    /// The operation that is being submitted.
    pub(crate) in_flight: InFlight,
    /// The order of everything that the stream is given from now on.
    pub(crate) clock: VectorClock,
    /// A number that the backend stores with the stream; see
    /// [`EventBackend::order`](crate::EventBackend::order).
    pub(crate) backend_data: usize,
    /// The next operation is ordered after this by the legacy rule, once it has really been submitted.
    pub(crate) pending: VectorClock,
    /// The count of the legacy stream's actions that `pending` covers; of blocking streams only.
    pub(crate) pending_seen: u64,
    /// Whether `clock` has grown since the device's record of the legacy stream last joined it; of the legacy
    /// stream only.
    pub(crate) unshared: bool,
}

/// A name of a stream: its timeline, and how many streams had that before.
pub type StreamName = (TimelineId, u32);

/// A locked submit state.
pub(crate) type SubmitStateGuard<'a> = LockGuard<'a, SubmitState>;

/// The identity of a stream in the tracker.
///
/// Most operations look only at the first 64 bytes, which include the submit state's lock and first field:
/// between two operations the driver has run, and each cache line has to be fetched again.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Timeline {
    /// Operations that were handed to CUDA or given up. Sequence numbers never restart, whatever stream has
    /// the timeline.
    submitted: AtomicU64,
    /// The last operation that a synchronisation of the stream proves complete; see [`Timeline::publish`].
    sync_covered: AtomicU64,
    pub(crate) device: Arc<DeviceTimelines>,
    /// Its number.
    pub id: TimelineId,
    /// Its relation to the legacy stream.
    pub kind: Kind,
    /// Whether the policy is to order what the program does not. Changes only under the submit state's lock.
    pub(crate) orders: AtomicBool,
    pub(crate) state: Lock<SubmitState>,
    shared: SharedState,
}

/// The side that threads read without submitting to the stream: on cache lines of its own.
#[derive(Debug)]
#[repr(C, align(64))]
struct SharedState {
    /// The last operation that is known to have completed.
    completed: AtomicU64,
    /// A leaf lock too, but held over the CUDA calls that use the handle, so that the handle stays valid
    /// during them. As a rule one thread uses it, as with the submit state.
    wait_target: Lock<WaitTarget>,
    backend_flag: AtomicBool,
    /// How many streams had the timeline before.
    former_streams: AtomicU32,
    /// [`SubmitState::clock`] for other threads. The holder of the submit state stores it. Entries that have
    /// completed may be missing. A leaf lock: nothing is called while it is held.
    clock: Mutex<VectorClock>,
}

impl Timeline {
    /// Creates a timeline without operations.
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
            in_flight: InFlight::default(),
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
                wait_target: Lock::new(wait_target),
                backend_flag: AtomicBool::new(false),
                former_streams: AtomicU32::new(0),
                clock: Mutex::new(VectorClock::new()),
            },
        }
    }

    /// Returns the number of its device.
    #[must_use]
    #[inline]
    pub fn device(&self) -> i32 {
        self.device.ordinal
    }

    /// Returns a name of the stream that has the timeline now: another stream with it has another name.
    #[must_use]
    pub fn stream_name(&self) -> StreamName {
        (self.id, self.shared.former_streams.load(Relaxed))
    }

    /// Notes that a new stream has the timeline. Who gets the stream from this thread sees its new name.
    pub fn begin_stream(&self) {
        self.shared.former_streams.fetch_add(1, Relaxed);
    }

    /// Returns the last operation that was handed to CUDA or given up.
    #[inline]
    pub fn submitted(&self) -> SequenceNumber {
        self.submitted.load(Acquire)
    }

    /// Returns the epoch of the next operation, for the thread that holds the submit state.
    #[inline]
    pub(crate) fn next_by_owner(&self) -> Epoch {
        Epoch { timeline: self.id, sequence: self.submitted.load(Relaxed) + 1 }
    }

    /// Returns the last operation that is known to have completed.
    #[inline]
    pub fn completed(&self) -> SequenceNumber {
        self.shared.completed.load(Acquire)
    }

    /// Returns the last operation that the end of everything on the stream now would prove complete.
    #[inline]
    pub(crate) fn sync_covered(&self) -> SequenceNumber {
        self.sync_covered.load(Acquire)
    }

    /// Returns whether everything that was submitted has completed.
    pub fn is_drained(&self) -> bool {
        self.completed() >= self.submitted()
    }

    /// Publishes operation `sequence`. `proven` tells whether the end of the stream's queue, as it now is,
    /// proves all the stream's operations complete, and with them every entry that the access histories
    /// dropped in their favour.
    ///
    /// It does not after an operation that CUDA refused and that only the legacy rule would have ordered: the
    /// stream's *next* operation will be ordered after the legacy stream, but there may be none.
    #[inline]
    pub(crate) fn publish(&self, sequence: SequenceNumber, proven: bool) {
        if proven {
            self.sync_covered.store(sequence, Release);
        }
        self.submitted.store(sequence, Release);
    }

    /// Returns whether CUDA has refused none of the stream's operations since the last one that it took, for
    /// the thread that holds the submit state. Then even what the next operation reads during its call is
    /// ordered after all of them.
    #[inline]
    pub(crate) fn is_sync_covered(&self) -> bool {
        self.sync_covered.load(Relaxed) == self.submitted.load(Relaxed)
    }

    /// Notes that the stream has really done something: the end of its queue again proves everything that was
    /// submitted.
    #[inline]
    pub(crate) fn mark_sync_covered(&self) {
        self.sync_covered.store(self.submitted.load(Relaxed), Release);
    }

    /// Returns whether the legacy rule adds nothing to the stream's next operation, for the thread that holds
    /// the submit state.
    #[inline]
    pub(crate) fn is_caught_up(&self, state: &SubmitState) -> bool {
        // No `match`: the processor would mispredict its jump table after the driver's code.
        if matches!(self.kind, Kind::NonBlocking) {
            true
        } else if matches!(self.kind, Kind::Legacy) {
            !self.device.has_changes() && state.legacy_seen == 0
        } else {
            self.device.actions() == state.legacy_seen
        }
    }

    /// Notes that operation `sequence` and all before it have completed.
    ///
    /// # Safety
    /// They have completed.
    #[inline]
    pub unsafe fn complete(&self, sequence: SequenceNumber) {
        if self.completed() < sequence {
            self.shared.completed.fetch_max(sequence, std::sync::atomic::Ordering::AcqRel);
        }
    }

    /// Returns everything that the stream is ordered after, for another stream or thread.
    #[inline]
    pub(crate) fn published_clock(&self) -> VectorClock {
        let mut clock = VectorClock::new();
        self.join_pending_into(&mut clock, |_| false);
        clock
    }

    /// Joins `clock` with what the stream is ordered after, but for what `completed` returns true for.
    ///
    /// If the stream's clock grows at the same moment, the result may lack that. It then claims less than it
    /// could, which does no harm.
    #[inline]
    pub(crate) fn join_pending_into(&self, clock: &mut VectorClock, completed: impl Fn(Epoch) -> bool) {
        let mut published = self.shared.clock.lock();
        published.prune(completed);
        clock.join(&published);
    }

    /// Publishes a changed clock to other threads.
    #[inline]
    pub(crate) fn share(&self, state: &mut SubmitState) {
        self.shared.clock.lock().clone_from(&state.clock);
        if self.kind != Kind::NonBlocking {
            self.share_with_device(state);
        }
    }

    /// Notes for the device that the legacy stream has something to join, or that this legacy stream has
    /// something new.
    #[cold]
    #[inline(never)]
    fn share_with_device(&self, state: &mut SubmitState) {
        state.unshared |= self.kind == Kind::Legacy;
        if self.kind.blocking() {
            self.device.note_change();
        }
    }

    /// Returns a flag of the backend, `false` at first, whose meaning only the backend knows. While the
    /// submit state is locked, as during an operation, no other thread gives the stream anything.
    #[inline]
    pub fn backend_flag(&self) -> &AtomicBool {
        &self.shared.backend_flag
    }

    /// Clears the number that the backend stores with the stream.
    pub fn clear_backend_data(&self) {
        self.state.lock().backend_data = 0;
    }

    /// Returns what to wait for; its handle stays valid while the guard lives.
    #[inline]
    pub fn wait_target(&self) -> impl Deref<Target = WaitTarget> {
        self.shared.wait_target.lock()
    }

    /// Returns what to wait for, unless another thread uses the handle.
    #[inline]
    pub(crate) fn try_wait_target(&self) -> Option<LockGuard<'_, WaitTarget>> {
        self.shared.wait_target.try_lock()
    }

    /// Returns what to wait for, to be changed.
    ///
    /// # Safety
    /// - Waiting for the new value waits for the stream.
    /// - If the new value says that nothing is to be waited for, nothing is.
    #[inline]
    pub unsafe fn wait_target_mut(&self) -> impl DerefMut<Target = WaitTarget> {
        self.shared.wait_target.lock()
    }
}
