//! Variables of libraries, as buffers.
#![expect(unsafe_code, reason = "asks the runtime where variables are, and takes their memory over")]

use std::ffi::c_void;
use std::ptr;

use bytemuck::AnyBitPattern;

use super::loaded::Taken;
use super::{Library, c_name};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::memory::{DeviceBuffer, ManagedBuffer, MemoryKind, PointerAttributes, relax, size};
#[cfg(doc)]
use crate::sys;
use crate::{check, stream};

impl Library {
    /// The `__device__` or `__constant__` variable of this name that the current device has, as a buffer of all its elements.
    ///
    /// There is one such buffer at a time. It keeps the library loaded; dropping it leaves the variable as it is. Copies and fills
    /// take it as any other, and so do kernels as an argument. Kernels that use the variable by its name are to be
    /// [told of it](crate::launch::Kernel::using).
    ///
    /// Stands for [`cudaLibraryGetGlobal`](sys::cudaLibraryGetGlobal).
    ///
    /// # Ordering
    /// Waits, on the host, for kernels of the library that were launched before.
    ///
    /// # Errors
    /// `cudaErrorSymbolNotFound` with the name; `cudaErrorInvalidValue` where it is a kernel's or a function's; `Taken` where there is a buffer
    /// of the variable already;
    /// `Unsupported` for a managed variable, which [`managed`](Self::managed) has; `NotDivisible` and `Misaligned`
    /// where the variable is not made of such elements; `NulByte` for a name that has one; a refusal inside a host function.
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
    /// // SAFETY: the kernel takes nothing, and uses the one variable that it is told of.
    /// let tally = unsafe { library.kernel::<()>("tally") }?.using(count.access_mut())?;
    /// memcpy(&mut count, &[10])?;
    /// // SAFETY: any number of threads will do.
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
            // SAFETY: the pointers are to live variables, which the call fills; the name ends in a zero byte, and the library is loaded.
            unsafe { check!(cudaLibraryGetGlobal(pointer, bytes, self.as_raw(), name)) }
        })?;
        // The runtime finds managed ones here, too. What it promises of copies to a device's memory it does not promise of those.
        if PointerAttributes::of(variable.pointer.cast_const())?.kind() == MemoryKind::MANAGED {
            let what = "a managed variable as memory of a device (Library::managed has it)";
            return Err(Error::refused(API, Detail::Unsupported { what }));
        }
        let (pointer, len, taken) = (variable.pointer, variable.elements::<T>(API)?, variable.taken);
        // SAFETY: the variable is of the current device and has as many bytes, which stay while `taken` keeps the library loaded. Nobody
        // else has a buffer of them; who else uses them are kernels, which were waited for and, from now on, are told of it.
        unsafe { DeviceBuffer::adopt(device, pointer.cast(), len, taken) }
    }

    /// The `__managed__` variable of this name, as a buffer of all its elements, which the host reaches by guards.
    ///
    /// As [`global`](Self::global). Stands for [`cudaLibraryGetManaged`](sys::cudaLibraryGetManaged).
    ///
    /// # Ordering
    /// As [`global`](Self::global).
    ///
    /// # Errors
    /// As [`global`](Self::global), and `Unsupported` where a device of this process has no concurrent managed access.
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
        // SAFETY: as above; the memory is managed.
        unsafe { ManagedBuffer::adopted(API, device, pointer.cast(), len, taken) }
    }

    /// Finds a variable and takes it, after all kernels of the library that were launched.
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
        // No closure, which would hide the caller.
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

/// A variable that nobody else has a buffer of.
struct Global {
    pointer: *mut c_void,
    bytes: usize,
    taken: Taken,
}

impl Global {
    /// How many elements it has, if it is made of such.
    #[track_caller]
    fn elements<T>(&self, api: &'static str) -> Result<usize> {
        size::reinterpreted::<T>(api, self.pointer.addr(), self.bytes)
    }
}
