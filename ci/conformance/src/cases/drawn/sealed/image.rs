//! Arrays, and textures of them.

use cuda_sys as sys;
use cuda_sys::{cudaArray_t, cudaTextureDesc};

use super::super::common::{N, add_case, device, holds, null, taken};
use super::super::open::foreign::file;
use crate::case::Cases;
use crate::cases::image::{
    Way, at_places, channels, filled, floats, levels, linear, normalized, read, read_integers, texture,
};
use crate::cases::texture::{of_array, of_row, plain};
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, pattern};

/// An array of floats.
pub(super) fn array(log: &mut Log, width: usize, height: usize) -> Result<cudaArray_t, Setup> {
    let (mut array, format) = (null(), floats());
    need!(log, cudaMallocArray(&raw mut array, &raw const format, width, height, 0));
    Ok(array)
}

pub(super) fn add(cases: &mut Cases) {
    textures(cases);
    arrays(cases);
    formats(cases);
}

fn fractions(like: cudaTextureDesc) -> cudaTextureDesc {
    cudaTextureDesc { readMode: sys::cudaReadModeNormalizedFloat, ..like }
}

fn textures(cases: &mut Cases) {
    add_case(cases, 151, "the second of an array, the first one still read", |log| {
        let up: Vec<u8> = (0..64).map(|i| i * 4).collect();
        let bytes = channels(8, 1, sys::cudaChannelFormatKindUnsigned);
        let image = of_array(filled(log, bytes, [8, 8, 0], 0, &up)?);
        let (one, two) =
            (texture(log, image, plain(), None)?, texture(log, image, linear(fractions(plain())), None)?);
        log.fact("two", one != two);
        ask!(log, cudaDestroyTextureObject(two));
        read_integers(
            log,
            "the other",
            one,
            Way::Plane,
            1,
            &at_places(&[[0.5, 0.5], [7.9, 7.9], [8.0, -3.0]]),
        )?;
        ask!(log, cudaDestroyTextureObject(one));
        taken(log)
    });
    add_case(cases, 163, "that wraps, of four bytes a pixel as fractions", |log| {
        let up: Vec<[u8; 4]> = (0..16).map(|i: u8| [i * 16, i, 255 - i, 0]).collect();
        let pixels = channels(8, 4, sys::cudaChannelFormatKindUnsigned);
        let image = of_array(filled(log, pixels, [4, 4, 0], 0, &up)?);
        for (name, mode) in [
            ("wrap", sys::cudaAddressModeWrap),
            ("mirror", sys::cudaAddressModeMirror),
            ("border", sys::cudaAddressModeBorder),
        ] {
            let like = fractions(cudaTextureDesc { addressMode: [mode; 3], ..normalized() });
            let made = texture(log, image, like, None)?;
            read(
                log,
                name,
                made,
                Way::Plane,
                4,
                &at_places(&[[0.1, 0.1], [1.1, 0.9], [-0.1, 2.6], [-1.3, -0.7]]),
            )?;
            let made = texture(log, image, cudaTextureDesc { normalizedCoords: 0, ..like }, None)?;
            read(log, "by pixels", made, Way::Plane, 4, &at_places(&[[5.5, 0.5], [-0.5, 1.5]]))?;
        }
        taken(log)
    });
    add_case(cases, 280, "of a temporary picture, filtered, its description read back", |log| {
        let pixels = channels(8, 4, sys::cudaChannelFormatKindUnsigned);
        let image = of_array(filled(log, pixels, [8, 8, 0], 0, &[[10_u8, 20, 30, 40]; 64])?);
        let made = texture(log, image, linear(fractions(plain())), None)?;
        read(log, "even", made, Way::Plane, 4, &at_places(&[[3.3, 3.7], [0.0, 8.0]]))?;
        let mut found = cudaTextureDesc::default();
        ask!(log, cudaGetTextureObjectTextureDesc(&raw mut found, made));
        log.fact(
            "modes",
            format_args!(
                "{} {} {} {}",
                found.addressMode[0].0, found.filterMode.0, found.readMode.0, found.normalizedCoords
            ),
        );
        let mut again = 0;
        let like = cudaTextureDesc { readMode: sys::cudaTextureReadMode(5), ..plain() };
        ask!(
            log,
            "no such mode",
            cudaCreateTextureObject(&raw mut again, &raw const image, &raw const like, null())
        );
        ask!(
            log,
            "no description",
            cudaCreateTextureObject(&raw mut again, &raw const image, null(), null())
        );
        ask!(log, "no picture", cudaCreateTextureObject(&raw mut again, null(), &raw const like, null()));
        taken(log)
    });
}

fn arrays(cases: &mut Cases) {
    add_case(cases, 220, "after its textures, then a second one, then again none", |log| {
        let (a, b) = (array(log, 64, 64)?, array(log, 64, 0)?);
        let made = texture(log, of_array(a), plain(), None)?;
        ask!(log, cudaDestroyTextureObject(made));
        for it in [a, b, null()] {
            ask!(log, cudaFreeArray(it));
        }
        let mut format = sys::cudaChannelFormatDesc::default();
        ask!(log, "format of none", cudaGetChannelDesc(&raw mut format, null()));
        taken(log)
    });
    add_case(cases, 222, "of a picture whose texture is still there", |log| {
        let image = array(log, 16, 16)?;
        texture(log, of_array(image), plain(), None)?;
        ask!(log, cudaFreeArray(image));
        let levels = levels(log, [16, 16, 0], 3, 0, |level, _| level as f32)?;
        let mut one = null();
        ask!(log, cudaGetMipmappedArrayLevel(&raw mut one, levels.cast_const(), 1));
        ask!(log, "a level", cudaFreeArray(one));
        ask!(log, "all levels", cudaFreeMipmappedArray(levels));
        ask!(log, "none", cudaFreeMipmappedArray(null()));
        taken(log)
    });
    add_case(cases, 289, "its code handed on, behind a copy that is still under way", |log| {
        let (image, from) = (array(log, 64, 16)?, Block::with(log, Kind::Pinned, &pattern(N, 1))?);
        ask!(
            log,
            cudaMemcpy2DToArrayAsync(
                image,
                0,
                0,
                from.ptr(),
                256,
                256,
                16,
                sys::cudaMemcpyHostToDevice,
                null()
            )
        );
        ask!(log, cudaFreeArray(image));
        ask!(log, cudaDeviceSynchronize());
        let (image, to) = (array(log, 64, 16)?, device(log)?);
        ask!(log, cudaMemcpy2DToArray(image, 0, 0, from.ptr(), 256, 256, 16, sys::cudaMemcpyHostToDevice));
        ask!(log, cudaMemcpy2DFromArray(to.ptr(), 256, image, 0, 0, 256, 16, sys::cudaMemcpyDeviceToDevice));
        holds(log, to, &pattern(N, 1))?;
        ask!(log, cudaFreeArray(image));
        taken(log)
    });
    add_case(cases, 201, "the first, the last, and one too many, written and read", |log| {
        let all = levels(log, [16, 8, 0], 4, 0, |level, [x, y, _]| (100 * level + 10 * y + x) as f32)?;
        for level in [0, 3, 4, u32::MAX] {
            let (mut it, mut format, mut extent, mut flags) =
                (null(), floats(), sys::cudaExtent::default(), 77);
            ask!(log, &format!("{level}"), cudaGetMipmappedArrayLevel(&raw mut it, all.cast_const(), level));
            if level < 4 {
                ask!(log, cudaArrayGetInfo(&raw mut format, &raw mut extent, &raw mut flags, it));
                log.fact(
                    "extent",
                    format_args!("{} {} {} {flags}", extent.width, extent.height, extent.depth),
                );
                let mut got = 0_f32;
                ask!(
                    log,
                    cudaMemcpy2DFromArray(
                        (&raw mut got).cast(),
                        4,
                        it,
                        4,
                        0,
                        4,
                        1,
                        sys::cudaMemcpyDeviceToHost
                    )
                );
                log.fact("number", got);
            }
            ask!(log, "last", cudaGetLastError());
        }
        let mut it = null();
        ask!(log, "of none", cudaGetMipmappedArrayLevel(&raw mut it, null(), 0));
        Ok(())
    });
    add_case(cases, 242, "of memory of a file that is none", foreign);
}

fn foreign(log: &mut Log) -> Outcome {
    let (mut wanted, mut memory) = (sys::cudaExternalMemoryHandleDesc::default(), null());
    wanted.type_ = sys::cudaExternalMemoryHandleTypeOpaqueFd;
    (wanted.size, wanted.handle.fd) = (1 << 16, file(1 << 16));
    ask!(log, "memory", cudaImportExternalMemory(&raw mut memory, &raw const wanted));
    log.fact("handle", if memory.is_null() { "null" } else { "some" });
    ask!(log, "last", cudaGetLastError());
    let (mut levels, mut like) = (null(), sys::cudaExternalMemoryMipmappedArrayDesc::default());
    (like.formatDesc, like.extent, like.numLevels) = (floats(), sys::make_cudaExtent(16, 16, 0), 1);
    let (mut at, part) = (null(), sys::cudaExternalMemoryBufferDesc { size: 4096, ..Default::default() });
    ask!(log, "no description", cudaExternalMemoryGetMappedMipmappedArray(&raw mut levels, null(), null()));
    ask!(
        log,
        "levels of none",
        cudaExternalMemoryGetMappedMipmappedArray(&raw mut levels, null(), &raw const like)
    );
    ask!(log, "a buffer of none", cudaExternalMemoryGetMappedBuffer(&raw mut at, null(), &raw const part));
    taken(log)
}

/// A texture of rows of one format, and whether it is one.
fn rows(log: &mut Log, name: &str, format: sys::cudaChannelFormatDesc, pitch: usize) -> Outcome {
    let (block, mut made, like) = (Block::with(log, Kind::Device, &pattern(1 << 14, 1))?, 0, plain());
    let mut image = sys::cudaResourceDesc { resType: sys::cudaResourceTypePitch2D, ..Default::default() };
    image.res.pitch2D = sys::cudaResourceDesc__bindgen_ty_1__bindgen_ty_4 {
        devPtr: block.ptr(),
        desc: format,
        width: 16,
        height: 16,
        pitchInBytes: pitch,
    };
    log.fact("format", format_args!("{} {} {} {} {}", format.x, format.y, format.z, format.w, format.f.0));
    ask!(log, name, cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, null()));
    if made != 0 && format.f == sys::cudaChannelFormatKindUnsigned {
        read_integers(
            log,
            "elements",
            made,
            Way::Plane,
            1,
            &at_places(&[[0.5, 0.5], [15.5, 3.5], [20.0, 20.0]]),
        )?;
    }
    ask!(log, "last", cudaGetLastError());
    Ok(())
}

fn formats(cases: &mut Cases) {
    add_case(cases, 183, "of a byte, for rows of a picture, and its neighbours", |log| {
        let kind = sys::cudaChannelFormatKindUnsigned;
        // SAFETY: takes numbers.
        let byte = unsafe { sys::cudaCreateChannelDesc(8, 0, 0, 0, kind) };
        rows(log, "bytes", byte, 512)?;
        rows(log, "bytes, a small pitch", byte, 32)?;
        rows(log, "two bytes", channels(16, 1, kind), 512)?;
        rows(log, "three channels", channels(8, 3, kind), 512)
    });
    add_case(cases, 186, "of four bytes or of a float, for arrays", |log| {
        let pixels = [8, 8, 8, 8];
        for (bits, kind) in [
            (pixels, 1),
            ([32, 0, 0, 0], 2),
            ([64, 0, 0, 0], 2),
            ([32, 32, 0, 0], 0),
            ([0; 4], 3),
            ([8, 0, 8, 0], 1),
            ([-8, 0, 0, 0], 1),
        ] {
            let ([x, y, z, w], mut array) = (bits, null());
            // SAFETY: takes numbers.
            let format = unsafe { sys::cudaCreateChannelDesc(x, y, z, w, sys::cudaChannelFormatKind(kind)) };
            log.fact(
                "format",
                format_args!("{} {} {} {} {}", format.x, format.y, format.z, format.w, format.f.0),
            );
            ask!(log, cudaMallocArray(&raw mut array, &raw const format, 16, 16, 0));
            let mut found = sys::cudaChannelFormatDesc::default();
            if !array.is_null() {
                ask!(log, cudaGetChannelDesc(&raw mut found, array));
                log.fact("kept", found == format);
            }
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
    add_case(cases, 229, "of the elements of a table in linear memory", |log| {
        let table =
            Block::with(log, Kind::Device, &super::super::common::floats((0..256).map(|i| 0.25 * i as f32)))?;
        for (count, bytes) in [(1, 1024), (2, 1024), (4, 512), (1, 2)] {
            let mut image = of_row(table.ptr(), bytes);
            image.res.linear.desc = channels(32, count, sys::cudaChannelFormatKindFloat);
            let (mut made, like) = (0, plain());
            ask!(
                log,
                &format!("{count} of {bytes}"),
                cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, null())
            );
            if made != 0 {
                read(
                    log,
                    "elements",
                    made,
                    Way::Fetch,
                    count.unsigned_abs() as usize,
                    &at_places(&[[0.0, 0.0], [31.0, 0.0], [128.0, 0.0]]),
                )?;
            }
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
}
