//! Barriers that part of a block skips, if the machine looks for races.
//!
//! `__syncthreads()` is for all threads of a block that have not ended. (Since compute capability 7.0 a
//! barrier opens when all of these have come.) So a thread that ends early skips nothing, and neither does one
//! that leaves the rest of the kernel out: the two are the same in PTX. A thread skips a barrier if it goes on
//! **behind** it: if it uses memory, or comes to another barrier, in code that is reached from the barrier
//! and from which the barrier is not reached any more. From there on the number of its arrivals at that
//! barrier is final, and all threads that get there must have the same. The same is so for loops that threads
//! leave after different numbers of turns.
//!
//! Only barriers for all threads count, and not those with a number of threads, which parts of a block use
//! among themselves. The barriers are those of the kernel itself and what is inlined there, the first 64.

use super::fault::Mistake;
use super::file::lanes;
use super::launch::Context;
use super::program::{Ins, NONE, Op, Program};
use super::warp::Warp;

/// The barriers of a kernel, and the code behind each.
#[derive(Debug, Default)]
pub struct Behind {
    /// The instructions that are barriers for all threads.
    barriers: Vec<u32>,
    /// The first instruction of the kernel.
    start: u32,
    /// For each instruction from there on, the barriers that it is behind, as bits.
    of: Vec<u64>,
}

impl Behind {
    /// Looks at a kernel.
    pub(super) fn new(program: &Program) -> Self {
        let Some(kernel) = program.functions.last() else { return Self::default() };
        let (start, end) = (kernel.start as usize, kernel.end as usize);
        let code = program.code.get(start..end).unwrap_or_default();
        let is_barrier = |ins: &Ins| match ins.op {
            Op::Barrier(_) => ins.s[1] == NONE,
            Op::BarrierReduce(..) => ins.s[2] == NONE,
            _ => false,
        };
        let barriers: Vec<u32> = (kernel.start..)
            .zip(code)
            .filter(|(_, ins)| is_barrier(ins))
            .map(|(at, _)| at)
            .take(64)
            .collect();
        if barriers.is_empty() {
            return Self::default();
        }
        let mut own = vec![0_u64; code.len()];
        for (number, at) in barriers.iter().enumerate() {
            own[*at as usize - start] = 1 << number;
        }
        let next = |at: usize| {
            let ins = &code[at];
            let (ends, targets) = match &ins.op {
                Op::Branch(target) => (true, std::slice::from_ref(target)),
                Op::Table(table) => (true, program.tables.get(*table as usize).map_or(&[][..], |it| it)),
                Op::Return | Op::Exit | Op::Trap | Op::Unsupported(_) => (true, &[][..]),
                _ => (false, &[][..]),
            };
            let falls = (!ends || ins.guard.slot != NONE).then_some(at + 1);
            let jumps = targets.iter().map(move |target| (*target as usize).wrapping_sub(start));
            falls.into_iter().chain(jumps).filter(|at| *at < code.len())
        };
        // The barriers that come before an instruction on some path, and those that it may still come to.
        let (mut past, mut ahead) = (vec![0_u64; code.len()], own.clone());
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
        let of = past.iter().zip(&ahead).map(|(past, ahead)| past & !ahead).collect();
        Self { barriers, start: kernel.start, of }
    }

    /// The barriers that an instruction is behind.
    fn at(&self, pc: u32) -> u64 {
        pc.checked_sub(self.start).and_then(|at| self.of.get(at as usize)).copied().unwrap_or(0)
    }
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
struct Arrived {
    /// Of each thread.
    times: Vec<u32>,
    /// The most of all threads.
    most: u32,
    /// The fewest of a thread that is behind the barrier, that thread, and where it was found there.
    fewest: Option<(u32, u32, u32)>,
    told: bool,
}

/// A barrier that part of a block skips.
struct Skip {
    barrier: usize,
    /// The threads that have arrived more often than the one that skips it: how many, and one of them.
    waiting: (usize, u32),
    /// The one that skips it, how often it has arrived, and where it is.
    thread: u32,
    times: u32,
    pc: u32,
}

impl Arrivals {
    /// Notes that threads arrive at a barrier.
    fn arrive(&mut self, barrier: usize, who: impl Iterator<Item = u32>, threads: u32) -> Option<Skip> {
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
    fn go_on(&mut self, barriers: u64, thread: u32, threads: u32, pc: u32) -> u64 {
        self.behind.resize(threads as usize, 0);
        let Some(behind) = self.behind.get_mut(thread as usize) else { return 0 };
        let new = barriers & !*behind;
        *behind |= new;
        for number in numbers(new) {
            let it = self.barrier(number);
            let times = it.times.get(thread as usize).copied().unwrap_or(0);
            if it.fewest.is_none_or(|(fewest, ..)| times < fewest) {
                it.fewest = Some((times, thread, pc));
            }
        }
        new
    }

    fn barrier(&mut self, number: usize) -> &mut Arrived {
        if self.barriers.len() <= number {
            self.barriers.resize(number + 1, Arrived::default());
        }
        &mut self.barriers[number]
    }
}

/// The numbers of the bits that are set.
fn numbers(bits: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |number| bits >> number & 1 != 0)
}

impl Arrived {
    /// What is wrong, once.
    fn skip(&mut self, barrier: usize) -> Option<Skip> {
        let (times, thread, pc) = self.fewest.filter(|(fewest, ..)| *fewest < self.most && !self.told)?;
        self.told = true;
        let mut more = (0..).zip(&self.times).filter(|(_, of)| **of > times).map(|(thread, _)| thread);
        let first = more.next().unwrap_or(0);
        Some(Skip { barrier, waiting: (1 + more.count(), first), thread, times, pc })
    }
}

impl Warp {
    /// Notes that threads use memory or come to a barrier, and reports a barrier that they have skipped.
    pub(super) fn goes_on(&self, cx: &mut Context<'_>, mask: u32, pc: u32) {
        let barriers = cx.program.behind().at(pc);
        if barriers == 0 {
            return;
        }
        let (block, threads) = (cx.block(), cx.launch.threads());
        let Some(arrivals) = cx.races.as_mut().and_then(|races| races.arrivals(block)) else { return };
        let new =
            self.threads(mask).fold(0, |new, thread| new | arrivals.go_on(barriers, thread, threads, pc));
        let found: Vec<Skip> =
            numbers(new).filter_map(|number| arrivals.barrier(number).skip(number)).collect();
        found.iter().for_each(|skip| skip.report(cx));
    }

    /// Notes that threads arrive at a barrier, if the machine looks for races.
    pub(super) fn comes_to_barrier(&self, cx: &mut Context<'_>, mask: u32, pc: u32) {
        if cx.races.is_none() {
            return;
        }
        self.goes_on(cx, mask, pc);
        let Some(barrier) = cx.program.behind().barriers.iter().position(|at| *at == pc) else { return };
        let (block, threads) = (cx.block(), cx.launch.threads());
        let Some(arrivals) = cx.races.as_mut().and_then(|races| races.arrivals(block)) else { return };
        if let Some(skip) = arrivals.arrive(barrier, self.threads(mask), threads) {
            skip.report(cx);
        }
    }

    /// The numbers of the threads of these lanes.
    fn threads(&self, mask: u32) -> impl Iterator<Item = u32> {
        let first = self.first;
        lanes(mask).map(move |lane| first + u32::try_from(lane).unwrap_or(0))
    }
}

impl Skip {
    fn report(&self, cx: &mut Context<'_>) {
        let at = cx.program.behind().barriers[self.barrier];
        let (count, first) = self.waiting;
        let threads = if count == 1 { "thread has" } else { "threads have" };
        let without = match self.times {
            0 => "goes on without it".to_owned(),
            1 => "goes on after one arrival there, while others have more".to_owned(),
            times => format!("goes on after {times} arrivals there, while others have more"),
        };
        let what = "part of a block skips a barrier and goes on behind it";
        let parts = [
            format!("{count} {threads} come to the barrier, such as {}", cx.thread_at(cx.block(), first, at)),
            format!("{without}: {}", cx.thread_at(cx.block(), self.thread, self.pc)),
        ];
        cx.report(Mistake::Barrier, (at, self.pc), what, &parts);
    }
}
