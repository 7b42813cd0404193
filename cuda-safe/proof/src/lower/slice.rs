//! Slicing: leaves out what feeds neither an address nor a guard, by liveness, numbers the rest again, and
//! shares registers.

use std::collections::BTreeMap;

use super::{Lowering, PTX};
use crate::domain::range_of;
use crate::effort::JUMPS;
use crate::ir::{Effect, Graph, Kernel, Op, Operand, Origin, Space, Step};

/// What of a register's value matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Matter {
    None,
    /// Whether it may differ at each use.
    Stability,
    Value,
}

impl<'m, 'a> Lowering<'m, 'a> {
    /// Keeps of the values that are stored on the stack those that are computed from parameters and threads
    /// alone: those are worth to be known where they are loaded.
    fn forget_loaded_stores(&mut self) {
        let steps = &mut self.kernel.steps;
        if !steps.iter().any(|it| it.op == Op::Store && it.from.len() > 2) {
            return;
        }
        let mut is_loaded = vec![false; self.kernel.registers.len()];
        loop {
            let mut changed = false;
            for step in &*steps {
                let reads = |it: &Operand| matches!(it, Operand::Register(it) if is_loaded[*it as usize]);
                if step.op == Op::Unknown || step.reads() || step.from.iter().any(reads) {
                    for to in &step.to {
                        changed |= !std::mem::replace(&mut is_loaded[*to as usize], true);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let reads = |it: &Operand| matches!(it, Operand::Register(it) if is_loaded[*it as usize]);
        for step in steps.iter_mut().filter(|it| it.op == Op::Store && it.from[2..].iter().any(reads)) {
            step.from.truncate(2);
        }
    }

    /// Leaves out the steps whose results nothing uses that matters. A branch around such steps alone does
    /// not matter either, and what it tests may not matter then.
    pub(super) fn slice(&mut self) {
        self.forget_loaded_stores();
        loop {
            self.remove_dead_steps();
            let steps = &mut self.kernel.steps;
            let matters: Vec<bool> = (0..steps.len()).map(|at| !is_no_choice(steps, at)).collect();
            if matters.iter().all(|it| *it) {
                break;
            }
            keep(steps, &matters);
        }
        self.number_again();
    }

    fn remove_dead_steps(&mut self) {
        let steps = &mut self.kernel.steps;
        let acts = |step: &Step| step.effect() != Effect::None;
        // A float that is computed from an integer is known by its range only: of the integer it matters
        // whether it may differ at each use, and no more.
        let mut live = vec![Matter::None; self.kernel.registers.len()];
        let mut magnitudes = BTreeMap::new();
        for step in steps.iter().filter(|it| it.op == Op::And && it.flag) {
            magnitudes.insert(step.to[0], step.from[0]);
        }
        // What is stored on the stack matters if anything is that is loaded from there.
        let is_stack = |step: &Step, op: Op| step.op == op && step.space == Space::Local;
        let mut reads_stack = false;
        loop {
            let mut changed = false;
            for step in &*steps {
                let result = step.to.iter().map(|it| live[*it as usize]).max().unwrap_or(Matter::None);
                if !reads_stack && is_stack(step, Op::Load) && result == Matter::Value {
                    (reads_stack, changed) = (true, true);
                }
                let own = match step.op {
                    _ if acts(step) => Matter::Value,
                    Op::Unknown => result.min(Matter::Stability),
                    _ => result,
                };
                if own == Matter::None {
                    continue;
                }
                // A comparison of floating-point numbers is worth its work if their bits are needed anyway.
                if step.compares_floats() {
                    let is_needed = |it: &Operand| matches!(it, Operand::Register(it) if live[*it as usize] == Matter::Value);
                    let magnitude = match &step.from[0] {
                        Operand::Register(it) => magnitudes.get(it),
                        _ => None,
                    };
                    if !is_needed(&step.from[0]) && !magnitude.is_some_and(is_needed) {
                        continue;
                    }
                }
                let leaves = if step.op == Op::Store && !reads_stack { 2 } else { usize::MAX };
                for operand in step.from.iter().take(leaves).chain(&step.guard) {
                    if let Operand::Register(it) | Operand::Negated(it) = operand {
                        let is_predicate = self.kernel.registers[*it as usize] == 1;
                        let least = if is_predicate { Matter::Value } else { own };
                        let need = &mut live[*it as usize];
                        changed |= *need < least;
                        *need = least.max(*need);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        if !reads_stack {
            steps.iter_mut().filter(|it| it.op == Op::Store).for_each(|it| it.from.truncate(2));
        }
        for step in steps.iter_mut().filter(|it| it.compares_floats()) {
            let is_known =
                |it: &Operand| !matches!(it, Operand::Register(it) if live[*it as usize] != Matter::Value);
            if !step.from.iter().all(is_known) {
                (step.op, step.flag) = (Op::Unknown, false);
                step.from = vec![Operand::Number(0), Operand::Number(1)];
            }
        }
        for step in steps.iter_mut().filter(|it| !acts(it) && it.op != Op::Unknown) {
            let ([to], registers) = (&step.to[..], &self.kernel.registers) else { continue };
            let bits = registers[*to as usize];
            if live[*to as usize] != Matter::Stability || !(2..=64).contains(&bits) {
                continue;
            }
            let is_value = |it: &Operand| matches!(it, Operand::Register(it) if registers[*it as usize] > 1);
            let sources = step.from.drain(..).filter(is_value).collect::<Vec<_>>();
            let (low, high) = range_of(bits, true);
            let range = [low, high].map(|it| Operand::Number(i64::try_from(it).unwrap_or(0)));
            let from = range.into_iter().chain(sources).collect();
            // Nothing else of the step stays, so that a slice that is written and read again is the same.
            let Step { bits, at, guard, to, .. } = std::mem::replace(step, Step::new(Op::Unknown));
            *step = Step { bits, at, guard, to, from, origin: Origin::Computed, ..Step::new(Op::Unknown) };
        }
        // What is read, but feeds neither an address nor a guard, need not be kept. Numbers on the stack keep
        // their places.
        for step in steps.iter_mut().filter(|it| it.reads()) {
            let is_used = |it: &u32| live[*it as usize] != Matter::None;
            if step.space != Space::Local || !step.to.iter().any(is_used) {
                step.to.retain(is_used);
            }
        }
        let keeps: Vec<bool> = steps
            .iter()
            .map(|it| acts(it) || it.to.iter().any(|it| live[*it as usize] != Matter::None))
            .collect();
        keep(steps, &keeps);
    }

    /// Gives registers, objects and files new numbers.
    fn number_again(&mut self) {
        let steps = &mut self.kernel.steps;
        let (mut registers, mut objects) = (BTreeMap::new(), BTreeMap::new());
        fn renumber(map: &mut BTreeMap<u32, u32>, it: &mut u32) {
            let next = u32::try_from(map.len()).unwrap_or(u32::MAX);
            *it = *map.entry(*it).or_insert(next);
        }
        let mut files: Vec<u32> = Vec::new();
        for step in &mut *steps {
            for operand in step.from.iter_mut().chain(&mut step.guard) {
                match operand {
                    Operand::Register(it) | Operand::Negated(it) => renumber(&mut registers, it),
                    Operand::Object(it) => renumber(&mut objects, it),
                    _ => {}
                }
            }
            step.to.iter_mut().for_each(|it| renumber(&mut registers, it));
            let file = step.at.0;
            let index = files.iter().position(|it| *it == file).unwrap_or_else(|| {
                files.push(file);
                files.len() - 1
            });
            step.at.0 = u32::try_from(index).unwrap_or(0);
        }
        let mut kept = vec![1; registers.len()];
        registers.iter().for_each(|(old, new)| kept[*new as usize] = self.kernel.registers[*old as usize]);
        self.kernel.registers = kept;
        let old = std::mem::take(&mut self.kernel.objects);
        let mut by_new: Vec<(u32, u32)> = objects.into_iter().map(|(old, new)| (new, old)).collect();
        by_new.sort_unstable();
        self.kernel.objects = by_new.iter().map(|(_, it)| old[*it as usize].clone()).collect();
        let file = |number: &u32| {
            let name = self.module.files.get(number).copied();
            name.unwrap_or(if *number == PTX { "PTX" } else { "?" }).to_owned()
        };
        self.kernel.files = files.iter().map(file).collect();
        share_registers(&mut self.kernel);
        self.kernel.graph = Graph::new(&self.kernel.steps);
    }
}

/// Keeps some of the steps: branches to the others lead to the next one that is kept.
fn keep(steps: &mut Vec<Step>, keeps: &[bool]) {
    let mut places = Vec::with_capacity(keeps.len() + 1);
    let mut next = 0_i64;
    for keep in keeps {
        places.push(next);
        next += i64::from(*keep);
    }
    let mut keep = keeps.iter();
    steps.retain(|_| keep.next().copied().unwrap_or(true));
    for step in steps.iter_mut().filter(|it| it.op == Op::Bra) {
        for target in &mut step.from {
            if let Operand::Number(it) = target {
                let place = usize::try_from(*it).ok().and_then(|it| places.get(it));
                *it = place.copied().unwrap_or(next);
            }
        }
    }
}

/// Returns whether a step is a branch whose ways all lead to one place, with nothing on them.
fn is_no_choice(steps: &[Step], at: usize) -> bool {
    let end = |mut place: usize| {
        for _ in 0..JUMPS {
            match steps.get(place).map(|step| (step.op, step.guard, &step.from[..])) {
                Some((Op::Bra, None, [Operand::Number(to)])) => {
                    place = usize::try_from(*to).unwrap_or(usize::MAX);
                }
                _ => break,
            }
        }
        place
    };
    let step = &steps[at];
    step.op == Op::Bra
        && step.from.iter().all(|target| match target {
            Operand::Number(to) => usize::try_from(*to).is_ok_and(|to| end(to) == end(at + 1)),
            _ => false,
        })
}

/// Gives registers one number if they are never alive at once: states have a value for each number.
///
/// A register's span has all steps that name it. If a way leads back over steps to a block that reads an
/// older value, the span has these steps, too, and all from the start if that value may be unset.
fn share_registers(kernel: &mut Kernel) {
    let graph = Graph::new(&kernel.steps);
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; kernel.registers.len()];
    let mut cover = |register: usize, from: usize, to: usize| {
        let (first, last) = spans[register].unwrap_or((from, to));
        spans[register] = Some((first.min(from), last.max(to)));
    };
    for (at, step) in kernel.steps.iter().enumerate() {
        step.to.iter().for_each(|it| cover(*it as usize, at, at));
        for operand in step.from.iter().chain(&step.guard) {
            if let Operand::Register(it) | Operand::Negated(it) = operand {
                cover(*it as usize, at, at);
            }
        }
    }
    let ways = graph.blocks.iter().flat_map(|block| block.next.iter().map(|next| (*next, block.end)));
    for (to, end) in ways.chain([(0, 1)]) {
        let Some(block) = graph.blocks.get(to).filter(|block| block.start < end) else { continue };
        for register in (0..kernel.registers.len()).filter(|it| block.live.contains(*it)) {
            cover(register, block.start, end - 1);
        }
    }
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|it| spans[*it]);
    // The bits of each new number, and the last step of its span so far.
    let mut shared: Vec<(u8, usize)> = Vec::new();
    let mut numbers = vec![0; spans.len()];
    for register in order {
        let Some((first, last)) = spans[register] else { continue };
        let bits = kernel.registers[register];
        let free = shared.iter().position(|(own, end)| *own == bits && *end < first);
        let number = free.unwrap_or_else(|| {
            shared.push((bits, last));
            shared.len() - 1
        });
        shared[number].1 = last;
        numbers[register] = u32::try_from(number).unwrap_or(u32::MAX);
    }
    kernel.registers = shared.iter().map(|(bits, _)| *bits).collect();
    for step in &mut kernel.steps {
        step.to.iter_mut().for_each(|it| *it = numbers[*it as usize]);
        for operand in step.from.iter_mut().chain(&mut step.guard) {
            if let Operand::Register(it) | Operand::Negated(it) = operand {
                *it = numbers[*it as usize];
            }
        }
    }
}
