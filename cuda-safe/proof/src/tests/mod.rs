//! Tests that look inside: the arithmetic against direct evaluation, and proofs against threads that run.

mod arithmetic;
mod drawn;
mod filetests;
mod forms;
mod headers;
mod meaning;
mod oracle;
mod rounds;
mod runs;
#[path = "../../tests/kernels/spec.rs"]
mod spec;
mod work;
