//! Arrays, and textures of them.

use cuda_sys as sys;
use cuda_sys::{cudaArray_t, cudaMemcpy3DParms, cudaTextureDesc};

use super::super::common::{N, add_case, device, null, taken};
use crate::case::Cases;
use crate::cases::image::{Way, at_places, channels, filled, floats, linear, normalized, read, texture};
use crate::cases::texture::{of_array, of_row, plain};
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

/// Four bytes a pixel.
fn pixels() -> sys::cudaChannelFormatDesc {
    channels(8, 4, sys::cudaChannelFormatKindUnsigned)
}

/// Notes format, extent and flags of an array.
fn about(log: &mut Log, array: cudaArray_t) {
    let (mut format, mut extent, mut flags) =
        (sys::cudaChannelFormatDesc::default(), sys::cudaExtent::default(), 77);
    ask!(log, cudaArrayGetInfo(&raw mut format, &raw mut extent, &raw mut flags, array));
    log.fact("format", format_args!("{} {} {} {} {}", format.x, format.y, format.z, format.w, format.f.0));
    log.fact("extent", format_args!("{} {} {} {flags}", extent.width, extent.height, extent.depth));
}

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 2, "a picture of four bytes a pixel, up at once and down", |log| {
        let (mut array, format, up) = (null(), pixels(), pattern(64 * 4 * 16, 1));
        ask!(log, cudaMallocArray(&raw mut array, &raw const format, 64, 16, 0));
        about(log, array);
        let (there, back) = (sys::cudaMemcpyHostToDevice, sys::cudaMemcpyDeviceToHost);
        ask!(log, cudaMemcpy2DToArray(array, 0, 0, up.as_ptr().cast(), 256, 256, 16, there));
        let mut got = vec![0_u8; up.len()];
        ask!(log, cudaMemcpy2DFromArray(got.as_mut_ptr().cast(), 256, array, 0, 0, 256, 16, back));
        log.bytes("all bytes", &got, &up);
        ask!(
            log,
            "a row too many",
            cudaMemcpy2DToArray(array, 0, 1, up.as_ptr().cast(), 256, 256, 16, there)
        );
        ask!(log, "half a pixel", cudaMemcpy2DToArray(array, 2, 0, up.as_ptr().cast(), 256, 4, 1, there));
        taken(log)
    });
    add_case(cases, 88, "a second one like the first, and formats and sizes that are none", |log| {
        let mut array = null();
        for (name, format, width, height, flags) in [
            ("alike", pixels(), 100, 50, 0),
            ("a row", floats(), 100, 0, 0),
            ("no width", floats(), 0, 16, 0),
            ("three channels", channels(32, 3, sys::cudaChannelFormatKindFloat), 16, 16, 0),
            ("mixed", sys::cudaChannelFormatDesc { y: 16, ..pixels() }, 16, 16, 0),
            ("24 bits", channels(24, 1, sys::cudaChannelFormatKindUnsigned), 16, 16, 0),
            ("bytes that are floats", channels(8, 1, sys::cudaChannelFormatKindFloat), 16, 16, 0),
            ("nothing", channels(0, 1, sys::cudaChannelFormatKindNone), 16, 16, 0),
            ("for surfaces", floats(), 16, 16, sys::cudaArraySurfaceLoadStore),
            ("to gather", floats(), 16, 16, sys::cudaArrayTextureGather),
            ("no such flag", floats(), 16, 16, 0x1000),
            ("too wide", floats(), 1 << 20, 16, 0),
        ] {
            array = null();
            ask!(log, name, cudaMallocArray(&raw mut array, &raw const format, width, height, flags));
            if !array.is_null() {
                about(log, array);
            }
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "no format", cudaMallocArray(&raw mut array, null(), 16, 16, 0));
        Ok(())
    });
    add_case(cases, 18, "from rows that a kernel wrote into a volume", |log| {
        let (format, mut array, extent) = (floats(), null(), sys::make_cudaExtent(16, 8, 4));
        need!(log, cudaMalloc3DArray(&raw mut array, &raw const format, extent, 0));
        let from = Block::with(log, Kind::Device, &pattern(N, 1))?;
        let mut copy = cudaMemcpy3DParms {
            srcPtr: sys::make_cudaPitchedPtr(from.ptr(), 64, 16, 8),
            dstArray: array,
            extent,
            kind: sys::cudaMemcpyDeviceToDevice,
            ..Default::default()
        };
        ask!(log, cudaMemcpy3D(&raw const copy));
        let to = device(log)?;
        let back = cudaMemcpy3DParms {
            srcArray: array,
            dstPtr: sys::make_cudaPitchedPtr(to.ptr(), 64, 16, 8),
            extent,
            kind: sys::cudaMemcpyDeviceToDevice,
            ..Default::default()
        };
        ask!(log, "back", cudaMemcpy3D(&raw const back));
        let got = to.load(log)?;
        log.bytes("bytes", &got[..2048], &pattern(N, 1)[..2048]);
        copy.dstPos.z = 1;
        ask!(log, "behind the end", cudaMemcpy3D(&raw const copy));
        copy.dstPos.z = 0;
        copy.extent.width = 17;
        ask!(log, "too wide", cudaMemcpy3D(&raw const copy));
        copy.extent = sys::make_cudaExtent(0, 8, 4);
        ask!(log, "no width", cudaMemcpy3D(&raw const copy));
        copy.dstPtr = copy.srcPtr;
        ask!(log, "two destinations", cudaMemcpy3D(&raw const copy));
        ask!(log, "null", cudaMemcpy3D(null()));
        taken(log)
    });
    add_case(cases, 28, "of bytes as fractions, between pixels, and each by itself", |log| {
        let up: Vec<[u8; 4]> = (0..64).map(|i: u8| [i * 4, 255 - i, i, 255]).collect();
        let image = of_array(filled(log, pixels(), [8, 8, 0], 0, &up)?);
        let fractions = cudaTextureDesc { readMode: sys::cudaReadModeNormalizedFloat, ..plain() };
        let places = [[0.5, 0.5], [1.0, 0.5], [3.25, 4.75], [-1.0, 2.0], [9.0, 9.0], [7.5, 7.5]];
        for (name, like) in [("linear", linear(fractions)), ("point", fractions)] {
            let made = texture(log, image, like, None)?;
            read(log, name, made, Way::Plane, 4, &at_places(&places))?;
            ask!(log, cudaDestroyTextureObject(made));
        }
        let made = texture(log, image, linear(cudaTextureDesc { normalizedCoords: 1, ..fractions }), None)?;
        read(log, "normalized", made, Way::Plane, 4, &at_places(&[[0.0, 0.0], [0.5, 0.5], [1.0, 0.3]]))?;
        let mut made = 0;
        let like = linear(plain());
        ask!(
            log,
            "integers between pixels",
            cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, null())
        );
        taken(log)
    });
    add_case(cases, 30, "of tiles, each once, one again, its array gone before", |log| {
        let mut tiles = Vec::new();
        for _ in 0..3 {
            let array = filled(log, floats(), [8, 8, 0], 0, &[0.5_f32; 64])?;
            tiles.push((array, texture(log, of_array(array), normalized(), None)?));
        }
        ask!(log, "the array", cudaFreeArray(tiles[2].0));
        for (_, tile) in &tiles {
            ask!(log, cudaDestroyTextureObject(*tile));
        }
        ask!(log, "none", cudaDestroyTextureObject(0));
        taken(log)
    });
    add_case(cases, 99, "of a table in linear memory, whose memory goes then", |log| {
        let (table, on) = (
            Block::with(log, Kind::Device, &super::super::common::floats((0..64).map(|i| i as f32)))?,
            stream(log)?,
        );
        let made = texture(log, of_row(table.ptr(), 256), plain(), None)?;
        read(
            log,
            "table",
            made,
            Way::Fetch,
            1,
            &at_places(&[[0.0, 0.0], [63.0, 0.0], [64.0, 0.0], [-1.0, 0.0]]),
        )?;
        ask!(log, cudaDestroyTextureObject(made));
        ask!(log, cudaFree(table.ptr()));
        let mut found = sys::cudaResourceDesc::default();
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "none", cudaGetTextureObjectResourceDesc(&raw mut found, 0));
        taken(log)
    });
}
