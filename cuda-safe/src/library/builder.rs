//! How a library is loaded: what the compiler of PTX is told, and what the driver may rely on.
#![expect(unsafe_code, reason = "loads through the runtime")]

use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

use super::loaded::{LentToDriver, Loaded};
use super::log::Log;
use super::owned::Library;
use super::{explained, image};
use crate::error::{Detail, Error, Result, quietly};
use crate::memory::relax;
use crate::{stream, sys};

/// Which code of a fatbinary is used where none is just for the device: one of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaJit_Fallback")]
pub struct Fallback(sys::cudaJit_Fallback);

impl Fallback {
    /// Its PTX, compiled.
    #[doc(alias = "cudaPreferPtx")]
    pub const PTX: Self = Self(sys::cudaPreferPtx);
    /// Machine code that the device can run, too.
    #[doc(alias = "cudaPreferBinary")]
    pub const BINARY: Self = Self(sys::cudaPreferBinary);
}

/// Which caches loads of global memory go through: one of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaJit_CacheMode")]
pub struct CacheMode(sys::cudaJit_CacheMode);

impl CacheMode {
    /// As the compiler likes.
    #[doc(alias = "cudaJitCacheOptionNone")]
    pub const NONE: Self = Self(sys::cudaJitCacheOptionNone);
    /// The cache that all multiprocessors share.
    #[doc(alias = "cudaJitCacheOptionCG")]
    pub const GLOBAL: Self = Self(sys::cudaJitCacheOptionCG);
    /// That, and each multiprocessor's own.
    #[doc(alias = "cudaJitCacheOptionCA")]
    pub const ALL: Self = Self(sys::cudaJitCacheOptionCA);
}

/// Loads a [`Library`] otherwise than as the driver would by itself. Most options are for the compiler, and so for PTX alone.
///
/// # Examples
/// ```
/// use cuda_safe::library::LibraryBuilder;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let ptx = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }";
/// let library = LibraryBuilder::new().max_registers(32).line_info().information().load_ptx(ptx)?;
/// println!("{} kernels; the compiler says: {:?}", library.kernel_count()?, library.information());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
#[doc(alias = "cudaJitOption")]
#[doc(alias = "cudaLibraryOption")]
pub struct LibraryBuilder {
    options: Vec<(sys::cudaJitOption, u32)>,
    information: bool,
    preserved: bool,
}

impl LibraryBuilder {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// An option whose value is a number. What is said last counts.
    fn with(mut self, option: sys::cudaJitOption, value: u32) -> Self {
        self.options.retain(|(other, _)| *other != option);
        self.options.push((option, value));
        self
    }

    /// Registers that a thread may use, at most.
    #[doc(alias = "cudaJitMaxRegisters")]
    pub fn max_registers(self, registers: u32) -> Self {
        self.with(sys::cudaJitMaxRegisters, registers)
    }

    /// Threads that a block has at least: so few registers are used that such blocks can run.
    #[doc(alias = "cudaJitThreadsPerBlock")]
    pub fn threads_per_block(self, threads: u32) -> Self {
        self.with(sys::cudaJitThreadsPerBlock, threads)
    }

    /// Threads that a block has at most, in all launches.
    #[doc(alias = "cudaJitMaxThreadsPerBlock")]
    pub fn max_threads_per_block(self, threads: u32) -> Self {
        self.with(sys::cudaJitMaxThreadsPerBlock, threads)
    }

    /// Blocks that a multiprocessor is to have room for at least. Counts only beside
    /// [`max_threads_per_block`](Self::max_threads_per_block).
    #[doc(alias = "cudaJitMinCtaPerSm")]
    pub fn min_blocks_per_multiprocessor(self, blocks: u32) -> Self {
        self.with(sys::cudaJitMinCtaPerSm, blocks)
    }

    /// What is said here of threads, blocks and registers goes before what the PTX says.
    #[doc(alias = "cudaJitOverrideDirectiveValues")]
    pub fn override_directives(self) -> Self {
        self.with(sys::cudaJitOverrideDirectiveValues, 1)
    }

    /// How much the compiler optimises, from 0 to 4, which it does otherwise.
    #[doc(alias = "cudaJitOptimizationLevel")]
    pub fn optimization_level(self, level: u32) -> Self {
        self.with(sys::cudaJitOptimizationLevel, level)
    }

    /// With what a debugger wants to know.
    #[doc(alias = "cudaJitGenerateDebugInfo")]
    pub fn debug_info(self) -> Self {
        self.with(sys::cudaJitGenerateDebugInfo, 1)
    }

    /// With the numbers of lines, for profilers.
    #[doc(alias = "cudaJitGenerateLineInfo")]
    pub fn line_info(self) -> Self {
        self.with(sys::cudaJitGenerateLineInfo, 1)
    }

    /// Which caches loads of global memory go through.
    #[doc(alias = "cudaJitCacheMode")]
    pub fn cache_mode(self, mode: CacheMode) -> Self {
        self.with(sys::cudaJitCacheMode, mode.0.0)
    }

    /// Code that runs wherever it lies.
    #[doc(alias = "cudaJitPositionIndependentCode")]
    pub fn position_independent(self) -> Self {
        self.with(sys::cudaJitPositionIndependentCode, 1)
    }

    /// Which code of a fatbinary is used where none is just for the device.
    #[doc(alias = "cudaJitFallbackStrategy")]
    pub fn fallback(self, fallback: Fallback) -> Self {
        self.with(sys::cudaJitFallbackStrategy, fallback.0.0)
    }

    /// Keeps what the compiler tells beside errors, for [`Library::information`]: registers and memory of each kernel, for one.
    #[doc(alias = "cudaJitInfoLogBuffer")]
    #[doc(alias = "cudaJitLogVerbose")]
    pub fn information(mut self) -> Self {
        self.information = true;
        self.with(sys::cudaJitLogVerbose, 1)
    }

    /// The library keeps the code for as long as it is loaded, so that the driver needs no copy of its own. Not for files.
    #[doc(alias = "cudaLibraryBinaryIsPreserved")]
    pub fn preserved(mut self) -> Self {
        self.preserved = true;
        self
    }

    /// Loads PTX. Text and bytes will do, with a zero byte at the end or without.
    ///
    /// Stands for [`cudaLibraryLoadData`](sys::cudaLibraryLoadData).
    ///
    /// # Errors
    /// As [`Library::from_ptx`].
    #[doc(alias = "cudaLibraryLoadData")]
    #[track_caller]
    pub fn load_ptx(&self, ptx: impl AsRef<[u8]>) -> Result<Library> {
        let code = image::ptx("Library::from_ptx", ptx.as_ref())?;
        // SAFETY: the text ends in a zero byte, has no other one, and does not begin as any other format does.
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
    /// The duties of [`Library::from_data`].
    #[doc(alias = "cudaLibraryLoadData")]
    #[track_caller]
    pub unsafe fn load_data(&self, image: &[u8]) -> Result<Library> {
        let code = image::any("Library::from_data", image)?;
        // SAFETY: text is as in `load_ptx`; of the other formats the caller says that they are whole and good.
        unsafe { self.load_code("Library::from_data", code) }
    }

    /// # Safety
    /// The driver finds its way through the code.
    #[track_caller]
    unsafe fn load_code(&self, api: &'static str, code: Vec<u8>) -> Result<Library> {
        self.load(api, code, "cudaLibraryLoadData", |library, lent| {
            let (mut preserved, mut value) =
                (sys::cudaLibraryBinaryIsPreserved, ptr::without_provenance_mut::<c_void>(1));
            let count = u32::from(self.preserved);
            // SAFETY: the pointers are to live variables and lists, which have as many elements as is said. The caller vouches for the
            // code, and code and logs stay where they are until the library is unloaded.
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

    /// Loads a file of PTX, or a cubin or fatbinary.
    ///
    /// Stands for [`cudaLibraryLoadFromFile`](sys::cudaLibraryLoadFromFile).
    ///
    /// # Errors
    /// As [`Library::from_file`].
    ///
    /// # Safety
    /// The duties of [`Library::from_file`].
    #[doc(alias = "cudaLibraryLoadFromFile")]
    #[track_caller]
    pub unsafe fn load_file(&self, path: impl AsRef<Path>) -> Result<Library> {
        const API: &str = "Library::from_file";
        if self.preserved {
            return Err(Error::refused(API, Detail::Unsupported { what: "preserving the code of a file" }));
        }
        let Ok(path) = CString::new(path.as_ref().as_os_str().as_bytes()) else {
            return Err(Error::refused(API, Detail::NulByte { what: "the path" }));
        };
        self.load(API, Vec::new(), "cudaLibraryLoadFromFile", |library, lent| {
            // SAFETY: as above; the path ends in a zero byte. The caller vouches for the file.
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

    /// Has `call` load a library with the options.
    #[track_caller]
    fn load(
        &self,
        api: &'static str,
        code: Vec<u8>,
        name: &'static str,
        call: impl FnOnce(*mut sys::cudaLibrary_t, &mut LentToDriver) -> sys::cudaError_t,
    ) -> Result<Library> {
        stream::ensure_idle(api)?;
        // Otherwise a capture in progress would refuse to have code loaded, and be spoiled by the attempt.
        relax()?;
        let mut lent = Box::new(self.lent(code));
        let mut raw = ptr::null_mut();
        if let Err(error) = Error::check(name, call(&raw mut raw, &mut lent)) {
            return Err(explained(error, lent.errors.text()));
        }
        let library = Library::of(Loaded::new(raw, lent));
        match refused_late(&library) {
            // The library is unloaded with its owner.
            Some((code, log)) => Err(explained(Error::from_code(name, code), Some(log))),
            None => Ok(library),
        }
    }

    /// The options as C takes them, with the logs.
    fn lent(&self, code: Vec<u8>) -> LentToDriver {
        let (errors, information) = (Log::new(), self.information.then(Log::new));
        // A number stands where an address does.
        let number = |value: u32| ptr::without_provenance_mut(usize::try_from(value).unwrap_or(usize::MAX));
        let mut all: Vec<(sys::cudaJitOption, *mut c_void)> =
            self.options.iter().map(|(option, value)| (*option, number(*value))).collect();
        all.push((sys::cudaJitErrorLogBuffer, errors.pointer()));
        all.push((sys::cudaJitErrorLogBufferSizeBytes, number(Log::bytes())));
        if let Some(log) = &information {
            all.push((sys::cudaJitInfoLogBuffer, log.pointer()));
            all.push((sys::cudaJitInfoLogBufferSizeBytes, number(Log::bytes())));
        }
        let (options, values) = all.into_iter().unzip();
        LentToDriver { errors, information, code, options, values }
    }
}

/// What is wrong with code that was loaded, with the compiler's words. Drivers load PTX that is no good with success and say so of its kernels
/// only, but write their reasons down at once: it is asked where there are some.
fn refused_late(library: &Library) -> Option<(sys::cudaError_t, String)> {
    let log = library.loaded.lent()?.errors.text()?;
    let mut kernel = ptr::null_mut();
    // Any name will do: whether there is such a kernel is found out last.
    let name = c"cuda_safe".as_ptr();
    // SAFETY: the pointer is to a live variable, which the call fills; the name ends in a zero byte, and the library is loaded.
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
    // What the compiler has only warned of is there, and that there is no such kernel is nobody's error.
    let _ = quietly(Error::check("cudaLibraryGetKernel", code));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_named_twice_has_the_last_value_and_logs_are_always_asked_for() {
        let lent = LibraryBuilder::new().max_registers(16).line_info().max_registers(64).lent(Vec::new());
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
        assert!(LibraryBuilder::new().information().lent(Vec::new()).information.is_some());
    }
}
