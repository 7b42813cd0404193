//! Variables of kernels' source files: `__device__`, `__constant__` and `__managed__`, as typed statics.
//!
//! A handle is generated for each variable that a kernel header declares (see `cuda-kernels-build`). It owns nothing: the
//! variable is there, on every device, from the load of its module until the process ends. The host never reaches it directly;
//! [`memcpy_to_symbol`](crate::copy::memcpy_to_symbol), [`memcpy_from_symbol`](crate::copy::memcpy_from_symbol) and the rest
//! of the copy family do.
//!
//! # Why safe code has no data race on a variable
//! No reference to a variable's bytes ever exists on the host, so what is left is races on the device. Every copy and fill
//! of a variable, and every launch of a kernel of its module, enters it in the module's books (see
//! [`launch::Module`](crate::launch::Module)), and is ordered after what conflicts. Handles may be used from any thread.
//!
//! Finding a variable's address loads its module where that has not happened yet, which may wait for the device; otherwise
//! nothing here blocks.
//!
//! C functions: `cudaGetSymbolAddress`, `cudaGetSymbolSize`.
#![expect(unsafe_code, reason = "asks the runtime about a variable by its host-side name")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::relaxed::relax;
use super::size;
use crate::check;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Ledger, Mode};
use crate::launch::{Module, Space, Use};
use crate::stream;
#[cfg(doc)]
use crate::sys;

/// A variable of a kernel's source file: `len` elements of `T`, one set on every device.
///
/// `__constant__ float filter[9]` is a `Symbol<f32>` of nine elements, `__device__ unsigned count` a `Symbol<u32>` of one;
/// arrays of arrays are counted through. Which device's it is, is decided where it is used: the current one's in a blocking
/// copy, the stream's in an asynchronous one, or the one that [`on`](Self::on) names.
///
/// # Examples
/// ```no_run
/// use cuda_safe::copy::{memcpy_from_symbol, memcpy_from_symbol_async, memcpy_to_symbol, memcpy_to_symbol_async};
/// use cuda_safe::memory::Symbol;
/// use cuda_safe::{PinnedBuffer, Stream};
///
/// # fn run(filter: &'static Symbol<f32>, count: &'static Symbol<u32>) -> cuda_safe::Result<()> {
/// memcpy_to_symbol(filter, &[0.25, 0.5, 0.25])?;
/// memcpy_to_symbol(&filter.slice(1..2)?, &[1.0])?;
/// let mut counted = [0];
/// memcpy_from_symbol(&mut counted, count)?;
///
/// // On a stream, of whose device the variable then is.
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
    variable: Variable,
    len: usize,
    elements: PhantomData<fn() -> T>,
}

/// A variable without its type.
#[derive(Debug)]
struct Variable {
    name: &'static str,
    shadow: unsafe extern "C" fn() -> *const c_void,
    module: &'static Module,
    space: Space,
    /// The first byte, in the books of the module.
    start: usize,
    /// The runtime has confirmed the size.
    measured: AtomicBool,
}

impl<T> Symbol<T> {
    /// The handle of a variable; `name` is for messages. Generated code calls this.
    ///
    /// # Safety
    /// - `shadow` gives what the runtime knows a variable of this program by: its host-side address in the file that defines it.
    /// - The variable is an array of `len` elements of `T`, or one such element, not `const`, and lives where `space` says.
    /// - Its bytes are those from `start` on in the books of `module`, and of no other variable there; the handles of all kernels of its
    ///   file say what they do with the variables of `module`.
    #[must_use]
    pub const unsafe fn from_parts(
        name: &'static str,
        shadow: unsafe extern "C" fn() -> *const c_void,
        module: &'static Module,
        space: Space,
        start: usize,
        len: usize,
    ) -> Self {
        let variable = Variable { name, shadow, module, space, start, measured: AtomicBool::new(false) };
        Self { variable, len, elements: PhantomData }
    }

    /// The variable's name: in C++, with namespaces in front.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.variable.name
    }

    /// Where the variable lives.
    #[must_use]
    pub fn space(&self) -> Space {
        self.variable.space
    }

    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements, which no variable of C++ has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size in bytes, as the header declares it.
    #[must_use]
    pub const fn size_in_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Size in bytes, as the runtime knows it on the current device: the same.
    ///
    /// Stands for [`cudaGetSymbolSize`](sys::cudaGetSymbolSize).
    ///
    /// # Errors
    /// `cudaErrorInvalidSymbol` where the variable's module has no code for the device; a refusal inside a host function.
    #[doc(alias = "cudaGetSymbolSize")]
    #[track_caller]
    pub fn size(&self) -> Result<usize> {
        let shadow = self.shadow("Symbol::size")?;
        relax()?;
        let mut bytes = 0;
        // SAFETY: the first pointer is to a live integer, which the call fills; the second is only a name.
        unsafe { check!(cudaGetSymbolSize(&raw mut bytes, shadow)) }?;
        Ok(bytes)
    }

    /// Where the variable is on a device.
    ///
    /// Stands for [`cudaGetSymbolAddress`](sys::cudaGetSymbolAddress). What is done through the address is not in the books:
    /// see [`access`](Self::access).
    ///
    /// # Errors
    /// `cudaErrorInvalidSymbol` where the variable's module has no code for the device; a refusal inside a host function, and
    /// where the runtime knows another size than the header declares.
    #[doc(alias = "cudaGetSymbolAddress")]
    #[track_caller]
    pub fn device_ptr(&self, device: Device) -> Result<*mut T> {
        let shadow = self.shadow("Symbol::device_ptr")?;
        let _current = device.switch()?;
        relax()?;
        let mut pointer = ptr::null_mut();
        // SAFETY: the first pointer is to a live variable, which the call fills; the second is only a name.
        unsafe { check!(cudaGetSymbolAddress(&raw mut pointer, shadow)) }?;
        if !self.variable.measured.load(Ordering::Relaxed) {
            let (needed, found) = (self.size_in_bytes(), self.size()?);
            if needed != found {
                let what = "the variable, in bytes,";
                return Err(Error::refused(
                    "Symbol::device_ptr",
                    Detail::WrongLength { what, needed, found },
                ));
            }
            self.variable.measured.store(true, Ordering::Relaxed);
        }
        Ok(pointer.cast())
    }

    /// What the raw functions of the runtime know the variable by, such as `cudaMemcpyToSymbol`.
    ///
    /// # Errors
    /// A refusal inside a host function: for a managed variable this may set the device up.
    #[track_caller]
    pub fn as_raw(&self) -> Result<*const c_void> {
        self.shadow("Symbol::as_raw")
    }

    #[track_caller]
    fn shadow(&self, api: &'static str) -> Result<*const c_void> {
        if stream::in_callback() {
            return Err(Error::refused(api, Detail::InCallback));
        }
        // SAFETY: whoever made the handle says that this is such a function.
        Ok(unsafe { (self.variable.shadow)() })
    }

    /// Some of the elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the variable, with range and length.
    #[track_caller]
    pub fn slice(&'static self, range: impl RangeBounds<usize>) -> Result<SymbolSlice<T>> {
        self.as_slice().slice(range)
    }

    /// All elements.
    #[must_use]
    pub fn as_slice(&'static self) -> SymbolSlice<T> {
        SymbolSlice { symbol: self, device: None, range: (0, self.len) }
    }

    /// All elements of the variable that this device has.
    #[must_use]
    pub fn on(&'static self, device: Device) -> SymbolSlice<T> {
        self.as_slice().on(device)
    }

    /// A kernel's read of the variable, for its handle.
    #[must_use]
    pub const fn read(&self) -> Use {
        self.used(Mode::Read)
    }

    /// A kernel's write of the variable, for its handle.
    #[must_use]
    pub const fn written(&self) -> Use {
        self.used(Mode::Write)
    }

    const fn used(&self, mode: Mode) -> Use {
        let start = self.variable.start;
        Use { space: self.variable.space, start, end: start + self.size_in_bytes(), mode }
    }

    /// A read of the whole variable on a device, for [`enqueue`](crate::stream::StreamRef::enqueue).
    ///
    /// # Errors
    /// What stops the devices from being counted, and a refusal of a device that there is not.
    #[track_caller]
    pub fn access(&'static self, device: Device) -> Result<Access<'static>> {
        self.on(device).entered(Mode::Read)
    }

    /// A write of the whole variable on a device, for [`enqueue`](crate::stream::StreamRef::enqueue).
    ///
    /// # Errors
    /// As [`access`](Self::access).
    #[track_caller]
    pub fn access_mut(&'static self, device: Device) -> Result<Access<'static>> {
        self.on(device).entered(Mode::Write)
    }
}

/// Some elements of a variable, of a device that is named or left open.
///
/// All copies and fills take it as they take device memory. Where no device is named, it is the stream's in
/// [`memcpy_to_symbol_async`](crate::copy::memcpy_to_symbol_async) and
/// [`memcpy_from_symbol_async`](crate::copy::memcpy_from_symbol_async), and the current one everywhere else.
pub struct SymbolSlice<T: 'static> {
    symbol: &'static Symbol<T>,
    device: Option<Device>,
    /// The elements: the first, and one past the last.
    range: (usize, usize),
}

impl<T> SymbolSlice<T> {
    /// Some of these elements.
    ///
    /// # Errors
    /// A refusal where the range is not within them, with range and length.
    #[track_caller]
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = size::range_in("SymbolSlice::slice", &range, self.len())?;
        let first = self.range.0;
        Ok(Self { range: (first + range.start, first + range.end), ..self })
    }

    /// The same elements, of this device.
    #[must_use]
    pub fn on(self, device: Device) -> Self {
        Self { device: Some(device), ..self }
    }

    /// The same elements, of this device where none is named yet.
    pub(crate) fn or_on(self, device: Device) -> Self {
        Self { device: Some(self.device.unwrap_or(device)), ..self }
    }

    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.1 - self.range.0
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the variable lives.
    pub(crate) fn space(&self) -> Space {
        self.symbol.space()
    }

    /// Size in bytes. The variable holds it, so it does not overflow.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// The device that is named, or else the current one.
    #[track_caller]
    pub(crate) fn device(&self) -> Result<Device> {
        self.device.map_or_else(Device::current, Ok)
    }

    /// Where the elements are on their device.
    ///
    /// # Errors
    /// As [`Symbol::device_ptr`].
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut T> {
        Ok(self.symbol.device_ptr(self.device()?)?.wrapping_add(self.range.0))
    }

    /// The books about the elements, and their bytes in there.
    #[track_caller]
    pub(crate) fn books(&self) -> Result<(&'static Ledger, Range<usize>)> {
        let Variable { module, space, start, .. } = self.symbol.variable;
        let first = start + self.range.0 * size_of::<T>();
        Ok((module.ledger(space, self.device()?)?, first..first + self.bytes()))
    }

    #[track_caller]
    fn entered(&self, mode: Mode) -> Result<Access<'static>> {
        let (ledger, range) = self.books()?;
        Ok(Access::new(ledger, range, mode).unborrowed())
    }
}

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
