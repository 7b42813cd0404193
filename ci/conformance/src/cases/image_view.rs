//! Resource views, and what the runtime says of mipmapped, sparse and deferred arrays.

use std::ptr;

use cuda_sys::*;

use super::image::{
    ImageRead, Way, at_places, channels, filled, floats, levels, linear, normalized, of_levels, read,
    read_integers,
};
use super::texture::{array, of_array, of_row, plain};
use crate::case::Cases;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

fn view(format: cudaResourceViewFormat, [width, height, depth]: [usize; 3]) -> cudaResourceViewDesc {
    cudaResourceViewDesc { format, width, height, depth, ..Default::default() }
}

/// Makes a texture with a view, notes how that went, and what the runtime says of the view.
fn make(
    log: &mut Log,
    name: &str,
    image: cudaResourceDesc,
    like: cudaTextureDesc,
    view: cudaResourceViewDesc,
) -> u64 {
    let mut made = 0;
    let code = ask!(
        log,
        name,
        cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, &raw const view)
    );
    if code == cudaSuccess { made } else { 0 }
}

const FLOAT_VIEW: cudaResourceViewFormat = cudaResViewFormatFloat1;

fn level_views(log: &mut Log) -> Outcome {
    let image = of_levels(levels(log, [16, 8, 0], 4, 0, |level, [x, y, _]| {
        1000.0 * level as f32 + 10.0 * y as f32 + x as f32
    })?);
    let steps: Vec<_> = [0.0, 0.6, 1.0, 2.0, 3.0, 9.0]
        .map(|level| ImageRead { at: [0.3, 0.6, 0.0], level, ..Default::default() })
        .to_vec();
    let mipmapped = cudaTextureDesc { mipmapFilterMode: cudaFilterModeLinear, ..normalized() };
    for (name, first, last, extent) in [
        ("0 to 3", 0, 3, [16, 8, 0]),
        ("0 to 1", 0, 1, [16, 8, 0]),
        ("1 to 2", 1, 2, [16, 8, 0]),
        ("1 to 2, extent of level 1", 1, 2, [8, 4, 0]),
        ("3 to 3", 3, 3, [16, 8, 0]),
        ("2 to 1", 2, 1, [16, 8, 0]),
        ("0 to 4", 0, 4, [16, 8, 0]),
        ("4 to 4", 4, 4, [16, 8, 0]),
        ("no extent", 0, 3, [0, 0, 0]),
        ("another width", 0, 3, [15, 8, 0]),
        ("another depth", 0, 3, [16, 8, 1]),
    ] {
        let wanted = cudaResourceViewDesc {
            firstMipmapLevel: first,
            lastMipmapLevel: last,
            ..view(FLOAT_VIEW, extent)
        };
        let made = make(log, name, image, mipmapped, wanted);
        if made != 0 {
            read(log, "read", made, Way::PlaneLevel, 1, &steps)?;
        }
    }
    Ok(())
}

fn layer_views(log: &mut Log) -> Outcome {
    let list: Vec<f32> = (0..160).map(|n| (100 * (n / 32) + 10 * (n % 32 / 8) + n % 8) as f32).collect();
    let image = of_array(filled(log, floats(), [8, 4, 5], cudaArrayLayered, &list)?);
    let steps: Vec<_> = [0.0, 1.0, 2.0, 4.0, 9.0]
        .map(|layer| ImageRead { at: [1.5, 1.5, 0.0], layer, ..Default::default() })
        .to_vec();
    for (name, first, last, depth) in [
        ("0 to 4", 0, 4, 5),
        ("1 to 3", 1, 3, 5),
        ("2 to 2", 2, 2, 5),
        ("3 to 1", 3, 1, 5),
        ("0 to 5", 0, 5, 5),
        ("0 to 4, depth 4", 0, 4, 4),
        ("1 to 3, depth 3", 1, 3, 3),
    ] {
        let wanted =
            cudaResourceViewDesc { firstLayer: first, lastLayer: last, ..view(FLOAT_VIEW, [8, 4, depth]) };
        let made = make(log, name, image, plain(), wanted);
        if made != 0 {
            read(log, "read", made, Way::Planes, 1, &steps)?;
        }
    }
    Ok(())
}

/// Views of other formats. The bits of the elements are known, so that a read tells what became of them.
fn format_views(log: &mut Log) -> Outcome {
    let bytes = pattern(16 * 4 * 4, 3);
    let places = at_places(&[[0.5, 0.5], [1.5, 0.5], [3.5, 1.5]]);
    for (name, bits, count, kind) in [
        ("f32", 32, 1, cudaChannelFormatKindFloat),
        ("u32", 32, 1, cudaChannelFormatKindUnsigned),
        ("4 u8", 8, 4, cudaChannelFormatKindUnsigned),
        ("2 u16", 16, 2, cudaChannelFormatKindUnsigned),
        ("2 u32", 32, 2, cudaChannelFormatKindUnsigned),
    ] {
        let format = channels(bits, count, kind);
        let size = usize::try_from(bits * count / 8).unwrap_or(0);
        let image = of_array(filled(log, format, [8, 2, 0], 0, &bytes[..16 * size])?);
        for (other, wanted) in [
            ("none", cudaResViewFormatNone),
            ("f32", cudaResViewFormatFloat1),
            ("u32", cudaResViewFormatUnsignedInt1),
            ("s32", cudaResViewFormatSignedInt1),
            ("2 u16", cudaResViewFormatUnsignedShort2),
            ("4 u8", cudaResViewFormatUnsignedChar4),
            ("4 s8", cudaResViewFormatSignedChar4),
            ("2 f16", cudaResViewFormatHalf2),
            ("u8", cudaResViewFormatUnsignedChar1),
            ("blocks", cudaResViewFormatUnsignedBlockCompressed1),
            ("no such", cudaResourceViewFormat(99)),
        ] {
            let made = make(log, &format!("{name} as {other}"), image, plain(), view(wanted, [8, 2, 0]));
            if made == 0 || other == "blocks" {
                continue;
            }
            if other.contains('f') || other == "none" && name == "f32" {
                read(log, "read", made, Way::Plane, if count > 2 { 4 } else { 2 }, &places)?;
            } else {
                read_integers(log, "read", made, Way::Plane, 4, &places)?;
            }
        }
    }
    Ok(())
}

fn wrong_views(log: &mut Log) -> Outcome {
    let image = of_array(array(log, super::texture::FLOAT, [16, 8], 0)?);
    let whole = view(FLOAT_VIEW, [16, 8, 0]);
    make(log, "whole", image, plain(), whole);
    make(log, "wider", image, plain(), view(FLOAT_VIEW, [17, 8, 0]));
    make(log, "narrower", image, plain(), view(FLOAT_VIEW, [8, 8, 0]));
    make(log, "no size", image, plain(), view(FLOAT_VIEW, [0, 0, 0]));
    make(
        log,
        "level 1",
        image,
        plain(),
        cudaResourceViewDesc { firstMipmapLevel: 1, lastMipmapLevel: 1, ..whole },
    );
    make(log, "to level 1", image, plain(), cudaResourceViewDesc { lastMipmapLevel: 1, ..whole });
    make(log, "layer 1", image, plain(), cudaResourceViewDesc { firstLayer: 1, lastLayer: 1, ..whole });
    make(log, "reserved", image, plain(), cudaResourceViewDesc { reserved: [1; 16], ..whole });
    let row = of_row(Block::new(log, Kind::Device, 4096)?.ptr(), 4096);
    make(log, "linear memory", row, plain(), view(FLOAT_VIEW, [1024, 0, 0]));
    make(
        log,
        "filtered as integers",
        image,
        linear(plain()),
        view(cudaResViewFormatUnsignedInt1, [16, 8, 0]),
    );
    let it = make(log, "whole", image, plain(), whole);
    let mut found = cudaResourceViewDesc::default();
    ask!(log, cudaGetTextureObjectResourceViewDesc(&raw mut found, it));
    log.fact("format", found.format.0);
    log.fact("extent", format_args!("{} {} {}", found.width, found.height, found.depth));
    ask!(log, "null", cudaGetTextureObjectResourceViewDesc(ptr::null_mut(), it));
    Ok(())
}

fn descriptions(log: &mut Log) -> Outcome {
    let image = of_levels(levels(log, [16, 8, 0], 3, 0, |_, _| 0.0)?);
    for (name, like) in [
        ("filter 7", cudaTextureDesc { mipmapFilterMode: cudaTextureFilterMode(7), ..normalized() }),
        ("anisotropy 17", cudaTextureDesc { maxAnisotropy: 17, ..normalized() }),
        ("bias NaN", cudaTextureDesc { mipmapLevelBias: f32::NAN, ..normalized() }),
        (
            "clamps -1 to -2",
            cudaTextureDesc { minMipmapLevelClamp: -1.0, maxMipmapLevelClamp: -2.0, ..normalized() },
        ),
        ("linear", linear(normalized())),
        ("by elements", cudaTextureDesc { normalizedCoords: 0, ..normalized() }),
    ] {
        let mut made = 0;
        ask!(
            log,
            name,
            cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, ptr::null())
        );
        if made != 0 {
            let mut found = cudaTextureDesc::default();
            need!(log, cudaGetTextureObjectTextureDesc(&raw mut found, made));
            log.fact("anisotropy", found.maxAnisotropy);
            let level = (found.mipmapLevelBias, found.minMipmapLevelClamp, found.maxMipmapLevelClamp);
            log.fact("levels", format_args!("{level:?} {}", found.mipmapFilterMode.0));
        }
    }
    let mut surface = 0;
    ask!(log, "surface", cudaCreateSurfaceObject(&raw mut surface, &raw const image));
    Ok(())
}

/// The extent and flags of levels.
fn levels_of(log: &mut Log) -> Outcome {
    let format = floats();
    for (name, [width, height, depth], wanted, flags) in [
        ("plane", [20, 9, 0], 9, 0),
        ("no levels", [20, 9, 0], 0, 0),
        ("solid", [20, 9, 5], 3, 0),
        ("planes", [20, 9, 5], 3, cudaArrayLayered),
        ("cube", [8, 8, 6], 9, cudaArrayCubemap),
        ("gather", [8, 8, 0], 2, cudaArrayTextureGather),
        ("surface", [8, 8, 0], 2, cudaArraySurfaceLoadStore),
        ("wide", [40_000, 4, 0], 2, 0),
    ] {
        let mut made = ptr::null_mut();
        let extent = cudaExtent { width, height, depth };
        let code = ask!(
            log,
            name,
            cudaMallocMipmappedArray(&raw mut made, &raw const format, extent, wanted, flags)
        );
        if code != cudaSuccess {
            continue;
        }
        let mut sizes = Vec::new();
        for level in 0..9 {
            let (mut part, mut desc) = (ptr::null_mut::<cudaArray>(), cudaChannelFormatDesc::default());
            // SAFETY: the array is live, and the pointer is to a live variable.
            let code = unsafe { cudaGetMipmappedArrayLevel(&raw mut part, made.cast_const(), level) };
            if code != cudaSuccess {
                log.code("the next", code);
                break;
            }
            let (mut extent, mut flags) = (cudaExtent::default(), 0);
            need!(log, cudaArrayGetInfo(&raw mut desc, &raw mut extent, &raw mut flags, part));
            sizes.push(format!("{}x{}x{}:{flags}", extent.width, extent.height, extent.depth));
        }
        log.fact("levels", sizes.join(" "));
    }
    Ok(())
}

fn parts(log: &mut Log) -> Outcome {
    let made = levels(log, [16, 8, 0], 3, 0, |_, _| 0.0)?;
    let mut part: cudaArray_t = ptr::null_mut();
    ask!(log, "level 3", cudaGetMipmappedArrayLevel(&raw mut part, made.cast_const(), 3));
    ask!(log, "out null", cudaGetMipmappedArrayLevel(ptr::null_mut(), made.cast_const(), 0));
    need!(log, cudaGetMipmappedArrayLevel(&raw mut part, made.cast_const(), 1));
    let mut again: cudaArray_t = ptr::null_mut();
    need!(log, cudaGetMipmappedArrayLevel(&raw mut again, made.cast_const(), 1));
    log.fact("the same handle", part == again);
    let list = pattern(128, 1);
    ask!(log, cudaMemcpy2DToArray(part, 0, 0, list.as_ptr().cast(), 32, 32, 4, cudaMemcpyHostToDevice));
    let too = list.as_ptr().cast();
    ask!(log, "too wide", cudaMemcpy2DToArray(part, 0, 0, too, 64, 64, 1, cudaMemcpyHostToDevice));
    let mut back = vec![0; 128];
    let (to, way) = (back.as_mut_ptr().cast(), cudaMemcpyDeviceToHost);
    ask!(log, cudaMemcpy2DFromArray(to, 32, part.cast_const(), 0, 0, 32, 4, way));
    log.bytes("all bytes", &back, &list);
    ask!(log, "free a level", cudaFreeArray(part));
    ask!(log, "free all", cudaFreeMipmappedArray(made));
    Ok(())
}

/// What arrays without memory need, and how they are divided into tiles.
fn without_memory(log: &mut Log) -> Outcome {
    use cuda_sys::{cudaArrayDeferredMapping as deferred, cudaArraySparse as sparse};
    for (name, bits, count, [width, height, depth], flags) in [
        ("f32", 32, 1, [1024, 1024, 0], 0),
        ("4 f32", 32, 4, [1000, 300, 0], 0),
        ("u8", 8, 1, [100, 100, 0], 0),
        ("a line", 32, 1, [4096, 0, 0], 0),
        ("a solid", 32, 1, [100, 100, 20], 0),
        ("planes", 32, 1, [300, 200, 5], cudaArrayLayered),
        ("a cube", 8, 4, [512, 512, 6], cudaArrayCubemap),
    ] {
        let kind = if bits == 8 { cudaChannelFormatKindUnsigned } else { cudaChannelFormatKindFloat };
        let (format, extent) = (channels(bits, count, kind), cudaExtent { width, height, depth });
        for (how, flag) in [("deferred", deferred), ("sparse", sparse), ("neither", 0)] {
            let mut array = ptr::null_mut();
            let flags = flags | flag;
            let made = ask!(
                log,
                format!("{name}, {how}").as_str(),
                cudaMalloc3DArray(&raw mut array, &raw const format, extent, flags)
            );
            if made != cudaSuccess {
                continue;
            }
            let mut needs = cudaArrayMemoryRequirements::default();
            ask!(log, cudaArrayGetMemoryRequirements(&raw mut needs, array, 0));
            log.fact("needs", format_args!("{} {}", needs.size, needs.alignment));
            let mut tiles = cudaArraySparseProperties::default();
            ask!(log, cudaArrayGetSparseProperties(&raw mut tiles, array));
            let tile = tiles.tileExtent;
            log.fact("tiles", format_args!("{} {} {}", tile.width, tile.height, tile.depth));
            log.fact(
                "tail",
                format_args!("{} {} {}", tiles.miptailFirstLevel, tiles.miptailSize, tiles.flags),
            );
            let mut levels = ptr::null_mut();
            let made = ask!(
                log,
                "levels",
                cudaMallocMipmappedArray(&raw mut levels, &raw const format, extent, 4, flags)
            );
            if made != cudaSuccess {
                continue;
            }
            ask!(log, cudaMipmappedArrayGetMemoryRequirements(&raw mut needs, levels, 0));
            log.fact("needs", format_args!("{} {}", needs.size, needs.alignment));
            ask!(log, cudaMipmappedArrayGetSparseProperties(&raw mut tiles, levels));
            let tile = tiles.tileExtent;
            log.fact("tiles", format_args!("{} {} {}", tile.width, tile.height, tile.depth));
            log.fact(
                "tail",
                format_args!("{} {} {}", tiles.miptailFirstLevel, tiles.miptailSize, tiles.flags),
            );
        }
    }
    let mut needs = cudaArrayMemoryRequirements::default();
    let line = array(log, super::texture::FLOAT, [64, 64], deferred)?;
    ask!(log, "device 9", cudaArrayGetMemoryRequirements(&raw mut needs, line, 9));
    ask!(log, "null", cudaArrayGetMemoryRequirements(ptr::null_mut(), line, 0));
    ask!(log, "no array", cudaArrayGetMemoryRequirements(&raw mut needs, ptr::null_mut(), 0));
    ask!(log, "tiles null", cudaArrayGetSparseProperties(ptr::null_mut(), line));
    let mut tiles = cudaArraySparseProperties::default();
    ask!(log, "tiles of none", cudaArrayGetSparseProperties(&raw mut tiles, ptr::null_mut()));
    Ok(())
}

/// Textures and surfaces of arrays and levels without memory.
fn objects_without_memory(log: &mut Log) -> Outcome {
    let format = floats();
    for (name, flags) in [("deferred", cudaArrayDeferredMapping), ("sparse", cudaArraySparse)] {
        let flags = flags | cudaArraySurfaceLoadStore;
        let (mut array, mut made) = (ptr::null_mut(), ptr::null_mut());
        let extent = cudaExtent { width: 1024, height: 1024, depth: 0 };
        need!(log, cudaMalloc3DArray(&raw mut array, &raw const format, extent, flags));
        need!(log, cudaMallocMipmappedArray(&raw mut made, &raw const format, extent, 3, flags));
        let mut level = ptr::null_mut();
        need!(log, cudaGetMipmappedArrayLevel(&raw mut level, made.cast_const(), 1));
        for (what, image) in
            [("array", of_array(array)), ("levels", of_levels(made)), ("level", of_array(level))]
        {
            let (mut object, like) = (0, normalized());
            let name = format!("{name}, {what}");
            ask!(
                log,
                name.as_str(),
                cudaCreateTextureObject(&raw mut object, &raw const image, &raw const like, ptr::null())
            );
            ask!(log, "surface", cudaCreateSurfaceObject(&raw mut object, &raw const image));
        }
    }
    Ok(())
}

/// Copies of rows to and from arrays that are no planes, and of parts of elements.
fn rows(log: &mut Log) -> Outcome {
    let on = stream(log)?;
    for (name, [width, height, depth], flags) in [
        ("a line", [16, 0, 0], 0),
        ("a plane", [16, 8, 0], 0),
        ("a solid", [16, 8, 4], 0),
        ("planes", [16, 8, 4], cudaArrayLayered),
        ("lines", [16, 0, 4], cudaArrayLayered),
        ("a cube", [8, 8, 6], cudaArrayCubemap),
    ] {
        let (mut to, format) = (ptr::null_mut(), floats());
        let extent = cudaExtent { width, height, depth };
        need!(log, cudaMalloc3DArray(&raw mut to, &raw const format, extent, flags));
        let list = Block::with(log, Kind::Pinned, &pattern(4096, 5))?;
        let from = list.ptr().cast_const();
        for (what, x, y, wide, high) in [
            ("one row", 0, 0, 32, 1),
            ("two rows", 0, 0, 32, 2),
            ("row 1", 0, 1, 32, 1),
            ("from byte 4", 4, 0, 16, 1),
            ("from byte 2", 2, 0, 16, 1),
            ("6 bytes", 0, 0, 6, 1),
            ("all rows", 0, 0, 32, 8),
            ("9 rows", 0, 0, 32, 9),
            ("no rows from behind", 0, 9, 32, 0),
        ] {
            let name = format!("{name}, {what}");
            ask!(
                log,
                name.as_str(),
                cudaMemcpy2DToArray(to, x, y, from, 64, wide, high, cudaMemcpyHostToDevice)
            );
            let way = cudaMemcpyHostToDevice;
            ask!(log, "async", cudaMemcpy2DToArrayAsync(to, x, y, from, 64, wide, high, way, on));
            let back = list.ptr();
            let (array, way) = (to.cast_const(), cudaMemcpyDeviceToHost);
            ask!(log, "back", cudaMemcpy2DFromArrayAsync(back, 64, array, x, y, wide, high, way, on));
            need!(log, cudaStreamSynchronize(on));
        }
    }
    Ok(())
}

/// Directions that do not go with the memory.
fn directions(log: &mut Log) -> Outcome {
    let (to, on) = (array(log, super::texture::FLOAT, [16, 8], 0)?, stream(log)?);
    for kind in Kind::ALL {
        let block = Block::new(log, kind, 4096)?;
        for (name, way) in [
            ("host to host", cudaMemcpyHostToHost),
            ("host to device", cudaMemcpyHostToDevice),
            ("device to host", cudaMemcpyDeviceToHost),
            ("device to device", cudaMemcpyDeviceToDevice),
            ("default", cudaMemcpyDefault),
        ] {
            let name = format!("{}, {name}", kind.name());
            let (memory, rows) = (block.ptr(), 8);
            let from = memory.cast_const();
            ask!(log, format!("to, {name}").as_str(), cudaMemcpy2DToArray(to, 0, 0, from, 64, 64, rows, way));
            ask!(log, "async", cudaMemcpy2DToArrayAsync(to, 0, 0, from, 64, 64, rows, way, on));
            let array = to.cast_const();
            ask!(log, "from", cudaMemcpy2DFromArray(memory, 64, array, 0, 0, 64, rows, way));
            ask!(log, "async", cudaMemcpy2DFromArrayAsync(memory, 64, array, 0, 0, 64, rows, way, on));
            ask!(log, cudaStreamSynchronize(on));
        }
    }
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    cases.add("cudaCreateTextureObject/views of levels", level_views);
    cases.add("cudaCreateTextureObject/views of layers", layer_views);
    cases.add("cudaCreateTextureObject/views of other formats", format_views).alone();
    cases.add("cudaCreateTextureObject/views that do not fit", wrong_views);
    cases.add("cudaCreateTextureObject/descriptions of reads of levels", descriptions);
    cases.add("cudaMallocMipmappedArray/extents of levels", levels_of);
    cases.add("cudaGetMipmappedArrayLevel/copies, limits and frees of a level", parts);
    cases.add("cudaArrayGetMemoryRequirements/arrays without memory", without_memory);
    cases.add("cudaCreateTextureObject/arrays and levels without memory", objects_without_memory);
    cases.add("cudaMemcpy2DToArray/arrays that are no planes, and parts of elements", rows);
    cases.add("cudaMemcpy2DToArray/every kind of memory in every direction", directions);
}
