//! Kernels of libraries.
#![expect(unsafe_code, reason = "asks the runtime for kernels, and vouches for what they are")]

use std::collections::BTreeSet;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::Library;
use super::loaded::c_name;
use crate::error::{Detail, Error, Result, quietly};
use crate::hazard::RetainedAccesses;
use crate::launch::{Kernel, Parameters};
use crate::memory::{relax, retain};
use crate::{check, stream, sys};

impl Library {
    /// Returns a kernel by its name in the code: the source name of an `extern "C"` kernel, the mangled
    /// name of any other.
    ///
    /// The kernel retains the library, and the tracker records its launches like those of any other kernel.
    /// `P` is the tuple of the kernel's parameter types. Their number and sizes are compared with the
    /// kernel's own on the current device; this may compile the code for that device.
    ///
    /// Stands for [`cudaLibraryGetKernel`](sys::cudaLibraryGetKernel).
    ///
    /// # Errors
    /// - `cudaErrorSymbolNotFound` if the library has no such kernel; the error lists the kernels that it
    ///   has.
    /// - `Signature` if `P` does not fit the kernel; the error holds both sizes.
    /// - `NulByte` if the name contains a zero byte.
    /// - The compiler's error, if the driver compiles only now.
    /// - The runtime's error if there is no code for the current device.
    /// - Refused inside a host function.
    ///
    /// # Safety
    /// - `P` is the tuple of the kernel's parameter types, each a type with C's layout: only sizes are
    ///   compared.
    /// - If a variable of the library has [a buffer](Self::global), the kernel uses that variable only if
    ///   it is declared by [`Kernel::using`] or is an argument of the launch. Launches are not ordered with
    ///   copies of other variables.
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
        // SAFETY: the pointer is to a live variable, which the call fills. The name ends in a zero byte,
        // and the library is loaded.
        let found = unsafe { check!(cudaLibraryGetKernel(&raw mut raw, self.as_raw(), c_name.as_ptr())) };
        // No closures here: they would hide the caller's location.
        if let Err(error) = found {
            return Err(self.no_kernel(name, error));
        }
        let mut held = RetainedAccesses::default();
        let alive = self.loaded.alive();
        if !held.add(&alive, || retain(&alive)) {
            return Err(Error::refused(API, Detail::NotKept));
        }
        // SAFETY: the handle is that of a kernel of the library, which `held` retains. The caller
        // guarantees that `P` are the kernel's parameters, and which variables it uses.
        let kernel: Kernel<P> = unsafe { Kernel::from_code(lasting(name), raw.cast_const().cast(), held) };
        match self.fits(&kernel) {
            Ok(()) => Ok(kernel),
            Err(error) => Err(self.named("kernel", name, error)),
        }
    }

    /// Refuses a type whose parameters differ from the kernel's.
    #[track_caller]
    fn fits<P: Parameters>(&self, kernel: &Kernel<P>) -> Result<()> {
        // Without code for this device the parameter queries fail, too. `load` reports that error first.
        kernel.load()?;
        // One query more than `P` has parameters: the kernel must not have it.
        let asked = P::SIZES.iter().map(|size| Some(*size)).chain([None]);
        for (index, asked) in asked.enumerate() {
            let found = quietly(kernel.parameter(index)).map(|parameter| parameter.size);
            if found != asked {
                return Err(Error::refused("Library::kernel", Detail::Signature { index, asked, found }));
            }
        }
        Ok(())
    }

    /// Adds the names of the existing kernels to the error of a failed search.
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

/// Returns a copy of the name that lives as long as the program. Equal names share one copy.
fn lasting(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let lasting = Box::leak(name.to_owned().into_boxed_str());
    names.insert(lasting);
    lasting
}

#[cfg(test)]
mod tests {
    use super::lasting;

    #[test]
    fn a_name_is_kept_once() {
        let (first, second) = (lasting("scale"), lasting(&["sc", "ale"].concat()));
        assert_eq!((first, first.as_ptr()), ("scale", second.as_ptr()));
    }
}
