//! The resolved tree of a PTX text: each name in it says what it stands for.
//!
//! Strings are parts of the text. Indices are those of the lists of [`Module`] and [`Body`].

use std::collections::BTreeMap;

use crate::{Space, Special, SyntaxError, Type};

/// A PTX text.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    /// The whole text.
    pub text: &'a str,
    /// `.version`: major and minor.
    pub version: Option<(u32, u32)>,
    /// `.target`: the architecture, and options.
    pub target: Vec<&'a str>,
    /// `.address_size`.
    pub address_size: Option<u32>,
    /// Source files by the numbers of `.loc`.
    pub files: BTreeMap<u32, &'a str>,
    /// Variables outside of functions, declarations among them.
    pub variables: Vec<Variable<'a>>,
    /// Kernels and functions, declarations among them.
    pub functions: Vec<Function<'a>>,
    /// Names that stand for another function: the new name and the old one.
    pub aliases: Vec<(&'a str, Name<'a>)>,
    /// Everything but the three directives at the head, in the order of the text.
    pub items: Vec<Item<'a>>,
    /// What could not be read or resolved. [`parse`](crate::parse) returns the first one as its error.
    pub errors: Vec<SyntaxError>,
}

/// A part of a module.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// `.file`: its number.
    File(u32),
    /// A variable.
    Variable(usize),
    /// A kernel or a function.
    Function(usize),
    /// `.alias`
    Alias(usize),
    /// `.pragma`
    Directive(Directive<'a>),
    /// `.section`, of debuggers: its name, and what is between its braces.
    Section(&'a str, &'a str),
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entity {
    /// Nothing that the text declares.
    Undeclared,
    /// `_`: a result that nobody needs.
    Sink,
    /// `WARP_SZ`: 32.
    WarpSize,
    /// A register: its number in [`Body::registers`].
    Register(usize),
    /// A special register.
    Special(Special),
    /// A parameter of the function itself.
    Parameter(usize),
    /// A result of the function itself.
    Result(usize),
    /// A variable of [`Body::variables`].
    Local(usize),
    /// A variable of [`Module::variables`].
    Variable(usize),
    /// A kernel or function of [`Module::functions`]: its definition, if there is one.
    Function(usize),
    /// An alias of [`Module::aliases`].
    Alias(usize),
    /// A label of [`Body::labels`].
    Label(usize),
    /// A list of [`Body::lists`].
    List(usize),
    /// A prototype of [`Body::prototypes`].
    Prototype(usize),
}

/// A part of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part<'a> {
    /// The element of a vector: `.x` or `.r` is 0.
    Element(u8),
    /// The bytes or halves that an instruction on parts of 32 bits reads or writes: `b0`, `h10`, `b3210`.
    Lanes(&'a str),
}

/// A name, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Name<'a> {
    /// The name as the text has it, without its part.
    pub text: &'a str,
    /// What it stands for.
    pub entity: Entity,
    /// The part that is meant.
    pub part: Option<Part<'a>>,
}

impl core::fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Element(at) => f.write_str([".x", ".y", ".z", ".w"][usize::from(at % 4)]),
            Self::Lanes(lanes) => write!(f, ".{lanes}"),
        }
    }
}

impl core::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.text)?;
        self.part.map_or(Ok(()), |part| part.fmt(f))
    }
}

/// How a declaration is seen from other texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    /// This text alone sees it.
    #[default]
    Own,
    /// `.visible`
    Visible,
    /// `.extern`: it is defined elsewhere.
    Extern,
    /// `.weak`: another definition may take its place.
    Weak,
    /// `.common`: all definitions become one.
    Common,
}

/// A directive with its values: `.maxntid 256, 1, 1`, `.pragma "nounroll"`, or `.unified(1, 2)` of an
/// attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive<'a> {
    /// Its word, without the dot.
    pub name: &'a str,
    /// Its numbers.
    pub numbers: Vec<u64>,
    /// Its strings.
    pub texts: Vec<&'a str>,
    /// Its line.
    pub line: u32,
}

/// The memory that a pointer leads to, as its parameter promises: `.ptr .global .align 16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointee {
    /// The space.
    pub space: Option<Space>,
    /// The alignment.
    pub align: Option<u64>,
}

/// A variable or parameter.
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// How other texts see it.
    pub linkage: Linkage,
    /// `.attribute`: managed memory, for example.
    pub attributes: Vec<Directive<'a>>,
    /// Where it lives.
    pub space: Space,
    /// `.align`, if the text has it.
    pub stated_align: Option<u32>,
    /// The type of an element.
    pub ty: Type,
    /// Elements of a vector, 1 if it is none.
    pub lanes: u32,
    /// The sizes of an array, none if it is none. `None` is `[]`.
    pub sizes: Vec<Option<u64>>,
    /// What a parameter that is a pointer promises.
    pub pointee: Option<Pointee>,
    /// Its first contents.
    pub initial: Option<Initial<'a>>,
    /// The line of its name.
    pub line: u32,
}

impl Variable<'_> {
    /// Returns its bytes, or `None` if the text does not state them.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let element = u64::from(self.ty.bytes()) * u64::from(self.lanes);
        let given = match &self.initial {
            Some(Initial::List(list)) => u64::try_from(list.len()).ok(),
            _ => None,
        };
        let mut sizes = self.sizes.iter().enumerate();
        sizes.try_fold(element, |all, (at, size)| all.checked_mul(size.or(given.filter(|_| at == 0))?))
    }

    /// Returns its alignment in bytes: that of its type, if it states none.
    #[must_use]
    pub fn align(&self) -> u32 {
        self.stated_align.unwrap_or(self.ty.bytes() * self.lanes)
    }

    /// Returns whether it is managed memory, which the host sees.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        self.attributes.iter().any(|it| it.name == "managed")
    }
}

/// First contents of a variable.
#[derive(Clone, Debug)]
pub enum Initial<'a> {
    /// A number.
    Constant(Constant),
    /// The address of a variable or function.
    Address {
        /// Whose address.
        name: Name<'a>,
        /// Bytes that are added to it.
        offset: i64,
        /// `generic(name)`
        is_generic: bool,
        /// The bits of the address that are stored: `0xFF00(name)`.
        mask: Option<u64>,
    },
    /// `{a, b}`
    List(Vec<Initial<'a>>),
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// How other texts see it.
    pub linkage: Linkage,
    /// `.attribute`
    pub attributes: Vec<Directive<'a>>,
    /// Whether it is a kernel.
    pub is_entry: bool,
    /// Results.
    pub results: Vec<Variable<'a>>,
    /// Parameters.
    pub parameters: Vec<Variable<'a>>,
    /// The directives between its parameters and its body: [`directive`](crate::directive) knows them.
    pub directives: Vec<Directive<'a>>,
    /// Its body, unless it is a declaration.
    pub body: Option<Body<'a>>,
    /// The line of its name.
    pub line: u32,
}

/// The body of a function.
#[derive(Clone, Debug, Default)]
pub struct Body<'a> {
    /// Its statements.
    pub statements: Vec<Statement<'a>>,
    /// Declarations of registers.
    pub declarations: Vec<Declaration<'a>>,
    /// The registers that are declared without a number, and those of families that are used.
    pub registers: Vec<Register<'a>>,
    /// Variables.
    pub variables: Vec<Variable<'a>>,
    /// Labels.
    pub labels: Vec<Label<'a>>,
    /// Lists of labels or functions.
    pub lists: Vec<List<'a>>,
    /// The prototypes of calls through registers.
    pub prototypes: Vec<Prototype<'a>>,
    /// Names that ptxas may take for something else than they are resolved to: it reads a register that is
    /// declared as `%laneid` in one place, and the special one in another, and `%r1` for `%r4294967297`.
    pub ambiguous: Vec<&'a str>,
}

/// `.reg .b32 %r<40>;`, or one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration<'a> {
    /// The name, in front of the number.
    pub name: &'a str,
    /// The type.
    pub ty: Type,
    /// Elements of each, 1 if it is no vector.
    pub lanes: u32,
    /// How many of the family there are: `None` if it is one register without a number.
    pub count: Option<u32>,
    /// The line of the name.
    pub line: u32,
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<'a> {
    /// Its name, as the text has it first.
    pub name: &'a str,
    /// Its declaration in [`Body::declarations`].
    pub declaration: usize,
    /// The type.
    pub ty: Type,
    /// Elements, 1 if it is no vector.
    pub lanes: u32,
}

/// `name:`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// Its name.
    pub name: &'a str,
    /// The index of its statement.
    pub statement: usize,
}

/// `name: .branchtargets a, b;` or `name: .calltargets f, g;`
#[derive(Clone, Debug, PartialEq)]
pub struct List<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it has functions, and no labels.
    pub is_of_calls: bool,
    /// What it lists.
    pub targets: Vec<Name<'a>>,
}

/// `name: .callprototype (results) _ (parameters);`
#[derive(Clone, Debug)]
pub struct Prototype<'a> {
    /// Its name.
    pub name: &'a str,
    /// Results.
    pub results: Vec<Variable<'a>>,
    /// Parameters.
    pub parameters: Vec<Variable<'a>>,
    /// `.noreturn` and the like.
    pub directives: Vec<Directive<'a>>,
}

/// A statement of a function.
#[derive(Clone, Debug)]
pub enum Statement<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `name:`, by its number.
    Label(usize),
    /// A declaration of registers, by its number.
    Registers(usize),
    /// A variable, by its number.
    Variable(usize),
    /// A list of targets, by its number.
    List(usize),
    /// A prototype, by its number.
    Prototype(usize),
    /// `.loc`
    Location(Location<'a>),
    /// `.pragma`
    Directive(Directive<'a>),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// A statement that could not be read: [`Module::errors`] has the error, too.
    Unread(SyntaxError),
}

/// The place in a source from which the next statements come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// The number of the file.
    pub file: u32,
    /// Its line.
    pub line: u32,
    /// Its column.
    pub column: u32,
    /// The function that was inlined: a label in `.debug_str`, and an offset.
    pub function: Option<(&'a str, i64)>,
    /// File, line and column of the call that was inlined.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'a> {
    /// The predicate without which it does nothing, and whether it is negated.
    pub guard: Option<(Name<'a>, bool)>,
    /// The words between dots: `ld`, `global`, `u32`.
    pub words: Vec<&'a str>,
    /// Operands.
    pub operands: Vec<Operand<'a>>,
    /// Its line.
    pub line: u32,
}

impl Instruction<'_> {
    /// Returns its opcode: the first word.
    #[must_use]
    pub fn opcode(&self) -> &str {
        self.words.first().copied().unwrap_or_default()
    }

    /// Returns whether it has a word, in front of `::` if there is one: `shared` is in `ld.shared::cta`.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own.split("::").next() == Some(word))
    }

    /// Returns its words as in the text: `ld.global.u32`.
    #[must_use]
    pub fn form(&self) -> String {
        self.words.join(".")
    }

    /// Returns its types, in order.
    pub fn types(&self) -> impl DoubleEndedIterator<Item = Type> + '_ {
        self.words.iter().skip(1).filter_map(|word| Type::from_word(word))
    }
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand<'a> {
    /// A register, a variable, a label or a function.
    Name(Name<'a>),
    /// A name and a number of bytes.
    Offset(Name<'a>, i64),
    /// A number.
    Constant(Constant),
    /// `[base+offset]`, or without a base an absolute address.
    Address(Option<Name<'a>>, i64),
    /// `[a, {x, y}]`, of textures and of copies by coordinates.
    Bracketed(Vec<Operand<'a>>),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `(a, b)`, of calls.
    Arguments(Vec<Operand<'a>>),
    /// `!p`
    Not(Box<Operand<'a>>),
    /// `d|p`
    Pair(Box<[Operand<'a>; 2]>),
}

impl<'a> Operand<'a> {
    /// Calls a function with each name of the operand, in order.
    pub fn each_name<'o>(&'o self, visit: &mut impl FnMut(&'o Name<'a>)) {
        match self {
            Self::Name(name) | Self::Offset(name, _) | Self::Address(Some(name), _) => visit(name),
            Self::Bracketed(list) | Self::Vector(list) | Self::Arguments(list) => {
                list.iter().for_each(|it| it.each_name(visit));
            }
            Self::Not(inner) => inner.each_name(visit),
            Self::Pair(both) => both.iter().for_each(|it| it.each_name(visit)),
            Self::Constant(_) | Self::Address(None, _) => {}
        }
    }

    pub(crate) fn each_name_mut(&mut self, visit: &mut impl FnMut(&mut Name<'a>)) {
        match self {
            Self::Name(name) | Self::Offset(name, _) | Self::Address(Some(name), _) => visit(name),
            Self::Bracketed(list) | Self::Vector(list) | Self::Arguments(list) => {
                list.iter_mut().for_each(|it| it.each_name_mut(visit));
            }
            Self::Not(inner) => inner.each_name_mut(visit),
            Self::Pair(both) => both.iter_mut().for_each(|it| it.each_name_mut(visit)),
            Self::Constant(_) | Self::Address(None, _) => {}
        }
    }
}

/// A number in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// An integer, which is cut to the width at which it is used.
    Integer(i128),
    /// `0f`: the bits of 32-bit floating-point number.
    Single(u32),
    /// `0d` or a decimal number: the bits of a 64-bit floating-point number.
    Double(u64),
}

impl Constant {
    /// Returns the bits of the constant where a value of so many bits, up to 64, is used. Returns `None` for
    /// a floating-point number of another width: ptxas rounds a double that a single one is used for, and
    /// takes the bits of a single one as those of a double.
    #[must_use]
    pub fn bits(self, width: u32) -> Option<u64> {
        match (self, width) {
            (Self::Integer(value), 0..64) => u64::try_from(value & ((1 << width) - 1)).ok(),
            (Self::Integer(value), 64) => u64::try_from(value & i128::from(u64::MAX)).ok(),
            (Self::Single(bits), 32) => Some(u64::from(bits)),
            (Self::Double(bits), 64) => Some(bits),
            _ => None,
        }
    }
}
