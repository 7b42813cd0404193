//! The options of a compilation.

use std::path::Path;

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
    pub(crate) words: Vec<String>,
    /// Whether files may be read, which the cache does not see.
    pub(crate) reads_files: bool,
}

impl Options {
    /// Begins with PTX for devices of this compute capability, major and minor as
    /// `cuda_safe::Device::compute_capability` returns it, and for newer ones
    /// (`--gpu-architecture=compute_90`). No file is read, except in folders that [`include`](Self::include)
    /// names.
    pub fn new((major, minor): (i32, i32)) -> Self {
        let architecture = format!("--gpu-architecture=compute_{major}{minor}");
        // NVRTC would search the folder of the source's name, which is the current one for most.
        Self { words: vec![architecture, "--no-source-include".to_owned()], reads_files: false }
    }

    /// Defines a macro (`--define-macro`). Without a value it is 1.
    pub fn define<'a>(self, name: &str, value: impl Into<Option<&'a str>>) -> Self {
        match value.into() {
            Some(value) => self.word(format!("--define-macro={name}={value}")),
            None => self.word(format!("--define-macro={name}")),
        }
    }

    /// Adds a folder that `#include` searches (`--include-path`). A compilation that may read files is cached
    /// only if the cache has a [key](crate::Cache::key) for them.
    pub fn include(mut self, folder: impl AsRef<Path>) -> Self {
        self.reads_files = true;
        self.word(format!("--include-path={}", folder.as_ref().display()))
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
        self.word("--use_fast_math".to_owned())
    }

    /// Allows or forbids fused multiplications and additions (`--fmad`), which are allowed by default.
    pub fn fused(self, allowed: bool) -> Self {
        self.word(format!("--fmad={allowed}"))
    }

    /// Has the PTX name lines of the source (`--generate-line-info`).
    pub fn line_info(self) -> Self {
        self.word("--generate-line-info".to_owned())
    }

    /// Makes code for a debugger, without optimisation (`--device-debug`).
    pub fn debug(self) -> Self {
        self.word("--device-debug".to_owned())
    }

    /// Sets the maximum number of registers of a thread (`--maxrregcount`).
    pub fn max_registers(self, count: u32) -> Self {
        self.word(format!("--maxrregcount={count}"))
    }

    /// Treats functions without a keyword as `__device__` functions (`--device-as-default-execution-space`).
    pub fn device_by_default(self) -> Self {
        self.word("--device-as-default-execution-space".to_owned())
    }

    /// Adds an option of NVRTC that has no method here, such as `--restrict`. It counts as one that reads
    /// files, as [`include`](Self::include) does.
    pub fn other(mut self, option: impl Into<String>) -> Self {
        self.reads_files = true;
        self.word(option.into())
    }

    fn word(mut self, word: String) -> Self {
        self.words.push(word);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(Options::new((10, 3)).other("--restrict").reads_files);
        assert_eq!(Options::new((10, 3)).words[0], "--gpu-architecture=compute_103");
    }
}
