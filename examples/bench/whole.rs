//! A whole program (`examples/transformer`), in both languages in turns.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::Options;
use bench::interval::{median, of_median};

/// Size, way and steps of a run, as the program takes them.
type Case = (&'static str, &'static str, u32);

const CASES: [Case; 8] = [
    ("small", "legacy", 400),
    ("small", "own", 400),
    ("small", "two", 400),
    ("small", "graph", 400),
    ("small", "update", 400),
    ("deep", "own", 100),
    ("deep", "decode", 63),
    ("gpt2", "own", 10),
];

/// The goals for a step and for its host time, as multiples of those of C++.
const GOALS: [f64; 2] = [1.03, 1.10];

/// One case, with the host time and the whole time of a step of each run, in C++ and in Rust.
pub(crate) struct Row {
    case: Case,
    runs: Vec<[[f64; 2]; 2]>,
}

/// Runs the two programs in turns.
pub(crate) fn measure(options: &Options) -> anyhow::Result<Option<Vec<Row>>> {
    let Some(programs) = &options.program else { return Ok(None) };
    let cases = CASES.into_iter().filter(|case| !options.emulator || case.0 == "small");
    let rows = cases.map(|(size, way, steps)| {
        let case = (size, way, if options.emulator { 2 } else { steps });
        // A run of the largest size takes ten seconds.
        let turns = if size == "gpt2" { options.turns().min(3) } else { options.turns() };
        let mut runs = Vec::new();
        for turn in 0..turns as usize {
            let mut times = [[0.0; 2]; 2];
            for place in 0..2 {
                let side = (turn + place) % 2;
                times[side] = run(&programs[side], case)?;
            }
            runs.push(times);
        }
        Ok(Row { case, runs })
    });
    rows.collect::<anyhow::Result<_>>().map(Some)
}

/// Returns the median host time and the median whole time of a step, in nanoseconds.
fn run(program: &Path, (size, way, steps): Case) -> anyhow::Result<[f64; 2]> {
    let output = Command::new(program)
        .args(["--time", size, way, &steps.to_string()])
        .output()
        .with_context(|| format!("{}", program.display()))?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(
        output.status.success(),
        "{} --time {size} {way} {steps}: {}{}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let times: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    times.try_into().ok().with_context(|| format!("{} printed {text}", program.display()))
}

/// Returns the section of the report.
pub(crate) fn report(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let [whole, host] = GOALS;
    let mut text = format!(
        "\n## A whole program\n\n`examples/transformer`, a training step and a decoded token: medians in \
         microseconds of the whole step, and of the time until it is queued (host). All tensors are parts of \
         four allocations, and each launch is proven. The ratios are medians of those within a turn, with \
         the interval that contains the true median in 95 % of all cases. The goals are {whole:.2} for the \
         step and {host:.2} for the host.\n\n\
         | size | way | C++ | safe | safe / C++ | host, C++ | safe | safe / C++ | step met |\n\
         |---|---|--:|--:|--:|--:|--:|--:|---|\n"
    );
    for Row { case: (size, way, _), runs } in rows {
        let of = |side: usize, time: usize| median(&runs.iter().map(|it| it[side][time]).collect::<Vec<_>>());
        let ratios = |time: usize| -> Vec<f64> { runs.iter().map(|it| it[1][time] / it[0][time]).collect() };
        let shown = |time: usize| {
            let ratio = format!("{:.2}", median(&ratios(time)));
            match of_median(&ratios(time)) {
                Some([low, high]) => format!("{ratio} [{low:.2}, {high:.2}]"),
                None => ratio,
            }
        };
        let met = match of_median(&ratios(1)) {
            Some([_, high]) if high <= whole => "yes",
            Some([low, _]) if low > whole => "no",
            _ => "open",
        };
        writeln!(
            text,
            "| {size} | {way} | {:.0} | {:.0} | {} | {:.0} | {:.0} | {} | {met} |",
            of(0, 1) / 1e3,
            of(1, 1) / 1e3,
            shown(1),
            of(0, 0) / 1e3,
            of(1, 0) / 1e3,
            shown(0),
        )?;
    }
    Ok(text)
}
