//! The one library of the process.

use core::ffi::CStr;
use std::ffi::CString;
use std::sync::OnceLock;

use super::find::{self, Library};
use super::register;

/// Returns the library, which the first call loads, or why there is none.
pub(super) fn library() -> Result<&'static Library, &'static CStr> {
    static LIBRARY: OnceLock<Result<Library, CString>> = OnceLock::new();
    let loaded = LIBRARY.get_or_init(|| {
        let loaded = find::load().and_then(|library| register::replay(&library).map(|()| library));
        loaded.map_err(|why| CString::new(why.replace('\0', " ")).unwrap_or_default())
    });
    loaded.as_ref().map_err(CString::as_c_str)
}

/// Returns why there is no library, which this loads if nothing has.
pub(crate) fn why_none() -> Option<String> {
    library().err().map(|why| why.to_string_lossy().into_owned())
}
