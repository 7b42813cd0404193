//! The memory that a device reserves for allocations of graphs.
#![expect(unsafe_code, reason = "calls the runtime's functions for memory of graphs")]

use super::Device;
use crate::error::Result;
use crate::{check, sys};

/// The amount of device memory that graph nodes have allocated, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaGraphMemAttributeType")]
pub struct GraphMemory {
    /// Bytes in use now.
    pub used: u64,
    /// The highest number of bytes in use at one time.
    pub used_high: u64,
    /// Bytes reserved now, in use or not.
    pub reserved: u64,
    /// The highest number of bytes reserved at one time.
    pub reserved_high: u64,
}

impl Device {
    /// Returns how much device memory graphs use and reserve for allocations of their nodes.
    ///
    /// Stands for [`cudaDeviceGetGraphMemAttribute`](sys::cudaDeviceGetGraphMemAttribute).
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let device = Device::current()?;
    /// device.trim_graph_memory()?;
    /// device.reset_graph_memory_peaks()?;
    /// let memory = device.graph_memory()?;
    /// assert!(memory.used <= memory.reserved);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceGetGraphMemAttribute")]
    #[track_caller]
    pub fn graph_memory(self) -> Result<GraphMemory> {
        Ok(GraphMemory {
            used: self.graph_memory_attribute(sys::cudaGraphMemAttrUsedMemCurrent)?,
            used_high: self.graph_memory_attribute(sys::cudaGraphMemAttrUsedMemHigh)?,
            reserved: self.graph_memory_attribute(sys::cudaGraphMemAttrReservedMemCurrent)?,
            reserved_high: self.graph_memory_attribute(sys::cudaGraphMemAttrReservedMemHigh)?,
        })
    }

    #[track_caller]
    fn graph_memory_attribute(self, attribute: sys::cudaGraphMemAttributeType) -> Result<u64> {
        let mut bytes = 0_u64;
        let out = (&raw mut bytes).cast();
        // SAFETY: the pointer is to a live number of the size that these attributes have. The call fills
        // it.
        unsafe { check!(cudaDeviceGetGraphMemAttribute(self.ordinal(), attribute, out)) }?;
        Ok(bytes)
    }

    /// Resets the highest values of [`graph_memory`](Self::graph_memory) to the current ones.
    ///
    /// Stands for [`cudaDeviceSetGraphMemAttribute`](sys::cudaDeviceSetGraphMemAttribute).
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized.
    #[doc(alias = "cudaDeviceSetGraphMemAttribute")]
    #[track_caller]
    pub fn reset_graph_memory_peaks(self) -> Result<()> {
        for attribute in [sys::cudaGraphMemAttrUsedMemHigh, sys::cudaGraphMemAttrReservedMemHigh] {
            let mut zero = 0_u64;
            let value = (&raw mut zero).cast();
            // SAFETY: the pointer is to a live number of the size that these attributes have.
            unsafe { check!(cudaDeviceSetGraphMemAttribute(self.ordinal(), attribute, value)) }?;
        }
        Ok(())
    }

    /// Releases memory that is reserved for graphs and not in use.
    ///
    /// Stands for [`cudaDeviceGraphMemTrim`](sys::cudaDeviceGraphMemTrim).
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized.
    #[doc(alias = "cudaDeviceGraphMemTrim")]
    #[track_caller]
    pub fn trim_graph_memory(self) -> Result<()> {
        // SAFETY: the call takes a number, which the runtime checks, and frees only memory that is not in
        // use.
        unsafe { check!(cudaDeviceGraphMemTrim(self.ordinal())) }
    }
}
