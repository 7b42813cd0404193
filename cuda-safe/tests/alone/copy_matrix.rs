//! Copies between every pair of memory types, in every shape and mode, with offsets, odd pitches, one
//! element, none, and one past the end: every byte is compared, including the guards around it.
//!
//! Runs unchanged on one device and on two, there with and without access between them; on the emulator in
//! all its schedules.
//!
//! Alone: access between devices stays enabled for the process.

use cuda_safe::memory::ArrayElement;
use cuda_testing::matrix::{Element, Entry, arrays, holds, run, second, standard, with_peer_access};
use cuda_testing::own_process;
use cuda_testing::schedules::in_all_schedules;

fn all_pairs<T: Element>(kinds: &[Entry<T>]) {
    let tally = run(kinds, |_, _| true);
    // Pairs that share a shape, once for each shape that they share.
    let of = |dimensions| kinds.iter().filter(|kind| kind.has(dimensions)).count().pow(2);
    holds(&tally, of(1) + of(2) + of(3));
}

/// The memory types for elements that arrays can have.
fn with_arrays<T: Element + ArrayElement>() -> Vec<Entry<T>> {
    let mut kinds = standard();
    kinds.extend(arrays());
    kinds
}

#[test]
fn bytes_are_copied_between_all_kinds_of_memory() {
    own_process!();
    with_peer_access(false, || all_pairs::<u8>(&with_arrays()));
}

#[test]
fn elements_of_six_bytes_are_copied_between_all_kinds_of_memory() {
    own_process!();
    with_peer_access(true, || all_pairs::<[u16; 3]>(&standard()));
}

#[test]
fn devices_that_reach_each_other_copy_the_same() {
    own_process!();
    if second().is_none() {
        return;
    }
    let kinds = with_arrays::<f32>();
    let wanted = |to: &Entry<f32>, from: &Entry<f32>| to.second || from.second;
    let tally = with_peer_access(true, || run(&kinds, wanted));
    let of = |dimensions| {
        let has = kinds.iter().filter(|kind| kind.has(dimensions));
        let (all, first) = (has.clone().count(), has.filter(|kind| !kind.second).count());
        all * all - first * first
    };
    holds(&tally, of(1) + of(2) + of(3));
}

/// Not under sanitizers: on a GPU it has nothing to check.
#[test]
fn the_emulator_gives_the_same_in_all_its_schedules() {
    in_all_schedules("all_kinds_of_memory", 2);
}
