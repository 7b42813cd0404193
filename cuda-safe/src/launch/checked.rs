//! The handle whose launches are proven.
#![expect(unsafe_code, reason = "the handle has the slices of its kernel")]

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Kernel, KernelProof};

/// A kernel whose launches are safe: each is proven before anything is queued.
///
/// The proof is of the PTX that nvcc made for the device, with the grid, the block and the numbers of the
/// launch ([`cuda_proof`]). It gives the bytes that the launch may read and write through each pointer, and
/// their alignment. The launch compares these with its arguments. A launch that does not fit, or that cannot
/// be proven, is an error of the kind [`Proof`](crate::error::ErrorKind::Proof), with the line of the kernel
/// and the reason. Verdicts are cached: a repeated launch only compares.
///
/// `cuda-kernels-build` generates handles of this type for kernels whose parameters are numbers, structs of
/// numbers without padding, textures, surfaces, and pointers to memory of these. A library that is loaded as
/// PTX has such handles, too ([`Library::checked_kernel`]). Handles of other kernels are
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
///
/// [`Library::checked_kernel`]: crate::library::Library::checked_kernel
pub struct Checked<P> {
    pub(super) kernel: Kernel<P>,
    pub(super) proof: Proof,
}

/// The proof of a kernel of the program, or of one that was loaded.
#[derive(Clone, Debug)]
pub(super) enum Proof {
    Built(&'static KernelProof),
    Loaded(Arc<KernelProof>),
}

impl Deref for Proof {
    type Target = KernelProof;

    #[inline]
    fn deref(&self) -> &KernelProof {
        match self {
            Self::Built(proof) => proof,
            Self::Loaded(proof) => proof,
        }
    }
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
        Self { kernel, proof: Proof::Built(proof) }
    }

    /// Makes the handle of a library's kernel.
    ///
    /// # Safety
    /// `proof` has this kernel and no other one, as [`KernelProof::of_library`] says.
    #[cfg(cudart_12_8)]
    pub(crate) unsafe fn loaded(kernel: Kernel<P>, proof: KernelProof) -> Self {
        Self { kernel, proof: Proof::Loaded(Arc::new(proof)) }
    }
}

impl<P> Clone for Checked<P> {
    fn clone(&self) -> Self {
        Self { kernel: self.kernel.clone(), proof: self.proof.clone() }
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
