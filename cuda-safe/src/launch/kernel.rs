//! The typed handle of a kernel.
#![expect(unsafe_code, reason = "a handle vouches that its type is the kernel's parameter list")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

/// A kernel of this program, with its parameter list `P` as a tuple of the types in its C prototype.
///
/// `__global__ void saxpy(float a, const float* x, float* y, unsigned n)` is a
/// `Kernel<(f32, *const f32, *mut f32, u32)>`.
pub struct Kernel<P> {
    name: &'static str,
    stub: unsafe extern "C" fn(),
    parameters: PhantomData<fn(P)>,
}

impl<P> Kernel<P> {
    /// The handle of the kernel whose host-side stub this is; `name` is for messages.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// - `stub` is the function that nvcc generated for a `__global__` function linked into this program.
    /// - `P` is the tuple of that function's parameter types, each a type with C's layout.
    #[must_use]
    pub const unsafe fn from_stub(name: &'static str, stub: unsafe extern "C" fn()) -> Self {
        Self { name, stub, parameters: PhantomData }
    }

    /// The kernel's name in the source.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What the runtime knows the kernel by: the address of its host-side stub.
    #[must_use]
    pub fn as_raw(&self) -> *const c_void {
        self.stub as *const c_void
    }
}

impl<P> Clone for Kernel<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Kernel<P> {}

impl<P> fmt::Debug for Kernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({}{})", self.name, std::any::type_name::<P>())
    }
}
