//! Copies between every pair of kinds of memory, in every shape and mode, with offsets, odd pitches, one element, none, and one past
//! the end: every byte is compared, the guards around included.
//!
//! Runs as it is on one device and on two, there with and without access between them; on the emulator in all its schedules.

mod common;
mod matrix;

use common::alone;
use matrix::{Element, holds, in_all_schedules, run, second, standard, with_peer_access};

fn all_pairs<T: Element>() {
    let kinds = standard::<T>();
    // Two of the kinds have one shape each.
    let pairs = (kinds.len() - 2) * (kinds.len() - 2);
    holds(&run(&kinds, |_, _| true), 3 * pairs);
}

#[test]
fn bytes_are_copied_between_all_kinds_of_memory() {
    let _alone = alone();
    with_peer_access(false, all_pairs::<u8>);
}

#[test]
fn elements_of_six_bytes_are_copied_between_all_kinds_of_memory() {
    let _alone = alone();
    with_peer_access(true, all_pairs::<[u16; 3]>);
}

#[test]
fn devices_that_reach_each_other_copy_the_same() {
    let _alone = alone();
    if second().is_none() {
        return;
    }
    let kinds = standard::<f32>();
    let tally = with_peer_access(true, || run(&kinds, |to, from| to.second || from.second));
    holds(&tally, 3 * (2 * (kinds.len() - 2) - 1));
}

#[test]
fn the_emulator_gives_the_same_in_all_its_schedules() {
    in_all_schedules("all_kinds_of_memory", 2);
}
