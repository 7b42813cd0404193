//! Tests that look inside: the arithmetic against direct evaluation, and proofs against threads that run.

mod arithmetic;
mod barriers;
mod clamps;
mod doubtful;
mod drawn;
mod fooled;
mod forms;
mod headers;
mod meaning;
mod oracle;
mod relations;
mod rounds;
mod runs;
mod searches;
#[path = "../../tests/kernels/spec.rs"]
mod spec;
mod stack;
mod work;
