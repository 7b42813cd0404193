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
mod tests;
