//! Makes the symbols of a build unique in the program.
//!
//! nvcc's host code has a function for each kernel, with the kernel's own name, and functions and variables
//! of headers besides. A program links the archives of many packages, and a linker takes the first definition
//! of a name, which may be another package's, silently. So each symbol that a build defines gets a suffix of
//! this package, version and build, in all objects of the build. Handles use these names. Device code is not
//! changed: the runtime and its messages know kernels and variables by their own names.
//!
//! A suffix has advantages over local symbols. The objects of a build still find each other, and need not be
//! joined: the linker still leaves out those that nothing uses. It still merges the inline functions of one
//! build, and not those of two, whose sources may differ. Demanglers show
//! `saxpy(float) [clone .ops_1_0_0_..]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use object::elf::{
    FileHeader64, SHN_UNDEF, SHT_GROUP, SHT_SYMTAB, STB_GLOBAL, STB_LOCAL, STV_HIDDEN, SectionHeader64, Sym64,
};
use object::read::elf::{FileHeader as _, SectionHeader as _, Sym as _, SymbolTable};
use object::{LittleEndian as LE, SectionIndex, U32, U64, pod};

use crate::Error;

/// The starts of names that stay: C++ has one `operator new` and `operator delete` in a program, and those of
/// a source replace the C++ library's.
const REPLACEABLE: [&str; 4] = ["_Znw", "_Zna", "_Zdl", "_Zda"];

/// The names of a build.
#[derive(Debug, Default)]
pub(crate) struct Names {
    suffix: String,
    /// The names that C and C++ use.
    exports: BTreeSet<String>,
    objects: Vec<PathBuf>,
    definitions: BTreeMap<String, Definitions>,
}

/// The objects that define one name, as indices.
#[derive(Debug, Default)]
struct Definitions {
    strong: Vec<usize>,
    /// The linker takes one of these: inline functions and templates.
    weak: Vec<usize>,
}

impl Names {
    /// Reads the objects of a build. `exports` keep their names, too. A `*` at the end of one stands for all
    /// names with this start.
    pub(crate) fn of(suffix: &str, exports: &[String], objects: Vec<PathBuf>) -> Result<Self, Error> {
        let mut names = Self { suffix: suffix.to_owned(), ..Self::default() };
        for (at, object) in objects.iter().enumerate() {
            let bytes = fs::read(object).map_err(Error::of_file(object))?;
            let parsed = Parsed::of(&bytes).map_err(|error| unreadable(object, &error))?;
            for (_, symbol, name) in parsed.symbols() {
                if symbol.st_bind() != STB_LOCAL && is_defined(symbol) {
                    let found = names.definitions.entry(name.to_owned()).or_default();
                    let list =
                        if symbol.st_bind() == STB_GLOBAL { &mut found.strong } else { &mut found.weak };
                    list.push(at);
                }
            }
        }
        names.objects = objects;
        for export in exports {
            let start = export.strip_suffix('*');
            let is_meant = |name: &&String| start.map_or(*name == export, |start| name.starts_with(start));
            let found: Vec<String> = names.definitions.keys().filter(is_meant).cloned().collect();
            if found.is_empty() {
                return Err(names.not_defined(export));
            }
            for name in found {
                names.unique(&name)?;
                names.exports.insert(name);
            }
        }
        Ok(names)
    }

    /// Returns the names that the objects define, each with the index of an object that defines it.
    pub(crate) fn defined(&self) -> impl Iterator<Item = (&str, usize)> {
        self.definitions.iter().flat_map(|(name, found)| {
            found.strong.iter().chain(&found.weak).take(1).map(move |at| (name.as_str(), *at))
        })
    }

    /// Returns the name by which a handle takes a symbol. A symbol of none of the objects is another
    /// library's, and keeps its name.
    pub(crate) fn unique(&self, name: &str) -> Result<String, Error> {
        match self.definitions.get(name).map(|found| found.strong.as_slice()) {
            None => Ok(name.to_owned()),
            Some([one, other, ..]) => {
                Err(self.ambiguous(name, *one, *other, "the build has one handle or export of a name"))
            }
            Some(_) => Ok(self.with_suffix(name)),
        }
    }

    /// Returns the unique names of what is exported.
    pub(crate) fn exported(&self) -> Vec<String> {
        self.exports.iter().map(|name| self.with_suffix(name)).collect()
    }

    /// Writes each object with unique names into the folder. Returns the files.
    pub(crate) fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        fs::create_dir_all(folder).map_err(Error::of_file(folder))?;
        let write = |(at, object): (usize, &PathBuf)| {
            let bytes = fs::read(object).map_err(Error::of_file(object))?;
            let parsed = Parsed::of(&bytes).map_err(|error| unreadable(object, &error))?;
            let to = folder.join(object.file_name().unwrap_or_default());
            fs::write(&to, self.renamed(at, object, &parsed)?).map_err(Error::of_file(&to))?;
            Ok(to)
        };
        self.objects.iter().enumerate().map(write).collect()
    }

    /// Returns the bytes of an object with unique names.
    fn renamed(&self, at: usize, object: &Path, parsed: &Parsed<'_>) -> Result<Vec<u8>, Error> {
        let signatures = parsed.signatures();
        let mut edit = parsed.edit().map_err(|error| unreadable(object, &error))?;
        for (index, symbol, name) in parsed.symbols() {
            let found = self.definitions.get(name).filter(|_| symbol.st_bind() != STB_LOCAL);
            let Some(Definitions { strong, .. }) = found else {
                // The linker keeps one group of each name, which may be that of a local symbol.
                if signatures.contains(&index) {
                    edit.rename(index, &self.with_suffix(name));
                }
                continue;
            };
            // Two sources may each have a function of one name, if no other source uses one of them.
            let is_own = strong.contains(&at);
            let mut unique = self.with_suffix(name);
            if let [one, other, ..] = strong.as_slice() {
                if !is_own {
                    let user = format!("{} uses one of them", source_of(object));
                    return Err(self.ambiguous(name, *one, *other, &user));
                }
                unique.push_str(&format!(".{at}"));
            }
            edit.rename(index, &unique);
            if is_defined(symbol) && self.exports.contains(name) {
                edit.export(index, symbol);
            }
        }
        Ok(edit.finish())
    }

    fn with_suffix(&self, name: &str) -> String {
        format!("{name}.{}", self.suffix)
    }

    fn ambiguous(&self, name: &str, one: usize, other: usize, why: &str) -> Error {
        let source = |at: usize| self.objects.get(at).map(|object| source_of(object)).unwrap_or_default();
        Error::Name(format!(
            "`{name}` is defined in {} and in {}, and {why}: rename one of them, make one `static`, or use a \
             `Build` for each file",
            source(one),
            source(other)
        ))
    }

    fn not_defined(&self, export: &str) -> Error {
        // A mangled name has the length in front.
        let part = format!("{}{export}", export.len());
        let is_meant = |name: &&String| {
            name.starts_with(&format!("_Z{part}")) || name.starts_with("_ZN") && name.contains(&part)
        };
        let other = self.definitions.keys().find(is_meant);
        let advice = other.map_or(String::new(), |name| {
            format!(" There is the C++ function `{name}`: declare it `extern \"C\"`, or export that name.")
        });
        Error::Name(format!("Build::export: no source of this build defines `{export}`.{advice}"))
    }
}

/// Returns the name of the source of an object: see `nvcc::file_tag`.
fn source_of(object: &Path) -> String {
    let stem = object.file_stem().unwrap_or_default().to_string_lossy();
    format!("{}.cu", stem.rsplit_once('-').map_or(&*stem, |(name, _)| name))
}

fn unreadable(object: &Path, error: &object::Error) -> Error {
    Error::Compile(object.to_owned(), format!("its symbols cannot be read: {error}"))
}

fn is_defined(symbol: &Sym64<LE>) -> bool {
    symbol.st_shndx(LE) != SHN_UNDEF
}

/// The symbols of an object.
struct Parsed<'a> {
    bytes: &'a [u8],
    header: &'a FileHeader64<LE>,
    sections: &'a [SectionHeader64<LE>],
    table: SymbolTable<'a, FileHeader64<LE>>,
}

impl<'a> Parsed<'a> {
    fn of(bytes: &'a [u8]) -> object::Result<Self> {
        let header = FileHeader64::<LE>::parse(bytes)?;
        header.endian()?;
        let table = header.sections(LE, bytes)?.symbols(LE, bytes, SHT_SYMTAB)?;
        Ok(Self { bytes, header, sections: header.section_headers(LE, bytes)?, table })
    }

    /// Returns the symbols that have names, without those of the C++ library, with their indices.
    fn symbols(&self) -> impl Iterator<Item = (usize, &'a Sym64<LE>, &'a str)> {
        self.table.enumerate().filter_map(|(index, symbol)| {
            let name = symbol.name(LE, self.table.strings()).ok()?;
            let name = str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
            let stays = REPLACEABLE.iter().any(|start| name.starts_with(start));
            (!stays).then_some((index.0, symbol, name))
        })
    }

    /// Returns the symbols after which groups of sections are named. The linker keeps one group of a name.
    fn signatures(&self) -> BTreeSet<usize> {
        let groups = self.sections.iter().filter(|section| section.sh_type(LE) == SHT_GROUP);
        groups.filter_map(|section| section.sh_info(LE).try_into().ok()).collect()
    }

    fn edit(&self) -> object::Result<Edit<'_>> {
        let data = |section: SectionIndex| match self.sections.get(section.0) {
            Some(header) if section.0 > 0 => header.data(LE, self.bytes),
            _ => Ok(&[][..]),
        };
        Ok(Edit {
            parsed: self,
            symbols: self.table.symbols().to_vec(),
            strings: data(self.table.string_section())?.to_vec(),
            far: pod::slice_from_all_bytes(data(self.table.shndx_section())?).unwrap_or_default().to_vec(),
        })
    }
}

/// An object with other names.
struct Edit<'a> {
    parsed: &'a Parsed<'a>,
    symbols: Vec<Sym64<LE>>,
    strings: Vec<u8>,
    /// The section of each symbol, in an object with too many sections for the symbols themselves.
    far: Vec<U32<LE>>,
}

impl Edit<'_> {
    /// Adds a name, and returns its place among the names.
    fn string(&mut self, name: &str) -> U32<LE> {
        let at = u32::try_from(self.strings.len()).unwrap_or(u32::MAX);
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        U32::new(LE, at)
    }

    fn rename(&mut self, index: usize, name: &str) {
        let name = self.string(name);
        if let Some(symbol) = self.symbols.get_mut(index) {
            symbol.st_name = name;
            if is_defined(symbol) && symbol.st_bind() != STB_LOCAL {
                symbol.st_other = symbol.st_other & !symbol.st_visibility() | STV_HIDDEN;
            }
        }
    }

    /// Adds a symbol with the name that an object has given: two of them in a program do not link.
    fn export(&mut self, index: usize, symbol: &Sym64<LE>) {
        let mut exported = *symbol;
        exported.set_st_info(STB_GLOBAL, symbol.st_type());
        self.symbols.push(exported);
        if let Some(section) = self.far.get(index) {
            self.far.push(*section);
        }
    }

    /// Returns the bytes of the object. What has grown comes after all else.
    fn finish(self) -> Vec<u8> {
        let Self { parsed, symbols, strings, far } = self;
        let (mut file, mut sections) = (parsed.bytes.to_vec(), parsed.sections.to_vec());
        let mut append = |bytes: &[u8]| {
            file.resize(file.len().next_multiple_of(8), 0);
            let at = U64::new(LE, file.len() as u64);
            file.extend_from_slice(bytes);
            (at, U64::new(LE, bytes.len() as u64))
        };
        let table = &parsed.table;
        for (section, bytes) in [
            (table.section(), pod::bytes_of_slice(&symbols)),
            (table.string_section(), strings.as_slice()),
            (table.shndx_section(), pod::bytes_of_slice(&far)),
        ] {
            if let Some(header) = sections.get_mut(section.0).filter(|_| section.0 > 0) {
                (header.sh_offset, header.sh_size) = append(bytes);
            }
        }
        let mut header = *parsed.header;
        (header.e_shoff, _) = append(pod::bytes_of_slice(&sections));
        let start = pod::bytes_of(&header);
        file.splice(..start.len(), start.iter().copied());
        file
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Compiles these C++ sources, each with the name of its object.
    fn objects(folder: &Path, sources: &[(&str, &str)]) -> Vec<PathBuf> {
        let compiled = |(name, source): &(&str, &str)| {
            let (cpp, object) = (folder.join(format!("{name}.cpp")), folder.join(format!("{name}-0123.o")));
            fs::write(&cpp, source).unwrap();
            run(Command::new(compiler()).arg("-c").arg(&cpp).arg("-o").arg(&object));
            object
        };
        sources.iter().map(compiled).collect()
    }

    fn compiler() -> String {
        std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned())
    }

    fn run(command: &mut Command) {
        let done = command.output().unwrap();
        assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// What is in a header of two builds, with different numbers: an inline function, a class with a table of
    /// virtual functions, and a constructor before `main`.
    const SHARED: &str = "
        struct Base { int n; Base() : n(N) {} virtual ~Base() { n = 0; } virtual int get() { return n; } };
        struct Derived : Base { int get() override { return 10 * n; } };
        inline Derived early;
        inline int number() { static Derived made; return made.get() + early.get() + N; }
        int helper();
    ";

    #[test]
    fn two_builds_with_the_same_names_are_in_one_program() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        for n in ["1", "2"] {
            let folder = folder.path().join(n);
            fs::create_dir(&folder).unwrap();
            let shared = SHARED.replace('N', n);
            let a = format!("{shared} extern \"C\" int all_{n}() {{ return number() + 100 * helper(); }}");
            // `own` is a function of its file in both, although it is not `static`.
            let b = format!(
                "{shared} int own() {{ return {n}; }} int helper() {{ return own() + number() - number(); }}"
            );
            let c = format!(
                "{shared} int own() {{ return 0; }} extern \"C\" int unused_{n}() {{ return own(); }}"
            );
            let objects = objects(&folder, &[("a", &a), ("b", &b), ("c", &c)]);
            let names = Names::of(&format!("build_{n}"), &["all_*".to_owned()], objects).unwrap();
            assert_eq!(names.exported(), [format!("all_{n}.build_{n}")]);
            assert_eq!(names.unique("_Z6helperv").unwrap(), format!("_Z6helperv.build_{n}"));
            assert_eq!(names.unique("elsewhere").unwrap(), "elsewhere");
            all.extend(names.write(&folder.join("unique")).unwrap());
        }
        let main = "extern \"C\" int all_1(); extern \"C\" int all_2();
                    int main() { return all_1() == 121 && all_2() == 242 ? 0 : 1; }";
        all.extend(objects(folder.path(), &[("main", main)]));
        let program = folder.path().join("program");
        for order in [1, -1] {
            all.reverse();
            run(Command::new(compiler()).args(&all).arg("-o").arg(&program));
            let code = Command::new(&program).status().unwrap();
            assert!(code.success(), "{order}");
        }
    }

    #[test]
    fn an_exported_inline_function_of_two_sources_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let inline = "extern \"C\" inline int number() { static int n = 3; return n++; }";
        let a = format!("{inline} extern \"C\" int a() {{ return number(); }}");
        let b = format!("{inline} extern \"C\" int b() {{ return number(); }}");
        let objects_of = objects(folder.path(), &[("a", &a), ("b", &b)]);
        let exports = ["number", "a", "b"].map(str::to_owned);
        let names = Names::of("build", &exports, objects_of).unwrap();
        let mut all = names.write(&folder.path().join("unique")).unwrap();
        let main = "extern \"C\" int a(); extern \"C\" int b(); extern \"C\" int number();
                    int main() { return a() == 3 && b() == 4 && number() == 5 ? 0 : 1; }";
        all.extend(objects(folder.path(), &[("main", main)]));
        let program = folder.path().join("program");
        run(Command::new(compiler()).args(&all).arg("-o").arg(&program));
        assert!(Command::new(&program).status().unwrap().success());
    }

    #[test]
    fn one_name_in_two_sources_is_refused_where_one_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (("a", "void twice() {}"), ("b", "void twice() {}"));
        let names = |sources: &[(&str, &str)], exports: &[&str]| {
            let exports: Vec<String> = exports.iter().map(|name| (*name).to_owned()).collect();
            Names::of("build", &exports, objects(folder.path(), sources))
        };
        let error = names(&[a, b], &[]).unwrap().unique("_Z5twicev").unwrap_err().to_string();
        assert!(error.contains("`_Z5twicev` is defined in a.cu and in b.cu"), "{error}");
        let error = names(&[a, b], &["_Z5twicev"]).unwrap_err().to_string();
        assert!(error.contains("in a.cu and in b.cu"), "{error}");
        let user = ("c", "void twice(); void use() { twice(); }");
        let error = names(&[a, b, user], &[]).unwrap().write(&folder.path().join("unique")).unwrap_err();
        assert!(error.to_string().contains("c.cu uses one of them"), "{error}");
        names(&[a, b], &[]).unwrap().write(&folder.path().join("unique")).unwrap();
    }

    #[test]
    fn an_export_that_nothing_defines_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = objects(folder.path(), &[("a", "void sort(int) {}")]);
        let error = Names::of("build", &["sort".to_owned()], own.clone()).unwrap_err().to_string();
        assert!(error.contains("defines `sort`") && error.contains("`_Z4sorti`"), "{error}");
        let error = Names::of("build", &["sum_*".to_owned()], own).unwrap_err().to_string();
        assert!(error.ends_with("defines `sum_*`."), "{error}");
    }

    #[test]
    fn the_operators_that_replace_those_of_the_library_stay() {
        let folder = tempfile::tempdir().unwrap();
        let source = "#include <cstdlib>\nvoid* operator new(std::size_t n) { return std::malloc(n); }
                      void operator delete(void* p) noexcept { std::free(p); }";
        let own = objects(folder.path(), &[("a", source)]);
        let all = Names::of("build", &[], own).unwrap().write(&folder.path().join("unique")).unwrap();
        let after = Names::of("other", &[], all).unwrap();
        assert_eq!(after.unique("_Znwm").unwrap(), "_Znwm");
        assert!(after.defined().all(|(name, _)| name.ends_with(".build")));
    }

    #[test]
    fn an_object_that_is_missing_or_none_is_named() {
        let error = Names::of("build", &[], vec!["none.o".into()]).unwrap_err().to_string();
        assert!(error.contains("none.o"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text.o");
        fs::write(&file, "no object").unwrap();
        let error = Names::of("build", &[], vec![file]).unwrap_err().to_string();
        assert!(error.contains("text.o") && error.contains("symbols cannot be read"), "{error}");
    }
}
