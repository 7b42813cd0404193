//! Of which kind the memory of a pool is.

#[cfg(cudart_13_0)]
use crate::sys;

/// What kind of memory a pool is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolKind {
    /// Memory that stays at its place.
    Pinned,
    /// Memory that moves between the host and the devices.
    Managed,
}

impl PoolKind {
    /// As C has it.
    #[cfg(cudart_13_0)]
    pub(super) fn to_raw(self) -> sys::cudaMemAllocationType {
        match self {
            Self::Pinned => sys::cudaMemAllocationTypePinned,
            Self::Managed => sys::cudaMemAllocationTypeManaged,
        }
    }
}
