//! The attributes of a pool: the memory that it retains, how it reuses memory, and its size.
#![expect(unsafe_code, reason = "gets and sets attributes of pools")]

use std::ffi::{c_int, c_void};

use bitflags::bitflags;

use super::owned::{MemoryPool, enter};
use super::retention;
use crate::error::Result;
use crate::{check, sys};

bitflags! {
    /// When a pool reuses freed memory for an allocation. CUDA's default is all three.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct PoolReuse: u32 {
        /// If an event orders the allocating stream after the free.
        const FOLLOW_EVENT_DEPENDENCIES = 1;
        /// If the free is complete at the time.
        const ALLOW_OPPORTUNISTIC = 2;
        /// After the pool has made the allocating stream wait for the free.
        const ALLOW_INTERNAL_DEPENDENCIES = 4;
    }
}

/// Each rule, with its attribute in C.
const RULES: [(PoolReuse, sys::cudaMemPoolAttr); 3] = [
    (PoolReuse::FOLLOW_EVENT_DEPENDENCIES, sys::cudaMemPoolReuseFollowEventDependencies),
    (PoolReuse::ALLOW_OPPORTUNISTIC, sys::cudaMemPoolReuseAllowOpportunistic),
    (PoolReuse::ALLOW_INTERNAL_DEPENDENCIES, sys::cudaMemPoolReuseAllowInternalDependencies),
];

/// The size of a pool, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "cudaMemPoolAttrUsedMemCurrent")]
#[doc(alias = "cudaMemPoolAttrReservedMemCurrent")]
pub struct PoolStatistics {
    /// Reserved for the pool now.
    pub reserved: u64,
    /// The greatest reserved size since the completed sequence numbers were reset.
    pub reserved_high: u64,
    /// In use by buffers now, including the rounding of their sizes.
    pub used: u64,
    /// The greatest used size since the completed sequence numbers were reset.
    pub used_high: u64,
}

impl MemoryPool {
    /// Returns the number of bytes that the pool retains when the host synchronises, beyond those in use.
    ///
    /// Stands for [`cudaMemPoolGetAttribute`](sys::cudaMemPoolGetAttribute) with
    /// `cudaMemPoolAttrReleaseThreshold`.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolGetAttribute")]
    #[doc(alias = "cudaMemPoolAttrReleaseThreshold")]
    #[track_caller]
    pub fn release_threshold(&self) -> Result<u64> {
        self.number("MemoryPool::release_threshold", sys::cudaMemPoolAttrReleaseThreshold)
    }

    /// Sets the number of bytes that the pool retains when the host synchronises. `u64::MAX` retains all.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with
    /// `cudaMemPoolAttrReleaseThreshold`. Once this has set the threshold of a device's default pool, the
    /// crate no longer changes it.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
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

    /// Returns when the pool reuses freed memory for an allocation.
    ///
    /// Stands for [`cudaMemPoolGetAttribute`](sys::cudaMemPoolGetAttribute) with the three
    /// `cudaMemPoolReuse` attributes.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolGetAttribute")]
    #[track_caller]
    pub fn reuse(&self) -> Result<PoolReuse> {
        enter("MemoryPool::reuse")?;
        let mut rules = PoolReuse::empty();
        for (rule, attribute) in RULES {
            let mut on: c_int = 0;
            let value = (&raw mut on).cast::<c_void>();
            // SAFETY: the pool lives as long as the borrow. The attribute is an `int`, and the pointer is
            // to a live local one.
            unsafe { check!(cudaMemPoolGetAttribute(self.as_raw(), attribute, value)) }?;
            rules.set(rule, on != 0);
        }
        Ok(rules)
    }

    /// Sets when the pool reuses freed memory for an allocation.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with the three
    /// `cudaMemPoolReuse` attributes.
    ///
    /// # Errors
    /// Returns the runtime's error; some of the rules are then set. Refused inside a host function.
    #[doc(alias = "cudaMemPoolSetAttribute")]
    #[track_caller]
    pub fn set_reuse(&self, rules: PoolReuse) -> Result<()> {
        enter("MemoryPool::set_reuse")?;
        for (rule, attribute) in RULES {
            let mut on = c_int::from(rules.contains(rule));
            let value = (&raw mut on).cast::<c_void>();
            // SAFETY: the pool lives as long as the borrow. The attribute is an `int`, and the pointer is
            // to a live local one.
            unsafe { check!(cudaMemPoolSetAttribute(self.as_raw(), attribute, value)) }?;
        }
        Ok(())
    }

    /// Returns the size of the pool, now and at most.
    ///
    /// Stands for [`cudaMemPoolGetAttribute`](sys::cudaMemPoolGetAttribute), which is called four times.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
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

    /// Resets both completed sequence numbers to the current sizes.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with 0, which is called twice.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolSetAttribute")]
    #[track_caller]
    pub fn reset_watermarks(&self) -> Result<()> {
        let api = "MemoryPool::reset_watermarks";
        self.set_number(api, sys::cudaMemPoolAttrReservedMemHigh, 0)?;
        self.set_number(api, sys::cudaMemPoolAttrUsedMemHigh, 0)
    }

    /// Returns an attribute that is a 64-bit number of bytes.
    #[track_caller]
    pub(super) fn number(&self, api: &'static str, attribute: sys::cudaMemPoolAttr) -> Result<u64> {
        enter(api)?;
        let mut number = 0_u64;
        let value = (&raw mut number).cast::<c_void>();
        // SAFETY: the pool lives as long as the borrow. These attributes have 64 bits, and the pointer is
        // to a live local variable of that size.
        unsafe { check!(cudaMemPoolGetAttribute(self.as_raw(), attribute, value)) }?;
        Ok(number)
    }

    #[track_caller]
    fn set_number(&self, api: &'static str, attribute: sys::cudaMemPoolAttr, mut number: u64) -> Result<()> {
        enter(api)?;
        let value = (&raw mut number).cast::<c_void>();
        // SAFETY: the pool lives as long as the borrow. These attributes have 64 bits, and the pointer is
        // to a live local variable of that size.
        unsafe { check!(cudaMemPoolSetAttribute(self.as_raw(), attribute, value)) }
    }
}
