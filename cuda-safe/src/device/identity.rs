//! Which piece of hardware a device is: its place on the PCI bus.
#![expect(unsafe_code, reason = "calls the runtime's PCI bus functions")]

use std::ffi::{CStr, CString, c_char};

use super::Device;
use crate::check;
use crate::error::{Detail, Error, Result};
#[cfg(doc)]
use crate::sys;

/// Bytes for `domain:bus:device.function` and its terminator, with room to spare: C's own example uses 13.
const LENGTH: i32 = 32;

impl Device {
    /// The device's place on the PCI bus, as `domain:bus:device.function` in hexadecimal.
    ///
    /// Stands for [`cudaDeviceGetPCIBusId`](sys::cudaDeviceGetPCIBusId).
    ///
    /// # Errors
    /// None is known for a device that exists.
    #[doc(alias = "cudaDeviceGetPCIBusId")]
    #[track_caller]
    pub fn pci_bus_id(self) -> Result<String> {
        let mut id: [c_char; 32] = [0; 32];
        // SAFETY: the pointer is to a live array of as many bytes as the call is told; it writes a C string there.
        unsafe { check!(cudaDeviceGetPCIBusId((&raw mut id).cast(), LENGTH, self.ordinal())) }?;
        // SAFETY: the array is zeroed, so the call's string in it ends at the latest with the last byte.
        let id = unsafe { CStr::from_ptr((&raw const id).cast()) };
        Ok(id.to_string_lossy().into_owned())
    }

    /// The device at a place on the PCI bus: `domain:bus:device.function`, also without domain or function.
    ///
    /// Stands for [`cudaDeviceGetByPCIBusId`](sys::cudaDeviceGetByPCIBusId).
    ///
    /// # Errors
    /// `cudaErrorInvalidDevice` where there is no device, `cudaErrorInvalidValue` where the text is none such.
    #[doc(alias = "cudaDeviceGetByPCIBusId")]
    #[track_caller]
    pub fn by_pci_bus_id(id: &str) -> Result<Self> {
        let Ok(text) = CString::new(id) else {
            return Err(Error::refused(
                "Device::by_pci_bus_id",
                Detail::Unsupported { what: "a NUL in a PCI bus id" },
            ));
        };
        let mut ordinal = 0;
        // SAFETY: the first pointer is to a live integer, which the call fills, the second to a C string that
        // outlives the call.
        unsafe { check!(cudaDeviceGetByPCIBusId(&raw mut ordinal, text.as_ptr())) }?;
        Ok(Self::from_ordinal(ordinal))
    }
}
