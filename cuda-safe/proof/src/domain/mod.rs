//! The abstract domain: affine expressions over symbols, linear constraints between symbols, and the states
//! that have them.

mod affine;
mod assume;
mod bound;
mod constraint;
mod interval;
mod join;
mod predicate;
mod project;
mod quotient;
mod stack;
mod state;
mod symbol;
mod witness;

pub(crate) use affine::{Affine, Symbol, gcd, remainder};
pub(crate) use interval::{range_of, signed};
pub(crate) use predicate::Test;
pub(crate) use stack::Kept;
pub(crate) use state::{State, Value};
pub(crate) use symbol::{Extreme, FloatBounds, Region, Symbols};
