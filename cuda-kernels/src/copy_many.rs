//! Many copies by one kernel, within a device or between it and pinned memory.
//!
//! The runtime takes some 4 µs to submit each copy between two places of a device, one by one or in a batch. A kernel that
//! moves all of them costs one launch. Small copies from and to pinned memory are faster by a kernel, too: on an H200 64 copies of
//! 4 KiB take 15 µs, and 30 to 90 by one call of the runtime (`CopyBatch` of `cuda-safe`). From some 64 KiB each on there is no
//! difference, but that those of a batch are done by the copy engines, and leave the multiprocessors to other work.
//!
//! What to copy goes to the kernel by value, as its parameter: nothing is allocated on the device, nothing is copied
//! there first, and nothing has to live until the kernel has run. A launch takes up to 128 ranges, or 1024 where the
//! driver takes larger parameters (CUDA 12.1); more ranges are more launches.
//!
//! Blocks copy 16 bytes at a time where source and destination lie alike to 16 bytes, else 8, 4, 2, or single bytes.
//!
//! A program copies between the same places again and again. So a thread keeps the tables of its last calls: what is copied again is only
//! compared with them, and the tracker need not be told of it anew.

mod any;
mod kept;
mod noted;
mod table;
mod usual;

use std::ops::Range;

use cuda_safe::Result;
use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::hazard::Access;
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::stream::{AsStream, StreamRef};

use self::any::any;
use self::kept::Kept;
use self::usual::Usual;
use crate::kernels;

const API: &str = "copy_many";

/// Ranges of either table.
const SMALL: usize = kernels::COPY_MANY_SMALL as usize;
const LARGE: usize = kernels::COPY_MANY_LARGE as usize;

/// So many pairs cost no less where they are compared with those of the last calls.
const FEW: usize = 2;

/// Copies each source to its destination, all of them by one kernel.
///
/// The pairs are of any number, each of any length and alignment; either side is what a kernel can reach: device memory,
/// pinned memory, or a part of these. Pairs without elements are left out; without any other, nothing is launched. The
/// copies are not ordered among themselves. What the pairs borrow, they borrow only for the call.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before. Returns when the launch is
/// queued.
///
/// # Errors
/// A pair whose lengths differ, memory of another device than the stream's, a destination that shares a byte with another
/// destination or with any source: nothing is launched then. Otherwise what a launch reports; with more than 1024 pairs,
/// earlier launches may have been made.
///
/// # Examples
/// ```
/// use cuda_kernels::copy_many;
/// use cuda_safe::{DeviceBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let rows = DeviceBuffer::from_slice(&[1_u16, 2, 3, 4, 5, 6])?;
/// let mut last = DeviceBuffer::<u16>::alloc(1)?;
/// let mut first = DeviceBuffer::<u16>::alloc(2)?;
/// copy_many([(last.slice_mut(..)?, rows.slice(5..)?), (first.slice_mut(..)?, rows.slice(..2)?)], &stream)?;
/// assert_eq!((last.to_vec()?, first.to_vec()?), (vec![6], vec![1, 2]));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn copy_many<T, D, S>(pairs: impl IntoIterator<Item = (D, S)>, stream: &impl AsStream) -> Result<()>
where
    T: AnyBitPattern + NoUninit,
    D: KernelOutput<T>,
    S: KernelInput<T>,
{
    // What the books are told borrows the pairs.
    let pairs: Vec<(D, S)> = pairs.into_iter().collect();
    let stream = stream.as_stream();
    if pairs.len() <= FEW {
        return anew(&pairs, stream, None);
    }
    let mut kept = Kept::take();
    let answer = match kept.again(&pairs, stream) {
        Some(answer) => answer,
        None => anew(&pairs, stream, Some(&mut kept)),
    };
    kept.put_back();
    answer
}

/// Copies pairs that are not those of the last calls, which what is `kept` of is to remember them.
#[inline(never)]
#[track_caller]
fn anew<T, D, S>(pairs: &[(D, S)], stream: StreamRef<'_>, kept: Option<&mut Kept>) -> Result<()>
where
    T: AnyBitPattern + NoUninit,
    D: KernelOutput<T>,
    S: KernelInput<T>,
{
    let mut usual = Usual::new();
    if !usual.take(pairs, stream.device()) {
        return any(pairs, stream);
    }
    usual.launch(stream)?;
    // The device is at it already.
    if let Some(kept) = kept {
        kept.keep(usual.table());
    }
    Ok(())
}

/// So many addresses from one on.
#[inline]
fn range(start: usize, bytes: usize) -> Range<usize> {
    start..start.saturating_add(bytes)
}

/// Whether what the first copy reads comes before what it writes, in the order of the books.
#[inline]
fn reads_first(write: Option<&Access<'_>>, read: Option<&Access<'_>>) -> bool {
    matches!((write, read), (Some(write), Some(read)) if read.is_before(write))
}
