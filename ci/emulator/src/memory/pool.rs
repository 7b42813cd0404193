//! Pools of stream-ordered memory: their properties, their sizes, and access to their memory.
//!
//! The bytes themselves are in `Allocations`. A pool counts them: the used bytes, and the bytes reserved for
//! it. It reserves pieces of [`PIECE`] bytes. They go back only when the pool is trimmed, or when the host
//! synchronises and more is reserved than the release threshold. The handle of a destroyed pool is invalid;
//! the pool goes with the last of its memory.

use std::collections::{BTreeMap, HashMap};

use crate::error::Answer;
use crate::sys::*;

/// The size of one reservation.
const PIECE: u64 = 32 << 20;
/// The limit of a pool is rounded up to a multiple of this.
const GRANULARITY: u64 = 2 << 20;

/// The name of a pool, never used again.
pub(crate) type PoolKey = usize;

/// The place of a pool's memory: the kind and number of its location, and the kind of its allocations, as C
/// has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PoolPlace {
    pub(crate) location: u32,
    pub(crate) id: i32,
    pub(crate) allocation: u32,
}

impl PoolPlace {
    /// Whether the memory is the host's, which devices reach as well.
    pub(crate) fn is_host(self) -> bool {
        [cudaMemLocationTypeHost.0, cudaMemLocationTypeHostNuma.0].contains(&self.location)
    }
}

/// One pool.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) place: PoolPlace,
    /// The device that its memory is charged to.
    pub(crate) device: usize,
    /// The kinds of handles that it can be exported as, a bit each.
    pub(crate) handles: u32,
    /// Whether it was exported: its memory can be, from then on.
    pub(crate) exported: bool,
    /// The most bytes that it may have; 0 is no limit.
    limit: u64,
    /// The process that owns it, if another does: nothing new comes from it here.
    pub(crate) imported: Option<u32>,
    default: bool,
    destroyed: bool,
    pub(crate) threshold: u64,
    /// The three rules of reuse.
    pub(crate) reuse: [i32; 3],
    reserved: u64,
    reserved_high: u64,
    used: u64,
    used_high: u64,
    /// The devices with access to the memory, beside its own.
    access: BTreeMap<usize, cudaMemAccessFlags>,
}

impl Pool {
    fn new(place: PoolPlace, device: usize) -> Self {
        Self { place, device, reuse: [1; 3], ..Self::default() }
    }

    /// Bytes reserved now and at most so far.
    pub(crate) fn reserved(&self) -> (u64, u64) {
        (self.reserved, self.reserved_high)
    }

    /// Bytes in use now and at most so far.
    pub(crate) fn used(&self) -> (u64, u64) {
        (self.used, self.used_high)
    }

    /// Resets the high-water mark of reserved bytes.
    pub(crate) fn forget_reserved_high(&mut self) {
        self.reserved_high = self.reserved;
    }

    /// Resets the high-water mark of used bytes.
    pub(crate) fn forget_used_high(&mut self) {
        self.used_high = self.used;
    }

    /// The access of a device to the memory.
    pub(crate) fn access(&self, device: usize) -> cudaMemAccessFlags {
        match self.access.get(&device) {
            _ if device == self.device => cudaMemAccessFlagsProtReadWrite,
            Some(flags) => *flags,
            None => cudaMemAccessFlagsProtNone,
        }
    }

    /// Grants or revokes a device's access to the memory.
    pub(crate) fn set_access(&mut self, device: usize, flags: cudaMemAccessFlags) {
        self.access.insert(device, flags);
    }

    /// Releases reserved bytes beyond `keep` that are not in use.
    pub(crate) fn trim(&mut self, keep: u64) {
        let needed = self.used.max(keep).checked_next_multiple_of(PIECE).unwrap_or(u64::MAX);
        self.reserved = self.reserved.min(needed);
    }

    fn room_for(&self, size: u64) -> bool {
        let most = if self.limit == 0 {
            u64::MAX
        } else {
            self.limit.checked_next_multiple_of(GRANULARITY).unwrap_or(u64::MAX)
        };
        self.used.checked_add(size).is_some_and(|used| used <= most)
    }

    fn take(&mut self, size: u64) {
        self.used += size;
        self.used_high = self.used_high.max(self.used);
        self.reserved = self.reserved.max(self.used.next_multiple_of(PIECE));
        self.reserved_high = self.reserved_high.max(self.reserved);
    }
}

/// All pools of the process.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    last: PoolKey,
    all: HashMap<PoolKey, Pool>,
    defaults: HashMap<PoolPlace, PoolKey>,
    /// The pools that were chosen instead of the default ones.
    current: HashMap<PoolPlace, PoolKey>,
    /// The pool of an allocation, and the bytes that it counts for.
    from: HashMap<u64, (PoolKey, u64)>,
}

/// Pool handles start here, with gaps, so that small numbers are no handles.
const FIRST: usize = 0x00b0_0000_0000;
const STRIDE: usize = 0x40;

impl Pools {
    /// The handle of a pool.
    pub(crate) fn handle(key: PoolKey) -> cudaMemPool_t {
        core::ptr::without_provenance_mut::<CUmemPoolHandle_st>(FIRST + key * STRIDE)
    }

    /// Makes a pool.
    pub(crate) fn create(&mut self, place: PoolPlace, device: usize, handles: u32, limit: u64) -> PoolKey {
        self.add(Pool { handles, limit, ..Pool::new(place, device) })
    }

    /// Makes a pool that stands for another process's.
    pub(crate) fn import(&mut self, place: PoolPlace, device: usize, process: u32) -> PoolKey {
        self.add(Pool { imported: Some(process), ..Pool::new(place, device) })
    }

    fn add(&mut self, pool: Pool) -> PoolKey {
        self.last += 1;
        self.all.insert(self.last, pool);
        self.last
    }

    /// The default pool of a place. The first call makes it.
    pub(crate) fn default_of(&mut self, place: PoolPlace, device: usize) -> PoolKey {
        if let Some(key) = self.defaults.get(&place) {
            return *key;
        }
        let key = self.add(Pool { default: true, ..Pool::new(place, device) });
        self.defaults.insert(place, key);
        key
    }

    /// The pool that memory of a place comes from.
    pub(crate) fn current_of(&mut self, place: PoolPlace, device: usize) -> PoolKey {
        match self.current.get(&place) {
            Some(key) => *key,
            None => self.default_of(place, device),
        }
    }

    /// Chooses the pool that memory of a place comes from.
    pub(crate) fn set_current(&mut self, place: PoolPlace, key: PoolKey) -> Answer {
        let pool = self.all.get(&key).ok_or(cudaErrorInvalidValue)?;
        if pool.place != place || pool.imported.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        self.current.insert(place, key);
        Ok(())
    }

    /// The pool that a program's handle names.
    pub(crate) fn named(&self, pool: cudaMemPool_t) -> Answer<PoolKey> {
        let key = pool.addr().checked_sub(FIRST).filter(|offset| offset % STRIDE == 0).map(|it| it / STRIDE);
        let live = |key: &PoolKey| self.all.get(key).is_some_and(|pool| !pool.destroyed);
        key.filter(live).ok_or(cudaErrorInvalidValue)
    }

    pub(crate) fn get(&self, key: PoolKey) -> Answer<&Pool> {
        self.all.get(&key).ok_or(cudaErrorInvalidValue)
    }

    pub(crate) fn get_mut(&mut self, key: PoolKey) -> Answer<&mut Pool> {
        self.all.get_mut(&key).ok_or(cudaErrorInvalidValue)
    }

    /// Ends a handle; the pool itself goes with the last of its memory.
    pub(crate) fn destroy(&mut self, key: PoolKey) -> Answer {
        let pool = self.get_mut(key)?;
        if pool.default {
            return Err(cudaErrorInvalidValue);
        }
        pool.destroyed = true;
        let empty = pool.used == 0;
        self.current.retain(|_, chosen| *chosen != key);
        if empty {
            self.all.remove(&key);
        }
        Ok(())
    }

    /// Whether a pool may have so many bytes more.
    pub(crate) fn check(&self, key: PoolKey, size: u64) -> Answer {
        if self.get(key)?.room_for(size) { Ok(()) } else { Err(cudaErrorMemoryAllocation) }
    }

    /// Counts memory in.
    pub(crate) fn took(&mut self, key: PoolKey, start: u64, size: u64) {
        if let Some(pool) = self.all.get_mut(&key) {
            pool.take(size);
            self.from.insert(start, (key, size));
        }
    }

    /// Counts memory out.
    pub(crate) fn gave(&mut self, start: u64) {
        let Some((key, size)) = self.from.remove(&start) else { return };
        let Some(pool) = self.all.get_mut(&key) else { return };
        pool.used = pool.used.saturating_sub(size);
        if pool.destroyed && pool.used == 0 {
            self.all.remove(&key);
        }
    }

    /// The pool that a piece of memory is from.
    pub(crate) fn of(&self, start: u64) -> Option<(PoolKey, &Pool)> {
        let (key, _) = self.from.get(&start)?;
        self.all.get(key).map(|pool| (*key, pool))
    }

    /// Trims the pools of a device after the host has synchronised with it.
    pub(crate) fn synchronised(&mut self, device: usize) {
        for pool in self.all.values_mut().filter(|pool| pool.device == device) {
            pool.trim(pool.threshold);
        }
    }

    /// Forgets the pool that a device has by itself. Those that the program made stay, without memory.
    pub(crate) fn reset(&mut self, device: usize) {
        let all = &mut self.all;
        all.retain(|_, pool| pool.device != device || !pool.default && !pool.destroyed);
        self.defaults.retain(|_, key| all.contains_key(key));
        self.current.retain(|_, key| all.contains_key(key));
        self.from.retain(|_, (key, _)| all.contains_key(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{cudaMemAllocationTypePinned, cudaMemLocationTypeDevice};

    fn place(device: i32) -> PoolPlace {
        let location = cudaMemLocationTypeDevice.0;
        PoolPlace { location, id: device, allocation: cudaMemAllocationTypePinned.0 }
    }

    #[test]
    fn what_is_reserved_goes_back_at_a_synchronisation_unless_the_threshold_keeps_it() {
        let mut pools = Pools::default();
        let key = pools.default_of(place(0), 0);
        pools.took(key, 0x1000, 1000);
        assert_eq!(pools.get(key).unwrap().used(), (1000, 1000));
        assert_eq!(pools.get(key).unwrap().reserved(), (PIECE, PIECE));
        pools.synchronised(0);
        assert_eq!(pools.get(key).unwrap().reserved().0, PIECE, "it is in use");
        pools.gave(0x1000);
        pools.get_mut(key).unwrap().threshold = u64::MAX;
        pools.synchronised(0);
        assert_eq!(pools.get(key).unwrap().reserved().0, PIECE, "the threshold keeps it");
        pools.get_mut(key).unwrap().threshold = 0;
        pools.synchronised(1);
        assert_eq!(pools.get(key).unwrap().reserved().0, PIECE, "another device's synchronisation");
        pools.synchronised(0);
        assert_eq!(pools.get(key).unwrap().reserved(), (0, PIECE));
        assert_eq!(pools.get(key).unwrap().used(), (0, 1000));
    }

    #[test]
    fn a_destroyed_pool_goes_with_its_last_memory_and_the_default_one_is_current_again() {
        let mut pools = Pools::default();
        let default = pools.default_of(place(0), 0);
        let own = pools.create(place(0), 0, 0, 0);
        pools.set_current(place(0), own).unwrap();
        assert_eq!(pools.set_current(place(1), own), Err(cudaErrorInvalidValue));
        assert_eq!(pools.current_of(place(0), 0), own);
        pools.took(own, 0x2000, 10);
        pools.destroy(own).unwrap();
        assert_eq!(pools.named(Pools::handle(own)), Err(cudaErrorInvalidValue));
        assert_eq!(pools.current_of(place(0), 0), default);
        assert!(pools.of(0x2000).is_some());
        pools.gave(0x2000);
        assert!(pools.get(own).is_err());
        assert_eq!(pools.destroy(default), Err(cudaErrorInvalidValue));
    }

    #[test]
    fn a_pool_gives_no_more_than_its_limit() {
        let mut pools = Pools::default();
        let key = pools.create(place(0), 0, 0, 1);
        assert_eq!(pools.check(key, GRANULARITY), Ok(()));
        assert_eq!(pools.check(key, GRANULARITY + 1), Err(cudaErrorMemoryAllocation));
    }
}
