//! A device's caches, and what others have written to its memory.
#![expect(unsafe_code, reason = "calls the runtime's functions for caches and remote writes")]

use super::Device;
use crate::error::Result;
use crate::{check, sys};

/// How a multiprocessor's fast memory is divided between shared memory and cache: one of the constants, or something newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaFuncCache")]
pub struct CacheConfig(sys::cudaFuncCache);

impl CacheConfig {
    /// As the runtime likes.
    pub const PREFER_NONE: Self = Self(sys::cudaFuncCachePreferNone);
    /// More shared memory.
    pub const PREFER_SHARED: Self = Self(sys::cudaFuncCachePreferShared);
    /// More cache.
    pub const PREFER_L1: Self = Self(sys::cudaFuncCachePreferL1);
    /// Both the same.
    pub const PREFER_EQUAL: Self = Self(sys::cudaFuncCachePreferEqual);

    /// The number as C has it.
    pub(crate) fn as_raw(self) -> sys::cudaFuncCache {
        self.0
    }
}

/// Who is to see what other devices on the bus have written.
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
    /// How the device divides its fast memory.
    ///
    /// Stands for [`cudaDeviceGetCacheConfig`](sys::cudaDeviceGetCacheConfig).
    ///
    /// # Errors
    /// Where the device cannot be set up.
    #[doc(alias = "cudaDeviceGetCacheConfig")]
    #[track_caller]
    pub fn cache_config(self) -> Result<CacheConfig> {
        let _current = self.switch()?;
        let mut config = sys::cudaFuncCachePreferNone;
        // SAFETY: the pointer is to a live variable of ours, which the call fills.
        unsafe { check!(cudaDeviceGetCacheConfig(&raw mut config)) }?;
        Ok(CacheConfig(config))
    }

    /// Sets how the device is to divide its fast memory, where it can and the kernel has no wish of its own.
    ///
    /// Stands for [`cudaDeviceSetCacheConfig`](sys::cudaDeviceSetCacheConfig).
    ///
    /// # Errors
    /// Where the device cannot be set up.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::device::CacheConfig;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let device = Device::current()?;
    /// device.set_cache_config(CacheConfig::PREFER_SHARED)?;
    /// println!("{:?}", device.cache_config()?); // what the device makes of it
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

    /// Has lines that were to stay in the second-level cache be like all others again.
    ///
    /// Stands for [`cudaCtxResetPersistingL2Cache`](sys::cudaCtxResetPersistingL2Cache). The way to have them stay is a
    /// stream's [access policy window](crate::stream::StreamRef::set_access_policy).
    ///
    /// # Errors
    /// Where the device cannot be set up.
    #[doc(alias = "cudaCtxResetPersistingL2Cache")]
    #[track_caller]
    pub fn reset_persisting_l2_cache(self) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes nothing.
        unsafe { check!(cudaCtxResetPersistingL2Cache()) }
    }

    /// Waits until what other devices on the bus, network cards for one, have written to this device's memory can be
    /// seen.
    ///
    /// Stands for
    /// [`cudaDeviceFlushGPUDirectRDMAWrites`](sys::cudaDeviceFlushGPUDirectRDMAWrites). Not needed where the attribute
    /// `cudaDevAttrGPUDirectRDMAWritesOrdering` is at least the scope.
    ///
    /// # Errors
    /// `cudaErrorNotSupported` where `cudaDevAttrGPUDirectRDMAFlushWritesOptions` says that the host cannot do this.
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
        // SAFETY: the call takes two of its own constants, and waits.
        unsafe { check!(cudaDeviceFlushGPUDirectRDMAWrites(target, scope)) }
    }

    /// The most elements that a texture over linear memory can have.
    ///
    /// Stands for [`cudaDeviceGetTexture1DLinearMaxWidth`](sys::cudaDeviceGetTexture1DLinearMaxWidth).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a channel format that makes no sense.
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
        // SAFETY: both pointers are to live variables; the call fills the first.
        unsafe { check!(cudaDeviceGetTexture1DLinearMaxWidth(&raw mut width, format, self.ordinal())) }?;
        Ok(width)
    }
}
