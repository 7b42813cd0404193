//! The parameter of the kernels: the list of copies, by value.
#![expect(unsafe_code, reason = "launches kernels with parameters that they take by value")]

use std::ffi::c_void;
use std::mem::offset_of;

use cuda_safe::error::Detail;
use cuda_safe::hazard::Access;
use cuda_safe::launch::{ByValue, Kernel, LaunchConfig};
use cuda_safe::stream::StreamRef;
use cuda_safe::{Error, Result};

use crate::kernels::{self, CopyManyLarge, CopyManyRange, CopyManySmall};

/// The function, as errors name it.
pub(super) const API: &str = "copy_many";

/// The number of ranges of either table.
pub(super) const SMALL: usize = kernels::COPY_MANY_SMALL as usize;
pub(super) const LARGE: usize = kernels::COPY_MANY_LARGE as usize;

/// The maximum number of blocks, enough to keep any device busy. The kernel's loop covers the rest.
const BLOCKS: u32 = 4096;

/// The bytes of a chunk, and the destination alignment at which the chunks of a range start.
const CHUNK: usize = kernels::COPY_MANY_CHUNK as usize;
const ALIGN: usize = kernels::COPY_MANY_ALIGN as usize;

/// One copy: two addresses and a number of bytes. Nothing is accessed through this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) to: usize,
    pub(super) from: usize,
    pub(super) bytes: usize,
}

/// The ranges of one launch.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) ranges: Vec<Range>,
    /// A [`CopyManySmall`] or a [`CopyManyLarge`]: three words for each range, then an end of 32 bits for
    /// each.
    words: Box<[u64]>,
    chunks: u32,
}

impl Table {
    /// Makes a table of 1 to [`LARGE`] ranges.
    #[track_caller]
    pub(super) fn new(ranges: &[Range]) -> Result<Self> {
        let room = if ranges.len() > SMALL { LARGE } else { SMALL };
        let (mut words, mut chunks) = (vec![0_u64; 3 * room + room / 2].into_boxed_slice(), 0_u32);
        let (places, ends) = words.split_at_mut(3 * room);
        for (index, (range, place)) in ranges.iter().zip(places.as_chunks_mut::<3>().0).enumerate() {
            let more = u32::try_from(count_chunks(range.to, range.bytes)).ok();
            let Some(sum) = more.and_then(|more| chunks.checked_add(more)) else {
                let asked = u64::try_from(range.bytes).unwrap_or(u64::MAX);
                let limit = u64::from(u32::MAX) * u64::from(kernels::COPY_MANY_CHUNK);
                let detail = Detail::limit("the number of bytes of one launch", asked, limit);
                return Err(Error::refused(API, detail));
            };
            *place = [range.from, range.to, range.bytes].map(|word| word as u64);
            // Two ends for each word, the first in the low half: all hosts that CUDA supports are
            // little-endian.
            if let Some(end) = ends.get_mut(index / 2) {
                *end |= u64::from(sum) << (32 * (index % 2));
            }
            chunks = sum;
        }
        Ok(Self { ranges: ranges.to_vec(), words, chunks })
    }

    /// Launches the kernel.
    ///
    /// # Safety
    /// - No destination overlaps another destination or a source.
    /// - The stream's device can access all of the memory.
    /// - The accesses are those of the ranges.
    #[track_caller]
    pub(super) unsafe fn launch(&self, accesses: &[Access<'_>], stream: StreamRef<'_>) -> Result<()> {
        if self.ranges.len() > SMALL {
            // SAFETY: the words are a large table; the rest is the caller's duty.
            unsafe { self.launch_as(&kernels::copy_many_large, accesses, stream) }
        } else {
            // SAFETY: the words are a small table; the rest is the caller's duty.
            unsafe { self.launch_as(&kernels::copy_many_small, accesses, stream) }
        }
    }

    /// Launches this kernel on a grid with one block for each chunk, up to as many as keep a device busy.
    ///
    /// # Safety
    /// - The duties of [`launch`](Self::launch).
    /// - The words are a `K`.
    #[track_caller]
    unsafe fn launch_as<K: ByValue>(
        &self,
        kernel: &Kernel<(K, u32)>,
        accesses: &[Access<'_>],
        stream: StreamRef<'_>,
    ) -> Result<()> {
        let mut count = u32::try_from(self.ranges.len()).unwrap_or(0);
        let config = LaunchConfig::new(self.chunks.min(BLOCKS), kernels::COPY_MANY_THREADS);
        let mut values: [*mut c_void; 2] = [self.words.as_ptr().cast_mut().cast(), (&raw mut count).cast()];
        // SAFETY: there is a value for each of the kernel's two parameters, and the runtime only reads the
        // values. The chunks are counted as the kernel counts them. The rest is the caller's duty.
        unsafe { kernel.launch_raw(config, &stream, accesses, &mut values) }
    }
}

/// Returns the number of chunks that the kernel makes of `bytes` bytes at this address. The bytes before
/// the first aligned destination address belong to the first chunk.
fn count_chunks(to: usize, bytes: usize) -> usize {
    if bytes <= CHUNK {
        return 1;
    }
    let head = to.wrapping_neg() % ALIGN;
    bytes.saturating_sub(head).div_ceil(CHUNK)
}

// The words of a table have the kernels' layout only on such targets.
const _: () = assert!(cfg!(all(target_endian = "little", target_pointer_width = "64")));
const _: () = assert!(offset_of!(CopyManyRange, from) == 0 && offset_of!(CopyManyRange, to) == 8);
const _: () = assert!(offset_of!(CopyManyRange, bytes) == 16 && size_of::<CopyManyRange>() == 24);
const _: () =
    assert!(offset_of!(CopyManySmall, ranges) == 0 && offset_of!(CopyManySmall, ends) == 24 * SMALL);
const _: () =
    assert!(offset_of!(CopyManyLarge, ranges) == 0 && offset_of!(CopyManyLarge, ends) == 24 * LARGE);

#[cfg(test)]
mod tests {
    use super::{CHUNK, count_chunks};

    #[test]
    fn chunks_are_counted_from_where_the_destination_is_aligned() {
        assert_eq!([1, CHUNK, CHUNK + 1].map(|bytes| count_chunks(0, bytes)), [1, 1, 2]);
        assert_eq!([1, 15, 16, CHUNK + 15, CHUNK + 16].map(|bytes| count_chunks(1, bytes)), [1, 1, 1, 1, 2]);
    }
}
