//! The sources of textures and surfaces, their modes of reading, and invalid handles.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, stream};

/// One number of so many bits.
pub(super) fn format(bits: i32, kind: cudaChannelFormatKind) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x: bits, y: 0, z: 0, w: 0, f: kind }
}

pub(super) const FLOAT: (i32, cudaChannelFormatKind) = (32, cudaChannelFormatKindFloat);

/// An array, made with these flags.
pub(super) fn array(
    log: &mut Log,
    (bits, kind): (i32, cudaChannelFormatKind),
    [width, height]: [usize; 2],
    flags: u32,
) -> Result<cudaArray_t, Setup> {
    let (mut array, format) = (ptr::null_mut(), format(bits, kind));
    need!(log, cudaMallocArray(&raw mut array, &raw const format, width, height, flags));
    Ok(array)
}

pub(super) fn of_array(array: cudaArray_t) -> cudaResourceDesc {
    let mut resource = cudaResourceDesc { resType: cudaResourceTypeArray, ..Default::default() };
    resource.res.array.array = array;
    resource
}

pub(super) fn of_levels(levels: cudaMipmappedArray_t) -> cudaResourceDesc {
    let mut resource = cudaResourceDesc { resType: cudaResourceTypeMipmappedArray, ..Default::default() };
    resource.res.mipmap.mipmap = levels;
    resource
}

pub(super) fn of_row(start: *mut c_void, bytes: usize) -> cudaResourceDesc {
    let mut resource = cudaResourceDesc { resType: cudaResourceTypeLinear, ..Default::default() };
    resource.res.linear = cudaResourceDesc__bindgen_ty_1__bindgen_ty_3 {
        devPtr: start,
        desc: format(32, cudaChannelFormatKindFloat),
        sizeInBytes: bytes,
    };
    resource
}

fn of_rows(start: *mut c_void, width: usize, height: usize, pitch: usize) -> cudaResourceDesc {
    let mut resource = cudaResourceDesc { resType: cudaResourceTypePitch2D, ..Default::default() };
    resource.res.pitch2D = cudaResourceDesc__bindgen_ty_1__bindgen_ty_4 {
        devPtr: start,
        desc: format(32, cudaChannelFormatKindFloat),
        width,
        height,
        pitchInBytes: pitch,
    };
    resource
}

/// Makes a texture, and notes its description if there is one.
fn make(log: &mut Log, name: &str, resource: cudaResourceDesc, texture: cudaTextureDesc) {
    let mut made = 0;
    let (from, like) = (&raw const resource, &raw const texture);
    ask!(log, name, cudaCreateTextureObject(&raw mut made, from, like, ptr::null()));
    if made != 0 {
        ask!(log, format!("{name}, its end").as_str(), cudaDestroyTextureObject(made));
    }
}

/// The nearest element, unconverted, and the edge outside.
pub(super) fn plain() -> cudaTextureDesc {
    cudaTextureDesc { addressMode: [cudaAddressModeClamp; 3], ..Default::default() }
}

fn arrays(cases: &mut Cases) {
    cases.add("cudaCreateTextureObject/of arrays of every kind of number, filtered", |log| {
        let linear = cudaTextureDesc { filterMode: cudaFilterModeLinear, ..plain() };
        let fractions = cudaTextureDesc { readMode: cudaReadModeNormalizedFloat, ..plain() };
        let both = cudaTextureDesc { filterMode: cudaFilterModeLinear, ..fractions };
        for (name, bits, kind) in [
            ("u8", 8, cudaChannelFormatKindUnsigned),
            ("s16", 16, cudaChannelFormatKindSigned),
            ("u32", 32, cudaChannelFormatKindUnsigned),
            ("f16", 16, cudaChannelFormatKindFloat),
            ("f32", 32, cudaChannelFormatKindFloat),
        ] {
            let image = of_array(array(log, (bits, kind), [64, 16], 0)?);
            make(log, name, image, plain());
            make(log, &format!("{name} linear"), image, linear);
            make(log, &format!("{name} normalized"), image, fractions);
            make(log, &format!("{name} both"), image, both);
        }
        Ok(())
    });
    cases.add("cudaCreateTextureObject/modes that count on normalized coordinates", |log| {
        let image = of_array(array(log, FLOAT, [64, 16], 0)?);
        for (name, mode) in [
            ("wrap", cudaAddressModeWrap),
            ("mirror", cudaAddressModeMirror),
            ("border", cudaAddressModeBorder),
            ("none such", cudaTextureAddressMode(9)),
        ] {
            let texture = cudaTextureDesc { addressMode: [mode; 3], ..plain() };
            make(log, name, image, texture);
            make(
                log,
                &format!("{name}, normalized"),
                image,
                cudaTextureDesc { normalizedCoords: 1, ..texture },
            );
        }
        Ok(())
    });
    cases.add("cudaCreateTextureObject/sRGB, anisotropy, levels of what has none", |log| {
        let image = of_array(array(log, FLOAT, [64, 16], 0)?);
        make(log, "sRGB of floats", image, cudaTextureDesc { sRGB: 1, ..plain() });
        let bytes = of_array(array(log, (8, cudaChannelFormatKindUnsigned), [64, 16], 0)?);
        make(log, "sRGB of bytes", bytes, cudaTextureDesc { sRGB: 1, ..plain() });
        make(log, "anisotropy 16", image, cudaTextureDesc { maxAnisotropy: 16, ..plain() });
        make(log, "anisotropy 17", image, cudaTextureDesc { maxAnisotropy: 17, ..plain() });
        make(log, "levels", image, cudaTextureDesc { maxMipmapLevelClamp: 3.0, ..plain() });
        make(
            log,
            "filter none such",
            image,
            cudaTextureDesc { filterMode: cudaTextureFilterMode(7), ..plain() },
        );
        Ok(())
    });
    cases.add("cudaCreateTextureObject/of a mipmapped array", |log| {
        let (mut levels, format) = (ptr::null_mut(), format(32, cudaChannelFormatKindFloat));
        let extent = make_cudaExtent(64, 16, 0);
        need!(log, cudaMallocMipmappedArray(&raw mut levels, &raw const format, extent, 3, 0));
        let mut image = cudaResourceDesc { resType: cudaResourceTypeMipmappedArray, ..Default::default() };
        image.res.mipmap.mipmap = levels;
        make(log, "by elements", image, plain());
        let normalized = cudaTextureDesc { normalizedCoords: 1, ..plain() };
        make(log, "normalized", image, normalized);
        make(
            log,
            "levels 2 to 1",
            image,
            cudaTextureDesc { minMipmapLevelClamp: 2.0, maxMipmapLevelClamp: 1.0, ..normalized },
        );
        Ok(())
    });
    cases.add("cudaCreateTextureObject/nulls and resources that are none", |log| {
        let (image, texture) = (of_array(array(log, FLOAT, [64, 16], 0)?), plain());
        let (none, mut made) = (ptr::null(), 0);
        ask!(
            log,
            "out",
            cudaCreateTextureObject(ptr::null_mut(), &raw const image, &raw const texture, none)
        );
        ask!(log, "texture", cudaCreateTextureObject(&raw mut made, &raw const image, ptr::null(), none));
        make(log, "no array", of_array(ptr::null_mut()), texture);
        let unknown = cudaResourceDesc { resType: cudaResourceType(9), ..image };
        make(log, "no such type", unknown, texture);
        Ok(())
    });
    cases.add("cudaCreateTextureObject/while a stream captures", |log| {
        let image = of_array(array(log, FLOAT, [64, 16], 0)?);
        let on = stream(log)?;
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal));
        make(log, "texture", image, plain());
        let mut graph = ptr::null_mut();
        ask!(log, cudaStreamEndCapture(on, &raw mut graph));
        Ok(())
    });
}

fn linear(cases: &mut Cases) {
    cases.add("cudaCreateTextureObject/of linear memory, offsets and sizes", |log| {
        let block = Block::new(log, Kind::Device, 1 << 16)?;
        let at = |offset: usize| block.ptr().cast::<u8>().wrapping_add(offset).cast();
        for offset in [0, 4, 32, 128, 256, 512] {
            make(log, &format!("from byte {offset}"), of_row(at(offset), 1024), plain());
        }
        make(log, "no bytes", of_row(at(0), 0), plain());
        make(log, "3 bytes", of_row(at(0), 3), plain());
        make(log, "1023 bytes", of_row(at(0), 1023), plain());
        make(log, "behind the end", of_row(at(1 << 15), 1 << 16), plain());
        make(log, "null", of_row(ptr::null_mut(), 1024), plain());
        Ok(())
    });
    cases.add("cudaCreateTextureObject/of linear memory, read as images are", |log| {
        let image = of_row(Block::new(log, Kind::Device, 4096)?.ptr(), 4096);
        make(log, "linear", image, cudaTextureDesc { filterMode: cudaFilterModeLinear, ..plain() });
        make(log, "normalized", image, cudaTextureDesc { normalizedCoords: 1, ..plain() });
        let border = cudaTextureDesc { addressMode: [cudaAddressModeBorder; 3], ..plain() };
        make(log, "border", image, border);
        Ok(())
    });
    cases.add("cudaCreateTextureObject/of every kind of memory", |log| {
        for kind in Kind::ALL {
            // The offset is a multiple of a texture's alignment.
            let start = Block::new(log, kind, 8192)?.ptr().cast::<u8>();
            let start = start.wrapping_add(start.align_offset(512));
            make(log, kind.name(), of_row(start.cast(), 4096), plain());
        }
        Ok(())
    });
    cases.add("cudaCreateTextureObject/of rows with a pitch", |log| {
        let block = Block::new(log, Kind::Device, 1 << 16)?;
        let at = |offset: usize| block.ptr().cast::<u8>().wrapping_add(offset).cast();
        for pitch in [512, 256, 128, 96, 100, 64, 32] {
            make(log, &format!("pitch {pitch}"), of_rows(at(0), 16, 16, pitch), plain());
        }
        for offset in [32, 256, 512] {
            make(log, &format!("from byte {offset}"), of_rows(at(offset), 16, 16, 512), plain());
        }
        make(log, "no width", of_rows(at(0), 0, 16, 512), plain());
        make(log, "no height", of_rows(at(0), 16, 0, 512), plain());
        make(log, "65001 rows", of_rows(at(0), 8, 65_001, 32), plain());
        let linear = cudaTextureDesc { filterMode: cudaFilterModeLinear, ..plain() };
        make(log, "linear", of_rows(at(0), 16, 16, 512), linear);
        let wrap = cudaTextureDesc { addressMode: [cudaAddressModeWrap; 3], ..plain() };
        make(
            log,
            "wrap, normalized",
            of_rows(at(0), 16, 16, 512),
            cudaTextureDesc { normalizedCoords: 1, ..wrap },
        );
        Ok(())
    });
}

fn handles(cases: &mut Cases) {
    cases.add("cudaDestroyTextureObject/of nothing", |log| {
        ask!(log, "0", cudaDestroyTextureObject(0));
        ask!(log, "surface 0", cudaDestroySurfaceObject(0));
        Ok(())
    });
    cases.add("cudaGetTextureObjectResourceViewDesc/of layers, and without a view", |log| {
        let (mut layers, format) = (ptr::null_mut(), format(32, cudaChannelFormatKindFloat));
        let extent = make_cudaExtent(64, 16, 5);
        let flags = cudaArrayLayered;
        need!(log, cudaMalloc3DArray(&raw mut layers, &raw const format, extent, flags));
        let (image, texture, mut made) = (of_array(layers), plain(), 0);
        let mut view = cudaResourceViewDesc {
            format: cudaResViewFormatFloat1,
            width: 64,
            height: 16,
            firstLayer: 1,
            lastLayer: 3,
            ..Default::default()
        };
        for (name, last, depth) in [("3", 3, 0), ("5", 5, 0), ("3, depth 5", 3, 5), ("3, depth 3", 3, 3)] {
            (view.lastLayer, view.depth, made) = (last, depth, 0);
            let (from, like) = (&raw const image, &raw const texture);
            ask!(log, name, cudaCreateTextureObject(&raw mut made, from, like, &raw const view));
            let mut found = cudaResourceViewDesc::default();
            if made != 0 {
                ask!(log, cudaGetTextureObjectResourceViewDesc(&raw mut found, made));
                log.fact("layers", format_args!("{} to {}", found.firstLayer, found.lastLayer));
                log.fact("extent", format_args!("{} {} {}", found.width, found.height, found.depth));
            }
        }
        let (from, like, none) = (&raw const image, &raw const texture, ptr::null());
        need!(log, cudaCreateTextureObject(&raw mut made, from, like, none));
        let mut found = cudaResourceViewDesc::default();
        ask!(log, "without", cudaGetTextureObjectResourceViewDesc(&raw mut found, made));
        ask!(log, "null", cudaGetTextureObjectResourceViewDesc(ptr::null_mut(), made));
        ask!(log, "no texture", cudaGetTextureObjectResourceViewDesc(&raw mut found, 0));
        Ok(())
    });
    cases.add("cudaGetTextureObjectResourceDesc/of linear memory, and nulls", |log| {
        let (image, texture) = (of_row(Block::new(log, Kind::Device, 4096)?.ptr(), 4096), plain());
        let (from, like, mut made) = (&raw const image, &raw const texture, 0);
        need!(log, cudaCreateTextureObject(&raw mut made, from, like, ptr::null()));
        let mut found = cudaResourceDesc::default();
        ask!(log, cudaGetTextureObjectResourceDesc(&raw mut found, made));
        // SAFETY: the texture was made with this member.
        log.fact("bytes", unsafe { found.res.linear.sizeInBytes });
        log.fact("type", found.resType.0);
        ask!(log, "null", cudaGetTextureObjectResourceDesc(ptr::null_mut(), made));
        ask!(log, "no texture", cudaGetTextureObjectResourceDesc(&raw mut found, 0));
        Ok(())
    });
}

fn surfaces(cases: &mut Cases) {
    cases.add("cudaCreateSurfaceObject/of what is for surfaces, and what is not", |log| {
        let flag = cudaArraySurfaceLoadStore;
        let (with, without) = (array(log, FLOAT, [64, 16], flag)?, array(log, FLOAT, [64, 16], 0)?);
        let row = of_row(Block::new(log, Kind::Device, 4096)?.ptr(), 4096);
        let mut surfaces = [0; 3];
        for ((name, resource), made) in
            [("with", of_array(with)), ("without", of_array(without)), ("linear", row)]
                .iter()
                .zip(&mut surfaces)
        {
            ask!(log, *name, cudaCreateSurfaceObject(made, resource));
        }
        let [with, ..] = surfaces;
        let mut found = cudaResourceDesc::default();
        ask!(log, cudaGetSurfaceObjectResourceDesc(&raw mut found, with));
        log.fact("type", found.resType.0);
        ask!(log, "no surface", cudaGetSurfaceObjectResourceDesc(&raw mut found, 0));
        ask!(log, "null", cudaGetSurfaceObjectResourceDesc(ptr::null_mut(), with));
        ask!(log, cudaDestroySurfaceObject(with));
        ask!(log, "no resource", cudaCreateSurfaceObject(&raw mut surfaces[0], ptr::null()));
        ask!(log, "no array", cudaCreateSurfaceObject(&raw mut surfaces[0], &of_array(ptr::null_mut())));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    arrays(cases);
    linear(cases);
    handles(cases);
    surfaces(cases);
    without_memory(cases);
}

/// The descriptions of textures and surfaces whose memory is gone, and their destruction.
fn without_memory(cases: &mut Cases) {
    cases.alone("cudaDestroyTextureObject/of each image, whose memory is gone", |log| {
        let (row, rows) = (Block::new(log, Kind::Device, 4096)?, Block::new(log, Kind::Device, 4096)?);
        let (of, mut levels, format) = (array(log, FLOAT, [8, 8], 0)?, ptr::null_mut(), format(32, FLOAT.1));
        need!(
            log,
            cudaMallocMipmappedArray(&raw mut levels, &raw const format, make_cudaExtent(8, 8, 0), 2, 0)
        );
        let images = [
            ("row", of_row(row.ptr(), 1024)),
            ("rows", of_rows(rows.ptr(), 16, 4, 512)),
            ("array", of_array(of)),
            ("levels", of_levels(levels)),
        ];
        let (mut textures, like, mut surface) = ([0; 4], plain(), 0);
        for (texture, (_, image)) in textures.iter_mut().zip(&images) {
            need!(log, cudaCreateTextureObject(texture, image, &raw const like, ptr::null()));
        }
        need!(log, cudaCreateSurfaceObject(&raw mut surface, &raw const images[2].1));
        need!(log, cudaFree(row.ptr()));
        need!(log, cudaFree(rows.ptr()));
        need!(log, cudaFreeArray(of));
        need!(log, cudaFreeMipmappedArray(levels));
        for (texture, (name, _)) in textures.into_iter().zip(images) {
            let (mut image, mut like) = (cudaResourceDesc::default(), cudaTextureDesc::default());
            let mut view = cudaResourceViewDesc::default();
            log.fact("of", name);
            ask!(log, "image", cudaGetTextureObjectResourceDesc(&raw mut image, texture));
            ask!(log, "reading", cudaGetTextureObjectTextureDesc(&raw mut like, texture));
            ask!(log, "view", cudaGetTextureObjectResourceViewDesc(&raw mut view, texture));
            ask!(log, "end", cudaDestroyTextureObject(texture));
            ask!(log, "again", cudaDestroyTextureObject(texture));
        }
        let mut image = cudaResourceDesc::default();
        ask!(log, "surface", cudaGetSurfaceObjectResourceDesc(&raw mut image, surface));
        ask!(log, "end", cudaDestroySurfaceObject(surface));
        ask!(log, "again", cudaDestroySurfaceObject(surface));
        Ok(())
    });
    cases.alone("cudaCreateTextureObject/of rows, by pitch and width", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        for (width, height, pitch) in
            [(0, 0, 0), (16, 4, 0), (16, 1, 0), (0, 4, 0), (16, 4, 1 << 31), (16, 4, usize::MAX - 31)]
        {
            make(
                log,
                &format!("{width} {height} {pitch}"),
                of_rows(block.ptr(), width, height, pitch),
                plain(),
            );
        }
        Ok(())
    });
}
