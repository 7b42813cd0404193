//! Names of a program never meet those of the generated text: see `names.rs` beside the build script.

macro_rules! module {
    ($name:ident, $file:literal) => {
        mod $name {
            /// What the module has.
            pub(crate) const TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/", $file, ".rs"));

            pub(crate) mod kernels {
                ::cuda_safe::include_kernels!($file);
            }
        }
    };
}
module!(kernels, "names_kernels");
module!(variables, "names_variables");
module!(enumerations, "names_enumerations");
module!(constants, "names_constants");

use std::collections::BTreeSet;

/// The names, one a line.
const NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/names.txt"));

/// Returns the starts of the items in a text, up to their names.
fn items(text: &str) -> BTreeSet<String> {
    let words = |line: &str| {
        let line = line.replace('<', " < ").replace(':', " : ");
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| ["static", "struct", "const"].contains(word))?;
        let name = words.get(at + 1)?.trim_end_matches('_');
        let kind = words
            .iter()
            .skip(at + 2)
            .find(|word| ["Checked", "Symbol", "(pub", "{", "u32"].contains(word))?;
        Some(format!("{} {name} {kind}", words.get(at)?))
    };
    text.lines().filter_map(words).collect()
}

#[test]
fn each_name_has_its_handle_type_and_constant() {
    let names: Vec<&str> = NAMES.lines().collect();
    assert!(names.len() > 300 && names.contains(&"kernel") && names.contains(&"Some"), "{names:?}");
    for (text, kind, of) in [
        (kernels::TEXT, "static", "Checked"),
        (kernels::TEXT, "struct", "{"),
        (variables::TEXT, "static", "Symbol"),
        (enumerations::TEXT, "struct", "(pub"),
        (constants::TEXT, "const", "u32"),
    ] {
        let items = items(text);
        for name in &names {
            let is_there = items.contains(&format!("{kind} {} {of}", name.trim_end_matches('_')));
            assert!(is_there || (of == "Symbol" && ["all", "index"].contains(name)), "{kind} {name}");
        }
    }
    // Names that programs write.
    assert_eq!(kernels::kernels::kernel.name(), "kernel");
    assert_eq!(kernels::kernels::move_.name(), "move_");
    assert_eq!(variables::kernels::own.len(), 1);
    let bits = enumerations::kernels::has_all { kernel: 3, ..Default::default() };
    assert_eq!((bits.kernel, bits.own), (3, 0));
    assert_ne!(constants::kernels::own, constants::kernels::stub);
}
