//! Loads libraries with options: instructions for the PTX compiler, and guarantees to the driver.
#![expect(unsafe_code, reason = "loads through the runtime")]

use std::ffi::c_void;
use std::path::Path;
use std::ptr;

use super::image;
use super::owned::{LentToDriver, Library, Log, explained};
use crate::error::{Detail, Error, Result, ensure, quietly};
use crate::stream::relax;
use crate::{stream, sys, system};

/// Selects the code of a fatbinary if it has no machine code for exactly this device. One of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaJit_Fallback")]
pub struct Fallback(sys::cudaJit_Fallback);

impl Fallback {
    /// The fatbinary's PTX, which the driver compiles.
    #[doc(alias = "cudaPreferPtx")]
    pub const PTX: Self = Self(sys::cudaPreferPtx);
    /// Machine code for another device that this device can run.
    #[doc(alias = "cudaPreferBinary")]
    pub const BINARY: Self = Self(sys::cudaPreferBinary);
}

/// The caches that loads of global memory use. One of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaJit_CacheMode")]
pub struct CacheMode(sys::cudaJit_CacheMode);

impl CacheMode {
    /// The compiler's default.
    #[doc(alias = "cudaJitCacheOptionNone")]
    pub const NONE: Self = Self(sys::cudaJitCacheOptionNone);
    /// The cache that all multiprocessors share.
    #[doc(alias = "cudaJitCacheOptionCG")]
    pub const GLOBAL: Self = Self(sys::cudaJitCacheOptionCG);
    /// The shared cache, and each multiprocessor's own cache.
    #[doc(alias = "cudaJitCacheOptionCA")]
    pub const ALL: Self = Self(sys::cudaJitCacheOptionCA);
}

/// An instruction for the compiler of PTX, or, for [`Fallback`](Self::Fallback), the choice among a
/// fatbinary's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "cudaJitOption")]
pub enum JitOption {
    /// The maximum number of registers of a thread.
    #[doc(alias = "cudaJitMaxRegisters")]
    MaxRegisters(u32),
    /// The minimum number of threads of a block. The compiler limits the registers so that blocks of this
    /// size can run.
    #[doc(alias = "cudaJitThreadsPerBlock")]
    ThreadsPerBlock(u32),
    /// The maximum number of threads of a block, for all launches.
    #[doc(alias = "cudaJitMaxThreadsPerBlock")]
    MaxThreadsPerBlock(u32),
    /// The minimum number of blocks that fit on a multiprocessor. Takes effect only with
    /// [`MaxThreadsPerBlock`](Self::MaxThreadsPerBlock).
    #[doc(alias = "cudaJitMinCtaPerSm")]
    MinBlocksPerMultiprocessor(u32),
    /// The options for threads, blocks and registers take precedence over the directives in the PTX.
    #[doc(alias = "cudaJitOverrideDirectiveValues")]
    OverrideDirectives,
    /// The optimization level, from 0 to 4. The default is 4.
    #[doc(alias = "cudaJitOptimizationLevel")]
    OptimizationLevel(u32),
    /// Debug information.
    #[doc(alias = "cudaJitGenerateDebugInfo")]
    DebugInfo,
    /// Line numbers, for profilers.
    #[doc(alias = "cudaJitGenerateLineInfo")]
    LineInfo,
    /// The caches that loads of global memory use.
    #[doc(alias = "cudaJitCacheMode")]
    CacheMode(CacheMode),
    /// Position-independent code.
    #[doc(alias = "cudaJitPositionIndependentCode")]
    PositionIndependent,
    /// The code of a fatbinary if it has no machine code for exactly this device.
    #[doc(alias = "cudaJitFallbackStrategy")]
    Fallback(Fallback),
}

impl JitOption {
    /// Returns C's option and its value.
    fn to_raw(self) -> (sys::cudaJitOption, u32) {
        match self {
            Self::MaxRegisters(registers) => (sys::cudaJitMaxRegisters, registers),
            Self::ThreadsPerBlock(threads) => (sys::cudaJitThreadsPerBlock, threads),
            Self::MaxThreadsPerBlock(threads) => (sys::cudaJitMaxThreadsPerBlock, threads),
            Self::MinBlocksPerMultiprocessor(blocks) => (sys::cudaJitMinCtaPerSm, blocks),
            Self::OverrideDirectives => (sys::cudaJitOverrideDirectiveValues, 1),
            Self::OptimizationLevel(level) => (sys::cudaJitOptimizationLevel, level),
            Self::DebugInfo => (sys::cudaJitGenerateDebugInfo, 1),
            Self::LineInfo => (sys::cudaJitGenerateLineInfo, 1),
            Self::CacheMode(mode) => (sys::cudaJitCacheMode, mode.0.0),
            Self::PositionIndependent => (sys::cudaJitPositionIndependentCode, 1),
            Self::Fallback(fallback) => (sys::cudaJitFallbackStrategy, fallback.0.0),
        }
    }
}

/// Loads a [`Library`] with options. [`Library::builder`] makes it. Most options are for the compiler and
/// therefore affect PTX only.
///
/// # Examples
/// ```
/// use cuda_safe::library::{JitOption, Library};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let ptx = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }";
/// let library = Library::builder()
///     .option(JitOption::MaxRegisters(32))
///     .option(JitOption::LineInfo)
///     .information()
///     .load_ptx(ptx)?;
/// println!("{} kernels; the compiler says: {:?}", library.kernel_count()?, library.information());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
#[doc(alias = "cudaLibraryOption")]
pub struct LibraryBuilder {
    options: Vec<(sys::cudaJitOption, u32)>,
    information: bool,
    preserved: bool,
}

impl LibraryBuilder {
    /// Sets an option. A later value replaces an earlier one.
    pub fn option(self, option: JitOption) -> Self {
        let (option, value) = option.to_raw();
        self.with(option, value)
    }

    fn with(mut self, option: sys::cudaJitOption, value: u32) -> Self {
        self.options.retain(|(other, _)| *other != option);
        self.options.push((option, value));
        self
    }

    /// Stores the compiler's messages that are not errors, for [`Library::information`]: for example, the
    /// registers and memory of each kernel.
    #[doc(alias = "cudaJitInfoLogBuffer")]
    #[doc(alias = "cudaJitLogVerbose")]
    pub fn information(mut self) -> Self {
        self.information = true;
        self.with(sys::cudaJitLogVerbose, 1)
    }

    /// Retains the code while the library is loaded, so that the driver needs no copy of its own. Not
    /// available for files.
    #[doc(alias = "cudaLibraryBinaryIsPreserved")]
    pub fn preserved(mut self) -> Self {
        self.preserved = true;
        self
    }

    /// Loads PTX, given as text or bytes, with or without a zero byte at the end.
    ///
    /// Stands for [`cudaLibraryLoadData`](sys::cudaLibraryLoadData).
    ///
    /// # Errors
    /// As [`Library::from_ptx`].
    #[doc(alias = "cudaLibraryLoadData")]
    #[track_caller]
    pub fn load_ptx(&self, ptx: impl AsRef<[u8]>) -> Result<Library> {
        let code = image::ptx("Library::from_ptx", ptx.as_ref())?;
        // SAFETY: the text ends in a zero byte, contains no other one, and does not begin like any other
        // format.
        unsafe { self.load_code("Library::from_ptx", code) }
    }

    /// Loads PTX, a cubin or a fatbinary.
    ///
    /// Stands for [`cudaLibraryLoadData`](sys::cudaLibraryLoadData).
    ///
    /// # Errors
    /// As [`Library::from_data`].
    ///
    /// # Safety
    /// The duties are those of [`Library::from_data`].
    #[doc(alias = "cudaLibraryLoadData")]
    #[track_caller]
    pub unsafe fn load_data(&self, image: &[u8]) -> Result<Library> {
        let code = image::any("Library::from_data", image)?;
        // SAFETY: text is checked as in `load_ptx`. For the other formats, the caller guarantees that they
        // are complete and valid.
        unsafe { self.load_code("Library::from_data", code) }
    }

    /// Loads code from memory.
    ///
    /// # Safety
    /// `code` is valid in its format and has all the bytes that its format claims, so that the driver reads
    /// inside of it.
    #[track_caller]
    unsafe fn load_code(&self, api: &'static str, code: Vec<u8>) -> Result<Library> {
        self.load(api, code, "cudaLibraryLoadData", |library, lent| {
            let (mut preserved, mut value) =
                (sys::cudaLibraryBinaryIsPreserved, ptr::without_provenance_mut::<c_void>(1));
            let count = u32::from(self.preserved);
            // SAFETY: the pointers are to live variables and lists, and the counts are those of the lists.
            // The caller guarantees that the code is valid. Code and logs stay at their addresses until the
            // library is unloaded.
            unsafe {
                sys::cudaLibraryLoadData(
                    library,
                    lent.code.as_ptr().cast(),
                    lent.options.as_mut_ptr(),
                    lent.values.as_mut_ptr(),
                    u32::try_from(lent.options.len()).unwrap_or(0),
                    &raw mut preserved,
                    &raw mut value,
                    count,
                )
            }
        })
    }

    /// Loads a file of PTX, a cubin or a fatbinary.
    ///
    /// Stands for [`cudaLibraryLoadFromFile`](sys::cudaLibraryLoadFromFile).
    ///
    /// # Errors
    /// As [`Library::from_file`].
    ///
    /// # Safety
    /// The duties are those of [`Library::from_file`].
    #[doc(alias = "cudaLibraryLoadFromFile")]
    #[track_caller]
    pub unsafe fn load_file(&self, path: impl AsRef<Path>) -> Result<Library> {
        const API: &str = "Library::from_file";
        ensure(!self.preserved, API, || Detail::unsupported("preserving the code of a file"))?;
        let path = system::c_path(API, path.as_ref())?;
        self.load(API, Vec::new(), "cudaLibraryLoadFromFile", |library, lent| {
            // SAFETY: the pointers are to live variables and lists, and the counts are those of the lists.
            // The path ends in a zero byte. The caller guarantees that the file is valid. The logs stay at
            // their addresses until the library is unloaded.
            unsafe {
                sys::cudaLibraryLoadFromFile(
                    library,
                    path.as_ptr(),
                    lent.options.as_mut_ptr(),
                    lent.values.as_mut_ptr(),
                    u32::try_from(lent.options.len()).unwrap_or(0),
                    ptr::null_mut(),
                    ptr::null_mut(),
                    0,
                )
            }
        })
    }

    /// Loads a library through `call` with the options.
    #[track_caller]
    fn load(
        &self,
        api: &'static str,
        code: Vec<u8>,
        name: &'static str,
        call: impl FnOnce(*mut sys::cudaLibrary_t, &mut LentToDriver) -> sys::cudaError_t,
    ) -> Result<Library> {
        stream::ensure_idle(api)?;
        // Without this, a capture in progress refuses the load, and the attempt invalidates the capture.
        relax()?;
        let mut lent = Box::new(self.lent(code));
        let mut raw = ptr::null_mut();
        if let Err(error) = Error::check(name, call(&raw mut raw, &mut lent)) {
            return Err(explained(error, lent.errors.text()));
        }
        let library = Library::new(raw, lent);
        match refused_late(&library) {
            // Dropping `library` unloads it.
            Some((code, log)) => Err(explained(Error::from_code(name, code), Some(log))),
            None => Ok(library),
        }
    }

    /// Returns the options in C's form, with the logs.
    fn lent(&self, code: Vec<u8>) -> LentToDriver {
        let (errors, information) = (Log::new(), self.information.then(Log::new));
        // The C interface takes numbers in place of addresses.
        let number = |value: u32| ptr::without_provenance_mut(usize::try_from(value).unwrap_or(usize::MAX));
        let mut all: Vec<(sys::cudaJitOption, *mut c_void)> =
            self.options.iter().map(|(option, value)| (*option, number(*value))).collect();
        all.push((sys::cudaJitErrorLogBuffer, errors.pointer()));
        all.push((sys::cudaJitErrorLogBufferSizeBytes, number(Log::BYTES)));
        if let Some(log) = &information {
            all.push((sys::cudaJitInfoLogBuffer, log.pointer()));
            all.push((sys::cudaJitInfoLogBufferSizeBytes, number(Log::BYTES)));
        }
        let (options, values) = all.into_iter().unzip();
        LentToDriver { errors, information, code, options, values }
    }
}

/// Returns the error of a loaded library whose code is invalid, with the compiler's messages. A driver may
/// load invalid PTX successfully and fail only when a kernel is requested, but it writes the reason to the
/// log during the load. Therefore a kernel is requested if the log has text.
fn refused_late(library: &Library) -> Option<(sys::cudaError_t, String)> {
    let log = library.lent()?.errors.text()?;
    let mut kernel = ptr::null_mut();
    // Any name is suitable: the driver looks the name up last.
    let name = c"cuda_safe".as_ptr();
    // SAFETY: the pointer is to a live variable, which the call fills. The name ends in a zero byte, and
    // the library is loaded.
    let code = unsafe { sys::cudaLibraryGetKernel(&raw mut kernel, library.as_raw(), name) };
    let refusals = [
        sys::cudaErrorInvalidPtx,
        sys::cudaErrorUnsupportedPtxVersion,
        sys::cudaErrorInvalidKernelImage,
        sys::cudaErrorNoKernelImageForDevice,
    ];
    if refusals.contains(&code) {
        return Some((code, log));
    }
    // The log has only warnings and the code is valid. The missing kernel is not an error.
    let _ = quietly(Error::check("cudaLibraryGetKernel", code));
    None
}

impl Library {
    /// Loads PTX, as `nvcc -ptx` and NVRTC write it, given as text or bytes, with or without a zero byte at
    /// the end. [`builder`](Self::builder) has options for the compiler.
    ///
    /// Stands for [`cudaLibraryLoadData`](sys::cudaLibraryLoadData).
    ///
    /// # Errors
    /// - `cudaErrorInvalidPtx`, with the compiler's message.
    /// - `cudaErrorUnsupportedPtxVersion` if the PTX is newer than the driver.
    /// - `NotCode` if the text is not PTX; detected before the call.
    /// - Any other error of the runtime.
    /// - Refused inside a host function.
    ///
    /// A driver may load invalid PTX successfully and fail only when a kernel is requested, but it writes
    /// to the log during the load. If the log has text, this function therefore requests a kernel, and
    /// unloads the library if the driver reports that the code is invalid.
    #[doc(alias = "cudaLibraryLoadData")]
    #[track_caller]
    pub fn from_ptx(ptx: impl AsRef<[u8]>) -> Result<Self> {
        LibraryBuilder::default().load_ptx(ptx)
    }

    /// Loads PTX, a cubin or a fatbinary. The image is copied.
    ///
    /// Stands for [`cudaLibraryLoadData`](sys::cudaLibraryLoadData).
    ///
    /// # Errors
    /// As [`from_ptx`](Self::from_ptx), and:
    ///
    /// - `cudaErrorNoKernelImageForDevice` if there is no code for the device.
    /// - `WrongLength` if the image has fewer bytes than its headers claim; detected before the call.
    ///
    /// # Safety
    /// - A cubin or fatbinary was written by a CUDA tool and is complete and unchanged: the driver trusts
    ///   its headers.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::library::Library;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let image = std::fs::read("kernels.fatbin")?;
    /// // SAFETY: the file is nvcc's.
    /// let library = unsafe { Library::from_data(&image) }?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryLoadData")]
    #[track_caller]
    pub unsafe fn from_data(image: &[u8]) -> Result<Self> {
        // SAFETY: the caller's duties are the same.
        unsafe { LibraryBuilder::default().load_data(image) }
    }

    /// Loads a file of PTX, a cubin or a fatbinary, which the driver reads. For PTX,
    /// [`from_ptx`](Self::from_ptx) with the result of [`std::fs::read`] is a safe alternative.
    ///
    /// Stands for [`cudaLibraryLoadFromFile`](sys::cudaLibraryLoadFromFile).
    ///
    /// # Errors
    /// As [`from_data`](Self::from_data), but the image is not checked before the call. `NulByte` if the
    /// path contains a zero byte.
    ///
    /// # Safety
    /// - The duties of [`from_data`](Self::from_data) hold for the file's contents at the time it is read.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::library::Library;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// // SAFETY: the file is nvcc's.
    /// let library = unsafe { Library::from_file("kernels.cubin") }?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryLoadFromFile")]
    #[track_caller]
    pub unsafe fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        // SAFETY: the caller's duties are the same.
        unsafe { LibraryBuilder::default().load_file(path) }
    }

    /// Returns a builder with load options.
    pub fn builder() -> LibraryBuilder {
        LibraryBuilder::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_named_twice_has_the_last_value_and_logs_are_always_asked_for() {
        let lent = [JitOption::MaxRegisters(16), JitOption::LineInfo, JitOption::MaxRegisters(64)]
            .into_iter()
            .fold(Library::builder(), LibraryBuilder::option)
            .lent(Vec::new());
        let expected = [
            sys::cudaJitGenerateLineInfo,
            sys::cudaJitMaxRegisters,
            sys::cudaJitErrorLogBuffer,
            sys::cudaJitErrorLogBufferSizeBytes,
        ];
        assert_eq!(lent.options, expected);
        let values: Vec<usize> = lent.values.iter().map(|value| value.addr()).collect();
        assert_eq!(values, [1, 64, lent.errors.pointer().addr(), 16 << 10]);
        assert!(lent.information.is_none());
        assert!(Library::builder().information().lent(Vec::new()).information.is_some());
    }
}
