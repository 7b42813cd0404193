//! Kernel prototypes, found in bindgen's output for the headers.
//!
//! bindgen does not know `__global__`. While it reads the headers, the word is defined as a C++ attribute
//! that bindgen reports, "does not return". So a function of type `!` in bindgen's text is a kernel, and
//! no other function is one.

use quote::ToTokens;
use syn::{Attribute, Expr, FnArg, ForeignItem, ForeignItemFn, ItemForeignMod, Lit, Meta, ReturnType, Type};

use crate::Error;
use crate::compiler::layout::Layouts;
use crate::compiler::ptx::Use;
use crate::compiler::spelling::{last_segment, spell};

/// The attribute that `__global__` is while bindgen reads the headers.
pub(crate) const GLOBAL_STANDS_FOR: &str = "noreturn";

/// The length of the longest tuple that is a list of parameters in `cuda-safe`.
pub(crate) const MOST_PARAMETERS: usize = 32;

/// One `__global__` prototype.
#[derive(Debug)]
pub(crate) struct Prototype {
    /// The name in Rust: the C++ name, with namespaces in front and overloads numbered.
    pub(crate) name: String,
    /// The symbol of the host-side stub.
    pub(crate) symbol: String,
    /// The parameter types in Rust.
    pub(crate) parameters: Vec<String>,
    /// The parameter names, for the documentation.
    pub(crate) names: Vec<String>,
    /// The lines of the documentation comment.
    pub(crate) docs: Vec<String>,
}

impl Prototype {
    /// Makes each `T*` that the kernel only reads a `const T*`: those of which the comment says so, and those
    /// that the compiled code only reads unless the comment says otherwise. `said` has the indices of the
    /// parameters in the comment, and whether they are written. `found` is empty if nothing is known.
    pub(crate) fn read_only(&mut self, said: &[(usize, bool)], found: &[Use]) -> Result<(), Error> {
        let is_known = found.len() == self.parameters.len();
        let mut read = Vec::new();
        for (at, (parameter, name)) in self.parameters.iter_mut().zip(&self.names).enumerate() {
            let found = found.get(at).filter(|_| is_known);
            let said = said.iter().find(|(said, _)| *said == at).map(|(_, writes)| *writes);
            let refuse = |what: &str, why: &str| {
                let kernel = &self.name;
                Err(Error::Prototype(format!("kernel `{kernel}` says that it {what} `{name}`, {why}")))
            };
            match said {
                Some(_) if !parameter.starts_with("*") => {
                    return refuse(
                        "uses",
                        "which is passed by value: only memory behind a pointer is declared",
                    );
                }
                Some(true) if parameter.starts_with("*const ") => {
                    return refuse("writes", "but its prototype has a `const` pointer");
                }
                None if parameter.starts_with("*const ") && found == Some(&Use::Written) => {
                    return refuse("reads", "which is a `const` pointer, but its code stores through it");
                }
                Some(false) if found == Some(&Use::Written) => {
                    return refuse("reads", "but its code stores through it");
                }
                Some(true) => continue,
                None if found != Some(&Use::Read) => continue,
                Some(false) | None => {}
            }
            if let Some(target) = parameter.strip_prefix("*mut ") {
                *parameter = format!("*const {target}");
                read.push(format!("`{name}`"));
            }
        }
        if !read.is_empty() {
            self.docs.extend([String::new(), format!(" It only reads {}.", read.join(" and "))]);
        }
        Ok(())
    }
}

/// Returns the kernels that one `extern` block declares.
pub(crate) fn kernels(block: &ItemForeignMod, layouts: &Layouts<'_>) -> Result<Vec<Prototype>, Error> {
    let functions = block.items.iter().filter_map(|item| match item {
        ForeignItem::Fn(function) => Some(function),
        _ => None,
    });
    functions.filter(|function| is_kernel(function)).map(|function| prototype(function, layouts)).collect()
}

/// Returns whether a function of bindgen's text is a kernel.
pub(crate) fn is_kernel(function: &ForeignItemFn) -> bool {
    matches!(&function.sig.output, ReturnType::Type(_, answer) if matches!(**answer, Type::Never(_)))
}

fn prototype(function: &ForeignItemFn, layouts: &Layouts<'_>) -> Result<Prototype, Error> {
    let name = function.sig.ident.to_string();
    if function.sig.variadic.is_some() {
        return Err(Error::Prototype(format!("kernel `{name}` takes a variable number of arguments")));
    }
    let mut parameters = Vec::new();
    let mut names = Vec::new();
    for (at, input) in function.sig.inputs.iter().enumerate() {
        let FnArg::Typed(input) = input else {
            return Err(Error::Prototype(format!(
                "kernel `{name}` is a member function, which CUDA does not allow"
            )));
        };
        parameters.push(parameter(&input.ty, layouts));
        let given = input.pat.to_token_stream().to_string();
        // bindgen calls the parameters without a name `arg1`, `arg2` and so on.
        let is_nameless = given.strip_prefix("arg").is_some_and(|number| number.parse::<usize>().is_ok());
        names.push(if is_nameless { format!("#{}", at + 1) } else { given });
    }
    if parameters.len() > MOST_PARAMETERS {
        return Err(Error::Prototype(format!(
            "kernel `{name}` has {} parameters, its handle at most {MOST_PARAMETERS}: put some into a \
             struct, or hide the prototype between #ifdef __CUDACC__ and #endif",
            parameters.len()
        )));
    }
    let symbol = link_name(&function.attrs).unwrap_or_else(|| name.clone());
    Ok(Prototype { name, symbol, parameters, names, docs: docs(&function.attrs) })
}

/// Returns the type of a parameter as text. Handles of textures, surfaces and conditions are numbers in C,
/// and distinct types in Rust. Handles and pointers are these under other names, too.
fn parameter(ty: &Type, layouts: &Layouts<'_>) -> String {
    match last_segment(ty).as_deref() {
        Some("cudaTextureObject_t") => "::cuda_safe::launch::TextureObject".to_owned(),
        Some("cudaGraphConditionalHandle") => "::cuda_safe::launch::ConditionalHandle".to_owned(),
        Some("cudaSurfaceObject_t") => "::cuda_safe::launch::SurfaceObject".to_owned(),
        Some(name) => {
            let meant = layouts.alias(name).map(|meant| parameter(meant, layouts));
            meant
                .filter(|meant| meant.starts_with('*') || meant.starts_with("::cuda_safe"))
                .unwrap_or_else(|| spell(ty))
        }
        None => spell(ty),
    }
}

/// Returns the symbol that bindgen chose, without the leading byte that makes LLVM leave it unchanged.
pub(crate) fn link_name(attributes: &[Attribute]) -> Option<String> {
    text_of(attributes, "link_name").next().map(|name| name.trim_start_matches('\u{1}').to_owned())
}

/// Returns the lines of a documentation comment.
pub(crate) fn docs(attributes: &[Attribute]) -> Vec<String> {
    text_of(attributes, "doc").flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn text_of<'a>(attributes: &'a [Attribute], name: &'a str) -> impl Iterator<Item = String> + 'a {
    attributes.iter().filter(move |attribute| attribute.path().is_ident(name)).filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let Expr::Lit(literal) = &pair.value else { return None };
        let Lit::Str(text) = &literal.lit else { return None };
        Some(text.value())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Prototype> {
        kernels(&syn::parse_str(text).unwrap(), &Layouts::default()).unwrap()
    }

    #[test]
    fn only_functions_that_do_not_return_are_kernels() {
        let found = of(r#"unsafe extern "C" {
            pub fn host_helper(n: ::core::ffi::c_int) -> ::core::ffi::c_int;
            pub fn nothing();
            pub fn kernel() -> !;
        }"#);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].symbol.as_str()), ("kernel", "kernel"));
        assert!(found[0].parameters.is_empty());
    }

    #[test]
    fn textures_surfaces_and_conditions_are_no_numbers() {
        let found = of(r#"unsafe extern "C" {
            pub fn k(again: cudaGraphConditionalHandle, image: cudaTextureObject_t, out: cudaSurfaceObject_t,
                     n: ::core::ffi::c_ulonglong) -> !;
        }"#);
        let [again, image, out, number] = found[0].parameters.as_slice() else { panic!("four parameters") };
        assert_eq!(again, "::cuda_safe::launch::ConditionalHandle");
        assert_eq!(image, "::cuda_safe::launch::TextureObject");
        assert_eq!(out, "::cuda_safe::launch::SurfaceObject");
        assert_eq!(number, "u64");
    }

    #[test]
    fn parameters_keep_constness_and_lose_c_aliases() {
        let found = of(r#"unsafe extern "C" {
            pub fn k(a: *const f32, b: *mut ::core::ffi::c_uint, p: Point, n: usize,
                     q: *const *mut ::core::ffi::c_longlong, l: ::core::ffi::c_long) -> !;
        }"#);
        assert_eq!(
            found[0].parameters,
            ["*const f32", "*mut u32", "Point", "usize", "*const *mut i64", "i64"]
        );
        assert_eq!(found[0].names, ["a", "b", "p", "n", "q", "l"]);
    }

    #[test]
    fn a_parameter_without_a_name_has_a_number() {
        let found = of(r#"unsafe extern "C" {
            pub fn k(argument: *mut f32, arg1: f32, args: f32) -> !;
        }"#);
        assert_eq!(found[0].names, ["argument", "#2", "args"]);
    }

    #[test]
    fn the_symbol_is_the_mangled_name_where_there_is_one() {
        let found = of(r#"unsafe extern "C" {
            #[doc = " Stores."]
            #[link_name = "\u{1}_ZN5fault5storeEPjj"]
            pub fn fault_store(address: *mut ::core::ffi::c_uint, value: ::core::ffi::c_uint) -> !;
        }"#);
        assert_eq!(found[0].symbol, "_ZN5fault5storeEPjj");
        assert_eq!(found[0].docs, [" Stores."]);
    }

    #[test]
    fn more_parameters_than_a_handle_has_are_refused_with_their_number() {
        let with = |count: usize| {
            let parameters: Vec<_> = (0..count).map(|at| format!("p{at}: i32")).collect();
            let block = format!(r#"unsafe extern "C" {{ pub fn wide({}) -> !; }}"#, parameters.join(", "));
            kernels(&syn::parse_str(&block).unwrap(), &Layouts::default())
        };
        assert_eq!(with(32).unwrap()[0].parameters.len(), 32);
        let error = with(33).unwrap_err().to_string();
        assert!(error.contains("`wide` has 33 parameters") && error.contains("struct"), "{error}");
    }

    #[test]
    fn a_variadic_kernel_is_refused_by_name() {
        let block = syn::parse_str(r#"unsafe extern "C" { pub fn many(a: i32, ...) -> !; }"#).unwrap();
        let error = kernels(&block, &Layouts::default()).unwrap_err().to_string();
        assert!(error.contains("`many`"), "{error}");
    }

    #[test]
    fn a_pointer_that_is_only_read_becomes_a_const_one() {
        let kernel = || {
            let block =
                r#"unsafe extern "C" { pub fn k(a: *mut f32, b: *const f32, c: *mut f32, n: u32) -> !; }"#;
            of(block).remove(0)
        };
        let types = |said: &[(usize, bool)], found: &[Use]| {
            let mut kernel = kernel();
            kernel.read_only(said, found).map(|()| kernel.parameters.join(" "))
        };
        use Use::{Read, Unsure, Written};
        let (none, a) = ("*mut f32 *const f32 *mut f32 u32", "*const f32 *const f32 *mut f32 u32");
        assert_eq!(types(&[], &[]).unwrap(), none);
        assert_eq!(types(&[], &[Read, Read, Unsure, Read]).unwrap(), a);
        assert_eq!(types(&[], &[Read, Read, Written]).unwrap(), none, "another number of parameters");
        assert_eq!(types(&[(0, false)], &[]).unwrap(), a);
        let mut documented = kernel();
        documented.read_only(&[(0, false)], &[]).unwrap();
        assert_eq!(documented.docs, ["", " It only reads `a`."]);
        assert_eq!(types(&[(0, false)], &[Unsure, Unsure, Unsure, Unsure]).unwrap(), a);
        assert_eq!(types(&[(0, true), (2, true)], &[Read, Read, Read, Read]).unwrap(), none);
        let refused = |said, found: &[Use]| types(&[said], found).unwrap_err().to_string();
        let error = refused((0, false), &[Written, Read, Read, Read]);
        assert!(error.contains("kernel `k`") && error.contains("`a`") && error.contains("stores"), "{error}");
        assert!(refused((1, true), &[]).contains("`const`"));
        let error = types(&[], &[Read, Written, Read, Read]).unwrap_err().to_string();
        assert!(error.contains("`b`") && error.contains("`const`") && error.contains("stores"), "{error}");
        assert_eq!(types(&[], &[Unsure, Unsure, Unsure, Read]).unwrap(), none);
        assert!(refused((3, false), &[]).contains("by value"));
    }
}
