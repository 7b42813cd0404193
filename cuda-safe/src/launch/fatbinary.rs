//! Kernels and variables whose code is a fatbinary in the program's data.
//!
//! nvcc's objects register their fatbinary, and the address of each kernel's stub and each variable, in a
//! constructor. A package with kernels that were compiled before has no such objects, and does the same: a
//! [`Fatbinary`] registers with the runtime under the addresses of its [`DeviceKernel`]s and
//! [`DeviceVariable`]s. To the runtime there is no difference, so neither is there one to a program.
//! Generated code has all of this.
#![expect(unsafe_code, reason = "calls the functions by which nvcc's objects register")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::sys::registration::{
    __cudaInitModule, __cudaRegisterFatBinary, __cudaRegisterFatBinaryEnd, __cudaRegisterFunction,
    __cudaRegisterManagedVar, __cudaRegisterVar, __cudaUnregisterFatBinary,
};

use super::Space;

/// The bytes of fatbinaries, aligned as the driver expects.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct FatbinaryBytes<const N: usize>(pub [u8; N]);

/// `__fatBinC_Wrapper_t` of nvcc's `fatbinary_section.h`.
#[derive(Debug)]
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    unused: *const c_void,
}

/// A fatbinary, with the kernels and variables in it that have handles.
#[derive(Debug)]
pub struct Fatbinary {
    wrapper: Wrapper,
    kernels: &'static [DeviceKernel],
    variables: &'static [DeviceVariable],
    handle: AtomicPtr<*mut c_void>,
    /// Whether the managed variables have their addresses.
    is_initialized: AtomicBool,
}

// SAFETY: the pointers are to constant bytes, and everything else may be shared.
unsafe impl Sync for Fatbinary {}

/// A kernel in a fatbinary. Its address is the kernel's identifier.
#[derive(Debug)]
pub struct DeviceKernel {
    name: &'static CStr,
    /// Constants may share an address, and this is none.
    _own_address: AtomicBool,
}

/// A variable in a fatbinary. Its address is the variable's identifier, unless it is managed.
#[derive(Debug)]
pub struct DeviceVariable {
    name: &'static CStr,
    space: Space,
    bytes: usize,
    /// The address of a managed variable, which the runtime writes.
    managed: AtomicPtr<c_void>,
}

impl Fatbinary {
    /// Describes the fatbinary that begins at an offset of `bytes`.
    ///
    /// # Safety
    /// - nvcc made the fatbinary, and it is whole.
    /// - It has these kernels and variables.
    #[must_use]
    pub const unsafe fn new<const N: usize>(
        bytes: &'static FatbinaryBytes<N>,
        offset: usize,
        kernels: &'static [DeviceKernel],
        variables: &'static [DeviceVariable],
    ) -> Self {
        assert!(offset < N && offset.is_multiple_of(align_of::<FatbinaryBytes<N>>()));
        let data = bytes.0.as_ptr().wrapping_add(offset);
        let wrapper = Wrapper { magic: 0x4662_43b1, version: 1, data, unused: ptr::null() };
        let (handle, is_initialized) = (AtomicPtr::new(ptr::null_mut()), AtomicBool::new(false));
        Self { wrapper, kernels, variables, handle, is_initialized }
    }

    /// Registers all with the runtime. A constructor of the program calls this once, before `main`.
    pub fn register(&'static self) {
        // SAFETY: the wrapper and the fatbinary live as long as the program, and the runtime only reads them.
        let handle = unsafe { __cudaRegisterFatBinary((&raw const self.wrapper).cast_mut().cast()) };
        for kernel in self.kernels {
            let (own, name) = (ptr::from_ref(kernel).cast(), kernel.name.as_ptr());
            let (device, place, shape) = (name.cast_mut(), ptr::null_mut(), ptr::null_mut());
            // SAFETY: the address is of the program, and the name is a C string that lives as long, by which
            // the runtime finds the kernel. The rest is what nvcc's objects pass.
            unsafe {
                let warp = ptr::null_mut();
                __cudaRegisterFunction(handle, own, device, name, -1, place, place, shape, shape, warp);
            }
        }
        for DeviceVariable { name, space, bytes, managed } in self.variables {
            let (name, device) = (name.as_ptr(), name.as_ptr().cast_mut());
            let own = managed.as_ptr();
            if *space == Space::Managed {
                // SAFETY: as above, and the runtime writes the variable's address to `managed`.
                unsafe { __cudaRegisterManagedVar(handle, own, device, name, 0, *bytes, 0, 0) }
            } else {
                let constant = c_int::from(*space == Space::Constant);
                // SAFETY: as above.
                unsafe { __cudaRegisterVar(handle, own.cast(), device, name, 0, *bytes, constant, 0) }
            }
        }
        // SAFETY: the handle is that of the registration, which ends here.
        unsafe { __cudaRegisterFatBinaryEnd(handle) };
        self.handle.store(handle, Ordering::Release);
    }

    /// Undoes [`register`](Self::register) at the end of the program, or when a shared library is unloaded.
    pub fn unload(&'static self) {
        let handle = self.handle.swap(ptr::null_mut(), Ordering::AcqRel);
        if !handle.is_null() {
            // SAFETY: the handle is the runtime's, and is used no more.
            unsafe { __cudaUnregisterFatBinary(handle) };
        }
    }

    /// Has this function called before `main` and at the end, by a constructor of the program.
    pub fn at_exit(unregister: extern "C" fn()) {
        // SAFETY: the function may be called at exit: it only tells the runtime.
        unsafe { libc::atexit(unregister) };
    }

    /// Returns the pointer by which the runtime knows a variable of this fatbinary.
    #[must_use]
    pub fn shadow(&'static self, variable: &'static DeviceVariable) -> *const c_void {
        if variable.space != Space::Managed {
            return variable.managed.as_ptr().cast();
        }
        // As nvcc's objects do, until it is done.
        if !self.is_initialized.load(Ordering::Acquire) {
            // SAFETY: the handle is the runtime's.
            let done = unsafe { __cudaInitModule(self.handle.load(Ordering::Acquire)) };
            self.is_initialized.store(done != 0, Ordering::Release);
        }
        variable.managed.load(Ordering::Acquire)
    }
}

/// Returns a name with its zero as a C string.
const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("the name has no zero at its end"),
    }
}

impl DeviceKernel {
    /// Describes the kernel of this name in device code. The name ends with a zero.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name: c_name(name), _own_address: AtomicBool::new(false) }
    }

    /// Returns the runtime's identifier of the kernel.
    pub(super) const fn as_raw(&'static self) -> *const c_void {
        ptr::from_ref(self).cast()
    }
}

impl DeviceVariable {
    /// Describes the variable of this name in device code. The name ends with a zero.
    #[must_use]
    pub const fn new(name: &'static str, space: Space, bytes: usize) -> Self {
        Self { name: c_name(name), space, bytes, managed: AtomicPtr::new(ptr::null_mut()) }
    }
}
