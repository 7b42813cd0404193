//! The tracker against a brute-force model of happens-before, over random programs.
//!
//! The model keeps, for every operation, the set of all operations that CUDA guarantees to be over before it,
//! and nothing cleverer. A program is a list of numbers, any list is a program, so a failing one is cut down
//! by leaving numbers out.
//!
//! `HAZARD_PROGRAMS=n` runs another number of programs, `HAZARD_SEED=n` begins with another seed.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "tests")]
#![expect(unsafe_code, reason = "implements ports")]

mod bench;
#[path = "../common/mod.rs"]
mod common;
mod host;
mod model;
mod operate;
mod program;
mod step;

use common::Tracker;
use program::{Program, Run, Sabotage};

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
    let mut seen = Run::default();
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
    assert!(seen.reused_slots > programs / 100, "{seen:?}");
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
    assert!(caught_within(2000, Sabotage::LateCoverage));
}

#[test]
fn the_model_catches_a_legacy_stream_that_is_taken_to_wait_for_streams_that_are_gone() {
    assert!(caught_within(2000, Sabotage::NoFarewell));
}

#[test]
fn the_model_catches_a_tracker_that_relies_on_the_legacy_stream_for_what_is_read_during_the_call() {
    assert!(caught_within(2000, Sabotage::NotAtCall));
}

/// Whether one of the first programs finds the tracker out.
fn caught_within(programs: u64, sabotage: Sabotage) -> bool {
    (1..=programs).any(|seed| Program::random(seed).run(sabotage).is_err())
}

/// Counts the waits that are added, and makes them.
#[derive(Default)]
struct Orders(std::cell::Cell<u32>);

// SAFETY: no memory depends on it.
unsafe impl cuda_hazard::Port for Orders {
    type Error = ();

    fn order(
        &self,
        _waiter: &cuda_hazard::Slot,
        _other: &cuda_hazard::Slot,
        _: &mut usize,
    ) -> Result<cuda_hazard::Route, ()> {
        self.0.set(self.0.get() + 1);
        Ok(cuda_hazard::Route::Stream)
    }
}

#[test]
fn memory_that_an_operation_made_begins_with_its_write() {
    use cuda_hazard::{Access, Kind, Ledger, Policy, Reach, Refusal};
    let here = std::panic::Location::caller();
    for policy in [Policy::Order, Policy::Error] {
        let books = Tracker::new(Policy::default);
        books.set_policy(policy);
        let stream = || books.enrol(0, Kind::NonBlocking, Reach::Stream(0)).unwrap();
        let (maker, user) = (stream(), stream());
        let orders = Orders::default();
        let first = books.enqueue_first(maker, here, || Ok::<(), ()>(())).unwrap();
        let ledger = Ledger::written(64, first);

        let quiet = |mode| books.is_quiet(Access::new(&ledger, 0..1, mode));
        assert!(!quiet(cuda_hazard::Mode::Read), "the host must wait for the memory to be there");
        let use_on =
            |slot| books.enqueue(slot, &[Access::read(&ledger, 8..16)], true, &orders, here, || Ok(()));
        use_on(maker).unwrap();
        assert_eq!(orders.0.get(), 0, "the maker itself is in order");
        match (policy, use_on(user)) {
            (Policy::Error, Err(Refusal::Hazard(hazard))) => assert_eq!(hazard.first, Some(here)),
            (Policy::Order, Ok(_)) => assert_eq!(orders.0.get(), 1, "another stream has to wait"),
            (policy, other) => panic!("{policy:?}: {other:?}"),
        }
        books.completed_all(&books.coverage_of(maker));
        books.completed_all(&books.coverage_of(user));
        assert!(quiet(cuda_hazard::Mode::Write), "all of it is over");
    }
}

#[test]
fn memory_whose_making_failed_is_nobodys_and_its_operation_is_over() {
    use cuda_hazard::{Kind, Policy, Reach};
    let books = Tracker::new(Policy::default);
    let maker = books.enrol(0, Kind::NonBlocking, Reach::Stream(0)).unwrap();
    let here = std::panic::Location::caller();
    assert!(books.enqueue_first(maker, here, || Err(())).is_err());
    assert_eq!(maker.submitted(), 1, "its number is given out, or others would wait for it for ever");
    books.completed_all(&books.coverage_of(maker));
    assert!(maker.is_drained());
}

/// Two streams: one has written memory, and the other one was made to wait for that and given nothing.
fn one_that_only_waits(
    books: &Tracker,
    kind: cuda_hazard::Kind,
    ledger: &cuda_hazard::Ledger,
) -> (cuda_hazard::SlotId, cuda_hazard::SlotId) {
    use cuda_hazard::{Access, Kind, Reach};
    let stream = |kind| books.enrol(0, kind, Reach::Stream(0)).unwrap();
    let (writes, waits) = (stream(Kind::NonBlocking), stream(kind));
    let write = [Access::write(ledger, 0..64)];
    let here = std::panic::Location::caller();
    books.enqueue(writes, &write, true, &Orders::default(), here, || Ok(())).unwrap();
    let event = books.record(writes, || Ok::<(), ()>(())).unwrap();
    books.wait(waits, &event, || Ok::<(), ()>(())).unwrap();
    (writes.id, waits.id)
}

#[test]
fn a_stream_that_was_only_made_to_wait_is_not_over_before_what_it_waits_for() {
    use cuda_hazard::{Kind, Ledger, Policy, Reach};
    let (books, ledger) = (Tracker::new(Policy::default), Ledger::new(64));
    let (writes, waits) = one_that_only_waits(&books, Kind::Blocking, &ledger);
    let slot = books.slot(waits).unwrap();
    assert!(slot.is_drained() && !books.is_over(slot));
    books.dismiss(slot, Reach::Device);
    let next = || books.enrol(0, Kind::Blocking, Reach::Stream(0)).unwrap().id;
    assert_ne!(next(), waits);
    books.completed_all(&books.coverage_of(books.slot(writes).unwrap()));
    assert!(books.is_over(slot));
    assert_eq!(next(), waits);
}

/// While a stream is being made to wait for another one, that one's work turns out to be over, it goes, and a
/// new stream comes, which gets its slot if there is nothing against that.
struct Meanwhile<'a> {
    books: &'a Tracker,
    orders: Orders,
}

impl Meanwhile<'_> {
    /// Whether it is the new stream whose event is recorded.
    fn comes(&self, other: &cuda_hazard::Slot) -> bool {
        self.orders.0.set(self.orders.0.get() + 1);
        common::complete(other);
        self.books.dismiss(other, cuda_hazard::Reach::Device);
        self.books.enrol(0, other.kind, cuda_hazard::Reach::Stream(0)).unwrap().id == other.id
    }
}

// SAFETY: no memory depends on it.
unsafe impl cuda_hazard::Port for Meanwhile<'_> {
    type Error = ();

    fn order(
        &self,
        _: &cuda_hazard::Slot,
        other: &cuda_hazard::Slot,
        _: &mut usize,
    ) -> Result<cuda_hazard::Route, ()> {
        // Else the whole device is waited for, of which nothing is noted here.
        Ok(if self.comes(other) { cuda_hazard::Route::Stream } else { cuda_hazard::Route::Host })
    }
}

#[test]
fn who_waits_for_a_stream_whose_slot_another_one_gets_meanwhile_learns_nothing_that_the_other_one_does_not_know()
 {
    use cuda_hazard::{Access, Kind, Ledger, Policy, Reach};
    let (books, far, near) = (Tracker::new(Policy::default), Ledger::new(64), Ledger::new(64));
    let (_, waits) = one_that_only_waits(&books, Kind::NonBlocking, &far);
    let port = Meanwhile { books: &books, orders: Orders::default() };
    let here = std::panic::Location::caller();
    let write = |slot, ledger| {
        books.enqueue(slot, &[Access::write(ledger, 0..64)], true, &port, here, || Ok(())).unwrap();
    };
    // Given before it was made to wait, as far as anybody knows.
    write(books.slot(waits).unwrap(), &near);
    let third = books.enrol(0, Kind::NonBlocking, Reach::Stream(0)).unwrap();
    write(third, &near);
    let before = port.orders.0.get();
    assert!(before > 0);
    write(third, &far);
    assert!(port.orders.0.get() > before, "the first stream's write was never waited for");
}
