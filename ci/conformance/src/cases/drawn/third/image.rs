//! Arrays, textures of them and of rows, and memory for pictures.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::cudaTextureDesc;

use super::super::common::{add_case, begin, end, null, taken, there};
use crate::case::Cases;
use crate::cases::image::{Way, at_places, channels, levels, normalized, read, read_integers, texture};
use crate::cases::texture::of_levels;
use crate::log::{Log, Setup, ask};
use crate::memory::{Block, Kind, pattern, stream};

const BYTES: sys::cudaChannelFormatKind = sys::cudaChannelFormatKindUnsigned;

pub(super) fn add(cases: &mut Cases) {
    of_rows(cases);
    ends(cases);
}

/// Asks for a texture, which is 0 where there is none.
fn made(log: &mut Log, name: &str, image: sys::cudaResourceDesc, like: cudaTextureDesc) -> u64 {
    let mut made = 0;
    ask!(log, name, cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, null()));
    made
}

/// Memory of rows whose bytes are a pattern.
fn picture(log: &mut Log) -> Result<Block, Setup> {
    Block::with(log, Kind::Device, &pattern(1 << 14, 2))
}

/// Asks for a texture of rows of bytes.
fn rows(log: &mut Log, name: &str, at: *mut c_void, count: i32, [width, height, pitch]: [usize; 3]) -> u64 {
    let mut image = sys::cudaResourceDesc { resType: sys::cudaResourceTypePitch2D, ..Default::default() };
    image.res.pitch2D = sys::cudaResourceDesc__bindgen_ty_1__bindgen_ty_4 {
        devPtr: at,
        desc: channels(8, count, BYTES),
        width,
        height,
        pitchInBytes: pitch,
    };
    // Zeros: a filter of points, and elements as they are.
    made(log, name, image, cudaTextureDesc::default())
}

const PLACES: [[f32; 2]; 5] = [[0.5, 0.5], [49.5, 0.5], [3.7, 20.2], [50.5, 47.5], [-1.0, 60.0]];

fn of_rows(cases: &mut Cases) {
    add_case(cases, 308, "the colours of a picture, two bytes each, half as wide", |log| {
        let block = picture(log)?;
        let brightness = rows(log, "brightness", block.ptr(), 1, [100, 48, 128]);
        let colours = rows(log, "colours", block.ptr(), 2, [50, 48, 128]);
        log.fact("two", brightness != colours);
        for (it, count) in [(brightness, 1), (colours, 2)] {
            if it != 0 {
                read_integers(log, "pixels", it, Way::Plane, count, &at_places(&PLACES))?;
            }
        }
        rows(log, "wider than the rows", block.ptr(), 2, [100, 48, 128]);
        rows(log, "no pitch", block.ptr(), 2, [50, 48, 0]);
        rows(log, "no width", block.ptr(), 2, [0, 48, 128]);
        taken(log)
    });
}

fn ends(cases: &mut Cases) {
    add_case(cases, 348, "after the levels, the buffer and the semaphore that go before it", |log| {
        let (block, on) = (picture(log)?, stream(log)?);
        let all = levels(log, [8, 8, 0], 2, 0, |level, [x, y, _]| (100 * level + 8 * y + x) as f32)?;
        let made = texture(log, of_levels(all), normalized(), None)?;
        read(log, "pixels", made, Way::PlaneLevel, 1, &at_places(&[[0.1, 0.1], [0.9, 0.9]]))?;
        ask!(log, cudaFreeMipmappedArray(all));
        ask!(log, cudaFree(block.ptr()));
        ask!(log, "semaphore", cudaDestroyExternalSemaphore(null()));
        let mut found = cudaTextureDesc::default();
        ask!(log, "before", cudaGetTextureObjectTextureDesc(&raw mut found, made));
        log.fact("highest level", found.maxMipmapLevelClamp);
        ask!(log, cudaDestroyTextureObject(made));
        ask!(log, "none", cudaDestroyTextureObject(0));
        ask!(log, "surface of none", cudaDestroySurfaceObject(0));
        ask!(log, cudaStreamDestroy(on));
        taken(log)
    });
    add_case(cases, 380, "the first right behind its kernel, while the second is read", |log| {
        let block = picture(log)?;
        let one = rows(log, "one", block.ptr(), 1, [100, 48, 128]);
        let two = rows(log, "two", block.ptr(), 2, [50, 48, 128]);
        read_integers(log, "pixels", one, Way::Plane, 1, &at_places(&PLACES))?;
        ask!(log, cudaDestroyTextureObject(one));
        read_integers(log, "pixels", two, Way::Plane, 2, &at_places(&PLACES))?;
        let three = rows(log, "in its place", block.at(512), 1, [100, 48, 128]);
        log.fact("another", three != two);
        read_integers(log, "pixels", three, Way::Plane, 1, &at_places(&PLACES))?;
        there(log, move || {
            // SAFETY: textures of the case, which nothing uses after this.
            [two, three].map(|it| unsafe { sys::cudaDestroyTextureObject(it) })
        });
        let on = begin(log)?;
        let four = rows(log, "while a stream captures", block.ptr(), 1, [100, 48, 128]);
        ask!(log, "while it captures", cudaDestroyTextureObject(four));
        end(log, on);
        taken(log)
    });
}
