//! Variables of the kernels' source files: `__device__`, `__constant__` and `__managed__`, as typed
//! statics.
//!
//! `cuda-kernels-build` generates a handle for each variable that a kernel header declares. The handle owns
//! nothing: the variable exists on every device, from the load of its module until the process ends. The
//! host never reaches it directly, only through [`memcpy_to_symbol`](crate::copy::memcpy_to_symbol),
//! [`memcpy_from_symbol`](crate::copy::memcpy_from_symbol) and the rest of the copy family.
//!
//! # Why safe code has no data race on a variable
//! The host never has a reference to a variable's bytes, so only races on the device are possible. Every
//! copy and fill of a variable, and every launch of a kernel of its module, records its access in the
//! module's access history (see [`launch::Module`](crate::launch::Module)), and is ordered after
//! conflicting work. Handles may be used from any thread.
//!
//! The query of a variable's address loads its module if it is not loaded yet, which may block until the
//! device is idle. Nothing else here blocks.
#![expect(unsafe_code, reason = "asks the runtime about a variable by its host-side name")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Module, Space, VariableAccess};
use crate::check;
use crate::device::Device;
use crate::error::{Detail, Result, ensure, ensure_callable};
use crate::hazard::{Access, AccessHistory, Mode};
use crate::memory::size;
use crate::stream::relax;
#[cfg(doc)]
use crate::sys;

/// A variable of a kernel's source file: `len` elements of `T`, with a separate instance on every device.
///
/// `__constant__ float filter[9]` is a `Symbol<f32>` of nine elements, and `__device__ unsigned count` a
/// `Symbol<u32>` of one. For nested arrays, the length counts the innermost elements. The use of the
/// variable selects the device: a blocking copy takes the current device, an asynchronous copy the stream's
/// device, and [`on`](Self::on) names a device.
///
/// # Examples
/// ```no_run
/// use cuda_safe::copy::{memcpy_from_symbol, memcpy_from_symbol_async};
/// use cuda_safe::copy::{memcpy_to_symbol, memcpy_to_symbol_async};
/// use cuda_safe::launch::Symbol;
/// use cuda_safe::{PinnedBuffer, Stream};
///
/// # fn run(filter: &'static Symbol<f32>, count: &'static Symbol<u32>) -> cuda_safe::Result<()> {
/// memcpy_to_symbol(filter, &[0.25, 0.5, 0.25])?;
/// memcpy_to_symbol(&filter.slice(1..2)?, &[1.0])?;
/// let mut counted = [0];
/// memcpy_from_symbol(&mut counted, count)?;
///
/// // On a stream: the variable is then that of the stream's device.
/// let (stream, mut pinned) = (Stream::new()?, PinnedBuffer::from_slice(&[0])?);
/// memcpy_to_symbol_async(count, &pinned, &stream)?;
/// memcpy_from_symbol_async(&mut pinned, count, &stream)?;
/// println!("{} bytes at {:?}", count.size()?, count.device_ptr(stream.device())?);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "__constant__")]
#[doc(alias = "__device__")]
#[doc(alias = "__managed__")]
pub struct Symbol<T: 'static> {
    name: &'static str,
    shadow: unsafe extern "C" fn() -> *const c_void,
    module: &'static Module,
    space: Space,
    /// The first byte in the module's access history.
    start: usize,
    /// Whether the runtime has confirmed the size.
    measured: AtomicBool,
    len: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> Symbol<T> {
    /// Makes the handle of a variable. `name` is for messages. Generated code calls this.
    ///
    /// # Safety
    /// - `shadow` returns the address by which the runtime knows a variable of this program: its host-side
    ///   address in the file that defines it.
    /// - The variable is an array of `len` elements of `T` or one such element, is not `const`, and is in
    ///   the memory space `space`.
    /// - Its bytes begin at `start` in the access history of `module`, and no other variable has these
    ///   bytes there. The handles of all kernels of its file declare their accesses to the variables of
    ///   `module`.
    #[must_use]
    pub const unsafe fn from_parts(
        name: &'static str,
        shadow: unsafe extern "C" fn() -> *const c_void,
        module: &'static Module,
        space: Space,
        start: usize,
        len: usize,
    ) -> Self {
        let measured = AtomicBool::new(false);
        Self { name, shadow, module, space, start, measured, len, elements: PhantomData }
    }

    /// Returns the variable's name in C++, with namespaces in front.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the memory space of the variable.
    #[must_use]
    pub fn space(&self) -> Space {
        self.space
    }

    /// Returns the size in bytes that the header declares.
    #[must_use]
    pub const fn size_in_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Returns the size in bytes that the runtime reports on the current device. It is the same.
    ///
    /// Stands for [`cudaGetSymbolSize`](sys::cudaGetSymbolSize).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidSymbol` if the variable's module has no code for the device. Refused inside
    /// a host function.
    #[doc(alias = "cudaGetSymbolSize")]
    #[track_caller]
    pub fn size(&self) -> Result<usize> {
        let shadow = self.shadow("Symbol::size")?;
        relax()?;
        let mut bytes = 0;
        // SAFETY: the first pointer is to a live integer, which the call fills. The second is only a name.
        unsafe { check!(cudaGetSymbolSize(&raw mut bytes, shadow)) }?;
        Ok(bytes)
    }

    /// Returns the address of the variable on a device.
    ///
    /// Stands for [`cudaGetSymbolAddress`](sys::cudaGetSymbolAddress). The tracker does not see accesses
    /// through the address: see [`access`](Self::access).
    ///
    /// # Errors
    /// - `cudaErrorInvalidSymbol` if the variable's module has no code for the device.
    /// - A refusal if the runtime reports another size than the header declares.
    /// - Refused inside a host function.
    #[doc(alias = "cudaGetSymbolAddress")]
    #[track_caller]
    pub fn device_ptr(&self, device: Device) -> Result<*mut T> {
        let shadow = self.shadow("Symbol::device_ptr")?;
        let _current = device.switch()?;
        relax()?;
        let mut pointer = ptr::null_mut();
        // SAFETY: the first pointer is to a live variable, which the call fills. The second is only a name.
        unsafe { check!(cudaGetSymbolAddress(&raw mut pointer, shadow)) }?;
        if !self.measured.load(Ordering::Relaxed) {
            let (needed, found) = (self.size_in_bytes(), self.size()?);
            let what = "the variable, in bytes,";
            ensure(needed == found, "Symbol::device_ptr", || Detail::wrong_length(what, needed, found))?;
            self.measured.store(true, Ordering::Relaxed);
        }
        Ok(pointer.cast())
    }

    /// Returns the pointer by which raw functions of the runtime, such as `cudaMemcpyToSymbol`, know the
    /// variable.
    ///
    /// # Errors
    /// Refused inside a host function: for a managed variable, this may initialise the device.
    #[track_caller]
    pub fn as_raw(&self) -> Result<*const c_void> {
        self.shadow("Symbol::as_raw")
    }

    #[track_caller]
    fn shadow(&self, api: &'static str) -> Result<*const c_void> {
        ensure_callable(api)?;
        // SAFETY: the maker of the handle guarantees that this is such a function.
        Ok(unsafe { (self.shadow)() })
    }

    /// Returns the elements of a range.
    ///
    /// # Errors
    /// Refused with the range and the length if the range is not within the variable.
    #[track_caller]
    pub fn slice(&'static self, range: impl RangeBounds<usize>) -> Result<SymbolSlice<T>> {
        self.as_slice().slice(range)
    }

    /// Returns all elements.
    #[must_use]
    pub fn as_slice(&'static self) -> SymbolSlice<T> {
        SymbolSlice { symbol: self, device: None, range: (0, self.len) }
    }

    /// Returns all elements of the instance on this device.
    #[must_use]
    pub fn on(&'static self, device: Device) -> SymbolSlice<T> {
        self.as_slice().on(device)
    }

    /// Returns a kernel's read of the variable, for the kernel's handle.
    #[must_use]
    pub const fn read(&self) -> VariableAccess {
        self.used(Mode::Read)
    }

    /// Returns a kernel's write of the variable, for the kernel's handle.
    #[must_use]
    pub const fn written(&self) -> VariableAccess {
        self.used(Mode::Write)
    }

    const fn used(&self, mode: Mode) -> VariableAccess {
        let start = self.start;
        VariableAccess { space: self.space, start, end: start + self.size_in_bytes(), mode }
    }

    /// Returns a read of the whole variable on a device, for
    /// [`enqueue`](crate::stream::StreamRef::enqueue).
    ///
    /// # Errors
    /// Returns the error of counting the devices. Refused if the device does not exist.
    #[track_caller]
    pub fn access(&'static self, device: Device) -> Result<Access<'static>> {
        self.on(device).entered(Mode::Read)
    }

    /// Returns a write of the whole variable on a device, for
    /// [`enqueue`](crate::stream::StreamRef::enqueue).
    ///
    /// # Errors
    /// As [`access`](Self::access).
    #[track_caller]
    pub fn access_mut(&'static self, device: Device) -> Result<Access<'static>> {
        self.on(device).entered(Mode::Write)
    }
}

/// Some elements of a variable, on a given device or without one.
///
/// All copies and fills take it as they take device memory. Without a device,
/// [`memcpy_to_symbol_async`](crate::copy::memcpy_to_symbol_async) and
/// [`memcpy_from_symbol_async`](crate::copy::memcpy_from_symbol_async) use the stream's device, and all
/// other functions the current one.
pub struct SymbolSlice<T: 'static> {
    symbol: &'static Symbol<T>,
    device: Option<Device>,
    /// The first element, and one past the last.
    range: (usize, usize),
}

impl<T> SymbolSlice<T> {
    /// Returns some of these elements.
    ///
    /// # Errors
    /// Refused with the range and the length if the range is not within them.
    #[track_caller]
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = size::range_in("SymbolSlice::slice", &range, self.len())?;
        let first = self.range.0;
        Ok(Self { range: (first + range.start, first + range.end), ..self })
    }

    /// Returns the same elements on this device.
    #[must_use]
    pub fn on(self, device: Device) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Returns the same elements, on this device if none is given yet.
    pub(crate) fn or_on(self, device: Device) -> Self {
        Self { device: Some(self.device.unwrap_or(device)), ..self }
    }

    /// Returns the memory space of the variable.
    pub(crate) fn space(&self) -> Space {
        self.symbol.space()
    }

    /// Returns the size in bytes. The variable contains the elements, so this does not overflow.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// Returns the given device, or otherwise the current one.
    #[track_caller]
    pub(crate) fn device(&self) -> Result<Device> {
        self.device.map_or_else(Device::current, Ok)
    }

    /// Returns the address of the elements on their device.
    ///
    /// # Errors
    /// As [`Symbol::device_ptr`].
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut T> {
        Ok(self.symbol.device_ptr(self.device()?)?.wrapping_add(self.range.0))
    }

    /// Returns the access history of the elements, and their bytes in it.
    #[track_caller]
    pub(crate) fn tracker(&self) -> Result<(&'static AccessHistory, Range<usize>)> {
        let &Symbol { module, space, start, .. } = self.symbol;
        let first = start + self.range.0 * size_of::<T>();
        Ok((module.history(space, self.device()?)?, first..first + self.bytes()))
    }

    #[track_caller]
    fn entered(&self, mode: Mode) -> Result<Access<'static>> {
        let (history, range) = self.tracker()?;
        Ok(Access::new(history, range, mode).unborrowed())
    }
}

size::length!([T] Symbol<T>, it => it.len);
size::length!([T] SymbolSlice<T>, it => it.range.1 - it.range.0);

impl<T> Clone for SymbolSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SymbolSlice<T> {}

impl<T> fmt::Debug for Symbol<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbol")
            .field("name", &self.name())
            .field("element", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("space", &self.space())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SymbolSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SymbolSlice")
            .field("symbol", &self.symbol.name())
            .field("device", &self.device.map(Device::ordinal))
            .field("range", &(self.range.0..self.range.1))
            .finish()
    }
}
