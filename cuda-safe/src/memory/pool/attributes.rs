//! What a pool keeps, how it uses memory again, and how much it has.
#![expect(unsafe_code, reason = "gets and sets attributes of pools")]

use std::ffi::{c_int, c_void};

use bitflags::bitflags;

use super::owned::{MemoryPool, enter};
use super::retention;
use crate::error::Result;
use crate::{check, sys};

bitflags! {
    /// When a pool gives freed memory to an allocation. CUDA's choice is all three.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct PoolReuse: u32 {
        /// Where an event orders the allocating stream after the free.
        const FOLLOW_EVENT_DEPENDENCIES = 1;
        /// Where the free happens to be complete.
        const ALLOW_OPPORTUNISTIC = 2;
        /// After making the allocating stream wait for the free.
        const ALLOW_INTERNAL_DEPENDENCIES = 4;
    }
}

/// Each rule, with C's name for it.
const RULES: [(PoolReuse, sys::cudaMemPoolAttr); 3] = [
    (PoolReuse::FOLLOW_EVENT_DEPENDENCIES, sys::cudaMemPoolReuseFollowEventDependencies),
    (PoolReuse::ALLOW_OPPORTUNISTIC, sys::cudaMemPoolReuseAllowOpportunistic),
    (PoolReuse::ALLOW_INTERNAL_DEPENDENCIES, sys::cudaMemPoolReuseAllowInternalDependencies),
];

/// How much a pool has, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "cudaMemPoolAttrUsedMemCurrent")]
#[doc(alias = "cudaMemPoolAttrReservedMemCurrent")]
pub struct PoolStatistics {
    /// Held for the pool now.
    pub reserved: u64,
    /// The most that was held at once since the watermarks were reset.
    pub reserved_high: u64,
    /// In buffers now, with what their sizes were rounded up by.
    pub used: u64,
    /// The most that was in buffers at once since the watermarks were reset.
    pub used_high: u64,
}

impl MemoryPool {
    /// How many bytes the pool keeps when the host synchronises, beyond what is in use.
    ///
    /// Stands for [`cudaMemPoolGetAttribute`](sys::cudaMemPoolGetAttribute) with `cudaMemPoolAttrReleaseThreshold`.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolGetAttribute")]
    #[doc(alias = "cudaMemPoolAttrReleaseThreshold")]
    #[track_caller]
    pub fn release_threshold(&self) -> Result<u64> {
        self.number("MemoryPool::release_threshold", sys::cudaMemPoolAttrReleaseThreshold)
    }

    /// Sets how many bytes the pool keeps when the host synchronises; `u64::MAX` is all.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with `cudaMemPoolAttrReleaseThreshold`. The
    /// crate does not change the threshold of a device's default pool any more once this has set it.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolSetAttribute")]
    #[doc(alias = "cudaMemPoolAttrReleaseThreshold")]
    #[track_caller]
    pub fn set_release_threshold(&self, bytes: u64) -> Result<()> {
        if self.is_default()
            && let Ok(device) = self.device()
        {
            retention::leave_alone(device);
        }
        self.set_number("MemoryPool::set_release_threshold", sys::cudaMemPoolAttrReleaseThreshold, bytes)
    }

    /// When the pool gives freed memory to an allocation.
    ///
    /// Stands for [`cudaMemPoolGetAttribute`](sys::cudaMemPoolGetAttribute) with the three `cudaMemPoolReuse` attributes.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolGetAttribute")]
    #[track_caller]
    pub fn reuse(&self) -> Result<PoolReuse> {
        enter("MemoryPool::reuse")?;
        let mut rules = PoolReuse::empty();
        for (rule, attribute) in RULES {
            let mut on: c_int = 0;
            let value = (&raw mut on).cast::<c_void>();
            // SAFETY: the pool lives while the borrow does; the attribute is an `int`, which is what the pointer is to.
            unsafe { check!(cudaMemPoolGetAttribute(self.as_raw(), attribute, value)) }?;
            rules.set(rule, on != 0);
        }
        Ok(rules)
    }

    /// Sets when the pool gives freed memory to an allocation.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with the three `cudaMemPoolReuse` attributes.
    ///
    /// # Errors
    /// What the runtime fails with, some of the rules then being set; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolSetAttribute")]
    #[track_caller]
    pub fn set_reuse(&self, rules: PoolReuse) -> Result<()> {
        enter("MemoryPool::set_reuse")?;
        for (rule, attribute) in RULES {
            let mut on = c_int::from(rules.contains(rule));
            let value = (&raw mut on).cast::<c_void>();
            // SAFETY: the pool lives while the borrow does; the attribute is an `int`, which is what the pointer is to.
            unsafe { check!(cudaMemPoolSetAttribute(self.as_raw(), attribute, value)) }?;
        }
        Ok(())
    }

    /// How much the pool has, now and at most.
    ///
    /// Stands for [`cudaMemPoolGetAttribute`](sys::cudaMemPoolGetAttribute), four times.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolGetAttribute")]
    #[track_caller]
    pub fn statistics(&self) -> Result<PoolStatistics> {
        let api = "MemoryPool::statistics";
        Ok(PoolStatistics {
            reserved: self.number(api, sys::cudaMemPoolAttrReservedMemCurrent)?,
            reserved_high: self.number(api, sys::cudaMemPoolAttrReservedMemHigh)?,
            used: self.number(api, sys::cudaMemPoolAttrUsedMemCurrent)?,
            used_high: self.number(api, sys::cudaMemPoolAttrUsedMemHigh)?,
        })
    }

    /// Has both watermarks begin anew at what there is now.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with 0, twice.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolSetAttribute")]
    #[track_caller]
    pub fn reset_watermarks(&self) -> Result<()> {
        let api = "MemoryPool::reset_watermarks";
        self.set_number(api, sys::cudaMemPoolAttrReservedMemHigh, 0)?;
        self.set_number(api, sys::cudaMemPoolAttrUsedMemHigh, 0)
    }

    /// An attribute that is a number of bytes.
    #[track_caller]
    pub(super) fn number(&self, api: &'static str, attribute: sys::cudaMemPoolAttr) -> Result<u64> {
        enter(api)?;
        let mut number = 0_u64;
        let value = (&raw mut number).cast::<c_void>();
        // SAFETY: the pool lives while the borrow does; these attributes have 64 bits, which is what the pointer is to.
        unsafe { check!(cudaMemPoolGetAttribute(self.as_raw(), attribute, value)) }?;
        Ok(number)
    }

    #[track_caller]
    fn set_number(&self, api: &'static str, attribute: sys::cudaMemPoolAttr, mut number: u64) -> Result<()> {
        enter(api)?;
        let value = (&raw mut number).cast::<c_void>();
        // SAFETY: the pool lives while the borrow does; these attributes have 64 bits, which is what the pointer is to.
        unsafe { check!(cudaMemPoolSetAttribute(self.as_raw(), attribute, value)) }
    }
}
