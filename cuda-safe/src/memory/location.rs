//! Where memory is: the devices, the host and its NUMA nodes, and the properties of an address (its kind of
//! memory, its device, and the addresses by which the host and the devices reach it).
#![expect(unsafe_code, reason = "calls cudaPointerGetAttributes")]

use std::ffi::c_void;

use crate::device::Device;
use crate::error::{Result, ensure_callable};
use crate::{check, sys};

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
            Self::Device(device) => (sys::cudaMemLocationTypeDevice, device.as_raw()),
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

/// The kind of memory an address is in: one of the constants, or a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryKind(sys::cudaMemoryType);

impl MemoryKind {
    /// Memory unknown to CUDA: pageable host memory, or no memory at all.
    pub const UNREGISTERED: Self = Self(sys::cudaMemoryTypeUnregistered);
    /// Page-locked host memory, allocated or registered.
    pub const HOST: Self = Self(sys::cudaMemoryTypeHost);
    /// Memory of a device.
    pub const DEVICE: Self = Self(sys::cudaMemoryTypeDevice);
    /// Managed memory.
    pub const MANAGED: Self = Self(sys::cudaMemoryTypeManaged);

    /// Returns the number that C uses.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaMemoryType {
        self.0
    }
}

/// The properties of an address.
///
/// # Examples
/// ```
/// use cuda_safe::memory::{MemoryKind, PointerAttributes};
/// use cuda_safe::{Device, DeviceBuffer};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let buffer = DeviceBuffer::<f32>::alloc(100)?;
/// let found = PointerAttributes::from_ptr(buffer.as_ptr())?;
/// assert_eq!(found.kind(), MemoryKind::DEVICE);
/// assert_eq!(found.device(), Some(Device::current()?));
///
/// let local = 1.0_f32;
/// assert_eq!(PointerAttributes::from_ptr(&raw const local)?.kind(), MemoryKind::UNREGISTERED);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "cudaPointerAttributes")]
pub struct PointerAttributes {
    kind: MemoryKind,
    device: Option<Device>,
    device_ptr: *mut c_void,
    host_ptr: *mut c_void,
}

// SAFETY: the addresses are only reported. Nothing is read or written through them here.
unsafe impl Send for PointerAttributes {}
// SAFETY: the addresses are only reported. Nothing is read or written through them here.
unsafe impl Sync for PointerAttributes {}

impl PointerAttributes {
    /// Returns the properties of an address. Any address is allowed, even one that is not memory: it is not
    /// dereferenced.
    ///
    /// Stands for [`cudaPointerGetAttributes`](sys::cudaPointerGetAttributes). The result is valid as long
    /// as the memory is.
    ///
    /// # Errors
    /// Fails if there is no device. Refused inside a host function.
    #[doc(alias = "cudaPointerGetAttributes")]
    #[track_caller]
    pub fn from_ptr<T>(pointer: *const T) -> Result<Self> {
        ensure_callable("PointerAttributes::from_ptr")?;
        let mut found = sys::cudaPointerAttributes::default();
        // SAFETY: the first pointer is to a live local structure, which the call fills. The other one is
        // only looked up.
        unsafe { check!(cudaPointerGetAttributes(&raw mut found, pointer.cast())) }?;
        let kind = MemoryKind(found.type_);
        let known = kind != MemoryKind::UNREGISTERED && found.device >= 0;
        Ok(Self {
            kind,
            device: known.then(|| Device::from_ordinal(found.device)),
            device_ptr: found.devicePointer,
            host_ptr: found.hostPointer,
        })
    }

    /// Returns the kind of memory that the address is in.
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Returns the device of the memory. For host memory, this is the device that was current when the
    /// memory was allocated or registered. Returns `None` for memory unknown to CUDA.
    #[must_use]
    pub fn device(&self) -> Option<Device> {
        self.device
    }

    /// Returns the address by which devices reach the same byte, or null if they cannot.
    #[must_use]
    pub fn device_ptr(&self) -> *mut c_void {
        self.device_ptr
    }

    /// Returns the address by which the host reaches the same byte, or null if it cannot.
    #[must_use]
    pub fn host_ptr(&self) -> *mut c_void {
        self.host_ptr
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
                MemoryLocation::Device(device) => device.as_raw(),
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
