//! The Rust text of a set of kernels: bindgen's types and constants, and a typed handle for each prototype.

use std::fmt::Write as _;

use quote::ToTokens;
use syn::{Item, ItemStruct};

use crate::Error;
use crate::layout::{Layouts, Plain};
use crate::prototype::{self, Prototype};

/// Everything goes into a module of its own, because an included file cannot open with inner attributes.
const HEAD: &str = r#"// Generated from CUDA headers by cuda-kernels-build.
#[allow(
    non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code, missing_docs, unreachable_pub,
    unsafe_code, missing_debug_implementations, improper_ctypes, clippy::all, clippy::pedantic, clippy::nursery,
    clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block, clippy::missing_safety_doc,
    clippy::ptr_as_ptr, clippy::allow_attributes_without_reason, rustdoc::all,
    reason = "generated from C++ headers, whose names it keeps"
)]
mod generated {
"#;

const TAIL: &str =
    "}\n#[allow(unused_imports, reason = \"a header may declare nothing\")]\npub use generated::*;\n";

/// Turns the text that bindgen generated into the text that a crate includes.
pub(crate) fn generate(bindings: &str) -> Result<String, Error> {
    let file = syn::parse_file(bindings)
        .map_err(|error| Error::Header(format!("what bindgen generated is not Rust: {error}")))?;
    let layouts = Layouts::of(&file.items);
    let mut text = String::from(HEAD);
    for item in &file.items {
        match item {
            Item::ForeignMod(block) => {
                for kernel in prototype::kernels(block)? {
                    handle(&mut text, &kernel);
                }
            }
            Item::Struct(item) => structure(&mut text, item, layouts.plain(&item.ident.to_string())),
            Item::Union(item) => {
                line(&mut text, item);
                by_value(&mut text, &item.ident.to_string(), item.generics.params.is_empty());
            }
            other => line(&mut text, other),
        }
    }
    text.push_str(TAIL);
    Ok(text)
}

fn line(text: &mut String, item: &impl ToTokens) {
    text.push_str(&item.to_token_stream().to_string());
    text.push('\n');
}

fn structure(text: &mut String, item: &ItemStruct, plain: Plain) {
    let derives = match plain {
        Plain::Pod => "Pod, ::cuda_safe::bytemuck::Zeroable",
        Plain::Padded => "AnyBitPattern",
        Plain::No => "",
    };
    if !derives.is_empty() {
        text.push_str("#[derive(::cuda_safe::bytemuck::");
        text.push_str(derives);
        text.push_str(")]\n#[bytemuck(crate = \"::cuda_safe::bytemuck\")]\n");
    }
    line(text, item);
    by_value(text, &item.ident.to_string(), item.generics.params.is_empty());
}

/// Lets a type of the header be a kernel argument by value.
fn by_value(text: &mut String, name: &str, concrete: bool) {
    if concrete {
        text.push_str(
            "// SAFETY: C's layout, as bindgen's checks assert, and the very type of the prototype.\n",
        );
        text.push_str(&format!("unsafe impl ::cuda_safe::launch::ByValue for {name} {{}}\n"));
    }
}

fn handle(text: &mut String, kernel: &Prototype) {
    let Prototype { name, symbol, parameters, names, docs } = kernel;
    for line in docs {
        text.push_str(&format!("#[doc = {line:?}]\n"));
    }
    let mut signature = String::new();
    for (name, parameter) in names.iter().zip(parameters) {
        let comma = if signature.is_empty() { "" } else { ", " };
        let _ = write!(signature, "{comma}{name}: {parameter}");
    }
    let gap = if docs.is_empty() { "" } else { "\\n\\n" };
    text.push_str(&format!("#[doc = \"{gap} Parameters: `({signature})`.\"]\n"));
    let mut types = parameters.join(", ");
    if parameters.len() == 1 {
        types.push(',');
    }
    text.push_str(&format!(
        "pub static {name}: ::cuda_safe::launch::Kernel<({types})> = {{\n    \
         unsafe extern \"C\" {{ #[link_name = {symbol:?}] fn stub(); }}\n    \
         // SAFETY: the stub that nvcc made for this kernel, with the parameter types of its prototype.\n    \
         unsafe {{ ::cuda_safe::launch::Kernel::from_stub({name:?}, stub) }}\n}};\n"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDINGS: &str = r#"
        pub const MATRIX_TILE: u32 = 16;
        #[doc = " A point."]
        #[repr(C)]
        #[derive(Debug, Copy, Clone)]
        pub struct Point { pub x: f32, pub y: f32, pub z: f32 }
        const _: () = { ["Size of Point"][::core::mem::size_of::<Point>() - 12usize]; };
        #[repr(C)]
        #[derive(Debug, Copy, Clone)]
        pub struct Gap { pub a: u8, pub b: f32 }
        #[repr(C)]
        #[derive(Debug, Copy, Clone)]
        pub struct View { pub data: *mut f32 }
        unsafe extern "C" {
            #[doc = " Says \"hello\"."]
            #[link_name = "\u{1}_Z4moveP5PointS_j"]
            pub fn move_(points: *mut Point, by: Point, count: ::core::ffi::c_uint) -> !;
            pub fn nothing() -> !;
            pub fn host_function(n: ::core::ffi::c_int);
        }
    "#;

    #[test]
    fn a_kernel_becomes_a_static_whose_type_is_its_parameter_list() {
        let text = generate(BINDINGS).unwrap();
        assert!(
            text.contains("pub static move_: ::cuda_safe::launch::Kernel<(*mut Point, Point, u32)> ="),
            "{text}"
        );
        assert!(text.contains(r#"#[link_name = "_Z4moveP5PointS_j"] fn stub();"#), "{text}");
        assert!(text.contains(r#"#[doc = " Says \"hello\"."]"#), "{text}");
        assert!(text.contains("Parameters: `(points: *mut Point, by: Point, count: u32)`."), "{text}");
        assert!(text.contains("pub static nothing: ::cuda_safe::launch::Kernel<()> ="), "{text}");
    }

    #[test]
    fn host_functions_have_no_handle() {
        assert!(!generate(BINDINGS).unwrap().contains("host_function"));
    }

    #[test]
    fn types_constants_and_layout_checks_are_kept() {
        let text = generate(BINDINGS).unwrap();
        assert!(text.contains("pub const MATRIX_TILE : u32 = 16"), "{text}");
        assert!(text.contains("size_of :: < Point > () - 12usize"), "{text}");
        assert!(text.contains("unsafe impl ::cuda_safe::launch::ByValue for View {}"), "{text}");
    }

    #[test]
    fn only_structs_of_plain_numbers_get_derives() {
        let text = generate(BINDINGS).unwrap();
        let derive_of = |name: &str| {
            let at = text.find(&format!("pub struct {name} ")).unwrap();
            let start = text[..at].rfind("\n#[derive(::cuda_safe").map_or(0, |start| start + 1);
            let between = &text[start..at];
            if start == 0 || between.contains('}') {
                String::new()
            } else {
                between.lines().next().unwrap().into()
            }
        };
        assert_eq!(
            derive_of("Point"),
            "#[derive(::cuda_safe::bytemuck::Pod, ::cuda_safe::bytemuck::Zeroable)]"
        );
        assert_eq!(derive_of("Gap"), "#[derive(::cuda_safe::bytemuck::AnyBitPattern)]");
        assert_eq!(derive_of("View"), "");
    }

    #[test]
    fn the_text_is_rust() {
        syn::parse_file(&generate(BINDINGS).unwrap()).unwrap();
        syn::parse_file(&generate("").unwrap()).unwrap();
    }

    #[test]
    fn a_broken_input_is_an_error() {
        assert!(matches!(generate("pub fn ("), Err(Error::Header(_))));
    }
}
