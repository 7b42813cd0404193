//! A launched kernel as work on a stream: its blocks, in bounded steps.

use std::sync::Arc;

use super::block::{Block, Left, Runner};
use super::bytes::write;
use super::cluster::Cluster;
use super::env::{Env, Region, Step, Task};
use super::fault::{Fault, Result};
use super::file::low;
use super::launch::{Cached, Launch};
use super::polls::Polls;
use super::program::{Element, Program};
use super::races::KernelRaces;
use super::workers::Blocks;
use crate::fidelity::{self, Limit};

/// The number of instructions that a block runs before another has its turn.
const BLOCK_TURN: u64 = 1 << 16;
/// The clusters that start in a drawn order, if the schedule is random. Each waits for earlier ones at most,
/// so that they must all have room.
const WINDOW: u64 = 32;
/// The number of instructions after which a kernel is long enough for several processors.
const WORTH: u64 = 1 << 15;
/// The number of instructions that other blocks may run after a fault.
const AFTER_A_FAULT: u64 = 1 << 22;
/// Bytes of the memory that grid-wide barriers use.
const WORKSPACE: u64 = 64;

/// A kernel that was launched.
///
/// Blocks start in order, all of a cluster at once. Usually one block runs at a time. If a block takes long,
/// others join it, up to as many as the device would hold, so that blocks may wait for each other. The blocks
/// of a long kernel run on all processors if nothing can show their order. In the random schedule, draws say
/// which block starts, which one has a turn, and how long it is.
#[derive(Debug)]
pub(crate) struct Kernel {
    launch: Launch,
    /// The cluster that starts next.
    next: u64,
    clusters: Vec<Cluster>,
    resident: Vec<Block>,
    spare: Vec<Block>,
    turn: usize,
    /// Instructions of the block whose turn it is, since its turn began: a turn may take several steps.
    spent: u64,
    /// How many a turn has.
    length: u64,
    /// The clusters before `next` that have not started, in the order in which they are to.
    drawn: Vec<u64>,
    caches: Vec<Cached>,
    /// The number of warp instructions that have run.
    pub(super) clock: u64,
    workspace: u64,
    /// The accesses so far, if the machine looks for races.
    races: Option<Box<KernelRaces>>,
    /// The first fault, and when it was, if other blocks run on.
    fault: Option<(Fault, u64)>,
    /// Its polls, from its first step on, and whether this step is inspected.
    polls: Option<Polls>,
    inspected: bool,
}

// SAFETY: the pointers in it are those of regions, which are forgotten before a step returns, and those of
// its blocks' own memory.
#[expect(unsafe_code, reason = "the pointers in it are to its own, or do not leave a step")]
unsafe impl Send for Kernel {}

impl Kernel {
    /// Prepares a launch to run.
    pub(crate) fn new(launch: Launch) -> Self {
        let caches = vec![Cached::EMPTY; launch.program.accesses as usize];
        Self {
            launch,
            next: 0,
            clusters: Vec::new(),
            resident: Vec::new(),
            spare: Vec::new(),
            turn: 0,
            spent: 0,
            length: BLOCK_TURN,
            drawn: Vec::new(),
            caches,
            clock: 0,
            workspace: 0,
            races: None,
            fault: None,
            polls: None,
            inspected: false,
        }
    }

    /// The number of clusters.
    fn count(&self) -> u64 {
        self.launch.clusters().iter().fold(1, |n, &d| n.saturating_mul(u64::from(d)))
    }

    /// The cluster that starts next.
    fn take(&mut self, env: &mut dyn Env) -> u64 {
        if let Some(drawn) = self.drawn.pop() {
            return drawn;
        }
        let first = self.next;
        let room = self.launch.resident() / u64::from(self.launch.cluster_blocks().max(1));
        let count = usize::try_from(WINDOW.min(room).min(self.count() - first)).unwrap_or(1);
        self.next += 1;
        if count < 2 || env.draw(1).is_none() {
            return first;
        }
        self.next = first + count as u64;
        self.drawn.extend(first..self.next);
        for left in (1..count).rev() {
            self.drawn.swap(left, env.draw(left + 1).unwrap_or(left));
        }
        self.drawn.pop().unwrap_or(first)
    }

    /// Whether clusters are left that have not started.
    fn has_more(&self) -> bool {
        !self.drawn.is_empty() || self.next < self.count()
    }

    fn admit(&mut self, env: &mut dyn Env) {
        let blocks = self.launch.cluster_blocks();
        let threads = self.launch.threads();
        let mut cluster = Cluster::new(self.take(env), threads.saturating_mul(blocks));
        self.turn = self.resident.len();
        for rank in 0..blocks {
            let block = Block::start(&self.launch, self.spare.pop(), &mut cluster, rank);
            if let Some(races) = &mut self.races {
                let (shared, bytes) = block.extent();
                races.start(low(block.number), threads, shared.addr(), bytes);
            }
            self.resident.push(block);
        }
        self.clusters.push(cluster);
    }

    /// Removes a block that has ended, and its cluster with its last block.
    fn end(&mut self) {
        let block = self.resident.swap_remove(self.turn);
        if let Some(races) = &mut self.races {
            races.end(low(block.number));
        }
        if let Some(at) = self.clusters.iter().position(|it| it.number == block.cluster)
            && self.clusters[at].ended(block.rank as usize)
        {
            self.clusters.swap_remove(at);
        }
        self.spare.push(block);
        self.spent = 0;
    }

    /// Allocates the memory in which grid-wide barriers count.
    fn prepare(&mut self, env: &mut dyn Env) -> Result {
        if !self.launch.cooperative || self.workspace != 0 {
            return Ok(());
        }
        self.workspace = env.heap_malloc(WORKSPACE);
        let fault = || Fault {
            code: Fault::OUT_OF_RESOURCES,
            message: format!("kernel {}: no memory for its grid-wide barrier", self.launch.program.name),
            at: None,
        };
        let region = env.region(self.workspace).ok_or_else(fault)?;
        clear(&region, self.workspace, WORKSPACE).ok_or_else(fault)?;
        env.wrote(region.host, WORKSPACE);
        Ok(())
    }

    fn run(&mut self, env: &mut dyn Env, budget: u64) -> Result<bool> {
        self.prepare(env)?;
        if self.spreads(env) {
            return self.run_parallel(env, budget);
        }
        let mut left = budget.max(1);
        while left > 0 {
            if self.resident.is_empty() {
                if !self.has_more() {
                    return Ok(true);
                }
                self.admit(env);
            }
            self.turn %= self.resident.len();
            // A short turn would part the warps of a warpgroup.
            if self.spent == 0 && !self.launch.program.has_warpgroups {
                self.length = BLOCK_TURN >> env.draw(12).unwrap_or(0);
            }
            let mut fuel = left.min(self.length.saturating_sub(self.spent).max(1));
            let given = fuel;
            let state = match self.run_block(env, &mut fuel) {
                Err(fault) if env.traces() && env.runs_on() => {
                    self.fault.get_or_insert((fault, self.clock));
                    Left::Over
                }
                state => state?,
            };
            if let Some(fault) = self.resident[self.turn].fault.take() {
                self.fault.get_or_insert((fault, self.clock));
            }
            if let Some((fault, _)) =
                self.fault.take_if(|(_, since)| self.clock.saturating_sub(*since) > AFTER_A_FAULT)
            {
                return Err(fault);
            }
            // A turn costs something even when it runs nothing.
            left = left.saturating_sub((given - fuel).max(1));
            self.spent += given - fuel;
            match state {
                Left::Over => self.end(),
                Left::Waiting => {
                    self.spent = 0;
                    self.turn += 1;
                }
                Left::Ready if self.spent >= self.length => {
                    self.spent = 0;
                    let room = self.launch.resident();
                    let more = self.resident.len() as u64 + u64::from(self.launch.cluster_blocks());
                    let others = self.resident.len();
                    if self.has_more() && more <= room && env.draw(2) != Some(1) {
                        self.admit(env);
                    } else {
                        self.turn = env.draw(others).unwrap_or(self.turn + 1);
                    }
                }
                Left::Ready => {}
            }
        }
        Ok(self.resident.is_empty() && !self.has_more())
    }

    /// Runs the block whose turn it is.
    fn run_block(&mut self, env: &mut dyn Env, fuel: &mut u64) -> Result<Left> {
        let block = &mut self.resident[self.turn];
        let cluster = self.clusters.iter_mut().find(|it| it.number == block.cluster);
        let Some(cluster) = cluster else {
            let message = format!("kernel {}: a block without a cluster", self.launch.program.name);
            return Err(Fault { code: Fault::LAUNCH_FAILURE, message, at: None });
        };
        let (caches, clock) = (&mut self.caches, &mut self.clock);
        Runner {
            launch: &self.launch,
            env,
            caches,
            clock,
            workspace: self.workspace,
            races: self.races.as_deref_mut(),
            polls: self.polls.as_mut().filter(|_| self.inspected),
        }
        .run(block, cluster, fuel)
    }

    /// Whether blocks may run on several processors: if that cannot be seen, and is worth it.
    fn spreads(&self, env: &dyn Env) -> bool {
        let program = &self.launch.program;
        let alone = self.launch.cluster_blocks() == 1 && !self.launch.cooperative && !program.shows_order;
        let left = self.resident.len() as u64 + (self.count() - self.next);
        alone
            && !self.inspected
            && !env.watches()
            && !env.traces()
            && self.clock >= WORTH
            && left > 1
            && env.processors() > 1
    }

    /// Runs blocks on several processors.
    fn run_parallel(&mut self, env: &mut dyn Env, budget: u64) -> Result<bool> {
        let mut clusters = std::mem::take(&mut self.clusters);
        let started = self.resident.drain(..).filter_map(|block| {
            let at = clusters.iter().position(|it| it.number == block.cluster)?;
            Some((block, clusters.swap_remove(at)))
        });
        let (started, spare) = (started.collect(), std::mem::take(&mut self.spare));
        let mut blocks = Blocks::new(self.next, self.count(), started, spare);
        blocks.run(&self.launch, env, budget)?;
        self.next = blocks.next;
        self.clock += blocks.clock;
        self.spare = blocks.spare;
        (self.resident, self.clusters) = blocks.started.into_iter().unzip();
        (self.turn, self.spent) = (0, 0);
        Ok(self.resident.is_empty() && self.next >= self.count())
    }
}

impl Task for Kernel {
    fn step(&mut self, env: &mut dyn Env, budget: u64) -> Step {
        // Memory may have changed since the last step, so that cached regions are invalid.
        self.caches.fill(Cached::EMPTY);
        if env.traces() && self.races.is_none() {
            self.races = Some(Box::default());
        }
        self.inspected = self.polls.get_or_insert_with(Polls::new).begins();
        if self.clock == 0 && self.launch.program.approximate {
            fidelity::note(Limit::ApproximateMath);
        }
        if self.clock == 0 && self.launch.program.shows_order {
            fidelity::note(Limit::Order);
        }
        let result = self.run(env, budget);
        if let Some(poll) = self.polls.as_mut().filter(|_| self.inspected).and_then(Polls::ends) {
            env.polls(&self.launch.program, &poll);
        }
        self.caches.fill(Cached::EMPTY);
        let step = match result {
            Ok(true) => self.fault.take().map_or(Step::Done, |(fault, _)| Step::Fault(fault)),
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
