//! Branches, calls and ends.

use super::integer::operand;
use super::{Failure, Lower, Symbol, resolve};
use crate::exec::file::Class;
use crate::exec::program::{CallSite, Op, Target};
use crate::exec::runtime::RuntimeFunction;
use crate::ptx::ast::{Name, Prototype};
use crate::ptx::{Function, Instruction, Operand, Space, Type, Variable};

impl Lower<'_> {
    pub(super) fn control(&mut self, f: &Function, i: &Instruction) -> Result<(), Failure> {
        match &*i.opcode {
            "bra" => {
                let Operand::Name(label) = operand(i, 0)? else { return Err("no label".into()) };
                let at = self.here();
                self.jumps.push((at, label.clone()));
                self.emit(Op::Branch(0), &[]);
            }
            "brx" => {
                let index = self.src(operand(i, 0)?, Type::U32)?;
                let Operand::Name(list) = operand(i, 1)? else { return Err("no list of labels".into()) };
                let Some(Symbol::Targets(labels)) = self.lookup(list) else {
                    return Err(format!("{list} is not a list of labels"));
                };
                let table = u32::try_from(self.program.tables.len()).unwrap_or(u32::MAX);
                self.program.tables.push(Vec::new());
                self.tables.push((table, labels));
                self.emit(Op::Table(table), &[index]);
            }
            "call" => self.call(i)?,
            "ret" => {
                // Old PTX returns in registers.
                let places = self.routine.returns.clone();
                for (v, (at, _)) in f.prototype.returns.iter().zip(places) {
                    if let (Space::Reg, Some(Symbol::Register(_, slot))) = (v.space, self.lookup(&v.name)) {
                        self.frame_access(v.ty, at, slot, false);
                    }
                }
                self.emit(Op::Return, &[]);
            }
            "exit" => self.emit(Op::Exit, &[]),
            _ => self.emit(Op::Trap, &[]),
        }
        Ok(())
    }

    fn call(&mut self, i: &Instruction) -> Result<(), Failure> {
        let empty = Vec::new();
        let mut rest = i.operands.iter();
        let mut next = rest.next().ok_or("an operand is missing")?;
        let returns = match next {
            Operand::List(list) => {
                next = rest.next().ok_or("an operand is missing")?;
                list
            }
            _ => &empty,
        };
        let Operand::Name(callee) = next else { return Err("no function".into()) };
        let mut args = &empty;
        let mut prototype = None;
        for more in rest {
            match more {
                Operand::List(list) => args = list,
                Operand::Name(name) => {
                    if let Some(Symbol::Prototype(p)) = self.lookup(name) {
                        prototype = Some(p);
                    }
                }
                _ => {}
            }
        }
        let (target, slot) = match self.lookup(callee) {
            Some(Symbol::Register(Class::Wide, slot)) => (None, Some(slot)),
            _ => (Some(self.target(callee, &mut prototype)), None),
        };
        let prototype = prototype.unwrap_or_default();
        let args = self.passed(args, &prototype.params, true)?;
        let results = self.passed(returns, &prototype.returns, false)?;
        let places = |list: &[(u32, u32, Option<_>)]| list.iter().map(|p| (p.0, p.1)).collect();
        let call = CallSite { target, caller: self.number, args: places(&args), returns: places(&results) };
        let routine = matches!(call.target, None | Some(Target::Routine(_) | Target::Assert));
        self.program.shows_order |= !routine;
        let number = u32::try_from(self.program.calls.len()).unwrap_or(u32::MAX);
        self.program.calls.push(call);
        self.emit(Op::Call(number), &slot.map_or(vec![], |s| vec![s]));
        for (at, _, register) in results {
            if let Some((ty, slot)) = register {
                self.frame_access(ty, at, slot, true);
            }
        }
        Ok(())
    }

    fn target(&self, callee: &Name, prototype: &mut Option<Prototype>) -> Target {
        let name = resolve(self.module, callee);
        if let Some(f) = self.module.functions.iter().find(|f| *f.name == *name) {
            *prototype = Some(f.prototype.clone());
        }
        match self.routines.get(name) {
            Some(&number) => Target::Routine(number),
            None => match name {
                "vprintf" => Target::Print,
                "malloc" => Target::Malloc,
                "free" => Target::Free,
                "__assertfail" => Target::Assert,
                "cudaGraphSetConditional" => Target::SetConditional,
                _ => match RuntimeFunction::from_name(name) {
                    Some(function) => Target::Runtime(function),
                    None => Target::Missing(name.to_string()),
                },
            },
        }
    }

    /// The places in the frame of the values that a call passes. Registers and constants get a place there.
    #[expect(clippy::type_complexity, reason = "a list that one caller takes apart at once")]
    fn passed(
        &mut self,
        list: &[Operand],
        formal: &[Variable],
        store: bool,
    ) -> Result<Vec<(u32, u32, Option<(Type, u32)>)>, Failure> {
        let mut places = Vec::new();
        for (n, o) in list.iter().enumerate() {
            if let Operand::Name(name) = o {
                if &**name == "_" {
                    places.push((0, 0, None));
                    continue;
                }
                if let Some(Symbol::Frame(at, size)) = self.lookup(name) {
                    places.push((at, size, None));
                    continue;
                }
            }
            let v = formal.get(n).ok_or("an argument too many")?;
            let (at, size) = super::reserve(&mut self.routine.frame, v);
            if store {
                let slot = self.src(o, v.ty)?;
                self.frame_access(v.ty, at, slot, false);
                places.push((at, size, None));
            } else {
                let slot = self.dst(o, v.ty)?;
                places.push((at, size, Some((v.ty, slot))));
            }
        }
        Ok(places)
    }
}
