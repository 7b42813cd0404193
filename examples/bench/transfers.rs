//! Large copies: the same measurement in both languages in turns, and `examples/bench/bandwidth` for all
//! other cases.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::Options;
use bench::interval::median;
use bench::program::{Program, in_turns};

/// The cases of the C++ twin.
const CASES: [(&str, &str); 3] = [
    ("h2d", "host to device, pinned"),
    ("d2h", "device to host, pinned"),
    ("device_local", "within the device"),
];

/// The maximum number of turns: rates of large copies hardly vary, and each takes long.
const MOST_TURNS: u32 = 5;

/// One case, with rates in GB/s.
pub(crate) struct Row {
    shown: &'static str,
    rates: [Vec<f64>; 2],
}

/// Measures all cases, with the programs in turns.
pub(crate) fn measure(options: &Options) -> anyhow::Result<Option<Vec<Row>>> {
    let Some([cpp, rust]) = &options.bandwidth else { return Ok(None) };
    let size = if options.emulator { "64KiB" } else { "512MiB" };
    let mut programs =
        [Program::start(cpp, &["--size", size])?, Program::start(rust, &["--serve", "--size", size])?];
    let (calls, batches) = if options.emulator { (2, 1) } else { (16, 3) };
    let mut rows = Vec::new();
    for (case, shown) in CASES {
        let rates = in_turns(&mut programs, options.turns().min(MOST_TURNS), case, calls, batches)?;
        rows.push(Row { shown, rates });
    }
    for program in programs {
        program.end()?;
    }
    Ok(Some(rows))
}

/// Returns the section of the report.
pub(crate) fn report(rows: &[Row]) -> anyhow::Result<String> {
    let mut text = "\n## Large copies\n\n16 copies of 512 MiB between two events, after 4 that do not \
                    count, all enqueued before the first may start. Rates are in GB/s (1e9 bytes, counted \
                    once): medians, and the median of the ratio within a turn. The goal is 99 %.\n\n\
                    | copy | C++ | safe | safe of C++ | met |\n|---|--:|--:|--:|---|\n"
        .to_owned();
    for Row { shown, rates: [cpp, rust] } in rows {
        let ratios: Vec<f64> = cpp.iter().zip(rust).map(|(cpp, rust)| 100.0 * rust / cpp).collect();
        let ratio = median(&ratios);
        let met = if ratio >= 99.0 { "yes" } else { "no" };
        writeln!(text, "| {shown} | {:.1} | {:.1} | {ratio:.2} % | {met} |", median(cpp), median(rust))?;
    }
    Ok(text)
}

/// Measures blocking copies of pageable memory, with a program that takes turns with its twin itself and
/// writes the section.
pub(crate) fn pageable(options: &Options) -> anyhow::Result<Option<String>> {
    let Some([cpp, program]) = &options.staged else { return Ok(None) };
    let mut command = Command::new(program);
    command.arg("--cpp").arg(cpp);
    if options.emulator {
        command.arg("--emulator");
    }
    Ok(Some(format!("\n## Pageable memory\n\n{}", output(command, program)?)))
}

/// Returns the output of a program that must succeed.
fn output(mut command: Command, program: &Path) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{}", program.display()))?;
    ensure!(
        output.status.success(),
        "{} failed: {}{}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the output of `examples/bench/bandwidth` for all of its cases.
pub(crate) fn everything(options: &Options) -> anyhow::Result<Option<String>> {
    let Some([_, program]) = &options.bandwidth else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(["--quiet", "--markdown", "--sweep"]);
    if options.emulator {
        command.args(["--size", "64KiB", "--sweep-to", "256KiB", "--samples", "1"]);
    }
    Ok(Some(format!("\n## Every kind of copy\n\n{}", output(command, program)?)))
}
