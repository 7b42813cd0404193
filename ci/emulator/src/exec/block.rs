//! One block of a kernel: its warps, its shared memory, and how it runs.

use super::barrier::Barriers;
use super::cluster::Cluster;
use super::env::Env;
use super::fault::{Fault, Result};
use super::launch::{Cached, Context, Launch};
use super::pending::Matrices;
use super::polls::Polls;
use super::races::KernelRaces;
use super::warp::{Turn, Warp};

/// The number of instructions that a warp runs before another of its block has its turn.
const WARP_TURN: u64 = 1 << 12;
/// The contents of shared memory that no thread has written: as new memory of a device.
const UNWRITTEN: u128 = u128::from_ne_bytes([0xcd; 16]);

/// A block that is running.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) number: u64,
    place: [u32; 3],
    /// The number of its cluster, and its place in the cluster.
    pub(super) cluster: u64,
    pub(super) rank: u32,
    within: [u32; 3],
    warps: Vec<Warp>,
    shared: Vec<u128>,
    barriers: Barriers,
    matrices: Vec<Matrices>,
    /// The first fault of its threads, if the others run on.
    pub(super) fault: Option<Fault>,
}

/// The state of a block after a turn.
pub(super) enum Left {
    /// It can go on.
    Ready,
    /// It can go on once another block of its cluster has.
    Waiting,
    /// Its threads have ended.
    Over,
}

impl Block {
    /// Starts the block of a rank in a cluster, in the memory of a block that has ended if there is one.
    pub(super) fn start(launch: &Launch, spare: Option<Self>, cluster: &mut Cluster, rank: u32) -> Self {
        let threads = launch.threads();
        let mut block = spare.unwrap_or_else(|| Self {
            number: 0,
            place: [0; 3],
            cluster: 0,
            rank: 0,
            within: [0; 3],
            warps: (0..threads).step_by(32).map(|first| Warp::new(launch, first)).collect(),
            // Never empty: a null pointer marks a block that has ended.
            shared: vec![0; (launch.shared() as usize).div_ceil(16).max(1)],
            barriers: Barriers::default(),
            matrices: Vec::new(),
            fault: None,
        });
        (block.place, block.within) = launch.member(cluster.number, rank);
        block.number = launch.block_number(block.place);
        (block.cluster, block.rank) = (cluster.number, rank);
        block.barriers = Barriers::new(threads);
        block.matrices.clear();
        block.fault = None;
        block.shared.fill(UNWRITTEN);
        cluster.members.push(block.shared.as_mut_ptr().cast());
        block.warps.iter_mut().for_each(|warp| warp.reset(launch, rank));
        block
    }

    /// Its shared memory.
    pub(super) fn extent(&self) -> (*const u8, usize) {
        (self.shared.as_ptr().cast(), size_of_val(&self.shared[..]))
    }
}

/// Runs blocks, one after the other.
pub(super) struct Runner<'a> {
    pub(super) launch: &'a Launch,
    pub(super) env: &'a mut dyn Env,
    pub(super) caches: &'a mut Vec<Cached>,
    pub(super) clock: &'a mut u64,
    pub(super) workspace: u64,
    /// The accesses of the launch, if the machine looks for races.
    pub(super) races: Option<&'a mut KernelRaces>,
    /// The polls of the launch, if this step is inspected.
    pub(super) polls: Option<&'a mut Polls>,
}

impl Runner<'_> {
    /// Runs a block until it has ended, waits for its cluster, or has no fuel left.
    pub(super) fn run(&mut self, block: &mut Block, cluster: &mut Cluster, fuel: &mut u64) -> Result<Left> {
        let shared: &mut [u8] = bytemuck::cast_slice_mut(&mut block.shared);
        let mut cx = Context {
            watched: self.env.watches(),
            traced: self.env.traces() || self.polls.is_some(),
            races: self.races.as_deref_mut(),
            polls: self.polls.as_deref_mut(),
            env: self.env,
            launch: self.launch,
            program: &self.launch.program,
            pc: 0,
            block: block.place,
            number: block.number,
            cluster,
            rank: block.rank,
            within: block.within,
            shared: shared.as_mut_ptr(),
            shared_len: u64::from(self.launch.shared()),
            caches: self.caches,
            barriers: &mut block.barriers,
            fault: &mut block.fault,
            matrices: &mut block.matrices,
            clock: self.clock,
            workspace: self.workspace,
        };
        loop {
            let (mut over, mut moved) = (true, false);
            let count = block.warps.len();
            // The device has all warps of a warpgroup begin a product, or none. Here each does its part by
            // itself, so that one may not get ahead: they keep their order and have whole turns.
            let mut draw = |count| if cx.program.has_warpgroups { None } else { cx.env.draw(count) };
            let first = draw(count).unwrap_or(0);
            let length = WARP_TURN >> draw(9).unwrap_or(0);
            for at in 0..count {
                let warp = &mut block.warps[(first + at) % count];
                let mut turn = (*fuel).min(length);
                let given = turn;
                let state = warp.run(&mut cx, &mut turn)?;
                *fuel -= given - turn;
                if given == length && turn == 0 {
                    cx.cluster.works();
                }
                moved |= given != turn;
                over &= state == Turn::Over;
            }
            if moved {
                cx.cluster.moved();
            }
            if over {
                return Ok(Left::Over);
            }
            if *fuel == 0 {
                return Ok(Left::Ready);
            }
            if !moved {
                if block.warps.iter().any(Warp::waits_for_cluster) && !cx.cluster.stuck() {
                    return Ok(Left::Waiting);
                }
                let mut waits = Vec::new();
                block.warps.iter().for_each(|w| w.describe(&cx, &mut waits));
                waits.truncate(4);
                let [x, y, z] = cx.block;
                let mut at = vec![cx.barriers.describe()];
                if block.warps.iter().any(Warp::waits_for_cluster) {
                    at.push(cx.cluster.describe());
                }
                at.retain(|text| !text.is_empty());
                let message = format!(
                    "kernel {}: the threads of block ({x},{y},{z}) wait for each other for ever ({}): {}",
                    cx.program.name,
                    at.join(", "),
                    waits.join("; ")
                );
                return Err(Fault { code: Fault::LAUNCH_FAILURE, message, at: None });
            }
        }
    }
}
