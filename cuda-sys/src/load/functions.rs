//! The functions of the bindings that return a code, as the build writes them: all but three.

#![allow(
    missing_docs,
    non_snake_case,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated from C headers"
)]

use core::ffi::CStr;

use super::table::loaded;
use crate::bindings::*;

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
