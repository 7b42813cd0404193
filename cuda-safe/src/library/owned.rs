//! The owner of a library, its kernels, and its variables as buffers; and the library as its other users
//! retain it.
#![expect(unsafe_code, reason = "loads from libraries, unloads them, and vouches for what is in them")]

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::AnyBitPattern;

use crate::device::Device;
use crate::error::{AtCaller as _, Detail, Error, ErrorKind, OrRefused, Result, ensure, quietly};
use crate::hazard::RetainedAccesses;
use crate::launch::{Checked, CheckedParameters, Kernel, KernelProof, Parameters};
use crate::lock::lock;
use crate::memory::{
    Destroy, DeviceBuffer, ManagedBuffer, MemoryKind, PointerAttributes, UsedHandle, retain, size,
};
use crate::stream::relax;
use crate::{check, stream, sys};

use super::image;

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
    loaded: Arc<UsedHandle<Loaded>>,
}

impl Library {
    /// Makes the owner of a library that was just loaded.
    pub(super) fn new(raw: sys::cudaLibrary_t, lent: Box<LentToDriver>) -> Self {
        let lent = ManuallyDrop::new(lent);
        Self { loaded: UsedHandle::new(Loaded { raw, lent, taken: Mutex::default() }) }
    }

    pub(super) fn lent(&self) -> Option<&LentToDriver> {
        Some(&self.loaded.get()?.lent)
    }

    /// Returns the compiler's messages that are not errors, if
    /// [`information`](super::LibraryBuilder::information) requested them.
    #[must_use]
    pub fn information(&self) -> Option<String> {
        self.lent()?.information.as_ref()?.text()
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
        found.map_err(|error| self.named("unified function", name, error))?;
        Ok(function)
    }

    /// Adds the name to the error of a failed search.
    fn named(&self, what: &'static str, name: &str, error: Error) -> Error {
        if error.code() != sys::cudaErrorSymbolNotFound {
            // A driver that compiles late reports compile errors here instead of during the load.
            return explained(error, self.lent().and_then(|lent| lent.errors.text()));
        }
        error.with_detail(Detail::no_such_name(what, name, None))
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
    pub fn unload(self) -> Result<()> {
        UsedHandle::destroy_owned(self.loaded)
    }

    /// Returns the raw handle. The library retains ownership of it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaLibrary_t {
        self.loaded.get().map_or(ptr::null_mut(), |loaded| loaded.raw)
    }

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
    /// # use cuda_safe::launch::Kernel;
    /// # use cuda_safe::library::Library;
    /// # fn with(library: &Library) -> cuda_safe::Result<()> {
    /// // SAFETY: extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n)
    /// let saxpy: Kernel<(f32, *const f32, *mut f32, u32)> = unsafe { library.kernel("saxpy") }?;
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
        found.map_err(|error| self.no_kernel(name, error))?;
        let mut held = RetainedAccesses::default();
        let alive = self.loaded.alive();
        ensure(held.add(&alive, || retain(&alive)), API, || Detail::NOT_RETAINED)?;
        // SAFETY: the handle is that of a kernel of the library, which `held` retains. The caller
        // guarantees that `P` are the kernel's parameters, and which variables it uses.
        let kernel: Kernel<P> = unsafe { Kernel::from_code(lasting(name), raw.cast_const().cast(), held) };
        self.fits(&kernel).map_err(|error| self.named("kernel", name, error))?;
        Ok(kernel)
    }

    /// Returns a kernel by its name in the code, as [`kernel`](Self::kernel) does, with safe launches: each
    /// is proven from the library's PTX. The library was loaded as PTX text, or as a fatbinary with nothing
    /// but PTX that is not compressed.
    ///
    /// Nothing has to be promised. A type `P` that differs from the kernel's own gives a refusal or wrong
    /// numbers. A launch that uses a variable of the library is refused.
    ///
    /// Stands for [`cudaLibraryGetKernel`](sys::cudaLibraryGetKernel).
    ///
    /// # Errors
    /// - `Proof` if nothing can be proven of the library, with the reason.
    /// - Those of [`kernel`](Self::kernel).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::launch::Checked;
    /// use cuda_safe::library::Library;
    /// use cuda_safe::{DeviceBuffer, Stream, launch};
    ///
    /// # const PTX: &str = "
    /// # .version 8.0
    /// # .target sm_70
    /// # .address_size 64
    /// # .visible .entry double_it(.param .u64 data)
    /// # {
    /// #     .reg .b32 %r<3>;
    /// #     .reg .b64 %rd<4>;
    /// #     ld.param.u64 %rd1, [data];
    /// #     mov.u32 %r1, %tid.x;
    /// #     mul.wide.u32 %rd2, %r1, 4;
    /// #     add.s64 %rd3, %rd1, %rd2;
    /// #     ld.global.u32 %r2, [%rd3];
    /// #     add.u32 %r2, %r2, %r2;
    /// #     st.global.u32 [%rd3], %r2;
    /// #     ret;
    /// # }";
    /// # fn main() -> cuda_safe::Result<()> {
    /// let library = Library::from_ptx(PTX)?; // NVRTC's, for example
    /// let double_it: Checked<(*mut u32,)> = library.checked_kernel("double_it")?;
    /// let (stream, mut data) = (Stream::new()?, DeviceBuffer::from_slice(&[1, 2, 3])?);
    /// launch!(double_it<<<1, 3, 0, &stream>>>(&mut data))?;
    /// assert_eq!(data.to_vec()?, [2, 4, 6]);
    /// assert!(launch!(double_it<<<1, 4, 0, &stream>>>(&mut data)).is_err(), "there is no fourth element");
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryGetKernel")]
    #[track_caller]
    pub fn checked_kernel<P: CheckedParameters>(&self, name: &str) -> Result<Checked<P>> {
        const API: &str = "Library::checked_kernel";
        // SAFETY: a wrong type of a parameter matters to launches alone. One that is proven is proven with
        // the bytes that are passed, and may use no variables. Of others the caller makes sure.
        let kernel = unsafe { self.kernel::<P>(name) }?;
        let call_site = Location::caller();
        let refused = |reason: &str| {
            let text = format!("cannot prove {name}: {reason}");
            Error::refused(API, Detail::new(ErrorKind::Proof, text)).at(call_site)
        };
        let code = self.lent().map_or(&[][..], |lent| &lent.code);
        let mut found = Vec::new();
        for text in image::texts(code).map_err(refused)? {
            let (kernels, architecture) =
                cuda_proof::kernels_with_architecture(text).map_err(|error| refused(&error.to_string()))?;
            found.extend(
                kernels.into_iter().filter(|kernel| kernel.name() == name).map(|it| (architecture, it)),
            );
        }
        // SAFETY: the library has these texts only, and the driver makes the kernel of one of them. No option
        // of a library changes what PTX means.
        Ok(unsafe { Checked::loaded(kernel, KernelProof::of_library(found)) })
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
            ensure(found == asked, "Library::kernel", || mismatch(index, asked, found))?;
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
        error.with_detail(Detail::no_such_name("kernel", name, Some(known)))
    }

    /// Returns the `__device__` or `__constant__` variable of this name on the current device, as a buffer
    /// of all its elements.
    ///
    /// A variable has at most one buffer at a time. The buffer retains the library; dropping it leaves the
    /// variable unchanged. Copies, fills and kernel arguments take it like any other buffer. A kernel that
    /// uses the variable by name must [declare it](crate::launch::Kernel::using).
    ///
    /// Stands for [`cudaLibraryGetGlobal`](sys::cudaLibraryGetGlobal).
    ///
    /// # Ordering
    /// Blocks the host until the kernels of the library that were launched before are complete.
    ///
    /// # Errors
    /// - `cudaErrorSymbolNotFound` with the name, if the library has no such variable.
    /// - `cudaErrorInvalidValue` if the name is that of a kernel or function.
    /// - `InUse` if the variable already has a buffer.
    /// - `Unsupported` for a managed variable; use [`managed`](Self::managed).
    /// - `NotDivisible` or `Misaligned` if the variable does not consist of elements `T`.
    /// - `NulByte` if the name contains a zero byte.
    /// - Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::library::Library;
    /// use cuda_safe::{Stream, memcpy};
    ///
    /// const PTX: &str = "
    /// .version 8.0
    /// .target sm_70
    /// .address_size 64
    /// .visible .global .align 4 .u32 count;
    /// .visible .entry tally()
    /// {
    ///     .reg .b32 %r<2>;
    ///     atom.global.add.u32 %r1, [count], 1;
    ///     ret;
    /// }";
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let (library, stream) = (Library::from_ptx(PTX)?, Stream::new()?);
    /// let mut count = library.global::<u32>("count")?;
    /// // SAFETY: the kernel has no parameters, and uses only the variable that is declared.
    /// let tally = unsafe { library.kernel::<()>("tally") }?.using(count.access_mut())?;
    /// memcpy(&mut count, &[10])?;
    /// // SAFETY: the kernel is correct with any number of threads.
    /// unsafe { tally.launch((2, 32), &stream, ()) }?;
    /// assert_eq!(count.to_vec()?, [74]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryGetGlobal")]
    #[track_caller]
    pub fn global<T: AnyBitPattern>(&self, name: &str) -> Result<DeviceBuffer<T>> {
        const API: &str = "Library::global";
        let device = Device::current()?;
        let (pointer, bytes, taken) = self.variable(API, "variable", name, |pointer, bytes, name| {
            // SAFETY: the pointers are to live variables, which the call fills. The name ends in a zero
            // byte, and the library is loaded.
            unsafe { check!(cudaLibraryGetGlobal(pointer, bytes, self.as_raw(), name)) }
        })?;
        // The runtime finds managed variables here, too. Its guarantees for copies to device memory do not
        // cover them.
        let what = "a managed variable as memory of a device (Library::managed has it)";
        let kind = PointerAttributes::from_ptr(pointer.cast_const())?.kind();
        ensure(kind != MemoryKind::MANAGED, API, || Detail::unsupported(what))?;
        let len = size::reinterpreted::<T>(API, pointer.addr(), bytes)?;
        // SAFETY: the variable belongs to the current device and has `len` elements, which are live while
        // `taken` retains the library. No other buffer of these bytes exists. Only kernels use them
        // otherwise: earlier launches are complete, and later ones declare the variable.
        unsafe { DeviceBuffer::adopt(device, pointer.cast(), len, taken) }
    }

    /// Returns the `__managed__` variable of this name as a buffer of all its elements. The host reaches
    /// them through guards.
    ///
    /// As [`global`](Self::global). Stands for [`cudaLibraryGetManaged`](sys::cudaLibraryGetManaged).
    ///
    /// # Ordering
    /// As [`global`](Self::global).
    ///
    /// # Errors
    /// As [`global`](Self::global), and `Unsupported` if a device of this process has no concurrent
    /// managed access.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::library::Library;
    /// # fn with(library: &Library) -> cuda_safe::Result<()> {
    /// let mut limits = library.managed::<f32>("limits")?;
    /// limits.host_mut()?.fill(1.0);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLibraryGetManaged")]
    #[track_caller]
    pub fn managed<T: AnyBitPattern>(&self, name: &str) -> Result<ManagedBuffer<T>> {
        const API: &str = "Library::managed";
        let device = Device::current()?;
        let (pointer, bytes, taken) =
            self.variable(API, "managed variable", name, |pointer, bytes, name| {
                // SAFETY: the pointers are to live variables, which the call fills. The name ends in a zero
                // byte, and the library is loaded.
                unsafe { check!(cudaLibraryGetManaged(pointer, bytes, self.as_raw(), name)) }
            })?;
        let len = size::reinterpreted::<T>(API, pointer.addr(), bytes)?;
        // SAFETY: the variable belongs to the current device and has `len` elements, which are live while
        // `taken` retains the library. No other buffer of these bytes exists. Only kernels use them
        // otherwise: earlier launches are complete, and later ones declare the variable. The memory is
        // managed.
        unsafe { ManagedBuffer::adopted(API, device, pointer.cast(), len, taken) }
    }

    /// Finds a variable, takes ownership of its bytes, and waits for all launched kernels of the library.
    /// Returns its address, its size in bytes, and the ownership.
    #[track_caller]
    fn variable(
        &self,
        api: &'static str,
        what: &'static str,
        name: &str,
        find: impl FnOnce(*mut *mut c_void, *mut usize, *const std::ffi::c_char) -> Result<()>,
    ) -> Result<(*mut c_void, usize, Taken)> {
        stream::ensure_idle(api)?;
        relax()?;
        let c_name = c_name(api, name)?;
        let (mut pointer, mut bytes) = (ptr::null_mut(), 0);
        let found = find(&raw mut pointer, &raw mut bytes, c_name.as_ptr()).at_caller();
        found.map_err(|error| self.named(what, name, error))?;
        let start = pointer.addr();
        let taken = Taken::new(&self.loaded, start..start.saturating_add(bytes));
        let taken = taken.or_refused(api, || {
            let text =
                format!("there is a buffer of {name} already: drop that, and kernels that use it, first");
            Detail::new(ErrorKind::InUse, text)
        })?;
        self.loaded.wait()?;
        Ok((pointer, bytes, taken))
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("raw", &self.as_raw()).finish_non_exhaustive()
    }
}

/// Returns a copy of the name that lives as long as the program. Equal names share one copy.
fn lasting(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = lock(&NAMES);
    if let Some(known) = names.get(name) {
        return known;
    }
    let lasting = Box::leak(name.to_owned().into_boxed_str());
    names.insert(lasting);
    lasting
}

/// Memory whose addresses the driver holds. The driver may read and write it until the library is unloaded.
pub(super) struct LentToDriver {
    pub(super) errors: Log,
    pub(super) information: Option<Log>,
    /// The code, if the driver was promised that it stays.
    pub(super) code: Vec<u8>,
    pub(super) options: Vec<sys::cudaJitOption>,
    pub(super) values: Vec<*mut c_void>,
}

/// A loaded library.
pub(super) struct Loaded {
    raw: sys::cudaLibrary_t,
    /// Dropped only after the library is unloaded, and leaked if it is not.
    lent: ManuallyDrop<Box<LentToDriver>>,
    /// The address ranges of the variables that have an owner.
    taken: Mutex<Vec<Range<usize>>>,
}

// SAFETY: a library's handle is a name that the runtime accepts on any thread. This type only reads the
// lent memory, and reads the logs by atomic loads.
unsafe impl Send for Loaded {}
// SAFETY: a library's handle is a name that the runtime accepts on any thread. This type only reads the lent
// memory, and reads the logs by atomic loads.
unsafe impl Sync for Loaded {}

impl Destroy for Loaded {
    fn api(&self) -> &'static str {
        "Library::unload"
    }

    #[track_caller]
    fn destroy(self) -> Result<()> {
        relax()?;
        // SAFETY: the library is loaded. Only this function unloads it, once. No work runs its code.
        unsafe { check!(cudaLibraryUnload(self.raw)) }?;
        drop(ManuallyDrop::into_inner(self.lent));
        Ok(())
    }
}

/// The bytes of a variable, with exclusive ownership. They retain the library.
struct Taken {
    library: Arc<UsedHandle<Loaded>>,
    bytes: Range<usize>,
}

impl Taken {
    /// Takes ownership of the bytes. Returns `None` if any of them has an owner.
    fn new(library: &Arc<UsedHandle<Loaded>>, bytes: Range<usize>) -> Option<Self> {
        let mut taken = lock(&library.get()?.taken);
        if taken.iter().any(|other| other.start < bytes.end && bytes.start < other.end) {
            return None;
        }
        taken.push(bytes.clone());
        Some(Self { library: library.clone(), bytes })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(loaded) = self.library.get() {
            lock(&loaded.taken).retain(|other| *other != self.bytes);
        }
    }
}

/// A buffer for text that the driver writes, possibly long after it received the address.
pub(super) struct Log(Box<[AtomicU8]>);

impl Log {
    /// The size of a log in bytes.
    pub(super) const BYTES: u32 = 16 << 10;

    pub(super) fn new() -> Self {
        Self((0..Self::BYTES).map(|_| AtomicU8::new(0)).collect())
    }

    /// The address for the driver.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.0.as_ptr().cast_mut().cast()
    }

    /// Returns the text up to the zero byte, or `None` if it is empty.
    pub(super) fn text(&self) -> Option<String> {
        let written = self.0.iter().map(|byte| byte.load(Ordering::Relaxed)).take_while(|byte| *byte != 0);
        let bytes: Vec<u8> = written.collect();
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// Returns the name as a C string.
#[track_caller]
fn c_name(api: &'static str, name: &str) -> Result<CString> {
    CString::new(name).ok().or_refused(api, || Detail::nul_byte("the name"))
}

/// Adds the compiler's message to the error, if the compiler wrote one.
pub(super) fn explained(error: Error, log: Option<String>) -> Error {
    match log {
        Some(log) => error.with_detail(Detail::new(ErrorKind::Code, format!("the compiler says: {log}"))),
        None => error,
    }
}

/// Returns the difference between a type's parameter and the kernel's: their sizes in bytes. `None` is a
/// missing parameter.
fn mismatch(index: usize, asked: Option<usize>, found: Option<usize>) -> Detail {
    let text = match (asked, found) {
        (Some(asked), Some(found)) => {
            format!(
                "parameter {index} of the kernel (0 is the first) has {found} bytes, its type has {asked}"
            )
        }
        (Some(_), None) => format!("the type has more than the {index} parameters that the kernel has"),
        (None, _) => format!("the kernel has more than the {index} parameters that its type has"),
    };
    Detail::new(ErrorKind::Code, text).or_code(sys::cudaErrorInvalidDeviceFunction)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{Log, lasting};

    #[test]
    fn a_name_is_kept_once() {
        let (first, second) = (lasting("scale"), lasting(&["sc", "ale"].concat()));
        assert_eq!((first, first.as_ptr()), ("scale", second.as_ptr()));
    }

    #[test]
    fn a_log_ends_with_its_zero_byte_or_where_it_is_full() {
        let log = Log::new();
        assert_eq!(log.text(), None);
        log.0
            .iter()
            .zip(b"ptxas error \xFF\n\0more")
            .for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
        assert_eq!(log.text().unwrap(), "ptxas error \u{FFFD}");
        log.0.iter().for_each(|byte| byte.store(b'x', Ordering::Relaxed));
        assert_eq!(log.text().unwrap().len(), log.0.len());
    }
}
