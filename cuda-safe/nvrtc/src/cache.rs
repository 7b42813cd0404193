//! Results on disk.
//!
//! A file's name is the SHA-256 of all that the result depends on: the source with its headers and names, the
//! options, NVRTC's build, the format of the file, and the cache's key. Its first bytes are the SHA-256 of
//! the rest. A file that is damaged or cut short is compiled again.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::compiled::Compiled;
use crate::error::{Error, ErrorKind, Result};
use crate::includes::may_read_files;
use crate::options::Options;
use crate::source::Source;

/// The first part of what is hashed: another form of the files has another one.
const FORMAT: &str = concat!("cuda-nvrtc ", env!("CARGO_PKG_VERSION"), " 1");

/// The length of a SHA-256.
const HASH: usize = 32;

/// A folder with results of compilations.
///
/// Processes may share it: a file appears whole or not at all. Nothing is ever deleted. The files are trusted
/// as the sources are: choose a folder that only the program's user can write to.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    key: Option<String>,
}

impl Cache {
    /// Uses this folder, which is created with the first result.
    pub fn at(folder: impl AsRef<Path>) -> Self {
        Self { folder: folder.as_ref().to_owned(), key: None }
    }

    /// Uses the folder `cuda-nvrtc` in `XDG_CACHE_HOME`, or in the user's `~/.cache`.
    ///
    /// # Errors
    /// `Refused` if neither `XDG_CACHE_HOME` nor `HOME` has an absolute path.
    #[track_caller]
    pub fn of_user() -> Result<Self> {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        match folder {
            Some(folder) => Ok(Self::at(folder.join("cuda-nvrtc"))),
            None => {
                let why = "neither XDG_CACHE_HOME nor HOME has an absolute path";
                Err(Error::new(ErrorKind::Refused(why.to_owned())))
            }
        }
    }

    /// Adds a text that stands for what the cache does not see: the files that sources include, such as
    /// `cutlass 4.2`. Without a key, only results that depend on no files are cached. With another key,
    /// nothing of before is found.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Returns the name of a result of an NVRTC, or `None` if it is not to be cached.
    pub(crate) fn name(&self, source: &Source, options: &Options, build: &str) -> Option<String> {
        let headers = source.headers.iter().map(|(_, text)| text);
        let reads_files =
            || options.reads_files || headers.chain([&source.text]).any(|it| may_read_files(it));
        if self.key.is_none() && reads_files() {
            return None;
        }
        let mut all = Texts::default();
        all.add(FORMAT);
        all.add(build);
        all.list(self.key.iter().map(|key| &**key));
        all.list([&*source.name, &*source.text]);
        all.list(source.headers.iter().flat_map(|(name, text)| [&**name, &**text]));
        all.list(source.names.iter().map(|name| &**name));
        all.list(options.bytes());
        Some(Sha256::digest(&all.0).iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns a result. A file that is not as it was written counts as none.
    pub(crate) fn read(&self, name: &str) -> Option<Compiled> {
        let bytes = fs::read(self.folder.join(name)).ok()?;
        let (hash, rest) = bytes.split_at_checked(HASH)?;
        if *Sha256::digest(rest) != *hash {
            return None;
        }
        let mut texts = Vec::new();
        let mut rest = rest;
        while let Some((length, after)) = rest.split_at_checked(8) {
            let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
            let (text, after) = after.split_at_checked(length)?;
            texts.push(str::from_utf8(text).ok()?.to_owned());
            rest = after;
        }
        let mut texts = texts.into_iter();
        let (ptx, log) = (texts.next()?, texts.next()?);
        let mut names = Vec::new();
        while let Some(expression) = texts.next() {
            names.push((expression, texts.next()?));
        }
        Some(Compiled { ptx, log, names, is_cached: true })
    }

    /// Writes a result, if it can be written.
    pub(crate) fn write(&self, name: &str, compiled: &Compiled) {
        let mut all = Texts::default();
        all.add(&compiled.ptx);
        all.add(&compiled.log);
        compiled.names.iter().for_each(|(expression, lowered)| {
            all.add(expression);
            all.add(lowered);
        });
        let write = || {
            fs::create_dir_all(&self.folder)?;
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(&Sha256::digest(&all.0))?;
            file.write_all(&all.0)?;
            file.persist(self.folder.join(name))?;
            Ok::<_, std::io::Error>(())
        };
        // Without the file, the next program compiles, too.
        let _ = write();
    }
}

/// Texts, each with its length in front, so that no two lists have the same bytes.
#[derive(Default)]
struct Texts(Vec<u8>);

impl Texts {
    fn add(&mut self, text: impl AsRef<[u8]>) {
        self.number(text.as_ref().len());
        self.0.extend_from_slice(text.as_ref());
    }

    /// Adds the number of texts, and the texts.
    fn list(&mut self, texts: impl IntoIterator<Item: AsRef<[u8]>>) {
        let texts: Vec<_> = texts.into_iter().collect();
        self.number(texts.len());
        texts.into_iter().for_each(|text| self.add(text));
    }

    fn number(&mut self, number: usize) {
        self.0.extend_from_slice(&u64::try_from(number).unwrap_or(u64::MAX).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> Compiled {
        let names = vec![("f<int>".to_owned(), "_Z1fIiE".to_owned())];
        Compiled { ptx: ".version 9.0".to_owned(), log: "warning".to_owned(), names, is_cached: false }
    }

    #[test]
    fn the_name_depends_on_all_that_the_result_depends_on() {
        let cache = Cache::at("/nowhere");
        let source = || Source::new("a.cu", "text");
        let options = || Options::new((9, 0));
        let all = [
            cache.name(&source(), &options(), "13.0"),
            cache.name(&source(), &options(), "13.1"),
            cache.name(&source(), &options().fast_math(), "13.0"),
            cache.name(&source().name("f"), &options(), "13.0"),
            cache.name(&source().header("f", ""), &options(), "13.0"),
            cache.name(&source().header("", "f"), &options(), "13.0"),
            cache.name(&Source::new("a.c", "utext"), &options(), "13.0"),
            cache.clone().key("one").name(&Source::new("a", "#include \"/h\""), &options(), "13.0"),
            cache.clone().key("one").name(&source(), &options(), "13.0"),
            cache.clone().key("").name(&source(), &options(), "13.0"),
            cache.clone().key("one").name(&source(), &options().include("/i"), "13.0"),
        ];
        for (at, one) in all.iter().enumerate() {
            assert_eq!(one.as_ref().map(String::len), Some(64));
            assert!(!all[..at].contains(one), "{at}");
        }
        assert_eq!(cache.name(&source(), &options(), "13.0"), all[0]);
        assert_eq!(cache.name(&source(), &options().include("/i"), "13.0"), None);
        assert_eq!(cache.name(&Source::new("a", "#include \"/h\""), &options(), "13.0"), None);
        assert_eq!(cache.name(&source().header("b", "#include H"), &options(), "13.0"), None);
    }

    #[test]
    fn what_was_written_is_read_unless_a_byte_differs() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("made"));
        assert_eq!(cache.read("x"), None);
        cache.write("x", &compiled());
        assert_eq!(cache.read("x"), Some(Compiled { is_cached: true, ..compiled() }));
        let file = folder.path().join("made/x");
        let bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            fs::write(&file, &other).unwrap();
            assert_eq!(cache.read("x"), None, "byte {at}");
            fs::write(&file, &bytes[..at]).unwrap();
            assert_eq!(cache.read("x"), None, "{at} bytes");
        }
        cache.write("x", &compiled());
        assert!(cache.read("x").is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = Cache::at(file.path());
        cache.write("x", &compiled());
        assert_eq!(cache.read("x"), None);
    }
}
