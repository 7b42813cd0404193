//! Clusters: blocks that run at the same time, meet at a barrier and reach each other's shared memory.
//!
//! A block that is in no cluster is one of its own. An address in the window of shared memory has the rank of the block that it is of
//! above the offset, plus one; with zero there, it is of the block that uses it.

/// Where the rank stands in an address. No block has that much shared memory.
pub(super) const RANK: u32 = 24;

/// The offset of an address of shared memory, and the rank of its block if it has one.
pub(super) fn parts(address: u64) -> (u64, Option<u64>) {
    (address & ((1 << RANK) - 1), (address >> RANK).checked_sub(1))
}

/// A cluster that is running.
#[derive(Debug)]
pub(super) struct Cluster {
    /// Its number in the grid.
    pub(super) number: u64,
    /// The shared memory of each of its blocks; null when that has ended.
    pub(super) members: Vec<*mut u8>,
    /// How often its barrier has opened.
    pub(super) generation: u64,
    arrived: u32,
    /// Threads that have not ended.
    live: u32,
    /// How many turns of its blocks have gone by in which none of them could do anything.
    idle: usize,
}

impl Cluster {
    /// One whose blocks are yet to come.
    pub(super) fn new(number: u64, threads: u32) -> Self {
        Self { number, members: Vec::new(), generation: 0, arrived: 0, live: threads, idle: 0 }
    }

    /// A block has ended. Answers whether it was the last.
    pub(super) fn ended(&mut self, rank: usize) -> bool {
        if let Some(member) = self.members.get_mut(rank) {
            *member = core::ptr::null_mut();
        }
        self.members.iter().all(|member| member.is_null())
    }

    /// Where the bytes are that an address of shared memory leads to which is not within the block that uses it, or why nowhere.
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

    /// Something of the cluster went on.
    pub(super) fn moved(&mut self) {
        self.idle = 0;
    }

    /// A block can do nothing before another one arrives. Answers whether none of them can.
    pub(super) fn stuck(&mut self) -> bool {
        self.idle += 1;
        self.idle > 2 * self.members.len()
    }

    /// Threads have ended, some of which had arrived: nobody waits for them.
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

    /// Says how many threads are at the barrier.
    pub(super) fn describe(&self) -> String {
        format!("{} of {} threads at the cluster's barrier", self.arrived, self.live)
    }
}
