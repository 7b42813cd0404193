//! Host arrays of both kinds for a pipeline, and work with a known result.

use std::ops::Range;

use cuda_safe::copy::Pipeline;
use cuda_safe::copy::staged::{Settings, configure};
use cuda_safe::stream::StreamRef;
use cuda_safe::{DeviceBuffer, DeviceSlice, DeviceSliceMut, PinnedBuffer, Result, memcpy_async};

pub(crate) fn numbers(len: usize) -> Vec<u32> {
    (1..=u32::try_from(len).unwrap()).map(|n| n.wrapping_mul(2_654_435_761)).collect()
}

/// With staging for everything, and without.
pub(crate) fn both_ways(f: impl Fn()) {
    for enabled in [true, false] {
        configure(Settings {
            enabled,
            threshold: Some(1),
            threads: Some(3),
            chunk: Some(4096),
            pinned: 1 << 20,
        });
        f();
    }
}

/// Whether the input is pinned, and whether the output is.
pub(crate) const WAYS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// The same numbers in both kinds of memory, and room for as many results.
pub(crate) struct Arrays {
    pub(crate) source: Vec<u32>,
    pinned: PinnedBuffer<u32>,
    into: Vec<u32>,
    into_pinned: PinnedBuffer<u32>,
}

impl Arrays {
    pub(crate) fn of(len: usize) -> Self {
        let source = numbers(len);
        let pinned = PinnedBuffer::from_slice(&source).unwrap();
        let into_pinned = PinnedBuffer::from_slice(&vec![0; len]).unwrap();
        Self { source, pinned, into: vec![0; len], into_pinned }
    }

    pub(crate) fn run(
        &mut self,
        pipeline: &mut Pipeline<u32, u32>,
        way: (bool, bool),
        work: impl FnMut(StreamRef<'_>, DeviceSlice<'_, u32>, DeviceSliceMut<'_, u32>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        match way {
            (false, false) => pipeline.run(&mut self.into, &self.source, work),
            (false, true) => pipeline.run(&mut self.into_pinned, &self.source, work),
            (true, false) => pipeline.run(&mut self.into, &self.pinned, work),
            (true, true) => pipeline.run(&mut self.into_pinned, &self.pinned, work),
        }
    }

    /// Runs with the numbers in the output, pinned or not.
    pub(crate) fn run_in_place(
        &mut self,
        pipeline: &mut Pipeline<u32, u32>,
        pinned: bool,
        work: impl FnMut(StreamRef<'_>, DeviceSliceMut<'_, u32>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        if pinned {
            self.into_pinned.host_mut().unwrap().copy_from_slice(&self.source);
            return pipeline.run_in_place(&mut self.into_pinned, work);
        }
        self.into.copy_from_slice(&self.source);
        pipeline.run_in_place(&mut self.into, work)
    }

    /// Returns the contents of the output, and sets it to zeros. Does not wait: no work may be in flight.
    pub(crate) fn take(&mut self, way: (bool, bool)) -> Vec<u32> {
        let len = self.source.len();
        if way.1 {
            let mut host = self.into_pinned.host_mut().unwrap();
            let found = host.to_vec();
            host.fill(0);
            found
        } else {
            std::mem::replace(&mut self.into, vec![0; len])
        }
    }
}

/// Work in several steps: some within the output, and one that passes a number from chunk to chunk.
pub(crate) fn hand_on(
    carry: &mut DeviceBuffer<u32>,
    stream: StreamRef<'_>,
    input: DeviceSlice<'_, u32>,
    mut output: DeviceSliceMut<'_, u32>,
) -> Result<()> {
    memcpy_async(&mut output, &input, &stream)?;
    hand_on_in_place(carry, stream, output)
}

/// The same for a chunk that is its own output.
pub(crate) fn hand_on_in_place(
    carry: &mut DeviceBuffer<u32>,
    stream: StreamRef<'_>,
    mut chunk: DeviceSliceMut<'_, u32>,
) -> Result<()> {
    let len = chunk.len();
    let mut last = DeviceBuffer::alloc(1)?;
    memcpy_async(&mut last, &chunk.slice(len - 1..)?, &stream)?;
    let (head, mut tail) = chunk.reborrow().split_at_mut(len / 2)?;
    memcpy_async(&mut tail.slice_mut(..len / 2)?, &head.as_slice(), &stream)?;
    memcpy_async(&mut chunk.slice_mut(..1)?, carry, &stream)?;
    memcpy_async(carry, &last, &stream)
}

/// The result of these steps on the host, one after the other.
pub(crate) fn handed_on(source: &[u32], chunk: usize, mut carry: u32) -> Vec<u32> {
    let mut result = source.to_vec();
    for part in result.chunks_mut(chunk) {
        let last = part[part.len() - 1];
        let half = part.len() / 2;
        part.copy_within(..half, half);
        part[0] = std::mem::replace(&mut carry, last);
    }
    result
}
