//! Runs a program on real streams, and compares it with the sequential machine.

use std::sync::{Arc, Mutex};

use cuda_kernels::{copy_many, fill};
use cuda_safe::hazard;
use cuda_safe::memory::{ManagedBuffer, OnDevice, Slice, SliceMut};
use cuda_safe::stream::{AsStream, EventFlags, LegacyStream, PerThreadStream, StreamRef};
use cuda_safe::{
    Device, DeviceBuffer, Event, PinnedBuffer, Registered, Result, Stream, memcpy, memset_async,
};

use super::batch::{self, Cut};
use super::program::{
    BUFFERS, EVENTS, How, LEN, MemoryType, NON_BLOCKING, Notes, Op, Part, STREAMS, Sequential, World, pattern,
};
use super::shapes::{copy, set, within};

/// A buffer.
enum Memory {
    Device(DeviceBuffer<u8>),
    Pinned(PinnedBuffer<u8>),
    Registered(Registered<Vec<u8>>),
    Managed(ManagedBuffer<u8>),
}

/// Evaluates an expression with a view of a whole buffer.
macro_rules! view {
    ($memory:expr, $slice:ident => $body:expr) => {
        match $memory {
            Memory::Device(buffer) => {
                let $slice = buffer.as_slice();
                $body
            }
            Memory::Pinned(buffer) => {
                let $slice = buffer.as_slice();
                $body
            }
            Memory::Registered(buffer) => {
                let $slice = buffer.as_slice();
                $body
            }
            Memory::Managed(buffer) => {
                let $slice = buffer.as_slice();
                $body
            }
        }
    };
    (mut $memory:expr, $slice:ident => $body:expr) => {
        match $memory {
            Memory::Device(buffer) => {
                let $slice = buffer.as_slice_mut();
                $body
            }
            Memory::Pinned(buffer) => {
                let $slice = buffer.as_slice_mut();
                $body
            }
            Memory::Registered(buffer) => {
                let $slice = buffer.as_slice_mut();
                $body
            }
            Memory::Managed(buffer) => {
                let $slice = buffer.as_slice_mut();
                $body
            }
        }
    };
}

/// Evaluates an expression with a view of a buffer that the host can access.
macro_rules! host_view {
    (read $memory:expr, $slice:ident => $body:expr) => {
        match $memory {
            Memory::Device(_) => unreachable!("a program's host access fits"),
            Memory::Pinned(buffer) => {
                let $slice = buffer.as_slice();
                $body
            }
            Memory::Registered(buffer) => {
                let $slice = buffer.as_slice();
                $body
            }
            Memory::Managed(buffer) => {
                let $slice = buffer.as_slice();
                $body
            }
        }
    };
    ($memory:expr, $slice:ident => $body:expr) => {
        match $memory {
            Memory::Device(_) => unreachable!("a program's host access fits"),
            Memory::Pinned(buffer) => {
                let $slice = buffer.as_slice_mut();
                $body
            }
            Memory::Registered(buffer) => {
                let $slice = buffer.as_slice_mut();
                $body
            }
            Memory::Managed(buffer) => {
                let $slice = buffer.as_slice_mut();
                $body
            }
        }
    };
}

/// A stream.
enum Line {
    Own(Stream),
    Legacy(LegacyStream),
    Mine(PerThreadStream),
}

impl Line {
    fn new(device: Device, kind: usize) -> Result<Self> {
        let builder = Stream::builder().device(device);
        Ok(match kind {
            0 => Self::Own(builder.build()?),
            NON_BLOCKING => Self::Own(builder.non_blocking().build()?),
            super::program::LEGACY => Self::Legacy(LegacyStream::new(device)?),
            _ => Self::Mine(PerThreadStream::new(device)?),
        })
    }

    fn stream(&self) -> StreamRef<'_> {
        match self {
            Self::Own(stream) => stream.as_stream(),
            Self::Legacy(stream) => stream.as_stream(),
            Self::Mine(stream) => stream.as_stream(),
        }
    }
}

/// The result of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) operations: u64,
    pub(crate) added_waits: u64,
}

/// Runs a program. Returns an error if its results differ from those of the sequential machine.
pub(crate) fn run(ops: &[Op], world: World) -> std::result::Result<Run, String> {
    let mut bench = Bench::new(world).map_err(|error| format!("streams: {error}"))?;
    let mut sequential = Sequential::default();
    let before = hazard::added_waits();
    let mut operations = 0;
    for (number, op) in ops.iter().enumerate() {
        if !sequential.fits(op) {
            continue;
        }
        operations += 1;
        let expected = sequential.run(op);
        let found = bench.run(op).map_err(|error| format!("operation {number}, {op:?}: {error}"))?;
        if found != expected {
            return Err(format!("operation {number}, {op:?}: read {found:?}, not {expected:?}"));
        }
    }
    let added_waits = hazard::added_waits() - before;
    bench.end(&sequential)?;
    Ok(Run { operations, added_waits })
}

struct Bench {
    devices: Vec<Device>,
    buffers: [Option<Memory>; BUFFERS],
    lines: Vec<Line>,
    events: Vec<Event>,
    notes: Arc<Mutex<Notes>>,
}

impl Bench {
    fn new(world: World) -> Result<Self> {
        let devices: Vec<Device> = Device::all()?.take(world.devices).collect();
        let mut bench = Self {
            buffers: Default::default(),
            lines: Vec::new(),
            events: Vec::new(),
            notes: Arc::default(),
            devices,
        };
        for device in &bench.devices {
            for kind in 0..STREAMS {
                bench.lines.push(Line::new(*device, kind)?);
            }
            for _ in 0..EVENTS {
                bench.events.push(Event::with_device(*device, EventFlags::DISABLE_TIMING)?);
            }
        }
        Ok(bench)
    }

    fn on(&self, how: How) -> Option<StreamRef<'_>> {
        match how {
            How::Blocking => None,
            How::On(stream) => Some(self.lines[stream].stream()),
        }
    }

    /// Takes a buffer out for a closure that also needs the others or a stream.
    fn with<R>(&mut self, buffer: usize, f: impl FnOnce(&Self, &mut Memory) -> Result<R>) -> Result<R> {
        let mut memory = self.buffers[buffer].take().unwrap();
        let answer = f(self, &mut memory);
        self.buffers[buffer] = Some(memory);
        answer
    }

    fn memory(&self, buffer: usize) -> &Memory {
        self.buffers[buffer].as_ref().unwrap()
    }

    fn alloc(&mut self, buffer: usize, place: MemoryType, stream: usize) -> Result<()> {
        drop(self.buffers[buffer].take());
        let memory = match place {
            MemoryType::Device(device) => Memory::Device(DeviceBuffer::alloc_on(self.devices[device], LEN)?),
            MemoryType::Pool(_) => {
                Memory::Device(DeviceBuffer::alloc_async(LEN, &self.lines[stream].stream())?)
            }
            MemoryType::Pinned => Memory::Pinned(PinnedBuffer::alloc(LEN)?),
            MemoryType::Registered => Memory::Registered(Registered::new(vec![0; LEN])?),
            MemoryType::Managed => Memory::Managed(ManagedBuffer::alloc(LEN)?),
        };
        self.buffers[buffer] = Some(memory);
        Ok(())
    }

    fn run(&mut self, op: &Op) -> Result<Option<Vec<u8>>> {
        match op {
            Op::Alloc { buffer, place, stream, value } => {
                self.alloc(*buffer, *place, *stream)?;
                let whole = Part::whole(*buffer);
                self.with(*buffer, |bench, memory| {
                    view!(mut memory, slice => set(slice, &whole, *value, bench.on(How::On(*stream))))
                })?;
            }
            Op::Free { buffer, stream } => {
                let memory = self.buffers[*buffer].take().unwrap();
                if let (Memory::Device(memory), Some(stream)) = (memory, stream) {
                    memory.free_async(&self.lines[*stream].stream())?;
                }
            }
            Op::Set { to, value, how } => self.with(to.buffer, |bench, memory| {
                view!(mut memory, slice => set(slice, to, *value, bench.on(*how)))
            })?,
            Op::Copy { to, from, how } => self.with(to.buffer, |bench, memory| {
                let source = bench.memory(from.buffer);
                view!(mut memory, target => view!(source, source => copy(target, to, source, from, bench.on(*how))))
            })?,
            Op::Within { to, from, how } => self.with(to.buffer, |bench, memory| {
                view!(mut memory, slice => within(slice, to, from, bench.on(*how)))
            })?,
            Op::Fill { to, value, stream } => self.with(to.buffer, |bench, memory| {
                let Memory::Device(memory) = memory else { unreachable!("a program's kernel fits") };
                fill(memory.slice_mut(to.along(0))?, *value, &bench.lines[*stream].stream())
            })?,
            Op::Move { pairs, stream } => self.launch_move(pairs, *stream)?,
            Op::Batch { pairs, streams } => self.batch(pairs, streams)?,
            Op::Chunks { buffer, size, value, streams } => self.with(*buffer, |bench, memory| {
                view!(mut memory, slice => {
                    for (number, mut chunk) in slice.chunks_mut(*size)?.enumerate() {
                        let stream = bench.lines[streams[number % 2]].stream();
                        memset_async(&mut chunk, pattern(*value, number), &stream)?;
                    }
                    Ok(())
                })
            })?,
            Op::Upload { to, value } => {
                let bytes: Vec<u8> = (0..to.extent[0]).map(|at| pattern(*value, at)).collect();
                self.with(to.buffer, |_, memory| {
                    view!(mut memory, slice => memcpy(&mut { slice }.slice_mut(to.along(0))?, &bytes))
                })?;
            }
            Op::Download { from } => {
                let mut bytes = vec![0; from.extent[0]];
                view!(self.memory(from.buffer), slice => memcpy(&mut bytes, &slice.slice(from.along(0))?))?;
                return Ok(Some(bytes));
            }
            Op::Give { to, from } => self.with(to.buffer, |bench, memory| {
                host_view!(read bench.memory(from.buffer), source => {
                    let lent = source.slice(from.along(0))?.host()?;
                    view!(mut memory, target => memcpy(&mut { target }.slice_mut(to.along(0))?, &*lent))
                })
            })?,
            Op::Take { to, from } => self.with(to.buffer, |bench, memory| {
                host_view!(memory, target => {
                    let mut target = target;
                    let mut part = target.slice_mut(to.along(0))?;
                    let mut lent = part.host_mut()?;
                    view!(bench.memory(from.buffer), source => memcpy(&mut *lent, &source.slice(from.along(0))?))
                })
            })?,
            Op::HostRead { from } => {
                let read = |_: &Self, memory: &mut Memory| {
                    host_view!(memory, slice => Ok(slice.slice(from.along(0))?.host()?.to_vec()))
                };
                return self.with(from.buffer, read).map(Some);
            }
            Op::HostWrite { to, value } => self.with(to.buffer, |_, memory| {
                host_view!(memory, slice => {
                    let mut slice = slice;
                    let mut part = slice.slice_mut(to.along(0))?;
                    part.host_mut()?.iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(*value, at));
                    Ok(())
                })
            })?,
            Op::HostFunction { stream, number } => {
                let (notes, number) = (Arc::clone(&self.notes), *number);
                let at = self.notes.lock().unwrap().current(*stream);
                self.lines[*stream].stream().launch_host_fn(move || notes.lock().unwrap().note(at, number))?;
            }
            Op::Record { event, stream } => self.events[*event].record(&self.lines[*stream].stream())?,
            Op::Wait { stream, event } => self.lines[*stream].stream().wait(&self.events[*event])?,
            Op::SynchronizeStream(stream) => self.lines[*stream].stream().synchronize()?,
            Op::SynchronizeEvent(event) => self.events[*event].synchronize()?,
            Op::SynchronizeDevice(device) => self.devices[*device].synchronize()?,
            Op::QueryStream(stream) => drop(self.lines[*stream].stream().is_done()?),
            Op::QueryEvent(event) => drop(self.events[*event].is_done()?),
            Op::Renew(stream) => {
                self.notes.lock().unwrap().renew(*stream);
                self.lines[*stream] = Line::new(self.devices[stream / STREAMS], stream % STREAMS)?;
            }
        }
        Ok(None)
    }

    fn launch_move(&mut self, pairs: &[(Part, Part)], stream: usize) -> Result<()> {
        // The destinations are distinct buffers, and none of them is a source.
        let mut targets: Vec<Memory> =
            pairs.iter().map(|(to, _)| self.buffers[to.buffer].take().unwrap()).collect();
        let moved = self.moved(&mut targets, pairs, stream);
        for (target, (to, _)) in targets.into_iter().zip(pairs) {
            self.buffers[to.buffer] = Some(target);
        }
        moved
    }

    fn moved(&self, targets: &mut [Memory], pairs: &[(Part, Part)], stream: usize) -> Result<()> {
        let mut parts: Vec<(SliceMut<'_, u8, OnDevice>, Slice<'_, u8, OnDevice>)> = Vec::new();
        for (target, (to, from)) in targets.iter_mut().zip(pairs) {
            let (Memory::Device(target), Memory::Device(source)) = (target, self.memory(from.buffer)) else {
                unreachable!("a program's kernel fits")
            };
            parts.push((target.slice_mut(to.along(0))?, source.slice(from.along(0))?));
        }
        copy_many(parts, &self.lines[stream].stream())
    }

    fn batch(&mut self, pairs: &[(Part, Part)], streams: &[usize]) -> Result<()> {
        let mut cuts = Vec::new();
        for (number, memory) in self.buffers.iter_mut().enumerate() {
            let copies = pairs.iter().enumerate().filter(|(_, (to, _))| to.buffer == number);
            let written = copies.map(|(copy, (to, _))| (copy, to.along(0))).collect();
            cuts.push(match memory {
                Some(memory) => view!(mut memory, slice => Cut::new(slice, written))?,
                None => Cut::default(),
            });
        }
        let streams: Vec<StreamRef<'_>> = streams.iter().map(|stream| self.lines[*stream].stream()).collect();
        batch::enqueue(cuts, pairs, &streams)
    }

    /// Waits for all work and compares the remaining state.
    fn end(self, sequential: &Sequential) -> std::result::Result<(), String> {
        let failed = |error| format!("at the end: {error}");
        self.devices.iter().try_for_each(|device| device.synchronize()).map_err(failed)?;
        for (number, memory) in self.buffers.iter().enumerate() {
            let Some(memory) = memory else { continue };
            let found = contents(memory).map_err(failed)?;
            if found != sequential.bytes[number] {
                return Err(format!(
                    "at the end buffer {number} has {found:?}, not {:?}",
                    sequential.bytes[number]
                ));
            }
        }
        let (notes, expected) = (self.notes.lock().unwrap(), &sequential.notes);
        if *notes != *expected {
            return Err(format!("the host functions ran in the order {notes:?}, not {expected:?}"));
        }
        Ok(())
    }
}

fn contents(memory: &Memory) -> Result<Vec<u8>> {
    let mut bytes = vec![0; LEN];
    view!(memory, slice => memcpy(&mut bytes, &slice))?;
    Ok(bytes)
}
