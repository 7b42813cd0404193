//! [`Device::synchronize`] and [`Device::reset`]: everything that the process has on a device.
//!
//! Both reach into streams, copies and memory, which in turn need [`Device`]. A file of their own keeps the
//! file of `Device` free of these.
#![expect(unsafe_code, reason = "resets devices")]

use crate::device::Device;
use crate::error::{self, Result};
#[cfg(doc)]
use crate::sys;
use crate::{check, copy, device, memory, stream};

impl Device {
    /// Blocks until all work submitted to the device so far is complete.
    ///
    /// Stands for [`cudaDeviceSynchronize`](sys::cudaDeviceSynchronize). CUDA refuses that call while any
    /// thread captures, and ends the capture. This function then waits for each stream of the device that the
    /// crate knows, and the capture continues; work that raw code has put on other streams is not waited for.
    ///
    /// # Errors
    /// Returns the failure of any work that the device has run since the last check. Refused inside a host
    /// function or a capture of this thread.
    #[doc(alias = "cudaDeviceSynchronize")]
    #[track_caller]
    pub fn synchronize(self) -> Result<()> {
        stream::ensure_idle("Device::synchronize")?;
        let pools = memory::pool::gone::of(self);
        let waited = stream::synchronize_device(self);
        memory::pool::gone::destroy(pools, matches!(waited, Ok(true)));
        waited?;
        // Those whose last free was pending before.
        let pools = memory::pool::gone::of(self);
        if !pools.is_empty() {
            memory::pool::gone::destroy(pools, stream::wait_device(self).is_ok());
        }
        Ok(())
    }

    /// Destroys everything that the process has on this device: memory, streams, events, kernels, and
    /// contexts that an error has made unusable.
    ///
    /// Stands for [`cudaDeviceReset`](sys::cudaDeviceReset).
    ///
    /// # Errors
    /// Returns the failure of work that was still running. Refused inside the closure of an `enqueue` and
    /// inside a host function.
    ///
    /// # Safety
    /// - No owner of a resource of this device may be used or dropped afterwards. This includes buffers,
    ///   streams, events and graphs: drop them before, or forget them.
    /// - No other thread may use the device during the call.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::{Device, DeviceBuffer};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let buffer = DeviceBuffer::from_slice(&[1, 2, 3])?;
    /// drop(buffer);
    /// // SAFETY: all resources of the device are dropped, and the program has one thread.
    /// unsafe { Device::current()?.reset() }?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceReset")]
    #[track_caller]
    pub unsafe fn reset(self) -> Result<()> {
        stream::ensure_idle("Device::reset")?;
        let _current = self.switch()?;
        // SAFETY: the caller gives up everything on the device. The crate's own resources on it are
        // forgotten below.
        let reset = unsafe { check!(cudaDeviceReset()) };
        // Also after an error: the error may be that of earlier work, and the device is reset even then.
        device::peer_access::forget(self);
        copy::staged::abandon(self);
        memory::abandon(self);
        stream::abandon(self);
        if reset.is_ok() {
            error::forget_sticky();
        }
        reset
    }
}
