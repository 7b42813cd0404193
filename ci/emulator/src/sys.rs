//! The runtime's own types and constants: the bindings of `cudart-sys`, without its functions.
#![expect(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    missing_docs,
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

impl cudaMemLocation {
    /// The number of the device or of the part of the host's memory.
    pub(crate) fn id(&self) -> core::ffi::c_int {
        // SAFETY: all bytes are a number.
        unsafe { self.__bindgen_anon_1.id }
    }
}
