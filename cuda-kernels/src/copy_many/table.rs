//! What the kernels are told: which bytes go where, by value. It is written once, where the launch takes it from.
#![expect(unsafe_code, reason = "launches kernels with what they take by value")]

use std::ffi::c_void;
use std::iter::Zip;
use std::mem::{MaybeUninit, offset_of};
use std::slice;

use cuda_safe::hazard::{Access, Repeat};
use cuda_safe::launch::{ByValue, Kernel, LaunchConfig};
use cuda_safe::stream::StreamRef;
use cuda_safe::{Result, check};

use super::{LARGE, SMALL};
use crate::kernels::{self, CopyManyLarge, CopyManyRange, CopyManySmall};

/// Blocks beyond which the kernel's loop does the rest: enough to keep any device busy.
const BLOCKS: u32 = 4096;

/// Bytes of a chunk, and where the destination is aligned from the first one on.
const CHUNK: usize = kernels::COPY_MANY_CHUNK as usize;
const ALIGN: usize = kernels::COPY_MANY_ALIGN as usize;

/// How many chunks the kernel makes of bytes for this address: those before the destination is aligned go with the first.
#[inline]
fn chunks(to: usize, bytes: usize) -> usize {
    if bytes <= CHUNK {
        return 1;
    }
    let head = to.wrapping_neg() % ALIGN;
    bytes.saturating_sub(head).div_ceil(CHUNK)
}

/// A table as the kernels take it, of which only what is needed is written, and how much that is.
#[repr(C)]
pub(super) struct Table<const N: usize> {
    ranges: [MaybeUninit<CopyManyRange>; N],
    ends: [MaybeUninit<u32>; N],
    count: u32,
    chunks: u32,
}

impl<const N: usize> Table<N> {
    /// A table without ranges.
    #[inline]
    pub(super) fn new() -> Self {
        let (ranges, ends) = ([const { MaybeUninit::uninit() }; N], [const { MaybeUninit::uninit() }; N]);
        Self { ranges, ends, count: 0, chunks: 0 }
    }

    /// Whether it has no ranges.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The rows of the table, to be filled from the first one on.
    #[inline]
    pub(super) fn rows(&mut self) -> Rows<'_> {
        let places = self.ranges.iter_mut().zip(&mut self.ends);
        Rows { places, count: 0, chunks: 0, told: (&mut self.count, &mut self.chunks) }
    }

    /// The rows that it has.
    #[inline]
    pub(super) fn filled(&self) -> &[CopyManyRange] {
        let count = usize::try_from(self.count).unwrap_or(0);
        // SAFETY: so many rows were written, one place after the other.
        unsafe { slice::from_raw_parts(self.ranges.as_ptr().cast(), count) }
    }

    /// Becomes the same as another one.
    pub(super) fn copy(&mut self, other: &Self) {
        let count = usize::try_from(other.count).unwrap_or(0);
        for (to, from) in self.ranges.iter_mut().zip(&other.ranges).take(count) {
            *to = *from;
        }
        for (to, from) in self.ends.iter_mut().zip(&other.ends).take(count) {
            *to = *from;
        }
        (self.count, self.chunks) = (other.count, other.chunks);
    }

    /// [`launch`](Self::launch) where the tracker knows the accesses by their series. None, with nothing done, where it does not.
    ///
    /// # Safety
    /// As `launch`, and as [`StreamRef::enqueue_repeated`]: the accesses are those of the series.
    #[inline]
    #[track_caller]
    pub(super) unsafe fn launch_repeated<P: ByValue>(
        &mut self,
        kernel: &Kernel<(P, u32)>,
        repeats: &[Repeat<'_, '_>],
        stream: StreamRef<'_>,
    ) -> Option<Result<()>> {
        const { Self::is_what_it_takes::<P>() };
        let LaunchConfig { grid, block, shared_bytes } = self.shape();
        let mut count = self.count;
        let mut values: [*mut c_void; 2] = [(&raw mut *self).cast(), (&raw mut count).cast()];
        let values = values.as_mut_ptr();
        let call = |raw| {
            // SAFETY: as in `launch`; the stub is a kernel's, and the stream is live.
            unsafe {
                check!(cudaLaunchKernel(
                    kernel.as_raw(),
                    grid.into(),
                    block.into(),
                    values,
                    shared_bytes,
                    raw
                ))
            }
        };
        // SAFETY: the caller's duties are those of the call, which puts one launch on the stream.
        unsafe { stream.enqueue_repeated(repeats, call) }
    }

    /// What the kernel takes is what this begins with.
    const fn is_what_it_takes<P>() {
        assert!(size_of::<P>() == offset_of!(Self, count) && align_of::<P>() <= align_of::<Self>());
    }

    /// A block for each chunk, up to as many as keep a device busy.
    #[inline]
    fn shape(&self) -> LaunchConfig {
        LaunchConfig::new(self.chunks.min(BLOCKS), kernels::COPY_MANY_THREADS)
    }

    /// Launches a kernel with the table, by a grid with a block for each chunk, up to as many as keep a device busy.
    ///
    /// # Safety
    /// There are ranges: memory that the device of the stream reaches, of which no destination overlaps another one or a source. The
    /// accesses are those of all of it.
    #[inline]
    #[track_caller]
    pub(super) unsafe fn launch<P: ByValue>(
        &mut self,
        kernel: &Kernel<(P, u32)>,
        accesses: &[Access<'_>],
        stream: StreamRef<'_>,
    ) -> Result<()> {
        const { Self::is_what_it_takes::<P>() };
        let mut count = self.count;
        let mut values: [*mut c_void; 2] = [(&raw mut *self).cast(), (&raw mut count).cast()];
        // SAFETY: a value for each of the kernel's two parameters. The table is laid out as the kernel's, of which only the first
        // `count` places are looked at, and these were written; the chunks are counted as the kernel does. The rest is the caller's
        // duty.
        unsafe { kernel.launch_with(self.shape(), &stream, accesses, &mut values) }
    }
}

/// The rows of a table that is being filled.
pub(super) struct Rows<'t> {
    places: Zip<slice::IterMut<'t, MaybeUninit<CopyManyRange>>, slice::IterMut<'t, MaybeUninit<u32>>>,
    count: u32,
    chunks: u32,
    told: (&'t mut u32, &'t mut u32),
}

impl Rows<'_> {
    /// Adds a range. Says no where there is no room, or there are more chunks than the kernel counts.
    #[inline]
    pub(super) fn push(&mut self, to: *mut u8, from: *const u8, bytes: usize) -> bool {
        let more = u32::try_from(chunks(to.addr(), bytes));
        let sum = more.ok().and_then(|more| self.chunks.checked_add(more));
        let (Some(chunks), Ok(length)) = (sum, u64::try_from(bytes)) else { return false };
        let Some((range, end)) = self.places.next() else { return false };
        range.write(CopyManyRange { from, to, bytes: length });
        end.write(chunks);
        self.chunks = chunks;
        self.count += 1;
        true
    }

    /// Tells the table what it has.
    #[inline]
    pub(super) fn end(self) {
        *self.told.0 = self.count;
        *self.told.1 = self.chunks;
    }
}

// Both parts of the tables are where the kernels have them.
const _: () = assert!(offset_of!(Table<SMALL>, ranges) == offset_of!(CopyManySmall, ranges));
const _: () = assert!(offset_of!(Table<SMALL>, ends) == offset_of!(CopyManySmall, ends));
const _: () = assert!(offset_of!(Table<LARGE>, ranges) == offset_of!(CopyManyLarge, ranges));
const _: () = assert!(offset_of!(Table<LARGE>, ends) == offset_of!(CopyManyLarge, ends));

#[cfg(test)]
mod tests {
    use super::{CHUNK, chunks};

    #[test]
    fn chunks_are_counted_from_where_the_destination_is_aligned() {
        assert_eq!((chunks(0, 1), chunks(0, CHUNK), chunks(0, CHUNK + 1)), (1, 1, 2));
        assert_eq!((chunks(1, 1), chunks(1, 15), chunks(1, 16)), (1, 1, 1));
        assert_eq!((chunks(1, CHUNK + 15), chunks(1, CHUNK + 16)), (1, 2));
    }
}
