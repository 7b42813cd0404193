//! What a device keeps for memory that graphs allocate.
#![expect(unsafe_code, reason = "calls the runtime's functions for memory of graphs")]

use super::Device;
use crate::error::Result;
use crate::{check, sys};

/// Memory of a device that nodes of graphs have allocated, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaGraphMemAttributeType")]
pub struct GraphMemory {
    /// In use now.
    pub used: u64,
    /// The most that was in use at a time.
    pub used_high: u64,
    /// Reserved now, used or not.
    pub reserved: u64,
    /// The most that was reserved at a time.
    pub reserved_high: u64,
}

impl Device {
    /// What graphs use and have reserved of the device's memory for what their nodes allocate.
    ///
    /// Stands for [`cudaDeviceGetGraphMemAttribute`](sys::cudaDeviceGetGraphMemAttribute).
    ///
    /// # Errors
    /// Where the device cannot be set up.
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
        // SAFETY: the pointer is to a live number of the size that these attributes have, which the call fills.
        unsafe { check!(cudaDeviceGetGraphMemAttribute(self.ordinal(), attribute, out)) }?;
        Ok(bytes)
    }

    /// Has the highest values of [`graph_memory`](Self::graph_memory) begin anew from what there is.
    ///
    /// Stands for [`cudaDeviceSetGraphMemAttribute`](sys::cudaDeviceSetGraphMemAttribute).
    ///
    /// # Errors
    /// Where the device cannot be set up.
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

    /// Gives back what is reserved for graphs and not used.
    ///
    /// Stands for [`cudaDeviceGraphMemTrim`](sys::cudaDeviceGraphMemTrim).
    ///
    /// # Errors
    /// Where the device cannot be set up.
    #[doc(alias = "cudaDeviceGraphMemTrim")]
    #[track_caller]
    pub fn trim_graph_memory(self) -> Result<()> {
        // SAFETY: the call takes a number, which the runtime checks, and frees only what nobody uses.
        unsafe { check!(cudaDeviceGraphMemTrim(self.ordinal())) }
    }
}
