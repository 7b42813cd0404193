//! Draws programs from a seed.

use super::program::{BUFFERS, EVENTS, How, LEN, MemoryType, Op, Part, STREAMS, Sequential, World, apart};

/// A random number generator. A seed means the same program forever.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(limit).unwrap()).unwrap()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }
}

/// The kind of program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Any program; the tracker adds the missing order.
    Any,
    /// The program orders everything itself.
    Ordered,
    /// Asynchronous work on device memory only, with nothing freed. Without the tracker it gives wrong
    /// results but does no harm.
    Tame,
}

/// The operations of a program, without the first allocations.
const STEPS: usize = 20;

/// Draws the operations of a program.
pub(crate) fn draw(seed: u64, flavour: Flavour, world: World) -> Vec<Op> {
    let mut draw = Draw { dice: Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)), flavour, world };
    let mut state = Sequential::default();
    let mut ops = Vec::new();
    let mut add = |op: Op| {
        if state.fits(&op) {
            state.run(&op);
            ops.push(op);
            return true;
        }
        false
    };
    for buffer in 0..BUFFERS {
        let op = draw.alloc(buffer);
        add(op);
    }
    for number in 0..STEPS {
        // Most operations that do not fit have a wrong device.
        for _ in 0..20 {
            if add(draw.step(u32::try_from(number).unwrap())) {
                break;
            }
        }
    }
    ops
}

struct Draw {
    dice: Dice,
    flavour: Flavour,
    world: World,
}

impl Draw {
    fn stream(&mut self) -> usize {
        self.dice.below(self.world.devices * STREAMS)
    }

    fn event(&mut self) -> usize {
        self.dice.below(self.world.devices * EVENTS)
    }

    fn how(&mut self) -> How {
        if self.flavour != Flavour::Tame && self.dice.below(6) == 0 {
            How::Blocking
        } else {
            How::On(self.stream())
        }
    }

    fn alloc(&mut self, buffer: usize) -> Op {
        let stream = self.stream();
        let device = stream / STREAMS;
        let place = match self.dice.below(if self.flavour == Flavour::Tame { 3 } else { 8 }) {
            0..=2 => MemoryType::Device(device),
            3 | 4 => MemoryType::Pool(device),
            5 => MemoryType::Pinned,
            6 => MemoryType::Registered,
            _ if self.world.managed => MemoryType::Managed,
            _ => MemoryType::Pinned,
        };
        Op::Alloc { buffer, place, stream, value: self.dice.byte() }
    }

    /// Draws a part of any shape, most often of a row.
    fn part(&mut self) -> Part {
        let dimensions = [1, 1, 1, 2, 3][self.dice.below(5)];
        self.part_of(dimensions)
    }

    fn part_of(&mut self, dimensions: usize) -> Part {
        let buffer = self.dice.below(BUFFERS);
        if dimensions == 1 && self.dice.below(2) == 0 {
            // Whole buffers and halves conflict more often than arbitrary parts.
            let (start, len) = [(0, LEN), (0, LEN / 2), (LEN / 2, LEN / 2)][self.dice.below(3)];
            return Part::row(buffer, start, len);
        }
        let full = Part::full(dimensions);
        let extent = full.map(|full| 1 + self.dice.below(full));
        let start = [0, 1, 2].map(|axis| self.dice.below(full[axis] - extent[axis] + 1));
        Part { buffer, dimensions, start, extent }
    }

    /// Draws two parts of one extent.
    fn pair(&mut self, dimensions: usize) -> (Part, Part) {
        let to = self.part_of(dimensions);
        let full = Part::full(dimensions);
        let start = [0, 1, 2].map(|axis| self.dice.below(full[axis] - to.extent[axis] + 1));
        (to, Part { buffer: self.dice.below(BUFFERS), start, ..to })
    }

    /// Draws two parts of a buffer, one in each half.
    fn halves(&mut self) -> (Part, Part) {
        let (buffer, len) = (self.dice.below(BUFFERS), 1 + self.dice.below(LEN / 2));
        let mut start = || self.dice.below(LEN / 2 - len + 1);
        let (low, high) = (Part::row(buffer, start(), len), Part::row(buffer, LEN / 2 + start(), len));
        if self.dice.below(2) == 0 { (low, high) } else { (high, low) }
    }

    /// Draws two quarters of buffers, or smaller parts.
    fn quarters(&mut self) -> (Part, Part) {
        let len = [LEN / 4, 1 + self.dice.below(LEN / 4)][self.dice.below(2)];
        let mut quarter = || Part::row(self.dice.below(BUFFERS), self.dice.below(4) * LEN / 4, len);
        (quarter(), quarter())
    }

    /// Draws copies without overlap, as a batch for one stream or several.
    fn batch(&mut self) -> Op {
        let mut pairs = Vec::new();
        for _ in 0..=self.dice.below(5) {
            let pair = if self.dice.below(2) == 0 { self.pair(1) } else { self.quarters() };
            pairs.push(pair);
            if !apart(&pairs) {
                pairs.pop();
            }
        }
        let mut streams = vec![self.stream()];
        for _ in 0..self.dice.below(3) {
            let same = self.flavour == Flavour::Ordered || self.dice.below(2) == 0;
            streams.push(if same { streams[0] } else { self.stream() });
        }
        Op::Batch { pairs, streams }
    }

    fn step(&mut self, number: u32) -> Op {
        let value = self.dice.byte();
        if self.flavour == Flavour::Tame {
            return self.work(value);
        }
        match self.dice.below(100) {
            0..50 => self.work(value),
            50..54 => Op::Upload { to: self.part_of(1), value },
            54 | 55 => {
                let (to, from) = self.pair(1);
                Op::Give { to, from }
            }
            56..59 => Op::Download { from: self.part_of(1) },
            59 | 60 => {
                let (to, from) = self.pair(1);
                Op::Take { to, from }
            }
            61..66 => Op::HostRead { from: self.part_of(1) },
            66..71 => Op::HostWrite { to: self.part_of(1), value },
            71..75 => Op::HostFunction { stream: self.stream(), number },
            75..79 => {
                let buffer = self.dice.below(BUFFERS);
                self.alloc(buffer)
            }
            79..83 => {
                let stream = if self.dice.below(2) == 0 { Some(self.stream()) } else { None };
                Op::Free { buffer: self.dice.below(BUFFERS), stream }
            }
            83..91 => Op::Record { event: self.event(), stream: self.stream() },
            91..94 => Op::Wait { stream: self.stream(), event: self.event() },
            94 => Op::SynchronizeStream(self.stream()),
            95 => Op::SynchronizeEvent(self.event()),
            96 => Op::SynchronizeDevice(self.dice.below(self.world.devices)),
            97 => Op::QueryStream(self.stream()),
            98 => Op::QueryEvent(self.event()),
            _ => Op::Renew(self.stream()),
        }
    }

    /// Draws work for the device.
    fn work(&mut self, value: u8) -> Op {
        match self.dice.below(22) {
            0..6 => Op::Set { to: self.part(), value, how: self.how() },
            6..15 => {
                let dimensions = [1, 1, 2, 3][self.dice.below(4)];
                let (to, from) = self.pair(dimensions);
                Op::Copy { to, from, how: self.how() }
            }
            15 | 16 => {
                let (to, from) = self.halves();
                Op::Within { to, from, how: self.how() }
            }
            17 => Op::Fill { to: self.part_of(1), value, stream: self.stream() },
            18 => {
                let pairs = (0..=self.dice.below(2)).map(|_| self.pair(1)).collect();
                Op::Move { pairs, stream: self.stream() }
            }
            19 | 20 => self.batch(),
            _ => {
                let (first, second) = (self.stream(), self.stream());
                let size = [7, 16, LEN / 2][self.dice.below(3)];
                Op::Chunks { buffer: self.dice.below(BUFFERS), size, value, streams: [first, second] }
            }
        }
    }
}
