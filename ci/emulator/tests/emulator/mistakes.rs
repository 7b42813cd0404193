//! Programs with one classic mistake each, in C++ with kernels: each is named with its lines in every
//! schedule, and the corrected programs are not reported.

use std::process::Output;

use serde_json::Value;

use super::built::{self, FOUND, SCHEDULES};

/// The line that a comment `// CASE: WORD` marks.
fn line(case: &str, word: &str) -> usize {
    built::line(include_str!("../programs/mistakes.cu"), case, word)
}

/// Runs a case, and returns what happened and the report for tools.
fn run(case: &str, right: bool, schedule: &str) -> (Output, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report");
    let mut command = built::checked(built::compile("mistakes", &["-g"]), schedule);
    command
        .arg(case)
        .args(right.then_some("right"))
        .env("CUDA_EMULATOR_INITCHECK", "1")
        .env("CUDA_EMULATOR_LEAKS", if case == "leak" { "1" } else { "0" })
        .env("CUDA_EMULATOR_REPORT", &report);
    let output = command.output().expect("the program starts");
    (output, std::fs::read_to_string(&report).unwrap_or_default())
}

/// The lines of a report.
fn rows(report: &str) -> Vec<Value> {
    report.lines().map(|row| serde_json::from_str(row).expect("a line of JSON")).collect()
}

fn findings(report: &str) -> usize {
    rows(report).iter().filter(|row| row["finding"].is_string()).count()
}

/// Checks that a case is named with the lines of these marks in every schedule, and not if it is right.
fn named(case: &str, subject: &str, words: &[&str]) {
    named_in(&SCHEDULES, case, subject, words);
}

fn named_in(schedules: &[&str], case: &str, subject: &str, words: &[&str]) {
    for schedule in SCHEDULES {
        let (output, report) = run(case, true, schedule);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case}, right, under {schedule}: {}\n{text}", output.status);
        let is_quiet = |row: &Value| {
            row["process"]["pid"].is_u64() && row["findings"].as_object().is_none_or(|it| it.is_empty())
        };
        assert!(rows(&report).iter().all(is_quiet), "{case}, right, under {schedule}:\n{report}");
    }
    for schedule in schedules {
        let (output, report) = run(case, false, schedule);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(FOUND), "{case} under {schedule}:\n{text}");
        let names = |finding: &Value| {
            let parts = finding["parts"].as_array().map_or(&[][..], |parts| parts);
            let frames = parts.iter().flat_map(|part| part["stack"].as_array().into_iter().flatten());
            let lines: Vec<u64> = frames
                .filter(|frame| frame["file"].as_str().is_some_and(|file| file.ends_with("mistakes.cu")))
                .filter_map(|frame| frame["line"].as_u64())
                .collect();
            let has = |word: &&str| lines.contains(&u64::try_from(line(case, word)).unwrap());
            finding["finding"] == subject && words.iter().all(has)
        };
        assert!(rows(&report).iter().any(names), "{case} under {schedule}:\n{report}\n{text}");
        for word in words {
            let place = format!("mistakes.cu:{} in ", line(case, word));
            assert!(text.contains(&place), "{case} under {schedule}: {place:?} is not in\n{text}");
        }
    }
}

macro_rules! races {
    ($($case:ident)*) => {$(
        #[test]
        fn $case() {
            named(stringify!($case), "race", &["first", "second"]);
        }
    )*};
}

races! {
    missing_synchronisation two_streams event_too_early buffer_reused freed_on_another_stream
    used_before_allocated legacy_stream threads symbols managed_read_by_the_host staging_overwritten
    result_read_too_early returned_too_early
}

#[test]
fn graph_branches_are_named_with_the_launch() {
    named("graph_branches", "race", &["first", "second", "launch"]);
}

#[test]
fn nodes_of_a_conditional_body_are_named_with_the_launch() {
    named("loop_body", "race", &["first", "second", "launch"]);
}

#[test]
fn a_host_function_uses_memory_in_the_order_of_its_stream() {
    // In other schedules the function may be over before the copy is submitted: nobody sees its access.
    named_in(&["late"], "host_function", "race", &["first", "second"]);
}

#[test]
fn other_mistakes_are_named_with_the_host_line() {
    named("uninitialised", "initcheck", &["read"]);
    named("double_free", "free", &["first", "second"]);
    named("wrong_kind", "pointer", &["copy"]);
    named("host_pointer", "fault", &["launch"]);
    named("past_the_end", "pointer", &["copy"]);
    named("kernel_past_the_end", "fault", &["launch"]);
    named("misaligned", "fault", &["launch"]);
    named("pitch_too_large", "pointer", &["copy"]);
    named("leak", "leak", &["memory"]);
    named("cuda_in_a_host_function", "host function", &["call"]);
    named("disabled_memset", "driver", &["call"]);
    named("disabled_after_a_change", "driver", &["call"]);
}

/// Checks that what a case writes to standard error has these words.
fn says(case: &str, words: &[&str]) {
    let (output, report) = run(case, false, "late");
    let text = String::from_utf8_lossy(&output.stderr);
    for word in words {
        assert!(text.contains(word) && report.contains(word), "{case}: {word:?} is not in\n{text}");
    }
}

#[test]
fn a_wrong_direction_names_the_memory_of_both_sides_and_the_right_direction() {
    named("swapped_direction", "pointer", &["copy", "memory"]);
    let words = [
        "cudaMemcpyHostToDevice wants device memory as the destination, and this is pageable host memory \
         (the heap)",
        "The source is 16384 bytes of device memory at 0x",
        "from cudaMalloc on device 0; either the two pointers are swapped",
        "or this is cudaMemcpyDeviceToHost",
    ];
    says("swapped_direction", &words);
    let words = [
        "cudaMemcpyDeviceToDevice wants device memory as the source, and this is pageable host memory \
         (the heap)",
        "The destination is 16384 bytes of device memory at 0x",
        "for these two it is cudaMemcpyHostToDevice",
    ];
    says("wrong_kind", &words);
}

#[test]
fn a_fault_names_the_kind_of_memory_and_the_line_of_its_allocation() {
    let words = ["pageable host memory (the heap)", "which kernels do not reach", "cudaMallocManaged"];
    says("host_pointer", &words);
    named("other_device", "fault", &["launch", "memory"]);
    let words =
        ["inside 16384 bytes of device memory at 0x", "from cudaMalloc on device 1, to which device 0"];
    says("other_device", &words);
    named("kernel_past_the_end", "fault", &["launch"]);
    says("kernel_past_the_end", &["0 bytes past the end of 16384 bytes of device memory", "the memory"]);
}

#[test]
fn launches_whose_error_nobody_reads_are_named_at_the_end_once_for_each_line() {
    named("unread_launches", "unread", &["launch"]);
    let words = [
        "3 launches of kernel (anonymous namespace)::fill(int*, int) failed with \
         cudaErrorInvalidResourceHandle (400)",
        "nobody read the error: the stream is of device 0, and device 1 is current",
    ];
    says("unread_launches", &words);
    let (_, report) = run("unread_launches", false, "late");
    assert_eq!(findings(&report), 1, "{report}");
}

#[test]
fn each_pair_of_lines_is_reported_once_and_kernels_are_named_with_their_source() {
    let (output, report) = run("two_streams", false, "late");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(findings(&report), 1, "{report}");
    assert_eq!(text.lines().filter(|line| line.starts_with("CUDA emulator: race: ")).count(), 1, "{text}");
    for words in ["add(int const*, int*)", "fill(int*, int)", "bytes 0 to 16384", "findings: 1 (race: 1)"] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
    let (kernel, memory) = ("PTX line ", "from cudaMalloc on device 0");
    assert!(text.contains(kernel) && text.contains("mistakes.cu:16") && text.contains(memory), "{text}");
}
