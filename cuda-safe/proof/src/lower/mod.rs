//! Makes a kernel's slice from PTX: names become numbers, called functions are put in place of their calls,
//! and what feeds neither addresses nor guards is left out.
//!
//! An instruction that is not listed here becomes [`Op::Refuse`]: the launch is refused if the analysis
//! reaches it. So does a listed instruction with a modifier that is not listed, if it accesses memory.

mod instruction;
mod memory;
mod needed;

use std::collections::{BTreeMap, BTreeSet};

use crate::ptx::{Function, Instruction, Module, Operand as Source, Statement, Variable, bytes_of, parse};
use crate::slice::{Graph, Kernel, Op, Operand, Origin, Parameter, Space, Special, Step};

pub use crate::ptx::SyntaxError;
#[cfg(test)]
pub(crate) use instruction::COMPUTES;

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
    kernels_in(&parse(text)?)
}

/// Does what [`kernels`] does, and returns the number of the architecture that the text is for, too: 90 for
/// `sm_90` and for `sm_90a`.
///
/// # Errors
/// As [`kernels`].
pub fn kernels_with_architecture(text: &str) -> Result<(Vec<Kernel>, i32), SyntaxError> {
    let missing = SyntaxError { line: 0, message: "no `.target`".to_owned() };
    let module = parse(text)?;
    Ok((kernels_in(&module)?, module.architecture.ok_or(missing)?))
}

fn kernels_in(module: &Module<'_>) -> Result<Vec<Kernel>, SyntaxError> {
    module.functions.iter().filter(|it| it.is_entry).map(|it| Lowering::kernel(module, it)).collect()
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
    /// A parameter of the function itself: the caller's value.
    Input(usize),
    Targets(Vec<&'a str>),
}

/// Names of one pair of braces, and the calls' number in which they are.
type Scope<'a> = BTreeMap<&'a str, Entity<'a>>;

struct Lowering<'m, 'a> {
    module: &'m Module<'a>,
    kernel: Kernel,
    scopes: Vec<Scope<'a>>,
    /// The shared arrays that are declared, with their numbers.
    shared: Vec<(&'m Variable<'a>, u32)>,
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
    /// By function: the names that it uses otherwise than in computations of floating-point numbers.
    no_floats: BTreeMap<&'m str, BTreeSet<&'a str>>,
    /// The handles of textures and surfaces: the step that refuses each, its register, and whether it is a
    /// surface's.
    handles: Vec<(usize, u32, bool)>,
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
            handles: Vec::new(),
            graph: Graph::default(),
        };
        let mut this = Self {
            module,
            kernel,
            scopes: vec![Scope::new()],
            shared: Vec::new(),
            slots: Vec::new(),
            branches: Vec::new(),
            calls: Vec::new(),
            at: (0, 0),
            returns: Vec::new(),
            temporaries: BTreeSet::new(),
            no_floats: BTreeMap::new(),
            handles: Vec::new(),
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
        this.find_handles();
        this.keep_what_matters();
        Ok(this.kernel)
    }

    /// Refuses a texture or surface, until its handle turns out to be a parameter's.
    fn handle(&mut self, source: &Source<'a>, is_surface: bool) {
        let name = match source {
            Source::Address(base, 0) => Some(&**base),
            Source::List(parts) => match &parts[..] {
                [name, Source::List(_)] => Some(name),
                _ => None,
            },
            _ => None,
        };
        let found = match name {
            Some(Source::Name(name)) => self.find(name),
            _ => None,
        };
        self.refuse("the handle of a texture or surface is no parameter of the kernel");
        if let Some(Entity::Register(register)) = found {
            self.handles.push((self.kernel.steps.len() - 1, register, is_surface));
        }
    }

    /// Allows the handles that nothing writes but one load of a whole parameter.
    fn find_handles(&mut self) {
        for (step, register, is_surface) in std::mem::take(&mut self.handles) {
            let writes: Vec<&Step> =
                self.kernel.steps.iter().filter(|it| it.to.contains(&register)).collect();
            if let [Step { op: Op::Parameter, guard: None, size: 8, from, .. }] = writes[..]
                && let [Operand::Number(parameter), Operand::Number(0)] = from[..]
                && let Ok(parameter) = usize::try_from(parameter)
            {
                let Step { at, guard, .. } = self.kernel.steps[step];
                let from = vec![Operand::Register(register)];
                self.kernel.steps[step] = Step { at, guard, bits: 64, from, ..Step::new(Op::Handle) };
                if !self.kernel.handles.contains(&(parameter, is_surface)) {
                    self.kernel.handles.push((parameter, is_surface));
                }
            }
        }
    }

    fn name(&mut self, name: &'a str, entity: Entity<'a>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, entity);
        }
    }

    fn declare(&mut self, variable: &'m Variable<'a>) {
        let space = match variable.space {
            "global" => Space::Global,
            "const" => Space::Const,
            "shared" => Space::Shared,
            "local" => Space::Local,
            _ => return,
        };
        // All arrays whose size the launch states begin at the same address.
        let is_dynamic = space == Space::Shared && variable.is_extern && variable.bytes.is_none();
        // An array of another file has no known size.
        let bytes =
            if is_dynamic { None } else { Some(variable.bytes.filter(|_| !variable.is_extern).unwrap_or(0)) };
        // A function that is called twice has one shared array, but two local ones.
        let known = self.shared.iter().find(|(own, _)| std::ptr::eq(*own, variable)).map(|it| it.1);
        let index = known.unwrap_or_else(|| {
            let (name, align) = (variable.name.to_owned(), variable.align);
            // Not those in braces of their own, either: each time, they are others.
            let is_own = self.calls.len() == 1 && self.scopes.len() == 2;
            self.kernel.objects.push(crate::slice::Object { name, space, bytes, align, is_own });
            u32::try_from(self.kernel.objects.len() - 1).unwrap_or(u32::MAX)
        });
        if space == Space::Shared && known.is_none() {
            self.shared.push((variable, index));
        }
        self.name(variable.name, Entity::Object(index));
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
                        self.handles.retain(|(step, ..)| *step < before);
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
            let (space, bytes) = (Space::Param, Some(bytes));
            self.kernel.objects.push(crate::slice::Object { name, space, bytes, align, is_own: false });
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

    /// Returns the registers among the results of an instruction; `_` is none. Which result a register has
    /// that is there twice, the manual does not say: ptxas keeps the first one of `setp`.
    fn results(&mut self, source: &Source<'a>) -> Refused<Vec<u32>> {
        let mut all = Vec::new();
        self.add_results(source, &mut all)?;
        match (1..all.len()).find(|at| all[..*at].contains(&all[*at])) {
            Some(_) => Err("one register twice among the results of an instruction".to_owned()),
            None => Ok(all),
        }
    }

    fn add_results(&mut self, source: &Source<'a>, all: &mut Vec<u32>) -> Refused {
        match source {
            Source::Name("_") => {}
            Source::Name(name) => all.push(self.register(name)?),
            Source::List(list) => list.iter().try_for_each(|it| self.add_results(it, all))?,
            Source::Pair(first, second) => {
                self.add_results(first, all)?;
                self.add_results(second, all)?;
            }
            _ => return Err("a result of an unknown form".to_owned()),
        }
        Ok(())
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
                    self.push(Step { from, size: 1, flag: true, ..Step::new(Op::Load) });
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
        // The function sees the variables of the module and its own names.
        let mut hidden = self.scopes.split_off(1);
        let mut scope = Scope::new();
        scope.extend(function.results.iter().zip(results).map(|(it, slot)| (it.name, Entity::Slot(slot))));
        scope.extend(
            function.parameters.iter().zip(arguments).map(|(it, slot)| (it.name, Entity::Input(slot))),
        );
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
}

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
    let kind = Special::AXES.iter().position(|it| *it == whole);
    if let (Some(kind), Some(at)) = (kind.and_then(|it| u8::try_from(it).ok()), at) {
        return Some(Some(Special(3 * kind + at)));
    }
    Some(match (whole, at) {
        ("%laneid", None) => Some(Special::LANE),
        ("%dynamic_smem_size", None) => Some(Special::DYNAMIC_BYTES),
        ("%envreg1", None) => Some(Special::WORKSPACE[0]),
        ("%envreg2", None) => Some(Special::WORKSPACE[1]),
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
