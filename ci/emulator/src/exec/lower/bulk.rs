//! Bulk copies: of bytes, and of the boxes of tensors.

use super::integer::operand;
use super::{Failure, Lower, UNKNOWN};
use crate::exec::file::{Class, Slot, low};
use crate::exec::program::{Access, BulkCopy, BulkReduction, BulkSide, CopyQueue, Element, NONE, Op, Scope};
use crate::exec::tensor::{BYTES, Field};
use crate::ptx::{Instruction, Operand, Space, Type};

/// The operations of reductions.
const REDUCTIONS: [&str; 8] = ["add", "min", "max", "inc", "dec", "and", "or", "xor"];

impl Lower<'_> {
    /// `cp.async.bulk`, `cp.async.bulk.tensor` and `cp.reduce.async.bulk`, with their groups and prefetches.
    pub(super) fn bulk(&mut self, i: &Instruction) -> Result<(), Failure> {
        if i.has("commit_group") {
            self.emit(Op::CloseGroup(CopyQueue::Bulk), &[]);
            return Ok(());
        }
        if i.has("wait_group") {
            return self.wait_for_groups(i, CopyQueue::Bulk);
        }
        let unknown = ["cp_mask", "im2col", "im2col_no_offs", "cta_group::1", "cta_group::2"];
        if unknown.iter().any(|word| i.has(word)) || i.modifiers.iter().any(|m| m.starts_with("tile::")) {
            return Err(UNKNOWN.into());
        }
        let spaces: Vec<Space> = i.modifiers.iter().filter_map(|m| side(m)).collect();
        let (to, from) = match spaces[..] {
            [to, from] => (Some(to), from),
            [from] if i.has("prefetch") => (None, from),
            _ => return Err(UNKNOWN.into()),
        };
        let tensor = i.has("tensor");
        let mut operands = i.operands.iter();
        let mut next = || operands.next().ok_or("an operand is missing");
        let (mut to_slot, mut to_side) = (NONE, BulkSide::Nothing);
        if let Some(space) = to {
            (to_side, to_slot) = self.side(i, next()?, space, tensor)?;
        }
        let (from_side, from_slot) = self.side(i, next()?, from, tensor)?;
        let bytes = if tensor { NONE } else { self.src(next()?, Type::U32)? };
        let (mut barrier, mut counted) = (NONE, None);
        if i.has("mbarrier::complete_tx::bytes") {
            let place = self.place(next()?, Space::Shared)?;
            (barrier, counted) = (place.slot, Some(self.access(&place, Element::U64, 1, true)?));
        } else if !(i.has("bulk_group") || i.has("prefetch")) {
            return Err(UNKNOWN.into());
        }
        let multicast = i.has("multicast::cluster");
        // A cache policy, which may follow, has no effect here.
        let mask = if multicast { self.src(next()?, Type::U32)? } else { NONE };
        let reduction =
            if &*i.opcode == "cp" && i.has("reduce") { Some(self.reduction(i, tensor)?) } else { None };
        let copy = BulkCopy { to: to_side, from: from_side, counted, reduction, multicast };
        let number = u32::try_from(self.program.bulk_copies.len()).unwrap_or(u32::MAX);
        self.program.bulk_copies.push(copy);
        self.emit(Op::AskBulk(number), &[bytes, barrier, mask, to_slot, from_slot]);
        Ok(())
    }

    /// One side of a copy, and the slot of its address. The coordinates of a box go to the table.
    fn side(
        &mut self,
        i: &Instruction,
        operand: &Operand,
        space: Space,
        tensor: bool,
    ) -> Result<(BulkSide, Slot), Failure> {
        if !(tensor && space == Space::Global) {
            let place = self.place(operand, space)?;
            let access = Access { proxy: true, ..self.access(&place, Element::U8, 1, false)? };
            return Ok((BulkSide::Bytes(access), place.slot));
        }
        let Operand::Multi(parts) = operand else {
            return Err("a map and coordinates are needed here".into());
        };
        let [map, Operand::Vector(coordinates)] = &parts[..] else {
            return Err("a map and coordinates are needed here".into());
        };
        let dimensions = u8::try_from(coordinates.len()).map_err(|_| UNKNOWN)?;
        if !i.has(&format!("{dimensions}d")) {
            return Err("another number of coordinates than of dimensions".into());
        }
        let (name, offset) = match map {
            Operand::Name(name) => (name.clone(), 0),
            Operand::Offset(name, offset) => (name.clone(), *offset),
            _ => return Err("the address of a map is needed here".into()),
        };
        self.pack_fragment(coordinates, Type::S32, 0)?;
        let place = self.place(&Operand::Address(Some(name), offset), Space::Generic)?;
        Ok((BulkSide::Tensor(self.access(&place, Element::U8, 1, false)?, dimensions), place.slot))
    }

    /// `tensormap.replace` and `tensormap.cp_fenceproxy`: stores to the fields of a map, and a copy.
    pub(super) fn tensor_map(&mut self, i: &Instruction) -> Result<(), Failure> {
        if i.has("cp_fenceproxy") {
            let mut sides = i.modifiers.iter().filter_map(|m| side(m));
            let (Some(to), Some(from)) = (sides.next(), sides.next()) else { return Err(UNKNOWN.into()) };
            let (to, from) = (self.place(operand(i, 0)?, to)?, self.place(operand(i, 1)?, from)?);
            for offset in (0..i64::try_from(BYTES).unwrap_or(0)).step_by(8) {
                let value = self.register(Class::Wide);
                let mut access = self.access(&from, Element::U64, 1, true)?;
                access.offset += i32::try_from(offset).unwrap_or(0);
                self.emit(Op::Load(access), &[value, NONE, NONE, NONE, from.slot]);
                let mut access = self.access(&to, Element::U64, 1, true)?;
                access.offset += i32::try_from(offset).unwrap_or(0);
                self.emit(Op::Store(access), &[value, NONE, NONE, NONE, to.slot]);
            }
            self.emit(Op::Fence(Scope::Device, false), &[]);
            // All threads of the warp execute it together.
            let all = self.word(u32::MAX);
            self.emit(Op::WarpBarrier, &[all]);
            self.program.shows_order = true;
            return Ok(());
        }
        let field =
            Field::ALL.into_iter().find(|(name, _)| i.has(name)).map(|(_, field)| field).ok_or(UNKNOWN)?;
        let of_dimension = matches!(field, Field::Box | Field::Dimension | Field::Stride | Field::Step);
        let dimension = match operand(i, 1)? {
            Operand::Int(dimension) if of_dimension => usize::try_from(*dimension).map_err(|_| UNKNOWN)?,
            _ if of_dimension => return Err("the number of a dimension is needed here".into()),
            _ => 0,
        };
        let value = operand(i, if of_dimension { 2 } else { 1 })?;
        let (offset, size) = field.place(dimension).ok_or(UNKNOWN)?;
        let (wide, element) = if size == 8 { (true, Element::U64) } else { (false, Element::U8) };
        let add = match (field, value) {
            (Field::Rank, _) => 1,
            (Field::Box, _) => u32::MAX,
            // There are no steps in the innermost dimension.
            (Field::Step, _) if dimension == 0 => return Ok(()),
            (Field::Interleave, Operand::Int(0)) => return Ok(()),
            (Field::Interleave, _) => return Err(UNKNOWN.into()),
            _ => 0,
        };
        let value = match (field, value) {
            // The numbers of types differ from those of the driver.
            (Field::Element, Operand::Int(number)) => {
                let number = match number {
                    8 => 10,
                    9 => 8,
                    10 => 9,
                    0..=12 => *number,
                    _ => return Err(UNKNOWN.into()),
                };
                self.word(low(number))
            }
            _ if wide => self.src(value, Type::U64)?,
            _ => self.src(value, Type::U32)?,
        };
        let mut slot = value;
        if add != 0 {
            let (d, by) = (self.register(Class::Word), self.word(add));
            self.alu(op2!(u32, u32 => u32, u32::wrapping_add), &[d, value, by]);
            slot = d;
        }
        let place = self.place(operand(i, 0)?, super::memory::space(i))?;
        let mut access = self.access(&place, element, 1, wide)?;
        access.offset += i32::try_from(offset).unwrap_or(0);
        self.emit(Op::Store(access), &[slot, NONE, NONE, NONE, place.slot]);
        Ok(())
    }

    fn reduction(&mut self, i: &Instruction, tensor: bool) -> Result<BulkReduction, Failure> {
        let name = REDUCTIONS.into_iter().find(|name| i.has(name)).ok_or(UNKNOWN)?;
        let ty = if tensor { None } else { Some(i.types().last().ok_or("no type")?) };
        // Sums of floating-point numbers depend on their order.
        self.program.shows_order |= ty.is_none_or(Type::is_float);
        if ty.is_some_and(|ty| super::modify(name, ty).is_none()) {
            return Err("this operation is not known to the emulator".into());
        }
        Ok(BulkReduction { name, ty })
    }
}

/// The memory that a modifier names.
fn side(word: &str) -> Option<Space> {
    match word {
        "global" => Some(Space::Global),
        "shared::cta" | "shared::cluster" => Some(Space::Shared),
        _ => None,
    }
}
