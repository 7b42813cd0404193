//! The abstract domain: affine expressions over symbols, linear constraints between symbols, and the states
//! that have them.

mod affine;
mod bound;
mod join;
mod point;
mod quotient;
mod stack;
mod state;

pub(crate) use affine::{Form, Symbol, Terms, gcd, remainder};
pub(crate) use stack::Kept;
pub(crate) use state::{Base, Between, Extreme, State, Symbols, Test, Value, range_of};
