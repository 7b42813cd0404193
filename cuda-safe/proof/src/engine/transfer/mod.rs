//! The transfer functions: what each step does to a state.

mod access;
mod choice;
mod float;
mod guard;
mod integer;
mod step;
