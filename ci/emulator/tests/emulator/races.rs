//! The table of races (`races.cu`, `flags.cu`): each wrong program is named with both lines in every
//! schedule, and its corrected twin is silent.

use super::built::{self, FOUND, SCHEDULES};

/// Runs a case under a schedule. Returns the exit code and standard error.
fn run(name: &str, case: &str, right: bool, schedule: &str) -> (Option<i32>, String) {
    run_with(name, case, right, ("CUDA_EMULATOR_SCHEDULE", schedule))
}

/// The same with another variable.
fn run_with(name: &str, case: &str, right: bool, (variable, value): (&str, &str)) -> (Option<i32>, String) {
    let mut command = built::checked(built::compile(name, &["-g"]), "late");
    built::ended(command.arg(case).args(right.then_some("right")).env(variable, value))
}

fn is_silent(name: &str, case: &str, schedule: &str) {
    let (code, text) = run(name, case, true, schedule);
    assert_eq!(code, Some(0), "{case}, right, under {schedule}:\n{text}");
    assert!(!text.contains("findings"), "{case}, right, under {schedule}:\n{text}");
}

/// Checks the cases of a program: in every schedule the wrong one is named with the lines of all its marks.
fn table(name: &str, subject: &str, cases: &str) {
    let source = if name == "races" {
        include_str!("../programs/races.cu")
    } else {
        include_str!("../programs/flags.cu")
    };
    for case in cases.split_whitespace() {
        let marked = |line: &str| {
            let marks = line.rsplit_once("// ").map_or("", |it| it.1);
            marks
                .split("; ")
                .any(|mark| [": first", ": second"].iter().any(|end| mark.strip_suffix(end) == Some(case)))
        };
        let lines = source.lines().enumerate().filter(|it| marked(it.1));
        let places: Vec<String> = lines.map(|(at, _)| format!("{name}.cu:{}", at + 1)).collect();
        assert!(!places.is_empty(), "{case} has no marks");
        for schedule in SCHEDULES {
            is_silent(name, case, schedule);
            let (code, text) = run(name, case, false, schedule);
            assert_eq!(code, Some(FOUND), "{case} under {schedule}:\n{text}");
            assert!(text.contains(&format!("CUDA emulator: {subject}: ")), "{case}:\n{text}");
            for place in &places {
                let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
                let found = text.match_indices(place).any(|(at, _)| ends(&text[at + place.len()..]));
                assert!(found, "{case} under {schedule}: {place:?} is not in\n{text}");
            }
        }
    }
}

#[test]
fn flags_between_blocks_need_fences_of_their_scope_on_both_sides_and_one_address() {
    table(
        "races",
        "race",
        "no_release_fence no_acquire_fence release_fence_too_early acquire_fence_too_early other_flag
         other_release release_fence_of_block acquire_fence_of_block release_store_of_block
         acquire_load_of_block relaxed_load relaxed_store plain_flag passed_on release_sequence read_still",
    );
}

#[test]
fn locks_order_what_is_between_fences_within_them() {
    table(
        "races",
        "race",
        "lock_without_a_fence unlock_without_a_fence two_locks used_behind_the_unlock lock_of_a_block",
    );
}

#[test]
fn a_thread_that_speaks_for_its_block_needs_barriers() {
    table(
        "races",
        "race",
        "flag_before_the_barrier barrier_forgotten_behind_the_flag warp_barrier_forgotten_behind_the_flag
         warp_barrier_forgotten_before_the_flag flag_of_a_lane_that_has_not_met last_block
         barrier_of_blocks_without_a_fence barrier_of_blocks_too_early grid_barrier_forgotten",
    );
}

#[test]
fn flags_in_shared_memory_need_fences_too() {
    table(
        "races",
        "race",
        "flag_in_shared_memory flag_in_shared_memory_without_acquire other_flag_in_shared_memory",
    );
}

#[test]
fn barriers_of_a_warp_order_the_lanes_of_their_mask_and_shuffles_none() {
    table(
        "races",
        "race",
        "shuffle_for_a_barrier vote_for_a_barrier match_for_a_barrier halves_of_a_warp tiles_of_a_warp
         branches_of_a_warp warp_barrier_between_warps warp_barrier_too_early last_steps",
    );
}

#[test]
fn a_thread_outside_of_the_mask_of_its_instruction_is_named() {
    table("races", "barrier", "outside_of_its_mask shuffle_outside_of_its_mask vote_outside_of_its_mask");
}

#[test]
fn a_barrier_that_part_of_a_warp_skips_is_named() {
    table(
        "races",
        "barrier",
        "skipped_by_half_of_a_warp skipped_by_named_lanes skipped_by_the_other_half skipped_in_a_loop
          skipped_before_the_others",
    );
}

#[test]
fn barriers_of_a_block_order_those_who_wait() {
    table(
        "races",
        "race",
        "no_barrier barrier_counts_too next_round two_buffers named_barriers written_behind_the_arrival
         half_of_the_block_meets ended_early bytes_of_a_word neighbour_in_global_memory histogram",
    );
}

#[test]
fn copies_barriers_in_memory_and_clusters_order_those_who_wait() {
    table(
        "races",
        "race",
        "copied_by_others barrier_in_memory other_barrier_in_memory cluster_barrier_forgotten
         cluster_arrival_too_early",
    );
}

/// The place of a case's mark.
fn place(case: &str, word: &str) -> String {
    format!("races.cu:{}\n", built::line(include_str!("../programs/races.cu"), case, word))
}

#[test]
fn races_behind_a_fault_are_named_if_other_threads_are_to_run_on() {
    for case in ["behind_a_fault", "behind_a_fault_of_its_block"] {
        behind_a_fault(case);
    }
}

fn behind_a_fault(case: &str) {
    let [first, second] = ["first", "second"].map(|word| place(case, word));
    for (value, runs_on) in [("end", false), ("run-on", true)] {
        let (code, text) = run_with("races", case, false, ("CUDA_EMULATOR_FAULTS", value));
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("CUDA emulator: fault: "), "{text}");
        assert_eq!(text.contains(&first) && text.contains(&second), runs_on, "{value}:\n{text}");
        let (_, text) = run_with("races", case, true, ("CUDA_EMULATOR_FAULTS", value));
        assert!(!text.contains("CUDA emulator: race: "), "{value}, right:\n{text}");
    }
}

#[test]
fn volatile_accesses_race_if_they_are_to_be_plain() {
    for (value, races) in [("relaxed", false), ("plain", true)] {
        let (_, text) = run_with("races", "no_release_fence", true, ("CUDA_EMULATOR_VOLATILE", value));
        assert_eq!(text.contains("CUDA emulator: race: "), races, "{value}:\n{text}");
    }
}

#[test]
fn flags_between_kernels_and_the_host_are_silent_where_they_order() {
    SCHEDULES.iter().for_each(|schedule| is_silent("flags", "release_store", schedule));
    table(
        "flags",
        "race",
        "between_kernels between_kernels_without_acquire managed_flag from_the_host from_the_host_managed
         written_behind_the_flag",
    );
}

#[test]
fn memory_that_kernels_share_with_the_host_is_named_in_every_schedule() {
    table(
        "flags",
        "race",
        "pinned_flag pinned_flag_of_the_device pinned_flag_unread read_from_a_file written_to_a_file
         asked_of_a_pipe",
    );
}

#[test]
fn a_race_of_one_order_of_blocks_or_warps_is_named_by_random_schedules() {
    for case in ["fence_of_one_block", "fence_of_one_warp"] {
        let places = ["first", "second"].map(|word| place(case, word));
        let mut found = 0;
        for seed in 1..=8 {
            let schedule = format!("random:{seed}");
            is_silent("races", case, &schedule);
            let (code, text) = run("races", case, false, &schedule);
            let named = places.iter().all(|place| text.contains(place));
            assert_eq!(code, Some(if named { FOUND } else { 0 }), "{case} under {schedule}:\n{text}");
            found += i32::from(named);
        }
        assert!((1..8).contains(&found), "{case}: {found} of 8 schedules have the order that races");
        SCHEDULES.iter().for_each(|schedule| is_silent("races", case, schedule));
    }
}
