//! What each instruction becomes; branches, calls, and the ends of threads.

use cuda_ptx::instruction::{Effect, Proof};
use cuda_ptx::{Constant, Entity, Instruction, Linkage, Name, Operand as Source};

use super::arithmetic::unknown_form;
use super::operand::space_of;
use super::{Frame, LocalPlace, Lowering, Refused, negated};
use crate::effort::CALLS;
use crate::ir::{Loaded, Op, Operand, Origin, Space, Step};

/// Words of barriers in the block's own shared memory.
const BARRIERS: &str = "\
    init inval arrive arrive_drop test_wait try_wait noComplete parity acquire release relaxed cta shared \
    shared::cta b64";

impl<'m, 'a> Lowering<'m, 'a> {
    pub(super) fn instruction(&mut self, it: &'m Instruction<'a>) -> Refused {
        let first = self.kernel.steps.len();
        // A promise that all threads of a warp go the same way. It is kept where there is one way.
        if it.has("uni") && (it.guard.is_some() || !["bra", "call", "ret"].contains(&it.opcode())) {
            return Err(format!("the instruction {} where threads may go different ways", it.form()));
        }
        self.unguarded(it)?;
        if let Some((name, is_negated)) = it.guard {
            let guard = self.predicate(&Source::Name(name))?;
            let guard = if is_negated { negated(guard) } else { guard };
            if it.words[0] == "call" {
                return Err("a call under a predicate".to_owned());
            }
            // The predicate is read before the instruction writes it.
            let guard = match guard {
                Operand::Register(own) | Operand::Negated(own)
                    if self.kernel.steps[first..].iter().any(|step| step.to.contains(&own)) =>
                {
                    let before = self.temporary(1);
                    let copy =
                        Step { bits: 1, to: vec![before], from: vec![guard], ..Step::new(Op::PredMov) };
                    self.kernel.steps.insert(first, Step { at: self.at, ..copy });
                    Operand::Register(before)
                }
                other => other,
            };
            // Temporary registers are computed in any case: nothing else reads them.
            for step in &mut self.kernel.steps[first..] {
                if step.to.is_empty() || !step.to.iter().all(|it| self.temporaries.contains(it)) {
                    step.guard = Some(guard);
                }
            }
        }
        Ok(())
    }

    fn unguarded(&mut self, it: &'m Instruction<'a>) -> Refused {
        let name = it.opcode();
        let has = |word: &str| it.has(word);
        let Some(row) = it.row().filter(|row| row.proof != Proof::Refused) else {
            return Err(format!("the instruction {}", it.form()));
        };
        match (name, &it.operands[..]) {
            ("ld" | "ldu" | "st" | "atom" | "red", _) => self.access(it),
            ("cp", [to, from, Source::Constant(Constant::Integer(size)), ..])
                if row.effect == Effect::Copies =>
            {
                let size = u32::try_from(*size).map_err(|_| "a size below zero".to_owned())?;
                self.memory(Op::Store, Space::Shared, to, size, Vec::new(), Loaded::Strong)?;
                self.memory(Op::Load, Space::Global, from, size, Vec::new(), Loaded::Strong)
            }
            ("ldmatrix" | "stmatrix", [a, b, ..]) if has("shared") && has("b16") => {
                let (results, address) = if name == "ldmatrix" { (a, b) } else { (b, a) };
                let results = if name == "ldmatrix" { self.results(results)? } else { Vec::new() };
                let op = if name == "ldmatrix" { Op::Load } else { Op::Store };
                // Each address is that of a row of sixteen bytes.
                self.memory(op, Space::Shared, address, 16, Vec::new(), Loaded::Strong)?;
                self.unknown(results, Origin::Memory, &[]);
                Ok(())
            }
            ("mbarrier", _)
                if it.words[1..].iter().all(|word| BARRIERS.split(' ').any(|own| own == *word)) =>
            {
                self.barrier(it)
            }
            ("wmma", _) if has("load") || has("store") => self.matrix(it),
            ("fence" | "membar", [_, ..]) => unknown_form(it),
            // No manual says what it does outside of memory: the byte at its address counts as read.
            ("prefetch" | "prefetchu", [address]) => {
                let space = space_of(&it.words).unwrap_or(Space::Generic);
                self.memory(Op::Load, space, address, 1, Vec::new(), Loaded::Strong)
            }
            _ if row.effect == Effect::Orders => Ok(()),
            (_, [to, ..]) if row.effect == Effect::Shuffles => {
                let to = self.results(to)?;
                self.unknown(to, Origin::Shuffle, &[]);
                Ok(())
            }
            ("sust" | "sured", [at, ..]) => {
                self.handle(at, true);
                Ok(())
            }
            ("tex" | "tld4" | "txq" | "suld" | "suq", [to, at, ..]) => self.texture(to, at, name),
            ("bra" | "brx" | "ret" | "exit" | "trap" | "call", _) => self.jump(it),
            _ => self.computes(it, row.effect),
        }
    }

    /// Lowers what goes on elsewhere than at the next instruction.
    fn jump(&mut self, it: &'m Instruction<'a>) -> Refused {
        match (it.opcode(), &it.operands[..]) {
            ("bra", [Source::Name(label)]) => {
                let step = self.push(Step::new(Op::Bra));
                self.frame.branches.push((step, vec![*label]));
            }
            ("brx", [index, Source::Name(list)]) if it.has("idx") => {
                let Entity::List(list) = list.entity else { return unknown_form(it) };
                let targets = self.frame.body.lists[list].targets.clone();
                let count = Operand::Number(targets.len().try_into().unwrap_or(i64::MAX));
                let from = vec![self.value(index, 32, false)?, count];
                self.push(Step { from, ..Step::new(Op::Below) });
                let step = self.push(Step::new(Op::Bra));
                self.frame.branches.push((step, targets));
            }
            ("ret", []) => {
                let step = self.push(Step::new(Op::Bra));
                self.frame.returns.push(step);
            }
            ("exit" | "trap", []) => drop(self.push(Step::new(Op::Exit))),
            ("call", _) => return self.call(it),
            _ => return Err(format!("the instruction {}", it.form())),
        }
        Ok(())
    }

    fn texture(&mut self, to: &Source<'a>, at: &'m Source<'a>, name: &str) -> Refused {
        self.handle(at, name.starts_with("su"));
        // A texture may be of memory that the kernel writes: then each use may see another value.
        let unwritten = self.temporary(32);
        for to in self.results(to)? {
            self.unknown(vec![to], Origin::Texture, &[]);
            if let Some(step) = self.kernel.steps.last_mut() {
                step.from.push(Operand::Register(unwritten));
            }
        }
        Ok(())
    }

    fn call(&mut self, it: &'m Instruction<'a>) -> Refused {
        let mut operands = it.operands.iter().peekable();
        let results = operands.next_if(|it| matches!(it, Source::Arguments(_)));
        let Some(Source::Name(name)) = operands.next() else {
            return Err("a call of an unknown form".to_owned());
        };
        let arguments = operands.next_if(|it| matches!(it, Source::Arguments(_)));
        let function = match name.entity {
            Entity::Function(index) => Some(index),
            Entity::Undeclared => None,
            _ => return Err("a call through a pointer".to_owned()),
        };
        // The prototype of an indirect call follows.
        if operands.next().is_some() {
            return Err("a call through a pointer".to_owned());
        }
        let (results, arguments) = (self.slots(results)?, self.slots(arguments)?);
        let (module, name) = (self.module, name.text);
        let function = function.map(|index| (index, &module.functions[index])).filter(|(_, it)| !it.is_entry);
        let Some((index, function, body)) =
            function.and_then(|(index, it)| Some((index, it, it.body.as_ref()?)))
        else {
            return self.call_of_runtime(name, &arguments);
        };
        if matches!(function.linkage, Linkage::Weak | Linkage::Common) {
            return Err(format!("{name} may have another body in another file"));
        }
        let is_open = self.callers.iter().chain([&self.frame]).any(|it| it.function == index);
        if is_open || self.callers.len() >= CALLS {
            return Err(format!("{name} calls itself, or calls are nested too deep"));
        }
        if function.results.len() != results.len() || function.parameters.len() != arguments.len() {
            return Err(format!("a call of {name} with other parameters"));
        }
        if results.iter().enumerate().any(|(at, it)| results[..at].contains(it) || arguments.contains(it)) {
            return Err(format!("a call of {name} with one parameter twice"));
        }
        // Results have no value before the function writes them.
        for slot in &results {
            for (_, _, piece) in self.slots[*slot].clone() {
                let bits = self.bits(piece);
                let from = vec![Operand::Register(self.temporary(bits))];
                self.push(Step { bits, to: vec![piece], from, ..Step::new(Op::Mov) });
            }
        }
        let at = self.at;
        let frame = Frame::new(index, body, results, arguments);
        self.callers.push(std::mem::replace(&mut self.frame, frame));
        let returns = self.body();
        if let Some(caller) = self.callers.pop() {
            self.frame = caller;
        }
        let end = self.kernel.steps.len();
        for step in returns {
            self.kernel.steps[step].from = vec![Operand::Number(end.try_into().unwrap_or(i64::MAX))];
        }
        self.at = at;
        Ok(())
    }

    /// Returns the slots that a call passes.
    fn slots(&mut self, list: Option<&'m Source<'a>>) -> Refused<Vec<usize>> {
        let Some(Source::Arguments(list)) = list else { return Ok(Vec::new()) };
        let slot = |it: &Source<'a>| match it {
            Source::Name(Name { entity: Entity::Local(index), .. }) => match self.frame.variables[*index] {
                LocalPlace::Slot(slot) => Some(slot),
                _ => None,
            },
            Source::Name(Name { entity: Entity::Result(index), .. }) => {
                self.frame.results.get(*index).copied()
            }
            _ => None,
        };
        let slots: Option<Vec<_>> = list.iter().map(slot).collect();
        slots.ok_or_else(|| "an argument that is no parameter".to_owned())
    }

    /// Lowers a call of a function that the device's runtime has.
    fn call_of_runtime(&mut self, name: &str, arguments: &[usize]) -> Refused {
        if name == "__assertfail" && arguments.len() == 5 {
            // It prints three strings and ends the kernel.
            for slot in &arguments[..3] {
                let from = vec![Operand::Register(self.piece(*slot, 0, 8)?), Operand::Number(0)];
                self.push(Step { from, size: 1, flag: true, ..Step::new(Op::Load) });
            }
            self.push(Step::new(Op::Exit));
            return Ok(());
        }
        Err(match name {
            "vprintf" => "printf, which may read any memory".to_owned(),
            "malloc" | "free" => format!("{name}: the device's heap"),
            _ => format!("a call of {name}, which is not in this PTX"),
        })
    }
}
