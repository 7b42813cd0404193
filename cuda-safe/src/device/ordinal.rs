//! A device: its ordinal, the calling thread's current device, and what concerns the device as a whole.
#![expect(unsafe_code, reason = "calls the runtime's device functions")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

use super::version;
use crate::error::{self, Detail, Error, Result};
use crate::{check, copy, memory, stream, sys};

/// One of the machine's devices, by its ordinal.
///
/// Made by [`new`](Self::new), [`current`](Self::current) or [`all`](Self::all), so that a `Device` is one that
/// exists. It holds no resource and is not a handle: copying it is free, dropping it does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    ordinal: c_int,
}

/// How much memory a device has, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that could be allocated, all programs on the device together.
    pub free: usize,
    /// Bytes of the device.
    pub total: usize,
}

/// The priorities that a device's streams can have. Smaller numbers go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRange {
    /// The number of the lowest priority, 0 as a rule.
    pub least: i32,
    /// The number of the highest priority: negative, or `least` where there is only one.
    pub greatest: i32,
}

impl Device {
    /// Counts the devices of this machine that the process may use.
    ///
    /// Stands for [`cudaGetDeviceCount`](sys::cudaGetDeviceCount).
    ///
    /// # Errors
    /// `cudaErrorNoDevice` where there is none, `cudaErrorInsufficientDriver` where the driver is missing or older
    /// than the runtime (the message says which), and a refusal where the loaded libcudart is of another major
    /// version than the headers that this program was built with.
    #[doc(alias = "cudaGetDeviceCount")]
    #[track_caller]
    pub fn count() -> Result<i32> {
        version::ensure_callable("Device::count")?;
        let mut count = 0;
        // SAFETY: the pointer is to a live integer of ours, which the call fills.
        unsafe { check!(cudaGetDeviceCount(&raw mut count)) }?;
        Ok(count)
    }

    /// The device with this ordinal. It does not become current.
    ///
    /// # Errors
    /// A refusal that gives the ordinal and the number of devices, or what [`count`](Self::count) fails with.
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
    pub fn new(ordinal: i32) -> Result<Self> {
        let count = Self::count()?;
        if (0..count).contains(&ordinal) {
            Ok(Self { ordinal })
        } else {
            Err(Error::refused("Device::new", Detail::InvalidDevice { ordinal, count }))
        }
    }

    /// All devices, in the order of their ordinals.
    ///
    /// # Errors
    /// What [`count`](Self::count) fails with.
    #[track_caller]
    pub fn all() -> Result<impl DoubleEndedIterator<Item = Self> + ExactSizeIterator> {
        Ok((0..Self::count()?).map(|ordinal| Self { ordinal }))
    }

    /// The calling thread's current device: 0, until the thread chooses another.
    ///
    /// Stands for [`cudaGetDevice`](sys::cudaGetDevice).
    ///
    /// # Errors
    /// Where there is no device or no driver, or the loaded libcudart is of another major version; a refusal inside a host
    /// function.
    #[doc(alias = "cudaGetDevice")]
    #[track_caller]
    #[inline]
    pub fn current() -> Result<Self> {
        // What most programs find, in few steps.
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
        // SAFETY: the pointer is to a live integer of ours, which the call fills.
        unsafe { check!(cudaGetDevice(&raw mut ordinal)) }?;
        Ok(Self { ordinal })
    }

    /// Makes this the calling thread's current device and sets it up, if no call has done so before.
    ///
    /// Stands for [`cudaSetDevice`](sys::cudaSetDevice). What allocates without naming a device uses the current
    /// one; owners remember theirs, so nothing else needs this.
    ///
    /// # Errors
    /// Where the device cannot be set up, for one because another process has it alone.
    #[doc(alias = "cudaSetDevice")]
    #[track_caller]
    pub fn set_current(self) -> Result<()> {
        // SAFETY: the call takes a number, which the runtime checks.
        unsafe { check!(cudaSetDevice(self.ordinal)) }
    }

    /// Runs `f` with this device current, and makes the former one current again, also when `f` panics.
    ///
    /// Where the device is current already, that is one look and no switch.
    ///
    /// # Errors
    /// Where either switch fails, and what `f` fails with. If `f` fails, its error is the one returned.
    #[track_caller]
    pub fn with_current<R>(self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        let switched = self.switch()?;
        let result = f()?;
        switched.back()?;
        Ok(result)
    }

    /// Makes this device current until the guard goes, which restores the former one.
    ///
    /// One look where it is current already, and none where there is no other device. The look is never cached: other code on the
    /// thread may switch too.
    #[track_caller]
    pub(crate) fn switch(self) -> Result<Switched> {
        let former = Self::current()?;
        if former == self {
            return Ok(Switched(None));
        }
        self.set_current()?;
        Ok(Switched(Some(former)))
    }

    /// The ordinal, as C counts devices.
    #[must_use]
    pub fn ordinal(self) -> i32 {
        self.ordinal
    }

    /// The device of an ordinal that the runtime itself gave, or that an owner was made with.
    pub(crate) fn from_ordinal(ordinal: c_int) -> Self {
        Self { ordinal }
    }

    /// Blocks until all work given to the device so far is complete.
    ///
    /// Stands for [`cudaDeviceSynchronize`](sys::cudaDeviceSynchronize).
    ///
    /// # Errors
    /// The failure of any work that the device has done since, and a refusal inside a host function.
    #[doc(alias = "cudaDeviceSynchronize")]
    #[track_caller]
    pub fn synchronize(self) -> Result<()> {
        let pools = memory::pool::gone::of(self);
        let waited = stream::synchronize_device(self);
        memory::pool::gone::destroy(pools, waited.is_ok());
        waited
    }

    /// How much of the device's memory is free, and how much there is, in bytes.
    ///
    /// Stands for [`cudaMemGetInfo`](sys::cudaMemGetInfo).
    ///
    /// # Errors
    /// Where the device cannot be set up.
    #[doc(alias = "cudaMemGetInfo")]
    #[track_caller]
    pub fn memory_info(self) -> Result<MemoryInfo> {
        let _current = self.switch()?;
        let mut info = MemoryInfo { free: 0, total: 0 };
        // SAFETY: both pointers are to live integers of ours, which the call fills.
        unsafe { check!(cudaMemGetInfo(&raw mut info.free, &raw mut info.total)) }?;
        Ok(info)
    }

    /// The priorities that streams of this device can have.
    ///
    /// Stands for [`cudaDeviceGetStreamPriorityRange`](sys::cudaDeviceGetStreamPriorityRange).
    ///
    /// # Errors
    /// Where the device cannot be set up.
    #[doc(alias = "cudaDeviceGetStreamPriorityRange")]
    #[track_caller]
    pub fn stream_priority_range(self) -> Result<PriorityRange> {
        let _current = self.switch()?;
        let mut range = PriorityRange { least: 0, greatest: 0 };
        // SAFETY: both pointers are to live integers of ours, which the call fills.
        unsafe { check!(cudaDeviceGetStreamPriorityRange(&raw mut range.least, &raw mut range.greatest)) }?;
        Ok(range)
    }

    /// Destroys everything that the process has on this device: memory, streams, events, kernels, lost contexts.
    ///
    /// Stands for [`cudaDeviceReset`](sys::cudaDeviceReset).
    ///
    /// # Errors
    /// The failure of work that was still under way; a refusal inside the closure of an `enqueue` or a host function.
    ///
    /// # Safety
    /// - Nothing that owns a resource of this device may be used or dropped afterwards, buffers, streams, events
    ///   and graphs included: forget them, or drop them before.
    /// - No other thread may be using the device meanwhile.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::{Device, DeviceBuffer};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let buffer = DeviceBuffer::from_slice(&[1, 2, 3])?;
    /// drop(buffer);
    /// // SAFETY: what the device had is dropped, and the program has one thread.
    /// unsafe { Device::current()?.reset() }?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceReset")]
    #[track_caller]
    pub unsafe fn reset(self) -> Result<()> {
        crate::stream::ensure_idle("Device::reset")?;
        let _current = self.switch()?;
        // SAFETY: the caller gives up everything that lives on the device; what the crate itself keeps is forgotten below.
        let reset = unsafe { check!(cudaDeviceReset()) };
        // Also after an error: it may be that of earlier work, and the device is reset all the same.
        copy::peer::forget(self);
        copy::staged::abandon(self);
        memory::abandon(self);
        stream::abandon(self);
        if reset.is_ok() {
            error::forget_sticky();
        }
        reset
    }
}

impl Device {
    /// Whether the machine has one device only, which is then always current. How many there are does not change while the process
    /// runs, so it is asked once, where the runtime says.
    #[inline]
    pub(crate) fn is_only_one() -> bool {
        match DEVICES.load(Ordering::Relaxed) {
            0 => count_once() == 1,
            count => count == 1,
        }
    }
}

/// How many devices there are; 0 until that is known.
static DEVICES: AtomicI32 = AtomicI32::new(0);

#[cold]
fn count_once() -> c_int {
    let mut count = 0;
    // SAFETY: the pointer is to a live integer of ours, which the call fills.
    let code = unsafe { sys::cudaGetDeviceCount(&raw mut count) };
    if code != sys::cudaSuccess {
        // Whatever is wrong, the call that was wanted says so too.
        return 0;
    }
    DEVICES.store(count, Ordering::Relaxed);
    count
}

/// Makes the former device current again when it goes out of scope; empty where there was nothing to switch.
#[must_use]
pub(crate) struct Switched(Option<Device>);

impl Switched {
    /// Switches back now, with the error that a drop would have to swallow.
    #[track_caller]
    fn back(mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Device::set_current)
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        if let Some(former) = self.0.take() {
            // The work is done or has failed for its own reason; the next call that needs a device says the rest.
            let _ = former.set_current();
        }
    }
}
