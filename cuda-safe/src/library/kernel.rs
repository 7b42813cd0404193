//! Kernels of libraries.
#![expect(unsafe_code, reason = "asks the runtime for kernels, and vouches for what they are")]

use std::ptr;

use super::names::lasting;
use super::{Library, c_name};
use crate::error::{Detail, Error, Result, quietly};
use crate::hazard::Uses;
use crate::launch::{Kernel, Parameters};
use crate::memory::{relax, retain};
use crate::{check, stream, sys};

impl Library {
    /// A kernel, by its name in the code: that of the source for an `extern "C"` one, mangled for others.
    ///
    /// The kernel keeps the library loaded, and its launches are in the tracker's books like those of any other.
    /// `P` is the tuple of its parameters' types. Their number and their sizes are compared with the kernel's own on the current
    /// device, whose code this may compile.
    ///
    /// Stands for [`cudaLibraryGetKernel`](sys::cudaLibraryGetKernel).
    ///
    /// # Errors
    /// `cudaErrorSymbolNotFound` where there is no such kernel, with those that there are; `Signature` where `P` does not fit the kernel,
    /// with both numbers; `NulByte` for a name that has one; what the compiler says where it says it this late; there is no code for the
    /// current device; a refusal inside a host function.
    ///
    /// # Safety
    /// - `P` is the tuple of the kernel's parameter types, each a type with C's layout: only sizes are compared.
    /// - The kernel uses no variable of the library of which there is [a buffer](Self::global), but for those that it is told of by
    ///   [`Kernel::using`], or that launches have as arguments: nobody orders its launches with copies of others.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::library::Library;
    /// # fn with(library: &Library) -> cuda_safe::Result<()> {
    /// // SAFETY: extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n)
    /// let saxpy = unsafe { library.kernel::<(f32, *const f32, *mut f32, u32)>("saxpy") }?;
    /// println!("{} registers", saxpy.attributes()?.registers());
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryGetKernel")]
    #[doc(alias = "cudaKernel_t")]
    #[track_caller]
    pub unsafe fn kernel<P: Parameters>(&self, name: &str) -> Result<Kernel<P>> {
        const API: &str = "Library::kernel";
        stream::ensure_idle(API)?;
        relax()?;
        let c_name = c_name(API, name)?;
        let mut raw: sys::cudaKernel_t = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills; the name ends in a zero byte, and the library is loaded.
        let found = unsafe { check!(cudaLibraryGetKernel(&raw mut raw, self.as_raw(), c_name.as_ptr())) };
        // No closures here, which would hide the caller.
        if let Err(error) = found {
            return Err(self.no_kernel(name, error));
        }
        let mut held = Uses::default();
        let alive = self.loaded.alive();
        if !held.add(&alive, || retain(&alive)) {
            return Err(Error::refused(API, Detail::NotKept));
        }
        // SAFETY: the handle is of a kernel of the library, which `held` keeps loaded; the caller says that `P` are its parameters, and
        // which variables it uses.
        let kernel: Kernel<P> = unsafe { Kernel::from_code(lasting(name), raw.cast_const().cast(), held) };
        match self.fits(&kernel) {
            Ok(()) => Ok(kernel),
            Err(error) => Err(self.named("kernel", name, error)),
        }
    }

    /// Refuses a type that has other parameters than the kernel.
    #[track_caller]
    fn fits<P: Parameters>(&self, kernel: &Kernel<P>) -> Result<()> {
        // Fails for other reasons than that there is no such parameter, where there is no code for one.
        kernel.load()?;
        // One more, which there is not to be.
        let asked = P::SIZES.iter().map(|size| Some(*size)).chain([None]);
        for (index, asked) in asked.enumerate() {
            let found = quietly(kernel.parameter(index)).map(|parameter| parameter.size);
            if found != asked {
                return Err(Error::refused("Library::kernel", Detail::Signature { index, asked, found }));
            }
        }
        Ok(())
    }

    /// The error of a search for a kernel, with those that there are.
    fn no_kernel(&self, name: &str, error: Error) -> Error {
        let known =
            if error.code() == sys::cudaErrorSymbolNotFound { quietly(self.kernel_names()) } else { None };
        let Some(known) = known else { return self.named("kernel", name, error) };
        let known = match known.as_slice() {
            [] => "it has none".to_owned(),
            known => format!("it has {}", known.join(", ")),
        };
        let (name, known) = (name.to_owned(), Some(known));
        error.with_detail(Detail::NoSuchName { what: "kernel", name, known })
    }
}
