//! Launches of kernels, by streams and by graphs: arguments, attributes, flags, code and variables.

mod arguments;
mod clusters;
mod conditional;
mod flags;
mod gate;
mod graph;
mod heap;
mod launch;
mod proofs;
mod symbols;
