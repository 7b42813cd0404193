//! The parameter of the kernels: which bytes go where, by value.
#![expect(unsafe_code, reason = "launches kernels with what they take by value")]

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::{null, null_mut};

use cuda_safe::error::Detail;
use cuda_safe::hazard::Access;
use cuda_safe::launch::{ByValue, Kernel, LaunchConfig};
use cuda_safe::stream::{PreparedAccesses, StreamRef};
use cuda_safe::{Error, Result};

use super::{API, LARGE, SMALL};
use crate::kernels::{self, CopyManyLarge, CopyManyRange, CopyManySmall};

/// Blocks beyond which the kernel's loop does the rest: enough to keep any device busy.
const BLOCKS: u32 = 4096;

/// Bytes of a chunk, and the alignment of the destination from which on chunks are counted.
const CHUNK: usize = kernels::COPY_MANY_CHUNK as usize;
const ALIGN: usize = kernels::COPY_MANY_ALIGN as usize;

/// The ranges of one launch, as the kernels take them.
#[derive(Debug)]
pub(super) enum Table {
    Small(Box<Rows<SMALL>>),
    Large(Box<Rows<LARGE>>),
}

impl Table {
    /// A table of at most [`LARGE`] ranges.
    #[inline]
    #[track_caller]
    pub(super) fn new(ranges: &[CopyManyRange]) -> Result<Self> {
        if ranges.len() > SMALL {
            Ok(Self::Large(Box::new(Rows::new(ranges)?)))
        } else {
            Ok(Self::Small(Box::new(Rows::new(ranges)?)))
        }
    }

    /// The ranges.
    #[inline]
    pub(super) fn ranges(&self) -> &[CopyManyRange] {
        match self {
            Self::Small(rows) => rows.filled(),
            Self::Large(rows) => rows.filled(),
        }
    }

    /// Launches the kernel, unless there are no ranges. The accesses may have been `prepared`.
    ///
    /// # Safety
    /// No destination overlaps another one or a source, the stream's device reaches all of them, and the accesses are theirs.
    #[inline]
    #[track_caller]
    pub(super) unsafe fn launch(
        &self,
        prepared: Option<&PreparedAccesses>,
        accesses: &[Access<'_>],
        stream: StreamRef<'_>,
    ) -> Result<()> {
        match self {
            // SAFETY: the caller's duties are just these.
            Self::Small(rows) => unsafe {
                rows.launch(&kernels::copy_many_small, prepared, accesses, stream)
            },
            // SAFETY: as above.
            Self::Large(rows) => unsafe {
                rows.launch(&kernels::copy_many_large, prepared, accesses, stream)
            },
        }
    }
}

/// What a kernel takes by value, and how much of that is filled.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Rows<const N: usize> {
    ranges: [CopyManyRange; N],
    /// The chunks of each range end here.
    ends: [u32; N],
    count: u32,
    chunks: u32,
}

// SAFETY: the addresses are numbers here: nothing is reached through them on the host.
unsafe impl<const N: usize> Send for Rows<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Rows<N> {}

impl<const N: usize> Rows<N> {
    #[inline]
    #[track_caller]
    fn new(ranges: &[CopyManyRange]) -> Result<Self> {
        let empty = CopyManyRange { from: null(), to: null_mut(), bytes: 0 };
        let mut rows = Self { ranges: [empty; N], ends: [0; N], count: 0, chunks: 0 };
        for ((range, place), end) in ranges.iter().zip(&mut rows.ranges).zip(&mut rows.ends) {
            let more = usize::try_from(range.bytes).ok().map(|bytes| chunks(range.to.addr(), bytes));
            let sum = more.and_then(|more| rows.chunks.checked_add(u32::try_from(more).ok()?));
            let Some(sum) = sum else {
                let limit = u64::from(u32::MAX) * u64::from(kernels::COPY_MANY_CHUNK);
                let detail =
                    Detail::Limit { what: "the number of bytes of one launch", asked: range.bytes, limit };
                return Err(Error::refused(API, detail));
            };
            (*place, *end, rows.chunks) = (*range, sum, sum);
            rows.count += 1;
        }
        Ok(rows)
    }

    #[inline]
    fn filled(&self) -> &[CopyManyRange] {
        let count = usize::try_from(self.count).unwrap_or(N);
        self.ranges.get(..count).unwrap_or_default()
    }

    /// Launches a kernel by a grid with a block for each chunk, up to as many as keep a device busy.
    ///
    /// # Safety
    /// The duties of [`Table::launch`].
    #[inline]
    #[track_caller]
    unsafe fn launch<K: ByValue>(
        &self,
        kernel: &Kernel<(K, u32)>,
        prepared: Option<&PreparedAccesses>,
        accesses: &[Access<'_>],
        stream: StreamRef<'_>,
    ) -> Result<()> {
        // The kernel takes what this begins with.
        const { assert!(size_of::<K>() == offset_of!(Self, count) && align_of::<K>() <= align_of::<Self>()) };
        if self.count == 0 {
            return Ok(());
        }
        let config = LaunchConfig::new(self.chunks.min(BLOCKS), kernels::COPY_MANY_THREADS);
        let (rows, count) = ((&raw const *self).cast_mut(), (&raw const self.count).cast_mut());
        let mut values: [*mut c_void; 2] = [rows.cast(), count.cast()];
        match prepared {
            // SAFETY: a value for each of the kernel's two parameters, which the runtime only reads. The rows are laid out as
            // the kernel's parameter, and their chunks are counted as the kernel does. The rest is the caller's duty.
            None => unsafe { kernel.launch_with(config, &stream, accesses, &mut values) },
            // SAFETY: as above.
            Some(prepared) => unsafe {
                kernel.launch_prepared(config, &stream, prepared, accesses, &mut values)
            },
        }
    }
}

/// How many chunks the kernel makes of bytes for this address: those before the destination is aligned go with the first.
#[inline]
fn chunks(to: usize, bytes: usize) -> usize {
    if bytes <= CHUNK {
        return 1;
    }
    let head = to.wrapping_neg() % ALIGN;
    bytes.saturating_sub(head).div_ceil(CHUNK)
}

// Both parts of the rows are where the kernels have them.
const _: () = assert!(offset_of!(Rows<SMALL>, ranges) == offset_of!(CopyManySmall, ranges));
const _: () = assert!(offset_of!(Rows<SMALL>, ends) == offset_of!(CopyManySmall, ends));
const _: () = assert!(offset_of!(Rows<LARGE>, ranges) == offset_of!(CopyManyLarge, ranges));
const _: () = assert!(offset_of!(Rows<LARGE>, ends) == offset_of!(CopyManyLarge, ends));

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
