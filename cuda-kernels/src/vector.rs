//! Element-wise kernels over vectors, with one thread for each element.
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

use cuda_safe::Result;
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::stream::AsStream;

use crate::{check, kernels};

/// Adds two vectors: `sum[i] = a[i] + b[i]`.
///
/// # Errors
/// The lengths differ, memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn vector_add(
    a: impl KernelInput<f32>,
    b: impl KernelInput<f32>,
    sum: impl KernelOutput<f32>,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "vector_add";
    let needed = sum.elements();
    check::input(API, "a", &a, needed, stream)?;
    check::input(API, "b", &b, needed, stream)?;
    check::output(API, "sum", &sum, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    // SAFETY: the kernel touches the first `count` elements of each, and each has as many, on the
    // stream's device.
    unsafe { kernels::vector_add.unchecked().launch(config, stream, (a, b, sum, count)) }
}

/// Scales and shifts in place: `data[i] = data[i] * scale + offset`, rounded once.
///
/// # Errors
/// The memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn scale_offset(
    data: impl KernelOutput<f32>,
    scale: f32,
    offset: f32,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "scale_offset";
    let needed = data.elements();
    check::output(API, "data", &data, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    // SAFETY: the kernel touches the first `count` elements. The memory has as many, on the stream's
    // device.
    unsafe { kernels::scale_offset.unchecked().launch(config, stream, (data, scale, offset, count)) }
}

/// Adds one to every element in place; the largest number becomes the smallest.
///
/// # Errors
/// The memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn add_one(data: impl KernelOutput<i32>, stream: &impl AsStream) -> Result<()> {
    const API: &str = "add_one";
    let needed = data.elements();
    check::output(API, "data", &data, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    // SAFETY: the kernel touches the first `count` elements. The memory has as many, on the stream's
    // device.
    unsafe { kernels::add_one.unchecked().launch(config, stream, (data, count)) }
}

/// Doubles every element in place.
///
/// # Errors
/// The memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn double_values(data: impl KernelOutput<i32>, stream: &impl AsStream) -> Result<()> {
    const API: &str = "double_values";
    let needed = data.elements();
    check::output(API, "data", &data, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    // SAFETY: the kernel touches the first `count` elements. The memory has as many, on the stream's
    // device.
    unsafe { kernels::double_values.unchecked().launch(config, stream, (data, count)) }
}

/// Squares every element: `squares[i] = numbers[i] * numbers[i]`.
///
/// # Errors
/// The lengths differ, memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn square(
    numbers: impl KernelInput<i32>,
    squares: impl KernelOutput<i32>,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "square";
    let needed = squares.elements();
    check::input(API, "numbers", &numbers, needed, stream)?;
    check::output(API, "squares", &squares, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    // SAFETY: the kernel touches the first `count` elements of each, and each has as many, on the
    // stream's device.
    unsafe { kernels::square.unchecked().launch(config, stream, (numbers, squares, count)) }
}

/// Copies element by element with a kernel. Either side may be any memory that the device can access, for
/// example mapped host memory.
///
/// # Errors
/// The lengths differ, memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn copy_values(
    from: impl KernelInput<f32>,
    to: impl KernelOutput<f32>,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "copy_values";
    let needed = to.elements();
    check::input(API, "from", &from, needed, stream)?;
    check::output(API, "to", &to, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    // SAFETY: the kernel touches the first `count` elements of each, and each has as many, on the
    // stream's device.
    unsafe { kernels::copy_values.unchecked().launch(config, stream, (from, to, count)) }
}
