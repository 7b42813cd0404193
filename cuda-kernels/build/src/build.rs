//! The builder that build scripts use.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use crate::Error;

/// Collects sources, headers and settings, then compiles. See the crate's page for a whole example.
///
/// Relative paths start at the package's folder, in which build scripts run.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `compile`"]
pub struct Build {
    pub(crate) files: Vec<PathBuf>,
    kernels: Vec<PathBuf>,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) headers: Vec<PathBuf>,
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) defines: Vec<(String, Option<String>)>,
    pub(crate) flags: Vec<String>,
    pub(crate) archs: Vec<String>,
    pub(crate) relocatable: bool,
    pub(crate) exports: Vec<String>,
    pub(crate) prebuilt: Option<PathBuf>,
}

impl Build {
    /// Returns a builder with no sources and no headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a `.cu` file whose kernels, types, constants and variables are generated for Rust. No header is
    /// needed.
    ///
    /// The files that it includes are read too. A file among them that defines kernels or variables, such as
    /// a `kernels.h`, is generated like the `.cu` file itself. From the others come only the types that the
    /// kernels need, and the constants if the `.cu` file includes them as `"file"`: name such a header with
    /// [`header`](Self::header) for all of its declarations. It is read where the `.cu` file includes it.
    ///
    /// The files of one build are read together, so a name that two of them declare differently is an error,
    /// and so is a kernel that two of them define. Use a `Build` for each of these files: names of two builds
    /// [never meet](crate#names).
    pub fn kernels(mut self, path: impl AsRef<Path>) -> Self {
        self.kernels.push(path.as_ref().to_owned());
        self
    }

    /// Adds all `.cu` files of a folder, as [`kernels`](Self::kernels) adds one, and lets `#include` search
    /// the folder. Folders inside it are left out.
    pub fn folder(mut self, path: impl AsRef<Path>) -> Self {
        self.folders.push(path.as_ref().to_owned());
        self.include(path)
    }

    /// Adds a `.cu` file without reading its declarations: a header has them, or Rust needs none.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.files.push(path.as_ref().to_owned());
        self
    }

    /// Adds several `.cu` files.
    pub fn files<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.files.extend(paths.into_iter().map(|path| path.as_ref().to_owned()));
        self
    }

    /// Adds a header whose kernels, types and constants are generated for Rust.
    ///
    /// The headers that it includes are read too, but only the types that its kernels need are generated
    /// from them.
    pub fn header(mut self, path: impl AsRef<Path>) -> Self {
        self.headers.push(path.as_ref().to_owned());
        self
    }

    /// Adds several headers.
    pub fn headers<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.headers.extend(paths.into_iter().map(|path| path.as_ref().to_owned()));
        self
    }

    /// Adds a folder that `#include` searches.
    pub fn include(mut self, folder: impl AsRef<Path>) -> Self {
        self.includes.push(folder.as_ref().to_owned());
        self
    }

    /// Defines a macro for the sources and the headers.
    pub fn define<'a>(mut self, name: &str, value: impl Into<Option<&'a str>>) -> Self {
        self.defines.push((name.to_owned(), value.into().map(str::to_owned)));
        self
    }

    /// Passes a flag to nvcc unchanged, such as `--use_fast_math` or `-lineinfo`.
    ///
    /// The C++ standard is C++17 unless a flag (`-std=c++14`) or nvcc's variables (`NVCC_APPEND_FLAGS`) name
    /// another. The prototypes are read with the same one.
    pub fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    /// Adds architectures to compile for: `sm_NN` is machine code, `compute_NN` is PTX, and `native` is the
    /// machine code of the GPUs of the machine that builds.
    ///
    /// If the list has no PTX, PTX of its oldest generation is added. The default list is `sm_90`,
    /// `compute_75`, and the machine code of the GPUs that answer, if any.
    pub fn archs<S: AsRef<str>>(mut self, archs: impl IntoIterator<Item = S>) -> Self {
        self.archs.extend(archs.into_iter().map(|arch| arch.as_ref().to_owned()));
        self
    }

    /// Links the device code of all sources of this build (`nvcc -rdc=true`). See [Device code that is
    /// linked](crate#device-code-that-is-linked).
    pub fn relocatable(mut self) -> Self {
        self.relocatable = true;
        self
    }

    /// Keeps the name of a function or kernel, so that C, C++ and Rust can declare it. See
    /// [Names](crate#names).
    ///
    /// `name` is that of an `extern "C"` function, or the mangled one of another function. A `*` at its end
    /// stands for all names with this start. Two builds that export one name do not link into one program.
    /// It is an error if no source defines the name.
    pub fn export(mut self, name: &str) -> Self {
        self.exports.push(name.to_owned());
        self
    }

    /// Names a file with the kernels' code that the author of the package writes, so that builds without nvcc
    /// have the same handles: `prebuilt("kernels/kernels.fatbin")`. See
    /// [Without nvcc](crate#without-nvcc).
    pub fn prebuilt(mut self, file: impl AsRef<Path>) -> Self {
        self.prebuilt = Some(file.as_ref().to_owned());
        self
    }

    /// Returns what the build script has set, as text. Folders of headers are not in it: the headers are
    /// compared.
    pub(crate) fn settings(&self, name: &str) -> Result<String, Error> {
        let files = self.sources()?;
        let files: Vec<_> = files.iter().map(|file| with_slashes(file)).collect();
        Ok(format!("{name:?} {:?} {:?} {:?} {files:?}", self.defines, self.flags, self.archs))
    }

    /// Returns all files that were named.
    pub(crate) fn sources(&self) -> Result<Vec<PathBuf>, Error> {
        Ok([self.files.as_slice(), &self.all_kernels()?, &self.headers].concat())
    }

    /// Returns the sources whose kernels get handles: those that were named, and those of the folders in
    /// the order of their names.
    pub(crate) fn all_kernels(&self) -> Result<Vec<PathBuf>, Error> {
        let mut all = self.kernels.clone();
        for folder in &self.folders {
            let failed = Error::of_file(folder);
            let entries = fs::read_dir(folder).map_err(&failed)?;
            let paths =
                entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
            let mut found: Vec<PathBuf> =
                paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "cu")).collect();
            found.sort();
            all.append(&mut found);
        }
        Ok(all)
    }
}

/// Returns a path as it is on Linux, where the files of [`Build::prebuilt`] are written.
fn with_slashes(path: &Path) -> String {
    path.display().to_string().replace(MAIN_SEPARATOR, "/")
}
