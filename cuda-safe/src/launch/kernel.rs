//! The typed handle of a kernel.
#![expect(unsafe_code, reason = "a handle vouches that its type is the kernel's parameter list")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Listed};

use super::{Uses, module};

/// A kernel, of this program or of a [`Library`](crate::library::Library), with its parameter list `P` as a tuple of the types in its C
/// prototype.
///
/// Cloning costs a count. A kernel of a library keeps that loaded, as a graph does that has the kernel in it.
///
/// `__global__ void saxpy(float a, const float* x, float* y, unsigned n)` is a
/// `Kernel<(f32, *const f32, *mut f32, u32)>`.
#[doc(alias = "__global__")]
pub struct Kernel<P> {
    pub(super) name: &'static str,
    pub(super) code: Code,
    pub(super) symbols: Option<&'static Uses>,
    /// What each launch uses besides, and what keeps it: the library that the kernel is of, and memory that no argument names.
    pub(super) held: Option<Arc<Listed>>,
    pub(super) parameters: PhantomData<fn(P)>,
}

/// What the runtime knows a kernel by: a name that nobody follows.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) raw: *const c_void,
    /// Whether it is a `cudaKernel_t`, and not a host-side stub.
    pub(super) loaded: bool,
}

// SAFETY: the runtime takes the name from any thread, and nothing is reached through it here.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl<P> Kernel<P> {
    /// The handle of the kernel whose host-side stub this is; `name` is for messages.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// - `stub` is the function that nvcc generated for a `__global__` function linked into this program.
    /// - `P` is the tuple of that function's parameter types, each a type with C's layout.
    /// - The kernel uses no `__device__`, `__constant__` or `__managed__` variable for which there is a
    ///   [`Symbol`](crate::memory::Symbol), unless [`with_symbols`](Self::with_symbols) is told: nobody orders its launches with
    ///   copies of variables otherwise.
    #[must_use]
    pub const unsafe fn from_stub(name: &'static str, stub: unsafe extern "C" fn()) -> Self {
        let code = Code { raw: stub as *const c_void, loaded: false };
        Self { name, code, symbols: None, held: None, parameters: PhantomData }
    }

    /// The same handle, with what the kernel does with the variables of its module. Each launch enters that in the books.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// The kernel reads and writes no variable for which there is a [`Symbol`](crate::memory::Symbol) beyond what `symbols` says.
    #[must_use]
    pub const unsafe fn with_symbols(mut self, symbols: &'static Uses) -> Self {
        self.symbols = Some(symbols);
        self
    }

    /// The kernel's name in the source.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What the runtime knows the kernel by: the address of its host-side stub, or for one of a library its `cudaKernel_t`.
    #[inline]
    #[must_use]
    pub fn as_raw(&self) -> *const c_void {
        self.code.raw
    }

    /// Calls `f` with these accesses and those of what else the kernel uses on a device: variables, its library, memory that it was told of.
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

/// Where a `Kernel` is also a `static`, threads share it: names, and counts made for that.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Kernel<(*mut f32, u32)>>();
};
