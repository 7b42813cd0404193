//! A device: its ordinal, the calling thread's current device, and its limits.
#![expect(unsafe_code, reason = "calls the runtime's device functions")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

use super::{Limit, version};
use crate::error::{Detail, ErrorKind, OrRefused as _, Result, ensure};
use crate::{check, sys};

/// One of the machine's devices, identified by its ordinal.
///
/// [`new`](Self::new), [`current`](Self::current) and [`all`](Self::all) make it, so a `Device` always
/// exists in the machine. It holds no resource and is not a handle: copying it is free, and dropping it
/// does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    ordinal: c_int,
}

/// The amount of a device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that can be allocated now, by all programs together.
    pub free: usize,
    /// Total bytes of the device.
    pub total: usize,
}

/// The priorities that a device's streams can have. A smaller number is a higher priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRange {
    /// The number of the lowest priority, usually 0.
    pub least: i32,
    /// The number of the highest priority. It is negative, or equal to `least` if there is only one
    /// priority.
    pub greatest: i32,
}

impl Device {
    /// Returns the number of devices of this machine that the process may use.
    ///
    /// Stands for [`cudaGetDeviceCount`](sys::cudaGetDeviceCount).
    ///
    /// # Errors
    /// - `cudaErrorNoDevice` if there is no device.
    /// - `cudaErrorInsufficientDriver` if the driver is missing or older than the runtime; the message
    ///   tells which.
    /// - A refusal if the loaded libcudart and the headers that this program was built with differ in the
    ///   major version.
    /// - Refused inside a host function.
    #[doc(alias = "cudaGetDeviceCount")]
    #[track_caller]
    pub fn count() -> Result<usize> {
        version::ensure_callable("Device::count")?;
        let mut count = 0;
        // SAFETY: the pointer is to a live local integer, which the call fills.
        unsafe { check!(cudaGetDeviceCount(&raw mut count)) }?;
        Ok(unsigned(count))
    }

    /// Returns whether the process can use a device: there is a driver, new enough for the runtime, and at
    /// least one device. Never fails, so a program for any machine asks it first.
    ///
    /// [`count`](Self::count) returns the reason as an error. A program that starts without CUDA has the
    /// feature `load` or `static`: otherwise the loader wants libcudart before `main`. Inside a host function
    /// the answer is `false`, because nothing may be called there.
    ///
    /// # Examples
    /// ```
    /// if cuda_safe::Device::is_available() {
    ///     println!("on the GPU");
    /// } else {
    ///     println!("on the host");
    /// }
    /// ```
    #[must_use]
    pub fn is_available() -> bool {
        Self::count().is_ok_and(|count| count > 0)
    }

    /// Returns the device with this ordinal. Does not make it current.
    ///
    /// # Errors
    /// Refuses an ordinal without a device; the error holds the ordinal and the number of devices.
    /// Otherwise fails as [`count`](Self::count).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> cuda_safe::Result<()> {
    /// let device = cuda_safe::Device::new(0)?;
    /// println!("{}", device.properties()?.name());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn new(ordinal: usize) -> Result<Self> {
        let count = Self::count()?;
        let exists = c_int::try_from(ordinal).ok().filter(|_| ordinal < count);
        let ordinal = exists.or_refused("Device::new", || Detail::invalid_device(ordinal, count))?;
        Ok(Self { ordinal })
    }

    /// Returns all devices, in the order of their ordinals.
    ///
    /// # Errors
    /// Fails as [`count`](Self::count).
    #[track_caller]
    pub fn all() -> Result<impl DoubleEndedIterator<Item = Self> + ExactSizeIterator> {
        // The count comes from a `c_int`.
        let count = c_int::try_from(Self::count()?).unwrap_or(c_int::MAX);
        Ok((0..count).map(|ordinal| Self { ordinal }))
    }

    /// Returns the calling thread's current device. It is 0 until the thread selects another.
    ///
    /// Stands for [`cudaGetDevice`](sys::cudaGetDevice).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no device or no driver. Refused if the loaded libcudart is
    /// of another major version than the headers, and inside a host function.
    #[doc(alias = "cudaGetDevice")]
    #[track_caller]
    #[inline]
    pub fn current() -> Result<Self> {
        // The common case: the runtime is known to be callable, and the machine has one device.
        if version::is_callable() && DEVICES.load(Ordering::Relaxed) == 1 {
            return Ok(Self { ordinal: 0 });
        }
        Self::ask_current()
    }

    #[inline(never)]
    #[track_caller]
    fn ask_current() -> Result<Self> {
        version::ensure_callable("Device::current")?;
        if Self::is_only_one() {
            return Ok(Self { ordinal: 0 });
        }
        let mut ordinal = 0;
        // SAFETY: the pointer is to a live local integer, which the call fills.
        unsafe { check!(cudaGetDevice(&raw mut ordinal)) }?;
        Ok(Self { ordinal })
    }

    /// Makes this the calling thread's current device, and initializes it if no earlier call did.
    ///
    /// Stands for [`cudaSetDevice`](sys::cudaSetDevice). Only functions that allocate without naming a
    /// device use the current device. Owners store their device, so nothing else needs this call.
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized, for example because another process
    /// uses it exclusively.
    #[doc(alias = "cudaSetDevice")]
    #[track_caller]
    pub fn set_current(self) -> Result<()> {
        // SAFETY: the call takes a number, which the runtime checks.
        unsafe { check!(cudaSetDevice(self.ordinal)) }
    }

    /// Runs `f` with this device current. Afterwards the previous device is current again, even if `f`
    /// panics.
    ///
    /// If the device is already current, this only queries the current device and does not switch.
    ///
    /// # Errors
    /// Fails if either switch fails, or if `f` fails. If `f` fails, returns the error of `f`.
    #[track_caller]
    pub fn with_current<R>(self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        let switched = self.switch()?;
        let result = f()?;
        switched.back()?;
        Ok(result)
    }

    /// Makes this device current until the guard is dropped, which restores the previous device.
    ///
    /// Costs one query if the device is already current, and none if the machine has one device. The
    /// current device is never cached, because other code on the thread may switch too.
    #[inline]
    #[track_caller]
    pub(crate) fn switch(self) -> Result<Switched> {
        let former = Self::current()?;
        if former == self {
            return Ok(Switched(None));
        }
        self.set_current()?;
        Ok(Switched(Some(former)))
    }

    /// Makes the device that is current now current again when the guard is dropped.
    #[track_caller]
    pub(crate) fn restored() -> Result<Switched> {
        Ok(Switched(Some(Self::current()?)))
    }

    /// Returns the ordinal: the index among [`all`](Self::all) devices.
    #[must_use]
    pub fn ordinal(self) -> usize {
        unsigned(self.ordinal)
    }

    /// Returns the ordinal as C's functions take it.
    #[must_use]
    #[inline]
    pub fn as_raw(self) -> c_int {
        self.ordinal
    }

    /// Refuses `what`, which belongs to this device, for an operation on another one.
    #[inline]
    #[track_caller]
    pub(crate) fn ensure_is(self, needed: Self, api: &'static str, what: &'static str) -> Result<()> {
        ensure(self == needed, api, || {
            let (found, needed) = (self.ordinal(), needed.ordinal());
            Detail::device_mismatch(what, found, needed)
        })
    }

    /// Returns the device of an ordinal that the runtime returned, or that an owner was made with.
    pub(crate) const fn from_ordinal(ordinal: c_int) -> Self {
        Self { ordinal }
    }

    /// Returns how much of the device's memory is free, and its total, in bytes.
    ///
    /// Stands for [`cudaMemGetInfo`](sys::cudaMemGetInfo).
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized.
    #[doc(alias = "cudaMemGetInfo")]
    #[track_caller]
    pub fn memory_info(self) -> Result<MemoryInfo> {
        let _current = self.switch()?;
        let mut info = MemoryInfo { free: 0, total: 0 };
        // SAFETY: both pointers are to live local integers, which the call fills.
        unsafe { check!(cudaMemGetInfo(&raw mut info.free, &raw mut info.total)) }?;
        Ok(info)
    }

    /// Returns the priorities that streams of this device can have.
    ///
    /// Stands for [`cudaDeviceGetStreamPriorityRange`](sys::cudaDeviceGetStreamPriorityRange).
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized.
    #[doc(alias = "cudaDeviceGetStreamPriorityRange")]
    #[track_caller]
    pub fn stream_priority_range(self) -> Result<PriorityRange> {
        let _current = self.switch()?;
        let mut range = PriorityRange { least: 0, greatest: 0 };
        // SAFETY: both pointers are to live local integers, which the call fills.
        unsafe { check!(cudaDeviceGetStreamPriorityRange(&raw mut range.least, &raw mut range.greatest)) }?;
        Ok(range)
    }

    /// Returns the current value of the limit, in the unit that [`Limit`] names.
    ///
    /// Stands for [`cudaDeviceGetLimit`](sys::cudaDeviceGetLimit).
    ///
    /// # Errors
    /// Returns `cudaErrorUnsupportedLimit` if the device does not have the limit.
    #[doc(alias = "cudaDeviceGetLimit")]
    #[track_caller]
    pub fn limit(self, limit: Limit) -> Result<usize> {
        let _current = self.switch()?;
        let mut value = 0;
        // SAFETY: the pointer is to a live local integer, which the call fills.
        unsafe { check!(cudaDeviceGetLimit(&raw mut value, limit.as_raw())) }?;
        Ok(value)
    }

    /// Requests a value for the limit, in the unit that [`Limit`] names. The runtime may round it: see
    /// [`limit`](Self::limit).
    ///
    /// Stands for [`cudaDeviceSetLimit`](sys::cudaDeviceSetLimit).
    ///
    /// # Errors
    /// - `cudaErrorUnsupportedLimit` if the device does not have the limit.
    /// - `cudaErrorMemoryAllocation` if the device cannot reserve the amount.
    /// - `cudaErrorInvalidValue` if it is too late for a change or the value is out of range.
    #[doc(alias = "cudaDeviceSetLimit")]
    #[track_caller]
    pub fn set_limit(self, limit: Limit, value: usize) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes two numbers, which the runtime checks.
        unsafe { check!(cudaDeviceSetLimit(limit.as_raw(), value)) }.map_err(|error| {
            error.with_detail(Detail::new(ErrorKind::Limit, format!("asked to set {limit:?} to {value}")))
        })
    }
}

impl Device {
    /// Returns whether the machine has only one device, which is then always current. The number of devices
    /// does not change while the process runs, so the runtime is asked until it answers once.
    #[inline]
    pub(crate) fn is_only_one() -> bool {
        match DEVICES.load(Ordering::Relaxed) {
            0 => count_once() == 1,
            count => count == 1,
        }
    }
}

/// Converts a number of devices, which is never negative.
fn unsigned(number: c_int) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// The number of devices, or 0 while it is unknown.
static DEVICES: AtomicI32 = AtomicI32::new(0);

#[cold]
fn count_once() -> c_int {
    let mut count = 0;
    // SAFETY: the pointer is to a live local integer, which the call fills.
    let code = unsafe { sys::cudaGetDeviceCount(&raw mut count) };
    if code != sys::cudaSuccess {
        // The call that the program requested reports the same error.
        return 0;
    }
    DEVICES.store(count, Ordering::Relaxed);
    count
}

/// Makes the previous device current again when dropped. Empty if no switch was necessary.
#[must_use]
pub(crate) struct Switched(Option<Device>);

impl Switched {
    /// Switches back now and returns the error, which a drop would discard.
    #[track_caller]
    fn back(mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Device::set_current)
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        if let Some(former) = self.0.take() {
            // The work is done or has failed for a reason of its own. The next call that needs a device
            // reports this error.
            let _ = former.set_current();
        }
    }
}
