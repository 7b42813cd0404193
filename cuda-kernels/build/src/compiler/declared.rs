//! The `__device__`, `__constant__` and `__managed__` variables of the headers and sources.
//!
//! bindgen does not report which of CUDA's keywords a variable has, and it reports a variable with a
//! numeric initial value as a constant. In the syntax tree of libclang, each keyword is an annotation.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::compiler::clang::{Cursor, Part, annotation};

/// The memory of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// `__device__`: one on each device, written by kernels and the host.
    Device,
    /// `__constant__`: one on each device, written by the host only.
    Constant,
    /// `__managed__`: one for the host and all devices.
    Managed,
}

/// One variable of a header or source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// The name in C++, with namespaces and `_` in front.
    pub(crate) name: String,
    /// The qualified name in C++, from the global namespace.
    pub(crate) path: String,
    /// The name by which bindgen identifies it if it has no initial value.
    pub(crate) mangled: String,
    pub(crate) space: Space,
    /// The header or source, and where the variable is in it.
    pub(crate) file: PathBuf,
    pub(crate) at: usize,
    /// Whether the build script named that file. Otherwise a source includes it, and the variable may have no
    /// handle.
    pub(crate) is_named: bool,
}

/// Returns the definitions of CUDA's keywords for variables that apply while the files are read.
pub(crate) fn words() -> String {
    let word = |name: &str, space: &str| {
        format!("#undef {name}\n#define {name} __attribute__(({}))\n", annotation(space))
    };
    word("__device__", "device") + &word("__constant__", "constant") + &word("__managed__", "managed")
}

/// Returns the variables of these files that the host may set. Below `root` is the syntax tree. A variable of
/// an included file that can have no handle is left out, and one of `files` is an error.
pub(crate) fn find(
    root: Cursor<'_>,
    files: &[PathBuf],
    is_included: impl Fn(&Path) -> bool,
) -> Result<Vec<Declared>, Error> {
    let mut found: Vec<Declared> = Vec::new();
    let mut scopes = vec![root.children()];
    while let Some(scope) = scopes.last_mut() {
        if scope.is_empty() {
            scopes.pop();
            continue;
        }
        let cursor = scope.remove(0);
        match cursor.part() {
            Part::Namespace | Part::Transparent => scopes.push(cursor.children()),
            Part::Variable => {
                // A variable may be declared twice.
                let variable = variable(cursor, files, &is_included)?;
                found.extend(variable.filter(|new| !found.iter().any(|known| known.path == new.path)));
            }
            _ => {}
        }
    }
    Ok(found)
}

fn variable(
    cursor: Cursor<'_>,
    files: &[PathBuf],
    is_included: &impl Fn(&Path) -> bool,
) -> Result<Option<Declared>, Error> {
    let Some(space) = space(&cursor.words()) else { return Ok(None) };
    let Some((file, Range { start: at, .. })) = cursor.place() else { return Ok(None) };
    let is_named = files.contains(&file);
    if cursor.is_const() || !(is_named || is_included(&file)) {
        // Nothing can set it. bindgen generates a constant if it is a number.
        return Ok(None);
    }
    let name = cursor.name();
    let refuse = |why: &str| {
        let error = || Error::Prototype(format!("{}: variable `{name}` {why}", file.display()));
        if is_named { Err(error()) } else { Ok(None) }
    };
    if cursor.is_unsized() {
        return refuse("has no length: its declaration must say how many elements it has");
    }
    let mut path = vec![name.clone()];
    let mut inside = cursor;
    loop {
        inside = inside.parent();
        match inside.part() {
            Part::Namespace => {
                let namespace = inside.name();
                if namespace.is_empty() || namespace.starts_with('(') {
                    return refuse("is in a namespace without a name, where Rust cannot reach it");
                }
                path.insert(0, namespace);
            }
            Part::Transparent => {}
            Part::Unit => break,
            // A member of a class.
            _ => return Ok(None),
        }
    }
    let (name, path, mangled) = (path.join("_"), format!("::{}", path.join("::")), cursor.mangled());
    Ok(Some(Declared { name, path, mangled, space, file, at, is_named }))
}

/// Returns the memory of a variable with these keywords. Returns `None` if none of them puts it on a
/// device.
fn space(words: &[String]) -> Option<Space> {
    let has = |word: &str| words.iter().any(|found| found == word);
    if has("managed") {
        Some(Space::Managed)
    } else if has("constant") {
        Some(Space::Constant)
    } else {
        has("device").then_some(Space::Device)
    }
}
