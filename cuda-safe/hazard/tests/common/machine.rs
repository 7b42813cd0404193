//! The model: streams, events and what is guaranteed to be over before what. As CUDA documents it, and as
//! little of it as is documented. And less where hardware does less: see [`Touch::at_call`].

use cuda_hazard::{Kind, Mode, TimelineId};

/// Operations that a program can have.
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
    /// Read during the call, if the stream has nothing to do then. What the legacy stream implies is not
    /// looked at.
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

/// What is over before an operation.
#[derive(Clone, Copy)]
pub(crate) struct Orders {
    pub(crate) all: Set,
    /// Before what it may read during the call: as long as the stream's own queue has any of this, nothing is
    /// read so.
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
    /// All that is over before the stream's next operation, whatever that is.
    pub(crate) tail: Set,
    /// Whether somebody may have destroyed it: nothing says that the legacy stream waits for what it was
    /// given.
    pub(crate) gone: bool,
}

/// All devices.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) nodes: Vec<Node>,
    pub(crate) tracks: Vec<Track>,
    /// What an operation of a blocking stream of the device waits for on the legacy stream's account.
    legacy_out: [Set; 2],
    /// What has run.
    done: Set,
    /// What the host has been told is over. Less than `done`: luck proves nothing.
    pub(crate) proven: Set,
}

impl Machine {
    /// All that is over before the next *real* operation of a stream.
    pub(crate) fn before_next(&self, track: usize) -> Set {
        let Track { kind, device, tail, .. } = self.tracks[track];
        match kind {
            Kind::NonBlocking => tail,
            Kind::Blocking | Kind::PerThread => tail.or(self.legacy_out[device]),
            Kind::Legacy => self.with_blocking(device, tail),
        }
    }

    /// The same, and what is over before that operation's reads during the call.
    pub(crate) fn orders(&self, track: usize) -> Orders {
        Orders { all: self.before_next(track), at_call: self.tracks[track].tail }
    }

    /// A set, and all that the blocking streams of a device have been given.
    fn with_blocking(&self, device: usize, mut set: Set) -> Set {
        for track in &self.tracks {
            if track.device == device && !track.gone && matches!(track.kind, Kind::Blocking | Kind::PerThread)
            {
                set.join(track.tail);
            }
        }
        set
    }

    /// The stream does something that really happens. Gives all that is over before it.
    fn act(&mut self, track: usize) -> Set {
        let before = self.before_next(track);
        self.tracks[track].tail = before;
        if self.tracks[track].kind == Kind::Legacy {
            self.legacy_out[self.tracks[track].device].join(before);
        }
        before
    }

    /// An operation with accesses.
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

    /// An event recorded now stands for this.
    ///
    /// The event of a blocking stream comes after the legacy stream's work, but the record alone does not put
    /// the stream behind it: on hardware such a stream is found idle, and waiting for it returns, while its
    /// event is pending.
    pub(crate) fn record(&mut self, track: usize) -> Set {
        if self.tracks[track].kind == Kind::Legacy { self.act(track) } else { self.before_next(track) }
    }

    /// The stream waits for an event. If what it stands for is over, that may be no operation at all.
    pub(crate) fn wait(&mut self, track: usize, event: Set) {
        let Track { kind, device, .. } = self.tracks[track];
        self.tracks[track].tail.join(event);
        if kind == Kind::Legacy {
            self.legacy_out[device].join(event);
        }
    }

    /// What the end of a stream's queue means.
    pub(crate) fn end_of(&self, track: usize) -> Set {
        let Track { kind, device, tail, .. } = self.tracks[track];
        if kind == Kind::Legacy { self.with_blocking(device, tail) } else { tail }
    }

    /// What the end of a device's work means.
    pub(crate) fn end_of_device(&self, device: usize) -> Set {
        let mut set = Set::default();
        for track in self.tracks.iter().filter(|track| track.device == device) {
            set.join(track.tail);
        }
        set
    }

    /// The host has waited for this.
    pub(crate) fn waited(&mut self, set: Set) {
        self.done.join(set);
        self.proven.join(set);
    }

    /// The host asks whether this is over.
    pub(crate) fn ask(&mut self, set: Set) -> bool {
        let over = set.within(self.done);
        if over {
            self.proven.join(set);
        }
        over
    }

    /// The devices get on: some operation that could run does. `choice` says which.
    pub(crate) fn progress(&mut self, choice: usize) {
        let ready: Vec<usize> = (0..self.nodes.len())
            .filter(|node| !self.done.contains(*node) && self.nodes[*node].before.all.within(self.done))
            .collect();
        if !ready.is_empty() {
            self.done.insert(ready[choice % ready.len()]);
        }
    }

    /// The operations that conflict with `touches` and are in none of `ordered` and the host's knowledge.
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

    /// Whether an operation conflicts with `touches`.
    pub(crate) fn conflicts(&self, node: usize, touches: &[Touch]) -> bool {
        self.nodes[node].touches.iter().any(|a| touches.iter().any(|b| a.conflicts(b)))
    }
}
