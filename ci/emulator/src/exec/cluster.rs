//! Clusters: blocks that run at the same time, meet at a barrier and reach each other's shared memory.
//!
//! A block that is in no cluster is one of its own. An address in the window of shared memory has the rank of the block that it is of
//! above the offset, plus one; with zero there, it is of the block that uses it.

use super::env::Fault;
use super::file::Word;
use super::launch::Context;
use super::lower::low;
use super::memory::lanes;
use super::program::Ins;
use super::warp::{Flow, Group, Wait, Warp};

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

    fn arrive(&mut self, threads: u32) {
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

impl Warp {
    /// `barrier.cluster.arrive`.
    pub(super) fn cluster_arrive(
        &mut self,
        cx: &mut Context<'_>,
        group: &mut Group,
        mask: u32,
    ) -> Result<Flow, Fault> {
        if let Some(lane) = lanes(mask).find(|&lane| self.arrived[lane].is_some()) {
            let what = "a second arrival at the cluster's barrier, without a wait behind the first";
            let thread = self.thread(u32::try_from(lane).unwrap_or(0));
            return Err(cx.fault(Fault::LAUNCH_FAILURE, what, thread, group.pc));
        }
        let generation = cx.cluster.generation;
        lanes(mask).for_each(|lane| self.arrived[lane] = Some(generation));
        cx.cluster.arrive(mask.count_ones());
        group.pc += 1;
        Ok(Flow::Next)
    }

    /// `barrier.cluster.wait`: the threads stay at the instruction until the barrier has opened.
    pub(super) fn cluster_wait(
        &mut self,
        cx: &mut Context<'_>,
        group: &mut Group,
        mask: u32,
    ) -> Result<Flow, Fault> {
        self.split(group, mask);
        let first = self.arrived[(group.mask.trailing_zeros() & 31) as usize];
        let same = lanes(group.mask).filter(|&l| self.arrived[l] == first).fold(0, |m, l| m | 1 << l);
        self.leave_behind(group, same);
        let Some(generation) = first else {
            let what = "a wait at the cluster's barrier, at which the thread has not arrived";
            let thread = self.thread(group.mask.trailing_zeros());
            return Err(cx.fault(Fault::LAUNCH_FAILURE, what, thread, group.pc));
        };
        if cx.cluster.generation != generation {
            lanes(group.mask).for_each(|lane| self.arrived[lane] = None);
            group.pc += 1;
            return Ok(Flow::Next);
        }
        group.wait = Wait::Cluster(generation);
        self.park(*group);
        Ok(Flow::Leave)
    }

    /// Whether threads wait for other blocks of the cluster.
    pub(super) fn waits_for_cluster(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.wait, Wait::Cluster(_)))
    }

    /// `mapa`: the same place of another block's shared memory.
    pub(super) fn map_address(
        &mut self,
        cx: &Context<'_>,
        ins: &Ins,
        wide: bool,
        mask: u32,
        pc: u32,
    ) -> Result<(), Fault> {
        let count = cx.launch.cluster_blocks();
        for lane in lanes(mask) {
            let rank = u32::row(&self.file, ins.s[2])[lane];
            if rank >= count {
                let what = format!("an address in block {rank} of a cluster, which has {count}");
                let thread = self.thread(u32::try_from(lane).unwrap_or(0));
                return Err(cx.fault(Fault::ILLEGAL_ADDRESS, &what, thread, pc));
            }
            let within = (1 << RANK) - 1;
            let rank = u64::from(rank + 1) << RANK;
            if wide {
                // What stands above the window's addresses says that they are generic.
                let window = !((1 << 56) - 1);
                let a = u64::row(&self.file, ins.s[1])[lane];
                u64::row_mut(&mut self.file, ins.s[0])[lane] = a & (window | within) | rank;
            } else {
                let a = u64::from(u32::row(&self.file, ins.s[1])[lane]);
                u32::row_mut(&mut self.file, ins.s[0])[lane] = low(a & within | rank);
            }
        }
        Ok(())
    }

    /// `getctarank`: the rank of the block that an address of shared memory is of.
    pub(super) fn rank_of(&mut self, cx: &Context<'_>, ins: &Ins, wide: bool, mask: u32) {
        for lane in lanes(mask) {
            let a = if wide {
                u64::row(&self.file, ins.s[1])[lane] & ((1 << 56) - 1)
            } else {
                u64::from(u32::row(&self.file, ins.s[1])[lane])
            };
            let rank = parts(a).1.map_or(cx.rank, low);
            u32::row_mut(&mut self.file, ins.s[0])[lane] = rank;
        }
    }
}
