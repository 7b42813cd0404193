//! The typed handle of a kernel.
#![expect(unsafe_code, reason = "a handle vouches that its type is the kernel's parameter list")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crate::device::Device;
use crate::error::{Detail, Result, ensure};
#[cfg(cudart_12_8)]
use crate::hazard::RetainedAccesses;
use crate::hazard::{Access, GraphAccesses};
use crate::memory::{place, retain};
use crate::stream::StreamRef;
use crate::{check, stream, sys};

use super::VariableAccesses;
use super::access_list::AccessList;
use super::argument::Target;
use super::fatbinary::DeviceKernel;

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
    /// The names of the parameters in the source, if they are known.
    pub(super) parameter_names: &'static [&'static str],
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
// SAFETY: the identifier is never dereferenced, and the runtime accepts it on any thread.
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
    ///   [`Symbol`](crate::launch::Symbol), unless [`with_symbols`](Self::with_symbols) declares it.
    ///   Otherwise its launches are not ordered with copies of variables.
    #[must_use]
    pub const unsafe fn from_stub(name: &'static str, stub: unsafe extern "C" fn()) -> Self {
        let code = Code { raw: stub as *const c_void, loaded: false };
        Self { name, code, symbols: None, held: None, parameters: PhantomData, parameter_names: &[] }
    }

    /// Makes the handle of a kernel in a [`Fatbinary`](super::fatbinary::Fatbinary).
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// - A constructor of the program registers the fatbinary of `kernel`.
    /// - The duties of [`from_stub`](Self::from_stub) for `P` and the variables.
    #[doc(hidden)]
    #[must_use]
    pub const unsafe fn from_fatbinary(name: &'static str, kernel: &'static DeviceKernel) -> Self {
        let code = Code { raw: kernel.as_raw(), loaded: false };
        Self { name, code, symbols: None, held: None, parameters: PhantomData, parameter_names: &[] }
    }

    /// Names the parameters, for messages.
    ///
    /// Generated code calls this.
    #[must_use]
    pub const fn with_parameter_names(mut self, names: &'static [&'static str]) -> Self {
        self.parameter_names = names;
        self
    }

    /// Declares which variables of its module the kernel accesses. The tracker records these accesses with
    /// each launch.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// The kernel reads and writes no variable that has a [`Symbol`](crate::launch::Symbol) except as
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

    /// Returns the target of a launch, for its arguments.
    #[inline]
    pub(super) fn on<'a>(&self, stream: StreamRef<'a>) -> Target<'a> {
        Target { stream: Some(stream), ..self.of_node(stream.device()) }
    }

    /// Returns the target of a node of a graph, for its arguments.
    #[inline]
    pub(crate) fn of_node(&self, device: Device) -> Target<'static> {
        Target { device, stream: None, kernel: self.name, parameter_names: self.parameter_names }
    }

    /// Adds all accesses of the kernel on a device besides those of its arguments: its variables, its
    /// library, and memory that was declared for it. Refuses accesses of the list that the device cannot
    /// make.
    #[inline]
    #[track_caller]
    pub(crate) fn add_accesses<'a>(&'a self, device: Device, all: &mut AccessList<'a>) -> Result<()> {
        if let Some(symbols) = self.symbols {
            symbols.add_to(device, all)?;
        }
        if let Some(held) = &self.held {
            all.extend_from_slice(held.accesses());
        }
        place::ensure_accessible(device, all)
    }
}

impl<P> Kernel<P> {
    /// Makes the handle of a library's kernel.
    ///
    /// # Safety
    /// - `raw` is the runtime's identifier of a kernel, which stays valid while `held` is retained.
    /// - `P` is the tuple of the kernel's parameter types.
    /// - The kernel uses no memory of this crate's owners except its arguments and `held`.
    #[cfg(cudart_12_8)]
    pub(crate) unsafe fn from_code(name: &'static str, raw: *const c_void, held: RetainedAccesses) -> Self {
        let (held, code) = (Some(Arc::new(GraphAccesses::new(held))), Code { raw, loaded: true });
        Self { name, code, symbols: None, held, parameters: PhantomData, parameter_names: &[] }
    }

    /// Returns the same kernel with a further access in each launch, to memory that no argument names: a
    /// variable of its [library](crate::library), or memory behind addresses in a table or a structure. The
    /// tracker records the access with each launch, and the kernel retains the memory. The original handle
    /// does not change, so a `static` one stays as it is and the result is another value with another name.
    ///
    /// # Errors
    /// `Argument` if the memory cannot be retained.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::DeviceBuffer;
    /// use cuda_safe::launch::Kernel;
    /// use cuda_safe::memory::DevicePtr;
    ///
    /// # fn with(
    /// #     sums: Kernel<(*const DevicePtr<f32>, u32)>,
    /// #     rows: [DeviceBuffer<f32>; 2],
    /// # ) -> cuda_safe::Result<()> {
    /// let table = DeviceBuffer::from_slice(&rows.each_ref().map(DevicePtr::from))?;
    /// let sums = sums.using(rows[0].access())?.using(rows[1].access())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A structure with an address, by value:
    ///
    /// ```no_run
    /// # use cuda_safe::launch::Kernel;
    /// use cuda_safe::{DeviceBuffer, Stream, launch};
    /// # #[derive(Clone, Copy)]
    /// # struct Field { data: *mut f32, width: i32, height: i32 }
    /// # // SAFETY: as the prototype says.
    /// # unsafe impl cuda_safe::launch::ByValue for Field {}
    ///
    /// # fn with(grow: &Kernel<(Field, f32)>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut data = DeviceBuffer::<f32>::alloc(12)?;
    /// let field = Field { data: data.as_mut_ptr(), width: 4, height: 3 }; // as the header declares it
    /// let grow_it = grow.using(data.access_mut())?; // once, for all launches
    /// // SAFETY: the buffer has as many elements as the structure says.
    /// unsafe { launch!(grow_it<<<1, 12, 0, &stream>>>(field, 2.0)) }?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn using(&self, access: Access<'_>) -> Result<Self> {
        let mut uses = self.held.as_ref().map(|held| held.uses().clone()).unwrap_or_default();
        ensure(uses.add(&access, || retain(&access)), "Kernel::using", || Detail::NOT_RETAINED)?;
        Ok(Self { held: Some(Arc::new(GraphAccesses::new(uses))), ..self.clone() })
    }

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
        let what = "cudaGetFuncBySymbol of a library's kernel, \
                    for which the driver's cuKernelGetFunction stands,";
        ensure(!self.code.loaded, "Kernel::function", || Detail::unsupported(what))?;
        let mut function = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGetFuncBySymbol(&raw mut function, self.as_raw())) }?;
        Ok(function)
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
