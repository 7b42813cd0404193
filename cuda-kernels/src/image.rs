//! Images of `f32`, read by textures and written by surfaces.
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

use cuda_safe::error::{Detail, ErrorKind};
use cuda_safe::launch::{KernelOutput, LaunchConfig};
use cuda_safe::memory::ArrayKind;
use cuda_safe::stream::AsStream;
use cuda_safe::texture::{Surface, Texture};
use cuda_safe::{Error, Result};

use crate::{check, kernels};

/// The edge of the square blocks, in threads.
const EDGE: u32 = 16;

/// Rotates an image by an angle around its centre.
///
/// `out` has `width` x `height` elements, row by row. Each element gets the texture's value at the
/// position that the rotation maps to it. The angle is in radians. Outside the image, the texture's
/// address mode decides the value.
///
/// # Errors
/// - `out` has another length, or shares memory with the texture.
/// - The texture or the memory is on another device than the stream's.
/// - The texture is not a plane with coordinates that count elements.
/// - The launch fails.
#[track_caller]
pub fn rotate(
    image: &Texture<f32>,
    out: impl KernelOutput<f32>,
    [width, height]: [u32; 2],
    angle: f32,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "rotate";
    let elements = check::product(API, "the size of the image", width, height)?;
    check::output(API, "out", &out, elements, stream)?;
    if image.kind() != Some(ArrayKind::Plane) {
        let asked = "turning by a texture that is of no plane";
        let instead = "make the texture of an array of rows or of a PitchedBuffer";
        return Err(Error::refused(API, texture(asked, instead)));
    }
    if image.desc().normalized_coords {
        let asked = "turning by a texture with normalized coordinates";
        let instead = "make the texture without normalized_coords";
        return Err(Error::refused(API, texture(asked, instead)));
    }
    if out.access().is_some_and(|out| image.access().overlaps(&out)) {
        let asked = "turning of an image onto itself";
        return Err(Error::refused(API, texture(asked, "write to other memory")));
    }
    if elements == 0 {
        return Ok(());
    }
    let config = LaunchConfig::new((width.div_ceil(EDGE), height.div_ceil(EDGE)), (EDGE, EDGE));
    // Not proven, though it can be: the proof depends on the angle, by which `sinf` indexes its table. So
    // each new angle would cost a proof, 35 µs on a server, where the checks above suffice.
    // SAFETY: the kernel writes as many elements as there are, on the stream's device. It reads the
    // texture, which has `float` elements and other memory. The texture's address mode covers positions
    // outside the image.
    unsafe { kernels::rotate_image.unchecked().launch(config, stream, (image, out, width, height, angle)) }
}

/// Paints an image of `width` x `height` elements: each is `step_x` times its column plus `step_y` times
/// its row.
///
/// # Errors
/// - The surface's image is smaller, or not a plane.
/// - The surface is on another device than the stream's.
/// - The launch fails.
#[track_caller]
pub fn paint_gradient(
    image: &mut Surface<f32>,
    [width, height]: [u32; 2],
    [step_x, step_y]: [f32; 2],
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "paint_gradient";
    if image.kind() != ArrayKind::Plane {
        let asked = "painting of an array that is no plane";
        let instead = "make the surface of one of ArrayBuilder::plane";
        return Err(Error::refused(API, texture(asked, instead)));
    }
    let wide = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
    let [columns, rows, _] = image.extent();
    let sizes = [("the width", width, wide(columns)), ("the height", height, wide(rows))];
    for (what, asked, limit) in sizes.map(|(what, asked, limit)| (what, u64::from(asked), limit)) {
        if asked > limit {
            return Err(Error::refused(API, Detail::limit(what, asked, limit)));
        }
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    let config = LaunchConfig::new((width.div_ceil(EDGE), height.div_ceil(EDGE)), (EDGE, EDGE));
    // SAFETY: the kernel writes `float` elements within an image that has at least as many rows and
    // columns.
    unsafe {
        kernels::paint_gradient.unchecked().launch(config, stream, (image, width, height, step_x, step_y))
    }
}

/// Returns the detail of a texture or surface that is not possible, and the alternative.
fn texture(asked: &str, instead: &str) -> Detail {
    Detail::new(ErrorKind::Argument, format!("there is no {asked}; {instead}"))
}
