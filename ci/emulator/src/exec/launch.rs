//! One launch of a kernel: the state that all of its blocks share.

use std::sync::Arc;

use super::cluster::{Cluster, parts};
use super::env::{AccessKind, Env};
use super::fault::{CodeLine, Fault, Mistake, Report, ThreadLine};
use super::file::{LANES, low};
use super::polls::Polls;
use super::program::{Access, Op, Program, Scope, SharedArray};
use super::races::KernelRaces;
use crate::host_line::demangled;
use crate::ptx::Space;

/// A launch: the kernel, its shape and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The kernel.
    pub(crate) program: Arc<Program>,
    /// Blocks of the grid, in three dimensions.
    pub(crate) grid: [u32; 3],
    /// Threads of a block, in three dimensions.
    pub(crate) block: [u32; 3],
    /// Bytes of shared memory asked for at the launch.
    pub(crate) dynamic_shared: u32,
    /// The arguments, in the layout of [`Program::params`].
    pub(crate) params: Vec<u8>,
    /// Whether all blocks must be able to wait for each other.
    pub(crate) cooperative: bool,
    /// Blocks of a cluster, in three dimensions, if the program asked for clusters.
    pub(crate) cluster: Option<[u32; 3]>,
    /// The bytes of stack that a thread may use.
    pub(crate) stack: u32,
    /// The multiprocessors of the device.
    pub(crate) processor: Processor,
    /// The launch's number, for `%gridid`.
    pub(crate) number: u64,
}

/// The multiprocessors of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processor {
    /// How many there are.
    pub(crate) count: u32,
    /// Bytes of shared memory of each.
    pub(crate) shared: u32,
    /// How many of them are kept for each block.
    pub(crate) reserved: u32,
    /// Threads of each.
    pub(crate) threads: u32,
    /// Blocks of each.
    pub(crate) blocks: u32,
}

impl Processor {
    /// Those of an H200.
    pub(crate) const LARGE: Self =
        Self { count: 132, shared: 228 << 10, reserved: 1 << 10, threads: 2048, blocks: 32 };
}

impl Launch {
    /// A launch with the limits of a large device.
    pub(crate) fn new(program: Arc<Program>, grid: [u32; 3], block: [u32; 3], params: Vec<u8>) -> Self {
        Self {
            program,
            grid,
            block,
            dynamic_shared: 0,
            params,
            cooperative: false,
            cluster: None,
            stack: 1 << 16,
            processor: Processor::LARGE,
            number: 0,
        }
    }

    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().fold(1, |n, &d| n.saturating_mul(d))
    }

    /// Blocks of the grid.
    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().fold(1, |n, &d| n.saturating_mul(u64::from(d)))
    }

    /// Bytes of shared memory of a block.
    pub(crate) fn shared(&self) -> u32 {
        self.program.static_shared.saturating_add(self.dynamic_shared)
    }

    /// The number of blocks that a multiprocessor holds at a time.
    pub(crate) fn blocks_per_multiprocessor(&self) -> u32 {
        self.blocks_within(self.processor.shared)
    }

    /// The number of blocks that a multiprocessor with so many bytes of shared memory holds.
    pub(crate) fn blocks_within(&self, shared: u32) -> u32 {
        let threads = self.threads().max(1).next_multiple_of(32);
        let by_memory = shared / self.shared().saturating_add(self.processor.reserved).max(1);
        (self.processor.threads / threads).min(by_memory).min(self.processor.blocks)
    }

    /// The number of blocks that run at the same time.
    pub(crate) fn resident(&self) -> u64 {
        u64::from(self.blocks_per_multiprocessor().max(1)) * u64::from(self.processor.count.max(1))
    }

    /// Blocks of a cluster along each axis. Without clusters each block is one.
    pub(crate) fn cluster_shape(&self) -> [u32; 3] {
        self.cluster.unwrap_or([1; 3])
    }

    /// Blocks of a cluster.
    pub(crate) fn cluster_blocks(&self) -> u32 {
        self.cluster_shape().iter().fold(1, |n, &d| n.saturating_mul(d))
    }

    /// Clusters of the grid along each axis.
    pub(crate) fn clusters(&self) -> [u32; 3] {
        let shape = self.cluster_shape();
        [0, 1, 2].map(|axis| self.grid[axis] / shape[axis].max(1))
    }

    /// The position of a block in the grid and in its cluster, by its rank in the cluster.
    pub(crate) fn member(&self, cluster: u64, rank: u32) -> ([u32; 3], [u32; 3]) {
        let ([x, y, _], shape) = (self.clusters().map(u64::from), self.cluster_shape());
        let small = |v: u64| u32::try_from(v).unwrap_or(u32::MAX);
        let at = [cluster % x.max(1), cluster / x.max(1) % y.max(1), cluster / (x * y).max(1)].map(small);
        let [w, h, _] = shape;
        let within = [rank % w.max(1), rank / w.max(1) % h.max(1), rank / (w * h).max(1)];
        ([0, 1, 2].map(|axis| at[axis] * shape[axis] + within[axis]), within)
    }

    /// The number of a block in the grid.
    pub(crate) fn block_number(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [w, h, _] = self.grid.map(u64::from);
        u64::from(x) + w * (u64::from(y) + h * u64::from(z))
    }

    /// The position of a thread in its block.
    pub(crate) fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x.max(1), linear / x.max(1) % y.max(1), linear / (x * y).max(1)]
    }
}

/// The surroundings of a running warp.
pub(super) struct Context<'a> {
    pub(super) env: &'a mut dyn Env,
    pub(super) launch: &'a Launch,
    pub(super) program: &'a Program,
    /// The instruction that the warp executes. That of a deferred copy or product while it is made.
    pub(super) pc: u32,
    /// The position of the current block.
    pub(super) block: [u32; 3],
    /// Its number in the grid.
    pub(super) number: u64,
    /// The cluster of the block.
    pub(super) cluster: &'a mut Cluster,
    pub(super) rank: u32,
    pub(super) within: [u32; 3],
    /// Whether reads and writes are watched.
    pub(super) watched: bool,
    /// Whether the machine looks for races, or the step is inspected.
    pub(super) traced: bool,
    /// The accesses of this launch, if it does.
    pub(super) races: Option<&'a mut KernelRaces>,
    /// The polls of this launch, if the step is inspected.
    pub(super) polls: Option<&'a mut Polls>,
    pub(super) shared: *mut u8,
    pub(super) shared_len: u64,
    pub(super) caches: &'a mut Vec<Cached>,
    pub(super) barriers: &'a mut super::barrier::Barriers,
    /// The first fault of the block's threads, if the others run on.
    pub(super) fault: &'a mut Option<Fault>,
    /// The matrices that warps of a warpgroup share.
    pub(super) matrices: &'a mut Vec<super::pending::Matrices>,
    /// Instructions that warps of this launch have run: its clock.
    pub(super) clock: &'a mut u64,
    /// The memory that grid-wide barriers of this launch use.
    pub(super) workspace: u64,
}

/// The region in which an instruction last found its memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cached {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) host: *mut u8,
    pub(super) writable: bool,
}

impl Cached {
    pub(super) const EMPTY: Self = Self { start: 0, len: 0, host: core::ptr::null_mut(), writable: false };
}

/// The element of so many bytes at an offset in an object, in words.
pub(crate) fn element(offset: u64, size: u64) -> String {
    match offset.checked_rem(size) {
        Some(0) if size > 1 => {
            format!("element {} (bytes {offset} to {})", offset / size, offset + size)
        }
        _ => format!("byte {offset}"),
    }
}

impl Context<'_> {
    /// The number of the current block as races have it.
    pub(super) fn block(&self) -> u32 {
        low(self.number)
    }

    /// Reports a mistake at two instructions, once for each pair of lines, with the bytes of global memory
    /// that it is about. The words are made only then: a kernel may make the mistake at each access.
    pub(super) fn report(
        &mut self,
        mistake: Mistake,
        pcs: (u32, u32),
        memory: Option<(u64, u64)>,
        words: impl FnOnce(&Self) -> (String, Vec<(String, ThreadLine)>),
    ) {
        let is_new = |(a, b): (u32, u32)| self.program.reported.lock().insert((mistake, a.min(b), a.max(b)));
        if !is_new(pcs) {
            return;
        }
        let lines = (self.program.first_of_line(pcs.0), self.program.first_of_line(pcs.1));
        if (lines == pcs || lines == (pcs.1, pcs.0)) || is_new(lines) {
            let (what, parts) = words(self);
            let what = format!("kernel {}: {what}", demangled(&self.program.name));
            self.env.report(Report { mistake, what, parts, memory });
        }
    }

    /// A thread of a block, by their numbers, and an instruction.
    pub(super) fn thread_at(&self, block: u32, thread: u32, pc: u32) -> ThreadLine {
        let [w, h, _] = self.launch.grid;
        let block = [block % w, block / w % h, block / w / h];
        ThreadLine { thread: self.launch.thread(thread), block, code: self.place(pc) }
    }

    /// The array of shared memory at an address, and which of its elements of so many bytes is there.
    pub(super) fn shared_object(&self, address: u64, size: u64) -> String {
        let (offset, rank) = parts(address);
        let of = rank.map_or_else(String::new, |rank| format!(" of block {rank} of the cluster"));
        let within = |it: &&SharedArray| u64::from(it.start) <= offset && offset < u64::from(it.end);
        let (start, name) = match self.program.arrays.iter().find(within) {
            Some(array) => (array.start, format!("the array {}", demangled(&array.name))),
            None if offset >= u64::from(self.program.static_shared) => {
                (self.program.static_shared, "the dynamic shared memory".to_owned())
            }
            None => (0, "the block's shared memory".to_owned()),
        };
        format!("{} of {name}{of}", element(offset - u64::from(start), size))
    }

    /// An error in a thread of the current block.
    pub(super) fn fault(&self, code: u32, what: &str, thread: u32) -> Fault {
        let code_line = self.place(self.pc);
        let at = ThreadLine { thread: self.launch.thread(thread), block: self.block, code: code_line };
        let message = format!("kernel {}: {what}, by {at}", demangled(&self.program.name));
        Fault { code, message, at: Some(at) }
    }

    /// The place of an instruction, in PTX and, if known, in the source.
    pub(super) fn place(&self, pc: u32) -> CodeLine {
        self.program.place(pc)
    }

    /// Tells the machine which bytes an instruction touches, if it looks for races.
    pub(super) fn trace(&mut self, a: Access, kind: AccessKind, at: &[*mut u8; LANES], mask: u32) {
        self.trace_bytes(a, kind, at, (mask, a.bytes()));
    }

    /// The same, of so many bytes.
    pub(super) fn trace_bytes(
        &mut self,
        a: Access,
        kind: AccessKind,
        at: &[*mut u8; LANES],
        (mask, bytes): (u32, u64),
    ) {
        if self.traced && matches!(a.space, Space::Global | Space::Const | Space::Generic) {
            let kind = match kind {
                AccessKind::Read if a.strong.is_some() => AccessKind::StrongRead,
                AccessKind::Write if a.strong.is_some() => AccessKind::Strong,
                kind => kind,
            };
            if let Some(polls) = &mut self.polls {
                // An atomic operation whose result nobody uses is no poll.
                let uses = self.program.code.get(self.pc as usize);
                let reads = !matches!(uses.map(|ins| &ins.op), Some(Op::Atomic(.., false)));
                polls.note((kind, reads), at, mask, bytes, self.pc);
            }
            if self.env.traces() {
                let scope = a.strong.map_or(Scope::Device, |strength| strength.scope);
                self.env.touched((kind, scope), at, mask, bytes, self.pc);
            }
        }
    }
}
