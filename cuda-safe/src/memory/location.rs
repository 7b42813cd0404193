//! Places that memory can be in, or be near to, as the runtime names them.

use crate::device::Device;
use crate::sys;

/// A place that memory can be in, or be near to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "cudaMemLocation")]
#[doc(alias = "cudaCpuDeviceId")]
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
    pub(crate) fn to_raw(self) -> sys::cudaMemLocation {
        let (type_, id) = match self {
            Self::Device(device) => (sys::cudaMemLocationTypeDevice, device.ordinal()),
            Self::Host => (sys::cudaMemLocationTypeHost, 0),
            Self::HostNuma(node) => (sys::cudaMemLocationTypeHostNuma, node),
        };
        let mut location = sys::cudaMemLocation { type_, ..Default::default() };
        // From 13.3 on the number is one of several things that it can be.
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

    /// From what C answers: the number of a type, and the number that goes with it. None where it names no place.
    pub(super) fn from_parts(type_: i32, id: i32) -> Option<Self> {
        let type_ = sys::cudaMemLocationType(u32::try_from(type_).ok()?);
        match type_ {
            sys::cudaMemLocationTypeDevice => Some(Self::Device(Device::from_ordinal(id))),
            sys::cudaMemLocationTypeHost => Some(Self::Host),
            sys::cudaMemLocationTypeHostNuma => Some(Self::HostNuma(id)),
            _ => None,
        }
    }

    /// From a number that stands for a device, or for the host, as older questions are answered.
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
