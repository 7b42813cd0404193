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
//! - *known*: the address of a variable, of shared memory or of the kernel's own stack;
//! - *wide*: 64 bits that were loaded from memory, which may be an address that somebody stored there;
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
//! An address does not come back from such a function either, because it counts as written when it is passed.
//!
//! Branches are no flow of data: if `a == b` lets a compiler store to `a` in place of `b`, the bytes are
//! those of `b` as well. The duties of a launch exclude accesses beyond the end of a parameter's memory, so
//! an index does not lead from one parameter to another.
//!
//! nvcc makes the PTX and compiles the machine code from it. A kernel has one PTX for each architecture, and
//! often different ones (`__CUDA_ARCH__`): all have to agree. The PTX that a driver compiles is among them.

use std::collections::{BTreeMap, BTreeSet};

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
    let text = without_comments_and_strings(ptx);
    let harmless = harmless_functions(&text);
    for (at, _) in text.match_indices(".entry") {
        let Some(entry) = Entry::parse(&text[at + ".entry".len()..], false) else { continue };
        let (mut found, anything) = entry.uses(&harmless);
        if anything {
            found.iter_mut().for_each(|used| *used = (*used).max(Use::Unsure));
        }
        match uses.get_mut(&entry.name) {
            Some(known) if known.len() == found.len() => {
                known.iter_mut().zip(found).for_each(|(known, found)| *known = (*known).max(found));
            }
            Some(known) => known.clear(),
            None => drop(uses.insert(entry.name, found)),
        }
    }
}

/// Adds the sizes of the parameters of each kernel in a PTX file.
pub(crate) fn add_sizes(sizes: &mut Sizes, ptx: &str) {
    let text = without_comments_and_strings(ptx);
    for (at, word) in text.match_indices(".entry") {
        let Some((entry, _)) = Entry::head(&text[at + word.len()..], false) else { continue };
        let bytes = entry.parameters.iter().map(|parameter| parameter.bytes).collect();
        sizes.entry(entry.name).or_default().insert(bytes);
    }
}

/// Leaves out comments and strings: each may have the signs of the other, and those that end statements.
fn without_comments_and_strings(text: &str) -> String {
    let mut rest = text;
    let mut clean = String::with_capacity(text.len());
    while let Some(at) = rest.find(['/', '"']) {
        let (before, found) = rest.split_at(at);
        clean.push_str(before);
        clean.push(' ');
        let after = |start: usize, sign: &str| Some(start + found.get(start..)?.find(sign)? + sign.len());
        let end = match found.as_bytes() {
            [b'/', b'/', ..] => found.find('\n'),
            [b'/', b'*', ..] => after(2, "*/"),
            [b'"', ..] => after(1, "\""),
            _ => Some(1),
        };
        rest = end.map_or("", |end| &found[end..]);
    }
    clean + rest
}

/// Returns the functions that write none of a kernel's memory.
fn harmless_functions(text: &str) -> BTreeSet<String> {
    let mut harmless: BTreeSet<String> =
        ["vprintf", "__assertfail", "malloc", "free"].map(str::to_owned).into();
    // Functions with bodies. A weak one may have another body elsewhere.
    let mut functions = Vec::new();
    for (at, _) in text.match_indices(".func") {
        let function = Entry::parse(&text[at + ".func".len()..], true);
        harmless.retain(|name| function.as_ref().is_none_or(|function| function.name != *name));
        functions.extend(function.filter(|_| !text[..at].trim_end().ends_with(".weak")));
    }
    loop {
        let before = harmless.len();
        let only_reads = |function: &&Entry| {
            let (uses, anything) = function.uses(&harmless);
            !anything && uses.iter().all(|used| *used == Use::Read)
        };
        let found: Vec<String> =
            functions.iter().filter(only_reads).map(|function| function.name.clone()).collect();
        harmless.extend(found);
        if harmless.len() == before {
            return harmless;
        }
    }
}

/// Returns the names in a text: registers with their `%`, vectors without `.x`, variables, numbers.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |sign: char| sign.is_alphanumeric() || "_$%.".contains(sign);
    let all = text.split(move |sign| !is_part(sign)).filter(|word| !word.is_empty());
    all.map(|word| {
        word.split_once('.').map_or(word, |(whole, _)| if whole.is_empty() { word } else { whole })
    })
}

/// Returns whether a line that begins with `.loc` or `.file` has nothing but that.
fn is_line_information(line: &str) -> bool {
    let mut before = "";
    words(line).skip(1).all(|word| {
        let is_name = std::mem::replace(&mut before, word) == "function_name";
        let is_number = word.starts_with(|first: char| first.is_ascii_digit());
        is_name || is_number || word == "function_name" || word == "inlined_at"
    })
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

/// One instruction.
#[derive(Debug)]
struct Instruction {
    /// The parts between dots: `ld`, `global`, `u32`.
    opcode: Vec<String>,
    operands: Vec<String>,
}

impl Instruction {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = match text.strip_prefix('@') {
            Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim(),
            None => text,
        };
        let is_opcode = |sign: char| sign.is_alphanumeric() || "._:".contains(sign);
        let (opcode, rest) = text.split_at(text.find(|sign| !is_opcode(sign)).unwrap_or(text.len()));
        let mut operands = vec![String::new()];
        let mut depth = 0_u32;
        for sign in rest.chars() {
            match sign {
                '[' | '{' | '(' => depth += 1,
                ']' | '}' | ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    operands.push(String::new());
                    continue;
                }
                _ => {}
            }
            operands.last_mut()?.push(sign);
        }
        operands.iter_mut().for_each(|operand| *operand = operand.trim().to_owned());
        operands.retain(|operand| !operand.is_empty());
        Some(Self { opcode: opcode.split('.').map(str::to_owned).collect(), operands })
    }

    fn name(&self) -> &str {
        self.opcode.first().map_or("", String::as_str)
    }

    fn has(&self, part: &str) -> bool {
        self.opcode.iter().any(|own| own.split("::").next() == Some(part))
    }

    /// Returns whether one of the values is a whole address or longer.
    fn is_wide(&self) -> bool {
        let long = |part: &String| ["b64", "u64", "s64", "f64", "b128"].contains(&part.as_str());
        match self.name() {
            // The first type is that of the result.
            "cvt" => self.opcode.iter().find(|part| is_type(part)).is_some_and(long),
            "mul" | "mad" if self.has("wide") => self.has("u32") || self.has("s32"),
            // The results are parts of one value.
            "mov" if self.operand(0).starts_with('{') && !self.has("b128") => false,
            _ => self.opcode.iter().any(long),
        }
    }

    /// Returns the bytes of all values that a load has.
    fn bytes(&self) -> Option<u64> {
        let ty = self.opcode.iter().find(|part| is_type(part))?;
        let lanes = self.opcode.iter().find_map(|part| part.strip_prefix('v')?.parse().ok()).unwrap_or(1);
        bytes_of(ty)?.checked_mul(lanes)
    }

    /// Returns the operand at an index, or nothing.
    fn operand(&self, at: usize) -> &str {
        self.operands.get(at).map_or("", String::as_str)
    }

    /// Returns the number that an operand is, if it is one.
    fn number(&self, at: usize) -> Option<u64> {
        self.operand(at).parse().ok()
    }

    /// Returns whether the result is the sum of its last operand and of something else.
    fn is_sum(&self) -> bool {
        ["add", "sub", "mad"].contains(&self.name())
    }

    /// Returns whether the result cannot be an address that is put together from narrow operands.
    fn keeps_narrow(&self) -> bool {
        let small = |at: usize, most: u64| self.number(at).is_some_and(|number| number <= most);
        match self.name() {
            "add" | "sub" | "neg" | "abs" | "min" | "max" | "selp" | "cvt" | "cvta" | "and" | "shr" => true,
            "mov" => !self.operand(1).starts_with('{'),
            "mul" | "mad" if self.has("wide") => true,
            "mul" | "mad" if self.has("lo") => small(1, 0xffff) || small(2, 0xffff),
            "shl" => small(2, 16),
            "or" | "xor" => self.number(2).is_some(),
            _ => false,
        }
    }
}

/// Returns whether a part of an opcode is a type.
fn is_type(part: &str) -> bool {
    let number = part.strip_prefix(['b', 'u', 's', 'f']).unwrap_or_default();
    number.bytes().next().is_some_and(|first| first.is_ascii_digit())
}

/// Returns the size of a type.
fn bytes_of(ty: &str) -> Option<u64> {
    let bits = ty.trim_start_matches(|sign: char| !sign.is_ascii_digit()).parse::<u64>().ok()?;
    Some(bits.div_ceil(8))
}

/// The effect of an instruction on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing but its first operand changes, and depends on the others.
    Computes,
    /// Nothing that this module follows.
    Nothing,
    /// The first operand comes from memory.
    Loads,
    /// The first operand is an address that is written, the others are values.
    Stores,
    /// The first operand comes from memory, the second is an address that is written, the others are values.
    Exchanges,
    /// Reads global memory at the second operand into shared memory at the first.
    CopiesToShared,
    /// Reads or writes an image through a handle. The operands are coordinates and values.
    Images,
    Calls,
    /// Works on shared memory.
    Synchronizes,
    Unknown,
}

impl Instruction {
    fn kind(&self) -> Kind {
        let second = self.opcode.get(1).map_or("", String::as_str);
        match (self.name(), second) {
            ("ld" | "ldu" | "ldmatrix", _) | ("wmma", "load") => Kind::Loads,
            ("st", "async" | "bulk") | ("red", "async") => Kind::Unknown,
            ("st" | "red" | "stmatrix", _) | ("wmma", "store") => Kind::Stores,
            ("atom", _) => Kind::Exchanges,
            ("cp", "async") if self.has("ca") || self.has("cg") => Kind::CopiesToShared,
            ("cp", "async") if self.operands.is_empty() || self.has("wait_group") => Kind::Nothing,
            ("tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq", _) => Kind::Images,
            ("call", _) => Kind::Calls,
            ("mbarrier", _) => Kind::Synchronizes,
            (
                "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" | "bar" | "barrier" | "membar"
                | "nanosleep" | "pmevent" | "griddepcontrol" | "prefetch" | "prefetchu" | "setp" | "isspacep"
                | "testp",
                _,
            ) => Kind::Nothing,
            ("fence", _) if self.operands.is_empty() => Kind::Nothing,
            (
                "abs" | "activemask" | "add" | "addc" | "and" | "bfe" | "bfi" | "bfind" | "bmsk" | "brev"
                | "clz" | "cnot" | "copysign" | "cos" | "cvt" | "cvta" | "div" | "dp2a" | "dp4a" | "elect"
                | "ex2" | "fma" | "fns" | "lg2" | "lop3" | "mad" | "mad24" | "madc" | "match" | "max" | "min"
                | "mma" | "mov" | "mul" | "mul24" | "neg" | "not" | "or" | "popc" | "prmt" | "rcp" | "redux"
                | "rem" | "rsqrt" | "sad" | "selp" | "set" | "shf" | "shfl" | "shl" | "shr" | "sin" | "slct"
                | "sqrt" | "sub" | "subc" | "tanh" | "vote" | "xor",
                _,
            )
            | ("wmma", "mma") => Kind::Computes,
            _ => Kind::Unknown,
        }
    }
}

/// One parameter of a kernel or function.
#[derive(Debug)]
struct Parameter {
    /// Empty if a variable of the body has the same name.
    name: String,
    bytes: u64,
}

impl Parameter {
    /// Parses `.param .u64 name` or `.param .align 8 .b8 name[24]`.
    fn parse(text: &str) -> Self {
        let (before, count) = text.split_once('[').unwrap_or((text, "1]"));
        let count = count.split(']').next().and_then(|count| count.trim().parse().ok()).unwrap_or(0);
        let name = words(before).last().unwrap_or_default().to_owned();
        let ty = words(before).filter_map(|word| word.strip_prefix('.')).find(|word| is_type(word));
        let bytes = ty.and_then(bytes_of).and_then(|bytes| bytes.checked_mul(count));
        Self { name, bytes: bytes.unwrap_or(0) }
    }

    /// Returns whether it is too short for an address.
    fn is_short(&self) -> bool {
        self.bytes < 8
    }
}

/// One kernel or function.
#[derive(Debug)]
struct Entry {
    name: String,
    /// Values that leave a function are no writes: a kernel's own address counts as written when it is
    /// passed.
    is_function: bool,
    parameters: Vec<Parameter>,
    instructions: Vec<Instruction>,
    /// Registers by the names under which they are declared, `%rd` for `%rd<11>`.
    registers: BTreeSet<String>,
}

impl Entry {
    /// Parses what stands after `.entry` or `.func`.
    fn parse(text: &str, is_function: bool) -> Option<Self> {
        let (mut entry, body) = Self::head(text, is_function)?;
        entry.body(body);
        Some(entry)
    }

    /// Parses name and parameters. Also returns the body's text.
    fn head(text: &str, is_function: bool) -> Option<(Self, &str)> {
        let open = text.find('{')?;
        let head = text.get(..open)?;
        if head.contains(';') {
            // A declaration.
            return None;
        }
        // A function's result comes before its name.
        let result = head.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let head = result.map_or(head, |(_, head)| head);
        let name = words(head).next()?.to_owned();
        let list =
            head.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(list, _)| list);
        let list = list.split(',').filter(|text| !text.trim().is_empty());
        let parameters = list.map(Parameter::parse).collect();
        let (instructions, registers) = (Vec::new(), BTreeSet::new());
        Some((Self { name, is_function, parameters, instructions, registers }, text.get(open..)?))
    }

    /// Parses from the brace that opens the body to the one that closes it.
    fn body(&mut self, mut rest: &str) {
        let mut depth = 0_u32;
        loop {
            rest = rest.trim_start();
            if let Some(inside) = rest.strip_prefix('{') {
                (depth, rest) = (depth + 1, inside);
                continue;
            }
            if let Some(outside) = rest.strip_prefix('}') {
                (depth, rest) = (depth.saturating_sub(1), outside);
                if depth == 0 {
                    return;
                }
                continue;
            }
            if rest.is_empty() {
                return;
            }
            // These two end with the line, unless an instruction follows.
            let is_line = [".loc", ".file"].contains(&words(rest).next().unwrap_or_default());
            if is_line {
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                if is_line_information(line) {
                    rest = after;
                    continue;
                }
            }
            let (statement, after) = rest.split_once(';').unwrap_or((rest, ""));
            let label =
                statement.split(|sign: char| !(sign.is_alphanumeric() || "_$%".contains(sign))).next();
            let after_label =
                label.and_then(|label| statement.get(label.len()..)).unwrap_or_default().trim_start();
            if after_label.starts_with(':') && !after_label.starts_with("::") {
                rest = rest.split_once(':').map_or("", |(_, rest)| rest);
                continue;
            }
            rest = after;
            if let Some(declared) = statement.strip_prefix(".reg") {
                let names = declared.split([',', ' ', '\t', '\n']).map(str::trim);
                let names = names.filter(|name| !name.is_empty() && !name.starts_with('.'));
                self.registers.extend(names.filter_map(|name| name.split('<').next()).map(str::to_owned));
            } else if statement.starts_with(".param") {
                let hidden = |parameter: &&mut Parameter| words(statement).any(|word| word == parameter.name);
                self.parameters.iter_mut().filter(hidden).for_each(|parameter| parameter.name.clear());
            } else if !statement.starts_with('.') || is_line {
                self.instructions.extend(Instruction::parse(statement));
            }
        }
    }

    fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name)
    }

    /// Returns the parameter that `ld.param` loads, or a part of it. Returns `None` if its address was
    /// computed, or if the load reaches beyond its end, into the next one.
    fn loaded(&self, load: &Instruction) -> Option<usize> {
        let place = load.operand(1).trim_matches(['[', ']']);
        let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
        let at = self.parameter(name.trim())?;
        let end = offset.trim().parse::<u64>().ok()?.checked_add(load.bytes()?)?;
        (end <= self.parameters.get(at)?.bytes).then_some(at)
    }

    /// Returns the origins of an operand.
    fn origins(&self, operand: &str, registers: &BTreeMap<String, Origins>) -> Origins {
        let mut origins = Origins::default();
        for word in words(operand) {
            if let Some(known) = registers.get(word) {
                origins.add(known);
            } else if !self.is_register(word) && !word.starts_with(|first: char| first.is_ascii_digit()) {
                // The address of a variable, or of a parameter.
                origins.known = true;
            }
        }
        origins
    }

    /// Returns whether a word is a register, also one that no instruction has written, such as `%tid.x`, or
    /// the one number with a name.
    fn is_register(&self, word: &str) -> bool {
        let unnumbered = word.trim_end_matches(|sign: char| sign.is_ascii_digit());
        word.starts_with('%')
            || ["_", "WARP_SZ"].contains(&word)
            || [word, unnumbered].iter().any(|name| self.registers.contains(*name))
    }

    /// Returns the origins of all registers.
    fn registers(&self) -> BTreeMap<String, Origins> {
        let mut registers = BTreeMap::new();
        loop {
            let mut changed = false;
            for instruction in &self.instructions {
                for (word, origins) in self.results(instruction, &registers) {
                    changed |= registers.entry(word.to_owned()).or_default().add(&origins);
                }
            }
            if !changed {
                return registers;
            }
        }
    }

    /// Returns the registers that an instruction writes, with the origins of the values.
    fn results<'a>(
        &self,
        instruction: &'a Instruction,
        registers: &BTreeMap<String, Origins>,
    ) -> Vec<(&'a str, Origins)> {
        let (mut origins, mut results) = (Origins::default(), 1);
        match instruction.kind() {
            Kind::Nothing | Kind::Stores | Kind::CopiesToShared => return Vec::new(),
            Kind::Computes => {
                let operands = instruction.operands.iter().skip(1);
                let values: Vec<_> = operands.map(|operand| self.origins(operand, registers)).collect();
                for value in &values {
                    origins.add(value);
                }
                let from_memory = origins.narrow || origins.wide;
                if !instruction.is_wide() {
                    (origins.narrow, origins.wide) = (from_memory, false);
                } else {
                    origins.wide |= origins.narrow && !instruction.keeps_narrow();
                    if instruction.is_sum() && values.iter().any(Origins::has_base) {
                        origins.narrow = values.iter().any(|value| value.narrow && value.has_base());
                    }
                }
            }
            Kind::Loads if instruction.opcode.get(1).is_some_and(|space| space.starts_with("param")) => {
                match self.loaded(instruction) {
                    Some(at) if self.parameters.get(at).is_some_and(Parameter::is_short) => {}
                    Some(at) => drop(origins.parameters.insert(at)),
                    // The result of a function, or a parameter whose address was computed.
                    None => (origins.narrow, origins.wide) = (true, instruction.is_wide()),
                }
            }
            Kind::Loads | Kind::Exchanges | Kind::Images => {
                (origins.narrow, origins.wide) = (true, instruction.is_wide());
            }
            Kind::Calls | Kind::Synchronizes | Kind::Unknown => {
                // It is not known which operands are results.
                for operand in &instruction.operands {
                    origins.add(&self.origins(operand, registers));
                }
                (origins.narrow, origins.wide, results) = (true, true, instruction.operands.len());
            }
        }
        let written = instruction.operands.iter().take(results).flat_map(|operand| words(operand));
        written.filter(|word| self.is_register(word)).map(|word| (word, origins.clone())).collect()
    }

    /// Returns the use of the memory behind each parameter, and whether any memory may be written.
    fn uses(&self, harmless: &BTreeSet<String>) -> (Vec<Use>, bool) {
        let registers = self.registers();
        let (mut uses, mut anything) = (vec![Use::Read; self.parameters.len()], false);
        for instruction in &self.instructions {
            let of = |operand: &str| self.origins(operand, &registers);
            let kind = instruction.kind();
            // A parameter whose name is not that of a load.
            let loads_parameter = kind == Kind::Loads
                && instruction.opcode.get(1).is_some_and(|space| space.starts_with("param"));
            for word in instruction.operands.iter().flat_map(|operand| words(operand)) {
                if let Some(at) = self.parameter(word).filter(|_| !loads_parameter) {
                    raise(&mut uses, [at], Use::Unsure);
                }
            }
            // The address that is written, and the values that leave the registers.
            let (address, values) = match kind {
                Kind::Computes | Kind::Nothing | Kind::Loads => continue,
                Kind::Stores => (Some(instruction.operand(0)), 1),
                Kind::Exchanges => (Some(instruction.operand(1)), 2),
                Kind::CopiesToShared => (None, 0),
                Kind::Images | Kind::Synchronizes => (None, 0),
                Kind::Calls => {
                    let name = instruction.operands.iter().find(|operand| !operand.starts_with('('));
                    anything |= name.is_none_or(|name| !harmless.contains(name));
                    (None, 0)
                }
                Kind::Unknown => {
                    anything |= instruction.operands.iter().any(|operand| operand.contains('['));
                    (None, 0)
                }
            };
            for (at, value) in instruction.operands.iter().enumerate().skip(values) {
                if !self.is_function && (kind != Kind::CopiesToShared || at != 1) {
                    raise(&mut uses, of(value).parameters, Use::Unsure);
                }
            }
            // Shared memory and the stack have addresses of their own.
            let is_elsewhere = ["shared", "local", "param"].iter().any(|space| instruction.has(space));
            let Some(address) = address.filter(|_| !is_elsewhere).map(of) else { continue };
            let is_sure = address.parameters.len() == 1 && !address.known && !address.wide && !address.narrow;
            anything |= address.wide || address.narrow || !address.has_base();
            raise(&mut uses, address.parameters, if is_sure { Use::Written } else { Use::Unsure });
        }
        (uses, anything)
    }
}

fn raise(uses: &mut [Use], parameters: impl IntoIterator<Item = usize>, to: Use) {
    for at in parameters {
        if let Some(used) = uses.get_mut(at) {
            *used = (*used).max(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    /// Returns the uses of `in`, `out` and of a third pointer by a kernel with these instructions. `%in`,
    /// `%out` and `%other` have the addresses, `%i` an index.
    fn uses(instructions: &str) -> [Use; 3] {
        let text = format!(
            ".version 9.0
            .visible .entry kernel(
                .param .u64 .ptr .align 1 kernel_param_0, .param .u64 kernel_param_1,
                .param .u64 kernel_param_2, .param .u32 kernel_param_3
            )
            .maxntid 256, 1, 1
            {{
                .reg .b64 \t%rd<9>;
                .loc 1 5 3
                ld.param.u64 %in, [kernel_param_0];
                ld.param.u64 %out, [kernel_param_1];
                ld.param.u64 %other, [kernel_param_2];
                ld.param.u32 %n, [kernel_param_3];
                mad.lo.s32 %r0, %ctaid.x, %ntid.x, %n;
                mul.wide.s32 %i, %r0, 4;
                {instructions}
                ret;
            }}"
        );
        let mut found = Uses::new();
        add(&mut found, &text);
        let [a, b, c, _] = found["kernel"][..] else { panic!("four parameters: {found:?}") };
        [a, b, c]
    }

    use Use::{Read, Unsure, Written};

    const COPY: &str = "cvta.to.global.u64 %rd1, %in; add.s64 %rd2, %rd1, %i; ld.global.f32 %f1, [%rd2];
        cvta.to.global.u64 %rd3, %out; add.s64 %rd4, %rd3, %i; st.global.f32 [%rd4+4], %f1;";

    #[test]
    fn a_store_writes_the_parameter_of_its_address_and_a_load_reads() {
        assert_eq!(uses(COPY), [Read, Written, Read]);
        assert_eq!(uses(""), [Read; 3]);
        let guarded = "setp.ge.s32 %p1, %r0, 5; @%p1 bra $L__BB0_1;
            st.volatile.global.u32 [%in], 1;
            $L__BB0_1:
            @!%p1 red.global.add.u32 [%out], 1; /* st.global.u32 [%other], 1; */ // st.u32 [%other], 1;";
        assert_eq!(uses(guarded), [Written, Written, Read]);
    }

    #[test]
    fn every_way_to_write_counts() {
        for write in [
            "st.u32 [%in], 1;",
            "st.global.v4.f32 [%in+16], {%f1, %f2, %f3, %f4};",
            "st.release.gpu.global.u64 [%in], 5;",
            "red.global.add.u32 [%in], 1;",
            "atom.global.cas.b32 %r1, [%in], %r2, %r3;",
            "atom.global.exch.b64 %rd1, [%in], 0;",
            "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%in], {%f1, %f2}, 16;",
        ] {
            assert_eq!(uses(write), [Written, Read, Read], "{write}");
        }
        for doubt in [
            // Not known here, with an address in brackets: it might write anything.
            "cp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 16;",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%in], [%r1], 16;",
            "multimem.red.global.add.u32 [%in], 1;",
            "discard.global.L2 [%in], 128;",
            "st.async.weak.shared::cluster.u32 [%r1], %r2, [%in];",
            "instruction.of.tomorrow [%in];",
        ] {
            assert_eq!(uses(doubt), [Unsure; 3], "{doubt}");
        }
    }

    #[test]
    fn an_address_is_followed_whichever_way_it_is_computed() {
        for path in [
            "mov.u64 %rd1, %in;",
            "mov.b64 %rd1, %in;",
            "cvta.to.global.u64 %rd1, %in;",
            "cvta.global.u64 %rd1, %in;",
            "add.s64 %rd1, %i, %in;",
            "sub.s64 %rd1, %in, 8;",
            "mad.lo.s64 %rd1, %i, 12, %in;",
            "mad.wide.s32 %rd1, %r0, 12, %in;",
            "and.b64 %rd1, %in, -16;",
            "or.b64 %rd1, %in, 4;",
            "max.u64 %rd1, %in, 0;",
            "cvt.u64.u64 %rd1, %in;",
            "@%p1 mov.u64 %rd1, %in;",
            "mov.b64 {%r1, %r2}, %in; mov.b64 %rd1, {%r1, %r2};",
            "mov.b64 {%r1, %r2}, %in; shfl.sync.idx.b32 %r3|%p1, %r1, 0, 31, -1; mov.b64 %rd1, {%r3, %r2};",
            "cvt.u32.u64 %r1, %in; cvt.u64.u32 %rd1, %r1;",
            "shr.u64 %rd2, %in, 32; shl.b64 %rd1, %rd2, 32;",
            "not.b64 %rd2, %in; not.b64 %rd1, %rd2;",
            "{ .reg .u64 t; mov.u64 t, %in; add.u64 %rd1, t, 4; }",
            "{ .reg .u64 t<3>; mov.u64 t2, %in; mov.u64 %rd1, t2; }",
            "$L__BB0_1:\n mov.u64 %rd1, %rd2; mov.u64 %rd2, %rd3; mov.u64 %rd3, %in; bra.uni $L__BB0_1;",
        ] {
            let [found, ..] = uses(&format!("{path} st.global.u32 [%rd1], 1;"));
            assert_ne!(found, Read, "{path}");
            // The same address, only read.
            assert_eq!(uses(&format!("{path} ld.global.u32 %r9, [%rd1];")), [Read; 3], "{path}");
        }
    }

    #[test]
    fn a_choice_of_addresses_is_every_one_of_them() {
        for choice in [
            "selp.b64 %rd1, %in, %out, %p1;",
            "slct.u64.s32 %rd1, %in, %out, %r0;",
            "mov.u64 %rd1, %in; @%p1 mov.u64 %rd1, %out;",
            "sub.s64 %rd2, %in, %out; add.s64 %rd1, %rd2, %out;",
            "xor.b64 %rd1, %in, %out;",
        ] {
            assert_eq!(
                uses(&format!("{choice} st.global.u32 [%rd1], 1;")),
                [Unsure, Unsure, Read],
                "{choice}"
            );
        }
    }

    #[test]
    fn an_address_that_leaves_the_registers_counts_as_written() {
        for escape in [
            "st.global.u64 [%out], %in;",
            "st.shared.u64 [%r1], %in;",
            "st.local.u64 [%SP], %in;",
            "st.global.v2.u64 [%out], {%i, %in};",
            "mov.b64 {%r1, %r2}, %in; st.local.u32 [%SP], %r1;",
            "atom.global.exch.b64 %rd1, [%out], %in;",
            "red.global.add.u64 [%out], %in;",
            "{ .param .b64 param0; st.param.b64 [param0], %in; call.uni (retval0), vprintf, (param0); }",
            "call.uni free, (%in);",
            "mov.u64 %rd1, kernel_param_0;",
            "createpolicy.range.global.b64 %rd1, %in;",
            "prefetch.tensormap [kernel_param_0];",
            "mbarrier.init.shared.b64 [%in], 1;",
            "sust.b.1d.b32.trap [%rd1, {%r1}], {%in};",
        ] {
            assert_ne!(uses(escape)[0], Read, "{escape}");
        }
    }

    #[test]
    fn a_call_of_a_function_counts_as_a_write_of_everything() {
        for call in [
            "call.uni function, (param0);",
            "call (retval0), function, (param0, param1);",
            "call.uni function;",
            "call (retval0), %rd1, (param0), prototype_0;",
            "{ prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _);
             call (r), %rd1, (p), prototype_0; }",
        ] {
            assert_eq!(uses(call), [Unsure; 3], "{call}");
        }
        let printed =
            "{ .param .b64 param0; st.param.b64 [param0], %rd1; .param .b32 retval0; call.uni (retval0),
            vprintf, (param0, param1); ld.param.b32 %r1, [retval0]; }";
        assert_eq!(uses(printed), [Read; 3]);
    }

    #[test]
    fn a_function_that_only_reads_may_be_called() {
        let kernel = ".visible .entry kernel(.param .u64 p){ ld.param.u64 %rd1, [p]; ld.f64 %fd1, [%rd1];
            { .param .b64 param0; st.param.f64 [param0], %fd1; .param .b64 retval0;
            call.uni (retval0), f, (param0);
            ld.param.f64 %fd2, [retval0]; } ret; }";
        let with = |body: &str| {
            let mut uses = Uses::new();
            let f = ".func (.param .b64 func_retval0) f(.param .b64 f_param_0)\n";
            add(&mut uses, &format!("{f};\n{kernel}\n{f}{{ ld.param.f64 %fd1, [f_param_0]; {body} ret; }}"));
            uses["kernel"][0]
        };
        assert_eq!(with("add.f64 %fd2, %fd1, %fd1; st.param.f64 [func_retval0+0], %fd2;"), Read);
        assert_eq!(with("mov.u64 %SPL, __local_depot1; cvta.local.u64 %SP, %SPL; st.f64 [%SP], 0d0;"), Read);
        assert_eq!(with("st.local.f64 [%SP], %fd1;"), Read);
        assert_eq!(with("mov.b64 %rd1, %fd1; st.u32 [%rd1], 1;"), Unsure);
        assert_eq!(with("ld.global.u64 %rd1, [table]; st.u32 [%rd1], 1;"), Unsure);
        assert_eq!(with("call.uni g, ();"), Unsure);
        assert_eq!(with("call.uni f, ();"), Unsure, "recursion");
    }

    #[test]
    fn a_function_of_the_program_with_the_name_of_a_known_one_is_not_that() {
        let kernel = ".visible .entry kernel(.param .u64 p){ call.uni vprintf, (param0); ret; }";
        let mut uses = Uses::new();
        add(&mut uses, &format!(".extern .func (.param .b32 r) vprintf (.param .b64 a);\n{kernel}"));
        assert_eq!(uses["kernel"], [Read]);
        add(
            &mut uses,
            &format!(".func (.param .b32 r) vprintf (.param .b64 a) {{ call.uni g, (); }}\n{kernel}"),
        );
        assert_eq!(uses["kernel"], [Unsure]);
    }

    #[test]
    fn a_store_through_an_address_from_memory_may_write_anything() {
        for load in [
            "ld.global.u64 %rd1, [%in];",
            "ld.global.v2.u64 {%rd1, %rd2}, [%in];",
            "ld.const.u64 %rd1, [table];",
            "ld.shared.u64 %rd1, [%r1];",
            "ld.local.u64 %rd1, [%SP];",
            "atom.global.exch.b64 %rd1, [%other], 0;",
            "ld.param.b64 %rd1, [retval0+0];",
            "mov.u64 %rd2, structure; ld.param.u64 %rd1, [%rd2];",
            "ld.global.v2.u32 {%r1, %r2}, [%in]; mov.b64 %rd1, {%r1, %r2};",
            "ld.global.u32 %r1, [%in]; cvt.u64.u32 %rd2, %r1; shl.b64 %rd3, %rd2, 32; or.b64 %rd1, %rd3, %i;",
            "ld.global.u8 %r1, [%in]; cvt.u64.u32 %rd2, %r1; ld.global.u8 %r2, [%in+1]; \
             cvt.u64.u32 %rd3, %r2; or.b64 %rd1, %rd2, %rd3;",
            "ld.global.u32 %r1, [%in]; cvt.u64.u32 %rd2, %r1; mul.lo.s64 %rd1, %rd2, 4294967296;",
            "ld.global.u32 %r1, [%in]; cvt.u64.u32 %rd2, %r1; bfi.b64 %rd1, %rd2, %rd2, 32, 32;",
            "ld.global.f64 %fd1, [%in]; mov.b64 %rd1, %fd1;",
            "ld.global.b128 %rq1, [%in]; mov.b128 {%rd1, %rd2}, %rq1;",
            "mov.u64 %rd1, 4096;",
            "cvt.u64.u32 %rd1, %r0;",
            "mbarrier.arrive.shared.b64 %rd1, [%r1];",
            "instruction.of.tomorrow %rd1;",
        ] {
            let found = uses(&format!("{load} add.s64 %rd5, %rd1, 4; st.global.u32 [%rd5], 1;"));
            assert!(found.iter().all(|used| *used != Read), "{load}: {found:?}");
            // With another address for an index it is no better.
            let found = uses(&format!("{load} add.s64 %rd5, %rd1, %out; st.global.u32 [%rd5], 1;"));
            let no_origin =
                load.starts_with("mov.u64 %rd1, 4096") || load.starts_with("cvt.u64.u32 %rd1, %r0");
            assert!(found.iter().all(|used| *used != Read) != no_origin, "{load}: {found:?}");
        }
    }

    #[test]
    fn an_index_from_memory_is_no_address() {
        for index in [
            "mul.wide.s32 %rd1, %r1, 4;",
            "mul.wide.u32 %rd1, %r1, %r0;",
            "cvt.s64.s32 %rd2, %r1; shl.b64 %rd1, %rd2, 3;",
            "cvt.s64.s32 %rd2, %r1; mad.lo.s64 %rd1, %rd2, 12, %i;",
            "mad.wide.s32 %rd1, %r1, 4, %i;",
        ] {
            let all = format!(
                "ld.global.u32 %r1, [%in]; {index} add.s64 %rd5, %out, %rd1; red.global.add.u32 [%rd5], 1;"
            );
            assert_eq!(uses(&all), [Read, Written, Read], "{index}");
        }
    }

    #[test]
    fn a_short_number_from_memory_may_be_an_address_beside_others() {
        for choice in [
            "mov.u64 %rd1, %out; @%p1 mul.wide.u32 %rd1, %r1, 4096;",
            "mul.wide.u32 %rd2, %r1, 256; selp.b64 %rd1, %rd2, %out, %p1;",
            "mul.wide.u32 %rd2, %r1, 256; selp.b64 %rd1, %rd2, counter, %p1;",
            "cvt.u64.u32 %rd2, %r1; shl.b64 %rd3, %rd2, 16; shl.b64 %rd4, %rd3, 16; \
             max.u64 %rd1, %rd4, %out;",
            "mul.wide.u32 %rd2, %r1, 256; selp.b64 %rd3, %rd2, %out, %p1; add.s64 %rd1, %rd3, %i;",
            "mul.wide.u32 %rd2, %r1, 256; add.s64 %rd1, %rd2, WARP_SZ;",
        ] {
            let found = uses(&format!("ld.global.u32 %r1, [%other]; {choice} st.global.u32 [%rd1], 1;"));
            assert!(found.iter().all(|used| *used != Read), "{choice}: {found:?}");
        }
    }

    /// ptxas accepts all of these.
    #[test]
    fn a_store_counts_however_a_person_writes_it() {
        for store in [
            // Without a space, or behind a declaration, on one line.
            "st.global.u64[%in],%out;",
            "st.global.v2.u32[%in],{%r1, %r2};",
            "red.global.add.u64[%in], %out;",
            "{ .local .b32 x; st.global.u32 [%in], 1; }",
            ".loc 1 5 3 st.global.u32 [%in], 1;",
            ".loc 1 5 3 mov.u64 %out, %in; st.global.u32 [%out], 1;",
            // Signs in strings.
            ".pragma \"//\"; st.global.u32 [%in], 1;",
            ".pragma \"/*\"; st.global.u32 [%in], 1; /* */",
            ".pragma \";}\"; st.global.u32 [%in], 1;",
            "/*/ // */ st.global.u32 [%in], 1;",
            // A vector of registers.
            "{ .reg .v2 .b64 V; mov.b64 V.x, %in; mov.b64 %rd1, V.x; st.global.u32 [%rd1], 1; }",
            "{ .reg .v2 .b64 V; ld.global.v2.b64 V, [%other]; mov.b64 %rd1, V.y; st.global.u32 [%rd1], 1; }",
            // By the name of another parameter.
            "ld.param.u64 %rd1, [kernel_param_3+-24]; st.global.u32 [%rd1], 1;",
            "ld.param.u64 %rd1, [kernel_param_2+8]; st.global.u32 [%rd1], 1;",
            "ld.param.v2.u64 {%rd2, %rd1}, [kernel_param_2]; st.global.u32 [%rd1], 1;",
            "{ .param .b64 kernel_param_2; call (kernel_param_2), f, (); ld.param.u64 %rd1, [kernel_param_2]; }
             st.global.u32 [%rd1], 1;",
        ] {
            assert_ne!(uses(store)[0], Read, "{store}");
        }
        let inlined = ".loc 1 5 3, function_name $L__info_string0, inlined_at 1 7 3\n";
        assert_eq!(uses(&format!("{inlined} st.global.u32 [%in], 1;")), [Written, Read, Read]);
    }

    #[test]
    fn memory_that_is_not_global_is_none_of_the_parameters() {
        for store in [
            "st.shared.f32 [%r1], %f1;",
            "mov.u64 %rd1, tile; cvta.shared.u64 %rd2, %rd1; st.u32 [%rd2], 1;",
            "mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL; add.u64 %rd1, %SP, 8; st.u64 [%rd1], 7;",
            "st.global.u32 [counter], 1;",
            "cp.async.ca.shared.global [%r1], [%in], 16; cp.async.commit_group; cp.async.wait_group 0;",
            "prefetch.global.L2 [%in];",
            "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%in]; \
             mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2}, {%f3}, {%f4}, {%f5};",
            "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];",
            "setp.eq.s64 %p1, %in, %out; selp.b32 %r1, 1, 0, %p1; st.global.u32 [counter], %r1;",
        ] {
            assert_eq!(uses(store), [Read; 3], "{store}");
        }
    }

    #[test]
    fn all_architectures_must_agree() {
        let kernel =
            |body: &str| format!(".visible .entry k(.param .u64 p){{ ld.param.u64 %rd1, [p]; {body} ret; }}");
        let mut uses = Uses::new();
        add(&mut uses, &kernel("ld.global.u32 %r1, [%rd1];"));
        assert_eq!(uses["k"], [Read]);
        add(&mut uses, &kernel("st.global.u32 [%rd1], 1;"));
        assert_eq!(uses["k"], [Written]);
        add(&mut uses, &kernel(""));
        assert_eq!(uses["k"], [Written]);
        // Another kernel of the same name: nothing is known.
        add(&mut uses, ".entry k(.param .u64 p, .param .u64 q) { ret; }");
        assert!(uses["k"].is_empty());
    }

    /// Returns the uses in these sources, as nvcc compiles them.
    fn compiled(sources: &[PathBuf], flags: &[&str]) -> Uses {
        let toolkit = crate::toolkit::find(&cuda_sys_build::Env::from_process()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let [ptx, all] = ["kernels.ptx", "all.cu"].map(|name| folder.path().join(name));
        // As one source: nvcc then reads the toolkit's headers once.
        let include = |source: &PathBuf| format!("#include \"{}\"\n", source.display());
        std::fs::write(&all, sources.iter().map(include).collect::<String>()).unwrap();
        let mut nvcc = std::process::Command::new(&toolkit.nvcc);
        nvcc.args(["--ptx", "-std=c++17", "-o"]).args([&ptx, &all]).args(flags);
        assert!(nvcc.status().unwrap().success(), "{sources:?}");
        let mut found = Uses::new();
        add(&mut found, &std::fs::read_to_string(&ptx).unwrap());
        found
    }

    #[test]
    fn real_kernels_that_write_are_found_out_and_those_that_read_are_recognised() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escapes.cu");
        for flags in [&["-arch=compute_75"][..], &["-arch=compute_90"], &["-arch=compute_90", "-G"]] {
            let found = compiled(std::slice::from_ref(&source), flags);
            assert_eq!(found.len(), 41, "{flags:?}");
            for (name, uses) in found {
                // Without optimisation most addresses are in memory, too.
                if !flags.contains(&"-G") || !name.starts_with("reads") {
                    assert_eq!(uses[0] == Read, name.starts_with("reads"), "{name} {flags:?}: {uses:?}");
                }
            }
        }
    }

    /// The kernels beside this library: their prototypes say what is only read.
    #[test]
    fn what_the_prototypes_of_real_kernels_call_const_is_read_and_what_they_do_not_is_written() {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels").canonicalize().unwrap();
        let files = |end: &str| {
            let all = std::fs::read_dir(&kernels).unwrap().map(|entry| entry.unwrap().path());
            all.filter(|path| path.extension().is_some_and(|own| own == end)).collect::<Vec<_>>()
        };
        let found = compiled(&files("cu"), &["-arch=compute_90"]);
        let env = cuda_sys_build::Env::from_process();
        let mut arguments = cuda_sys_build::prepare_libclang(&env).unwrap();
        for include in crate::toolkit::find(&env).unwrap().includes {
            arguments.extend(["-isystem".to_owned(), include.display().to_string()]);
        }
        let bindings = crate::header::bind(&files("cuh"), &[], &arguments).unwrap();
        let (mut read, mut undeclared, mut unsure) = (0, Vec::new(), Vec::new());
        for item in syn::parse_file(&bindings.text).unwrap().items {
            let syn::Item::ForeignMod(block) = item else { continue };
            for kernel in crate::prototype::kernels(&block, &crate::layout::Layouts::default()).unwrap() {
                let uses = &found[&kernel.symbol];
                assert_eq!(uses.len(), kernel.parameters.len(), "{}", kernel.name);
                for (parameter, used) in kernel.parameters.iter().zip(uses) {
                    let named = format!("{} {parameter}", kernel.name);
                    match used {
                        Read if parameter.starts_with("*const ") => read += 1,
                        Read if parameter.starts_with("*mut ") => undeclared.push(named),
                        Unsure if parameter.starts_with('*') => unsure.push(named),
                        Written if parameter.starts_with("*mut ") => {}
                        _ => assert!(!parameter.starts_with('*'), "{}: {parameter}, {used:?}", kernel.name),
                    }
                }
            }
        }
        // The first is there to show this, and the second waits for a flag.
        assert_eq!(undeclared, ["add_step *mut i32", "arguments_signs *mut u64"]);
        // The first adds to the shared memory of another block, by an address that is not known, and the
        // second stores to an address from memory.
        assert_eq!(unsure, ["cluster_histogram *const u32", "arguments_rows *const *const f32"]);
        assert!(read >= 40, "{read}");
    }
}
