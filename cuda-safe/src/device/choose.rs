//! Choosing devices and setting them up before they are used.
#![expect(unsafe_code, reason = "calls the runtime's functions for choosing devices")]

use std::ffi::c_int;

use super::{Device, DeviceFlags, DeviceProperties};
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

impl Device {
    /// The device that is most like a description.
    ///
    /// Stands for [`cudaChooseDevice`](sys::cudaChooseDevice). The description is what some device's properties were, or
    /// are to be; how the runtime compares them, its documentation does not say.
    ///
    /// # Errors
    /// Where there is no device.
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
        // SAFETY: both pointers are to live variables; the call fills the first.
        unsafe { check!(cudaChooseDevice(&raw mut ordinal, wanted.as_raw())) }?;
        Ok(Self::from_ordinal(ordinal))
    }

    /// Sets the device up without making it current, with these settings where some are given: what the first use of
    /// the device does otherwise, at a time of the program's choice.
    ///
    /// Stands for [`cudaInitDevice`](sys::cudaInitDevice).
    ///
    /// # Errors
    /// Where the device cannot be set up, for one because another process has it alone; `cudaErrorInvalidValue` for
    /// settings that make no sense.
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
        unsafe { check!(cudaInitDevice(self.ordinal(), settings, flags)) }
    }

    /// Says which devices the runtime may pick for a thread that has chosen none, in this order. An empty list is
    /// all of them, as it is to begin with.
    ///
    /// Stands for [`cudaSetValidDevices`](sys::cudaSetValidDevices). It changes nothing for threads that have used a
    /// device, nor for anything that names one.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for more devices than there are.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::Device;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let backwards: Vec<_> = Device::all()?.rev().collect();
    /// Device::set_valid(&backwards)?; // threads that choose none begin with the last one
    /// # Device::set_valid(&[])?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaSetValidDevices")]
    #[track_caller]
    pub fn set_valid(devices: &[Self]) -> Result<()> {
        let mut ordinals: Vec<c_int> = devices.iter().map(|device| device.ordinal()).collect();
        let Ok(count) = c_int::try_from(ordinals.len()) else {
            let detail = Detail::Overflow { what: "a list of devices", left: ordinals.len(), right: 1 };
            return Err(Error::refused("Device::set_valid", detail));
        };
        // SAFETY: the pointer is to as many live numbers as `count` says.
        unsafe { check!(cudaSetValidDevices(ordinals.as_mut_ptr(), count)) }
    }
}
