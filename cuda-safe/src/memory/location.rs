//! Memory locations: the devices, the host and the host's NUMA nodes.

use crate::device::Device;
use crate::sys;

/// A location that memory can be in or prefer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "cudaMemLocation")]
#[doc(alias = "cudaCpuDeviceId")]
pub enum MemoryLocation {
    /// A device.
    Device(Device),
    /// The host. The system chooses the NUMA node.
    Host,
    /// A NUMA node of the host.
    HostNuma(i32),
}

impl MemoryLocation {
    /// Returns C's structure.
    pub(crate) fn to_raw(self) -> sys::cudaMemLocation {
        let (type_, id) = match self {
            Self::Device(device) => (sys::cudaMemLocationTypeDevice, device.ordinal()),
            Self::Host => (sys::cudaMemLocationTypeHost, 0),
            Self::HostNuma(node) => (sys::cudaMemLocationTypeHostNuma, node),
        };
        let mut location = sys::cudaMemLocation { type_, ..Default::default() };
        // Since 13.3 the number is a field of a union.
        #[cfg(not(cudart_13_3))]
        {
            location.id = id;
        }
        #[cfg(cudart_13_3)]
        {
            location.__bindgen_anon_1.id = id;
        }
        location
    }

    /// Makes a location from C's number of a type and the number that belongs to it. Returns `None` if they
    /// name no location.
    pub(super) fn from_parts(type_: i32, id: i32) -> Option<Self> {
        let type_ = sys::cudaMemLocationType(u32::try_from(type_).ok()?);
        match type_ {
            sys::cudaMemLocationTypeDevice => Some(Self::Device(Device::from_ordinal(id))),
            sys::cudaMemLocationTypeHost => Some(Self::Host),
            sys::cudaMemLocationTypeHostNuma => Some(Self::HostNuma(id)),
            _ => None,
        }
    }

    /// Makes a location from one number for a device or the host, which the older queries return.
    pub(super) fn from_number(number: i32) -> Option<Self> {
        match number {
            sys::cudaCpuDeviceId => Some(Self::Host),
            device if device >= 0 => Some(Self::Device(Device::from_ordinal(device))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_as_they_went() {
        let one = Device::from_ordinal(1);
        for place in [MemoryLocation::Device(one), MemoryLocation::Host, MemoryLocation::HostNuma(3)] {
            let raw = place.to_raw();
            let id = match place {
                MemoryLocation::Device(device) => device.ordinal(),
                MemoryLocation::Host => 0,
                MemoryLocation::HostNuma(node) => node,
            };
            let type_ = i32::try_from(raw.type_.0).unwrap();
            assert_eq!(MemoryLocation::from_parts(type_, id), Some(place));
        }
        assert_eq!(MemoryLocation::from_parts(0, 0), None);
    }

    #[test]
    fn numbers_below_zero_are_the_host_or_nowhere() {
        let of = MemoryLocation::from_number;
        assert_eq!(of(0), Some(MemoryLocation::Device(Device::from_ordinal(0))));
        assert_eq!((of(-1), of(-2)), (Some(MemoryLocation::Host), None));
    }
}
