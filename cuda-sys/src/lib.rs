//! Raw bindings to the CUDA Runtime API.
#![allow(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::missing_safety_doc,
    clippy::ptr_as_ptr,
    rustdoc::all,
    reason = "generated code"
)]
include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
