//! The abstract domain: affine expressions over symbols, linear constraints between symbols, and the states
//! that have them.

mod affine;
mod bound;
mod join;
mod quotient;
mod stack;
mod state;
mod witness;

pub(crate) use affine::{Affine, Symbol, Terms, gcd, remainder};
pub(crate) use stack::Kept;
pub(crate) use state::{Extreme, FloatBounds, Region, State, Symbols, Test, Value, range_of};
