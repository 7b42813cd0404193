//! The handles of a kernel in other interfaces.
#![expect(unsafe_code, reason = "asks the runtime about kernels")]

use std::ptr;

use super::Kernel;
use crate::error::{Detail, Error, Result};
use crate::{check, stream, sys};

impl<P> Kernel<P> {
    /// Returns the kernel as a `cudaKernel_t`, which is the driver's `CUkernel` and is not tied to a
    /// device. It is valid while the kernel's library is loaded; for a kernel of the program, always.
    ///
    /// Stands for [`cudaGetKernel`](sys::cudaGetKernel).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device. Refused inside
    /// a host function.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::launch::Kernel;
    /// # fn with(kernel: &Kernel<(*mut f32, u32)>) -> cuda_safe::Result<()> {
    /// let for_cuda_h = (kernel.kernel()?, kernel.function()?);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGetKernel")]
    #[track_caller]
    pub fn kernel(&self) -> Result<sys::cudaKernel_t> {
        stream::ensure_idle("Kernel::kernel")?;
        if self.code.loaded {
            return Ok(self.as_raw().cast_mut().cast());
        }
        let mut kernel = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills. The kernel belongs to this
        // program.
        unsafe { check!(cudaGetKernel(&raw mut kernel, self.as_raw())) }?;
        Ok(kernel)
    }

    /// Returns the kernel as a `cudaFunction_t` of the current device, which is the driver's `CUfunction`.
    ///
    /// Stands for [`cudaGetFuncBySymbol`](sys::cudaGetFuncBySymbol).
    ///
    /// # Errors
    /// - The runtime's error if there is no code for the current device, or no device.
    /// - `Unsupported` for a kernel of a library; use the driver's `cuKernelGetFunction`.
    /// - Refused inside a host function.
    #[doc(alias = "cudaGetFuncBySymbol")]
    #[track_caller]
    pub fn function(&self) -> Result<sys::cudaFunction_t> {
        stream::ensure_idle("Kernel::function")?;
        if self.code.loaded {
            let what = "cudaGetFuncBySymbol of a library's kernel, \
                        for which the driver's cuKernelGetFunction stands,";
            return Err(Error::refused("Kernel::function", Detail::Unsupported { what }));
        }
        let mut function = ptr::null_mut();
        // SAFETY: as above.
        unsafe { check!(cudaGetFuncBySymbol(&raw mut function, self.as_raw())) }?;
        Ok(function)
    }
}
