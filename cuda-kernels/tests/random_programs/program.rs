//! The definition of a program: its operations and their sequential meaning.
//!
//! An operation that does not fit the state of its program (a copy from memory that does not exist, a
//! kernel on memory of another device) does nothing, both on the device and in the interpreter. So any
//! subset of a program is a program, and a failing program can be shrunk by removing operations.

use std::collections::BTreeMap;
use std::ops::Range;

/// The bytes of each buffer: 16 by 6, or 8 by 3 by 4.
pub(crate) const LEN: usize = 96;
pub(crate) const BUFFERS: usize = 5;
/// The streams of a device: a blocking one, a non-blocking one, the legacy one and the thread's.
pub(crate) const STREAMS: usize = 4;
/// The events of a device.
pub(crate) const EVENTS: usize = 2;

/// The kinds of streams: the index of a stream modulo [`STREAMS`].
pub(crate) const NON_BLOCKING: usize = 1;
pub(crate) const LEGACY: usize = 2;

/// The devices and features of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World {
    pub(crate) devices: usize,
    pub(crate) managed: bool,
}

/// The memory type of a buffer. Devices are indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryType {
    Device(usize),
    Pool(usize),
    Pinned,
    Registered,
    Managed,
}

impl MemoryType {
    /// Returns the device that owns the memory.
    pub(crate) fn device(self) -> Option<usize> {
        match self {
            Self::Device(device) | Self::Pool(device) => Some(device),
            Self::Pinned | Self::Registered | Self::Managed => None,
        }
    }

    pub(crate) fn is_pool(self) -> bool {
        matches!(self, Self::Pool(_))
    }
}

/// A part of a buffer, as a row, a plane or a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) buffer: usize,
    pub(crate) dimensions: usize,
    pub(crate) start: [usize; 3],
    pub(crate) extent: [usize; 3],
}

impl Part {
    pub(crate) fn row(buffer: usize, start: usize, len: usize) -> Self {
        Self { buffer, dimensions: 1, start: [start, 0, 0], extent: [len, 1, 1] }
    }

    pub(crate) fn whole(buffer: usize) -> Self {
        Self::row(buffer, 0, LEN)
    }

    /// Returns the extent of a whole buffer.
    pub(crate) fn full(dimensions: usize) -> [usize; 3] {
        [[LEN, 1, 1], [16, 6, 1], [8, 3, 4]][dimensions - 1]
    }

    /// Returns the range of columns, rows or layers.
    pub(crate) fn along(&self, axis: usize) -> Range<usize> {
        self.start[axis]..self.start[axis] + self.extent[axis]
    }

    /// Returns the offsets of its bytes.
    pub(crate) fn offsets(self) -> impl Iterator<Item = usize> {
        let [width, rows, _] = Self::full(self.dimensions);
        self.along(2).flat_map(move |z| {
            self.along(1).flat_map(move |y| self.along(0).map(move |x| (z * rows + y) * width + x))
        })
    }

    /// Returns the range from the first byte to the last. Whole rows of a buffer extend to its end, as in
    /// the tracker.
    pub(crate) fn range(&self) -> Range<usize> {
        let first = self.offsets().next().unwrap_or(0);
        let end = self.offsets().last().map_or(first, |last| last + 1);
        let (row, pitch) = (self.extent[0], Self::full(self.dimensions)[0]);
        let all = self.dimensions > 1 && first == 0 && end > row && LEN - end <= pitch - row;
        first..if all { LEN } else { end }
    }
}

/// Whether the operation is blocking or on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Blocking,
    On(usize),
}

/// The operations of programs. A stream belongs to device `index / STREAMS`, and an event to device
/// `index / EVENTS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Drops the previous buffer, allocates one, and sets its bytes on a stream.
    Alloc {
        buffer: usize,
        place: MemoryType,
        stream: usize,
        value: u8,
    },
    /// Drops a buffer, or makes a stream free it.
    Free {
        buffer: usize,
        stream: Option<usize>,
    },
    Set {
        to: Part,
        value: u8,
        how: How,
    },
    Copy {
        to: Part,
        from: Part,
        how: How,
    },
    /// Copies between the halves of a buffer.
    Within {
        to: Part,
        from: Part,
        how: How,
    },
    /// A kernel that writes.
    Fill {
        to: Part,
        value: u8,
        stream: usize,
    },
    /// A kernel that reads and writes.
    Move {
        pairs: Vec<(Part, Part)>,
        stream: usize,
    },
    /// A batch of copies, submitted to each of the streams.
    Batch {
        pairs: Vec<(Part, Part)>,
        streams: Vec<usize>,
    },
    /// Sets each chunk of a buffer on the next stream.
    Chunks {
        buffer: usize,
        size: usize,
        value: u8,
        streams: [usize; 2],
    },
    /// Copies from a slice of the host.
    Upload {
        to: Part,
        value: u8,
    },
    /// Copies to a vector.
    Download {
        from: Part,
    },
    /// Copies from host memory that a guard lends.
    Give {
        to: Part,
        from: Part,
    },
    /// Copies to host memory that a guard lends.
    Take {
        to: Part,
        from: Part,
    },
    HostRead {
        from: Part,
    },
    HostWrite {
        to: Part,
        value: u8,
    },
    /// A host function that notes its number.
    HostFunction {
        stream: usize,
        number: u32,
    },
    Record {
        event: usize,
        stream: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    SynchronizeStream(usize),
    SynchronizeEvent(usize),
    SynchronizeDevice(usize),
    QueryStream(usize),
    QueryEvent(usize),
    /// Drops a stream with its pending work, and makes another one.
    Renew(usize),
}

impl Op {
    /// The number of kinds of operations.
    pub(crate) const KINDS: usize = 24;

    /// Returns whether the operation only orders others.
    pub(crate) fn orders(&self) -> bool {
        matches!(
            self,
            Self::Wait { .. }
                | Self::SynchronizeStream(_)
                | Self::SynchronizeEvent(_)
                | Self::SynchronizeDevice(_)
        )
    }
}

/// Returns whether no copy writes bytes of rows that another one reads or writes.
pub(crate) fn apart(pairs: &[(Part, Part)]) -> bool {
    let clash = |to: &Part, other: &Part| {
        let (to_bytes, bytes) = (to.along(0), other.along(0));
        to.buffer == other.buffer && to_bytes.start < bytes.end && bytes.start < to_bytes.end
    };
    pairs.iter().enumerate().all(|(at, (to, _))| {
        pairs.iter().all(|(_, from)| !clash(to, from))
            && pairs[..at].iter().all(|(other, _)| !clash(to, other))
    })
}

/// Returns the byte that upload and host write put at this offset.
pub(crate) fn pattern(value: u8, at: usize) -> u8 {
    value.wrapping_add(u8::try_from(at % 256).unwrap())
}

/// The sequential machine: every operation is complete before the next one.
#[derive(Debug, Default)]
pub(crate) struct Sequential {
    pub(crate) places: [Option<MemoryType>; BUFFERS],
    pub(crate) bytes: [Vec<u8>; BUFFERS],
    pub(crate) notes: Notes,
}

/// The notes of the host functions, in order for each stream. A renewed stream counts as another one:
/// nothing orders its work after that of the former stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    renewed: Vec<usize>,
    noted: BTreeMap<(usize, usize), Vec<u32>>,
}

impl Notes {
    /// Returns the stream that has this index now.
    pub(crate) fn current(&self, stream: usize) -> (usize, usize) {
        (stream, self.renewed.iter().filter(|renewed| **renewed == stream).count())
    }

    pub(crate) fn renew(&mut self, stream: usize) {
        self.renewed.push(stream);
    }

    pub(crate) fn note(&mut self, stream: (usize, usize), number: u32) {
        self.noted.entry(stream).or_default().push(number);
    }
}

impl Sequential {
    /// Returns whether an operation can be performed now.
    pub(crate) fn fits(&self, op: &Op) -> bool {
        let place = |part: &Part| self.places[part.buffer];
        let host = |part: &Part| place(part).is_some_and(|place| place.device().is_none());
        let near = |part: &Part, stream: usize| {
            place(part).is_some_and(|place| place.device().is_none_or(|device| device == stream / STREAMS))
        };
        let on = |part: &Part, stream: usize| near(part, stream) && !host(part);
        // Other devices cannot access memory of a pool.
        let home = |to: &Part, from: &Part, how: How| {
            let (Some(target), Some(source)) = (place(to), place(from)) else { return false };
            let pool = [target, source].into_iter().find(|place| place.is_pool());
            pool.is_none_or(|pool| {
                let device = pool.device();
                [target, source].iter().all(|place| place.device().is_none() || place.device() == device)
                    && match how {
                        How::Blocking => true,
                        How::On(stream) => device == Some(stream / STREAMS),
                    }
            })
        };
        match op {
            Op::Alloc { place, stream, .. } => place.device().is_none_or(|device| device == stream / STREAMS),
            Op::Free { buffer, .. } => self.places[*buffer].is_some(),
            Op::Set { to, how, .. } => match how {
                How::Blocking => place(to).is_some(),
                How::On(stream) => near(to, *stream),
            },
            Op::Copy { to, from, how } => to.buffer != from.buffer && home(to, from, *how),
            Op::Batch { pairs, streams } => {
                let within = |to: &Part, from: &Part, stream| to.buffer != from.buffer || near(to, stream);
                let fits = |to: &Part, from: &Part, stream| {
                    home(to, from, How::On(stream)) && within(to, from, stream)
                };
                let anywhere =
                    |(to, from): &(Part, Part)| streams.iter().all(|stream| fits(to, from, *stream));
                !pairs.is_empty() && apart(pairs) && pairs.iter().all(anywhere)
            }
            Op::Within { to, from, how } => {
                to.buffer == from.buffer
                    && match how {
                        How::Blocking => place(to).is_some(),
                        How::On(stream) => near(to, *stream),
                    }
            }
            Op::Fill { to, stream, .. } => on(to, *stream),
            Op::Move { pairs, stream } => {
                pairs.iter().all(|(to, from)| on(to, *stream) && on(from, *stream))
                    && pairs.iter().all(|(to, _)| pairs.iter().all(|(_, from)| to.buffer != from.buffer))
                    && pairs
                        .iter()
                        .enumerate()
                        .all(|(at, (to, _))| pairs[..at].iter().all(|(other, _)| other.buffer != to.buffer))
            }
            Op::Chunks { buffer, streams, .. } => {
                streams.iter().all(|stream| near(&Part::whole(*buffer), *stream))
            }
            Op::Upload { to, .. } => place(to).is_some(),
            Op::Download { from } => place(from).is_some(),
            Op::Give { to, from } => to.buffer != from.buffer && place(to).is_some() && host(from),
            Op::Take { to, from } => to.buffer != from.buffer && host(to) && place(from).is_some(),
            Op::HostRead { from } => host(from),
            Op::HostWrite { to, .. } => host(to),
            Op::Record { event, stream } => event / EVENTS == stream / STREAMS,
            Op::Renew(stream) => stream % STREAMS <= NON_BLOCKING,
            Op::HostFunction { .. }
            | Op::Wait { .. }
            | Op::SynchronizeStream(_)
            | Op::SynchronizeEvent(_)
            | Op::SynchronizeDevice(_)
            | Op::QueryStream(_)
            | Op::QueryEvent(_) => true,
        }
    }

    /// Performs an operation that fits. Returns the bytes that the host reads.
    pub(crate) fn run(&mut self, op: &Op) -> Option<Vec<u8>> {
        match op {
            Op::Alloc { buffer, place, value, .. } => {
                self.places[*buffer] = Some(*place);
                self.bytes[*buffer] = vec![*value; LEN];
            }
            Op::Free { buffer, .. } => self.places[*buffer] = None,
            Op::Set { to, value, .. } | Op::Fill { to, value, .. } => {
                to.offsets().for_each(|at| self.bytes[to.buffer][at] = *value);
            }
            Op::Copy { to, from, .. }
            | Op::Within { to, from, .. }
            | Op::Give { to, from }
            | Op::Take { to, from } => self.copy(*to, *from),
            Op::Move { pairs, .. } | Op::Batch { pairs, .. } => {
                pairs.iter().for_each(|(to, from)| self.copy(*to, *from))
            }
            Op::Chunks { buffer, size, value, .. } => {
                for (number, chunk) in self.bytes[*buffer].chunks_mut(*size).enumerate() {
                    chunk.fill(pattern(*value, number));
                }
            }
            Op::Upload { to, value } | Op::HostWrite { to, value } => {
                for (number, at) in to.offsets().enumerate() {
                    self.bytes[to.buffer][at] = pattern(*value, number);
                }
            }
            Op::Download { from } | Op::HostRead { from } => return Some(self.read(*from)),
            Op::HostFunction { stream, number } => {
                self.notes.note(self.notes.current(*stream), *number);
            }
            Op::Renew(stream) => self.notes.renew(*stream),
            _ => {}
        }
        None
    }

    fn read(&self, part: Part) -> Vec<u8> {
        part.offsets().map(|at| self.bytes[part.buffer][at]).collect()
    }

    fn copy(&mut self, to: Part, from: Part) {
        let bytes = self.read(from);
        to.offsets().zip(bytes).for_each(|(at, byte)| self.bytes[to.buffer][at] = byte);
    }
}
