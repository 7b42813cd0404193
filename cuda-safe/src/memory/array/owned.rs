//! Owned arrays.
#![expect(unsafe_code, reason = "takes over raw handles and asks about them")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::element::ArrayElement;
use super::info::{ArrayFlags, ArrayInfo, ArrayKind, bytes_of};
use super::region::Region;
use super::view::{ArrayView, ArrayViewMut};
use crate::check;
use crate::device::Device;
use crate::error::{Detail, Error, ErrorWith, Result};
use crate::memory::allocation::{Allocation, Kind};
use crate::memory::retain::retained;
use crate::sys;

/// A CUDA array of elements `T` on a device, freed when it is dropped.
///
/// [`memcpy_2d`](crate::memcpy_2d), [`memcpy_3d`](crate::memcpy_3d) and their asynchronous forms move the
/// elements. Parts of it are [views](Self::view). An [`ArrayBuilder`](super::ArrayBuilder) makes other
/// kinds of arrays.
///
/// # Ordering
/// The tracker records the accesses to the array. Dropping the array waits for the work that still uses it.
///
/// # Examples
/// ```
/// use cuda_safe::memcpy_2d;
/// use cuda_safe::memory::{Array, Plane};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let numbers: Vec<u16> = (0..12).collect();
/// let mut array = Array::<u16>::alloc_2d(4, 3)?;
/// memcpy_2d(&mut array, &Plane::from_slice(&numbers, 4, 3)?)?;
/// assert_eq!(array.view().columns(1..3)?.rows(2..)?.to_vec()?, [9, 10]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaArray_t")]
pub struct Array<T> {
    allocation: Arc<Allocation>,
    kind: ArrayKind,
    extent: [usize; 3],
    flags: ArrayFlags,
    elements: PhantomData<T>,
}

impl<T: ArrayElement> Array<T> {
    /// Returns the owner of an allocation that was made for elements of this type.
    pub(super) fn new(
        allocation: Allocation,
        kind: ArrayKind,
        extent: [usize; 3],
        flags: ArrayFlags,
    ) -> Self {
        Self { allocation: retained(allocation), kind, extent, flags, elements: PhantomData }
    }

    /// Takes over an array that was made elsewhere. The runtime reports its extent.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused if the elements are not `T`. On an error, the array is not
    /// taken over.
    ///
    /// # Safety
    /// - `raw` came from `cudaMallocArray` or `cudaMalloc3DArray` on `device`, or from
    ///   [`into_raw`](Self::into_raw). Nobody else frees it, and it has memory.
    /// - Work that uses it is complete. [`into_raw`](Self::into_raw) waits for the work that the tracker
    ///   knows.
    #[track_caller]
    pub unsafe fn from_raw(device: Device, raw: sys::cudaArray_t) -> Result<Self> {
        // SAFETY: the caller guarantees that the array is live and belongs to the device.
        let info = unsafe { ArrayInfo::of(device, raw) }?;
        if info.descriptor != T::descriptor() {
            let detail = Detail::Unsupported { what: "an array of other elements than those of the type" };
            return Err(
                Error::refused("Array::from_raw", detail).with_code(sys::cudaErrorInvalidChannelDescriptor)
            );
        }
        let bytes = bytes_of::<T>("Array::from_raw", info.extent())?;
        // SAFETY: the caller guarantees it, and the size is that of all elements.
        let allocation = unsafe { Allocation::from_raw(device, raw.cast(), bytes, Kind::Array) };
        Ok(Self::new(allocation, info.kind, info.extent(), info.flags))
    }

    /// Views all elements.
    #[must_use]
    pub fn view(&self) -> ArrayView<'_, T> {
        ArrayView::new(self.region())
    }

    /// Views all elements for writing.
    #[must_use]
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T> {
        ArrayViewMut::new(self.region())
    }

    /// Views some layers or faces.
    ///
    /// # Errors
    /// Refused if the range is not within the array.
    #[track_caller]
    pub fn layers(&self, range: impl RangeBounds<usize>) -> Result<ArrayView<'_, T>> {
        Ok(ArrayView::new(self.region().layers("Array::layers", &range)?))
    }

    /// Views some layers or faces for writing.
    ///
    /// # Errors
    /// Refused if the range is not within the array.
    #[track_caller]
    pub fn layers_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region().layers("Array::layers_mut", &range)?))
    }
}

impl<T> Array<T> {
    /// Returns the meaning of the dimensions.
    #[must_use]
    pub fn kind(&self) -> ArrayKind {
        self.kind
    }

    /// Returns the number of elements in a row.
    #[must_use]
    pub fn width(&self) -> usize {
        let [width, ..] = self.extent;
        width
    }

    /// Returns the number of rows in a layer. It is 1 for a line.
    #[must_use]
    pub fn height(&self) -> usize {
        let [_, height, _] = self.extent;
        height
    }

    /// Returns the number of layers or faces, or 1 if there is no such dimension.
    #[must_use]
    pub fn depth(&self) -> usize {
        let [.., depth] = self.extent;
        depth
    }

    /// Returns the uses of the array.
    #[must_use]
    pub fn flags(&self) -> ArrayFlags {
        self.flags
    }

    /// Returns the bytes of all elements. The device may need more memory for them.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.allocation.bytes()
    }

    /// Returns the device of the array.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// Returns the properties that the runtime reports. They are the same as those of this value.
    ///
    /// Stands for [`cudaArrayGetInfo`](sys::cudaArrayGetInfo).
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaArrayGetInfo")]
    #[track_caller]
    pub fn info(&self) -> Result<ArrayInfo> {
        // SAFETY: the array lives as long as the borrow.
        unsafe { ArrayInfo::of(self.device(), self.as_raw()) }
    }

    /// Returns the runtime's description of the elements.
    ///
    /// Stands for [`cudaGetChannelDesc`](sys::cudaGetChannelDesc).
    ///
    /// # Errors
    /// Returns the runtime's error.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::{Array, ArrayElement};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let image = Array::<[u8; 4]>::alloc_2d(64, 48)?;
    /// assert_eq!(image.descriptor()?, <[u8; 4]>::descriptor());
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGetChannelDesc")]
    #[track_caller]
    pub fn descriptor(&self) -> Result<sys::cudaChannelFormatDesc> {
        let _current = self.device().switch()?;
        let mut descriptor = sys::cudaChannelFormatDesc::default();
        // SAFETY: the array lives as long as the borrow. The pointer is to a live variable, which the call
        // fills.
        unsafe { check!(cudaGetChannelDesc(&raw mut descriptor, self.as_raw().cast_const())) }?;
        Ok(descriptor)
    }

    /// Returns the handle. The tracker does not see accesses through it: see [`ArrayView::access`].
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaArray_t {
        self.allocation.pointer().cast()
    }

    /// Waits for the work that still uses the array, and frees it. Unlike a drop, this returns the error.
    ///
    /// Stands for [`cudaFreeArray`](sys::cudaFreeArray).
    ///
    /// # Errors
    /// Returns the failure of work that used the array, or the runtime's error.
    #[doc(alias = "cudaFreeArray")]
    #[track_caller]
    pub fn free(mut self) -> Result<()> {
        Arc::get_mut(&mut self.allocation).map_or(Ok(()), Allocation::free)
    }

    /// Waits for the work that still uses the array, and gives it up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFreeArray` frees it.
    ///
    /// # Errors
    /// Each error comes with the array:
    /// - `InGraph` while a graph, a texture or a surface also holds it.
    /// - The failure of the work that it waited for.
    /// - A refusal inside a host function.
    #[track_caller]
    #[allow(clippy::result_large_err, reason = "the array comes back with the error, as every owner does")]
    pub fn into_raw(mut self) -> core::result::Result<sys::cudaArray_t, ErrorWith<Self>> {
        const API: &str = "Array::into_raw";
        let Some(allocation) = Arc::get_mut(&mut self.allocation) else {
            return Err(ErrorWith::new(Error::refused(API, Detail::InGraph), self));
        };
        match allocation.give_up(API) {
            Ok(array) => Ok(array.cast()),
            Err(error) => Err(ErrorWith::new(error, self)),
        }
    }

    /// Returns the region of all elements, from which views are made.
    pub(crate) fn region(&self) -> Region<'_, T> {
        Region::whole(&self.allocation, self.as_raw(), 0, self.extent)
    }
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("element", &std::any::type_name::<T>())
            .field("kind", &self.kind)
            .field("extent", &self.extent)
            .field("device", &self.device().ordinal())
            .finish()
    }
}
