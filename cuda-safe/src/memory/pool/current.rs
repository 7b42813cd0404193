//! Which pool a device's memory comes from.
#![expect(unsafe_code, reason = "asks the runtime for pools and chooses them")]

use super::super::location::MemoryLocation;
use super::kind::PoolKind;
use super::owned::{MemoryPool, enter};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

impl Device {
    /// The pool that the device has by itself.
    ///
    /// Stands for [`cudaDeviceGetDefaultMemPool`](sys::cudaDeviceGetDefaultMemPool).
    ///
    /// # Errors
    /// `cudaErrorNotSupported` where the device has no pools; a refusal inside a host function.
    #[doc(alias = "cudaDeviceGetDefaultMemPool")]
    #[track_caller]
    pub fn default_memory_pool(self) -> Result<MemoryPool> {
        enter("Device::default_memory_pool")?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable of ours, which the call fills; the runtime checks the ordinal.
        unsafe { check!(cudaDeviceGetDefaultMemPool(&raw mut raw, self.ordinal())) }?;
        Ok(MemoryPool::default_one(raw, MemoryLocation::Device(self), PoolKind::Pinned))
    }

    /// The pool that the device's memory comes from: its own, until another is chosen.
    ///
    /// Stands for [`cudaDeviceGetMemPool`](sys::cudaDeviceGetMemPool).
    ///
    /// # Errors
    /// `cudaErrorNotSupported` where the device has no pools; a refusal where the pool was chosen behind the crate's back
    /// and is not the crate's to keep, or inside a host function.
    #[doc(alias = "cudaDeviceGetMemPool")]
    #[track_caller]
    pub fn memory_pool(self) -> Result<MemoryPool> {
        let get = || {
            let mut raw = std::ptr::null_mut();
            // SAFETY: the pointer is to a live variable of ours, which the call fills; the runtime checks the ordinal.
            unsafe { check!(cudaDeviceGetMemPool(&raw mut raw, self.ordinal())) }?;
            Ok(raw)
        };
        current("Device::memory_pool", || self.default_memory_pool(), get)
    }

    /// Chooses the pool that the device's memory comes from, for as long as the pool lives.
    ///
    /// Stands for [`cudaDeviceSetMemPool`](sys::cudaDeviceSetMemPool).
    ///
    /// # Errors
    /// `DeviceMismatch` where the pool is of another device; a refusal where it is of the host's memory, or inside a host
    /// function.
    #[doc(alias = "cudaDeviceSetMemPool")]
    #[track_caller]
    pub fn set_memory_pool(self, pool: &MemoryPool) -> Result<()> {
        enter("Device::set_memory_pool")?;
        let (found, needed) = (pool.device()?.ordinal(), self.ordinal());
        if found != needed {
            let detail = Detail::DeviceMismatch { what: "the pool", found, needed };
            return Err(Error::refused("Device::set_memory_pool", detail));
        }
        // SAFETY: the pool lives while the borrow does; when it is destroyed, the runtime chooses the device's own again.
        unsafe { check!(cudaDeviceSetMemPool(self.ordinal(), pool.as_raw())) }
    }
}

#[cfg(cudart_13_0)]
impl MemoryPool {
    /// The pool that a place has by itself.
    ///
    /// Stands for [`cudaMemGetDefaultMemPool`](sys::cudaMemGetDefaultMemPool). Pools of the host's memory and of managed
    /// memory can be looked at and set up here; buffers are not made from them.
    ///
    /// # Errors
    /// `cudaErrorNotSupported` or `cudaErrorInvalidValue` where there is no such pool; a refusal inside a host function.
    #[doc(alias = "cudaMemGetDefaultMemPool")]
    #[track_caller]
    pub fn default_at(location: MemoryLocation, kind: PoolKind) -> Result<Self> {
        enter("MemoryPool::default_at")?;
        let mut raw = std::ptr::null_mut();
        let mut place = location.to_raw();
        // SAFETY: both pointers are to live variables of ours; the call fills the first.
        unsafe { check!(cudaMemGetDefaultMemPool(&raw mut raw, &raw mut place, kind.to_raw())) }?;
        Ok(Self::default_one(raw, location, kind))
    }

    /// The pool that memory of a place comes from.
    ///
    /// Stands for [`cudaMemGetMemPool`](sys::cudaMemGetMemPool).
    ///
    /// # Errors
    /// As [`default_at`](Self::default_at); a refusal where the pool was chosen behind the crate's back and is not the
    /// crate's to keep.
    #[doc(alias = "cudaMemGetMemPool")]
    #[track_caller]
    pub fn current_at(location: MemoryLocation, kind: PoolKind) -> Result<Self> {
        let get = || {
            let mut raw = std::ptr::null_mut();
            let mut place = location.to_raw();
            // SAFETY: both pointers are to live variables of ours; the call fills the first.
            unsafe { check!(cudaMemGetMemPool(&raw mut raw, &raw mut place, kind.to_raw())) }?;
            Ok(raw)
        };
        current("MemoryPool::current_at", || Self::default_at(location, kind), get)
    }

    /// Has the memory of the pool's place come from it, for as long as it lives.
    ///
    /// Stands for [`cudaMemSetMemPool`](sys::cudaMemSetMemPool), with the pool's own place and kind.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
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
        // SAFETY: the pointer is to a live variable of ours, and the pool lives while the borrow does; when it is
        // destroyed, the runtime chooses the place's own again.
        unsafe { check!(cudaMemSetMemPool(&raw mut place, self.kind().to_raw(), self.as_raw())) }
    }
}

/// The pool that is current, kept alive.
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
        // A pool that is being dropped is current no more at the next look; one that still is, is none of ours.
        if last == raw {
            return Err(Error::refused(
                api,
                Detail::Unsupported { what: "a pool that was made and chosen behind the crate's back" },
            ));
        }
        last = raw;
    }
}
