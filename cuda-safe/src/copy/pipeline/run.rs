//! Moves chunks through the device: streams, bounce buffers, worker threads, and the loop of the calling
//! thread.
//!
//! The calling thread starts the copy of each chunk to the device, has its work enqueued once that copy is
//! submitted or complete, and starts the copy back. A direction whose copies block has a thread of its own
//! ([`Worker`]), so that both directions and the calling thread each handle another chunk.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{Location, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

use bytemuck::{AnyBitPattern, NoUninit};

use super::array::{PipelineInput, PipelineOutput};
use crate::copy::operand::Operand;
use crate::copy::staged::Traffic;
use crate::copy::transfer::staged_on;
use crate::copy::verbs::memcpy_async;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::{DeviceBuffer, DeviceSlice, DeviceSliceMut, OnDevice};
use crate::stream::{AsStream, Event, EventFlags, Stream, StreamRef};

/// A property of each of the two copy directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Directions {
    pub(super) h2d: bool,
    pub(super) d2h: bool,
}

impl Directions {
    /// Returns whether staged copies run in both directions at once, if these are the directions with
    /// threads.
    pub(super) fn traffic(self) -> Traffic {
        if self.h2d && self.d2h { Traffic::BothWays } else { Traffic::OneWay }
    }
}

/// A stream for each direction, and one or more for the work. Chunks follow each other on each.
#[derive(Debug)]
pub(super) struct Streams {
    h2d: Stream,
    pub(super) work: Vec<Stream>,
    d2h: Stream,
    /// Whether chunks of pageable memory are copied in both directions at once.
    pub(super) traffic: Traffic,
}

impl Streams {
    #[track_caller]
    pub(super) fn new(device: Device, work: usize) -> Result<Self> {
        let stream = || Stream::builder().device(device).non_blocking().build();
        let (h2d, d2h) = (stream()?, stream()?);
        // Pushed one by one: the program sets the number, so no memory is reserved for it in advance.
        let mut streams = Vec::new();
        for _ in 0..work {
            streams.push(stream()?);
        }
        Ok(Self { h2d, work: streams, d2h, traffic: Traffic::OneWay })
    }

    /// Waits for all streams, even if one fails.
    ///
    /// # Errors
    /// Returns the first failure.
    #[track_caller]
    pub(super) fn synchronize(&self) -> Result<()> {
        let mut result = self.h2d.synchronize();
        for stream in self.work.iter().chain([&self.d2h]) {
            let one = stream.synchronize();
            result = result.and(one);
        }
        result
    }
}

/// Copies to the first elements of a buffer on the device. Pageable memory is no longer used on return.
#[track_caller]
fn copy_h2d<T>(streams: &Streams, buffer: &mut DeviceBuffer<T>, part: PipelineInput<'_, T>) -> Result<()>
where
    T: AnyBitPattern + NoUninit,
{
    let (stream, mut buffer) = (&streams.h2d, buffer.slice_mut(..part.len())?);
    match part {
        PipelineInput::Pinned(part) => memcpy_async(&mut buffer, &part, stream),
        PipelineInput::Pageable(part) => {
            let (to, from) = (Operand::from_span::<T, OnDevice>(buffer.span()), Operand::from_slice(part));
            match staged_on(stream.as_stream(), &to, &from, streams.traffic) {
                Some(staged) => staged,
                None => stream.scope(|scope| scope.memcpy_async(&mut buffer, part))?,
            }
        }
    }
}

/// Memory for one chunk on the device, with an event for each step of the chunk.
///
/// The events order all uses of the memory. A chunk is copied to the device after the work of the
/// previous chunk has read its input. Its work runs after that copy, and after the output of the
/// previous chunk is copied back. If the work is in place, a chunk is copied to the device after the
/// previous chunk is copied back.
pub(super) struct BounceBuffer<I, O> {
    input: DeviceBuffer<I>,
    output: DeviceBuffer<O>,
    h2d: Event,
    worked: Event,
    d2h: Event,
}

impl<I: AnyBitPattern + NoUninit, O: AnyBitPattern> BounceBuffer<I, O> {
    #[track_caller]
    pub(super) fn new(device: Device, chunk: usize) -> Result<Self> {
        let event = || Event::with_device(device, EventFlags::DISABLE_TIMING);
        Ok(Self {
            input: DeviceBuffer::alloc_on(device, chunk)?,
            output: DeviceBuffer::alloc_on(device, chunk)?,
            h2d: event()?,
            worked: event()?,
            d2h: event()?,
        })
    }

    /// Copies a chunk to the device. Pageable memory is no longer used on return.
    #[track_caller]
    pub(super) fn copy_h2d(&mut self, streams: &Streams, part: PipelineInput<'_, I>) -> Result<()> {
        streams.h2d.wait(&self.worked)?;
        copy_h2d(streams, &mut self.input, part)?;
        self.h2d.record(&streams.h2d)
    }

    /// Has the work enqueued, ordered after the copy of the chunk to the device.
    #[track_caller]
    pub(super) fn work(
        &mut self,
        stream: &Stream,
        range: Range<usize>,
        work: impl FnOnce(StreamRef<'_>, DeviceSlice<'_, I>, DeviceSliceMut<'_, O>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        stream.wait(&self.h2d)?;
        stream.wait(&self.d2h)?;
        let len = range.len();
        work(stream.as_stream(), self.input.slice(..len)?, self.output.slice_mut(..len)?, range)?;
        self.worked.record(stream)
    }

    /// Copies a chunk back to the host, ordered after its work. Pageable memory is filled on return.
    #[track_caller]
    fn copy_d2h(&mut self, streams: &Streams, part: PipelineOutput<'_, O>) -> Result<()> {
        let stream = &streams.d2h;
        stream.wait(&self.worked)?;
        let output = self.output.slice(..part.len())?;
        match part {
            PipelineOutput::Pinned(mut part) => memcpy_async(&mut part, &output, stream)?,
            PipelineOutput::Pageable(part) => {
                let from = Operand::from_span::<O, OnDevice>(output.span());
                match staged_on(stream.as_stream(), &Operand::from_slice_mut(part), &from, streams.traffic) {
                    Some(staged) => staged?,
                    None => stream.scope(|scope| scope.memcpy_async(part, &output))??,
                }
            }
        }
        self.d2h.record(stream)
    }
}

impl<T: AnyBitPattern + NoUninit> BounceBuffer<T, T> {
    /// Copies a chunk to the memory that its work changes in place. Pageable memory is no longer used on
    /// return.
    #[track_caller]
    pub(super) fn copy_h2d_in_place(&mut self, streams: &Streams, part: PipelineInput<'_, T>) -> Result<()> {
        streams.h2d.wait(&self.d2h)?;
        copy_h2d(streams, &mut self.output, part)?;
        self.h2d.record(&streams.h2d)
    }

    /// Has the work enqueued that changes a chunk in place.
    #[track_caller]
    pub(super) fn work_in_place(
        &mut self,
        stream: &Stream,
        range: Range<usize>,
        work: impl FnOnce(StreamRef<'_>, DeviceSliceMut<'_, T>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        stream.wait(&self.h2d)?;
        work(stream.as_stream(), self.output.slice_mut(..range.len())?, range)?;
        self.worked.record(stream)
    }
}

/// A chunk with its bounce buffer.
struct Chunk<'a, I, O> {
    buffer: BounceBuffer<I, O>,
    range: Range<usize>,
    output: PipelineOutput<'a, O>,
}

/// Copies a chunk to the device. Also receives the chunk's output on the host, for work in place.
pub(super) type CopyH2d<'f, I, O> =
    dyn Fn(&Streams, &mut BounceBuffer<I, O>, Range<usize>, &PipelineOutput<'_, O>) -> Result<()> + Sync + 'f;

/// Whether further chunks are started. Dropping it stops that.
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
    /// Records the result of the chunk that begins at `start`, and returns whether it succeeded. After a
    /// failure no further chunk is started.
    fn note(&mut self, start: usize, result: Result<()>, open: &Open<'_>) -> bool {
        let Err(error) = result else { return true };
        if self.0.as_ref().is_none_or(|(first, _)| start < *first) {
            self.0 = Some((start, error));
        }
        open.0.store(false, Ordering::Relaxed);
        false
    }
}

/// Moves all chunks through the device. Each direction that `blocking` names gets a thread of its own.
///
/// All buffers are back in `idle` when this returns. If it unwinds, some are lost.
#[track_caller]
pub(super) fn run_chunks<'a, I, O>(
    streams: &Streams,
    idle: &mut VecDeque<BounceBuffer<I, O>>,
    chunks: impl Iterator<Item = Result<(Range<usize>, PipelineOutput<'a, O>)>>,
    blocking: Directions,
    copy_h2d: &CopyH2d<'_, I, O>,
    mut work: impl FnMut(&mut BounceBuffer<I, O>, Range<usize>) -> Result<()>,
) -> Result<()>
where
    I: AnyBitPattern + NoUninit + Send + Sync,
    O: AnyBitPattern + Send,
{
    let call_site = Location::caller();
    // `open`: whether chunks are still copied to the device and worked on. `returning`: whether they are
    // still copied back.
    let (open, returning) = (AtomicBool::new(true), AtomicBool::new(true));
    let copied = |still: &AtomicBool, copy: &mut dyn FnMut() -> Result<()>| {
        if !still.load(Ordering::Relaxed) {
            return None;
        }
        let copied = copy().map_err(|error| error.at(call_site));
        still.fetch_and(copied.is_ok(), Ordering::Relaxed);
        Some(copied)
    };
    let run_h2d = |mut chunk: Chunk<'a, I, O>| {
        let Chunk { buffer, range, output } = &mut chunk;
        let copied = copied(&open, &mut || copy_h2d(streams, buffer, range.clone(), output));
        (chunk, copied)
    };
    let run_d2h = |chunk: Chunk<'a, I, O>| {
        let Chunk { mut buffer, range, output } = chunk;
        let mut output = Some(output);
        let mut copy_d2h = || output.take().map_or(Ok(()), |output| buffer.copy_d2h(streams, output));
        let copied = copied(&returning, &mut copy_d2h).unwrap_or(Ok(()));
        (buffer, range.start, copied)
    };
    thread::scope(|threads| {
        let mut h2d = Worker::new(threads, blocking.h2d.then_some("cuda-safe H2D"), &run_h2d);
        let mut d2h = Worker::new(threads, blocking.d2h.then_some("cuda-safe D2H"), &run_d2h);
        // Declared after the workers, so it is dropped before them. Their drops wait for the threads.
        let open = Open(&open);
        let (mut chunks, mut failure) = (chunks.fuse(), Failure::default());
        loop {
            let mut arrived = h2d.try_take();
            let mut returned = d2h.try_take();
            if arrived.is_none() && returned.is_none() {
                if open.is_open()
                    && let Some(buffer) = idle.pop_front()
                {
                    match chunks.next() {
                        Some(Ok((range, output))) => {
                            h2d.give(Chunk { buffer, range, output });
                            continue;
                        }
                        Some(Err(error)) => _ = failure.note(usize::MAX, Err(error), &open),
                        None => {}
                    }
                    idle.push_front(buffer);
                }
                arrived = h2d.take();
                if arrived.is_none() {
                    returned = d2h.take();
                }
                if arrived.is_none() && returned.is_none() {
                    break;
                }
            }
            if let Some((buffer, start, copied)) = returned {
                idle.push_back(buffer);
                failure.note(start, copied, &open);
            }
            let Some((mut chunk, copied)) = arrived else { continue };
            let (start, has_arrived) = (chunk.range.start, matches!(copied, Some(Ok(()))));
            failure.note(start, copied.unwrap_or(Ok(())), &open);
            if has_arrived && open.is_open() {
                let worked = work(&mut chunk.buffer, chunk.range.clone());
                if failure.note(start, worked, &open) {
                    d2h.give(chunk);
                    continue;
                }
            }
            idle.push_back(chunk.buffer);
        }
        drop(open);
        h2d.end();
        d2h.end();
        failure.0.map_or(Ok(()), |(_, error)| Err(error))
    })
}

/// Runs a function on each chunk that it receives, and returns the results in order. It runs on a thread
/// of its own if it has one, otherwise on the thread that gives it the chunk.
///
/// When a worker is dropped, its thread has handled everything that it received, and has ended.
struct Worker<'scope, Task, Done> {
    work: &'scope (dyn Fn(Task) -> Done + Sync),
    thread: Option<Thread<'scope, Task, Done>>,
    /// The number of chunks that the thread has.
    away: usize,
    /// Results of chunks that the giving thread has handled itself.
    ready: VecDeque<Done>,
}

struct Thread<'scope, Task, Done> {
    tasks: Sender<Task>,
    done: Receiver<Done>,
    handle: ScopedJoinHandle<'scope, ()>,
}

impl<'scope, Task: Send + 'scope, Done: Send + 'scope> Worker<'scope, Task, Done> {
    /// Makes a worker that runs `work` on a thread of this name. Without a name, or if the system cannot
    /// start a thread, the giving thread runs it.
    fn new<'env: 'scope>(
        threads: &'scope Scope<'scope, 'env>,
        name: Option<&str>,
        work: &'env (dyn Fn(Task) -> Done + Sync),
    ) -> Self {
        let thread = name.and_then(|name| {
            let (tasks, to_come) = channel();
            let (report, done) = channel();
            let work = move || {
                for task in to_come {
                    // If the calling thread unwinds, nobody takes the result. The other tasks run all
                    // the same.
                    let _ = report.send(work(task));
                }
            };
            let handle = Builder::new().name(name.to_owned()).spawn_scoped(threads, work).ok()?;
            Some(Thread { tasks, done, handle })
        });
        Self { work, thread, away: 0, ready: VecDeque::new() }
    }

    /// Gives the worker a chunk.
    fn give(&mut self, task: Task) {
        match &self.thread {
            Some(thread) => match thread.tasks.send(task) {
                Ok(()) => self.away += 1,
                Err(_) => self.end(),
            },
            None => self.ready.push_back((self.work)(task)),
        }
    }

    /// Takes the next result, if it is ready. Does not block.
    fn try_take(&mut self) -> Option<Done> {
        let done = self.thread.as_ref().and_then(|thread| thread.done.try_recv().ok());
        self.away -= usize::from(done.is_some());
        done.or_else(|| self.ready.pop_front())
    }

    /// Waits for the next result and takes it. Returns `None` if no chunk is left.
    fn take(&mut self) -> Option<Done> {
        match &self.thread {
            Some(thread) if self.away > 0 => match thread.done.recv() {
                Ok(done) => {
                    self.away -= 1;
                    Some(done)
                }
                Err(_) => {
                    self.end();
                    None
                }
            },
            _ => self.ready.pop_front(),
        }
    }

    /// Waits for the thread, and resumes its panic.
    fn end(&mut self) {
        if let Err(panic) = self.join() {
            resume_unwind(panic);
        }
    }
}

impl<Task, Done> Worker<'_, Task, Done> {
    fn join(&mut self) -> thread::Result<()> {
        let Some(Thread { tasks, done, handle }) = self.thread.take() else { return Ok(()) };
        self.away = 0;
        // The thread ends after the last task in the channel. It does not wait for anyone to take results.
        drop((tasks, done));
        handle.join()
    }
}

impl<Task, Done> Drop for Worker<'_, Task, Done> {
    fn drop(&mut self) {
        // Either `end` was called before, or the calling thread unwinds and its own panic takes precedence.
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::Worker;

    /// Doubles numbers, but for a 0.
    fn double(number: u32) -> u32 {
        if number == 0 {
            resume_unwind(Box::new("a zero"));
        }
        2 * number
    }

    #[test]
    fn chunks_come_back_in_order_whoever_does_them() {
        for name in [None, Some("a worker")] {
            let here = thread::current().id();
            let elsewhere = move |number| (double(number), thread::current().id() != here);
            thread::scope(|threads| {
                let mut worker = Worker::new(threads, name, &elsewhere);
                assert!(worker.try_take().is_none() && worker.take().is_none());
                (1..4).for_each(|number| worker.give(number));
                let all: Vec<_> = std::iter::from_fn(|| worker.take()).collect();
                assert_eq!(all, [2, 4, 6].map(|number| (number, name.is_some())));
                worker.give(4);
                let looked = loop {
                    if let Some(done) = worker.try_take() {
                        break done.0;
                    }
                    thread::yield_now();
                };
                assert_eq!((looked, worker.take()), (8, None));
                worker.end();
            });
        }
    }

    #[test]
    fn a_panic_comes_out_where_its_chunk_is_taken_and_those_before_it_are_there() {
        let mut taken = None;
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|threads| {
                let mut worker = Worker::new(threads, Some("a worker"), &double);
                [1, 0].into_iter().for_each(|number| worker.give(number));
                taken = worker.take();
                worker.take()
            })
        }));
        assert_eq!(taken, Some(2));
        assert_eq!(unwound.unwrap_err().downcast_ref::<&str>(), Some(&"a zero"));
    }

    #[test]
    fn what_it_was_given_is_done_when_it_is_gone() {
        let done = AtomicU32::new(0);
        let count = |number| done.fetch_add(number, Ordering::Relaxed);
        thread::scope(|threads| {
            let mut worker = Worker::new(threads, Some("a worker"), &count);
            (1..=10).for_each(|number| worker.give(number));
            drop(worker);
            assert_eq!(done.load(Ordering::Relaxed), 55);
        });
    }
}
