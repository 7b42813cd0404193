//! The tracker against a brute-force model of happens-before, over random programs.
//!
//! The model stores, for every operation, the set of all operations that CUDA guarantees to be complete
//! before it, and nothing cleverer. A program is a list of numbers. Any list is a program, so a failing one
//! is shrunk by leaving numbers out.
//!
//! `HAZARD_PROGRAMS=n` runs another number of programs, `HAZARD_SEED=n` begins with another seed.
#![expect(unsafe_code, reason = "implements backends")]

mod bench;
mod host;
mod model;
mod operate;
mod operate_all;
mod program;
mod step;

use crate::common::Tracker;
use program::{Program, Sabotage, Totals};

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{variable}={value} is not a number")),
        Err(_) => otherwise,
    }
}

#[test]
fn every_conflicting_pair_is_ordered_and_no_wait_is_added_for_nothing() {
    let programs = number("HAZARD_PROGRAMS", 100_000);
    let first = number("HAZARD_SEED", 1);
    let mut seen = Totals::default();
    for seed in first..first + programs {
        let program = Program::random(seed);
        match program.run(Sabotage::None) {
            Ok(run) => seen.add(run),
            Err(message) => {
                let (small, message) = program.shrink(message, Sabotage::None);
                panic!("seed {seed}: {message}\nsmallest program that fails:\n{small}");
            }
        }
    }
    println!("{programs} programs: {seen:?}");
    // A test that never gets anywhere would pass too.
    assert!(seen.operations > programs * 5, "{seen:?}");
    assert!(seen.added_waits > programs / 2, "{seen:?}");
    assert!(seen.ordered_pairs > programs, "{seen:?}");
    assert!(seen.refusals > programs / 10, "{seen:?}");
    assert!(seen.host_waits > programs / 10, "{seen:?}");
    assert!(seen.by_legacy_rule > programs / 10, "{seen:?}");
    assert!(seen.repeated > programs / 100, "{seen:?}");
    assert!(seen.on_several > programs / 2 && seen.overlaps > programs / 20, "{seen:?}");
    assert!(seen.frees > programs / 5, "{seen:?}");
    assert!(seen.reused_timelines > programs / 100, "{seen:?}");
}

#[test]
fn the_model_catches_a_tracker_whose_waits_do_nothing() {
    assert!(caught_within(200, Sabotage::NoWait));
}

#[test]
fn the_model_catches_a_tracker_that_waits_for_everything() {
    assert!(caught_within(200, Sabotage::WaitTwice));
}

#[test]
fn the_model_catches_a_host_that_does_not_wait() {
    assert!(caught_within(200, Sabotage::NoHostWait));
}

#[test]
fn the_model_catches_a_synchronisation_that_claims_what_came_after_its_call() {
    assert!(caught_within(2000, Sabotage::LateSnapshot));
}

#[test]
fn the_model_catches_a_legacy_stream_that_is_taken_to_wait_for_streams_that_are_gone() {
    assert!(caught_within(2000, Sabotage::NoLastEvent));
}

#[test]
fn the_model_catches_a_tracker_that_relies_on_the_legacy_stream_for_what_is_read_during_the_call() {
    assert!(caught_within(2000, Sabotage::NotAtCall));
}

#[test]
fn the_model_catches_an_event_whose_end_is_taken_for_that_of_another_record() {
    assert!(caught_within(2000, Sabotage::AnyRecord));
}

/// Returns whether one of the first programs exposes the sabotage.
fn caught_within(programs: u64, sabotage: Sabotage) -> bool {
    (1..=programs).any(|seed| Program::random(seed).run(sabotage).is_err())
}

#[test]
fn a_write_after_hundreds_of_readers_comes_after_each_of_them() {
    use std::panic::Location;

    use cuda_hazard::{Access, AccessHistory, Kind, Policy, WaitTarget};
    const READERS: u32 = 300;
    let (tracker, shared) = (Tracker::new(Policy::default), AccessHistory::new(16));
    let stream = || tracker.add_timeline(0, Kind::NonBlocking, WaitTarget::Stream(0)).unwrap();
    let backend = Orders::default();
    let operate = |timeline, access| {
        tracker.enqueue(timeline, &[access], true, &backend, Location::caller(), || Ok(())).unwrap();
    };
    let readers: Vec<_> = (0..READERS).map(|_| stream()).collect();
    for _ in 0..3 {
        for reader in &readers {
            operate(reader, Access::read(&shared, 0..16));
        }
    }
    // Readers of a part, and readers that come once more, are among them.
    operate(readers[7], Access::read(&shared, 0..4));
    operate(readers[8], Access::read(&shared, 0..16));
    assert_eq!(backend.0.get(), 0, "reads do not wait for each other");
    let writer = stream();
    operate(writer, Access::write(&shared, 0..16));
    assert_eq!(backend.0.get(), READERS);
    operate(readers[0], Access::read(&shared, 0..16));
    assert_eq!(backend.0.get(), READERS + 1, "and the readers after the write");
}

/// Counts the waits that are added, and makes them.
#[derive(Default)]
struct Orders(std::cell::Cell<u32>);

// SAFETY: no memory depends on it.
unsafe impl cuda_hazard::EventBackend for Orders {
    type Error = ();

    fn order(
        &self,
        _waiter: &cuda_hazard::Timeline,
        _other: &cuda_hazard::Timeline,
        _: &mut usize,
    ) -> Result<cuda_hazard::WaitMethod, ()> {
        self.0.set(self.0.get() + 1);
        Ok(cuda_hazard::WaitMethod::Stream)
    }
}

#[test]
fn memory_that_an_operation_made_begins_with_its_write() {
    use cuda_hazard::{Access, AccessHistory, Kind, Policy, Refusal, WaitTarget};
    let here = std::panic::Location::caller();
    for policy in [Policy::Order, Policy::Error] {
        let tracker = Tracker::new(Policy::default);
        tracker.set_policy(policy);
        let stream = || tracker.add_timeline(0, Kind::NonBlocking, WaitTarget::Stream(0)).unwrap();
        let (maker, user) = (stream(), stream());
        let orders = Orders::default();
        let first = tracker.enqueue_first(maker, here, || Ok::<(), ()>(())).unwrap();
        let history = AccessHistory::written(64, first);

        let quiet = |mode| tracker.is_quiet(Access::new(&history, 0..1, mode));
        assert!(!quiet(cuda_hazard::Mode::Read), "the host must wait for the memory to be there");
        let use_on = |timeline| {
            tracker.enqueue(timeline, &[Access::read(&history, 8..16)], true, &orders, here, || Ok(()))
        };
        use_on(maker).unwrap();
        assert_eq!(orders.0.get(), 0, "the maker itself is in order");
        match (policy, use_on(user)) {
            (Policy::Error, Err(Refusal::Hazard(hazard))) => assert_eq!(hazard.first, Some(here)),
            (Policy::Order, Ok(_)) => assert_eq!(orders.0.get(), 1, "another stream has to wait"),
            (policy, other) => panic!("{policy:?}: {other:?}"),
        }
        tracker.completed_all(&tracker.snapshot_of(maker));
        tracker.completed_all(&tracker.snapshot_of(user));
        assert!(quiet(cuda_hazard::Mode::Write), "all of it is over");
    }
}

#[test]
fn memory_whose_making_failed_has_no_history_and_its_operation_completes() {
    use cuda_hazard::{Kind, Policy, WaitTarget};
    let tracker = Tracker::new(Policy::default);
    let maker = tracker.add_timeline(0, Kind::NonBlocking, WaitTarget::Stream(0)).unwrap();
    let here = std::panic::Location::caller();
    assert!(tracker.enqueue_first(maker, here, || Err(())).is_err());
    assert_eq!(maker.submitted(), 1, "its number is given out, or others would wait for it for ever");
    tracker.completed_all(&tracker.snapshot_of(maker));
    assert!(maker.is_drained());
}

/// Creates two streams: one has written memory, and the other one was made to wait for that and given
/// nothing.
fn one_that_only_waits(
    tracker: &Tracker,
    kind: cuda_hazard::Kind,
    history: &cuda_hazard::AccessHistory,
) -> (cuda_hazard::TimelineId, cuda_hazard::TimelineId) {
    use cuda_hazard::{Access, Kind, WaitTarget};
    let stream = |kind| tracker.add_timeline(0, kind, WaitTarget::Stream(0)).unwrap();
    let (writes, waits) = (stream(Kind::NonBlocking), stream(kind));
    let write = [Access::write(history, 0..64)];
    let here = std::panic::Location::caller();
    tracker.enqueue(writes, &write, true, &Orders::default(), here, || Ok(())).unwrap();
    let event = tracker.record(writes, || Ok::<(), ()>(())).unwrap();
    tracker.wait(waits, &event, || Ok::<(), ()>(())).unwrap();
    (writes.id, waits.id)
}

#[test]
fn a_stream_that_was_only_made_to_wait_is_not_idle_before_what_it_waits_for_completes() {
    use cuda_hazard::{AccessHistory, Kind, Policy, WaitTarget};
    let (tracker, history) = (Tracker::new(Policy::default), AccessHistory::new(64));
    let (writes, waits) = one_that_only_waits(&tracker, Kind::Blocking, &history);
    let timeline = tracker.timeline(waits).unwrap();
    assert!(timeline.is_drained() && !tracker.is_idle(timeline));
    tracker.retire(timeline, WaitTarget::Device);
    let next = || tracker.add_timeline(0, Kind::Blocking, WaitTarget::Stream(0)).unwrap().id;
    assert_ne!(next(), waits);
    tracker.completed_all(&tracker.snapshot_of(tracker.timeline(writes).unwrap()));
    assert!(tracker.is_idle(timeline));
    assert_eq!(next(), waits);
}

/// While a stream is being made to wait for another one, that one's work turns out to be complete, it goes,
/// and a new stream comes, which gets its timeline if nothing prevents that.
struct Meanwhile<'a> {
    tracker: &'a Tracker,
    orders: Orders,
}

impl Meanwhile<'_> {
    /// Returns whether the event is recorded on the new stream.
    fn comes(&self, other: &cuda_hazard::Timeline) -> bool {
        self.orders.0.set(self.orders.0.get() + 1);
        crate::common::complete(other);
        self.tracker.retire(other, cuda_hazard::WaitTarget::Device);
        self.tracker.add_timeline(0, other.kind, cuda_hazard::WaitTarget::Stream(0)).unwrap().id == other.id
    }
}

// SAFETY: no memory depends on it.
unsafe impl cuda_hazard::EventBackend for Meanwhile<'_> {
    type Error = ();

    fn order(
        &self,
        _: &cuda_hazard::Timeline,
        other: &cuda_hazard::Timeline,
        _: &mut usize,
    ) -> Result<cuda_hazard::WaitMethod, ()> {
        // Otherwise the whole device is waited for, which is not noted here.
        Ok(if self.comes(other) { cuda_hazard::WaitMethod::Stream } else { cuda_hazard::WaitMethod::Host })
    }
}

#[test]
fn a_wait_for_a_stream_whose_timeline_is_reused_meanwhile_joins_only_what_the_new_stream_is_ordered_after() {
    use cuda_hazard::{Access, AccessHistory, Kind, Policy, WaitTarget};
    let (tracker, far, near) =
        (Tracker::new(Policy::default), AccessHistory::new(64), AccessHistory::new(64));
    let (_, waits) = one_that_only_waits(&tracker, Kind::NonBlocking, &far);
    let backend = Meanwhile { tracker: &tracker, orders: Orders::default() };
    let here = std::panic::Location::caller();
    let write = |timeline, history| {
        tracker.enqueue(timeline, &[Access::write(history, 0..64)], true, &backend, here, || Ok(())).unwrap();
    };
    // Submitted before the stream was made to wait, by what the tracker can know.
    write(tracker.timeline(waits).unwrap(), &near);
    let third = tracker.add_timeline(0, Kind::NonBlocking, WaitTarget::Stream(0)).unwrap();
    write(third, &near);
    let before = backend.orders.0.get();
    assert!(before > 0);
    write(third, &far);
    assert!(backend.orders.0.get() > before, "the first stream's write was never waited for");
}
