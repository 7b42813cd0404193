//! Kernels with one classic mistake each: each is named with the lines of its source, kernel and threads, and
//! the corrected kernels are not reported.

use super::built::{self, FOUND};

/// Runs a case under a schedule. Returns the exit code and standard error.
fn run(case: &str, right: bool, schedule: &str) -> (Option<i32>, String) {
    let mut command = built::checked(built::compile("within", &[]), schedule);
    let (code, text) = built::ended(command.arg(case).args(right.then_some("right")));
    let seed = |line: &&str| line.starts_with("CUDA emulator: CUDA_EMULATOR_SCHEDULE=");
    (code, text.lines().filter(|line| !seed(line)).map(|line| format!("{line}\n")).collect())
}

/// Checks that a case is named with the lines of these marks, and not if it is right.
fn named(case: &str, subject: &str, words: &[&str]) {
    for schedule in ["late", "random:1"] {
        let (code, text) = run(case, false, schedule);
        assert_eq!(code, Some(FOUND), "{case} under {schedule}:\n{text}");
        assert!(text.contains(&format!("CUDA emulator: {subject}: kernel ")), "{case}:\n{text}");
        for word in words {
            let line = built::line(include_str!("../programs/within.cu"), case, word);
            let place = format!("within.cu:{line}\n");
            assert!(text.contains(&place), "{case} under {schedule}: {place:?} is not in\n{text}");
        }
        let (code, text) = run(case, true, schedule);
        assert_eq!((code, &*text), (Some(0), ""), "{case}, right, under {schedule}");
    }
}

#[test]
fn threads_that_nothing_orders_are_named_with_both_lines() {
    named("missing_barrier", "race", &["first", "second"]);
    named("missing_warp_barrier", "race", &["first", "second"]);
    named("tile_reused", "race", &["first", "second"]);
    // The line of the atomic operation is in a header of the toolkit.
    named("histogram", "race", &["first"]);
}

#[test]
fn blocks_that_nothing_orders_are_named_with_both_lines() {
    named("neighbours", "race", &["first", "second"]);
    named("missing_fence", "race", &["first", "second"]);
    named("partial_sums", "race", &["first", "second"]);
}

#[test]
fn reads_of_unwritten_shared_memory_accesses_outside_of_arrays_and_divergent_barriers_are_named() {
    named("unwritten", "initcheck", &["read"]);
    named("outside", "bounds", &["read"]);
    named("divergent_barrier", "barrier", &["first", "second"]);
}

#[test]
fn a_barrier_that_part_of_a_block_skips_is_named_with_who_waits_and_who_goes_on() {
    named("skipped_barrier", "barrier", &["barrier", "others"]);
    named("barrier_in_a_loop", "barrier", &["barrier", "others"]);
    let (_, text) = run("skipped_barrier", false, "late");
    for words in [
        "skipped_barrier(int*, bool): part of a block skips a barrier",
        "100 threads have come to the barrier, such as thread (0,0,0) of block (0,0,0)",
        "goes on without it: thread (100,0,0) of block (0,0,0)",
        "findings: 1 (barrier: 1)",
    ] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
    let (_, text) = run("barrier_in_a_loop", false, "late");
    assert!(text.contains("goes on after one arrival there, while others have more: thread ("), "{text}");
}

#[test]
fn a_finding_names_the_kernel_the_blocks_and_the_threads_once() {
    let (_, text) = run("neighbours", false, "late");
    let (_, unrolled) = run("partial_sums", false, "late");
    for text in [&text, &unrolled] {
        let lines = text.lines().filter(|line| line.starts_with("CUDA emulator: race: ")).count();
        assert_eq!(lines, 1, "{text}");
    }
    for words in ["neighbours(int*, bool)", "(0,0,0)", "(1,0,0)", "global memory", "PTX line "] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
}

/// The words of a finding take longer than the access by a factor of a hundred.
#[test]
fn a_wrong_access_takes_at_most_ten_times_as_long_as_a_right_one() {
    let mut command = built::checked(built::compile("within", &[]), "late");
    let output = command.arg("repeated").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 5, "{text}");
    for line in text.lines() {
        let [_, wrong, right] = line.split(' ').map(|it| it.parse::<f64>().unwrap()).collect::<Vec<_>>()[..]
        else {
            panic!("{text}");
        };
        assert!(wrong <= 10.0 * right, "mistake, seconds of the wrong ones and of the right ones:\n{text}");
    }
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("findings: 5 (race: 2, bounds: 1, barrier: 1, initcheck: 1)"), "{text}");
}

#[test]
fn threads_that_shuffles_groups_flags_and_barriers_order_are_not_reported() {
    for schedule in ["late", "eager", "random:1"] {
        // In one of the kernels several threads write the same, in another one a warp has volatile accesses.
        let unchecked = "CUDA emulator: not checked: races of threads that write the value that is there, \
                         races of volatile accesses within a block (CUDA_EMULATOR_VOLATILE=plain)\n";
        assert_eq!(run("correct", false, schedule), (Some(0), unchecked.to_owned()), "{schedule}");
    }
}
