//! Checks that nvcc gives the types of the headers and sources the layouts that they have in Rust.
//!
//! bindgen and libclang read the files without nvcc's macros, so a type that depends on `__CUDACC__` has
//! another layout there. A buffer of such elements would be too short for its kernel. The file that nvcc
//! compiles therefore ends with one line for each fact: the sizes, the alignments and the offsets of fields
//! of the types in the generated text, and the parameters of the kernels. nvcc checks them for the host and
//! for each architecture, and they make no code. bindgen's own checks compare the same facts with Rust.
//!
//! Each line instantiates a template of two numbers, which is defined only if they are equal. An explicit
//! instantiation may name private members.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::compiler::clang::{Cursor, KERNEL, Part, Type, TypeKind};

/// The template and what its lines need. C++03 takes it, too.
const HEAD: &str = "\
    #if defined(__NVCC_DIAG_PRAGMA_SUPPORT__)\n#pragma nv_diag_suppress 1427\n#endif\n\
    #pragma GCC diagnostic ignored \"-Winvalid-offsetof\"\n\
    namespace cuda_kernels_build_layouts {\n\
    template <int, unsigned long long, unsigned long long> struct __same;\n\
    template <int __line, unsigned long long __both> struct __same<__line, __both, __both> {};\n\
    }\n";

/// The start of the template's name in nvcc's errors.
const SAME: &str = "cuda_kernels_build_layouts::__same<";

/// What nvcc has to agree with.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The facts of each file, for the sources that include it.
    by_file: BTreeMap<PathBuf, Vec<Fact>>,
    /// The types and kernels that have their facts.
    done: BTreeSet<String>,
    /// The macros of the files. One may have the name of a field that is declared before it.
    pub(crate) macros: BTreeSet<String>,
}

#[derive(Debug)]
struct Fact {
    number: u64,
    /// A C++ expression.
    expression: String,
    /// The words of an error.
    about: String,
}

impl Facts {
    /// Adds the types and kernels below a part of the syntax tree. `is_generated` returns whether all types
    /// of a file are generated. Of other files there are those types that kernels and variables need.
    /// `depends_on_nvcc` returns whether nvcc may not see a declaration: only kernels and variables show
    /// that it sees the type. `is_left_out` returns whether plain C++ does not take a declaration.
    pub(crate) fn add(
        &mut self,
        below: Cursor<'_>,
        is_generated: &impl Fn(&Path) -> bool,
        depends_on_nvcc: &impl Fn(&Path, usize) -> bool,
        is_left_out: &impl Fn(&Path, usize) -> bool,
    ) -> Result<(), Error> {
        for cursor in below.children().into_iter().filter(|child| !child.is_system()) {
            let Some((file, range)) = cursor.place() else { continue };
            if is_left_out(&file, range.start) {
                continue;
            }
            match cursor.part() {
                Part::Namespace | Part::Transparent => {
                    self.add(cursor, is_generated, depends_on_nvcc, is_left_out)?;
                }
                Part::Function if cursor.words().iter().any(|word| word == KERNEL) => {
                    self.kernel(cursor, &file)?;
                }
                Part::Variable if !cursor.words().is_empty() => self.ty(cursor.declared_type(), &file)?,
                Part::Record | Part::Enum if is_generated(&file) && !depends_on_nvcc(&file, range.start) => {
                    self.ty(cursor.declared_type(), &file)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a kernel and the types that it takes. The conversion of its address names its parameters.
    fn kernel(&mut self, kernel: Cursor<'_>, file: &Path) -> Result<(), Error> {
        let types: Vec<_> = kernel.arguments().into_iter().map(|it| it.declared_type().canonical()).collect();
        for ty in &types {
            self.ty(*ty, file)?;
        }
        let types: Option<Vec<_>> = types.into_iter().map(spelled).collect();
        // The symbol of an instance of a template has the types itself.
        let path = kernel.path().filter(|_| kernel.template_arguments().is_none());
        let Some((types, path)) = types.zip(path) else { return Ok(()) };
        let types = types.join(", ");
        let expression = format!("sizeof(static_cast<void (*)({types})>(&{path}))");
        if self.done.insert(expression.clone()) {
            self.fact(file, 8, expression, format!("the parameters of kernel `{path}`"));
        }
        Ok(())
    }

    /// Adds the type that a type consists of or points to, and those that it is made of. `user` is the file
    /// that needs it.
    pub(crate) fn ty(&mut self, ty: Type<'_>, user: &Path) -> Result<(), Error> {
        let declaration = ty.innermost().declaration();
        // Without `const`.
        let ty = declaration.declared_type().canonical();
        let (Some(name), Some((size, align)), Some((file, _))) =
            (named(ty), ty.layout(), declaration.place())
        else {
            return Ok(());
        };
        let is_system = declaration.is_system();
        let is_template = name.contains('<');
        if ![TypeKind::Record, TypeKind::Enum].contains(&ty.kind()) || (is_system && is_template) {
            return Ok(());
        }
        let file = if is_system { user } else { &*file };
        if !self.done.insert(name.clone()) {
            return Ok(());
        }
        let Some(spelled) = spelled(ty) else { return Ok(()) };
        self.fact(file, size, format!("sizeof({spelled})"), format!("the size of `{name}`"));
        self.fact(file, align, format!("__alignof__({spelled})"), format!("the alignment of `{name}`"));
        if is_system {
            return Ok(());
        }
        self.bases(ty, &name, file)?;
        self.fields(ty, (&name, &spelled), ("", 0), file)?;
        let inner = declaration.children().into_iter();
        for inner in inner.filter(|it| !is_template && [Part::Record, Part::Enum].contains(&it.part())) {
            self.ty(inner.declared_type(), file)?;
        }
        Ok(())
    }

    /// Adds the bases of a type. An error if C++ uses the padding at the end of one for a field: Rust has
    /// no such layout.
    fn bases(&mut self, ty: Type<'_>, name: &str, file: &Path) -> Result<(), Error> {
        let bases = ty.declaration().bases();
        let mut end = 0;
        for base in &bases {
            self.ty(base.declared_type(), file)?;
            let (size, _) = base.declared_type().layout().unwrap_or_default();
            end += if base.declared_type().is_empty() { 0 } else { size };
        }
        let (size, _) = ty.layout().unwrap_or_default();
        let first = ty.fields().first().and_then(|field| Some((field.offset()?, field.name())));
        let (start, field) = first.unwrap_or((size, String::new()));
        let Some(base) = bases.last().filter(|_| start < end && !bases.iter().any(|it| it.is_virtual()))
        else {
            return Ok(());
        };
        let base = base.declared_type().canonical().spelling();
        Err(Error::Layout(format!(
            "{}: `{name}` has no layout in Rust: C++ puts field `{field}` at byte {start}, into the padding \
             at the end of its base `{base}`, which reaches to byte {end}. Make `{base}` a member of \
             `{name}` in place of a base, or fill its padding with a field of its own (`char unused[{}];`)",
            file.display(),
            end - start
        )))
    }

    /// Adds the fields of a type, those of its nameless parts among them. Bit fields have no offset.
    fn fields(
        &mut self,
        ty: Type<'_>,
        whole: (&str, &str),
        (prefix, start): (&str, u64),
        file: &Path,
    ) -> Result<(), Error> {
        for field in ty.fields() {
            let Some(offset) = field.offset().and_then(|offset| start.checked_add(offset)) else { continue };
            let (mut inner, name) = (field.declared_type().canonical(), field.name());
            // libclang has words in brackets for no name.
            let mut path = if name.contains('(') { prefix.to_owned() } else { format!("{prefix}{name}") };
            if path != prefix && !inner.is_reference() {
                let (what, spelled) = whole;
                let expression = format!("__builtin_offsetof({spelled}, {path})");
                self.fact(file, offset, expression, format!("the offset of field `{path}` in `{what}`"));
            }
            while let Some((element, _)) = inner.element() {
                path.push_str("[0]");
                inner = element.canonical();
            }
            if inner.kind() == TypeKind::Record && named(inner).is_none() {
                let path = if path == prefix { path } else { path + "." };
                self.fields(inner, whole, (&path, offset), file)?;
            }
            self.ty(inner, file)?;
        }
        Ok(())
    }

    fn fact(&mut self, file: &Path, number: u64, expression: String, about: String) {
        self.by_file.entry(file.to_owned()).or_default().push(Fact { number, expression, about });
    }

    /// Returns the files with facts.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.by_file.keys().map(PathBuf::as_path)
    }

    /// Returns the lines for a source that has these files: itself, and others that it includes.
    pub(crate) fn lines(&self, has: impl Fn(&Path) -> bool) -> String {
        let facts = self.by_file.iter().filter(|(file, _)| has(file)).flat_map(|(_, facts)| facts);
        let (mut text, mut undefined) = (String::new(), BTreeSet::new());
        for (at, Fact { number, expression, about }) in facts.enumerate() {
            let words = expression.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
            undefined.extend(words.filter(|word| self.macros.contains(*word)));
            text.push_str(&format!("template struct {SAME}{at}, {number}, {expression}>; // {about}\n"));
        }
        if text.is_empty() {
            return text;
        }
        undefined.iter().map(|name| format!("#undef {name}\n")).collect::<String>() + HEAD + &text
    }
}

/// Returns the qualified name of a type, if other code can name the type.
fn named(ty: Type<'_>) -> Option<String> {
    let name = ty.spelling().replace("(anonymous namespace)::", "");
    (!name.contains(['(', '\''])).then_some(name)
}

/// Spells a type in full. Returns `None` if other code cannot name it.
fn spelled(ty: Type<'_>) -> Option<String> {
    let (whole, declaration) = (named(ty)?, ty.innermost().declaration());
    let Some(name) = named(declaration.declared_type().canonical()).filter(|name| !name.is_empty()) else {
        return Some(whole);
    };
    // A function may have the name of the type.
    let full = match declaration.keyword() {
        Some(keyword) => format!("{keyword} ::{name}"),
        None => format!("::{name}"),
    };
    Some(whole.replacen(&name, &full, 1))
}

/// Returns the error for these words of nvcc, if they are about facts: what differs, and both numbers.
pub(crate) fn difference(said: &str) -> Option<Error> {
    let mut differences: Vec<String> = Vec::new();
    for said in said.lines() {
        // `wrapper.cu(12): error: incomplete type "cuda_kernels_build_layouts::__same<0, 12ULL, 16ULL>" is`
        let Some((place, message)) = said.split_once("): error") else { continue };
        let Some((file, number)) = place.rsplit_once('(') else { continue };
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = number.parse::<usize>().ok().and_then(|number| text.lines().nth(number.checked_sub(1)?));
        let fact = line.filter(|line| line.contains(SAME)).and_then(|line| line.split_once("; // "));
        // An error elsewhere may be the cause.
        let (_, about) = fact?;
        let numbers = message.split_once(SAME).map_or("", |(_, numbers)| numbers);
        let mut numbers =
            numbers.split([',', '>']).skip(1).map(|number| number.trim().trim_end_matches("ULL"));
        let mut number = || numbers.next().and_then(|number| number.parse::<u64>().ok());
        let difference = match (number(), number()) {
            (Some(rust), Some(nvcc)) => format!("{about}: {nvcc} bytes for nvcc, {rust} in Rust"),
            _ => format!("{about}: nvcc has another type{message}"),
        };
        // Once for the host, and once for each architecture.
        if !differences.contains(&difference) {
            differences.push(difference);
        }
    }
    (!differences.is_empty()).then(|| {
        Error::Layout(format!(
            "nvcc compiles other types than those that Rust gets, which are read without nvcc's macros:\n\
             - {}\n\
             Declare each of these types in one way for all compilers: what depends on __CUDACC__ or \
             __CUDA_ARCH__ has to be outside of it, and an alignment is alignas(N) rather than a macro. A \
             type that Rust does not need belongs between #ifdef __CUDACC__ and #endif",
            differences.join("\n- ")
        ))
    })
}
