//! Names that the headers give by `#define NEW OLD`, which bindgen cannot see.
//!
//! `cudaStreamAttrValue` is a type in this way, and in CUDA 12 `cudaGetDeviceProperties` is a function whose symbol is
//! `cudaGetDeviceProperties_v2`. Each becomes a `pub use`, which works for types, functions and constants alike.

use std::collections::BTreeSet;

use regex::Regex;

use crate::{Error, Result};

/// The `pub use` lines for the aliases in `header` between names that `bindings` has and names that it lacks.
pub(crate) fn aliases(header: &str, bindings: &str) -> Result<String> {
    let bound = bound_names(bindings)?;
    let pattern = r"(?m)^[ \t]*#[ \t]*define[ \t]+(cuda\w+)[ \t]+(?:__CUDART_API_PT[DS][SZ]\()?(cuda\w+)\)?[ \t]*(?:/[*/].*)?$";
    let define = pattern_of(pattern)?;
    let mut done = BTreeSet::new();
    let mut text = String::new();
    for found in define.captures_iter(header) {
        let (new, old) = (&found[1], &found[2]);
        if bound.contains(old) && !bound.contains(new) && done.insert(new.to_owned()) {
            text.push_str(&format!("pub use self::{old} as {new};\n"));
        }
    }
    Ok(text)
}

/// The names that generated Rust defines at its top level.
pub(crate) fn bound_names(bindings: &str) -> Result<BTreeSet<&str>> {
    let item =
        pattern_of(r"(?m)\bpub (?:fn|const|type|struct|union|use self :: \w+ as|use self::\w+ as) (\w+)")?;
    Ok(item.captures_iter(bindings).filter_map(|found| Some(found.get(1)?.as_str())).collect())
}

fn pattern_of(pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| Error::new(format!("a pattern of this library is wrong: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDINGS: &str = "unsafe extern \"C\" { pub fn cudaA_v2(); pub fn cudaB(); }\npub union cudaValue {}\npub use self::x as cudaC;";

    #[test]
    fn defines_between_bound_and_unbound_names_become_uses() {
        let header = "#define cudaA cudaA_v2\n#define cudaV cudaValue /* new */\n  # define cudaD __CUDART_API_PTSZ(cudaB)\n";
        let uses = "pub use self::cudaA_v2 as cudaA;\npub use self::cudaValue as cudaV;\npub use self::cudaB as cudaD;\n";
        assert_eq!(aliases(header, BINDINGS).unwrap(), uses);
    }

    #[test]
    fn all_others_do_not() {
        let header = "#define cudaB __CUDART_API_PTSZ(cudaB)\n#define cudaX cudaUnknown\n#define cudaC cudaB\n\
                      #define cudaN 0x1\n#define cudaF(x) cudaB\n#define cudaE cudaB + 1\n";
        assert_eq!(aliases(header, BINDINGS).unwrap(), "");
    }

    #[test]
    fn an_alias_that_is_defined_twice_is_used_once() {
        let header = "#define cudaA cudaA_v2\n#define cudaA cudaA_v2\n";
        assert_eq!(aliases(header, BINDINGS).unwrap().lines().count(), 1);
    }
}
