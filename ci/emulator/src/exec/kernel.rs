//! A launched kernel as work on a stream: its blocks, in bounded steps.

use std::sync::Arc;

use super::barrier::Barriers;
use super::bytes::write;
use super::cluster::Cluster;
use super::env::{Env, Region, Step, Task};
use super::fault::Fault;
use super::launch::{Cached, Context, Launch};
use super::program::{Element, Program};
use super::warp::{Turn, Warp};

/// The number of instructions that a block runs before another has its turn.
const BLOCK_TURN: u64 = 1 << 16;
/// The number of instructions that a warp runs before another of its block has its turn.
const WARP_TURN: u64 = 1 << 12;
/// The contents of shared memory that no thread has written: as new memory of a device.
const UNWRITTEN: u128 = u128::from_ne_bytes([0xcd; 16]);
/// Bytes of the memory that grid-wide barriers use.
const WORKSPACE: u64 = 64;

/// A block that is running.
#[derive(Debug)]
struct Block {
    number: u64,
    place: [u32; 3],
    /// The number of its cluster, and its place in the cluster.
    cluster: u64,
    rank: u32,
    within: [u32; 3],
    warps: Vec<Warp>,
    shared: Vec<u128>,
    barriers: Barriers,
}

/// The state of a block after a turn.
enum Left {
    /// It can go on.
    Ready,
    /// It can go on once another block of its cluster has.
    Waiting,
    /// Its threads have ended.
    Over,
}

/// A kernel that was launched.
///
/// Blocks start in order, all of a cluster at once. Usually one block runs at a time. If a block takes long,
/// others join it, up to as many as the device would hold, so that blocks may wait for each other.
#[derive(Debug)]
pub struct Kernel {
    launch: Launch,
    /// The cluster that starts next.
    next: u64,
    clusters: Vec<Cluster>,
    resident: Vec<Block>,
    spare: Vec<Block>,
    turn: usize,
    /// Instructions of the block whose turn it is, since its turn began: a turn may take several steps.
    spent: u64,
    caches: Vec<Cached>,
    clock: u64,
    workspace: u64,
}

// SAFETY: the pointers in it are those of regions, which are forgotten before a step returns, and those of
// its blocks' own memory.
#[expect(unsafe_code, reason = "the pointers in it are to its own, or do not leave a step")]
unsafe impl Send for Kernel {}

impl Kernel {
    /// Prepares a launch to run.
    #[must_use]
    pub fn new(launch: Launch) -> Self {
        let caches = vec![Cached::EMPTY; launch.program.accesses as usize];
        Self {
            launch,
            next: 0,
            clusters: Vec::new(),
            resident: Vec::new(),
            spare: Vec::new(),
            turn: 0,
            spent: 0,
            caches,
            clock: 0,
            workspace: 0,
        }
    }

    /// The number of warp instructions that have run.
    #[must_use]
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// The launch.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The number of clusters.
    fn count(&self) -> u64 {
        self.launch.clusters().iter().fold(1, |n, &d| n.saturating_mul(u64::from(d)))
    }

    fn admit(&mut self) {
        let blocks = self.launch.cluster_blocks();
        let threads = self.launch.threads();
        let mut cluster = Cluster::new(self.next, threads.saturating_mul(blocks));
        self.turn = self.resident.len();
        for rank in 0..blocks {
            self.admit_block(&mut cluster, rank, threads);
        }
        self.clusters.push(cluster);
        self.next += 1;
    }

    fn admit_block(&mut self, cluster: &mut Cluster, rank: u32, threads: u32) {
        let launch = &self.launch;
        let mut block = self.spare.pop().unwrap_or_else(|| Block {
            number: 0,
            place: [0; 3],
            cluster: 0,
            rank: 0,
            within: [0; 3],
            warps: (0..threads.div_ceil(32)).map(|_| Warp::new(&launch.program)).collect(),
            // Never empty: a null pointer marks a block that has ended.
            shared: vec![0; (launch.shared() as usize).div_ceil(16).max(1)],
            barriers: Barriers::default(),
        });
        (block.place, block.within) = launch.member(self.next, rank);
        block.number = launch.block_number(block.place);
        (block.cluster, block.rank) = (self.next, rank);
        block.barriers = Barriers::new(threads);
        block.shared.fill(UNWRITTEN);
        cluster.members.push(block.shared.as_mut_ptr().cast());
        for (first, warp) in (0..).step_by(32).zip(&mut block.warps) {
            warp.reset(launch, first, rank);
        }
        self.resident.push(block);
    }

    /// Removes a block that has ended, and its cluster with its last block.
    fn end(&mut self) {
        let block = self.resident.swap_remove(self.turn);
        if let Some(at) = self.clusters.iter().position(|it| it.number == block.cluster)
            && self.clusters[at].ended(block.rank as usize)
        {
            self.clusters.swap_remove(at);
        }
        self.spare.push(block);
        self.spent = 0;
    }

    /// Allocates the memory in which grid-wide barriers count.
    fn prepare(&mut self, env: &mut dyn Env) -> Result<(), Fault> {
        if !self.launch.cooperative || self.workspace != 0 {
            return Ok(());
        }
        self.workspace = env.heap_malloc(WORKSPACE);
        let fault = || Fault {
            code: Fault::OUT_OF_RESOURCES,
            message: format!("kernel {}: no memory for its grid-wide barrier", self.launch.program.name),
        };
        let region = env.region(self.workspace).ok_or_else(fault)?;
        clear(&region, self.workspace, WORKSPACE).ok_or_else(fault)?;
        env.wrote(region.host, WORKSPACE);
        Ok(())
    }

    fn run(&mut self, env: &mut dyn Env, budget: u64) -> Result<bool, Fault> {
        self.prepare(env)?;
        let mut left = budget.max(1);
        while left > 0 {
            if self.resident.is_empty() {
                if self.next >= self.count() {
                    return Ok(true);
                }
                self.admit();
            }
            self.turn %= self.resident.len();
            let mut fuel = left.min(BLOCK_TURN.saturating_sub(self.spent).max(1));
            let given = fuel;
            let state = self.run_block(env, &mut fuel)?;
            // A turn costs something even when it runs nothing.
            left = left.saturating_sub((given - fuel).max(1));
            self.spent += given - fuel;
            match state {
                Left::Over => self.end(),
                Left::Waiting => {
                    self.spent = 0;
                    self.turn += 1;
                }
                Left::Ready if self.spent >= BLOCK_TURN => {
                    self.spent = 0;
                    let room = self.launch.resident();
                    let more = self.resident.len() as u64 + u64::from(self.launch.cluster_blocks());
                    if self.next < self.count() && more <= room {
                        self.admit();
                    } else {
                        self.turn += 1;
                    }
                }
                Left::Ready => {}
            }
        }
        Ok(self.resident.is_empty() && self.next >= self.count())
    }

    /// Runs one block.
    fn run_block(&mut self, env: &mut dyn Env, fuel: &mut u64) -> Result<Left, Fault> {
        let block = &mut self.resident[self.turn];
        let cluster = self.clusters.iter_mut().find(|it| it.number == block.cluster);
        let Some(cluster) = cluster else {
            let message = format!("kernel {}: a block without a cluster", self.launch.program.name);
            return Err(Fault { code: Fault::LAUNCH_FAILURE, message });
        };
        let shared: &mut [u8] = bytemuck::cast_slice_mut(&mut block.shared);
        let mut cx = Context {
            watched: env.watches(),
            traced: env.traces(),
            env,
            launch: &self.launch,
            program: &self.launch.program,
            block: block.place,
            number: block.number,
            cluster,
            rank: block.rank,
            within: block.within,
            shared: shared.as_mut_ptr(),
            shared_len: u64::from(self.launch.shared()),
            caches: &mut self.caches,
            barriers: &mut block.barriers,
            clock: &mut self.clock,
            workspace: self.workspace,
        };
        loop {
            let (mut over, mut moved) = (true, false);
            for warp in &mut block.warps {
                let mut turn = (*fuel).min(WARP_TURN);
                let given = turn;
                let state = warp.run(&mut cx, &mut turn)?;
                *fuel -= given - turn;
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
                return Err(Fault { code: Fault::LAUNCH_FAILURE, message });
            }
        }
    }
}

impl Task for Kernel {
    fn step(&mut self, env: &mut dyn Env, budget: u64) -> Step {
        // Memory may have changed since the last step, so that cached regions are invalid.
        self.caches.fill(Cached::EMPTY);
        let result = self.run(env, budget);
        self.caches.fill(Cached::EMPTY);
        let step = match result {
            Ok(true) => Step::Done,
            Ok(false) => return Step::Yield,
            Err(fault) => Step::Fault(fault),
        };
        if self.workspace != 0 {
            env.heap_free(self.workspace);
            self.workspace = 0;
        }
        step
    }

    fn arguments(&self) -> &[u8] {
        &self.launch.params
    }

    fn program(&self) -> Option<&Arc<Program>> {
        Some(&self.launch.program)
    }
}

/// Sets bytes of a region to zero. Returns `None` if they are not all in it.
fn clear(region: &Region, address: u64, bytes: u64) -> Option<()> {
    let end = address.checked_add(bytes)?;
    if address < region.start || end > region.end || !region.writable {
        return None;
    }
    for at in address - region.start..end - region.start {
        write(region.host.wrapping_add(usize::try_from(at).ok()?), Element::U8, 0);
    }
    Some(())
}
