//! Measures what each operation costs the host in CUDA C++ and in Rust, in turns, and prints a table; see `ci/bench`.
//!
//! Three programs take turns: the C++ one, the Rust one, and the Rust one with `--raw`, which calls the C functions itself.
//! Machines drift, so what counts is the difference within a turn: its median over all turns. Every program is started
//! several times, because where the loader put its memory stays with it for life.

mod builds;
mod copies;
mod program;
mod stream;
mod table;
mod transfers;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use crate::program::Program;
use crate::table::rows;

/// An operation that is measured: its name in the programs, and in the table; the calls of a batch; and by how much Rust may
/// be slower, in nanoseconds, unless it is less than 2 %.
struct Operation {
    name: &'static str,
    shown: &'static str,
    calls: u32,
    goal: f64,
}

const fn operation(name: &'static str, shown: &'static str, calls: u32) -> Operation {
    Operation { name, shown, calls, goal: 30.0 }
}

/// A batch stays below the number of launches that the runtime queues before it makes the host wait.
const OPERATIONS: [Operation; 24] = [
    operation("launch_two", "launch of a kernel, one buffer and a number", 200),
    Operation {
        goal: 40.0,
        ..operation("launch_three", "launch of a kernel, three buffers and a number", 200)
    },
    operation("event_record", "event record, no timing", 200),
    operation("event_query", "event query", 1000),
    operation("event_create", "event create and destroy, no timing", 200),
    operation("synchronise", "stream synchronise, idle", 1000),
    operation("host_function", "host function", 100),
    operation("alloc_async", "allocate and free on a stream, 4 KiB", 200),
    operation("alloc_pool", "allocate and free from a pool of one's own, 4 KiB", 200),
    operation("alloc", "allocate and free, 1 MiB", 20),
    operation("h2d_pinned", "host to device, 4 KiB, pinned, asynchronous", 200),
    operation("h2d_scope", "host to device, 4 KiB, pageable, asynchronous", 200),
    operation("h2d_pageable", "host to device, 4 KiB, pageable, blocking", 100),
    operation("d2h_pageable", "device to host, 4 KiB, pageable, blocking", 100),
    operation("d2d", "device to device, 4 KiB, asynchronous", 200),
    operation("plane", "device to device, 16 rows of 128 bytes, asynchronous", 200),
    operation("plane_pinned", "host to device, 16 rows of 128 bytes, pinned, async.", 200),
    operation("volume", "device to device, 4 × 4 rows of 128 bytes, asynchronous", 200),
    operation("batch", "host to device, a batch of 64 copies of 32 bytes", 10),
    operation("memset", "memset, 4 KiB, asynchronous", 200),
    operation("graph", "launch of a graph: copy, kernel, copy", 50),
    operation("switch", "memset on two streams in turn, ordered by the tracker", 100),
    operation("switch_by_hand", "memset on two streams in turn, ordered by events", 100),
    operation("round_trip", "to the device and back, 4 KiB, pinned, and synchronise", 50),
];

/// The sections of the report, as `--only` names them.
const SECTIONS: [&str; 7] = ["operations", "tracker", "many", "kernels", "large", "pageable", "everything"];

#[derive(Default)]
struct Options {
    cpp: PathBuf,
    rust: PathBuf,
    tracker: Option<PathBuf>,
    /// The programs that make many small copies: C++ and Rust.
    many: Option<[PathBuf; 2]>,
    /// The five kernels over large arrays: C++ and Rust.
    stream: Option<[PathBuf; 2]>,
    /// Large copies: C++ and Rust.
    bandwidth: Option<[PathBuf; 2]>,
    /// Blocking copies of pageable memory: C++ and Rust.
    staged: Option<[PathBuf; 2]>,
    /// How long a build from nothing takes, as `ci/cold` writes it down.
    cold: Option<PathBuf>,
    write: Option<PathBuf>,
    /// Where the plots go that the report shows.
    plots: Option<PathBuf>,
    turns: Option<u32>,
    starts: Option<u32>,
    /// The sections to measure, all where none is named.
    only: Vec<String>,
    emulator: bool,
}

impl Options {
    fn from_arguments() -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if argument == "--emulator" {
                options.emulator = true;
                continue;
            }
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            if let Some(pair) = match argument.as_str() {
                "--many" => Some(&mut options.many),
                "--stream" => Some(&mut options.stream),
                "--bandwidth" => Some(&mut options.bandwidth),
                "--staged" => Some(&mut options.staged),
                _ => None,
            } {
                *pair = Some([value()?.into(), value()?.into()]);
                continue;
            }
            let value = value()?;
            match argument.as_str() {
                "--cpp" => options.cpp = value.into(),
                "--rust" => options.rust = value.into(),
                "--tracker" => options.tracker = Some(value.into()),
                "--cold" => options.cold = Some(value.into()),
                "--plots" => options.plots = Some(value.into()),
                "--write" => options.write = Some(value.into()),
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                "--turns" => options.turns = Some(value.parse()?),
                "--starts" => options.starts = Some(value.parse()?),
                _ => bail!("unknown argument {argument}"),
            }
        }
        ensure!(
            options.cpp.is_file() && options.rust.is_file(),
            "--cpp and --rust name the programs to compare"
        );
        ensure!(options.turns != Some(0) && options.starts != Some(0), "at least one turn and one start");
        if let Some(unknown) = options.only.iter().find(|name| !SECTIONS.contains(&name.as_str())) {
            bail!("--only {unknown}: the sections are {}", SECTIONS.join(", "));
        }
        Ok(options)
    }

    /// Whether a section is to be measured.
    fn wants(&self, section: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == section)
    }

    /// How often the programs take turns. On the emulator they only show that they run.
    fn turns(&self) -> u32 {
        self.turns.unwrap_or(if self.emulator { 1 } else { 11 })
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::from_arguments()?;
    let mut report = String::new();
    if options.emulator {
        report.push_str("These times were taken on the emulator: they have no meaning.\n\n");
    }
    for section in SECTIONS.into_iter().filter(|section| options.wants(section)) {
        let start = Instant::now();
        let text = match section {
            "operations" => Some(operations(&options)?),
            "tracker" => options.tracker.as_deref().map(tracker).transpose()?,
            "many" => copies::measure(&options)?.map(|rows| copies::report(&rows)).transpose()?,
            "kernels" => stream::measure(&options)?.map(|rows| stream::report(&rows)).transpose()?,
            "large" => transfers::measure(&options)?.map(|rows| transfers::report(&rows)).transpose()?,
            "pageable" => transfers::pageable(&options)?,
            _ => transfers::everything(&options)?,
        };
        report.push_str(&text.unwrap_or_default());
        eprintln!("{section}: {:.0} s", start.elapsed().as_secs_f64());
    }
    if let Some(file) = &options.cold {
        report.push_str(&builds::report(file)?);
    }
    print!("{report}");

    if let Some(file) = &options.write {
        ensure!(!options.emulator, "nothing is written down from the emulator");
        std::fs::write(file, document(&report)).with_context(|| format!("{}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures all operations and writes their section, which says what this runs on.
fn operations(options: &Options) -> anyhow::Result<String> {
    let turns = options.turns();
    let starts = options.starts.unwrap_or(if options.emulator { 1 } else { 3 });
    let batches = if options.emulator { 1 } else { 15 };

    let mut times = vec![[const { Vec::new() }; 3]; OPERATIONS.len()];
    let mut machine = String::new();
    for start in 1..=starts {
        let mut programs = [
            Program::start(&options.cpp, &[])?,
            Program::start(&options.rust, &["--raw"])?,
            Program::start(&options.rust, &[])?,
        ];
        machine = programs[0].machine().to_owned();
        for program in &programs {
            ensure!(
                program.machine() == machine,
                "the programs run on {machine} and on {}",
                program.machine()
            );
        }
        if machine.starts_with("CUDA emulator") != options.emulator {
            bail!(
                "this is {machine}: times taken on the emulator have no meaning; --emulator there, and only there"
            );
        }
        for (operation, times) in OPERATIONS.iter().zip(&mut times) {
            let calls = if options.emulator { 10 } else { operation.calls };
            for turn in 0..turns {
                // Each of the three is the first to go as often as the others.
                for place in 0..3 {
                    let side = (turn as usize + place) % 3;
                    times[side].push(programs[side].measure(operation.name, calls, batches)?);
                }
            }
        }
        for program in programs {
            program.end()?;
        }
        eprintln!("start {start} of {starts} measured");
    }

    let rows = rows(&OPERATIONS, &times);
    let missed = rows.iter().filter(|row| !row.met).count();
    let mut report = String::new();
    writeln!(report, "- {machine}")?;
    if let Some(details) = hardware() {
        writeln!(report, "- {details}")?;
    }
    writeln!(
        report,
        "\nNanoseconds that a call takes on the host: medians of {} turns of {batches} batches, {starts} starts of each program.",
        turns * starts
    )?;
    writeln!(
        report,
        "The differences are medians of the differences within a turn, ± half of their interquartile range.\n"
    )?;
    writeln!(report, "{}", table::header())?;
    for row in &rows {
        writeln!(report, "{row}")?;
    }
    if options.emulator {
        writeln!(
            report,
            "\nAll {} operations ran in all three programs. Once more: the times have no meaning.",
            rows.len()
        )?;
    } else {
        writeln!(report, "\n{} of {} goals met.", rows.len() - missed, rows.len())?;
    }
    Ok(report)
}

/// The processor and the driver, as far as the system tells.
fn hardware() -> Option<String> {
    let processors = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let model =
        processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|it| it.1);
    let count = std::thread::available_parallelism().ok()?;
    let driver = std::fs::read_to_string("/sys/module/nvidia/version").map(|it| it.trim().to_owned());
    Some(format!(
        "{count} processors, {}; driver {}",
        model.unwrap_or("of unknown model"),
        driver.as_deref().unwrap_or("of unknown version")
    ))
}

/// What the tracker's own measurement prints, one line a case.
fn tracker(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(["--ignored", "--nocapture"])
        .output()
        .with_context(|| format!("{}", program.display()))?;
    ensure!(output.status.success(), "{} failed: {}", program.display(), output.status);
    let text = String::from_utf8(output.stdout)?;
    let lines: String =
        text.lines().filter(|line| line.contains(" ns  ")).map(|line| format!("{line}\n")).collect();
    ensure!(!lines.is_empty(), "{} printed no times", program.display());
    Ok(format!(
        "\nWhat the tracker of conflicting work costs by itself, without CUDA:\n\n```text\n{lines}```\n"
    ))
}

fn document(report: &str) -> String {
    format!(
        "# Benchmarks\n\nWritten by `ci/bench --write`; for a machine without Rust by `ci/bundle`, and there `run bench`. \
         \"C++\" is `examples/bench/overhead/main.cu`; \"raw\" and \"safe\" are the Rust program beside it, with the C functions \
         called through `check!`, and with `cuda-safe`. The goal for safe minus C++ is 30 ns (40 ns for the launch with three \
         buffers), or 2 % where that is more.\n\n{report}"
    )
}
