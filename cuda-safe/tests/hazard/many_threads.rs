//! Threads that use the same memory on streams of every kind, each in its own random way. A buffer always
//! holds one value: the one that was written last while it was locked.
//!
//! The lock lends a buffer to one thread at a time. It is released as soon as an operation is enqueued, so
//! the tracker orders the work that is then pending. Graphs read the buffers without the lock.
//!
//! `MANY_THREADS_SEEDS` is the number of programs.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Mutex;

use cuda_safe::copy::CopyBatch;
use cuda_safe::graph::GraphExec;
use cuda_safe::stream::{AsStream, StreamRef};
use cuda_safe::{
    DeviceBuffer, Event, PinnedBuffer, Result, Stream, memcpy, memcpy_async, memset, memset_async,
};
use cuda_testing::schedules::in_all_schedules;
use cuda_testing::{alone, test_beside};

const THREADS: usize = 4;
const BUFFERS: usize = 3;
/// Large enough that a half-done fill is visible.
const BYTES: usize = 1 << 14;
const ROUNDS: usize = 120;

/// A buffer, and the value of each of its bytes once all enqueued work is complete.
struct Filled {
    buffer: DeviceBuffer<u8>,
    value: u8,
}

/// Random numbers, the same ones for a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn value(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }
}

/// The resources of one thread.
struct Mine {
    streams: Vec<Stream>,
    event: Event,
    pinned: PinnedBuffer<u8>,
    batched: PinnedBuffer<u8>,
    /// Copies each buffer to `seen`, as it was when the thread began.
    graphs: Vec<GraphExec>,
    seen: PinnedBuffer<u8>,
}

impl Mine {
    fn new(all: &[Mutex<Filled>]) -> Result<Self> {
        let mut seen = PinnedBuffer::alloc(BYTES)?;
        memset(&mut seen, 0)?;
        let mut graphs = Vec::new();
        for filled in all {
            let buffer = &filled.lock().unwrap().buffer;
            let graph = Stream::non_blocking()?.capture(|s| memcpy_async(&mut seen, buffer, s))?;
            graphs.push(graph.instantiate()?);
        }
        Ok(Self {
            streams: vec![Stream::non_blocking()?, Stream::non_blocking()?, Stream::new()?],
            event: Event::without_timing()?,
            pinned: PinnedBuffer::alloc(BYTES)?,
            batched: PinnedBuffer::alloc(BYTES)?,
            graphs,
            seen,
        })
    }
}

/// One of a thread's streams, the legacy one, or the per-thread one.
fn on_any<R>(streams: &[Stream], dice: &mut Dice, f: impl FnOnce(StreamRef<'_>) -> Result<R>) -> Result<R> {
    match dice.below(8) {
        0 => f(Stream::legacy()?.as_stream()),
        1 => f(Stream::per_thread()?.as_stream()),
        other => f(streams[other % streams.len()].as_stream()),
    }
}

fn holds(found: &[u8], value: u8, what: &str) {
    let wrong = found.iter().position(|byte| *byte != value);
    assert_eq!(wrong, None, "{what}: byte {} instead of {value}", found[wrong.unwrap_or(0)]);
}

/// One step of a thread.
fn step(all: &[Mutex<Filled>], mine: &mut Mine, dice: &mut Dice) -> Result<()> {
    let Mine { streams, event, pinned, batched, graphs, seen } = mine;
    let (kind, at) = (dice.below(12), dice.below(BUFFERS));
    // The steps that need no lock.
    match kind {
        0 => {
            // Of two streams of this thread.
            let (one, other) = (dice.below(streams.len()), dice.below(streams.len()));
            event.record(&streams[one])?;
            return streams[other].wait(event);
        }
        1 => return on_any(streams, dice, |stream| stream.synchronize()),
        2 => {
            // The stream is dropped with pending work.
            let place = dice.below(streams.len());
            streams[place] = if place == 2 { Stream::new()? } else { Stream::non_blocking()? };
            return Ok(());
        }
        3 => {
            let graph = &mut graphs[at];
            on_any(streams, dice, |stream| graph.launch(&stream))?;
            let found = seen.host()?;
            // The halves may have been filled one after the other.
            for half in found.chunks(BYTES / 2) {
                holds(half, half[0], "what a graph has read");
            }
            return Ok(());
        }
        _ => {}
    }
    let mut filled = all[at].lock().unwrap();
    let Filled { buffer, value } = &mut *filled;
    match kind {
        4 | 5 => {
            *value = dice.value();
            on_any(streams, dice, |stream| memset_async(buffer, *value, &stream))?;
        }
        6 => {
            *value = dice.value();
            let (mut left, mut right) = buffer.split_at_mut(BYTES / 2)?;
            on_any(streams, dice, |stream| memset_async(&mut left, *value, &stream))?;
            on_any(streams, dice, |stream| memset_async(&mut right, *value, &stream))?;
        }
        7 => {
            *value = dice.value();
            pinned.host_mut()?.fill(*value);
            on_any(streams, dice, |stream| memcpy_async(buffer, pinned, &stream))?;
        }
        8 => {
            *value = dice.value();
            on_any(streams, dice, |stream| memset_async(batched, *value, &stream))?;
            let parts = batched.as_slice().split_at(BYTES / 2)?;
            let (mut left, mut right) = buffer.split_at_mut(BYTES / 2)?;
            let batch = CopyBatch::new().copy(&mut left, &parts.0).copy(&mut right, &parts.1);
            on_any(streams, dice, |stream| batch.enqueue(&stream))?;
        }
        9 => {
            // Memory is allocated and freed in stream order.
            let mut fresh = on_any(streams, dice, |stream| DeviceBuffer::alloc_async(BYTES, &stream))?;
            on_any(streams, dice, |stream| memcpy_async(&mut fresh, buffer, &stream))?;
            let old = std::mem::replace(buffer, fresh);
            on_any(streams, dice, |stream| old.free_async(&stream))?;
        }
        10 => {
            let expected = *value;
            on_any(streams, dice, |stream| memcpy_async(pinned, buffer, &stream))?;
            drop(filled);
            holds(&pinned.host()?, expected, "what a stream has copied");
        }
        _ => {
            let mut found = vec![!*value; BYTES];
            memcpy(&mut found, buffer)?;
            holds(&found, *value, "what was copied at once");
        }
    }
    Ok(())
}

#[test]
fn many_threads_find_one_value_in_each_buffer() {
    let _alone = alone();
    let seeds = std::env::var("MANY_THREADS_SEEDS").map_or(4, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        let filled = |_| {
            let mut buffer = DeviceBuffer::alloc(BYTES).unwrap();
            memset(&mut buffer, 0).unwrap();
            Mutex::new(Filled { buffer, value: 0 })
        };
        let all: Vec<Mutex<Filled>> = (0..BUFFERS).map(filled).collect();
        std::thread::scope(|threads| {
            for thread in 0..THREADS {
                let all = &all;
                threads.spawn(move || {
                    let mut dice = Dice(seed * 1000 + u64::try_from(thread).unwrap());
                    let mut mine = Mine::new(all).unwrap();
                    for _ in 0..ROUNDS {
                        step(all, &mut mine, &mut dice).unwrap();
                    }
                });
            }
        });
        for filled in all {
            let Filled { buffer, value } = filled.into_inner().unwrap();
            holds(&buffer.to_vec().unwrap(), value, "what is left");
        }
    }
}

#[test]
fn the_emulator_gives_the_same_in_all_its_schedules() {
    in_all_schedules(test_beside!("many_threads_find"), 1);
}
