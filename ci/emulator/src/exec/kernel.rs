//! A launched kernel as work on a stream: its blocks, in bounded steps.

use super::barrier::Barriers;
use super::env::{Env, Fault, Step, Task};
use super::launch::{Cached, Context, Launch};
use super::warp::{Turn, Warp};

/// How many instructions a block runs before another has its turn.
const BLOCK_TURN: u64 = 1 << 16;
/// How many instructions a warp runs before another of its block has its turn.
const WARP_TURN: u64 = 1 << 12;
/// Bytes of the memory that grid-wide barriers use.
const WORKSPACE: u64 = 64;

/// A block that is running.
#[derive(Debug)]
struct Block {
    number: u64,
    place: [u32; 3],
    warps: Vec<Warp>,
    shared: Vec<u128>,
    barriers: Barriers,
}

/// A kernel that was launched.
///
/// Blocks start in order. One block runs at a time while blocks end by themselves; a block that takes long makes room
/// for others beside it, up to as many as the device would hold, so that blocks may wait for each other.
#[derive(Debug)]
pub struct Kernel {
    launch: Launch,
    next: u64,
    resident: Vec<Block>,
    spare: Vec<Block>,
    turn: usize,
    /// Instructions of the block whose turn it is, since its turn began: a turn may take several steps.
    spent: u64,
    caches: Vec<Cached>,
    clock: u64,
    workspace: u64,
}

// SAFETY: the pointers in it are those of regions and are forgotten before a step returns.
#[expect(unsafe_code, reason = "the pointers in the cache do not leave a step")]
unsafe impl Send for Kernel {}

impl Kernel {
    /// Prepares a launch to run.
    #[must_use]
    pub fn new(launch: Launch) -> Self {
        let caches = vec![Cached::EMPTY; launch.program.accesses as usize];
        Self {
            launch,
            next: 0,
            resident: Vec::new(),
            spare: Vec::new(),
            turn: 0,
            spent: 0,
            caches,
            clock: 0,
            workspace: 0,
        }
    }

    /// How many warp instructions have run.
    #[must_use]
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// What was launched.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    fn admit(&mut self) {
        let launch = &self.launch;
        let threads = launch.threads();
        let mut block = self.spare.pop().unwrap_or_else(|| Block {
            number: 0,
            place: [0; 3],
            warps: (0..threads.div_ceil(32)).map(|_| Warp::new(&launch.program)).collect(),
            shared: vec![0; (launch.shared() as usize).div_ceil(16)],
            barriers: Barriers::default(),
        });
        block.number = self.next;
        block.place = launch.place(self.next);
        block.barriers = Barriers::new(threads);
        block.shared.fill(0);
        for (first, warp) in (0..).step_by(32).zip(&mut block.warps) {
            warp.reset(launch, first);
        }
        self.next += 1;
        self.resident.push(block);
        self.turn = self.resident.len() - 1;
    }

    /// Grid-wide barriers count in memory of the device.
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
        super::bytes::clear(&region, self.workspace, WORKSPACE).ok_or_else(fault)?;
        env.wrote(region.host, WORKSPACE);
        Ok(())
    }

    fn run(&mut self, env: &mut dyn Env, budget: u64) -> Result<bool, Fault> {
        self.prepare(env)?;
        let mut left = budget.max(1);
        while left > 0 {
            if self.resident.is_empty() {
                if self.next >= self.launch.blocks() {
                    return Ok(true);
                }
                self.admit();
            }
            self.turn %= self.resident.len();
            let mut fuel = left.min(BLOCK_TURN.saturating_sub(self.spent).max(1));
            let given = fuel;
            let over = self.run_block(env, &mut fuel)?;
            // A turn costs something even when it runs nothing.
            left = left.saturating_sub((given - fuel).max(1));
            self.spent += given - fuel;
            if over {
                let block = self.resident.swap_remove(self.turn);
                self.spare.push(block);
                self.spent = 0;
            } else if self.spent >= BLOCK_TURN {
                self.spent = 0;
                let room = self.launch.resident();
                if self.next < self.launch.blocks() && (self.resident.len() as u64) < room {
                    self.admit();
                } else {
                    self.turn += 1;
                }
            }
        }
        Ok(self.resident.is_empty() && self.next >= self.launch.blocks())
    }

    /// Runs one block; answers whether it is over.
    fn run_block(&mut self, env: &mut dyn Env, fuel: &mut u64) -> Result<bool, Fault> {
        let block = &mut self.resident[self.turn];
        let shared: &mut [u8] = bytemuck::cast_slice_mut(&mut block.shared);
        let mut cx = Context {
            watched: env.watches(),
            env,
            launch: &self.launch,
            program: &self.launch.program,
            block: block.place,
            number: block.number,
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
            if over {
                return Ok(true);
            }
            if *fuel == 0 {
                return Ok(false);
            }
            if !moved {
                let mut waits = Vec::new();
                block.warps.iter().for_each(|w| w.describe(&cx, &mut waits));
                waits.truncate(4);
                let [x, y, z] = cx.block;
                let message = format!(
                    "kernel {}: the threads of block ({x},{y},{z}) wait for each other for ever ({}): {}",
                    cx.program.name,
                    cx.barriers.describe(),
                    waits.join("; ")
                );
                return Err(Fault { code: Fault::LAUNCH_FAILURE, message });
            }
        }
    }
}

impl Task for Kernel {
    fn step(&mut self, env: &mut dyn Env, budget: u64) -> Step {
        // What was known of memory may have changed since the last step.
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
}
