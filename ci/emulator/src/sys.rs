//! The runtime's own types and constants, generated from the installed headers.
#![expect(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    missing_docs,
    missing_debug_implementations,
    reason = "generated code, which keeps the names of the C headers"
)]
#![allow(
    unsafe_code,
    unpredictable_function_pointer_comparisons,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::ptr_as_ptr,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));

/// `Default` as C's `= {0}`, for the structures that the emulator fills in.
macro_rules! zeroed {
    ($($name:ident),*) => {
        $(impl Default for $name {
            fn default() -> Self {
                // SAFETY: the members are numbers, pointers and arrays of them.
                unsafe { ::core::mem::zeroed() }
            }
        })*
    };
}
zeroed!(
    cudaAccessPolicyWindow,
    cudaArraySparseProperties,
    cudaDeviceProp,
    cudaMemAllocNodeParams,
    cudaResourceDesc
);
