//! Arrays, textures of them and of rows, and memory for pictures.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::{cudaArray_t, cudaMipmappedArray_t, cudaTextureDesc};

use super::super::common::{
    self, N, add_case, begin, device, end, go, nodes, null, ready, taken, there, waits, what,
};
use crate::case::Cases;
use crate::cases::image::{
    Way, at_places, channels, filled, floats, levels, linear, normalized, read, read_integers, texture,
};
use crate::cases::kernel::fill;
use crate::cases::texture::{of_array, of_levels, of_row, plain};
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

const BYTES: sys::cudaChannelFormatKind = sys::cudaChannelFormatKindUnsigned;

pub(super) fn add(cases: &mut Cases) {
    of_rows(cases);
    of_arrays(cases);
    ends(cases);
    arrays(cases);
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
    add_case(cases, 358, "the brightness of a batch of pictures, one over the other", |log| {
        let block = picture(log)?;
        let all = rows(log, "all", block.ptr(), 1, [100, 96, 128]);
        let second = rows(log, "the second", block.at(48 * 128), 1, [100, 48, 128]);
        for it in [all, second] {
            if it != 0 {
                read_integers(log, "pixels", it, Way::Plane, 1, &at_places(&PLACES))?;
            }
        }
        rows(log, "from a row that is not aligned", block.at(128), 1, [100, 48, 128]);
        rows(log, "a pitch that is not aligned", block.ptr(), 1, [100, 48, 104]);
        rows(log, "no memory", null(), 1, [100, 48, 128]);
        rows(log, "no rows", block.ptr(), 1, [100, 0, 128]);
        rows(log, "more rows than there may be", block.ptr(), 1, [100, 1 << 20, 128]);
        taken(log)
    });
    add_case(cases, 325, "of a table of numbers, by its memory, from within, with fields of zero", |log| {
        let numbers = common::floats((0..64).map(|i| 0.5 * i as f32));
        let places = at_places(&[[0.0, 0.0], [7.0, 0.0], [64.0, 0.0], [-1.0, 0.0]]);
        for kind in [Kind::Device, Kind::Managed, Kind::Pinned, Kind::Pool] {
            let table = Block::with(log, kind, &numbers)?;
            for (name, at, bytes) in [("whole", 0, 256), ("within", 16, 64), ("not whole numbers", 0, 30)] {
                let it = made(log, name, of_row(table.at(at), bytes), cudaTextureDesc::default());
                if it != 0 {
                    read(log, kind.name(), it, Way::Fetch, 1, &places)?;
                }
            }
        }
        taken(log)
    });
}

fn of_arrays(cases: &mut Cases) {
    add_case(cases, 333, "that filters and wraps by pixels, as fractions, of every number", |log| {
        let up = pattern(16 * 4 * 4, 5);
        let float = sys::cudaChannelFormatKindFloat;
        for (name, bits, count, kind) in [
            ("four bytes", 8, 4, BYTES),
            ("signed bytes", 8, 2, sys::cudaChannelFormatKindSigned),
            ("two bytes", 16, 1, BYTES),
            ("four bytes a number", 32, 1, BYTES),
            ("a float", 32, 1, float),
            ("half a float", 16, 1, float),
        ] {
            let format = channels(bits, count, kind);
            let bytes = 16 * (bits * count / 8).unsigned_abs() as usize;
            let image = of_array(filled(log, format, [4, 4, 0], 0, &up[..bytes])?);
            let mut like = linear(plain());
            (like.addressMode, like.readMode) =
                ([sys::cudaAddressModeWrap; 3], sys::cudaReadModeNormalizedFloat);
            let it = made(log, name, image, like);
            if it != 0 && kind != float {
                let places = [[0.5, 0.5], [1.0, 2.25], [4.5, 1.5], [-2.0, 9.0]];
                read(log, "pixels", it, Way::Plane, 1, &at_places(&places))?;
            }
        }
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
    add_case(cases, 347, "of one level, of all, of more than there are, under a texture", |log| {
        for count in [1, 4, 5, 0] {
            let (mut all, mut format): (cudaMipmappedArray_t, _) = (null(), floats());
            let extent = sys::make_cudaExtent(8, 8, 0);
            log.fact("levels", count);
            ask!(log, cudaMallocMipmappedArray(&raw mut all, &raw const format, extent, count, 0));
            if !all.is_null() {
                let (mut level, mut size, mut flags) = (null(), sys::cudaExtent::default(), 77);
                for at in [3, 4] {
                    ask!(log, cudaGetMipmappedArrayLevel(&raw mut level, all.cast_const(), at));
                }
                if !level.is_null() {
                    ask!(log, cudaArrayGetInfo(&raw mut format, &raw mut size, &raw mut flags, level));
                    log.fact("size", format_args!("{} {} {flags}", size.width, size.height));
                }
                let made = texture(log, of_levels(all), normalized(), None)?;
                ask!(log, "its texture there", cudaFreeMipmappedArray(all));
                ask!(log, "the texture", cudaDestroyTextureObject(made));
            }
        }
        ask!(log, "none", cudaFreeMipmappedArray(null()));
        taken(log)
    });
}

/// An array of 64 by 16 numbers.
fn array(log: &mut Log) -> Result<cudaArray_t, Setup> {
    let (mut array, format) = (null(), floats());
    need!(log, cudaMallocArray(&raw mut array, &raw const format, 64, 16, 0));
    Ok(array)
}

/// Copies all of an array of 64 by 16 numbers down, and notes whether they are these.
fn array_holds(log: &mut Log, array: cudaArray_t, want: &[u8]) -> Outcome {
    let mut got = vec![0_u8; N];
    let to: *mut c_void = got.as_mut_ptr().cast();
    ask!(log, "down", cudaMemcpy2DFromArray(to, 256, array, 0, 0, 256, 16, sys::cudaMemcpyDeviceToHost));
    log.bytes("all bytes", &got, want);
    Ok(())
}

fn arrays(cases: &mut Cases) {
    add_case(cases, 346, "the result of a pass to where the next one reads, twice", |log| {
        let (array, result) = (array(log)?, device(log)?);
        let across = sys::cudaMemcpyDeviceToDevice;
        for value in [3, 4] {
            fill(log, result.ptr(), value, N, null())?;
            ask!(log, cudaMemcpy2DToArray(array, 0, 0, result.ptr(), 256, 256, 16, across));
            array_holds(log, array, &[value; N])?;
        }
        let from = Block::with(log, Kind::Managed, &pattern(N, 1))?;
        ask!(log, "from managed memory", cudaMemcpy2DToArray(array, 0, 0, from.ptr(), 256, 256, 16, across));
        array_holds(log, array, &pattern(N, 1))?;
        for (name, x, y, pitch, width, height, way) in [
            ("as if up", 0, 0, 256, 256, 16, sys::cudaMemcpyHostToDevice),
            ("left open", 0, 0, 256, 256, 16, sys::cudaMemcpyDefault),
            ("a column too far", 4, 0, 256, 256, 16, across),
            ("a row too far", 0, 1, 256, 256, 16, across),
            ("a small pitch", 0, 0, 128, 256, 2, across),
            ("a part of a number", 0, 0, 256, 6, 1, across),
            ("none", 0, 0, 256, 0, 16, across),
        ] {
            ask!(log, name, cudaMemcpy2DToArray(array, x, y, result.ptr(), pitch, width, height, way));
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "no array", cudaMemcpy2DToArray(null(), 0, 0, result.ptr(), 256, 256, 16, across));
        taken(log)
    });
    add_case(cases, 390, "a picture of the host into the only level, then in a capture", |log| {
        let (on, mut all, mut array, format) = (stream(log)?, null(), null(), floats());
        let (extent, up) =
            (sys::make_cudaExtent(64, 16, 0), Block::with(log, Kind::Pageable, &pattern(N, 4))?);
        let way = sys::cudaMemcpyHostToDevice;
        need!(log, cudaMallocMipmappedArray(&raw mut all, &raw const format, extent, 1, 0));
        ask!(log, cudaGetMipmappedArrayLevel(&raw mut array, all.cast_const(), 0));
        ask!(log, cudaMemcpy2DToArrayAsync(array, 0, 0, up.ptr(), 256, 256, 16, way, on));
        ask!(log, cudaStreamSynchronize(on));
        array_holds(log, array, &pattern(N, 4))?;
        for kind in [Kind::Pageable, Kind::Pinned] {
            let (from, gate) = (Block::with(log, kind, &[8; N])?, Gate::hold(log, on)?);
            waits(log, &gate, |log| {
                log.fact("memory", kind.name());
                ask!(log, cudaMemcpy2DToArrayAsync(array, 0, 0, from.ptr(), 256, 256, 16, way, on));
            });
            ask!(log, cudaStreamSynchronize(on));
        }
        ask!(log, "over the end", cudaMemcpy2DToArrayAsync(array, 0, 1, up.ptr(), 256, 256, 16, way, on));
        ask!(log, "no array", cudaMemcpy2DToArrayAsync(null(), 0, 0, up.ptr(), 256, 256, 16, way, on));
        let captures = begin(log)?;
        ask!(log, "captured", cudaMemcpy2DToArrayAsync(array, 0, 0, up.ptr(), 256, 256, 16, way, captures));
        let graph = end(log, captures);
        if !graph.is_null() {
            nodes(log, graph);
            let run = ready(log, graph);
            go(log, run, on);
            array_holds(log, array, &pattern(N, 4))?;
        }
        taken(log)
    });
    add_case(cases, 321, "rows for a side of a cube, filled with their pitch, and over it", |log| {
        for (width, height) in [(64 * 4, 64), (65 * 4, 65), (1 << 20, 2), (16, 70_000)] {
            let (mut at, mut pitch) = (null::<c_void>(), 77);
            ask!(log, cudaMallocPitch(&raw mut at, &raw mut pitch, width, height));
            log.fact("pitch", pitch);
            ask!(log, cudaMemset(at, 1, pitch * height));
            ask!(log, "by rows", cudaMemset2D(at, pitch, 2, width, height));
            let mut got = [9_u8; 2];
            let back = sys::cudaMemcpyDeviceToHost;
            let last = at.wrapping_byte_add(pitch * (height - 1) + width - 1);
            ask!(log, "the last pixel", cudaMemcpy(got.as_mut_ptr().cast(), last, 1, back));
            log.fact("byte", got[0]);
            what(log, "it", last);
            ask!(log, "wider than its pitch", cudaMemset2D(at, pitch, 2, pitch + 1, height));
            ask!(log, cudaFree(at));
        }
        taken(log)
    });
}
