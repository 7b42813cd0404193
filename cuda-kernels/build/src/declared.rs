//! The `__device__`, `__constant__` and `__managed__` variables that the headers declare.
//!
//! bindgen does not report which of CUDA's keywords a variable has, and it reports a variable with a
//! numeric initial value as a constant. So this module queries libclang directly: while it reads the
//! headers, each keyword is defined as an annotation, which appears in the syntax tree.
#![expect(unsafe_code, reason = "walks the syntax tree of libclang, a C library")]

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use clang_sys::{
    CXChildVisit_Continue, CXChildVisit_Recurse, CXChildVisitResult, CXClientData, CXCursor,
    CXCursor_AnnotateAttr, CXCursor_LinkageSpec, CXCursor_Namespace, CXCursor_UnexposedDecl,
    CXCursor_VarDecl, CXFile, CXString, CXType, CXType_ConstantArray, CXType_IncompleteArray, CXUnsavedFile,
};

use crate::Error;

/// The prefix of the annotations for CUDA's keywords.
const MARK: &str = "cuda-kernels-build:";

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

/// One variable of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// The name in Rust, with namespaces in front.
    pub(crate) name: String,
    /// The qualified name in C++, from the global namespace.
    pub(crate) path: String,
    /// The name by which bindgen identifies it if it has no initial value.
    pub(crate) mangled: String,
    pub(crate) space: Space,
    /// The header.
    pub(crate) file: PathBuf,
}

/// Returns the definitions of CUDA's keywords for variables that apply while the headers are read.
pub(crate) fn words() -> String {
    let word = |name: &str, space: &str| {
        format!("#undef {name}\n#define {name} __attribute__((annotate(\"{MARK}{space}\")))\n")
    };
    word("__device__", "device") + &word("__constant__", "constant") + &word("__managed__", "managed")
}

/// Returns the variables that these headers declare and the host may set. `text` includes the headers,
/// and `arguments` are clang's.
pub(crate) fn find(text: &str, headers: &[PathBuf], arguments: &[String]) -> Result<Vec<Declared>, Error> {
    let unreadable =
        |what: &str| Error::Header(format!("the variables of the kernel headers cannot be read: {what}"));
    if !clang_sys::is_loaded() {
        clang_sys::load().map_err(|error| unreadable(&error))?;
    }
    let unit = Unit::parse(text, arguments).ok_or_else(|| unreadable("libclang gave no syntax tree"))?;
    let mut search = Search { headers, found: Vec::new(), refused: None };
    // SAFETY: the unit is live.
    let root = unsafe { clang_sys::clang_getTranslationUnitCursor(unit.unit) };
    // SAFETY: the unit is live. The visitor gets the pointer to `search`, which nothing else uses
    // meanwhile.
    unsafe { clang_sys::clang_visitChildren(root, visit, (&raw mut search).cast()) };
    match search.refused {
        Some(error) => Err(error),
        None => Ok(search.found),
    }
}

/// A parsed translation unit.
struct Unit {
    index: *mut c_void,
    unit: clang_sys::CXTranslationUnit,
}

impl Unit {
    fn parse(text: &str, arguments: &[String]) -> Option<Self> {
        let name = c"kernels.hpp";
        let arguments: Vec<CString> = ["-x", "c++", "-std=c++17", "-w"]
            .into_iter()
            .chain(arguments.iter().map(String::as_str))
            .map(|argument| CString::new(argument).ok())
            .collect::<Option<_>>()?;
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let mut file = CXUnsavedFile {
            Filename: name.as_ptr(),
            Contents: text.as_ptr().cast(),
            Length: text.len().try_into().ok()?,
        };
        // SAFETY: the library is loaded; the two numbers are flags.
        let index = unsafe { clang_sys::clang_createIndex(0, 0) };
        // SAFETY: the index is new. All pointers are to values that live over the call, with the lengths
        // that are passed.
        let unit = unsafe {
            clang_sys::clang_parseTranslationUnit(
                index,
                name.as_ptr(),
                pointers.as_ptr(),
                pointers.len().try_into().ok()?,
                &raw mut file,
                1,
                clang_sys::CXTranslationUnit_SkipFunctionBodies,
            )
        };
        let parsed = Self { index, unit };
        (!unit.is_null()).then_some(parsed)
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if !self.unit.is_null() {
            // SAFETY: `parse` made it, and it is disposed of only here.
            unsafe { clang_sys::clang_disposeTranslationUnit(self.unit) };
        }
        // SAFETY: as above, and the unit that uses the index is disposed of.
        unsafe { clang_sys::clang_disposeIndex(self.index) };
    }
}

/// The headers to search, and the variables found.
struct Search<'a> {
    headers: &'a [PathBuf],
    found: Vec<Declared>,
    refused: Option<Error>,
}

extern "C" fn visit(cursor: CXCursor, _parent: CXCursor, data: CXClientData) -> CXChildVisitResult {
    // SAFETY: `find` passes a pointer to its own search, which lives over the visit.
    let search = unsafe { &mut *data.cast::<Search<'_>>() };
    match Part::of(cursor) {
        Part::Namespace | Part::Transparent => CXChildVisit_Recurse,
        Part::Variable => {
            if let Err(error) = search.variable(cursor) {
                search.refused.get_or_insert(error);
            }
            CXChildVisit_Continue
        }
        _ => CXChildVisit_Continue,
    }
}

impl Search<'_> {
    fn variable(&mut self, cursor: CXCursor) -> Result<(), Error> {
        let words = words_of(cursor);
        let Some(space) = space(&words) else { return Ok(()) };
        let Some(file) = file_of(cursor).filter(|file| self.headers.contains(file)) else { return Ok(()) };
        // SAFETY: the cursor belongs to a live unit.
        let kind = unsafe { clang_sys::clang_getCursorType(cursor) };
        if is_const(kind) {
            // Nothing can set it. bindgen generates a constant if it is a number.
            return Ok(());
        }
        // SAFETY: the cursor belongs to a live unit.
        let name = text(unsafe { clang_sys::clang_getCursorSpelling(cursor) });
        let refuse = |why: &str| Error::Prototype(format!("{}: variable `{name}` {why}", file.display()));
        if kind.kind == CXType_IncompleteArray {
            return Err(refuse("has no length: its declaration must say how many elements it has"));
        }
        let mut path = vec![name.clone()];
        let mut inside = cursor;
        loop {
            // SAFETY: the cursor belongs to a live unit.
            inside = unsafe { clang_sys::clang_getCursorSemanticParent(inside) };
            match Part::of(inside) {
                Part::Namespace => {
                    // SAFETY: as above.
                    let namespace = text(unsafe { clang_sys::clang_getCursorSpelling(inside) });
                    if namespace.is_empty() || namespace.starts_with('(') {
                        return Err(refuse("is in a namespace without a name, where Rust cannot reach it"));
                    }
                    path.insert(0, namespace);
                }
                Part::Transparent => {}
                Part::Unit => break,
                // A member of a class.
                Part::Variable | Part::Other => return Ok(()),
            }
        }
        // SAFETY: the cursor belongs to a live unit.
        let mangled = text(unsafe { clang_sys::clang_Cursor_getMangling(cursor) });
        let found =
            Declared { name: path.join("_"), path: format!("::{}", path.join("::")), mangled, space, file };
        // A variable may be declared twice.
        if !self.found.iter().any(|known| known.path == found.path) {
            self.found.push(found);
        }
        Ok(())
    }
}

/// A part of a syntax tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Namespace,
    /// `extern "C"`, which changes no name.
    Transparent,
    Variable,
    /// The translation unit.
    Unit,
    Other,
}

impl Part {
    fn of(cursor: CXCursor) -> Self {
        // SAFETY: the caller's cursor belongs to a live unit.
        let kind = unsafe { clang_sys::clang_getCursorKind(cursor) };
        // SAFETY: the call only examines a number, whose meaning depends on libclang's version.
        let is_unit = unsafe { clang_sys::clang_isTranslationUnit(kind) } != 0;
        if is_unit {
            Self::Unit
        } else if kind == CXCursor_Namespace {
            Self::Namespace
        } else if kind == CXCursor_LinkageSpec || kind == CXCursor_UnexposedDecl {
            Self::Transparent
        } else if kind == CXCursor_VarDecl {
            Self::Variable
        } else {
            Self::Other
        }
    }
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

/// Returns CUDA's keywords on a declaration.
fn words_of(cursor: CXCursor) -> Vec<String> {
    extern "C" fn note(child: CXCursor, _parent: CXCursor, data: CXClientData) -> CXChildVisitResult {
        // SAFETY: the child belongs to the unit that is being visited.
        if unsafe { clang_sys::clang_getCursorKind(child) } == CXCursor_AnnotateAttr {
            // SAFETY: as above.
            let annotation = text(unsafe { clang_sys::clang_getCursorSpelling(child) });
            if let Some(word) = annotation.strip_prefix(MARK) {
                // SAFETY: `words_of` passes a pointer to its own list, which lives over the visit.
                unsafe { &mut *data.cast::<Vec<String>>() }.push(word.to_owned());
            }
        }
        CXChildVisit_Continue
    }
    let mut words = Vec::new();
    // SAFETY: the cursor belongs to a live unit. The visitor gets the pointer to `words`.
    unsafe { clang_sys::clang_visitChildren(cursor, note, (&raw mut words).cast()) };
    words
}

/// Returns whether no part of a variable of this type can be set.
fn is_const(mut kind: CXType) -> bool {
    loop {
        // SAFETY: the type belongs to a live unit.
        if unsafe { clang_sys::clang_isConstQualifiedType(kind) } != 0 {
            return true;
        }
        if kind.kind != CXType_ConstantArray && kind.kind != CXType_IncompleteArray {
            return false;
        }
        // SAFETY: as above, and it is an array.
        kind = unsafe { clang_sys::clang_getArrayElementType(kind) };
    }
}

/// Returns the file of a declaration.
fn file_of(cursor: CXCursor) -> Option<PathBuf> {
    let mut file: CXFile = ptr::null_mut();
    let mut unused: [c_uint; 3] = [0; 3];
    let [line, column, offset] = &mut unused;
    // SAFETY: the cursor belongs to a live unit.
    let at = unsafe { clang_sys::clang_getCursorLocation(cursor) };
    // SAFETY: the location belongs to the same unit, and the pointers are to live variables.
    unsafe { clang_sys::clang_getFileLocation(at, &raw mut file, line, column, offset) };
    if file.is_null() {
        return None;
    }
    // SAFETY: the file belongs to the same unit.
    let name = text(unsafe { clang_sys::clang_getFileName(file) });
    Path::new(&name).canonicalize().ok()
}

/// Converts a string of libclang and disposes of it.
fn text(string: CXString) -> String {
    // SAFETY: the string is from libclang and is disposed of only below.
    let pointer = unsafe { clang_sys::clang_getCString(string) };
    let text = if pointer.is_null() {
        String::new()
    } else {
        // SAFETY: it ends with a zero byte and lives until it is disposed of.
        unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
    };
    // SAFETY: as above; nothing uses the pointer after this.
    unsafe { clang_sys::clang_disposeString(string) };
    text
}
