//! Reads PTX text into declarations and statements.
//!
//! The reader knows the forms of statements, not the instructions. Whatever has none of these forms is an
//! error, so that no statement is overlooked.

use std::collections::BTreeMap;

use crate::slice::Clusters;

/// An error in PTX text, and its line from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line of the PTX text.
    pub line: u32,
    /// The text that was expected, and the text that was found.
    pub message: String,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// A PTX text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module<'a> {
    /// Variables outside of functions.
    pub(crate) variables: Vec<Variable<'a>>,
    /// Kernels and functions that have bodies.
    pub(crate) functions: Vec<Function<'a>>,
    /// Source files by the numbers of `.loc`.
    pub(crate) files: BTreeMap<u32, &'a str>,
    /// Whether a name may stand for another function or variable (`.alias`).
    pub(crate) has_aliases: bool,
    /// The architecture that the text is for: 90 for `sm_90` and for `sm_90a`.
    pub(crate) architecture: Option<i32>,
    /// Whether addresses have 64 bits.
    pub(crate) is_64_bit: bool,
}

/// A variable or parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The state space without its dot: `global`, `shared`, ...
    pub(crate) space: &'a str,
    /// Bytes, or `None` if the text does not state them.
    pub(crate) bytes: Option<u64>,
    /// Alignment in bytes.
    pub(crate) align: u32,
    /// Whether it is defined elsewhere.
    pub(crate) is_extern: bool,
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Whether it is a kernel.
    pub(crate) is_entry: bool,
    /// Whether another definition may take its place.
    pub(crate) is_weak: bool,
    /// The clusters that it declares.
    pub(crate) clusters: Option<Clusters>,
    /// Results.
    pub(crate) results: Vec<Variable<'a>>,
    /// Parameters.
    pub(crate) parameters: Vec<Variable<'a>>,
    /// Statements.
    pub(crate) body: Vec<Statement<'a>>,
}

/// A statement of a function.
#[derive(Clone, Debug)]
pub(crate) enum Statement<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `name:`
    Label(&'a str),
    /// `.reg .TYPE name<count>`, or without a count one register.
    Registers(&'a str, &'a str, Option<u32>),
    /// A variable of the function.
    Variable(Variable<'a>),
    /// `.loc`: number of the file, and line.
    Location(u32, u32),
    /// `name: .branchtargets a, b;`
    Targets(&'a str, Vec<&'a str>),
    /// An instruction.
    Instruction(Instruction<'a>),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instruction<'a> {
    /// The predicate register, and whether it is negated.
    pub(crate) guard: Option<(&'a str, bool)>,
    /// The words between dots: `ld`, `global`, `u32`.
    pub(crate) words: Vec<&'a str>,
    /// Operands.
    pub(crate) operands: Vec<Operand<'a>>,
    /// Line of the PTX text.
    pub(crate) line: u32,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, a variable, a label or a function.
    Name(&'a str),
    /// A name and a number of bytes.
    Offset(&'a str, i128),
    /// An integer.
    Number(i128),
    /// A floating-point number, with its bits and how many they are if they are written as such (`0f`, `0d`).
    Float(Option<(u64, u8)>),
    /// `[base+offset]`
    Address(Box<Operand<'a>>, i128),
    /// `{a, b}`, `[a, {x, y}]` or `(a, b)`.
    List(Vec<Operand<'a>>),
    /// `!p`
    Not(Box<Operand<'a>>),
    /// `d|p`
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
}

/// The directives between the parameters of a function and its body, and why a proof holds with each. Any other
/// one is an error.
pub(crate) const HEADER: [(&str, &str); 12] = [
    (".attribute", "lists what `ATTRIBUTES` has"),
    (
        ".blocksareclusters",
        "a launch counts clusters, and the block is that of `.reqntid`: `Function::clusters`",
    ),
    (".explicitcluster", "the driver refuses a launch that names no clusters"),
    (".local_maxnreg", "registers, which no other thread sees"),
    (".maxclusterrank", "the driver refuses a launch of larger clusters"),
    (".maxnctapersm", "a hint: how many registers a thread has"),
    (".maxnreg", "registers, which no other thread sees"),
    (".maxntid", "the driver refuses a launch of more threads"),
    (".minnctapersm", "a hint: how many registers a thread has"),
    (".noreturn", "a function with a body is refused: it could return all the same"),
    (".reqnctapercluster", "the clusters of each launch that names none: `Function::clusters`"),
    (".reqntid", "the driver refuses a launch of other blocks"),
];

/// The directives outside of functions, and why a proof holds with each. Any other one is an error.
pub(crate) const DIRECTIVES: [(&str, &str); 18] = [
    (".address_size", "64, or the text is refused"),
    (".alias", "each kernel of the text is refused: a name may stand for another function"),
    (".attribute", "lists what `ATTRIBUTES` has"),
    (".common", "the size of a shared variable is not known then, and a function may have another body"),
    (".const", "a variable, whose size is read"),
    (".entry", "a kernel, which is read"),
    (".extern", "the size of a variable is not known then"),
    (".file", "the name of a source file"),
    (".func", "a function, which is read"),
    (".global", "a variable, whose size is read"),
    (".loc", "a line of a source file"),
    (".pragma", "`nounroll`, or the text is refused"),
    (".section", "of a debugger: the name begins with `.debug_`"),
    (".shared", "a variable, whose size is read"),
    (".target", "an architecture, perhaps with `debug`: other words change what instructions mean"),
    (".version", "6.0 or later, which has the memory model that proofs rest on"),
    (".visible", "other files may call it, which changes nothing of the function"),
    (".weak", "the size of a shared variable is not known then, and a function may have another body"),
];

/// What `.attribute` may list, and why a proof holds with each. Anything else is an error.
pub(crate) const ATTRIBUTES: [(&str, &str); 2] = [
    (".managed", "the host may access the variable, too: the handle declares who does"),
    (".unified", "a pointer to the function or variable is the same on all devices"),
];

/// Reads a PTX text.
///
/// # Errors
/// The first line that has none of the known forms.
pub(crate) fn parse(text: &str) -> Result<Module<'_>, SyntaxError> {
    Reader { tokens: tokens(text)?, at: 0, depth: 0 }.module()
}

/// Returns the architecture of a target: 90 of `sm_90`, `sm_90a` and `sm_90f`.
fn architecture(target: &str) -> Option<i32> {
    let number = target.strip_prefix("sm_")?;
    number.strip_suffix(['a', 'f']).unwrap_or(number).parse().ok()
}

/// Returns whether a text of this version of PTX has the memory model on which proofs rest, and no forms of
/// older versions.
fn has_memory_model(version: &str) -> bool {
    version.split_once('.').and_then(|(major, _)| major.parse().ok()).is_some_and(|major: u32| major >= 6)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Text(&'a str),
    Sign(char),
    End,
}

fn tokens(text: &str) -> Result<Vec<(Token<'_>, u32)>, SyntaxError> {
    let mut found = Vec::with_capacity(text.len() / 4);
    let (mut rest, mut line) = (text, 1_u32);
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || "_$%.".contains(sign);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            // `/*/` opens a comment, and does not end it.
            let end = rest[2..].find("*/").ok_or_else(|| error(line, "a comment does not end"))?;
            end + 4
        } else if first == '"' {
            let end = rest[1..].find('"').ok_or_else(|| error(line, "a string does not end"))?;
            let inside = &rest[1..=end];
            if inside.contains('\\') {
                return Err(error(line, "a string has an escaped sign"));
            }
            found.push((Token::Text(inside), line));
            end + 2
        } else if first.is_whitespace() {
            first.len_utf8()
        } else if is_part(first) {
            let mut end = 0;
            loop {
                end += rest[end..].find(|sign| !is_part(sign)).unwrap_or(rest.len() - end);
                if !rest[end..].starts_with("::") {
                    break;
                }
                end += 2;
            }
            // `.reg.b16` is two words, as `.reg .b16` is.
            let inner = rest[1..end].find('.').filter(|_| first == '.');
            let end = inner.map_or(end, |inner| inner + 1);
            found.push((Token::Word(&rest[..end]), line));
            end
        } else if "{}[]()<>,;:@!|+-=~&*".contains(first) {
            found.push((Token::Sign(first), line));
            1
        } else {
            return Err(error(line, &format!("unexpected {first:?}")));
        };
        line = line.saturating_add(u32::try_from(rest[..length].matches('\n').count()).unwrap_or(u32::MAX));
        rest = &rest[length..];
    }
    found.push((Token::End, line));
    Ok(found)
}

fn error(line: u32, message: &str) -> SyntaxError {
    SyntaxError { line, message: message.to_owned() }
}

/// Returns the bytes of a value of a type, which has no dot.
pub(crate) fn bytes_of(ty: &str) -> Option<u32> {
    Some(match ty {
        "pred" | "b8" | "u8" | "s8" | "e4m3" | "e5m2" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "tf32" | "u16x2" | "s16x2" => 4,
        "b64" | "u64" | "s64" | "f64" | "f32x2" | "texref" | "surfref" | "samplerref" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// Returns the integer that a word is.
fn number(word: &str) -> Option<i128> {
    let word = word.strip_suffix('U').unwrap_or(word);
    let (digits, radix) = if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        (hex, 16)
    } else if let Some(binary) = word.strip_prefix("0b").or_else(|| word.strip_prefix("0B")) {
        (binary, 2)
    } else if word.len() > 1 && word.starts_with('0') {
        (&word[1..], 8)
    } else {
        (word, 10)
    };
    u64::from_str_radix(digits, radix).ok().map(i128::from)
}

/// The pragma that leaves the meaning of instructions as it is.
const KNOWN_PRAGMA: &str = "nounroll";

/// Operands within operands.
const DEEPEST: u32 = 16;

struct Reader<'a> {
    tokens: Vec<(Token<'a>, u32)>,
    at: usize,
    /// Operands that are open.
    depth: u32,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Token<'a> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Token<'a> {
        self.tokens.get(self.at + by).map_or(Token::End, |(token, _)| *token)
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |(_, line)| *line)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn eat(&mut self, sign: char) -> bool {
        let is_there = self.peek() == Token::Sign(sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn expected<T>(&self, what: &str) -> Result<T, SyntaxError> {
        let found = match self.peek() {
            Token::Word(word) => format!("{word:?}"),
            Token::Text(_) => "a string".to_owned(),
            Token::Sign(sign) => format!("{sign:?}"),
            Token::End => "the end".to_owned(),
        };
        Err(error(self.line(), &format!("expected {what}, found {found}")))
    }

    fn expect(&mut self, sign: char) -> Result<(), SyntaxError> {
        if self.eat(sign) { Ok(()) } else { self.expected(&format!("{sign:?}")) }
    }

    fn word(&mut self) -> Result<&'a str, SyntaxError> {
        let Token::Word(word) = self.peek() else { return self.expected("a word") };
        self.at += 1;
        Ok(word)
    }

    fn name(&mut self) -> Result<&'a str, SyntaxError> {
        let word = self.word()?;
        if word.starts_with(|first: char| first == '.' || first.is_ascii_digit()) {
            self.at -= 1;
            return self.expected("a name");
        }
        Ok(word)
    }

    fn integer(&mut self) -> Result<i128, SyntaxError> {
        let is_negative = self.eat('-');
        let Token::Word(word) = self.peek() else { return self.expected("a number") };
        let Some(value) = number(word) else { return self.expected("a number") };
        self.at += 1;
        Ok(if is_negative { -value } else { value })
    }

    fn small<T: TryFrom<i128>>(&mut self) -> Result<T, SyntaxError> {
        let value = self.integer()?;
        T::try_from(value).or_else(|_| self.expected("a smaller number before this"))
    }

    fn module(mut self) -> Result<Module<'a>, SyntaxError> {
        let mut module = Module::default();
        while self.peek() != Token::End {
            self.item(&mut module)?;
        }
        if module.architecture.is_none() || !module.is_64_bit {
            return self.expected("`.target` and `.address_size 64` before this");
        }
        Ok(module)
    }

    fn item(&mut self, module: &mut Module<'a>) -> Result<(), SyntaxError> {
        let (mut is_extern, mut is_weak) = (false, false);
        loop {
            if self.eat(';') {
                return Ok(());
            }
            let word = self.word()?;
            if !DIRECTIVES.iter().any(|(own, _)| *own == word) {
                self.at -= 1;
                return self.expected("a directive");
            }
            match word {
                ".visible" => {}
                ".extern" => is_extern = true,
                ".weak" | ".common" => is_weak = true,
                ".attribute" => self.attributes()?,
                ".version" => {
                    let version = self.word()?;
                    return if has_memory_model(version) {
                        Ok(())
                    } else {
                        self.expected("version 6.0 or later")
                    };
                }
                ".address_size" => {
                    module.is_64_bit = self.integer()? == 64;
                    return Ok(());
                }
                // Other words change what instructions mean: `map_f64_to_f32`, `texmode_independent`.
                ".target" if module.architecture.is_none() => {
                    module.architecture = architecture(self.word()?);
                    while self.eat(',') {
                        if self.word()? != "debug" {
                            return self.expected("`debug` before this");
                        }
                    }
                    return Ok(());
                }
                ".file" => {
                    let index = self.small()?;
                    let Token::Text(name) = self.take() else { return self.expected("a name before this") };
                    module.files.insert(index, name);
                    while self.eat(',') {
                        self.integer()?;
                    }
                    return Ok(());
                }
                ".section" => {
                    if !self.word()?.starts_with(".debug_") {
                        return self.expected("a section of a debugger before this");
                    }
                    return self.skip_group();
                }
                ".pragma" => {
                    if self.take() != Token::Text(KNOWN_PRAGMA) {
                        return self.expected("the pragma \"nounroll\" before this");
                    }
                    return self.expect(';');
                }
                ".alias" => {
                    module.has_aliases = true;
                    while !self.eat(';') {
                        if self.take() == Token::End {
                            return self.expected("';'");
                        }
                    }
                    return Ok(());
                }
                ".loc" => {
                    self.location()?;
                    return Ok(());
                }
                ".entry" | ".func" => {
                    let function = self.function(word == ".entry", is_weak)?;
                    module.functions.extend(function);
                    return Ok(());
                }
                _ => {
                    self.at -= 1;
                    self.variables(is_extern || is_weak && word == ".shared", &mut module.variables)?;
                    return self.expect(';');
                }
            }
        }
    }

    /// Reads `(.managed, ...)`.
    fn attributes(&mut self) -> Result<(), SyntaxError> {
        self.expect('(')?;
        loop {
            let word = self.word()?;
            if !ATTRIBUTES.iter().any(|(own, _)| *own == word) {
                self.at -= 1;
                return self.expected("an attribute that a proof knows");
            }
            if self.peek() == Token::Sign('(') {
                self.skip_group()?;
            }
            if !self.eat(',') {
                return self.expect(')');
            }
        }
    }

    /// Skips what is in parentheses or braces, with the signs.
    fn skip_group(&mut self) -> Result<(), SyntaxError> {
        let mut depth = 0_u32;
        loop {
            match self.take() {
                Token::Sign('(' | '{') => depth += 1,
                Token::Sign(')' | '}') => depth = depth.saturating_sub(1),
                Token::End => return self.expected("')' or '}'"),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Reads `.space .align n .type name[n], ...`.
    fn variables(&mut self, is_extern: bool, list: &mut Vec<Variable<'a>>) -> Result<(), SyntaxError> {
        let space = self.word()?.trim_start_matches('.');
        let (mut align, mut size, mut lanes) = (None, None, 1_u32);
        while let Token::Word(word) = self.peek() {
            let Some(word) = word.strip_prefix('.') else { break };
            self.at += 1;
            match word {
                "align" => align = Some(self.small()?),
                "attribute" => self.attributes()?,
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                // The memory that a pointer points to.
                "ptr" => {
                    while let Token::Word(".global" | ".shared" | ".local" | ".const" | ".align") =
                        self.peek()
                    {
                        if self.word()? == ".align" {
                            self.integer()?;
                        }
                    }
                }
                _ => {
                    size = bytes_of(word);
                    if size.is_none() {
                        self.at -= 1;
                        return self.expected("a type");
                    }
                }
            }
        }
        let Some(size) = size else { return self.expected("a type") };
        loop {
            let name = self.name()?;
            let mut bytes = Some(u64::from(size) * u64::from(lanes));
            while self.eat('[') {
                let count: Option<u64> =
                    if self.peek() == Token::Sign(']') { None } else { Some(self.small()?) };
                self.expect(']')?;
                bytes = bytes.zip(count).and_then(|(bytes, count)| bytes.checked_mul(count));
            }
            list.push(Variable { name, space, bytes, align: align.unwrap_or(size * lanes), is_extern });
            if self.eat('=') {
                if self.peek() == Token::Sign('{') {
                    self.skip_group()?;
                }
                while !matches!(self.peek(), Token::Sign(';' | ',') | Token::End) {
                    self.take();
                }
            }
            if space == "param" || !self.eat(',') {
                return Ok(());
            }
        }
    }

    fn parameters(&mut self) -> Result<Vec<Variable<'a>>, SyntaxError> {
        let mut list = Vec::new();
        if !self.eat('(') || self.eat(')') {
            return Ok(list);
        }
        loop {
            if self.peek() == Token::Word(".reg") {
                return self.expected("parameters in .param");
            }
            self.variables(false, &mut list)?;
            if self.eat(')') {
                return Ok(list);
            }
            self.expect(',')?;
        }
    }

    fn function(&mut self, is_entry: bool, is_weak: bool) -> Result<Option<Function<'a>>, SyntaxError> {
        let results = if is_entry { Vec::new() } else { self.parameters()? };
        let name = self.name()?;
        let parameters = self.parameters()?;
        let Some(clusters) = self.header()? else { return Ok(None) };
        let body = self.body()?;
        Ok(Some(Function { name, is_entry, is_weak, clusters, results, parameters, body }))
    }

    /// Reads what is between the parameters of a function and its body. Returns the clusters that it declares,
    /// or nothing if there is no body.
    fn header(&mut self) -> Result<Option<Option<Clusters>>, SyntaxError> {
        let (mut threads, mut blocks, mut is_counted, mut returns) = (None, None, false, true);
        loop {
            let Token::Word(word) = self.peek() else {
                if self.peek() == Token::Sign(';') {
                    return Ok(None);
                }
                if !returns || self.peek() != Token::Sign('{') {
                    return self.expected("the body of a function that returns");
                }
                return Ok(Some(match (blocks, threads) {
                    (Some(blocks), Some(_)) if is_counted => Some(Clusters { blocks, threads }),
                    _ if is_counted => {
                        return self
                            .expected("`.reqntid` and `.reqnctapercluster` with `.blocksareclusters`");
                    }
                    (Some(blocks), _) => Some(Clusters { blocks, threads: None }),
                    (None, _) => None,
                }));
            };
            if !HEADER.iter().any(|(own, _)| *own == word) {
                return self.expected("a directive of a function, or its body");
            }
            self.at += 1;
            match word {
                ".attribute" => self.attributes()?,
                ".noreturn" => returns = false,
                ".blocksareclusters" => is_counted = true,
                ".explicitcluster" => {}
                ".reqntid" => threads = Some(self.sizes()?),
                ".reqnctapercluster" => blocks = Some(self.sizes()?),
                _ => drop(self.sizes()?),
            }
        }
    }

    /// Reads up to three sizes, of which those that are missing are 1.
    fn sizes(&mut self) -> Result<[u32; 3], SyntaxError> {
        let mut sizes = [1; 3];
        for (at, size) in sizes.iter_mut().enumerate() {
            if at > 0 && !self.eat(',') {
                break;
            }
            *size = self.small()?;
            if *size == 0 {
                return self.expected("a number above zero before this");
            }
        }
        Ok(sizes)
    }

    fn location(&mut self) -> Result<(u32, u32), SyntaxError> {
        let place = (self.small()?, self.small()?);
        self.integer()?;
        // `, function_name label+n, inlined_at file line column`
        while self.eat(',') {
            match self.word()? {
                "function_name" => {
                    self.word()?;
                    if self.eat('+') {
                        self.integer()?;
                    }
                }
                "inlined_at" => {
                    for _ in 0..3 {
                        self.integer()?;
                    }
                }
                _ => return self.expected("function_name or inlined_at before this"),
            }
        }
        Ok(place)
    }

    fn body(&mut self) -> Result<Vec<Statement<'a>>, SyntaxError> {
        self.expect('{')?;
        let (mut list, mut depth) = (Vec::new(), 0_u32);
        loop {
            match self.peek() {
                Token::Sign('{') => {
                    (self.at, depth) = (self.at + 1, depth + 1);
                    list.push(Statement::Open);
                }
                Token::Sign('}') => {
                    self.at += 1;
                    if depth == 0 {
                        return Ok(list);
                    }
                    depth -= 1;
                    list.push(Statement::Close);
                }
                Token::Sign(';') => self.at += 1,
                Token::Word(".loc") => {
                    self.at += 1;
                    let (file, line) = self.location()?;
                    list.push(Statement::Location(file, line));
                }
                Token::Word(".pragma") => {
                    let line = self.line();
                    self.at += 1;
                    // Others, such as `used_bytes_mask`, change what the next instruction does.
                    if self.take() != Token::Text(KNOWN_PRAGMA) {
                        let words = vec!["pragma"];
                        let unknown = Instruction { guard: None, words, operands: Vec::new(), line };
                        list.push(Statement::Instruction(unknown));
                    }
                    self.expect(';')?;
                }
                Token::Word(".reg") => {
                    self.at += 1;
                    self.registers(&mut list)?;
                }
                Token::Word(".param" | ".local" | ".shared" | ".global" | ".const") => {
                    let mut variables = Vec::new();
                    self.variables(false, &mut variables)?;
                    list.extend(variables.into_iter().map(Statement::Variable));
                    self.expect(';')?;
                }
                Token::Word(word) if self.ahead(1) == Token::Sign(':') => {
                    self.at += 2;
                    self.label(word, &mut list)?;
                }
                Token::Word(_) | Token::Sign('@') => {
                    let instruction = self.instruction()?;
                    list.push(Statement::Instruction(instruction));
                }
                _ => return self.expected("a statement"),
            }
        }
    }

    fn registers(&mut self, list: &mut Vec<Statement<'a>>) -> Result<(), SyntaxError> {
        let ty = self.word()?;
        let Some(ty) = ty.strip_prefix('.').filter(|ty| bytes_of(ty).is_some()) else {
            self.at -= 1;
            return self.expected("the type of a register");
        };
        loop {
            let name = self.name()?;
            let mut count = None;
            if self.eat('<') {
                count = Some(self.small()?);
                self.expect('>')?;
            }
            list.push(Statement::Registers(ty, name, count));
            if !self.eat(',') {
                return self.expect(';');
            }
        }
    }

    fn label(&mut self, name: &'a str, list: &mut Vec<Statement<'a>>) -> Result<(), SyntaxError> {
        match self.peek() {
            Token::Word(".branchtargets") => {
                self.at += 1;
                let mut targets = vec![self.name()?];
                while self.eat(',') {
                    targets.push(self.name()?);
                }
                list.push(Statement::Targets(name, targets));
                self.expect(';')
            }
            // Of indirect calls, which the analysis refuses.
            Token::Word(".callprototype" | ".calltargets") => {
                while !self.eat(';') {
                    if self.take() == Token::End {
                        return self.expected("';'");
                    }
                }
                Ok(())
            }
            _ => {
                list.push(Statement::Label(name));
                Ok(())
            }
        }
    }

    fn instruction(&mut self) -> Result<Instruction<'a>, SyntaxError> {
        let line = self.line();
        let mut guard = None;
        if self.eat('@') {
            let is_negated = self.eat('!');
            guard = Some((self.name()?, is_negated));
        }
        let mut words: Vec<&str> = self.name()?.split('.').collect();
        // ptxas takes spaces before the dots.
        while let Token::Word(word) = self.peek() {
            let Some(more) = word.strip_prefix('.') else { break };
            self.at += 1;
            words.extend(more.split('.'));
        }
        let mut operands = Vec::new();
        if !self.eat(';') {
            loop {
                operands.push(self.operand()?);
                if self.eat(';') {
                    break;
                }
                self.expect(',')?;
            }
        }
        Ok(Instruction { guard, words, operands, line })
    }

    fn operand(&mut self) -> Result<Operand<'a>, SyntaxError> {
        let first = self.simple()?;
        if !self.eat('|') {
            return Ok(first);
        }
        Ok(Operand::Pair(Box::new(first), Box::new(self.simple()?)))
    }

    fn simple(&mut self) -> Result<Operand<'a>, SyntaxError> {
        if self.depth == DEEPEST {
            return self.expected("fewer operands within operands");
        }
        self.depth += 1;
        let found = self.nested();
        self.depth -= 1;
        found
    }

    fn nested(&mut self) -> Result<Operand<'a>, SyntaxError> {
        match self.peek() {
            Token::Sign('{') => self.list('}').map(Operand::List),
            Token::Sign('(') => self.list(')').map(Operand::List),
            Token::Sign('[') => {
                let mut parts = self.list(']')?;
                Ok(match parts.pop() {
                    Some(Operand::Offset(name, by)) if parts.is_empty() => {
                        Operand::Address(Box::new(Operand::Name(name)), by)
                    }
                    Some(it @ (Operand::Name(_) | Operand::Number(_))) if parts.is_empty() => {
                        Operand::Address(Box::new(it), 0)
                    }
                    last => {
                        parts.extend(last);
                        Operand::List(parts)
                    }
                })
            }
            Token::Sign('!') => {
                self.at += 1;
                Ok(Operand::Not(Box::new(self.simple()?)))
            }
            Token::Sign('-') => {
                self.at += 1;
                Ok(match self.simple()? {
                    Operand::Number(value) => Operand::Number(-value),
                    Operand::Float(_) => Operand::Float(None),
                    _ => return self.expected("a number after '-', before this"),
                })
            }
            Token::Word(word) if word.starts_with(|first: char| first.is_ascii_digit()) => {
                self.at += 1;
                if let Some(value) = number(word) {
                    return Ok(Operand::Number(value));
                }
                let bits = match word.get(..2) {
                    Some("0f" | "0F") => Some(32),
                    Some("0d" | "0D") => Some(64),
                    _ => None,
                };
                let value = bits.filter(|bits| word.len() == 2 + bits / 4);
                let value = value.and_then(|_| u64::from_str_radix(&word[2..], 16).ok());
                Ok(Operand::Float(value.zip(bits.and_then(|bits| u8::try_from(bits).ok()))))
            }
            Token::Word(_) => {
                let name = self.name()?;
                if self.eat('+') {
                    return Ok(Operand::Offset(name, self.integer()?));
                }
                Ok(Operand::Name(name))
            }
            _ => self.expected("an operand"),
        }
    }

    fn list(&mut self, close: char) -> Result<Vec<Operand<'a>>, SyntaxError> {
        self.at += 1;
        let mut list = Vec::new();
        while !self.eat(close) {
            list.push(self.operand()?);
            if !self.eat(',') {
                self.expect(close)?;
                break;
            }
        }
        Ok(list)
    }
}
