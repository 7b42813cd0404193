//! Reads the headers that declare the kernels: bindgen over them, as C++, with CUDA's words defined away.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bindgen::callbacks::ParseCallbacks;
use bindgen::{CodegenConfig, EnumVariation, Formatter};

use crate::Error;
use crate::prototype::GLOBAL_STANDS_FOR;

/// What bindgen made of the headers, and every file that it read on the way.
#[derive(Debug)]
pub(crate) struct Bindings {
    pub(crate) text: String,
    pub(crate) files: Vec<PathBuf>,
}

/// Generates Rust for what these headers declare; `arguments` are clang's, include folders among them.
pub(crate) fn bind(headers: &[PathBuf], arguments: &[String]) -> Result<Bindings, Error> {
    let files = Rc::new(RefCell::new(Vec::new()));
    let mut builder = bindgen::Builder::default()
        .header_contents("kernels.hpp", &wrapper(headers)?)
        .clang_args(["-x", "c++", "-std=c++17", "-w"])
        .clang_args(arguments)
        .with_codegen_config(CodegenConfig::TYPES | CodegenConfig::VARS | CodegenConfig::FUNCTIONS)
        .default_enum_style(EnumVariation::NewType { is_bitfield: false, is_global: false })
        .enable_function_attribute_detection()
        .derive_default(false)
        .generate_comments(true)
        .use_core()
        .formatter(Formatter::None)
        .parse_callbacks(Box::new(Includes { files: Rc::clone(&files) }));
    for header in headers {
        builder = builder.allowlist_file(escape(&header.to_string_lossy()));
    }
    let bindings = builder.generate().map_err(|error| {
        Error::Header(format!(
            "the kernel headers could not be read as plain C++ ({}): {error}",
            headers.iter().map(|header| header.display().to_string()).collect::<Vec<_>>().join(", ")
        ))
    })?;
    let text = bindings.to_string();
    drop(bindings);
    let files = files.borrow().iter().map(PathBuf::from).collect();
    Ok(Bindings { text, files })
}

/// A file that includes the headers after CUDA's own and gives `__global__` a meaning that bindgen reports.
fn wrapper(headers: &[PathBuf]) -> Result<String, Error> {
    let mut text = format!(
        "#include <cuda_runtime.h>\n\
         #undef __global__\n#define __global__ {GLOBAL_STANDS_FOR}\n\
         #undef __launch_bounds__\n#define __launch_bounds__(...)\n\
         #undef __cluster_dims__\n#define __cluster_dims__(...)\n\
         #undef __grid_constant__\n#define __grid_constant__\n"
    );
    for header in headers {
        let name = header.to_str().ok_or_else(|| {
            Error::Header(format!("{}: a header's path must be readable text", header.display()))
        })?;
        text.push_str(&format!("#include {:?}\n", Path::new(name)));
    }
    Ok(text)
}

/// A path as a regular expression that matches only itself.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if !character.is_alphanumeric() && !"/_ ".contains(character) && character.is_ascii() {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[derive(Debug)]
struct Includes {
    files: Rc<RefCell<Vec<String>>>,
}

impl ParseCallbacks for Includes {
    fn header_file(&self, name: &str) {
        self.files.borrow_mut().push(name.to_owned());
    }

    fn include_file(&self, name: &str) {
        self.files.borrow_mut().push(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_words_are_defined_after_cudas_own_headers() {
        let text = wrapper(&[PathBuf::from("/k/a b.cuh")]).unwrap();
        let runtime = text.find("#include <cuda_runtime.h>").unwrap();
        let global = text.find("#define __global__ __attribute__((noreturn))").unwrap();
        let ours = text.find("#include \"/k/a b.cuh\"").unwrap();
        assert!(runtime < global && global < ours, "{text}");
    }

    #[test]
    fn a_path_with_signs_matches_only_itself() {
        assert_eq!(escape("/a-b/c++/x.cuh"), "/a\\-b/c\\+\\+/x\\.cuh");
    }
}
