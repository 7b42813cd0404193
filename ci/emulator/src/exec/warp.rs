//! One warp: 32 threads that run together while they are at the same instruction.
//!
//! Threads that part ways form groups. Of the groups that can go on, the one deepest in calls and lowest in
//! the code runs, so that the others are caught up with. Now and then another group runs, so that threads of
//! one warp may wait for each other.

use std::sync::Arc;

use super::fault::Fault;
use super::file::{File, LANES, Word, first_lane, lanes, low};
use super::image::{IMAGE_OPERANDS, ImageOperands};
use super::launch::{Context, Launch};
use super::pending::{Asked, Bulk, Later, Products};

/// The number of backward jumps after which another group of the warp gets a turn.
const PATIENCE: u32 = 512;
/// The number of instructions of such a turn.
pub(super) const TURN: u32 = 2048;

/// Threads of a warp that are at the same instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) mask: u32,
    pub(super) pc: u32,
    pub(super) depth: u32,
    pub(super) wait: Wait,
    /// When it ran last.
    pub(super) stamp: u64,
}

/// The event that a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    /// A barrier of the block, from the generation it arrived in.
    Barrier(u32, u64),
    /// The barrier of the cluster, from the generation it arrived in.
    Cluster(u64),
    /// The other lanes of a mask, at the same instruction.
    Lanes(u32),
    /// The other lanes of a mask, at any barrier of the warp.
    Warp(u32),
}

/// The state of a warp after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It can go on.
    Ready,
    /// All of its threads wait.
    Waiting,
    /// All of its threads have ended.
    Over,
}

/// The effect of an instruction on the flow of its group.
pub(super) enum Flow {
    /// The group goes on with the next instruction.
    Next,
    /// The group is gone or must be chosen again.
    Leave,
    /// The group polls: others have a turn first.
    Yield,
}

/// A call that has not returned, of one thread.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) back: u32,
    pub(super) fp: u32,
    pub(super) routine: u32,
    pub(super) call: u32,
    /// What the caller has allocated behind its frame.
    pub(super) allocated: u32,
    /// The registers of the called function as they were, when it calls itself in some way.
    pub(super) saved: Option<Box<Saved>>,
}

/// One thread's registers of a function.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) words: Vec<u32>,
    pub(super) wides: Vec<u64>,
    pub(super) preds: Vec<bool>,
}

/// The handle and the other operands of each lane's next access to an image.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) handles: [u64; LANES],
    pub(super) at: [ImageOperands; LANES],
}

impl Given {
    pub(super) const NOTHING: Self = Self { handles: [0; LANES], at: [[0; IMAGE_OPERANDS]; LANES] };
}

/// The registers of matrix operations, one row for each.
pub(super) type Table = Vec<[u64; LANES]>;

/// A warp.
#[derive(Debug)]
pub(super) struct Warp {
    pub(super) file: File,
    pub(super) groups: Vec<Group>,
    /// Threads that have not ended.
    pub(super) live: u32,
    /// Linear number of the first thread in its block.
    pub(super) first: u32,
    pub(super) frames: Vec<Vec<Frame>>,
    /// The bytes that each lane has allocated on its stack behind its current frame.
    pub(super) allocated: [u32; LANES],
    /// For every function, the lanes that are in it.
    pub(super) active: Vec<u32>,
    stacks: Vec<Vec<u128>>,
    /// The second result of the last shuffle, match or election.
    pub(super) side: u32,
    /// The copies that each lane has not waited for.
    pub(super) later: Vec<Later<Asked>>,
    /// The same for bulk copies in groups.
    pub(super) bulk: Vec<Later<Bulk>>,
    /// The products that it has not waited for.
    pub(super) products: Products,
    /// The operands and results of matrix operations.
    pub(super) table: Table,
    /// The next image access of each lane.
    pub(super) given: Given,
    pub(super) tid: [[u32; LANES]; 3],
    /// The generation of the barrier whose reduction a lane will fetch.
    pub(super) reducing: [Option<u64>; LANES],
    /// The generation of the cluster's barrier that a lane has arrived in, and not yet waited for.
    pub(super) arrived: [Option<u64>; LANES],
    /// The rank of its block in the cluster.
    pub(super) rank: u32,
    unfair: u32,
    stamp: u64,
    /// What its last strong access has found, and where.
    pub(super) found: u64,
}

impl Warp {
    /// Makes the warp of a block whose first thread has this number.
    pub(super) fn new(launch: &Launch, first: u32) -> Self {
        let program = &launch.program;
        let mut tid = [[0; LANES]; 3];
        for (lane, thread) in (first..).take(LANES).enumerate() {
            for (row, at) in tid.iter_mut().zip(launch.thread(thread)) {
                row[lane] = at;
            }
        }
        Self {
            file: File::new(program.sizes, Arc::clone(&program.constants)),
            groups: Vec::new(),
            live: 0,
            first,
            frames: (0..LANES).map(|_| Vec::new()).collect(),
            allocated: [0; LANES],
            active: vec![0; program.functions.len()],
            stacks: (0..LANES).map(|_| Vec::new()).collect(),
            side: 0,
            later: vec![Later::NOTHING; LANES],
            bulk: vec![Later::NOTHING; LANES],
            products: Products::NOTHING,
            table: Table::new(),
            given: Given::NOTHING,
            tid,
            reducing: [None; LANES],
            arrived: [None; LANES],
            rank: 0,
            unfair: 0,
            stamp: 0,
            found: 0,
        }
    }

    /// Starts over, as a warp of another block.
    pub(super) fn reset(&mut self, launch: &Launch, rank: u32) {
        let program = &launch.program;
        let count = launch.threads().saturating_sub(self.first).min(32);
        self.file.clear();
        self.live = u32::MAX.checked_shr(32 - count).unwrap_or(0);
        let (start, frame) = program.functions.last().map_or((0, 0), |k| (k.start, k.frame));
        self.active.fill(0);
        self.frames.iter_mut().for_each(Vec::clear);
        self.allocated = [0; LANES];
        if frame > 0 {
            // Not cleared: a thread finds the bytes that another one left on its stack.
            (0..LANES).for_each(|lane| self.grow(lane, frame));
        }
        self.groups.clear();
        (self.reducing, self.arrived, self.rank) = ([None; LANES], [None; LANES], rank);
        (self.side, self.unfair, self.stamp, self.found) = (0, 0, 0, 0);
        self.products = Products::NOTHING;
        self.groups.push(Group { mask: self.live, pc: start, depth: 0, wait: Wait::Nothing, stamp: 0 });
    }

    /// The linear number of a lane's thread in its block.
    pub(super) fn thread(&self, lane: usize) -> u32 {
        self.first + low(lane as u64)
    }

    /// The error of a lane at the current instruction.
    pub(super) fn fault(&self, cx: &Context<'_>, code: u32, what: &str, lane: usize) -> Fault {
        cx.fault(code, what, self.thread(lane))
    }

    pub(super) fn stack_bytes(&mut self, lane: usize) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.stacks[lane])
    }

    /// Makes a thread's stack reach up to an address.
    pub(super) fn grow(&mut self, lane: usize, top: u32) {
        let units = (top as usize).div_ceil(16);
        if self.stacks[lane].len() < units {
            self.stacks[lane].resize(units, 0);
        }
    }

    /// Counts a backward jump that is taken while other groups wait for their turn.
    #[inline]
    pub(super) fn unfair(&mut self) -> bool {
        self.unfair += 1;
        self.unfair.is_multiple_of(PATIENCE)
    }

    /// Sets a group aside.
    #[inline]
    pub(super) fn park(&mut self, mut group: Group) {
        self.stamp += 1;
        group.stamp = self.stamp;
        self.groups.push(group);
    }

    /// Takes the group that runs next, and the instruction at which another group must be considered.
    pub(super) fn pick(&mut self, cx: &mut Context<'_>) -> Option<(Group, Option<u32>)> {
        self.wake(cx);
        // After many turns of a loop, the group that has waited longest runs.
        let fair = self.unfair >= PATIENCE;
        let ready = |g: &&Group| g.wait == Wait::Nothing;
        let chosen = if fair {
            self.unfair = 0;
            self.groups.iter().filter(ready).min_by_key(|g| g.stamp)
        } else {
            self.groups.iter().filter(ready).min_by_key(|g| (u32::MAX - g.depth, g.pc))
        };
        let mut group = *chosen?;
        // Groups at the same instruction become one.
        self.groups.retain(|g| {
            let same = g.wait == Wait::Nothing && g.pc == group.pc && g.depth == group.depth;
            if same {
                group.mask |= g.mask;
            }
            !same
        });
        if fair && !self.groups.is_empty() {
            return Some((group, None));
        }
        let limit = self
            .groups
            .iter()
            .filter(|g| g.wait == Wait::Nothing && g.depth == group.depth && g.pc > group.pc)
            .map(|g| g.pc)
            .min();
        Some((group, Some(limit.unwrap_or(u32::MAX))))
    }

    /// Wakes the groups whose wait is over.
    fn wake(&mut self, cx: &mut Context<'_>) {
        let live = self.live;
        for at in 0..self.groups.len() {
            let g = self.groups[at];
            let over = match g.wait {
                Wait::Nothing => false,
                Wait::Barrier(id, generation) => cx.barriers.generation(id) != generation,
                Wait::Cluster(generation) => cx.cluster.generation != generation,
                Wait::Lanes(mask) => mask & live & !g.mask == 0,
                Wait::Warp(mask) => {
                    let arrived = self.groups.iter().filter(|o| o.wait == g.wait).fold(0, |m, o| m | o.mask);
                    let over = mask & live & !arrived == 0;
                    if over {
                        self.order(cx, |order, block, warp| order.warp_meets(block, warp, arrived));
                        let met = self.groups.iter_mut().filter(|o| o.wait == g.wait);
                        met.for_each(|o| o.wait = Wait::Nothing);
                    }
                    over
                }
            };
            if over {
                self.groups[at].wait = Wait::Nothing;
            }
        }
    }

    /// Splits a group if only some of its lanes take part in an instruction: the others go on.
    pub(super) fn split(&mut self, group: &mut Group, mask: u32) {
        if mask != group.mask {
            let others = Group { mask: group.mask & !mask, pc: group.pc + 1, ..*group };
            self.park(others);
            group.mask = mask;
        }
    }

    /// Ends threads.
    pub(super) fn exit(&mut self, cx: &mut Context<'_>, mask: u32) {
        self.live &= !mask;
        let opened = cx.barriers.exit(mask.count_ones());
        for id in opened {
            self.order(cx, |order, block, _| order.opens(block, id));
        }
        let now = Some(cx.cluster.generation);
        let arrived = lanes(mask).filter(|&lane| self.arrived[lane].take() == now).count();
        cx.cluster.exit(mask.count_ones(), u32::try_from(arrived).unwrap_or(0));
    }

    /// Describes where the threads of this warp wait.
    pub(super) fn describe(&self, cx: &Context<'_>, out: &mut Vec<String>) {
        for g in &self.groups {
            let from = cx.launch.thread(self.thread(first_lane(g.mask)));
            let to = cx.launch.thread(self.thread(31 - g.mask.leading_zeros() as usize));
            let what = match g.wait {
                Wait::Barrier(id, _) => format!("at barrier {id}"),
                Wait::Cluster(_) => "at the barrier of their cluster".into(),
                Wait::Lanes(mask) | Wait::Warp(mask) => {
                    format!("for lanes {:#x} of the warp", mask & !g.mask & self.live)
                }
                Wait::Nothing => "ready".into(),
            };
            // A group that waits at a barrier continues behind it.
            let pc = if matches!(g.wait, Wait::Barrier(..) | Wait::Warp(_)) {
                g.pc.saturating_sub(1)
            } else {
                g.pc
            };
            out.push(format!("threads {from:?} to {to:?} wait {what}{}", cx.place(pc)));
        }
    }

    /// A value that all lanes of a mask share: that of the first.
    pub(super) fn uniform(&self, slot: u32, mask: u32) -> u32 {
        u32::row(&self.file, slot)[(mask.trailing_zeros() & 31) as usize]
    }

    /// The lanes of a mask whose register holds the same as the first's.
    pub(super) fn alike(&self, slot: u32, mask: u32) -> u32 {
        let row = u32::row(&self.file, slot);
        let first = row[(mask.trailing_zeros() & 31) as usize];
        lanes(mask).filter(|&l| row[l] == first).fold(0, |m, l| m | 1 << l)
    }

    /// Sets the group aside, so that others of the warp have a turn first, and then other warps.
    pub(super) fn let_others(&mut self, group: &Group) -> Flow {
        self.park(*group);
        self.unfair = PATIENCE;
        Flow::Yield
    }
}
