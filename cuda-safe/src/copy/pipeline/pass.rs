//! How chunks pass through the stages: what the calling thread does, and what others.
//!
//! The calling thread gives each chunk to the way up, has its work enqueued once it is up, or on its way, and gives it to the way down. A way
//! that waits has a thread of its own ([`Stage`]), so that the two and the calling thread are each at another chunk.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bytemuck::{AnyBitPattern, NoUninit};

use super::array::PipelineOutput;
use super::room::{Room, Stages};
use super::stage::Stage;
use crate::copy::staged::Traffic;
use crate::error::{Error, Result};

/// Something that is so of the way up, or of that down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    pub(super) up: bool,
    pub(super) down: bool,
}

impl Ways {
    /// Whether staged copies go in both directions at once, if these are the directions with threads of their own.
    pub(super) fn traffic(self) -> Traffic {
        if self.up && self.down { Traffic::BothWays } else { Traffic::OneWay }
    }
}

/// A chunk with the room that it has on the device.
struct Chunk<'a, I, O> {
    room: Room<I, O>,
    range: Range<usize>,
    output: PipelineOutput<'a, O>,
}

/// How a chunk is brought up, given the part of the output too.
pub(super) type Up<'f, I, O> =
    dyn Fn(&Stages, &mut Room<I, O>, Range<usize>, &PipelineOutput<'_, O>) -> Result<()> + Sync + 'f;

/// Whether more is begun; no more is once this is gone.
struct Open<'a>(&'a AtomicBool);

impl Open<'_> {
    fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The failure of the earliest chunk.
#[derive(Default)]
struct Failure(Option<(usize, Error)>);

impl Failure {
    /// Notes what became of the chunk that begins there. Whether it is well; if not, no more is begun.
    fn note(&mut self, start: usize, result: Result<()>, open: &Open<'_>) -> bool {
        let Err(error) = result else { return true };
        if self.0.as_ref().is_none_or(|(first, _)| start < *first) {
            self.0 = Some((start, error));
        }
        open.0.store(false, Ordering::Relaxed);
        false
    }
}

/// Has chunk after chunk pass through the stages. Where a way `waits`, a thread of its own does it.
///
/// The rooms are there again when this returns; where it unwinds, some are gone.
#[track_caller]
pub(super) fn pass<'a, I, O>(
    stages: &Stages,
    idle: &mut VecDeque<Room<I, O>>,
    chunks: impl Iterator<Item = Result<(Range<usize>, PipelineOutput<'a, O>)>>,
    waits: Ways,
    up: &Up<'_, I, O>,
    mut work: impl FnMut(&mut Room<I, O>, Range<usize>) -> Result<()>,
) -> Result<()>
where
    I: AnyBitPattern + NoUninit + Send + Sync,
    O: AnyBitPattern + Send,
{
    let call_site = Location::caller();
    // Whether chunks are still brought up and worked on, and whether they are brought down.
    let (open, coming) = (AtomicBool::new(true), AtomicBool::new(true));
    let brought = |still: &AtomicBool, bring: &mut dyn FnMut() -> Result<()>| {
        if !still.load(Ordering::Relaxed) {
            return None;
        }
        let brought = bring().map_err(|error| error.at(call_site));
        still.fetch_and(brought.is_ok(), Ordering::Relaxed);
        Some(brought)
    };
    let bring_up = |mut chunk: Chunk<'a, I, O>| {
        let Chunk { room, range, output } = &mut chunk;
        let brought = brought(&open, &mut || up(stages, room, range.clone(), output));
        (chunk, brought)
    };
    let bring_down = |chunk: Chunk<'a, I, O>| {
        let Chunk { mut room, range, output } = chunk;
        let mut output = Some(output);
        let mut down = || output.take().map_or(Ok(()), |output| room.down(stages, output));
        let brought = brought(&coming, &mut down).unwrap_or(Ok(()));
        (room, range.start, brought)
    };
    thread::scope(|threads| {
        let mut ups = Stage::new(threads, waits.up.then_some("cuda-safe up"), &bring_up);
        let mut downs = Stage::new(threads, waits.down.then_some("cuda-safe down"), &bring_down);
        // Gone before the stages, which wait for their threads.
        let open = Open(&open);
        let (mut chunks, mut failure) = (chunks.fuse(), Failure::default());
        loop {
            let mut upped = ups.look();
            let mut downed = downs.look();
            if upped.is_none() && downed.is_none() {
                if open.is_open()
                    && let Some(room) = idle.pop_front()
                {
                    match chunks.next() {
                        Some(Ok((range, output))) => {
                            ups.give(Chunk { room, range, output });
                            continue;
                        }
                        Some(Err(error)) => _ = failure.note(usize::MAX, Err(error), &open),
                        None => {}
                    }
                    idle.push_front(room);
                }
                upped = ups.take();
                if upped.is_none() {
                    downed = downs.take();
                }
                if upped.is_none() && downed.is_none() {
                    break;
                }
            }
            if let Some((room, start, brought)) = downed {
                idle.push_back(room);
                failure.note(start, brought, &open);
            }
            let Some((mut chunk, brought)) = upped else { continue };
            let (start, is_up) = (chunk.range.start, matches!(brought, Some(Ok(()))));
            failure.note(start, brought.unwrap_or(Ok(())), &open);
            if is_up && open.is_open() {
                let worked = work(&mut chunk.room, chunk.range.clone());
                if failure.note(start, worked, &open) {
                    downs.give(chunk);
                    continue;
                }
            }
            idle.push_back(chunk.room);
        }
        drop(open);
        ups.end();
        downs.end();
        failure.0.map_or(Ok(()), |(_, error)| Err(error))
    })
}
