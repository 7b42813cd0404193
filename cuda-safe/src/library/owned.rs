//! The owner of a library.
#![expect(unsafe_code, reason = "asks the runtime about libraries")]

use std::ffi::{CStr, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use super::loaded::{Loaded, c_name, explained};
use crate::error::{Detail, Error, Result};
use crate::memory::relax;
use crate::{check, stream, sys};

/// Code that was loaded at run time. It is unloaded when the last owner of the library, or of any of its
/// parts, is dropped.
///
/// # Ordering
/// Dropping the last owner blocks until the launched kernels of the library are complete: see [the
/// module](crate::library).
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

    /// Returns the compiler's messages that are not errors, if
    /// [`information`](super::LibraryBuilder::information) requested them.
    #[must_use]
    pub fn information(&self) -> Option<String> {
        self.loaded.lent()?.information.as_ref()?.text()
    }

    /// Returns the number of kernels in the library.
    ///
    /// Stands for [`cudaLibraryGetKernelCount`](sys::cudaLibraryGetKernelCount).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaLibraryGetKernelCount")]
    #[track_caller]
    pub fn kernel_count(&self) -> Result<u32> {
        stream::ensure_idle("Library::kernel_count")?;
        let mut count = 0;
        // SAFETY: the pointer is to a live integer, which the call fills, and the library is loaded.
        unsafe { check!(cudaLibraryGetKernelCount(&raw mut count, self.as_raw())) }?;
        Ok(count)
    }

    /// Returns the sorted names of the kernels: the source names of `extern "C"` kernels, the mangled names
    /// of others.
    ///
    /// Stands for [`cudaLibraryEnumerateKernels`](sys::cudaLibraryEnumerateKernels).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
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
        // SAFETY: the pointer is to `count` handles, and the library is loaded.
        unsafe { check!(cudaLibraryEnumerateKernels(kernels.as_mut_ptr(), count, self.as_raw())) }?;
        let mut names = Vec::with_capacity(kernels.len());
        for kernel in kernels.into_iter().filter(|kernel: &sys::cudaKernel_t| !kernel.is_null()) {
            let mut name = ptr::null();
            // SAFETY: the pointer is to a live variable, which the call fills. The kernel belongs to the
            // library.
            unsafe { check!(cudaFuncGetName(&raw mut name, kernel.cast_const().cast())) }?;
            if !name.is_null() {
                // SAFETY: the runtime returned the address of a name that ends in a zero byte and lives as
                // long as the library.
                names.push(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns the address of a function that the host and devices can call.
    ///
    /// Stands for [`cudaLibraryGetUnifiedFunction`](sys::cudaLibraryGetUnifiedFunction). The library must
    /// be loaded while the function is called.
    ///
    /// # Errors
    /// - `cudaErrorInvalidValue`, for any name, if no device has the property `unifiedFunctionPointers` (an
    ///   H200 does not).
    /// - `cudaErrorSymbolNotFound` if the library has no such function.
    /// - `NulByte` if the name contains a zero byte.
    /// - Refused inside a host function.
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
        // SAFETY: the pointer is to a live variable, which the call fills. The name ends in a zero byte,
        // and the library is loaded.
        let found = unsafe {
            check!(cudaLibraryGetUnifiedFunction(&raw mut function, self.as_raw(), c_name.as_ptr()))
        };
        // No closure here: it would hide the caller's location.
        match found {
            Ok(()) => Ok(function),
            Err(error) => Err(self.named("unified function", name, error)),
        }
    }

    /// Adds the name to the error of a failed search.
    pub(super) fn named(&self, what: &'static str, name: &str, error: Error) -> Error {
        if error.code() != sys::cudaErrorSymbolNotFound {
            // A driver that compiles late reports compile errors here instead of during the load.
            return explained(error, self.loaded.lent().and_then(|lent| lent.errors.text()));
        }
        error.with_detail(Detail::NoSuchName { what, name: name.to_owned(), known: None })
    }

    /// Unloads the library after all its launches are complete, if it has no other owner. Dropping does the
    /// same but discards the error. If a kernel, a graph or a buffer of a variable remains, dropping the
    /// last of them unloads the library.
    ///
    /// Stands for [`cudaLibraryUnload`](sys::cudaLibraryUnload).
    ///
    /// # Errors
    /// Returns the failure of work that ran the code, in which case the library stays loaded, or the
    /// failure of the call. Refused inside a host function; the library is then unloaded later.
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

    /// Returns the raw handle. The library retains ownership of it.
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
