//! Kernels that were compiled before: two files beside the sources, written by the author of a package and
//! used where there is no nvcc.
//!
//! `kernels.fatbin` has the fatbinaries, with the machine code and PTX that nvcc made. `kernels.fatbin.rs`
//! has the handles: signatures, the types with nvcc's layouts, what kernels read and write, and what proofs
//! of launches need, for each architecture. Its first lines bind the two files to each other and to the
//! sources, by SHA-256. Files that do not belong together are refused, so a proof is about the code that
//! runs. Both are the author's, as the sources are: somebody who writes files with right hashes can write
//! anything.

#[cfg(any(feature = "nvcc", test))]
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cuda_sys_build::Env;
use sha2::{Digest as _, Sha256};

use crate::Error;

/// The variable that chooses between sources and files that were written before.
const VARIABLE: &str = "CUDA_KERNELS_PREBUILT";

/// The command that writes the files.
pub(crate) const COMMAND: &str = if cfg!(feature = "nvcc") {
    "CUDA_KERNELS_PREBUILT=write cargo build"
} else {
    "CUDA_KERNELS_PREBUILT=write cargo build --features cuda-kernels-build/nvcc"
};

/// The version of what is in the files. A handle's text is for the `cuda-safe` of the same version.
const FORMAT: &str = concat!("1 of ", env!("CARGO_PKG_VERSION"));

/// What the variable asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The sources, if there is an nvcc.
    Sources,
    /// The files, which are written first.
    Write,
    /// The files.
    Use,
}

impl Mode {
    pub(crate) fn of(env: &Env) -> Result<Self, Error> {
        match env.get(VARIABLE).map(|text| text.to_string_lossy().into_owned()).as_deref() {
            None | Some("") => Ok(Self::Sources),
            Some("use") => Ok(Self::Use),
            // Cargo marks what it has unpacked. A dependency from a registry is not this user's to write.
            Some("write") if package_folder().join(".cargo-ok").exists() => Ok(Self::Sources),
            Some("write") => Ok(Self::Write),
            Some(other) => {
                Err(Error::Prebuilt(format!("{VARIABLE} is `{other}`: write, use, or nothing is wanted")))
            }
        }
    }
}

/// The paths of the two files.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// The folder of the package, where paths of sources begin.
    folder: PathBuf,
    code: PathBuf,
    text: PathBuf,
}

/// Files that belong together.
#[derive(Debug)]
pub(crate) struct Prebuilt {
    package: Package,
    code: Vec<u8>,
    text: String,
}

impl Package {
    pub(crate) fn at(code: &Path) -> Self {
        let mut text = code.as_os_str().to_owned();
        text.push(".rs");
        Self { folder: package_folder(), code: code.to_owned(), text: text.into() }
    }

    /// Returns the two files.
    pub(crate) fn files(&self) -> [PathBuf; 2] {
        [self.code.clone(), self.text.clone()]
    }

    /// Returns the sentence about files that are not there.
    pub(crate) fn missing(&self) -> String {
        format!("{} has not been written yet: {COMMAND}", self.code.display())
    }

    /// Reads the files. Returns `None` if there is neither.
    ///
    /// # Errors
    /// One of them is missing, is damaged, or belongs to another one.
    pub(crate) fn read(&self) -> Result<Option<Prebuilt>, Error> {
        let read = |file: &Path| match fs::read(file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::File(file.to_owned(), error)),
        };
        let refuse = |file: &Path, why: &str| {
            let advice = format!("take both files of one commit or package, or write them again: {COMMAND}");
            Err(Error::Prebuilt(format!("{} {why}: {advice}", file.display())))
        };
        let (code, text) = match (read(&self.code)?, read(&self.text)?) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return refuse(&self.code, "is missing"),
            (Some(_), None) => return refuse(&self.text, "is missing"),
            (Some(code), Some(text)) => (code, String::from_utf8(text)),
        };
        let Ok(text) = text else { return refuse(&self.text, "is damaged") };
        let found = Prebuilt { package: self.clone(), code, text };
        if found.value("format") != Some(FORMAT) {
            let format = found.value("format").unwrap_or("none");
            return refuse(&self.text, &format!("has format {format}, and this version reads {FORMAT}"));
        }
        let Some((head, body)) = found.text.split_once(BODY) else {
            return refuse(&self.text, "is damaged");
        };
        if found.value("handles") != Some(&hash(&[body.as_bytes()])) || !is_as_written(head) {
            return refuse(&self.text, "is not as it was written");
        }
        if found.value("code") != Some(&hash(&[&found.code])) {
            return refuse(&self.code, &format!("is not the one that {} is for", self.text.display()));
        }
        Ok(Some(found))
    }

    /// Writes the files, and returns what they have.
    #[cfg(any(feature = "nvcc", test))]
    pub(crate) fn write(
        &self,
        code: Vec<u8>,
        handles: &str,
        settings: &str,
        about: &str,
        sources: &BTreeSet<PathBuf>,
    ) -> Result<Prebuilt, Error> {
        let name = self.code.file_name().unwrap_or_default().to_string_lossy();
        let mut head = format!(
            "// The handles of the kernels in {name}, which were compiled by {about}.\n\
             // Do not edit: `{COMMAND}` writes both files again.\n\
             // format {FORMAT}\n// settings {}\n// code {}\n// handles {}\n",
            hash(&[settings.as_bytes()]),
            hash(&[&code]),
            hash(&[handles.as_bytes()])
        );
        for (source, hash) in hashed(sources, &self.folder)? {
            head.push_str(&format!("// source {hash} {source}\n"));
        }
        let text = format!("{head}// head {}\n{BODY}{handles}", hash(&[head.as_bytes()]));
        if let Some(folder) = self.code.parent() {
            fs::create_dir_all(folder).map_err(Error::of_file(folder))?;
        }
        fs::write(&self.code, &code).map_err(Error::of_file(&self.code))?;
        fs::write(&self.text, &text).map_err(Error::of_file(&self.text))?;
        println!(
            "cargo::warning=wrote {} ({} KiB) and {}",
            self.code.display(),
            code.len().div_ceil(1024),
            self.text.display()
        );
        Ok(Prebuilt { package: self.clone(), code, text })
    }
}

/// The line between the head and the handles.
const BODY: &str = "// ----\n";

impl Prebuilt {
    /// Returns the values of the lines of the head that begin with this word.
    fn values(&self, word: &'static str) -> impl Iterator<Item = &str> {
        let head = self.text.split_once(BODY).map_or("", |(head, _)| head);
        head.lines().filter_map(move |line| line.strip_prefix("// ")?.strip_prefix(word)?.strip_prefix(' '))
    }

    fn value(&self, word: &'static str) -> Option<&str> {
        self.values(word).next()
    }

    /// Returns the sources that the files were made of.
    pub(crate) fn sources(&self) -> Vec<PathBuf> {
        let sources = self.values("source").filter_map(|line| line.split_once(' '));
        sources.map(|(_, source)| source.into()).collect()
    }

    /// Returns whether a type has C's `long`. It has 64 bits in the code, which is made on Linux.
    pub(crate) fn has_long(&self) -> bool {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        self.text.split(|sign| !is_part(sign)).any(|word| word == "c_long" || word == "c_ulong")
    }

    /// Returns the error about files that cannot be used for a reason.
    pub(crate) fn refused(&self, why: &str) -> Error {
        Error::Prebuilt(format!("{} {why}", self.package.code.display()))
    }

    /// Returns what has changed since the files were written. A source that a package leaves out has not.
    pub(crate) fn stale(&self, settings: &str) -> Option<String> {
        let mut changed: Vec<&str> = Vec::new();
        if self.value("settings") != Some(&hash(&[settings.as_bytes()])) {
            changed.push("the build script's settings or list of files");
        }
        for (old, source) in self.values("source").filter_map(|line| line.split_once(' ')) {
            if fs::read(self.package.folder.join(source)).is_ok_and(|bytes| hash(&[&bytes]) != old) {
                changed.push(source);
            }
        }
        let (first, rest) = changed.split_first()?;
        let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
        let code = self.package.code.display();
        Some(format!(
            "{code} is out of date: {first}{more} changed after it was written. Write it again: {COMMAND}"
        ))
    }

    /// Puts the files where `include_kernels!` finds them.
    pub(crate) fn place(&self, out: &Path, name: &str) -> Result<(), Error> {
        let code = out.join(format!("{name}.fatbin"));
        fs::write(&code, &self.code).map_err(Error::of_file(&code))?;
        let text = out.join(format!("{name}.rs"));
        fs::write(&text, &self.text).map_err(Error::of_file(&text))
    }
}

/// Returns the folder of the package that is built.
fn package_folder() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default().into()
}

/// Returns the hash of each file of the package, by its path there. Files elsewhere differ from machine to
/// machine, and are left out.
#[cfg(any(feature = "nvcc", test))]
fn hashed(sources: &BTreeSet<PathBuf>, folder: &Path) -> Result<BTreeSet<(String, String)>, Error> {
    let folder = folder.canonicalize().map_err(Error::of_file(folder))?;
    let out = env::var_os("OUT_DIR").and_then(|out| Path::new(&out).canonicalize().ok());
    let mut all = BTreeSet::new();
    for source in sources.iter().filter(|source| source.is_file()) {
        let whole = source.canonicalize().map_err(Error::of_file(source))?;
        let is_made = out.as_ref().is_some_and(|out| whole.starts_with(out));
        if let Ok(own) = whole.strip_prefix(&folder)
            && !is_made
        {
            let bytes = fs::read(&whole).map_err(Error::of_file(&whole))?;
            all.insert((own.display().to_string(), hash(&[&bytes])));
        }
    }
    Ok(all)
}

/// Returns whether a head ends with the line that has the hash of all lines before it.
fn is_as_written(head: &str) -> bool {
    head.rsplit_once("// head ").is_some_and(|(lines, last)| last == hash(&[lines.as_bytes()]) + "\n")
}

/// Returns the SHA-256 of all bytes, in hexadecimal digits.
fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &[u8] = b"the code";
    const SETTINGS: &str = "settings";

    /// Returns a package of one source, and writes its files.
    fn written(folder: &Path) -> Package {
        fs::write(folder.join("a.cu"), "kernel").unwrap();
        fs::write(folder.join("a.h"), "header").unwrap();
        let package = Package { folder: folder.to_owned(), ..Package::at(&folder.join("made/k.fatbin")) };
        let sources = ["a.cu", "a.h"].map(|name| folder.join(name)).into_iter().chain(env::current_exe());
        package.write(CODE.to_vec(), "pub static K;", SETTINGS, "nvcc 13.0", &sources.collect()).unwrap();
        package
    }

    fn refused(package: &Package) -> String {
        package.read().unwrap_err().to_string()
    }

    #[test]
    fn what_was_written_is_read_and_is_up_to_date() {
        let folder = tempfile::tempdir().unwrap();
        let found = written(folder.path()).read().unwrap().unwrap();
        assert_eq!((found.stale(SETTINGS), found.sources()), (None, vec!["a.cu".into(), "a.h".into()]));
        found.place(folder.path(), "out").unwrap();
        assert_eq!(fs::read(folder.path().join("out.fatbin")).unwrap(), CODE);
        assert!(fs::read_to_string(folder.path().join("out.rs")).unwrap().ends_with("pub static K;"));
        assert!(Package::at(&folder.path().join("none.fatbin")).read().unwrap().is_none());
    }

    #[test]
    fn a_change_of_sources_or_settings_is_named_and_a_source_that_is_left_out_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let found = written(folder.path()).read().unwrap().unwrap();
        assert!(found.stale("others").is_some_and(|why| why.contains("settings") && why.contains(COMMAND)));
        fs::write(folder.path().join("a.h"), "another").unwrap();
        assert!(found.stale(SETTINGS).is_some_and(|why| why.contains("a.h changed")));
        fs::remove_file(folder.path().join("a.h")).unwrap();
        assert_eq!(found.stale(SETTINGS), None);
    }

    #[test]
    fn files_that_are_damaged_or_of_two_builds_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let package = written(folder.path());
        let [code, text] = package.files().map(|file| (fs::read(&file).unwrap(), file));
        // Any byte of either file.
        for (bytes, file) in [&code, &text] {
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 1;
                fs::write(file, &other).unwrap();
                let why = refused(&package);
                assert!(why.contains(COMMAND), "byte {at} of {}: {why}", file.display());
                fs::write(file, &bytes[..at]).unwrap();
                assert!(refused(&package).contains("k.fatbin"), "{at} bytes of {}", file.display());
            }
            fs::write(file, bytes).unwrap();
            assert!(package.read().unwrap().is_some());
        }
        fs::remove_file(&code.1).unwrap();
        assert!(refused(&package).contains("k.fatbin is missing"));
        let other = package.write(b"another".to_vec(), "pub static L;", SETTINGS, "", &BTreeSet::new());
        drop(other.unwrap());
        fs::write(&text.1, &text.0).unwrap();
        assert!(refused(&package).contains("is not the one that"));
        fs::remove_file(&text.1).unwrap();
        assert!(refused(&package).contains("k.fatbin.rs is missing"));
    }

    #[test]
    fn a_line_that_is_put_in_anywhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let package = written(folder.path());
        let [_, file] = package.files();
        let whole = fs::read_to_string(&file).unwrap();
        let ends = whole.match_indices('\n').flat_map(|(at, _)| [at, at + 1]);
        for at in ends.chain([0, 1, whole.len()]) {
            for line in
                ["pub static EDITED: u8 = 1;\n", "\npub static EDITED: u8 = 1;\n", "// head \n", BODY, "\n"]
            {
                fs::write(&file, format!("{}{line}{}", &whole[..at], &whole[at..])).unwrap();
                assert!(package.read().is_err(), "{line:?} at byte {at} of {whole}");
            }
        }
    }

    #[test]
    fn the_type_with_two_sizes_is_found_and_not_the_one_with_one() {
        let folder = tempfile::tempdir().unwrap();
        let package = written(folder.path());
        let has_long = |handles: &str| {
            package.write(CODE.to_vec(), handles, SETTINGS, "", &BTreeSet::new()).unwrap().has_long()
        };
        assert!(
            has_long("f: unsafe fn(n: ::core::ffi::c_long)") && has_long("[:: core :: ffi :: c_ulong ; 2]")
        );
        assert!(!has_long("f: unsafe fn(n: ::core::ffi::c_longlong, m: c_ulonglong)"));
    }

    #[test]
    fn files_of_another_version_are_refused_with_both() {
        let folder = tempfile::tempdir().unwrap();
        let package = written(folder.path());
        let [_, text] = package.files();
        let other = fs::read_to_string(&text).unwrap().replace(FORMAT, "0 of 0.0.1");
        fs::write(&text, other).unwrap();
        let why = refused(&package);
        assert!(why.contains("0 of 0.0.1") && why.contains(FORMAT), "{why}");
    }

    #[test]
    fn the_variable_has_three_values() {
        let of = |value: &str| Mode::of(&Env::from_vars([(VARIABLE, value)]));
        assert_eq!(
            [of("").unwrap(), of("use").unwrap(), of("write").unwrap()],
            [Mode::Sources, Mode::Use, Mode::Write]
        );
        assert!(of("yes").unwrap_err().to_string().contains("`yes`"));
        assert_eq!(Mode::of(&Env::from_vars::<String, String>([])).unwrap(), Mode::Sources);
    }
}
