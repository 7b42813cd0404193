//! Small copies from pinned memory, which hardware handles differently from CUDA's documents, and that
//! programs do not notice the difference.
//!
//! An H200 (driver 580) reads the source of such a copy during the call if the stream has no pending work,
//! whatever the legacy stream still has. A batch does not wait for a small fill of pinned memory right
//! before it. The streams are held by a host function that sleeps: long enough for a copy to come too
//! early, and no deadlock if calls wait for it.
//!
//! Not under initcheck: it does not see what batches write.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use cuda_safe::copy::{CopyBatch, CopyBatch3d};
use cuda_safe::graph::{Graph, node};
use cuda_safe::hazard;
use cuda_safe::memory::PitchedBuffer;
use cuda_safe::stream::{AsStream, LegacyStream, PerThreadStream, StreamRef};
use cuda_safe::{
    Device, DeviceBuffer, Event, PinnedBuffer, Registered, Result, Stream, memcpy_2d_async, memcpy_async,
    memset_async,
};
use cuda_testing::alone;

const LEN: usize = 96;

/// The count of added waits belongs to the process, and all tests share the legacy stream: they run one at
/// a time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Submits work that takes some time.
fn hold(stream: &impl AsStream) -> Result<()> {
    stream.as_stream().launch_host_fn(|| sleep(Duration::from_millis(20)))
}

/// All streams of a device that the legacy rule concerns.
struct Streams {
    legacy: LegacyStream,
    mine: PerThreadStream,
    one: Stream,
    other: Stream,
    scratch: DeviceBuffer<u8>,
}

impl Streams {
    fn new() -> Result<Self> {
        let device = Device::current()?;
        Ok(Self {
            legacy: LegacyStream::new(device)?,
            mine: PerThreadStream::new(device)?,
            one: Stream::builder().build()?,
            other: Stream::builder().build()?,
            scratch: DeviceBuffer::alloc(LEN)?,
        })
    }

    /// The legacy stream has work: work that follows it on blocking streams comes after all their earlier
    /// work.
    fn act(&mut self) -> Result<()> {
        memset_async(&mut self.scratch, 1, &self.legacy)
    }
}

/// Writes pinned memory on one stream and copies it on another one, ordered by the legacy stream alone.
/// Returns the result, and the number of waits that were added for the copy.
fn copied(
    write: &StreamRef<'_>,
    between: impl FnOnce() -> Result<()>,
    read: &StreamRef<'_>,
) -> Result<(Vec<u8>, u64)> {
    let mut pinned = PinnedBuffer::from_slice(&[0; LEN])?;
    let mut device = DeviceBuffer::<u8>::alloc(LEN)?;
    hold(write)?;
    memset_async(&mut pinned, 7, write)?;
    between()?;
    let before = hazard::added_waits();
    memcpy_async(&mut device, &pinned, read)?;
    let added = hazard::added_waits() - before;
    Ok((device.to_vec()?, added))
}

#[test]
fn a_copy_from_pinned_memory_comes_after_what_the_legacy_stream_implies() {
    let _alone = alone();
    let _turn = turn();
    let mut streams = Streams::new().unwrap();
    let right = (vec![7; LEN], 1);
    {
        let Streams { legacy, mine, one, other, scratch } = &mut streams;
        let mut act = || memset_async(scratch, 1, legacy);
        assert_eq!(copied(&one.as_stream(), &mut act, &other.as_stream()).unwrap(), right);
        assert_eq!(copied(&mine.as_stream(), &mut act, &other.as_stream()).unwrap(), right);
        assert_eq!(copied(&one.as_stream(), &mut act, &mine.as_stream()).unwrap(), right);
    }
    let Streams { legacy, mine, one, .. } = &streams;
    assert_eq!(copied(&legacy.as_stream(), || Ok(()), &one.as_stream()).unwrap(), right);
    assert_eq!(copied(&legacy.as_stream(), || Ok(()), &mine.as_stream()).unwrap(), right);
    assert_eq!(copied(&one.as_stream(), || Ok(()), &legacy.as_stream()).unwrap(), right);
    assert_eq!(copied(&mine.as_stream(), || Ok(()), &legacy.as_stream()).unwrap(), right);
}

#[test]
fn nothing_is_added_where_an_event_orders_or_the_stream_has_something_to_do() {
    let _alone = alone();
    let _turn = turn();
    let mut streams = Streams::new().unwrap();
    let mut busy = DeviceBuffer::<u8>::alloc(LEN).unwrap();
    let right = (vec![7; LEN], 0);
    let event = Event::new().unwrap();
    let Streams { legacy, one, other, scratch, .. } = &mut streams;
    let (one, other) = (one.as_stream(), other.as_stream());
    let by_event = || {
        event.record(&one)?;
        other.wait(&event)
    };
    assert_eq!(copied(&one, by_event, &other).unwrap(), right);
    let by_work = || {
        memset_async(scratch, 1, legacy)?;
        memset_async(&mut busy, 2, &other)
    };
    assert_eq!(copied(&one, by_work, &other).unwrap(), right);
    assert_eq!(copied(&one, || Ok(()), &one).unwrap(), right);
}

#[test]
fn the_same_goes_for_rows_batches_and_registered_memory() {
    let _alone = alone();
    let _turn = turn();
    let mut streams = Streams::new().unwrap();
    let mut registered = Registered::new(vec![0_u8; LEN]).unwrap();
    let mut row = PitchedBuffer::<u8>::alloc(LEN, 1).unwrap();
    let [mut by_copy, mut by_batch] = [(); 2].map(|()| DeviceBuffer::<u8>::alloc(LEN).unwrap());
    let mut by_batch3d = PitchedBuffer::<u8>::alloc(LEN, 1).unwrap();
    for way in 0..4 {
        streams.one.synchronize().unwrap();
        streams.other.synchronize().unwrap();
        memset_async(&mut registered, 0, &streams.one).unwrap();
        streams.one.synchronize().unwrap();
        hold(&streams.one).unwrap();
        memset_async(&mut registered, 7, &streams.one).unwrap();
        streams.act().unwrap();
        let other = &streams.other;
        let before = hazard::added_waits();
        let found = match way {
            0 => {
                memcpy_async(&mut by_copy, &registered, other).unwrap();
                by_copy.to_vec().unwrap()
            }
            1 => {
                let source = registered.as_slice().plane(LEN, 1).unwrap();
                memcpy_2d_async(&mut row, &source, other).unwrap();
                row.to_vec().unwrap()
            }
            2 => {
                CopyBatch::new().copy(&mut by_batch, &registered).enqueue(other).unwrap();
                by_batch.to_vec().unwrap()
            }
            _ => {
                let source = registered.as_slice().plane(LEN, 1).unwrap();
                CopyBatch3d::new().copy_2d(&mut by_batch3d, &source).enqueue(other).unwrap();
                by_batch3d.to_vec().unwrap()
            }
        };
        let added = hazard::added_waits() - before;
        assert_eq!((found, added), (vec![7; LEN], 1), "way {way}");
    }
}

#[test]
fn a_batch_comes_after_a_small_fill_of_pinned_memory_right_before_it() {
    let _alone = alone();
    let _turn = turn();
    let stream = Stream::non_blocking().unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[0_u8; LEN]).unwrap();
    let mut by_batch = DeviceBuffer::<u8>::alloc(LEN).unwrap();
    let mut by_batch3d = PitchedBuffer::<u8>::alloc(LEN, 1).unwrap();
    for value in 1..=4 {
        hold(&stream).unwrap();
        memset_async(&mut pinned, value, &stream).unwrap();
        CopyBatch::new().copy(&mut by_batch, &pinned).enqueue(&stream).unwrap();
        memset_async(&mut pinned, value + 100, &stream).unwrap();
        let row = pinned.plane(LEN, 1).unwrap();
        CopyBatch3d::new().copy_2d(&mut by_batch3d, &row).enqueue(&stream).unwrap();
        assert_eq!(by_batch.to_vec().unwrap(), [value; LEN]);
        assert_eq!(by_batch3d.to_vec().unwrap(), [value + 100; LEN]);
    }
}

#[test]
fn a_batch_comes_after_a_graph_that_ends_in_such_a_fill() {
    let _alone = alone();
    let _turn = turn();
    let mut stream = Stream::non_blocking().unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[0_u8; LEN]).unwrap();
    let mut device = DeviceBuffer::<u8>::alloc(LEN).unwrap();
    let mut described = Graph::new().unwrap();
    described.add(&[], node::memset(&mut pinned, 7)).unwrap();
    let captured = stream.capture(|stream| memset_async(&mut pinned, 8, stream)).unwrap();
    for (graph, value) in [(&described, 7), (&captured, 8)] {
        let mut graph = graph.instantiate().unwrap();
        hold(&stream).unwrap();
        graph.launch(&stream).unwrap();
        CopyBatch::new().copy(&mut device, &pinned).enqueue(&stream).unwrap();
        assert_eq!(device.to_vec().unwrap(), [value; LEN]);
    }
}

#[test]
fn a_batch_comes_after_such_a_graph_of_which_launches_may_skip_other_nodes() {
    let _alone = alone();
    let _turn = turn();
    let stream = Stream::non_blocking().unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[0_u8; LEN]).unwrap();
    let [mut device, mut other] = [(); 2].map(|()| DeviceBuffer::<u8>::alloc(LEN).unwrap());
    let mut described = Graph::new().unwrap();
    let ones = DeviceBuffer::from_slice(&[1_u8; LEN]).unwrap();
    let skipped = described.add(&[], node::memcpy(&mut other, &ones)).unwrap();
    described.add(&[skipped], node::memset(&mut pinned, 7)).unwrap();
    let mut graph = described.instantiate().unwrap();
    graph.set_enabled(&described, skipped, false).unwrap();
    // Which nodes launches skip is no longer known.
    graph.update(&described).unwrap();
    hold(&stream).unwrap();
    graph.launch(&stream).unwrap();
    CopyBatch::new().copy(&mut device, &pinned).enqueue(&stream).unwrap();
    assert_eq!(device.to_vec().unwrap(), [7; LEN]);
}
