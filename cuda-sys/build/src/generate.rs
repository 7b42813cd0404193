//! Generates Rust for the runtime's headers with bindgen.

use std::path::Path;

use bindgen::callbacks::ParseCallbacks;
use bindgen::{EnumVariation, RustEdition, RustTarget};

use crate::{Env, Error, Result, Toolkit, aliases, comments, prepare_libclang};

/// The declarations of the headers that belong to CUDA, and not to the C library.
const ITEMS: &str = "cuda.*|CUDA.*|CU.*|dim3";

/// The types of vectors, which kernels use and no function of the runtime takes.
const VECTORS: &str = "u?(char|short|int|long|longlong)[1-4]|(float|double)[1-4]|[a-z]+4_(16|32)a";

/// Headers of the runtime that `cuda_runtime_api.h` does not include. Some toolkits do not have them.
const EXTRA_HEADERS: [&str; 2] = ["library_types.h", "cuda_profiler_api.h"];

/// The bindings to generate.
///
/// Names are C's, unchanged. Enums are newtypes, so a value that a newer driver returns is an ordinary
/// value and not undefined behaviour. All types derive or implement `Debug`, structs implement `Default`
/// (all zero, as C's `= {0}`), and all types without a union implement `PartialEq`.
#[derive(Debug, Clone)]
pub struct Bindings {
    comments: bool,
    layout_tests: bool,
}

impl Default for Bindings {
    fn default() -> Self {
        Self { comments: true, layout_tests: true }
    }
}

impl Bindings {
    /// Returns complete bindings: functions, types, the headers' comments, and layout tests.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves the headers' own text and the layout tests out, for a snapshot that may be published.
    #[must_use]
    pub fn signatures_only(mut self) -> Self {
        self.comments = false;
        self.layout_tests = false;
        self
    }

    /// Writes the bindings for `toolkit` to `file`.
    ///
    /// # Errors
    /// No libclang is found, the headers do not parse, or the file cannot be written.
    pub fn generate(&self, env: &Env, toolkit: &Toolkit, file: &Path) -> Result<()> {
        let arguments = prepare_libclang(env)?;
        let generated = self.builder(toolkit, arguments)?.generate();
        let bindings = generated.map_err(|error| parse_error(toolkit, &error.to_string()))?.to_string();
        let header = self.headers(toolkit)?;
        let bound = aliases::bound_names(&bindings);
        let aliases = aliases::aliases(&header, &bound);
        let bindings = comments::link_known_names(&bindings, &bound);
        let head = format!(
            "// What the headers of CUDA {} declare, by bindgen. Do not edit.\n\n",
            toolkit.version()
        );
        std::fs::write(file, head + &bindings + &aliases).map_err(|error| Error::io("write", file, &error))
    }

    fn builder(&self, toolkit: &Toolkit, arguments: Vec<String>) -> Result<bindgen::Builder> {
        let mut source = String::from("#include <cuda_runtime_api.h>\n");
        for extra in EXTRA_HEADERS {
            source.push_str(&format!("#if __has_include(<{extra}>)\n#include <{extra}>\n#endif\n"));
        }
        // The oldest compiler with the edition, so that the output does not depend on the running
        // compiler.
        let target = RustTarget::stable(85, 0).map_err(|error| Error::new(error.to_string()))?;
        Ok(bindgen::Builder::default()
            .header_contents("cudart.h", &source)
            .clang_args(toolkit.includes().iter().map(|folder| format!("-I{}", folder.display())))
            .clang_args(arguments)
            .allowlist_item(ITEMS)
            .allowlist_item(VECTORS)
            .default_enum_style(EnumVariation::NewType { is_bitfield: false, is_global: true })
            .prepend_enum_name(false)
            .derive_debug(true)
            .impl_debug(true)
            .derive_default(true)
            .derive_partialeq(true)
            .use_core()
            .rust_target(target)
            .rust_edition(RustEdition::Edition2024)
            .disable_header_comment()
            .layout_tests(self.layout_tests)
            .generate_comments(self.comments)
            .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
            .parse_callbacks(Box::new(Rustdoc)))
    }

    /// Returns the text of the headers that define aliases.
    fn headers(&self, toolkit: &Toolkit) -> Result<String> {
        let mut text = String::new();
        for header in ["cuda_runtime_api.h", "driver_types.h"] {
            let Some(path) =
                toolkit.includes().iter().map(|folder| folder.join(header)).find(|path| path.is_file())
            else {
                continue;
            };
            let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, &error))?;
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
        Ok(text)
    }
}

/// Converts the headers' comments to rustdoc.
#[derive(Debug)]
struct Rustdoc;

impl ParseCallbacks for Rustdoc {
    fn process_comment(&self, comment: &str) -> Option<String> {
        Some(comments::to_markdown(comment))
    }
}

fn parse_error(toolkit: &Toolkit, why: &str) -> Error {
    let mut error = Error::new(format!(
        "bindgen cannot read {} (CUDA {})",
        toolkit.header().display(),
        toolkit.version()
    ));
    for line in why.lines().filter(|line| !line.trim().is_empty()) {
        error = error.detail(line);
    }
    error
}

#[cfg(test)]
mod tests;
