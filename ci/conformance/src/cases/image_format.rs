//! Formats as kernels read them: sRGB, gathers, borders of integers, the precision of filters, and reads that
//! do not fit the image.

use cuda_sys::*;

use super::image::{
    ImageRead, Way, at_places, channels, filled, floats, linear, read, read_integers, texture,
};
use super::texture::{of_array, of_row, plain};
use crate::case::Cases;
use crate::log::{Log, Outcome, Setup};
use crate::memory::{Block, Kind};

fn fractions(like: cudaTextureDesc) -> cudaTextureDesc {
    cudaTextureDesc { readMode: cudaReadModeNormalizedFloat, ..like }
}

fn srgb(like: cudaTextureDesc) -> cudaTextureDesc {
    cudaTextureDesc { sRGB: 1, ..like }
}

/// Reads along a row, at the middles of so many elements.
fn along(count: usize) -> Vec<ImageRead> {
    at_places(&(0..count).map(|n| [n as f32 + 0.5, 0.5]).collect::<Vec<_>>())
}

/// Columns of reads.
fn columns(list: &[f32]) -> Vec<ImageRead> {
    at_places(&list.iter().map(|x| [*x, 0.5]).collect::<Vec<_>>())
}

fn srgb_bytes(log: &mut Log) -> Outcome {
    let all: Vec<u8> = (0..=255).collect();
    let image = filled(log, channels(8, 1, cudaChannelFormatKindUnsigned), [256, 1, 0], 0, &all)?;
    let it = texture(log, of_array(image), srgb(fractions(plain())), None)?;
    read(log, "one channel", it, Way::Plane, 1, &along(256))
}

fn srgb_channels(log: &mut Log) -> Outcome {
    for (count, wide) in [(1, 1), (2, 2), (4, 4)] {
        let bytes: Vec<u8> = (20..).step_by(7).take(8 * count).collect();
        let format = channels(8, wide, cudaChannelFormatKindUnsigned);
        let image = of_array(filled(log, format, [8, 1, 0], 0, &bytes)?);
        let it = texture(log, image, srgb(fractions(plain())), None)?;
        read(log, &format!("{count} of 8 bits"), it, Way::Plane, 4, &along(4))?;
        let it = texture(log, image, srgb(linear(fractions(plain()))), None)?;
        let between = columns(&[0.5, 0.75, 1.0, 1.3, 2.9]);
        read(log, &format!("{count} of 8 bits, linear"), it, Way::Plane, 4, &between)?;
    }
    Ok(())
}

/// Formats that have no sRGB.
fn srgb_of_others(log: &mut Log) -> Outcome {
    let bytes: Vec<u8> = (0..64).map(|n| n * 3 + 20).collect();
    let signed = filled(log, channels(8, 4, cudaChannelFormatKindSigned), [16, 1, 0], 0, &bytes)?;
    let it = texture(log, of_array(signed), srgb(fractions(plain())), None)?;
    read(log, "signed bytes", it, Way::Plane, 4, &along(2))?;
    let short = filled(log, channels(16, 2, cudaChannelFormatKindUnsigned), [16, 1, 0], 0, &bytes)?;
    let it = texture(log, of_array(short), srgb(fractions(plain())), None)?;
    read(log, "16 bits", it, Way::Plane, 4, &along(2))?;
    let numbers = filled(log, floats(), [4, 1, 0], 0, &[0.25_f32, 0.5, 0.75, 1.0])?;
    let it = texture(log, of_array(numbers), srgb(plain()), None)?;
    read(log, "floats", it, Way::Plane, 4, &along(4))?;
    let elements = filled(log, channels(8, 4, cudaChannelFormatKindUnsigned), [16, 1, 0], 0, &bytes)?;
    let it = texture(log, of_array(elements), srgb(plain()), None)?;
    read_integers(log, "elements", it, Way::Plane, 4, &along(2))
}

fn gathers(log: &mut Log) -> Outcome {
    const GATHERS: [Way; 4] = [Way::GatherFirst, Way::GatherSecond, Way::GatherThird, Way::GatherFourth];
    let places = at_places(&[
        [0.0, 0.0],
        [1.0, 1.0],
        [1.3, 1.4],
        [1.5, 1.5],
        [1.7, 2.6],
        [4.0, 4.0],
        [-3.0, 2.0],
        [2.0, 9.0],
    ]);
    let list: Vec<[f32; 4]> = (0..16)
        .map(|n| [1.0, 2.0, 3.0, 4.0].map(|c: f32| 100.0 * c + (10 * (n / 4) + n % 4) as f32))
        .collect();
    for (name, flags) in [("made for it", cudaArrayTextureGather), ("not made for it", 0)] {
        let image = filled(log, channels(32, 4, cudaChannelFormatKindFloat), [4, 4, 0], flags, &list)?;
        let it = texture(log, of_array(image), plain(), None)?;
        for way in GATHERS {
            read(log, &format!("{name}, {way:?}"), it, way, 4, &places)?;
        }
        let it = texture(log, of_array(image), linear(plain()), None)?;
        read(log, &format!("{name}, linear"), it, Way::GatherFirst, 4, &places)?;
        let border = cudaTextureDesc {
            addressMode: [cudaAddressModeBorder; 3],
            borderColor: [-1.0, -2.0, -3.0, -4.0],
            ..plain()
        };
        let it = texture(log, of_array(image), border, None)?;
        read(log, &format!("{name}, border"), it, Way::GatherSecond, 4, &places)?;
    }
    let list: Vec<u32> = (0..16).map(|n| 10 * (n / 4) + n % 4).collect();
    let format = channels(32, 1, cudaChannelFormatKindUnsigned);
    let image = filled(log, format, [4, 4, 0], cudaArrayTextureGather, &list)?;
    let it = texture(log, of_array(image), plain(), None)?;
    read_integers(log, "integers, first", it, Way::GatherFirst, 4, &places)?;
    read_integers(log, "integers, second", it, Way::GatherSecond, 4, &places)?;
    read_integers(log, "integers, fourth", it, Way::GatherFourth, 4, &places)?;
    let wrap = cudaTextureDesc { addressMode: [cudaAddressModeWrap; 3], normalizedCoords: 1, ..plain() };
    let it = texture(log, of_array(image), wrap, None)?;
    let places = at_places(&[[0.0, 0.0], [0.3, 0.4], [0.99, 0.99], [-0.3, 1.2]]);
    read_integers(log, "integers, wrap", it, Way::GatherFirst, 4, &places)
}

/// The bits of a border's colour that integers get.
fn borders(log: &mut Log) -> Outcome {
    let border = cudaTextureDesc {
        addressMode: [cudaAddressModeBorder; 3],
        borderColor: [-2.5, 3.0, 0.25, 300.0],
        ..plain()
    };
    let places = columns(&[-1.0, 0.5, 9.0]);
    for (name, bits, kind) in [
        ("u8", 8, cudaChannelFormatKindUnsigned),
        ("s8", 8, cudaChannelFormatKindSigned),
        ("u16", 16, cudaChannelFormatKindUnsigned),
        ("s32", 32, cudaChannelFormatKindSigned),
    ] {
        for count in [1, 4] {
            let list = vec![1_u8; usize::try_from(4 * bits * count / 8).unwrap_or(0)];
            let image = of_array(filled(log, channels(bits, count, kind), [4, 1, 0], 0, &list)?);
            let it = texture(log, image, border, None)?;
            read_integers(log, &format!("{count} {name}"), it, Way::Plane, 4, &places)?;
            if bits < 32 {
                let it = texture(log, image, fractions(border), None)?;
                read(log, &format!("{count} {name}, fractions"), it, Way::Plane, 4, &places)?;
            }
        }
    }
    let image = of_array(filled(log, floats(), [4, 1, 0], 0, &[1.0_f32; 4])?);
    let it = texture(log, image, border, None)?;
    read(log, "f32", it, Way::Plane, 4, &places)?;
    let image =
        of_array(filled(log, channels(16, 4, cudaChannelFormatKindFloat), [4, 1, 0], 0, &[0x3c00_u16; 16])?);
    let it = texture(log, image, border, None)?;
    read(log, "4 f16", it, Way::Plane, 4, &places)?;
    let it = texture(log, image, linear(border), None)?;
    read(log, "4 f16, linear", it, Way::Plane, 4, &columns(&[-1.0, 0.0, 0.3, 3.9]))
}

/// Lines with a border, of layers and with other modes in the second dimension.
fn line_borders(log: &mut Log) -> Outcome {
    use cuda_sys::{cudaAddressModeBorder as border, cudaAddressModeClamp as clamp};
    let list: Vec<f32> = (0..12).map(|n| (10 * n) as f32).collect();
    let places = columns(&[-1.0, 0.0, 0.5, 1.0, 1.75, 4.0, 5.0]);
    for (name, modes) in [
        ("border, border, border", [border, border, border]),
        ("border, clamp, clamp", [border, clamp, clamp]),
        ("clamp, border, clamp", [clamp, border, clamp]),
        ("clamp, clamp, border", [clamp, clamp, border]),
        ("border, border, clamp", [border, border, clamp]),
    ] {
        let like = cudaTextureDesc { addressMode: modes, borderColor: [-8.0; 4], ..linear(plain()) };
        let line = of_array(filled(log, floats(), [4, 0, 0], 0, &list[..4])?);
        let it = texture(log, line, like, None)?;
        read(log, &format!("line, {name}"), it, Way::Line, 1, &places)?;
        let lines = of_array(filled(log, floats(), [4, 0, 3], cudaArrayLayered, &list)?);
        let it = texture(log, lines, like, None)?;
        read(log, &format!("lines, {name}"), it, Way::Lines, 1, &places)?;
        let planes = of_array(filled(log, floats(), [4, 1, 3], cudaArrayLayered, &list)?);
        let it = texture(log, planes, like, None)?;
        read(log, &format!("planes, {name}"), it, Way::Planes, 1, &places)?;
    }
    Ok(())
}

/// Linear means of numbers that show how they are rounded.
fn precision(log: &mut Log) -> Outcome {
    let places = columns(&[0.5, 0.6, 0.7501, 0.99, 1.0, 1.1, 1.333_333_3, 1.25, 1.9, 2.001, 2.4, 2.499_9]);
    let list = [0.1_f32, 0.7, 1.0e-3, 12_345.678];
    let image = of_array(filled(log, floats(), [4, 1, 0], 0, &list)?);
    let it = texture(log, image, linear(plain()), None)?;
    read(log, "f32", it, Way::Plane, 1, &places)?;
    let image = of_array(filled(log, floats(), [4, 0, 0], 0, &list)?);
    let it = texture(log, image, linear(plain()), None)?;
    read(log, "f32, a line", it, Way::Line, 1, &places)?;
    let list = [1.0e30_f32, -1.0e30, f32::INFINITY, 1.0];
    let image = of_array(filled(log, floats(), [4, 1, 0], 0, &list)?);
    let it = texture(log, image, linear(plain()), None)?;
    read(log, "f32, large", it, Way::Plane, 1, &places)?;
    for (name, bits, kind, list) in [
        ("u8", 8, cudaChannelFormatKindUnsigned, vec![3_u8, 250, 17, 128]),
        ("s8", 8, cudaChannelFormatKindSigned, vec![3, 250, 128, 127]),
        ("u16", 16, cudaChannelFormatKindUnsigned, vec![3, 1, 250, 9, 17, 200, 128, 255]),
        ("s16", 16, cudaChannelFormatKindSigned, vec![3, 1, 250, 9, 17, 200, 0, 128]),
        ("f16", 16, cudaChannelFormatKindFloat, vec![0x11, 0x31, 0x22, 0x3a, 0x33, 0x15, 0x44, 0x55]),
    ] {
        let image = of_array(filled(log, channels(bits, 1, kind), [4, 1, 0], 0, &list)?);
        let like = if name == "f16" { plain() } else { fractions(plain()) };
        let it = texture(log, image, like, None)?;
        read(log, &format!("{name}, nearest"), it, Way::Plane, 1, &along(4))?;
        let it = texture(log, image, linear(like), None)?;
        read(log, name, it, Way::Plane, 1, &places)?;
    }
    let list: Vec<f32> = (0..64).map(|n| ((n * 37 + 11) % 64) as f32 * 1.37 + 0.1).collect();
    let some = [[0.6, 0.7], [1.1, 2.9], [2.345, 1.234], [3.001, 3.499], [0.1, 3.9]];
    let image = of_array(filled(log, floats(), [8, 8, 0], 0, &list)?);
    let it = texture(log, image, linear(plain()), None)?;
    read(log, "a plane", it, Way::Plane, 1, &at_places(&some))?;
    let image = of_array(filled(log, floats(), [4, 4, 4], 0, &list)?);
    let it = texture(log, image, linear(plain()), None)?;
    let mut reads = at_places(&some);
    for (n, read) in reads.iter_mut().enumerate() {
        read.at[2] = 0.7 * n as f32 + 0.4;
    }
    read(log, "a solid", it, Way::Solid, 1, &reads)
}

/// Coordinates that are no numbers, and huge ones.
fn strange(log: &mut Log) -> Outcome {
    let image = of_array(filled(log, floats(), [4, 1, 0], 0, &[0.0_f32, 10.0, 20.0, 30.0])?);
    let places = columns(&[
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        3e9,
        -3e9,
        1e20,
        65_536.3,
        -65_536.3,
        1e-40,
        -0.0,
    ]);
    for (name, mode, normalized) in [
        ("clamp", cudaAddressModeClamp, 0),
        ("border", cudaAddressModeBorder, 0),
        ("wrap", cudaAddressModeWrap, 1),
        ("mirror", cudaAddressModeMirror, 1),
        ("clamp, normalized", cudaAddressModeClamp, 1),
    ] {
        let like = cudaTextureDesc {
            addressMode: [mode; 3],
            borderColor: [-8.0; 4],
            normalizedCoords: normalized,
            ..plain()
        };
        let it = texture(log, image, like, None)?;
        read(log, name, it, Way::Plane, 1, &places)?;
        let it = texture(log, image, linear(like), None)?;
        read(log, &format!("{name}, linear"), it, Way::Plane, 1, &places)?;
    }
    Ok(())
}

/// A way of making an image.
type MakeImage = fn(&mut Log) -> Result<cudaResourceDesc, Setup>;

fn image(
    log: &mut Log,
    format: cudaChannelFormatDesc,
    extent: [usize; 3],
    flags: u32,
) -> Result<cudaResourceDesc, Setup> {
    let count = extent.iter().map(|size| *size.max(&1)).product::<usize>();
    let bytes = usize::try_from(format.x * if format.w > 0 { 4 } else { 1 }).unwrap_or(0) / 8;
    let list: Vec<u8> = (0..count * bytes).map(|n| (n * 5 + 3) as u8).collect();
    Ok(of_array(filled(log, format, extent, flags, &list)?))
}

/// Reads that do not fit the image: another kind of number, or other dimensions.
fn mismatches(cases: &mut Cases) {
    let mut add = |what: &str, floats: bool, way: Way, like: cudaTextureDesc, make: MakeImage| {
        let id = format!("cudaCreateTextureObject/a kernel reads {what}");
        let run = move |log: &mut Log| {
            let image = make(log)?;
            let it = texture(log, image, like, None)?;
            let places = at_places(&[[0.0, 0.0], [1.5, 0.5], [2.5, 1.5], [9.0, 9.0]]);
            if floats {
                read(log, "read", it, way, 4, &places)
            } else {
                read_integers(log, "read", it, way, 4, &places)
            }
        };
        cases.add(id, run).alone();
    };
    add("integers of floats", false, Way::Plane, plain(), |log| image(log, floats(), [4, 4, 0], 0));
    add("floats of integers", true, Way::Plane, plain(), |log| {
        image(log, channels(32, 1, cudaChannelFormatKindUnsigned), [4, 4, 0], 0)
    });
    add("floats of bytes", true, Way::Plane, plain(), |log| {
        image(log, channels(8, 4, cudaChannelFormatKindUnsigned), [4, 4, 0], 0)
    });
    add("floats of signed bytes", true, Way::Plane, plain(), |log| {
        image(log, channels(8, 4, cudaChannelFormatKindSigned), [4, 4, 0], 0)
    });
    add("integers of fractions", false, Way::Plane, fractions(plain()), |log| {
        image(log, channels(8, 4, cudaChannelFormatKindUnsigned), [4, 4, 0], 0)
    });
    add("integers of halves", false, Way::Plane, plain(), |log| {
        image(log, channels(16, 1, cudaChannelFormatKindFloat), [4, 4, 0], 0)
    });
    add("a line of a plane", true, Way::Line, plain(), |log| image(log, floats(), [4, 4, 0], 0));
    add("a plane of a line", true, Way::Plane, plain(), |log| image(log, floats(), [4, 0, 0], 0));
    add("a plane of a solid", true, Way::Plane, plain(), |log| image(log, floats(), [4, 4, 4], 0));
    add("a solid of a plane", true, Way::Solid, plain(), |log| image(log, floats(), [4, 4, 0], 0));
    add("a plane of planes", true, Way::Plane, plain(), |log| {
        image(log, floats(), [4, 4, 3], cudaArrayLayered)
    });
    add("planes of a plane", true, Way::Planes, plain(), |log| image(log, floats(), [4, 4, 0], 0));
    add("planes of a cube", true, Way::Planes, plain(), |log| {
        image(log, floats(), [4, 4, 6], cudaArrayCubemap)
    });
    add("elements of a line by number", true, Way::Fetch, plain(), |log| image(log, floats(), [4, 0, 0], 0));
    let row: MakeImage = |log| {
        let list: Vec<u8> = (0..16_u8).flat_map(|n| f32::from(n).to_ne_bytes()).collect();
        Ok(of_row(Block::with(log, Kind::Device, &list)?.ptr(), 16))
    };
    add("linear memory as a line", true, Way::Line, plain(), row);
    add("linear memory as a line, with fractions", true, Way::Line, linear(plain()), row);
    let none: MakeImage = |log| Ok(of_row(Block::new(log, Kind::Device, 4096)?.ptr(), 0));
    add("linear memory without elements", true, Way::Fetch, plain(), none);
    add("a level of a line without levels", true, Way::LineLevel, plain(), |log| {
        image(log, floats(), [4, 0, 0], 0)
    });
}

pub(super) fn add(cases: &mut Cases) {
    let mut reads = |what: &str, run: fn(&mut Log) -> Outcome| {
        cases.add(format!("formats of textures/{what}"), run);
    };
    reads("sRGB of every byte", srgb_bytes);
    reads("sRGB of one, two and four channels", srgb_channels);
    reads("sRGB of what has none", srgb_of_others);
    reads("gathers", gathers);
    reads("borders of every kind of number", borders);
    reads("borders of lines, filtered", line_borders);
    reads("the precision of a linear filter", precision);
    reads("coordinates that are no numbers, and huge ones", strange);
    mismatches(cases);
}
