//! The five kernels over large arrays (`examples/stream_triad`), in both languages in turns.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::Options;
use bench::interval::median;

/// One kernel, with the best rate of each run in MB/s.
pub(crate) struct Row {
    name: String,
    rates: [Vec<f64>; 2],
}

/// Runs the two programs in turns.
pub(crate) fn measure(options: &Options) -> anyhow::Result<Option<Vec<Row>>> {
    let Some(programs) = &options.stream else { return Ok(None) };
    // A run takes a second, and a few turns are enough for a best time.
    let turns = options.turns().min(5);
    let mut rows: Vec<Row> = Vec::new();
    for turn in 0..turns {
        for place in 0..2 {
            let side = (turn as usize + place) % 2;
            for (name, rate) in run(&programs[side], options.emulator)? {
                let row = match rows.iter().position(|row| row.name == name) {
                    Some(row) => &mut rows[row],
                    None => {
                        rows.push(Row { name, rates: [Vec::new(), Vec::new()] });
                        let last = rows.len() - 1;
                        &mut rows[last]
                    }
                };
                row.rates[side].push(rate);
            }
        }
    }
    Ok(Some(rows))
}

/// Returns the names and best rates of one run.
fn run(program: &Path, small: bool) -> anyhow::Result<Vec<(String, f64)>> {
    let arguments = if small { &["--csv", "--arraysize", "4096", "--numtimes", "3"][..] } else { &["--csv"] };
    let output =
        Command::new(program).args(arguments).output().with_context(|| format!("{}", program.display()))?;
    ensure!(
        output.status.success(),
        "{} failed: {}{}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout)?;
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().context("no output")?.split(',').collect();
    let at = |head: &str| heads.iter().position(|found| *found == head).context(head.to_owned());
    let (name, rate) = (at("function")?, at("max_mbytes_per_sec")?);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let cell = |at: usize| cells.get(at).copied().with_context(|| line.to_owned());
            Ok((cell(name)?.to_owned(), cell(rate)?.parse().with_context(|| line.to_owned())?))
        })
        .collect()
}

/// Returns the section of the report.
pub(crate) fn report(rows: &[Row]) -> anyhow::Result<String> {
    let mut text = "\n## Kernels over large arrays\n\n`examples/stream_triad`: the best of 100 iterations \
                    over arrays of 2^25 doubles, in GB/s. The table has the medians of the runs in turns, \
                    and the median of the ratio within a turn. The goal is 100 ± 1 %.\n\n\
                    | kernel | C++ | safe | safe of C++ | met |\n|---|--:|--:|--:|---|\n"
        .to_owned();
    for Row { name, rates: [cpp, rust] } in rows {
        ensure!(cpp.len() == rust.len(), "{name}: {} runs in C++ and {} in Rust", cpp.len(), rust.len());
        let ratios: Vec<f64> = cpp.iter().zip(rust).map(|(cpp, rust)| 100.0 * rust / cpp).collect();
        let ratio = median(&ratios);
        let met = if (99.0..=101.0).contains(&ratio) { "yes" } else { "no" };
        writeln!(
            text,
            "| {name} | {:.0} | {:.0} | {ratio:.2} % | {met} |",
            median(cpp) / 1000.0,
            median(rust) / 1000.0
        )?;
    }
    Ok(text)
}
