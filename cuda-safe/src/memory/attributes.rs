//! What an address is: whose memory it is in, and by which addresses the host and the devices know it.
#![expect(unsafe_code, reason = "calls cudaPointerGetAttributes")]

use std::ffi::c_void;

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, stream, sys};

/// What kind of memory an address is in: one of the constants, or something newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryKind(sys::cudaMemoryType);

impl MemoryKind {
    /// Memory that CUDA knows nothing of: pageable memory of the host, or no memory at all.
    pub const UNREGISTERED: Self = Self(sys::cudaMemoryTypeUnregistered);
    /// Page-locked memory of the host, allocated or registered.
    pub const HOST: Self = Self(sys::cudaMemoryTypeHost);
    /// Memory of a device.
    pub const DEVICE: Self = Self(sys::cudaMemoryTypeDevice);
    /// Managed memory.
    pub const MANAGED: Self = Self(sys::cudaMemoryTypeManaged);

    /// The number as C has it.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaMemoryType {
        self.0
    }
}

/// What is known of an address.
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

// SAFETY: the addresses are only told; nothing is read or written through them here.
unsafe impl Send for PointerAttributes {}
// SAFETY: as above.
unsafe impl Sync for PointerAttributes {}

impl PointerAttributes {
    /// Asks what an address is. Any address may be asked about: it is not looked at, and need not be memory.
    ///
    /// Stands for [`cudaPointerGetAttributes`](sys::cudaPointerGetAttributes). The answer holds as long as the memory does.
    ///
    /// # Errors
    /// Where there is no device; a refusal inside a host function.
    #[doc(alias = "cudaPointerGetAttributes")]
    #[track_caller]
    pub fn of<T>(pointer: *const T) -> Result<Self> {
        if stream::in_callback() {
            return Err(Error::refused("PointerAttributes::of", Detail::InCallback));
        }
        let mut found = sys::cudaPointerAttributes::default();
        // SAFETY: the first pointer is to a live structure of ours, which the call fills; the other one is only looked up.
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

    /// What kind of memory the address is in.
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// The device that the memory is of, or for memory of the host, that was current when it was allocated or
    /// registered; `None` for memory that CUDA knows nothing of.
    #[must_use]
    pub fn device(&self) -> Option<Device> {
        self.device
    }

    /// The address by which devices reach the same byte; null where they do not.
    #[must_use]
    pub fn device_ptr(&self) -> *mut c_void {
        self.device_ptr
    }

    /// The address by which the host reaches the same byte; null where it does not.
    #[must_use]
    pub fn host_ptr(&self) -> *mut c_void {
        self.host_ptr
    }
}
