//! The syntax tree that libclang makes of headers and sources, without the bodies of functions.
//!
//! bindgen does not report everything that this library needs: CUDA's keywords, templates, and where a
//! declaration is in its file.
#![expect(unsafe_code, reason = "walks the syntax tree of libclang, a C library")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::ptr;

use clang_sys::{
    CXChildVisit_Continue, CXChildVisitResult, CXClientData, CXCursor, CXCursor_AnnotateAttr,
    CXCursor_CXXBaseSpecifier, CXCursor_CXXMethod, CXCursor_ClassDecl, CXCursor_ClassTemplate,
    CXCursor_ClassTemplatePartialSpecialization, CXCursor_Constructor, CXCursor_ConversionFunction,
    CXCursor_Destructor, CXCursor_EnumDecl, CXCursor_FunctionDecl, CXCursor_FunctionTemplate,
    CXCursor_LinkageSpec, CXCursor_Namespace, CXCursor_StructDecl, CXCursor_TypeAliasDecl,
    CXCursor_TypedefDecl, CXCursor_UnexposedDecl, CXCursor_UnionDecl, CXCursor_VarDecl, CXDiagnostic_Error,
    CXFile, CXLinkage_External, CXSourceLocation, CXString, CXTemplateArgumentKind_Integral,
    CXTemplateArgumentKind_Type, CXType, CXType_Bool, CXType_ConstantArray, CXType_Enum,
    CXType_IncompleteArray, CXType_Invalid, CXType_LValueReference, CXType_LongDouble, CXType_Pointer,
    CXType_RValueReference, CXType_Record, CXUnsavedFile, CXVisit_Continue, CXVisitorResult,
};

use crate::Error;

/// The prefix of the annotations for CUDA's keywords.
const MARK: &str = "cuda-kernels-build:";

/// The word on kernels while libclang reads the files.
pub(crate) const KERNEL: &str = "global";

/// Returns an attribute that appears in the syntax tree as a [word](Cursor::words).
pub(crate) fn annotation(word: &str) -> String {
    format!("annotate(\"{MARK}{word}\")")
}

/// A parsed translation unit.
pub(crate) struct Unit {
    index: *mut c_void,
    unit: clang_sys::CXTranslationUnit,
}

impl Unit {
    /// Parses `text`. Errors in it are no errors here: see [`mistakes`](Self::mistakes).
    ///
    /// `replaced` are files with another text than on disk, and `arguments` are clang's.
    pub(crate) fn parse(
        text: &str,
        replaced: &[(PathBuf, String)],
        arguments: &[String],
    ) -> Result<Self, Error> {
        let unreadable =
            |what: &str| Error::Header(format!("the declarations of the kernels cannot be read: {what}"));
        if !clang_sys::is_loaded() {
            clang_sys::load().map_err(|error| unreadable(&error))?;
        }
        Self::parsed(text, replaced, arguments).ok_or_else(|| unreadable("libclang gave no syntax tree"))
    }

    fn parsed(text: &str, replaced: &[(PathBuf, String)], arguments: &[String]) -> Option<Self> {
        let arguments: Vec<CString> = ["-x", "c++", "-std=c++17", "-w", "-ferror-limit=0"]
            .into_iter()
            .chain(arguments.iter().map(String::as_str))
            .map(|argument| CString::new(argument).ok())
            .collect::<Option<_>>()?;
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let name = c"kernels.hpp";
        let names = replaced.iter().map(|(file, _)| CString::new(file.to_str()?).ok());
        let names: Vec<CString> = [Some(name.to_owned())].into_iter().chain(names).collect::<Option<_>>()?;
        let texts = [text].into_iter().chain(replaced.iter().map(|(_, text)| text.as_str()));
        let mut files = names
            .iter()
            .zip(texts)
            .map(|(name, text)| {
                let length = text.len().try_into().ok()?;
                Some(CXUnsavedFile {
                    Filename: name.as_ptr(),
                    Contents: text.as_ptr().cast(),
                    Length: length,
                })
            })
            .collect::<Option<Vec<_>>>()?;
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
                files.as_mut_ptr(),
                files.len().try_into().ok()?,
                clang_sys::CXTranslationUnit_SkipFunctionBodies,
            )
        };
        let parsed = Self { index, unit };
        (!unit.is_null()).then_some(parsed)
    }

    pub(crate) fn root(&self) -> Cursor<'_> {
        // SAFETY: the unit is live.
        Cursor { raw: unsafe { clang_sys::clang_getTranslationUnitCursor(self.unit) }, unit: PhantomData }
    }

    /// Returns the files that these sources include, directly or not, except those of the toolkit and of the
    /// system. Each has the places of the names in the directives by which it is included, up to the
    /// source's.
    pub(crate) fn included_by(&self, sources: &[PathBuf]) -> BTreeMap<PathBuf, Vec<(PathBuf, usize)>> {
        extern "C" fn note(file: CXFile, stack: *mut CXSourceLocation, length: c_uint, data: CXClientData) {
            let Ok(length) = usize::try_from(length) else { return };
            if length == 0 || file.is_null() {
                return;
            }
            // SAFETY: libclang passes the locations of the directives, as many as it says.
            let stack = unsafe { std::slice::from_raw_parts(stack, length) };
            // SAFETY: `included_by` passes a pointer to its own list, which lives over the visit.
            unsafe { &mut *data.cast::<Vec<(CXFile, Vec<CXSourceLocation>)>>() }.push((file, stack.to_vec()));
        }
        let mut inclusions: Vec<(CXFile, Vec<CXSourceLocation>)> = Vec::new();
        // SAFETY: the unit is live. The visitor gets the pointer to the list.
        unsafe { clang_sys::clang_getInclusions(self.unit, note, (&raw mut inclusions).cast()) };
        let mut found = BTreeMap::new();
        for (file, stack) in inclusions {
            // SAFETY: the unit is live, and the file belongs to it.
            let start = unsafe { clang_sys::clang_getLocationForOffset(self.unit, file, 0) };
            let is_source = |path: &PathBuf| sources.contains(path);
            let mut through: Vec<_> = stack.into_iter().filter_map(place).collect();
            if let Some((path, _)) = place(start).filter(|(path, _)| !is_system(start) && !is_source(path))
                && let Some(source) = through.iter().position(|(path, _)| is_source(path))
            {
                through.truncate(source + 1);
                found.entry(path).or_insert(through);
            }
        }
        found
    }

    /// Returns the errors: files, offsets, and clang's words.
    pub(crate) fn mistakes(&self) -> Vec<(PathBuf, usize, String)> {
        // SAFETY: the unit is live.
        let count = unsafe { clang_sys::clang_getNumDiagnostics(self.unit) };
        let mistake = |at| {
            // SAFETY: the unit is live, and the number is below the count.
            let diagnostic = unsafe { clang_sys::clang_getDiagnostic(self.unit, at) };
            // SAFETY: the diagnostic is live.
            let severity = unsafe { clang_sys::clang_getDiagnosticSeverity(diagnostic) };
            // SAFETY: the diagnostic is live.
            let location = unsafe { clang_sys::clang_getDiagnosticLocation(diagnostic) };
            // SAFETY: the diagnostic is live.
            let words = text(unsafe { clang_sys::clang_getDiagnosticSpelling(diagnostic) });
            // SAFETY: nothing uses the diagnostic after this; the location belongs to the unit.
            unsafe { clang_sys::clang_disposeDiagnostic(diagnostic) };
            let (file, offset) = place(location).filter(|_| severity >= CXDiagnostic_Error)?;
            Some((file, offset, words))
        };
        (0..count).filter_map(mistake).collect()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if !self.unit.is_null() {
            // SAFETY: `parse` made it, and it is disposed of only here.
            unsafe { clang_sys::clang_disposeTranslationUnit(self.unit) };
        }
        // SAFETY: `parse` made it, and the unit that uses it is disposed of.
        unsafe { clang_sys::clang_disposeIndex(self.index) };
    }
}

/// A part of a syntax tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Namespace,
    /// `extern "C"`, which changes no name.
    Transparent,
    Variable,
    Function,
    FunctionTemplate,
    /// A class, a struct, a union, or a template of one.
    Record,
    Enum,
    /// Another name for a type.
    Alias,
    /// The translation unit.
    Unit,
    Other,
}

/// A declaration in a live unit.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    raw: CXCursor,
    unit: PhantomData<&'a Unit>,
}

impl<'a> Cursor<'a> {
    #[expect(non_upper_case_globals, reason = "the names of libclang")]
    pub(crate) fn part(self) -> Part {
        // SAFETY: the cursor belongs to a live unit.
        let kind = unsafe { clang_sys::clang_getCursorKind(self.raw) };
        // SAFETY: the call only examines a number, whose meaning depends on libclang's version.
        if unsafe { clang_sys::clang_isTranslationUnit(kind) } != 0 {
            return Part::Unit;
        }
        match kind {
            CXCursor_Namespace => Part::Namespace,
            CXCursor_LinkageSpec | CXCursor_UnexposedDecl => Part::Transparent,
            CXCursor_VarDecl => Part::Variable,
            CXCursor_FunctionDecl
            | CXCursor_CXXMethod
            | CXCursor_Constructor
            | CXCursor_Destructor
            | CXCursor_ConversionFunction => Part::Function,
            CXCursor_FunctionTemplate => Part::FunctionTemplate,
            CXCursor_ClassDecl
            | CXCursor_StructDecl
            | CXCursor_UnionDecl
            | CXCursor_ClassTemplate
            | CXCursor_ClassTemplatePartialSpecialization => Part::Record,
            CXCursor_EnumDecl => Part::Enum,
            CXCursor_TypedefDecl | CXCursor_TypeAliasDecl => Part::Alias,
            _ => Part::Other,
        }
    }

    pub(crate) fn children(self) -> Vec<Self> {
        extern "C" fn note(child: CXCursor, _: CXCursor, data: CXClientData) -> CXChildVisitResult {
            // SAFETY: `children` passes a pointer to its own list, which lives over the visit.
            unsafe { &mut *data.cast::<Vec<CXCursor>>() }.push(child);
            CXChildVisit_Continue
        }
        let mut children = Vec::new();
        // SAFETY: the cursor belongs to a live unit. The visitor gets the pointer to the list.
        unsafe { clang_sys::clang_visitChildren(self.raw, note, (&raw mut children).cast()) };
        children.into_iter().map(|raw| Self { raw, unit: PhantomData }).collect()
    }

    pub(crate) fn name(self) -> String {
        // SAFETY: the cursor belongs to a live unit.
        text(unsafe { clang_sys::clang_getCursorSpelling(self.raw) })
    }

    pub(crate) fn mangled(self) -> String {
        // SAFETY: the cursor belongs to a live unit.
        text(unsafe { clang_sys::clang_Cursor_getMangling(self.raw) })
    }

    /// Returns the declaration that this one is a member of.
    pub(crate) fn parent(self) -> Self {
        // SAFETY: the cursor belongs to a live unit.
        Self { raw: unsafe { clang_sys::clang_getCursorSemanticParent(self.raw) }, unit: PhantomData }
    }

    /// Returns CUDA's keywords on the declaration.
    pub(crate) fn words(self) -> Vec<String> {
        // SAFETY: the cursor belongs to a live unit.
        let is_word = |raw| unsafe { clang_sys::clang_getCursorKind(raw) } == CXCursor_AnnotateAttr;
        let words = self.children().into_iter().filter(|child| is_word(child.raw));
        words.filter_map(|word| word.name().strip_prefix(MARK).map(str::to_owned)).collect()
    }

    /// Returns whether other files of a program can name the declaration.
    pub(crate) fn is_external(self) -> bool {
        // SAFETY: the cursor belongs to a live unit.
        (unsafe { clang_sys::clang_getCursorLinkage(self.raw) }) == CXLinkage_External
    }

    /// Returns whether the file belongs to the toolkit or the system.
    pub(crate) fn is_system(self) -> bool {
        // SAFETY: the cursor belongs to a live unit.
        is_system(unsafe { clang_sys::clang_getCursorLocation(self.raw) })
    }

    /// Returns the file of the declaration, and where the declaration is in it, without the body of a
    /// function that was skipped.
    pub(crate) fn place(self) -> Option<(PathBuf, Range<usize>)> {
        // SAFETY: the cursor belongs to a live unit.
        let extent = unsafe { clang_sys::clang_getCursorExtent(self.raw) };
        // SAFETY: the extent belongs to the same unit.
        let (file, start) = place(unsafe { clang_sys::clang_getRangeStart(extent) })?;
        // SAFETY: the extent belongs to the same unit.
        let (_, end) = place(unsafe { clang_sys::clang_getRangeEnd(extent) })?;
        Some((file, start..end))
    }

    /// Returns the arguments of an instance of a function template as C++ text. Returns `None` for other
    /// functions.
    #[expect(non_upper_case_globals, reason = "the names of libclang")]
    pub(crate) fn template_arguments(self) -> Option<Vec<String>> {
        // SAFETY: the cursor belongs to a live unit.
        let count = unsafe { clang_sys::clang_Cursor_getNumTemplateArguments(self.raw) };
        let argument = |at: c_uint| {
            // SAFETY: the cursor belongs to a live unit, and the number is below the count.
            match unsafe { clang_sys::clang_Cursor_getTemplateArgumentKind(self.raw, at) } {
                CXTemplateArgumentKind_Type => {
                    // SAFETY: the cursor belongs to a live unit, and its argument of this number is a type.
                    let ty = unsafe { clang_sys::clang_Cursor_getTemplateArgumentType(self.raw, at) };
                    // SAFETY: the type belongs to the same unit.
                    text(unsafe { clang_sys::clang_getTypeSpelling(ty) })
                }
                CXTemplateArgumentKind_Integral => {
                    // SAFETY: the cursor belongs to a live unit, and its argument of this number is a number.
                    unsafe { clang_sys::clang_Cursor_getTemplateArgumentValue(self.raw, at) }.to_string()
                }
                _ => format!("argument{at}"),
            }
        };
        c_uint::try_from(count).ok().map(|count| (0..count).map(argument).collect())
    }

    /// Returns the template of an instance.
    pub(crate) fn template(self) -> Self {
        // SAFETY: the cursor belongs to a live unit.
        Self { raw: unsafe { clang_sys::clang_getSpecializedCursorTemplate(self.raw) }, unit: self.unit }
    }

    /// Returns the names of a template's parameters that are those of its function.
    pub(crate) fn parameter_names(self) -> Vec<String> {
        let children = self.children().into_iter();
        children.filter(|it| it.raw.kind == clang_sys::CXCursor_ParmDecl).map(Self::name).collect()
    }

    /// Returns a text that all declarations of one entity have in common, and no others.
    pub(crate) fn identity(self) -> String {
        // SAFETY: the cursor belongs to a live unit.
        text(unsafe { clang_sys::clang_getCursorUSR(self.raw) })
    }

    /// Returns whether no part of a variable can be set.
    pub(crate) fn is_const(self) -> bool {
        let mut kind = self.kind();
        loop {
            // SAFETY: the type belongs to a live unit.
            if unsafe { clang_sys::clang_isConstQualifiedType(kind) } != 0 {
                return true;
            }
            if kind.kind != CXType_ConstantArray && kind.kind != CXType_IncompleteArray {
                return false;
            }
            // SAFETY: the type belongs to a live unit, and it is an array.
            kind = unsafe { clang_sys::clang_getArrayElementType(kind) };
        }
    }

    /// Returns whether a variable is an array without a length.
    pub(crate) fn is_unsized(self) -> bool {
        self.kind().kind == CXType_IncompleteArray
    }

    fn kind(self) -> CXType {
        // SAFETY: the cursor belongs to a live unit.
        unsafe { clang_sys::clang_getCursorType(self.raw) }
    }

    /// Returns the type of a variable or field, or the one that the cursor declares.
    pub(crate) fn declared_type(self) -> Type<'a> {
        Type { raw: self.kind(), unit: PhantomData }
    }

    /// Returns the type that an alias stands for.
    pub(crate) fn aliased_type(self) -> Type<'a> {
        // SAFETY: the cursor belongs to a live unit.
        Type::new(unsafe { clang_sys::clang_getTypedefDeclUnderlyingType(self.raw) })
    }

    /// Returns the parameters of a function.
    pub(crate) fn arguments(self) -> Vec<Self> {
        // SAFETY: the cursor belongs to a live unit.
        let count = unsafe { clang_sys::clang_Cursor_getNumArguments(self.raw) };
        // SAFETY: the cursor belongs to a live unit, and the number is below the count.
        let argument = |at| unsafe { clang_sys::clang_Cursor_getArgument(self.raw, at) };
        let numbers = 0..c_uint::try_from(count).unwrap_or_default();
        numbers.map(|at| Self { raw: argument(at), unit: PhantomData }).collect()
    }

    /// Returns the qualified name, from the global namespace. Returns `None` for a member of a class.
    pub(crate) fn path(self) -> Option<String> {
        let (mut path, mut inside) = (self.name(), self.parent());
        loop {
            match inside.part() {
                Part::Unit => return Some(format!("::{path}")),
                Part::Transparent => {}
                Part::Namespace => {
                    let name = inside.name();
                    if !name.is_empty() && !name.starts_with('(') {
                        path = format!("{name}::{path}");
                    }
                }
                _ => return None,
            }
            inside = inside.parent();
        }
    }

    /// Returns the keyword before the name of a class, a union or an enumeration. Returns `None` if only a
    /// typedef names it.
    #[expect(non_upper_case_globals, reason = "the names of libclang")]
    pub(crate) fn keyword(self) -> Option<&'static str> {
        let identity = self.identity();
        // The last word but one is `S` for a struct with a name, and `SA` for one that a typedef names.
        if identity.rsplit('@').nth(1).is_none_or(|word| word.ends_with('A')) {
            return None;
        }
        // SAFETY: the cursor belongs to a live unit.
        match unsafe { clang_sys::clang_getCursorKind(self.raw) } {
            CXCursor_StructDecl | CXCursor_ClassDecl => Some("struct"),
            CXCursor_UnionDecl => Some("union"),
            CXCursor_EnumDecl => Some("enum"),
            _ => None,
        }
    }

    /// Returns the bases of a class.
    pub(crate) fn bases(self) -> Vec<Self> {
        // SAFETY: the cursor belongs to a live unit.
        let is_base = |raw| unsafe { clang_sys::clang_getCursorKind(raw) } == CXCursor_CXXBaseSpecifier;
        self.children().into_iter().filter(|child| is_base(child.raw)).collect()
    }

    /// Returns whether a base is a virtual one.
    pub(crate) fn is_virtual(self) -> bool {
        // SAFETY: the cursor belongs to a live unit.
        (unsafe { clang_sys::clang_isVirtualBase(self.raw) }) != 0
    }

    /// Returns where a field is in its struct, in bytes. Returns `None` for a bit field.
    pub(crate) fn offset(self) -> Option<u64> {
        // SAFETY: the cursor belongs to a live unit.
        if unsafe { clang_sys::clang_Cursor_isBitField(self.raw) } != 0 {
            return None;
        }
        // SAFETY: the cursor belongs to a live unit.
        let bits = unsafe { clang_sys::clang_Cursor_getOffsetOfField(self.raw) };
        u64::try_from(bits).ok().filter(|bits| bits % 8 == 0).map(|bits| bits / 8)
    }
}

/// A kind of type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeKind {
    /// A number, a truth value or a sign.
    Number,
    Pointer,
    Record,
    Enum,
    Other,
}

/// A type in a live unit.
#[derive(Clone, Copy)]
pub(crate) struct Type<'a> {
    raw: CXType,
    unit: PhantomData<&'a Unit>,
}

impl<'a> Type<'a> {
    fn new(raw: CXType) -> Self {
        Self { raw, unit: PhantomData }
    }

    #[expect(non_upper_case_globals, reason = "the names of libclang")]
    pub(crate) fn kind(self) -> TypeKind {
        match self.raw.kind {
            CXType_Bool..=CXType_LongDouble => TypeKind::Number,
            CXType_Pointer => TypeKind::Pointer,
            CXType_Record => TypeKind::Record,
            CXType_Enum => TypeKind::Enum,
            _ => TypeKind::Other,
        }
    }

    /// Returns the type without typedefs.
    pub(crate) fn canonical(self) -> Self {
        // SAFETY: the type belongs to a live unit.
        Self::new(unsafe { clang_sys::clang_getCanonicalType(self.raw) })
    }

    pub(crate) fn pointee(self) -> Self {
        // SAFETY: the type belongs to a live unit.
        Self::new(unsafe { clang_sys::clang_getPointeeType(self.raw) })
    }

    pub(crate) fn is_reference(self) -> bool {
        [CXType_LValueReference, CXType_RValueReference].contains(&self.raw.kind)
    }

    pub(crate) fn is_const(self) -> bool {
        // SAFETY: the type belongs to a live unit.
        (unsafe { clang_sys::clang_isConstQualifiedType(self.raw) }) != 0
    }

    pub(crate) fn spelling(self) -> String {
        // SAFETY: the type belongs to a live unit.
        text(unsafe { clang_sys::clang_getTypeSpelling(self.raw) })
    }

    /// Returns the declaration of a class, a union or an enumeration.
    pub(crate) fn declaration(self) -> Cursor<'a> {
        // SAFETY: the type belongs to a live unit.
        Cursor { raw: unsafe { clang_sys::clang_getTypeDeclaration(self.raw) }, unit: PhantomData }
    }

    /// Returns the type without typedefs, arrays, pointers and references.
    pub(crate) fn innermost(self) -> Self {
        let mut ty = self.canonical();
        loop {
            let target = ty.pointee().canonical();
            ty = match ty.element() {
                Some((element, _)) => element.canonical(),
                None if target.raw.kind != CXType_Invalid => target,
                None => return ty,
            };
        }
    }

    /// Returns whether a class has no members and no bases with any.
    pub(crate) fn is_empty(self) -> bool {
        let ty = self.canonical();
        ty.fields().is_empty() && ty.declaration().bases().iter().all(|base| base.declared_type().is_empty())
    }

    /// Returns whether the type is a struct of a namespace, with a name and no template arguments.
    pub(crate) fn is_named(self) -> bool {
        matches!(self.declaration().parent().part(), Part::Namespace | Part::Transparent | Part::Unit)
            && !self.spelling().contains(['(', '<'])
    }

    /// Returns the size and the alignment in bytes. Returns `None` if the type is not complete.
    pub(crate) fn layout(self) -> Option<(u64, u64)> {
        // SAFETY: the type belongs to a live unit.
        let size = unsafe { clang_sys::clang_Type_getSizeOf(self.raw) };
        // SAFETY: the type belongs to a live unit.
        let align = unsafe { clang_sys::clang_Type_getAlignOf(self.raw) };
        Some((u64::try_from(size).ok()?, u64::try_from(align).ok().filter(|align| *align > 0)?))
    }

    /// Returns the element type and the length of an array.
    pub(crate) fn element(self) -> Option<(Self, u64)> {
        if self.raw.kind != CXType_ConstantArray {
            return None;
        }
        // SAFETY: the type belongs to a live unit, and it is an array.
        let element = unsafe { clang_sys::clang_getArrayElementType(self.raw) };
        // SAFETY: the type belongs to a live unit, and it is an array.
        let length = unsafe { clang_sys::clang_getArraySize(self.raw) };
        Some((Self::new(element), u64::try_from(length).ok()?))
    }

    /// Returns the fields of a struct.
    pub(crate) fn fields(self) -> Vec<Cursor<'a>> {
        extern "C" fn note(field: CXCursor, data: CXClientData) -> CXVisitorResult {
            // SAFETY: `fields` passes a pointer to its own list, which lives over the visit.
            unsafe { &mut *data.cast::<Vec<CXCursor>>() }.push(field);
            CXVisit_Continue
        }
        let mut fields: Vec<CXCursor> = Vec::new();
        // SAFETY: the type belongs to a live unit. The visitor gets the pointer to the list.
        unsafe { clang_sys::clang_Type_visitFields(self.raw, note, (&raw mut fields).cast()) };
        fields.into_iter().map(|raw| Cursor { raw, unit: PhantomData }).collect()
    }
}

/// Returns whether a location, which belongs to a live unit, is in a file of the toolkit or the system.
fn is_system(location: CXSourceLocation) -> bool {
    // SAFETY: the caller's location belongs to a live unit.
    (unsafe { clang_sys::clang_Location_isInSystemHeader(location) }) != 0
}

/// Returns the file and the offset of a location, which belongs to a live unit.
fn place(location: CXSourceLocation) -> Option<(PathBuf, usize)> {
    let mut file = ptr::null_mut();
    let mut unused: [c_uint; 3] = [0; 3];
    let [line, column, offset] = &mut unused;
    // SAFETY: the caller's location belongs to a live unit, and the pointers are to live variables.
    unsafe { clang_sys::clang_getExpansionLocation(location, &raw mut file, line, column, offset) };
    if file.is_null() {
        return None;
    }
    // SAFETY: the file belongs to the same unit.
    let name = text(unsafe { clang_sys::clang_getFileName(file) });
    Some((Path::new(&name).canonicalize().ok()?, usize::try_from(*offset).ok()?))
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
    // SAFETY: the string is live, and nothing uses the pointer after this.
    unsafe { clang_sys::clang_disposeString(string) };
    text
}
