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
//! People write PTX, too (inline assembly), and ptxas takes much that nvcc does not write. A statement, a
//! directive or a line that is not one of the known forms makes all parameters doubtful.
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
    let names = declared(&text);
    let harmless = harmless_functions(&text, &names);
    for (at, _) in text.match_indices(".entry") {
        let Some(entry) = Entry::parse(&text[at + ".entry".len()..], false, &names) else { continue };
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

/// Leaves out comments and strings: each may have the signs of the other, and those that end statements. Also
/// leaves out lines that number those of a source (`# 1 "file"`).
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
        let left = end.map_or("", |end| &found[end..]);
        // Whether it escapes a quotation mark is ptxas's affair: the sign makes a statement doubtful.
        if found.starts_with('"') && found[..found.len() - left.len()].contains('\\') {
            clean.push('#');
        }
        rest = left;
    }
    clean += rest;
    let is_number = |word: &str| word.bytes().all(|sign| sign.is_ascii_digit());
    let numbers = |line: &str| {
        line.trim_start().strip_prefix('#').is_some_and(|rest| rest.split_whitespace().all(is_number))
    };
    clean.split('\n').map(|line| if numbers(line) { "" } else { line }).collect::<Vec<_>>().join("\n")
}

/// Returns the names of the variables and functions that a file declares outside of functions.
fn declared(text: &str) -> BTreeSet<String> {
    let (mut names, mut depth, mut statement) = (BTreeSet::new(), 0_u32, String::new());
    for sign in text.chars() {
        // Braces are around the body of a function, or an initial value.
        match sign {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth > 0 => continue,
            _ => {}
        }
        let ends = sign == ';' || (sign == '}' && depth == 0 && !statement.contains('='));
        if ends {
            names.extend(declared_name(&statement).map(str::to_owned));
            statement.clear();
        } else if depth == 0 {
            statement.push(sign);
        }
    }
    names
}

/// Returns the first name that a statement declares.
fn declared_name(statement: &str) -> Option<&str> {
    const SPACES: [&str; 8] =
        [".global", ".const", ".shared", ".local", ".param", ".texref", ".samplerref", ".surfref"];
    for word in [".func", ".entry"] {
        if let Some((_, rest)) = statement.split_once(word) {
            // A function's result comes before its name.
            let result = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
            return words(result.map_or(rest, |(_, rest)| rest)).next();
        }
    }
    let is_name = |word: &&str| !word.starts_with(|first: char| first == '.' || first.is_ascii_digit());
    words(statement).skip_while(|word| !SPACES.contains(word)).find(is_name)
}

/// Returns the functions that write none of a kernel's memory.
fn harmless_functions(text: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    if text.contains(".alias") {
        // A name may stand for another function.
        return BTreeSet::new();
    }
    let mut harmless: BTreeSet<String> =
        ["vprintf", "__assertfail", "malloc", "free"].map(str::to_owned).into();
    // Functions with bodies. A weak one may have another body elsewhere.
    let mut functions = Vec::new();
    for (at, _) in text.match_indices(".func") {
        let function = Entry::parse(&text[at + ".func".len()..], true, names);
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

/// Returns whether a name may have the sign.
fn is_part(sign: char) -> bool {
    sign.is_alphanumeric() || "_$%.".contains(sign)
}

/// Returns the names in a text: registers with their `%`, vectors without `.x`, variables, numbers.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split(|sign| !is_part(sign)).filter(|word| !word.is_empty());
    all.map(|word| {
        word.split_once('.').map_or(word, |(whole, _)| if whole.is_empty() { word } else { whole })
    })
}

/// Returns what follows `.loc` or `.file` with their numbers and names: they end without a sign.
fn after_line_information(text: &str) -> &str {
    let word_end = |text: &str| text.find(|sign: char| !is_part(sign)).unwrap_or(text.len());
    let mut rest = &text[word_end(text)..];
    let mut is_name = false;
    loop {
        rest = rest.trim_start();
        let word = &rest[..word_end(rest)];
        if word.starts_with(|first: char| first.is_ascii_digit())
            || ["function_name", "inlined_at"].contains(&word)
            || std::mem::take(&mut is_name)
        {
            is_name = word == "function_name";
            rest = &rest[word.len()..];
        } else if let Some(after) = rest.strip_prefix([',', '+']) {
            rest = after;
        } else {
            return rest;
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
        let split = |text: &'_ str| text.find(|sign| !is_opcode(sign)).unwrap_or(text.len());
        let (mut opcode, mut rest) = (text[..split(text)].to_owned(), &text[split(text)..]);
        // ptxas takes spaces before the dots.
        while let Some(part) = Some(rest.trim_start()).filter(|rest| rest.starts_with('.')) {
            opcode.push_str(&part[..split(part)]);
            rest = &part[split(part)..];
        }
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

    /// Returns whether one of the values is a whole address or longer, or of unknown length.
    fn is_wide(&self) -> bool {
        let short = |part: &String| bits_of(part).is_some_and(|bits| bits <= 32);
        let mut types = self.opcode.iter().filter(|part| is_type(part));
        match self.name() {
            // The first type is that of the result.
            "cvt" => !types.next().is_some_and(short),
            "mul" | "mad" if self.has("wide") => !(self.has("u16") || self.has("s16")),
            // The results are parts of one value.
            "mov" if self.operand(0).starts_with('{') && !self.operand(1).starts_with('{') => {
                self.has("b128")
            }
            // 32 bits.
            "elect" => false,
            _ => types.clone().next().is_none() || !types.all(short),
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

/// Returns whether a word is a number.
fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns whether a part of an opcode is a type.
fn is_type(part: &str) -> bool {
    let number = part.strip_prefix(['b', 'u', 's', 'f']).unwrap_or_default();
    number.bytes().next().is_some_and(|first| first.is_ascii_digit())
}

/// Returns the size of a type in bits: that of `f16x2` is 32. Returns `None` for an unknown one.
fn bits_of(ty: &str) -> Option<u64> {
    let size = ty.trim_start_matches(|sign: char| !sign.is_ascii_digit());
    let (bits, count) = size.split_once('x').unwrap_or((size, "1"));
    bits.parse::<u64>().ok()?.checked_mul(count.parse().ok()?)
}

/// Returns the size of a type.
fn bytes_of(ty: &str) -> Option<u64> {
    Some(bits_of(ty)?.div_ceil(8))
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
    /// The names of variables, functions and labels.
    names: BTreeSet<String>,
    /// Whether something is not understood.
    is_doubtful: bool,
}

impl Entry {
    /// Parses what stands after `.entry` or `.func`.
    /// `names` are those that the file declares.
    fn parse(text: &str, is_function: bool, names: &BTreeSet<String>) -> Option<Self> {
        let (mut entry, body) = Self::head(text, is_function)?;
        entry.names.extend(names.iter().cloned());
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
        let (instructions, registers, names) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let is_doubtful = false;
        Some((
            Self { name, is_function, parameters, instructions, registers, names, is_doubtful },
            text.get(open..)?,
        ))
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
            if [".loc", ".file"].contains(&words(rest).next().unwrap_or_default()) {
                rest = after_line_information(rest);
                continue;
            }
            let (statement, after) = rest.split_once(';').unwrap_or((rest, ""));
            let label =
                statement.split(|sign: char| !(sign.is_alphanumeric() || "_$%".contains(sign))).next();
            let label = label.unwrap_or_default();
            let after_label = statement[label.len()..].trim_start();
            if !label.is_empty() && after_label.starts_with(':') && !after_label.starts_with("::") {
                self.names.insert(label.to_owned());
                rest = rest.split_once(':').map_or("", |(_, rest)| rest);
                continue;
            }
            rest = after;
            self.statement(statement);
        }
    }

    /// Parses a declaration or an instruction.
    fn statement(&mut self, statement: &str) {
        // A line of another preprocessor.
        self.is_doubtful |= statement.contains('#');
        if !statement.starts_with('.') {
            let instruction = Instruction::parse(statement);
            // A directive in an instruction may declare anything.
            self.is_doubtful |= instruction.as_ref().is_none_or(|it| {
                let mut words = it.operands.iter().flat_map(|operand| words(operand));
                it.opcode.iter().any(|part| part == "reg") || words.any(|word| word.starts_with('.'))
            });
            return self.instructions.extend(instruction);
        }
        self.is_doubtful |= statement.contains(['{', '}', '@', ':']);
        match words(statement).next().unwrap_or_default() {
            ".reg" => {
                let is_name =
                    |word: &&str| !word.starts_with(|first: char| first == '.' || first.is_ascii_digit());
                let names: Vec<_> = words(statement).filter(is_name).map(str::to_owned).collect();
                names.iter().for_each(|name| self.hide(name));
                self.registers.extend(names);
            }
            ".param" | ".local" | ".shared" | ".global" | ".const" => {
                words(statement).for_each(|name| self.hide(name));
                self.names.extend(declared_name(statement).map(str::to_owned));
            }
            ".pragma" | ".callprototype" | ".calltargets" | ".branchtargets" => {}
            _ => self.is_doubtful = true,
        }
    }

    /// Forgets the name of a parameter if the body declares it, too.
    fn hide(&mut self, name: &str) {
        let hidden = self.parameters.iter_mut().filter(|parameter| parameter.name == name);
        hidden.for_each(|parameter| parameter.name.clear());
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
            } else if self.names.contains(word) || self.parameter(word).is_some() {
                // The address of a variable, or of a parameter.
                origins.known |= !self.is_register(word);
            } else if !self.is_register(word) && !is_number(word) {
                origins.wide = true;
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
        // A result is a register, whether its declaration is found or not.
        let is_result = |word: &&str| {
            !is_number(word) && (results == 1 || self.is_register(word) || !self.names.contains(*word))
        };
        written.filter(is_result).map(|word| (word, origins.clone())).collect()
    }

    /// Returns the use of the memory behind each parameter, and whether any memory may be written.
    fn uses(&self, harmless: &BTreeSet<String>) -> (Vec<Use>, bool) {
        if self.is_doubtful {
            return (vec![Use::Unsure; self.parameters.len()], true);
        }
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
                    // A register may have the name of a function.
                    anything |= name.is_none_or(|name| !harmless.contains(name) || self.is_register(name));
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
