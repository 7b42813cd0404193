//! The transfer functions: what each step does to a state.

mod access;
mod float;
mod predicate;
mod step;

pub(crate) use step::signed;
