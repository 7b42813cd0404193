//! A device's caches, and the visibility of remote writes to its memory.
#![expect(unsafe_code, reason = "calls the runtime's functions for caches and remote writes")]

use super::Device;
use crate::error::Result;
use crate::{check, sys};

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
pub enum RemoteWritesScope {
    /// Work of the device itself.
    Owner,
    /// Work of all devices.
    AllDevices,
}

impl Device {
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
    /// policy window](crate::stream::StreamRef::set_access_policy) makes lines persist.
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
        let scope = match scope {
            RemoteWritesScope::Owner => sys::cudaFlushGPUDirectRDMAWritesToOwner,
            RemoteWritesScope::AllDevices => sys::cudaFlushGPUDirectRDMAWritesToAllDevices,
        };
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
        unsafe { check!(cudaDeviceGetTexture1DLinearMaxWidth(&raw mut width, format, self.ordinal())) }?;
        Ok(width)
    }
}
