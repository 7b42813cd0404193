//! The C++ compiler that nvcc runs for the host's part of a source file.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::Error;

/// Returns the error of a failed compilation or, if nvcc had no C++ compiler to run, that reason. nvcc itself
/// only reports that it cannot preprocess properties. `named` is the compiler that nvcc's variable names.
pub(crate) fn explained(error: Error, named: Option<&OsStr>) -> Error {
    if !matches!(error, Error::Compile(..)) {
        return error;
    }
    if let Some(named) = named.map(Path::new) {
        // The variable may name a folder.
        return not_runnable(named, "NVCC_CCBIN").filter(|_| !named.is_dir()).unwrap_or(error);
    }
    let compiler = cc::Build::new().cpp(true).cargo_metadata(false).cargo_warnings(false).try_get_compiler();
    compiler.ok().and_then(|compiler| not_runnable(compiler.path(), "CXX")).unwrap_or(error)
}

/// Returns the error if a compiler does not run. `variable` selects one.
fn not_runnable(compiler: &Path, variable: &str) -> Option<Error> {
    let why = match Command::new(compiler).arg("--version").output() {
        Ok(output) if output.status.success() => return None,
        Ok(output) => output.status.to_string(),
        Err(error) => error.to_string(),
    };
    Some(Error::Toolkit(format!(
        "nvcc needs a C++ compiler on this machine, and {} does not run ({why}): install one (Debian: g++), \
         or set {variable} to one, or unset {variable} if it is wrong",
        compiler.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_does_not_run_is_named_with_what_to_set() {
        let said = not_runnable(Path::new("/no/such/c++"), "CXX").unwrap().to_string();
        assert!(said.contains("/no/such/c++ does not run (No such file") && said.contains("CXX"), "{said}");
        assert!(not_runnable(Path::new("false"), "CXX").unwrap().to_string().contains("exit status"));
        assert!(not_runnable(Path::new("cc"), "CXX").is_none());
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        assert!(matches!(explained(Error::Arch("sm_1".to_owned()), None), Error::Arch(_)));
    }
}
