//! The tracker as a whole: every timeline, every device, the policy, the added waits.
#![expect(unsafe_code, reason = "declares functions whose callers vouch for streams")]

use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::clock::{Epoch, TimelineId, VectorClock};
use crate::device::{DeviceTimelines, Kind};
use crate::policy::Policy;
use crate::primitives::{Arc, AtomicU32, Mutex, OnceLock, constructor};
use crate::timeline::{Timeline, WaitTarget};
use crate::wait_log::{AddedWait, WaitLog};

/// Timelines in the first block; each further block is as large as all before it together.
const FIRST_BLOCK: u32 = 64;
/// The most blocks, which allow two million timelines.
pub(crate) const BLOCKS: usize = 16;
/// No policy is chosen yet.
const UNSET: u32 = u32::MAX;

/// A block of timelines, each created when it is first needed.
type TimelineBlock = Box<[OnceLock<Box<Timeline>>]>;

/// The error if there are as many streams as the tracker can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyStreams;

/// Orders the conflicting operations of streams. A program has one; tests create their own.
pub struct Tracker {
    blocks: [OnceLock<TimelineBlock>; BLOCKS],
    register: Mutex<Register>,
    initial: fn() -> Policy,
    policy: AtomicU32,
    /// The waits that were added.
    pub(crate) waits: WaitLog,
}

/// The part that changes only when streams come and go.
struct Register {
    timelines: u32,
    free: Vec<TimelineId>,
    devices: Vec<Arc<DeviceTimelines>>,
}

impl Tracker {
    constructor! {
        /// Creates a tracker without streams; `initial` chooses the policy when it is first asked for.
        pub fn new(initial: fn() -> Policy) -> Self {
            Self {
                initial,
                blocks: [const { OnceLock::new() }; BLOCKS],
                register: Mutex::new(Register { timelines: 0, free: Vec::new(), devices: Vec::new() }),
                policy: AtomicU32::new(UNSET),
                waits: WaitLog::new(),
            }
        }
    }

    /// Returns the timeline with this number.
    #[inline]
    pub fn timeline(&self, id: TimelineId) -> Option<&Timeline> {
        let (block, at) = position(id);
        self.blocks.get(block)?.get()?.get(at)?.get().map(Box::as_ref)
    }

    /// Returns a timeline for a stream of this kind: a retired one that is idle, or a new one.
    ///
    /// A thread that is about to wait for the former stream of a timeline has read what that wait is worth,
    /// and may then wait for the new stream instead. So by the time a timeline is used again, all of that has
    /// completed: what the former stream was given, and what it was ordered after.
    ///
    /// # Errors
    /// [`TooManyStreams`].
    ///
    /// # Safety
    /// Until the timeline is retired, waiting for `wait_target` by the [`EventBackend`](crate::EventBackend)
    /// waits for the stream, which is of this kind and device, and nobody else gives the stream work.
    pub unsafe fn add_timeline(
        &self,
        device: i32,
        kind: Kind,
        wait_target: WaitTarget,
    ) -> Result<&Timeline, TooManyStreams> {
        let mut register = self.register.lock();
        let fits = |id: &TimelineId| {
            self.timeline(*id).is_some_and(|timeline| {
                timeline.kind == kind && timeline.device.ordinal == device && self.is_idle(timeline)
            })
        };
        if let Some(at) = register.free.iter().position(fits) {
            let id = register.free.swap_remove(at);
            let timeline = self.timeline(id).ok_or(TooManyStreams)?;
            let mut state = timeline.state.lock();
            // The new stream is not ordered after what the former one was.
            state.clock = VectorClock::new();
            state.legacy_seen = 0;
            timeline.mark_sync_covered();
            timeline.share(&mut state);
            timeline.begin_stream();
            // SAFETY: the caller vouches for the new wait target.
            *unsafe { timeline.wait_target_mut() } = wait_target;
            return Ok(timeline);
        }
        let device_timelines = Self::device_timelines(&mut register, device);
        let id = TimelineId(register.timelines);
        let (block, at) = position(id);
        let block = self.blocks.get(block).ok_or(TooManyStreams)?;
        let size = block_size(id);
        let block = block.get_or_init(|| (0..size).map(|_| OnceLock::new()).collect());
        let cell = block.get(at).ok_or(TooManyStreams)?;
        // Read with the register locked: a thread that changes the policy looks for timelines after that.
        let policy = self.policy();
        let timeline = cell.get_or_init(|| {
            Box::new(Timeline::new(id, kind, Arc::clone(&device_timelines), wait_target, policy))
        });
        register.timelines += 1;
        device_timelines.add_blocking(id, kind);
        Ok(timeline)
    }

    /// Takes back a timeline whose stream is gone. It is used again once everything has completed that the
    /// stream was given and waited for.
    ///
    /// # Safety
    /// - The stream is given nothing more, and waiting for `wait_target` waits for it for as long as the
    ///   tracker is used.
    /// - The legacy stream waits for everything that a blocking stream was given.
    pub unsafe fn retire(&self, timeline: &Timeline, wait_target: WaitTarget) {
        // SAFETY: the caller vouches for it.
        *unsafe { timeline.wait_target_mut() } = wait_target;
        self.register.lock().free.push(timeline.id);
    }

    /// Returns the timelines that were [retired](Self::retire) and are not in use again.
    pub fn retired(&self) -> Vec<TimelineId> {
        self.register.lock().free.clone()
    }

    /// Returns the record of a device, created if there is none.
    fn device_timelines(register: &mut Register, device: i32) -> Arc<DeviceTimelines> {
        if let Some(device_timelines) =
            register.devices.iter().find(|device_timelines| device_timelines.ordinal == device)
        {
            return Arc::clone(device_timelines);
        }
        let device_timelines = Arc::new(DeviceTimelines::new(device));
        register.devices.push(Arc::clone(&device_timelines));
        device_timelines
    }

    /// Returns the timeline of a device's legacy stream, which is never retired.
    ///
    /// # Errors
    /// [`TooManyStreams`].
    ///
    /// # Safety
    /// As for [`add_timeline`](Self::add_timeline), for ever: the wait target is the legacy stream of the
    /// device.
    pub unsafe fn legacy(&self, device: i32, wait_target: WaitTarget) -> Result<&Timeline, TooManyStreams> {
        let device_timelines = Self::device_timelines(&mut self.register.lock(), device);
        if let Some(id) = device_timelines.legacy() {
            return self.timeline(id).ok_or(TooManyStreams);
        }
        // SAFETY: the caller's duties are those of `add_timeline`.
        let timeline = unsafe { self.add_timeline(device, Kind::Legacy, wait_target) }?;
        // Of two threads that come here at once, one wins and the other's timeline stays unused.
        self.timeline(device_timelines.legacy_or(timeline.id)).ok_or(TooManyStreams)
    }

    /// Returns every timeline of a device, or of all devices.
    pub fn timelines(&self, device: Option<i32>) -> impl Iterator<Item = &Timeline> {
        let timelines = self.register.lock().timelines;
        (0..timelines)
            .filter_map(|id| self.timeline(TimelineId(id)))
            .filter(move |timeline| device.is_none_or(|device| timeline.device.ordinal == device))
    }

    /// Returns the devices that have streams.
    pub fn devices(&self) -> Vec<i32> {
        self.register.lock().devices.iter().map(|device_timelines| device_timelines.ordinal).collect()
    }

    /// Returns whether `epoch` is known to have completed.
    #[inline]
    pub fn completed(&self, epoch: Epoch) -> bool {
        self.timeline(epoch.timeline).is_some_and(|timeline| timeline.completed() >= epoch.sequence)
    }

    /// Returns the policy.
    #[inline]
    pub fn policy(&self) -> Policy {
        let number = self.policy.load(Acquire);
        if number != UNSET {
            return Policy::from_number(number);
        }
        let number = (self.initial)().number();
        match self.policy.compare_exchange(UNSET, number, Relaxed, Acquire) {
            Ok(_) => Policy::from_number(number),
            Err(found) => Policy::from_number(found),
        }
    }

    /// Sets the policy, and returns the previous one, if one was chosen.
    ///
    /// When it returns, no operation is under way that was begun under the old policy.
    ///
    /// # Safety
    /// - Under [`Policy::Off`] the program itself orders every pair of conflicting operations.
    /// - After a change from `Off`, all devices are waited for before the tracker is relied on.
    pub unsafe fn set_policy(&self, policy: Policy) -> Option<Policy> {
        let before = self.policy.swap(policy.number(), std::sync::atomic::Ordering::AcqRel);
        for timeline in self.timelines(None) {
            let state = timeline.state.lock();
            // Read again: if two threads change it at once, the last one to come here leaves what counts.
            timeline.orders.store(self.policy() == Policy::Order, Relaxed);
            drop(state);
        }
        (before != UNSET).then(|| Policy::from_number(before))
    }

    /// Returns how many waits were added.
    pub fn added_waits(&self) -> u64 {
        self.waits.count()
    }

    /// Returns the last waits that were added, oldest first.
    pub fn recent_waits(&self) -> Vec<AddedWait> {
        self.waits.remembered()
    }
}

/// Returns the block of a timeline, and its position in it.
#[inline]
pub(crate) fn position(id: TimelineId) -> (usize, usize) {
    // 0..64 are in block 0, 64..128 in 1, 128..256 in 2, and so on.
    let block = (id.0 / FIRST_BLOCK).checked_ilog2().map_or(0, |log| log + 1);
    let base = if block == 0 { 0 } else { FIRST_BLOCK << (block - 1) };
    let wide = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    (wide(block), wide(id.0 - base))
}

/// Returns how many timelines the block of `id` has.
pub(crate) fn block_size(id: TimelineId) -> u32 {
    (id.0 / FIRST_BLOCK).checked_ilog2().map_or(FIRST_BLOCK, |log| FIRST_BLOCK << log)
}

impl std::fmt::Debug for Tracker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracker").field("added_waits", &self.added_waits()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{TimelineId, block_size, position};

    #[test]
    fn every_timeline_has_a_position_of_its_own() {
        let mut next = (0, 0);
        for id in 0..5000 {
            assert_eq!(position(TimelineId(id)), next, "{id}");
            next.1 += 1;
            if next.1 == usize::try_from(block_size(TimelineId(id))).unwrap() {
                next = (next.0 + 1, 0);
            }
        }
    }
}
