//! Memory at the end of a thread's stack: `alloca`, `stacksave` and `stackrestore`.

use super::integer::operand;
use super::{Failure, Lower};
use crate::exec::program::{Op, StackTop};
use crate::ptx::{Instruction, Operand, Type};

/// The alignment of `alloca` without one.
const DEFAULT: u32 = 8;

impl Lower<'_> {
    pub(super) fn stack_top(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().filter(|ty| matches!(ty, Type::U32 | Type::U64)).ok_or("no type")?;
        let wide = ty.size() == 8;
        let mut top = StackTop { routine: self.number, align: DEFAULT };
        match &*i.opcode {
            "alloca" => {
                if let Some(align) = i.operands.get(2) {
                    let Operand::Int(align) = align else { return Err("an alignment is a constant".into()) };
                    let align = u32::try_from(*align).ok().filter(|align| align.is_power_of_two());
                    top.align = align.ok_or("an alignment is a power of two")?;
                }
                let [d, bytes] = self.registers(i, [ty, ty])?;
                self.emit(Op::Alloca(top, wide), &[d, bytes]);
            }
            "stacksave" => {
                let d = self.dst(operand(i, 0)?, ty)?;
                self.emit(Op::StackSave(top, wide), &[d]);
            }
            _ => {
                let a = self.src(operand(i, 0)?, ty)?;
                self.emit(Op::StackRestore(top, wide), &[a]);
            }
        }
        Ok(())
    }
}
