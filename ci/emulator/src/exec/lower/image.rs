//! Reads of textures, reads and writes of surfaces.
//!
//! Each becomes two operations or more, because the values leave too few slots. The first operations note the
//! handle, the coordinates, the level and the derivatives.

use super::integer::operand;
use super::memory::parts;
use super::{Failure, Lower, UNKNOWN};
use crate::exec::file::test;
use crate::exec::geometry::Boundary;
use crate::exec::geometry::{Geometry, LevelBy, Read};
use crate::exec::image::{DX, DY, LEVEL};
use crate::exec::program::{Element, NONE, Op, SurfaceAccess};
use crate::ptx::{Instruction, Operand, Type};

/// The dimensions that an instruction names.
fn geometry(i: &Instruction) -> Result<Geometry, Failure> {
    let found = i.one_of(&[
        ("1d", Geometry::Line),
        ("2d", Geometry::Plane),
        ("3d", Geometry::Solid),
        ("a1d", Geometry::Lines),
        ("a2d", Geometry::Planes),
        ("cube", Geometry::Cube),
        ("acube", Geometry::Cubes),
    ]);
    found.ok_or_else(|| "images of these dimensions are not known to the emulator".into())
}

impl Lower<'_> {
    /// Notes numbers for the access that follows, and perhaps the handle.
    fn operands(
        &mut self,
        first: u8,
        list: &[Operand],
        types: impl Fn(usize) -> Type,
        count: usize,
        handle: Option<&Operand>,
    ) -> Result<(), Failure> {
        let mut s = [NONE; 5];
        for (n, slot) in s.iter_mut().enumerate().take(count) {
            *slot = self.src(list.get(n).ok_or("a coordinate is missing")?, types(n))?;
        }
        if let Some(handle) = handle {
            s[4] = self.src(handle, Type::B64)?;
        }
        self.emit(Op::Coordinates(first), &s);
        Ok(())
    }

    /// Notes the handle and the coordinates of an access.
    fn coordinates(&mut self, at: &Operand, geometry: Geometry, ty: Type) -> Result<(), Failure> {
        let Operand::Multi(parts) = at else { return Err("a handle and coordinates are needed here".into()) };
        let [handle, Operand::Vector(list)] = parts.as_slice() else {
            return Err(UNKNOWN.into());
        };
        let layered = geometry.is_layered();
        let count = geometry.dimensions() + usize::from(layered);
        self.operands(0, list, |n| if layered && n == 0 { Type::U32 } else { ty }, count, Some(handle))
    }

    pub(super) fn texture(&mut self, i: &Instruction) -> Result<(), Failure> {
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
        let (results, resident) = match operand(i, 0)? {
            Operand::Pair(results, resident) => (&**results, Some(&**resident)),
            results => (results, None),
        };
        let parts = results.parts();
        if parts.len() != 4 {
            return Err(UNKNOWN.into());
        }
        // Behind them an instruction may have offsets or a value to compare with.
        let known = if i.has("level") { 3 } else { 2 + 2 * usize::from(i.has("grad")) };
        if i.operands.len() > known {
            return Err(UNKNOWN.into());
        }
        self.coordinates(operand(i, 1)?, geometry, *given)?;
        let level = if i.has("level") {
            self.operands(LEVEL, operand(i, 2)?.parts(), |_| *given, 1, None)?;
            if by_number { LevelBy::Nothing } else { LevelBy::Number }
        } else if i.has("grad") {
            for (first, n) in [(DX, 2), (DY, 3)] {
                self.operands(first, operand(i, n)?.parts(), |_| Type::F32, geometry.dimensions(), None)?;
            }
            LevelBy::Derivatives
        } else {
            LevelBy::Nothing
        };
        let gathers = match (&*i.opcode, i.modifiers.first().map(|word| &**word)) {
            ("tld4", Some("r")) => Some(0),
            ("tld4", Some("g")) => Some(1),
            ("tld4", Some("b")) => Some(2),
            ("tld4", Some("a")) => Some(3),
            ("tld4", _) => return Err(UNKNOWN.into()),
            _ => None,
        };
        if gathers.is_some() && geometry != Geometry::Plane {
            return Err("gathers of images of these dimensions are not known to the emulator".into());
        }
        let mut s = [NONE; 5];
        for (slot, part) in s.iter_mut().zip(parts) {
            *slot = self.dst(part, *result)?;
        }
        let floats = *result == Type::F32;
        self.emit(Op::Texture(Read { geometry, by_number, floats, level, gathers }), &s);
        if let Some(resident) = resident {
            // No image lacks memory: those that do cannot be read at all.
            let (d, one) = (self.dst(resident, Type::Pred)?, self.word(1));
            self.alu(|f, s, m| test::<u32>(f, s, m, |v| v != 0), &[d, one]);
        }
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
        let boundary = i.one_of(&[("clamp", Boundary::Clamp), ("zero", Boundary::Zero)]);
        let boundary = boundary.unwrap_or(Boundary::Trap);
        let load = &*i.opcode == "suld";
        let (at, values) = if load { (1, 0) } else { (0, 1) };
        let (parts, count) = parts(operand(i, values)?)?;
        self.coordinates(operand(i, at)?, geometry, Type::S32)?;
        let mut s = [NONE; 5];
        for (slot, part) in s.iter_mut().zip(parts) {
            *slot = if load { self.dst(part, ty)? } else { self.src(part, ty)? };
        }
        let access = SurfaceAccess { geometry, element, count, boundary };
        self.emit(if load { Op::SurfaceLoad(access) } else { Op::SurfaceStore(access) }, &s);
        Ok(())
    }
}
