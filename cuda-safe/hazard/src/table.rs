//! The books as a whole: every slot, every device's page, the policy, the waits.
#![expect(unsafe_code, reason = "declares functions that are told about streams")]

use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::clock::{Clock, SlotId, Stamp};
use crate::device::{DeviceBook, Kind};
use crate::policy::Policy;
use crate::primitives::{Arc, AtomicU32, Mutex, OnceLock, constructor};
use crate::slot::{Reach, Slot};
use crate::waits::{self, AddedWait, Order};

/// Slots in the first block; each further block is as large as all before it together.
const FIRST_BLOCK: u32 = 64;
/// Blocks that there can be, which makes two million slots.
const BLOCKS: usize = 16;
/// Policy not chosen yet.
const UNSET: u32 = u32::MAX;

/// A block of slots, each made when it is first needed.
type Block = Box<[OnceLock<Box<Slot>>]>;

/// There are as many streams as the books can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyStreams;

/// All that the tracker knows. A program has one; tests make their own.
pub struct Books {
    blocks: [OnceLock<Block>; BLOCKS],
    register: Mutex<Register>,
    initial: fn() -> Policy,
    policy: AtomicU32,
    /// In which order waits were added.
    pub(crate) waits: Order,
}

/// What changes only when streams come and go.
struct Register {
    slots: u32,
    free: Vec<SlotId>,
    devices: Vec<Arc<DeviceBook>>,
}

impl Books {
    constructor! {
        /// Books with nothing in them; `initial` chooses the policy when it is first asked for.
        pub fn new(initial: fn() -> Policy) -> Self {
            Self {
                initial,
                blocks: [const { OnceLock::new() }; BLOCKS],
                register: Mutex::new(Register { slots: 0, free: Vec::new(), devices: Vec::new() }),
                policy: AtomicU32::new(UNSET),
                waits: Order::new(),
            }
        }
    }

    /// The slot with this number.
    #[inline]
    pub fn slot(&self, id: SlotId) -> Option<&Slot> {
        let (block, at) = place(id);
        self.blocks.get(block)?.get()?.get(at)?.get().map(Box::as_ref)
    }

    /// A slot for a stream of this kind: a free one of which nothing is left, or a new one.
    ///
    /// Whoever is about to wait for the former stream of a slot, on another thread, has read what that is
    /// worth. Then it may be the new one that he waits for; so by then all of that is over: what the stream
    /// was given, and what it was ordered after.
    ///
    /// # Errors
    /// If there are as many streams as the tracker can tell apart.
    ///
    /// # Safety
    /// The [`Port`](crate::Port) can reach a stream of this kind and device so until the slot is dismissed,
    /// and nobody else gives it work.
    pub unsafe fn enrol(&self, device: i32, kind: Kind, reach: Reach) -> Result<&Slot, TooManyStreams> {
        let mut register = self.register.lock();
        let fits = |id: &SlotId| {
            self.slot(*id)
                .is_some_and(|slot| slot.kind == kind && slot.device.ordinal == device && self.is_over(slot))
        };
        if let Some(at) = register.free.iter().position(fits) {
            let id = register.free.swap_remove(at);
            let slot = self.slot(id).ok_or(TooManyStreams)?;
            let mut lane = slot.lane.lock();
            // What the last stream of this slot was ordered after, the next one need not be.
            lane.clock = Clock::new();
            lane.legacy_epoch = 0;
            slot.made_provable();
            slot.share(&mut lane);
            // SAFETY: the caller vouches for it.
            *unsafe { slot.reach_mut() } = reach;
            return Ok(slot);
        }
        let book = Self::page(&mut register, device);
        let id = SlotId(register.slots);
        let (block, at) = place(id);
        let block = self.blocks.get(block).ok_or(TooManyStreams)?;
        let size = block_size(id);
        let block = block.get_or_init(|| (0..size).map(|_| OnceLock::new()).collect());
        let cell = block.get(at).ok_or(TooManyStreams)?;
        // Read with the register locked: who changes the policy looks for slots after that.
        let policy = self.policy();
        let slot = cell.get_or_init(|| Box::new(Slot::new(id, kind, Arc::clone(&book), reach, policy)));
        register.slots += 1;
        book.joins(id, kind);
        Ok(slot)
    }

    /// Gives a slot back whose stream is gone. It is used again once all is over that the stream was given
    /// and waited for.
    ///
    /// # Safety
    /// The stream is given nothing more, and can be reached so for as long as the tracker is used. The legacy
    /// stream waits for all that a blocking stream was given.
    pub unsafe fn dismiss(&self, slot: &Slot, reach: Reach) {
        // SAFETY: the caller vouches for it.
        *unsafe { slot.reach_mut() } = reach;
        self.register.lock().free.push(slot.id);
    }

    /// The slots that [`dismiss`](Self::dismiss) gave back and nobody has taken yet.
    pub fn dismissed(&self) -> Vec<SlotId> {
        self.register.lock().free.clone()
    }

    /// The page of a device, made where there is none.
    fn page(register: &mut Register, device: i32) -> Arc<DeviceBook> {
        if let Some(book) = register.devices.iter().find(|book| book.ordinal == device) {
            return Arc::clone(book);
        }
        let book = Arc::new(DeviceBook::new(device));
        register.devices.push(Arc::clone(&book));
        book
    }

    /// The slot of a device's legacy stream, which it keeps.
    ///
    /// # Errors
    /// If there are as many streams as the tracker can tell apart.
    ///
    /// # Safety
    /// As for [`enrol`](Self::enrol), for good: it is the legacy stream of the device.
    pub unsafe fn legacy(&self, device: i32, reach: Reach) -> Result<&Slot, TooManyStreams> {
        let book = Self::page(&mut self.register.lock(), device);
        if let Some(id) = book.legacy() {
            return self.slot(id).ok_or(TooManyStreams);
        }
        // SAFETY: the caller's duties are just these.
        let slot = unsafe { self.enrol(device, Kind::Legacy, reach) }?;
        // Of two threads that come here at once, one wins and the other's slot stays unused.
        self.slot(book.legacy_or(slot.id)).ok_or(TooManyStreams)
    }

    /// Every slot of a device, or of all devices.
    pub fn slots_of(&self, device: Option<i32>) -> impl Iterator<Item = &Slot> {
        let slots = self.register.lock().slots;
        (0..slots)
            .filter_map(|id| self.slot(SlotId(id)))
            .filter(move |slot| device.is_none_or(|device| slot.device.ordinal == device))
    }

    /// The devices that have streams.
    pub fn devices(&self) -> Vec<i32> {
        self.register.lock().devices.iter().map(|book| book.ordinal).collect()
    }

    /// Whether `stamp` is known to have completed.
    #[inline]
    pub fn completed(&self, stamp: Stamp) -> bool {
        self.slot(stamp.slot).is_some_and(|slot| slot.completed() >= stamp.tick)
    }

    /// Whether `stamp` has been handed to CUDA or given up, so that waiting for its stream covers it.
    #[inline]
    pub(crate) fn published(&self, stamp: Stamp) -> bool {
        self.slot(stamp.slot).is_some_and(|slot| slot.submitted() >= stamp.tick)
    }

    /// The policy.
    #[inline]
    pub fn policy(&self) -> Policy {
        let number = self.policy.load(Acquire);
        if number != UNSET {
            return Policy::of(number);
        }
        let number = (self.initial)().number();
        match self.policy.compare_exchange(UNSET, number, Relaxed, Acquire) {
            Ok(_) => Policy::of(number),
            Err(found) => Policy::of(found),
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
        for slot in self.slots_of(None) {
            let lane = slot.lane.lock();
            // Asked for again: of two threads that change it, the last one to come here leaves what counts.
            slot.orders.store(self.policy() == Policy::Order, Relaxed);
            drop(lane);
        }
        (before != UNSET).then(|| Policy::of(before))
    }

    /// How many waits were added.
    pub fn added_waits(&self) -> u64 {
        self.slots_of(None).map(|slot| slot.waits().count()).sum()
    }

    /// The last waits added, oldest first.
    pub fn recent_waits(&self) -> Vec<AddedWait> {
        let of_slot = |slot| self.waits_of(slot);
        waits::last(self.slots_of(None).flat_map(of_slot).collect()).collect()
    }

    /// Those of a stream that are remembered, with their numbers.
    fn waits_of<'a>(&'a self, slot: &'a Slot) -> impl Iterator<Item = (u64, AddedWait)> {
        slot.waits().remembered().filter_map(|(number, wait)| {
            let other = self.slot(wait.stamp.slot)?;
            let added = AddedWait {
                at: wait.at,
                after: wait.after,
                device: slot.device.ordinal,
                other_device: other.device.ordinal,
                stream: slot.id.0,
                other_stream: other.id.0,
                other_operation: wait.stamp.tick,
                by_host: wait.by_host,
            };
            Some((number, added))
        })
    }
}

/// Which block a slot is in, and where in it.
#[inline]
fn place(id: SlotId) -> (usize, usize) {
    // 0..64 are in block 0, 64..128 in 1, 128..256 in 2, and so on.
    let block = (id.0 / FIRST_BLOCK).checked_ilog2().map_or(0, |log| log + 1);
    let base = if block == 0 { 0 } else { FIRST_BLOCK << (block - 1) };
    let wide = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    (wide(block), wide(id.0 - base))
}

/// How many slots the block of `id` has.
fn block_size(id: SlotId) -> u32 {
    (id.0 / FIRST_BLOCK).checked_ilog2().map_or(FIRST_BLOCK, |log| FIRST_BLOCK << log)
}

impl std::fmt::Debug for Books {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Books").field("added_waits", &self.added_waits()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{SlotId, block_size, place};

    #[test]
    fn every_slot_has_a_place_of_its_own() {
        let mut next = (0, 0);
        for id in 0..5000 {
            assert_eq!(place(SlotId(id)), next, "{id}");
            next.1 += 1;
            if next.1 == usize::try_from(block_size(SlotId(id))).unwrap() {
                next = (next.0 + 1, 0);
            }
        }
    }
}
