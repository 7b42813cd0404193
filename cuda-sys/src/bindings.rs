//! The bindings that `build.rs` generates from the toolkit's headers.

#![allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unpredictable_function_pointer_comparisons,
    unsafe_code,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated from C headers"
)]

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
