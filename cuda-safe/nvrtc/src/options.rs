//! The options of a compilation.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::includes::may_read_files;

/// A C++ standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Standard {
    /// C++11.
    Cpp11,
    /// C++14.
    Cpp14,
    /// C++17.
    Cpp17,
    /// C++20.
    Cpp20,
}

/// The options of a compilation.
///
/// Each method adds NVRTC's option of the same meaning. They are passed in the order of the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "nothing is compiled before `Nvrtc::compile`"]
pub struct Options {
    pub(crate) words: Vec<OsString>,
    /// Whether files may be read, which the cache does not see.
    pub(crate) reads_files: bool,
}

impl Options {
    /// Begins with PTX for devices of this compute capability, major and minor as
    /// `cuda_safe::Device::compute_capability` returns it, and for newer ones
    /// (`--gpu-architecture=compute_90`). No file is read, except in folders that [`include`](Self::include)
    /// names, and by an absolute path in the source or its headers.
    pub fn new((major, minor): (i32, i32)) -> Self {
        let architecture = format!("--gpu-architecture=compute_{major}{minor}").into();
        // NVRTC would search the folder of the source's name, which is the current one for most.
        Self { words: vec![architecture, "--no-source-include".into()], reads_files: false }
    }

    /// Defines a macro (`--define-macro`). Without a value it is 1.
    pub fn define<'a>(mut self, name: &str, value: impl Into<Option<&'a str>>) -> Self {
        let value = value.into().map_or(String::new(), |value| format!("={value}"));
        self.reads_files |= may_read_files(&value);
        self.word(format!("--define-macro={name}{value}"))
    }

    /// Adds a folder that `#include` searches (`--include-path`). A compilation that may read files is cached
    /// only if the cache has a [key](crate::Cache::key) for them.
    pub fn include(mut self, folder: impl AsRef<Path>) -> Self {
        self.reads_files = true;
        let mut word = OsString::from("--include-path=");
        word.push(folder.as_ref());
        self.word(word)
    }

    /// Chooses the C++ standard (`--std`). NVRTC's default is C++17.
    pub fn standard(self, standard: Standard) -> Self {
        let number = match standard {
            Standard::Cpp11 => 11,
            Standard::Cpp14 => 14,
            Standard::Cpp17 => 17,
            Standard::Cpp20 => 20,
        };
        self.word(format!("--std=c++{number}"))
    }

    /// Makes fast and less exact mathematics (`--use_fast_math`).
    pub fn fast_math(self) -> Self {
        self.word("--use_fast_math")
    }

    /// Allows or forbids fused multiplications and additions (`--fmad`), which are allowed by default.
    pub fn fused(self, allowed: bool) -> Self {
        self.word(format!("--fmad={allowed}"))
    }

    /// Has the PTX name lines of the source (`--generate-line-info`).
    pub fn line_info(self) -> Self {
        self.word("--generate-line-info")
    }

    /// Makes code for a debugger, without optimisation (`--device-debug`).
    pub fn debug(self) -> Self {
        self.word("--device-debug")
    }

    /// Sets the maximum number of registers of a thread (`--maxrregcount`).
    pub fn max_registers(self, count: u32) -> Self {
        self.word(format!("--maxrregcount={count}"))
    }

    /// Treats functions without a keyword as `__device__` functions (`--device-as-default-execution-space`).
    pub fn device_by_default(self) -> Self {
        self.word("--device-as-default-execution-space")
    }

    /// Adds an option of NVRTC that has no method here, such as `--restrict`. It counts as one that reads
    /// files, as [`include`](Self::include) does.
    pub fn other(mut self, option: impl Into<String>) -> Self {
        self.reads_files = true;
        self.word(option.into())
    }

    fn word(mut self, word: impl Into<OsString>) -> Self {
        self.words.push(word.into());
        self
    }

    /// The words as NVRTC takes them.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.words.iter().map(|word| OsStr::as_encoded_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_keeps_its_name_whatever_its_bytes_are() {
        use std::os::unix::ffi::OsStrExt as _;

        let options = Options::new((9, 0)).include(OsStr::from_bytes(b"/i/\xff"));
        assert_eq!(options.bytes().last(), Some(&b"--include-path=/i/\xff"[..]));
    }

    #[test]
    fn options_are_words_in_the_order_of_the_calls() {
        let options = Options::new((9, 0))
            .define("N", "4")
            .define("FAST", None)
            .standard(Standard::Cpp20)
            .fast_math()
            .fused(false)
            .line_info()
            .debug()
            .max_registers(32)
            .device_by_default();
        assert!(!options.reads_files);
        assert_eq!(
            options.words,
            [
                "--gpu-architecture=compute_90",
                "--no-source-include",
                "--define-macro=N=4",
                "--define-macro=FAST",
                "--std=c++20",
                "--use_fast_math",
                "--fmad=false",
                "--generate-line-info",
                "--device-debug",
                "--maxrregcount=32",
                "--device-as-default-execution-space",
            ]
        );
        assert!(Options::new((7, 5)).include("/cuda/include").reads_files);
        assert!(Options::new((7, 5)).define("ASK", "__has_include(\"/a.h\")").reads_files);
        assert!(Options::new((10, 3)).other("--restrict").reads_files);
        assert_eq!(Options::new((10, 3)).words[0], "--gpu-architecture=compute_103");
    }
}
