//! The interpreter's loop: runs the instructions of one warp.

use super::fault::{Fault, Result};
use super::file::{first_lane, lanes};
use super::launch::Context;
use super::program::{Access, CopyQueue, Ins, NONE, Op, Scope};
use super::warp::{Flow, Group, TURN, Turn, Warp};
use crate::fidelity::{self, Limit};

/// The instructions that a poll counts as.
const POLL: u64 = 1 << 8;

impl Warp {
    /// Runs until the fuel is used up or all threads wait or have ended.
    pub(super) fn run(&mut self, cx: &mut Context<'_>, fuel: &mut u64) -> Result<Turn> {
        let program = cx.program;
        let mut polls = 0;
        while let Some((mut group, limit)) = self.pick(cx) {
            let mut turn = if limit.is_none() { TURN } else { u32::MAX };
            let limit = limit.unwrap_or(u32::MAX);
            loop {
                if *fuel == 0 || turn == 0 {
                    self.park(group);
                    if *fuel == 0 {
                        return Ok(Turn::Ready);
                    }
                    break;
                }
                *fuel -= 1;
                turn -= 1;
                *cx.clock += 1;
                let ins = &program.code[group.pc as usize];
                let mask = self.guarded(ins, group.mask);
                match ins.op {
                    Op::Alu(_) => {
                        let most = u32::try_from(*fuel).unwrap_or(u32::MAX).min(turn);
                        let more = self.arithmetic(&program.code, group, most, limit);
                        *fuel -= u64::from(more);
                        turn -= more;
                        *cx.clock += u64::from(more);
                        group.pc += 1 + more;
                    }
                    Op::Load(a) => {
                        cx.pc = group.pc;
                        if mask != 0
                            && let Err(fault) = self.load(cx, a, &ins.s, mask)
                        {
                            self.ends_by(cx, fault, group.mask)?;
                            break;
                        }
                        let again =
                            a.strong.is_some() && mask != 0 && self.finds_the_same(ins, mask, a, group.pc);
                        group.pc += 1;
                        if again {
                            self.let_others(&group);
                            if self.has_polled(fuel, &mut polls) {
                                return Ok(Turn::Ready);
                            }
                            break;
                        }
                    }
                    Op::Store(a) => {
                        cx.pc = group.pc;
                        if mask != 0
                            && let Err(fault) = self.store(cx, a, &ins.s, mask)
                        {
                            self.ends_by(cx, fault, group.mask)?;
                            break;
                        }
                        group.pc += 1;
                    }
                    Op::Param(a) => {
                        cx.pc = group.pc;
                        if mask != 0
                            && let Err(fault) = self.argument(cx, a, &ins.s, mask)
                        {
                            self.ends_by(cx, fault, group.mask)?;
                            break;
                        }
                        group.pc += 1;
                    }
                    Op::Branch(target) if mask == group.mask => {
                        let back = target <= group.pc;
                        group.pc = target;
                        if back && !self.groups.is_empty() && self.unfair() {
                            self.park(group);
                            break;
                        }
                    }
                    _ if mask == 0 => group.pc += 1,
                    Op::Branch(target) => {
                        self.groups.push(Group { mask, pc: target, ..group });
                        group.mask &= !mask;
                        group.pc += 1;
                        self.park(group);
                        break;
                    }
                    _ => {
                        let others = self.groups.len();
                        let flow = match self.special(cx, ins, &mut group, mask) {
                            Err(fault) => {
                                self.ends_by(cx, fault, group.mask)?;
                                break;
                            }
                            Ok(flow) => flow,
                        };
                        match flow {
                            Flow::Next if self.groups.len() == others => {}
                            // Lanes that were split off may be met again soon.
                            Flow::Next => {
                                self.park(group);
                                break;
                            }
                            Flow::Leave => break,
                            Flow::Yield if self.has_polled(fuel, &mut polls) => return Ok(Turn::Ready),
                            Flow::Yield => break,
                        }
                    }
                }
                if group.pc >= limit {
                    self.park(group);
                    break;
                }
            }
        }
        Ok(if self.groups.is_empty() { Turn::Over } else { Turn::Waiting })
    }

    /// The lanes of a group that an instruction's guard lets through.
    #[inline]
    fn guarded(&self, ins: &Ins, mask: u32) -> u32 {
        if ins.guard.slot == NONE {
            return mask;
        }
        let bits = self.file.pred(ins.guard.slot);
        mask & if ins.guard.negated { !bits } else { bits }
    }

    /// Runs an arithmetic instruction, and at most so many more that follow it before the limit. Returns how
    /// many more. They are most of what runs: a loop of their own has all its state in registers.
    #[inline(never)]
    fn arithmetic(&mut self, code: &[Ins], group: Group, most: u32, limit: u32) -> u32 {
        let mut pc = group.pc;
        let last = pc.saturating_add(most).min(limit.saturating_sub(1));
        while let Some(Ins { op: Op::Alu(f), s, .. }) = code.get(pc as usize) {
            let mask = self.guarded(&code[pc as usize], group.mask);
            if mask != 0 {
                f(&mut self.file, s, mask);
            }
            if pc >= last {
                return pc - group.pc;
            }
            pc += 1;
        }
        pc - group.pc - 1
    }

    /// Counts a poll. Returns whether all groups of the warp have had a turn since.
    fn has_polled(&self, fuel: &mut u64, polls: &mut usize) -> bool {
        // The wait costs what other warps could do meanwhile.
        *fuel = fuel.saturating_sub(POLL);
        *polls += 1;
        *polls > self.groups.len()
    }

    /// Whether a strong access of lanes finds what the warp's last one has found at the same places, so that
    /// the warp polls.
    fn finds_the_same(&mut self, ins: &Ins, mask: u32, a: Access, pc: u32) -> bool {
        let mix = |all: u64, bits: u64| (all.rotate_left(7) ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut found = u64::from(pc) << 32 | u64::from(mask);
        for lane in lanes(mask) {
            found = mix(found, self.file.bits(ins.s[4], a.wide_address, lane));
            for slot in &ins.s[..usize::from(a.count)] {
                found = mix(found, self.file.bits(*slot, a.wide, lane));
            }
        }
        std::mem::replace(&mut self.found, found) == found
    }

    /// Ends the threads that a fault stops, if the others of the kernel run on.
    #[cold]
    fn ends_by(&mut self, cx: &mut Context<'_>, fault: Fault, mask: u32) -> Result {
        if !(cx.races.is_some() && cx.env.runs_on()) {
            return Err(fault);
        }
        cx.fault.get_or_insert(fault);
        self.exit(cx, mask & self.live);
        Ok(())
    }

    fn special(&mut self, cx: &mut Context<'_>, ins: &Ins, group: &mut Group, mask: u32) -> Result<Flow> {
        cx.pc = group.pc;
        match ins.op {
            Op::Alu(_) | Op::Load(_) | Op::Store(_) | Op::Param(_) | Op::Branch(_) => {}
            Op::Special(which, wide) => {
                self.read_special(cx, which, wide, ins.s[0], mask);
                if which.is_clock() {
                    fidelity::note(Limit::Clocks);
                    // Warps that wait for a time wait together.
                    group.pc += 1;
                    return Ok(self.let_others(group));
                }
            }
            Op::Atomic(a, modify, wants) => {
                self.atomic(cx, a, modify, wants, &ins.s, mask)?;
                if wants && a.count == 1 && self.finds_the_same(ins, mask, a, group.pc) {
                    group.pc += 1;
                    return Ok(self.let_others(group));
                }
            }
            Op::Coordinates(first) => self.coordinates(first, &ins.s, mask),
            Op::Texture(read) => self.texture(cx, read, &ins.s, mask)?,
            Op::SurfaceLoad(access) => self.surface_load(cx, access, &ins.s, mask)?,
            Op::SurfaceStore(access) => self.surface_store(cx, access, &ins.s, mask)?,
            Op::PackFragment(first, wide) => self.pack_fragment(first, wide, &ins.s, mask),
            Op::UnpackFragment(first, wide) => self.unpack_fragment(first, wide, &ins.s, mask),
            Op::Matrix(number) => {
                return self.matrix(cx, &cx.program.matrices[number as usize], &ins.s, group, mask);
            }
            Op::AskCopy(number) => {
                self.ask(cx, cx.program.copies[number as usize], &ins.s, mask)?;
            }
            Op::CloseGroup(queue) => self.close_group(queue, mask),
            Op::MakeCopies(CopyQueue::Copies, until) => self.make(cx, until, mask)?,
            Op::MakeCopies(CopyQueue::Bulk, until) => self.wait_for_bulk(cx, until, mask)?,
            Op::AskBulk(number) => {
                self.ask_bulk(cx, cx.program.bulk_copies[number as usize], &ins.s, mask)?;
            }
            Op::Mbarrier(op, access) => return self.mbarrier(cx, (op, access), &ins.s, group, mask),
            Op::Fence(scope, false) => {
                self.order(cx, |order, block, warp| order.fence(block, warp, mask, scope));
                if scope > Scope::Block {
                    self.acquire_flags(cx, mask);
                }
            }
            Op::Fence(_, true) => self.order(cx, |order, block, warp| order.proxy_fence(block, warp, mask)),
            Op::GridWait => cx.env.waits_for_grids(&cx.launch.program),
            Op::Nothing => {}
            Op::Sleep => {
                cx.cluster.works();
                group.pc += 1;
                return Ok(self.let_others(group));
            }
            Op::Trap => {
                return Err(self.fault(cx, Fault::LAUNCH_FAILURE, "a trap instruction", first_lane(mask)));
            }
            Op::Unsupported(n) => {
                let thread = self.thread(first_lane(mask));
                let why = cx.program.unsupported.get(n as usize).map_or("", |w| w);
                let what = format!("an instruction that the emulator cannot run: {why}");
                return Err(cx.fault(Fault::NOT_SUPPORTED, &what, thread));
            }
            Op::Table(_) | Op::Call(_) | Op::Return | Op::Exit => {
                return self.jump(cx, ins, group, mask);
            }
            Op::Barrier(_) | Op::Arrive | Op::BarrierReduce(..) => {
                return self.barrier(cx, ins, group, mask);
            }
            Op::ClusterArrive => return self.cluster_arrive(cx, group, mask),
            Op::ClusterWait => return self.cluster_wait(cx, group, mask),
            Op::MapAddress(wide) => self.map_address(cx, ins, wide, mask)?,
            Op::RankOf(wide) => self.rank_of(cx, ins, wide, mask),
            Op::Alloca(..) | Op::StackSave(..) | Op::StackRestore(..) => {
                self.stack_top(cx, ins, mask)?;
            }
            Op::WarpBarrier
            | Op::Shuffle(..)
            | Op::Predicate
            | Op::Vote(..)
            | Op::Match(..)
            | Op::Redux(_)
            | Op::ActiveMask
            | Op::Elect
            | Op::IsSpace(..) => {
                return Ok(self.together(cx, ins, group, mask));
            }
        }
        group.pc += 1;
        Ok(Flow::Next)
    }
}
