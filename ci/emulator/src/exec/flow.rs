//! Calls, returns, indirect jumps and exits of a warp, and the barriers of its block and its cluster.

use super::cluster::{RANK, parts};
use super::fault::{Fault, Mistake, Result};
use super::file::{Word, first_lane, lanes, low};
use super::launch::Context;
use super::program::{Ins, NONE, Op, Reduce, Target, Until};
use super::warp::{Flow, Frame, Group, Saved, Wait, Warp};

impl Warp {
    pub(super) fn jump(
        &mut self,
        cx: &mut Context<'_>,
        ins: &Ins,
        group: &mut Group,
        mask: u32,
    ) -> Result<Flow> {
        self.split(group, mask);
        match ins.op {
            Op::Table(table) => {
                // One target at a time. Lanes with other targets come back to this instruction.
                let same = self.alike(ins.s[0], mask);
                let index = self.uniform(ins.s[0], mask);
                self.leave_behind(group, same);
                let targets = &cx.program.tables[table as usize];
                let Some(&target) = targets.get(index as usize) else {
                    let what = format!("a jump to entry {index} of a table of {}", targets.len());
                    return Err(self.fault(cx, Fault::INVALID_PC, &what, first_lane(group.mask)));
                };
                group.pc = target;
            }
            Op::Call(call) => return self.call(cx, ins, group, call),
            Op::Return => return self.back(cx, group),
            _ => {
                self.end(cx, group.mask)?;
                return Ok(Flow::Leave);
            }
        }
        self.park(*group);
        Ok(Flow::Leave)
    }

    /// Ends threads. Their pending copies are made first.
    fn end(&mut self, cx: &mut Context<'_>, mask: u32) -> Result {
        if !cx.program.copies.is_empty() {
            self.make(cx, Until::All, mask)?;
        }
        if !cx.program.bulk_copies.is_empty() {
            self.wait_for_bulk(cx, Until::All, mask)?;
        }
        if self.live & !mask == 0 {
            self.forgotten_product(cx)?;
        }
        self.exit(cx, mask);
        Ok(())
    }

    /// Keeps some lanes of a group; the others stay at the instruction.
    pub(super) fn leave_behind(&mut self, group: &mut Group, keep: u32) {
        if keep != group.mask {
            self.park(Group { mask: group.mask & !keep, ..*group });
            group.mask = keep;
        }
    }

    fn call(&mut self, cx: &mut Context<'_>, ins: &Ins, group: &mut Group, call: u32) -> Result<Flow> {
        let info = &cx.program.calls[call as usize];
        let routine = match &info.target {
            Some(Target::Routine(number)) => *number,
            Some(other) => {
                self.builtin(cx, other, info, group.mask)?;
                group.pc += 1;
                return Ok(Flow::Next);
            }
            None => {
                let row = u64::row(&self.file, ins.s[0]);
                let address = row[(group.mask.trailing_zeros() & 31) as usize];
                let same = lanes(group.mask).filter(|&l| row[l] == address).fold(0, |m, l| m | 1 << l);
                self.leave_behind(group, same);
                let Some(&number) = cx.program.by_number.get(&address) else {
                    let what = format!("a call to {address:#x}, where no function is");
                    return Err(self.fault(cx, Fault::INVALID_PC, &what, first_lane(group.mask)));
                };
                number
            }
        };
        let callee = &cx.program.functions[routine as usize];
        let caller_frame = cx.program.functions[info.caller as usize].frame;
        for lane in lanes(group.mask) {
            let fp = self.file.words[0][lane];
            let allocated = self.allocated[lane];
            let new = fp.saturating_add(caller_frame).saturating_add(allocated);
            let top = new.saturating_add(callee.frame);
            if top > cx.launch.stack {
                let what = format!(
                    "stack overflow: {} calls need {top} bytes, a thread has {}",
                    self.frames[lane].len() + 1,
                    cx.launch.stack
                );
                return Err(self.fault(cx, Fault::STACK, &what, lane));
            }
            self.grow(lane, top);
            for (&(from, size), &(to, room)) in info.args.iter().zip(&callee.params) {
                self.move_bytes(lane, fp + from, new + to, size.min(room));
            }
            let inside = self.active[routine as usize] >> lane & 1 != 0;
            let saved = inside.then(|| Box::new(self.save(callee, lane)));
            self.active[routine as usize] |= 1 << lane;
            self.frames[lane].push(Frame { back: group.pc + 1, fp, routine, call, allocated, saved });
            self.file.words[0][lane] = new;
            self.allocated[lane] = 0;
        }
        self.park(Group { pc: callee.start, depth: group.depth + 1, ..*group });
        Ok(Flow::Leave)
    }

    fn back(&mut self, cx: &mut Context<'_>, group: &mut Group) -> Result<Flow> {
        if group.depth == 0 {
            self.end(cx, group.mask)?;
            return Ok(Flow::Leave);
        }
        let mut left = group.mask;
        while left != 0 {
            // Lanes that were called from the same place return together.
            let mut place = None;
            let mut together = 0;
            for lane in lanes(left) {
                let back = self.frames[lane].last().map(|f| f.back);
                if place.is_none() {
                    place = back;
                }
                if back != place {
                    continue;
                }
                together |= 1 << lane;
                self.pop(cx, lane);
            }
            let Some(pc) = place else {
                return Err(self.fault(cx, Fault::INVALID_PC, "a return without a call", first_lane(left)));
            };
            self.park(Group { mask: together, pc, depth: group.depth - 1, ..*group });
            left &= !together;
        }
        Ok(Flow::Leave)
    }

    fn pop(&mut self, cx: &Context<'_>, lane: usize) {
        let Some(frame) = self.frames[lane].pop() else { return };
        let callee = &cx.program.functions[frame.routine as usize];
        let call = &cx.program.calls[frame.call as usize];
        let fp = self.file.words[0][lane];
        for (&(to, size), &(from, room)) in call.returns.iter().zip(&callee.returns) {
            self.move_bytes(lane, fp + from, frame.fp + to, size.min(room));
        }
        match frame.saved {
            Some(saved) => self.restore(callee, lane, &saved),
            None => self.active[frame.routine as usize] &= !(1 << lane),
        }
        self.file.words[0][lane] = frame.fp;
        self.allocated[lane] = frame.allocated;
    }

    fn move_bytes(&mut self, lane: usize, from: u32, to: u32, size: u32) {
        let stack = self.stack_bytes(lane);
        let (from, to, size) = (from as usize, to as usize, size as usize);
        if from + size <= stack.len() && to + size <= stack.len() {
            stack.copy_within(from..from + size, to);
        }
    }

    fn save(&self, f: &super::program::Routine, lane: usize) -> Saved {
        let range = |base: u32, n: u32| base as usize..(base + n) as usize;
        Saved {
            words: self.file.words[range(f.base.words, f.sizes.words)].iter().map(|r| r[lane]).collect(),
            wides: self.file.wides[range(f.base.wides, f.sizes.wides)].iter().map(|r| r[lane]).collect(),
            preds: self.file.preds[range(f.base.preds, f.sizes.preds)]
                .iter()
                .map(|p| p >> lane & 1 != 0)
                .collect(),
        }
    }

    fn restore(&mut self, f: &super::program::Routine, lane: usize, saved: &Saved) {
        for (row, v) in self.file.words[f.base.words as usize..].iter_mut().zip(&saved.words) {
            row[lane] = *v;
        }
        for (row, v) in self.file.wides[f.base.wides as usize..].iter_mut().zip(&saved.wides) {
            row[lane] = *v;
        }
        for (row, v) in self.file.preds[f.base.preds as usize..].iter_mut().zip(&saved.preds) {
            *row = *row & !(1 << lane) | u32::from(*v) << lane;
        }
    }

    pub(super) fn barrier(
        &mut self,
        cx: &mut Context<'_>,
        ins: &Ins,
        group: &mut Group,
        mask: u32,
    ) -> Result<Flow> {
        let reduces = matches!(ins.op, Op::BarrierReduce(..));
        let at = usize::from(reduces);
        let (id_slot, count_slot) = (ins.s[at], ins.s[at + 1]);
        self.split(group, mask);
        let same = self.alike(id_slot, group.mask);
        self.leave_behind(group, same);
        let id = self.uniform(id_slot, group.mask);
        if reduces && self.reduced(cx, ins, group, id) {
            return Ok(Flow::Next);
        }
        let thread = self.thread(first_lane(group.mask));
        let wrong = |cx: &Context<'_>, what: &str| Err(cx.fault(Fault::LAUNCH_FAILURE, what, thread));
        if id >= cx.barriers.count() {
            return wrong(cx, &format!("barrier {id} does not exist"));
        }
        let expected = (count_slot != NONE).then(|| self.uniform(count_slot, group.mask));
        if let Some(n) = expected.filter(|n| n % 32 != 0 || *n == 0) {
            let what = format!("a barrier for {n} threads, which is no multiple of the warp size");
            return wrong(cx, &what);
        }
        let generation = cx.barriers.generation(id);
        if let Op::Barrier(true) = ins.op {
            // Threads of one warp must meet a barrier at the same place.
            let elsewhere =
                self.groups.iter().find(|g| g.wait == Wait::Barrier(id, generation) && g.pc != group.pc + 1);
            if let Some(other) = elsewhere {
                let there = cx.place(other.pc.saturating_sub(1));
                let [x, y, z] = cx.launch.thread(self.thread(first_lane(other.mask)));
                let what = format!(
                    "threads of one warp wait at barrier {id} in different places \
                     (thread ({x},{y},{z}){there})"
                );
                return wrong(cx, &what);
            }
        }
        let truths = if let Op::BarrierReduce(_, negated) = ins.op {
            let p = self.file.pred(ins.s[3]);
            (group.mask & if negated { !p } else { p }).count_ones()
        } else {
            0
        };
        self.comes_to_barrier(cx, group.mask);
        if reduces {
            // The group stays at the instruction, and finds the result there when the barrier has opened.
            lanes(group.mask).for_each(|l| self.reducing[l] = Some(generation));
        } else {
            group.pc += 1;
        }
        let waits = !matches!(ins.op, Op::Arrive) && expected.is_none();
        self.note_arrival(cx, id, group, (waits, !matches!(ins.op, Op::Arrive)));
        cx.barriers.arrive(id, group.mask.count_ones(), truths, expected);
        if cx.barriers.generation(id) != generation {
            self.order(cx, |order, block, _| order.opens(block, id));
        }
        if !matches!(ins.op, Op::Arrive) {
            group.wait = Wait::Barrier(id, generation);
        }
        self.park(*group);
        Ok(Flow::Leave)
    }

    /// Notes the arrival of threads at a barrier, and reports it if others of the block are at another one.
    fn note_arrival(&self, cx: &mut Context<'_>, id: u32, group: &Group, (all, waits): (bool, bool)) {
        let mut other = None;
        let pc = group.pc - u32::from(all && group.pc > 0);
        self.order(cx, |order, block, warp| {
            other = order.arrives((block, warp), group.mask, id, pc, waits);
        });
        self.acquire_flags(cx, group.mask);
        let Some(first) = other.filter(|_| all) else { return };
        cx.report(Mistake::Barrier, (first, pc), None, |cx| {
            let thread = self.thread(first_lane(group.mask));
            let [there, here] = [first, pc].map(|pc| cx.thread_at(cx.block(), thread, pc));
            let others = format!("other threads of the block wait{}", there.code);
            let what = format!("threads of a block wait at barrier {id} in different places");
            (what, vec![(others, there), (here.to_string(), here)])
        });
    }

    /// Gives the result of a reduction to lanes that come back for it. Returns whether these lanes do.
    fn reduced(&mut self, cx: &Context<'_>, ins: &Ins, group: &mut Group, id: u32) -> bool {
        let first = self.reducing[(group.mask.trailing_zeros() & 31) as usize];
        let same = lanes(group.mask).filter(|&l| self.reducing[l] == first).fold(0, |m, l| m | 1 << l);
        self.leave_behind(group, same);
        let Some(generation) = first else { return false };
        let mask = group.mask;
        lanes(mask).for_each(|l| self.reducing[l] = None);
        let (threads, truths) = cx.barriers.gathered(id, generation);
        match ins.op {
            Op::BarrierReduce(Reduce::Popc, _) => {
                let row = u32::row_mut(&mut self.file, ins.s[0]);
                lanes(mask).for_each(|l| row[l] = truths);
            }
            Op::BarrierReduce(Reduce::And, _) => {
                self.file.set_pred(ins.s[0], if truths == threads { mask } else { 0 }, mask);
            }
            _ => self.file.set_pred(ins.s[0], if truths > 0 { mask } else { 0 }, mask),
        }
        group.pc += 1;
        true
    }

    /// `barrier.cluster.arrive`.
    pub(super) fn cluster_arrive(
        &mut self,
        cx: &mut Context<'_>,
        group: &mut Group,
        mask: u32,
    ) -> Result<Flow> {
        if let Some(lane) = lanes(mask).find(|&lane| self.arrived[lane].is_some()) {
            let what = "a second arrival at the cluster's barrier, without a wait behind the first";
            return Err(self.fault(cx, Fault::LAUNCH_FAILURE, what, lane));
        }
        let generation = cx.cluster.generation;
        lanes(mask).for_each(|lane| self.arrived[lane] = Some(generation));
        let ([_, barrier], is_first) = (cx.cluster.names(generation), cx.cluster.is_empty());
        self.order(cx, |order, block, warp| {
            if is_first {
                order.begins(barrier);
            }
            order.arrives_at(block, warp, mask, barrier);
        });
        cx.cluster.arrive(mask.count_ones());
        group.pc += 1;
        Ok(Flow::Next)
    }

    /// `barrier.cluster.wait`: the threads stay at the instruction until the barrier has opened.
    pub(super) fn cluster_wait(
        &mut self,
        cx: &mut Context<'_>,
        group: &mut Group,
        mask: u32,
    ) -> Result<Flow> {
        self.split(group, mask);
        let first = self.arrived[(group.mask.trailing_zeros() & 31) as usize];
        let same = lanes(group.mask).filter(|&l| self.arrived[l] == first).fold(0, |m, l| m | 1 << l);
        self.leave_behind(group, same);
        let Some(generation) = first else {
            let what = "a wait at the cluster's barrier, at which the thread has not arrived";
            return Err(self.fault(cx, Fault::LAUNCH_FAILURE, what, first_lane(group.mask)));
        };
        if cx.cluster.generation != generation {
            let [_, barrier] = cx.cluster.names(generation);
            self.order(cx, |order, block, warp| order.waited_at(block, warp, group.mask, barrier));
            lanes(group.mask).for_each(|lane| self.arrived[lane] = None);
            group.pc += 1;
            return Ok(Flow::Next);
        }
        group.wait = Wait::Cluster(generation);
        self.park(*group);
        Ok(Flow::Leave)
    }

    /// Whether threads wait for other blocks of the cluster.
    pub(super) fn waits_for_cluster(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.wait, Wait::Cluster(_)))
    }

    /// `mapa`: the same offset in another block's shared memory.
    pub(super) fn map_address(&mut self, cx: &Context<'_>, ins: &Ins, wide: bool, mask: u32) -> Result {
        let count = cx.launch.cluster_blocks();
        for lane in lanes(mask) {
            let rank = u32::row(&self.file, ins.s[2])[lane];
            if rank >= count {
                let what = format!("an address in block {rank} of a cluster, which has {count}");
                return Err(self.fault(cx, Fault::ILLEGAL_ADDRESS, &what, lane));
            }
            let within = (1 << RANK) - 1;
            let rank = u64::from(rank + 1) << RANK;
            // The bits above the window mark an address of 64 bits as a generic one.
            let window = !((1 << 56) - 1);
            let a = self.file.bits(ins.s[1], wide, lane);
            self.file.set_bits(ins.s[0], wide, lane, a & (window | within) | rank);
        }
        Ok(())
    }

    /// `getctarank`: the rank of the block that an address of shared memory is of.
    pub(super) fn rank_of(&mut self, cx: &Context<'_>, ins: &Ins, wide: bool, mask: u32) {
        for lane in lanes(mask) {
            let a = self.file.bits(ins.s[1], wide, lane) & ((1 << 56) - 1);
            let rank = parts(a).1.map_or(cx.rank, low);
            u32::row_mut(&mut self.file, ins.s[0])[lane] = rank;
        }
    }
}
