//! Gives the registers of a function their final places.
//!
//! Compilers write PTX with a register for every value, and a warp of a large kernel would fill megabytes.
//! Values that are not alive at the same time share a place. Lanes of a warp may be at different
//! instructions, but each lane has its own column of every register, so that the analysis of one thread holds
//! for all.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use crate::exec::file::{CONSTANT, Class, Sizes, Slot};
use crate::exec::program::{Ins, NONE, Op};

/// The frame pointer, in every function.
pub(super) const FRAME: Slot = 0;

/// The live range of a register: from the first to the last instruction that uses it.
#[derive(Clone, Copy, Debug)]
struct Interval {
    start: u32,
    end: u32,
    /// The basic block of all uses, while there is only one and it starts by writing the register.
    block: Option<u32>,
}

/// Rewrites the slots of a function's code, which starts at `start`, to final places from `base` on. Returns
/// the number of registers of each class in use.
pub(super) fn allocate(
    code: &mut [Ins],
    start: u32,
    tables: &[Vec<u32>],
    counts: Sizes,
    base: Sizes,
) -> Sizes {
    let (blocks, loops) = flow(code, start, tables);
    let mut live = [
        vec![None; counts.words as usize],
        vec![None; counts.wides as usize],
        vec![None; counts.preds as usize],
    ];
    for (at, ins) in (0..).zip(code.iter()) {
        let block = blocks[at as usize];
        let defined = defined(ins);
        for (place, &slot) in ins.s.iter().enumerate() {
            let writes = place < defined && ins.guard.slot == NONE && !ins.s[defined..].contains(&slot);
            extend(&mut live, slot, at, block, writes);
        }
        extend(&mut live, ins.guard.slot, at, block, false);
    }
    forget_unread(code);
    let classes = [Class::Word, Class::Wide, Class::Pred];
    let first = [base.words, base.wides, base.preds];
    let mut places = Vec::new();
    let mut used = [0; 3];
    for i in 0..3 {
        let (map, n) = scan(&mut live[i], &loops, first[i]);
        places.push(map);
        used[i] = n;
    }
    let rewrite = |slot: Slot| {
        if slot == NONE || slot == FRAME {
            return slot;
        }
        let index = slot & (CONSTANT - 1);
        if slot & CONSTANT != 0 {
            return CONSTANT | index;
        }
        let i = classes.iter().position(|&c| c == class(slot)).unwrap_or(0);
        places[i].get(index as usize).copied().unwrap_or(0)
    };
    for ins in code {
        ins.s = ins.s.map(rewrite);
        ins.guard.slot = rewrite(ins.guard.slot);
    }
    Sizes { words: used[0], wides: used[1], preds: used[2] }
}

/// Takes the results of atomic operations away that nothing reads. Compilers leave this to the assembler.
fn forget_unread(code: &mut [Ins]) {
    let read = |ins: &Ins| ins.s.into_iter().skip(defined(ins)).chain([ins.guard.slot]);
    let read: HashSet<Slot> = code.iter().flat_map(read).collect();
    for ins in code {
        if let Op::Atomic(_, _, wants) = &mut ins.op {
            *wants &= read.contains(&ins.s[0]);
        }
    }
}

/// The number of leading slots that an instruction writes.
fn defined(ins: &Ins) -> usize {
    match ins.op {
        Op::Alu(_)
        | Op::Special(..)
        | Op::Atomic(..)
        | Op::BarrierReduce(..)
        | Op::Shuffle(..)
        | Op::Predicate
        | Op::Vote(..)
        | Op::Match(..)
        | Op::Redux(_)
        | Op::ActiveMask
        | Op::Elect
        | Op::Mbarrier(..)
        | Op::MapAddress(_)
        | Op::RankOf(_)
        | Op::Alloca(..)
        | Op::StackSave(..)
        | Op::IsSpace(..) => 1,
        Op::Load(access) | Op::Param(access) => usize::from(access.count),
        Op::Texture(_) => 4,
        Op::UnpackFragment(..) => ins.s.iter().take_while(|slot| **slot != NONE).count(),
        Op::SurfaceLoad(access) => usize::from(access.count),
        // Each is listed: an instruction that writes a register and is missing above would be misallocated.
        Op::Store(_)
        | Op::Coordinates(_)
        | Op::SurfaceStore(_)
        | Op::PackFragment(..)
        | Op::Matrix(_)
        | Op::AskCopy(_)
        | Op::CloseGroup(_)
        | Op::MakeCopies(..)
        | Op::AskBulk(_)
        | Op::Branch(_)
        | Op::Table(_)
        | Op::Call(_)
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Barrier(_)
        | Op::Arrive
        | Op::WarpBarrier
        | Op::Sleep
        | Op::ClusterArrive
        | Op::ClusterWait
        | Op::StackRestore(..)
        | Op::Fence(..)
        | Op::GridWait
        | Op::Nothing
        | Op::Unsupported(_) => 0,
    }
}

/// The slots that an instruction reads.
pub(super) fn read(ins: &Ins) -> &[Slot] {
    &ins.s[defined(ins)..]
}

fn extend(live: &mut [Vec<Option<Interval>>; 3], slot: Slot, at: u32, block: u32, writes: bool) {
    if slot == NONE || slot == FRAME || slot & CONSTANT != 0 {
        return;
    }
    let class = match class(slot) {
        Class::Word => 0,
        Class::Wide => 1,
        Class::Pred => 2,
    };
    let Some(place) = live[class].get_mut((slot & (CONSTANT - 1)) as usize) else { return };
    match place {
        None => *place = Some(Interval { start: at, end: at, block: writes.then_some(block) }),
        Some(interval) => {
            interval.end = at;
            if interval.block != Some(block) {
                interval.block = None;
            }
        }
    }
}

/// The class in the mark of a slot.
pub(super) fn class(slot: Slot) -> Class {
    match slot >> 30 {
        0 => Class::Word,
        1 => Class::Wide,
        _ => Class::Pred,
    }
}

/// Numbers the basic blocks, and finds the ranges that backward jumps span.
fn flow(code: &[Ins], start: u32, tables: &[Vec<u32>]) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut leader = vec![false; code.len() + 1];
    let mut loops = Vec::new();
    for (at, ins) in (0..).zip(code) {
        let mut jump = |target: u32| {
            let target = target.saturating_sub(start);
            if let Some(l) = leader.get_mut(target as usize) {
                *l = true;
            }
            if target <= at {
                loops.push((target, at));
            }
        };
        match ins.op {
            Op::Branch(target) => jump(target),
            Op::Table(table) => tables[table as usize].iter().for_each(|&t| jump(t)),
            Op::Call(_) | Op::Return | Op::Exit | Op::Trap => {}
            _ => continue,
        }
        leader[at as usize + 1] = true;
    }
    // Wide loops come first: then one pass over the list usually is enough.
    loops.sort_unstable_by_key(|&(from, to)| Reverse(to - from));
    let mut number = 0;
    let blocks = leader[..code.len()]
        .iter()
        .map(|&first| {
            number += u32::from(first);
            number
        })
        .collect();
    (blocks, loops)
}

/// Places intervals, each as low as possible. Returns the places and their number.
fn scan(live: &mut [Option<Interval>], loops: &[(u32, u32)], base: u32) -> (Vec<u32>, u32) {
    for interval in live.iter_mut().flatten().filter(|i| i.block.is_none()) {
        // A value that lives across blocks must survive every turn of a loop that uses it.
        loop {
            let before = (interval.start, interval.end);
            for &(from, to) in loops {
                if interval.start <= to && interval.end >= from {
                    interval.start = interval.start.min(from);
                    interval.end = interval.end.max(to);
                }
            }
            if (interval.start, interval.end) == before {
                break;
            }
        }
    }
    let mut order: Vec<(u32, u32, usize)> =
        live.iter().enumerate().filter_map(|(i, v)| v.map(|v| (v.start, v.end, i))).collect();
    order.sort_unstable();
    let mut places = vec![base; live.len()];
    let mut busy: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
    let mut used = 0;
    for (start, end, register) in order {
        while let Some(&Reverse((until, place))) = busy.peek() {
            if until >= start {
                break;
            }
            busy.pop();
            free.push(Reverse(place));
        }
        let place = free.pop().map_or_else(
            || {
                used += 1;
                base + used - 1
            },
            |Reverse(place)| place,
        );
        places[register] = place;
        busy.push(Reverse((end, place)));
    }
    (places, used)
}
