//! Formats of elements, arrays and textures.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{self, N, add_case, null, taken, there};
use crate::case::Cases;
use crate::cases::image::{Way, at_places, channels, filled, linear, read, texture};
use crate::cases::texture::{of_array, of_row, plain};
use crate::log::{Log, ask};
use crate::memory::{Block, Kind, pattern};

const BYTES: sys::cudaChannelFormatKind = sys::cudaChannelFormatKindUnsigned;

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 422, "of a float, for numbers that once had a reference, over a part of them", |log| {
        // SAFETY: takes numbers.
        let format = unsafe { sys::cudaCreateChannelDesc(32, 0, 0, 0, sys::cudaChannelFormatKindFloat) };
        log.fact(
            "format",
            format_args!("{} {} {} {} {}", format.x, format.y, format.z, format.w, format.f.0),
        );
        let features = Block::with(log, Kind::Device, &common::floats((0..1024).map(|i| 0.25 * i as f32)))?;
        for (name, x, w, kind, bytes) in [
            ("it", 32, 0, sys::cudaChannelFormatKindFloat, 4000),
            ("of four", 32, 32, sys::cudaChannelFormatKindFloat, 4096),
            ("of integers", 32, 0, sys::cudaChannelFormatKindSigned, 4096),
            ("of eight bits of a float", 8, 0, sys::cudaChannelFormatKindFloat, 4096),
            ("of no kind", 32, 0, sys::cudaChannelFormatKindNone, 4096),
        ] {
            let mut image = of_row(features.ptr(), bytes);
            // SAFETY: takes numbers.
            let format = unsafe { sys::cudaCreateChannelDesc(x, w, w, w, kind) };
            image.res.linear.desc = format;
            let (like, mut made) = (plain(), 0);
            ask!(
                log,
                name,
                cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, null())
            );
            if name == "it" {
                let places = at_places(&[[0.0, 0.0], [999.0, 0.0], [1000.0, 0.0], [-1.0, 0.0]]);
                read(log, "numbers", made, Way::Fetch, 1, &places)?;
            }
            if made != 0 {
                ask!(log, cudaDestroyTextureObject(made));
            }
        }
        taken(log)
    });
    add_case(cases, 475, "of a byte, for an array of a picture, and what makes no array", |log| {
        for (name, [x, y, z, w], kind) in [
            ("a byte", [8, 0, 0, 0], BYTES),
            ("two", [8, 8, 0, 0], BYTES),
            ("three", [8, 8, 8, 0], BYTES),
            ("four", [8, 8, 8, 8], BYTES),
            ("not alike", [8, 16, 0, 0], BYTES),
            ("the second only", [0, 8, 0, 0], BYTES),
            ("half a float", [16, 0, 0, 0], sys::cudaChannelFormatKindFloat),
            ("a byte of a float", [8, 0, 0, 0], sys::cudaChannelFormatKindFloat),
            ("of seven bits", [7, 0, 0, 0], BYTES),
            ("of 64 bits", [64, 0, 0, 0], BYTES),
            ("of no kind", [8, 0, 0, 0], sys::cudaChannelFormatKindNone),
        ] {
            // SAFETY: takes numbers.
            let format = unsafe { sys::cudaCreateChannelDesc(x, y, z, w, kind) };
            let (mut array, mut found) = (null(), sys::cudaChannelFormatDesc::default());
            ask!(log, name, cudaMallocArray(&raw mut array, &raw const format, 64, 48, 0));
            ask!(log, "last", cudaGetLastError());
            if array.is_null() {
                continue;
            }
            ask!(log, cudaGetChannelDesc(&raw mut found, array));
            log.fact("format", format_args!("{} {} {} {} {}", found.x, found.y, found.z, found.w, found.f.0));
            let (up, width) = (pattern(N, 3), 64 * usize::try_from(x + y + z + w).expect("bits") / 8);
            let from: *const c_void = up.as_ptr().cast();
            let way = sys::cudaMemcpyHostToDevice;
            ask!(log, "rows", cudaMemcpy2DToArray(array, 0, 0, from, width, width, 8, way));
            ask!(log, "a byte more", cudaMemcpy2DToArray(array, 0, 0, from, width + 1, width + 1, 8, way));
            ask!(log, cudaFreeArray(array));
        }
        taken(log)
    });
    add_case(cases, 483, "the one of points, behind it the one that filters, then their array", |log| {
        let array = filled(log, channels(8, 1, BYTES), [16, 16, 0], 0, &pattern(256, 6))?;
        let mut like = plain();
        like.readMode = sys::cudaReadModeNormalizedFloat;
        let points = texture(log, of_array(array), like, None)?;
        let smooth = texture(log, of_array(array), linear(like), None)?;
        log.fact("two", points != smooth);
        let places = at_places(&[[0.5, 0.5], [3.25, 7.5], [15.9, 15.9], [-4.0, 20.0]]);
        read(log, "points", points, Way::Plane, 1, &places)?;
        ask!(log, "points", cudaDestroyTextureObject(points));
        read(log, "smooth", smooth, Way::Plane, 1, &places)?;
        ask!(log, "their array first", cudaFreeArray(array));
        let mut found = sys::cudaResourceDesc::default();
        ask!(log, "of what", cudaGetTextureObjectResourceDesc(&raw mut found, smooth));
        log.fact("kind", found.resType.0);
        // SAFETY: a texture of the case, which nothing uses after this.
        there(log, move || unsafe { [sys::cudaDestroyTextureObject(smooth)] });
        ask!(log, "none", cudaDestroyTextureObject(0));
        ask!(log, "the array again", cudaFreeArray(null()));
        again(log)?;
        taken(log)
    });
}

/// Notes whether a texture of another array works once others went.
fn again(log: &mut Log) -> crate::log::Outcome {
    let array = filled(log, channels(8, 4, BYTES), [4, 4, 0], 0, &pattern(64, 1))?;
    let mut like = plain();
    like.readMode = sys::cudaReadModeNormalizedFloat;
    let made = texture(log, of_array(array), like, None)?;
    read(log, "colours", made, Way::Plane, 4, &at_places(&[[0.5, 0.5], [3.5, 2.5]]))?;
    ask!(log, cudaDestroyTextureObject(made));
    ask!(log, cudaFreeArray(array));
    Ok(())
}
