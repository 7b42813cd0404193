//! The identity of a device: its address on the PCI bus.
#![expect(unsafe_code, reason = "calls the runtime's PCI bus functions")]

use std::ffi::{CStr, CString, c_char};

use super::Device;
use crate::check;
use crate::error::{Detail, Error, Result};
#[cfg(doc)]
use crate::sys;

/// The length of a buffer for `domain:bus:device.function` and its terminator in bytes. C's own example
/// uses 13.
const LENGTH: i32 = 32;

impl Device {
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
        unsafe { check!(cudaDeviceGetPCIBusId((&raw mut id).cast(), LENGTH, self.ordinal())) }?;
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
        let Ok(text) = CString::new(id) else {
            return Err(Error::refused(
                "Device::by_pci_bus_id",
                Detail::Unsupported { what: "a NUL in a PCI bus id" },
            ));
        };
        let mut ordinal = 0;
        // SAFETY: the first pointer is to a live integer, which the call fills. The second is to a C string
        // that outlives the call.
        unsafe { check!(cudaDeviceGetByPCIBusId(&raw mut ordinal, text.as_ptr())) }?;
        Ok(Self::from_ordinal(ordinal))
    }
}
