//! C++ programs without kernels, compiled here against the installed headers, run on the built library in
//! every schedule.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use super::built::{self, SCHEDULES};

/// The cases of `early.cpp`.
const EARLY: [&str; 6] =
    ["early_forms", "early_after", "early_streams", "late_source", "early_batch", "ordered_batch"];

/// The cases of `pool.cpp`.
const POOL: [&str; 4] = ["pool_stream", "pool_events", "pool_legacy", "pool_waits"];

/// The cases that race on purpose.
const RACING: [&str; 6] =
    ["late_copy", "late_order", "late_blocking_copy", "late_source", "early_batch", "outcomes"];

/// Compiles a program, once: `early.cpp` and `pool.cpp` have the cases of the lists above,
/// `host.cpp` all others.
fn program(case: &str) -> PathBuf {
    let name = match case {
        _ if EARLY.contains(&case) => "early",
        _ if POOL.contains(&case) => "pool",
        _ => "host",
    };
    built::compile_host(name, &[])
}

fn command(case: &str, schedule: &str) -> Command {
    let mut command = built::command(program(case), schedule);
    command
        .arg(case)
        .env("CUDA_EMULATOR_LEAKS", if case == "leak" { "1" } else { "0" })
        .env("CUDA_EMULATOR_RACES", if RACING.contains(&case) { "0" } else { "1" });
    command
}

fn run(case: &str, schedule: &str) -> Output {
    command(case, schedule).output().expect("the program starts")
}

fn passes(case: &str, schedules: &[&str]) {
    for schedule in schedules {
        let output = run(case, schedule);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case} under {schedule}: {}\n{stderr}", output.status);
        assert!(!stderr.contains("CUDA emulator: race: "), "{case} under {schedule}:\n{stderr}");
    }
}

macro_rules! everywhere {
    ($($case:ident)*) => {
        /// The cases that run in every schedule.
        const EVERYWHERE: &[&str] = &[$(stringify!($case)),*];
        $(
        #[test]
        fn $case() {
            passes(stringify!($case), &SCHEDULES);
        }
    )*};
}

#[test]
fn every_case_of_the_programs_is_run() {
    let source = include_str!("programs.rs");
    // Below the lists, tests name further cases.
    let tests = source.split("\neverywhere! {").nth(1).unwrap();
    for (program, text) in [
        ("host", include_str!("../programs/host.cpp")),
        ("early", include_str!("../programs/early.cpp")),
        ("pool", include_str!("../programs/pool.cpp")),
    ] {
        let table = text.split("cases = {").nth(1).unwrap().split("};").next().unwrap();
        let cases: Vec<&str> = table.split("{\"").skip(1).filter_map(|it| it.split('"').next()).collect();
        assert!(cases.len() > 3, "{program}.cpp: {cases:?}");
        for case in cases {
            let runs = EVERYWHERE.contains(&case) || tests.contains(&format!("\"{case}\""));
            assert!(
                runs,
                "{program}.cpp: no test runs {case}: add it to everywhere! in tests/emulator/programs.rs"
            );
        }
    }
}

everywhere! {
    event_order event_snapshot staged_source pinned_source legacy_order per_thread done_by_itself polling
    destroyed_stream host_functions two_devices sticky_error fork_child elapsed waiting threads shapes
    registered_names early_forms early_after early_streams early_batch
    ordered_batch pool_stream pool_events pool_legacy pool_waits
}

#[test]
fn late_work_happens_only_when_waited_for_and_not_in_the_order_that_was_hoped_for() {
    for case in ["late_copy", "late_order", "late_blocking_copy", "late_source"] {
        passes(case, &["late"]);
        assert!(
            !run(case, "eager").status.success(),
            "{case} passes eagerly too: it says nothing about late"
        );
    }
}

#[test]
fn misuse_gives_the_codes_of_hardware_and_says_what_was_wrong() {
    passes("misuse", &SCHEDULES);
    let stderr = String::from_utf8(run("misuse", "late").stderr).unwrap();
    for words in [
        "cudaMemcpy: 1001 bytes at 0x",
        "past the end of 1000 bytes of device memory",
        "no memory that a device reaches",
        "which cudaFree has freed",
    ] {
        assert!(stderr.contains(words), "{words:?} is not in\n{stderr}");
    }
}

#[test]
fn a_device_pointer_dereferenced_on_the_host_faults_and_names_its_memory() {
    use std::os::unix::process::ExitStatusExt as _;
    const SIGSEGV: i32 = 11;
    let output = run("host_dereference", "late");
    assert_eq!(output.status.signal(), Some(SIGSEGV));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("of device memory") && stderr.contains("which only devices reach"), "{stderr}");
}

#[test]
fn leaks_are_listed_by_call_and_size_on_request() {
    let output = run("leak", "late");
    assert!(output.status.success());
    let stderr = String::from_utf8(output.stderr).unwrap();
    // The other lines are indented.
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(lines.len(), 4, "{stderr}");
    assert!(lines[0].contains("1234 bytes of device memory") && lines[0].contains("cudaMalloc on device 0"));
    assert!(lines[1].contains("77 bytes of pinned host memory") && lines[1].contains("cudaMallocHost"));
    assert!(lines[2].ends_with("2 leaks, 1311 bytes"), "{}", lines[2]);
    assert!(lines[3].ends_with("findings: 2 (leak: 2)"), "{}", lines[3]);
}

#[test]
fn copies_to_the_host_of_what_nobody_has_written_are_told_on_request() {
    let told = |schedule: &str, initcheck: &str| {
        let mut command = command("unwritten", schedule);
        let output = command.env("CUDA_EMULATOR_INITCHECK", initcheck).output().expect("the program starts");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stderr}");
        let left_out = ["SCHEDULE", "asynchronous copies to pageable memory"];
        let shown = |line: &&str| !left_out.iter().any(|it| line.contains(it)) && !line.starts_with(' ');
        stderr.lines().filter(shown).map(str::to_owned).collect::<Vec<_>>()
    };
    for schedule in SCHEDULES {
        assert_eq!(told(schedule, "0"), ["from here on"]);
        let lines = told(schedule, "1");
        let expected = [
            &["from here on"][..],
            &[
                "cudaMemcpy copies 20 bytes to the host",
                "byte 50 of 100 bytes of device memory",
                "cudaMalloc on device 0",
            ],
            &["cudaMemcpyAsync copies 1024 bytes to the host", "byte 100 of 1536 bytes", "cudaMallocPitch"],
            &["2 reads of bytes that nobody has written, 2 of them told"],
            &["findings: 2 (initcheck: 2)"],
        ];
        assert_eq!(lines.len(), expected.len(), "{schedule}: {lines:#?}");
        for (line, words) in lines.iter().zip(expected) {
            assert!(
                words.iter().all(|word| line.contains(word)),
                "{schedule}: {words:?} are not in {line:?}"
            );
        }
    }
}

/// Ends the threads that keep the processors busy, however the test ends.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_seed_repeats_its_run_and_prints_itself_and_other_seeds_differ() {
    let line = |seed: u32| {
        let output = run("outcomes", &format!("random:{seed}"));
        assert!(output.status.success());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(&format!("CUDA_EMULATOR_SCHEDULE=random:{seed}")), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    let first = line(1);
    assert_eq!(first, line(1));
    // However long the program has to wait for a processor.
    let done = AtomicBool::new(false);
    let busy = 4 * std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let end = End(&done);
        for _ in 0..busy {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        // At once, so that they wait for each other as well.
        let runs: Vec<_> = (0..20).map(|_| scope.spawn(|| line(1))).collect();
        let again: Vec<_> = runs.into_iter().map(|run| run.join().unwrap()).collect();
        drop(end);
        assert!(again.iter().all(|it| *it == first), "{first} became {again:?}");
    });
    assert!((2..6).any(|seed| line(seed) != first), "five seeds gave {first}");
    assert!(['1', '2', '3'].iter().all(|end| first.contains(*end)), "{first}: not every order was tried");
}

#[test]
fn a_wrong_setting_is_named_and_nothing_runs() {
    let output = run("late_copy", "sometimes");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(stderr.contains("CUDA_EMULATOR_SCHEDULE is \"sometimes\""), "{stderr}");
    assert!(output.stdout.is_empty(), "it ran: {:?}", output.stdout);
}
