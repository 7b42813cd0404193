//! The steps of a random program, each of which is a number.

use crate::common::machine::Touch;
use cuda_hazard::Mode;

pub(crate) const DEVICES: usize = 2;
pub(crate) const BUFFERS: usize = 3;
pub(crate) const EVENTS: usize = 3;
/// Bytes of a buffer.
pub(crate) const BYTES: usize = 16;

/// A random number generator, so that a seed always means the same programs.
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
}

/// The digits of a step's number.
struct Digits(u64);

impl Digits {
    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap();
        let digit = self.0 % limit;
        self.0 /= limit;
        usize::try_from(digit).unwrap()
    }
}

/// A step. Numbers of streams and the like are taken modulo how many there are.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Operate {
        stream: usize,
        touches: Vec<Touch>,
        fails: bool,
    },
    /// One operation on several streams.
    OperateAll {
        parts: Vec<(usize, Vec<Touch>)>,
        fails: bool,
    },
    Record {
        event: usize,
        stream: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    StreamSynchronize(usize),
    StreamQuery(usize),
    EventSynchronize(usize),
    /// While the host waits for an event, another thread records it.
    EventSynchronizeAndRecord {
        event: usize,
        stream: usize,
    },
    EventQuery(usize),
    DeviceSynchronize(usize),
    Host(Touch),
    Progress(usize),
    /// The handle goes to the pool.
    Drop(usize),
    /// The handle leaves the crate, and an event stays behind or nothing does.
    Retire {
        stream: usize,
        event: bool,
    },
    Create {
        device: usize,
        blocking: bool,
    },
    PerThread(usize),
}

impl Step {
    /// Returns the step of a number; any number is one.
    pub(crate) fn of(number: u64) -> Self {
        let mut d = Digits(number);
        match d.below(100) {
            0..36 => {
                let stream = d.below(60);
                let fails = d.below(8) == 0;
                let touches = (0..[0, 1, 1, 1, 2, 2, 3][d.below(7)]).map(|_| Self::touch(&mut d)).collect();
                Self::Operate { stream, touches, fails }
            }
            36..42 => {
                let fails = d.below(8) == 0;
                let part = |d: &mut Digits| (d.below(60), vec![Self::touch(d)]);
                let mut parts: Vec<_> = (0..2 + d.below(2)).map(|_| part(&mut d)).collect();
                if d.below(3) == 0 {
                    parts[0].1.push(Self::touch(&mut d));
                }
                Self::OperateAll { parts, fails }
            }
            42..54 => Self::Record { event: d.below(EVENTS), stream: d.below(60) },
            54..66 => Self::Wait { stream: d.below(60), event: d.below(EVENTS) },
            66..69 => Self::StreamSynchronize(d.below(60)),
            69..73 => Self::StreamQuery(d.below(60)),
            73..74 => Self::EventSynchronize(d.below(EVENTS)),
            74..75 => Self::EventSynchronizeAndRecord { event: d.below(EVENTS), stream: d.below(60) },
            75..79 => Self::EventQuery(d.below(EVENTS)),
            79..80 => Self::DeviceSynchronize(d.below(DEVICES)),
            80..85 => Self::Host(Touch { at_call: false, ..Self::touch(&mut d) }),
            85..92 => Self::Progress(d.below(40)),
            92..94 => Self::Drop(d.below(60)),
            94..95 => Self::Retire { stream: d.below(60), event: d.below(3) > 0 },
            95..99 => Self::Create { device: d.below(DEVICES), blocking: d.below(2) == 0 },
            _ => Self::PerThread(d.below(DEVICES)),
        }
    }

    fn touch(d: &mut Digits) -> Touch {
        let buffer = d.below(BUFFERS);
        let mode = if d.below(2) == 0 { Mode::Read } else { Mode::Write };
        let (start, end) =
            [(0, BYTES), (0, BYTES), (0, BYTES), (0, 8), (8, BYTES), (4, 12), (4, 4), (0, 4)][d.below(8)];
        let at_call = mode == Mode::Read && d.below(3) == 0;
        Touch { buffer, start, end, mode, at_call }
    }
}
