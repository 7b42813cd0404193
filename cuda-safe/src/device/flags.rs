//! The settings of a device's context, such as how the host waits.
#![expect(unsafe_code, reason = "calls the runtime's device flag functions")]

use bitflags::bitflags;

use super::Device;
use crate::error::Result;
use crate::{check, sys};

bitflags! {
    /// Settings of a device's context. At most one of the three `SCHEDULE_*` bits may be set.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct DeviceFlags: u32 {
        /// The host spins while it waits: lowest latency, one core busy.
        #[doc(alias = "cudaDeviceScheduleSpin")]
        const SCHEDULE_SPIN = sys::cudaDeviceScheduleSpin;
        /// The host yields its core between polls.
        #[doc(alias = "cudaDeviceScheduleYield")]
        const SCHEDULE_YIELD = sys::cudaDeviceScheduleYield;
        /// The host sleeps until the device wakes it: no core busy, highest latency.
        #[doc(alias = "cudaDeviceScheduleBlockingSync")]
        const SCHEDULE_BLOCKING_SYNC = sys::cudaDeviceScheduleBlockingSync;
        /// Pinned memory can be mapped. Always the case with unified addressing.
        #[doc(alias = "cudaDeviceMapHost")]
        const MAP_HOST = sys::cudaDeviceMapHost;
        /// Local memory retains the size that the largest kernel needed.
        #[doc(alias = "cudaDeviceLmemResizeToMax")]
        const LMEM_RESIZE_TO_MAX = sys::cudaDeviceLmemResizeToMax;
        /// Synchronous memory operations always block, including those from device to device.
        #[doc(alias = "cudaDeviceSyncMemops")]
        const SYNC_MEMOPS = sys::cudaDeviceSyncMemops;
    }
}

impl Device {
    /// Returns the settings of the device. If no `SCHEDULE_*` bit is set, the runtime chooses.
    ///
    /// Stands for [`cudaGetDeviceFlags`](sys::cudaGetDeviceFlags). Bits that this crate does not know are
    /// preserved.
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be made current.
    #[doc(alias = "cudaGetDeviceFlags")]
    #[track_caller]
    pub fn flags(self) -> Result<DeviceFlags> {
        let _current = self.switch()?;
        let mut flags = 0;
        // SAFETY: the pointer is to a live local integer, which the call fills.
        unsafe { check!(cudaGetDeviceFlags(&raw mut flags)) }?;
        Ok(DeviceFlags::from_bits_retain(flags))
    }

    /// Changes the settings of the device.
    ///
    /// Stands for [`cudaSetDeviceFlags`](sys::cudaSetDeviceFlags).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the combination is invalid.
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
