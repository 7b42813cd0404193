//! The model of the devices: streams, events, and what is guaranteed to be complete before what.
//!
//! It follows CUDA's documents, and as little of them as suffices. Where hardware guarantees less, so does
//! it: see [`Touch::at_call`].

use cuda_hazard::{Kind, Mode, TimelineId};

/// The number of words of a set, which limits the operations of a program.
const WORDS: usize = 4;

/// A set of operations.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Set([u64; WORDS]);

impl Set {
    pub(crate) const LIMIT: usize = WORDS * 64;

    pub(crate) fn insert(&mut self, node: usize) {
        self.0[node / 64] |= 1 << (node % 64);
    }

    pub(crate) fn contains(&self, node: usize) -> bool {
        self.0[node / 64] >> (node % 64) & 1 == 1
    }

    pub(crate) fn join(&mut self, other: Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    pub(crate) fn or(mut self, other: Self) -> Self {
        self.join(other);
        self
    }

    pub(crate) fn within(self, other: Self) -> bool {
        self.or(other) == other
    }
}

/// Bytes of a buffer that an operation touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) buffer: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
    /// Read during the call, if the stream has nothing to do then. What the legacy stream implies does not
    /// order it.
    pub(crate) at_call: bool,
}

impl Touch {
    fn conflicts(&self, other: &Self) -> bool {
        self.buffer == other.buffer
            && self.start < other.end
            && other.start < self.end
            && (self.mode == Mode::Write || other.mode == Mode::Write)
    }
}

/// An operation that a device was given.
pub(crate) struct Node {
    pub(crate) timeline: TimelineId,
    pub(crate) touches: Vec<Touch>,
    pub(crate) before: Orders,
}

/// What is complete before an operation.
#[derive(Clone, Copy)]
pub(crate) struct Orders {
    pub(crate) all: Set,
    /// What is complete before the reads during its call: as long as any of this is in the stream's own
    /// queue, nothing is read so.
    pub(crate) at_call: Set,
}

impl Orders {
    pub(crate) fn of(all: Set) -> Self {
        Self { all, at_call: all }
    }
}

/// A stream of the model.
pub(crate) struct Track {
    pub(crate) timeline: TimelineId,
    pub(crate) kind: Kind,
    pub(crate) device: usize,
    /// Everything that is complete before the stream's next operation, whatever that is.
    pub(crate) tail: Set,
    /// Whether it may have been destroyed: nothing guarantees that the legacy stream waits for what it was
    /// given.
    pub(crate) gone: bool,
}

/// All devices.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) nodes: Vec<Node>,
    pub(crate) tracks: Vec<Track>,
    /// What an operation of a blocking stream of the device waits for by the legacy rule.
    legacy_out: [Set; 2],
    /// The operations that have run.
    done: Set,
    /// The operations that the host can know to be complete. A subset of `done`: luck proves nothing.
    pub(crate) proven: Set,
}

impl Machine {
    /// Returns everything that is complete before the next *action* of a stream.
    pub(crate) fn before_next(&self, track: usize) -> Set {
        let Track { kind, device, tail, .. } = self.tracks[track];
        match kind {
            Kind::NonBlocking => tail,
            Kind::Blocking | Kind::PerThread => tail.or(self.legacy_out[device]),
            Kind::Legacy => self.with_blocking(device, tail),
        }
    }

    /// [`before_next`](Self::before_next), and what is complete before that operation's reads during the
    /// call.
    pub(crate) fn orders(&self, track: usize) -> Orders {
        Orders { all: self.before_next(track), at_call: self.tracks[track].tail }
    }

    /// Returns a set, joined with everything that the blocking streams of a device have been given.
    fn with_blocking(&self, device: usize, mut set: Set) -> Set {
        for track in &self.tracks {
            if track.device == device && !track.gone && matches!(track.kind, Kind::Blocking | Kind::PerThread)
            {
                set.join(track.tail);
            }
        }
        set
    }

    /// The stream does something that really happens. Returns everything that is complete before it.
    fn act(&mut self, track: usize) -> Set {
        let before = self.before_next(track);
        self.tracks[track].tail = before;
        if self.tracks[track].kind == Kind::Legacy {
            self.legacy_out[self.tracks[track].device].join(before);
        }
        before
    }

    /// Adds an operation with accesses.
    pub(crate) fn operate(&mut self, track: usize, touches: Vec<Touch>) -> usize {
        let before = self.orders(track);
        self.act(track);
        let node = self.nodes.len();
        self.nodes.push(Node { timeline: self.tracks[track].timeline, touches, before });
        self.tracks[track].tail.insert(node);
        if self.tracks[track].kind == Kind::Legacy {
            self.legacy_out[self.tracks[track].device].insert(node);
        }
        node
    }

    /// Returns what an event that is recorded now comes after.
    ///
    /// The event of a blocking stream comes after the legacy stream's work, but the record alone does not
    /// order the stream after it: on hardware such a stream is found idle, and waiting for it returns, while
    /// its event is pending.
    pub(crate) fn record(&mut self, track: usize) -> Set {
        if self.tracks[track].kind == Kind::Legacy { self.act(track) } else { self.before_next(track) }
    }

    /// Makes the stream wait for an event. If everything before the event is complete, that may be no
    /// operation at all.
    pub(crate) fn wait(&mut self, track: usize, event: Set) {
        let Track { kind, device, .. } = self.tracks[track];
        self.tracks[track].tail.join(event);
        if kind == Kind::Legacy {
            self.legacy_out[device].join(event);
        }
    }

    /// Returns what the end of a stream's queue proves.
    pub(crate) fn end_of(&self, track: usize) -> Set {
        let Track { kind, device, tail, .. } = self.tracks[track];
        if kind == Kind::Legacy { self.with_blocking(device, tail) } else { tail }
    }

    /// Returns what the end of a device's work proves.
    pub(crate) fn end_of_device(&self, device: usize) -> Set {
        let mut set = Set::default();
        for track in self.tracks.iter().filter(|track| track.device == device) {
            set.join(track.tail);
        }
        set
    }

    /// Notes that the host has waited for this.
    pub(crate) fn waited(&mut self, set: Set) {
        self.done.join(set);
        self.proven.join(set);
    }

    /// Returns whether this is complete, asked by the host.
    pub(crate) fn ask(&mut self, set: Set) -> bool {
        let over = set.within(self.done);
        if over {
            self.proven.join(set);
        }
        over
    }

    /// Runs some operation that can run; `choice` selects it.
    pub(crate) fn progress(&mut self, choice: usize) {
        let ready: Vec<usize> = (0..self.nodes.len())
            .filter(|node| !self.done.contains(*node) && self.nodes[*node].before.all.within(self.done))
            .collect();
        if !ready.is_empty() {
            self.done.insert(ready[choice % ready.len()]);
        }
    }

    /// Returns the operations that conflict with `touches`, and that neither `ordered` nor the host's waits
    /// cover.
    pub(crate) fn unordered<'a>(
        &'a self,
        touches: &'a [Touch],
        ordered: Orders,
    ) -> impl Iterator<Item = usize> + 'a {
        (0..self.nodes.len()).filter(move |node| {
            let open = |touch: &Touch| {
                let before = if touch.at_call { ordered.at_call } else { ordered.all };
                !before.contains(*node) && self.conflicts(*node, std::slice::from_ref(touch))
            };
            !self.proven.contains(*node) && touches.iter().any(open)
        })
    }

    /// Returns whether an operation conflicts with `touches`.
    pub(crate) fn conflicts(&self, node: usize, touches: &[Touch]) -> bool {
        self.nodes[node].touches.iter().any(|a| touches.iter().any(|b| a.conflicts(b)))
    }
}
