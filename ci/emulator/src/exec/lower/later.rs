//! Asynchronous copies, and barriers in shared memory.

use super::integer::operand;
use super::memory::space;
use super::{Failure, Lower, UNKNOWN};
use crate::exec::file::low;
use crate::exec::mbarrier::pending;
use crate::exec::program::{AsyncCopy, CopyQueue, Element, MbarrierOp, NONE, Op, Until};
use crate::ptx::{Instruction, Operand, Space, Type};

impl Lower<'_> {
    /// `cp`, but for bulk copies.
    pub(super) fn later(&mut self, i: &Instruction) -> Result<(), Failure> {
        match (i.has("commit_group"), i.has("wait_group"), i.has("wait_all")) {
            (true, ..) => self.emit(Op::CloseGroup(CopyQueue::Copies), &[]),
            (_, true, _) => self.wait_for_groups(i, CopyQueue::Copies)?,
            (.., true) => self.emit(Op::MakeCopies(CopyQueue::Copies, Until::All), &[]),
            _ if i.has("mbarrier") => {
                let place = self.place(operand(i, 0)?, space(i))?;
                let access = self.access(&place, Element::U64, 1, true)?;
                let op = MbarrierOp::ArriveAfterCopies { counted: i.has("noinc") };
                self.emit(Op::Mbarrier(op, access), &[NONE, NONE, NONE, NONE, place.slot]);
            }
            _ => return self.copy_later(i),
        }
        Ok(())
    }

    /// `wait_group`.
    pub(super) fn wait_for_groups(&mut self, i: &Instruction, queue: CopyQueue) -> Result<(), Failure> {
        let Operand::Int(left) = operand(i, 0)? else {
            return Err("a number of groups is needed here".into());
        };
        self.emit(Op::MakeCopies(queue, Until::Groups(low(*left))), &[]);
        Ok(())
    }

    /// `cp.async`.
    fn copy_later(&mut self, i: &Instruction) -> Result<(), Failure> {
        let (to, from) =
            (self.place(operand(i, 0)?, Space::Shared)?, self.place(operand(i, 1)?, Space::Global)?);
        let bytes = match operand(i, 2)? {
            Operand::Int(bytes @ (4 | 8 | 16)) => low(*bytes),
            _ => return Err("4, 8 or 16 bytes are copied".into()),
        };
        let (mut read, mut ignored) = (NONE, NONE);
        // A cache policy, which has 64 bits, has no effect here.
        for extra in i.operands.iter().skip(3) {
            match self.named(extra) {
                Some((crate::exec::file::Class::Pred, slot)) => ignored = slot,
                Some((crate::exec::file::Class::Wide, _)) => {}
                _ if matches!(extra, Operand::Not(_)) => return Err(UNKNOWN.into()),
                _ => read = self.src(extra, Type::U32)?,
            }
        }
        let copy = AsyncCopy {
            to: self.access(&to, Element::U8, 1, false)?,
            from: self.access(&from, Element::U8, 1, false)?,
            bytes,
        };
        let number = u32::try_from(self.program.copies.len()).unwrap_or(u32::MAX);
        self.program.copies.push(copy);
        self.emit(Op::AskCopy(number), &[read, ignored, NONE, to.slot, from.slot]);
        Ok(())
    }

    /// `st.async` and `red.async`: at once, and the barrier counts the bytes.
    pub(super) fn counted(&mut self, i: &Instruction) -> Result<(), Failure> {
        let mut plain = i.clone();
        plain.modifiers.retain(|m| !matches!(&**m, "async" | "weak") && !m.starts_with("mbarrier::"));
        plain.operands.truncate(2);
        if plain.opcode.starts_with("st") {
            self.store(&plain)?
        } else {
            self.atomic(&plain)?
        }
        let ty = i.types().last().ok_or("no type")?;
        let count = operand(i, 1)?.parts().len();
        let bytes = self.word(ty.size() * u32::try_from(count).map_err(|_| UNKNOWN)?);
        let place = self.place(operand(i, 2)?, Space::Shared)?;
        let access = self.access(&place, Element::U64, 1, true)?;
        self.emit(Op::Mbarrier(MbarrierOp::Complete, access), &[NONE, bytes, NONE, NONE, place.slot]);
        Ok(())
    }

    /// `mbarrier`.
    pub(super) fn mbarrier(&mut self, i: &Instruction) -> Result<(), Failure> {
        if i.has("pending_count") {
            let [d, state] = self.registers(i, [Type::U32, Type::B64])?;
            self.alu(op1!(u64 => u32, pending), &[d, state]);
            return Ok(());
        }
        let arrive = i.has("arrive") || i.has("arrive_drop");
        let op = if i.has("init") {
            MbarrierOp::Init
        } else if i.has("inval") {
            MbarrierOp::Invalidate
        } else if arrive {
            MbarrierOp::Arrive { expects: i.has("expect_tx"), drops: i.has("arrive_drop") }
        } else if i.has("expect_tx") {
            MbarrierOp::Expect
        } else if i.has("complete_tx") {
            MbarrierOp::Complete
        } else if i.has("test_wait") || i.has("try_wait") {
            MbarrierOp::Test { by_parity: i.has("parity"), waits: i.has("try_wait") }
        } else {
            return Err(UNKNOWN.into());
        };
        let test = matches!(op, MbarrierOp::Test { .. });
        // An arrival may return a state. A barrier of another block returns none.
        let gives = arrive && !matches!(operand(i, 0)?, Operand::Address(..)) || test;
        let first = usize::from(gives);
        let d = match operand(i, 0)? {
            d if test => self.dst(d, Type::Pred)?,
            d if gives => self.dst(d, Type::B64)?,
            _ => NONE,
        };
        let place = self.place(
            operand(i, first)?,
            match space(i) {
                Space::Generic => Space::Generic,
                _ => Space::Shared,
            },
        )?;
        let ty = if let MbarrierOp::Test { by_parity: false, .. } = op { Type::B64 } else { Type::U32 };
        let given = match i.operands.get(first + 1) {
            Some(given) => self.src(given, ty)?,
            None => NONE,
        };
        let access = self.access(&place, Element::U64, 1, true)?;
        self.emit(Op::Mbarrier(op, access), &[d, given, NONE, NONE, place.slot]);
        Ok(())
    }
}
