//! Kernels that launch kernels: streams, events, tails, copies, errors, and the races between a kernel and
//! its children.

use super::built::{self, FOUND, SCHEDULES};

/// Runs a case under a schedule. Returns the exit code and standard error.
fn run(arguments: &[&str], schedule: &str) -> (Option<i32>, String) {
    let mut command = built::checked(built::compile_apart("nested", &["-g"]), schedule);
    built::ended(command.args(arguments).env("CUDA_EMULATOR_INITCHECK", "1"))
}

macro_rules! everywhere {
    ($($case:ident)*) => {$(
        #[test]
        fn $case() {
            for schedule in SCHEDULES {
                let (code, text) = run(&[stringify!($case)], schedule);
                assert_eq!(code, Some(0), "{schedule}:\n{text}");
            }
        }
    )*};
}

everywhere! { visibility null_stream named_streams tail tail_alone recursion memory limits questions graph }

#[test]
fn a_launch_that_fails_gives_its_thread_an_error_and_names_itself_once() {
    for schedule in SCHEDULES {
        let (code, text) = run(&["errors"], schedule);
        assert_eq!(code, Some(0), "{schedule}:\n{text}");
        let words = "refused(int*, int*): a launch of (1,1,1) blocks of (2048,1,1) threads";
        assert_eq!(text.matches(words).count(), 2, "{schedule}: two places:\n{text}");
    }
}

#[test]
fn mistaken_calls_are_refused_or_end_the_context_as_on_an_h200() {
    let (code, text) = run(&["refusals"], "late");
    assert_eq!(code, Some(0), "{text}");
    for (which, words) in [
        ("0", "nowhere(int*): global write of 4 bytes at 0x10"),
        ("1", "cudaEventRecord of 0x1234, which is no event"),
        ("2", "cudaEventDestroy of 0x1234, which is no event"),
        ("3", "cudaFree of 0x10, which no kernel has allocated"),
        ("4", "a launch of 0x0, where no kernel is"),
    ] {
        let (code, text) = run(&["end", which], "late");
        assert_eq!(code, Some(FOUND), "{which}: {text}");
        assert!(text.contains(words), "{which}: {text}");
    }
}

/// Checks that a race is named with the lines of these marks in every schedule, and none if it is right.
fn named(case: &str, words: &[&str]) {
    for schedule in SCHEDULES {
        let (code, text) = run(&[case], schedule);
        assert_eq!(code, Some(FOUND), "{schedule}:\n{text}");
        assert!(text.contains("CUDA emulator: race: nothing orders kernel "), "{schedule}:\n{text}");
        for word in words {
            let place =
                format!("nested.cu:{}", built::line(include_str!("../programs/nested.cu"), case, word));
            assert!(text.contains(&place), "{schedule}: {place:?} is not in\n{text}");
        }
        let (code, text) = run(&[case, "right"], schedule);
        assert_eq!(code, Some(0), "{case}, right, under {schedule}:\n{text}");
    }
}

#[test]
fn a_parent_that_uses_what_its_child_uses_is_named() {
    named("parent_reads_early", &["launch", "read"]);
    named("parent_writes_late", &["launch", "write"]);
}

#[test]
fn children_that_nothing_orders_are_named() {
    named("siblings", &["first", "second"]);
    named("blocks", &["launch"]);
    named("grandchildren", &["second"]);
}
