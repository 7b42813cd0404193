//! CUDA arrays: memory without addresses, in elements of a few channels, with bounds in up to three
//! dimensions.
//!
//! An array's bytes lie row after row in an allocation like any other. Its handle is an address in the gap
//! behind them: a handle that is taken for a pointer finds no memory.

use std::collections::{BTreeMap, VecDeque};

use super::allocation::Kind;
use super::allocations::Allocations;
use super::format::{Extent, Format};
use super::object::Source;
use crate::error::Answer;
use crate::finding::{Finding, Subject};
use crate::sys::*;

/// How many freed handles are remembered.
const REMEMBERED: usize = 256;
/// The alignment of every level of a mipmapped array and every plane of a format.
const ALIGNMENT: u64 = 512;
/// Bytes from one handle to the next.
const STEP: u64 = 16;

impl Extent {
    /// The extent of a mipmap level; layers do not become fewer.
    fn level(self, level: u32, layered: bool) -> Self {
        let half = |size: u64| if size == 0 { 0 } else { (size >> level).max(1) };
        let depth = if layered { self.depth } else { half(self.depth) };
        Self { width: half(self.width), height: half(self.height), depth }
    }

    fn tiled(self, flags: u32) -> Self {
        Self { depth: if has_layers(flags) { 0 } else { self.depth }, ..self }
    }

    /// How many levels there can be.
    fn levels(self, layered: bool) -> u32 {
        let longest = self.width.max(self.height).max(if layered { 0 } else { self.depth });
        longest.max(1).ilog2() + 1
    }
}

/// A live array.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) desc: cudaChannelFormatDesc,
    pub(crate) format: Format,
    pub(crate) extent: Extent,
    pub(crate) flags: u32,
    pub(crate) device: usize,
    /// Where its first byte is.
    pub(crate) start: u64,
    /// The array that it is a level or a plane of, whose handle frees it.
    pub(crate) part_of: Option<u64>,
    /// Its planes, if the format has more than one.
    planes: Vec<u64>,
    allocation: ArrayMemory,
}

/// A live mipmapped array.
#[derive(Clone, Debug)]
pub(crate) struct Mipmap {
    pub(crate) format: Format,
    pub(crate) extent: Extent,
    pub(crate) flags: u32,
    levels: Vec<u64>,
    allocation: ArrayMemory,
}

/// The allocation behind an array, or none if it is freed.
#[derive(Clone, Copy, Debug)]
struct ArrayMemory {
    start: u64,
    serial: u64,
}

impl Array {
    /// Whether it has memory. Sparse arrays and those that are mapped later have none, and only the driver
    /// maps any.
    pub(crate) fn is_backed(&self) -> bool {
        backed(self.flags)
    }

    /// Rows of a layer.
    pub(crate) fn rows(&self) -> u64 {
        self.extent.height.max(1)
    }

    /// Layers, of whatever kind.
    pub(crate) fn layers(&self) -> u64 {
        self.extent.depth.max(1)
    }

    /// Bytes of a row.
    pub(crate) fn pitch(&self) -> u64 {
        self.extent.width.saturating_mul(self.format.element())
    }

    /// Bytes of a layer.
    pub(crate) fn slice(&self) -> u64 {
        self.pitch().saturating_mul(self.rows())
    }
}

impl Array {
    /// The extent that is divided into tiles: each layer is divided on its own.
    pub(crate) fn tiled(&self) -> Extent {
        self.extent.tiled(self.flags)
    }
}

impl Mipmap {
    /// The extent that is divided into tiles: each layer is divided on its own.
    pub(crate) fn tiled(&self) -> Extent {
        self.extent.tiled(self.flags)
    }

    /// The handle of every level.
    pub(super) fn levels(&self) -> &[u64] {
        &self.levels
    }

    /// The extent of every level.
    pub(crate) fn extents(&self) -> impl Iterator<Item = Extent> {
        let layered = has_layers(self.flags);
        (0..).zip(&self.levels).map(move |(level, _)| self.extent.level(level, layered))
    }
}

fn backed(flags: u32) -> bool {
    flags & (cudaArraySparse | cudaArrayDeferredMapping) == 0
}

/// Whether the layers are the faces of cubes.
pub(super) fn is_cube(flags: u32) -> bool {
    flags & cudaArrayCubemap != 0
}

/// Whether it was made of layers.
pub(crate) fn is_layered(flags: u32) -> bool {
    flags & cudaArrayLayered != 0
}

/// Whether depth counts layers.
pub(crate) fn has_layers(flags: u32) -> bool {
    flags & (cudaArrayLayered | cudaArrayCubemap) != 0
}

/// Bytes of all elements.
fn bytes(format: Format, extent: Extent) -> Option<u64> {
    let plane = format.bytes(extent.width, extent.height.max(1))?;
    plane.checked_mul(extent.depth.max(1))
}

/// All arrays, by handle.
#[derive(Debug, Default)]
pub(crate) struct Arrays {
    arrays: BTreeMap<u64, Array>,
    mipmaps: BTreeMap<u64, Mipmap>,
    freed: VecDeque<u64>,
}

/// The parameters of a new array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) device: usize,
    pub(crate) desc: cudaChannelFormatDesc,
    pub(crate) format: Format,
    pub(crate) extent: Extent,
    pub(crate) flags: u32,
}

impl Allocations {
    /// Makes an array and returns its handle.
    pub(crate) fn make_array(&mut self, wanted: Wanted, call: &'static str) -> Answer<u64> {
        let size = bytes(wanted.format, wanted.extent).ok_or(cudaErrorInvalidValue)?;
        let (allocation, handle) = self.array_memory(wanted, size, call)?;
        let mut planes = Vec::new();
        let mut next = handle;
        for (format, desc, extent, offset) in wanted.format.planes(wanted.extent) {
            next += STEP;
            planes.push(next);
            let plane = Wanted { desc, format, extent, ..wanted };
            let plane = entry(plane, allocation, allocation.start + offset, Some(handle), Vec::new());
            self.arrays.arrays.insert(next, plane);
        }
        let array = entry(wanted, allocation, allocation.start, None, planes);
        self.arrays.arrays.insert(handle, array);
        Ok(handle)
    }

    /// Makes a mipmapped array of up to so many levels, and returns its handle.
    pub(crate) fn make_mipmap(&mut self, wanted: Wanted, levels: u32, call: &'static str) -> Answer<u64> {
        let layered = has_layers(wanted.flags);
        let levels = levels.clamp(1, wanted.extent.levels(layered));
        let extents: Vec<_> = (0..levels).map(|level| wanted.extent.level(level, layered)).collect();
        let mut offsets = Vec::new();
        let mut size = 0_u64;
        for extent in &extents {
            offsets.push(size);
            let level =
                bytes(wanted.format, *extent).and_then(|level| level.checked_next_multiple_of(ALIGNMENT));
            size = level.and_then(|level| size.checked_add(level)).ok_or(cudaErrorInvalidValue)?;
        }
        let (allocation, handle) = self.array_memory(wanted, size, call)?;
        let mut handles = Vec::new();
        let mut next = handle;
        for (extent, offset) in extents.into_iter().zip(offsets) {
            next += STEP;
            handles.push(next);
            let level = Wanted { extent, ..wanted };
            let level = entry(level, allocation, allocation.start + offset, Some(handle), Vec::new());
            self.arrays.arrays.insert(next, level);
        }
        let Wanted { format, extent, flags, .. } = wanted;
        self.arrays.mipmaps.insert(handle, Mipmap { format, extent, flags, levels: handles, allocation });
        Ok(handle)
    }

    /// ArrayMemory for an array, and the first address behind it.
    fn array_memory(&mut self, wanted: Wanted, size: u64, call: &'static str) -> Answer<(ArrayMemory, u64)> {
        let size = if backed(wanted.flags) { size } else { 0 };
        let start = self.allocate(wanted.device, size, Kind::Array, call)?;
        let serial = self.starting_at(start, &[Kind::Array]).map_or(0, |it| it.serial);
        Ok((ArrayMemory { start, serial }, start + size.next_multiple_of(ALIGNMENT)))
    }

    fn is_live(&self, memory: ArrayMemory) -> bool {
        self.starting_at(memory.start, &[Kind::Array]).is_some_and(|it| it.serial == memory.serial)
    }

    /// The array that a handle names.
    pub(crate) fn array(&self, handle: u64) -> Answer<&Array> {
        let live = self.arrays.arrays.get(&handle).filter(|array| self.is_live(array.allocation));
        live.ok_or_else(|| self.no_handle(handle, self.arrays.arrays.contains_key(&handle)))
    }

    /// The mipmapped array that a handle names.
    pub(crate) fn mipmap(&self, handle: u64) -> Answer<&Mipmap> {
        let live = self.arrays.mipmaps.get(&handle).filter(|mipmap| self.is_live(mipmap.allocation));
        live.ok_or_else(|| self.no_handle(handle, self.arrays.mipmaps.contains_key(&handle)))
    }

    /// Whether the memory of a texture or surface was freed.
    pub(crate) fn is_without_memory(&self, object: u64) -> Answer<bool> {
        match self.objects.get(object)?.source {
            Source::Linear { start, serial, .. } => {
                Ok(serial.is_some_and(|serial| self.at(start).is_none_or(|it| it.serial != serial)))
            }
            _ => self.is_without_array(object),
        }
    }

    /// Whether the array of a texture or surface was freed.
    pub(crate) fn is_without_array(&self, texture: u64) -> Answer<bool> {
        let allocation = match self.objects.get(texture)?.source {
            Source::Array(array) => self.arrays.arrays.get(&array).map(|it| it.allocation),
            Source::Mipmap(mipmap) => self.arrays.mipmaps.get(&mipmap).map(|it| it.allocation),
            Source::Linear { .. } => return Ok(false),
        };
        Ok(!allocation.is_some_and(|it| self.is_live(it)))
    }

    /// Why a handle names nothing: hardware gives no code that can be relied on once it is freed.
    fn no_handle(&self, handle: u64, stale: bool) -> crate::error::Code {
        if stale || self.arrays.freed.contains(&handle) {
            let what = format!("the array {handle:#x} was freed before");
            let advice = "Free each array once, and use it only before that.";
            Finding::new(Subject::Free, what, advice).here("the call").report();
            return cudaErrorContextIsDestroyed;
        }
        cudaErrorInvalidResourceHandle
    }

    /// The array of one mipmap level.
    pub(crate) fn level(&self, mipmap: u64, level: u32) -> Answer<u64> {
        let levels = &self.mipmap(mipmap)?.levels;
        let at = usize::try_from(level).map_err(|_| cudaErrorInvalidValue)?;
        levels.get(at).copied().ok_or(cudaErrorInvalidValue)
    }

    /// The array of one plane of a format that has several.
    pub(crate) fn plane(&self, array: u64, plane: u32) -> Answer<u64> {
        let planes = &self.array(array)?.planes;
        let at = usize::try_from(plane).map_err(|_| cudaErrorInvalidValue)?;
        planes.get(at).copied().ok_or(cudaErrorInvalidValue)
    }

    /// Whether a handle names a level of a mipmapped array.
    pub(crate) fn is_level(&self, handle: u64) -> bool {
        let part_of = self.arrays.arrays.get(&handle).and_then(|array| array.part_of);
        part_of.is_some_and(|whole| self.arrays.mipmaps.contains_key(&whole))
    }

    /// The device of an array that may be freed: no level and no plane.
    pub(crate) fn freeable_array(&self, handle: u64) -> Answer<usize> {
        let array = self.array(handle)?;
        if array.part_of.is_some() { Err(cudaErrorInvalidValue) } else { Ok(array.device) }
    }

    /// The device of a mipmapped array.
    pub(crate) fn mipmap_device(&self, handle: u64) -> Answer<usize> {
        let start = self.mipmap(handle)?.allocation.start;
        self.starting_at(start, &[Kind::Array]).map(|it| it.device).ok_or(cudaErrorInvalidValue)
    }

    /// Ends the life of an array, with its planes, or of a mipmapped array, with its levels.
    pub(crate) fn remove_array(&mut self, handle: u64, call: &'static str) -> Answer {
        let memory = match (self.arrays.arrays.remove(&handle), self.arrays.mipmaps.remove(&handle)) {
            (Some(array), _) => array.allocation,
            (None, Some(mipmap)) => mipmap.allocation,
            (None, None) => return Err(cudaErrorInvalidValue),
        };
        self.arrays.arrays.retain(|_, part| part.part_of != Some(handle));
        if self.arrays.freed.len() == REMEMBERED {
            self.arrays.freed.pop_front();
        }
        self.arrays.freed.push_back(handle);
        self.remove(memory.start, call).ok_or(cudaErrorInvalidValue)
    }
}

fn entry(
    wanted: Wanted,
    allocation: ArrayMemory,
    start: u64,
    part_of: Option<u64>,
    planes: Vec<u64>,
) -> Array {
    let Wanted { device, desc, format, extent, flags } = wanted;
    Array { desc, format, extent, flags, device, start, part_of, planes, allocation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Found, Object, ResourceDesc, Source};
    use crate::sys::{
        cudaArraySurfaceLoadStore, cudaChannelFormatKindFloat, cudaChannelFormatKindNV12, cudaResourceDesc,
    };

    fn wanted(width: u64, height: u64, depth: u64, flags: u32) -> Wanted {
        let desc = cudaChannelFormatDesc { x: 32, y: 0, z: 0, w: 0, f: cudaChannelFormatKindFloat };
        let format = Format::of(desc).unwrap();
        Wanted { device: 0, desc, format, extent: Extent { width, height, depth }, flags }
    }

    #[test]
    fn a_handle_is_no_address_of_memory_and_ends_with_its_array() {
        let mut allocations = Allocations::new(1, 1 << 24).unwrap();
        let handle = allocations.make_array(wanted(10, 4, 0, 0), "cudaMallocArray").unwrap();
        assert!(matches!(allocations.find(handle, 1), Found::Unknown));
        let array = allocations.array(handle).unwrap();
        assert_eq!((array.pitch(), array.slice(), array.layers()), (40, 160, 1));
        assert!(matches!(allocations.find(array.start, 160), Found::Inside(_)));
        allocations.remove_array(handle, "cudaFreeArray").unwrap();
        assert_eq!(allocations.array(handle).map(|_| ()), Err(cudaErrorContextIsDestroyed));
        assert_eq!(allocations.array(handle + 1).map(|_| ()), Err(cudaErrorInvalidResourceHandle));
        assert_eq!(allocations.room(0).0, 1 << 24);
    }

    #[test]
    fn a_surface_ends_with_its_array_and_is_of_no_other_devices_array() {
        let mut allocations = Allocations::new(2, 1 << 24).unwrap();
        let array = Wanted { device: 1, ..wanted(10, 4, 0, cudaArraySurfaceLoadStore) };
        let array = allocations.make_array(array, "cudaMallocArray").unwrap();
        let [there, here] = [1, 0].map(|device| {
            let (source, resource) = (Source::Array(array), ResourceDesc(cudaResourceDesc::default()));
            allocations.objects.add(Object { device, source, resource, texture: None, view: None })
        });
        assert!(allocations.surface(there, 1).is_ok());
        let (_, why) = allocations.surface(here, 0).unwrap_err();
        assert!(why.contains("an array of device 1 on device 0"), "{why}");
        allocations.remove_array(array, "cudaFreeArray").unwrap();
        let (_, why) = allocations.surface(there, 1).unwrap_err();
        assert!(why.contains("was freed before"), "{why}");
    }

    #[test]
    fn levels_halve_down_to_one_and_lie_apart() {
        let mut allocations = Allocations::new(1, 1 << 24).unwrap();
        let handle = allocations.make_mipmap(wanted(10, 4, 0, 0), 99, "cudaMallocMipmappedArray").unwrap();
        let levels: Vec<_> = (0..4).map(|level| allocations.level(handle, level).unwrap()).collect();
        assert_eq!(allocations.level(handle, 4), Err(cudaErrorInvalidValue));
        let extents: Vec<_> = levels.iter().map(|level| allocations.array(*level).unwrap().extent).collect();
        let sizes: Vec<_> = extents.iter().map(|it| (it.width, it.height, it.depth)).collect();
        assert_eq!(sizes, [(10, 4, 0), (5, 2, 0), (2, 1, 0), (1, 1, 0)]);
        let ends =
            levels.iter().map(|level| allocations.array(*level).unwrap()).map(|it| it.start + it.slice());
        let starts = levels.iter().skip(1).map(|level| allocations.array(*level).unwrap().start);
        assert!(ends.zip(starts).all(|(end, start)| end <= start));
        assert_eq!(allocations.freeable_array(levels[0]), Err(cudaErrorInvalidValue));
        allocations.remove_array(handle, "cudaFreeMipmappedArray").unwrap();
        assert!(allocations.array(levels[0]).is_err());
    }

    #[test]
    fn layers_do_not_become_fewer_and_an_array_without_memory_takes_none() {
        let mut allocations = Allocations::new(1, 1 << 24).unwrap();
        let flags = cudaArrayLayered | cudaArrayDeferredMapping;
        let handle = allocations.make_mipmap(wanted(8, 8, 5, flags), 3, "cudaMallocMipmappedArray").unwrap();
        let last = allocations.level(handle, 2).unwrap();
        assert_eq!(allocations.array(last).unwrap().extent, Extent { width: 2, height: 2, depth: 5 });
        assert!(!allocations.array(last).unwrap().is_backed());
        assert_eq!(allocations.room(0).0, 1 << 24);
    }

    #[test]
    fn a_format_of_two_planes_has_them_as_arrays() {
        let mut allocations = Allocations::new(1, 1 << 24).unwrap();
        let desc = cudaChannelFormatDesc { x: 8, y: 8, z: 8, w: 0, f: cudaChannelFormatKindNV12 };
        let format = Format::of(desc).unwrap();
        let handle = allocations
            .make_array(Wanted { desc, format, ..wanted(16, 8, 0, 0) }, "cudaMallocArray")
            .unwrap();
        let (luma, chroma) = (allocations.plane(handle, 0).unwrap(), allocations.plane(handle, 1).unwrap());
        assert_eq!(allocations.array(luma).unwrap().slice(), 128);
        assert_eq!(
            (allocations.array(chroma).unwrap().pitch(), allocations.array(chroma).unwrap().rows()),
            (16, 4)
        );
        assert_eq!(allocations.array(chroma).unwrap().start, allocations.array(luma).unwrap().start + 128);
        assert_eq!(allocations.plane(handle, 2), Err(cudaErrorInvalidValue));
        assert_eq!(allocations.plane(luma, 0), Err(cudaErrorInvalidValue));
    }
}
