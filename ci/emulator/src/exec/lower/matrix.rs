//! Instructions on matrices that the lanes of a warp hold together.

use super::integer::operand;
use super::memory::space;
use super::{Failure, Lower, UNKNOWN};
use crate::exec::file::Slot;
use crate::exec::number::Number;
use crate::exec::program::Matrix;
use crate::exec::program::{Element, NONE, Op};
use crate::exec::tile::{FragmentLayout, Multiply, Order, Tile};
use crate::ptx::{Instruction, Operand, Type};

impl Lower<'_> {
    pub(super) fn matrix(&mut self, i: &Instruction) -> Result<(), Failure> {
        match &*i.opcode {
            "ldmatrix" | "stmatrix" => self.rows(i),
            "movmatrix" => {
                let (to, from) = (operand(i, 0)?, operand(i, 1)?);
                self.pack_fragment(std::slice::from_ref(from), Type::B32, 0)?;
                self.emit_matrix(Matrix::Transpose, NONE, NONE);
                self.unpack_fragment(std::slice::from_ref(to), Type::B32)
            }
            "mma" => self.multiply(i),
            _ if i.has("mma") => self.multiply(i),
            _ if i.has("load") || i.has("store") => self.fragment(i),
            _ => Err(UNKNOWN.into()),
        }
    }

    /// `ldmatrix` and `stmatrix`.
    fn rows(&mut self, i: &Instruction) -> Result<(), Failure> {
        let count = i.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)]);
        let count: u8 = count.filter(|_| i.has("m8n8") && i.has("b16")).ok_or(UNKNOWN)?;
        let order = if i.has("trans") { Order::Columns } else { Order::Rows };
        let loads = &*i.opcode == "ldmatrix";
        let (registers, address) =
            if loads { (operand(i, 0)?, operand(i, 1)?) } else { (operand(i, 1)?, operand(i, 0)?) };
        let registers = registers.parts();
        if registers.len() != usize::from(count) {
            return Err("another number of registers than of matrices".into());
        }
        let place = self.place(address, space(i))?;
        let access = self.access(&place, Element::U32, 4, false)?;
        if loads {
            self.emit_matrix(Matrix::LoadRows(access, count, order), NONE, place.slot);
            return self.unpack_fragment(registers, Type::B32);
        }
        self.pack_fragment(registers, Type::B32, 0)?;
        self.emit_matrix(Matrix::StoreRows(access, count, order), NONE, place.slot);
        Ok(())
    }

    /// `wmma.load` and `wmma.store`.
    fn fragment(&mut self, i: &Instruction) -> Result<(), Failure> {
        let [m, n, k] = shape(i)?;
        let number = numbers(i).next().ok_or(UNKNOWN)?;
        let loads = i.has("load");
        let (registers, address) =
            if loads { (operand(i, 0)?, operand(i, 1)?) } else { (operand(i, 1)?, operand(i, 0)?) };
        let registers = registers.parts();
        let sides = [("a", (m, k)), ("b", (k, n)), ("c", (m, n)), ("d", (m, n))];
        let (rows, columns) = i.one_of(&sides).unwrap_or((m, n));
        let tile =
            Tile { rows, columns, number, registers: registers.len(), layout: FragmentLayout::Fragment };
        let order = if i.has("col") { Order::Columns } else { Order::Rows };
        let memory = match number.bits() {
            8 => Element::U8,
            16 => Element::U16,
            32 => Element::U32,
            64 => Element::U64,
            _ => return Err(UNKNOWN.into()),
        };
        if !tile.is_whole() {
            return Err(UNKNOWN.into());
        }
        let place = self.place(address, space(i))?;
        let access = self.access(&place, memory, 1, number == Number::F64)?;
        let apart = match i.operands.get(2) {
            Some(apart) => self.src(apart, Type::U32)?,
            // By default, rows or columns lie behind each other.
            None => {
                let packed = if order == Order::Rows { columns } else { rows };
                self.word(u32::try_from(packed).map_err(|_| UNKNOWN)?)
            }
        };
        if loads {
            self.emit_matrix(Matrix::Load(access, tile, order), apart, place.slot);
            return self.unpack_fragment(registers, register(number));
        }
        self.pack_fragment(registers, register(number), 0)?;
        self.emit_matrix(Matrix::Store(access, tile, order), apart, place.slot);
        Ok(())
    }

    /// `mma` and `wmma.mma`.
    fn multiply(&mut self, i: &Instruction) -> Result<(), Failure> {
        if i.modifiers
            .iter()
            .any(|m| matches!(&**m, "sp" | "xor") || m.starts_with("sp::") || m.starts_with("kind"))
        {
            return Err(UNKNOWN.into());
        }
        let [m, n, k] = shape(i)?;
        let whole = &*i.opcode == "wmma";
        let types: Vec<Number> = numbers(i).collect();
        let [d, a, b, c] = match types[..] {
            [d, a, b, c] => [d, a, b, c],
            // Factors without a type have 16 bits.
            [d, c] if whole => [d, Number::F16, Number::F16, c],
            _ => return Err(UNKNOWN.into()),
        };
        // The first factor's rows and the second one's columns lie in registers.
        if !(whole || i.has("row") && i.has("col")) {
            return Err(UNKNOWN.into());
        }
        let operands = [operand(i, 0)?, operand(i, 1)?, operand(i, 2)?, operand(i, 3)?].map(Operand::parts);
        let tile = |number, at: usize, rows, columns, layout| {
            let layout = if whole { FragmentLayout::Fragment } else { layout };
            Tile { rows, columns, number, registers: operands[at].len(), layout }
        };
        let multiply = Multiply {
            d: tile(d, 0, m, n, FragmentLayout::Sums),
            a: tile(a, 1, m, k, FragmentLayout::Left),
            b: tile(b, 2, k, n, FragmentLayout::Right),
            c: tile(c, 3, m, n, FragmentLayout::Sums),
            saturates: i.has("satfinite"),
        };
        let fits = whole || (m == 8 || m == 16) && n == 8;
        if !fits || ![multiply.a, multiply.b, multiply.c, multiply.d].into_iter().all(Tile::is_whole) {
            return Err(UNKNOWN.into());
        }
        let mut first = 0;
        for (at, number) in [(1, a), (2, b), (3, c)] {
            first = self.pack_fragment(operands[at], register(number), first)?;
        }
        self.emit_matrix(Matrix::Multiply(multiply), NONE, NONE);
        self.unpack_fragment(operands[0], register(d))
    }

    /// Lays registers on the table, from a position on. Returns the position behind them.
    pub(super) fn pack_fragment(
        &mut self,
        registers: &[Operand],
        ty: Type,
        first: u8,
    ) -> Result<u8, Failure> {
        let mut at = first;
        for part in registers.chunks(5) {
            let slots = part.iter().map(|r| self.src(r, ty)).collect::<Result<Vec<Slot>, _>>()?;
            self.emit(Op::PackFragment(at, ty.size() == 8), &slots);
            at += u8::try_from(part.len()).map_err(|_| UNKNOWN)?;
        }
        Ok(at)
    }

    /// Takes registers from the table, from its start on.
    pub(super) fn unpack_fragment(&mut self, registers: &[Operand], ty: Type) -> Result<(), Failure> {
        let mut at = 0;
        for part in registers.chunks(5) {
            let slots = part.iter().map(|r| self.dst(r, ty)).collect::<Result<Vec<Slot>, _>>()?;
            self.emit(Op::UnpackFragment(at, ty.size() == 8), &slots);
            at += u8::try_from(part.len()).map_err(|_| UNKNOWN)?;
        }
        Ok(())
    }

    pub(super) fn emit_matrix(&mut self, matrix: Matrix, apart: Slot, address: Slot) {
        let number = u32::try_from(self.program.matrices.len()).unwrap_or(u32::MAX);
        self.program.matrices.push(matrix);
        self.emit(Op::Matrix(number), &[NONE, NONE, NONE, apart, address]);
    }
}

/// The type of the registers that hold numbers.
fn register(number: Number) -> Type {
    if number == Number::F64 { Type::B64 } else { Type::B32 }
}

/// The numbers that an instruction names, in order.
pub(super) fn numbers(i: &Instruction) -> impl Iterator<Item = Number> {
    i.modifiers.iter().filter_map(|m| Number::named(m))
}

/// The rows and columns of the result, and the length of the sums, of a modifier such as `m16n8k16`.
pub(super) fn shape(i: &Instruction) -> Result<[usize; 3], Failure> {
    let read = |word: &str| {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    };
    i.modifiers.iter().find_map(|m| read(m)).ok_or_else(|| UNKNOWN.into())
}
