//! Finds out from PTX which memory a kernel only reads.
//!
//! A launch that reads memory is not ordered after other reads of it, so a wrong answer here would be a data
//! race. Every doubt therefore counts as a write.
//!
//! # Why a parameter that passes is only read
//! The analysis follows values through registers, without regard to the order of instructions and to
//! branches: a register has the *origins* of everything that any instruction writes into it. The origins are
//!
//! - the parameters: `ld.param` gives the origin of the parameter that it names, and a result has the
//!   origins of all its operands, whichever way it is computed (`mov`, `cvta`, `add`, `mad`, `selp`, `shfl`,
//!   halves of an address, ...);
//! - *known*: the address of a variable, of shared memory or of the kernel's own stack: a name that the file
//!   declares;
//! - *wide*: 64 bits that were loaded from memory, which may be an address that somebody stored there, or a
//!   name whose declaration is not found;
//! - *narrow*: fewer bits from memory, such as an index. They become wide if an instruction could put an
//!   address together from them. A conversion to 64 bits, a sum, and a product with the size of an element
//!   cannot. They are no origin of the sum of an address and an index. Where they are the whole address, or
//!   one of those that it is chosen from, they may be a shortened one.
//!
//! An address comes from a parameter or is known, or it comes from memory: C++ has no other. So a store, an
//! atomic operation or a reduction writes only memory of the parameters among its address's origins, or of a
//! variable, unless an address came from memory: then it may write anything. Hence a parameter counts as
//! written
//!
//! - if it is among the origins of the address of a store, an atomic operation or a reduction that does not
//!   name shared memory or the stack as its place;
//! - if it is among the origins of a value that leaves the registers: one that is stored, exchanged, or
//!   passed to a function, because it could come back as an address from there, or outlive the kernel;
//! - if its own address is taken (then it can be loaded by another name), or if it is an operand of an
//!   instruction that is not listed here;
//! - with all other parameters, if an address of a store has a wide, a narrow or no origin, if it has an
//!   instruction on memory that is not listed here, or if the kernel calls a function that may write. Only
//!   `printf`, `assert`, `malloc` and `free` write none of a kernel's memory, and functions in the same file
//!   for which the same analysis finds only reads: those of `sin` and `pow` for `double`, for example.
//!
//! People write PTX, too (inline assembly), and ptxas takes much that nvcc does not write. `cuda-ptx` reads
//! it as ptxas does, and finds what names stand for. A text that it cannot read as a whole makes all
//! parameters doubtful.
//!
//! An address does not come back from such a function either, because it counts as written when it is passed.
//!
//! Branches are no flow of data: if `a == b` lets a compiler store to `a` in place of `b`, the bytes are
//! those of `b` as well. The duties of a launch exclude accesses beyond the end of a parameter's memory, so
//! an index does not lead from one parameter to another.
//!
//! nvcc makes the PTX and compiles the machine code from it. A kernel has one PTX for each architecture, and
//! often different ones (`__CUDA_ARCH__`): all have to agree. The PTX that a driver compiles is among them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuda_ptx::instruction::Effect;
use cuda_ptx::{
    Body, Constant, Entity, Function, Instruction, Linkage, Module, Name, Operand, Statement, Type,
};

/// The use of the memory behind one parameter, in the order of certainty that it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// It is read at most.
    Read,
    /// It may be written.
    Unsure,
    /// A store writes it if it runs.
    Written,
}

/// The uses of the parameters of each kernel, by the kernel's symbol.
pub(crate) type Uses = BTreeMap<String, Vec<Use>>;

/// The sizes of the parameters of each kernel in bytes, by the kernel's symbol: the same in all files.
pub(crate) type Sizes = BTreeMap<String, BTreeSet<Vec<u64>>>;

/// Adds the kernels of a PTX file to those of others. A kernel in several has the worse use of each
/// parameter.
pub(crate) fn add(uses: &mut Uses, ptx: &str) {
    let module = cuda_ptx::read(ptx);
    let harmless = harmless_functions(&module);
    for function in module.functions.iter().filter(|it| it.is_entry) {
        let Some(analysis) = Analysis::new(&module, function) else { continue };
        let (mut found, anything) = analysis.uses(&harmless);
        if anything {
            found.iter_mut().for_each(|used| *used = (*used).max(Use::Unsure));
        }
        match uses.get_mut(function.name) {
            Some(known) if known.len() == found.len() => {
                known.iter_mut().zip(found).for_each(|(known, found)| *known = (*known).max(found));
            }
            Some(known) => known.clear(),
            None => drop(uses.insert(function.name.to_owned(), found)),
        }
    }
    // Nothing is known of a kernel whose head could not be read.
    for (at, word) in ptx.match_indices(".entry").filter(|_| !module.errors.is_empty()) {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || "_$%".contains(sign);
        let name =
            ptx[at + word.len()..].trim_start().split(|sign| !is_part(sign)).next().unwrap_or_default();
        if module.functions.iter().all(|it| it.name != name) {
            uses.insert(name.to_owned(), Vec::new());
        }
    }
}

/// Adds the sizes of the parameters of each kernel in a PTX file.
pub(crate) fn add_sizes(sizes: &mut Sizes, ptx: &str) {
    for function in cuda_ptx::read(ptx).functions.iter().filter(|it| it.is_entry && it.body.is_some()) {
        let bytes = function.parameters.iter().map(|it| it.bytes().unwrap_or(0)).collect();
        sizes.entry(function.name.to_owned()).or_default().insert(bytes);
    }
}

/// Returns the functions that write none of a kernel's memory, by their numbers, and the names of those that
/// the device's runtime has.
fn harmless_functions(module: &Module<'_>) -> Harmless {
    let mut harmless = Harmless::default();
    if !module.aliases.is_empty() {
        // A name may stand for another function.
        return harmless;
    }
    harmless.of_runtime = true;
    // Functions with bodies. A weak one may have another body elsewhere.
    let functions = module.functions.iter().enumerate();
    let functions = functions.filter(|(_, it)| !it.is_entry && it.linkage != Linkage::Weak);
    let functions: Vec<_> =
        functions.filter_map(|(index, it)| Some((index, Analysis::new(module, it)?))).collect();
    loop {
        let before = harmless.functions.len();
        for (index, analysis) in &functions {
            let (uses, anything) = analysis.uses(&harmless);
            if !anything && uses.iter().all(|used| *used == Use::Read) {
                harmless.functions.insert(*index);
            }
        }
        if harmless.functions.len() == before {
            return harmless;
        }
    }
}

/// Functions that write none of a kernel's memory.
#[derive(Debug, Default)]
struct Harmless {
    /// Those of the file.
    functions: BTreeSet<usize>,
    /// Whether those of the device's runtime are what their names say.
    of_runtime: bool,
}

impl Harmless {
    fn has(&self, module: &Module<'_>, name: &Name<'_>) -> bool {
        let of_runtime = ["vprintf", "__assertfail", "malloc", "free"].contains(&name.text);
        match name.entity {
            Entity::Function(at) if module.functions[at].body.is_some() => self.functions.contains(&at),
            Entity::Function(_) | Entity::Undeclared => of_runtime && self.of_runtime,
            _ => false,
        }
    }
}

/// The origins of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Origins {
    parameters: BTreeSet<usize>,
    known: bool,
    wide: bool,
    narrow: bool,
}

impl Origins {
    /// Returns whether it may be an address of something that has a name.
    fn has_base(&self) -> bool {
        self.known || !self.parameters.is_empty()
    }

    /// Adds further origins. Returns whether any is new.
    fn add(&mut self, other: &Self) -> bool {
        let before = self.clone();
        self.parameters.extend(&other.parameters);
        self.known |= other.known;
        self.wide |= other.wide;
        self.narrow |= other.narrow;
        before != *self
    }
}

/// Returns whether one of the values is a whole address or longer, or of unknown length.
fn is_wide(it: &Instruction<'_>) -> bool {
    let is_short = |ty: Type| ty.bits() <= 32;
    match it.opcode() {
        // The first type is that of the result.
        "cvt" => !it.types().next().is_some_and(is_short),
        "mul" | "mad" if it.has("wide") => !(it.has("u16") || it.has("s16")),
        // The results are parts of one value.
        "mov" if matches!(it.operands[..], [Operand::Vector(_), ref from] if !is_vector(from)) => {
            it.has("b128")
        }
        // 32 bits.
        "elect" => false,
        _ => it.types().next().is_none() || !it.types().all(is_short),
    }
}

fn is_vector(operand: &Operand<'_>) -> bool {
    matches!(operand, Operand::Vector(_))
}

/// Returns whether the result cannot be an address that is put together from narrow operands.
fn keeps_narrow(it: &Instruction<'_>) -> bool {
    let small = |at: usize, most: i128| match it.operands.get(at) {
        Some(Operand::Constant(Constant::Integer(number))) => (0..=most).contains(number),
        _ => false,
    };
    match it.opcode() {
        "add" | "sub" | "neg" | "abs" | "min" | "max" | "selp" | "cvt" | "cvta" | "and" | "shr" => true,
        "mov" => !it.operands.get(1).is_some_and(is_vector),
        "mul" | "mad" if it.has("wide") => true,
        "mul" | "mad" if it.has("lo") => small(1, 0xffff) || small(2, 0xffff),
        "shl" => small(2, 16),
        "or" | "xor" => small(2, i128::MAX),
        _ => false,
    }
}

/// A name that has a value: a register, or a name that the file does not declare.
type Key<'a> = (Entity, &'a str);

/// Returns the key of a name that may have a value.
fn key<'a>(name: &Name<'a>) -> Option<Key<'a>> {
    match name.entity {
        Entity::Register(_) => Some((name.entity, "")),
        Entity::Undeclared => Some((name.entity, name.text)),
        _ => None,
    }
}

/// One kernel or function that is analysed.
#[derive(Debug)]
struct Analysis<'m, 'a> {
    module: &'m Module<'a>,
    function: &'m Function<'a>,
    body: &'m Body<'a>,
    /// The instructions, and what each changes.
    instructions: Vec<(&'m Instruction<'a>, Effect)>,
}

impl<'m, 'a> Analysis<'m, 'a> {
    /// Returns nothing for a declaration.
    fn new(module: &'m Module<'a>, function: &'m Function<'a>) -> Option<Self> {
        let body = function.body.as_ref()?;
        let instruction = |it: &'m Statement<'a>| match it {
            Statement::Instruction(it) => Some((it, it.row().map_or(Effect::Other, |row| row.effect))),
            _ => None,
        };
        let instructions = body.statements.iter().filter_map(instruction).collect();
        Some(Self { module, function, body, instructions })
    }

    /// Returns whether something is not understood. A directive in an instruction may declare anything.
    fn is_doubtful(&self) -> bool {
        !self.module.errors.is_empty()
            || !self.body.ambiguous.is_empty()
            || self.instructions.iter().any(|(it, _)| it.words.contains(&"reg"))
    }

    /// Returns the parameter that `ld.param` loads, or a part of it. Returns `None` if its address was
    /// computed, or if the load reaches beyond its end, into the next one.
    fn loaded(&self, load: &Instruction<'a>) -> Option<usize> {
        let Operand::Address(Some(Name { entity: Entity::Parameter(at), .. }), offset) =
            load.operands.get(1)?
        else {
            return None;
        };
        let lanes = load.words.iter().find_map(|word| word.strip_prefix('v')?.parse().ok()).unwrap_or(1);
        let bytes = u64::from(load.types().next()?.bytes()).checked_mul(lanes)?;
        let end = u64::try_from(*offset).ok()?.checked_add(bytes)?;
        (end <= self.function.parameters[*at].bytes()?).then_some(*at)
    }

    /// Returns the origins of an operand.
    fn origins(&self, operand: &Operand<'a>, registers: &HashMap<Key<'a>, Origins>) -> Origins {
        let mut origins = Origins::default();
        operand.each_name(&mut |name| match name.entity {
            Entity::Register(_) | Entity::Undeclared => match key(name).and_then(|key| registers.get(&key)) {
                Some(known) => drop(origins.add(known)),
                // A name that no declaration was found for, and that does not look like a register.
                None => origins.wide |= name.entity == Entity::Undeclared && !name.text.starts_with('%'),
            },
            Entity::Special(_) | Entity::Sink | Entity::WarpSize => {}
            // The address of a variable, or of a parameter.
            _ => origins.known = true,
        });
        origins
    }

    /// Returns the origins of all registers.
    fn registers(&self) -> HashMap<Key<'a>, Origins> {
        let mut registers = HashMap::new();
        loop {
            let mut changed = false;
            for (it, effect) in &self.instructions {
                let (origins, results) = self.results(it, *effect, &registers);
                let mut add = |name: &Name<'a>| {
                    if let Some(key) = key(name) {
                        changed |= registers.entry(key).or_insert_with(Origins::default).add(&origins);
                    }
                };
                it.operands.iter().take(results).for_each(|operand| operand.each_name(&mut add));
            }
            if !changed {
                return registers;
            }
        }
    }

    /// Returns the origins of what an instruction writes, and how many of its operands these are.
    fn results(
        &self,
        it: &Instruction<'a>,
        effect: Effect,
        registers: &HashMap<Key<'a>, Origins>,
    ) -> (Origins, usize) {
        let (mut origins, mut results) = (Origins::default(), 1);
        match effect {
            Effect::Compares | Effect::Jumps | Effect::Orders | Effect::Stores | Effect::Copies => {
                results = 0
            }
            Effect::Computes | Effect::Shuffles => {
                let operands = it.operands.iter().skip(1);
                let values: Vec<_> = operands.map(|operand| self.origins(operand, registers)).collect();
                for value in &values {
                    origins.add(value);
                }
                let from_memory = origins.narrow || origins.wide;
                if !is_wide(it) {
                    (origins.narrow, origins.wide) = (from_memory, false);
                } else {
                    origins.wide |= origins.narrow && !keeps_narrow(it);
                    let is_sum = ["add", "sub", "mad"].contains(&it.opcode());
                    if is_sum && values.iter().any(Origins::has_base) {
                        origins.narrow = values.iter().any(|value| value.narrow && value.has_base());
                    }
                }
            }
            Effect::Loads if loads_parameter(it) => match self.loaded(it) {
                // It is too short for an address.
                Some(at) if self.function.parameters[at].bytes().is_some_and(|bytes| bytes < 8) => {}
                Some(at) => drop(origins.parameters.insert(at)),
                // The result of a function, or a parameter whose address was computed.
                None => (origins.narrow, origins.wide) = (true, is_wide(it)),
            },
            Effect::Loads | Effect::Exchanges | Effect::Images => {
                (origins.narrow, origins.wide) = (true, is_wide(it));
            }
            Effect::Calls | Effect::Synchronizes | Effect::Other => {
                // It is not known which operands are results.
                for operand in &it.operands {
                    origins.add(&self.origins(operand, registers));
                }
                (origins.narrow, origins.wide, results) = (true, true, it.operands.len());
            }
        }
        (origins, results)
    }

    /// Returns the use of the memory behind each parameter, and whether any memory may be written.
    fn uses(&self, harmless: &Harmless) -> (Vec<Use>, bool) {
        let parameters = self.function.parameters.len();
        if self.is_doubtful() {
            return (vec![Use::Unsure; parameters], true);
        }
        let registers = self.registers();
        let (mut uses, mut anything) = (vec![Use::Read; parameters], false);
        for (it, effect) in &self.instructions {
            let of = |operand: &Operand<'a>| self.origins(operand, &registers);
            // A parameter whose name is not that of a load.
            if !(*effect == Effect::Loads && loads_parameter(it)) {
                let mut taken = |name: &Name<'a>| {
                    if let Entity::Parameter(at) = name.entity {
                        raise(&mut uses, [at], Use::Unsure);
                    }
                };
                it.operands.iter().for_each(|operand| operand.each_name(&mut taken));
            }
            // The address that is written, and the values that leave the registers.
            let (address, values) = match effect {
                Effect::Computes | Effect::Shuffles | Effect::Compares | Effect::Jumps => continue,
                Effect::Orders | Effect::Loads => continue,
                Effect::Stores => (it.operands.first(), 1),
                Effect::Exchanges => (it.operands.get(1), 2),
                Effect::Copies | Effect::Images | Effect::Synchronizes => (None, 0),
                Effect::Calls => {
                    let callee = it.operands.iter().find(|it| !matches!(it, Operand::Arguments(_)));
                    anything |=
                        !matches!(callee, Some(Operand::Name(name)) if harmless.has(self.module, name));
                    (None, 0)
                }
                Effect::Other => {
                    let is_address =
                        |it: &Operand<'_>| matches!(it, Operand::Address(..) | Operand::Bracketed(_));
                    anything |= it.operands.iter().any(is_address);
                    (None, 0)
                }
            };
            // Values that leave a function are no writes: a kernel's own address counts as written when it is
            // passed.
            for (at, value) in it.operands.iter().enumerate().skip(values) {
                if self.function.is_entry && (*effect != Effect::Copies || at != 1) {
                    raise(&mut uses, of(value).parameters, Use::Unsure);
                }
            }
            // Shared memory and the stack have addresses of their own.
            let is_elsewhere = ["shared", "local", "param"].iter().any(|space| it.has(space));
            let Some(address) = address.filter(|_| !is_elsewhere).map(of) else { continue };
            let is_sure = address.parameters.len() == 1 && !address.known && !address.wide && !address.narrow;
            anything |= address.wide || address.narrow || !address.has_base();
            raise(&mut uses, address.parameters, if is_sure { Use::Written } else { Use::Unsure });
        }
        (uses, anything)
    }
}

/// Returns whether a load names the space of parameters.
fn loads_parameter(it: &Instruction<'_>) -> bool {
    it.words.get(1).is_some_and(|space| space.starts_with("param"))
}

fn raise(uses: &mut [Use], parameters: impl IntoIterator<Item = usize>, to: Use) {
    for at in parameters {
        if let Some(used) = uses.get_mut(at) {
            *used = (*used).max(to);
        }
    }
}

#[cfg(test)]
mod tests;
