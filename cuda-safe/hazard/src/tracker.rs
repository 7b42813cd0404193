//! The tracker as a whole: every timeline, every device's page, the policy, the waits.
#![expect(unsafe_code, reason = "declares functions that are told about streams")]

use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::clock::{Epoch, TimelineId, VectorClock};
use crate::device::{DeviceTimelines, Kind};
use crate::policy::Policy;
use crate::primitives::{Arc, AtomicU32, Mutex, OnceLock, constructor};
use crate::timeline::{Timeline, WaitTarget};
use crate::wait_log::{self, AddedWait, WaitCounter};

/// Slots in the first block; each further block is as large as all before it together.
const FIRST_BLOCK: u32 = 64;
/// Blocks that there can be, which makes two million timelines.
const BLOCKS: usize = 16;
/// Policy not chosen yet.
const UNSET: u32 = u32::MAX;

/// A block of timelines, each made when it is first needed.
type Block = Box<[OnceLock<Box<Timeline>>]>;

/// There are as many streams as the tracker can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyStreams;

/// All that the tracker knows. A program has one; tests make their own.
pub struct Tracker {
    blocks: [OnceLock<Block>; BLOCKS],
    register: Mutex<Register>,
    initial: fn() -> Policy,
    policy: AtomicU32,
    /// In which order waits were added.
    pub(crate) waits: WaitCounter,
}

/// What changes only when streams come and go.
struct Register {
    timelines: u32,
    free: Vec<TimelineId>,
    devices: Vec<Arc<DeviceTimelines>>,
}

impl Tracker {
    constructor! {
        /// Books with nothing in them; `initial` chooses the policy when it is first asked for.
        pub fn new(initial: fn() -> Policy) -> Self {
            Self {
                initial,
                blocks: [const { OnceLock::new() }; BLOCKS],
                register: Mutex::new(Register { timelines: 0, free: Vec::new(), devices: Vec::new() }),
                policy: AtomicU32::new(UNSET),
                waits: WaitCounter::new(),
            }
        }
    }

    /// The timeline with this number.
    #[inline]
    pub fn timeline(&self, id: TimelineId) -> Option<&Timeline> {
        let (block, at) = position(id);
        self.blocks.get(block)?.get()?.get(at)?.get().map(Box::as_ref)
    }

    /// A timeline for a stream of this kind: a free one of which nothing is left, or a new one.
    ///
    /// Whoever is about to wait for the former stream of a timeline, on another thread, has read what that is
    /// worth. Then it may be the new one that he waits for; so by then all of that is over: what the stream
    /// was given, and what it was ordered after.
    ///
    /// # Errors
    /// If there are as many streams as the tracker can tell apart.
    ///
    /// # Safety
    /// The [`EventBackend`](crate::EventBackend) can wait_target a stream of this kind and device so until the timeline is retired,
    /// and nobody else gives it work.
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
            // What the last stream of this timeline was ordered after, the next one need not be.
            state.clock = VectorClock::new();
            state.legacy_seen = 0;
            timeline.mark_sync_covered();
            timeline.share(&mut state);
            // SAFETY: the caller vouches for it.
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
        // Read with the register locked: who changes the policy looks for timelines after that.
        let policy = self.policy();
        let timeline = cell.get_or_init(|| {
            Box::new(Timeline::new(id, kind, Arc::clone(&device_timelines), wait_target, policy))
        });
        register.timelines += 1;
        device_timelines.add_blocking(id, kind);
        Ok(timeline)
    }

    /// Gives a timeline back whose stream is gone. It is used again once all is over that the stream was given
    /// and waited for.
    ///
    /// # Safety
    /// The stream is given nothing more, and can be reached so for as long as the tracker is used. The legacy
    /// stream waits for all that a blocking stream was given.
    pub unsafe fn retire(&self, timeline: &Timeline, wait_target: WaitTarget) {
        // SAFETY: the caller vouches for it.
        *unsafe { timeline.wait_target_mut() } = wait_target;
        self.register.lock().free.push(timeline.id);
    }

    /// The timelines that [`retire`](Self::retire) gave back and nobody has taken yet.
    pub fn retired(&self) -> Vec<TimelineId> {
        self.register.lock().free.clone()
    }

    /// The page of a device, made where there is none.
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

    /// The timeline of a device's legacy stream, which it keeps.
    ///
    /// # Errors
    /// If there are as many streams as the tracker can tell apart.
    ///
    /// # Safety
    /// As for [`add_timeline`](Self::add_timeline), for good: it is the legacy stream of the device.
    pub unsafe fn legacy(&self, device: i32, wait_target: WaitTarget) -> Result<&Timeline, TooManyStreams> {
        let device_timelines = Self::device_timelines(&mut self.register.lock(), device);
        if let Some(id) = device_timelines.legacy() {
            return self.timeline(id).ok_or(TooManyStreams);
        }
        // SAFETY: the caller's duties are just these.
        let timeline = unsafe { self.add_timeline(device, Kind::Legacy, wait_target) }?;
        // Of two threads that come here at once, one wins and the other's timeline stays unused.
        self.timeline(device_timelines.legacy_or(timeline.id)).ok_or(TooManyStreams)
    }

    /// Every timeline of a device, or of all devices.
    pub fn timelines(&self, device: Option<i32>) -> impl Iterator<Item = &Timeline> {
        let timelines = self.register.lock().timelines;
        (0..timelines)
            .filter_map(|id| self.timeline(TimelineId(id)))
            .filter(move |timeline| device.is_none_or(|device| timeline.device.ordinal == device))
    }

    /// The devices that have streams.
    pub fn devices(&self) -> Vec<i32> {
        self.register.lock().devices.iter().map(|device_timelines| device_timelines.ordinal).collect()
    }

    /// Whether `enter` is known to have completed.
    #[inline]
    pub fn completed(&self, epoch: Epoch) -> bool {
        self.timeline(epoch.timeline).is_some_and(|timeline| timeline.completed() >= epoch.sequence)
    }

    /// Whether `enter` has been handed to CUDA or given up, so that waiting for its stream covers it.
    #[inline]
    pub(crate) fn published(&self, epoch: Epoch) -> bool {
        self.timeline(epoch.timeline).is_some_and(|timeline| timeline.submitted() >= epoch.sequence)
    }

    /// The policy.
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

    /// Changes the policy; gives the one before.
    ///
    /// When it returns, no operation is under way that goes by the old one.
    ///
    /// # Safety
    /// Under [`Policy::Off`] the program itself orders every pair of conflicting operations. Coming from it,
    /// all devices are waited for before the tracker is relied on.
    pub unsafe fn set_policy(&self, policy: Policy) -> Option<Policy> {
        let before = self.policy.swap(policy.number(), std::sync::atomic::Ordering::AcqRel);
        for timeline in self.timelines(None) {
            let state = timeline.state.lock();
            // Asked for again: of two threads that change it, the last one to come here leaves what counts.
            timeline.orders.store(self.policy() == Policy::Order, Relaxed);
            drop(state);
        }
        (before != UNSET).then(|| Policy::from_number(before))
    }

    /// How many waits were added.
    pub fn added_waits(&self) -> u64 {
        self.timelines(None).map(|timeline| timeline.waits().count()).sum()
    }

    /// The last waits added, oldest first.
    pub fn recent_waits(&self) -> Vec<AddedWait> {
        let of_timeline = |timeline| self.waits_of(timeline);
        wait_log::last(self.timelines(None).flat_map(of_timeline).collect()).collect()
    }

    /// Those of a stream that are remembered, with their numbers.
    fn waits_of<'a>(&'a self, timeline: &'a Timeline) -> impl Iterator<Item = (u64, AddedWait)> {
        timeline.waits().remembered().filter_map(|(number, wait)| {
            let other = self.timeline(wait.epoch.timeline)?;
            let added = AddedWait {
                at: wait.at,
                after: wait.after,
                device: timeline.device.ordinal,
                other_device: other.device.ordinal,
                stream: timeline.id.0,
                other_stream: other.id.0,
                other_operation: wait.epoch.sequence,
                by_host: wait.by_host,
            };
            Some((number, added))
        })
    }
}

/// Which block a timeline is in, and where in it.
#[inline]
fn position(id: TimelineId) -> (usize, usize) {
    // 0..64 are in block 0, 64..128 in 1, 128..256 in 2, and so on.
    let block = (id.0 / FIRST_BLOCK).checked_ilog2().map_or(0, |log| log + 1);
    let base = if block == 0 { 0 } else { FIRST_BLOCK << (block - 1) };
    let wide = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    (wide(block), wide(id.0 - base))
}

/// How many timelines the block of `id` has.
fn block_size(id: TimelineId) -> u32 {
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
    fn every_slot_has_a_place_of_its_own() {
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
