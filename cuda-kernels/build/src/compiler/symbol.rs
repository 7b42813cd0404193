//! The variables of the headers, with the types that bindgen found for them, and the uses that the
//! kernels declare.

use quote::ToTokens;
use syn::{Attribute, ForeignItem, Item, Type};

use crate::compiler::declared::Declared;
use crate::compiler::prototype;
use crate::compiler::rust_name::rust_name;
use crate::compiler::spelling;

/// One variable with a handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) declared: Declared,
    /// The name of the handle.
    pub(crate) name: String,
    /// The type of an element in Rust: that of the variable itself, or of the innermost array.
    pub(crate) element: String,
    /// The number of elements, over all dimensions of arrays of arrays, as a product of numbers.
    pub(crate) len: String,
    /// The lines of the documentation comment.
    pub(crate) docs: Vec<String>,
}

impl Symbol {
    /// Returns the name of the C function that returns the variable's host-side address. It is in the
    /// file that defines the variable.
    pub(crate) fn accessor(&self) -> String {
        format!("__cuda_symbol_{}", self.declared.name)
    }

    /// Returns whether a name in PTX may be that of the variable. nvcc leaves out the mark of a `static` one.
    /// It names a global one as C does, and gives others a namespace of the file.
    pub(crate) fn has_name_in_ptx(&self, name: &str) -> bool {
        let Declared { mangled, path, .. } = &self.declared;
        let plain = path.trim_start_matches("::");
        if name == mangled || name == plain {
            return true;
        }
        // `_ZN1nL4hitsE` is `_ZN9_INTERNAL_1n4hitsE` there, with a longer name of the file.
        let inner = mangled.strip_prefix("_ZN").unwrap_or(mangled);
        let marks = inner.match_indices('L').map(|(at, _)| format!("{}{}", &inner[..at], &inner[at + 1..]));
        name.contains("_INTERNAL_") && marks.chain([inner.to_owned()]).any(|inner| name.ends_with(&inner))
    }

    /// Returns its size in bytes as a Rust expression.
    pub(crate) fn bytes(&self) -> String {
        format!("({}) * ::core::mem::size_of::<{}>()", self.len, self.element)
    }
}

/// Finds the types of the variables in bindgen's output. One without a type there has no handle.
pub(crate) fn symbols(items: &[Item], declared: &[Declared]) -> Vec<Symbol> {
    declared.iter().filter_map(|one| symbol(items, one)).collect()
}

/// Returns whether bindgen made this constant from a variable with a numeric initial value.
pub(crate) fn is_variable(name: &str, symbols: &[Symbol]) -> bool {
    symbols.iter().any(|symbol| rust_name(&symbol.declared.name) == name)
}

fn symbol(items: &[Item], declared: &Declared) -> Option<Symbol> {
    let (ty, attributes) = items.iter().find_map(|item| typed(item, declared))?;
    let (mut element, mut len) = (ty, Vec::new());
    while let Type::Array(array) = element {
        len.push(array.len.to_token_stream().to_string());
        element = &array.elem;
    }
    let len = if len.is_empty() { "1".to_owned() } else { len.join(" * ") };
    Some(Symbol {
        declared: declared.clone(),
        name: rust_name(&declared.name),
        element: spelling::spell(element),
        len,
        docs: prototype::docs(attributes),
    })
}

/// Returns the type and the attributes of an item if it stands for the variable.
fn typed<'a>(item: &'a Item, declared: &Declared) -> Option<(&'a Type, &'a [Attribute])> {
    match item {
        Item::ForeignMod(block) => block.items.iter().find_map(|item| match item {
            ForeignItem::Static(found) => {
                let known = prototype::link_name(&found.attrs).unwrap_or_else(|| found.ident.to_string());
                (known == declared.mangled).then_some((&*found.ty, found.attrs.as_slice()))
            }
            _ => None,
        }),
        Item::Const(found) if found.ident == rust_name(&declared.name) => Some((&found.ty, &found.attrs)),
        _ => None,
    }
}

/// The uses of the variables of its file by a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VariableAccesses {
    /// The comment lists none: the kernel may use all.
    Unsaid,
    /// The list in the comment: names as in Rust, and whether the kernel writes.
    Said(Vec<(String, bool)>),
}

/// The list in a kernel's comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) variables: VariableAccesses,
    /// The indices of parameters, and whether the kernel writes the memory behind them.
    pub(crate) parameters: Vec<(usize, bool)>,
}

/// Parses `@reads a, b` and `@writes c` in a kernel's comment; `nothing` is an empty list of variables. A
/// name is that of a parameter if there is one, as in C++. `parameters` are their names.
pub(crate) fn uses(docs: &[String], parameters: &[String]) -> Said {
    let mut said = Said { variables: VariableAccesses::Unsaid, parameters: Vec::new() };
    let mut list = None;
    for line in docs {
        let line = line.trim();
        let (rest, writes) = match (command(line, "reads"), command(line, "writes")) {
            (Some(rest), _) => (rest, false),
            (_, Some(rest)) => (rest, true),
            _ => continue,
        };
        let names = rest.split([',', ' ']).map(|name| name.trim().trim_end_matches('.'));
        for name in names.filter(|name| !name.is_empty()) {
            // A name that is a keyword in Rust has a `_` at its end there.
            let is_named = |parameter: &String| {
                parameter.strip_suffix('_').unwrap_or(parameter) == name || parameter == name
            };
            if let Some(at) = parameters.iter().position(is_named) {
                said.parameters.push((at, writes));
                continue;
            }
            let list: &mut Vec<(String, bool)> = list.get_or_insert_default();
            if name != "nothing" {
                list.push((name.trim_start_matches("::").replace("::", "_"), writes));
            }
        }
    }
    said.variables = list.map_or(VariableAccesses::Unsaid, VariableAccesses::Said);
    said
}

/// Returns the text after a command of a comment, written with either of Doxygen's prefixes.
fn command<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(['@', '\\'])?.strip_prefix(name)?;
    (rest.is_empty() || rest.starts_with([' ', ':'])).then(|| rest.trim_start_matches([' ', ':']))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::compiler::declared::Space;

    fn declared(name: &str, mangled: &str) -> Declared {
        Declared {
            name: name.to_owned(),
            path: format!("::{name}"),
            mangled: mangled.to_owned(),
            space: Space::Device,
            file: PathBuf::from("/k.cuh"),
            at: 0,
            is_named: true,
        }
    }

    fn items(text: &str) -> Vec<Item> {
        syn::parse_file(text).unwrap().items
    }

    #[test]
    fn arrays_of_arrays_are_counted_through() {
        let items =
            items(r#"unsafe extern "C" { pub static mut m: [[::core::ffi::c_int; 3usize]; 4usize]; }"#);
        let found = symbols(&items, &[declared("m", "m")]);
        assert_eq!((found[0].element.as_str(), found[0].len.as_str()), ("i32", "4usize * 3usize"));
    }

    #[test]
    fn a_variable_in_a_namespace_is_found_by_its_symbol_and_one_with_a_number_by_its_name() {
        let items = items(
            r#"unsafe extern "C" {
                   #[doc = " Counts."] #[link_name = "\u{1}_ZN2ns1cE"] pub static mut ns_c: f32;
               }
               pub const ns_n: ::core::ffi::c_uint = 5;"#,
        );
        let found = symbols(&items, &[declared("ns_c", "_ZN2ns1cE"), declared("ns_n", "_ZN2ns1nE")]);
        assert_eq!((found[0].element.as_str(), found[0].len.as_str()), ("f32", "1"));
        assert_eq!(found[0].docs, [" Counts."]);
        assert_eq!((found[1].element.as_str(), found[1].len.as_str()), ("u32", "1"));
    }

    #[test]
    fn a_comment_says_what_a_kernel_reads_and_writes() {
        let docs = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let uses = |lines: &[&str]| uses(&docs(lines), &docs(&["factor", "out", "in_"]));
        let variables = |lines: &[&str]| uses(lines).variables;
        assert_eq!(variables(&[" Reads the filter."]), VariableAccesses::Unsaid);
        assert_eq!(variables(&[" @readsomething a"]), VariableAccesses::Unsaid);
        assert_eq!(variables(&[" @reads nothing"]), VariableAccesses::Said(Vec::new()));
        assert_eq!(
            variables(&[" Counts.", " @reads filter, ns::offset", " \\writes: counter."]),
            VariableAccesses::Said(vec![
                ("filter".to_owned(), false),
                ("ns_offset".to_owned(), false),
                ("counter".to_owned(), true)
            ])
        );
        // A parameter says nothing about variables.
        let parameters = uses(&[" @reads factor", " @writes out"]);
        assert_eq!(
            parameters,
            Said { variables: VariableAccesses::Unsaid, parameters: vec![(0, false), (1, true)] }
        );
        assert_eq!(uses(&["@reads in."]).parameters, [(2, false)]);
        let both = uses(&[" @reads factor, filter, ::out"]);
        assert_eq!(both.parameters, [(0, false)]);
        let variables = vec![("filter".to_owned(), false), ("out".to_owned(), false)];
        assert_eq!(both.variables, VariableAccesses::Said(variables));
    }
}
