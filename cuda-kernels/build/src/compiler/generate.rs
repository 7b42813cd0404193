//! Generates the Rust text of a set of kernels: bindgen's types and constants, and a typed handle for
//! each prototype and variable.

use std::fmt::Write as _;

use syn::Item;

use crate::Error;
use crate::compiler::handle::{handle, proof, same_sizes, with_contract};
use crate::compiler::layout::Layouts;
use crate::compiler::names::Names;
use crate::compiler::placement::{Contents, Placement};
use crate::compiler::prototype;
use crate::compiler::structure::{by_value, is_copy, passed_by_value, structure};
use crate::compiler::symbol::{self, Said, Symbol};
use crate::compiler::text::line;
use crate::compiler::variables::{module, uses};

/// The head of the text. Everything is in a module, because an included file cannot begin with inner
/// attributes.
const HEAD: &str = r#"// Generated from CUDA headers by cuda-kernels-build.
#[allow(
    non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code, missing_docs, unreachable_pub,
    unsafe_code, unsafe_op_in_unsafe_fn, missing_debug_implementations, improper_ctypes,
    unpredictable_function_pointer_comparisons, clippy::all, clippy::pedantic, clippy::nursery,
    clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block, clippy::missing_safety_doc,
    clippy::ptr_as_ptr, clippy::allow_attributes_without_reason, rustdoc::all,
    reason = "generated from C++ headers, whose names it keeps"
)]
mod __generated {
"#;

const TAIL: &str = "}\n\
    #[allow(unused_imports, unreachable_pub, reason = \"a header may declare nothing\")]\n\
    pub use __generated::*;\n";

/// Generates the text that a crate includes.
pub(crate) fn generate(contents: &Contents, placement: &Placement) -> Result<String, Error> {
    let layouts = Layouts::of(&contents.items);
    let passed = passed_by_value(&contents.items, &layouts)?;
    let mut text = String::from(HEAD) + &placement.links;
    exports(&mut text, &placement.names);
    for (at, unit) in placement.units.iter().enumerate() {
        let symbols: Vec<&Symbol> = unit.iter().filter_map(|one| contents.symbols.get(*one)).collect();
        module(&mut text, at, &symbols, placement)?;
    }
    for item in &contents.items {
        match item {
            Item::ForeignMod(block) => {
                for mut kernel in prototype::kernels(block, &layouts)? {
                    let Said { variables, parameters } = symbol::uses(&kernel.docs, &kernel.names);
                    let declared = variables.clone();
                    let uses = uses(&kernel, variables, contents, placement)?;
                    let found = placement.uses.get(&kernel.symbol).map_or(&[][..], Vec::as_slice);
                    kernel.read_only(&parameters, found)?;
                    let proof = proof(&kernel, &layouts, &declared, contents, placement);
                    let proof = with_contract(&kernel, &layouts, proof)?;
                    let code = placement.code(&kernel)?;
                    handle(&mut text, &kernel, code, uses.as_deref(), proof);
                    for sizes in placement.sizes.get(&kernel.symbol).into_iter().flatten() {
                        same_sizes(&mut text, &kernel, sizes);
                    }
                }
            }
            Item::Struct(item) => {
                let name = item.ident.to_string();
                if passed.contains(&name) && !is_copy(item) {
                    text.push_str("#[derive(Clone, Copy)]\n");
                    line(&mut text, item);
                    by_value(&mut text, &name, true);
                } else {
                    structure(&mut text, item, layouts.plain(&name), layouts.has_solid_fields(&name));
                }
            }
            Item::Union(item) => {
                line(&mut text, item);
                by_value(&mut text, &item.ident.to_string(), item.generics.params.is_empty());
            }
            Item::Const(item) if symbol::is_variable(&item.ident.to_string(), &contents.symbols) => {}
            other => line(&mut text, other),
        }
    }
    text.push_str(TAIL);
    Ok(text)
}

/// Makes a program link what is exported, even if it uses none of it: two exports of one name then do not
/// link.
fn exports(text: &mut String, names: &Names) {
    let exported = names.exported();
    if exported.is_empty() {
        return;
    }
    let mut declared = String::new();
    for (at, name) in exported.iter().enumerate() {
        let _ = write!(declared, "#[link_name = {name:?}] fn __export_{at}(); ");
    }
    let all: Vec<_> = (0..exported.len()).map(|at| format!("__export_{at}")).collect();
    let _ = write!(
        text,
        "#[used]\nstatic __EXPORTS: [unsafe extern \"C\" fn(); {}] = {{\n    \
         unsafe extern \"C\" {{ {declared}}}\n    [{}]\n}};\n",
        all.len(),
        all.join(", ")
    );
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;

    use super::*;
    use crate::compiler::agree::Facts;
    use crate::compiler::declared::{Declared, Space};
    use crate::compiler::header::Bindings;
    use crate::compiler::ptx;
    use crate::compiler::variables::seen_from;

    fn contents(text: &str, variables: Vec<Declared>) -> Result<Contents, Error> {
        Contents::of(&Bindings {
            text: text.to_owned(),
            variables,
            warnings: Vec::new(),
            has_instances: false,
            host_functions: BTreeSet::new(),
            facts: Facts::default(),
            included: BTreeMap::new(),
            files: Vec::new(),
        })
    }

    fn generate(text: &str) -> Result<String, Error> {
        super::generate(&contents(text, Vec::new())?, &Placement::default())
    }

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
        #[repr(C)]
        #[derive(Debug)]
        pub struct Owner { pub n: u32 }
        #[repr(C)]
        #[repr(align(16))]
        #[derive(Debug, Copy, Clone)]
        pub struct float4 { pub x: f32, pub y: f32, pub z: f32, pub w: f32 }
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
            text.contains("pub static move_: ::cuda_safe::launch::Checked<(*mut Point, Point, u32)> ="),
            "{text}"
        );
        assert!(text.contains(r#"#[link_name = "_Z4moveP5PointS_j"] fn __stub();"#), "{text}");
        assert!(text.contains(r#".with_parameter_names(&["points", "by", "count"])"#), "{text}");
        assert!(text.contains(r#"#[doc = " Says \"hello\"."]"#), "{text}");
        assert!(text.contains("Parameters: `(points: *mut Point, by: Point, count: u32)`."), "{text}");
        assert!(text.contains("pub static nothing: ::cuda_safe::launch::Checked<()> ="), "{text}");
    }

    #[test]
    fn parameters_have_the_sizes_that_the_compiled_code_reads() {
        let mut placement = Placement::default();
        let ptx = |by: u32| {
            format!(
                ".visible .entry _Z4moveP5PointS_j(.param .u64 .ptr .align 1 a, .param .align 4 .b8 b[{by}],
                 .param .u32 c) {{ ret; }} .entry nothing() {{ ret; }}"
            )
        };
        ptx::add_sizes(&mut placement.sizes, &ptx(12));
        let generated = |placement: &Placement| {
            let text = super::generate(&contents(BINDINGS, Vec::new()).unwrap(), placement).unwrap();
            syn::parse_file(&text).unwrap();
            text
        };
        let text = generated(&placement);
        let types = ["*mut Point", "Point", "u32"].map(|name| format!("::core::mem::size_of::<{name}>()"));
        assert!(
            text.contains(&format!("matches!(&[{}] as &[usize], [8, 12, 4])", types.join(", "))),
            "{text}"
        );
        assert!(text.contains("matches!(&[] as &[usize], [])"), "{text}");
        // A structure with other fields for one architecture.
        ptx::add_sizes(&mut placement.sizes, &ptx(16));
        let text = generated(&placement);
        assert!(
            text.contains("as &[usize], [8, 12, 4])") && text.contains("as &[usize], [8, 16, 4])"),
            "{text}"
        );
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
    fn vector_types_of_cuda_and_no_other_structures_have_components() {
        let text = generate(BINDINGS).unwrap();
        let components: Vec<_> =
            text.lines().filter(|line| line.contains("launch::Components for")).collect();
        let expected = "unsafe impl ::cuda_safe::launch::Components for float4 { type Component = f32; }";
        assert_eq!(components, [expected]);
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
        // The derive refuses an array of structs with padding.
        assert_eq!(derive_of("Gap"), "");
        assert!(text.contains("unsafe impl ::cuda_safe::bytemuck::AnyBitPattern for Gap {}"), "{text}");
        assert_eq!(derive_of("View"), "");
        // It has a destructor.
        assert_eq!(derive_of("Owner"), "");
        assert!(!text.contains("ByValue for Owner"), "{text}");
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

    /// Generates a file with two variables and three kernels, and a kernel in another file.
    fn with_variables(comment: &str) -> Result<String, Error> {
        let text = format!(
            r#"unsafe extern "C" {{ pub static mut filter: [f32; 9usize]; }}
               pub const count: ::core::ffi::c_uint = 0;
               unsafe extern "C" {{
                   pub fn unsaid(n: u32) -> !;
                   #[doc = {comment:?}]
                   pub fn said() -> !;
                   pub fn elsewhere() -> !;
               }}"#
        );
        let variable = |name: &str, space| Declared {
            name: name.to_owned(),
            path: format!("::{name}"),
            mangled: name.to_owned(),
            space,
            file: PathBuf::from("/k.cuh"),
            at: 0,
            is_named: true,
        };
        let variables = vec![variable("filter", Space::Constant), variable("count", Space::Device)];
        let kernels = ["unsaid", "said"].map(|name| (name.to_owned(), 0)).into();
        let placement = Placement { units: vec![vec![0, 1]], kernels, ..Placement::default() };
        super::generate(&contents(&text, variables)?, &placement)
    }

    #[test]
    fn a_variable_becomes_a_static_with_its_bytes_in_the_books_of_its_file() {
        let text = with_variables(" Nothing to say.").unwrap();
        for expected in [
            "Module::new(\n    __END_0_filter,\n    __END_0_count,\n    0,\n)",
            "const __END_0_filter: usize = 0 + (9usize) * ::core::mem::size_of::<f32>();",
            "pub static filter: ::cuda_safe::launch::Symbol<f32> =",
            "fn __cuda_symbol_filter() -> *const ::core::ffi::c_void;",
            "from_parts(\"filter\", __cuda_symbol_filter, &self::__MODULE_0, \
             ::cuda_safe::launch::Space::Constant, 0, 9usize)",
            "pub static count: ::cuda_safe::launch::Symbol<u32> =",
            "::cuda_safe::launch::Space::Device, 0, 1)",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
        assert!(!text.contains("pub const count"), "{text}");
        syn::parse_file(&text).unwrap();
    }

    #[test]
    fn a_kernel_uses_all_variables_of_its_file_unless_its_comment_says_otherwise() {
        let text = with_variables(" @reads filter\n @writes count").unwrap();
        assert!(
            text.contains(
                "VariableAccesses = ::cuda_safe::launch::VariableAccesses::all(&self::__MODULE_0);"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "VariableAccesses::new(&self::__MODULE_0, &[self::filter.read(), \
                 self::count.written()]);"
            ),
            "{text}"
        );
        assert!(text.contains("Kernel::from_stub(\"elsewhere\", __stub)"), "{text}");
        assert!(with_variables("@reads nothing").unwrap().contains("Kernel::from_stub(\"said\", __stub)"));
    }

    #[test]
    fn a_comment_names_variables_as_the_kernel_sees_them() {
        let seen: Vec<String> = seen_from("outer_inner_kernel", "table").collect();
        assert_eq!(seen, ["outer_inner_table", "outer_table", "table"]);
    }

    #[test]
    fn what_a_kernel_cannot_use_is_refused_by_name() {
        let refused = |comment: &str| with_variables(comment).unwrap_err().to_string();
        let error = refused("@reads filter, fliter");
        assert!(error.contains("kernel `said`") && error.contains("`fliter`"), "{error}");
        let error = refused("@writes filter");
        assert!(error.contains("`filter`") && error.contains("__constant__"), "{error}");
    }
}
