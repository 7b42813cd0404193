//! [`DevicePtr`]: a device address as a value, for structures that kernels read.
#![expect(unsafe_code, reason = "an address is plain bytes, and may be sent anywhere")]

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use super::place::OnDevice;
use super::{DeviceBuffer, Slice, SliceMut};

/// The address of elements of `T` on a device, as 64 bits: what a `T *` in a structure of a kernel's is.
///
/// An address is only a number: anybody may have it, copy it to a device and look at it. What is *done* through it happens
/// in kernels, whose launch is `unsafe`, and the books do not see it: a buffer that a kernel reaches only through such an
/// address is not an argument of the launch. So it is the launch that must say what it reaches: give the buffers as
/// arguments too, or put the launch on the stream with [`enqueue`](crate::stream::StreamRef::enqueue) and the
/// [`access`](crate::memory::Buffer::access)es of all of them. Then the work is ordered with everything else, and
/// the memory is not freed before it is done.
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
    /// No address.
    pub const NULL: Self = Self::from_address(0);

    /// This address.
    #[must_use]
    pub const fn from_address(address: u64) -> Self {
        Self { address, element: PhantomData }
    }

    /// The address of a pointer that devices understand, such as
    /// [`PinnedBuffer::device_ptr`](crate::PinnedBuffer) gives.
    #[must_use]
    pub fn new(pointer: *mut T) -> Self {
        // Devices have 64 bits, and hosts of CUDA do not have more.
        Self::from_address(u64::try_from(pointer.expose_provenance()).unwrap_or(0))
    }

    /// The address as a number.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Whether there is no address.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.address == 0
    }
}

impl<T> From<&DeviceBuffer<T>> for DevicePtr<T> {
    /// The address of the first element; null where there are none.
    fn from(buffer: &DeviceBuffer<T>) -> Self {
        Self::new(buffer.as_ptr().cast_mut())
    }
}

impl<T> From<Slice<'_, T, OnDevice>> for DevicePtr<T> {
    /// The address of the first element.
    fn from(slice: Slice<'_, T, OnDevice>) -> Self {
        Self::new(slice.as_ptr().cast_mut())
    }
}

impl<T> From<SliceMut<'_, T, OnDevice>> for DevicePtr<T> {
    /// The address of the first element.
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

// SAFETY: an address is a number; the host does nothing through it.
unsafe impl<T> Send for DevicePtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for DevicePtr<T> {}
// SAFETY: 64 bits, of which all zeros are no address.
unsafe impl<T> Zeroable for DevicePtr<T> {}
// SAFETY: 64 bits without padding, any of which are an address, and a marker without bytes.
unsafe impl<T: 'static> Pod for DevicePtr<T> {}
