//! The errors of a build of kernels, worded for the person who runs the build.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why kernels could not be compiled or handles could not be generated.
///
/// The text is meant for a terminal. It names the file or variable at fault and the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No toolkit with a usable nvcc was found. The text lists the searched locations.
    Toolkit(String),
    /// An architecture is neither `sm_NN` nor `compute_NN` nor `native`.
    Arch(String),
    /// `native` is an architecture, and no GPU answers.
    NoGpu(String),
    /// A variable that cargo sets for build scripts is missing, so this is not a build script.
    NotABuildScript(&'static str),
    /// A file could not be read or written.
    File(PathBuf, io::Error),
    /// nvcc or the archiver failed: the file, and its own output.
    Compile(PathBuf, String),
    /// The headers could not be read as C++, or bindgen refused them.
    Header(String),
    /// nvcc gives a type another layout than Rust, or Rust has no such layout.
    Layout(String),
    /// A handle cannot represent this prototype.
    Prototype(String),
    /// Two sources define one name, or none defines an exported one.
    Name(String),
    /// Files of [`Build::prebuilt`](crate::Build::prebuilt) are damaged, do not belong together, or are out
    /// of date where there is no nvcc; or no such file can hold what the build compiles.
    Prebuilt(String),
}

impl Error {
    /// Returns what makes the error of a file that cannot be read or written.
    pub(crate) fn of_file(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |error| Self::File(path.to_owned(), error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toolkit(text)
            | Self::Header(text)
            | Self::Layout(text)
            | Self::Prototype(text)
            | Self::Name(text)
            | Self::Prebuilt(text) => f.write_str(text),
            Self::Arch(text) => {
                write!(
                    f,
                    "`{text}` is not an architecture: sm_NN (machine code), compute_NN (PTX) or native is \
                     wanted"
                )
            }
            Self::NoGpu(why) => {
                write!(
                    f,
                    "`native` is no architecture here, because no GPU answers ({why}); name one, such as \
                     sm_90"
                )
            }
            Self::NotABuildScript(name) => {
                write!(
                    f,
                    "{name} is not set; this library works in build scripts, which cargo gives that variable"
                )
            }
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Compile(path, text) => {
                write!(f, "nvcc could not compile {}: {text}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {}
