//! Arrays without memory, which report the memory that they would need.
#![expect(unsafe_code, reason = "asks the runtime about raw arrays")]

use std::marker::PhantomData;

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::memory::allocation::Allocation;
use crate::{check, sys};

/// How an array without memory could be given memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// All at once.
    Whole,
    /// Tile by tile.
    Tiles,
}

impl Mapping {
    pub(super) fn flag(self) -> u32 {
        match self {
            Self::Whole => sys::cudaArrayDeferredMapping,
            Self::Tiles => sys::cudaArraySparse,
        }
    }
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
        let _current = self.device().switch()?;
        let mut found = sys::cudaArrayMemoryRequirements::default();
        let (raw, device) = (self.allocation.pointer(), self.device().ordinal());
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
    /// if let Ok(deferred) = image.deferred::<f32>() {
    ///     println!("all at once: {} bytes", deferred.memory_requirements()?.size);
    ///     deferred.free()?;
    /// }
    /// if let Ok(sparse) = image.sparse::<f32>() {
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
        let _current = self.device().switch()?;
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
        if self.mapping == mapping { Ok(()) } else { Err(Error::refused(api, Detail::Unsupported { what })) }
    }

    /// Returns the device of the array.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }

    /// Returns whether the array has levels. Its handle is then that of a mipmapped array.
    #[must_use]
    pub fn is_mipmapped(&self) -> bool {
        self.mipmapped
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
