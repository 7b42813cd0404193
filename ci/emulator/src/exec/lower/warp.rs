//! Instructions of whole blocks and whole warps.

use super::integer::operand;
use super::{Failure, Lower};
use crate::exec::program::{NONE, Op, Reduce, Shuffle, Vote};
use crate::ptx::{Instruction, Operand, Type};

impl Lower<'_> {
    pub(super) fn warp(&mut self, i: &Instruction) -> Result<(), Failure> {
        match &*i.opcode {
            "bar" | "barrier" => self.barrier(i),
            "shfl" => self.shuffle(i),
            "vote" => self.vote(i),
            "match" => {
                let wide = i.types().last().is_some_and(|t| t.size() == 8);
                let (d, p) = self.with_predicate(operand(i, 0)?, Type::B32)?;
                let a = self.src(operand(i, 1)?, if wide { Type::B64 } else { Type::B32 })?;
                let mask = self.src(operand(i, 2)?, Type::B32)?;
                self.emit(Op::Match(i.has("all"), wide), &[d, a, mask]);
                self.emit_predicate(p);
                Ok(())
            }
            "redux" => {
                let ty = i.types().last().ok_or("no type")?;
                if ty.is_float() {
                    return Err("this type is not known to the emulator".into());
                }
                let [d, a, mask] = self.registers(i, [ty, ty, Type::B32])?;
                let op = reduce(i, ty).ok_or("an unknown reduction")?;
                self.emit(Op::Redux(op), &[d, a, mask]);
                Ok(())
            }
            "activemask" => {
                let d = self.dst(operand(i, 0)?, Type::B32)?;
                self.emit(Op::ActiveMask, &[d]);
                Ok(())
            }
            "elect" => {
                let (d, p) = self.with_predicate(operand(i, 0)?, Type::B32)?;
                let mask = self.src(operand(i, 1)?, Type::B32)?;
                self.emit(Op::Elect, &[d, mask]);
                self.emit_predicate(p);
                Ok(())
            }
            "isspacep" => {
                let [p, a] = self.registers(i, [Type::Pred, Type::B64])?;
                self.emit(Op::IsSpace(super::memory::space(i), i.has("shared::cluster")), &[p, a]);
                Ok(())
            }
            "mapa" => {
                let ty = i.types().last().ok_or("no type")?;
                let [d, a, rank] = self.registers(i, [ty, ty, Type::U32])?;
                self.emit(Op::MapAddress(ty.size() == 8), &[d, a, rank]);
                Ok(())
            }
            "getctarank" => {
                let ty = i.types().last().ok_or("no type")?;
                let [d, a] = self.registers(i, [Type::U32, ty])?;
                self.emit(Op::RankOf(ty.size() == 8), &[d, a]);
                Ok(())
            }
            _ => Err("this instruction is not known to the emulator".into()),
        }
    }

    fn barrier(&mut self, i: &Instruction) -> Result<(), Failure> {
        if i.has("warp") {
            let mask = self.src(operand(i, 0)?, Type::B32)?;
            self.emit(Op::WarpBarrier, &[mask]);
            return Ok(());
        }
        if i.has("cluster") {
            self.emit(if i.has("wait") { Op::ClusterWait } else { Op::ClusterArrive }, &[]);
            return Ok(());
        }
        let aligned = &*i.opcode == "bar" || i.has("aligned");
        if i.has("red") {
            let last = i.operands.len().checked_sub(1).ok_or("an operand is missing")?;
            let (p, negated) = self.predicate(operand(i, last)?)?;
            let id = self.src(operand(i, 1)?, Type::U32)?;
            let count = if last == 3 { self.src(operand(i, 2)?, Type::U32)? } else { NONE };
            if i.has("popc") {
                let d = self.dst(operand(i, 0)?, Type::U32)?;
                self.emit(Op::BarrierReduce(Reduce::Popc, negated), &[d, id, count, p]);
            } else {
                let d = self.dst(operand(i, 0)?, Type::Pred)?;
                let op = if i.has("and") { Reduce::And } else { Reduce::Or };
                self.emit(Op::BarrierReduce(op, negated), &[d, id, count, p]);
            }
            return Ok(());
        }
        let id = match i.operands.first() {
            Some(id) => self.src(id, Type::U32)?,
            None => self.word(0),
        };
        let count = match i.operands.get(1) {
            Some(count) => self.src(count, Type::U32)?,
            None => NONE,
        };
        self.emit(if i.has("arrive") { Op::Arrive } else { Op::Barrier(aligned) }, &[id, count]);
        Ok(())
    }

    fn shuffle(&mut self, i: &Instruction) -> Result<(), Failure> {
        let kind = i.one_of(&[
            ("up", Shuffle::Up),
            ("down", Shuffle::Down),
            ("bfly", Shuffle::Butterfly),
            ("idx", Shuffle::Index),
        ]);
        let kind = kind.ok_or("an unknown shuffle")?;
        let (d, p) = self.with_predicate(operand(i, 0)?, Type::B32)?;
        let a = self.src(operand(i, 1)?, Type::B32)?;
        let b = self.src(operand(i, 2)?, Type::B32)?;
        let c = self.src(operand(i, 3)?, Type::B32)?;
        let sync = i.has("sync");
        let mask = if sync { self.src(operand(i, 4)?, Type::B32)? } else { NONE };
        self.emit(Op::Shuffle(kind, sync), &[d, a, b, c, mask]);
        self.emit_predicate(p);
        Ok(())
    }

    fn vote(&mut self, i: &Instruction) -> Result<(), Failure> {
        let kinds =
            [("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uniform), ("ballot", Vote::Ballot)];
        let kind = i.one_of(&kinds).ok_or("an unknown vote")?;
        let ty = if kind == Vote::Ballot { Type::B32 } else { Type::Pred };
        let d = self.dst(operand(i, 0)?, ty)?;
        let (p, negated) = self.predicate(operand(i, 1)?)?;
        let sync = i.has("sync");
        let mask = if sync { self.src(operand(i, 2)?, Type::B32)? } else { NONE };
        self.emit(Op::Vote(kind, negated, sync), &[d, p, mask]);
        Ok(())
    }

    /// A destination `d|p`, in which the predicate is optional.
    fn with_predicate(&mut self, o: &Operand, ty: Type) -> Result<(u32, Option<u32>), Failure> {
        Ok(match o {
            Operand::Pair(d, p) => (self.dst(d, ty)?, Some(self.dst(p, Type::Pred)?)),
            _ => (self.dst(o, ty)?, None),
        })
    }

    fn emit_predicate(&mut self, p: Option<u32>) {
        if let Some(p) = p {
            self.emit(Op::Predicate, &[p]);
        }
    }
}

fn reduce(i: &Instruction, ty: Type) -> Option<Reduce> {
    i.modifiers.iter().find_map(|m| match (&**m, ty.is_signed()) {
        ("add", _) => Some(Reduce::Add),
        ("min", false) => Some(Reduce::MinU),
        ("max", false) => Some(Reduce::MaxU),
        ("min", true) => Some(Reduce::MinS),
        ("max", true) => Some(Reduce::MaxS),
        ("and", _) => Some(Reduce::And),
        ("or", _) => Some(Reduce::Or),
        ("xor", _) => Some(Reduce::Xor),
        _ => None,
    })
}
