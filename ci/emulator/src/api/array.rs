//! CUDA arrays and mipmapped arrays: making, asking about and freeing them.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_uint, c_void};

use super::array_limits::check;
use super::{Call, Out, address, api, ordinal, pointer, put, wide};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::{Extent, Format, Wanted, bytes};
use crate::stream::before_free;
use crate::sys::{
    cudaArray_const_t, cudaArray_t, cudaArrayDeferredMapping, cudaArrayMemoryRequirements, cudaArraySparse,
    cudaArraySparseProperties, cudaArraySparsePropertiesSingleMipTail, cudaChannelFormatDesc,
    cudaChannelFormatKind, cudaErrorInvalidValue, cudaExtent, cudaMipmappedArray_const_t,
    cudaMipmappedArray_t,
};

/// The memory of an array is mapped in multiples of this size.
const MAPPED: u64 = 64 << 10;

/// The address that a handle stands for.
pub(super) fn handle<T>(array: *const T) -> u64 {
    address(array.cast::<c_void>())
}

fn given(extent: cudaExtent) -> Extent {
    Extent { width: wide(extent.width), height: wide(extent.height), depth: wide(extent.depth) }
}

fn back(extent: Extent) -> cudaExtent {
    let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    cudaExtent { width: size(extent.width), height: size(extent.height), depth: size(extent.depth) }
}

/// Checks the array that a program wants, on the current device.
fn wanted(
    call: &Call,
    desc: Option<&cudaChannelFormatDesc>,
    extent: cudaExtent,
    flags: c_uint,
    levels: bool,
) -> Answer<(Guard, Wanted)> {
    let (machine, device) = call.context()?;
    let desc = *desc.ok_or(cudaErrorInvalidValue)?;
    let (format, extent) = (Format::of(desc)?, given(extent));
    check(device, format, extent, flags, levels)?;
    Ok((machine, Wanted { device, desc, format, extent, flags }))
}

fn make(
    call: &Call,
    out: Out<'_, cudaArray_t>,
    desc: Option<&cudaChannelFormatDesc>,
    extent: cudaExtent,
    flags: c_uint,
) -> Answer {
    let out = out.ok_or(cudaErrorInvalidValue)?;
    let (mut machine, wanted) = wanted(call, desc, extent, flags, false)?;
    out.write(pointer(machine.allocations.make_array(wanted, call.name)?).cast());
    Ok(())
}

/// The size of the memory that would have to be mapped for an array that has none.
fn requirements(
    format: Format,
    extents: impl Iterator<Item = Extent>,
) -> Answer<cudaArrayMemoryRequirements> {
    let mut size = 0_u64;
    for extent in extents {
        size =
            bytes(format, extent).and_then(|level| size.checked_add(level)).ok_or(cudaErrorInvalidValue)?;
    }
    let size = size.checked_next_multiple_of(MAPPED).ok_or(cudaErrorInvalidValue)?;
    let fits = |size: u64| usize::try_from(size).map_err(|_| cudaErrorInvalidValue);
    Ok(cudaArrayMemoryRequirements { size: fits(size)?, alignment: fits(MAPPED)?, reserved: [0; 4] })
}

/// The tile of 64 KiB in which a sparse array is mapped.
fn tile(format: Format, extent: Extent) -> (c_uint, c_uint, c_uint) {
    let flat = extent.depth == 0;
    match (format.element(), flat) {
        (1, true) => (256, 256, 1),
        (2, true) => (256, 128, 1),
        (4, true) => (128, 128, 1),
        (8, true) => (128, 64, 1),
        (_, true) => (64, 64, 1),
        (1, false) => (64, 32, 32),
        (2, false) => (32, 32, 32),
        (4, false) => (32, 32, 16),
        (8, false) => (32, 16, 16),
        (_, false) => (16, 16, 16),
    }
}

fn sparse(
    format: Format,
    tile_of: Extent,
    first_level: u32,
    tail: u64,
    single: bool,
) -> cudaArraySparseProperties {
    let mut properties = cudaArraySparseProperties::default();
    let (width, height, depth) = tile(format, tile_of);
    (properties.tileExtent.width, properties.tileExtent.height, properties.tileExtent.depth) =
        (width, height, depth);
    properties.miptailFirstLevel = first_level;
    properties.miptailSize = tail;
    properties.flags = if single { cudaArraySparsePropertiesSingleMipTail } else { 0 };
    properties
}

api! {
    /// Makes an array of one or two dimensions.
    fn cudaMallocArray(
        call, out: Out<'_, cudaArray_t>, desc: Option<&cudaChannelFormatDesc>, width: usize, height: usize,
        flags: c_uint,
    ) {
        make(call, out, desc, cudaExtent { width, height, depth: 0 }, flags)
    }

    /// Makes an array of up to three dimensions.
    fn cudaMalloc3DArray(
        call, out: Out<'_, cudaArray_t>, desc: Option<&cudaChannelFormatDesc>, extent: cudaExtent, flags: c_uint,
    ) {
        make(call, out, desc, extent, flags)
    }

    /// Makes an array with smaller versions of itself.
    fn cudaMallocMipmappedArray(
        call, out: Out<'_, cudaMipmappedArray_t>, desc: Option<&cudaChannelFormatDesc>, extent: cudaExtent,
        levels: c_uint, flags: c_uint,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, wanted) = wanted(call, desc, extent, flags, true)?;
        if wanted.format.is_planar() {
            return Err(cudaErrorInvalidValue);
        }
        out.write(pointer(machine.allocations.make_mipmap(wanted, levels, call.name)?).cast());
        Ok(())
    }

    /// Frees an array, after all work of its device.
    fn cudaFreeArray(call, array: cudaArray_t) {
        let (mut machine, _) = call.context()?;
        if array.is_null() {
            return Ok(());
        }
        let device = machine.allocations.freeable_array(handle(array))?;
        before_free(&mut machine, device)?;
        machine.allocations.remove_array(handle(array), call.name)
    }

    /// Frees a mipmapped array and its levels, after all work of its device.
    fn cudaFreeMipmappedArray(call, mipmap: cudaMipmappedArray_t) {
        let (mut machine, _) = call.context()?;
        if mipmap.is_null() {
            return Ok(());
        }
        let device = machine.allocations.mipmap_device(handle(mipmap))?;
        before_free(&mut machine, device)?;
        machine.allocations.remove_array(handle(mipmap), call.name)
    }

    /// One level of a mipmapped array, as an array that lives as long.
    fn cudaGetMipmappedArrayLevel(
        call, out: Out<'_, cudaArray_t>, mipmap: cudaMipmappedArray_const_t, level: c_uint,
    ) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        put(Some(out), pointer(machine.allocations.level(handle(mipmap), level)?).cast())
    }

    /// One plane of an array whose format has several, as an array that lives as long.
    fn cudaArrayGetPlane(call, out: Out<'_, cudaArray_t>, array: cudaArray_t, plane: c_uint) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        put(Some(out), pointer(machine.allocations.plane(handle(array), plane)?).cast())
    }

    /// The description with which an array was made.
    fn cudaArrayGetInfo(
        call, desc: Out<'_, cudaChannelFormatDesc>, extent: Out<'_, cudaExtent>, flags: Out<'_, c_uint>,
        array: cudaArray_t,
    ) {
        let (machine, _) = call.context()?;
        let found = machine.allocations.array(handle(array))?;
        if let Some(out) = desc {
            out.write(found.desc);
        }
        if let Some(out) = extent {
            out.write(back(found.extent));
        }
        if let Some(out) = flags {
            out.write(found.flags);
        }
        Ok(())
    }

    /// The format of an array's elements.
    fn cudaGetChannelDesc(call, desc: Out<'_, cudaChannelFormatDesc>, array: cudaArray_const_t) {
        let (machine, _) = call.context()?;
        let out = desc.ok_or(cudaErrorInvalidValue)?;
        put(Some(out), machine.allocations.array(handle(array))?.desc)
    }

    /// How much memory an array needs that was made without any.
    fn cudaArrayGetMemoryRequirements(
        call, out: Out<'_, cudaArrayMemoryRequirements>, array: cudaArray_t, device: c_int,
    ) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        ordinal(&machine, device)?;
        let found = machine.allocations.array(handle(array))?;
        if found.flags & cudaArrayDeferredMapping == 0 || found.part_of.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        put(Some(out), requirements(found.format, [found.extent].into_iter())?)
    }

    /// How much memory a mipmapped array needs that was made without any.
    fn cudaMipmappedArrayGetMemoryRequirements(
        call, out: Out<'_, cudaArrayMemoryRequirements>, mipmap: cudaMipmappedArray_t, device: c_int,
    ) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        ordinal(&machine, device)?;
        let found = machine.allocations.mipmap(handle(mipmap))?;
        if found.flags & cudaArrayDeferredMapping == 0 {
            return Err(cudaErrorInvalidValue);
        }
        put(Some(out), requirements(found.format, found.extents())?)
    }

    /// How a sparse array is divided into tiles.
    fn cudaArrayGetSparseProperties(call, out: Out<'_, cudaArraySparseProperties>, array: cudaArray_t) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let found = machine.allocations.array(handle(array))?;
        if found.flags & cudaArraySparse == 0 || found.part_of.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        put(Some(out), sparse(found.format, found.tiled(), 0, 0, false))
    }

    /// Returns how a sparse mipmapped array is divided into tiles, and which levels are smaller than a tile.
    fn cudaMipmappedArrayGetSparseProperties(
        call, out: Out<'_, cudaArraySparseProperties>, mipmap: cudaMipmappedArray_t,
    ) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let found = machine.allocations.mipmap(handle(mipmap))?;
        if found.flags & cudaArraySparse == 0 {
            return Err(cudaErrorInvalidValue);
        }
        let tiled = found.tiled();
        let (width, height, depth) = tile(found.format, tiled);
        let small = |extent: &Extent| {
            let deep = tiled.depth > 0 && extent.depth < u64::from(depth);
            extent.width < u64::from(width) || extent.height < u64::from(height) || deep
        };
        let extents: Vec<_> = found.extents().collect();
        let first = extents.iter().position(small).unwrap_or(extents.len());
        let mut tail = 0;
        for extent in extents.iter().skip(first) {
            tail += bytes(found.format, Extent { depth: if tiled.depth > 0 { extent.depth } else { 0 }, ..*extent })
                .ok_or(cudaErrorInvalidValue)?;
        }
        let tail = tail.next_multiple_of(MAPPED);
        let first = u32::try_from(first).map_err(|_| cudaErrorInvalidValue)?;
        put(Some(out), sparse(found.format, tiled, first, tail, false))
    }
}

/// Puts a description together.
#[unsafe(no_mangle)]
extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: cudaChannelFormatKind,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_is_of_64_kib() {
        for depth in [0, 9] {
            for element in [1, 2, 4, 8, 16] {
                let (x, y, z) = tile(Format::Elements(element), Extent { width: 9, height: 9, depth });
                assert_eq!(u64::from(x * y * z) * element, MAPPED, "{element} {depth}");
            }
        }
    }
}
