//! Blocks of one kernel on several processors, for kernels that cannot show in which order their blocks run.

use std::collections::VecDeque;
use std::thread;

use parking_lot::Mutex;

use super::block::{Block, Left, Runner};
use super::cluster::Cluster;
use super::env::{Env, Region};
use super::fault::{Fault, Refused, Result};
use super::image::{Image, Texture};
use super::launch::{Cached, Launch};

/// The part of a step that each processor runs, in budgets: a thread is worth its start.
const SHARE: u64 = 4;

/// The blocks of a kernel that have not ended.
pub(super) struct Blocks {
    /// The block that starts next.
    pub(super) next: u64,
    count: u64,
    /// Blocks that have started, and the cluster that each of them is.
    pub(super) started: VecDeque<(Block, Cluster)>,
    pub(super) spare: Vec<Block>,
    /// The number of instructions that have run.
    pub(super) clock: u64,
    /// The fault of the first block that had one.
    fault: Option<(u64, Fault)>,
}

/// A block to run, which has started, or the number of one and the memory of one that has ended.
enum Taken {
    Started((Block, Cluster)),
    New(u64, Option<Block>),
}

impl Blocks {
    pub(super) fn new(next: u64, count: u64, started: VecDeque<(Block, Cluster)>, spare: Vec<Block>) -> Self {
        Self { next, count, started, spare, clock: 0, fault: None }
    }

    /// Runs blocks on all processors, each for a bounded number of instructions.
    pub(super) fn run(&mut self, launch: &Launch, env: &mut dyn Env, budget: u64) -> Result {
        let left = self.started.len() as u64 + (self.count - self.next);
        let threads = u64::try_from(env.processors()).unwrap_or(1).min(left);
        let (blocks, env) = (Mutex::new(self), Mutex::new(env));
        let worker = || work(launch, &blocks, &env, budget.saturating_mul(SHARE));
        thread::scope(|scope| {
            for _ in 1..threads {
                // Without this thread, the others run all blocks.
                let _ = thread::Builder::new().name("cuda-blocks".to_owned()).spawn_scoped(scope, worker);
            }
            worker();
        });
        blocks.into_inner().fault.take().map_or(Ok(()), |(_, fault)| Err(fault))
    }

    /// Takes a block to run. After a fault, blocks behind the faulty one are left.
    fn take(&mut self) -> Option<Taken> {
        let last = self.fault.as_ref().map_or(u64::MAX, |(number, _)| *number);
        if let Some(at) = self.started.iter().position(|(block, _)| block.number < last) {
            return self.started.remove(at).map(Taken::Started);
        }
        let number = self.next;
        if number >= self.count.min(last) {
            return None;
        }
        self.next += 1;
        Some(Taken::New(number, self.spare.pop()))
    }

    /// Puts a block back after it has run.
    fn put(&mut self, block: Block, cluster: Cluster, state: Result<Left>) {
        match state {
            Ok(Left::Over) => self.spare.push(block),
            Ok(Left::Ready | Left::Waiting) => self.started.push_back((block, cluster)),
            Err(fault) if self.fault.as_ref().is_none_or(|(number, _)| block.number < *number) => {
                self.fault = Some((block.number, fault));
            }
            Err(_) => {}
        }
    }
}

/// Runs blocks on one processor.
fn work(launch: &Launch, blocks: &Mutex<&mut Blocks>, env: &Mutex<&mut dyn Env>, mut fuel: u64) {
    let mut caches = vec![Cached::EMPTY; launch.program.accesses as usize];
    let mut clock = 0;
    while fuel > 0 {
        let taken = blocks.lock().take();
        let (mut block, mut cluster) = match taken {
            None => break,
            Some(Taken::Started(it)) => it,
            Some(Taken::New(number, spare)) => {
                let mut cluster = Cluster::new(number, launch.threads());
                (Block::start(launch, spare, &mut cluster, 0), cluster)
            }
        };
        let (env, caches, clock) = (&mut Locked(env), &mut caches, &mut clock);
        let mut runner = Runner { launch, env, caches, clock, workspace: 0, races: None, polls: None };
        let state = runner.run(&mut block, &mut cluster, &mut fuel);
        // A turn costs something even when it runs nothing.
        fuel = fuel.saturating_sub(1);
        blocks.lock().put(block, cluster, state);
    }
    blocks.lock().clock += clock;
}

/// The machine, which one processor at a time asks.
struct Locked<'a, 'b>(&'a Mutex<&'b mut dyn Env>);

impl Env for Locked<'_, '_> {
    fn region(&mut self, addr: u64) -> Option<Region> {
        self.0.lock().region(addr)
    }
    fn nearest(&mut self, addr: u64) -> Option<String> {
        self.0.lock().nearest(addr)
    }
    fn texture(&mut self, handle: u64) -> Result<Texture, Refused> {
        self.0.lock().texture(handle)
    }
    fn surface(&mut self, handle: u64) -> Result<Image, Refused> {
        self.0.lock().surface(handle)
    }
    fn heap_malloc(&mut self, bytes: u64) -> u64 {
        self.0.lock().heap_malloc(bytes)
    }
    fn heap_free(&mut self, addr: u64) -> bool {
        self.0.lock().heap_free(addr)
    }
    fn print(&mut self, text: &str) {
        self.0.lock().print(text);
    }
    fn complain(&mut self, text: &str) {
        self.0.lock().complain(text);
    }
}
