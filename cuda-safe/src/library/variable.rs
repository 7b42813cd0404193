//! Variables of libraries, as buffers.
#![expect(unsafe_code, reason = "asks the runtime where variables are, and takes their memory over")]

use std::ffi::c_void;
use std::ptr;

use bytemuck::AnyBitPattern;

use super::Library;
use super::loaded::Taken;
use super::loaded::c_name;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::memory::{DeviceBuffer, ManagedBuffer, MemoryKind, PointerAttributes, relax, size};
#[cfg(doc)]
use crate::sys;
use crate::{check, stream};

impl Library {
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
    /// - `Taken` if the variable already has a buffer.
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
        let variable = self.variable(API, "variable", name, |pointer, bytes, name| {
            // SAFETY: the pointers are to live variables, which the call fills. The name ends in a zero
            // byte, and the library is loaded.
            unsafe { check!(cudaLibraryGetGlobal(pointer, bytes, self.as_raw(), name)) }
        })?;
        // The runtime finds managed variables here, too. Its guarantees for copies to device memory do not
        // cover them.
        if PointerAttributes::of(variable.pointer.cast_const())?.kind() == MemoryKind::MANAGED {
            let what = "a managed variable as memory of a device (Library::managed has it)";
            return Err(Error::refused(API, Detail::Unsupported { what }));
        }
        let (pointer, len, taken) = (variable.pointer, variable.elements::<T>(API)?, variable.taken);
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
    /// As [`global`](Self::global), and `Unsupported` if a device of this process has no concurrent managed
    /// access.
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
        let variable = self.variable(API, "managed variable", name, |pointer, bytes, name| {
            // SAFETY: as above.
            unsafe { check!(cudaLibraryGetManaged(pointer, bytes, self.as_raw(), name)) }
        })?;
        let (pointer, len, taken) = (variable.pointer, variable.elements::<T>(API)?, variable.taken);
        // SAFETY: as above. The memory is managed.
        unsafe { ManagedBuffer::adopted(API, device, pointer.cast(), len, taken) }
    }

    /// Finds a variable, takes ownership of its bytes, and waits for all launched kernels of the library.
    #[track_caller]
    fn variable(
        &self,
        api: &'static str,
        what: &'static str,
        name: &str,
        find: impl FnOnce(*mut *mut c_void, *mut usize, *const std::ffi::c_char) -> Result<()>,
    ) -> Result<Global> {
        stream::ensure_idle(api)?;
        relax()?;
        let c_name = c_name(api, name)?;
        let (mut pointer, mut bytes) = (ptr::null_mut(), 0);
        // No closure here: it would hide the caller's location.
        if let Err(error) = find(&raw mut pointer, &raw mut bytes, c_name.as_ptr()) {
            return Err(self.named(what, name, error));
        }
        let start = pointer.addr();
        let Some(taken) = Taken::new(&self.loaded, start..start.saturating_add(bytes)) else {
            return Err(Error::refused(api, Detail::Taken { name: name.to_owned() }));
        };
        self.loaded.wait()?;
        Ok(Global { pointer, bytes, taken })
    }
}

/// A variable with exclusive ownership of its bytes.
struct Global {
    pointer: *mut c_void,
    bytes: usize,
    taken: Taken,
}

impl Global {
    /// Returns the number of elements `T`, if the variable consists of such elements.
    #[track_caller]
    fn elements<T>(&self, api: &'static str) -> Result<usize> {
        size::reinterpreted::<T>(api, self.pointer.addr(), self.bytes)
    }
}
