//! The transfer functions: what each step does to a state.

mod access;
mod choice;
mod float;
mod integer;
mod predicate;
mod step;
