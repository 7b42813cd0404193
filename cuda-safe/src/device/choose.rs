//! Device selection by properties or by PCI bus address, and initialization before the first use.
#![expect(unsafe_code, reason = "calls the runtime's functions for choosing devices")]

use std::ffi::{CStr, CString, c_char, c_int};

use super::{Device, DeviceFlags, DeviceProperties};
use crate::error::{Detail, OrRefused, Result};
use crate::{check, sys};

/// The length of a buffer for `domain:bus:device.function` and its terminator in bytes. C's own example
/// uses 13.
const LENGTH: i32 = 32;

impl Device {
    /// Returns the device that best matches a description.
    ///
    /// Stands for [`cudaChooseDevice`](sys::cudaChooseDevice). The description is a set of properties, for
    /// example those of a known device. The runtime's documentation does not say how it compares them.
    ///
    /// # Errors
    /// Returns the runtime's error if there is no device.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let wanted = Device::current()?.properties()?;
    /// let device = Device::choose(&wanted)?;
    /// # assert!(device.ordinal() < Device::count()?);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaChooseDevice")]
    #[track_caller]
    pub fn choose(wanted: &DeviceProperties) -> Result<Self> {
        let mut ordinal = 0;
        // SAFETY: both pointers are to live variables. The call fills the first.
        unsafe { check!(cudaChooseDevice(&raw mut ordinal, wanted.as_raw())) }?;
        Ok(Self::from_ordinal(ordinal))
    }

    /// Initializes the device without making it current, optionally with settings. Otherwise the first use
    /// of the device initializes it.
    ///
    /// Stands for [`cudaInitDevice`](sys::cudaInitDevice).
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized, for example because another process
    /// uses it exclusively, and `cudaErrorInvalidValue` if the settings are invalid.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::device::DeviceFlags;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let device = Device::new(0)?;
    /// device.init(Some(DeviceFlags::SCHEDULE_BLOCKING_SYNC))?;
    /// assert!(device.flags()?.contains(DeviceFlags::SCHEDULE_BLOCKING_SYNC));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaInitDevice")]
    #[track_caller]
    pub fn init(self, settings: Option<DeviceFlags>) -> Result<()> {
        let flags = if settings.is_some() { sys::cudaInitDeviceFlagsAreValid } else { 0 };
        let settings = settings.map_or(0, |settings| settings.bits());
        // SAFETY: the call takes numbers, which the runtime checks.
        unsafe { check!(cudaInitDevice(self.as_raw(), settings, flags)) }
    }

    /// Sets the devices that the runtime may select, in this order, for threads that have selected none. An
    /// empty list allows all devices, which is the default.
    ///
    /// Stands for [`cudaSetValidDevices`](sys::cudaSetValidDevices). The call does not affect threads that
    /// have already used a device, or functions that name a device.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the list has more devices than exist.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::Device;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let backwards: Vec<_> = Device::all()?.rev().collect();
    /// Device::set_valid(&backwards)?; // threads that select none use the last one
    /// # Device::set_valid(&[])?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaSetValidDevices")]
    #[track_caller]
    pub fn set_valid(devices: &[Self]) -> Result<()> {
        let mut ordinals: Vec<c_int> = devices.iter().map(|device| device.as_raw()).collect();
        let overflow = || Detail::overflow("a list of devices", devices.len(), 1);
        let count = c_int::try_from(devices.len()).ok().or_refused("Device::set_valid", overflow)?;
        // SAFETY: the pointer is to `count` live numbers.
        unsafe { check!(cudaSetValidDevices(ordinals.as_mut_ptr(), count)) }
    }

    /// Returns the device's PCI bus address as `domain:bus:device.function` in hexadecimal.
    ///
    /// Stands for [`cudaDeviceGetPCIBusId`](sys::cudaDeviceGetPCIBusId).
    ///
    /// # Errors
    /// No error is known for a device that exists.
    #[doc(alias = "cudaDeviceGetPCIBusId")]
    #[track_caller]
    pub fn pci_bus_id(self) -> Result<String> {
        let mut id: [c_char; 32] = [0; 32];
        // SAFETY: the pointer is to a live array of `LENGTH` bytes, into which the call writes a C string.
        unsafe { check!(cudaDeviceGetPCIBusId((&raw mut id).cast(), LENGTH, self.as_raw())) }?;
        // SAFETY: the array was zeroed, and the call wrote a C string of at most `LENGTH` bytes to it, its
        // terminator included.
        let id = unsafe { CStr::from_ptr((&raw const id).cast()) };
        Ok(id.to_string_lossy().into_owned())
    }

    /// Returns the device at a PCI bus address: `domain:bus:device.function`. Domain and function are
    /// optional.
    ///
    /// Stands for [`cudaDeviceGetByPCIBusId`](sys::cudaDeviceGetByPCIBusId).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidDevice` if the address has no device, and `cudaErrorInvalidValue` if the
    /// text is not an address. A zero byte in the text is refused as `Unsupported`.
    #[doc(alias = "cudaDeviceGetByPCIBusId")]
    #[track_caller]
    pub fn by_pci_bus_id(id: &str) -> Result<Self> {
        let nul = || Detail::unsupported("a NUL in a PCI bus id");
        let text = CString::new(id).ok().or_refused("Device::by_pci_bus_id", nul)?;
        let mut ordinal = 0;
        // SAFETY: the first pointer is to a live integer, which the call fills. The second is to a C string
        // that outlives the call.
        unsafe { check!(cudaDeviceGetByPCIBusId(&raw mut ordinal, text.as_ptr())) }?;
        Ok(Self::from_ordinal(ordinal))
    }
}
