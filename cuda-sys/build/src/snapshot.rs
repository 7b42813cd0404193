//! The bindings in the package, which need neither a toolkit nor libclang.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Error, Result, Version, cargo};

/// Writes the bindings from the package to `file`, and tells cargo their version. With `load` the functions
/// are those of `cuda_sys`'s module of that name, and there is a list of the errors' names.
pub(crate) fn write(kept: &Path, file: &Path, load: bool) -> Result<()> {
    cargo::watch_file(kept);
    let text = std::fs::read_to_string(kept).map_err(|error| Error::io("read", kept, &error))?;
    let number =
        text.split("CUDART_VERSION: u32 = ").nth(1).and_then(|rest| rest.split(';').next()?.parse().ok());
    let version = number.map(Version::from_number);
    let version = version.ok_or_else(|| Error::new(format!("{} has no CUDART_VERSION", kept.display())))?;
    let text = if load { loaded(&text) } else { text };
    std::fs::write(file, text).map_err(|error| Error::io("write", file, &error))?;
    cargo::cfgs(version);
    cargo::export("VERSION", version.number());
    println!("cargo::rustc-env=CUDART_INCLUDE=");
    Ok(())
}

/// Makes each `extern` block a `loaded!`, and adds the names of the errors.
fn loaded(text: &str) -> String {
    let mut loaded = text.replace("\nunsafe extern \"C\" {\n", "\nloaded! {\n");
    loaded.push_str("pub(crate) const ERROR_NAMES: &[(u32, &::core::ffi::CStr)] = &[\n");
    for (name, code) in text.lines().filter_map(error_code) {
        // Writing to a string does not fail.
        let _ = writeln!(loaded, "    ({code}, c\"{name}\"),");
    }
    loaded + "];\n"
}

/// Returns the name and the number of an error if the line defines one.
fn error_code(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix("pub const ")?.split_once(": cudaError = cudaError(")?;
    Some((name, value.strip_suffix(");")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_loaded_and_errors_have_names() {
        let text = "pub type F = ::core::option::Option<\n    unsafe extern \"C\" fn(),\n>;\nunsafe extern \
                    \"C\" {\n    pub fn cudaA() -> cudaError_t;\n}\npub const cudaErrorB: cudaError = \
                    cudaError(7);\n";
        let loaded = loaded(text);
        assert!(loaded.contains("\nloaded! {\n    pub fn cudaA() -> cudaError_t;\n}\n"), "{loaded}");
        assert!(loaded.contains("    unsafe extern \"C\" fn(),\n"), "{loaded}");
        assert!(loaded.ends_with("= &[\n    (7, c\"cudaErrorB\"),\n];\n"), "{loaded}");
    }

    #[test]
    fn every_function_of_the_package_is_in_a_block_of_its_own() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshot/bindings.rs"));
        let text = text.unwrap();
        let loaded = loaded(&text);
        let functions = text.lines().filter(|line| line.trim_start().starts_with("pub fn ")).count();
        assert!(functions > 300, "{functions}");
        assert_eq!(loaded.lines().filter(|line| *line == "loaded! {").count(), functions);
        assert!(!loaded.lines().any(|line| line == "unsafe extern \"C\" {"));
        assert!(loaded.contains("    (303, c\"cudaErrorSharedObjectInitFailed\"),\n"));
    }
}
