//! Settings of a device: the flags of its context, its caches, the visibility of remote writes, and the
//! memory that it reserves for graphs.
#![expect(unsafe_code, reason = "calls the runtime's functions for the settings of devices")]

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

    /// Returns how the device divides its on-chip memory.
    ///
    /// Stands for [`cudaDeviceGetCacheConfig`](sys::cudaDeviceGetCacheConfig).
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized.
    #[doc(alias = "cudaDeviceGetCacheConfig")]
    #[track_caller]
    pub fn cache_config(self) -> Result<CacheConfig> {
        let _current = self.switch()?;
        let mut config = sys::cudaFuncCachePreferNone;
        // SAFETY: the pointer is to a live local variable, which the call fills.
        unsafe { check!(cudaDeviceGetCacheConfig(&raw mut config)) }?;
        Ok(CacheConfig(config))
    }

    /// Sets how the device divides its on-chip memory. Applies where the hardware supports a choice and the
    /// kernel has no preference of its own.
    ///
    /// Stands for [`cudaDeviceSetCacheConfig`](sys::cudaDeviceSetCacheConfig).
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::device::CacheConfig;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let device = Device::current()?;
    /// device.set_cache_config(CacheConfig::PREFER_SHARED)?;
    /// println!("{:?}", device.cache_config()?); // the device's actual setting
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceSetCacheConfig")]
    #[track_caller]
    pub fn set_cache_config(self, config: CacheConfig) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes a number, which the runtime checks.
        unsafe { check!(cudaDeviceSetCacheConfig(config.0)) }
    }

    /// Resets all persisting lines of the L2 cache to normal ones.
    ///
    /// Stands for [`cudaCtxResetPersistingL2Cache`](sys::cudaCtxResetPersistingL2Cache). A stream's [access
    /// policy window](crate::stream::StreamAttribute::AccessPolicy) makes lines persist.
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be initialized.
    #[doc(alias = "cudaCtxResetPersistingL2Cache")]
    #[track_caller]
    pub fn reset_persisting_l2_cache(self) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes no arguments.
        unsafe { check!(cudaCtxResetPersistingL2Cache()) }
    }

    /// Blocks until remote writes to this device's memory, for example by network cards, are visible.
    ///
    /// Stands for [`cudaDeviceFlushGPUDirectRDMAWrites`](sys::cudaDeviceFlushGPUDirectRDMAWrites). Not
    /// needed if the attribute `cudaDevAttrGPUDirectRDMAWritesOrdering` is at least the scope.
    ///
    /// # Errors
    /// Returns `cudaErrorNotSupported` if the host cannot do this, according to the attribute
    /// `cudaDevAttrGPUDirectRDMAFlushWritesOptions`.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::Device;
    /// use cuda_safe::device::RemoteWritesScope;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// # fn a_network_card_has_written() {}
    /// a_network_card_has_written();
    /// Device::current()?.flush_gpudirect_rdma_writes(RemoteWritesScope::Owner)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceFlushGPUDirectRDMAWrites")]
    #[track_caller]
    pub fn flush_gpudirect_rdma_writes(self, scope: RemoteWritesScope) -> Result<()> {
        let _current = self.switch()?;
        let scope = sys::cudaFlushGPUDirectRDMAWritesScope(scope as u32);
        let target = sys::cudaFlushGPUDirectRDMAWritesTargetCurrentDevice;
        // SAFETY: the call takes two of its own constants, and blocks.
        unsafe { check!(cudaDeviceFlushGPUDirectRDMAWrites(target, scope)) }
    }

    /// Returns the maximum number of elements of a texture over linear memory.
    ///
    /// Stands for [`cudaDeviceGetTexture1DLinearMaxWidth`](sys::cudaDeviceGetTexture1DLinearMaxWidth).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the channel format is invalid.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::memory::ArrayElement;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let pixels = Device::current()?.texture_1d_linear_max_width(&<[u8; 4]>::descriptor())?;
    /// assert!(pixels > 1000);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceGetTexture1DLinearMaxWidth")]
    #[track_caller]
    pub fn texture_1d_linear_max_width(self, format: &sys::cudaChannelFormatDesc) -> Result<usize> {
        let mut width = 0;
        // SAFETY: both pointers are to live variables. The call fills the first.
        unsafe { check!(cudaDeviceGetTexture1DLinearMaxWidth(&raw mut width, format, self.as_raw())) }?;
        Ok(width)
    }

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
        unsafe { check!(cudaDeviceGetGraphMemAttribute(self.as_raw(), attribute, out)) }?;
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
            unsafe { check!(cudaDeviceSetGraphMemAttribute(self.as_raw(), attribute, value)) }?;
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
        unsafe { check!(cudaDeviceGraphMemTrim(self.as_raw())) }
    }
}

/// How a multiprocessor divides its on-chip memory between shared memory and L1 cache. One of the
/// constants, or a newer value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaFuncCache")]
pub struct CacheConfig(sys::cudaFuncCache);

impl CacheConfig {
    /// The runtime decides.
    pub const PREFER_NONE: Self = Self(sys::cudaFuncCachePreferNone);
    /// Prefers shared memory.
    pub const PREFER_SHARED: Self = Self(sys::cudaFuncCachePreferShared);
    /// Prefers L1 cache.
    pub const PREFER_L1: Self = Self(sys::cudaFuncCachePreferL1);
    /// Divides equally.
    pub const PREFER_EQUAL: Self = Self(sys::cudaFuncCachePreferEqual);

    /// Returns C's number.
    pub(crate) fn as_raw(self) -> sys::cudaFuncCache {
        self.0
    }
}

/// The readers to which remote writes become visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "cudaFlushGPUDirectRDMAWritesScope")]
#[repr(u32)]
pub enum RemoteWritesScope {
    /// Work of the device itself.
    Owner = sys::cudaFlushGPUDirectRDMAWritesToOwner.0,
    /// Work of all devices.
    AllDevices = sys::cudaFlushGPUDirectRDMAWritesToAllDevices.0,
}

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
