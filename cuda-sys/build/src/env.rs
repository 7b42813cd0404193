//! The environment as data: read once, passed to all functions, and recorded for cargo's rerun lines.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A set of environment variables that records which of them were read.
#[derive(Debug, Clone, Default)]
pub struct Env {
    vars: BTreeMap<String, OsString>,
    asked: RefCell<BTreeSet<String>>,
}

impl Env {
    /// Returns the variables of this process.
    #[must_use]
    pub fn from_process() -> Self {
        Self::from_vars(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))),
        )
    }

    /// Returns an environment with only these variables.
    pub fn from_vars<N: Into<String>, V: Into<OsString>>(vars: impl IntoIterator<Item = (N, V)>) -> Self {
        let vars = vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { vars, asked: RefCell::default() }
    }

    /// Returns the value of a variable. An empty one counts as unset, as everywhere in CUDA.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.asked.borrow_mut().insert(name.to_owned());
        self.vars.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Returns the value of a variable that holds a path.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// Returns the value of a variable that cargo sets for build scripts.
    pub(crate) fn cargo(&self, name: &str) -> crate::Result<&OsStr> {
        let value = self.vars.get(name).map(OsString::as_os_str);
        value.ok_or_else(|| {
            crate::Error::new(format!("{name} is not set: this must run from a cargo build script"))
        })
    }

    /// Returns the variables that were read so far, for cargo to watch.
    ///
    /// `PATH` is not among them. It differs between shells, editors and nested cargo runs, and each
    /// difference would rebuild all dependents. A toolkit once found remains in use.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.asked.borrow().iter().filter(|name| *name != "PATH").cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let env = Env::from_vars([("CUDA_PATH", ""), ("CUDA_HOME", "/x")]);
        assert_eq!(env.get("CUDA_PATH"), None);
        assert_eq!(env.path("CUDA_HOME"), Some(PathBuf::from("/x")));
    }

    #[test]
    fn what_was_asked_for_is_remembered_but_for_path() {
        let env = Env::from_vars([("B", "1")]);
        let _ = (env.get("B"), env.get("A"), env.get("PATH"));
        assert_eq!(env.asked(), ["A", "B"]);
    }
}
