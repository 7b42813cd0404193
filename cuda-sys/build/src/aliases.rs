//! Names that the headers define by `#define NEW OLD`, which bindgen does not report.
//!
//! `cudaStreamAttrValue` is such a type. In CUDA 12, `cudaGetDeviceProperties` is such a function, whose
//! symbol is `cudaGetDeviceProperties_v2`. Each becomes a `pub use`, which works for types, functions and
//! constants.

use std::collections::BTreeSet;

/// The words that introduce a name at the top level. Unformatted bindgen output has spaces around `::`.
const INTRODUCERS: [&str; 7] = ["fn ", "const ", "type ", "struct ", "union ", "use self::", "use self :: "];

/// Returns the `pub use` lines for the aliases in `header` between `bound` names and names that are not.
///
/// The parser is written by hand, as in [`bound_names`]: build scripts are not optimised, and regular
/// expressions would take longer over this much text than libclang and bindgen together.
pub(crate) fn aliases(header: &str, bound: &BTreeSet<&str>) -> String {
    let mut done = BTreeSet::new();
    let mut text = String::new();
    for (new, old) in header.lines().filter_map(alias) {
        if bound.contains(old) && !bound.contains(new) && done.insert(new) {
            text.push_str(&format!("pub use self::{old} as {new};\n"));
        }
    }
    text
}

/// Returns the new and the old name if a line of a header is `#define NEW OLD` or `#define NEW
/// __CUDART_API_PTSZ(OLD)`, followed by at most a comment.
fn alias(line: &str) -> Option<(&str, &str)> {
    let line = blanks(line).strip_prefix('#')?;
    let (new, line) = cuda_name(blanks(blanks(line).strip_prefix("define")?))?;
    let line = blanks(line);
    let (old, line) = match line.strip_prefix("__CUDART_API_PT") {
        Some(suffixed) => {
            let of = suffixed.strip_prefix("SZ").or_else(|| suffixed.strip_prefix("DS"))?;
            let (old, line) = cuda_name(of.strip_prefix('(')?)?;
            (old, line.strip_prefix(')')?)
        }
        None => cuda_name(line)?,
    };
    let line = blanks(line);
    (line.is_empty() || line.starts_with("/*") || line.starts_with("//")).then_some((new, old))
}

/// Returns the names that generated Rust defines at its top level.
pub(crate) fn bound_names(bindings: &str) -> BTreeSet<&str> {
    bindings
        .match_indices("pub ")
        .filter_map(|(at, public)| introduced(bindings.get(at + public.len()..)?))
        .collect()
}

/// Returns the name that an item defines, given the text after its `pub`.
fn introduced(item: &str) -> Option<&str> {
    let (introducer, rest) =
        INTRODUCERS.iter().find_map(|introducer| Some((introducer, item.strip_prefix(introducer)?)))?;
    let (first, rest) = word(rest);
    if !introducer.starts_with("use") {
        return Some(first).filter(|name| !name.is_empty());
    }
    let (name, _) = word(rest.strip_prefix(" as ")?);
    Some(name).filter(|name| !name.is_empty())
}

/// Splits off a name with the runtime's prefix, and returns it with the rest of the text.
fn cuda_name(text: &str) -> Option<(&str, &str)> {
    Some(word(text)).filter(|(name, _)| name.starts_with("cuda"))
}

fn word(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_');
    text.split_at(end.unwrap_or(text.len()))
}

fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDINGS: &str = "unsafe extern \"C\" { pub fn cudaA_v2(); pub fn cudaB(); }\npub union cudaValue \
                            {}\npub use self::x as cudaC;";

    #[test]
    fn defines_between_bound_and_unbound_names_become_uses() {
        let header = "#define cudaA cudaA_v2\n#define cudaV cudaValue /* new */\n  # define cudaD \
                      __CUDART_API_PTSZ(cudaB)\n";
        let uses = "pub use self::cudaA_v2 as cudaA;\npub use self::cudaValue as cudaV;\npub use \
                    self::cudaB as cudaD;\n";
        assert_eq!(aliases(header, &bound_names(BINDINGS)), uses);
    }

    #[test]
    fn all_others_do_not() {
        let header = "#define cudaB __CUDART_API_PTSZ(cudaB)\n#define cudaX cudaUnknown\n#define cudaC \
                      cudaB\n\
                      #define cudaN 0x1\n#define cudaF(x) cudaB\n#define cudaE cudaB + 1\n";
        assert_eq!(aliases(header, &bound_names(BINDINGS)), "");
    }

    #[test]
    fn an_alias_that_is_defined_twice_is_used_once() {
        let header = "#define cudaA cudaA_v2\n#define cudaA cudaA_v2\n";
        assert_eq!(aliases(header, &bound_names(BINDINGS)).lines().count(), 1);
    }

    #[test]
    fn names_are_read_from_every_kind_of_item_formatted_or_not() {
        let items = "pub const A: u32 = 1; pub type B = u8;\npub struct C { pub field: u8 } pub union D {}\n\
                     unsafe extern \"C\" { pub fn e ( ) ; } pub use self :: C as F ; pub use self::C as G; \
                     pub use ::core;";
        assert_eq!(bound_names(items), BTreeSet::from(["A", "B", "C", "D", "e", "F", "G"]));
    }
}
