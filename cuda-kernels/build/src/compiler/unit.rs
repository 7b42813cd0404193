//! Finds the source file of a variable and of a kernel.
//!
//! nvcc makes one variable in each file that includes its declaration, and the variable's host-side
//! counterpart is local to that file. So exactly one file of a build may include a header with variables.
//! It is compiled with functions after its end that return the addresses. Device code that is linked has one
//! variable in all files, and any of them can return its address.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::compiler::symbol::Symbol;

/// The source files with variables, each with the indices of its variables in the list of symbols.
pub(crate) type Units = BTreeMap<PathBuf, Vec<usize>>;

/// Finds the one source file of each variable, or any of its files if the device code is `relocatable`.
/// `reads` lists the files that each source file includes.
pub(crate) fn units(
    symbols: &[Symbol],
    reads: &[(PathBuf, Vec<PathBuf>)],
    relocatable: bool,
) -> Result<Units, Error> {
    let mut units = Units::new();
    for (at, symbol) in symbols.iter().enumerate() {
        let header = &symbol.declared.file;
        let included = |files: &[PathBuf]| {
            files.iter().any(|file| file.canonicalize().is_ok_and(|file| file == *header))
        };
        let owners: Vec<&PathBuf> =
            reads.iter().filter(|(_, files)| included(files)).map(|(source, _)| source).collect();
        match owners.as_slice() {
            [] if !symbol.declared.is_named => {}
            [_, _, ..] if !symbol.declared.is_named && !relocatable => {}
            [] => return Err(refuse(symbol, "no source file of this build includes the header")),
            [one, other, ..] if !relocatable => {
                let why = format!(
                    "{} and {} both include the header, and nvcc would make a variable of each. Declare it \
                     in a header that only the file of its kernels includes",
                    one.display(),
                    other.display()
                );
                return Err(refuse(symbol, &why));
            }
            [one, ..] => units.entry((*one).clone()).or_default().push(at),
        }
    }
    Ok(units)
}

fn refuse(symbol: &Symbol, why: &str) -> Error {
    let (file, name) = (symbol.declared.file.display(), &symbol.declared.name);
    Error::Prototype(format!("{file}: variable `{name}`: {why}."))
}

/// Writes the file that replaces a source file in the build: it includes the file and adds the functions, and
/// the lines about its types.
pub(crate) fn wrapper(source: &Path, symbols: &[&Symbol], types: &str, to: &Path) -> Result<(), Error> {
    let source = source.canonicalize().map_err(Error::of_file(source))?;
    let name = source.to_str().ok_or_else(|| {
        Error::Header(format!("{}: a source file's path must be readable text", source.display()))
    })?;
    let mut text = format!("#include {:?}\n", Path::new(name));
    for symbol in symbols {
        let (accessor, path) = (symbol.accessor(), &symbol.declared.path);
        text.push_str(&format!(
            "extern \"C\" const void* {accessor}() {{ return reinterpret_cast<const void*>(&{path}); }}\n"
        ));
    }
    text.push_str(types);
    // A later build compares the file's time.
    if fs::read_to_string(to).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(to, text).map_err(Error::of_file(to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::declared::{Declared, Space};

    fn symbol(header: &Path) -> Symbol {
        Symbol {
            declared: Declared {
                name: "ns_filter".to_owned(),
                path: "::ns::filter".to_owned(),
                mangled: "_ZN2ns6filterE".to_owned(),
                space: Space::Constant,
                file: header.canonicalize().unwrap(),
                at: 0,
                is_named: true,
            },
            name: "ns_filter".to_owned(),
            element: "f32".to_owned(),
            len: "9usize".to_owned(),
            docs: Vec::new(),
        }
    }

    #[test]
    fn a_variable_belongs_to_the_one_file_that_includes_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let header = folder.path().join("f.cuh");
        fs::write(&header, "").unwrap();
        let symbols = [symbol(&header)];
        let (a, b) = (PathBuf::from("a.cu"), PathBuf::from("b.cu"));
        let with = vec![folder.path().join(".").join("f.cuh")];
        let one = units(&symbols, &[(a.clone(), with.clone()), (b.clone(), Vec::new())], false).unwrap();
        assert_eq!(one.into_iter().collect::<Vec<_>>(), [(a.clone(), vec![0])]);

        let none = units(&symbols, &[(a.clone(), Vec::new())], false).unwrap_err().to_string();
        assert!(none.contains("`ns_filter`") && none.contains("no source file"), "{none}");
        let both = [(a.clone(), with.clone()), (b, with)];
        let two = units(&symbols, &both, false).unwrap_err().to_string();
        assert!(two.contains("a.cu and b.cu both include"), "{two}");
        let any = units(&symbols, &both, true).unwrap();
        assert_eq!(any.into_keys().collect::<Vec<_>>(), [a]);
        let mut included = symbols;
        included[0].declared.is_named = false;
        assert!(units(&included, &both, false).unwrap().is_empty(), "it has no handle");
    }

    #[test]
    fn the_file_itself_comes_first_and_then_a_function_for_each_variable() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("f.cu");
        fs::write(&source, "").unwrap();
        let to = folder.path().join("wrapped.cu");
        wrapper(&source, &[&symbol(&source)], "", &to).unwrap();
        let text = fs::read_to_string(&to).unwrap();
        let source = source.canonicalize().unwrap();
        assert_eq!(
            text,
            format!(
                "#include \"{}\"\nextern \"C\" const void* __cuda_symbol_ns_filter() {{ return \
                 reinterpret_cast<const void*>(&::ns::filter); }}\n",
                source.display()
            )
        );
    }
}
