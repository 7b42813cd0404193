//! Clusters: blocks that run at the same time, meet at a barrier and reach each other's shared memory.
//!
//! A block without a cluster forms a cluster of its own. In the window of shared memory, the bits of an
//! address above the offset hold the rank of a block plus one. Zero there means the block that uses the
//! address.

use std::collections::HashMap;

use super::pending::Bulk;

/// The position of the rank in an address. No block has that much shared memory.
pub(super) const RANK: u32 = 24;

/// Splits an address of shared memory into the offset and the rank of its block, if it has one.
pub(super) fn parts(address: u64) -> (u64, Option<u64>) {
    (address & ((1 << RANK) - 1), (address >> RANK).checked_sub(1))
}

/// An address in the window of shared memory that names its block.
pub(super) fn with_rank(rank: u32, address: u64) -> u64 {
    if parts(address).1.is_some() { address } else { address | u64::from(rank + 1) << RANK }
}

/// A cluster that is running.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    /// Its number in the grid.
    pub(super) number: u64,
    /// The shared memory of each of its blocks; null after the block has ended.
    pub(super) members: Vec<*mut u8>,
    /// How often its barrier has opened.
    pub(super) generation: u64,
    arrived: u32,
    /// Threads that have not ended.
    live: u32,
    /// Bulk copies whose bytes a barrier will count.
    pub(super) bulk: Vec<Bulk>,
    /// The barriers that only wait for bytes: the state in which they were last asked for, and how often
    /// while no warp did anything else.
    pub(super) starved: HashMap<u64, (u64, u32)>,
    /// Consecutive turns in which none of its blocks could do anything.
    idle: usize,
}

// SAFETY: the pointers are to the memory of its blocks, which only the thread that runs the cluster uses.
#[expect(unsafe_code, reason = "the pointers in it are to its blocks, which go where it goes")]
unsafe impl Send for Cluster {}

impl Cluster {
    /// A cluster whose blocks have not started.
    pub(super) fn new(number: u64, threads: u32) -> Self {
        Self { number, live: threads, ..Self::default() }
    }

    /// Notes the end of a block. Returns whether it was the last.
    pub(super) fn ended(&mut self, rank: usize) -> bool {
        if let Some(member) = self.members.get_mut(rank) {
            *member = core::ptr::null_mut();
        }
        self.members.iter().all(|member| member.is_null())
    }

    /// Finds the bytes of a shared-memory address that is not within the block that uses it, or returns why
    /// there are none.
    pub(super) fn find(&self, address: u64, bytes: u64, len: u64) -> Result<*mut u8, String> {
        let (offset, rank) = parts(address);
        let Some(rank) = rank else { return Err(format!("the block has {len} bytes")) };
        match usize::try_from(rank).ok().and_then(|rank| self.members.get(rank)) {
            None => Err(format!("the cluster has {} blocks", self.members.len())),
            Some(start) if start.is_null() => Err(format!("block {rank} of the cluster has ended")),
            Some(start) if offset.checked_add(bytes).is_some_and(|end| end <= len) => {
                Ok(start.wrapping_add(usize::try_from(offset).unwrap_or(0)))
            }
            Some(_) => Err(format!("each block of the cluster has {len} bytes")),
        }
    }

    /// Notes that a warp of the cluster does more than ask for barriers: it may bring the bytes that one
    /// waits for.
    pub(super) fn works(&mut self) {
        self.starved.clear();
    }

    /// The names of its bulk copies and of a generation of its barrier in the order of accesses, where no
    /// address is. The generation after the next one has the same, and begins behind all waits for this one.
    pub(super) fn names(&self, generation: u64) -> [usize; 2] {
        let last = usize::MAX - 3 * usize::try_from(self.number).unwrap_or(0);
        [last, last - 1 - usize::from(!generation.is_multiple_of(2))]
    }

    /// Whether no thread has arrived at the barrier since it last opened.
    pub(super) fn is_empty(&self) -> bool {
        self.arrived == 0
    }

    /// Notes progress of a block of the cluster.
    pub(super) fn moved(&mut self) {
        self.idle = 0;
    }

    /// Notes that a block waits for another one. Returns whether all of them wait.
    pub(super) fn stuck(&mut self) -> bool {
        self.idle += 1;
        self.idle > 2 * self.members.len()
    }

    /// Removes threads that have ended, some of which had arrived: nobody waits for them.
    pub(super) fn exit(&mut self, threads: u32, arrived: u32) {
        self.live -= threads.min(self.live);
        self.arrived -= arrived.min(self.arrived);
        if self.arrived > 0 {
            self.open();
        }
    }

    pub(super) fn arrive(&mut self, threads: u32) {
        self.arrived += threads;
        self.open();
    }

    fn open(&mut self) {
        if self.arrived >= self.live {
            self.generation += 1;
            self.arrived = 0;
        }
    }

    /// Describes how many threads are at the barrier.
    pub(super) fn describe(&self) -> String {
        format!("{} of {} threads at the cluster's barrier", self.arrived, self.live)
    }
}
