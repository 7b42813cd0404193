//! What the analysis relies on in a slice: whoever made its bytes, wrong ones are an error and never a panic.

use super::inst::{Op, Operand, Step};
use super::kernel::{Kernel, Parameter};

impl Kernel {
    /// Returns whether every number names something that exists, and each step has the operands that its
    /// transfer function reads.
    pub(super) fn is_well_formed(&self) -> bool {
        let registers_fit = self.registers.iter().all(|bits| matches!(bits, 1 | 8 | 16 | 32 | 64 | 128));
        let bits_of = |register: u32| self.registers.get(register as usize).copied();
        let value = |it: &Operand| match it {
            Operand::Register(register) => bits_of(*register).is_some_and(|bits| bits > 1),
            Operand::Number(_) | Operand::Special(_) => true,
            Operand::Object(object) => self.objects.get(*object as usize).is_some(),
            Operand::Negated(_) => false,
        };
        let predicate = |it: &Operand| match it {
            Operand::Register(register) | Operand::Negated(register) => bits_of(*register) == Some(1),
            Operand::Number(number) => matches!(number, 0 | 1),
            _ => false,
        };
        let number = |it: &Operand| matches!(it, Operand::Number(_));
        let step_fits = |step: &Step| {
            let (values, predicates, numbers, results) = match step.op {
                Op::Unknown => (0, 0, step.from.len(), 1),
                Op::Mov | Op::Neg | Op::Not | Op::Abs | Op::Cvt | Op::ToGeneric | Op::FromGeneric => {
                    (1, 0, 0, 1)
                }
                Op::Clz | Op::Popc | Op::Brev => (1, 0, 0, 1),
                Op::FloatMin | Op::FloatMax | Op::FloatAdd => (2, 0, 0, 1),
                Op::FloatCvt | Op::FromInteger | Op::ToInteger => (1, 0, 0, 1),
                Op::Selp => (2, 1, 0, 1),
                Op::Add | Op::Sub | Op::Mul | Op::MulWide | Op::MulHi | Op::Mul24 | Op::Min | Op::Max => {
                    (2, 0, 0, 1)
                }
                Op::And | Op::Or | Op::Xor | Op::Shl | Op::Shr | Op::Div | Op::Rem => (2, 0, 0, 1),
                Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => (2, 0, 0, 1),
                Op::PredMov => (0, 1, 0, 1),
                Op::PredAnd | Op::PredOr | Op::PredXor => (0, 2, 0, 1),
                Op::Parameter => (0, 0, 2, 1),
                Op::Load | Op::Store | Op::Atomic => (1, 0, 1, usize::MAX),
                Op::Matrix => (2, 0, 4, 0),
                Op::Handle => (1, 0, 0, 0),
                Op::Below => (1, 0, 1, 0),
                Op::Bra => (0, 0, step.from.len(), 0),
                Op::Exit => (0, 0, 0, 0),
                Op::Refuse => (0, 0, 1, 0),
            };
            let makes_predicate = matches!(step.op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge)
                || matches!(step.op, Op::PredMov | Op::PredAnd | Op::PredOr | Op::PredXor);
            let result = |it: &u32| match step.op {
                Op::Unknown => bits_of(*it).is_some(),
                _ => bits_of(*it).is_some_and(|bits| (bits == 1) == makes_predicate),
            };
            // What a store writes comes last.
            let written = if step.op == Op::Store { step.from.len().saturating_sub(2) } else { 0 };
            let (list, stored) = step.from.split_at(step.from.len() - written);
            list.len() == values + predicates + numbers
                && list[..values].iter().chain(stored).all(value)
                && list[values..values + predicates].iter().all(predicate)
                && (step.op == Op::Unknown || list[values + predicates..].iter().all(number))
                && (results == usize::MAX || step.to.len() == results)
                && step.to.iter().all(result)
                && step.guard.iter().all(predicate)
                && matches!(step.bits, 1 | 8 | 16 | 32 | 64 | 128)
                && match (step.op, list) {
                    (Op::Unknown, [low, high, sources @ ..]) => {
                        number(low) && number(high) && sources.iter().all(value)
                    }
                    (Op::Unknown, _) => false,
                    (Op::Bra, targets) => targets.iter().all(|it| self.is_index(it, self.steps.len() + 1)),
                    (Op::Refuse, [text]) => self.is_index(text, self.texts.len()),
                    (Op::Parameter, [index, Operand::Number(offset)]) => {
                        let end =
                            u64::try_from(*offset).ok().and_then(|it| it.checked_add(u64::from(step.size)));
                        let parameter = |it: &Parameter| end.is_some_and(|end| end <= it.bytes);
                        let Operand::Number(number) = index else { return false };
                        matches!(step.size, 1 | 2 | 4 | 8 | 16)
                            && usize::try_from(*number)
                                .is_ok_and(|at| self.parameters.get(at).is_some_and(parameter))
                    }
                    (Op::Cvt, _) => matches!(step.size, 8 | 16 | 32 | 64),
                    (Op::FromInteger, _) => {
                        matches!(step.size, 8 | 16 | 32 | 64) && matches!(step.bits, 32 | 64)
                    }
                    (Op::ToInteger, _) => matches!(step.size, 32 | 64) && matches!(step.bits, 8..=64),
                    _ if step.is_of_floats() => matches!(step.size, 32 | 64) && matches!(step.bits, 32 | 64),
                    (Op::Load | Op::Store | Op::Atomic, _) => (1..=1024).contains(&step.size),
                    _ => true,
                }
        };
        registers_fit
            && self.steps.iter().all(step_fits)
            && self.parameters.iter().all(|it| it.bytes <= 1 << 16 && it.pointee.is_power_of_two())
            && self
                .objects
                .iter()
                .all(|it| it.align.is_power_of_two() && it.bytes.is_none_or(|it| it < 1 << 56))
    }

    fn is_index(&self, operand: &Operand, end: usize) -> bool {
        matches!(operand, Operand::Number(number) if usize::try_from(*number).is_ok_and(|it| it < end))
    }
}
