//! Which devices reach a pool's memory.
#![expect(unsafe_code, reason = "calls cudaMemPoolSetAccess and cudaMemPoolGetAccess")]

use super::super::location::MemoryLocation;
use super::owned::{MemoryPool, enter};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

/// What a device may do with a pool's memory: one of the constants, or something newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolAccess(sys::cudaMemAccessFlags);

impl PoolAccess {
    /// Nothing.
    pub const NONE: Self = Self(sys::cudaMemAccessFlagsProtNone);
    /// Read.
    pub const READ: Self = Self(sys::cudaMemAccessFlagsProtRead);
    /// Read and write.
    pub const READ_WRITE: Self = Self(sys::cudaMemAccessFlagsProtReadWrite);

    /// The number as C has it.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaMemAccessFlags {
        self.0
    }
}

impl MemoryPool {
    /// What a device may do with the pool's memory.
    ///
    /// Stands for [`cudaMemPoolGetAccess`](sys::cudaMemPoolGetAccess).
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolGetAccess")]
    #[track_caller]
    pub fn access(&self, device: Device) -> Result<PoolAccess> {
        enter("MemoryPool::access")?;
        let mut flags = sys::cudaMemAccessFlagsProtNone;
        let mut location = MemoryLocation::Device(device).to_raw();
        // SAFETY: the pool lives while the borrow does; both pointers are to live variables of ours.
        unsafe { check!(cudaMemPoolGetAccess(&raw mut flags, self.as_raw(), &raw mut location)) }?;
        Ok(PoolAccess(flags))
    }

    /// Lets a device read and write the pool's memory, that which is there already included.
    ///
    /// Stands for [`cudaMemPoolSetAccess`](sys::cudaMemPoolSetAccess).
    /// [`Device::enable_peer_access`] does nothing for memory of pools.
    ///
    /// # Errors
    /// `cudaErrorInvalidDevice` where [`Device::can_access_peer`] says no; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolSetAccess")]
    #[track_caller]
    pub fn enable_access(&self, device: Device) -> Result<()> {
        self.set_access("MemoryPool::enable_access", device, sys::cudaMemAccessFlagsProtReadWrite)
    }

    /// Ends what [`enable_access`](Self::enable_access) began.
    ///
    /// # Errors
    /// A refusal for the pool's own device, or inside a host function.
    ///
    /// # Safety
    /// No work of this device that uses memory of the pool may be under way, or be started afterwards.
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
        // SAFETY: the pool lives while the borrow does; the pointer is to one live entry of ours. That no work relies on
        // access that ends is a duty of the caller's.
        unsafe { check!(cudaMemPoolSetAccess(self.as_raw(), &raw const wanted, 1)) }
    }
}
