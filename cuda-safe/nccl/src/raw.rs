//! NCCL's functions, loaded at run time.
//!
//! The library is searched for when it is first needed: in the folder `lib` of `NCCL_PATH`, if that is set,
//! else as `libnccl.so.2` where the loader looks. It is never unloaded.
#![expect(unsafe_code, reason = "loads a library, and reads its messages")]

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use crate::error::{AtCaller as _, Error, ErrorKind, Result};

/// The declarations of `nccl.h`, by bindgen.
mod bindings {
    #![allow(
        missing_docs,
        non_camel_case_types,
        non_snake_case,
        non_upper_case_globals,
        reason = "generated"
    )]
    #![allow(dead_code, unreachable_pub, unsafe_code, unused, clippy::all, reason = "generated from C")]
    #![allow(missing_debug_implementations, unsafe_op_in_unsafe_fn, reason = "generated from C")]
    #![allow(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block, reason = "generated")]
    #![allow(clippy::missing_safety_doc, clippy::ptr_as_ptr, reason = "generated from C")]
    #![allow(clippy::allow_attributes_without_reason, clippy::cast_possible_truncation, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/nccl.rs"));
}

pub(crate) use bindings::*;

/// Returns NCCL's functions.
///
/// # Errors
/// `Missing` if the library is not there or lacks a function.
#[track_caller]
pub(crate) fn nccl() -> Result<&'static Nccl> {
    static NCCL: OnceLock<std::result::Result<Nccl, String>> = OnceLock::new();
    let loaded = NCCL.get_or_init(|| {
        let name = match std::env::var_os("NCCL_PATH") {
            Some(root) => std::path::Path::new(&root).join("lib/libnccl.so.2").into_os_string(),
            None => "libnccl.so.2".into(),
        };
        // SAFETY: NCCL's own functions at load and unload have no requirements, and the signatures are those
        // of its header.
        unsafe { Nccl::new(name) }.map_err(|error| error.to_string())
    });
    loaded.as_ref().map_err(|why| Error::new(ErrorKind::Missing(why.clone()))).at_caller()
}

/// Converts a status to a result. `comm` may be null.
#[track_caller]
pub(crate) fn checked(api: &'static str, comm: ncclComm_t, status: ncclResult_t) -> Result<()> {
    if status == ncclSuccess {
        return Ok(());
    }
    // SAFETY: NCCL accepts a live communicator or null.
    let text = unsafe { nccl()?.ncclGetLastError(comm) };
    let message = if text.is_null() {
        String::new()
    } else {
        // SAFETY: NCCL returns a C string, which lives until its next call on this thread.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
    };
    let status = c_int::try_from(status.0).unwrap_or(c_int::MAX);
    Err(Error::new(ErrorKind::Nccl { api, status, message }))
}
