//! The abstract domain: affine expressions over symbols, linear constraints between symbols, and the states
//! that have them.

mod affine;
mod bound;
mod interval;
mod join;
mod quotient;
mod stack;
mod state;
mod witness;

pub(crate) use affine::{Affine, Symbol, Terms, gcd, remainder};
pub(crate) use interval::{range_of, signed};
pub(crate) use stack::Kept;
pub(crate) use state::{Extreme, FloatBounds, Region, State, Symbols, Test, Value};
