//! [`PoolReuse`]: when a pool reuses freed memory.

use bitflags::bitflags;

use crate::sys;

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
pub(super) const RULES: [(PoolReuse, sys::cudaMemPoolAttr); 3] = [
    (PoolReuse::FOLLOW_EVENT_DEPENDENCIES, sys::cudaMemPoolReuseFollowEventDependencies),
    (PoolReuse::ALLOW_OPPORTUNISTIC, sys::cudaMemPoolReuseAllowOpportunistic),
    (PoolReuse::ALLOW_INTERNAL_DEPENDENCIES, sys::cudaMemPoolReuseAllowInternalDependencies),
];
