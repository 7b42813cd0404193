//! The tracker's rules between threads, under loom, which runs every interleaving of a few steps.
//!
//! The devices are those of the model test, behind one lock, as if the driver had one. The property is the
//! same too: everything that conflicts is guaranteed to be complete before.
#![expect(unsafe_code, reason = "implements a backend")]

mod lock;
mod world;

use std::sync::Arc;

use crate::common::machine::Touch;
use cuda_hazard::{Access, Kind, Mode, Policy, TimelineId, WaitTarget};
use world::{BYTES, Part, Shared, Taken, World};

/// Runs every interleaving with up to two preemptions.
fn every_order(f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(f);
}

const FREE: Kind = Kind::NonBlocking;

fn two_threads_take_two_buffers_in_either_order(sorted: bool) {
    every_order(move || {
        let (mut world, ids) = World::new(&[FREE, FREE]);
        Arc::get_mut(&mut world).unwrap().sorted = sorted.then_some(ids[1]);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || {
                world.operate(id, &[(1, Mode::Write), (0, Mode::Write)], false).unwrap()
            })
        };
        world.operate(ids[0], &[(0, Mode::Write), (1, Mode::Write)], false).unwrap();
        other.join().unwrap();
        assert_eq!(world.tracker.added_waits(), 1, "whoever came second has waited for the first");
    });
}

#[test]
fn two_threads_that_take_two_buffers_in_either_order_get_through_and_are_ordered() {
    two_threads_take_two_buffers_in_either_order(false);
}

#[test]
fn so_they_do_if_one_has_sorted_its_accesses_in_advance() {
    two_threads_take_two_buffers_in_either_order(true);
}

#[test]
fn readers_and_a_writer_on_three_streams_are_ordered() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE, FREE]);
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || world.operate(id, &[(0, Mode::Read)], false).unwrap())
        };
        world.operate(ids[0], &[(0, Mode::Read), (1, Mode::Write)], false).unwrap();
        other.join().unwrap();
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
    });
}

/// Writes memory through an exclusive borrow while another stream reaches it without one, as a graph that
/// retains it does. The first stream wrote it before, so its second write would take the fast path. So it
/// would if a third stream wrote it.
/// Two streams read a buffer. Then one of them reads it again, or a third one does for the first time, while
/// a fourth one writes it.
fn a_read_beside_a_write(reader: usize) {
    every_order(move || {
        let (world, ids) = World::new(&[FREE, FREE, FREE, FREE]);
        for id in &ids[..2] {
            world.operate(*id, &[(0, Mode::Read)], false).unwrap();
        }
        let other = {
            let (world, id) = (Arc::clone(&world), ids[reader]);
            loom::thread::spawn(move || world.operate(id, &[(0, Mode::Read)], false).unwrap())
        };
        world.operate(ids[3], &[(0, Mode::Write)], false).unwrap();
        other.join().unwrap();
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
    });
}

#[test]
fn a_stream_that_reads_again_and_one_that_writes_see_each_other() {
    a_read_beside_a_write(1);
}

#[test]
fn a_stream_that_reads_for_the_first_time_and_one_that_writes_see_each_other() {
    a_read_beside_a_write(2);
}

#[test]
fn readers_that_read_again_at_the_same_moment_hold_nobody_up() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE, FREE]);
        for id in &ids[..2] {
            world.operate(*id, &[(0, Mode::Read)], false).unwrap();
        }
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || {
                world.operate(id, &[(0, Mode::Read), (1, Mode::Write)], false).unwrap()
            })
        };
        world.operate(ids[0], &[(0, Mode::Read), (1, Mode::Write)], false).unwrap();
        other.join().unwrap();
        assert_eq!(world.tracker.added_waits(), 1, "for the buffer that both write");
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
        assert_eq!(world.tracker.added_waits(), 2, "the later of the two comes after the other");
    });
}

fn write_beside_a_graph(retained: bool, before: usize) {
    let (world, ids) = World::new(&[FREE, FREE, FREE]);
    if retained {
        assert!(
            world.histories[0].retain_fn().is_none(),
            "no owners are counted here, but the question was asked"
        );
    }
    world.operate(ids[before], &[(0, Mode::Write)], false).unwrap();
    let touches = [(0, Mode::Write)];
    let other = {
        let (world, id) = (Arc::clone(&world), ids[1]);
        loom::thread::spawn(move || {
            let access = Access::write(&world.histories[0], 0..BYTES).unborrowed();
            world.operate_with(world.tracker.timeline(id).unwrap(), &[access], &touches, false).unwrap();
        })
    };
    let access = crate::common::exclusive(Access::write(&world.histories[0], 0..BYTES));
    world.operate_with(world.tracker.timeline(ids[0]).unwrap(), &[access], &touches, false).unwrap();
    other.join().unwrap();
}

#[test]
fn an_exclusive_borrow_overlooks_no_graph_that_retains_the_memory() {
    every_order(|| write_beside_a_graph(true, 0));
    every_order(|| write_beside_a_graph(true, 2));
}

#[test]
#[should_panic(expected = "races")]
fn if_nothing_retained_the_memory_the_fast_path_would_overlook_an_access_without_a_borrow() {
    every_order(|| write_beside_a_graph(false, 0));
}

#[test]
#[should_panic(expected = "races")]
fn so_it_would_if_it_takes_over_from_another_stream() {
    every_order(|| write_beside_a_graph(false, 2));
}

#[test]
fn an_operation_that_leaves_the_fast_path_half_way_is_ordered_and_holds_no_thread_up() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE]);
        let graphs = ids[1];
        let graph = move |world: &World, buffer: usize| {
            let access = Access::write(&world.histories[buffer], 0..BYTES).unborrowed();
            let timeline = world.tracker.timeline(graphs).unwrap();
            world.operate_with(timeline, &[access], &[(buffer, Mode::Write)], false).unwrap();
        };
        // The first of the two buffers is unchanged, the second one is not.
        world.operate(ids[0], &[(0, Mode::Write), (1, Mode::Write)], false).unwrap();
        graph(&world, 1);
        let other = {
            let world = Arc::clone(&world);
            loom::thread::spawn(move || graph(&world, 0))
        };
        world.operate(ids[0], &[(0, Mode::Write), (1, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

/// Two streams of two threads take over what a third one wrote: one after the other, or at the same time.
fn two_streams_take_over_from_a_third_one(unborrowed: bool, fails: bool) {
    every_order(move || {
        let (world, ids) = World::new(&[FREE, FREE, FREE]);
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
        let write = move |world: &World, id: TimelineId, unborrowed: bool, fails: bool| {
            let access = Access::write(&world.histories[0], 0..BYTES);
            let access = if unborrowed { access.unborrowed() } else { access };
            let timeline = world.tracker.timeline(id).unwrap();
            let answer = world.operate_with(timeline, &[access], &[(0, Mode::Write)], fails);
            assert_eq!(answer.is_err(), fails);
        };
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || write(&world, id, unborrowed, fails))
        };
        write(&world, ids[0], false, false);
        other.join().unwrap();
        assert!(world.tracker.added_waits() >= 2, "one after the third one, one after the other");
        // And back.
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
    });
}

#[test]
fn two_streams_that_take_over_from_a_third_one_at_the_same_moment_are_ordered() {
    two_streams_take_over_from_a_third_one(false, false);
    two_streams_take_over_from_a_third_one(true, false);
}

#[test]
fn so_they_are_if_the_call_of_one_of_them_fails() {
    two_streams_take_over_from_a_third_one(false, true);
}

#[test]
fn a_stream_that_takes_over_while_the_other_one_goes_on_is_ordered_after_all_that_it_has_to() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE]);
        world.operate(ids[1], &[(0, Mode::Write)], false).unwrap();
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || {
                world.operate(id, &[(0, Mode::Write)], false).unwrap();
                world.operate(id, &[(0, Mode::Write)], false).unwrap();
            })
        };
        world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn parts_that_are_entered_on_the_fast_path_are_ordered_and_hold_no_thread_up() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE]);
        // From here on they are in the interval lists, so that the first stream would take the fast path
        // again.
        let (all, half) = ([0..8, 8..BYTES], 0..8);
        let (first, second) = (ids[0], ids[1]);
        for part in &all {
            world.write_parts(first, &[(0, part.clone()), (1, part.clone())]);
        }
        let other = {
            let (world, half) = (Arc::clone(&world), half.clone());
            loom::thread::spawn(move || world.write_parts(second, &[(1, half.clone()), (0, half)]))
        };
        world.write_parts(first, &[(0, half.clone()), (1, half)]);
        other.join().unwrap();
        let waits = world.tracker.added_waits();
        assert!((1..=2).contains(&waits), "{waits} waits: the second stream comes after what was there");
        // The other half has not changed.
        world.write_parts(first, &[(0, 8..BYTES), (1, 8..BYTES)]);
        assert_eq!(world.tracker.added_waits(), waits);
    });
}

/// The parts that repeated operations write: of the first half of either buffer.
const FIRST: [Part; 2] = [(0, 0..2), (0, 4..6)];
const SECOND: [Part; 2] = [(1, 0..2), (1, 4..6)];
/// Parts of the other half of the first one.
const BEHIND: [Part; 2] = [(0, 8..10), (0, 12..14)];

/// A stream repeats an operation while another one, which waits for all that it has done before, writes a
/// part of that, or repeats the same operation.
fn an_operation_is_repeated_while_others_write(all_of_it: bool) {
    every_order(move || {
        let (world, ids) = World::new(&[FREE, FREE]);
        for taken in [Taken::SlowPath, Taken::FastPath] {
            assert_eq!(world.write_sorted(ids[0], &FIRST).unwrap(), taken);
        }
        // If the other stream finds anything older than what comes now, it takes that for ordered.
        world.wait(ids[1], &world.mark(ids[0]));
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || match all_of_it {
                true => drop(world.write_sorted(id, &FIRST).unwrap()),
                false => world.write_parts(id, &FIRST[1..]),
            })
        };
        world.write_sorted(ids[0], &FIRST).unwrap();
        world.write_sorted(ids[0], &FIRST).unwrap();
        other.join().unwrap();
        // Whichever was last, the next ones find all of them, and the fast path takes them again.
        world.write_sorted(ids[1], &FIRST).unwrap();
        let taken = [(); 2].map(|()| world.write_sorted(ids[0], &FIRST).unwrap());
        assert_eq!(taken, [Taken::SlowPath, Taken::FastPath]);
    });
}

#[test]
fn a_write_to_a_part_of_what_is_repeated_finds_the_last_repetition() {
    an_operation_is_repeated_while_others_write(false);
}

#[test]
fn so_does_the_same_operation_on_another_stream() {
    an_operation_is_repeated_while_others_write(true);
}

/// Two threads each repeat an operation on parts of one allocation, of two streams or of one, while a third
/// one writes all of it.
fn two_threads_repeat_operations_on_one_allocation(one_stream: bool) {
    every_order(move || {
        let (world, ids) = World::new(&[FREE, FREE, FREE]);
        let ids = if one_stream { [ids[0], ids[0], ids[2]] } else { [ids[0], ids[1], ids[2]] };
        let again = move |world: &World, at: usize| {
            world.write_sorted(ids[at], if at == 0 { &FIRST } else { &BEHIND }).unwrap()
        };
        // The first use of the allocation makes its list.
        assert_eq!([0, 1].map(|at| again(&world, at)), [Taken::SlowPath, Taken::FastPath]);
        // As above.
        for id in [ids[0], ids[1]] {
            world.wait(ids[2], &world.mark(id));
        }
        let other = {
            let world = Arc::clone(&world);
            loom::thread::spawn(move || again(&world, 1))
        };
        let plain = {
            let world = Arc::clone(&world);
            loom::thread::spawn(move || world.operate(ids[2], &[(0, Mode::Write)], false).unwrap())
        };
        again(&world, 0);
        other.join().unwrap();
        plain.join().unwrap();
        // And back.
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
    });
}

#[test]
fn two_threads_that_repeat_operations_on_one_allocation_are_found_by_a_third_one() {
    two_threads_repeat_operations_on_one_allocation(false);
}

#[test]
fn so_they_are_if_both_operations_are_of_one_stream() {
    two_threads_repeat_operations_on_one_allocation(true);
}

#[test]
fn what_cannot_be_repeated_at_the_second_buffer_holds_no_thread_up_at_the_first() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE]);
        let both = [FIRST, SECOND].concat();
        for taken in [Taken::SlowPath, Taken::FastPath] {
            assert_eq!(world.write_sorted(ids[0], &both).unwrap(), taken);
        }
        world.write_parts(ids[1], &SECOND[..1]);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || world.write_parts(id, &FIRST[..1]))
        };
        assert_eq!(world.write_sorted(ids[0], &both).unwrap(), Taken::SlowPath);
        other.join().unwrap();
        world.write_parts(ids[1], &FIRST);
    });
}

#[test]
fn a_wait_claims_no_more_than_was_given_before_its_record() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE]);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || {
                world.operate(id, &[(0, Mode::Write)], false).unwrap();
                world.operate(id, &[(1, Mode::Write)], false).unwrap();
            })
        };
        world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
        world.operate(ids[0], &[(1, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_call_that_fails_holds_no_thread_up() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE]);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || {
                world.operate(id, &[(0, Mode::Write), (1, Mode::Read)], true).unwrap_err();
            })
        };
        world.operate(ids[0], &[(0, Mode::Write), (1, Mode::Write)], false).unwrap();
        other.join().unwrap();
        world.operate(ids[1], &[(0, Mode::Write), (1, Mode::Write)], false).unwrap();
    });
}

#[test]
fn the_legacy_stream_between_two_blocking_ones_claims_no_more_than_it_saw() {
    every_order(|| {
        let (world, ids) = World::new(&[Kind::Legacy, Kind::Blocking, Kind::Blocking]);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || world.operate(id, &[(0, Mode::Write)], false).unwrap())
        };
        world.operate(ids[0], &[(1, Mode::Write)], false).unwrap();
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn one_stream_may_be_used_by_two_threads() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE]);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[0]);
            loom::thread::spawn(move || world.mark(id))
        };
        world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
        let mark = other.join().unwrap();
        world.wait(ids[1], &mark);
        world.operate(ids[1], &[(0, Mode::Write)], false).unwrap();
    });
}

/// Two streams have written a buffer each, and an event is recorded on the first one.
fn an_event_of_two_writers() -> (Arc<World>, Vec<TimelineId>, Arc<Shared>) {
    let (world, ids) = World::new(&[FREE, FREE, FREE]);
    world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
    world.operate(ids[1], &[(1, Mode::Write)], false).unwrap();
    let shared = Shared::new();
    world.record_shared(ids[0], &shared);
    (world, ids, shared)
}

#[test]
fn a_stream_that_waits_for_an_event_while_it_is_recorded_again_joins_the_clock_of_the_record_it_waits_for() {
    every_order(|| {
        let (world, ids, shared) = an_event_of_two_writers();
        let other = {
            let (world, id, shared) = (Arc::clone(&world), ids[1], Arc::clone(&shared));
            loom::thread::spawn(move || world.record_shared(id, &shared))
        };
        world.wait_shared(ids[2], &shared);
        let touches = [(0, Mode::Write), (1, Mode::Write)];
        world.operate(ids[2], &touches, false).unwrap();
        assert_eq!(world.tracker.added_waits(), 1, "the event orders one of the two, whichever it was");
        other.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "races")]
fn if_a_wait_and_its_clock_were_not_one_step_it_could_join_the_clock_of_another_record() {
    every_order(|| {
        let (world, ids, shared) = an_event_of_two_writers();
        let before = world.record_apart(ids[0], &shared);
        let other = {
            let (world, id, shared) = (Arc::clone(&world), ids[1], Arc::clone(&shared));
            loom::thread::spawn(move || drop(world.record_apart(id, &shared)))
        };
        world.wait_apart(ids[2], &shared, &before);
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_host_that_waits_for_an_event_while_it_is_recorded_again_concludes_nothing_about_the_other_record() {
    every_order(|| {
        let (world, ids, shared) = an_event_of_two_writers();
        let other = {
            let (world, id, shared) = (Arc::clone(&world), ids[1], Arc::clone(&shared));
            loom::thread::spawn(move || world.record_shared(id, &shared))
        };
        world.synchronize_shared(&shared);
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
        world.operate(ids[2], &[(1, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn of_two_threads_that_record_one_event_the_last_one_counts() {
    every_order(|| {
        let (world, ids, shared) = an_event_of_two_writers();
        let other = {
            let (world, id, shared) = (Arc::clone(&world), ids[1], Arc::clone(&shared));
            loom::thread::spawn(move || world.record_shared(id, &shared))
        };
        world.record_shared(ids[0], &shared);
        other.join().unwrap();
        world.wait_shared(ids[2], &shared);
        world.operate(ids[2], &[(0, Mode::Write), (1, Mode::Write)], false).unwrap();
        assert_eq!(world.tracker.added_waits(), 1);
    });
}

/// One thread records an event for work that the tracker does not know, while another one records it on a
/// stream. Then the host waits for the event, and a stream does.
fn two_threads_record_one_event(record_unknown: fn(&World, TimelineId, &Shared)) {
    every_order(move || {
        let (world, ids, shared) = an_event_of_two_writers();
        let other = {
            let (world, id, shared) = (Arc::clone(&world), ids[2], Arc::clone(&shared));
            loom::thread::spawn(move || record_unknown(&world, id, &shared))
        };
        world.record_shared(ids[1], &shared);
        other.join().unwrap();
        world.synchronize_shared(&shared);
        world.wait_shared(ids[0], &shared);
        world.operate(ids[0], &[(1, Mode::Write)], false).unwrap();
    });
}

#[test]
fn an_event_that_is_recorded_for_unknown_work_beside_a_record_on_a_stream_never_proves_the_former() {
    two_threads_record_one_event(World::record_unknown);
}

#[test]
#[should_panic(expected = "races")]
fn if_the_record_for_unknown_work_and_its_note_were_not_one_step_the_event_could_prove_too_much() {
    two_threads_record_one_event(World::record_unknown_apart);
}

#[test]
fn a_buffer_is_freed_on_its_only_stream_while_another_thread_uses_the_stream() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE]);
        world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
        let other = {
            let (world, id) = (Arc::clone(&world), ids[0]);
            loom::thread::spawn(move || world.operate(id, &[(1, Mode::Write)], false).unwrap())
        };
        world.free(0);
        other.join().unwrap();
        world.operate(ids[0], &[(1, Mode::Write)], false).unwrap();
    });
}

#[test]
fn a_stream_s_handle_is_not_given_up_while_a_buffer_is_freed_on_it() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE]);
        world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
        let other = {
            let (world, id) = (Arc::clone(&world), ids[0]);
            loom::thread::spawn(move || {
                world.tracker.retire(world.tracker.timeline(id).unwrap(), WaitTarget::Device);
                world.machine.lock().tracks[0].gone = true;
            })
        };
        world.free(0);
        other.join().unwrap();
    });
}

#[test]
fn a_clock_that_is_read_while_it_grows_covers_no_more_than_the_stream_s_event_will() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE; 4]);
        world.operate(ids[0], &[(1, Mode::Write)], false).unwrap();
        world.operate(ids[1], &[(0, Mode::Write)], false).unwrap();
        let marks = [world.mark(ids[2]), world.mark(ids[1])];
        world.operate(ids[2], &[], false).unwrap();
        let more = world.mark(ids[2]);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[0]);
            // First its clock covers one stream, then two, which is published differently.
            loom::thread::spawn(move || marks.iter().chain([&more]).for_each(|mark| world.wait(id, mark)))
        };
        world.operate(ids[3], &[(1, Mode::Write)], false).unwrap();
        world.operate(ids[3], &[(0, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn two_streams_that_write_alternately_are_ordered_whichever_comes_first() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE, FREE]);
        // From the second time on, each of the two is ordered after the other one before its access is
        // entered.
        for id in [0, 1, 0, 1] {
            world.operate(ids[id], &[(0, Mode::Write)], false).unwrap();
        }
        assert_eq!(world.tracker.added_waits(), 3);
        let other = {
            let (world, ids) = (Arc::clone(&world), ids.clone());
            loom::thread::spawn(move || {
                world.operate(ids[2], &[(1, Mode::Write)], false).unwrap();
                let mark = world.mark(ids[2]);
                world.wait(ids[1], &mark);
                world.operate(ids[1], &[(0, Mode::Write)], false).unwrap();
            })
        };
        world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
        world.operate(ids[0], &[(1, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

/// A thread finds everything complete that a stream is ordered after, while the stream's clock grows: by one
/// other stream, or by two.
fn completed_entries_are_pruned_while_the_clock_grows(streams: &'static [usize]) {
    every_order(move || {
        let (world, ids) = World::new(&[FREE; 4]);
        world.operate(ids[0], &[(1, Mode::Write)], false).unwrap();
        world.operate(ids[1], &[], false).unwrap();
        let first = world.mark(ids[1]);
        world.wait(ids[0], &first);
        let mut marks = Vec::new();
        for stream in streams {
            world.operate(ids[*stream], &[(0, Mode::Write)], false).unwrap();
            marks.push(world.mark(ids[*stream]));
        }
        let added = world.tracker.added_waits();
        world.machine.lock().waited(first.1);
        world.tracker.completed_event(&first.0);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[0]);
            loom::thread::spawn(move || marks.iter().for_each(|mark| world.wait(id, mark)))
        };
        drop(world.tracker.snapshot_of(world.tracker.timeline(ids[0]).unwrap()));
        other.join().unwrap();
        world.operate(ids[3], &[(1, Mode::Write)], false).unwrap();
        world.operate(ids[3], &[(0, Mode::Write)], false).unwrap();
        assert_eq!(
            world.tracker.added_waits(),
            added + 1,
            "the wait for the one stream is one for all that it knows, of {streams:?}: {:?}",
            world.tracker.recent_waits()
        );
    });
}

#[test]
fn nothing_that_joins_a_clock_is_lost_with_its_completed_entries() {
    completed_entries_are_pruned_while_the_clock_grows(&[1]);
    completed_entries_are_pruned_while_the_clock_grows(&[2]);
    completed_entries_are_pruned_while_the_clock_grows(&[1, 2]);
}

#[test]
fn a_timeline_that_is_reused_is_never_taken_for_its_former_stream() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE, FREE]);
        world.operate(ids[1], &[(0, Mode::Write)], false).unwrap();
        let other = {
            let (world, id) = (Arc::clone(&world), ids[1]);
            loom::thread::spawn(move || {
                world.tracker.retire(world.tracker.timeline(id).unwrap(), WaitTarget::Device);
                let again = world.stream(FREE);
                world.operate(again, &[(1, Mode::Write)], false).unwrap();
            })
        };
        world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
        world.operate(ids[0], &[(1, Mode::Write)], false).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_host_guard_and_an_access_without_a_borrow_see_each_other() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE]);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[0]);
            loom::thread::spawn(move || {
                let access = Access::write(&world.histories[0], 0..BYTES).unborrowed();
                let timeline = world.tracker.timeline(id).unwrap();
                world.operate_with(timeline, &[access], &[(0, Mode::Write)], false).is_ok()
            })
        };
        assert!(world.histories[0].add_host_guard(Mode::Read));
        let seen = !world.tracker.host_conflicts(Access::read(&world.histories[0], 0..BYTES)).is_empty();
        let done = other.join().unwrap();
        assert!(seen || !done, "the host reads what a stream writes");
    });
}

/// An operation that reaches memory without a borrow, as its stream did before, and so on the fast path: all
/// of the memory, or a part.
fn a_host_guard_and_the_fast_path(part: bool) {
    every_order(move || {
        let (world, ids) = World::new(&[FREE]);
        let range = if part { 0..8 } else { 0..BYTES };
        let touch = Touch { buffer: 0, start: 0, end: range.end, mode: Mode::Write, at_call: false };
        let write = move |world: &World, id: TimelineId| {
            let access = Access::write(&world.histories[0], range.clone()).unborrowed();
            world.operate_on(world.tracker.timeline(id).unwrap(), &[access], &[touch], false)
        };
        write(&world, ids[0]).unwrap();
        let other = {
            let (world, id, write) = (Arc::clone(&world), ids[0], write.clone());
            loom::thread::spawn(move || write(&world, id).is_ok())
        };
        assert!(world.histories[0].add_host_guard(Mode::Read));
        let seen = world.tracker.host_conflicts(Access::read(&world.histories[0], 0..BYTES));
        let seen = seen.iter().any(|conflict| conflict.epoch.sequence > 1);
        let done = other.join().unwrap();
        assert!(seen || !done, "the host reads what a stream writes");
        // An operation that was refused is given up and not waited for.
        // SAFETY: no memory depends on it.
        unsafe { world.histories[0].remove_host_guard(Mode::Read) };
        write(&world, ids[0]).unwrap();
    });
}

#[test]
fn so_they_do_if_the_access_is_entered_on_the_fast_path() {
    a_host_guard_and_the_fast_path(false);
    a_host_guard_and_the_fast_path(true);
}

#[test]
fn so_they_do_if_the_accesses_are_repeated() {
    every_order(|| {
        let (mut world, ids) = World::new(&[FREE]);
        for taken in [Taken::SlowPath, Taken::FastPath] {
            assert_eq!(world.write_sorted(ids[0], &FIRST).unwrap(), taken);
        }
        Arc::get_mut(&mut world).unwrap().unborrowed = true;
        let other = {
            let (world, id) = (Arc::clone(&world), ids[0]);
            loom::thread::spawn(move || world.write_sorted(id, &FIRST).is_ok())
        };
        assert!(world.histories[0].add_host_guard(Mode::Read));
        let seen = world.tracker.host_conflicts(Access::read(&world.histories[0], 0..BYTES));
        let seen = seen.iter().any(|conflict| conflict.epoch.sequence > 2);
        let done = other.join().unwrap();
        assert!(seen || !done, "the host reads what the operation writes");
    });
}

#[test]
fn a_policy_is_in_force_everywhere_when_setting_it_returns() {
    every_order(|| {
        let (world, ids) = World::new(&[FREE]);
        world.tracker.set_policy(Policy::Off);
        let other = {
            let (world, id) = (Arc::clone(&world), ids[0]);
            loom::thread::spawn(move || world.operate(id, &[(0, Mode::Write)], false).unwrap())
        };
        assert_eq!(world.tracker.set_policy(Policy::Order), Some(Policy::Off));
        // An operation that is in no history is with the device by now: waiting for the device covers it.
        let is_entered =
            || !world.tracker.host_conflicts(Access::read(&world.histories[0], 0..BYTES)).is_empty();
        let with_device = !world.machine.lock().nodes.is_empty();
        let entered = is_entered();
        other.join().unwrap();
        assert!(with_device || entered || is_entered());
    });
}

/// Two threads, each with an operation on several streams: whatever order they come in, both get through, and
/// the later one has waited.
fn two_threads_with_several_streams(
    streams: usize,
    one: &'static [(usize, &'static [Part])],
    other: &'static [(usize, &'static [Part])],
    fails: bool,
) {
    every_order(move || {
        let (mut world, ids) = World::new(&vec![FREE; streams]);
        Arc::get_mut(&mut world).unwrap().unborrowed = true;
        let write = |world: &World, ids: &[TimelineId], parts: &[(usize, &'static [Part])], fails: bool| {
            let parts: Vec<_> = parts.iter().map(|(stream, parts)| (ids[*stream], *parts)).collect();
            world.write_on_all(&parts, fails);
        };
        let thread = {
            let (world, ids) = (Arc::clone(&world), ids.clone());
            loom::thread::spawn(move || write(&world, &ids, other, false))
        };
        write(&world, &ids, one, fails);
        thread.join().unwrap();
        // Whatever comes after both finds both.
        world.write_parts(ids[0], &[(0, 0..BYTES), (1, 0..BYTES)]);
    });
}

#[test]
fn two_operations_on_several_streams_take_two_buffers_in_either_order() {
    let one: &[(usize, &[Part])] = &[(0, &[(0, 0..BYTES)]), (1, &[(1, 0..BYTES)])];
    let other: &[(usize, &[Part])] = &[(2, &[(1, 0..BYTES)]), (3, &[(0, 0..BYTES)])];
    two_threads_with_several_streams(4, one, other, false);
}

#[test]
fn two_operations_on_the_same_streams_lock_them_in_one_order() {
    let one: &[(usize, &[Part])] = &[(0, &[(0, 0..BYTES)]), (1, &[(1, 0..BYTES)])];
    let other: &[(usize, &[Part])] = &[(1, &[(0, 0..BYTES)]), (0, &[(1, 0..BYTES)])];
    two_threads_with_several_streams(2, one, other, false);
}

#[test]
fn several_streams_enter_one_buffer_in_one_step() {
    // In steps of their own, the four could enter it in the order 0, 2, 1, 3, and wait for each other.
    let one: &[(usize, &[Part])] = &[(0, &[(0, 0..8)]), (1, &[(0, 8..16)])];
    let other: &[(usize, &[Part])] = &[(2, &[(0, 8..16)]), (3, &[(0, 0..8)])];
    two_threads_with_several_streams(4, one, other, false);
}

#[test]
fn an_operation_on_several_streams_whose_call_fails_holds_no_thread_up() {
    let one: &[(usize, &[Part])] = &[(0, &[(0, 0..BYTES)]), (1, &[(1, 0..BYTES)])];
    let other: &[(usize, &[Part])] = &[(1, &[(0, 0..BYTES)]), (2, &[(1, 0..BYTES)])];
    two_threads_with_several_streams(3, one, other, true);
}

#[test]
fn operations_on_several_streams_and_on_one_wait_for_each_other_in_no_circle() {
    every_order(|| {
        let (mut world, ids) = World::new(&[FREE, FREE, FREE]);
        Arc::get_mut(&mut world).unwrap().unborrowed = true;
        // The last-access words are in use, so the single stream takes the fast path or gives up half-way.
        world.operate(ids[2], &[(0, Mode::Write), (1, Mode::Write)], false).unwrap();
        let other = {
            let (world, id) = (Arc::clone(&world), ids[2]);
            loom::thread::spawn(move || {
                world.operate(id, &[(1, Mode::Write), (0, Mode::Write)], false).unwrap();
            })
        };
        world.write_on_all(&[(ids[1], &[(0, 0..BYTES)]), (ids[0], &[(1, 0..BYTES)])], false);
        other.join().unwrap();
    });
}

#[test]
fn the_legacy_stream_and_a_blocking_one_take_part_in_one_operation() {
    every_order(|| {
        let (mut world, ids) = World::new(&[Kind::Legacy, Kind::Blocking, Kind::Blocking]);
        Arc::get_mut(&mut world).unwrap().unborrowed = true;
        let other = {
            let (world, id) = (Arc::clone(&world), ids[2]);
            loom::thread::spawn(move || {
                world.operate(id, &[(0, Mode::Write), (1, Mode::Write)], false).unwrap();
            })
        };
        world.write_on_all(&[(ids[1], &[(0, 0..BYTES)]), (ids[0], &[(1, 0..BYTES)])], false);
        other.join().unwrap();
        world.operate(ids[2], &[(0, Mode::Write)], false).unwrap();
    });
}

#[test]
#[should_panic(expected = "races")]
fn loom_catches_a_wait_that_does_nothing() {
    every_order(|| {
        let (mut world, ids) = World::new(&[FREE, FREE]);
        Arc::get_mut(&mut world).unwrap().sabotage = true;
        world.operate(ids[0], &[(0, Mode::Write)], false).unwrap();
        world.operate(ids[1], &[(0, Mode::Write)], false).unwrap();
    });
}
