//! Exact happens-before between the operations of streams, without adding a wait.
//!
//! This is Lamport's relation ("Time, Clocks, and the Ordering of Events in a Distributed System", 1978) for
//! CUDA's streams: a stream is a [timeline](Timeline), and its operations are numbered. A [vector
//! clock](VectorClock) holds, for each timeline, the last operation that happens before something. An
//! [epoch](Epoch), FastTrack's `c@t` (Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race
//! Detection", 2009), is one operation, and all before it on its timeline.
//!
//! A [`HappensBefore`] is changed by one thread and forgets nothing: a race detector can ask it. The
//! [tracker](crate::Tracker) is built of the same clocks, epochs and events, and follows the same rules. It
//! spreads the state over its timelines, so that each has a lock of its own, and it forgets what has
//! completed. So this module is also the plain statement of the rules that the tracker may rely on.
//!
//! # Examples
//! ```
//! use cuda_hazard::Kind;
//! use cuda_hazard::happens_before::HappensBefore;
//!
//! let mut order = HappensBefore::new();
//! let (a, b) = (order.timeline(0, Kind::NonBlocking), order.timeline(0, Kind::NonBlocking));
//! let written = order.operate(a);
//! assert!(!order.is_before_next(written, b)); // a race, if the next operation of `b` touches the same bytes
//! let event = order.record(a);
//! order.wait(b, &event);
//! assert!(order.is_before_next(written, b));
//! ```

use std::fmt;

pub use crate::clock::{Epoch, SequenceNumber, TimelineId as Timeline, VectorClock};
pub use crate::device::Kind;
pub use crate::snapshot::EventClock;

/// Timelines, and what happens before the next operation of each.
#[derive(Clone, Default)]
pub struct HappensBefore {
    timelines: Vec<State>,
}

/// The state of a timeline.
#[derive(Clone, Debug)]
struct State {
    device: i32,
    kind: Kind,
    /// Operations so far.
    last: SequenceNumber,
    /// The clock of its next operation, without the additions of the legacy rule.
    clock: VectorClock,
    /// Of a legacy stream: what its last action comes after, itself included.
    last_action: VectorClock,
}

impl HappensBefore {
    /// Creates an order without timelines.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a timeline of a device. A device has at most one legacy stream. The host's threads can be
    /// timelines too, of kind `NonBlocking`: a synchronisation is an event that they wait for.
    pub fn timeline(&mut self, device: i32, kind: Kind) -> Timeline {
        // Two million streams are the tracker's limit; 2^32 are out of reach.
        let id = Timeline(u32::try_from(self.timelines.len()).unwrap_or(u32::MAX));
        self.timelines.push(State {
            device,
            kind,
            last: 0,
            clock: VectorClock::new(),
            last_action: VectorClock::new(),
        });
        id
    }

    /// Adds an operation to a timeline, and returns its epoch. The operation gives the device something to
    /// do: one that does not is ordered by its stream alone, and need not be added.
    ///
    /// It comes after everything that the timeline was given, and after what the legacy rule adds: on a
    /// legacy stream, everything that the device's blocking streams were given; on a blocking stream, the
    /// last action of the legacy stream.
    pub fn operate(&mut self, timeline: Timeline) -> Epoch {
        let by_rule = self.by_legacy_rule(timeline);
        let Some(state) = self.state_mut(timeline) else { return Epoch { timeline, sequence: 0 } };
        state.clock.join_for(&by_rule, timeline);
        state.last += 1;
        let epoch = Epoch { timeline, sequence: state.last };
        state.note_action(epoch);
        epoch
    }

    /// Records an event on a timeline. It comes after everything that the timeline was given, and after all
    /// that this comes after.
    ///
    /// On a legacy stream a record is an action like an operation. On a blocking stream the event comes after
    /// the legacy stream's last action, but the stream itself does so only by its next operation.
    pub fn record(&mut self, timeline: Timeline) -> EventClock {
        let by_rule = self.by_legacy_rule(timeline);
        let mut event_clock = EventClock::new();
        let Some(state) = self.state_mut(timeline) else { return event_clock };
        event_clock.epoch = Epoch { timeline, sequence: state.last };
        if state.kind == Kind::Legacy {
            state.clock.join_for(&by_rule, timeline);
            state.note_action(event_clock.epoch);
        }
        event_clock.clock.clone_from(&state.clock);
        event_clock.clock.join_for(&by_rule, timeline);
        event_clock
    }

    /// Makes everything that a timeline is given from now on come after an event: joins its clock with the
    /// event's.
    pub fn wait(&mut self, timeline: Timeline, event: &EventClock) {
        let Some(state) = self.state_mut(timeline) else { return };
        // A stream's own events add nothing to its order.
        if event.epoch.timeline == timeline {
            return;
        }
        state.clock.join_for(&event.clock, timeline);
        state.clock.add(event.epoch);
        if state.kind == Kind::Legacy {
            // A wait for what has completed need not be an action of the legacy stream, but it happens before
            // the next one.
            let epoch = Epoch { timeline, sequence: state.last };
            state.note_action(epoch);
        }
    }

    /// [`record`](Self::record) on one timeline, and [`wait`](Self::wait) for it on another.
    pub fn join(&mut self, waiter: Timeline, other: Timeline) {
        let event = self.record(other);
        self.wait(waiter, &event);
    }

    /// Returns whether an operation happens before the next one of a timeline.
    #[must_use]
    pub fn is_before_next(&self, epoch: Epoch, timeline: Timeline) -> bool {
        let own = epoch.timeline == timeline;
        own || self.state(timeline).is_some_and(|state| state.clock.covers(epoch))
            || self.by_legacy_rule(timeline).covers(epoch)
    }

    /// Returns the vector clock of a timeline's next operation: what happens before it on other timelines.
    #[must_use]
    pub fn clock_of_next(&self, timeline: Timeline) -> VectorClock {
        let mut clock = self.by_legacy_rule(timeline);
        if let Some(state) = self.state(timeline) {
            clock.join(&state.clock);
        }
        clock
    }

    /// Returns what the legacy rule adds to what happens before the next action of a timeline.
    fn by_legacy_rule(&self, timeline: Timeline) -> VectorClock {
        let mut clock = VectorClock::new();
        let Some(state) = self.state(timeline) else { return clock };
        for (id, other) in (0..).map(Timeline).zip(&self.timelines) {
            if other.device != state.device || id == timeline {
                continue;
            }
            if state.kind == Kind::Legacy && other.kind.blocking() {
                clock.join(&other.clock);
                clock.add(Epoch { timeline: id, sequence: other.last });
            } else if state.kind.blocking() && other.kind == Kind::Legacy {
                clock.join(&other.last_action);
            }
        }
        clock
    }

    fn state(&self, timeline: Timeline) -> Option<&State> {
        self.timelines.get(usize::try_from(timeline.0).ok()?)
    }

    fn state_mut(&mut self, timeline: Timeline) -> Option<&mut State> {
        self.timelines.get_mut(usize::try_from(timeline.0).ok()?)
    }
}

impl State {
    /// Notes that a legacy stream acts by this operation, or after it.
    fn note_action(&mut self, epoch: Epoch) {
        if self.kind == Kind::Legacy {
            self.last_action.clone_from(&self.clock);
            self.last_action.add(epoch);
        }
    }
}

impl fmt::Debug for HappensBefore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.timelines).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_event_carries_what_its_stream_waited_for() {
        let mut order = HappensBefore::new();
        let [a, b, c] = [(); 3].map(|()| order.timeline(0, Kind::NonBlocking));
        let first = order.operate(a);
        order.join(b, a);
        let later = order.operate(a);
        order.join(c, b);
        assert!(order.is_before_next(first, c) && order.is_before_next(first, b));
        assert!(!order.is_before_next(later, c) && order.is_before_next(later, a));
        assert_eq!(order.clock_of_next(c).iter().collect::<Vec<_>>(), [first]);
    }

    #[test]
    fn the_legacy_stream_is_ordered_with_blocking_streams_of_its_device_only() {
        let mut order = HappensBefore::new();
        let legacy = order.timeline(0, Kind::Legacy);
        let (blocking, own) = (order.timeline(0, Kind::Blocking), order.timeline(0, Kind::PerThread));
        let (free, elsewhere) = (order.timeline(0, Kind::NonBlocking), order.timeline(1, Kind::Blocking));
        let given = [blocking, own, free, elsewhere].map(|timeline| order.operate(timeline));
        assert_eq!(given.map(|epoch| order.is_before_next(epoch, legacy)), [true, true, false, false]);
        assert!(!order.is_before_next(given[0], own), "the legacy stream has not acted in between");
        let acted = order.operate(legacy);
        assert_eq!(
            [blocking, own, free, elsewhere].map(|timeline| order.is_before_next(acted, timeline)),
            [true, true, false, false]
        );
        assert!(order.is_before_next(given[0], own), "by way of the legacy stream");
    }

    #[test]
    fn an_event_of_a_blocking_stream_comes_after_the_legacy_stream_before_the_stream_does() {
        let mut order = HappensBefore::new();
        let (legacy, blocking) = (order.timeline(0, Kind::Legacy), order.timeline(0, Kind::Blocking));
        let free = order.timeline(0, Kind::NonBlocking);
        let acted = order.operate(legacy);
        order.join(free, blocking);
        assert!(order.is_before_next(acted, free));
        assert!(!order.timelines[1].clock.covers(acted));
        order.operate(blocking);
        assert!(order.timelines[1].clock.covers(acted));
    }

    /// The same relation as sets of all operations that come before.
    #[derive(Clone, Default)]
    struct Sets {
        /// For each timeline: what its next operation comes after, by queue and waits.
        queues: Vec<BTreeSet<(u32, u64)>>,
        last_action: BTreeSet<(u32, u64)>,
    }

    impl Sets {
        fn by_rule(&self, kinds: &[Kind], at: usize) -> BTreeSet<(u32, u64)> {
            let mut all = self.queues[at].clone();
            match kinds[at] {
                Kind::NonBlocking => {}
                Kind::Legacy => {
                    for (other, queue) in self.queues.iter().enumerate() {
                        if kinds[other].blocking() {
                            all.extend(queue);
                        }
                    }
                }
                Kind::Blocking | Kind::PerThread => all.extend(&self.last_action),
            }
            all
        }

        fn set(&mut self, kinds: &[Kind], at: usize, all: BTreeSet<(u32, u64)>) {
            if kinds[at] == Kind::Legacy {
                self.last_action.clone_from(&all);
            }
            self.queues[at] = all;
        }
    }

    #[test]
    fn random_programs_are_ordered_as_sets_of_all_operations_say() {
        let kinds = [
            Kind::Legacy,
            Kind::Blocking,
            Kind::Blocking,
            Kind::PerThread,
            Kind::NonBlocking,
            Kind::NonBlocking,
        ];
        let mut state = 11_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        for _ in 0..300 {
            let mut order = HappensBefore::new();
            let timelines = kinds.map(|kind| order.timeline(0, kind));
            let mut sets = Sets { queues: vec![BTreeSet::new(); kinds.len()], ..Sets::default() };
            let (mut all, mut events) = (Vec::new(), Vec::new());
            for _ in 0..40 {
                let at = random(kinds.len());
                match random(4) {
                    0 | 1 => {
                        let epoch = order.operate(timelines[at]);
                        let mut before = sets.by_rule(&kinds, at);
                        before.insert((epoch.timeline.0, epoch.sequence));
                        sets.set(&kinds, at, before);
                        all.push(epoch);
                    }
                    2 => {
                        let stands_for = sets.by_rule(&kinds, at);
                        if kinds[at] == Kind::Legacy {
                            sets.set(&kinds, at, stands_for.clone());
                        }
                        events.push((at, order.record(timelines[at]), stands_for));
                    }
                    _ if events.is_empty() => {}
                    _ => {
                        let (of, event, stands_for) = &events[random(events.len())];
                        order.wait(timelines[at], event);
                        if *of != at {
                            let more = sets.queues[at].union(stands_for).copied().collect();
                            sets.set(&kinds, at, more);
                        }
                    }
                }
                for (at, timeline) in timelines.iter().enumerate() {
                    let before = sets.by_rule(&kinds, at);
                    for epoch in all.iter().filter(|epoch: &&Epoch| epoch.timeline != *timeline) {
                        let expected = before.contains(&(epoch.timeline.0, epoch.sequence));
                        assert_eq!(
                            order.is_before_next(*epoch, *timeline),
                            expected,
                            "{epoch:?} {timeline:?}"
                        );
                    }
                }
            }
        }
    }
}
