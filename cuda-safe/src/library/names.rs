//! Names of kernels and variables, and compiler messages in errors.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use crate::error::{Detail, Error, Result};

/// Returns the name as a C string.
#[track_caller]
pub(super) fn c_name(api: &'static str, name: &str) -> Result<CString> {
    match CString::new(name) {
        Ok(name) => Ok(name),
        Err(_) => Err(Error::refused(api, Detail::NulByte { what: "the name" })),
    }
}

/// Adds the compiler's message to the error, if the compiler wrote one.
pub(super) fn explained(error: Error, log: Option<String>) -> Error {
    match log {
        Some(log) => error.with_detail(Detail::Compiler { log }),
        None => error,
    }
}

/// Returns a copy of the name that lives as long as the program. Equal names share one copy.
pub(super) fn lasting(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let lasting = Box::leak(name.to_owned().into_boxed_str());
    names.insert(lasting);
    lasting
}

#[cfg(test)]
mod tests {
    use super::lasting;

    #[test]
    fn a_name_is_kept_once() {
        let (first, second) = (lasting("scale"), lasting(&["sc", "ale"].concat()));
        assert_eq!((first, first.as_ptr()), ("scale", second.as_ptr()));
    }
}
