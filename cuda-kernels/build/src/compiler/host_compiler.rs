//! The C++ compiler that nvcc runs for the host's part of a source file.

use std::path::Path;
use std::process::Command;

use crate::Error;

/// Returns the error of a failed compilation or, if nvcc had no C++ compiler to run, that reason. nvcc itself
/// only reports that it cannot preprocess properties.
pub(crate) fn explained(error: Error) -> Error {
    if !matches!(error, Error::Compile(..)) {
        return error;
    }
    let compiler = cc::Build::new().cpp(true).cargo_metadata(false).cargo_warnings(false).try_get_compiler();
    compiler.ok().and_then(|compiler| not_runnable(compiler.path())).unwrap_or(error)
}

/// Returns the error if a compiler does not run.
fn not_runnable(compiler: &Path) -> Option<Error> {
    let why = match Command::new(compiler).arg("--version").output() {
        Ok(output) if output.status.success() => return None,
        Ok(output) => output.status.to_string(),
        Err(error) => error.to_string(),
    };
    Some(Error::Toolkit(format!(
        "nvcc needs a C++ compiler on this machine, and {} does not run ({why}): install one (Debian: g++), \
         or set CXX to one, or unset CXX if it is wrong",
        compiler.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_does_not_run_is_named_with_what_to_set() {
        let said = not_runnable(Path::new("/no/such/c++")).unwrap().to_string();
        assert!(said.contains("/no/such/c++ does not run (No such file") && said.contains("CXX"), "{said}");
        assert!(not_runnable(Path::new("false")).unwrap().to_string().contains("exit status"));
        assert!(not_runnable(Path::new("cc")).is_none());
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        assert!(matches!(explained(Error::Arch("sm_1".to_owned())), Error::Arch(_)));
    }
}
