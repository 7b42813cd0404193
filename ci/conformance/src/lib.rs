//! Known answers of the CUDA runtime, case by case. Each case makes calls to the library that the loader
//! finds, and compares the answer with `answers.tsv`, which holds the answers of a GPU.
//!
//! - `cargo test -p cudart-conformance`: all cases, on a GPU if one answers and otherwise on the emulator.
//! - `... -- memcpy`: the cases with `memcpy` in their name. `--show` prints the answers.
//! - `... -- --write FILE`: writes the table with the new answers. Only on a GPU, and with two devices. With
//!   `--new`, only runs the cases that have no answer in the table, and keeps the other answers.
//!
//! - `... -- --score FILE`: compares the answers to the drawn cases with a table that a GPU wrote, and prints
//!   the shares (README.md).
//!
//! A case judges nothing: it makes calls, and records their results, the contents of memory, and whether the
//! host had to wait. The third column of the table names a known difference of the emulator. There the case
//! must differ until the name is removed. `cuda-safe/tests/device/known_answers.rs` tries a sample of the
//! cases through the safe crate.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::multiple_unsafe_ops_per_block,
    clippy::undocumented_unsafe_blocks,
    clippy::cast_possible_truncation,
    clippy::field_reassign_with_default,
    clippy::too_many_arguments,
    reason = "a test: every case is a raw call, and misuse with a known answer is the point"
)]

mod case;
mod cases;
mod gate;
mod log;
mod memory;
mod run;
mod score;
mod table;

use std::ffi::c_int;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::case::Case;

/// Asks the CUDA runtime what it answers in known cases, and compares.
#[derive(Debug, Parser)]
#[command(name = "answers")]
struct Arguments {
    /// Only cases with this in their name.
    filter: Vec<String>,
    /// Only cases that were not asked of a GPU yet.
    #[arg(long)]
    new: bool,
    /// Print every answer.
    #[arg(long)]
    show: bool,
    /// Write the table with what was answered to this file instead of comparing.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Compare the answers to the drawn cases with those in this table, and print the score.
    #[arg(long, value_name = "FILE")]
    score: Option<PathBuf>,
    /// Processes at a time.
    #[arg(long)]
    jobs: Option<usize>,
    /// Seconds after which a case hangs. Some start a process for each of fifty calls.
    #[arg(long, default_value_t = 180)]
    limit: u64,
    /// List the cases, as the test harness does.
    #[arg(long)]
    list: bool,
    /// Run the named cases in this process.
    #[arg(long, hide = true)]
    here: bool,
    /// Taken for the test harness's sake, and ignored.
    #[arg(long, hide = true)]
    show_output: bool,
    /// Taken for the test harness's sake, and ignored.
    #[arg(long, hide = true)]
    nocapture: bool,
    /// Taken for the test harness's sake, and ignored.
    #[arg(long, hide = true)]
    test_threads: Option<usize>,
}

/// The program: asks, and compares or writes.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let cases = cases::all();
    if arguments.list {
        for case in &cases.list {
            println!("{}: test", case.id);
        }
        return ExitCode::SUCCESS;
    }
    if arguments.here {
        return match run::here(&cases, &arguments.filter) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("{why}");
                ExitCode::from(2)
            }
        };
    }
    let new = table::pending();
    let wanted = |case: &&Case| {
        let named = arguments.filter.is_empty()
            || arguments.filter.iter().any(|part| case.id.contains(part.as_str()));
        let scored = arguments.score.is_none() || case.id.starts_with(score::PREFIX);
        named && scored && (!arguments.new || new.contains(case.id.as_str()))
    };
    let devices = devices();
    let chosen: Vec<&Case> =
        cases.list.iter().filter(wanted).filter(|case| case.devices <= devices).collect();
    let lacking: Vec<&Case> =
        cases.list.iter().filter(wanted).filter(|case| case.devices > devices).collect();
    // At least four: most of the time a case waits.
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let jobs = arguments.jobs.unwrap_or(processors.max(4));
    let answers = run::all(&chosen, jobs, Duration::from_secs(arguments.limit));
    if arguments.show {
        for (id, answer) in &answers {
            println!("{id}\t{answer}");
        }
    }
    if let Some(file) = &arguments.write {
        std::fs::write(file, table::write(&cases, &answers, &machine())).expect("the table can be written");
        println!("{} answers written to {}", answers.len(), file.display());
        return ExitCode::SUCCESS;
    }
    if let Some(file) = &arguments.score {
        let gpu = std::fs::read_to_string(file).expect("the table can be read");
        print!("{}", score::report(gpu.leak(), &answers));
        return ExitCode::SUCCESS;
    }
    let mut wrong = Vec::new();
    if arguments.filter.is_empty() {
        wrong.extend(table::disagreements(&cases.list));
        wrong.extend(table::check_of_the_check());
        wrong.extend(score::disagreements(cases.list.iter().map(|case| case.id.as_str())));
        wrong.extend(score::check_of_the_check());
    }
    let (known, emulated) = (table::known(), device_name() == EMULATOR);
    wrong.extend(table::differences(&known, &answers, emulated));
    let differing: Vec<_> = answers
        .keys()
        .filter_map(|id| Some((id, known.get(id.as_str())?.differs?)))
        .filter(|_| emulated)
        .collect();
    if !differing.is_empty() {
        println!("{} known differences of the emulator:", differing.len());
        for (id, why) in differing {
            println!("    {id}: {why}");
        }
    }
    if !lacking.is_empty() {
        println!("one device only: {} cases need two and were not asked:", lacking.len());
        for case in lacking {
            println!("    {}", case.id);
        }
    }
    for line in &wrong {
        println!("{line}");
    }
    let pending = answers.keys().filter(|id| new.contains(id.as_str())).count();
    if pending > 0 {
        println!(
            "{pending} cases were {} and are compared with nothing: --new --write FILE asks a GPU",
            table::NOT_ASKED
        );
    }
    let verdict = if wrong.is_empty() { "ok" } else { "FAILED" };
    println!(
        "test result: {verdict}. {} passed; {} failed; {pending} ignored; 0 measured",
        answers.len().saturating_sub(wrong.len() + pending),
        wrong.len()
    );
    ExitCode::from(u8::from(!wrong.is_empty()))
}

/// The number of devices.
fn devices() -> c_int {
    let mut count = 0;
    // SAFETY: the pointer is to a live integer.
    let code = unsafe { cuda_sys::cudaGetDeviceCount(&raw mut count) };
    assert_eq!(code, cuda_sys::cudaSuccess, "no device answers");
    count
}

/// The name of the emulator's devices.
const EMULATOR: &str = "CUDA emulator";

/// The name of the first device.
fn device_name() -> String {
    let mut properties = cuda_sys::cudaDeviceProp::default();
    // SAFETY: the pointer is to a live structure.
    unsafe { cuda_sys::cudaGetDeviceProperties(&raw mut properties, 0) };
    let name: Vec<u8> = properties.name.iter().map(|c| c.to_ne_bytes()[0]).take_while(|c| *c != 0).collect();
    String::from_utf8_lossy(&name).into_owned()
}

/// The description of the machine in the table.
fn machine() -> String {
    let mut runtime = 0;
    // SAFETY: the pointer is to a live integer.
    unsafe { cuda_sys::cudaRuntimeGetVersion(&raw mut runtime) };
    format!("{} x {}, runtime {}.{}", devices(), device_name(), runtime / 1000, runtime % 1000 / 10)
}
