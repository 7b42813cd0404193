//! The interpreter's loop: runs the instructions of one warp.

use super::fault::{Fault, Result};
use super::file::first_lane;
use super::launch::Context;
use super::program::{CopyQueue, Ins, NONE, Op, Scope};
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
                let mut mask = group.mask;
                if ins.guard.slot != NONE {
                    let bits = self.file.pred(ins.guard.slot);
                    mask &= if ins.guard.negated { !bits } else { bits };
                }
                match ins.op {
                    Op::Alu(f) => {
                        if mask != 0 {
                            f(&mut self.file, &ins.s, mask);
                        }
                        group.pc += 1;
                    }
                    Op::Load(a) => {
                        if mask != 0 {
                            cx.pc = group.pc;
                            self.load(cx, a, &ins.s, mask)?;
                        }
                        group.pc += 1;
                    }
                    Op::Store(a) => {
                        if mask != 0 {
                            cx.pc = group.pc;
                            self.store(cx, a, &ins.s, mask)?;
                        }
                        group.pc += 1;
                    }
                    Op::Param(a) => {
                        if mask != 0 {
                            cx.pc = group.pc;
                            self.argument(cx, a, &ins.s, mask)?;
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
                        match self.special(cx, ins, &mut group, mask)? {
                            Flow::Next if self.groups.len() == others => {}
                            // Lanes that were split off may be met again soon.
                            Flow::Next => {
                                self.park(group);
                                break;
                            }
                            Flow::Leave => break,
                            Flow::Yield => {
                                // The wait costs what other warps could do meanwhile.
                                *fuel = fuel.saturating_sub(POLL);
                                polls += 1;
                                if polls > self.groups.len() {
                                    return Ok(Turn::Ready);
                                }
                                break;
                            }
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
            Op::Atomic(a, modify, wants) => self.atomic(cx, a, modify, wants, &ins.s, mask)?,
            Op::Coordinates(first) => self.coordinates(first, &ins.s, mask),
            Op::Texture(read) => self.texture(cx, read, &ins.s, mask)?,
            Op::SurfaceLoad(touch) => self.surface_load(cx, touch, &ins.s, mask)?,
            Op::SurfaceStore(touch) => self.surface_store(cx, touch, &ins.s, mask)?,
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
            Op::Meet(meet, access) => return self.meet_in_memory(cx, (meet, access), &ins.s, group, mask),
            Op::Fence(scope, false) => {
                self.order(cx, |order, block, warp| order.fence(block, warp, mask, scope));
                if scope > Scope::Block {
                    self.acquire_flags(cx, mask);
                }
            }
            Op::Fence(_, true) => self.order(cx, |order, block, warp| order.proxy_fence(block, warp, mask)),
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
