//! Reads PTX, the assembly language of NVIDIA's compilers, into a tree in which each name says what it stands
//! for.
//!
//! [`parse`] takes a text as ptxas takes it: comments, numbers and names end where it ends them, and names
//! are found in its order. The reader knows the forms of statements and not the instructions, so it reads
//! unknown ones, too; [`instruction`] is the table of those that PTX has. Whatever has none of the known
//! forms is an error, so that no statement is overlooked. [`read`] goes on behind errors, and keeps them.
//!
//! Nothing of a text is dropped but comments, white space, and the names that functions declare:
//! [`Module::print`] makes a text of the tree that ptxas compiles to the same machine code.
//!
//! ```
//! use cuda_ptx::{Entity, Operand, Statement, parse};
//!
//! let text = "
//!     .version 9.0
//!     .target sm_90
//!     .address_size 64
//!     .visible .entry lane(.param .u64 out) {
//!         .reg .b32 %r<2>, lane;
//!         { .reg .b64 lane; mov.u64 lane, out; }
//!         mov.u32 %r1, lane;
//!         ret;
//!     }";
//! let module = parse(text)?;
//! let body = module.functions[0].body.as_ref().unwrap();
//! let Statement::Instruction(mov) = &body.statements[6] else { panic!() };
//! // Not the register of the braces.
//! let Operand::Name(name) = &mov.operands[1] else { panic!() };
//! let Entity::Register(lane) = name.entity else { panic!() };
//! assert_eq!(body.registers[lane].ty.word(), "b32");
//! # Ok::<(), cuda_ptx::SyntaxError>(())
//! ```
//!
//! # Files
//! | file | purpose |
//! |---|---|
//! | `error.rs` | the error of a text that is not PTX |
//! | `token.rs` | tokens |
//! | `types.rs` | types and state spaces |
//! | `special.rs` | special registers |
//! | `syntax.rs` | the tree |
//! | `parse.rs` | reads modules, declarations and directives |
//! | `body.rs` | reads the statements of functions |
//! | `resolve.rs` | finds what names stand for |
//! | `print.rs` | makes a text of the tree |
//! | `instruction.rs` | the table of instructions |
//! | `directive.rs` | the tables of directives |
//! | `sources.rs` | a hash of these files |

mod body;
pub mod directive;
mod error;
pub mod instruction;
mod parse;
mod print;
mod resolve;
#[doc(hidden)]
pub mod sources;
mod special;
mod syntax;
mod token;
mod types;

pub use error::SyntaxError;
pub use special::Special;
pub use syntax::{
    Body, Constant, Declaration, Directive, Entity, Function, Initial, Instruction, Item, Label, Linkage,
    List, Location, Module, Name, Operand, Part, Pointee, Prototype, Register, Statement, Variable,
};
pub use token::{begins_as_ptx, is_plain};
pub use types::{Kind, Space, Type};

/// Reads a PTX text.
///
/// # Errors
/// The first line that has none of the known forms, or a name that is declared twice.
pub fn parse(text: &str) -> Result<Module<'_>, SyntaxError> {
    let module = read(text);
    match module.errors.first() {
        Some(error) => Err(error.clone()),
        None => Ok(module),
    }
}

/// Reads what can be read of a PTX text: of a version that this crate does not know, for example. What cannot
/// be read is among [`Module::errors`], and in functions it is [`Statement::Unread`].
#[must_use]
pub fn read(text: &str) -> Module<'_> {
    let mut module = parse::module(text);
    resolve::resolve(&mut module);
    module
}
