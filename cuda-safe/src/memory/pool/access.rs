//! The access of devices to a pool's memory.
#![expect(unsafe_code, reason = "calls cudaMemPoolSetAccess and cudaMemPoolGetAccess")]

use super::super::location::MemoryLocation;
use super::owned::{MemoryPool, enter};
use crate::device::Device;
use crate::error::{Detail, Error, Result, quietly};
use crate::stream::in_callback;
use crate::{check, copy, sys};

/// The access of a device to a pool's memory: one of the constants, or a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolAccess(sys::cudaMemAccessFlags);

impl PoolAccess {
    /// No access.
    pub const NONE: Self = Self(sys::cudaMemAccessFlagsProtNone);
    /// Reads.
    pub const READ: Self = Self(sys::cudaMemAccessFlagsProtRead);
    /// Reads and writes.
    pub const READ_WRITE: Self = Self(sys::cudaMemAccessFlagsProtReadWrite);

    /// Returns the number that C uses.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaMemAccessFlags {
        self.0
    }
}

/// Refuses memory of a pool of `owner` that a kernel of `device`, another one, cannot access. An allocation
/// does not name its pool, so every pool counts that this crate has given access to, and the two that the
/// device itself names.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn ensure_accessible(device: Device, owner: Device) -> Result<()> {
    let gives = |pool: Result<MemoryPool>| -> Result<bool> { Ok(pool?.access(device)? != PoolAccess::NONE) };
    // A host function must not call CUDA. The launch itself is refused there.
    if in_callback()
        || copy::peer::is_pool_enabled(device, owner)
        || quietly(gives(owner.default_memory_pool())).unwrap_or(false)
        || quietly(gives(owner.memory_pool())).unwrap_or(false)
    {
        return Ok(());
    }
    let (found, needed) = (owner.ordinal(), device.ordinal());
    Err(Error::refused("launch", Detail::NotAccessible { found, needed, pooled: true }))
}

impl MemoryPool {
    /// Returns the access of a device to the pool's memory.
    ///
    /// Stands for [`cudaMemPoolGetAccess`](sys::cudaMemPoolGetAccess).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolGetAccess")]
    #[track_caller]
    pub fn access(&self, device: Device) -> Result<PoolAccess> {
        enter("MemoryPool::access")?;
        let mut flags = sys::cudaMemAccessFlagsProtNone;
        let mut location = MemoryLocation::Device(device).to_raw();
        // SAFETY: the pool lives as long as the borrow. Both pointers are to live local variables.
        unsafe { check!(cudaMemPoolGetAccess(&raw mut flags, self.as_raw(), &raw mut location)) }?;
        Ok(PoolAccess(flags))
    }

    /// Lets a device read and write the pool's memory, including memory that exists already.
    ///
    /// Stands for [`cudaMemPoolSetAccess`](sys::cudaMemPoolSetAccess). [`Device::enable_peer_access`] has
    /// no effect on memory from pools.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidDevice` if [`Device::can_access_peer`] returns false. Refused inside a host
    /// function.
    #[doc(alias = "cudaMemPoolSetAccess")]
    #[track_caller]
    pub fn enable_access(&self, device: Device) -> Result<()> {
        self.set_access("MemoryPool::enable_access", device, sys::cudaMemAccessFlagsProtReadWrite)?;
        if let MemoryLocation::Device(owner) = self.location() {
            copy::peer::pool_enabled(device, owner);
        }
        Ok(())
    }

    /// Disables the access that [`enable_access`](Self::enable_access) enabled.
    ///
    /// # Errors
    /// Refused for the pool's own device, and inside a host function.
    ///
    /// # Safety
    /// - No work of this device that uses memory of the pool is running.
    /// - No such work is submitted afterwards.
    #[doc(alias = "cudaMemPoolSetAccess")]
    #[track_caller]
    pub unsafe fn disable_access(&self, device: Device) -> Result<()> {
        let api = "MemoryPool::disable_access";
        if self.location() == MemoryLocation::Device(device) {
            let detail = Detail::Unsupported { what: "keeping a device from its own memory" };
            return Err(Error::refused(api, detail));
        }
        self.set_access(api, device, sys::cudaMemAccessFlagsProtNone)
    }

    #[track_caller]
    fn set_access(&self, api: &'static str, device: Device, flags: sys::cudaMemAccessFlags) -> Result<()> {
        enter(api)?;
        let wanted = sys::cudaMemAccessDesc { location: MemoryLocation::Device(device).to_raw(), flags };
        // SAFETY: the pool lives as long as the borrow. The pointer is to one live local entry. If access
        // ends, the caller guarantees that no work relies on it.
        unsafe { check!(cudaMemPoolSetAccess(self.as_raw(), &raw const wanted, 1)) }
    }
}
