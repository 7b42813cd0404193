//! A library, owned.
#![expect(unsafe_code, reason = "asks the runtime about libraries")]

use std::ffi::{CStr, c_void};
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use super::loaded::Loaded;
use super::{LibraryBuilder, c_name};
use crate::error::{Detail, Error, Result};
use crate::memory::relax;
use crate::{check, stream, sys};

/// Code that was loaded at run time, unloaded when nobody has it or anything of it any more.
///
/// # Ordering
/// Dropping the last owner waits for the kernels of the library that were launched: see [the module](crate::library).
///
/// # Examples
/// ```
/// use cuda_safe::library::Library;
/// use cuda_safe::{DeviceBuffer, Stream, launch};
///
/// const PTX: &str = "
/// .version 8.0
/// .target sm_70
/// .address_size 64
/// .visible .entry double_it(.param .u64 data)
/// {
///     .reg .b32 %r<3>;
///     .reg .b64 %rd<4>;
///     ld.param.u64 %rd1, [data];
///     mov.u32 %r1, %tid.x;
///     mul.wide.u32 %rd2, %r1, 4;
///     add.s64 %rd3, %rd1, %rd2;
///     ld.global.u32 %r2, [%rd3];
///     add.u32 %r2, %r2, %r2;
///     st.global.u32 [%rd3], %r2;
///     ret;
/// }";
///
/// # fn main() -> cuda_safe::Result<()> {
/// let library = Library::from_ptx(PTX)?;
/// // SAFETY: the kernel takes the address of one word for each thread.
/// let double_it = unsafe { library.kernel::<(*mut u32,)>("double_it") }?;
/// let (stream, mut data) = (Stream::new()?, DeviceBuffer::from_slice(&[1, 2, 3])?);
/// // SAFETY: there are as many threads as elements.
/// unsafe { launch!(double_it<<<1, 3, 0, &stream>>>(&mut data)) }?;
/// assert_eq!(data.to_vec()?, [2, 4, 6]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaLibrary_t")]
pub struct Library {
    pub(super) loaded: Arc<Loaded>,
}

impl Library {
    pub(super) fn of(loaded: Arc<Loaded>) -> Self {
        Self { loaded }
    }

    /// Loads PTX: what `nvcc -ptx` and NVRTC write. Text and bytes will do, with a zero byte at the end or without.
    /// [`builder`](Self::builder) has options for the compiler.
    ///
    /// Stands for [`cudaLibraryLoadData`](sys::cudaLibraryLoadData).
    ///
    /// # Errors
    /// `cudaErrorInvalidPtx`, with what the compiler says; `cudaErrorUnsupportedPtxVersion` for PTX that is newer than the driver; what
    /// else the runtime says. `NotCode` for what is not PTX, before the call; a refusal inside a host function.
    ///
    /// Drivers load PTX that does not compile with success, and refuse its kernels. What they write down says so at once: where that is
    /// anything, a kernel is asked for, and the library unloaded if the answer is that the code is no good.
    #[doc(alias = "cudaLibraryLoadData")]
    #[track_caller]
    pub fn from_ptx(ptx: impl AsRef<[u8]>) -> Result<Self> {
        LibraryBuilder::new().load_ptx(ptx)
    }

    /// Loads PTX, a cubin or a fatbinary. The image is copied.
    ///
    /// Stands for [`cudaLibraryLoadData`](sys::cudaLibraryLoadData).
    ///
    /// # Errors
    /// As [`from_ptx`](Self::from_ptx); `cudaErrorNoKernelImageForDevice` where there is no code for the device; `WrongLength` for an image
    /// that has fewer bytes than it says, before the call.
    ///
    /// # Safety
    /// A cubin or fatbinary is one that a tool of CUDA's wrote, whole and unchanged: the driver believes what it says of itself.
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
        // SAFETY: the caller's duties are just these.
        unsafe { LibraryBuilder::new().load_data(image) }
    }

    /// Loads a file of PTX, or a cubin or fatbinary, which the driver reads. For PTX,
    /// [`from_ptx`](Self::from_ptx) of what [`std::fs::read`] gives needs no word of the caller's.
    ///
    /// Stands for [`cudaLibraryLoadFromFile`](sys::cudaLibraryLoadFromFile).
    ///
    /// # Errors
    /// As [`from_data`](Self::from_data), but nothing is checked before the call; `NulByte` for a path that has one.
    ///
    /// # Safety
    /// The duties of [`from_data`](Self::from_data), for what the file has when it is read.
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
        // SAFETY: the caller's duties are just these.
        unsafe { LibraryBuilder::new().load_file(path) }
    }

    /// Options to load one with.
    pub fn builder() -> LibraryBuilder {
        LibraryBuilder::new()
    }

    /// What the compiler told beside errors, if [`LibraryBuilder::information`] has asked for it.
    #[must_use]
    pub fn information(&self) -> Option<String> {
        self.loaded.lent()?.information.as_ref()?.text()
    }

    /// How many kernels the library has.
    ///
    /// Stands for [`cudaLibraryGetKernelCount`](sys::cudaLibraryGetKernelCount).
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaLibraryGetKernelCount")]
    #[track_caller]
    pub fn kernel_count(&self) -> Result<u32> {
        stream::ensure_idle("Library::kernel_count")?;
        let mut count = 0;
        // SAFETY: the pointer is to a live integer, which the call fills, and the library is loaded.
        unsafe { check!(cudaLibraryGetKernelCount(&raw mut count, self.as_raw())) }?;
        Ok(count)
    }

    /// The names of the kernels, sorted: those of the source for `extern "C"` ones, mangled for others.
    ///
    /// Stands for [`cudaLibraryEnumerateKernels`](sys::cudaLibraryEnumerateKernels).
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::library::Library;
    /// # fn with(library: &Library) -> cuda_safe::Result<()> {
    /// println!("{}", library.kernel_names()?.join(", "));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryEnumerateKernels")]
    #[track_caller]
    pub fn kernel_names(&self) -> Result<Vec<String>> {
        let count = self.kernel_count()?;
        let mut kernels = vec![ptr::null_mut(); usize::try_from(count).unwrap_or(0)];
        // SAFETY: the pointer is to room for as many handles as is said, and the library is loaded.
        unsafe { check!(cudaLibraryEnumerateKernels(kernels.as_mut_ptr(), count, self.as_raw())) }?;
        let mut names = Vec::with_capacity(kernels.len());
        for kernel in kernels.into_iter().filter(|kernel: &sys::cudaKernel_t| !kernel.is_null()) {
            let mut name = ptr::null();
            // SAFETY: the pointer is to a live variable, which the call fills; the kernel is one of the library's.
            unsafe { check!(cudaFuncGetName(&raw mut name, kernel.cast_const().cast())) }?;
            if !name.is_null() {
                // SAFETY: the runtime has given the address of a name that ends in a zero byte and stays for as long as the library.
                names.push(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Where a function is that host and devices can call.
    ///
    /// Stands for [`cudaLibraryGetUnifiedFunction`](sys::cudaLibraryGetUnifiedFunction). The library must be loaded while it is called.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where no device has `unifiedFunctionPointers` among its properties (an H200 has not), whatever the name is;
    /// `cudaErrorSymbolNotFound` where there is no such function; `NulByte` for a name that has one; a refusal inside a host function.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::library::Library;
    /// # fn with(library: &Library) -> cuda_safe::Result<()> {
    /// let address = library.unified_function("compare")?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryGetUnifiedFunction")]
    #[track_caller]
    pub fn unified_function(&self, name: &str) -> Result<*mut c_void> {
        const API: &str = "Library::unified_function";
        stream::ensure_idle(API)?;
        relax()?;
        let c_name = c_name(API, name)?;
        let mut function = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills; the name ends in a zero byte, and the library is loaded.
        let found = unsafe {
            check!(cudaLibraryGetUnifiedFunction(&raw mut function, self.as_raw(), c_name.as_ptr()))
        };
        // No closure, which would hide the caller.
        match found {
            Ok(()) => Ok(function),
            Err(error) => Err(self.named("unified function", name, error)),
        }
    }

    /// The error of a search, with what was searched for.
    pub(super) fn named(&self, what: &'static str, name: &str, error: Error) -> Error {
        if error.code() != sys::cudaErrorSymbolNotFound {
            // A driver that compiles late says here what it says otherwise where the code is loaded.
            return super::explained(error, self.loaded.lent().and_then(|lent| lent.errors.text()));
        }
        error.with_detail(Detail::NoSuchName { what, name: name.to_owned(), known: None })
    }

    /// Unloads the library, if nobody else has anything of it, after all that was launched of it: what a drop does, with the error.
    /// Where a kernel, a graph or a buffer of a variable is left, the last of them does it.
    ///
    /// Stands for [`cudaLibraryUnload`](sys::cudaLibraryUnload).
    ///
    /// # Errors
    /// The failure of work that ran the code, in which case the library stays loaded, or of the call; a refusal inside a host
    /// function, after which it is unloaded later.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::library::Library;
    /// # fn with(library: Library) -> cuda_safe::Result<()> {
    /// library.unload()
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryUnload")]
    #[track_caller]
    pub fn unload(mut self) -> Result<()> {
        match Arc::get_mut(&mut self.loaded) {
            Some(loaded) => loaded.unload(),
            None => Ok(()),
        }
    }

    /// The raw handle, which stays the library's.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaLibrary_t {
        self.loaded.raw()
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("raw", &self.as_raw()).finish_non_exhaustive()
    }
}
