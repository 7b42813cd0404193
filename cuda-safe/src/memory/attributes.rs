//! The properties of an address: its kind of memory, its device, and the addresses by which the host and
//! the devices reach it.
#![expect(unsafe_code, reason = "calls cudaPointerGetAttributes")]

use std::ffi::c_void;

use crate::device::Device;
use crate::error::{Result, ensure_callable};
use crate::{check, sys};

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
/// let found = PointerAttributes::of(buffer.as_ptr())?;
/// assert_eq!(found.kind(), MemoryKind::DEVICE);
/// assert_eq!(found.device(), Some(Device::current()?));
///
/// let local = 1.0_f32;
/// assert_eq!(PointerAttributes::of(&raw const local)?.kind(), MemoryKind::UNREGISTERED);
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
// SAFETY: as above.
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
    pub fn of<T>(pointer: *const T) -> Result<Self> {
        ensure_callable("PointerAttributes::of")?;
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
