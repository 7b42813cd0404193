//! The syntax tree of a PTX module.

use std::collections::HashMap;
use std::sync::Arc;

/// A name as it stands in the text, shared between its uses.
pub(crate) type Name = Arc<str>;

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// Registers.
    Reg,
    /// Memory of the device, seen by every thread.
    Global,
    /// Memory of the device that kernels only read.
    Const,
    /// Memory of one block.
    Shared,
    /// Memory of one thread.
    Local,
    /// Arguments of kernels and functions.
    Param,
    /// A window over all of the others.
    Generic,
}

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Opaque,
}

impl Type {
    /// Reads a type from its name without the dot.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "pred" => Self::Pred,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "texref" | "surfref" | "samplerref" => Self::Opaque,
            _ => return None,
        })
    }

    /// Size in bytes; a predicate counts as one.
    pub(crate) fn size(self) -> u32 {
        match self {
            Self::Pred | Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 | Self::Opaque => 8,
            Self::B128 => 16,
        }
    }

    /// Whether loads and conversions extend the sign.
    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether values are floating-point numbers.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F16x2 | Self::Bf16 | Self::Bf16x2 | Self::F32 | Self::F64)
    }
}

/// One element of an initialiser.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Initial {
    /// An integer.
    Int(u64),
    /// A floating-point number.
    Float(f64),
    /// The bits of a 32-bit floating-point number.
    F32Bits(u32),
    /// The address of a symbol, plus an offset.
    Symbol {
        /// The symbol.
        name: Name,
        /// Bytes added to its address.
        offset: i64,
        /// Whether the generic address is meant and not the one within the symbol's own space.
        generic: bool,
        /// Which byte of the address is stored, for tables of bytes: a shift in bits, when a mask was given.
        shift: Option<u32>,
    },
}

/// A declared variable, parameter or register.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: Name,
    /// Where it lives.
    pub(crate) space: Space,
    /// The type of one element.
    pub(crate) ty: Type,
    /// Alignment in bytes.
    pub(crate) align: u32,
    /// How many elements (1 for a scalar; 0 for an array without bounds).
    pub(crate) count: u64,
    /// Whether it is an array.
    pub(crate) array: bool,
    /// Declared here, defined elsewhere.
    pub(crate) external: bool,
    /// Managed memory, shared with the host.
    pub(crate) managed: bool,
    /// Its first contents. Missing elements are zero.
    pub(crate) initial: Vec<Initial>,
    /// Line of its declaration.
    pub(crate) line: u32,
}

impl Variable {
    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.count.saturating_mul(u64::from(self.ty.size()))
    }
}

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A register, variable, function or label.
    Name(Name),
    /// A symbol and a number of bytes.
    Offset(Name, i64),
    /// An integer, as its 64 bits.
    Int(u64),
    /// The bits of a 32-bit floating-point number.
    F32(u32),
    /// The bits of a 64-bit floating-point number.
    F64(u64),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `[base + offset]`; without a base, an absolute address.
    Address(Option<Name>, i64),
    /// `[a, {x, y}]`, of texture instructions.
    Multi(Vec<Operand>),
    /// `!p`.
    Not(Box<Operand>),
    /// `d|p`.
    Pair(Box<Operand>, Box<Operand>),
    /// `(a, b)`, of calls.
    List(Vec<Operand>),
}

impl Operand {
    /// The parts of a vector, or the operand itself.
    pub(crate) fn parts(&self) -> &[Self] {
        if let Self::Vector(parts) = self { parts } else { std::slice::from_ref(self) }
    }
}

/// The predicate in front of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PredicateOperand {
    /// The predicate register.
    pub(crate) name: Name,
    /// `@!p`.
    pub(crate) negated: bool,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    /// The predicate that guards it.
    pub(crate) guard: Option<PredicateOperand>,
    /// The word before the first dot.
    pub(crate) opcode: Name,
    /// The words after it, in order.
    pub(crate) modifiers: Vec<Name>,
    /// Its operands, in order.
    pub(crate) operands: Vec<Operand>,
    /// Line of the PTX text.
    pub(crate) line: u32,
}

impl Instruction {
    /// Whether it has a modifier.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.modifiers.iter().any(|m| &**m == word)
    }

    /// The meaning of the first modifier that a table has.
    pub(crate) fn one_of<T: Copy>(&self, table: &[(&str, T)]) -> Option<T> {
        let meaning = |m: &Name| table.iter().find(|(word, _)| *word == &**m).map(|(_, it)| *it);
        self.modifiers.iter().find_map(meaning)
    }

    /// The types among the modifiers, in order.
    pub(crate) fn types(&self) -> impl Iterator<Item = Type> + '_ {
        self.modifiers.iter().filter_map(|m| Type::named(m))
    }

    /// Opcode and modifiers, as in the text.
    pub(crate) fn form(&self) -> String {
        let mut text = self.opcode.to_string();
        for m in &self.modifiers {
            text.push('.');
            text.push_str(m);
        }
        text
    }
}

/// The signature of a function: results and parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prototype {
    /// The results.
    pub(crate) returns: Vec<Variable>,
    /// The parameters.
    pub(crate) params: Vec<Variable>,
}

/// A part of a function's body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement {
    /// `name:`.
    Label(Name),
    /// An instruction.
    Instruction(Instruction),
    /// A variable of the function.
    Variable(Variable),
    /// A register.
    Register(Name, Type),
    /// `.loc`: the source line of the statements that follow.
    Location {
        /// Index of the file in [`Module::files`].
        file: u32,
        /// Line in that file.
        line: u32,
        /// File and line of the call, if the statements are of a function that was inlined there.
        caller: Option<(u32, u32)>,
    },
    /// `name: .branchtargets a, b;`.
    BranchTargets(Name, Vec<Name>),
    /// `name: .callprototype ...;`.
    CallPrototype(Name, Prototype),
    /// `name: .calltargets f, g;`.
    CallTargets(Name, Vec<Name>),
}

/// A kernel or a device function.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: Name,
    /// A kernel (`.entry`) and not a device function (`.func`).
    pub(crate) entry: bool,
    /// Its results and parameters.
    pub(crate) prototype: Prototype,
    /// `.maxntid`: the largest block, when declared.
    pub(crate) max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the only block shape, when declared.
    pub(crate) required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`: the shape of its clusters, when declared.
    pub(crate) cluster: Option<[u32; 3]>,
    /// `.blocksareclusters`: the grid of a launch counts these clusters.
    pub(crate) counts_clusters: bool,
    /// Its statements; `None` for a declaration.
    pub(crate) body: Option<Vec<Statement>>,
    /// Line of its declaration.
    pub(crate) line: u32,
}

/// A whole PTX text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Module {
    /// PTX version, major and minor.
    pub(crate) version: (u32, u32),
    /// The architecture and options of `.target`.
    pub(crate) target: Vec<Name>,
    /// Variables of the module.
    pub(crate) variables: Vec<Variable>,
    /// Functions: definitions, and declarations that no definition follows.
    pub(crate) functions: Vec<Function>,
    /// Aliases: the new name and the name that it stands for.
    pub(crate) aliases: Vec<(Name, Name)>,
    /// The errors of declarations that could not be read, in a text of a newer version than is known.
    pub(crate) passed_over: Vec<super::SyntaxError>,
    /// Source files by index, for [`Statement::Location`].
    pub(crate) files: HashMap<u32, Name>,
    /// The first error that every compiler refuses, although the text can be read: an unknown instruction, or
    /// a register that is not declared.
    pub(crate) refused: Option<super::SyntaxError>,
}

impl Module {
    /// Finds a function that has a body.
    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| &*f.name == name && f.body.is_some())
    }
}
