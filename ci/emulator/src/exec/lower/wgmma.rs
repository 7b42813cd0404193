//! Products by warpgroups: `wgmma`.

use super::integer::operand;
use super::matrix::{numbers, shape};
use super::{Failure, Lower, UNKNOWN};
use crate::exec::program::{Matrix, NONE, Op};
use crate::exec::tile::{Order, Warpgroup};
use crate::ptx::{Instruction, Operand, Type};

impl Lower<'_> {
    pub(super) fn warpgroup(&mut self, i: &Instruction) -> Result<(), Failure> {
        if i.has("fence") {
            self.emit_matrix(Matrix::ProductFence, NONE, NONE);
        } else if i.has("commit_group") {
            self.emit_matrix(Matrix::CloseProducts, NONE, NONE);
        } else if i.has("wait_group") {
            let Operand::Int(left) = operand(i, 0)? else {
                return Err("a number of groups is needed here".into());
            };
            self.emit_matrix(Matrix::WaitForProducts(u32::try_from(*left).map_err(|_| UNKNOWN)?), NONE, NONE);
        } else if i.has("mma_async") && !i.has("sp") {
            return self.product(i);
        } else {
            return Err(UNKNOWN.into());
        }
        Ok(())
    }

    /// `wgmma.mma_async`.
    fn product(&mut self, i: &Instruction) -> Result<(), Failure> {
        let types: Vec<_> = numbers(i).collect();
        let [m, n, k] = shape(i)?;
        let [sum, a, b] = types[..] else { return Err(UNKNOWN.into()) };
        let (d, left) = (operand(i, 0)?.parts(), operand(i, 1)?);
        let registers = if let Operand::Vector(registers) = left { &registers[..] } else { &[] };
        let is_whole = m == 64
            && (8..=256).contains(&n)
            && n.is_multiple_of(8)
            && k * a.bits() as usize == 256
            && matches!(a.bits(), 8 | 16 | 32)
            && a.bits() == b.bits()
            && d.len() * sum.per_register() * 2 == n
            && matches!(registers.len(), 0 | 4);
        if !is_whole {
            return Err(UNKNOWN.into());
        }
        // Behind the predicate: the signs of both factors, and whether their columns lie beside each other.
        let flags: Vec<u64> = i.operands.iter().skip(4).map(flag).collect::<Result<_, _>>()?;
        let (signs, turns) = flags.split_at(flags.len().min(2));
        let order = |turns: Option<&u64>| if turns == Some(&1) { Order::Columns } else { Order::Rows };
        let orders = match registers {
            [] => [order(turns.first()), order(turns.get(1))],
            _ => [Order::Rows, order(turns.first())],
        };
        if orders.contains(&Order::Columns) && a.bits() != 16 {
            return Err(UNKNOWN.into());
        }
        let negates = [0, 1].map(|n| signs.get(n).is_some_and(|sign| *sign != 1));
        let (adds, negated) = match i.operands.get(3) {
            Some(adds) => self.predicate(adds)?,
            None => (NONE, false),
        };
        let warpgroup = Warpgroup {
            n,
            numbers: [a, b],
            sum,
            left: registers.len(),
            orders,
            negates,
            negated,
            saturates: i.has("satfinite"),
        };
        let mut first = self.pack_fragment(registers, Type::B32, 0)?;
        if registers.is_empty() {
            first = self.pack_fragment(std::slice::from_ref(left), Type::B64, first)?;
        }
        first = self.pack_fragment(std::slice::from_ref(operand(i, 2)?), Type::B64, first)?;
        self.pack_fragment(d, Type::B32, first)?;
        let number = u32::try_from(self.program.matrices.len()).unwrap_or(u32::MAX);
        self.program.matrices.push(Matrix::Product(warpgroup));
        self.emit(Op::Matrix(number), &[NONE, adds]);
        self.unpack_fragment(d, Type::B32)
    }
}

/// A constant operand.
fn flag(operand: &Operand) -> Result<u64, Failure> {
    match operand {
        Operand::Int(value) => Ok(*value),
        _ => Err("a constant is needed here".into()),
    }
}
