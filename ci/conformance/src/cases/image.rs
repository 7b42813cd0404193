//! Images of several levels as kernels read and write them, and the helpers of the other cases of images.

use std::ffi::c_void;
use std::fmt::Debug;
use std::ptr;

use cuda_sys::*;

use super::texture::{of_array, plain};
use crate::case::Cases;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind};

unsafe extern "C" {
    fn case_image_floats();
    fn case_image_gradients();
    fn case_image_integers();
    fn case_image_write();
}

/// One read of the kernels in `image.cu`: coordinates, layer, level and derivatives.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct ImageRead {
    pub(super) at: [f32; 3],
    pub(super) layer: f32,
    pub(super) level: f32,
    pub(super) dx: [f32; 3],
    pub(super) dy: [f32; 3],
}

/// The instruction of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Way {
    Fetch,
    Line,
    LineLevel,
    LineGradient,
    Lines,
    LinesLevel,
    Plane,
    PlaneLevel,
    PlaneGradient,
    Planes,
    PlanesLevel,
    PlanesGradient,
    Solid,
    SolidLevel,
    SolidGradient,
    Cube,
    CubeLevel,
    CubeGradient,
    Cubes,
    CubesLevel,
    GatherFirst,
    GatherSecond,
    GatherThird,
    GatherFourth,
}

/// Channels of so many bits.
pub(super) fn channels(bits: i32, count: i32, kind: cudaChannelFormatKind) -> cudaChannelFormatDesc {
    let has = |n: i32| if n < count { bits } else { 0 };
    cudaChannelFormatDesc { x: bits, y: has(1), z: has(2), w: has(3), f: kind }
}

pub(super) fn floats() -> cudaChannelFormatDesc {
    channels(32, 1, cudaChannelFormatKindFloat)
}

/// Copies elements into all of an array.
pub(super) fn store<T: Copy>(
    log: &mut Log,
    array: cudaArray_t,
    [width, height, depth]: [usize; 3],
    elements: &[T],
) -> Outcome {
    let (height, depth) = (height.max(1), depth.max(1));
    let row = size_of_val(elements) / height / depth;
    let mut copy = cudaMemcpy3DParms::default();
    copy.srcPtr =
        cudaPitchedPtr { ptr: elements.as_ptr().cast_mut().cast(), pitch: row, xsize: row, ysize: height };
    copy.dstArray = array;
    copy.extent = cudaExtent { width, height, depth };
    copy.kind = cudaMemcpyHostToDevice;
    need!(log, cudaMemcpy3D(&raw const copy));
    Ok(())
}

/// An array with these elements.
pub(super) fn filled<T: Copy>(
    log: &mut Log,
    format: cudaChannelFormatDesc,
    [width, height, depth]: [usize; 3],
    flags: u32,
    elements: &[T],
) -> Result<cudaArray_t, Setup> {
    let (mut array, extent) = (ptr::null_mut(), cudaExtent { width, height, depth });
    need!(log, cudaMalloc3DArray(&raw mut array, &raw const format, extent, flags));
    store(log, array, [width, height, depth], elements)?;
    Ok(array)
}

/// A mipmapped array of floats, whose elements are a function of level, column, row and layer.
pub(super) fn levels(
    log: &mut Log,
    [width, height, depth]: [usize; 3],
    count: usize,
    flags: u32,
    element: impl Fn(usize, [usize; 3]) -> f32,
) -> Result<cudaMipmappedArray_t, Setup> {
    let (mut made, format) = (ptr::null_mut(), floats());
    let extent = cudaExtent { width, height, depth };
    need!(log, cudaMallocMipmappedArray(&raw mut made, &raw const format, extent, count as u32, flags));
    let layered = flags & (cudaArrayLayered | cudaArrayCubemap) != 0;
    for level in 0..count {
        let half = |size: usize| if size == 0 { 0 } else { (size >> level).max(1) };
        let size = [half(width), half(height), if layered { depth } else { half(depth) }];
        let mut list = Vec::new();
        for z in 0..size[2].max(1) {
            for y in 0..size[1].max(1) {
                list.extend((0..size[0]).map(|x| element(level, [x, y, z])));
            }
        }
        let mut array = ptr::null_mut();
        need!(log, cudaGetMipmappedArrayLevel(&raw mut array, made.cast_const(), level as u32));
        store(log, array, size, &list)?;
    }
    Ok(made)
}

pub(super) fn of_levels(levels: cudaMipmappedArray_t) -> cudaResourceDesc {
    let mut resource = cudaResourceDesc { resType: cudaResourceTypeMipmappedArray, ..Default::default() };
    resource.res.mipmap.mipmap = levels;
    resource
}

/// Normalized coordinates, the edge outside, and all levels.
pub(super) fn normalized() -> cudaTextureDesc {
    cudaTextureDesc { normalizedCoords: 1, maxMipmapLevelClamp: 99.0, ..plain() }
}

pub(super) fn linear(like: cudaTextureDesc) -> cudaTextureDesc {
    cudaTextureDesc { filterMode: cudaFilterModeLinear, ..like }
}

/// With a linear filter between levels.
pub(super) fn between(like: cudaTextureDesc) -> cudaTextureDesc {
    cudaTextureDesc { mipmapFilterMode: cudaFilterModeLinear, ..like }
}

pub(super) fn texture(
    log: &mut Log,
    image: cudaResourceDesc,
    like: cudaTextureDesc,
    view: Option<cudaResourceViewDesc>,
) -> Result<u64, Setup> {
    let (view, mut made) = (view.as_ref().map_or(ptr::null(), ptr::from_ref), 0);
    need!(log, cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, view));
    Ok(made)
}

/// The four numbers of each read, as bits.
fn bits(
    log: &mut Log,
    kernel: unsafe extern "C" fn(),
    texture: u64,
    way: Way,
    reads: &[ImageRead],
) -> Result<Vec<[u32; 4]>, Setup> {
    // SAFETY: so many bytes of numbers.
    let given = unsafe { std::slice::from_raw_parts(reads.as_ptr().cast::<u8>(), size_of_val(reads)) };
    let from = Block::with(log, Kind::Device, given)?;
    let to = Block::new(log, Kind::Device, 16 * reads.len())?;
    let (mut texture, mut way, mut from, mut out) = (texture, way as i32, from.ptr(), to.ptr());
    let mut count = reads.len() as u32;
    let mut arguments: [*mut c_void; 5] = [
        (&raw mut texture).cast(),
        (&raw mut way).cast(),
        (&raw mut from).cast(),
        (&raw mut out).cast(),
        (&raw mut count).cast(),
    ];
    let (grid, block) = (dim3 { x: count.div_ceil(64), y: 1, z: 1 }, dim3 { x: 64, y: 1, z: 1 });
    let (kernel, on) = (kernel as *const c_void, ptr::null_mut());
    need!(log, cudaLaunchKernel(kernel, grid, block, arguments.as_mut_ptr(), 0, on));
    ask!(log, cudaDeviceSynchronize());
    let mut found = vec![[0_u32; 4]; reads.len()];
    let (host, size) = (found.as_mut_ptr().cast(), 16 * reads.len());
    need!(log, cudaMemcpy(host, out.cast_const(), size, cudaMemcpyDeviceToHost));
    Ok(found)
}

/// Notes the first so many numbers of each read, with as many digits as tell them apart.
fn note<T: Debug>(log: &mut Log, name: &str, channels: usize, found: impl Iterator<Item = [T; 4]>) {
    let found: Vec<String> = found
        .map(|four| {
            let parts: Vec<_> = four[..channels].iter().map(|it| format!("{it:?}")).collect();
            parts.join("/")
        })
        .collect();
    log.fact(name, found.join(" "));
}

/// Reads floating-point numbers.
pub(super) fn read(
    log: &mut Log,
    name: &str,
    texture: u64,
    way: Way,
    channels: usize,
    reads: &[ImageRead],
) -> Outcome {
    let three = matches!(way, Way::SolidGradient | Way::CubeGradient);
    let kernel = if three { case_image_gradients } else { case_image_floats };
    let found = bits(log, kernel, texture, way, reads)?;
    note(log, name, channels, found.into_iter().map(|four| four.map(f32::from_bits)));
    Ok(())
}

/// Reads integers.
pub(super) fn read_integers(
    log: &mut Log,
    name: &str,
    texture: u64,
    way: Way,
    channels: usize,
    reads: &[ImageRead],
) -> Outcome {
    let found = bits(log, case_image_integers, texture, way, reads)?;
    note(log, name, channels, found.into_iter());
    Ok(())
}

/// Reads at one place of several levels.
fn at_levels(levels: &[f32]) -> Vec<ImageRead> {
    levels.iter().map(|level| ImageRead { at: [0.5; 3], level: *level, ..Default::default() }).collect()
}

/// Reads in a plane.
pub(super) fn at_places(places: &[[f32; 2]]) -> Vec<ImageRead> {
    places.iter().map(|[x, y]| ImageRead { at: [*x, *y, 0.0], ..Default::default() }).collect()
}

/// Reads with derivatives.
fn at_gradients(gradients: &[[[f32; 3]; 2]]) -> Vec<ImageRead> {
    let one = |[dx, dy]: &[[f32; 3]; 2]| ImageRead { at: [0.5; 3], dx: *dx, dy: *dy, ..Default::default() };
    gradients.iter().map(one).collect()
}

const NEAR_STEPS: [f32; 18] = [
    -1.0,
    0.0,
    0.25,
    0.49,
    0.499,
    0.5,
    0.501,
    0.75,
    1.0,
    1.49,
    1.5,
    1.51,
    2.5,
    3.5,
    4.0,
    4.6,
    100.0,
    f32::NAN,
];
const FINE_STEPS: [f32; 18] = [
    -0.5,
    0.0,
    0.5 / 256.0,
    1.0 / 256.0,
    1.5 / 256.0,
    1.9 / 256.0,
    2.0 / 256.0,
    0.25,
    0.3,
    0.5,
    0.7,
    255.0 / 256.0,
    255.5 / 256.0,
    1.0,
    1.37,
    3.9,
    4.2,
    100.0,
];

fn level_filters(log: &mut Log) -> Outcome {
    let image = levels(log, [16, 16, 0], 5, 0, |level, _| 256.0 * level as f32)?;
    let image = of_levels(image);
    let (near, far) = (normalized(), between(normalized()));
    let it = texture(log, image, near, None)?;
    read(log, "nearest", it, Way::PlaneLevel, 1, &at_levels(&NEAR_STEPS))?;
    let it = texture(log, image, far, None)?;
    read(log, "linear", it, Way::PlaneLevel, 1, &at_levels(&FINE_STEPS))?;
    let it = texture(log, image, linear(far), None)?;
    read(log, "both", it, Way::PlaneLevel, 1, &at_levels(&FINE_STEPS))?;
    let it = texture(log, image, linear(near), None)?;
    read(log, "linear in the level", it, Way::PlaneLevel, 1, &at_levels(&NEAR_STEPS))
}

fn level_limits(log: &mut Log) -> Outcome {
    let image = of_levels(levels(log, [16, 16, 0], 5, 0, |level, _| 256.0 * level as f32)?);
    let steps = at_levels(&[-2.0, 0.0, 0.5, 1.0, 1.3, 2.0, 2.5, 3.0, 4.0, 9.0]);
    for (name, bias, least, most) in [
        ("1.25 to 2.75", 0.0, 1.25, 2.75),
        ("1.3 to 2.3", 0.0, 1.3, 2.3),
        ("bias 0.5", 0.5, 0.0, 99.0),
        ("bias -0.3", -0.3, 0.0, 99.0),
        ("bias 0.001", 0.001, 0.0, 99.0),
        ("bias 1, 1 to 3", 1.0, 1.0, 3.0),
        ("bias 100", 100.0, 0.0, 99.0),
        ("bias -100", -100.0, 0.0, 99.0),
        ("bias NaN", f32::NAN, 0.0, 99.0),
        ("2 to 1", 0.0, 2.0, 1.0),
        ("-3 to -1", 0.0, -3.0, -1.0),
        ("0 to 0", 0.0, 0.0, 0.0),
        ("20 to 30", 0.0, 20.0, 30.0),
    ] {
        let like = cudaTextureDesc {
            mipmapLevelBias: bias,
            minMipmapLevelClamp: least,
            maxMipmapLevelClamp: most,
            ..normalized()
        };
        let it = texture(log, image, like, None)?;
        read(log, &format!("{name}, nearest"), it, Way::PlaneLevel, 1, &steps)?;
        let it = texture(log, image, between(like), None)?;
        read(log, &format!("{name}, linear"), it, Way::PlaneLevel, 1, &steps)?;
        read(log, &format!("{name}, no level"), it, Way::Plane, 1, &steps[..1])?;
    }
    Ok(())
}

fn level_coordinates(log: &mut Log) -> Outcome {
    let image = of_levels(levels(log, [8, 8, 0], 4, 0, |level, [x, y, _]| {
        1000.0 * level as f32 + 10.0 * y as f32 + x as f32
    })?);
    let mut steps = Vec::new();
    for level in [0.0, 0.5, 1.0, 1.75, 3.0] {
        for [x, y] in [[-0.1, 0.5], [0.0, 0.0], [0.2, 0.3], [0.5, 0.5], [0.61, 0.77], [0.99, 0.4], [1.3, 0.1]]
        {
            steps.push(ImageRead { at: [x, y, 0.0], level, ..Default::default() });
        }
    }
    for (name, mode) in [
        ("clamp", cudaAddressModeClamp),
        ("wrap", cudaAddressModeWrap),
        ("mirror", cudaAddressModeMirror),
        ("border", cudaAddressModeBorder),
    ] {
        let like = cudaTextureDesc { addressMode: [mode; 3], borderColor: [-8.0; 4], ..normalized() };
        let it = texture(log, image, like, None)?;
        read(log, &format!("{name}, nearest"), it, Way::PlaneLevel, 1, &steps)?;
        let it = texture(log, image, linear(between(like)), None)?;
        read(log, &format!("{name}, linear"), it, Way::PlaneLevel, 1, &steps)?;
    }
    let it =
        texture(log, image, linear(between(cudaTextureDesc { normalizedCoords: 0, ..normalized() })), None)?;
    for step in &mut steps {
        step.at = step.at.map(|it| it * 8.0);
    }
    read(log, "by elements", it, Way::PlaneLevel, 1, &steps)
}

/// Coordinates that are not said to be normalized, with one level and more.
fn elements_of_levels(log: &mut Log) -> Outcome {
    let steps: Vec<_> = [[-0.8, 4.0], [0.0, 0.0], [0.3, 0.6], [1.6, 2.4], [10.4, 0.8]]
        .iter()
        .flat_map(|[x, y]| {
            [0.0, 1.0].map(|level| ImageRead { at: [*x, *y, 0.0], level, ..Default::default() })
        })
        .collect();
    let like = cudaTextureDesc { normalizedCoords: 0, ..normalized() };
    for count in [1, 2] {
        let image = levels(log, [8, 8, 0], count, 0, |level, [x, y, _]| {
            1000.0 * level as f32 + 10.0 * y as f32 + x as f32
        })?;
        for (name, like) in [("nearest", like), ("linear", linear(like)), ("both", linear(between(like)))] {
            let it = texture(log, of_levels(image), like, None)?;
            read(log, &format!("{count} levels, {name}"), it, Way::PlaneLevel, 1, &steps)?;
            read(log, &format!("{count} levels, {name}, no level"), it, Way::Plane, 1, &steps)?;
        }
    }
    Ok(())
}

/// A way of each kind of image: name, extent, flags, and the ways without a level, with one, and with
/// derivatives.
type KindOfImage = (&'static str, [usize; 3], u32, Way, Way, Option<Way>);

const KINDS: [KindOfImage; 7] = [
    ("a line", [16, 0, 0], 0, Way::Line, Way::LineLevel, Some(Way::LineGradient)),
    ("lines", [16, 0, 3], cudaArrayLayered, Way::Lines, Way::LinesLevel, None),
    ("a plane", [16, 8, 0], 0, Way::Plane, Way::PlaneLevel, Some(Way::PlaneGradient)),
    ("planes", [16, 8, 3], cudaArrayLayered, Way::Planes, Way::PlanesLevel, Some(Way::PlanesGradient)),
    ("a solid", [16, 8, 4], 0, Way::Solid, Way::SolidLevel, Some(Way::SolidGradient)),
    ("a cube", [16, 16, 6], cudaArrayCubemap, Way::Cube, Way::CubeLevel, Some(Way::CubeGradient)),
    ("cubes", [16, 16, 12], cudaArrayCubemap | cudaArrayLayered, Way::Cubes, Way::CubesLevel, None),
];

fn kind_reads() -> Vec<ImageRead> {
    let mut steps = Vec::new();
    for level in [0.0, 0.6, 1.0, 2.0, 9.0] {
        for layer in [0.0, 1.0, 2.0, 5.0, -1.0] {
            steps.push(ImageRead { at: [0.3, 0.6, 0.7], layer, level, ..Default::default() });
        }
    }
    steps
}

fn kinds_of_image(log: &mut Log, (_, extent, flags, without, with, _): KindOfImage) -> Outcome {
    let image = of_levels(levels(log, extent, 4, flags, |level, [x, y, z]| {
        1000.0 * level as f32 + 100.0 * z as f32 + 10.0 * y as f32 + x as f32
    })?);
    let steps = kind_reads();
    for (name, like) in [("nearest", normalized()), ("linear", linear(between(normalized())))] {
        let it = texture(log, image, like, None)?;
        read(log, name, it, with, 1, &steps)?;
        read(log, &format!("{name}, no level"), it, without, 1, &steps[..5])?;
    }
    Ok(())
}

/// Reads of such an image with derivatives.
fn derivatives(log: &mut Log, (_, extent, flags, _, _, gradient): KindOfImage) -> Outcome {
    let Some(gradient) = gradient else { return Ok(()) };
    let image = of_levels(levels(log, extent, 4, flags, |level, [x, y, z]| {
        1000.0 * level as f32 + 100.0 * z as f32 + 10.0 * y as f32 + x as f32
    })?);
    for (name, like) in [("nearest", normalized()), ("linear", linear(between(normalized())))] {
        let it = texture(log, image, like, None)?;
        let zero = [0.0; 3];
        let mut slopes: Vec<_> =
            [zero, [1.0 / 16.0, 0.0, 0.0], [2.0 / 16.0, 0.0, 0.0], [3.0 / 16.0, 0.0, 0.0]]
                .iter()
                .map(|dx| ImageRead { at: [0.3, 0.6, 0.7], layer: 1.0, dx: *dx, ..Default::default() })
                .collect();
        slopes.extend(slopes.clone().into_iter().map(|it| ImageRead { dx: zero, dy: it.dx, ..it }));
        slopes.extend([1.0_f32, 2.0, 3.0].map(|n| ImageRead {
            at: [0.3, 0.6, 0.7],
            layer: 1.0,
            dx: [0.0, n / 8.0, 0.0],
            dy: [0.0, 0.0, n / 4.0],
            ..Default::default()
        }));
        read(log, name, it, gradient, 1, &slopes)?;
    }
    Ok(())
}

/// The levels that derivatives select, in 256ths.
fn gradients(log: &mut Log, anisotropy: u32) -> Outcome {
    let image = of_levels(levels(log, [64, 64, 0], 7, 0, |level, _| 256.0 * level as f32)?);
    let one = 1.0 / 64.0;
    let slopes = |along: &dyn Fn(f32) -> [[f32; 3]; 2]| {
        [0.0, 0.25, 0.5, 1.0, 1.125, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 16.0, 63.0, 64.0, 500.0]
            .map(|n| along(n * one))
    };
    let both = slopes(&|n| [[n, 0.0, 0.0], [0.0, n, 0.0]]);
    let wide = slopes(&|n| [[n, 0.0, 0.0], [0.0, one, 0.0]]);
    let high = slopes(&|n| [[one, 0.0, 0.0], [0.0, n, 0.0]]);
    let only = slopes(&|n| [[n, 0.0, 0.0], [0.0; 3]]);
    let across = slopes(&|n| [[n, n, 0.0], [-n, n, 0.0]]);
    let slanted = slopes(&|n| [[n, n, 0.0], [0.0; 3]]);
    let mixed = slopes(&|n| [[n, 0.5 * n, 0.0], [-0.25 * n, 0.75 * n, 0.0]]);
    let like = cudaTextureDesc { maxAnisotropy: anisotropy, ..between(normalized()) };
    for (filter, like) in [("nearest", like), ("linear", linear(like))] {
        let it = texture(log, image, like, None)?;
        for (name, list) in [
            ("both", both),
            ("wide", wide),
            ("high", high),
            ("one only", only),
            ("across", across),
            ("slanted", slanted),
            ("mixed", mixed),
        ] {
            read(log, &format!("{filter}, {name}"), it, Way::PlaneGradient, 1, &at_gradients(&list))?;
        }
    }
    Ok(())
}

/// The levels of many derivatives, in 256ths: how logarithms are rounded, and lengths of slanted derivatives.
fn many_gradients(log: &mut Log, anisotropy: u32) -> Outcome {
    let image = levels(log, [256, 256, 0], 9, 0, |level, _| 256.0 * level as f32)?;
    let like = cudaTextureDesc { maxAnisotropy: anisotropy, ..between(normalized()) };
    let it = texture(log, of_levels(image), like, None)?;
    let parts = |count: u8| (0..count).map(move |n| f32::from(n) / f32::from(count - 1));
    // Derivatives in elements: those in the first direction, then those in the second.
    let mut ask = |name: &str, list: Vec<[f32; 4]>| {
        let slopes: Vec<_> = list
            .iter()
            .map(|it| it.map(|it| it / 256.0))
            .map(|[a, b, c, d]| [[a, b, 0.0], [c, d, 0.0]])
            .collect();
        read(log, name, it, Way::PlaneGradient, 1, &at_gradients(&slopes))
    };
    ask("logarithms", parts(129).map(|t| [16.0 + 16.0 * t, 0.0, 0.0, 0.0]).collect())?;
    ask("slanted", parts(65).map(|t| [16.0, 16.0 * t, 0.0, 0.0]).collect())?;
    ask("slanted, 1.2", parts(65).map(|t| [19.2, 19.2 * t, 0.0, 0.0]).collect())?;
    ask("steep", parts(33).map(|t| [16.0 * t, 16.0, 0.0, 0.0]).collect())?;
    ask("slanted twice", parts(33).map(|t| [16.0, 16.0 * t, 16.0, 16.0 * t]).collect())?;
    ask("turned", parts(33).map(|t| [16.0, 16.0 * t, -16.0 * t, 16.0]).collect())?;
    ask("turned back", parts(33).map(|t| [16.0, 16.0 * t, 16.0 * t, -16.0]).collect())?;
    ask("a diagonal and a row", parts(33).map(|t| [16.0, 16.0, 16.0 * t, 0.0]).collect())?;
    ask("a diagonal and a column", parts(33).map(|t| [16.0, 16.0, 0.0, 16.0 * t]).collect())?;
    ask("two diagonals", parts(33).map(|t| [16.0, 16.0, -16.0 * t, 16.0 * t]).collect())?;
    ask("a row and a diagonal", parts(33).map(|t| [16.0, 0.0, 16.0 * t, 16.0 * t]).collect())?;
    ask("a row and a column", parts(65).map(|t| [16.0, 0.0, 0.0, 16.0 * t]).collect())?;
    ask("a row and a smaller column", parts(65).map(|t| [64.0, 0.0, 0.0, 4.0 + 12.0 * t]).collect())
}

/// The places that a read along a derivative takes a mean of: half of the image is 0, the other half 1.
fn anisotropic_places(log: &mut Log) -> Outcome {
    let list: Vec<f32> = (0..4096).map(|n| if n % 64 < 32 { 0.0 } else { 1.0 }).collect();
    let image = of_array(filled(log, floats(), [64, 64, 0], 0, &list)?);
    let levels =
        of_levels(levels(
            log,
            [64, 64, 0],
            2,
            0,
            |level, [x, ..]| {
                if x < 32 >> level { 0.0 } else { 1.0 + level as f32 }
            },
        )?);
    for anisotropy in [2, 4, 16] {
        for (name, image) in [("no levels", image), ("levels", levels)] {
            let like = cudaTextureDesc { maxAnisotropy: anisotropy, ..linear(between(normalized())) };
            let it = texture(log, image, like, None)?;
            for length in [1.5_f32, 2.0, 3.0, 4.0, 8.0] {
                let steps: Vec<_> = (0..49_u8)
                    .map(|n| ImageRead {
                        at: [(26.0 + f32::from(n) / 4.0) / 64.0, 0.5, 0.0],
                        dx: [length / 64.0, 0.0, 0.0],
                        dy: [0.0, 1.0 / 64.0, 0.0],
                        ..Default::default()
                    })
                    .collect();
                read(log, &format!("{anisotropy}, {name}, {length}"), it, Way::PlaneGradient, 1, &steps)?;
            }
        }
    }
    Ok(())
}

/// The launch of a kernel with a surface that writes one element and reads one.
pub(super) fn write(log: &mut Log, name: &str, array: cudaArray_t, way: i32, places: &[[i32; 3]]) -> Outcome {
    let (image, mut surface) = (of_array(array), 0_u64);
    need!(log, cudaCreateSurfaceObject(&raw mut surface, &raw const image));
    let out = Block::new(log, Kind::Device, 4)?;
    let mut all = Vec::new();
    for (n, [x, y, z]) in places.iter().enumerate() {
        let (mut way, [mut x, mut y, mut z], mut value) = (way, [*x, *y, *z], 1000.0 + n as f32);
        let mut to = out.ptr();
        let mut arguments: [*mut c_void; 7] = [
            (&raw mut surface).cast(),
            (&raw mut way).cast(),
            (&raw mut x).cast(),
            (&raw mut y).cast(),
            (&raw mut z).cast(),
            (&raw mut value).cast(),
            (&raw mut to).cast(),
        ];
        let (kernel, on) = (case_image_write as *const c_void, ptr::null_mut());
        let one = dim3 { x: 1, y: 1, z: 1 };
        need!(log, cudaLaunchKernel(kernel, one, one, arguments.as_mut_ptr(), 0, on));
        need!(log, cudaDeviceSynchronize());
        let bytes = out.load(log)?;
        all.push(f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    }
    log.fact(name, format_args!("{all:?}"));
    Ok(())
}

fn surfaces_of_levels(log: &mut Log) -> Outcome {
    let flag = cudaArraySurfaceLoadStore;
    let image = levels(log, [16, 8, 0], 4, flag, |level, [x, y, _]| {
        100.0 * level as f32 + 10.0 * y as f32 + x as f32
    })?;
    for level in 0..4_u32 {
        let mut array = ptr::null_mut();
        need!(log, cudaGetMipmappedArrayLevel(&raw mut array, image.cast_const(), level));
        let places = [[0, 0, 0], [1, 1, 0], [3, 1, 0], [7, 3, 0], [15, 7, 0], [-1, 0, 0], [0, 9, 0]];
        write(log, &format!("level {level}"), array, 1, &places)?;
    }
    let it = texture(log, of_levels(image), normalized(), None)?;
    read(log, "afterwards", it, Way::PlaneLevel, 1, &at_levels(&[0.0, 1.0, 2.0, 3.0]))?;
    let corners = [0.0, 1.0, 2.0, 3.0].map(|level| ImageRead { level, ..Default::default() });
    read(log, "corners", it, Way::PlaneLevel, 1, &corners)
}

fn surfaces_of_kinds(log: &mut Log) -> Outcome {
    let flag = cudaArraySurfaceLoadStore;
    for (name, extent, flags, way) in [
        ("line", [8, 0, 0], 0, 0),
        ("solid", [8, 4, 4], 0, 2),
        ("planes", [8, 4, 4], cudaArrayLayered, 3),
        ("cube", [4, 4, 6], cudaArrayCubemap, 4),
        ("cubes", [4, 4, 12], cudaArrayCubemap | cudaArrayLayered, 5),
    ] {
        let [width, height, depth] = extent;
        let list: Vec<f32> = (0..width * height.max(1) * depth.max(1)).map(|n| n as f32).collect();
        let array = filled(log, floats(), extent, flags | flag, &list)?;
        let places =
            [[0, 0, 0], [3, 2, 1], [2, 1, 3], [1, 1, 5], [1, 0, 11], [9, 0, 0], [0, -1, 0], [0, 0, 99]];
        write(log, name, array, way, &places)?;
    }
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    let mut reads = |what: &str, run: fn(&mut Log) -> Outcome| {
        cases.add(format!("mipmapped textures/{what}"), run);
    };
    reads("the level that a filter selects", level_filters);
    reads("level bias and limits", level_limits);
    reads("coordinates in a level", level_coordinates);
    reads("coordinates by elements", elements_of_levels);
    reads("derivatives", |log| gradients(log, 0));
    reads("derivatives with an anisotropy of 1", |log| gradients(log, 1));
    reads("derivatives with an anisotropy of 16", |log| gradients(log, 16));
    reads("many derivatives", |log| many_gradients(log, 0));
    reads("many derivatives with an anisotropy of 16", |log| many_gradients(log, 16));
    reads("the places of anisotropic reads", anisotropic_places);
    reads("surfaces of levels", surfaces_of_levels);
    cases.add("cudaCreateSurfaceObject/every kind of array, written and read", surfaces_of_kinds);
    for kind in KINDS {
        let id = format!("mipmapped textures/of {}", kind.0);
        cases.add(id, move |log| kinds_of_image(log, kind));
        if kind.5.is_some() {
            let id = format!("mipmapped textures/of {}, by derivatives", kind.0);
            cases.add(id, move |log| derivatives(log, kind));
        }
    }
}
