//! Owned arrays: plain ones, those with smaller versions of themselves, those of the format NV12, and those
//! without memory.
#![expect(unsafe_code, reason = "takes over raw handles, and asks the runtime about arrays")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::info::{ArrayElement, ArrayInfo, ArrayKind, bytes_of};
use super::view::{ArrayView, ArrayViewMut, Region, SubArray};
use crate::device::Device;
use crate::error::{AtCaller as _, Detail, Error, ErrorWith, OrRefused, Result, ensure};
use crate::hazard::Access;
use crate::memory::allocation::{Allocation, Allocator};
use crate::memory::retain::retained;
use crate::memory::size;
use crate::{check, sys};

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
    elements: PhantomData<T>,
}

impl<T: ArrayElement> Array<T> {
    /// Returns the owner of an allocation that was made for elements of this type.
    pub(super) fn new(allocation: Allocation, kind: ArrayKind, extent: [usize; 3]) -> Self {
        Self { allocation: retained(allocation), kind, extent, elements: PhantomData }
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
            let detail = Detail::unsupported("an array of other elements than those of the type");
            return Err(
                Error::refused("Array::from_raw", detail).with_code(sys::cudaErrorInvalidChannelDescriptor)
            );
        }
        let bytes = bytes_of::<T>("Array::from_raw", info.extent())?;
        // SAFETY: the caller guarantees it, and the size is that of all elements.
        let allocation = unsafe { Allocation::from_raw(device, raw.cast(), bytes, Allocator::Array) };
        Ok(Self::new(allocation, info.kind, info.extent()))
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
}

impl<T> Array<T> {
    /// Returns the meaning of the dimensions.
    #[must_use]
    pub fn kind(&self) -> ArrayKind {
        self.kind
    }

    /// Returns the elements of a row, the rows of a layer, and the layers or faces. A missing dimension is 1.
    #[must_use]
    pub fn extent(&self) -> [usize; 3] {
        self.extent
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
    pub fn free(self) -> Result<()> {
        Allocation::free_owned(self.allocation)
    }

    /// Waits for the work that still uses the array, and gives it up without freeing it.
    ///
    /// [`from_raw`](Self::from_raw) or `cudaFreeArray` frees it.
    ///
    /// # Errors
    /// Each error comes with the array:
    /// - `InUse` while a graph, a texture or a surface also holds it.
    /// - The failure of the work that it waited for.
    /// - A refusal inside a host function.
    #[track_caller]
    #[allow(clippy::result_large_err, reason = "the array comes back with the error, as every owner does")]
    pub fn into_raw(mut self) -> core::result::Result<sys::cudaArray_t, ErrorWith<Self>> {
        match Allocation::give_up(&mut self.allocation, "Array::into_raw") {
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

/// A mipmapped CUDA array of elements `T`, freed with all its levels when it is dropped.
///
/// [`ArrayBuilder::mipmapped`](super::ArrayBuilder::mipmapped) makes it. Level 0 is the largest. Copies
/// take each level as they take an array. Work on one level is not ordered with work on another.
#[doc(alias = "cudaMipmappedArray_t")]
pub struct MipmappedArray<T> {
    allocation: Arc<Allocation>,
    kind: ArrayKind,
    levels: Vec<SubArray>,
    elements: PhantomData<T>,
}

/// Returns the extent of a level.
fn extent_of(kind: ArrayKind, [width, height, depth]: [usize; 3], level: u32) -> [usize; 3] {
    let half = |size: usize| size.checked_shr(level).unwrap_or(0).max(1);
    [half(width), half(height), if kind.is_layered() { depth } else { half(depth) }]
}

/// Returns the number of levels down to one element.
fn most(kind: ArrayKind, [width, height, depth]: [usize; 3]) -> u32 {
    let longest = width.max(height).max(if kind.is_layered() { 1 } else { depth });
    longest.checked_ilog2().unwrap_or(0) + 1
}

impl<T: ArrayElement> MipmappedArray<T> {
    /// Returns the bytes of the elements of all levels.
    #[track_caller]
    pub(super) fn bytes(
        api: &'static str,
        kind: ArrayKind,
        extent: [usize; 3],
        levels: u32,
    ) -> Result<usize> {
        bytes_of::<T>(api, extent)?;
        let most = most(kind, extent);
        let what = "the number of levels";
        ensure(levels > 0, api, || Detail::zero(what))?;
        size::at_most(api, what, levels.into(), most.into())?;
        let mut bytes = 0_usize;
        for level in 0..levels {
            let right = bytes_of::<T>(api, extent_of(kind, extent, level))?;
            let overflow = || Detail::overflow("the size in bytes", bytes, right);
            bytes = bytes.checked_add(right).or_refused(api, overflow)?;
        }
        Ok(bytes)
    }

    /// Returns the owner of an allocation that was made with `levels` levels. If the query of a level
    /// fails, the allocation is freed again.
    #[track_caller]
    pub(super) fn new(
        allocation: Allocation,
        kind: ArrayKind,
        extent: [usize; 3],
        levels: u32,
    ) -> Result<Self> {
        let mut made =
            Self { allocation: retained(allocation), kind, levels: Vec::new(), elements: PhantomData };
        let _current = made.device().switch()?;
        let mut base = 0;
        for level in 0..levels {
            let mut raw = std::ptr::null_mut();
            // SAFETY: the mipmapped array is live. The pointer is to a live variable, which the call fills.
            unsafe { check!(cudaGetMipmappedArrayLevel(&raw mut raw, made.as_raw().cast_const(), level)) }?;
            let extent = extent_of(kind, extent, level);
            made.levels.push(SubArray { raw, extent, base });
            // Cannot overflow: `bytes` has computed the same sum before.
            base += bytes_of::<T>("MipmappedArray", extent)?;
        }
        Ok(made)
    }

    /// Views a level. Level 0 is the largest.
    ///
    /// Stands for [`cudaGetMipmappedArrayLevel`](sys::cudaGetMipmappedArrayLevel).
    ///
    /// # Errors
    /// Refused if there is no such level.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::{ArrayBuilder, MipmappedArray};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let image: MipmappedArray<u8> = ArrayBuilder::plane(64, 64).mipmapped(7)?;
    /// assert_eq!((image.levels(), image.level(6)?.extent(), image.info(1)?.width), (7, [1, 1, 1], 32));
    /// image.free()?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGetMipmappedArrayLevel")]
    #[track_caller]
    pub fn level(&self, level: usize) -> Result<ArrayView<'_, T>> {
        Ok(ArrayView::new(self.region("MipmappedArray::level", level)?))
    }

    /// Views a level for writing. Level 0 is the largest.
    ///
    /// # Errors
    /// Refused if there is no such level.
    #[doc(alias = "cudaGetMipmappedArrayLevel")]
    #[track_caller]
    pub fn level_mut(&mut self, level: usize) -> Result<ArrayViewMut<'_, T>> {
        Ok(ArrayViewMut::new(self.region("MipmappedArray::level_mut", level)?))
    }

    /// Views all levels for writing. Different streams may write them at the same time.
    pub fn levels_mut(&mut self) -> impl ExactSizeIterator<Item = ArrayViewMut<'_, T>> {
        self.levels.iter().map(|level| ArrayViewMut::new(level.region(&self.allocation)))
    }

    #[track_caller]
    fn region(&self, api: &'static str, level: usize) -> Result<Region<'_, T>> {
        let (start, end, len) = (level, level.saturating_add(1), self.levels.len());
        let found = self.levels.get(level).or_refused(api, || Detail::out_of_range(start, end, len))?;
        Ok(found.region(&self.allocation))
    }

    /// Returns the properties of a level that the runtime reports.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused if there is no such level.
    #[doc(alias = "cudaArrayGetInfo")]
    #[track_caller]
    pub fn info(&self, level: usize) -> Result<ArrayInfo> {
        let region = self.region("MipmappedArray::info", level)?;
        // SAFETY: the level lives as long as the borrow.
        unsafe { ArrayInfo::of(self.device(), region.raw()) }
    }
}

impl<T> MipmappedArray<T> {
    /// Returns the number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Returns the device of the array.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// Returns a read of all levels, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        Access::read(self.allocation.history(), 0..self.allocation.bytes())
    }

    /// Returns the handle. The tracker does not see accesses through it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaMipmappedArray_t {
        self.allocation.pointer().cast()
    }

    /// Waits for the work that still uses the array, and frees it. Unlike a drop, this returns the error.
    ///
    /// Stands for [`cudaFreeMipmappedArray`](sys::cudaFreeMipmappedArray).
    ///
    /// # Errors
    /// Returns the failure of work that used the array, or the runtime's error.
    #[doc(alias = "cudaFreeMipmappedArray")]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        Allocation::free_owned(self.allocation)
    }
}

impl<T> fmt::Debug for MipmappedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MipmappedArray")
            .field("element", &std::any::type_name::<T>())
            .field("kind", &self.kind)
            .field("extent", &self.levels.first().map(|level| level.extent))
            .field("levels", &self.levels.len())
            .field("device", &self.device().ordinal())
            .finish()
    }
}

/// An array of the format NV12, freed when it is dropped: a plane of brightness, and a plane of colour with
/// half its width and height and two numbers in each element.
///
/// [`ArrayBuilder::nv12`](super::ArrayBuilder::nv12) makes it. Copies take the planes as they take arrays.
#[derive(Debug)]
pub struct Nv12Array {
    allocation: Arc<Allocation>,
    luma: SubArray,
    chroma: SubArray,
}

impl Nv12Array {
    /// Returns the owner of an allocation. If the query of a plane fails, the allocation is freed again.
    #[track_caller]
    pub(super) fn new(allocation: Allocation, [width, height]: [usize; 2]) -> Result<Self> {
        let allocation = retained(allocation);
        let _current = allocation.on().switch()?;
        let plane = |index| {
            let mut raw = std::ptr::null_mut();
            // SAFETY: the array is live. The pointer is to a live variable, which the call fills.
            unsafe { check!(cudaArrayGetPlane(&raw mut raw, allocation.pointer().cast(), index)) }?;
            crate::Result::Ok(raw)
        };
        let (luma, chroma) = (plane(0).at_caller()?, plane(1).at_caller()?);
        Ok(Self {
            luma: SubArray { raw: luma, extent: [width, height, 1], base: 0 },
            chroma: SubArray { raw: chroma, extent: [width / 2, height / 2, 1], base: width * height },
            allocation,
        })
    }

    /// Views the plane of brightness.
    ///
    /// Stands for [`cudaArrayGetPlane`](sys::cudaArrayGetPlane).
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn luma(&self) -> ArrayView<'_, u8> {
        ArrayView::new(self.luma.region(&self.allocation))
    }

    /// Views the plane of colour.
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn chroma(&self) -> ArrayView<'_, [u8; 2]> {
        ArrayView::new(self.chroma.region(&self.allocation))
    }

    /// Views both planes for writing, brightness first. Different streams may write them at the same time.
    #[doc(alias = "cudaArrayGetPlane")]
    #[must_use]
    pub fn planes_mut(&mut self) -> (ArrayViewMut<'_, u8>, ArrayViewMut<'_, [u8; 2]>) {
        (
            ArrayViewMut::new(self.luma.region(&self.allocation)),
            ArrayViewMut::new(self.chroma.region(&self.allocation)),
        )
    }

    /// Returns the handle. The tracker does not see accesses through it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaArray_t {
        self.allocation.pointer().cast()
    }

    /// Waits for the work that still uses the array, and frees it. Unlike a drop, this returns the error.
    ///
    /// # Errors
    /// Returns the failure of work that used the array, or the runtime's error.
    #[doc(alias = "cudaFreeArray")]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        Allocation::free_owned(self.allocation)
    }
}

/// How an array without memory could be given memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Mapping {
    /// All at once.
    Whole = sys::cudaArrayDeferredMapping,
    /// Tile by tile.
    Tiles = sys::cudaArraySparse,
}

/// An array without memory, mipmapped or not, freed when it is dropped.
///
/// [`ArrayBuilder::deferred`](super::ArrayBuilder::deferred) and [`sparse`](super::ArrayBuilder::sparse)
/// make it. It reports how much memory it would need, or how large its tiles are. Only the driver API
/// (`cuMemMapArrayAsync`) can give it memory, through its handle. Therefore nothing here copies to it.
#[derive(Debug)]
pub struct UnmappedArray<T> {
    allocation: Allocation,
    mapping: Mapping,
    mipmapped: bool,
    elements: PhantomData<fn() -> T>,
}

/// The memory that an array needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRequirements {
    /// The size of all of it in bytes.
    pub size: usize,
    /// The alignment of the memory's address in bytes.
    pub alignment: usize,
}

/// The division of a sparse array into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseProperties {
    /// The number of elements in a row of a tile, of rows in a layer, and of layers.
    pub tile: [u32; 3],
    /// The first level that is smaller than a tile. Only for mipmapped arrays with a tail.
    pub first_tail_level: u32,
    /// The bytes of the levels that are smaller than a tile: for all layers if
    /// [`single_tail`](Self::single_tail) is true, otherwise for one layer.
    pub tail_size: u64,
    /// Whether all layers share one tail.
    pub single_tail: bool,
}

impl<T> UnmappedArray<T> {
    pub(super) fn new(allocation: Allocation, mapping: Mapping, mipmapped: bool) -> Self {
        Self { allocation, mapping, mipmapped, elements: PhantomData }
    }

    /// Returns the memory that all of the array needs on its device. Only for deferred arrays.
    ///
    /// Stands for [`cudaArrayGetMemoryRequirements`](sys::cudaArrayGetMemoryRequirements) and
    /// [`cudaMipmappedArrayGetMemoryRequirements`](sys::cudaMipmappedArrayGetMemoryRequirements).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused for sparse arrays.
    #[doc(alias = "cudaArrayGetMemoryRequirements")]
    #[doc(alias = "cudaMipmappedArrayGetMemoryRequirements")]
    #[track_caller]
    pub fn memory_requirements(&self) -> Result<MemoryRequirements> {
        self.ensure(
            Mapping::Whole,
            "UnmappedArray::memory_requirements",
            "of an array that is mapped in tiles",
        )?;
        let _current = self.allocation.on().switch()?;
        let mut found = sys::cudaArrayMemoryRequirements::default();
        let (raw, device) = (self.allocation.pointer(), self.allocation.on().as_raw());
        if self.mipmapped {
            // SAFETY: the handle is of a live mipmapped array. The pointer is to a live variable, which the
            // call fills.
            unsafe { check!(cudaMipmappedArrayGetMemoryRequirements(&raw mut found, raw.cast(), device)) }?;
        } else {
            // SAFETY: the handle is of a live array. The pointer is to a live variable, which the call
            // fills.
            unsafe { check!(cudaArrayGetMemoryRequirements(&raw mut found, raw.cast(), device)) }?;
        }
        Ok(MemoryRequirements { size: found.size, alignment: found.alignment })
    }

    /// Returns the division of the array into tiles. Only for sparse arrays.
    ///
    /// Stands for [`cudaArrayGetSparseProperties`](sys::cudaArrayGetSparseProperties) and
    /// [`cudaMipmappedArrayGetSparseProperties`](sys::cudaMipmappedArrayGetSparseProperties).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused for deferred arrays.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::ArrayBuilder;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let image = ArrayBuilder::plane(4096, 4096);
    /// // Not every device supports such arrays.
    /// if let Ok(deferred) = image.deferred::<f32>(None) {
    ///     println!("all at once: {} bytes", deferred.memory_requirements()?.size);
    ///     deferred.free()?;
    /// }
    /// if let Ok(sparse) = image.sparse::<f32>(None) {
    ///     println!("by tiles of {:?} elements", sparse.sparse_properties()?.tile);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaArrayGetSparseProperties")]
    #[doc(alias = "cudaMipmappedArrayGetSparseProperties")]
    #[track_caller]
    pub fn sparse_properties(&self) -> Result<SparseProperties> {
        self.ensure(
            Mapping::Tiles,
            "UnmappedArray::sparse_properties",
            "the tiles of an array that is mapped as a whole",
        )?;
        let _current = self.allocation.on().switch()?;
        let mut found = sys::cudaArraySparseProperties::default();
        let raw = self.allocation.pointer();
        if self.mipmapped {
            // SAFETY: the handle is of a live mipmapped array. The pointer is to a live variable, which the
            // call fills.
            unsafe { check!(cudaMipmappedArrayGetSparseProperties(&raw mut found, raw.cast())) }?;
        } else {
            // SAFETY: the handle is of a live array. The pointer is to a live variable, which the call
            // fills.
            unsafe { check!(cudaArrayGetSparseProperties(&raw mut found, raw.cast())) }?;
        }
        let tile = found.tileExtent;
        Ok(SparseProperties {
            tile: [tile.width, tile.height, tile.depth],
            first_tail_level: found.miptailFirstLevel,
            tail_size: found.miptailSize,
            single_tail: found.flags & sys::cudaArraySparsePropertiesSingleMipTail != 0,
        })
    }

    #[track_caller]
    fn ensure(&self, mapping: Mapping, api: &'static str, what: &'static str) -> Result<()> {
        ensure(self.mapping == mapping, api, || Detail::unsupported(what))
    }

    /// Returns the handle for the driver API, or `None` for a mipmapped array.
    #[must_use]
    pub fn as_raw(&self) -> Option<sys::cudaArray_t> {
        (!self.mipmapped).then(|| self.allocation.pointer().cast())
    }

    /// Returns the handle for the driver API, or `None` if the array is not mipmapped.
    #[must_use]
    pub fn as_raw_mipmapped(&self) -> Option<sys::cudaMipmappedArray_t> {
        self.mipmapped.then(|| self.allocation.pointer().cast())
    }

    /// Frees the array. Unlike a drop, this returns the error.
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaFreeArray")]
    #[doc(alias = "cudaFreeMipmappedArray")]
    #[track_caller]
    pub fn free(mut self) -> Result<()> {
        self.allocation.free()
    }
}

#[cfg(test)]
mod tests {
    use super::{MipmappedArray, extent_of, most};
    use crate::memory::ArrayKind;

    #[test]
    fn levels_halve_down_to_one_element_and_layers_stay() {
        assert_eq!(most(ArrayKind::Plane, [10, 4, 1]), 4);
        assert_eq!(most(ArrayKind::Volume, [2, 2, 9]), 4);
        assert_eq!(most(ArrayKind::LayeredPlane, [2, 2, 9]), 2);
        assert_eq!(extent_of(ArrayKind::Plane, [10, 4, 1], 3), [1, 1, 1]);
        assert_eq!(extent_of(ArrayKind::LayeredPlane, [10, 4, 7], 1), [5, 2, 7]);
        assert_eq!(extent_of(ArrayKind::Volume, [10, 4, 7], 1), [5, 2, 3]);
    }

    #[test]
    fn no_levels_and_too_many_are_refused() {
        let bytes = |levels| MipmappedArray::<u16>::bytes("test", ArrayKind::Plane, [10, 4, 1], levels);
        assert_eq!(bytes(4).unwrap(), 2 * (40 + 10 + 2 + 1));
        assert!(bytes(0).unwrap_err().detail().as_str().contains("is zero, at least 1 is needed"));
        assert!(bytes(5).unwrap_err().detail().as_str().contains("is 5, at most 4 is"));
    }
}
