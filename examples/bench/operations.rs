//! Measures the host cost of each operation: C++, the C functions called from Rust, and `cuda-safe`, in
//! turns.
//!
//! All three are in one process, on one context. Two processes would run under different conditions, and
//! the device would switch contexts between them. The process is started several times, because the
//! addresses that the loader chooses hold for the life of a process.

use std::fmt::Write as _;

use anyhow::{Context as _, bail, ensure};

use crate::Options;
use crate::table::{self, Met, Row};
use bench::program::Program;

/// An operation to measure: its name in the programs, its title in the table, the calls of a batch, and
/// the allowed extra cost of Rust in nanoseconds, which is 2 % if that is more.
pub(crate) struct Operation {
    name: &'static str,
    pub(crate) shown: &'static str,
    calls: u32,
    pub(crate) goal: f64,
}

/// What a CUDA call may cost more, in nanoseconds.
const EXTRA: f64 = 60.0;

/// An operation of one CUDA call.
const fn operation(name: &'static str, shown: &'static str, calls: u32) -> Operation {
    Operation { name, shown, calls, goal: EXTRA }
}

impl Operation {
    /// The same for an operation of several CUDA calls, each of which may cost more.
    const fn of(self, cuda_calls: u32) -> Self {
        Self { goal: EXTRA * cuda_calls as f64, ..self }
    }
}

/// The operations. A batch is far shorter than the queue of a stream, about 1,000 operations, beyond
/// which the host has to wait. Short batches also let all sides run under the same conditions.
const OPERATIONS: [Operation; 30] = [
    operation("launch_two", "launch of a kernel, one buffer and a number", 100),
    operation("launch_three", "launch of a kernel, three buffers and a number", 100),
    operation("launch_proven", "the same launch, proven in Rust", 100),
    operation("event_record", "event record, no timing", 200),
    operation("event_query", "event query", 500),
    operation("event_create", "event create and destroy, no timing", 200).of(2),
    operation("synchronise", "stream synchronise, idle", 300),
    operation("host_function", "host function", 50),
    operation("wait_blocking", "memset, 4 KiB, and synchronise", 50).of(2),
    operation("wait_woken", "memset, 4 KiB, until a callback or a future wakes the thread", 50).of(2),
    operation("wait_polled", "memset, 4 KiB, until a query or a future's first poll is ready", 50).of(2),
    operation("alloc_async", "allocate and free on a stream, 4 KiB", 100).of(2),
    operation("alloc_drop", "allocate on a stream and drop, 4 KiB", 100).of(2),
    operation("alloc_pool", "allocate and free from a pool of one's own, 4 KiB", 100).of(2),
    operation("alloc", "allocate and free, 1 MiB", 50).of(2),
    operation("h2d_pinned", "host to device, 4 KiB, pinned, asynchronous", 100),
    operation("h2d_scope", "host to device, 4 KiB, pageable, asynchronous", 100),
    operation("h2d_pageable", "host to device, 4 KiB, pageable, blocking", 40),
    operation("d2h_pageable", "device to host, 4 KiB, pageable, blocking", 40),
    operation("d2d", "device to device, 4 KiB, asynchronous", 100),
    operation("plane", "device to device, 16 rows of 128 bytes, asynchronous", 100),
    operation("plane_pinned", "host to device, 16 rows of 128 bytes, pinned, async.", 100),
    operation("volume", "device to device, 4 × 4 rows of 128 bytes, asynchronous", 100),
    operation("batch", "host to device, a batch of 64 copies of 32 bytes", 10),
    operation("batch_3d", "host to device, a batch of 16 copies of 2 × 2 rows", 20),
    operation("memset", "memset, 4 KiB, asynchronous", 200),
    operation("graph", "launch of a graph: copy, kernel, copy", 50),
    operation("switch", "memset on two streams in turn, ordered by the tracker", 50).of(6),
    operation("switch_by_hand", "memset on two streams in turn, ordered by events", 50).of(6),
    operation("round_trip", "to the device and back, 4 KiB, pinned, and synchronise", 30).of(3),
];

/// The results of all starts of the process for one operation: nanoseconds of C++, raw and safe in each
/// turn.
pub(crate) type Starts = Vec<Vec<[f64; 3]>>;

/// Measures all operations and returns their section, with a description of the machine.
pub(crate) fn measure(options: &Options) -> anyhow::Result<String> {
    let [library, program] = options
        .overhead
        .as_ref()
        .context("--overhead names the library and the program of the operations")?;
    let turns = options.batches.unwrap_or(if options.emulator { 6 } else { 160 });
    let starts = options.starts.unwrap_or(if options.emulator { 1 } else { 9 });
    let library = library.to_string_lossy();
    let mut times: Vec<Starts> = OPERATIONS.iter().map(|_| Vec::new()).collect();
    let mut machine = String::new();
    for start in 1..=starts {
        let mut arguments = vec![&*library];
        if options.unpinned {
            arguments.push("--unpinned");
        }
        let mut program = Program::start(program, &arguments)?;
        machine = program.machine().to_owned();
        if machine.starts_with("CUDA emulator") != options.emulator {
            bail!(
                "this is {machine}: times taken on the emulator have no meaning; --emulator there, and only \
                 there"
            );
        }
        for (operation, times) in OPERATIONS.iter().zip(&mut times) {
            let calls = if options.emulator { 2 } else { operation.calls };
            let taken = program.ask_for_all(&format!("{} {calls} {turns}", operation.name))?;
            let (taken, rest) = taken.as_chunks();
            ensure!(
                rest.is_empty() && taken.len() == usize::try_from(turns)?,
                "{} turns at {}, of {turns}",
                taken.len(),
                operation.name
            );
            times.push(taken.to_vec());
        }
        program.end()?;
        eprintln!("start {start} of {starts} measured");
    }

    let rows: Vec<Row> =
        OPERATIONS.iter().zip(&times).map(|(operation, times)| Row::new(operation, times)).collect();
    let mut report = String::new();
    writeln!(report, "\n## Operations\n\n- {machine}")?;
    if let Some(details) = hardware() {
        writeln!(report, "- {details}")?;
    }
    let pinned = if options.unpinned { "is free to change processors" } else { "stays on one processor" };
    writeln!(
        report,
        "\nHost time of a call in nanoseconds: medians of {turns} turns in each of {starts} starts of a \
         process that runs all three sides, on the same streams and memory. In a turn each side runs one \
         batch of calls, in changing order. The thread {pinned}.\n\
         The differences are medians of the differences within a turn, with the interval that contains the \
         true median in 95 % of all cases, and the lowest and the highest median of a start. If the 95 % \
         interval contains the goal, the result is inconclusive (\"open\").\n"
    )?;
    writeln!(report, "{}", table::header())?;
    for row in &rows {
        writeln!(report, "{row}")?;
    }
    if options.emulator {
        writeln!(
            report,
            "\nAll {} operations ran on all three sides. Once more: the times have no meaning.",
            rows.len()
        )?;
    } else {
        let count = |met| rows.iter().filter(|row| row.met == met).count();
        let (met, open) = (count(Met::Yes), count(Met::Open));
        writeln!(report, "\n{met} of {} goals met, {open} open.", rows.len())?;
    }
    Ok(report)
}

/// Returns the processor and the driver, if the system reports them.
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
