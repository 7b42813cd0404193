//! Reads of textures, reads and writes of surfaces.
//!
//! Each becomes two operations, because the values leave too few slots. The first operation notes the handle
//! and the coordinates.

use super::integer::operand;
use super::{Failure, Lower, UNKNOWN};
use crate::exec::program::Boundary;
use crate::exec::program::{Element, Geometry, NONE, Op, Read, Touch};
use crate::ptx::{Instruction, Operand, Type};

/// The dimensions that an instruction names.
fn geometry(i: &Instruction) -> Result<Geometry, Failure> {
    let found = i.modifiers.iter().find_map(|word| match &**word {
        "1d" => Some(Geometry::Line),
        "2d" => Some(Geometry::Plane),
        "3d" => Some(Geometry::Solid),
        "a1d" => Some(Geometry::Lines),
        "a2d" => Some(Geometry::Planes),
        "cube" => Some(Geometry::Cube),
        _ => None,
    });
    found.ok_or_else(|| "images of these dimensions are not known to the emulator".into())
}

impl Lower<'_> {
    /// Notes the handle and the coordinates of an access.
    fn coordinates(&mut self, at: &Operand, geometry: Geometry, ty: Type) -> Result<(), Failure> {
        let Operand::Multi(parts) = at else { return Err("a handle and coordinates are needed here".into()) };
        let [handle, Operand::Vector(list)] = parts.as_slice() else {
            return Err(UNKNOWN.into());
        };
        let mut s = [NONE; 5];
        let layered = geometry.is_layered();
        let count = geometry.dimensions() + usize::from(layered);
        for n in 0..count {
            let part = list.get(n).ok_or("a coordinate is missing")?;
            let ty = if layered && n == 0 { Type::U32 } else { ty };
            s[1 + n] = self.src(part, ty)?;
        }
        s[4] = self.src(handle, Type::B64)?;
        self.emit(Op::Coordinates, &s);
        Ok(())
    }

    pub(super) fn texture(&mut self, i: &Instruction) -> Result<(), Failure> {
        if &*i.opcode != "tex" || i.has("grad") {
            return Err("this access to textures is not known to the emulator".into());
        }
        let geometry = geometry(i)?;
        let types: Vec<Type> = i.types().collect();
        let [.., result, given] = types.as_slice() else { return Err("no type".into()) };
        if !matches!(result, Type::F32 | Type::U32 | Type::S32) {
            return Err("results of this type are not known to the emulator".into());
        }
        let by_number = *given == Type::S32;
        if by_number && geometry != Geometry::Line || !by_number && *given != Type::F32 {
            return Err("coordinates of this type are not known to the emulator".into());
        }
        let Operand::Vector(parts) = operand(i, 0)? else {
            return Err(UNKNOWN.into());
        };
        if parts.len() != 4 {
            return Err(UNKNOWN.into());
        }
        // A level belongs to an image with levels, which is refused when it is read.
        self.coordinates(operand(i, 1)?, geometry, *given)?;
        let mut s = [NONE; 5];
        for (slot, part) in s.iter_mut().zip(parts) {
            *slot = self.dst(part, *result)?;
        }
        self.emit(Op::Texture(Read { geometry, by_number, floats: *result == Type::F32 }), &s);
        Ok(())
    }

    pub(super) fn surface(&mut self, i: &Instruction) -> Result<(), Failure> {
        if !i.has("b") {
            return Err("formatted access to surfaces is not known to the emulator".into());
        }
        let geometry = geometry(i)?;
        let ty = i.types().last().ok_or("no type")?;
        let element = match ty {
            Type::B8 => Element::U8,
            Type::B16 => Element::U16,
            Type::B32 => Element::U32,
            Type::B64 => Element::U64,
            _ => return Err("values of this type are not known to the emulator".into()),
        };
        let boundary = if i.has("clamp") {
            Boundary::Clamp
        } else if i.has("zero") {
            Boundary::Zero
        } else {
            Boundary::Trap
        };
        let load = &*i.opcode == "suld";
        let (at, values) = if load { (1, 0) } else { (0, 1) };
        let single = std::slice::from_ref(operand(i, values)?);
        let parts = match operand(i, values)? {
            Operand::Vector(parts) => parts,
            _ => single,
        };
        let count = match parts.len() {
            1 => 1,
            2 => 2,
            4 => 4,
            _ => return Err("vectors of this length are not known to the emulator".into()),
        };
        self.coordinates(operand(i, at)?, geometry, Type::S32)?;
        let mut s = [NONE; 5];
        for (slot, part) in s.iter_mut().zip(parts) {
            *slot = if load { self.dst(part, ty)? } else { self.src(part, ty)? };
        }
        let touch = Touch { geometry, element, count, boundary };
        self.emit(if load { Op::SurfaceLoad(touch) } else { Op::SurfaceStore(touch) }, &s);
        Ok(())
    }
}
