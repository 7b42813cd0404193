//! The kind of a pool's memory.

#[cfg(cudart_13_0)]
use crate::sys;

/// The kind of a pool's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolKind {
    /// Memory that stays at its location.
    Pinned,
    /// Memory that migrates between the host and the devices.
    Managed,
}

impl PoolKind {
    /// Returns C's number.
    #[cfg(cudart_13_0)]
    pub(super) fn to_raw(self) -> sys::cudaMemAllocationType {
        match self {
            Self::Pinned => sys::cudaMemAllocationTypePinned,
            Self::Managed => sys::cudaMemAllocationTypeManaged,
        }
    }
}
