//! The bindings in the package, which need neither a toolkit nor libclang.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Error, Result, Version, cargo};

/// Writes the bindings from the package to `bindings.rs` in a folder, and returns their version. With
/// `load` the functions are in `functions.rs`, for `cuda_sys`'s module of that name.
pub(crate) fn write(kept: &Path, out: &Path, load: bool) -> Result<Version> {
    cargo::watch_file(kept);
    let text = std::fs::read_to_string(kept).map_err(|error| Error::io("read", kept, &error))?;
    let number =
        text.split("CUDART_VERSION: u32 = ").nth(1).and_then(|rest| rest.split(';').next()?.parse().ok());
    let version = number.map(Version::from_number);
    let version = version.ok_or_else(|| Error::new(format!("{} has no CUDART_VERSION", kept.display())))?;
    let write = |name: &str, text: &str| {
        let file = out.join(name);
        std::fs::write(&file, text).map_err(|error| Error::io("write", &file, &error))
    };
    if load {
        let (others, functions) = split(&text);
        write("bindings.rs", &others)?;
        write("functions.rs", &functions)?;
    } else {
        write("bindings.rs", &text)?;
    }
    cargo::cfgs(version);
    cargo::export("VERSION", version.number());
    println!("cargo::rustc-env=CUDART_INCLUDE=");
    Ok(version)
}

/// Returns all but the functions, and each function in a `loaded!` with the names of the errors.
fn split(text: &str) -> (String, String) {
    let (mut others, mut functions) = (String::new(), String::new());
    let (mut inside, mut begins) = (false, false);
    for line in text.lines() {
        if line == "unsafe extern \"C\" {" {
            (inside, begins) = (true, true);
        } else if !inside {
            others.extend([line, "\n"]);
        } else if line == "}" {
            inside = false;
        } else {
            functions.extend([if begins { "loaded! {\n" } else { "" }, line, "\n"]);
            begins = line.ends_with(';');
            functions.push_str(if begins { "}\n" } else { "" });
        }
    }
    functions.push_str("pub(super) const ERROR_NAMES: &[(u32, &CStr)] = &[\n");
    for (name, code) in text.lines().filter_map(error_code) {
        // Writing to a string does not fail.
        let _ = writeln!(functions, "    ({code}, c\"{name}\"),");
    }
    (others, functions + "];\n")
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
    fn functions_are_apart_and_errors_have_names() {
        let first = "pub type F = ::core::option::Option<\n    unsafe extern \"C\" fn(),\n>;\n";
        let [one, other] = [
            "    pub fn cudaA() -> cudaError_t;\n",
            "    /// Since CUDA 13.1.\n    pub fn cudaC(\n        a: u32,\n    ) -> cudaError_t;\n",
        ];
        let last = "pub const cudaErrorB: cudaError = cudaError(7);\n";
        let text = &format!("{first}unsafe extern \"C\" {{\n{one}{other}}}\n{last}");
        let (others, functions) = split(text);
        assert_eq!(others, format!("{first}{last}"));
        let names = "pub(super) const ERROR_NAMES: &[(u32, &CStr)] = &[\n    (7, c\"cudaErrorB\"),\n];\n";
        assert_eq!(functions, format!("loaded! {{\n{one}}}\nloaded! {{\n{other}}}\n{names}"));
    }

    #[test]
    fn every_function_of_the_package_is_in_a_macro_of_its_own() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshot/bindings.rs"));
        let text = text.unwrap();
        let (others, functions) = split(&text);
        let count = text.lines().filter(|line| line.trim_start().starts_with("pub fn ")).count();
        assert!(count > 300, "{count}");
        assert_eq!(functions.lines().filter(|line| *line == "loaded! {").count(), count);
        assert!(!others.contains("pub fn "));
        assert!(functions.contains("    (303, c\"cudaErrorSharedObjectInitFailed\"),\n"));
    }
}
