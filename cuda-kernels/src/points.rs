//! Kernels over an array of structs.
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

use cuda_safe::Result;
use cuda_safe::launch::KernelOutput;
use cuda_safe::stream::AsStream;

use crate::{Point, check, kernels};

/// Scales and moves every point in place: each coordinate becomes `coordinate * scale + offset`.
///
/// # Errors
/// The memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn transform_points(
    points: impl KernelOutput<Point>,
    scale: Point,
    offset: Point,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "transform_points";
    let needed = points.elements();
    check::output(API, "points", &points, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    // SAFETY: the kernel touches the first `count` points. The memory has as many, on the stream's
    // device.
    unsafe { kernels::transform_points.unchecked().launch(config, stream, (points, scale, offset, count)) }
}
