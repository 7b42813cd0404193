//! Copies between every pair of kinds of memory, in every shape and mode, with offsets, odd pitches, one element, none, and one past
//! the end: every byte is compared, the guards around included.
//!
//! Runs as it is on one device and on two, there with and without access between them; on the emulator in all its schedules.

mod common;
mod matrix;

use common::alone;
use matrix::{Element, Tally, run, second, standard, with_peer_access};

/// What each pair has at the least: three shapes, each with cases that copy, that are empty, and that are refused.
fn holds(tally: &Tally, pairs: usize) {
    println!("{pairs} pairs: {tally:?}");
    assert!(tally.copied > 20 * pairs && tally.empty > 5 * pairs && tally.refused > 10 * pairs, "{tally:?}");
}

fn all_pairs<T: Element>() {
    let kinds = standard::<T>();
    // Two of the kinds have one shape each.
    let pairs = (kinds.len() - 2) * (kinds.len() - 2);
    holds(&run(&kinds, |_, _| true), pairs);
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
    holds(&tally, 2 * (kinds.len() - 2) - 1);
}

#[test]
fn the_emulator_gives_the_same_in_all_its_schedules() {
    let schedule = "CUDA_EMULATOR_SCHEDULE";
    if std::env::var("CUDA_RUNNER").as_deref() != Ok("emulator") || std::env::var_os(schedule).is_some() {
        println!("not on the emulator, or in a schedule of it already: nothing to choose");
        return;
    }
    for chosen in ["eager", "random:1", "random:2", "random:3"] {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .arg("all_kinds_of_memory")
            .env(schedule, chosen)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("2 passed"), "{chosen}:\n{printed}");
    }
}
