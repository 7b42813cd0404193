//! CUDA arrays and mipmapped arrays: making, asking about and freeing them.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_uint, c_void};

use super::array_limits::check;
use super::{Call, Out, address, api, ordinal, pointer, put, wide};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::{Extent, Format, Wanted, has_layers};
use crate::stream::before_free;
use crate::sys::*;

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

/// Bytes of an array as devices lay it out: in groups of 64 bytes and 8 rows, which make blocks of up to 16
/// groups below each other, and of up to 32 layers behind each other if values lie between layers. With more
/// layers a block has fewer groups. An H200 answers so for all sizes that were asked.
fn laid_out(format: Format, extent: Extent, layered: bool) -> Answer<u64> {
    let layers = extent.depth.max(1);
    let deep = if layered { 1 } else { layers.next_power_of_two().min(32) };
    let high = extent.height.max(1).div_ceil(8).next_power_of_two().min((16 / deep).max(1));
    let size = || {
        let row = extent.width.checked_mul(format.element())?.checked_next_multiple_of(64)?;
        let rows = extent.height.max(1).checked_next_multiple_of(8 * high)?;
        row.checked_mul(rows)?.checked_mul(layers.checked_next_multiple_of(deep)?)
    };
    size().ok_or(cudaErrorInvalidValue)
}

/// The size of the memory that would have to be mapped for an array that has none.
fn requirements(
    format: Format,
    flags: u32,
    extents: impl Iterator<Item = Extent>,
) -> Answer<cudaArrayMemoryRequirements> {
    let mut size = 0_u64;
    for extent in extents {
        size = size.checked_add(laid_out(format, extent, has_layers(flags))?).ok_or(cudaErrorInvalidValue)?;
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

/// How levels are divided into tiles, of which the last ones may be smaller than a tile: the tail.
fn sparse(format: Format, tiled: Extent, extents: &[Extent]) -> Answer<cudaArraySparseProperties> {
    let mut properties = cudaArraySparseProperties::default();
    let (width, height, depth) = tile(format, tiled);
    (properties.tileExtent.width, properties.tileExtent.height, properties.tileExtent.depth) =
        (width, height, depth);
    let small = |extent: &Extent| {
        let deep = tiled.depth > 0 && extent.depth < u64::from(depth);
        extent.width < u64::from(width) || extent.height < u64::from(height) || deep
    };
    let first = extents.iter().position(small).unwrap_or(extents.len());
    for extent in extents.iter().skip(first) {
        let depth = if tiled.depth > 0 { extent.depth } else { 0 };
        properties.miptailSize += laid_out(format, Extent { depth, ..*extent }, false)?;
    }
    properties.miptailSize = properties.miptailSize.next_multiple_of(MAPPED);
    // Without levels only an array that is smaller than a tile has a tail.
    if extents.len() > 1 || first == 0 {
        properties.miptailFirstLevel = u32::try_from(first).map_err(|_| cudaErrorInvalidValue)?;
    }
    properties.flags = if first == 0 { cudaArraySparsePropertiesSingleMipTail } else { 0 };
    Ok(properties)
}

api! {
    /// Makes an array of one or two dimensions.
    waits fn cudaMallocArray(
        call, out: Out<'_, cudaArray_t>, desc: Option<&cudaChannelFormatDesc>, width: usize, height: usize,
        flags: c_uint,
    ) {
        make(call, out, desc, cudaExtent { width, height, depth: 0 }, flags)
    }

    /// Makes an array of up to three dimensions.
    waits fn cudaMalloc3DArray(
        call, out: Out<'_, cudaArray_t>, desc: Option<&cudaChannelFormatDesc>, extent: cudaExtent, flags: c_uint,
    ) {
        make(call, out, desc, extent, flags)
    }

    /// Makes an array with smaller versions of itself.
    waits fn cudaMallocMipmappedArray(
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
    allowed fn cudaFreeArray(call, array: cudaArray_t) {
        // Nothing is looked at for nothing.
        if array.is_null() {
            return Ok(());
        }
        let (mut machine, _) = call.waiting()?;
        // An H200 takes a level, whose memory lives on with the others.
        if machine.allocations.is_level(handle(array)) {
            return Ok(());
        }
        let device = machine.allocations.freeable_array(handle(array))?;
        before_free(&mut machine, device)?;
        machine.allocations.remove_array(handle(array), call.name)
    }

    /// Frees a mipmapped array and its levels, after all work of its device.
    allowed fn cudaFreeMipmappedArray(call, mipmap: cudaMipmappedArray_t) {
        if mipmap.is_null() {
            return Ok(());
        }
        let (mut machine, _) = call.waiting()?;
        let device = machine.allocations.mipmap_device(handle(mipmap))?;
        before_free(&mut machine, device)?;
        machine.allocations.remove_array(handle(mipmap), call.name)
    }

    /// One level of a mipmapped array, as an array that lives as long.
    allowed fn cudaGetMipmappedArrayLevel(
        call, out: Out<'_, cudaArray_t>, mipmap: cudaMipmappedArray_const_t, level: c_uint,
    ) {
        let (machine, _) = call.context()?;
        let found = machine.allocations.level(handle(mipmap), level)?;
        put(out, pointer(found).cast())
    }

    /// One plane of an array whose format has several, as an array that lives as long.
    allowed fn cudaArrayGetPlane(call, out: Out<'_, cudaArray_t>, array: cudaArray_t, plane: c_uint) {
        let (machine, _) = call.context()?;
        let found = machine.allocations.plane(handle(array), plane)?;
        put(out, pointer(found).cast())
    }

    /// The description with which an array was made.
    allowed fn cudaArrayGetInfo(
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
    allowed fn cudaGetChannelDesc(call, desc: Out<'_, cudaChannelFormatDesc>, array: cudaArray_const_t) {
        let (machine, _) = call.context()?;
        let out = desc.ok_or(cudaErrorInvalidValue)?;
        put(Some(out), machine.allocations.array(handle(array))?.desc)
    }

    /// How much memory an array needs that was made without any.
    allowed fn cudaArrayGetMemoryRequirements(
        call, out: Out<'_, cudaArrayMemoryRequirements>, array: cudaArray_t, _device: c_int,
    ) {
        let (machine, _) = call.context()?;
        let out = out.filter(|_| !array.is_null()).ok_or(cudaErrorInvalidValue)?;
        // Of devices that there are not, an H200 answers the same.
        let found = machine.allocations.array(handle(array))?;
        if found.flags & cudaArrayDeferredMapping == 0 || found.part_of.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        put(Some(out), requirements(found.format, found.flags, [found.extent].into_iter())?)
    }

    /// How much memory a mipmapped array needs that was made without any.
    allowed fn cudaMipmappedArrayGetMemoryRequirements(
        call, out: Out<'_, cudaArrayMemoryRequirements>, mipmap: cudaMipmappedArray_t, device: c_int,
    ) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        ordinal(&machine, device)?;
        let found = machine.allocations.mipmap(handle(mipmap))?;
        if found.flags & cudaArrayDeferredMapping == 0 {
            return Err(cudaErrorInvalidValue);
        }
        put(Some(out), requirements(found.format, found.flags, found.extents())?)
    }

    /// How a sparse array is divided into tiles.
    allowed fn cudaArrayGetSparseProperties(call, out: Out<'_, cudaArraySparseProperties>, array: cudaArray_t) {
        let (machine, _) = call.context()?;
        let out = out.filter(|_| !array.is_null()).ok_or(cudaErrorInvalidValue)?;
        let found = machine.allocations.array(handle(array))?;
        if found.flags & cudaArraySparse == 0 || found.part_of.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        put(Some(out), sparse(found.format, found.tiled(), &[found.extent])?)
    }

    /// Returns how a sparse mipmapped array is divided into tiles, and which levels are smaller than a tile.
    allowed fn cudaMipmappedArrayGetSparseProperties(
        call, out: Out<'_, cudaArraySparseProperties>, mipmap: cudaMipmappedArray_t,
    ) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let found = machine.allocations.mipmap(handle(mipmap))?;
        if found.flags & cudaArraySparse == 0 {
            return Err(cudaErrorInvalidValue);
        }
        let extents: Vec<_> = found.extents().collect();
        put(Some(out), sparse(found.format, found.tiled(), &extents)?)
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
