//! Kernels that hold their stream until the host opens a flag. Tests use them instead of sleeps.
//!
//! A gate that nobody opens holds its stream forever, and also every thread that waits for the stream. A
//! kernel that is launched for the first time while a gate is closed may wait for the gate: see
//! [`Kernel::load`](cuda_safe::launch::Kernel::load).
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

use cuda_safe::launch::{KernelOutput, LaunchConfig};
use cuda_safe::stream::AsStream;
use cuda_safe::{MappedFlag, Result};

use crate::{check, kernels};

/// Holds the stream until the flag is no longer zero.
///
/// # Errors
/// The launch fails.
#[track_caller]
pub fn gate(flag: &MappedFlag, stream: &impl AsStream) -> Result<()> {
    // SAFETY: the kernel only reads the flag. The tracker delays freeing the flag until the kernel has
    // ended.
    unsafe { kernels::gate.unchecked().launch(LaunchConfig::new(1, 1), stream, (flag,)) }
}

/// Sets `started` to one when it begins to run, then holds the stream as [`gate`] does.
///
/// # Errors
/// The launch fails.
#[track_caller]
pub fn gate_announced(started: &MappedFlag, flag: &MappedFlag, stream: &impl AsStream) -> Result<()> {
    // SAFETY: the kernel accesses only the flags. The tracker delays freeing them until the kernel has
    // ended.
    unsafe { kernels::gate_announced.unchecked().launch(LaunchConfig::new(1, 1), stream, (started, flag)) }
}

/// Holds the stream as [`gate`] does, then sets every element of `out`.
///
/// # Errors
/// The memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn gate_then_write(
    flag: &MappedFlag,
    out: impl KernelOutput<u32>,
    value: u32,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "gate_then_write";
    let needed = out.elements();
    check::output(API, "out", &out, needed, stream)?;
    let count = check::grid(API, needed)?.map_or(0, |(count, _)| count);
    // SAFETY: the kernel reads the flag and writes the first `count` elements. The memory has as many, on
    // the stream's device.
    unsafe {
        kernels::gate_then_write.unchecked().launch(
            LaunchConfig::new(1, 1),
            stream,
            (flag, out, value, count),
        )
    }
}

/// Sets a flag from the stream: for the host, or for a gate on another stream.
///
/// # Errors
/// The launch fails.
#[track_caller]
pub fn raise_flag(flag: &MappedFlag, value: u32, stream: &impl AsStream) -> Result<()> {
    // SAFETY: the kernel only writes the flag, which is an atomic and lives until the kernel has ended.
    unsafe { kernels::raise_flag.unchecked().launch(LaunchConfig::new(1, 1), stream, (flag, value)) }
}
