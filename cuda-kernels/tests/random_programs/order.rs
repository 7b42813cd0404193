//! Programs that order their own work: a happens-before model that inserts the missing events, waits and
//! synchronisations.
//!
//! The model uses only the runtime's guarantees: a stream's own order, events, synchronisation, and the
//! legacy stream's rule. It does not apply that rule to copies of a stream from pinned memory, because
//! hardware reads this memory without regard to the rule. In doubt, the model inserts an unnecessary
//! event, which a tracker need not require. It never leaves out a necessary one.

use std::ops::Range;

use super::draw::Dice;
use super::program::{BUFFERS, EVENTS, How, LEGACY, LEN, MemoryType, NON_BLOCKING, Op, Part, STREAMS, World};

/// A set of operations, by index.
type Set = u128;

/// An operation that reads or writes bytes of a buffer.
#[derive(Clone, Debug)]
struct Access {
    work: Set,
    stream: usize,
    bytes: Range<usize>,
    write: bool,
}

/// The operations of a stream, and those that happen before its next operation.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    given: Set,
    known: Set,
    /// The operations that happen before its last submitted operation. They are complete when the stream
    /// is.
    worked: Set,
    /// `worked` when other streams last joined it by the legacy stream's rule.
    acted: Set,
}

/// A program, with the order that it lacks.
struct Order {
    dice: Dice,
    lines: Vec<Line>,
    /// The operations before each event, and the stream that recorded it.
    events: Vec<(Set, usize)>,
    done: Set,
    next: u32,
    places: [Option<MemoryType>; BUFFERS],
    accesses: [Vec<Access>; BUFFERS],
    out: Vec<Op>,
}

/// The bytes of a buffer that an operation reads or writes.
struct Touch {
    buffer: usize,
    bytes: Range<usize>,
    write: bool,
    /// The bytes may be read during the call, so the legacy stream's rule does not apply.
    at_call: bool,
}

/// The accesses that an operation submits to a stream.
type Touches = Vec<Touch>;

/// Inserts the missing order into a program.
pub(crate) fn ordered(ops: &[Op], seed: u64, world: World) -> Vec<Op> {
    let mut order = Order {
        dice: Dice(!seed),
        lines: vec![Line::default(); world.devices * STREAMS],
        events: vec![(0, 0); world.devices * EVENTS],
        done: 0,
        next: 0,
        places: [None; BUFFERS],
        accesses: Default::default(),
        out: Vec::new(),
    };
    ops.iter().for_each(|op| order.add(op));
    order.out
}

impl Order {
    /// Returns all operations that happen before the next operation of a stream.
    fn before(&self, stream: usize) -> Set {
        let mut before = self.done | self.lines[stream].given | self.lines[stream].known;
        let first = stream - stream % STREAMS;
        let mut add = |other: usize| before |= self.lines[other].given | self.lines[other].acted;
        match stream % STREAMS {
            NON_BLOCKING => {}
            LEGACY => (0..STREAMS).filter(|kind| *kind != NON_BLOCKING).for_each(|kind| add(first + kind)),
            _ => add(first + LEGACY),
        }
        before
    }

    fn add(&mut self, op: &Op) {
        let frees = match op {
            Op::Free { buffer, stream } => Some((*buffer, stream.is_none())),
            Op::Alloc { buffer, .. } => Some((*buffer, true)),
            _ => None,
        };
        if let Some((buffer, true)) = frees {
            // An internal stream of the crate frees memory of pools. Only complete operations happen
            // before that.
            while self.places[buffer].is_some_and(MemoryType::is_pool)
                && let Some(access) =
                    self.accesses[buffer].iter().find(|access| access.work & !self.done != 0)
            {
                let device = access.stream / STREAMS;
                self.emit(Op::SynchronizeDevice(device));
            }
            self.accesses[buffer].clear();
        }
        if let Op::Renew(stream) = op {
            self.emit(Op::SynchronizeStream(*stream));
        }
        let work = self.work(op);
        for (stream, touches) in &work {
            while let Some(other) = self.unordered(*stream, touches) {
                self.mend(*stream, other);
            }
        }
        for (stream, touches) in work {
            let before = self.before(stream);
            let work = 1_u128.checked_shl(self.next).unwrap();
            self.next += 1;
            let line = &mut self.lines[stream];
            (line.known, line.worked, line.acted) = (before, before, before);
            line.given |= work;
            for Touch { buffer, bytes, write, .. } in touches {
                self.accesses[buffer].push(Access { work, stream, bytes, write });
            }
        }
        match op {
            Op::Alloc { buffer, place, .. } => self.places[*buffer] = Some(*place),
            Op::Free { buffer, .. } => {
                self.places[*buffer] = None;
                self.accesses[*buffer].clear();
            }
            _ => {}
        }
        self.emit(op.clone());
    }

    /// Returns a stream with conflicting work that does not happen before this access.
    fn unordered(&self, stream: usize, touches: &Touches) -> Option<usize> {
        let by_rule = self.before(stream);
        let by_itself = self.done | self.lines[stream].given | self.lines[stream].known;
        touches.iter().find_map(|Touch { buffer, bytes, write, at_call }| {
            let before = if *at_call { by_itself } else { by_rule };
            let conflicts = |access: &&Access| {
                (*write || access.write) && access.bytes.start < bytes.end && bytes.start < access.bytes.end
            };
            let missing = |access: &&Access| access.work & !before != 0;
            self.accesses[*buffer].iter().filter(conflicts).find(missing).map(|access| access.stream)
        })
    }

    /// Orders all submitted work of `other` before the next operation of `stream`.
    fn mend(&mut self, stream: usize, other: usize) {
        let device = other / STREAMS;
        let event = device * EVENTS + self.dice.below(EVENTS);
        let record = Op::Record { event, stream: other };
        match self.dice.below(8) {
            0..5 => {
                self.emit(record);
                self.emit(Op::Wait { stream, event });
            }
            5 => {
                self.emit(record);
                self.emit(Op::SynchronizeEvent(event));
            }
            6 => self.emit(Op::SynchronizeStream(other)),
            _ => self.emit(Op::SynchronizeDevice(device)),
        }
    }

    /// Adds an operation and updates the model.
    fn emit(&mut self, op: Op) {
        match op {
            Op::Record { event, stream } => {
                let before = self.before(stream);
                self.events[event] = (before, stream);
                if stream % STREAMS == LEGACY {
                    self.lines[stream].acted = before;
                }
            }
            // A stream's own events add nothing.
            Op::Wait { stream, event } if self.events[event].1 != stream => {
                self.lines[stream].known |= self.events[event].0;
            }
            Op::SynchronizeEvent(event) => self.done |= self.events[event].0,
            Op::SynchronizeStream(stream) => self.over(stream),
            Op::SynchronizeDevice(device) => {
                (device * STREAMS..(device + 1) * STREAMS).for_each(|stream| self.over(stream));
            }
            Op::Renew(stream) => self.lines[stream] = Line::default(),
            _ => {}
        }
        self.out.push(op);
    }

    /// Marks all operations of a stream as complete.
    fn over(&mut self, stream: usize) {
        self.done |= self.lines[stream].given | self.lines[stream].worked;
    }

    /// Returns the accesses that an operation submits to streams.
    fn work(&self, op: &Op) -> Vec<(usize, Touches)> {
        let touch =
            |part: &Part, write| Touch { buffer: part.buffer, bytes: part.range(), write, at_call: false };
        let whole = |buffer| Touch { buffer, bytes: 0..LEN, write: true, at_call: false };
        let pinned = |part: &Part| {
            matches!(self.places[part.buffer], Some(MemoryType::Pinned | MemoryType::Registered))
        };
        let device = |part: &Part| self.places[part.buffer].and_then(MemoryType::device);
        let managed = |part: &Part| self.places[part.buffer] == Some(MemoryType::Managed);
        let legacy = |device: usize| device * STREAMS + LEGACY;
        match op {
            Op::Alloc { buffer, stream, .. } => vec![(*stream, vec![whole(*buffer)])],
            Op::Free { buffer, stream: Some(stream) }
                if self.places[*buffer].is_some_and(MemoryType::is_pool) =>
            {
                vec![(*stream, vec![whole(*buffer)])]
            }
            Op::Set { to, how, .. } => {
                let stream = match how {
                    How::On(stream) => *stream,
                    How::Blocking => legacy(device(to).unwrap_or(0)),
                };
                vec![(stream, vec![touch(to, true)])]
            }
            Op::Copy { to, from, how } | Op::Within { to, from, how } => {
                let stream = match how {
                    How::On(stream) => *stream,
                    How::Blocking => match device(to).or(device(from)) {
                        Some(device) => legacy(device),
                        None if managed(to) || managed(from) => legacy(0),
                        // The host copies these bytes.
                        None => return Vec::new(),
                    },
                };
                let at_call = pinned(from) && *how != How::Blocking;
                let within = at_call && to.buffer == from.buffer;
                let to = Touch { at_call: within, ..touch(to, true) };
                vec![(stream, vec![to, Touch { at_call, ..touch(from, false) }])]
            }
            Op::Fill { to, stream, .. } => vec![(*stream, vec![touch(to, true)])],
            Op::Move { pairs, stream } => {
                let touches = pairs.iter().flat_map(|(to, from)| [touch(to, true), touch(from, false)]);
                vec![(*stream, touches.collect())]
            }
            // A program that orders its own work submits all of a batch to one stream, without other work
            // in between.
            Op::Batch { pairs, streams } => {
                let at_call = |buffer| pairs.iter().any(|(_, from)| from.buffer == buffer && pinned(from));
                let touches = pairs.iter().flat_map(|(to, from)| [touch(to, true), touch(from, false)]);
                let touches = touches.map(|touch| Touch { at_call: at_call(touch.buffer), ..touch });
                vec![(streams[0], touches.collect())]
            }
            Op::Chunks { buffer, size, streams, .. } => {
                let mut work = streams.map(|stream| (stream, Vec::new()));
                for (number, start) in (0..LEN).step_by(*size).enumerate() {
                    let bytes = start..LEN.min(start + size);
                    work[number % 2].1.push(Touch { bytes, ..whole(*buffer) });
                }
                work.into_iter().filter(|(_, touches)| !touches.is_empty()).collect()
            }
            Op::Upload { to: part, .. }
            | Op::Download { from: part }
            | Op::Give { to: part, .. }
            | Op::Take { from: part, .. } => {
                let write = matches!(op, Op::Upload { .. } | Op::Give { .. });
                match device(part) {
                    Some(device) => vec![(legacy(device), vec![touch(part, write)])],
                    None if managed(part) => vec![(legacy(0), vec![touch(part, write)])],
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }
}
