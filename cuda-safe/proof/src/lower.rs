//! Makes a kernel's slice from PTX: names become numbers, called functions are put in place of their calls,
//! and what feeds neither addresses nor guards is left out.
//!
//! An instruction that is not listed here becomes [`Op::Refuse`]: the launch is refused if the analysis
//! reaches it. So does a listed instruction with a modifier that is not listed, if it accesses memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::ptx::{Function, Instruction, Module, Operand as Source, Statement, Variable, bytes_of, parse};
use crate::slice::{Kernel, Loaded, Op, Operand, Origin, Parameter, Space, Special, Step};

pub use crate::ptx::SyntaxError;

/// Steps that a kernel may have with all functions that it calls.
const MOST_STEPS: usize = 60_000;
/// The number of the PTX itself among the files: its lines are named if it has none of a source.
const PTX: u32 = u32::MAX;
/// Calls within calls.
const MOST_CALLS: usize = 24;

/// Lowers all kernels of a PTX text.
///
/// # Errors
/// The text is not PTX, or has a form that the reader does not know: the error names the line.
pub fn kernels(text: &str) -> Result<Vec<Kernel>, SyntaxError> {
    let module = parse(text)?;
    module.functions.iter().filter(|it| it.is_entry).map(|it| Lowering::kernel(&module, it)).collect()
}

/// What a name stands for.
#[derive(Clone, Debug)]
enum Entity<'a> {
    Register(u32),
    /// `%r<count>`: the bits of each.
    Family(u8, u32),
    Object(u32),
    /// A parameter of the kernel.
    Parameter(usize),
    /// A parameter or result of a function, in the `.param` space.
    Slot(usize),
    Targets(Vec<&'a str>),
}

/// Names of one pair of braces, and the calls' number in which they are.
type Scope<'a> = BTreeMap<&'a str, Entity<'a>>;

struct Lowering<'m, 'a> {
    module: &'m Module<'a>,
    kernel: Kernel,
    scopes: Vec<Scope<'a>>,
    /// The pieces of each slot: offset, bytes, register.
    slots: Vec<Vec<(i128, u32, u32)>>,
    /// The branches of the function that is lowered now: the step, and the label.
    branches: Vec<(usize, Vec<&'a str>)>,
    /// The functions whose calls are open.
    calls: Vec<&'a str>,
    at: (u32, u32),
    /// The steps that return from the function.
    returns: Vec<usize>,
    /// Registers that have no name in the PTX: each belongs to one instruction.
    temporaries: BTreeSet<u32>,
}

/// Why an instruction cannot be lowered.
type Refused<T = ()> = Result<T, String>;

/// Returns the bits of a register of a type, and whether the type is signed.
fn bits_of(ty: &str) -> Option<u8> {
    if ty == "pred" { Some(1) } else { u8::try_from(bytes_of(ty)?.checked_mul(8)?).ok() }
}

/// An integer type.
#[derive(Clone, Copy)]
struct Type {
    bits: u8,
    is_signed: bool,
}

fn integer(word: &str) -> Option<Type> {
    let (first, bits) = word.split_at_checked(1)?;
    let bits = bits.parse().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
    matches!(first, "b" | "u" | "s").then_some(Type { bits, is_signed: first == "s" })
}

impl<'m, 'a> Lowering<'m, 'a> {
    fn kernel(module: &'m Module<'a>, function: &'m Function<'a>) -> Result<Kernel, SyntaxError> {
        let parameters = function.parameters.iter();
        let parameters =
            parameters.map(|it| Parameter { bytes: it.bytes.unwrap_or(0), align: it.align }).collect();
        let kernel = Kernel {
            name: function.name.to_owned(),
            parameters,
            objects: Vec::new(),
            registers: Vec::new(),
            steps: Vec::new(),
            files: Vec::new(),
            texts: Vec::new(),
        };
        let mut this = Self {
            module,
            kernel,
            scopes: vec![Scope::new()],
            slots: Vec::new(),
            branches: Vec::new(),
            calls: Vec::new(),
            at: (0, 0),
            returns: Vec::new(),
            temporaries: BTreeSet::new(),
        };
        if module.has_aliases {
            this.refuse("the PTX has an alias: a name may stand for another function");
        }
        for variable in &module.variables {
            this.declare(variable);
        }
        this.scopes.push(Scope::new());
        for (index, parameter) in function.parameters.iter().enumerate() {
            this.name(parameter.name, Entity::Parameter(index));
        }
        this.function(function);
        // A return of the kernel ends the thread.
        for step in std::mem::take(&mut this.returns) {
            this.kernel.steps[step].op = Op::Exit;
        }
        this.keep_what_matters();
        Ok(this.kernel)
    }

    fn name(&mut self, name: &'a str, entity: Entity<'a>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, entity);
        }
    }

    fn declare(&mut self, variable: &Variable<'a>) {
        let space = match variable.space {
            "global" => Space::Global,
            "const" => Space::Const,
            "shared" => Space::Shared,
            "local" => Space::Local,
            _ => return,
        };
        // All arrays whose size the launch states begin at the same address.
        let is_dynamic = space == Space::Shared && variable.is_extern;
        // An array of another file has no known size.
        let bytes =
            if is_dynamic { None } else { Some(variable.bytes.filter(|_| !variable.is_extern).unwrap_or(0)) };
        let name = variable.name.to_owned();
        let object = crate::slice::Object { name, space, bytes, align: variable.align };
        // A function that is called twice has one shared array.
        let objects = &mut self.kernel.objects;
        let known = objects.iter().position(|it| space == Space::Shared && *it == object);
        let index = known.unwrap_or(objects.len());
        if known.is_none() {
            objects.push(object);
        }
        self.name(variable.name, Entity::Object(u32::try_from(index).unwrap_or(u32::MAX)));
    }

    fn push(&mut self, mut step: Step) -> usize {
        step.at = self.at;
        self.kernel.steps.push(step);
        self.kernel.steps.len() - 1
    }

    fn refuse(&mut self, reason: &str) {
        let texts = &mut self.kernel.texts;
        let index = texts.iter().position(|it| it == reason).unwrap_or_else(|| {
            texts.push(reason.to_owned());
            texts.len() - 1
        });
        let from = vec![Operand::Number(index.try_into().unwrap_or(i64::MAX))];
        self.push(Step { from, ..Step::new(Op::Refuse) });
    }

    fn new_register(&mut self, bits: u8) -> u32 {
        self.kernel.registers.push(bits);
        u32::try_from(self.kernel.registers.len() - 1).unwrap_or(u32::MAX)
    }

    fn temporary(&mut self, bits: u8) -> u32 {
        let register = self.new_register(bits);
        self.temporaries.insert(register);
        register
    }

    fn find(&mut self, name: &'a str) -> Option<Entity<'a>> {
        let unnumbered = name.trim_end_matches(|sign: char| sign.is_ascii_digit());
        for depth in (0..self.scopes.len()).rev() {
            if let Some(found) = self.scopes[depth].get(name)
                && !matches!(found, Entity::Family(..))
            {
                return Some(found.clone());
            }
            // `%r12` of `%r<40>`; a family's name may end with a digit itself.
            for end in unnumbered.len()..name.len() {
                let Some(Entity::Family(bits, count)) = self.scopes[depth].get(&name[..end]).cloned() else {
                    continue;
                };
                let number = &name[end..];
                let is_plain = number == "0" || !number.starts_with('0');
                if is_plain && number.parse::<u32>().is_ok_and(|number| number < count) {
                    let register = self.new_register(bits);
                    self.scopes[depth].insert(name, Entity::Register(register));
                    return Some(Entity::Register(register));
                }
            }
        }
        None
    }

    /// Lowers a function's body. Its parameters are in the last scope.
    fn function(&mut self, function: &'m Function<'a>) {
        let outer =
            (std::mem::take(&mut self.branches), std::mem::take(&mut self.returns), self.scopes.len());
        self.calls.push(function.name);
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        for statement in &function.body {
            if self.kernel.steps.len() > MOST_STEPS {
                self.refuse("the kernel and the functions that it calls are too long to analyse");
                break;
            }
            match statement {
                Statement::Open => self.scopes.push(Scope::new()),
                Statement::Close => drop(self.scopes.pop()),
                Statement::Label(name) => {
                    if labels.insert(name, self.kernel.steps.len()).is_some() {
                        self.refuse("two labels have one name");
                    }
                }
                Statement::Registers(ty, name, count) => {
                    let bits = bits_of(ty).unwrap_or(1);
                    let entity = match count {
                        Some(count) => Entity::Family(bits, *count),
                        None => Entity::Register(self.new_register(bits)),
                    };
                    self.name(name, entity);
                }
                Statement::Variable(variable) if variable.space == "param" => {
                    self.slots.push(Vec::new());
                    self.name(variable.name, Entity::Slot(self.slots.len() - 1));
                }
                Statement::Variable(variable) => self.declare(variable),
                Statement::Location(file, line) => {
                    if *line != 0 {
                        self.at = (*file, *line);
                    }
                }
                Statement::Targets(name, targets) => self.name(name, Entity::Targets(targets.clone())),
                Statement::Instruction(instruction) => {
                    if self.at.0 == PTX || self.at == (0, 0) {
                        self.at = (PTX, instruction.line);
                    }
                    let before = self.kernel.steps.len();
                    if let Err(reason) = self.instruction(instruction) {
                        self.kernel.steps.truncate(before);
                        self.branches.retain(|(step, _)| *step < before);
                        self.returns.retain(|step| *step < before);
                        self.refuse(&reason);
                    }
                }
            }
        }
        // The end of a body returns.
        self.returns.push(self.kernel.steps.len());
        self.push(Step::new(Op::Bra));
        for (step, names) in std::mem::replace(&mut self.branches, outer.0) {
            let targets: Option<Vec<_>> = names.iter().map(|name| labels.get(name).copied()).collect();
            if let Some(targets) = targets {
                let targets =
                    targets.into_iter().map(|it| Operand::Number(it.try_into().unwrap_or(i64::MAX)));
                self.kernel.steps[step].from = targets.collect();
            } else {
                let at = self.at;
                self.refuse("a branch to a label that is not in the function");
                if let Some(mut step_of_text) = self.kernel.steps.pop() {
                    step_of_text.at = at;
                    self.kernel.steps[step] = step_of_text;
                }
            }
        }
        self.calls.pop();
        self.scopes.truncate(outer.2);
        let mut returns = std::mem::replace(&mut self.returns, outer.1);
        self.returns.append(&mut returns);
    }

    fn register(&mut self, name: &'a str) -> Refused<u32> {
        match self.find(name) {
            Some(Entity::Register(register)) => Ok(register),
            _ => Err(format!("{name} is not a register")),
        }
    }

    fn bits(&self, register: u32) -> u8 {
        self.kernel.registers.get(register as usize).copied().unwrap_or(1)
    }

    /// Lowers a value of a number of bits. The register may have more if `may_be_wider`.
    fn value(&mut self, source: &Source<'a>, bits: u8, may_be_wider: bool) -> Refused<Operand> {
        let name = match source {
            Source::Number(value) => return number(*value, bits),
            Source::Float(Some(value)) => return number(i128::from(*value), bits),
            Source::Offset(name, by) => {
                let base = self.value(&Source::Name(name), bits, false)?;
                let to = self.temporary(bits);
                let from = vec![base, number(*by, bits)?];
                self.push(Step { bits, to: vec![to], from, ..Step::new(Op::Add) });
                return Ok(Operand::Register(to));
            }
            Source::Name(name) => *name,
            _ => return Err("an operand of an unknown form".to_owned()),
        };
        if let Some(special) = special(name) {
            return match special {
                Some(special) => Ok(Operand::Special(special)),
                // A register that nothing writes: each use may see another value.
                None => Ok(Operand::Register(self.temporary(bits))),
            };
        }
        match self.find(name) {
            Some(Entity::Register(it)) if self.bits(it) == bits || may_be_wider && self.bits(it) > bits => {
                Ok(Operand::Register(it))
            }
            Some(Entity::Register(it)) => {
                Err(format!("{name} has {} bits where the instruction has {bits}", self.bits(it)))
            }
            Some(Entity::Object(object)) if bits >= 32 => Ok(Operand::Object(object)),
            Some(Entity::Parameter(index)) if bits == 64 => Ok(Operand::Object(self.parameter_object(index))),
            Some(_) => Err(format!("the address of {name} is taken")),
            None if name == "WARP_SZ" => Ok(Operand::Number(32)),
            None if self.module.functions.iter().any(|it| it.name == name) => {
                Err(format!("the address of the function {name} is taken"))
            }
            None => Err(format!("{name} is not declared in this PTX")),
        }
    }

    /// Returns the object that a parameter of the kernel is.
    fn parameter_object(&mut self, index: usize) -> u32 {
        let name = format!("parameter {index}");
        let known = self.kernel.objects.iter().position(|it| it.space == Space::Param && it.name == name);
        let at = known.unwrap_or_else(|| {
            let Parameter { bytes, align } = self.kernel.parameters[index];
            let object = crate::slice::Object { name, space: Space::Param, bytes: Some(bytes), align };
            self.kernel.objects.push(object);
            self.kernel.objects.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    fn predicate(&mut self, source: &Source<'a>) -> Refused<Operand> {
        match source {
            Source::Not(inner) => match self.predicate(inner)? {
                Operand::Register(it) => Ok(Operand::Negated(it)),
                Operand::Number(it) => Ok(Operand::Number(1 - it)),
                _ => Err("a predicate is negated twice".to_owned()),
            },
            Source::Number(value) => Ok(Operand::Number(i64::from(*value != 0))),
            Source::Name(name) => {
                let register = self.register(name)?;
                if self.bits(register) == 1 {
                    Ok(Operand::Register(register))
                } else {
                    Err(format!("{name} is no predicate"))
                }
            }
            _ => Err("a predicate of an unknown form".to_owned()),
        }
    }

    /// Returns the registers among the results of an instruction; `_` is none.
    fn results(&mut self, source: &Source<'a>) -> Refused<Vec<u32>> {
        match source {
            Source::Name("_") => Ok(Vec::new()),
            Source::Name(name) => Ok(vec![self.register(name)?]),
            Source::List(list) => {
                let lists: Refused<Vec<_>> = list.iter().map(|it| self.results(it)).collect();
                Ok(lists?.concat())
            }
            Source::Pair(first, second) => Ok([self.results(first)?, self.results(second)?].concat()),
            _ => Err("a result of an unknown form".to_owned()),
        }
    }

    fn result(&mut self, source: &Source<'a>) -> Refused<u32> {
        match self.results(source)?[..] {
            [register] => Ok(register),
            _ => Err("an instruction with another number of results".to_owned()),
        }
    }

    /// Says that nothing is known of the results but their width, and from which registers they come.
    fn unknown(&mut self, results: Vec<u32>, origin: Origin, sources: &[Source<'a>]) {
        for to in results {
            let bits = self.bits(to);
            let (low, high) =
                if bits >= 64 { (i64::MIN, i64::MAX) } else { (-1 << (bits - 1), (1 << (bits - 1)) - 1) };
            self.within(to, low, high, origin, sources);
        }
    }

    fn within(&mut self, to: u32, low: i64, high: i64, origin: Origin, sources: &[Source<'a>]) {
        let mut from = vec![Operand::Number(low), Operand::Number(high)];
        // Of a predicate nothing is known in any case.
        if self.bits(to) > 1 {
            sources.iter().for_each(|it| self.registers_of(it, &mut from));
        }
        self.push(Step { bits: self.bits(to), to: vec![to], from, origin, ..Step::new(Op::Unknown) });
    }

    /// Adds the registers of an operand that hold numbers.
    fn registers_of(&mut self, source: &Source<'a>, list: &mut Vec<Operand>) {
        match source {
            Source::Name(name) => {
                if let Some(Entity::Register(it)) = self.find(name)
                    && self.bits(it) > 1
                {
                    list.push(Operand::Register(it));
                }
            }
            Source::List(all) => all.iter().for_each(|it| self.registers_of(it, list)),
            Source::Pair(one, other) => {
                self.registers_of(one, list);
                self.registers_of(other, list);
            }
            _ => {}
        }
    }

    fn instruction(&mut self, it: &'m Instruction<'a>) -> Refused {
        let first = self.kernel.steps.len();
        self.unguarded(it)?;
        if let Some((name, is_negated)) = it.guard {
            let guard = Source::Name(name);
            let guard = if is_negated { Source::Not(Box::new(guard)) } else { guard };
            let guard = self.predicate(&guard)?;
            if it.words[0] == "call" {
                return Err("a call under a predicate".to_owned());
            }
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
        let name = it.words[0];
        let has = |word: &str| it.words.iter().any(|own| own.split("::").next() == Some(word));
        let last = it.words.last().copied().unwrap_or_default();
        let ty = integer(last);
        let operands = &it.operands[..];
        let unknown_form = || Err(format!("{} with operands of an unknown form", it.words.join(".")));
        match (name, operands) {
            ("ld" | "ldu" | "st" | "atom" | "red", _) => self.access(it),
            (
                "cp",
                [
                    Source::Address(to, to_offset),
                    Source::Address(from, from_offset),
                    Source::Number(size),
                    ..,
                ],
            ) if it.words.get(1) == Some(&"async") && !has("bulk") && !has("mbarrier") => {
                let size = u32::try_from(*size).map_err(|_| "a size below zero".to_owned())?;
                self.memory(Op::Store, Space::Shared, (to, *to_offset), size, Vec::new(), Loaded::Strong)?;
                self.memory(Op::Load, Space::Global, (from, *from_offset), size, Vec::new(), Loaded::Strong)
            }
            ("cp", _) if ["commit_group", "wait_group", "wait_all"].iter().any(|word| has(word)) => Ok(()),
            ("ldmatrix" | "stmatrix", [a, b, ..]) if has("shared") && has("b16") => {
                let (results, address) = if name == "ldmatrix" { (a, b) } else { (b, a) };
                let Source::Address(base, offset) = address else { return unknown_form() };
                let results = if name == "ldmatrix" { self.results(results)? } else { Vec::new() };
                let op = if name == "ldmatrix" { Op::Load } else { Op::Store };
                // Each address is that of a row of sixteen bytes.
                self.memory(op, Space::Shared, (base, *offset), 16, Vec::new(), Loaded::Strong)?;
                self.unknown(results, Origin::Memory, &[]);
                Ok(())
            }
            ("wmma", _) if has("load") || has("store") => self.matrix(it),
            ("bar" | "barrier", [result, ..]) if has("red") => {
                let results = self.results(result)?;
                self.unknown(results, Origin::Shuffle, &[]);
                Ok(())
            }
            (
                "bar" | "barrier" | "membar" | "fence" | "nanosleep" | "griddepcontrol" | "pmevent" | "brkpt",
                _,
            )
            | ("prefetch" | "prefetchu" | "setmaxnreg" | "sust" | "sured", _) => Ok(()),
            ("bra", [Source::Name(label)]) => {
                let step = self.push(Step::new(Op::Bra));
                self.branches.push((step, vec![label]));
                Ok(())
            }
            ("brx", [_, Source::Name(list)]) if has("idx") => match self.find(list) {
                Some(Entity::Targets(targets)) => {
                    let step = self.push(Step::new(Op::Bra));
                    self.branches.push((step, targets));
                    Ok(())
                }
                _ => unknown_form(),
            },
            ("ret", []) => {
                let step = self.push(Step::new(Op::Bra));
                self.returns.push(step);
                Ok(())
            }
            ("exit" | "trap", []) => {
                self.push(Step::new(Op::Exit));
                Ok(())
            }
            ("call", _) => self.call(it),
            ("setp", [results, a, b, rest @ ..]) => self.setp(it, results, a, b, rest),
            ("mov" | "and" | "or" | "xor" | "not", [to, from @ ..]) if last == "pred" => {
                let (to, mut from) = (self.result(to)?, self.predicates(from)?);
                let op = match name {
                    "and" => Op::PredAnd,
                    "or" => Op::PredOr,
                    "xor" => Op::PredXor,
                    _ => Op::PredMov,
                };
                if let ("not", [one]) = (name, &mut from[..]) {
                    *one = negated(*one);
                }
                self.push(Step { bits: 1, to: vec![to], from, ..Step::new(op) });
                Ok(())
            }
            ("mov", [Source::List(parts), from]) => {
                let from_all = std::slice::from_ref(from);
                let results = self.results(&operands[0])?;
                let whole = results.iter().map(|it| self.bits(*it)).sum();
                let all_given = results.len() == parts.len() && (bits_of(last) == Some(whole));
                let Some(from) =
                    Some(from).filter(|it| all_given && whole <= 64 && !matches!(it, Source::List(_)))
                else {
                    self.unknown(results, Origin::Computed, from_all);
                    return Ok(());
                };
                let (from, mut shift) = (self.value(from, whole, false)?, 0);
                for to in results {
                    let part = self.temporary(whole);
                    let shifted = vec![from, Operand::Number(shift)];
                    self.push(Step { bits: whole, to: vec![part], from: shifted, ..Step::new(Op::Shr) });
                    let (bits, from) = (self.bits(to), vec![Operand::Register(part)]);
                    self.push(Step {
                        bits,
                        to: vec![to],
                        from,
                        size: u32::from(whole),
                        ..Step::new(Op::Cvt)
                    });
                    shift += i64::from(bits);
                }
                Ok(())
            }
            ("mov", [to, Source::List(parts)]) => {
                let to = self.results(to)?;
                self.unknown(to, Origin::Computed, parts);
                Ok(())
            }
            ("mov", [to, from]) => {
                let to = self.result(to)?;
                let bits = bits_of(last).filter(|bits| *bits == self.bits(to));
                let bits = bits.ok_or_else(|| "mov between different widths".to_owned())?;
                if bits > 64 {
                    self.unknown(vec![to], Origin::Computed, std::slice::from_ref(from));
                    return Ok(());
                }
                let from = vec![self.value(from, bits, false)?];
                self.push(Step { bits, to: vec![to], from, ..Step::new(Op::Mov) });
                Ok(())
            }
            ("cvta", [to, from]) => {
                let space = space_of(&it.words)?;
                let (to, from) = (self.result(to)?, self.value(from, 64, false)?);
                let op = if has("to") { Op::FromGeneric } else { Op::ToGeneric };
                if self.bits(to) != 64 {
                    return Err("cvta of 32 bits".to_owned());
                }
                self.push(Step { bits: 64, to: vec![to], from: vec![from], space, ..Step::new(op) });
                Ok(())
            }
            ("cvt", [to, from, ..]) => self.cvt(it, to, from),
            ("selp", [to, a, b, p]) => {
                let (to, bits) = (self.result(to)?, bits_of(last).unwrap_or(0));
                if bits > 64 || self.bits(to) != bits {
                    return unknown_form();
                }
                let from = vec![self.value(a, bits, false)?, self.value(b, bits, false)?, self.predicate(p)?];
                self.push(Step { bits, to: vec![to], from, ..Step::new(Op::Selp) });
                Ok(())
            }
            ("bfe", [to, a, Source::Number(start), Source::Number(length)])
                if ty.is_some_and(|ty| !ty.is_signed)
                    && (0..32).contains(start)
                    && (1..32).contains(length) =>
            {
                let (to, bits) = (self.result(to)?, ty.map_or(32, |ty| ty.bits));
                let (part, from) = (self.temporary(bits), self.value(a, bits, false)?);
                let from = vec![from, number(*start, bits)?];
                self.push(Step { bits, to: vec![part], from, ..Step::new(Op::Shr) });
                let from = vec![Operand::Register(part), number((1 << length) - 1, bits)?];
                self.push(Step { bits, to: vec![to], from, ..Step::new(Op::And) });
                Ok(())
            }
            ("popc" | "clz", [to, from]) => {
                let to = self.result(to)?;
                self.within(to, 0, 64, Origin::Computed, std::slice::from_ref(from));
                Ok(())
            }
            ("vote" | "match" | "activemask" | "shfl" | "redux" | "elect", [to, ..]) => {
                let to = self.results(to)?;
                self.unknown(to, Origin::Shuffle, &[]);
                Ok(())
            }
            ("tex" | "tld4" | "txq" | "suld" | "suq", [to, ..]) => {
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
            _ => self.arithmetic(it, ty),
        }
    }

    /// Lowers an instruction that computes its first operand from the others.
    fn arithmetic(&mut self, it: &'m Instruction<'a>, ty: Option<Type>) -> Refused {
        let (name, operands) = (it.words[0], &it.operands[..]);
        let Some((to, from)) =
            operands.split_first().filter(|_| COMPUTES.split(' ').any(|known| known == name))
        else {
            return Err(format!("the instruction {}", it.words.join(".")));
        };
        if operands.iter().any(|it| matches!(it, Source::Address(..))) {
            return Err(format!("the instruction {} with an address", it.words.join(".")));
        }
        let op = match name {
            "add" => Some(Op::Add),
            "sub" => Some(Op::Sub),
            "mul" | "mad" if it.words.contains(&"lo") => Some(Op::Mul),
            "mul" | "mad" if it.words.contains(&"wide") => Some(Op::MulWide),
            "mul" if it.words.contains(&"hi") => Some(Op::MulHi),
            "mul24" | "mad24" if it.words.contains(&"lo") => Some(Op::Mul24),
            "neg" => Some(Op::Neg),
            "not" => Some(Op::Not),
            "abs" => Some(Op::Abs),
            "min" => Some(Op::Min),
            "max" => Some(Op::Max),
            "and" => Some(Op::And),
            "or" => Some(Op::Or),
            "xor" => Some(Op::Xor),
            "shl" => Some(Op::Shl),
            "shr" => Some(Op::Shr),
            "div" => Some(Op::Div),
            "rem" => Some(Op::Rem),
            _ => None,
        };
        // Words such as `sat` change the result.
        let is_plain = it.words[1..]
            .iter()
            .all(|word| integer(word).is_some() || ["lo", "hi", "wide", "cc"].contains(word));
        let is_sum = ["mad", "mad24"].contains(&name);
        let (Some(op), Some(ty), true) = (op, ty, is_plain) else {
            let results = self.results(to)?;
            let is_float = it.words.iter().any(|word| word.contains('f') && bytes_of(word).is_some());
            self.unknown(results, if is_float { Origin::Float } else { Origin::Computed }, from);
            return Ok(());
        };
        let Type { bits, is_signed } = ty;
        let to = self.result(to)?;
        let wide = if op == Op::MulWide { bits.saturating_mul(2) } else { bits };
        if self.bits(to) != wide {
            return Err(format!("{} into a register of {} bits", it.words.join("."), self.bits(to)));
        }
        let mut values = Vec::new();
        for (at, value) in from.iter().enumerate() {
            // The amount of a shift has 32 bits.
            let own = if matches!(op, Op::Shl | Op::Shr) && at == 1 {
                32
            } else if at == 2 {
                wide
            } else {
                bits
            };
            values.push(self.value(value, own, false)?);
        }
        let arity = if matches!(op, Op::Neg | Op::Not | Op::Abs) { 1 } else { 2 };
        let added = values.split_off(arity.min(values.len()));
        if values.len() != arity || added.len() != usize::from(is_sum) {
            return Err(format!("{} with other operands", it.words.join(".")));
        }
        let Some(added) = added.first() else {
            self.push(Step { bits, is_signed, to: vec![to], from: values, ..Step::new(op) });
            return Ok(());
        };
        let product = self.temporary(wide);
        self.push(Step { bits, is_signed, to: vec![product], from: values, ..Step::new(op) });
        let from = vec![Operand::Register(product), *added];
        self.push(Step { bits: wide, to: vec![to], from, ..Step::new(Op::Add) });
        Ok(())
    }

    fn predicates(&mut self, list: &[Source<'a>]) -> Refused<Vec<Operand>> {
        list.iter().map(|it| self.predicate(it)).collect()
    }

    fn setp(
        &mut self,
        it: &'m Instruction<'a>,
        results: &Source<'a>,
        a: &Source<'a>,
        b: &Source<'a>,
        rest: &[Source<'a>],
    ) -> Refused {
        let ty = it.words.last().and_then(|word| integer(word));
        let (op, is_unsigned) = match it.words.get(1).copied().unwrap_or_default() {
            "eq" => (Some(Op::Eq), false),
            "ne" => (Some(Op::Ne), false),
            "lt" => (Some(Op::Lt), false),
            "le" => (Some(Op::Le), false),
            "gt" => (Some(Op::Gt), false),
            "ge" => (Some(Op::Ge), false),
            "lo" => (Some(Op::Lt), true),
            "ls" => (Some(Op::Le), true),
            "hi" => (Some(Op::Gt), true),
            "hs" => (Some(Op::Ge), true),
            _ => (None, false),
        };
        let (Some(op), Some(Type { bits, is_signed })) = (op, ty) else {
            let results = self.results(results)?;
            self.unknown(results, Origin::Float, &[a.clone(), b.clone()]);
            return Ok(());
        };
        let test = self.temporary(1);
        let from = vec![self.value(a, bits, false)?, self.value(b, bits, false)?];
        let is_signed = is_signed && !is_unsigned;
        self.push(Step { bits, is_signed, to: vec![test], from, ..Step::new(op) });
        let (first, second) = match results {
            Source::Pair(first, second) => (self.results(first)?, self.results(second)?),
            one => (self.results(one)?, Vec::new()),
        };
        let (combine, more) = match (it.words.get(2), rest) {
            (Some(&"and"), [one]) => (Op::PredAnd, Some(self.predicate(one)?)),
            (Some(&"or"), [one]) => (Op::PredOr, Some(self.predicate(one)?)),
            (Some(&"xor"), [one]) => (Op::PredXor, Some(self.predicate(one)?)),
            (_, []) => (Op::PredMov, None),
            _ => return Err("setp of an unknown form".to_owned()),
        };
        // A result may be the predicate that is combined: both are computed before either is written.
        let mut moves = Vec::new();
        for (results, test) in [(first, Operand::Register(test)), (second, Operand::Negated(test))] {
            for to in results {
                let between = self.temporary(1);
                let from = std::iter::once(test).chain(more).collect();
                self.push(Step { bits: 1, to: vec![between], from, ..Step::new(combine) });
                moves.push((to, Operand::Register(between)));
            }
        }
        for (to, from) in moves {
            self.push(Step { bits: 1, to: vec![to], from: vec![from], ..Step::new(Op::PredMov) });
        }
        Ok(())
    }

    fn cvt(&mut self, it: &'m Instruction<'a>, to: &Source<'a>, from: &Source<'a>) -> Refused {
        let types: Vec<&str> =
            it.words[1..].iter().copied().filter(|word| bytes_of(word).is_some()).collect();
        let results = self.results(to)?;
        let sources = std::slice::from_ref(from);
        let ([into, source], [to]) = (&types[..], &results[..]) else {
            self.unknown(results, Origin::Float, &it.operands[1..]);
            return Ok(());
        };
        match (integer(into), integer(source)) {
            (Some(into), Some(source)) if !it.words.contains(&"sat") => {
                let from = vec![self.value(from, source.bits, true)?];
                let step = Step {
                    bits: into.bits,
                    is_signed: into.is_signed,
                    to: vec![*to],
                    from,
                    ..Step::new(Op::Cvt)
                };
                self.push(Step { size: u32::from(source.bits), flag: source.is_signed, ..step });
            }
            // A conversion to an integer saturates.
            (Some(Type { bits: bits @ (8 | 16), is_signed }), None) => {
                let (low, high) =
                    if is_signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                self.within(*to, low, high, Origin::Float, sources);
            }
            (_, None) => self.unknown(results, Origin::Float, sources),
            _ => self.unknown(results, Origin::Computed, sources),
        }
        Ok(())
    }

    /// Adds an access. `results` are the registers that a load writes, each with a part of the bytes.
    fn memory(
        &mut self,
        op: Op,
        space: Space,
        (base, offset): (&Source<'a>, i128),
        size: u32,
        to: Vec<u32>,
        loaded: Loaded,
    ) -> Refused {
        if !(1..=1024).contains(&size) {
            return Err(format!("an access to {size} bytes"));
        }
        let bits = if let Source::Name(name) = base
            && let Some(Entity::Register(register)) = self.find(name)
        {
            self.bits(register)
        } else {
            64
        };
        let from = vec![self.value(base, bits, false)?, number(offset, 64)?];
        self.push(Step { to, from, size, space, loaded, bits, ..Step::new(op) });
        Ok(())
    }

    /// Lowers loads, stores and atomic operations.
    fn access(&mut self, it: &'m Instruction<'a>) -> Refused {
        let name = it.words[0];
        let form = || format!("the instruction {}", it.words.join("."));
        let has = |word: &str| it.words.iter().any(|own| own.split("::").next() == Some(word));
        // The words of vectors, orders and caches; a level of a cache is a hint.
        let is_known = |word: &&str| {
            ACCESSES.split(' ').any(|known| Some(known) == word.split("::").next())
                || bytes_of(word).is_some()
        };
        if !it.words[1..].iter().all(is_known) {
            return Err(form());
        }
        let lanes = it.words.iter().find_map(|word| word.strip_prefix('v')?.parse::<u32>().ok()).unwrap_or(1);
        let element = it.words.iter().rev().find_map(|word| bytes_of(word)).ok_or_else(form)?;
        let ty = it.words.iter().rev().find(|word| bytes_of(word).is_some()).and_then(|word| integer(word));
        let size = element.checked_mul(lanes).ok_or_else(form)?;
        let (op, address_at) = match name {
            "ld" | "ldu" => (Op::Load, 1),
            "st" => (Op::Store, 0),
            "atom" => (Op::Atomic, 1),
            _ => (Op::Atomic, 0),
        };
        let Some(Source::Address(base, offset)) = it.operands.get(address_at) else { return Err(form()) };
        let results = if address_at == 1 { self.results(&it.operands[0])? } else { Vec::new() };
        if has("param") && self.parameter(it, base, *offset, element, ty)? {
            return Ok(());
        }
        let space = if has("param") { Space::Param } else { space_of(&it.words).unwrap_or(Space::Generic) };
        let loaded = if has("nc") || name == "ldu" {
            Loaded::ReadOnly
        } else if name == "atom" || ["volatile", "relaxed", "acquire", "mmio"].iter().any(|word| has(word)) {
            Loaded::Strong
        } else {
            Loaded::Weak
        };
        let bits = u8::try_from(element * 8).map_err(|_| form())?;
        let fits = results.iter().all(|it| self.bits(*it) >= bits && self.bits(*it) > 1);
        if !fits {
            return Err(form());
        }
        self.memory(op, space, (base, *offset), size, results, loaded)?;
        if let Some(step) = self.kernel.steps.last_mut() {
            // Those of an element. The address has those of its register.
            (step.bits, step.is_signed) = (bits, ty.is_some_and(|ty| ty.is_signed));
        }
        Ok(())
    }

    /// Lowers an access to a parameter by its name. Returns whether it is one.
    fn parameter(
        &mut self,
        it: &'m Instruction<'a>,
        base: &Source<'a>,
        offset: i128,
        element: u32,
        ty: Option<Type>,
    ) -> Refused<bool> {
        let Source::Name(name) = base else { return Ok(false) };
        let entity = self.find(name);
        let list = |source: &Source<'a>| match source {
            Source::List(list) => list.clone(),
            one => vec![one.clone()],
        };
        match entity {
            Some(Entity::Parameter(index)) if it.words[0] == "ld" => {
                let mut at = offset;
                for register in list(&it.operands[0]) {
                    for to in self.results(&register)? {
                        let end = u64::try_from(at + i128::from(element)).ok();
                        if at < 0 || end.is_none_or(|end| end > self.kernel.parameters[index].bytes) {
                            return Err("a parameter is read past its end".to_owned());
                        }
                        let ty = match ty {
                            Some(ty) => ty,
                            // The bits of a floating-point number are known as well.
                            None if matches!(element, 2 | 4 | 8) => {
                                Type { bits: u8::try_from(element * 8).unwrap_or(64), is_signed: false }
                            }
                            None => return Err("a parameter of an unknown type".to_owned()),
                        };
                        let index = i64::try_from(index).unwrap_or(i64::MAX);
                        let from = vec![Operand::Number(index), number(at, 64)?];
                        let step = Step {
                            bits: ty.bits,
                            is_signed: ty.is_signed,
                            size: element,
                            ..Step::new(Op::Parameter)
                        };
                        self.push(Step { to: vec![to], from, ..step });
                    }
                    at += i128::from(element);
                }
                Ok(true)
            }
            Some(Entity::Slot(slot)) => {
                let is_store = it.words[0] == "st";
                let values =
                    list(it.operands.get(usize::from(is_store)).ok_or("a parameter without a value")?);
                let mut at = offset;
                for value in values {
                    let piece = self.piece(slot, at, element)?;
                    let bits = self.bits(piece);
                    at += i128::from(element);
                    if is_store {
                        // A float constant, for example: its bits may be of another width.
                        let from =
                            if bits > 64 { Err(String::new()) } else { self.value(&value, bits, true) };
                        match from {
                            Ok(from) => drop(self.push(Step {
                                bits,
                                to: vec![piece],
                                from: vec![from],
                                size: u32::from(bits),
                                ..Step::new(Op::Cvt)
                            })),
                            Err(_) => {
                                self.unknown(vec![piece], Origin::Computed, std::slice::from_ref(&value))
                            }
                        }
                    } else {
                        for to in self.results(&value)? {
                            let from = vec![Operand::Register(piece)];
                            let is_signed = ty.is_some_and(|ty| ty.is_signed);
                            if bits > 64 || self.bits(to) < bits {
                                self.unknown(vec![to], Origin::Computed, &[]);
                                if let Some(step) = self.kernel.steps.last_mut() {
                                    step.from.push(Operand::Register(piece));
                                }
                                continue;
                            }
                            let step = Step {
                                bits: self.bits(to),
                                size: u32::from(bits),
                                flag: is_signed,
                                ..Step::new(Op::Cvt)
                            };
                            self.push(Step { to: vec![to], from, ..step });
                        }
                    }
                }
                Ok(true)
            }
            Some(Entity::Register(_)) => Ok(false),
            _ => Err(format!("{name} is no parameter that is known here")),
        }
    }

    /// Returns the register that holds a piece of a function's parameter.
    fn piece(&mut self, slot: usize, offset: i128, bytes: u32) -> Refused<u32> {
        let end = |offset: i128, bytes: u32| offset + i128::from(bytes);
        for (own, size, register) in &self.slots[slot] {
            if (*own, *size) == (offset, bytes) {
                return Ok(*register);
            }
            if *own < end(offset, bytes) && offset < end(*own, *size) {
                return Err("a function's parameter is read and written in different pieces".to_owned());
            }
        }
        let bits = u8::try_from(bytes.saturating_mul(8)).map_err(|_| "a long parameter".to_owned())?;
        let register = self.new_register(bits);
        self.slots[slot].push((offset, bytes, register));
        Ok(register)
    }

    fn call(&mut self, it: &'m Instruction<'a>) -> Refused {
        let mut operands = it.operands.iter().peekable();
        let results = operands.next_if(|it| matches!(it, Source::List(_)));
        let Some(Source::Name(name)) = operands.next() else {
            return Err("a call of an unknown form".to_owned());
        };
        let arguments = operands.next_if(|it| matches!(it, Source::List(_)));
        let slots = |this: &mut Self, list: Option<&Source<'a>>| -> Refused<Vec<usize>> {
            let Some(Source::List(list)) = list else { return Ok(Vec::new()) };
            let slot = |it: &Source<'a>| match it {
                Source::Name(name) => match this.find(name) {
                    Some(Entity::Slot(slot)) => Ok(slot),
                    _ => Err("an argument that is no parameter".to_owned()),
                },
                _ => Err("an argument that is no parameter".to_owned()),
            };
            list.iter().map(slot).collect()
        };
        let (results, arguments) = (slots(self, results)?, slots(self, arguments)?);
        let module = self.module;
        let Some(function) = module.functions.iter().find(|it| it.name == *name && !it.is_entry) else {
            if *name == "__assertfail" && arguments.len() == 5 {
                // It prints three strings and ends the kernel.
                for slot in &arguments[..3] {
                    let from = vec![Operand::Register(self.piece(*slot, 0, 8)?), Operand::Number(0)];
                    self.push(Step { from, size: 1, ..Step::new(Op::Load) });
                }
                self.push(Step::new(Op::Exit));
                return Ok(());
            }
            return Err(match *name {
                "vprintf" => "printf, which may read any memory".to_owned(),
                "malloc" | "free" => format!("{name}: the device's heap"),
                _ if name.starts_with('%') => "a call through a pointer".to_owned(),
                _ => format!("a call of {name}, which is not in this PTX"),
            });
        };
        if function.is_weak {
            return Err(format!("{name} may have another body in another file"));
        }
        if self.calls.contains(name) || self.calls.len() > MOST_CALLS {
            return Err(format!("{name} calls itself, or calls are nested too deep"));
        }
        if function.results.len() != results.len() || function.parameters.len() != arguments.len() {
            return Err(format!("a call of {name} with other parameters"));
        }
        // The function sees the variables of the module and its own names.
        let mut hidden = self.scopes.split_off(1);
        let mut scope = Scope::new();
        let all = function.results.iter().zip(results).chain(function.parameters.iter().zip(arguments));
        scope.extend(all.map(|(variable, slot)| (variable.name, Entity::Slot(slot))));
        self.scopes.push(scope);
        let (at, outer) = (self.at, std::mem::take(&mut self.returns));
        self.function(function);
        let end = self.kernel.steps.len();
        for step in std::mem::replace(&mut self.returns, outer) {
            self.kernel.steps[step].from = vec![Operand::Number(end.try_into().unwrap_or(i64::MAX))];
        }
        self.at = at;
        self.scopes.truncate(1);
        self.scopes.append(&mut hidden);
        Ok(())
    }

    /// Lowers `wmma.load` and `wmma.store`: rows of a matrix at a stride.
    fn matrix(&mut self, it: &'m Instruction<'a>) -> Refused {
        let form = || format!("the instruction {}", it.words.join("."));
        let is_store = it.words.get(1) == Some(&"store");
        let shape =
            it.words.iter().find(|word| word.starts_with('m') && word.contains('n') && word.contains('k'));
        let sizes: Vec<u32> =
            shape.map_or("", |it| it).split(['m', 'n', 'k']).filter_map(|it| it.parse().ok()).collect();
        let (&[m, n, k], Some(which), Some(ty)) = (&sizes[..], it.words.get(2), it.words.last()) else {
            return Err(form());
        };
        let (mut rows, mut columns) = match *which {
            "a" => (m, k),
            "b" => (k, n),
            "c" | "d" => (m, n),
            _ => return Err(form()),
        };
        if it.words.contains(&"col") {
            std::mem::swap(&mut rows, &mut columns);
        } else if !it.words.contains(&"row") {
            return Err(form());
        }
        let element = bytes_of(ty).ok_or_else(form)?;
        let (Some(Source::Address(base, offset)), Some(stride), 3) =
            (it.operands.get(usize::from(!is_store)), it.operands.get(2), it.operands.len())
        else {
            return Err(form());
        };
        let row = columns.checked_mul(element).ok_or_else(form)?;
        self.memory(
            if is_store { Op::Store } else { Op::Load },
            space_of(&it.words).unwrap_or(Space::Generic),
            (base, *offset),
            row,
            Vec::new(),
            Loaded::Strong,
        )?;
        let stride = self.value(stride, 32, false)?;
        if let Some(mut step) = self.kernel.steps.pop() {
            step.bits = u8::try_from(element * 8).unwrap_or(64);
            step.from.insert(1, stride);
            step.from.push(Operand::Number(i64::from(rows)));
            step.from.push(Operand::Number(i64::from(element)));
            (step.op, step.flag) = (Op::Matrix, is_store);
            self.kernel.steps.push(step);
        }
        if !is_store {
            let results = self.results(&it.operands[0])?;
            self.unknown(results, Origin::Memory, &[]);
        }
        Ok(())
    }

    /// Leaves out the steps whose results nothing uses that matters.
    fn keep_what_matters(&mut self) {
        let steps = &mut self.kernel.steps;
        let acts = |step: &Step| {
            matches!(
                step.op,
                Op::Load | Op::Store | Op::Atomic | Op::Matrix | Op::Bra | Op::Exit | Op::Refuse
            )
        };
        let mut needed = vec![false; self.kernel.registers.len()];
        loop {
            let mut changed = false;
            for step in &*steps {
                if !acts(step) && !step.to.iter().any(|it| needed[*it as usize]) {
                    continue;
                }
                for operand in step.from.iter().chain(&step.guard) {
                    if let Operand::Register(it) | Operand::Negated(it) = operand {
                        changed |= !std::mem::replace(&mut needed[*it as usize], true);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        // Steps, registers and files get new numbers.
        let keeps: Vec<bool> =
            steps.iter().map(|it| acts(it) || it.to.iter().any(|it| needed[*it as usize])).collect();
        let mut places = Vec::with_capacity(keeps.len() + 1);
        let mut next = 0_i64;
        for keep in &keeps {
            places.push(next);
            next += i64::from(*keep);
        }
        places.push(next);
        let mut keep = keeps.iter();
        steps.retain(|_| keep.next().copied().unwrap_or(true));
        let (mut registers, mut objects) = (BTreeMap::new(), BTreeMap::new());
        fn renumber(map: &mut BTreeMap<u32, u32>, it: &mut u32) {
            let next = u32::try_from(map.len()).unwrap_or(u32::MAX);
            *it = *map.entry(*it).or_insert(next);
        }
        let mut files: Vec<u32> = Vec::new();
        for step in &mut *steps {
            if step.op == Op::Bra {
                for target in &mut step.from {
                    if let Operand::Number(it) = target {
                        let place = usize::try_from(*it).ok().and_then(|it| places.get(it));
                        *it = place.copied().unwrap_or(next);
                    }
                }
            }
            for operand in step.from.iter_mut().chain(&mut step.guard) {
                match operand {
                    Operand::Register(it) | Operand::Negated(it) => renumber(&mut registers, it),
                    Operand::Object(it) => renumber(&mut objects, it),
                    _ => {}
                }
            }
            step.to.iter_mut().for_each(|it| renumber(&mut registers, it));
            let file = step.at.0;
            let index = files.iter().position(|it| *it == file).unwrap_or_else(|| {
                files.push(file);
                files.len() - 1
            });
            step.at.0 = u32::try_from(index).unwrap_or(0);
        }
        let mut kept = vec![1; registers.len()];
        registers.iter().for_each(|(old, new)| kept[*new as usize] = self.kernel.registers[*old as usize]);
        self.kernel.registers = kept;
        let old = std::mem::take(&mut self.kernel.objects);
        let mut by_new: Vec<(u32, u32)> = objects.into_iter().map(|(old, new)| (new, old)).collect();
        by_new.sort_unstable();
        self.kernel.objects = by_new.iter().map(|(_, it)| old[*it as usize].clone()).collect();
        let file = |number: &u32| {
            let name = self.module.files.get(number).copied();
            name.unwrap_or(if *number == PTX { "PTX" } else { "?" }).to_owned()
        };
        self.kernel.files = files.iter().map(file).collect();
    }
}

/// Instructions that compute their first operand from the others, and do nothing else.
const COMPUTES: &str = "\
    abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos div dp2a dp4a ex2 fma fns isspacep \
    lg2 lop3 mad mad24 madc max min mma mov movmatrix mul mul24 neg not or popc prmt rcp rem rsqrt sad \
    selp set shf shl shr sin slct sqrt sub subc szext tanh testp vabsdiff vadd vmad vmax vmin vset \
    vshl vshr vsub vabsdiff4 vadd4 vavrg4 vmax4 vmin4 vset4 vsub4 vabsdiff2 vadd2 vavrg2 vmax2 vmin2 \
    vset2 vsub2 wmma xor";

/// The words of loads, stores and atomic operations that say nothing about which bytes they access.
const ACCESSES: &str = "\
    global shared local const param volatile relaxed acquire release acq_rel weak mmio sys gpu cta \
    cluster nc ca cg cs cv lu wb wt L1 L2 v2 v4 v8 and or xor add inc dec min max exch cas noftz";

fn negated(predicate: Operand) -> Operand {
    match predicate {
        Operand::Register(it) => Operand::Negated(it),
        Operand::Negated(it) => Operand::Register(it),
        Operand::Number(it) => Operand::Number(1 - it),
        other => other,
    }
}

/// Makes a constant of a number of bits, as a signed number.
fn number(value: i128, bits: u8) -> Refused<Operand> {
    let range = 1_i128 << bits.min(64);
    let value = value.rem_euclid(range);
    let value = if value >= range / 2 { value - range } else { value };
    i64::try_from(value).map(Operand::Number).map_err(|_| "a number that is too large".to_owned())
}

fn space_of(words: &[&str]) -> Refused<Space> {
    let space = |word: &str| match word.split("::").next()? {
        "global" => Some(Space::Global),
        "shared" => Some(Space::Shared),
        "local" => Some(Space::Local),
        "const" => Some(Space::Const),
        "param" => Some(Space::Param),
        _ => None,
    };
    words.iter().find_map(|word| space(word)).ok_or_else(|| format!("the instruction {}", words.join(".")))
}

/// Returns the special register of a name, `Some(None)` if its value is not known, or nothing if it is none.
fn special(name: &str) -> Option<Option<Special>> {
    let (whole, axis) = name.split_once('.').unwrap_or((name, ""));
    let at = ["x", "y", "z"].iter().position(|it| *it == axis).and_then(|it| u8::try_from(it).ok());
    Some(match (whole, at) {
        ("%tid", Some(at)) => Some(Special::Tid(at)),
        ("%ntid", Some(at)) => Some(Special::Ntid(at)),
        ("%ctaid", Some(at)) => Some(Special::Ctaid(at)),
        ("%nctaid", Some(at)) => Some(Special::Nctaid(at)),
        ("%cluster_ctaid", Some(at)) => Some(Special::ClusterCtaid(at)),
        ("%cluster_nctaid", Some(at)) => Some(Special::ClusterNctaid(at)),
        ("%laneid", None) => Some(Special::Laneid),
        ("%dynamic_smem_size", None) => Some(Special::DynamicSmem),
        ("%warpid" | "%nwarpid" | "%smid" | "%nsmid" | "%gridid" | "%clusterid" | "%nclusterid", _)
        | ("%cluster_ctarank" | "%cluster_nctarank" | "%is_explicit_cluster" | "%clock" | "%clock_hi", _)
        | ("%clock64" | "%globaltimer" | "%globaltimer_lo" | "%globaltimer_hi" | "%total_smem_size", _)
        | ("%lanemask_eq" | "%lanemask_le" | "%lanemask_lt" | "%lanemask_ge" | "%lanemask_gt", _)
        | ("%aggr_smem_size" | "%reserved_smem_offset_begin" | "%reserved_smem_offset_end", _)
        | ("%reserved_smem_offset_cap" | "%current_graph_exec", _) => None,
        _ if whole.starts_with("%envreg") || whole.starts_with("%pm") => None,
        _ => return None,
    })
}
