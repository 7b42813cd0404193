//! Memory from the device heap, allocated and freed inside a kernel.
//!
//! The heap's size is a limit of the device (`Limit::MallocHeapSize`). Set it before the first kernel
//! that uses the heap.
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

use cuda_safe::Result;
use cuda_safe::launch::KernelOutput;
use cuda_safe::stream::AsStream;

use crate::{check, kernels};

/// Computes `out[i] = i * i` in scratch memory that each block allocates from the heap.
///
/// `failures` is one element that must be zero before the launch. It counts the blocks that got no
/// memory. Their elements are unchanged.
///
/// # Errors
/// `failures` is not one element, the memory is on another device than the stream's, or the launch fails.
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
    // SAFETY: the kernel touches the first `count` elements, and there are as many. `failures` has the
    // one element that the kernel counts in. Scratch memory belongs to the kernel, one element for each
    // thread of a block.
    unsafe { kernels::heap_squares.unchecked().launch(config, stream, (out, count, failures)) }
}
