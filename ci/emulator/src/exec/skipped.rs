//! Barriers that part of a block skips, if the machine looks for races.
//!
//! `__syncthreads()` is for all threads of a block that have not ended. (Since compute capability 7.0 a
//! barrier opens when all of these have come.) So a thread that ends early skips nothing, and neither does
//! one that leaves the rest of the kernel out: the two are the same in PTX. A thread skips a barrier if it
//! goes on **behind** it: if it uses memory, or comes to another barrier, in code that is reached from the
//! barrier and from which the barrier is not reached any more. From there on the number of its arrivals at
//! that barrier is final, and all threads that get there must have the same. The same is so for loops that
//! threads leave after different numbers of turns.
//!
//! Only barriers for all threads count, and not those with a number of threads, which parts of a block use
//! among themselves. The lanes of a warp may meet at several barriers with one mask. So a thread behind a
//! barrier of a warp skips it if others wait there for that thread and it can come to no other barrier of
//! warps. The same holds for instructions by which the lanes of a mask exchange values: shuffles, votes and
//! the like. The barriers are those of the kernel itself and what is inlined there, the first 64: those of
//! the block, then those of warps, and then exchanges, of which those of a piece of straight code are one.

use std::collections::HashMap;

use super::program::{Behind, Ins, NONE, Op, Program, Target};
use crate::fidelity::{self, Limit};

/// Stands for all barriers of warps, and for functions, which may have some.
const OF_WARPS: u128 = 1 << 64;
/// The same for exchanges.
const EXCHANGES: u128 = 1 << 65;

/// Whether an instruction exchanges values between the lanes of a mask.
fn exchanges(ins: &Ins) -> bool {
    matches!(ins.op, Op::Shuffle(_, true) | Op::Vote(_, _, true) | Op::Match(..) | Op::Redux(_) | Op::Elect)
}

impl Program {
    /// The code behind each barrier.
    pub(super) fn behind(&self) -> &Behind {
        self.behind.get_or_init(|| Behind::new(self))
    }
}

impl Behind {
    /// Looks at a kernel.
    fn new(program: &Program) -> Self {
        let Some(kernel) = program.functions.last() else { return Self::default() };
        let (start, end) = (kernel.start as usize, kernel.end as usize);
        let code = program.code.get(start..end).unwrap_or_default();
        let is_barrier = |ins: &Ins| match ins.op {
            Op::Barrier(_) => ins.s[1] == NONE,
            Op::BarrierReduce(..) => ins.s[2] == NONE,
            _ => false,
        };
        let mut barriers: Vec<u32> =
            (kernel.start..).zip(code).filter(|(_, ins)| is_barrier(ins)).map(|(at, _)| at).collect();
        let of_block = barriers.len();
        let warp_barriers = (kernel.start..).zip(code).filter(|(_, ins)| matches!(ins.op, Op::WarpBarrier));
        barriers.extend(warp_barriers.map(|(at, _)| at));
        let of_threads = barriers.len();
        let mut numbers: Vec<(u32, usize)> = barriers.iter().copied().zip(0..).collect();
        let pieces = pieces(program, start, code);
        let mut last = None;
        for at in (0..code.len()).filter(|at| exchanges(&code[*at])) {
            let pc = kernel.start + u32::try_from(at).unwrap_or(0);
            if last != Some(pieces[at]) {
                last = Some(pieces[at]);
                barriers.push(pc);
            }
            numbers.push((pc, barriers.len() - 1));
        }
        if barriers.len() > 64 {
            fidelity::note(Limit::Barriers);
            barriers.truncate(64);
            numbers.retain(|it| it.1 < 64);
        }
        if barriers.is_empty() {
            return Self::default();
        }
        let of_warps = |ins: &Ins| match ins.op {
            Op::WarpBarrier => OF_WARPS,
            Op::Call(call) => match program.calls.get(call as usize).map(|it| &it.target) {
                Some(None | Some(Target::Routine(_))) => OF_WARPS | EXCHANGES,
                _ => 0,
            },
            _ if exchanges(ins) => EXCHANGES,
            _ => 0,
        };
        let mut own: Vec<u128> = code.iter().map(of_warps).collect();
        for (at, number) in &numbers {
            own[*at as usize - start] |= 1 << number;
        }
        let next = |at: usize| {
            let (falls, jumps) = leads_to(program, &code[at]);
            let jumps = jumps.iter().map(move |target| (*target as usize).wrapping_sub(start));
            falls.then_some(at + 1).into_iter().chain(jumps).filter(|at| *at < code.len())
        };
        // The barriers that come before an instruction on some path, and those that it may still come to.
        let (mut past, mut ahead) = (vec![0_u128; code.len()], own.clone());
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..code.len() {
                let gives = past[at] | own[at];
                for next in next(at) {
                    changed |= gives & !past[next] != 0;
                    past[next] |= gives;
                }
            }
            for at in (0..code.len()).rev() {
                let more = next(at).fold(ahead[at], |all, next| all | ahead[next]);
                changed |= more != ahead[at];
                ahead[at] = more;
            }
        }
        let of = |(past, ahead): (&u128, &u128)| {
            let below = |count: usize| (1_u128 << count.min(64)) - 1;
            let warps = if ahead & OF_WARPS == 0 { below(of_threads) } else { below(of_block) };
            let exchanges = if ahead & EXCHANGES == 0 { below(64) & !below(of_threads) } else { 0 };
            u64::try_from(past & !ahead & (warps | exchanges)).unwrap_or(0)
        };
        let of = past.iter().zip(&ahead).map(of).collect();
        Self { barriers, of_block, numbers, start: kernel.start, of }
    }

    /// The number of a barrier or an exchange.
    pub(super) fn number(&self, pc: u32) -> Option<usize> {
        self.numbers.iter().find(|it| it.0 == pc).map(|it| it.1)
    }

    /// The barriers that an instruction is behind.
    pub(super) fn at(&self, pc: u32) -> u64 {
        pc.checked_sub(self.start).and_then(|at| self.of.get(at as usize)).copied().unwrap_or(0)
    }
}

/// Whether an instruction leads to the next one, and where else.
fn leads_to<'a>(program: &'a Program, ins: &'a Ins) -> (bool, &'a [u32]) {
    let (ends, targets) = match &ins.op {
        Op::Branch(target) => (true, std::slice::from_ref(target)),
        Op::Table(table) => (true, program.tables.get(*table as usize).map_or(&[][..], |it| it)),
        Op::Return | Op::Exit | Op::Trap | Op::Unsupported(_) => (true, &[][..]),
        _ => (false, &[][..]),
    };
    (!ends || ins.guard.slot != NONE, targets)
}

/// The number of the piece of straight code that each instruction is in.
fn pieces(program: &Program, start: usize, code: &[Ins]) -> Vec<usize> {
    let mut begins = vec![false; code.len() + 1];
    for (at, ins) in code.iter().enumerate() {
        let (falls, targets) = leads_to(program, ins);
        begins[at + 1] |= !falls || !targets.is_empty();
        for target in targets {
            if let Some(begins) = begins.get_mut((*target as usize).wrapping_sub(start)) {
                *begins = true;
            }
        }
    }
    let number = |piece: &mut usize, begins: &bool| {
        *piece += usize::from(*begins);
        Some(*piece)
    };
    begins.iter().take(code.len()).scan(0, number).collect()
}

/// How often the threads of a block have arrived at each barrier.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// For each thread, the barriers that it is behind.
    behind: Vec<u64>,
    /// For each barrier.
    barriers: Vec<Arrived>,
}

/// The arrivals at one barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrived {
    /// Of each thread.
    times: Vec<u32>,
    /// The most of all threads.
    most: u32,
    /// The fewest of a thread that is behind the barrier, that thread, and where it was found there.
    fewest: Option<(u32, u32, u32)>,
    /// Where each thread was found behind the barrier, if it is one of a warp.
    behind: HashMap<u32, u32>,
    told: bool,
}

/// What is skipped.
#[derive(Clone, Copy, Debug)]
pub(super) enum SkippedAt {
    /// A barrier of the block, by its number.
    Block(usize),
    /// A barrier of a warp, or an exchange, by its instruction.
    Warp(u32),
    Exchange(u32),
}

/// A barrier that part of a block skips.
pub(super) struct Skip {
    pub(super) at: SkippedAt,
    /// The threads that have arrived more often than the one that skips it: how many, and one of them.
    pub(super) waiting: (usize, u32),
    /// The one that skips it, how often it has arrived, and where it is.
    pub(super) thread: u32,
    pub(super) times: u32,
    pub(super) pc: u32,
}

impl Arrivals {
    /// Notes that threads arrive at a barrier.
    pub(super) fn arrive(
        &mut self,
        barrier: usize,
        who: impl Iterator<Item = u32>,
        threads: u32,
    ) -> Option<Skip> {
        let it = self.barrier(barrier);
        it.times.resize(threads as usize, 0);
        for thread in who {
            let times = it.times.get_mut(thread as usize)?;
            *times += 1;
            it.most = it.most.max(*times);
        }
        it.skip(barrier)
    }

    /// Notes that a thread is behind barriers. Returns those where it was not.
    pub(super) fn go_on(
        &mut self,
        (barriers, of_block): (u64, usize),
        thread: u32,
        threads: u32,
        pc: u32,
    ) -> u64 {
        self.behind.resize(threads as usize, 0);
        let Some(behind) = self.behind.get_mut(thread as usize) else { return 0 };
        let new = barriers & !*behind;
        *behind |= new;
        for number in numbers(new) {
            let it = self.barrier(number);
            if number >= of_block {
                it.behind.insert(thread, pc);
                continue;
            }
            let times = it.times.get(thread as usize).copied().unwrap_or(0);
            if it.fewest.is_none_or(|(fewest, ..)| times < fewest) {
                it.fewest = Some((times, thread, pc));
            }
        }
        new
    }

    pub(super) fn barrier(&mut self, number: usize) -> &mut Arrived {
        if self.barriers.len() <= number {
            self.barriers.resize(number + 1, Arrived::default());
        }
        &mut self.barriers[number]
    }
}

/// The numbers of the bits that are set.
pub(super) fn numbers(bits: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |number| bits >> number & 1 != 0)
}

impl Arrived {
    /// What is wrong, once.
    pub(super) fn skip(&mut self, barrier: usize) -> Option<Skip> {
        let (times, thread, pc) = self.fewest.filter(|(fewest, ..)| *fewest < self.most && !self.told)?;
        self.told = true;
        let mut more = (0..).zip(&self.times).filter(|(_, of)| **of > times).map(|(thread, _)| thread);
        let first = more.next().unwrap_or(0);
        Some(Skip { at: SkippedAt::Block(barrier), waiting: (1 + more.count(), first), thread, times, pc })
    }

    /// The same of threads that wait at a barrier of their warp, or an exchange, for others, once.
    pub(super) fn skip_of_warp(
        &mut self,
        at: SkippedAt,
        waiting: (usize, u32),
        mut others: impl Iterator<Item = u32>,
    ) -> Option<Skip> {
        let (thread, pc) = others.find_map(|thread| Some((thread, *self.behind.get(&thread)?)))?;
        let is_new = !std::mem::replace(&mut self.told, true);
        is_new.then_some(Skip { at, waiting, thread, times: 0, pc })
    }
}
