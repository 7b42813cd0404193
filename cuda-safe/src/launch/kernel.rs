//! The typed handle of a kernel.
#![expect(unsafe_code, reason = "a handle vouches that its type is the kernel's parameter list")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, GraphAccesses};

use super::{VariableAccesses, module};

/// A kernel of this program or of a [`Library`](crate::library::Library). Its parameter list `P` is a tuple
/// of the types in its C prototype.
///
/// Cloning costs one reference count. A kernel of a library retains the library, and so does a graph with
/// the kernel.
///
/// `__global__ void saxpy(float a, const float* x, float* y, unsigned n)` is a
/// `Kernel<(f32, *const f32, *mut f32, u32)>`.
#[doc(alias = "__global__")]
pub struct Kernel<P> {
    pub(super) name: &'static str,
    pub(super) code: Code,
    pub(super) symbols: Option<&'static VariableAccesses>,
    /// Further accesses of each launch, with the resources they retain: the kernel's library, and memory
    /// that no argument names.
    pub(super) held: Option<Arc<GraphAccesses>>,
    pub(super) parameters: PhantomData<fn(P)>,
}

/// The runtime's identifier of a kernel. It is not dereferenced here.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) raw: *const c_void,
    /// Whether the identifier is a `cudaKernel_t` rather than a host-side stub.
    pub(super) loaded: bool,
}

// SAFETY: the runtime accepts the identifier on any thread, and this crate does not dereference it.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl<P> Kernel<P> {
    /// Makes the handle of the kernel with this host-side stub. `name` is for messages.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// - `stub` is the function that nvcc generated for a `__global__` function linked into this program.
    /// - `P` is the tuple of that function's parameter types, each a type with C's layout.
    /// - The kernel uses no `__device__`, `__constant__` or `__managed__` variable that has a
    ///   [`Symbol`](crate::memory::Symbol), unless [`with_symbols`](Self::with_symbols) declares it.
    ///   Otherwise its launches are not ordered with copies of variables.
    #[must_use]
    pub const unsafe fn from_stub(name: &'static str, stub: unsafe extern "C" fn()) -> Self {
        let code = Code { raw: stub as *const c_void, loaded: false };
        Self { name, code, symbols: None, held: None, parameters: PhantomData }
    }

    /// Declares which variables of its module the kernel accesses. The tracker records these accesses with
    /// each launch.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// The kernel reads and writes no variable that has a [`Symbol`](crate::memory::Symbol) except as
    /// `symbols` declares.
    #[must_use]
    pub const unsafe fn with_symbols(mut self, symbols: &'static VariableAccesses) -> Self {
        self.symbols = Some(symbols);
        self
    }

    /// Returns the kernel's name in the source.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the runtime's identifier of the kernel: the address of its host-side stub, or the
    /// `cudaKernel_t` of a library's kernel.
    #[inline]
    #[must_use]
    pub fn as_raw(&self) -> *const c_void {
        self.code.raw
    }

    /// Calls `f` with these accesses and all other accesses of the kernel on a device: its variables, its
    /// library, and memory that was declared for it.
    #[inline]
    #[track_caller]
    pub(crate) fn reaching<R>(
        &self,
        device: Device,
        accesses: &[Access<'_>],
        f: impl FnOnce(&[Access<'_>]) -> Result<R>,
    ) -> Result<R> {
        match (self.symbols, &self.held) {
            (None, None) => f(accesses),
            (None, Some(held)) => module::joined(accesses, held.accesses(), f),
            (Some(symbols), None) => symbols.with(device, accesses, f),
            (Some(symbols), Some(held)) => {
                symbols.with(device, accesses, |accesses| module::joined(accesses, held.accesses(), f))
            }
        }
    }
}

impl<P> Clone for Kernel<P> {
    fn clone(&self) -> Self {
        Self { held: self.held.clone(), ..*self }
    }
}

impl<P> fmt::Debug for Kernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({}{})", self.name, std::any::type_name::<P>())
    }
}

/// A `Kernel` in a `static` is shared by threads. Its identifiers and counts allow that.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Kernel<(*mut f32, u32)>>();
};
