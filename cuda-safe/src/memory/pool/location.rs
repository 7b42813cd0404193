//! Where the memory of a pool is, and of which kind.

use crate::device::Device;
use crate::sys;

/// A place that memory can be in, or be near to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryLocation {
    /// A device.
    Device(Device),
    /// The host, wherever the system puts it.
    Host,
    /// A node of the host's memory.
    HostNuma(i32),
}

impl MemoryLocation {
    /// As C has it.
    pub(super) fn to_raw(self) -> sys::cudaMemLocation {
        let (type_, id) = match self {
            Self::Device(device) => (sys::cudaMemLocationTypeDevice, device.ordinal()),
            Self::Host => (sys::cudaMemLocationTypeHost, 0),
            Self::HostNuma(node) => (sys::cudaMemLocationTypeHostNuma, node),
        };
        let mut location = sys::cudaMemLocation { type_, ..Default::default() };
        location.id = id;
        location
    }
}

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
