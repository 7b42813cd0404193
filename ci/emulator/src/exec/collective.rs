//! Operations of a whole warp: shuffles, votes, matches, reductions. And special registers.

use std::time::{SystemTime, UNIX_EPOCH};

use super::cluster::parts;
use super::fault::Mistake;
use super::file::{LANES, Slot, Word, first_lane, lanes, low};
use super::launch::Context;
use super::program::{Ins, NONE, Op, Reduce, Shuffle, Special, Vote};
use super::program::{LOCAL, PARAM, SHARED};
use super::skipped::SkippedAt;
use super::warp::{Flow, Group, Wait, Warp};
use crate::ptx::Space;

/// The value of a lane that takes no part, as that of unwritten memory.
const NOTHING: u32 = 0xcdcd_cdcd;

impl Warp {
    pub(super) fn together(&mut self, cx: &mut Context<'_>, ins: &Ins, group: &mut Group, mask: u32) -> Flow {
        match ins.op {
            Op::Predicate => {
                let side = self.side;
                self.file.set_pred(ins.s[0], side, mask);
                group.pc += 1;
                return Flow::Next;
            }
            Op::ActiveMask => {
                let row = u32::row_mut(&mut self.file, ins.s[0]);
                lanes(mask).for_each(|l| row[l] = mask);
                group.pc += 1;
                return Flow::Next;
            }
            Op::IsSpace(space, cluster) => {
                let row = u64::row(&self.file, ins.s[1]);
                let own =
                    |a: u64| parts(a & ((1 << 56) - 1)).1.is_none_or(|rank| rank == u64::from(self.rank));
                let inside = |a: u64| match space {
                    Space::Shared => a >> 56 == SHARED >> 56 && (cluster || own(a)),
                    Space::Local => a >> 56 == LOCAL >> 56,
                    Space::Param => a >> 56 == PARAM >> 56,
                    Space::Const => false,
                    _ => a >> 56 == 0,
                };
                let bits = lanes(mask).filter(|&l| inside(row[l])).fold(0, |m, l| m | 1 << l);
                self.file.set_pred(ins.s[0], bits, mask);
                group.pc += 1;
                return Flow::Next;
            }
            _ => {}
        }
        self.split(group, mask);
        let members = match ins.op {
            Op::Shuffle(_, true) => ins.s[4],
            Op::Vote(_, _, true) | Op::Match(..) | Op::Redux(_) => ins.s[2],
            Op::WarpBarrier => ins.s[0],
            Op::Elect => ins.s[1],
            _ => NONE,
        };
        if members != NONE {
            let same = self.alike(members, group.mask);
            self.leave_behind(group, same);
            let members = self.uniform(members, group.mask);
            self.check_members(cx, members, group);
            if let Op::WarpBarrier = ins.op {
                self.comes_to_warp_barrier(cx, group.mask, members);
                group.pc += 1;
                if members & self.live & !group.mask != 0 {
                    group.wait = Wait::Warp(members);
                    self.park(*group);
                    return Flow::Leave;
                }
                self.order(cx, |order, block, warp| order.warp_meets(block, warp, group.mask));
                return Flow::Next;
            }
            if !self.reconverge(group, members) {
                self.waits_for(cx, SkippedAt::Exchange(group.pc), group.mask, members);
                return Flow::Leave;
            }
        }
        self.exchange(ins, group.mask);
        group.pc += 1;
        Flow::Next
    }

    /// Reports lanes that execute an instruction of a warp whose mask does not name them, if the machine
    /// looks for races.
    fn check_members(&self, cx: &mut Context<'_>, members: u32, group: &Group) {
        let outside = group.mask & !members;
        if cx.races.is_none() || outside == 0 {
            return;
        }
        cx.report(Mistake::Mask, (group.pc, group.pc), None, |cx| {
            let here = cx.thread_at(cx.block(), self.thread(first_lane(outside)), group.pc);
            let what = format!("a thread outside of the mask {members:#x} of an instruction of its warp");
            (what, vec![(here.to_string(), here)])
        });
    }

    /// Takes along the lanes that came here before. If members of the mask are still missing, sets the group
    /// aside and returns false.
    pub(super) fn reconverge(&mut self, group: &mut Group, members: u32) -> bool {
        let (pc, depth) = (group.pc, group.depth);
        self.groups.retain(|g| {
            let same = g.wait == Wait::Lanes(members) && g.pc == pc && g.depth == depth;
            if same {
                group.mask |= g.mask;
            }
            !same
        });
        let all = members & self.live & !group.mask == 0;
        if !all {
            group.wait = Wait::Lanes(members);
            self.park(*group);
        }
        all
    }

    fn exchange(&mut self, ins: &Ins, mask: u32) {
        match ins.op {
            Op::Shuffle(kind, _) => self.shuffle(ins, kind, mask),
            Op::Vote(kind, negated, _) => {
                let p = self.file.pred(ins.s[1]);
                let bits = mask & if negated { !p } else { p };
                let truth = match kind {
                    Vote::All => bits == mask,
                    Vote::Any => bits != 0,
                    Vote::Uniform => bits == mask || bits == 0,
                    Vote::Ballot => {
                        let row = u32::row_mut(&mut self.file, ins.s[0]);
                        lanes(mask).for_each(|l| row[l] = bits);
                        return;
                    }
                };
                self.file.set_pred(ins.s[0], if truth { mask } else { 0 }, mask);
            }
            Op::Match(all, wide) => {
                let value = |l: usize| {
                    if wide {
                        u64::row(&self.file, ins.s[1])[l]
                    } else {
                        u64::from(u32::row(&self.file, ins.s[1])[l])
                    }
                };
                let mut out = [0; LANES];
                let mut left = mask;
                while left != 0 {
                    let first = value((left.trailing_zeros() & 31) as usize);
                    let same = (0..LANES).fold(0, |m, o| m | u32::from(value(o) == first) << o) & mask;
                    lanes(same).for_each(|l| out[l] = same);
                    left &= !same;
                }
                let row = u32::row_mut(&mut self.file, ins.s[0]);
                self.side = 0;
                for l in lanes(mask) {
                    row[l] = if all && out[l] != mask { 0 } else { out[l] };
                    self.side |= u32::from(out[l] == mask) << l;
                }
            }
            Op::Redux(op) => {
                let row = *u32::row(&self.file, ins.s[1]);
                let all = lanes(mask).map(|l| row[l]).reduce(|a, b| match op {
                    Reduce::Add | Reduce::Popc => a.wrapping_add(b),
                    Reduce::MinU => a.min(b),
                    Reduce::MaxU => a.max(b),
                    Reduce::MinS => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
                    Reduce::MaxS => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
                    Reduce::And => a & b,
                    Reduce::Or => a | b,
                    Reduce::Xor => a ^ b,
                });
                let out = u32::row_mut(&mut self.file, ins.s[0]);
                lanes(mask).for_each(|l| out[l] = all.unwrap_or(0));
            }
            Op::Elect => {
                let leader = mask.trailing_zeros();
                let row = u32::row_mut(&mut self.file, ins.s[0]);
                lanes(mask).for_each(|l| row[l] = leader);
                self.side = mask & mask.wrapping_neg();
            }
            _ => {}
        }
    }

    fn shuffle(&mut self, ins: &Ins, kind: Shuffle, mask: u32) {
        let from = *u32::row(&self.file, ins.s[1]);
        let (by, bound) = (*u32::row(&self.file, ins.s[2]), *u32::row(&self.file, ins.s[3]));
        let mut out = [0; LANES];
        let mut valid = 0;
        for (lane, l) in (0..).zip(0..LANES) {
            let (b, clamp, segment) = (by[l] & 31, bound[l] & 31, bound[l] >> 8 & 31);
            let least = lane & segment;
            let most = least | clamp & !segment;
            let (other, inside) = match kind {
                Shuffle::Up => {
                    let other = i64::from(lane) - i64::from(b);
                    (u32::try_from(other).unwrap_or(0), other >= i64::from(most))
                }
                Shuffle::Down => (lane + b, lane + b <= most),
                Shuffle::Butterfly => (lane ^ b, lane ^ b <= most),
                Shuffle::Index => {
                    let other = least | b & !segment;
                    (other, other <= most)
                }
            };
            // PTX leaves open what comes from a lane that is not there.
            let gone = inside && mask >> (other & 31) & 1 == 0;
            out[l] = if gone { NOTHING } else { from[if inside { (other & 31) as usize } else { l }] };
            valid |= u32::from(inside) << lane;
        }
        self.side = self.side & !mask | valid & mask;
        let row = u32::row_mut(&mut self.file, ins.s[0]);
        lanes(mask).for_each(|l| row[l] = out[l]);
    }

    pub(super) fn read_special(&mut self, cx: &Context<'_>, which: Special, wide: bool, d: Slot, mask: u32) {
        let launch = cx.launch;
        let time = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
        };
        let mut row = [0u64; LANES];
        let value = match which {
            Special::Tid(n) => {
                row = self.tid[usize::from(n)].map(u64::from);
                None
            }
            Special::LaneId => {
                (0..).zip(&mut row).for_each(|(l, v)| *v = l);
                None
            }
            Special::LaneMaskEq
            | Special::LaneMaskLe
            | Special::LaneMaskLt
            | Special::LaneMaskGe
            | Special::LaneMaskGt => {
                for (l, v) in row.iter_mut().enumerate() {
                    let bit = 1u32 << l;
                    *v = u64::from(match which {
                        Special::LaneMaskEq => bit,
                        Special::LaneMaskLt => bit - 1,
                        Special::LaneMaskLe => bit | (bit - 1),
                        Special::LaneMaskGe => !(bit - 1),
                        _ => !(bit | (bit - 1)),
                    });
                }
                None
            }
            Special::Ntid(n) => Some(u64::from(launch.block[usize::from(n)])),
            Special::Ctaid(n) => Some(u64::from(cx.block[usize::from(n)])),
            Special::Nctaid(n) => Some(u64::from(launch.grid[usize::from(n)])),
            Special::WarpId => Some(u64::from(self.first / 32)),
            Special::NWarpId => Some(64),
            Special::SmId => Some(cx.number % u64::from(launch.processor.count.max(1))),
            Special::NSmId => Some(u64::from(launch.processor.count)),
            Special::GridId => Some(launch.number),
            // A nanosecond is a cycle of the clock rate that the devices claim.
            Special::Clock => Some(cx.clock.wrapping_add(time())),
            Special::ClockHi => Some(cx.clock.wrapping_add(time()) >> 32),
            Special::GlobalTimer => Some(time()),
            Special::GlobalTimerHi => Some(time() >> 32),
            Special::DynamicShared => Some(u64::from(launch.dynamic_shared)),
            Special::TotalShared => Some(u64::from(launch.shared())),
            Special::Zero => Some(0),
            Special::ClusterId(n) => {
                let n = usize::from(n);
                Some(u64::from(cx.block[n] / launch.cluster_shape()[n].max(1)))
            }
            Special::NClusterId(n) => Some(u64::from(launch.clusters()[usize::from(n)])),
            Special::ClusterCtaid(n) => Some(u64::from(cx.within[usize::from(n)])),
            Special::ClusterNctaid(n) => Some(u64::from(launch.cluster_shape()[usize::from(n)])),
            Special::ClusterCtaRank => Some(u64::from(cx.rank)),
            Special::ClusterNctaRank => Some(u64::from(launch.cluster_blocks())),
            Special::IsExplicitCluster => Some(u64::from(launch.cluster.is_some())),
            // The address of the memory that grid-wide barriers use.
            Special::EnvReg(1) => Some(cx.workspace >> 32),
            Special::EnvReg(2) => Some(cx.workspace & 0xFFFF_FFFF),
            Special::EnvReg(_) => Some(0),
        };
        if let Some(value) = value {
            row.fill(value);
        }
        if wide {
            u64::put(&mut self.file, d, mask, &row);
        } else {
            u32::put(&mut self.file, d, mask, &row.map(low));
        }
    }
}
