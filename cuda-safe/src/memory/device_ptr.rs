//! [`DevicePtr`]: a device address as a value, for structures that kernels read.
#![expect(unsafe_code, reason = "an address is plain bytes, and may be sent anywhere")]

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use super::memory_type::OnDevice;
use super::{DeviceBuffer, Slice, SliceMut};

/// The 64-bit address of elements of `T` on a device: a `T *` in a structure that a kernel reads.
///
/// An address is only a number, which anybody may have, copy to a device and read. Kernels access memory
/// through it, and their launch is `unsafe`. The tracker does not see these accesses, because a buffer that
/// a kernel reaches only through such an address is not an argument of the launch. Therefore the launch
/// must declare the buffers: pass them as arguments, too, or submit the launch with
/// [`enqueue`](crate::stream::StreamRef::enqueue) and the [`access`](crate::memory::Buffer::access) of each
/// of them. The work is then ordered with all other work, and the memory is not freed before the work is
/// complete.
///
/// # Examples
/// ```
/// use cuda_safe::DeviceBuffer;
/// use cuda_safe::memory::DevicePtr;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut rows = [DeviceBuffer::<f32>::alloc(10)?, DeviceBuffer::<f32>::alloc(20)?];
/// let addresses: Vec<_> = rows.iter_mut().map(|row| DevicePtr::from(row.as_slice_mut())).collect();
/// // For a kernel that takes `float *const *rows`.
/// let table = DeviceBuffer::<DevicePtr<f32>>::from_slice(&addresses)?;
/// assert_eq!(table.to_vec()?[1].address(), u64::try_from(rows[1].as_ptr().addr()).unwrap());
/// # Ok(())
/// # }
/// ```
#[repr(transparent)]
pub struct DevicePtr<T> {
    address: u64,
    element: PhantomData<*mut T>,
}

impl<T> DevicePtr<T> {
    /// The null address.
    pub const NULL: Self = Self::from_address(0);

    /// Makes a pointer from an address.
    #[must_use]
    pub const fn from_address(address: u64) -> Self {
        Self { address, element: PhantomData }
    }

    /// Makes a pointer from one that devices understand, such as that of
    /// [`PinnedBuffer::device_ptr`](crate::PinnedBuffer).
    #[must_use]
    pub fn new(pointer: *mut T) -> Self {
        // Device addresses have 64 bits, and hosts that CUDA supports do not have more.
        Self::from_address(u64::try_from(pointer.expose_provenance()).unwrap_or(0))
    }

    /// Returns the address as a number.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Returns whether the address is null.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.address == 0
    }
}

impl<T> From<&DeviceBuffer<T>> for DevicePtr<T> {
    /// Returns the address of the first element, or null if the length is 0.
    fn from(buffer: &DeviceBuffer<T>) -> Self {
        Self::new(buffer.as_ptr().cast_mut())
    }
}

impl<T> From<Slice<'_, T, OnDevice>> for DevicePtr<T> {
    /// Returns the address of the first element.
    fn from(slice: Slice<'_, T, OnDevice>) -> Self {
        Self::new(slice.as_ptr().cast_mut())
    }
}

impl<T> From<SliceMut<'_, T, OnDevice>> for DevicePtr<T> {
    /// Returns the address of the first element.
    fn from(slice: SliceMut<'_, T, OnDevice>) -> Self {
        Self::new(slice.as_ptr().cast_mut())
    }
}

impl<T> Clone for DevicePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePtr<T> {}

impl<T> PartialEq for DevicePtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePtr<T> {}

impl<T> fmt::Debug for DevicePtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePtr({:#x})", self.address)
    }
}

// SAFETY: an address is a number, and the host accesses nothing through it.
unsafe impl<T> Send for DevicePtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for DevicePtr<T> {}
// SAFETY: 64 bits. All zeros is the null address.
unsafe impl<T> Zeroable for DevicePtr<T> {}
// SAFETY: 64 bits without padding, every pattern of which is an address, and a zero-sized marker.
unsafe impl<T: 'static> Pod for DevicePtr<T> {}
