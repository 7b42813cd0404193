//! The default pool and the current pool of a device.
#![expect(unsafe_code, reason = "asks the runtime for pools and chooses them")]

use super::super::location::MemoryLocation;
use super::owned::{MemoryPool, PoolKind, enter};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

impl Device {
    /// Returns the device's default pool, which CUDA made.
    ///
    /// Stands for [`cudaDeviceGetDefaultMemPool`](sys::cudaDeviceGetDefaultMemPool).
    ///
    /// # Errors
    /// Returns `cudaErrorNotSupported` if the device has no pools. Refused inside a host function.
    #[doc(alias = "cudaDeviceGetDefaultMemPool")]
    #[track_caller]
    pub fn default_memory_pool(self) -> Result<MemoryPool> {
        enter("Device::default_memory_pool")?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live local variable, which the call fills. The runtime checks the
        // ordinal.
        unsafe { check!(cudaDeviceGetDefaultMemPool(&raw mut raw, self.ordinal())) }?;
        Ok(MemoryPool::default_one(raw, MemoryLocation::Device(self), PoolKind::Pinned))
    }

    /// Returns the device's current pool, from which its allocations come. It is the default pool until
    /// another is chosen.
    ///
    /// Stands for [`cudaDeviceGetMemPool`](sys::cudaDeviceGetMemPool).
    ///
    /// # Errors
    /// - `cudaErrorNotSupported` if the device has no pools.
    /// - A refusal if raw code made and chose the pool, because the crate cannot retain it.
    /// - Refused inside a host function.
    #[doc(alias = "cudaDeviceGetMemPool")]
    #[track_caller]
    pub fn memory_pool(self) -> Result<MemoryPool> {
        let get = || {
            let mut raw = std::ptr::null_mut();
            // SAFETY: the pointer is to a live local variable, which the call fills. The runtime checks the
            // ordinal.
            unsafe { check!(cudaDeviceGetMemPool(&raw mut raw, self.ordinal())) }?;
            Ok(raw)
        };
        current("Device::memory_pool", || self.default_memory_pool(), get)
    }

    /// Makes a pool the device's current pool, as long as the pool lives.
    ///
    /// Stands for [`cudaDeviceSetMemPool`](sys::cudaDeviceSetMemPool).
    ///
    /// # Errors
    /// - `DeviceMismatch` if the pool is of another device.
    /// - A refusal if the pool is not of device memory.
    /// - Refused inside a host function.
    #[doc(alias = "cudaDeviceSetMemPool")]
    #[track_caller]
    pub fn set_memory_pool(self, pool: &MemoryPool) -> Result<()> {
        enter("Device::set_memory_pool")?;
        pool.device()?.ensure_is(self, "Device::set_memory_pool", "the pool")?;
        // SAFETY: the pool lives as long as the borrow. When it is destroyed, the runtime chooses the
        // device's default pool again.
        unsafe { check!(cudaDeviceSetMemPool(self.ordinal(), pool.as_raw())) }
    }
}

#[cfg(cudart_13_0)]
impl MemoryPool {
    /// Returns the default pool of a location.
    ///
    /// Stands for [`cudaMemGetDefaultMemPool`](sys::cudaMemGetDefaultMemPool). Pools of host memory and of
    /// managed memory can be queried and configured here, but buffers are not made from them.
    ///
    /// # Errors
    /// Returns `cudaErrorNotSupported` or `cudaErrorInvalidValue` if there is no such pool. Refused inside
    /// a host function.
    #[doc(alias = "cudaMemGetDefaultMemPool")]
    #[track_caller]
    pub fn default_at(location: MemoryLocation, kind: PoolKind) -> Result<Self> {
        enter("MemoryPool::default_at")?;
        let mut raw = std::ptr::null_mut();
        let mut place = location.to_raw();
        // SAFETY: both pointers are to live local variables. The call fills the first one.
        unsafe { check!(cudaMemGetDefaultMemPool(&raw mut raw, &raw mut place, kind.to_raw())) }?;
        Ok(Self::default_one(raw, location, kind))
    }

    /// Returns the current pool of a location, from which its allocations come.
    ///
    /// Stands for [`cudaMemGetMemPool`](sys::cudaMemGetMemPool).
    ///
    /// # Errors
    /// Those of [`default_at`](Self::default_at), and a refusal if raw code made and chose the pool,
    /// because the crate cannot retain it.
    #[doc(alias = "cudaMemGetMemPool")]
    #[track_caller]
    pub fn current_at(location: MemoryLocation, kind: PoolKind) -> Result<Self> {
        let get = || {
            let mut raw = std::ptr::null_mut();
            let mut place = location.to_raw();
            // SAFETY: both pointers are to live local variables. The call fills the first one.
            unsafe { check!(cudaMemGetMemPool(&raw mut raw, &raw mut place, kind.to_raw())) }?;
            Ok(raw)
        };
        current("MemoryPool::current_at", || Self::default_at(location, kind), get)
    }

    /// Makes this the current pool of its location, as long as the pool lives.
    ///
    /// Stands for [`cudaMemSetMemPool`](sys::cudaMemSetMemPool), with the pool's own location and kind.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::Device;
    /// use cuda_safe::memory::{MemoryLocation, MemoryPool, PoolKind};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let here = MemoryLocation::Device(Device::current()?);
    /// MemoryPool::default_at(here, PoolKind::Pinned)?.set_current()?;
    /// assert!(MemoryPool::current_at(here, PoolKind::Pinned)?.is_default());
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMemSetMemPool")]
    #[track_caller]
    pub fn set_current(&self) -> Result<()> {
        enter("MemoryPool::set_current")?;
        let mut place = self.location().to_raw();
        // SAFETY: the pointer is to a live local variable, and the pool lives as long as the borrow. When
        // it is destroyed, the runtime chooses the location's default pool again.
        unsafe { check!(cudaMemSetMemPool(&raw mut place, self.kind().to_raw(), self.as_raw())) }
    }
}

/// Returns the current pool and retains it.
#[track_caller]
fn current(
    api: &'static str,
    default: impl Fn() -> Result<MemoryPool>,
    get: impl Fn() -> Result<sys::cudaMemPool_t>,
) -> Result<MemoryPool> {
    enter(api)?;
    let mut last = std::ptr::null_mut();
    loop {
        let raw = get()?;
        let own = default()?;
        if own.as_raw() == raw {
            return Ok(own);
        }
        if let Some(pool) = MemoryPool::find(raw) {
            return Ok(pool);
        }
        // A pool that is being dropped is no longer current at the next query. One that still is current
        // does not belong to the crate.
        if last == raw {
            return Err(Error::refused(
                api,
                Detail::Unsupported { what: "a pool that was made and chosen behind the crate's back" },
            ));
        }
        last = raw;
    }
}
