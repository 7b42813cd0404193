//! The handle whose launches are proven.
#![expect(unsafe_code, reason = "launches kernels that are proven to stay within their arguments")]

use std::ffi::c_void;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;

use crate::error::Result;
use crate::stream::AsStream;

use super::access_list::AccessList;
use super::argument::Target;
use super::checked_arguments::{CheckedArguments, CheckedParameters};
use super::{Kernel, KernelProof, LaunchConfig};

/// A kernel whose launches are safe: each is proven before anything is queued.
///
/// The proof is of the PTX that nvcc made for the device, with the grid, the block and the numbers of the
/// launch ([`cuda_proof`]). It gives the bytes that the launch may read and write through each pointer, and
/// their alignment. The launch compares these with its arguments. A launch that does not fit, or that cannot
/// be proven, is an error of the kind [`Proof`](crate::ErrorKind::Proof), with the line of the kernel and the
/// reason. The verdict on the same values is kept: a repeated launch only compares.
///
/// `cuda-kernels-build` generates handles of this type for kernels whose parameters are numbers, structs of
/// numbers without padding, textures, surfaces, and pointers to memory of these. Handles of other kernels are
/// [`Kernel`]s, and their launches are `unsafe`. The type depends on the prototype only: an edit of the
/// kernel's body changes no type.
///
/// [`unchecked`](Kernel::unchecked) gives the handle for launches without proof. They also take raw pointers
/// and flags. All other methods are those of [`Kernel`].
///
/// # What is safe to claim
/// A proven launch accesses no bytes but those of its arguments, of shared memory, of its stack and of
/// variables. It may compute wrong numbers, trap or never end. [The page](crate::soundness::proofs) has the
/// argument.
pub struct Checked<P> {
    kernel: Kernel<P>,
    proof: &'static KernelProof,
}

impl<P> Checked<P> {
    /// Makes the handle of a kernel whose PTX is known.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// `proof` has the slices of this kernel and of no other one, made of the PTX from which its machine code
    /// is made, as [`KernelProof::new`] says.
    #[must_use]
    pub const unsafe fn new(kernel: Kernel<P>, proof: &'static KernelProof) -> Self {
        Self { kernel, proof }
    }

    /// Launches the kernel on a stream, as [`Kernel::launch`] does, if the launch is proven.
    ///
    /// # Ordering
    /// As [`Kernel::launch`].
    ///
    /// # Errors
    /// - `Proof` if the kernel may leave an argument's memory, if nothing proves that it does not, or if two
    ///   arguments have bytes in common and one is written. Nothing is queued then.
    /// - The runtime's error if the device has no code for the kernel.
    /// - Those of [`Kernel::launch`].
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::launch::Checked;
    /// use cuda_safe::{DeviceBuffer, Stream, launch};
    ///
    /// # fn run(scale: &Checked<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut data = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
    /// launch!(scale<<<4, 256, 0, &stream>>>(&mut data, 2.0, 1000))?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLaunchKernel")]
    #[doc(alias = "<<<>>>")]
    #[inline]
    #[track_caller]
    pub fn launch<'c, A: CheckedArguments<P>>(
        &self,
        config: impl Into<LaunchConfig<'c>>,
        stream: &impl AsStream,
        arguments: A,
    ) -> Result<()>
    where
        P: CheckedParameters,
    {
        let config = config.into();
        config.check(self.kernel.name)?;
        let stream = stream.as_stream();
        let target = self.kernel.on(stream);
        let mut values = arguments.values(target)?;
        let mut pointers = A::pointers(&mut values);
        let mut accesses = AccessList::new();
        arguments.accesses(target, &mut accesses)?;
        // SAFETY: the pointers are to live values of the parameters' types (`Arguments`).
        unsafe { self.prove(&config, target, pointers.as_mut(), &arguments) }?;
        // SAFETY: the accesses cover all memory that the kernel receives from owners, and there is a live
        // value of the right type for each parameter (`Arguments`). The proof holds for this device, this
        // shape and these values: each thread stays within the memory of the arguments, writes only what is
        // passed to be written, and no memory that it writes is passed twice. No argument is a raw pointer
        // (`CheckedArg`).
        let launched = unsafe {
            self.kernel.submit(&config, stream, &mut accesses, pointers.as_mut(), Location::caller())
        };
        match launched {
            Ok(()) => Ok(()),
            Err(error) => Err(arguments.explain(error, target)),
        }
    }

    /// Refuses a launch that is not proven.
    ///
    /// # Safety
    /// `values` has a pointer to a live value of each parameter, and `arguments` are those that the values are
    /// of.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn prove<A: CheckedArguments<P>>(
        &self,
        config: &LaunchConfig<'_>,
        target: Target<'_>,
        values: &[*mut c_void],
        arguments: &A,
    ) -> Result<()>
    where
        P: CheckedParameters,
    {
        let each = arguments.each_access();
        // SAFETY: the caller has the same duties, and the accesses are those of the arguments
        // (`CheckedArguments`).
        unsafe { self.proof.check::<P>(&self.kernel, config, target, values, each.as_ref()) }
    }
}

impl<P> Clone for Checked<P> {
    fn clone(&self) -> Self {
        Self { kernel: self.kernel.clone(), proof: self.proof }
    }
}

impl<P> Deref for Checked<P> {
    type Target = Kernel<P>;

    #[inline]
    fn deref(&self) -> &Kernel<P> {
        &self.kernel
    }
}

impl<P> fmt::Debug for Checked<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checked({:?})", self.kernel)
    }
}
