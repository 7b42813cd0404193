//! Memory from the device heap, taken and given back inside of a kernel.
//!
//! The heap's size is a limit of the device (`Limit::MallocHeapSize`), to be set before the first kernel that
//! uses it.
#![expect(unsafe_code, reason = "launches kernels after checking what they rely on")]

use cuda_safe::Result;
use cuda_safe::launch::KernelOutput;
use cuda_safe::stream::AsStream;

use crate::{check, kernels};

/// Computes `out[i] = i * i` by way of scratch memory that each block takes from the heap.
///
/// `failures`, one element that must be zero before, counts the blocks that got no memory; their elements are
/// left as they were.
///
/// # Errors
/// `failures` is not one element, memory of another device than the stream's, or what the launch reports.
#[track_caller]
pub fn heap_squares(
    out: impl KernelOutput<u32>,
    failures: impl KernelOutput<u32>,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "heap_squares";
    let needed = out.elements();
    check::output(API, "out", &out, needed, stream)?;
    check::output(API, "failures", &failures, 1, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    // SAFETY: the kernel touches the first `count` elements, and there are as many; `failures` has the one it
    // counts in; scratch memory is the kernel's own, one element for each thread of a block.
    unsafe { kernels::heap_squares.launch(config, stream, (out, count, failures)) }
}
