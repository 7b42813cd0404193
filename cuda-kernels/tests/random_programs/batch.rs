//! Batches of copies between parts of buffers.

use std::ops::Range;

use cuda_safe::Result;
use cuda_safe::copy::{AsyncDestination, AsyncSource, CopyBatch};
use cuda_safe::memory::{MemoryType, SliceMut, SourceOf};
use cuda_safe::stream::StreamRef;

use super::program::Part;

/// The destination of a copy.
type Target<'a> = Box<dyn AsyncDestination<Element = u8> + 'a>;

/// The source of a copy.
type Source<'a> = Box<dyn AsyncSource<Element = u8> + 'a>;

/// Bytes that no copy of the batch writes.
trait Rest {
    fn part(&self, bytes: Range<usize>) -> Result<Source<'_>>;
}

impl<M: MemoryType + SourceOf<u8>> Rest for SliceMut<'_, u8, M> {
    fn part(&self, bytes: Range<usize>) -> Result<Source<'_>> {
        Ok(Box::new(self.slice(bytes)?))
    }
}

/// A buffer, split at the ranges that copies write.
#[derive(Default)]
pub(crate) struct Cut<'a> {
    /// The destinations, with the indices of their copies.
    targets: Vec<(usize, Target<'a>)>,
    /// The other parts, with the offset of the first byte of each, in order.
    rest: Vec<(usize, Box<dyn Rest + 'a>)>,
}

impl<'a> Cut<'a> {
    /// Splits a buffer at the ranges that these copies write.
    pub(crate) fn new<M: MemoryType + SourceOf<u8>>(
        buffer: SliceMut<'a, u8, M>,
        mut written: Vec<(usize, Range<usize>)>,
    ) -> Result<Self> {
        written.sort_unstable_by_key(|(_, bytes)| bytes.start);
        let (mut cut, mut at, mut left) = (Self::default(), 0, buffer);
        for (copy, bytes) in written {
            let (before, behind) = left.split_at_mut(bytes.start - at)?;
            let (target, behind) = behind.split_at_mut(bytes.len())?;
            cut.rest.push((at, Box::new(before)));
            cut.targets.push((copy, Box::new(target)));
            (at, left) = (bytes.end, behind);
        }
        cut.rest.push((at, Box::new(left)));
        Ok(cut)
    }

    /// Returns a source in the bytes that no copy writes.
    fn source(&self, bytes: Range<usize>) -> Result<Source<'_>> {
        let next = self.rest.partition_point(|(first, _)| *first <= bytes.start);
        let (first, rest) = &self.rest[next - 1];
        rest.part(bytes.start - first..bytes.end - first)
    }
}

/// Submits one batch of all copies to each of the streams.
pub(crate) fn enqueue(
    mut buffers: Vec<Cut<'_>>,
    pairs: &[(Part, Part)],
    streams: &[StreamRef<'_>],
) -> Result<()> {
    let mut targets: Vec<_> = buffers.iter_mut().flat_map(|cut| cut.targets.drain(..)).collect();
    targets.sort_unstable_by_key(|(copy, _)| *copy);
    let source = |(_, from): &(Part, Part)| buffers[from.buffer].source(from.along(0));
    let sources: Vec<Source<'_>> = pairs.iter().map(source).collect::<Result<_>>()?;
    let mut batch = CopyBatch::new();
    for ((_, target), source) in targets.iter_mut().zip(&sources) {
        batch = batch.copy(&mut **target, &**source);
    }
    streams.iter().try_for_each(|stream| batch.enqueue(stream))
}
