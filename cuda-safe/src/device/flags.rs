//! How the host waits for a device, and other settings of the device's context.
#![expect(unsafe_code, reason = "calls the runtime's device flag functions")]

use bitflags::bitflags;

use super::Device;
use crate::error::Result;
use crate::{check, sys};

bitflags! {
    /// Settings of a device's context. Of the three that say how the host waits, at most one may be chosen.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct DeviceFlags: u32 {
        /// The host spins while it waits: soonest back, one core busy.
        #[doc(alias = "cudaDeviceScheduleSpin")]
        const SCHEDULE_SPIN = sys::cudaDeviceScheduleSpin;
        /// The host gives its core away between looks.
        #[doc(alias = "cudaDeviceScheduleYield")]
        const SCHEDULE_YIELD = sys::cudaDeviceScheduleYield;
        /// The host sleeps until the device wakes it: no core busy, latest back.
        #[doc(alias = "cudaDeviceScheduleBlockingSync")]
        const SCHEDULE_BLOCKING_SYNC = sys::cudaDeviceScheduleBlockingSync;
        /// Pinned memory can be mapped. Always so where addresses are unified.
        #[doc(alias = "cudaDeviceMapHost")]
        const MAP_HOST = sys::cudaDeviceMapHost;
        /// Local memory keeps the size that the largest kernel needed.
        #[doc(alias = "cudaDeviceLmemResizeToMax")]
        const LMEM_RESIZE_TO_MAX = sys::cudaDeviceLmemResizeToMax;
        /// Synchronous memory operations always wait, those from device to device too.
        #[doc(alias = "cudaDeviceSyncMemops")]
        const SYNC_MEMOPS = sys::cudaDeviceSyncMemops;
    }
}

impl Device {
    /// The settings of the device. None of the `SCHEDULE_*` bits means that the runtime chooses.
    ///
    /// Stands for [`cudaGetDeviceFlags`](sys::cudaGetDeviceFlags). Bits newer than this crate are kept.
    ///
    /// # Errors
    /// Where the device cannot be made current.
    #[doc(alias = "cudaGetDeviceFlags")]
    #[track_caller]
    pub fn flags(self) -> Result<DeviceFlags> {
        let _current = self.switch()?;
        let mut flags = 0;
        // SAFETY: the pointer is to a live integer of ours, which the call fills.
        unsafe { check!(cudaGetDeviceFlags(&raw mut flags)) }?;
        Ok(DeviceFlags::from_bits_retain(flags))
    }

    /// Changes the settings of the device.
    ///
    /// Stands for [`cudaSetDeviceFlags`](sys::cudaSetDeviceFlags).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a combination that makes no sense.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::device::DeviceFlags;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let device = Device::current()?;
    /// device.set_flags(device.flags()? | DeviceFlags::SYNC_MEMOPS)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaSetDeviceFlags")]
    #[track_caller]
    pub fn set_flags(self, flags: DeviceFlags) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes a number, which the runtime checks.
        unsafe { check!(cudaSetDeviceFlags(flags.bits())) }
    }
}
