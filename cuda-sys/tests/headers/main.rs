//! The bindings against the headers that they are made from.
//!
//! Not in the bundle: these tests need the toolkit's headers and a C++ compiler.

mod against_c;
mod bindings;
